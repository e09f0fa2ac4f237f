//! What follows each other in a datagram is taken in together; it must come to the same as if each came by itself. RTPS 2.5
//! §8.3.4: the state of the receiver goes on from submessage to submessage.

#![cfg(not(any(loom, shuttle)))]

mod common;

use std::net::Ipv4Addr;
use std::sync::Arc;

use common::{Keyless, Net, reader_spec, sample, writer_spec};
use dunlin_buf::{Outbox, SharedBytes};
use dunlin_cache::CachedSample;
use dunlin_core::{Duration, Guid, Locator, SequenceNumber, SequenceNumberSet, WallTime};
use dunlin_engine::{ReaderSlot, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos, DestinationOrderKind};
use dunlin_wire::{DataSpec, Gap, Heartbeat, MessageBuilder, PayloadSpec};
use proptest::prelude::*;

/// PID_STATUS_INFO with DISPOSED, sentinel.
const DISPOSED: [u8; 12] = [0x71, 0, 4, 0, 0, 0, 0, 1, 1, 0, 0, 0];

/// A submessage, and what is done between messages.
#[derive(Clone, Debug)]
enum Step {
    /// INFO_TS, seconds; `None` takes the timestamp away.
    Timestamp(Option<u8>),
    /// DATA of an instance.
    Data {
        sn: u8,
        key: u8,
        len: u8,
    },
    /// DATA that disposes of an instance.
    Dispose {
        sn: u8,
        key: u8,
    },
    Gap {
        from: u8,
        count: u8,
    },
    Heartbeat {
        first: u8,
        last: u8,
    },
    /// Here the message ends; then so many samples are taken.
    Message {
        take: u8,
    },
}

/// Steps of which most are the next DATA, as in a burst.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (Just(0u8), 0..3u8, any::<u8>()).prop_map(|(sn, key, len)| Step::Data { sn, key, len }),
        2 => (1..6u8, 0..3u8, 0..9u8).prop_map(|(sn, key, len)| Step::Data { sn, key, len }),
        3 => prop::option::of(0..20u8).prop_map(Step::Timestamp),
        1 => (0..2u8, 0..3u8).prop_map(|(sn, key)| Step::Dispose { sn, key }),
        1 => (0..3u8, 1..4u8).prop_map(|(from, count)| Step::Gap { from, count }),
        1 => (0..8u8, 0..8u8).prop_map(|(first, last)| Step::Heartbeat { first, last }),
        2 => (0..9u8).prop_map(|take| Step::Message { take }),
    ];
    prop::collection::vec(step, 1..60)
}

fn readers() -> Vec<DataReaderQos> {
    let reliable = || DataReaderQos::default().reliable().keep_all();
    let mut by_source = reliable();
    by_source.destination_order.kind = DestinationOrderKind::BySourceTimestamp;
    vec![
        reliable(),
        DataReaderQos::default().reliable().keep_last(2),
        DataReaderQos::default(),
        reliable().resource_limits(4, 2, 3),
        by_source,
        DataReaderQos::default().time_based_filter(Duration::from_millis(3)),
        reliable().exclusive(),
    ]
}

fn writer_qos(reader: &DataReaderQos) -> DataWriterQos {
    let mut qos = DataWriterQos::default().reliable().keep_all();
    qos.destination_order = reader.destination_order;
    qos.ownership = reader.ownership;
    qos
}

/// A reader that hears of a writer what the steps say.
struct World {
    net: Net,
    writer: Arc<WriterSlot>,
    reader: Arc<ReaderSlot>,
    /// The number behind the highest that was sent.
    next: i64,
    count: i32,
    timestamp: Option<WallTime>,
    /// Submessages of the message that is being made, each with the timestamp before it.
    pending: Vec<(Option<WallTime>, Step, i64)>,
    taken: Vec<CachedSample>,
}

impl World {
    fn new(qos: &DataReaderQos, keyed: bool) -> Self {
        let mut net = Net::started(2);
        let mut writer = writer_spec("Topic", &writer_qos(qos));
        let mut reader = reader_spec("Topic", qos);
        if !keyed {
            (writer.keyed, writer.type_description) = (false, None);
            (writer.type_name, reader.type_name) = ("Keyless".into(), "Keyless".into());
            reader.type_support = Arc::new(Keyless);
        }
        let writer = net.with(0, |participant, now, out| participant.create_writer(now, writer, out));
        let reader = net.with(1, |participant, now, out| participant.create_reader(now, reader, out));
        net.settle();
        let (writer, reader) = (writer.expect("a good writer"), reader.expect("a good reader"));
        assert_eq!(reader.matched_writers().len(), 1);
        Self { net, writer, reader, next: 1, count: 1, timestamp: None, pending: vec![], taken: vec![] }
    }

