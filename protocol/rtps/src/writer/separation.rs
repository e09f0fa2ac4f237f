//! DDS 1.4 §2.2.3.12 TIME_BASED_FILTER at the writer: of an instance a reader is sent one sample in each minimum separation.
//!
//! The latest sample that came too soon is *kept back*, and leaves when the separation is over unless a newer one of its
//! instance has taken its place: so the last value always arrives. What was overtaken is told like everything that is
//! filtered, see [`super::filtering`].
//!
//! A reader takes the changes of a writer in order. So before it is sent anything else, it is sent what was kept back, although
//! too soon; it applies the filter itself, and shows that when the separation is over. No HEARTBEAT for this reader
//! alone announces what is kept back, and a reader that asks for it gets it.

use super::Writer;
use super::filtering::one_gap_says;
use super::proxy::{MAX_REQUEST_INTERVALS, ReaderProxy};
use crate::timing::{arm, earliest, is_due};
use crate::{Change, ChangeKind, WriterHistory};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use dunlin_buf::Outbox;
use dunlin_core::{
    Duration, Guid, InstanceHandle, MonoTime, Now, SequenceNumber, SequenceNumberSet, SnRange, SnRanges,
};

/// So many changes after the last one that was sent, what is kept back leaves although it is too soon: the history keeps
/// everything since then for this reader.
const MAX_UNSENT: i64 = 1024;
/// Most instances that are kept back.
const MAX_KEPT: usize = 1024;
/// Most intervals of changes that are not sent even if they are asked for; what is not remembered is sent.
const MAX_OVERTAKEN: usize = 256;
/// Instances at which those are forgotten that may be sent again.
const MIN_PURGE: usize = 64;

/// What was sent of an instance.
#[derive(Clone, Copy, Debug)]
struct Latest {
    at: MonoTime,
    /// The change that is kept back.
    kept: Option<SequenceNumber>,
}

/// What a writer remembers of a reader with a minimum separation.
#[derive(Clone, Debug)]
pub(super) struct Separation {
    minimum: Duration,
    /// Without an entry, a sample may be sent.
    instances: BTreeMap<InstanceHandle, Latest>,
    purge_at: usize,
    /// What is kept back, ascending: nothing after it was sent.
    kept: VecDeque<(SequenceNumber, InstanceHandle)>,
    /// When it leaves.
    due: Option<MonoTime>,
    /// What was overtaken and is not acknowledged.
    overtaken: SnRanges,
    /// The last change that was sent.
    sent_through: SequenceNumber,
    /// The last change that was kept back and has left.
    released: SequenceNumber,
}

impl Separation {
    /// `None` where there is nothing to separate.
    pub(super) fn new(minimum: Duration, start: SequenceNumber) -> Option<Box<Self>> {
        (minimum > Duration::ZERO && !minimum.is_infinite()).then(|| {
            Box::new(Self {
                minimum,
                instances: BTreeMap::new(),
                purge_at: MIN_PURGE,
                kept: VecDeque::new(),
                due: None,
                overtaken: SnRanges::new(),
                sent_through: start,
                released: SequenceNumber::ZERO,
            })
        })
    }

    /// Whether a change is to be sent now. What ends an instance always is; so is what carries no value.
    fn passes(&self, now: MonoTime, change: &Change) -> bool {
        if change.kind != ChangeKind::Alive || change.payload.is_none() {
            return true;
        }
        self.instances.get(&change.instance).is_none_or(|latest| now >= latest.at.plus(self.minimum))
    }

    /// A change was sent.
    fn note_sent(&mut self, now: MonoTime, change: &Change) {
        self.sent_through = self.sent_through.max(change.sn);
        if change.kind != ChangeKind::Alive {
            self.instances.remove(&change.instance);
            return;
        }
        self.instances.insert(change.instance, Latest { at: now, kept: None });
        if self.instances.len() >= self.purge_at {
            let minimum = self.minimum;
            self.instances.retain(|_, latest| latest.kept.is_some() || latest.at.plus(minimum) > now);
            self.purge_at = self.instances.len().saturating_mul(2).max(MIN_PURGE);
        }
    }

