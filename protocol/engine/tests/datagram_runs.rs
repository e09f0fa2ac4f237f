//! Datagrams that arrive in one receive call and bring fragments of one change are taken in together (RTPS 2.5 §8.3.8.3); it must come to
//! the same as if each came by itself.

#![cfg(not(any(loom, shuttle)))]

mod common;

use std::net::Ipv4Addr;
use std::sync::Arc;

use common::{Net, reader_spec, sample, writer_spec};
use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{GuidPrefix, Locator, SequenceNumber, WallTime};
use dunlin_engine::{ReaderSlot, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_wire::{DataFragSpec, Heartbeat, MessageBuilder};
use proptest::prelude::*;

const SIZE: u16 = 64;
/// Octets of a change, its last fragment being short.
const LEN: usize = 5 * SIZE as usize + 40;
const FRAGMENTS: u32 = 6;

/// A datagram.
#[derive(Clone, Debug)]
struct Step {
    sn: i64,
    first: u32,
    count: u16,
    /// Seconds of its INFO_TS, if it has one.
    timestamp: Option<u8>,
    odd: Odd,
}

/// What a datagram has besides fragments, or in a way that others do not.
#[derive(Clone, Debug, PartialEq)]
enum Odd {
    Nothing,
    /// It announces what there is.
    Heartbeat,
    /// It came from another place.
    Elsewhere,
    /// It is of somebody who is not known.
    Stranger,
    /// Fragments of the same change follow.
    Twice,
    /// Its last octets are missing.
    Cut,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let odd = prop_oneof![
        12 => Just(Odd::Nothing),
        1 => Just(Odd::Heartbeat),
        1 => Just(Odd::Elsewhere),
        1 => Just(Odd::Stranger),
        1 => Just(Odd::Twice),
        1 => Just(Odd::Cut),
    ];
    let step = (1..4i64, 1..=FRAGMENTS, 1..3u16, prop::option::of(0..3u8), odd);
    let step = step.prop_map(|(sn, first, count, timestamp, odd)| {
        let count = count.min((FRAGMENTS + 1 - first) as u16);
        Step { sn, first, count, timestamp, odd }
    });
    prop::collection::vec(step, 1..60)
}

struct World {
    net: Net,
    writer: Arc<WriterSlot>,
    reader: Arc<ReaderSlot>,
    heartbeats: i32,
}

impl World {
    fn new(qos: &DataReaderQos) -> Self {
        let mut net = Net::started(2);
        let writer = writer_spec("Topic", &DataWriterQos::default().reliable().keep_all());
        let reader = reader_spec("Topic", qos);
        let writer = net.with(0, |participant, now, out| participant.create_writer(now, writer, out));
        let reader = net.with(1, |participant, now, out| participant.create_reader(now, reader, out));
        net.settle();
        let (writer, reader) = (writer.expect("a good writer"), reader.expect("a good reader"));
        assert_eq!(reader.matched_writers().len(), 1);
        Self { net, writer, reader, heartbeats: 0 }
    }

    fn datagram(&mut self, step: &Step) -> (SharedBytes, Locator) {
        let guid = self.writer.guid();
        let prefix = if step.odd == Odd::Stranger { GuidPrefix([9; 12]) } else { guid.prefix };
        let mut out = Outbox::new();
        let mut builder = MessageBuilder::new(&mut out, prefix);
        if let Some(seconds) = step.timestamp {
            let wall = WallTime((1_700_000_000 + i64::from(seconds)) * 1_000_000_000);
            assert!(builder.info_ts(Some(wall)));
        }
        let whole = sample(step.sn as u32, &common::pattern(step.sn as u32, LEN - sample(0, b"").len()));
        let begin = (step.first as usize - 1) * usize::from(SIZE);
        let end = (begin + usize::from(step.count) * usize::from(SIZE)).min(whole.len());
        let (reader_id, writer_id) = (self.reader.guid().entity_id, guid.entity_id);
        for _ in 0..if step.odd == Odd::Twice { 2 } else { 1 } {
            assert!(builder.data_frag(&DataFragSpec {
                reader_id,
                writer_id,
                writer_sn: SequenceNumber(step.sn),
                fragment_starting_num: step.first,
                fragments_in_submessage: step.count,
                fragment_size: SIZE,
                sample_size: whole.len() as u32,
                inline_qos: &[],
                key_flag: false,
                payload: whole.slice(begin..end).expect("inside"),
            }));
        }
        if step.odd == Odd::Heartbeat {
            self.heartbeats += 1;
            assert!(builder.heartbeat(&Heartbeat {
                reader_id,
                writer_id,
                first_sn: SequenceNumber(1),
                last_sn: SequenceNumber(3),
                count: self.heartbeats,
                final_flag: false,
                liveliness_flag: false,
                group: None,
            }));
        }
        builder.finish(&[Locator::LOCAL]);
        let mut bytes = vec![];
        out.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
        if step.odd == Odd::Cut {
            bytes.truncate(bytes.len() - 7);
        }
        let host = if step.odd == Odd::Elsewhere { 7 } else { 1 };
        (bytes.into(), Locator::udp_v4(Ipv4Addr::new(10, 0, 0, host), 7410))
    }

    /// Takes in what arrived, all at once or each by itself; how many datagrams were taken together with one before them.
    fn receive(&mut self, arrived: &[(SharedBytes, Locator)], together: bool) -> usize {
        let mut joined = 0;
        self.net.with(1, |participant, now, out| {
            let mut left = arrived;
            while let Some((packet, from)) = left.first() {
                let taken = if together {
                    let (taken, mut unfinished) = participant.begin_datagrams(now, left, out);
                    while let Some(rest) = unfinished {
                        unfinished = participant.go_on_with_datagram(now, *from, packet, rest, out);
                    }
                    taken
                } else {
                    participant.on_datagram(now, *from, packet, out);
                    1
                };
                joined += taken - 1;
                left = &left[taken..];
            }
        });
        joined
    }
}

fn readers() -> Vec<DataReaderQos> {
    let reliable = || DataReaderQos::default().reliable();
    vec![reliable().keep_all(), reliable().keep_last(1), DataReaderQos::default()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 500 }, ..ProptestConfig::default() })]

    #[test]
    fn datagrams_received_together_equal_single_ones(steps in steps(), qos in 0..readers().len()) {
        let qos = readers().swap_remove(qos);
        let (mut one, mut other) = (World::new(&qos), World::new(&qos));
        let arrived: Vec<_> = steps.iter().map(|step| (one.datagram(step), other.datagram(step))).collect();
        let (first, second): (Vec<_>, Vec<_>) = arrived.into_iter().unzip();
        one.receive(&first, true);
        other.receive(&second, false);
        prop_assert_eq!(one.net.take_some(1, &one.reader, 100), other.net.take_some(1, &other.reader, 100));
        prop_assert_eq!(one.reader.stats(), other.reader.stats());
        prop_assert_eq!(one.reader.samples_lost(), other.reader.samples_lost());
        let stats = |world: &World| world.net.nodes[1].participant.stats();
        prop_assert_eq!(stats(&one), stats(&other));
    }
}

#[test]
fn a_whole_change_is_one_run() {
    let mut world = World::new(&DataReaderQos::default().reliable().keep_all());
    let step = |first| Step { sn: 1, first, count: 1, timestamp: Some(1), odd: Odd::Nothing };
    let arrived: Vec<_> = (1..=FRAGMENTS).map(|first| world.datagram(&step(first))).collect();
    assert_eq!(world.receive(&arrived, true), 5);
    let taken = world.net.take_some(1, &world.reader, 2);
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].payload.as_ref().map(|payload| payload.len()), Some(LEN));
}
