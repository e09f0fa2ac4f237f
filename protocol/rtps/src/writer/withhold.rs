//! RTPS 2.5 §8.4.9 "StatefulWriter", DDS_FILTER(the_reader, change), and §8.7.3 content filtering at the writer: changes that
//! a reader does not want are not sent to it; a GAP in front of what it is sent next, or of the next HEARTBEAT, says so.
//!
//! A change that one reader wants may reach others, who filter for themselves: one datagram may be for many. What comes too
//! soon for a reader is kept back for it, see [`super::withheld`].

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use dunlin_buf::Outbox;
use dunlin_core::{
    Behaviour, Duration, Guid, InstanceHandle, Locator, MAX_SET_BITS, MonoTime, Now, SequenceNumber,
    SequenceNumberSet, SnRange, SnRanges, VendorId,
};
use dunlin_wire::params::{PASSED_FILTER_LEN, passed_filter};
use dunlin_wire::{Gap, MessageBuilder, size};

use super::Writer;
use super::readers::{MAX_KEPT, MAX_REQUEST_INTERVALS, ReaderProxy, Separation};
use super::withheld::MAX_UNANNOUNCED;
use crate::ReaderFilter;
use crate::emit::Framing;
use crate::proxy_index::ProxyIndex;
use crate::timing::{arm, is_due};
use crate::{Change, ChangeKind, WriterHistory};

/// What readers want by its content, and what they are told of the rest.
impl Writer {
    /// Replaces the filter of a matched reader, for what is sent from now on; false when it is not matched. It is told first what
    /// it was not sent: without filters nobody looks before new data whether there is something to tell.
    pub fn set_reader_filter(
        &mut self,
        reader: Guid,
        filter: Option<Arc<dyn ReaderFilter>>,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        let Some(index) = self.readers.find(reader) else { return false };
        self.tell_unannounced(index, history, out);
        if let Some(proxy) = self.readers.get_mut(index) {
            proxy.cfg.filter = filter;
        }
        self.withheld.survey(&self.readers);
        true
    }

    /// From now on there may be changes that say in their inline QoS which reader they are for alone (RTPS 2.5 §9.6.4.6): others
    /// get a GAP in their place. Call it before the first of them is new.
    pub fn direct_changes(&mut self) {
        self.withheld.direct();
    }

    /// Says in the inline QoS, which is prepared, that the change passes the filter of the one reader that it is sent to.
    pub(super) fn add_filter_info(&mut self, change: &Change) {
        let only = self.readers.only_receiver().and_then(|index| self.readers.get(index));
        if let Some(signature) = only.and_then(ReaderProxy::filter_signature) {
            self.put_filter_info(change, &signature, true);
        }
    }

    /// The same of what is sent again to a reader.
    pub(super) fn add_filter_info_to_repair(&mut self, change: &Change, index: ProxyIndex) {
        let Some(proxy) = self.readers.get(index) else { return };
        if let Some(signature) = proxy.filter_signature() {
            let passed = !proxy.content_rejects(change);
            self.put_filter_info(change, &signature, passed);
        }
    }

    /// Samples in fragments, or that this would bring into fragments, go without: the reader filters them itself.
    fn put_filter_info(&mut self, change: &Change, signature: &[u8; 16], passed: bool) {
        let is_sample = change.kind == ChangeKind::Alive && change.payload.is_some();
        let more =
            PASSED_FILTER_LEN.saturating_add(4).saturating_add(size::INFO_DST).saturating_add(size::GAP_MAX);
        let len = size::HEADER.saturating_add(Framing::data_len(change, &self.inline)).saturating_add(more);
        if is_sample && len <= self.cfg.max_message_size {
            crate::emit::add_inline_qos(&mut self.inline, &passed_filter(signature, passed));
        }
    }

    /// Makes a change leave for those who want it alone. True if nobody does: then it is not to be sent at all.
    pub(super) fn select_readers(
        &mut self,
        now: MonoTime,
        change: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        self.separations_due(now, history, out);
        let outcome = self.withheld.select(now, change, &mut self.readers, &mut self.stats);
        if outcome.new {
            if outcome.separated {
                self.separate(now, change, outcome.wanted, history, out);
            }
            if outcome.rejected {
                self.note_rejected(now, change, outcome.wanted, history, out);
            }
            if outcome.separated {
                self.withheld.refresh_held(&self.readers);
            }
        }
        !outcome.wanted
    }