    /// Keeps a change back. Returns the one that it overtakes.
    fn keep(&mut self, now: MonoTime, change: &Change) -> Option<SequenceNumber> {
        let latest = self.instances.entry(change.instance).or_insert(Latest { at: now, kept: None });
        let before = latest.kept.replace(change.sn);
        arm(&mut self.due, latest.at.plus(self.minimum));
        if let Some(before) = before {
            if let Ok(at) = self.kept.binary_search_by_key(&before, |(sn, _)| *sn) {
                self.kept.remove(at);
            }
            self.overtaken.insert(SnRange::new(before, before), MAX_OVERTAKEN);
        }
        self.kept.push_back((change.sn, change.instance));
        before
    }

    /// Whether so much is kept back that it has to leave.
    fn is_full(&self, last: SequenceNumber) -> bool {
        self.kept.len() >= MAX_KEPT || last.0.saturating_sub(self.sent_through.0) >= MAX_UNSENT
    }

    /// Gives out what is kept back, which counts as sent.
    fn take_kept(&mut self) -> VecDeque<(SequenceNumber, InstanceHandle)> {
        self.due = None;
        if let Some((last, _)) = self.kept.back() {
            (self.sent_through, self.released) = (*last, *last);
        }
        core::mem::take(&mut self.kept)
    }

    /// Notes what became of a change that was kept back: only what was sent begins another separation, else the next sample
    /// of its instance would be kept back although nothing was sent.
    fn note_released(&mut self, now: MonoTime, instance: InstanceHandle, sent: bool) {
        if sent {
            self.instances.insert(instance, Latest { at: now, kept: None });
        } else {
            self.instances.remove(&instance);
        }
    }

    /// Everything up to `through` has arrived.
    pub(super) fn acknowledged(&mut self, through: SequenceNumber) {
        self.overtaken.remove_through(through);
        let before = self.kept.len();
        while let Some((sn, instance)) = self.kept.front().copied().filter(|(sn, _)| *sn <= through) {
            self.kept.pop_front();
            self.sent_through = sn;
            if let Some(latest) = self.instances.get_mut(&instance) {
                latest.kept = None;
            }
        }
        if self.kept.len() < before {
            let of = |(_, instance): &(_, InstanceHandle)| self.instances.get(instance);
            self.due = self.kept.iter().filter_map(of).map(|latest| latest.at.plus(self.minimum)).min();
        }
    }

    /// Forgets what is kept back: the reader will have to ask for it.
    fn forget_kept(&mut self) {
        self.kept.clear();
        self.due = None;
        self.instances.values_mut().for_each(|latest| latest.kept = None);
    }
}

impl ReaderProxy {
    /// The first change that is kept back.
    pub(super) fn first_kept(&self) -> Option<SequenceNumber> {
        let separation = self.separation.as_ref()?;
        separation.kept.front().map(|(sn, _)| *sn)
    }

    /// Up to where the reader is to acknowledge: what comes after the last change that was sent can wait while something is
    /// kept back.
    pub(super) fn awaited_through(&self, last: SequenceNumber) -> SequenceNumber {
        match &self.separation {
            Some(separation) if !separation.kept.is_empty() => last.min(separation.sent_through),
            _ => last,
        }
    }

    /// Up to where changes are announced to this reader alone.
    pub(super) fn announced_through(&self, last: SequenceNumber) -> SequenceNumber {
        self.first_kept().map_or(last, |first| last.min(first.previous()))
    }

    /// Whether a change was overtaken before it could be sent.
    pub(super) fn is_overtaken(&self, sn: SequenceNumber) -> bool {
        self.separation.as_ref().is_some_and(|separation| separation.overtaken.contains(sn))
    }

    /// Whether a change comes too soon. What was decided when it was new stays so: it is kept back, or was.
    pub(super) fn is_too_soon(&self, now: MonoTime, change: &Change, decided: SequenceNumber) -> bool {
        self.separation.as_ref().is_some_and(|separation| {
            if change.sn <= decided {
                let kept = separation.kept.back().is_some_and(|(sn, _)| *sn == change.sn);
                kept || separation.released == change.sn
            } else {
                !separation.passes(now, change)
            }
        })
    }

