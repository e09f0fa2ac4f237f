//! The reliable built-in endpoints: RTPS 2.5 §8.5.4.2 (SEDP) and §8.4.13.3 (liveliness), on the engine of all endpoints.

use alloc::{sync::Arc, vec::Vec};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{
    Behaviour, Duration, EntityId, Guid, GuidPrefix, InstanceHandle, Locator, Misbehaviour, MonoTime, Now,
    SequenceNumber, VendorId, WallTime,
};
use dunlin_rtps::{
    ChangeKind, Delivery, DeliverySink, Life, Reader, ReaderConfig, ReaderProxyConfig, Received, Writer,
    WriterConfig, WriterHistory, WriterProxyConfig,
};
use dunlin_wire::{AckNack, Heartbeat, ReceiverState, Submessage};

use crate::{config::Quotas, data::ParticipantData, history::BuiltinHistory};

/// A built-in writer with its history.
#[derive(Debug)]
pub(crate) struct BuiltinWriter {
    writer: Writer,
    history: BuiltinHistory,
    /// How long a disposal stays at least.
    keep_disposed: Duration,
    /// What all participants have acknowledged whose lease has ended here, and who may come back.
    lost_acked: Option<SequenceNumber>,
}

/// So many changes an unverified participant may have heard, or may miss of what it heard.
const HEARD_BY_GROUP: i64 = 8;

impl BuiltinWriter {
    pub(crate) fn new(guid: Guid, max_message_size: usize, lease: Duration, first: SequenceNumber) -> Self {
        let config = WriterConfig {
            guid,
            reliable: true,
            keyed: true,
            transient_local: true,
            frugal: true,
            max_message_size,
            // Longer than answers of a large domain are spread, so that nobody is asked before its turn.
            heartbeat_period: Duration::from_millis(60),
            heartbeat_max_period: Duration::from_secs(2),
            // Who has just been verified gets everything without asking, and asks all the same when it hears the first
            // HEARTBEAT, which may be before that arrives.
            nack_suppression: Duration::from_millis(20),
            ..WriterConfig::default()
        };
        // A peer that this participant has forgotten forgets it no later than a lease after it last heard it, and may
        // have missed a disposal for as long before that.
        let keep_disposed = lease.times(2);
        let (writer, history) = (Writer::new(config), BuiltinHistory::starting_at(first));
        Self { writer, history, keep_disposed, lost_acked: None }
    }

    /// Keeps what participants may still have to hear that are lost now, of which all have acknowledged so much.
    pub(crate) fn keep_for_lost(&mut self, acknowledged: Option<SequenceNumber>) {
        self.lost_acked = acknowledged;
    }

    /// Adds a change and sends it to all matched readers.
    pub(crate) fn write(
        &mut self,
        now: Now,
        kind: ChangeKind,
        instance: InstanceHandle,
        payload: SharedBytes,
        out: &mut Outbox,
    ) {
        let sn = self.history.put(now, kind, instance, payload);
        self.writer.on_new_change(now, sn, &self.history, out);
        self.forget_disposed(now);
        self.sent();
    }

    /// Tells a reader that is not matched yet what there is.
    pub(crate) fn heartbeat_to_unmatched(
        &mut self,
        reader: Guid,
        destinations: &[Locator],
        out: &mut Outbox,
    ) {
        self.writer.heartbeat_to_unmatched(reader, destinations, &self.history, out);
    }

    /// Why the last submessage was refused, if it was.
    pub(crate) fn take_refused(&mut self) -> Option<Misbehaviour> {
        self.writer.take_refused()
    }

    /// The last change.
    #[cfg(test)]
    pub(crate) fn last_sn(&self) -> SequenceNumber {
        self.history.last_sn()
    }

    /// Whether a reader that says it waits for this change has been sent our HEARTBEAT. An unverified participant has none of
    /// the changes, or what it heard by way of a group; so its number is close to the first or to the last, and few are right. One that
    /// had `acknowledged` something may wait for anything behind that.
    pub(crate) fn has_told(&self, expected: SequenceNumber, acknowledged: Option<SequenceNumber>) -> bool {
        let next = self.history.last_sn().next();
        let first = self.history.first_sn().unwrap_or(next);
        let close = |sn: SequenceNumber| sn <= first.plus(HEARD_BY_GROUP) || sn.plus(HEARD_BY_GROUP) >= next;
        let goes_on = acknowledged.is_some_and(|acknowledged| expected > acknowledged);
        (first..=next).contains(&expected) && (close(expected) || goes_on)
    }

