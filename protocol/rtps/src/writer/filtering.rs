//! RTPS 2.5 §8.4.9 "StatefulWriter", DDS_FILTER(the_reader, change), and §8.7.3 content filtering at the writer: changes that
//! a reader does not want are not sent to it; a GAP in front of what it is sent next, or of the next HEARTBEAT, says so.
//!
//! A change that one reader wants may reach others, who filter for themselves: one datagram may be for many.

use super::Writer;
use super::proxy::ReaderProxy;
use crate::emit::Framing;
use crate::{Change, ChangeKind, WriterHistory};
use alloc::boxed::Box;
use alloc::sync::Arc;
use dunlin_buf::Outbox;
use dunlin_core::{Guid, Locator, MAX_SET_BITS, MonoTime, SequenceNumber, SnRange, SnRanges, VendorId};
use dunlin_wire::params::{PASSED_FILTER_LEN, passed_filter};
use dunlin_wire::{Gap, MessageBuilder, size};

/// Most intervals of changes that a reader was not told of; more are told at once.
const MAX_UNTOLD: usize = 64;

/// Decides for one reader which changes it need not get.
///
/// A change is not asked about once alone: what is sent again is asked about again, and the reader decides for itself in any
/// case. So an answer may change, and `false` is always right.
pub trait ReaderFilter: core::fmt::Debug + Send + Sync {
    /// Whether the reader would not show the change to the application.
    fn rejects(&self, change: &Change) -> bool;

    /// The filter's signature, if the reader is to be told what it says of a change (RTPS 2.5 §9.6.4.1): in small changes that
    /// are sent to it alone.
    fn signature(&self) -> Option<[u8; 16]> {
        None
    }
}

/// The last answer, since neighbours often have the same filter.
#[derive(Default)]
struct Memo<'a> {
    last: Option<(&'a Arc<dyn ReaderFilter>, bool)>,
    /// Filters that were evaluated.
    evaluated: u64,
}

impl<'a> Memo<'a> {
    fn ask(&mut self, filter: &'a Arc<dyn ReaderFilter>, change: &Change) -> bool {
        if let Some((last, answer)) = self.last
            && Arc::ptr_eq(last, filter)
        {
            return answer;
        }
        let answer = filter.rejects(change);
        self.last = Some((filter, answer));
        self.evaluated = self.evaluated.saturating_add(1);
        answer
    }
}

/// Whether anybody wants a change, and whether anybody does not.
#[derive(Clone, Copy, Default)]
struct Opinions {
    wanted: bool,
    rejected: bool,
    /// Not the same readers as the last time.
    changed: bool,
    /// Anybody has a minimum separation.
    separated: bool,
}

impl ReaderProxy {
    /// Whether its filter rejects a new change.
    pub(super) fn content_rejects(&self, change: &Change) -> bool {
        self.cfg.filter.as_ref().is_some_and(|filter| filter.rejects(change))
    }

    /// The signature under which the reader is told of its filter.
    fn filter_signature(&self) -> Option<[u8; 16]> {
        self.cfg.filter.as_ref().and_then(|filter| filter.signature())
    }

    /// Whether a change need not be sent to this reader when it asks for it. A best-effort reader cannot be told in time what of the history it
    /// does not get.
    pub(super) fn rejects(&self, change: &Change) -> bool {
        let filter = self.cfg.filter.as_ref().filter(|_| self.reliable || !self.catching_up);
        filter.is_some_and(|filter| filter.rejects(change)) || self.is_overtaken(change.sn)
    }

    pub(super) fn receives_at(&self, destinations: &[Locator]) -> bool {
        let mut own = self.cfg.unicast.iter().chain(&self.cfg.multicast);
        own.any(|locator| destinations.contains(locator))
    }
}

impl Writer {
    /// Replaces the filter of a matched reader, for what is sent from now on; false when it is not matched.
    pub fn set_reader_filter(&mut self, reader: Guid, filter: Option<Arc<dyn ReaderFilter>>) -> bool {
        let Some(proxy) = self.find(reader).and_then(|index| self.proxies.get_mut(index)) else {
            return false;
        };
        proxy.cfg.filter = filter;
        self.survey_filters();
        true
    }

    /// Says in the inline QoS, which is prepared, that the change passes the filter of the one reader that it is sent to.
    pub(super) fn say_passed(&mut self, change: &Change) {
        let mut wanting = self.proxies.iter().filter(|proxy| proxy.is_sent_new_data() && !proxy.rejecting);
        if let (Some(proxy), None) = (wanting.next(), wanting.next())
            && let Some(signature) = proxy.filter_signature()
        {
            self.say(change, &signature, true);
        }
    }