    /// It is not sent new data any more.
    pub(super) fn forget_kept(&mut self) {
        if let Some(separation) = &mut self.separation {
            separation.forget_kept();
        }
    }
}

impl Writer {
    /// Changes the minimum separation of a matched reader, for what is sent from now on; none if zero. What is kept back leaves.
    pub fn set_reader_separation(
        &mut self,
        now: Now,
        reader: Guid,
        minimum: Duration,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let Some(index) = self.find(reader) else { return };
        let separation = self.proxies.get(index).and_then(|proxy| proxy.separation.as_ref());
        if separation.map_or(Duration::ZERO, |separation| separation.minimum) == minimum {
            return;
        }
        self.release_kept(now.mono, index, history, out);
        let pushed = self.pushed;
        if let Some(proxy) = self.proxies.get_mut(index) {
            let released = proxy.separation.as_ref().map_or(SequenceNumber::ZERO, |before| before.released);
            proxy.separation = Separation::new(minimum, pushed);
            if let Some(separation) = &mut proxy.separation {
                separation.released = released;
            }
        }
        self.survey_filters();
        self.refresh_held();
    }

    /// Whether anything may be kept back for a reader.
    #[must_use]
    pub fn keeps_back(&self) -> bool {
        self.separation_due.is_some()
    }

    /// Sends what is kept back although it is too soon: for a caller that is about to drop it from the history.
    pub fn let_go(&mut self, now: Now, history: &dyn WriterHistory, out: &mut Outbox) {
        if self.keeps_back() {
            self.release_all_kept(now.mono, history, out);
        }
    }

    /// Takes up what is kept back for readers that acknowledge nothing.
    pub(super) fn refresh_held(&mut self) {
        let best_effort = self.proxies.iter().filter(|proxy| !proxy.reliable);
        self.held = best_effort.filter_map(|proxy| proxy.first_kept()).min();
    }

    /// Changes up to here have left to all that are sent new data.
    #[inline]
    pub(super) fn left_through(&self) -> SequenceNumber {
        self.held.map_or(self.pushed, |first| self.pushed.min(first.previous()))
    }

    /// Notes what becomes of a new change that is `sent` to some: for each reader with a minimum separation. Those that get
    /// it are sent before what is kept back for them.
    pub(super) fn separate(
        &mut self,
        now: MonoTime,
        change: &Change,
        sent: bool,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        for index in 0..self.proxies.len() {
            let Some(proxy) = self.proxies.get_mut(index) else { return };
            if proxy.separation.is_none() || !proxy.is_sent_new_data() {
                continue;
            }
            let gets_it = !proxy.rejecting || (sent && proxy.receives_at(&self.narrow));
            if gets_it {
                self.release_kept(now, index, history, out);
                if let Some(separation) = self.separation_of(index) {
                    separation.note_sent(now, change);
                }
            } else if !proxy.content_rejects(change) {
                self.keep_back(now, index, change, history, out);
            }
        }
    }

    fn separation_of(&mut self, index: usize) -> Option<&mut Separation> {
        self.proxies.get_mut(index)?.separation.as_deref_mut()
    }

    fn keep_back(
        &mut self,
        now: MonoTime,
        index: usize,
        change: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let Some(separation) = self.separation_of(index) else { return };
        let overtaken = separation.keep(now, change);
        let (due, full) = (separation.due, separation.is_full(change.sn));
        let hurried = change.sn <= self.hurry_through;
        self.separation_due = earliest(self.separation_due, due);
        if let Some(overtaken) = overtaken {
            self.leave_untold(index, overtaken, history, out);
        }
        if full || hurried {
            self.release_kept(now, index, history, out);
        }
    }

    /// Sends what the separation is over for.
    pub(super) fn separations_due(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        if !is_due(self.separation_due, now) {
            return;
        }
        let mut next = None;
        for index in 0..self.proxies.len() {
            let Some(due) = self.separation_of(index).and_then(|separation| separation.due) else { continue };
            if due <= now {
                // All of it at once: what leaves first would take the others along.
                self.release_kept(now, index, history, out);
            } else {
                arm(&mut next, due);
            }
        }
        self.separation_due = next;
        self.refresh_held();
    }

