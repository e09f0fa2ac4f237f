//! RTPS 2.5 §8.4.11.2, §8.4.12 and §8.4.14.1: DATA and DATA_FRAG at the reader.

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{
    Duration, EntityId, Guid, Identities, Misbehaviour, Now, SequenceNumber, SnRange, WallTime,
};
use dunlin_wire::{Data, DataFrag, PlainData, ReceiverState};

use super::incoming::{is_for_another, share_payload};
use super::proxy::report_lost;
use super::{Added, Incoming, Limits, Reader};
use crate::proxy_index::ProxyIndex;
use crate::{ChangeKind, DeliverySink, Received};

/// A best-effort change in parts survives only the start of the next one: fragments overtake each other a little.
const BEST_EFFORT_PARTIALS: usize = 2;
/// A change in parts that got nothing for so long gives way to those of other writers.
const STALE_AFTER: Duration = Duration::from_secs(1);

/// A matched writer of which several changes follow each other; valid as long as no writer is matched or unmatched.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    index: ProxyIndex,
}

impl Reader {
    /// Takes a change. `packet` holds the octets that `data` borrows; the payload stays in it.
    pub fn on_data(
        &mut self,
        now: Now,
        state: &ReceiverState,
        data: &Data<'_>,
        packet: &SharedBytes,
        sink: &mut dyn DeliverySink,
        out: &mut Outbox,
    ) {
        let Some(index) = self.addressed(state.source_prefix, data.writer_id, data.reader_id) else { return };
        let named = data.reader_id != EntityId::UNKNOWN;
        let sn = data.writer_sn;
        if !self.is_new(index, (sn, state.timestamp), sink)
            || (named && self.passes_over(now, index, (sn, data.reader_id), state, out))
        {
            return;
        }
        let elsewhere = is_for_another(data.inline_qos.as_ref(), state.source_version, self.cfg.guid);
        let change = || Incoming::from_data(state, data, packet);
        self.take_whole(now, index, data.writer_sn, (!elsewhere).then_some(change), sink, out);
    }

    /// Where the changes of a writer go that follow each other; `None` when it is not matched or they are for another reader.
    #[must_use]
    pub fn run_of(&self, writer: Guid, reader_id: EntityId) -> Option<Run> {
        let named = reader_id != EntityId::UNKNOWN;
        let index = self.find(writer).filter(|_| !named || reader_id == self.cfg.guid.entity_id)?;
        // Who is meant by a name, `on_data` finds out.
        let unknown =
            named && self.cfg.shares_place && self.writers.get(index)?.may_be_unknown_to_its_writer();
        (!unknown).then_some(Run { index })
    }

    /// Takes a change that is the next of its writer, while nothing of that writer waits or is missing. False, and nothing
    /// done, if it is not: it is one for [`on_data`](Self::on_data) then.
    pub fn on_next(
        &mut self,
        now: Now,
        run: Run,
        timestamp: Option<WallTime>,
        data: &PlainData<'_>,
        packet: &SharedBytes,
        sink: &mut dyn DeliverySink,
    ) -> bool {
        let Some(proxy) = self.writers.get_mut(run.index) else { return false };
        if !proxy.has_nothing_but(data.writer_sn) {
            return false;
        }
        let change = Received {
            writer: proxy.guid(),
            sn: data.writer_sn,
            kind: ChangeKind::Alive,
            key_hash: None,
            source_timestamp: timestamp,
            payload: Some(share_payload(packet, data.payload)),
            key_only: false,
            inline_qos: None,
            identities: Identities::default(),
            reassembled: false,
        };
        let delivery = sink.deliver(now, &change);
        proxy.settle(delivery, timestamp, &mut self.stats, || Incoming {
            sn: change.sn,
            source_timestamp: timestamp,
            payload: change.payload.clone(),
            key_only: false,
            inline_qos: None,
            reassembled: false,
            is_refuted: false,
        });
        true
    }

