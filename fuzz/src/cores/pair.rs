//! A writer and a reader with what lies between them.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{
    Duration, EntityId, Guid, GuidPrefix, InstanceHandle, Locator, MonoTime, Now, SequenceNumber, WallTime,
};
use dunlin_rtps::{
    Change, ChangeKind, Delivery, DeliverySink, Pacing, Reader, ReaderConfig, ReaderProxyConfig, Received,
    Writer, WriterConfig, WriterHistory, WriterProxyConfig,
};
use dunlin_wire::{Message, ReceiverState, Submessage};

use crate::input::Input;

pub(super) const WRITER: Guid = Guid::new(GuidPrefix([1; 12]), EntityId([0, 0, 1, 2]));
pub(super) const READER: Guid = Guid::new(GuidPrefix([2; 12]), EntityId([0, 0, 1, 7]));
const PLACE: Locator = Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 1), 7411);
/// Octets of datagrams, as the writer is configured.
const LONGEST_DATAGRAM: usize = 600;
/// An ACKNACK with requests for fragments stays below the least MTU of IPv6.
const LONGEST_ANSWER: usize = 1232;
/// Repairs of one event.
const BUDGET: usize = 8 * 1024;
/// Octets that may leave because of one operation: what is written, a budget, and what says that it is there.
const MOST_SENT: usize = BUDGET + 16 * 1024;
/// Rounds, and time, without anything new before everything must have arrived. A paced writer takes many rounds to say
/// what the reader has no room for, and one that measured a pause as distance repairs as late as that.
const PATIENCE: usize = 200;
const PATIENT_FOR: Duration = Duration::from_secs(3);

/// The history of the writer: KEEP_ALL.
#[derive(Default)]
pub(super) struct History {
    changes: BTreeMap<SequenceNumber, Change>,
    last: SequenceNumber,
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

/// Where the reader delivers.
#[derive(Default)]
pub(super) struct Sink {
    got: Vec<SequenceNumber>,
    /// Changes that may still come.
    room: Option<usize>,
    /// Contents are those of the writer.
    honest: bool,
}

impl DeliverySink for Sink {
    fn deliver(&mut self, _: Now, change: &Received<'_>) -> Delivery {
        match &mut self.room {
            Some(0) => return Delivery::Rejected,
            Some(room) => *room -= 1,
            None => {}
        }
        assert_eq!(change.writer, WRITER);
        if self.honest {
            assert!(self.got.last().is_none_or(|last| *last < change.sn), "{:?} out of order", change.sn);
            let payload = change.payload.as_deref().expect("every change has one");
            assert_eq!(*payload, *content(change.sn, payload.len()));
        }
        self.got.push(change.sn);
        Delivery::Accepted
    }
    fn lost(&mut self, _: Guid, count: u64) {
        assert!(count > 0);
    }
}

fn content(sn: SequenceNumber, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at as u64 ^ sn.0.cast_unsigned().wrapping_mul(31)) as u8).collect()
}

pub(super) struct Pair {
    pub(super) now: Now,
    pub(super) writer: Writer,
    pub(super) history: History,
    pub(super) reader: Reader,
    pub(super) sink: Sink,
    pub(super) out: Outbox,
    /// On the way, with the direction: true to the reader.
    queue: VecDeque<(bool, SharedBytes)>,
    /// Somebody spoke in the name of one of them.
    pub(super) forged: bool,
    reliable: bool,
    durable: bool,
    pub(super) written: u64,
    /// The next counts of what is forged.
    pub(super) count: i32,
}

impl Pair {
    pub(super) fn new(qos: u8) -> Self {
        let (reliable, durable) = (qos & 3 != 0, qos & 4 != 0);
        let pacing = (qos & 8 != 0).then_some(Pacing { rate: 2_000_000, burst: 3_000 });
        let writer = Writer::new(WriterConfig {
            guid: WRITER,
            reliable,
            transient_local: durable,
            fragment_size: if qos & 16 != 0 { 200 } else { 0 },
            max_message_size: LONGEST_DATAGRAM,
            repair_budget_per_event: BUDGET,
            pacing,
            window: usize::from(qos & 64 != 0) * 3_000,
            nack_response_delay: Duration::from_micros(i64::from(qos >> 7) * 500),
            ..WriterConfig::default()
        });
        let reader = Reader::new(ReaderConfig {
            guid: READER,
            reliable: qos & 3 != 1,
            heartbeat_response_delay: Duration::from_micros(i64::from(qos >> 7) * 700),
            max_out_of_order_samples: 16,
            max_out_of_order_bytes: 32 * 1024,
            max_out_of_order_bytes_total: 32 * 1024,
            max_partial_samples: 4,
            max_reassembly_bytes_per_writer: 32 * 1024,
            max_reassembly_bytes: 48 * 1024,
            max_pooled_bytes: if qos & 32 != 0 { 32 * 1024 } else { 0 },
            ..ReaderConfig::default()
        });
        let now = Now { mono: MonoTime(1_000_000_000), wall: WallTime(1_700_000_000_000_000_000) };
        let mut pair = Self {
            now,
            writer,
            history: History::default(),
            reader,
            sink: Sink { honest: true, ..Sink::default() },
            out: Outbox::new(),
            queue: VecDeque::new(),
            forged: false,
            reliable: reliable && qos & 3 != 1,
            durable,
            written: 0,
            count: 0,
        };
        pair.match_both();
        pair
    }

