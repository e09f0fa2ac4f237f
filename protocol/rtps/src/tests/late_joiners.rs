//! RTPS 2.5 §8.4.9: what was written before a reader came reaches those it is for, and nobody else.

use alloc::vec;
use alloc::vec::Vec;

use dunlin_core::{Duration, EntityId, Guid, Locator, SequenceNumber, SequenceNumberSet};
use dunlin_wire::{AckNack, Message, Submessage};

use super::support::*;
use crate::{ReaderConfig, ReaderProxyConfig, WriterConfig};

/// A writer with a history of one sample of `len` octets.
fn with_history(len: usize) -> Source {
    let nack_response_delay = Duration::from_millis(5);
    let cfg = WriterConfig { transient_local: true, nack_response_delay, ..Default::default() };
    let mut source = Source::new(cfg);
    source.write(at(0), len);
    source
}

fn in_group(n: u8, reliable: bool, durable: bool) -> ReaderProxyConfig {
    ReaderProxyConfig { reliable, durable, multicast: [GROUP].into(), ..reader_proxy(n) }
}

/// Where samples were sent, and to which reader.
fn samples(source: &mut Source) -> Vec<(Locator, EntityId)> {
    let reader = |body: &Submessage<'_>| match body {
        Submessage::Data(data) => Some(data.reader_id),
        Submessage::DataFrag(frag) => Some(frag.reader_id),
        _ => None,
    };
    let mut all = Vec::new();
    for packet in drain(&mut source.out) {
        let message = Message::parse(&packet.bytes).unwrap();
        let readers = message.submessages().filter_map(|parsed| reader(&parsed.unwrap().body));
        all.extend(readers.map(|reader| (packet.to[0], reader)));
    }
    all
}

fn acknowledge(source: &mut Source, n: u8, base: i64, count: i32) {
    answer(source, n, SequenceNumberSet::empty(SequenceNumber(base)), count);
}

/// A reliable reader asks for the first change.
fn request_first(source: &mut Source, n: u8) {
    let mut missing = SequenceNumberSet::empty(SequenceNumber::FIRST);
    assert!(missing.insert(SequenceNumber::FIRST));
    answer(source, n, missing, 1);
}

fn answer(source: &mut Source, n: u8, reader_sn_state: SequenceNumberSet, count: i32) {
    let guid = reader_guid(n);
    let writer_id = WRITER.entity_id;
    let acknack = AckNack { reader_id: guid.entity_id, writer_id, reader_sn_state, count, final_flag: true };
    source.writer.on_acknack(at(50), guid.prefix, &acknack, &source.history, &mut source.out);
}

#[test]
fn fragmented_history_is_directed_if_another_reader_takes_it_for_new() {
    let guid = reader_guid(1);
    for (durable, named) in [(true, EntityId::UNKNOWN), (false, guid.entity_id)] {
        let mut source = with_history(3_000);
        source.match_reader(at(10), ReaderProxyConfig { durable: true, ..reader_proxy(1) });
        let beside = Guid { entity_id: EntityId([0, 0, 9, 7]), ..guid };
        let beside = ReaderProxyConfig { guid: beside, durable, reliable: false, ..reader_proxy(1) };
        source.match_reader(at(10), beside);
        source.out.clear();
        request_first(&mut source, 1);
        source.timer(at(30_000));
        let sent = samples(&mut source);
        assert_eq!(sent[..3], [(host(guid.prefix), named); 3]);
    }
}

/// Another reader may have come there, of which the writer has not heard yet.
#[test]
fn repaired_fragments_name_the_only_reader_of_a_participant() {
    let guid = reader_guid(1);
    let mut source = with_history(3_000);
    let alone = |n| ReaderProxyConfig { reliable: false, durable: true, ..reader_proxy(n) };
    source.match_reader(at(10), alone(1));
    source.match_reader(at(10), alone(2));
    source.out.clear();
    source.timer(at(30_000));
    let sent = samples(&mut source);
    assert_eq!(sent[..3], [(host(guid.prefix), guid.entity_id); 3]);
}

#[test]
fn history_is_multicast_only_if_no_reader_takes_it_for_new() {
    // Another reader of the group, whether it has acknowledged, and whether the group is used.
    let cases = [
        (None, true),
        (Some((in_group(3, false, false), false)), false),
        (Some((in_group(3, true, false), false)), false),
        (Some((in_group(3, true, false), true)), true),
        (Some((in_group(3, true, true), false)), true),
    ];
    for (other, shared) in cases {
        let mut source = with_history(10);
        let case = alloc::format!("{other:?}");
        if let Some((reader, acknowledged)) = other {
            source.match_reader(at(10), reader);
            if acknowledged {
                acknowledge(&mut source, 3, 2, 1);
            }
        }
        for n in [1, 2] {
            source.match_reader(at(20), in_group(n, true, true));
            request_first(&mut source, n);
        }
        source.out.clear();
        source.timer(at(30_000));
        let to: Vec<Locator> = samples(&mut source).into_iter().map(|(to, _)| to).collect();
        let expected =
            if shared { vec![GROUP] } else { vec![host(reader_guid(1).prefix), host(reader_guid(2).prefix)] };
        assert_eq!(to, expected, "{case}");
    }
}