    /// Takes a change that a writer of this process hands over.
    pub(crate) fn on_change(
        &mut self,
        now: Now,
        index: ProxyIndex,
        change: Incoming,
        sink: &mut dyn DeliverySink,
        out: &mut Outbox,
    ) {
        let sn = change.sn;
        if !self.is_new(index, (sn, change.source_timestamp), sink) {
            return;
        }
        let elsewhere = change.is_for_another(self.cfg.guid);
        self.take_whole(now, index, sn, (!elsewhere).then_some(|| change), sink, out);
        // It was no submessage.
        self.refused = None;
    }

    /// Takes a change that came in one piece and is not settled yet; `None` if it is for another reader.
    fn take_whole(
        &mut self,
        now: Now,
        index: ProxyIndex,
        sn: SequenceNumber,
        change: Option<impl FnOnce() -> Incoming>,
        sink: &mut dyn DeliverySink,
        out: &mut Outbox,
    ) {
        if let Some(partials) = self.writers.get_mut(index).and_then(|proxy| proxy.ahead.partials.if_made()) {
            partials.remove_sn(sn, &mut self.pool);
        }
        match change {
            None => self.directed_elsewhere(now, index, sn, sink),
            Some(change) => self.take(now, index, change(), sink),
        }
        self.ask_if_unheard(now, index, out);
    }

    /// Takes fragments of a change, which are copied; the change is delivered when the last one has arrived.
    pub fn on_data_frag(
        &mut self,
        now: Now,
        state: &ReceiverState,
        frag: &DataFrag<'_>,
        packet: &SharedBytes,
        sink: &mut dyn DeliverySink,
        out: &mut Outbox,
    ) {
        let Some(index) = self.addressed(state.source_prefix, frag.writer_id, frag.reader_id) else { return };
        let sn = frag.writer_sn;
        if !self.is_new(index, (sn, state.timestamp), sink)
            || self.passes_over(now, index, (sn, frag.reader_id), state, out)
        {
            return;
        }
        if is_for_another(frag.inline_qos.as_ref(), state.source_version, self.cfg.guid) {
            self.directed_elsewhere(now, index, sn, sink);
            return;
        }
        match self.assemble(now, index, state, frag, packet) {
            Added::Complete(change) => {
                self.stats.reassembled = self.stats.reassembled.saturating_add(1);
                self.take(now, index, change, sink);
            }
            Added::Oversized => {
                self.stats.oversized = self.stats.oversized.saturating_add(1);
                self.stats.lost = self.stats.lost.saturating_add(1);
                self.refused = Some(Misbehaviour::TooLarge);
                sink.lost(state.source(frag.writer_id), 1);
                self.pass_over(now, index, sn, sink);
            }
            Added::Duplicate => {
                self.stats.duplicate_fragments = self.stats.duplicate_fragments.saturating_add(1);
            }
            Added::Refused => {
                self.stats.fragments_refused = self.stats.fragments_refused.saturating_add(1);
                self.refused = Some(Misbehaviour::ContradictoryFragments);
            }
            Added::NoRoom => self.refused = Some(Misbehaviour::NoRoom),
            Added::Incomplete => {}
        }
        self.ask_if_unheard(now, index, out);
    }

    /// Whether anything of a change is still wanted. One that comes again has the source timestamp that it had; if not, one of the two
    /// is forged, and which one nobody can tell: one change of the writer is lost.
    fn is_new(
        &mut self,
        index: ProxyIndex,
        (sn, timestamp): (SequenceNumber, Option<WallTime>),
        sink: &mut dyn DeliverySink,
    ) -> bool {
        // Nothing can follow the highest number, so it is not one of a change.
        let possible = sn >= SequenceNumber::FIRST && sn < SequenceNumber::MAX;
        let new = possible && self.writers.get(index).is_some_and(|proxy| !proxy.is_settled(sn));
        if sn == SequenceNumber::MAX {
            self.refused = Some(Misbehaviour::LastNumber);
        }
        if !new {
            self.stats.duplicates = self.stats.duplicates.saturating_add(1);
            let proxy = self.writers.get_mut(index).filter(|_| possible);
            if let Some(proxy) = proxy
                && proxy.refute(sn, timestamp)
            {
                report_lost(proxy.guid(), 1, sink, &mut self.stats);
                self.refused = Some(Misbehaviour::ContradictoryDuplicate);
            }
        }
        new
    }