    /// The same of what is sent again to a reader.
    pub(super) fn say_passed_again(&mut self, change: &Change, index: usize) {
        let Some(proxy) = self.proxies.get(index) else { return };
        if let Some(signature) = proxy.filter_signature() {
            let passed = !proxy.content_rejects(change);
            self.say(change, &signature, passed);
        }
    }

    /// Samples in fragments, or that this would bring into fragments, go without: the reader filters them itself.
    fn say(&mut self, change: &Change, signature: &[u8; 16], passed: bool) {
        let is_sample = change.kind == ChangeKind::Alive && change.payload.is_some();
        let more =
            PASSED_FILTER_LEN.saturating_add(4).saturating_add(size::INFO_DST).saturating_add(size::GAP_MAX);
        let len = size::HEADER.saturating_add(Framing::data_len(change, &self.inline)).saturating_add(more);
        if is_sample && len <= self.cfg.max_message_size {
            crate::emit::add_inline_qos(&mut self.inline, &passed_filter(signature, passed));
        }
    }

    /// Takes up whether any reader has a filter.
    pub(super) fn survey_filters(&mut self) {
        let filters = |proxy: &ReaderProxy| proxy.cfg.filter.is_some() || proxy.separation.is_some();
        self.filters = self.proxies.iter().any(|proxy| filters(proxy));
        self.narrow.clear();
    }

    /// Asks for whom a change is.
    fn ask_filters(&mut self, now: MonoTime, change: &Change) -> Opinions {
        let (mut memo, mut opinions) = (Memo::default(), Opinions::default());
        for proxy in self.proxies.iter_mut().filter(|proxy| proxy.is_sent_new_data()) {
            let too_soon = proxy.is_too_soon(now, change, self.filtered_through);
            let ReaderProxy { cfg, rejecting, separation, .. } = &mut **proxy;
            let rejects = too_soon || cfg.filter.as_ref().is_some_and(|filter| memo.ask(filter, change));
            opinions.separated |= separation.is_some();
            opinions.changed |= core::mem::replace(rejecting, rejects) != rejects;
            opinions.rejected |= rejects;
            opinions.wanted |= !rejects;
        }
        self.stats.filters_evaluated = self.stats.filters_evaluated.saturating_add(memo.evaluated);
        opinions
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
        let opinions = self.ask_filters(now, change);
        if !opinions.rejected {
            self.narrow.clear();
        } else if opinions.wanted && (opinions.changed || self.narrow.is_empty()) {
            self.cover.compute(&self.proxies, true, |proxy| proxy.is_sent_new_data() && !proxy.rejecting);
            self.narrow.clear();
            self.narrow.extend_from_slice(&self.cover.destinations);
        }
        // What waits for pacer or window comes here again.
        if change.sn > self.filtered_through {
            self.filtered_through = change.sn;
            if opinions.separated {
                self.separate(now, change, opinions.wanted, history, out);
            }
            if opinions.rejected {
                self.note_rejected(now, change, opinions.wanted, history, out);
            }
            if opinions.separated {
                self.refresh_held();
            }
        }
        !opinions.wanted
    }

    /// Whether a change that would share a datagram with the one before it is for the same readers.
    pub(super) fn is_for_the_same(&mut self, change: &Change) -> bool {
        let mut memo = Memo::default();
        let same = self.proxies.iter().filter(|proxy| proxy.is_sent_new_data()).all(|proxy| {
            let rejects = proxy.cfg.filter.as_ref().is_some_and(|filter| memo.ask(filter, change));
            rejects == proxy.rejecting && proxy.separation.is_none()
        });
        self.stats.filters_evaluated = self.stats.filters_evaluated.saturating_add(memo.evaluated);
        same
    }

    /// A change has joined the one before it, which is for the same readers: nor do the others get this one.
    pub(super) fn note_joined(&mut self, sn: SequenceNumber) {
        self.filtered_through = self.filtered_through.max(sn);
        let narrow = &self.narrow;
        for proxy in self.proxies.iter_mut().filter(|proxy| proxy.rejecting && proxy.is_sent_new_data()) {
            if !proxy.receives_at(narrow) {
                proxy.untold.made().insert(SnRange::new(sn, sn), MAX_UNTOLD);
                self.stats.samples_filtered = self.stats.samples_filtered.saturating_add(1);
            }
        }
    }