#[test]
fn history_with_holes_reaches_best_effort_readers_in_its_order() {
    let mut source = with_history(10);
    (1..6).for_each(|n| _ = source.write(at(n), 10));
    [2, 3, 5].into_iter().for_each(|sn| source.history.remove(sn));
    let mut readers: Vec<Target> = (1..=2)
        .map(|n| {
            source.match_reader(at(100), in_group(n, false, true));
            let mut target = Target::new(n, ReaderConfig { reliable: false, ..Default::default() });
            target.match_writer(at(100), true);
            target
        })
        .collect();
    source.timer(at(30_000));
    let packets = drain(&mut source.out);
    for (n, target) in (1..).zip(&mut readers) {
        let own = |packet: &&Packet| packet.to == [host(reader_guid(n).prefix)];
        packets.iter().filter(own).for_each(|packet| target.receive(at(30_001), packet));
        assert_eq!((target.sink.got.as_slice(), target.sink.lost), ([1, 4, 6].as_slice(), 0));
    }
}

/// One of them would be sent what comes next, while the rest of what goes to both waits for the budget of the other.
#[test]
fn fragmented_history_reaches_several_best_effort_readers_whole() {
    let mut source = with_history(100_000);
    (1..6).for_each(|n| _ = source.write(at(n), 100_000));
    let mut readers: Vec<Target> = (1..=2)
        .map(|n| {
            source.match_reader(at(100), in_group(n, false, true));
            let mut target = Target::new(n, ReaderConfig { reliable: false, ..Default::default() });
            target.match_writer(at(100), true);
            target
        })
        .collect();
    for round in 0..200 {
        let now = at(30_000 + 1_000 * round);
        source.timer(now);
        for packet in drain(&mut source.out) {
            for (n, target) in (1..).zip(&mut readers) {
                if packet.to == [GROUP] || packet.to == [host(reader_guid(n).prefix)] {
                    target.receive(now, &packet);
                }
            }
        }
    }
    for target in &readers {
        assert_eq!((target.sink.got.as_slice(), target.sink.lost), ([1, 2, 3, 4, 5, 6].as_slice(), 0));
    }
}

/// A reader that lost a writer and finds it again is heard, although the writer never lost it.
#[test]
fn acknack_counts_go_on_after_a_rematch() {
    let mut source = with_history(10);
    source.match_reader(at(10), ReaderProxyConfig { durable: true, ..reader_proxy(1) });
    let mut target = Target::new(1, ReaderConfig::default());
    let exchange = |source: &mut Source, target: &mut Target, from: u64| {
        for round in 0..40 {
            let now = at(from + 1_000 * round);
            drain(&mut source.out).iter().for_each(|packet| target.receive(now, packet));
            target.timer(now);
            drain(&mut target.out).iter().for_each(|packet| source.receive(now, packet));
            source.timer(now);
        }
    };
    target.match_writer(at(20), true);
    exchange(&mut source, &mut target, 1_000);
    assert_eq!(target.sink.got, [1]);
    assert!(target.reader.unmatch_writer(WRITER));
    target.match_writer(at(60_000), true);
    exchange(&mut source, &mut target, 60_000);
    assert_eq!(target.sink.got, [1, 1], "the history again, at once");
}

/// A volatile reader that forgot the writer and asks from the start is new: what it had acknowledged is not for it.
#[test]
fn a_volatile_reader_that_comes_back_starts_anew() {
    let mut source = Source::new(WriterConfig { transient_local: true, ..Default::default() });
    source.match_reader(at(0), reader_proxy(1));
    acknowledge(&mut source, 1, 1, 1);
    for micros in 1..=3 {
        source.write(at(micros), 10);
    }
    acknowledge(&mut source, 1, 3, 2);
    source.out.clear();
    acknowledge(&mut source, 1, 1, 3);
    let sent = source.sent();
    assert!(
        sent.iter().flatten().any(|seen| *seen == Seen::Gap { from: 1, base: 3, bits: vec![] }),
        "{sent:?}"
    );
    assert!(!sent.iter().flatten().any(|seen| matches!(seen, Seen::Data { .. })), "{sent:?}");
}

/// A participant may lose the only address that it announces for some time: what is written then waits for its readers like
/// anything else that they have not acknowledged.
#[test]
fn samples_written_while_a_reader_has_no_locator_reach_it_later() {
    let mut source = Source::new(WriterConfig::default());
    source.match_reader(at(0), reader_proxy(1));
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), false);
    let talk = |source: &mut Source, target: &mut Target, millis: core::ops::Range<u64>| {
        for now in millis.map(|millis| at(1_000 * millis)) {
            source.timer(now);
            let reached = drain(&mut source.out).into_iter().filter(|packet| !packet.to.is_empty());
            reached.for_each(|packet| target.receive(now, &packet));
            target.timer(now);
            drain(&mut target.out).iter().for_each(|packet| source.receive(now, packet));
        }
    };
    source.write(at(1), 10);
    talk(&mut source, &mut target, 1..100);
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(1));
    let guid = reader_guid(1);
    source.writer.update_reader(guid, [].into(), [].into());
    (0..2).for_each(|_| _ = source.write(at(100_000), 10));
    talk(&mut source, &mut target, 100..600);
    assert_eq!(target.sink.got, [1]);
    source.writer.update_reader(guid, [host(guid.prefix)].into(), [].into());
    talk(&mut source, &mut target, 600..4_000);
    assert_eq!(target.sink.got, [1, 2, 3]);
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(3));
}
