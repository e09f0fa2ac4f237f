//! What tests share: a history, a sink, and a view of what was sent.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{
    EntityId, Guid, GuidPrefix, InstanceHandle, Locator, LocatorKind, MonoTime, Now, Path, Paths,
    SequenceNumber, VendorId, WallTime,
};
use dunlin_wire::{Message, ReceiverState, Submessage};

use crate::{
    Change, ChangeKind, Delivery, DeliverySink, Life, Reader, ReaderConfig, ReaderProxyConfig, Received,
    Writer, WriterConfig, WriterHistory, WriterProxyConfig,
};

pub(crate) const WRITER: Guid = Guid::new(GuidPrefix([1; 12]), EntityId([0, 0, 1, 2]));
pub(crate) const GROUP: Locator = Locator::udp_v4(Ipv4Addr::new(239, 255, 0, 1), 7401);

/// Places in shared memory whose rings have room for messages of so many octets, and for as much beside one.
#[derive(Debug)]
pub(crate) struct Ring(pub(crate) usize);

impl Ring {
    pub(crate) fn paths(longest: usize) -> Option<Arc<dyn Paths>> {
        Some(Arc::new(Self(longest)))
    }
}

impl Paths for Ring {
    fn path(&self, to: &Locator) -> Path {
        if to.kind != LocatorKind::SHARED_MEMORY {
            return Path::unknown(to.kind);
        }
        Path { kind: to.kind, max_message: self.0, room: self.0, same_host: true, in_frames: false }
    }
}

/// The `n`th reader, each in a participant of its own.
pub(crate) fn reader_guid(n: u8) -> Guid {
    Guid::new(GuidPrefix([0x10 + n; 12]), EntityId([0, 0, n, 7]))
}

/// Unicast locator of a participant.
pub(crate) fn host(prefix: GuidPrefix) -> Locator {
    Locator::udp_v4(Ipv4Addr::new(10, 0, 0, prefix.0[0]), 7411)
}

/// The life of an endpoint that was announced then, in nanoseconds.
pub(crate) fn life(announced: i64) -> Option<Life> {
    Some(Life { number: SequenceNumber(1), time: WallTime(announced) })
}

/// A point in time, in microseconds.
pub(crate) fn at(micros: u64) -> Now {
    Now { mono: MonoTime(micros * 1000), wall: WallTime(micros as i64 * 1000) }
}

/// A payload of `len` octets that differ.
pub(crate) fn sample(len: usize) -> SharedBytes {
    SharedBytes::from((0..len).map(|i| (i % 251) as u8).collect::<Vec<_>>())
}

/// An alive change.
pub(crate) fn change(sn: i64, payload: SharedBytes) -> Change {
    Change {
        sn: SequenceNumber(sn),
        kind: ChangeKind::Alive,
        instance: InstanceHandle::NIL,
        source_timestamp: WallTime(1_700_000_000_000_000_000 + sn),
        payload: Some(payload),
        inline_qos: None,
    }
}

/// A history without bounds of its own.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) changes: BTreeMap<SequenceNumber, Change>,
    last: SequenceNumber,
}

impl History {
    pub(crate) fn add(&mut self, len: usize) -> SequenceNumber {
        let sn = self.last.next();
        self.add_change(change(sn.0, sample(len)))
    }

    pub(crate) fn add_change(&mut self, change: Change) -> SequenceNumber {
        self.last = change.sn;
        self.changes.insert(change.sn, change);
        self.last
    }

    pub(crate) fn remove(&mut self, sn: i64) {
        self.changes.remove(&SequenceNumber(sn));
    }
}

impl WriterHistory for History {
    fn get(&self, sn: SequenceNumber) -> Option<&Change> {
        self.changes.get(&sn)
    }

    fn first_sn(&self) -> Option<SequenceNumber> {
        self.changes.keys().next().copied()
    }

    fn last_sn(&self) -> SequenceNumber {
        self.last
    }

    fn next_at_or_after(&self, sn: SequenceNumber) -> Option<SequenceNumber> {
        self.changes.range(sn..).next().map(|(sn, _)| *sn)
    }
}

/// Key hash, source timestamp, whether the payload is a key and whether it was reassembled.
pub(crate) type Meta = (Option<[u8; 16]>, Option<WallTime>, bool, bool);

/// Remembers what was delivered.
#[derive(Default)]
pub(crate) struct Sink {
    pub(crate) got: Vec<i64>,
    pub(crate) payloads: Vec<Option<SharedBytes>>,
    pub(crate) kinds: Vec<ChangeKind>,
    pub(crate) last: Option<Meta>,
    pub(crate) lost: u64,
    /// Changes it still has room for, if bounded.
    pub(crate) room: Option<usize>,
    /// It takes everything for copies of what it has had.
    pub(crate) drops: bool,
}