    fn match_both(&mut self) {
        let writer = WriterProxyConfig {
            guid: WRITER,
            reliable: self.reliable,
            durable: self.durable,
            unicast: [PLACE].into(),
            ..WriterProxyConfig::default()
        };
        self.reader.match_writer(self.now, writer, &mut self.out);
        self.send(false);
        let reader = ReaderProxyConfig {
            guid: READER,
            reliable: self.reliable,
            durable: self.durable,
            unicast: [PLACE].into(),
            ..ReaderProxyConfig::default()
        };
        self.writer.match_reader(self.now, reader, &self.history, &mut self.out);
        self.sent();
    }

    /// What the endpoints said is on its way.
    fn send(&mut self, to_reader: bool) {
        for datagram in self.out.datagrams() {
            let mut bytes = Vec::new();
            datagram.copy_to(&mut bytes);
            let longest = if to_reader { LONGEST_DATAGRAM } else { LONGEST_ANSWER };
            assert!(bytes.len() <= longest, "{} octets in a datagram", bytes.len());
            self.queue.push_back((to_reader, bytes.into()));
        }
        self.out.clear();
    }

    /// What the writer said is on its way and on the wire.
    fn sent(&mut self) {
        self.writer.mark_on_wire(self.writer.sent_sn());
        self.send(true);
    }

    pub(super) fn write(&mut self, len: usize) {
        if self.history.changes.len() >= 64 {
            return;
        }
        let sn = self.history.last.next();
        let change = Change {
            sn,
            kind: ChangeKind::Alive,
            instance: InstanceHandle::NIL,
            source_timestamp: self.now.wall,
            payload: Some(content(sn, len).into()),
            inline_qos: None,
        };
        self.written += len as u64;
        self.history.last = sn;
        self.history.changes.insert(sn, change);
        self.writer.on_new_change(self.now, sn, &self.history, &mut self.out);
        self.sent();
    }

    /// A change of the history is gone: replaced, or too old.
    pub(super) fn remove(&mut self, input: &mut Input<'_>) {
        let behind = i64::from(input.u8() % 16);
        self.history.changes.remove(&SequenceNumber(self.history.last.0 - behind));
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.plus(time);
        self.now.wall = self.now.wall.plus(time);
        self.timers();
    }

    fn timers(&mut self) {
        if self.writer.next_deadline().is_some_and(|at| at <= self.now.mono) {
            self.writer.on_timer(self.now, &self.history, &mut self.out);
            assert!(self.out.octets() <= MOST_SENT, "{} octets at once", self.out.octets());
            self.sent();
        }
        if self.reader.next_deadline().is_some_and(|at| at <= self.now.mono) {
            self.reader.on_timer(self.now, &mut self.sink, &mut self.out);
            self.send(false);
        }
    }

    pub(super) fn deliver(&mut self, datagrams: usize) {
        for _ in 0..datagrams {
            let Some((to_reader, packet)) = self.queue.pop_front() else { return };
            self.receive(to_reader, &packet);
        }
    }

    fn receive(&mut self, to_reader: bool, packet: &SharedBytes) {
        let message = Message::parse(packet).expect("a message of ours");
        let own = if to_reader { READER.prefix } else { WRITER.prefix };
        let mut state = ReceiverState::new(own, &message.header());
        for parsed in message.submessages() {
            let body = parsed.expect("a message of ours").body;
            state.apply(&body);
            if to_reader { self.at_reader(&state, &body, packet) } else { self.at_writer(&state, &body) }
        }
        if to_reader { self.send(false) } else { self.sent() }
    }

