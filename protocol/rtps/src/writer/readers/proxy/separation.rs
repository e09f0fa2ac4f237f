//! DDS 1.4 §2.2.3.12 TIME_BASED_FILTER at the writer: of an instance a reader is sent one sample in each minimum separation.
//!
//! The latest sample that came too soon is *kept back*, and leaves when the separation is over unless a newer one of its
//! instance has taken its place: so the last value always arrives. What was overtaken is told like everything that is
//! filtered, see [`super::super::withhold`].
//!
//! A reader takes the changes of a writer in order. So before it is sent anything else, it is sent what was kept back, although
//! too soon; it applies the filter itself, and shows that when the separation is over. No HEARTBEAT for this reader
//! alone announces what is kept back, and a reader that asks for it gets it.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};

use dunlin_core::{Duration, InstanceHandle, MonoTime, SequenceNumber, SnRange, SnRanges};

use super::ReaderProxy;
use crate::timing::arm;
use crate::{Change, ChangeKind};

/// So many changes after the last one that was sent, what is kept back leaves although it is too soon: the history keeps
/// everything since then for this reader.
const MAX_UNSENT: i64 = 1024;
/// Most instances that are kept back.
pub(crate) const MAX_KEPT: usize = 1024;
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
pub(crate) struct Separation {
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
    pub(in crate::writer) fn new(minimum: Duration, start: SequenceNumber) -> Option<Box<Self>> {
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
    pub(in crate::writer) fn note_sent(&mut self, now: MonoTime, change: &Change) {
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
    pub(in crate::writer) fn keep(&mut self, now: MonoTime, change: &Change) -> Option<SequenceNumber> {
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

    /// What it separates.
    pub(in crate::writer) fn minimum(&self) -> Duration {
        self.minimum
    }

    /// When what is kept back leaves.
    pub(in crate::writer) fn deadline(&self) -> Option<MonoTime> {
        self.due
    }

    /// Whether anything is kept back.
    pub(in crate::writer) fn keeps_any(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Takes over from one with another minimum, after whose release this one begins.
    pub(in crate::writer) fn follow(&mut self, before: &Self) {
        self.released = before.released;
    }

    /// Gives back the list from [`take_kept`](Self::take_kept), for reuse.
    pub(in crate::writer) fn give_back(&mut self, mut kept: VecDeque<(SequenceNumber, InstanceHandle)>) {
        kept.clear();
        self.kept = kept;
    }

    /// Whether so much is kept back that it has to leave.
    pub(in crate::writer) fn is_full(&self, last: SequenceNumber) -> bool {
        self.kept.len() >= MAX_KEPT || last.0.saturating_sub(self.sent_through.0) >= MAX_UNSENT
    }

    /// Gives out what is kept back, which counts as sent.
    pub(in crate::writer) fn take_kept(&mut self) -> VecDeque<(SequenceNumber, InstanceHandle)> {
        self.due = None;
        if let Some((last, _)) = self.kept.back() {
            (self.sent_through, self.released) = (*last, *last);
        }
        core::mem::take(&mut self.kept)
    }

    /// Notes what became of a change that was kept back: only what was sent begins another separation, else the next sample
    /// of its instance would be kept back although nothing was sent.
    pub(in crate::writer) fn note_released(&mut self, now: MonoTime, instance: InstanceHandle, sent: bool) {
        if sent {
            self.instances.insert(instance, Latest { at: now, kept: None });
        } else {
            self.instances.remove(&instance);
        }
    }

    /// Everything up to `through` has arrived.
    pub(in crate::writer) fn acknowledged(&mut self, through: SequenceNumber) {
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
    pub(in crate::writer) fn first_kept(&self) -> Option<SequenceNumber> {
        let separation = self.separation.as_ref()?;
        separation.kept.front().map(|(sn, _)| *sn)
    }

    /// Up to where the reader is to acknowledge: what comes after the last change that was sent can wait while something is
    /// kept back.
    pub(in crate::writer) fn awaited_through(&self, last: SequenceNumber) -> SequenceNumber {
        match &self.separation {
            Some(separation) if !separation.kept.is_empty() => last.min(separation.sent_through),
            _ => last,
        }
    }

    /// Up to where changes are announced to this reader alone.
    pub(in crate::writer) fn announced_through(&self, last: SequenceNumber) -> SequenceNumber {
        self.first_kept().map_or(last, |first| last.min(first.previous()))
    }

    /// Whether a change was overtaken before it could be sent.
    pub(in crate::writer) fn is_overtaken(&self, sn: SequenceNumber) -> bool {
        self.separation.as_ref().is_some_and(|separation| separation.overtaken.contains(sn))
    }

    /// Whether a change comes too soon. What was decided when it was new stays so: it is kept back, or was.
    pub(in crate::writer) fn is_too_soon(
        &self,
        now: MonoTime,
        change: &Change,
        decided: SequenceNumber,
    ) -> bool {
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
    pub(in crate::writer) fn forget_kept(&mut self) {
        if let Some(separation) = &mut self.separation {
            separation.forget_kept();
        }
    }
}

#[cfg(test)]
mod tests {
    use dunlin_core::WallTime;

    use super::*;

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
    fn an_acknowledged_sample_clears_its_separation_deadline() {
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
