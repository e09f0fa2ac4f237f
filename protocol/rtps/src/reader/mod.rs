//! RTPS 2.5 §8.4.12 "RTPS StatefulReader Reference Implementation".

mod acknowledge;
mod config;
mod control;
mod incoming;
mod passed_over;
mod proxy;
mod reassembly;
mod receive;
mod room;
mod store;
mod suspect;
mod writers;

use alloc::{boxed::Box, sync::Arc, vec::Vec};

pub use config::{ReaderConfig, WriterProxyConfig};
pub use control::Source;
use dunlin_buf::{BufPool, Outbox};
use dunlin_core::{
    Duration, EntityId, Guid, GuidPrefix, Locator, Misbehaviour, MonoTime, Now, SequenceNumber,
};
pub(crate) use incoming::Incoming;
use proxy::{Acquaintance, Standpoint, WriterProxy};
pub(crate) use reassembly::{Added, Limits, Reassembly};
pub use receive::Run;
pub use room::ReceiveRoom;
use room::Shares;
use writers::Writers;

use crate::proxy_index::ProxyIndex;
use crate::remembered::{Life, Remembered};
use crate::timing::{arm, earliest};
use crate::{DeliverySink, ReaderStats};

/// A reader with its matched writers.
///
/// Changes of a reliable writer reach the [`DeliverySink`] once and in order; what arrives early waits. Changes of a
/// best-effort writer reach it in order, and what is overtaken is lost.
#[derive(Debug)]
pub struct Reader {
    cfg: ReaderConfig,
    /// Sorted by GUID; boxed, so that making room among a thousand moves pointers.
    writers: Writers,
    /// Their GUIDs in the same order, close together for the search.
    guids: Vec<Guid>,
    /// When each has something to be told, at the earliest; close together too.
    deadlines: Vec<Option<MonoTime>>,
    pool: BufPool,
    due: Option<MonoTime>,
    /// Counts of the last ACKNACK and of the last NACK_FRAG.
    acknacks: i32,
    nack_frags: i32,
    /// How far writers were whose participants were not heard for their lease.
    lost_writers: Remembered<Standpoint>,
    /// For [`take_newly_acknowledged_match`](Self::take_newly_acknowledged_match).
    newly_acknowledged: bool,
    /// For [`take_refused`](Self::take_refused).
    refused: Option<Misbehaviour>,
    stats: ReaderStats,
    shares: Shares,
}

impl Reader {
    /// A reader without matched writers.
    #[must_use]
    pub fn new(cfg: ReaderConfig) -> Self {
        Self {
            pool: BufPool::new(cfg.max_pooled_bytes),
            writers: Writers::default(),
            guids: Vec::new(),
            deadlines: Vec::new(),
            due: None,
            acknacks: 0,
            nack_frags: 0,
            lost_writers: Remembered::default(),
            newly_acknowledged: false,
            refused: None,
            stats: ReaderStats::default(),
            shares: Shares::of(cfg.receive_room.clone()),
            cfg,
        }
    }