    fn at_reader(&mut self, state: &ReceiverState, body: &Submessage<'_>, packet: &SharedBytes) {
        let Self { now, reader, sink, out, .. } = self;
        let source = state.source_prefix;
        match body {
            Submessage::Data(data) => reader.on_data(*now, state, data, packet, sink, out),
            Submessage::DataFrag(frag) => reader.on_data_frag(*now, state, frag, packet, sink, out),
            Submessage::Heartbeat(heartbeat) => {
                reader.on_heartbeat(*now, state.into(), heartbeat, sink, out);
            }
            Submessage::HeartbeatFrag(heartbeat) => reader.on_heartbeat_frag(*now, source, heartbeat, out),
            Submessage::EchoRequest(request) => reader.on_echo_request(*now, source, request, out),
            Submessage::Gap(gap) => reader.on_gap(*now, state.into(), gap, sink, out),
            _ => {}
        }
    }

    fn at_writer(&mut self, state: &ReceiverState, body: &Submessage<'_>) {
        let Self { now, writer, history, out, .. } = self;
        match body {
            Submessage::AckNack(acknack) => {
                writer.on_acknack(*now, state.source_prefix, acknack, history, out);
            }
            Submessage::NackFrag(nack) => {
                writer.on_nack_frag(*now, state.source_prefix, nack, history, out);
            }
            Submessage::Echo(echo) => {
                writer.on_echo(*now, state.source_prefix, echo);
            }
            _ => {}
        }
        assert!(self.out.octets() <= MOST_SENT, "{} octets at once", self.out.octets());
    }

    pub(super) fn lose(&mut self) {
        self.queue.pop_front();
    }

    pub(super) fn duplicate(&mut self) {
        if let Some(first) = self.queue.front().cloned() {
            self.queue.push_front(first);
        }
    }

    pub(super) fn reorder(&mut self) {
        if let Some(first) = self.queue.pop_front() {
            self.queue.insert(self.queue.len().min(3), first);
        }
    }

    pub(super) fn set_room(&mut self, room: u8) {
        self.sink.room = (room < 8).then_some(usize::from(room));
        self.reader.retry_rejected(self.now, &mut self.sink, &mut self.out);
        self.send(false);
    }

    /// Both forget each other and meet again; to the reader that is another stream.
    pub(super) fn match_again(&mut self) {
        self.begin_forging();
        self.sink.got.clear();
        assert!(self.reader.unmatch_writer(WRITER) && self.writer.unmatch_reader(READER));
        self.match_both();
    }

    pub(super) fn ask(&mut self, alive: bool) {
        if alive {
            self.writer.assert_liveliness(self.now, &self.history, &mut self.out);
        } else {
            self.writer.request_acknowledgments(self.now, &self.history, &mut self.out);
        }
        self.sent();
    }

    /// Somebody speaks in the name of one of them: from here on anything may be delivered.
    pub(super) fn begin_forging(&mut self) {
        self.forged = true;
        self.sink.honest = false;
    }

    /// What was said in answer to something forged goes to the other.
    pub(super) fn forged(&mut self, to_reader: bool) {
        assert!(self.out.octets() <= MOST_SENT, "{} octets at once", self.out.octets());
        if to_reader {
            self.send(false)
        } else {
            self.sent()
        }
        self.queue.truncate(256);
    }

    /// What holds at any time.
    pub(super) fn check(&self) {
        let (acked, sent) = (self.writer.acked_by_all(), self.writer.sent_sn());
        assert!(acked <= sent && sent <= self.history.last);
        assert!(self.forged || self.sink.got.iter().all(|sn| *sn <= self.history.last));
    }

    /// From here on nothing is lost any more: everything that is still there arrives.
    pub(super) fn calm(&mut self) {
        self.set_room(u8::MAX);
        let (mut patience, mut since, mut progress) = (PATIENCE, self.now.mono, self.progress());
        while patience > 0 || self.now.mono.since(since) < PATIENT_FOR {
            self.deliver(usize::MAX);
            if self.queue.is_empty() && self.is_complete() {
                return;
            }
            patience = patience.saturating_sub(1);
            if self.progress() != progress {
                (patience, since, progress) = (PATIENCE, self.now.mono, self.progress());
            }
            let next = [self.writer.next_deadline(), self.reader.next_deadline()];
            let Some(next) = next.into_iter().flatten().min() else { break };
            self.pass(next.since(self.now.mono).max(Duration::from_nanos(1)));
        }
        assert!(self.is_complete(), "of {:?} only {:?} arrived", self.history.changes.keys(), self.sink.got);
    }

    /// What only grows, and not for ever.
    fn progress(&self) -> (usize, SequenceNumber, u64) {
        (self.sink.got.len(), self.writer.acked_by_all(), self.reader.stats().fragments_received)
    }

    fn is_complete(&self) -> bool {
        if !self.reliable {
            return true;
        }
        self.history.changes.keys().all(|sn| self.sink.got.binary_search(sn).is_ok())
            && self.writer.acked_by_all() == self.history.last
    }
}