    fn step(&mut self, step: &Step, together: bool) {
        match *step {
            Step::Timestamp(seconds) => {
                self.timestamp = seconds.map(|s| WallTime((1_700_000_000 + i64::from(s)) * 1_000_000_000));
            }
            Step::Data { sn, .. } | Step::Dispose { sn, .. } => {
                // 0 is the next one; others are older, or leave a gap.
                let sn = if sn == 0 { self.next } else { (self.next + i64::from(sn) - 3).max(1) };
                self.next = self.next.max(sn + 1);
                self.pending.push((self.timestamp, step.clone(), sn));
            }
            Step::Gap { from, count } => {
                let from = (self.next - i64::from(from)).max(1);
                self.next = self.next.max(from + i64::from(count));
                self.pending.push((self.timestamp, step.clone(), from));
            }
            Step::Heartbeat { first, .. } => {
                let first = (self.next - i64::from(first)).max(1);
                self.pending.push((self.timestamp, step.clone(), first));
            }
            Step::Message { take } => {
                self.send(together);
                let taken = self.net.take_some(1, &self.reader, usize::from(take));
                self.taken.extend(taken);
            }
        }
    }

    /// Sends what is pending as one message, or each submessage as one of its own.
    fn send(&mut self, together: bool) {
        let pending = std::mem::take(&mut self.pending);
        let size = if together { pending.len().max(1) } else { 1 };
        for part in pending.chunks(size) {
            let message = self.message(part, together);
            let from = Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 1), 7410);
            self.net.with(1, |participant, now, out| participant.on_datagram(now, from, &message, out));
        }
        // What is asked for is never sent: time stands still.
        self.timestamp = None;
    }

    fn message(&mut self, part: &[(Option<WallTime>, Step, i64)], together: bool) -> SharedBytes {
        let Guid { prefix, entity_id: writer_id } = self.writer.guid();
        let reader_id = self.reader.guid().entity_id;
        let mut out = Outbox::new();
        let mut builder = MessageBuilder::new(&mut out, prefix);
        let mut stated = None;
        for (timestamp, step, sn) in part {
            if *timestamp != stated || !together && timestamp.is_some() {
                assert!(builder.info_ts(*timestamp));
                stated = *timestamp;
            }
            let writer_sn = SequenceNumber(*sn);
            let data =
                |inline_qos, payload| DataSpec { reader_id, writer_id, writer_sn, inline_qos, payload };
            let fits = match *step {
                Step::Data { key, len, .. } => {
                    let body = common::pattern(*sn as u32, usize::from(len));
                    builder.data(&data(&[], PayloadSpec::Data(sample(key.into(), &body))))
                }
                Step::Dispose { key, .. } => {
                    builder.data(&data(&DISPOSED, PayloadSpec::Key(sample(key.into(), b""))))
                }
                Step::Gap { count, .. } => {
                    let behind = SequenceNumber(*sn + i64::from(count));
                    let gap_list = SequenceNumberSet::empty(behind);
                    let (gap_start, group, filtered_count) = (writer_sn, None, None);
                    builder.gap(&Gap { reader_id, writer_id, gap_start, gap_list, group, filtered_count })
                }
                Step::Heartbeat { last, .. } => {
                    self.count += 1;
                    builder.heartbeat(&Heartbeat {
                        reader_id,
                        writer_id,
                        first_sn: writer_sn,
                        last_sn: SequenceNumber(*sn + i64::from(last)),
                        count: self.count,
                        final_flag: false,
                        liveliness_flag: false,
                        group: None,
                    })
                }
                Step::Timestamp(_) | Step::Message { .. } => true,
            };
            assert!(fits);
        }
        builder.finish(&[Locator::LOCAL]);
        let mut bytes = vec![];
        out.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
        bytes.into()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 1_000 }, ..ProptestConfig::default() })]

    #[test]
    fn a_data_run_equals_single_submessages(steps in steps(), qos in 0..readers().len(), keyed in any::<bool>()) {
        let qos = readers().swap_remove(qos);
        let (mut one, mut other) = (World::new(&qos, keyed), World::new(&qos, keyed));
        for step in steps.iter().chain([&Step::Message { take: u8::MAX }]) {
            one.step(step, true);
            other.step(step, false);
            prop_assert_eq!(&one.taken, &other.taken);
            prop_assert_eq!(one.reader.len(), other.reader.len());
        }
        prop_assert_eq!(one.reader.samples_lost(), other.reader.samples_lost());
        prop_assert_eq!(one.reader.stats(), other.reader.stats());
    }
}