    /// The reader's GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.cfg.guid
    }

    /// Adds a writer. A reliable writer is asked for a HEARTBEAT by an ACKNACK that acknowledges nothing, after
    /// [`ReaderConfig::preemptive_ack_delay`] and again until it answers. A writer that is matched already only has its
    /// locators updated.
    pub fn match_writer(&mut self, now: Now, writer: WriterProxyConfig, out: &mut Outbox) {
        self.match_writer_of(now, None, writer, out);
    }

    /// As [`match_writer`](Self::match_writer), of a life that is known: a writer that was [lost](Self::lose_writer) in the same
    /// life goes on where it was.
    pub fn match_writer_of(
        &mut self,
        now: Now,
        life: Option<Life>,
        writer: WriterProxyConfig,
        out: &mut Outbox,
    ) {
        let slot = match self.guids.binary_search(&writer.guid) {
            Ok(_) => {
                self.update_writer(writer.guid, writer.unicast, writer.multicast);
                return;
            }
            Err(slot) => slot,
        };
        let reliable = writer.reliable && self.cfg.reliable;
        let mut proxy = WriterProxy::new(writer, reliable, self.cfg.ack_suppression);
        let before = self.lost_writers.take(proxy.guid(), life);
        if self.cfg.acknowledge_on_commit {
            proxy.acknowledge_on_commit();
        }
        before.into_iter().for_each(|before| proxy.resume(before));
        if reliable {
            proxy.ack.preemptive_due = Some(now.mono.plus(self.cfg.preemptive_ack_delay));
            self.shares.add();
        }
        self.guids.insert(slot, proxy.guid());
        self.deadlines.insert(slot, None);
        self.writers.insert(slot, Box::new(proxy));
        self.acknowledge_if_due(now.mono, ProxyIndex::new(slot), out);
    }

    /// The count of the next ACKNACK. All writers are sent numbers of one row, so that a writer that this reader forgot
    /// and meets again, but that never forgot the reader, does not take what it is told then for a repetition.
    pub fn next_acknack_count(&mut self) -> i32 {
        self.acknacks = self.acknacks.wrapping_add(1);
        self.acknacks
    }

    /// Whether nothing up to `sn` is to come from a writer any more.
    #[must_use]
    pub fn has_passed(&self, writer: Guid, sn: SequenceNumber) -> bool {
        self.find(writer).and_then(|index| self.writers.get(index)).is_some_and(|proxy| proxy.expected > sn)
    }

    /// Asks a reliable writer for a HEARTBEAT, again and again until one comes.
    pub fn ask(&mut self, now: Now, writer: Guid) {
        let Some(index) = self.find(writer) else { return };
        let Some(proxy) = self.writers.get_mut(index).filter(|proxy| proxy.reliable) else { return };
        arm(&mut proxy.ack.preemptive_due, now.mono);
        self.wake_for(index);
    }

    /// Replaces the locators of a matched writer; false when it is not matched.
    pub fn update_writer(
        &mut self,
        writer: Guid,
        unicast: Arc<[Locator]>,
        multicast: Arc<[Locator]>,
    ) -> bool {
        let Some(proxy) = self.find(writer).and_then(|index| self.writers.get_mut(index)) else {
            return false;
        };
        proxy.cfg.unicast = unicast;
        proxy.cfg.multicast = multicast;
        true
    }

    /// Forgets a writer whose participant was not heard for its lease, but not how far it was: what it writes until it is met again
    /// and is gone by then is lost. Without a known life nobody could tell that it is the same, and nothing is remembered. False
    /// when it was not matched.
    pub fn lose_writer(&mut self, writer: Guid, life: Option<Life>) -> bool {
        let known = self.find(writer).and_then(|index| self.writers.get(index));
        if let Some((life, place)) = life.zip(known.and_then(|proxy| proxy.standpoint())) {
            self.lost_writers.put(writer, life, place);
        }
        self.unmatch_writer(writer)
    }

    /// Forgets a writer and what it has not completed; false when it was not matched.
    pub fn unmatch_writer(&mut self, writer: Guid) -> bool {
        let Some(index) = self.find(writer) else { return false };
        self.guids.remove(index.get());
        self.deadlines.remove(index.get());
        let mut proxy = self.writers.remove(index.get());
        if proxy.reliable {
            self.shares.remove();
        }
        if let Some(partials) = proxy.ahead.partials.if_made() {
            partials.clear(&mut self.pool);
        }
        true
    }

    /// Offers again what the sink rejected, after room was made; tells the writers at once how far that got.
    pub fn retry_rejected(&mut self, now: Now, sink: &mut dyn DeliverySink, out: &mut Outbox) {
        for index in self.writers.indices() {
            let Some(proxy) = self.writers.get_mut(index).filter(|proxy| proxy.blocked) else { continue };
            let before = proxy.unacknowledged();
            proxy.blocked = false;
            self.advance(now, index, sink);
            if self.writers.get(index).is_some_and(|proxy| proxy.unacknowledged() > before) {
                self.send_acknack(now.mono, index, true, out);
            }
        }
    }

    /// The application has stored everything of a writer up to `through`: it is acknowledged, and that is told at once. For readers
    /// with [`ReaderConfig::acknowledge_on_commit`]. A writer that is lost is told when it is met again in the same life; nothing
    /// happens if it is not matched any more otherwise.
    pub fn commit(&mut self, now: Now, writer: Guid, through: SequenceNumber, out: &mut Outbox) {
        let Some(index) = self.find(writer) else {
            if let Some(place) = self.lost_writers.get_mut(writer) {
                place.commit(through);
            }
            return;
        };
        let more = self.writers.get_mut(index).is_some_and(|proxy| proxy.reliable && proxy.commit(through));
        if more {
            self.send_acknack(now.mono, index, true, out);
        }
    }

    /// A change that was taken to be shown is not, so the application cannot commit it: it expired, say, or its set is not complete.
    /// What can be acknowledged by that is told at once.
    pub fn forgo_commit(&mut self, now: Now, writer: Guid, sn: SequenceNumber, out: &mut Outbox) {
        let Some(index) = self.find(writer) else {
            if let Some(place) = self.lost_writers.get_mut(writer) {
                place.forgo_commit(sn);
            }
            return;
        };
        if self.writers.get_mut(index).is_some_and(|proxy| proxy.reliable && proxy.forgo_commit(sn)) {
            self.send_acknack(now.mono, index, true, out);
        }
    }

    /// Does what has become due: ACKNACKs that were delayed, requests that were not served.
    pub fn on_timer(&mut self, now: Now, _sink: &mut dyn DeliverySink, out: &mut Outbox) {
        if !crate::timing::is_due(self.due, now.mono) {
            return;
        }
        for index in self.writers.indices() {
            let due = self.deadlines.get(index.get()).copied().flatten();
            if crate::timing::is_due(due, now.mono) {
                self.acknowledge_if_due(now.mono, index, out);
            }
        }
        self.due = self.deadlines.iter().fold(None, |due, deadline| earliest(due, *deadline));
    }

    /// When [`on_timer`](Self::on_timer) next has something to do; it may turn out to be nothing.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        self.due
    }

    /// Whether every durable writer has delivered what its first HEARTBEAT announced.
    #[must_use]
    pub fn historical_complete(&self) -> bool {
        self.writers.iter().all(|proxy| proxy.historical_complete())
    }

    /// Whether anything has come from a matched writer; `None` when it is not matched.
    #[must_use]
    pub fn has_heard(&self, writer: Guid) -> Option<bool> {
        let proxy = self.writers.get(self.find(writer)?)?;
        let delivered = proxy.expected > SequenceNumber::FIRST && !proxy.start.resumed;
        Some(proxy.start.heard || proxy.announced.heartbeats.heard() || delivered)
    }

    /// Of a writer that was lost and met again, the first change that was neither delivered nor counted as lost before; what comes
    /// again from before that is known.
    #[must_use]
    pub fn resumed_from(&self, writer: Guid) -> Option<SequenceNumber> {
        self.writers.get(self.find(writer)?)?.resumed_from()
    }

    /// Whether a matched writer has matched this reader too: it has sent it a HEARTBEAT or a GAP that names this
    /// reader, behind an INFO_DST that names this participant. `None` when it is not matched.
    #[must_use]
    pub fn is_known_to(&self, writer: Guid) -> Option<bool> {
        Some(self.writers.get(self.find(writer)?)?.acquaintance == Acquaintance::Shown)
    }

    /// Asks a reliable writer, again and again, until it shows that it knows this reader.
    pub fn insist(&mut self, now: Now, writer: Guid, out: &mut Outbox) {
        let Some(index) = self.find(writer) else { return };
        let Some(proxy) = self.writers.get_mut(index) else { return };
        if !proxy.reliable || !proxy.acquaintance.ask() {
            return;
        }
        // A writer that has just met this reader is about to speak.
        let soon = now.mono.plus(self.cfg.preemptive_ack_delay);
        proxy.ack.preemptive_due.get_or_insert(soon);
        self.acknowledge_if_due(now.mono, index, out);
    }

    /// Whether since the last call a writer has shown for the first time that it knows this reader.
    pub fn take_newly_acknowledged_match(&mut self) -> bool {
        core::mem::take(&mut self.newly_acknowledged)
    }

    /// Something came from a writer that is for this reader alone, or for others too.
    fn note_addressee(&mut self, index: ProxyIndex, source: Source, reader_id: EntityId) {
        let Some(proxy) = self.writers.get_mut(index) else { return };
        if source.directed && reader_id != EntityId::UNKNOWN {
            self.newly_acknowledged |= proxy.acquaintance.show();
        }
    }

    /// Why the last submessage was refused, if it was.
    pub fn take_refused(&mut self) -> Option<Misbehaviour> {
        self.refused.take()
    }

    /// The matched writers, by GUID.
    pub fn matched_writers(&self) -> impl ExactSizeIterator<Item = &WriterProxyConfig> {
        self.writers.iter().map(|proxy| &proxy.cfg)
    }

    /// Counters since the reader was made, and what it keeps now.
    #[must_use]
    pub fn stats(&self) -> ReaderStats {
        let mut stats = self.stats;
        for proxy in self.writers.iter() {
            let add = |sum: &mut u64, count: usize| *sum = sum.saturating_add(count as u64);
            add(&mut stats.out_of_order_now, proxy.ahead.store.len());
            add(&mut stats.out_of_order_octets, proxy.ahead.store.octets());
            add(&mut stats.reassembly_octets, proxy.ahead.partials.octets());
        }
        stats
    }

    fn find(&self, writer: Guid) -> Option<ProxyIndex> {
        self.guids.binary_search(&writer).ok().map(ProxyIndex::new)
    }

    /// The matched writer a submessage came from, if it is meant for this reader.
    fn addressed(
        &mut self,
        prefix: GuidPrefix,
        writer_id: EntityId,
        reader_id: EntityId,
    ) -> Option<ProxyIndex> {
        if reader_id != EntityId::UNKNOWN && reader_id != self.cfg.guid.entity_id {
            return None;
        }
        let index = self.find(Guid::new(prefix, writer_id));
        if index.is_none() {
            self.stats.unmatched = self.stats.unmatched.saturating_add(1);
            // What is for all readers comes to those too that are not matched.
            if reader_id != EntityId::UNKNOWN {
                self.refused = Some(Misbehaviour::NotMatched);
            }
        }
        index
    }

    /// Where a matched writer is.
    pub(crate) fn matched(&mut self, writer: Guid) -> Option<ProxyIndex> {
        self.addressed(writer.prefix, writer.entity_id, EntityId::UNKNOWN)
    }

    /// Up to which change of a writer nothing more is needed.
    pub(crate) fn settled_through(&self, index: ProxyIndex) -> Option<SequenceNumber> {
        self.writers.get(index).map(|proxy| proxy.unacknowledged().previous())
    }

    /// Takes up when a writer next has something to be told.
    fn wake_for(&mut self, index: ProxyIndex) {
        let at = self.writers.get(index).and_then(|proxy| proxy.ack.deadline());
        if let Some(deadline) = self.deadlines.get_mut(index.get()) {
            *deadline = at;
        }
        if let Some(at) = at {
            arm(&mut self.due, at);
        }
    }
}

/// Twice an interval, up to a bound.
fn doubled(interval: Duration, max: Duration) -> Duration {
    interval.max(Duration::from_micros(100)).times(2).min(max)
}