    /// What a matched reader has acknowledged.
    pub(crate) fn acked_by(&self, reader: Guid) -> Option<SequenceNumber> {
        self.writer.acked_by(reader)
    }

    pub(crate) fn match_reader(
        &mut self,
        now: Now,
        peer: &Peer,
        entity: EntityId,
        reliable: bool,
        out: &mut Outbox,
    ) {
        let proxy = ReaderProxyConfig {
            guid: Guid::new(peer.prefix, entity),
            reliable,
            durable: true,
            expects_inline_qos: false,
            unicast: Arc::clone(&peer.unicast),
            multicast: Arc::clone(&peer.multicast),
            vendor: peer.vendor,
            begun_set: None,
            filter: None,
            minimum_separation: Duration::ZERO,
        };
        self.writer.match_reader(now, proxy, &self.history, out);
        self.sent();
    }

    pub(crate) fn update_reader(&mut self, reader: Guid, peer: &Peer) {
        self.writer.update_reader(reader, Arc::clone(&peer.unicast), Arc::clone(&peer.multicast));
    }

    pub(crate) fn unmatch_reader(&mut self, reader: Guid) {
        self.writer.unmatch_reader(reader);
    }

    fn forget_disposed(&mut self, now: Now) {
        let acked = self.writer.acked_by_all();
        self.history.forget_disposed(now.mono, acked, self.lost_acked, self.keep_disposed);
    }

    pub(crate) fn on_submessage(
        &mut self,
        now: Now,
        source: GuidPrefix,
        submessage: &Submessage<'_>,
        out: &mut Outbox,
    ) {
        if feed_writer(&mut self.writer, now, source, submessage, &self.history, out) {
            self.forget_disposed(now);
            self.sent();
        }
    }

    /// Sends a reader that was just matched what it lacks by its ACKNACK, although it has not asked: it would only after
    /// a HEARTBEAT, a round trip later.
    pub(crate) fn catch_up(&mut self, now: Now, source: GuidPrefix, acknack: &AckNack, out: &mut Outbox) {
        let mut acknack = *acknack;
        if acknack.reader_sn_state.is_empty() {
            let (set, last) = (&mut acknack.reader_sn_state, self.history.last_sn());
            let mut sn = set.base();
            // As many as an ACKNACK can ask for.
            while sn <= last && set.insert(sn) {
                sn = sn.next();
            }
        }
        self.on_submessage(now, source, &Submessage::AckNack(acknack), out);
    }

    pub(crate) fn on_timer(&mut self, now: Now, out: &mut Outbox) {
        if self.next_deadline().is_some_and(|deadline| deadline <= now.mono) {
            self.writer.on_timer(now, &self.history, out);
            self.sent();
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.writer.next_deadline()
    }

    /// Discovery is one state machine, so what it put into the outbox precedes its later HEARTBEATs.
    fn sent(&mut self) {
        self.writer.mark_on_wire(self.writer.sent_sn());
    }
}

/// What a built-in proxy needs to know of its participant.
pub(crate) struct Peer {
    pub(crate) prefix: GuidPrefix,
    pub(crate) vendor: VendorId,
    pub(crate) unicast: Arc<[Locator]>,
    pub(crate) multicast: Arc<[Locator]>,
}

impl Peer {
    pub(crate) fn of(data: &ParticipantData) -> Self {
        Self {
            prefix: data.guid_prefix,
            vendor: data.vendor,
            unicast: data.locators.metatraffic_unicast.as_slice().into(),
            multicast: data.locators.metatraffic_multicast.as_slice().into(),
        }
    }
}

/// A change that a built-in reader received.
#[derive(Debug)]
pub(crate) struct BuiltinSample {
    pub(crate) writer: Guid,
    pub(crate) sn: SequenceNumber,
    pub(crate) timestamp: Option<WallTime>,
    pub(crate) kind: ChangeKind,
    pub(crate) key_hash: Option<[u8; 16]>,
    pub(crate) payload: Option<SharedBytes>,
}

impl BuiltinSample {
    /// The life of an endpoint that this announces. Without a time a program that starts again could not be told from the one
    /// before, as many number their announcements from the first.
    pub(crate) fn life(&self) -> Option<Life> {
        self.timestamp.map(|time| Life { number: self.sn, time })
    }
}

/// Takes changes out of a built-in reader; they are processed once the reader is done.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) samples: Vec<BuiltinSample>,
    /// Changes were announced that can no longer be had.
    pub(crate) lost: bool,
}

