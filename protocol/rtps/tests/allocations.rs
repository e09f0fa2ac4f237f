//! Writing and receiving in steady state takes no memory from the heap.

// Nothing to find for Miri that the other tests do not do, in hours.
#![cfg(not(miri))]

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{
    Duration, EntityId, Guid, GuidPrefix, InstanceHandle, Locator, MonoTime, Now, SequenceNumber, WallTime,
};
use dunlin_rtps::{
    Change, ChangeKind, Delivery, DeliverySink, Reader, ReaderConfig, ReaderProxyConfig, Received, Writer,
    WriterConfig, WriterHistory, WriterProxyConfig,
};
use dunlin_wire::{Message, ReceiverState, Submessage};

const WRITER: Guid = Guid::new(GuidPrefix([1; 12]), EntityId([0, 0, 1, 2]));
const READER: Guid = Guid::new(GuidPrefix([2; 12]), EntityId([0, 0, 1, 7]));
const WARM_UP: u64 = 300;
const MEASURED: u64 = 200;

/// A history of one change, which takes the place of the last one.
struct Last(Change);

impl WriterHistory for Last {
    fn get(&self, sn: SequenceNumber) -> Option<&Change> {
        Some(&self.0).filter(|change| change.sn == sn)
    }

    fn first_sn(&self) -> Option<SequenceNumber> {
        Some(self.0.sn).filter(|sn| *sn >= SequenceNumber::FIRST)
    }

    fn last_sn(&self) -> SequenceNumber {
        self.0.sn
    }

    fn next_at_or_after(&self, sn: SequenceNumber) -> Option<SequenceNumber> {
        self.first_sn().filter(|first| *first >= sn)
    }
}

#[derive(Default)]
struct Count(usize);

impl DeliverySink for Count {
    fn deliver(&mut self, _now: Now, _change: &Received<'_>) -> Delivery {
        self.0 += 1;
        Delivery::Accepted
    }

    fn lost(&mut self, _writer: Guid, _count: u64) {}
}

struct Pair {
    writer: Writer,
    reader: Reader,
    history: Last,
    sink: Count,
    out: Outbox,
    answers: Outbox,
    packets: Vec<SharedBytes>,
}

fn pair(reliable: bool, len: usize) -> Pair {
    let mut pair = Pair {
        writer: Writer::new(WriterConfig { guid: WRITER, reliable, ..Default::default() }),
        reader: Reader::new(ReaderConfig {
            guid: READER,
            reliable,
            preemptive_ack_delay: Duration::ZERO,
            ..Default::default()
        }),
        history: Last(Change {
            sn: SequenceNumber::ZERO,
            kind: ChangeKind::Alive,
            instance: InstanceHandle::NIL,
            source_timestamp: WallTime(0),
            payload: Some(SharedBytes::from(vec![7; len])),
            inline_qos: None,
        }),
        sink: Count::default(),
        out: Outbox::new(),
        answers: Outbox::new(),
        packets: Vec::new(),
    };
    let now = Now::default();
    let reader =
        ReaderProxyConfig { guid: READER, reliable, unicast: [Locator::LOCAL].into(), ..Default::default() };
    pair.writer.match_reader(now, reader, &pair.history, &mut pair.out);
    let writer =
        WriterProxyConfig { guid: WRITER, reliable, unicast: [Locator::LOCAL].into(), ..Default::default() };
    pair.reader.match_writer(now, writer, &mut pair.answers);
    pair
}

impl Pair {
    /// Writes a change, every millisecond, and lets timers run.
    fn write(&mut self, step: u64) {
        let now = Now { mono: MonoTime(step * 1_000_000), wall: WallTime(0) };
        self.history.0.sn = self.history.0.sn.next();
        self.writer.on_new_change(now, self.history.0.sn, &self.history, &mut self.out);
        self.writer.mark_on_wire(self.writer.sent_sn());
        self.writer.on_timer(now, &self.history, &mut self.out);
    }

    /// Carries everything over; the packets are copied outside of what is measured.
    fn copy_packets(&mut self) {
        self.packets.clear();
        for datagram in self.out.datagrams() {
            let mut bytes = Vec::new();
            datagram.copy_to(&mut bytes);
            self.packets.push(SharedBytes::from(bytes));
        }
        self.out.clear();
    }

    fn receive(&mut self, step: u64) {
        let now = Now { mono: MonoTime(step * 1_000_000 + 50_000), wall: WallTime(0) };
        for packet in &self.packets {
            let message = Message::parse(packet).expect("own message");
            let state = ReceiverState::new(READER.prefix, &message.header());
            let (sink, out) = (&mut self.sink, &mut self.answers);
            for parsed in message.submessages() {
                match parsed.expect("own submessage").body {
                    Submessage::Data(data) => self.reader.on_data(now, &state, &data, packet, sink, out),
                    Submessage::DataFrag(frag) => {
                        self.reader.on_data_frag(now, &state, &frag, packet, sink, out)
                    }
                    Submessage::Heartbeat(hb) => {
                        self.reader.on_heartbeat(now, WRITER.prefix.into(), &hb, sink, out);
                    }
                    _ => {}
                }
            }
        }
        self.reader.on_timer(now, &mut self.sink, &mut self.answers);
    }

    fn acknowledge(&mut self, step: u64, bytes: &mut Vec<u8>) {
        let now = Now { mono: MonoTime(step * 1_000_000 + 100_000), wall: WallTime(0) };
        for datagram in self.answers.datagrams() {
            bytes.clear();
            datagram.copy_to(bytes);
            for parsed in Message::parse(bytes).expect("own message").submessages() {
                if let Submessage::AckNack(ack) = parsed.expect("own submessage").body {
                    self.writer.on_acknack(now, READER.prefix, &ack, &self.history, &mut self.out);
                }
            }
        }
        self.answers.clear();
    }
}

/// Allocations of the writer and of the reader over the measured changes.
fn allocations(reliable: bool, len: usize) -> (u64, u64) {
    let mut pair = pair(reliable, len);
    let mut bytes = Vec::with_capacity(2000);
    let (mut writing, mut reading) = (0, 0);
    for step in 1..=WARM_UP + MEASURED {
        let write = allocation_counter::measure(|| pair.write(step)).count_total;
        pair.copy_packets();
        let read = allocation_counter::measure(|| pair.receive(step)).count_total;
        let acknowledge = allocation_counter::measure(|| pair.acknowledge(step, &mut bytes)).count_total;
        if step > WARM_UP {
            writing += write + acknowledge;
            reading += read;
        }
    }
    assert_eq!(pair.sink.0 as u64, WARM_UP + MEASURED);
    (writing, reading)
}

#[test]
fn small_changes() {
    assert_eq!(allocations(false, 100), (0, 0));
    assert_eq!(allocations(true, 100), (0, 0));
}

#[test]
fn changes_in_fragments() {
    let (writing, reading) = allocations(true, 20_000);
    assert_eq!(writing, 0);
    // The table of what has arrived, once per change.
    assert!(reading <= MEASURED, "{reading}");
    assert_eq!(allocations(false, 20_000).0, 0);
}