impl DeliverySink for Sink {
    fn deliver(&mut self, _now: Now, change: &Received<'_>) -> Delivery {
        if self.drops {
            return Delivery::Dropped;
        }
        match &mut self.room {
            Some(0) => return Delivery::Rejected,
            Some(room) => *room -= 1,
            None => {}
        }
        self.got.push(change.sn.0);
        self.payloads.push(change.payload.clone());
        self.kinds.push(change.kind);
        self.last = Some((change.key_hash, change.source_timestamp, change.key_only, change.reassembled));
        Delivery::Accepted
    }

    fn lost(&mut self, _writer: Guid, count: u64) {
        self.lost = self.lost.saturating_add(count);
    }
}

/// A submessage, in the few words a test compares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    Dst(GuidPrefix),
    Ts,
    Data { sn: i64, reader: EntityId },
    Frag { sn: i64, number: u32 },
    Hb { first: i64, last: i64, ask: bool },
    Alive { first: i64, last: i64 },
    HbFrag { sn: i64, last: u32 },
    Gap { from: i64, base: i64, bits: Vec<i64> },
    Ack { base: i64, bits: Vec<i64>, ask: bool },
    NackFrag { sn: i64, numbers: Vec<u32> },
}

/// A sent datagram.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) to: Vec<Locator>,
    pub(crate) bytes: SharedBytes,
}

impl Packet {
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let message = Message::parse(&self.bytes).unwrap();
        message.submessages().map(|parsed| seen(&parsed.unwrap().body)).collect()
    }
}

fn seen(body: &Submessage<'_>) -> Seen {
    match body {
        Submessage::InfoDst(prefix) => Seen::Dst(*prefix),
        Submessage::InfoTs(Some(_)) => Seen::Ts,
        Submessage::Data(data) => Seen::Data { sn: data.writer_sn.0, reader: data.reader_id },
        Submessage::DataFrag(frag) => {
            assert_eq!(frag.fragments_in_submessage, 1);
            Seen::Frag { sn: frag.writer_sn.0, number: frag.fragment_starting_num }
        }
        Submessage::Heartbeat(hb) if hb.liveliness_flag => {
            assert!(hb.final_flag);
            Seen::Alive { first: hb.first_sn.0, last: hb.last_sn.0 }
        }
        Submessage::Heartbeat(hb) => {
            Seen::Hb { first: hb.first_sn.0, last: hb.last_sn.0, ask: !hb.final_flag }
        }
        Submessage::HeartbeatFrag(hb) => Seen::HbFrag { sn: hb.writer_sn.0, last: hb.last_fragment_num },
        Submessage::Gap(gap) => Seen::Gap {
            from: gap.gap_start.0,
            base: gap.gap_list.base().0,
            bits: gap.gap_list.iter().map(|sn| sn.0).collect(),
        },
        Submessage::AckNack(ack) => Seen::Ack {
            base: ack.reader_sn_state.base().0,
            bits: ack.reader_sn_state.iter().map(|sn| sn.0).collect(),
            ask: !ack.final_flag,
        },
        Submessage::NackFrag(nack) => {
            Seen::NackFrag { sn: nack.writer_sn.0, numbers: nack.fragment_number_state.iter().collect() }
        }
        other => panic!("unexpected {other:?}"),
    }
}

/// Takes the datagrams out of an outbox.
pub(crate) fn drain(out: &mut Outbox) -> Vec<Packet> {
    let packets = out.datagrams().map(|datagram| {
        let mut bytes = vec![];
        datagram.copy_to(&mut bytes);
        assert_eq!(bytes.len(), datagram.len());
        Packet { to: datagram.destinations().to_vec(), bytes: SharedBytes::from(bytes) }
    });
    let packets = packets.collect();
    out.clear();
    packets
}

/// Takes what was sent out of an outbox, datagram by datagram.
pub(crate) fn sent(out: &mut Outbox) -> Vec<Vec<Seen>> {
    drain(out).iter().map(Packet::seen).collect()
}

/// A packet arrives at a reader.
pub(crate) fn to_reader(reader: &mut Reader, now: Now, packet: &Packet, sink: &mut Sink, out: &mut Outbox) {
    let message = Message::parse(&packet.bytes).unwrap();
    let mut state = ReceiverState::new(reader.guid().prefix, &message.header());
    for parsed in message.submessages() {
        let body = parsed.unwrap().body;
        state.apply(&body);
        if !state.is_destination() {
            continue;
        }
        match &body {
            Submessage::Data(data) => reader.on_data(now, &state, data, &packet.bytes, sink, out),
            Submessage::DataFrag(frag) => reader.on_data_frag(now, &state, frag, &packet.bytes, sink, out),
            Submessage::Heartbeat(hb) => {
                reader.on_heartbeat(now, (&state).into(), hb, sink, out);
            }
            Submessage::HeartbeatFrag(hb) => reader.on_heartbeat_frag(now, state.source_prefix, hb, out),
            Submessage::EchoRequest(request) => {
                reader.on_echo_request(now, state.source_prefix, request, out)
            }
            Submessage::Gap(gap) => reader.on_gap(now, (&state).into(), gap, sink, out),
            _ => {}
        }
    }
}