    /// Where new data goes.
    #[inline]
    pub(super) fn data_routes(&self) -> &[Locator] {
        self.withheld.destinations(self.readers.routes())
    }

    /// Remembers who has to be told that it does not get a change, which is `sent` to others. Who receives where one of these
    /// does gets it nevertheless.
    fn note_rejected(
        &mut self,
        now: MonoTime,
        change: &Change,
        sent: bool,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let mut ask = false;
        for index in self.readers.indices() {
            let rejecting = |proxy: &&ReaderProxy| proxy.rejecting && proxy.is_sent_new_data();
            let Some(proxy) = self.readers.get(index).filter(rejecting) else { continue };
            if self.withheld.is_sent_to(proxy, sent) {
                continue;
            }
            // What is kept back is still to be sent, or has just left.
            if proxy.separation.is_none() || proxy.content_rejects(change) {
                self.leave_unannounced(index, change.sn, history, out);
                ask |= self.readers.get(index).is_some_and(|proxy| proxy.is_asked(change.sn));
            }
        }
        if ask {
            // No HEARTBEAT travels with what is not sent.
            self.heartbeat_soon(now);
        }
    }

    /// Remembers that a reader has to be told that it does not get a change.
    fn leave_unannounced(
        &mut self,
        index: ProxyIndex,
        sn: SequenceNumber,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let range = SnRange::new(sn, sn);
        let Some(proxy) = self.readers.get_mut(index) else { return };
        if !proxy.unannounced.made().insert(range, MAX_UNANNOUNCED) {
            self.announce_withheld(index, false, history, out);
            if let Some(proxy) = self.readers.get_mut(index) {
                proxy.unannounced.made().insert(range, MAX_UNANNOUNCED);
            }
        }
        self.stats.samples_filtered = self.stats.samples_filtered.saturating_add(1);
    }

    /// Tells a reader what it did not get, in a datagram of its own, with a HEARTBEAT behind it if wanted.
    pub(super) fn announce_withheld(
        &mut self,
        index: ProxyIndex,
        with_heartbeat: bool,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        self.gaps.clear();
        if let Some(proxy) = self.readers.get_mut(index).filter(|proxy| !proxy.unannounced.is_empty()) {
            self.gaps.extend_from_slice(proxy.unannounced.as_slice());
            proxy.unannounced.made().clear();
        }
        self.tell(index, true, with_heartbeat, history, out);
        self.gaps.clear();
    }

    /// Tells all readers what they did not get.
    pub(super) fn announce_all_withheld(&mut self, history: &dyn WriterHistory, out: &mut Outbox) {
        self.readers.indices().for_each(|index| self.tell_unannounced(index, history, out));
    }

    /// Tells a reader what it did not get, if there is anything.
    fn tell_unannounced(&mut self, index: ProxyIndex, history: &dyn WriterHistory, out: &mut Outbox) {
        if self.readers.get(index).is_some_and(|proxy| !proxy.unannounced.is_empty()) {
            self.announce_withheld(index, false, history, out);
        }
    }

