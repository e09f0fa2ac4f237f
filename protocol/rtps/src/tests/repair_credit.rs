//! RTPS 2.5 §8.4.9.2 "repairing": who catches up is served at once, whatever else it asks for meanwhile, and again after it has
//! forgotten its writer.

use dunlin_core::{FragmentNumberSet, SequenceNumber, SequenceNumberSet};
use dunlin_wire::{AckNack, NackFrag};

use super::support::*;
use crate::{ReaderConfig, ReaderProxyConfig, WriterConfig};

/// Octets of a sample, and how many there are in the history: at a mebibyte in a second it takes ten seconds.
const LEN: usize = 100_000;
const HISTORY: i64 = 100;

fn with_history() -> Source {
    let mut source = Source::new(WriterConfig { transient_local: true, ..Default::default() });
    (0..HISTORY).for_each(|_| _ = source.write(at(0), LEN));
    source.out.clear();
    source
}

fn durable() -> ReaderProxyConfig {
    ReaderProxyConfig { durable: true, ..reader_proxy(1) }
}

/// A live sample loses a fragment while its reader is being given the history.
#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn a_fragment_of_a_later_change_takes_no_credit_from_those_before_it() {
    let mut source = with_history();
    source.match_reader(at(0), durable());
    let guid = reader_guid(1);
    let mut set = SequenceNumberSet::empty(SequenceNumber(1));
    (1..=HISTORY).for_each(|sn| _ = set.insert(SequenceNumber(sn)));
    let acknack = AckNack {
        reader_id: guid.entity_id,
        writer_id: WRITER.entity_id,
        reader_sn_state: set,
        count: 1,
        final_flag: true,
    };
    source.writer.on_acknack(at(1), guid.prefix, &acknack, &source.history, &mut source.out);
    let live = source.write(at(2), LEN);
    source.out.clear();
    let nack = NackFrag {
        reader_id: guid.entity_id,
        writer_id: WRITER.entity_id,
        writer_sn: live,
        fragment_number_state: FragmentNumberSet::from_parts(2, 32, &[0x8000_0000]).unwrap(),
        count: 1,
    };
    source.writer.on_nack_frag(at(3), guid.prefix, &nack, &source.history, &mut source.out);
    let mut octets = 0;
    for millis in 1..2_000 {
        octets += source.out.octets();
        source.out.clear();
        source.timer(at(millis * 1_000));
    }
    assert!(octets >= LEN * HISTORY as usize, "{octets} in two seconds");
}

/// The writer does not forget the reader. It may be met again several times.
#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn a_reader_that_forgot_its_writer_is_given_the_history_as_fast_as_before() {
    let mut source = with_history();
    source.match_reader(at(0), durable());
    let mut target = Target::new(1, ReaderConfig::default());
    for round in 0..3 {
        let from = 60_000 * round;
        target.match_writer(at(from * 1_000), true);
        for millis in from..from + 2_000 {
            let now = at(millis * 1_000);
            drain(&mut source.out).iter().for_each(|packet| target.receive(now, packet));
            target.timer(now);
            drain(&mut target.out).iter().for_each(|packet| source.receive(now, packet));
            source.timer(now);
        }
        assert_eq!(target.sink.got.len(), HISTORY as usize, "round {round}");
        target.sink.got.clear();
        assert!(target.reader.unmatch_writer(WRITER));
    }
}

/// Beyond the first time it is once in half a minute: a forger that asks in its name all the time gets no more.
#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn repeated_acknacks_for_acknowledged_changes_are_bounded() {
    let mut source = with_history();
    source.match_reader(at(0), durable());
    let guid = reader_guid(1);
    let mut octets = 0;
    for millis in 1..20_000_u64 {
        // It asks for all of it and, in the name of the reader, acknowledges all of it.
        let empty = SequenceNumberSet::empty(SequenceNumber(HISTORY + 1));
        let mut set = SequenceNumberSet::empty(SequenceNumber(1));
        (1..=HISTORY).for_each(|sn| _ = set.insert(SequenceNumber(sn)));
        let reader_sn_state = if millis % 10 == 0 { empty } else { set };
        let acknack = AckNack {
            reader_id: guid.entity_id,
            writer_id: WRITER.entity_id,
            reader_sn_state,
            count: millis as i32,
            final_flag: true,
        };
        let now = at(millis * 1_000);
        source.writer.on_acknack(now, guid.prefix, &acknack, &source.history, &mut source.out);
        source.timer(now);
        octets += source.out.octets();
        source.out.clear();
    }
    let once = 8 * (LEN + 256) * HISTORY as usize;
    assert!(octets < 2 * once + 20 * (1 << 20) + 500_000, "{octets}");
}