    /// Where new data goes.
    pub(super) fn data_routes(&self) -> &[Locator] {
        if self.narrow.is_empty() { &self.routes } else { &self.narrow }
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
        for index in 0..self.proxies.len() {
            let rejecting = |proxy: &&mut Box<ReaderProxy>| proxy.rejecting && proxy.is_sent_new_data();
            let Some(proxy) = self.proxies.get_mut(index).filter(rejecting) else { continue };
            if sent && proxy.receives_at(&self.narrow) {
                continue;
            }
            // What is kept back is still to be sent, or has just left.
            if proxy.separation.is_none() || proxy.content_rejects(change) {
                self.leave_untold(index, change.sn, history, out);
                ask |= self.proxies.get(index).is_some_and(|proxy| proxy.is_asked(change.sn));
            }
        }
        if ask {
            // No HEARTBEAT travels with what is not sent.
            self.heartbeat_soon(now);
        }
    }

    /// Remembers that a reader has to be told that it does not get a change.
    pub(super) fn leave_untold(
        &mut self,
        index: usize,
        sn: SequenceNumber,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let range = SnRange::new(sn, sn);
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        if !proxy.untold.made().insert(range, MAX_UNTOLD) {
            self.tell_untold(index, false, history, out);
            if let Some(proxy) = self.proxies.get_mut(index) {
                proxy.untold.made().insert(range, MAX_UNTOLD);
            }
        }
        self.stats.samples_filtered = self.stats.samples_filtered.saturating_add(1);
    }

    /// Tells a reader what it did not get, in a datagram of its own, with a HEARTBEAT behind it if wanted.
    pub(super) fn tell_untold(
        &mut self,
        index: usize,
        with_heartbeat: bool,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        self.gaps.clear();
        if let Some(proxy) = self.proxies.get_mut(index).filter(|proxy| !proxy.untold.is_empty()) {
            self.gaps.extend_from_slice(proxy.untold.as_slice());
            proxy.untold.made().clear();
        }
        self.tell(index, true, with_heartbeat, history, out);
        self.gaps.clear();
    }

    /// Tells all readers what they did not get.
    pub(super) fn tell_all_untold(&mut self, history: &dyn WriterHistory, out: &mut Outbox) {
        for index in 0..self.proxies.len() {
            if self.proxies.get(index).is_some_and(|proxy| !proxy.untold.is_empty()) {
                self.tell_untold(index, false, history, out);
            }
        }
    }

    /// Tells those who want the next change what they did not get before it, except a reader who is the only one to get it
    /// and hears it in the same datagram: see [`put_untold`](Self::put_untold).
    pub(super) fn tell_before(
        &mut self,
        change: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Option<usize> {
        let wants = |proxy: &ReaderProxy| proxy.is_sent_new_data() && !proxy.rejecting;
        let mut wanting = self.proxies.iter().enumerate().filter(|(_, proxy)| wants(proxy));
        let (first, second) = (wanting.next().map(|(index, _)| index), wanting.next());
        let room = size::HEADER
            .saturating_add(size::INFO_DST)
            .saturating_add(size::GAP_MAX)
            .saturating_add(super::Framing::data_len(change, &self.inline));
        if let (Some(index), None) = (first, second)
            && room <= self.cfg.max_message_size
            && self.proxies.get(index).is_some_and(|proxy| one_gap_says(&proxy.untold))
        {
            return Some(index);
        }
        for index in 0..self.proxies.len() {
            if self.proxies.get(index).is_some_and(|proxy| wants(proxy) && !proxy.untold.is_empty()) {
                self.tell_untold(index, false, history, out);
            }
        }
        None
    }

    /// Puts what the only reader of a datagram did not get in front of what it gets, as far as one GAP can say it.
    pub(super) fn put_untold(&mut self, index: usize, message: &mut MessageBuilder<'_>) {
        let Some(proxy) = self.proxies.get_mut(index).filter(|proxy| !proxy.untold.is_empty()) else {
            return;
        };
        let (guid, vendor) = (proxy.guid(), proxy.cfg.vendor);
        let told = crate::emit::gap(self.cfg.guid.entity_id, guid.entity_id, proxy.untold.as_slice());
        let Some((gap, used)) = told else { return };
        let through = proxy.untold.as_slice().get(used.saturating_sub(1)).map(|range| range.last);
        let count = count_after(proxy.start, proxy.untold.as_slice().get(..used).unwrap_or(&[]));
        if let Some(through) = through {
            proxy.untold.made().remove_through(through);
        }
        message.info_dst(guid.prefix);
        message.gap(&with_count(gap, vendor, count));
        self.stats.gaps_sent = self.stats.gaps_sent.saturating_add(1);
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
        (vendor == VendorId::DUNLIN && count > 0).then(|| i64::try_from(count).unwrap_or(i64::MAX));
    Gap { filtered_count, ..gap }
}