    /// Tells those who want the next change what they did not get before it, except a reader who is the only one to get it
    /// and hears it in the same datagram: see [`put_withheld`](Self::put_withheld).
    pub(super) fn tell_before(
        &mut self,
        change: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Option<ProxyIndex> {
        let room = size::HEADER
            .saturating_add(size::INFO_DST)
            .saturating_add(size::GAP_MAX)
            .saturating_add(Framing::data_len(change, &self.inline));
        if let Some(index) = self.readers.only_receiver()
            && room <= self.cfg.max_message_size
            && self.readers.get(index).is_some_and(|proxy| one_gap_says(&proxy.unannounced))
        {
            return Some(index);
        }
        for index in self.readers.indices() {
            if self
                .readers
                .get(index)
                .is_some_and(|proxy| proxy.is_receiver() && !proxy.unannounced.is_empty())
            {
                self.announce_withheld(index, false, history, out);
            }
        }
        None
    }

    /// Puts what the only reader of a datagram did not get in front of what it gets, as far as one GAP can say it.
    pub(super) fn put_withheld(&mut self, index: ProxyIndex, message: &mut MessageBuilder<'_>) {
        let Some(proxy) = self.readers.get_mut(index).filter(|proxy| !proxy.unannounced.is_empty()) else {
            return;
        };
        let (guid, vendor) = (proxy.guid(), proxy.cfg.vendor);
        let told = crate::emit::gap(self.cfg.guid.entity_id, guid.entity_id, proxy.unannounced.as_slice());
        let Some((gap, used)) = told else { return };
        let through = proxy.unannounced.as_slice().get(used.saturating_sub(1)).map(|range| range.last);
        let count = count_after(proxy.start, proxy.unannounced.as_slice().get(..used).unwrap_or(&[]));
        if let Some(through) = through {
            proxy.unannounced.made().remove_through(through);
        }
        message.info_dst(guid.prefix);
        message.gap(&with_count(gap, vendor, count));
        self.stats.gaps_sent = self.stats.gaps_sent.saturating_add(1);
    }
}

/// What comes too soon.
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
        let Some(index) = self.readers.find(reader) else { return };
        let separation = self.readers.get(index).and_then(|proxy| proxy.separation.as_ref());
        if separation.map_or(Duration::ZERO, |separation| separation.minimum()) == minimum {
            return;
        }
        self.release_kept(now.mono, index, history, out);
        self.tell_unannounced(index, history, out);
        let pushed = self.transmission.pushed();
        if let Some(proxy) = self.readers.get_mut(index) {
            let before = core::mem::replace(&mut proxy.separation, Separation::new(minimum, pushed));
            if let (Some(before), Some(separation)) = (before, &mut proxy.separation) {
                separation.follow(&before);
            }
        }
        self.withheld.survey(&self.readers);
        self.withheld.refresh_held(&self.readers);
    }

    /// Whether anything may be kept back for a reader.
    #[must_use]
    pub fn keeps_back(&self) -> bool {
        self.withheld.deadline().is_some()
    }

    /// Sends what is kept back although it is too soon: for a caller that is about to drop it from the history.
    pub fn let_go(&mut self, now: Now, history: &dyn WriterHistory, out: &mut Outbox) {
        if self.keeps_back() {
            self.release_all_kept(now.mono, history, out);
        }
    }

    /// Changes up to here have left to all that are sent new data.
    #[inline]
    pub(super) fn left_through(&self) -> SequenceNumber {
        self.withheld.left_through(self.transmission.pushed())
    }

    /// Notes what becomes of a new change that is `sent` to some: for each reader with a minimum separation. Those that get
    /// it are sent before what is kept back for them.
    fn separate(
        &mut self,
        now: MonoTime,
        change: &Change,
        sent: bool,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        for index in self.readers.indices() {
            let Some(proxy) = self.readers.get(index) else { return };
            if proxy.separation.is_none() || !proxy.is_sent_new_data() {
                continue;
            }
            if self.withheld.is_sent_to(proxy, sent) {
                self.release_kept(now, index, history, out);
                if let Some(separation) = self.separation_of(index) {
                    separation.note_sent(now, change);
                }
            } else if !proxy.content_rejects(change) {
                self.keep_back(now, index, change, history, out);
            }
        }
    }

    fn separation_of(&mut self, index: ProxyIndex) -> Option<&mut Separation> {
        self.readers.get_mut(index)?.separation.as_deref_mut()
    }

    fn keep_back(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        change: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let kept = self.readers.get_mut(index).and_then(|proxy| self.withheld.keep_back(now, proxy, change));
        let Some(kept) = kept else { return };
        if let Some(overtaken) = kept.overtaken {
            self.leave_unannounced(index, overtaken, history, out);
        }
        if kept.leaves {
            self.release_kept(now, index, history, out);
        }
    }

    /// Sends what the separation is over for.
    pub(super) fn separations_due(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        if !is_due(self.withheld.deadline(), now) {
            return;
        }
        let mut next = None;
        for index in self.readers.indices() {
            let Some(due) = self.separation_of(index).and_then(|separation| separation.deadline()) else {
                continue;
            };
            if due <= now {
                // All of it at once: what leaves first would take the others along.
                self.release_kept(now, index, history, out);
            } else {
                arm(&mut next, due);
            }
        }
        self.withheld.set_deadline(next);
        self.withheld.refresh_held(&self.readers);
    }

    /// Sends all readers what is kept back for them.
    fn release_all_kept(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        for index in self.readers.indices() {
            self.release_kept(now, index, history, out);
        }
        self.withheld.set_deadline(None);
        self.withheld.refresh_held(&self.readers);
    }

    /// Sends all readers what is kept back for them, and at once what waits for pacer or window now and would be kept back.
    pub(super) fn hurry(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        self.withheld.hurry(self.transmission.last_sn());
        self.release_all_kept(now, history, out);
    }

    /// A reader asks for what is kept back: somebody else's HEARTBEAT has announced it.
    pub(super) fn release_requested(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        set: &SequenceNumberSet,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let kept = self.readers.get(index).and_then(|proxy| proxy.first_kept());
        if kept.is_some_and(|kept| set.iter().any(|sn| sn >= kept)) {
            self.release_kept(now, index, history, out);
        }
    }

    /// Sends a reader what is kept back for it, behind a GAP about what was not sent before, and about what the history has
    /// no more: that was overtaken, or has expired.
    fn release_kept(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let separation = self.separation_of(index).filter(|separation| separation.keeps_any());
        let Some(mut kept) = separation.map(Separation::take_kept) else { return };
        kept.retain(|(sn, instance)| {
            let there = history.get(*sn).is_some();
            if !there {
                self.leave_unannounced(index, *sn, history, out);
                if let Some(separation) = self.separation_of(index) {
                    separation.note_released(now, *instance, false);
                }
            }
            there
        });
        if !kept.is_empty() {
            self.send_released(now, index, &kept, history, out);
        }
        let Some(proxy) = self.readers.get_mut(index) else { return };
        let ReaderProxy { separation, requests, reliable, .. } = proxy;
        if let Some(separation) = separation {
            for (sn, instance) in &kept {
                separation.note_released(now, *instance, !requests.whole.contains(*sn));
            }
            separation.give_back(kept);
        }
        if *reliable {
            // It is to say what it has not got, also if the budget of repairs has left something for later.
            self.heartbeat_soon(now);
        }
    }

    fn send_released(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        kept: &VecDeque<(SequenceNumber, InstanceHandle)>,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let Some(proxy) = self.readers.get_mut(index) else { return };
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
        let first_len = first.map_or(0, |change| Framing::data_len(change, &[]));
        // What is small travels in one datagram with the GAP.
        if !one_gap_says(&proxy.unannounced) || first_len > self.cfg.max_message_size / 2 {
            self.announce_withheld(index, false, history, out);
        }
        self.serve(now, index, history, out);
    }
}

/// Whether all of it fits into one GAP.
pub(super) fn one_gap_says(ranges: &SnRanges) -> bool {
    let first = ranges.as_slice().first().map(|range| range.last.next());
    let end = first.map(|base| base.plus(i64::from(MAX_SET_BITS)));
    ranges.last().is_none_or(|last| end.is_some_and(|end| last < end))
}

/// How many changes there are in ranges, but for those that were written before the reader came.
pub(super) fn count_after(start: SequenceNumber, ranges: &[SnRange]) -> u64 {
    let later = ranges.iter().filter(|range| range.first > start);
    later.fold(0u64, |sum, range| sum.saturating_add(range.count()))
}

/// A GAP that says how many of its changes are there and were filtered, to readers that know what that means.
pub(super) fn with_count(gap: Gap, vendor: VendorId, count: u64) -> Gap {
    let filtered_count =
        (vendor.does(Behaviour::SpeaksDunlin) && count > 0).then(|| i64::try_from(count).unwrap_or(i64::MAX));
    Gap { filtered_count, ..gap }
}