    /// Whether a change may be one that is sent again to others here, and is older than this reader: it names nobody, or by its entity
    /// id alone somebody who may be in another participant. Who may have met this reader is asked to show it.
    fn passes_over(
        &mut self,
        now: Now,
        index: ProxyIndex,
        (sn, reader_id): (SequenceNumber, EntityId),
        state: &ReceiverState,
        out: &mut Outbox,
    ) -> bool {
        let named = reader_id != EntityId::UNKNOWN;
        let meant = named && (state.directed || !self.cfg.shares_place);
        let proxy = self.writers.get_mut(index);
        let proxy = proxy.filter(|proxy| !meant && proxy.may_be_unknown_to_its_writer());
        let Some(proxy) = proxy else { return false };
        proxy.begin_behind(sn);
        let writer = proxy.guid();
        if named {
            self.insist(now, writer, out);
        }
        true
    }

    /// Takes a complete change that is not settled yet.
    fn take(&mut self, now: Now, index: ProxyIndex, change: Incoming, sink: &mut dyn DeliverySink) {
        let Some(proxy) = self.writers.get_mut(index) else { return };
        if !proxy.reliable {
            let sn = change.sn;
            proxy.jump_to(sn, sink, &mut self.stats);
            self.deliver_unreliably(now, index, change, sink);
        } else if proxy.is_next(change.sn) {
            proxy.offer(now, change, sink, &mut self.stats);
            self.advance(now, index, sink);
        } else {
            self.keep_out_of_order(index, change);
        }
    }

    /// Keeps a change until the ones before it have arrived, if there is room.
    fn keep_out_of_order(&mut self, index: ProxyIndex, change: Incoming) {
        let room = self.out_of_order_room(index);
        let Some(proxy) = self.writers.get_mut(index) else { return };
        let counter = if proxy.ahead.store.made().insert(change, self.cfg.max_out_of_order_samples, room) {
            &mut self.stats.out_of_order
        } else {
            self.refused = Some(Misbehaviour::NoRoom);
            &mut self.stats.out_of_order_dropped
        };
        *counter = counter.saturating_add(1);
    }

    /// Octets of changes that one writer may have waiting.
    fn out_of_order_room(&self, index: ProxyIndex) -> usize {
        let others = self.writers.iter().enumerate().filter(|(other, _)| *other != index.get());
        let others = others.fold(0usize, |sum, (_, proxy)| sum.saturating_add(proxy.ahead.store.octets()));
        let left = self.cfg.max_out_of_order_bytes_total.saturating_sub(others);
        self.cfg.max_out_of_order_bytes.min(left)
    }

    /// Delivers a change that is not offered again if it is rejected.
    fn deliver_unreliably(
        &mut self,
        now: Now,
        index: ProxyIndex,
        change: Incoming,
        sink: &mut dyn DeliverySink,
    ) {
        let Some(proxy) = self.writers.get_mut(index) else { return };
        let sn = change.sn;
        let counter = match sink.deliver(now, &change.received(proxy.guid())) {
            crate::Delivery::Accepted | crate::Delivery::Dropped => &mut self.stats.delivered,
            crate::Delivery::Rejected => &mut self.stats.rejected,
        };
        *counter = counter.saturating_add(1);
        proxy.mark(sn, change.source_timestamp);
        proxy.expected = sn.next();
        self.advance(now, index, sink);
    }

    /// Treats a change that is for another reader as one that will not come.
    fn directed_elsewhere(
        &mut self,
        now: Now,
        index: ProxyIndex,
        sn: SequenceNumber,
        sink: &mut dyn DeliverySink,
    ) {
        self.stats.directed_elsewhere = self.stats.directed_elsewhere.saturating_add(1);
        self.pass_over(now, index, sn, sink);
    }