impl DeliverySink for Collector {
    fn deliver(&mut self, _: Now, change: &Received<'_>) -> Delivery {
        self.samples.push(BuiltinSample {
            writer: change.writer,
            sn: change.sn,
            timestamp: change.source_timestamp,
            kind: change.kind,
            key_hash: change.key_hash,
            payload: change.payload.clone(),
        });
        Delivery::Accepted
    }

    fn lost(&mut self, _: Guid, _: u64) {
        // Each was replaced by a later one of its instance, or removed it.
        self.lost = true;
    }
}

/// A built-in reader within limits that suit unauthenticated peers.
pub(crate) fn builtin_reader(guid: Guid, quotas: &Quotas) -> Reader {
    Reader::new(ReaderConfig {
        guid,
        reliable: true,
        max_out_of_order_samples: 128,
        max_out_of_order_bytes: quotas.max_out_of_order_octets_per_participant,
        max_out_of_order_bytes_total: quotas.max_out_of_order_octets,
        max_partial_samples: 2,
        max_reassembly_bytes_per_writer: quotas.max_reassembly_octets_per_participant,
        max_reassembly_bytes: quotas.max_reassembly_octets,
        max_pooled_bytes: 0,
        ..ReaderConfig::default()
    })
}

pub(crate) fn match_writer(reader: &mut Reader, now: Now, peer: &Peer, entity: EntityId, out: &mut Outbox) {
    let announces_endpoints =
        [EntityId::SEDP_PUBLICATIONS_WRITER, EntityId::SEDP_SUBSCRIPTIONS_WRITER].contains(&entity);
    let proxy = WriterProxyConfig {
        guid: Guid::new(peer.prefix, entity),
        reliable: true,
        durable: true,
        // One datagram in its name ends no endpoint. Others may announce what they wrote much later.
        only_announced: announces_endpoints && peer.vendor.does(Behaviour::SpeaksDunlin),
        unicast: Arc::clone(&peer.unicast),
        multicast: Arc::clone(&peer.multicast),
        vendor: peer.vendor,
    };
    reader.match_writer(now, proxy, out);
}

/// Hands a HEARTBEAT that came earlier to a built-in reader.
pub(crate) fn feed_heartbeat(
    reader: &mut Reader,
    now: Now,
    source: GuidPrefix,
    heartbeat: &Heartbeat,
    sink: &mut Collector,
    out: &mut Outbox,
) {
    reader.on_heartbeat(now, source.into(), heartbeat, sink, out);
}

/// Hands a submessage of a reader to a built-in writer; false if it is none.
pub(crate) fn feed_writer(
    writer: &mut Writer,
    now: Now,
    source: GuidPrefix,
    submessage: &Submessage<'_>,
    history: &dyn WriterHistory,
    out: &mut Outbox,
) -> bool {
    match submessage {
        Submessage::AckNack(acknack) => {
            writer.on_acknack(now, source, acknack, history, out);
        }
        Submessage::NackFrag(nack) => {
            writer.on_nack_frag(now, source, nack, history, out);
        }
        _ => return false,
    }
    true
}

/// Hands a submessage of a writer to a built-in reader.
pub(crate) fn feed(
    reader: &mut Reader,
    now: Now,
    state: &ReceiverState,
    submessage: &Submessage<'_>,
    packet: &SharedBytes,
    sink: &mut Collector,
    out: &mut Outbox,
) {
    let source = state.source_prefix;
    match submessage {
        Submessage::Data(data) => reader.on_data(now, state, data, packet, sink, out),
        Submessage::DataFrag(data) => reader.on_data_frag(now, state, data, packet, sink, out),
        Submessage::Heartbeat(heartbeat) => {
            reader.on_heartbeat(now, state.into(), heartbeat, sink, out);
        }
        Submessage::HeartbeatFrag(heartbeat) => reader.on_heartbeat_frag(now, source, heartbeat, out),
        Submessage::Gap(gap) => reader.on_gap(now, state.into(), gap, sink, out),
        _ => (),
    }
}