/// A packet arrives at a writer.
pub(crate) fn to_writer(writer: &mut Writer, now: Now, packet: &Packet, history: &History, out: &mut Outbox) {
    let message = Message::parse(&packet.bytes).unwrap();
    let mut state = ReceiverState::new(writer.guid().prefix, &message.header());
    for parsed in message.submessages() {
        let body = parsed.unwrap().body;
        state.apply(&body);
        if !state.is_destination() {
            continue;
        }
        match &body {
            Submessage::AckNack(ack) => {
                writer.on_acknack(now, state.source_prefix, ack, history, out);
            }
            Submessage::NackFrag(nack) => {
                writer.on_nack_frag(now, state.source_prefix, nack, history, out);
            }
            Submessage::Echo(echo) => {
                writer.on_echo(now, state.source_prefix, echo);
            }
            _ => {}
        }
    }
}

/// A writer and its history, and how it is used by one thread.
pub(crate) struct Source {
    pub(crate) writer: Writer,
    pub(crate) history: History,
    pub(crate) out: Outbox,
}

impl Source {
    pub(crate) fn new(cfg: WriterConfig) -> Self {
        let writer = Writer::new(WriterConfig { guid: WRITER, ..cfg });
        Self { writer, history: History::default(), out: Outbox::new() }
    }

    /// Writes a sample of `len` octets.
    pub(crate) fn write(&mut self, now: Now, len: usize) -> SequenceNumber {
        let sn = self.history.add(len);
        self.push(now, sn);
        sn
    }

    pub(crate) fn push(&mut self, now: Now, sn: SequenceNumber) {
        self.writer.on_new_change(now, sn, &self.history, &mut self.out);
        self.writer.mark_on_wire(self.writer.sent_sn());
    }

    pub(crate) fn timer(&mut self, now: Now) {
        self.writer.on_timer(now, &self.history, &mut self.out);
        self.writer.mark_on_wire(self.writer.sent_sn());
    }

    pub(crate) fn match_reader(&mut self, now: Now, reader: ReaderProxyConfig) {
        self.writer.match_reader(now, reader, &self.history, &mut self.out);
    }

    pub(crate) fn receive(&mut self, now: Now, packet: &Packet) {
        to_writer(&mut self.writer, now, packet, &self.history, &mut self.out);
    }

    pub(crate) fn sent(&mut self) -> Vec<Vec<Seen>> {
        sent(&mut self.out)
    }
}

/// How a writer sees the `n`th reader.
pub(crate) fn reader_proxy(n: u8) -> ReaderProxyConfig {
    let guid = reader_guid(n);
    ReaderProxyConfig {
        guid,
        reliable: true,
        durable: false,
        expects_inline_qos: false,
        unicast: [host(guid.prefix)].into(),
        multicast: [].into(),
        vendor: VendorId::DUNLIN,
        begun_set: None,
        filter: None,
        minimum_separation: dunlin_core::Duration::ZERO,
    }
}

/// A reader, its sink and what it sent.
pub(crate) struct Target {
    pub(crate) reader: Reader,
    pub(crate) sink: Sink,
    pub(crate) out: Outbox,
}

impl Target {
    pub(crate) fn new(n: u8, cfg: ReaderConfig) -> Self {
        let reader = Reader::new(ReaderConfig { guid: reader_guid(n), ..cfg });
        Self { reader, sink: Sink::default(), out: Outbox::new() }
    }

    pub(crate) fn match_writer(&mut self, now: Now, durable: bool) {
        self.match_writer_of(now, None, durable);
    }

    pub(crate) fn match_writer_of(&mut self, now: Now, life: Option<Life>, durable: bool) {
        let cfg = WriterProxyConfig {
            only_announced: false,
            guid: WRITER,
            reliable: true,
            durable,
            unicast: [host(WRITER.prefix)].into(),
            multicast: [].into(),
            vendor: VendorId::DUNLIN,
        };
        self.reader.match_writer_of(now, life, cfg, &mut self.out);
    }

    pub(crate) fn receive(&mut self, now: Now, packet: &Packet) {
        to_reader(&mut self.reader, now, packet, &mut self.sink, &mut self.out);
    }

    pub(crate) fn timer(&mut self, now: Now) {
        self.reader.on_timer(now, &mut self.sink, &mut self.out);
    }

    pub(crate) fn sent(&mut self) -> Vec<Vec<Seen>> {
        sent(&mut self.out)
    }
}