    /// Treats a change as one that will not come.
    fn pass_over(&mut self, now: Now, index: ProxyIndex, sn: SequenceNumber, sink: &mut dyn DeliverySink) {
        let Some(proxy) = self.writers.get_mut(index) else { return };
        proxy.add_irrelevant(SnRange::new(sn, sn));
        self.advance(now, index, sink);
    }

    /// Delivers what has come into order and forgets what that leaves behind.
    pub(super) fn advance(&mut self, now: Now, index: ProxyIndex, sink: &mut dyn DeliverySink) {
        let Some(proxy) = self.writers.get_mut(index) else { return };
        proxy.advance(now, sink, &mut self.stats);
        let Some(partials) = proxy.ahead.partials.if_made() else { return };
        let before = partials.evicted();
        partials.remove_before(proxy.expected, &mut self.pool);
        let evicted = partials.evicted().saturating_sub(before);
        self.stats.partials_evicted = self.stats.partials_evicted.saturating_add(evicted);
    }

    /// Puts fragments in place, making room at the expense of stale partial changes if need be.
    fn assemble(
        &mut self,
        now: Now,
        index: ProxyIndex,
        state: &ReceiverState,
        frag: &DataFrag<'_>,
        packet: &SharedBytes,
    ) -> Added {
        let mut added = self.add_fragments(now, index, state, frag, packet);
        if matches!(added, Added::NoRoom) && self.evict_stalest(now) {
            added = self.add_fragments(now, index, state, frag, packet);
        }
        added
    }

    fn add_fragments(
        &mut self,
        now: Now,
        index: ProxyIndex,
        state: &ReceiverState,
        frag: &DataFrag<'_>,
        packet: &SharedBytes,
    ) -> Added {
        let begun = self.writers.get(index).is_some_and(|proxy| proxy.ahead.partials.has(frag.writer_sn));
        // What was begun has its room.
        let others = if begun { 0 } else { self.reassembly_of_others(index) };
        let Some(proxy) = self.writers.get_mut(index) else { return Added::Refused };
        let per_writer = self.cfg.max_reassembly_bytes_per_writer;
        let limits = Limits {
            partials: if proxy.reliable { self.cfg.max_partial_samples.max(1) } else { BEST_EFFORT_PARTIALS },
            octets: per_writer.min(self.cfg.max_reassembly_bytes.saturating_sub(others)),
            sample: per_writer.min(self.cfg.max_reassembly_bytes),
            prefer_newest: !proxy.reliable,
        };
        let partials = proxy.ahead.partials.made();
        let before = partials.evicted();
        let (added, placed) = partials.add(now.mono, state, frag, packet, limits, &mut self.pool);
        let evicted = partials.evicted().saturating_sub(before);
        if frag.writer_sn <= proxy.announced.last {
            partials.announce_through(proxy.announced.last);
        }
        self.stats.partials_evicted = self.stats.partials_evicted.saturating_add(evicted);
        self.stats.fragments_received = self.stats.fragments_received.saturating_add(u64::from(placed));
        added
    }

    /// Octets of changes in parts of all writers but one.
    fn reassembly_of_others(&self, index: ProxyIndex) -> usize {
        let others = self.writers.iter().enumerate().filter(|(other, _)| *other != index.get());
        others.fold(0usize, |sum, (_, proxy)| sum.saturating_add(proxy.ahead.partials.octets()))
    }

    /// Gives up the partial change that has waited longest, if that is long. True when there was one.
    fn evict_stalest(&mut self, now: Now) -> bool {
        let stalest = self.writers.iter().enumerate().filter_map(|(index, proxy)| {
            let (touched, sn) = proxy.ahead.partials.stalest()?;
            Some((touched, ProxyIndex::new(index), sn))
        });
        let Some((touched, index, sn)) = stalest.min() else { return false };
        let Some(proxy) = self.writers.get_mut(index).filter(|_| now.mono.since(touched) >= STALE_AFTER)
        else {
            return false;
        };
        if let Some(partials) = proxy.ahead.partials.if_made() {
            partials.remove_sn(sn, &mut self.pool);
        }
        self.stats.partials_evicted = self.stats.partials_evicted.saturating_add(1);
        true
    }
}