    /// Sends all readers what is kept back for them.
    pub(super) fn release_all_kept(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        for index in 0..self.proxies.len() {
            self.release_kept(now, index, history, out);
        }
        self.separation_due = None;
        self.refresh_held();
    }

    /// Sends all readers what is kept back for them, and at once what waits for pacer or window now and would be kept back.
    pub(super) fn hurry(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        self.hurry_through = self.last_sn;
        self.release_all_kept(now, history, out);
    }

    /// A reader asks for what is kept back: somebody else's HEARTBEAT has announced it.
    pub(super) fn release_requested(
        &mut self,
        now: MonoTime,
        index: usize,
        set: &SequenceNumberSet,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let kept = self.proxies.get(index).and_then(|proxy| proxy.first_kept());
        if kept.is_some_and(|kept| set.iter().any(|sn| sn >= kept)) {
            self.release_kept(now, index, history, out);
        }
    }

    /// Sends a reader what is kept back for it, behind a GAP about what was not sent before, and about what the history has
    /// no more: that was overtaken, or has expired.
    pub(super) fn release_kept(
        &mut self,
        now: MonoTime,
        index: usize,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let separation = self.separation_of(index).filter(|separation| !separation.kept.is_empty());
        let Some(mut kept) = separation.map(Separation::take_kept) else { return };
        kept.retain(|(sn, instance)| {
            let there = history.get(*sn).is_some();
            if !there {
                self.leave_untold(index, *sn, history, out);
                if let Some(separation) = self.separation_of(index) {
                    separation.note_released(now, *instance, false);
                }
            }
            there
        });
        if !kept.is_empty() {
            self.send_released(now, index, &kept, history, out);
        }
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        let ReaderProxy { separation, requests, reliable, .. } = &mut **proxy;
        if let Some(separation) = separation {
            for (sn, instance) in kept.drain(..) {
                separation.note_released(now, instance, !requests.whole.contains(sn));
            }
            separation.kept = kept;
        }
        if *reliable {
            // It is to say what it has not got, also if the budget of repairs has left something for later.
            self.heartbeat_soon(now);
        }
    }

    fn send_released(
        &mut self,
        now: MonoTime,
        index: usize,
        kept: &VecDeque<(SequenceNumber, InstanceHandle)>,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        let requests = proxy.requests.made();
        let in_progress = requests.whole.first();
        for (sn, _) in kept {
            requests.whole.insert(SnRange::new(*sn, *sn), MAX_REQUEST_INTERVALS.saturating_add(MAX_KEPT));
        }
        if requests.whole.first() != in_progress {
            requests.start_over();
        }
        requests.rearm(now);
        let first = requests.whole.first().and_then(|sn| history.get(sn));
        let first_len = first.map_or(0, |change| super::Framing::data_len(change, &[]));
        // What is small travels in one datagram with the GAP.
        if !one_gap_says(&proxy.untold) || first_len > self.cfg.max_message_size / 2 {
            self.tell_untold(index, false, history, out);
        }
        self.serve(now, index, history, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_core::WallTime;

    fn change(sn: i64, instance: u8) -> Change {
        Change {
            sn: SequenceNumber(sn),
            kind: ChangeKind::Alive,
            instance: InstanceHandle([instance; 16]),
            source_timestamp: WallTime(0),
            payload: None,
            inline_qos: None,
        }
    }

    #[test]
    fn what_is_acknowledged_does_not_say_when_the_rest_leaves() {
        let mut separation = Separation::new(Duration::from_nanos(100), SequenceNumber(0)).unwrap();
        separation.note_sent(MonoTime(10), &change(1, 1));
        separation.note_sent(MonoTime(50), &change(2, 2));
        separation.keep(MonoTime(60), &change(3, 1));
        separation.keep(MonoTime(60), &change(4, 2));
        assert_eq!(separation.due, Some(MonoTime(110)));
        separation.acknowledged(SequenceNumber(3));
        assert_eq!(separation.due, Some(MonoTime(150)));
        separation.acknowledged(SequenceNumber(4));
        assert_eq!(separation.due, None);
    }
}
