//! RTPS 2.5 §8.4.9: what a writer sends in answer to what.

use alloc::vec;
use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_core::{
    Duration, EntityId, FragmentNumberSet, InstanceHandle, Locator, MonoTime, Now, SequenceNumber,
    SequenceNumberSet,
};
use dunlin_wire::{AckNack, Message, NackFrag, Submessage};

use super::support::*;
use crate::{Pacing, ReaderConfig, ReaderProxyConfig, WriterConfig};

fn set(base: i64, bits: &[i64]) -> SequenceNumberSet {
    let mut set = SequenceNumberSet::empty(SequenceNumber(base));
    assert!(bits.iter().all(|sn| set.insert(SequenceNumber(*sn))));
    set
}

/// An ACKNACK of the `n`th reader arrives.
fn ack(source: &mut Source, now: Now, n: u8, base: i64, bits: &[i64], count: i32) -> crate::AckOutcome {
    ack_asking(source, now, n, base, bits, count, false)
}

fn ack_asking(
    source: &mut Source,
    now: Now,
    n: u8,
    base: i64,
    bits: &[i64],
    count: i32,
    ask: bool,
) -> crate::AckOutcome {
    let guid = reader_guid(n);
    let acknack = AckNack {
        reader_id: guid.entity_id,
        writer_id: WRITER.entity_id,
        reader_sn_state: set(base, bits),
        count,
        final_flag: !ask,
    };
    source.writer.on_acknack(now, guid.prefix, &acknack, &source.history, &mut source.out)
}

fn nack_frag(source: &mut Source, now: Now, n: u8, sn: i64, numbers: &[u32], count: i32) -> bool {
    let guid = reader_guid(n);
    let mut fragments = FragmentNumberSet::empty(numbers[0]);
    assert!(numbers.iter().all(|number| fragments.insert(*number)));
    let nack = NackFrag {
        reader_id: guid.entity_id,
        writer_id: WRITER.entity_id,
        writer_sn: SequenceNumber(sn),
        fragment_number_state: fragments,
        count,
    };
    source.writer.on_nack_frag(now, guid.prefix, &nack, &source.history, &mut source.out)
}

fn dst(n: u8) -> Seen {
    Seen::Dst(reader_guid(n).prefix)
}

fn hb(first: i64, last: i64, ask: bool) -> Seen {
    Seen::Hb { first, last, ask }
}

fn data(sn: i64) -> Seen {
    Seen::Data { sn, reader: EntityId::UNKNOWN }
}

/// A reliable writer with one reader that has acknowledged the empty history.
fn matched(cfg: WriterConfig) -> Source {
    let mut source = Source::new(cfg);
    source.match_reader(at(0), reader_proxy(1));
    ack(&mut source, at(10), 1, 1, &[], 1);
    source.timer(at(10_000));
    source.out.clear();
    assert_eq!(source.writer.next_deadline(), None);
    source
}

#[test]
fn a_new_match_gets_a_directed_heartbeat_byte_for_byte() {
    let mut source = Source::new(WriterConfig::default());
    source.match_reader(at(0), reader_proxy(1));
    let packets = drain(&mut source.out);
    assert_eq!(packets[0].to, [host(reader_guid(1).prefix)]);
    let mut expected = vec![];
    expected.extend(b"RTPS\x02\x05\x01\xd0");
    expected.extend([1; 12]);
    expected.extend([0x0e, 1, 0x0c, 0]);
    expected.extend(reader_guid(1).prefix.0);
    // HEARTBEAT: first 1, last 0, count 1, final flag clear.
    expected.extend([7, 1, 0x1c, 0, 0, 0, 1, 7, 0, 0, 1, 2]);
    expected.extend([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(packets[0].bytes[..], expected);
}

#[test]
fn small_samples_are_data_followed_by_a_heartbeat() {
    let mut source = matched(WriterConfig::default());
    source.write(at(20_000), 100);
    source.write(at(20_100), 100);
    source.write(at(30_000), 100);
    // The first asks for an acknowledgment, the next one right behind it does not, the one after 10 ms does.
    let expected = [
        vec![Seen::Ts, data(1), hb(1, 1, true)],
        vec![Seen::Ts, data(2), hb(1, 2, false)],
        vec![Seen::Ts, data(3), hb(1, 3, true)],
    ];
    assert_eq!(source.sent(), expected);
}

#[test]
fn batched_samples_share_datagrams_each_with_one_heartbeat() {
    let cfg = WriterConfig { latency_budget: Duration::from_millis(1), ..Default::default() };
    let mut source = matched(cfg);
    for n in 0..60 {
        source.write(at(20_000 + n), 16);
    }
    assert!(source.out.is_empty() && source.writer.has_waiting_data());
    assert_eq!(source.writer.next_deadline(), Some(at(21_000).mono));
    assert!(!source.writer.is_push_due(at(20_999).mono) && source.writer.is_push_due(at(21_000).mono));
    source.timer(at(21_000));
    let lengths: Vec<usize> = source.out.datagrams().map(|datagram| datagram.len()).collect();
    assert_eq!(lengths.len(), 3, "{lengths:?}");
    assert!(lengths[0] == lengths[1] && lengths[0] <= 1472 && lengths[0] > 1400, "{lengths:?}");
    let sent = source.sent();
    let samples = sent.iter().flatten().filter(|seen| matches!(seen, Seen::Data { .. })).count();
    assert_eq!(samples, 60);
    assert_eq!(*sent[2].last().unwrap(), hb(1, 60, false));
    assert_eq!((source.writer.sent_sn(), source.writer.stats().samples_sent), (SequenceNumber(60), 60));
}

#[test]
fn a_batch_leaves_when_full_when_flushed_and_before_a_large_sample() {
    let cfg = || WriterConfig {
        latency_budget: Duration::from_secs(1),
        batch_octets: 300,
        batch_samples: 5,
        ..Default::default()
    };
    let count = |source: &mut Source| {
        source.sent().iter().flatten().filter(|s| matches!(s, Seen::Data { .. })).count()
    };
    let mut source = matched(cfg());
    (0..4).for_each(|n| _ = source.write(at(20_000 + n), 10));
    assert!(source.out.is_empty());
    source.write(at(20_005), 10);
    assert_eq!(count(&mut source), 5, "five samples");
    source.write(at(20_006), 150);
    source.write(at(20_007), 150);
    assert_eq!(count(&mut source), 2, "300 octets");
    source.write(at(20_008), 10);
    source.writer.flush(at(20_009), &source.history, &mut source.out);
    assert_eq!(count(&mut source), 1);
    source.writer.flush(at(20_010), &source.history, &mut source.out);
    assert!(source.out.is_empty() && !source.writer.has_waiting_data());
    source.write(at(20_011), 10);
    source.write(at(20_012), 5_000);
    assert!(matches!(source.sent()[0][1], Seen::Data { sn: 9, .. }), "the order is kept");
}

#[test]
fn without_readers_no_sample_is_batched() {
    let cfg = WriterConfig { latency_budget: Duration::from_secs(1), ..Default::default() };
    let mut source = Source::new(cfg);
    source.write(at(1), 10);
    assert!(!source.writer.has_waiting_data());
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(1));
}

#[test]
fn a_heartbeat_requests_an_acknack_every_so_many_samples() {
    let mut source = matched(WriterConfig { ack_request_samples: 4, ..Default::default() });
    let asks: Vec<bool> = (0..9)
        .map(|i| {
            source.write(at(20_000 + i), 10);
            matches!(source.sent()[0][..], [_, _, Seen::Hb { ask: true, .. }])
        })
        .collect();
    assert_eq!(asks, [true, false, false, false, true, false, false, false, true]);
}

#[test]
fn best_effort_readers_get_data_without_heartbeats() {
    let mut source = Source::new(WriterConfig::default());
    source.match_reader(at(0), ReaderProxyConfig { reliable: false, ..reader_proxy(1) });
    assert!(source.out.is_empty());
    source.write(at(1), 10);
    assert_eq!(source.sent(), [vec![Seen::Ts, data(1)]]);
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(1));
    assert!(source.writer.is_acked_by(reader_guid(1), SequenceNumber(1)));
    assert!(!source.writer.is_acked_by(reader_guid(2), SequenceNumber(1)));
    assert_eq!(source.writer.next_deadline(), None);
    assert!(!ack(&mut source, at(2), 1, 1, &[1], 1).accepted);
    assert!(source.out.is_empty());
}

#[test]
fn heartbeats_back_off_and_stop_when_everything_is_acknowledged() {
    let mut source =
        matched(WriterConfig { heartbeat_max_period: Duration::from_millis(80), ..Default::default() });
    source.write(at(20_000), 10);
    source.out.clear();
    let mut times = vec![];
    let mut now = at(20_000);
    while times.len() < 6 {
        now.mono = source.writer.next_deadline().unwrap();
        source.timer(now);
        for message in source.sent() {
            assert_eq!(message, [dst(1), hb(1, 1, true)]);
            times.push((now.mono.0 / 1_000_000) as i64);
        }
    }
    assert_eq!(times, [30, 50, 90, 170, 250, 330]);
    let outcome = ack(&mut source, now, 1, 2, &[], 2);
    assert!(outcome.accepted && outcome.acked_advanced && outcome.all_acked);
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(1));
    while let Some(mono) = source.writer.next_deadline() {
        source.timer(Now { mono, ..now });
        assert!(source.out.is_empty());
    }
}

#[test]
fn a_reader_that_never_acknowledged_gets_another_heartbeat() {
    let mut source = Source::new(WriterConfig::default());
    source.match_reader(at(0), reader_proxy(1));
    source.out.clear();
    source.timer(Now { mono: source.writer.next_deadline().unwrap(), ..at(0) });
    assert_eq!(source.sent(), [vec![dst(1), hb(1, 0, true)]]);
}

#[test]
fn heartbeats_do_not_overtake_the_data_they_announce() {
    let mut source = matched(WriterConfig::default());
    let sn = source.history.add(10);
    source.writer.on_new_change(at(20_000), sn, &source.history, &mut source.out);
    assert_eq!(source.sent(), [vec![Seen::Ts, data(1), hb(1, 1, true)]]);
    ack_asking(&mut source, at(20_010), 1, 1, &[], 2, true);
    assert_eq!(source.sent(), [vec![dst(1), hb(1, 0, true)]]);
    source.writer.mark_on_wire(SequenceNumber(1));
    source.writer.request_acknowledgments(at(20_020), &source.history, &mut source.out);
    assert_eq!(source.sent(), [vec![dst(1), hb(1, 1, true)]]);
    source.writer.mark_on_wire(SequenceNumber(99));
    assert_eq!(source.writer.sent_sn(), SequenceNumber(1));
}

#[test]
fn requests_are_served_directed_and_packed_with_a_heartbeat_behind() {
    let mut source = matched(WriterConfig::default());
    for i in 0..4 {
        source.write(at(20_000 + i), 100);
    }
    source.out.clear();
    let outcome = ack(&mut source, at(21_000), 1, 2, &[2, 4], 2);
    assert!(outcome.acked_advanced && !outcome.all_acked);
    let packets = drain(&mut source.out);
    let reader = reader_guid(1).entity_id;
    assert_eq!(
        packets[0].seen(),
        [dst(1), Seen::Ts, Seen::Data { sn: 2, reader }, Seen::Ts, Seen::Data { sn: 4, reader }]
    );
    assert_eq!(packets[1].seen(), [dst(1), hb(1, 4, true)]);
    assert!(packets.iter().all(|packet| packet.to == [host(reader_guid(1).prefix)]));
    assert_eq!(source.writer.stats().repairs_sent, 2);
    // The same count again is a repetition.
    assert!(!ack(&mut source, at(21_001), 1, 2, &[2, 4], 2).accepted);
    assert!(source.out.is_empty());
    assert_eq!(source.writer.stats().requests_ignored, 1);
}

#[test]
fn a_request_just_served_waits() {
    let mut source =
        matched(WriterConfig { nack_suppression: Duration::from_millis(5), ..Default::default() });
    source.write(at(20_000), 100);
    source.write(at(20_001), 100);
    ack(&mut source, at(21_000), 1, 1, &[1], 2);
    source.out.clear();
    ack(&mut source, at(22_000), 1, 1, &[1, 2], 3);
    let reader = reader_guid(1).entity_id;
    assert_eq!(source.sent()[0], [dst(1), Seen::Ts, Seen::Data { sn: 2, reader }]);
    assert_eq!(source.writer.stats().requests_suppressed, 1);
    source.timer(at(25_999));
    assert!(source.out.is_empty());
    source.timer(at(26_000));
    assert_eq!(source.sent()[0], [dst(1), Seen::Ts, Seen::Data { sn: 1, reader }]);
}

#[test]
fn repairs_wait_for_the_response_delay() {
    let delay = Duration::from_millis(3);
    let mut source = matched(WriterConfig { nack_response_delay: delay, ..Default::default() });
    source.write(at(20_000), 100);
    source.out.clear();
    ack(&mut source, at(21_000), 1, 1, &[1], 2);
    ack(&mut source, at(22_000), 1, 1, &[1], 3);
    assert!(source.out.is_empty());
    assert_eq!(source.writer.next_deadline(), Some(at(24_000).mono));
    source.timer(at(24_000));
    assert_eq!(source.writer.stats().repairs_sent, 1);
}

#[test]
fn removed_changes_are_answered_with_a_gap_that_is_not_expanded() {
    let mut source = matched(WriterConfig::default());
    for i in 0..300 {
        source.write(at(20_000 + i), 10);
    }
    source.out.clear();
    (2..=299).filter(|sn| *sn != 5).for_each(|sn| source.history.remove(sn));
    let wanted: Vec<i64> = (1..=256).collect();
    ack(&mut source, at(30_000), 1, 1, &wanted, 2);
    let sent = source.sent();
    let reader = reader_guid(1).entity_id;
    let repaired = [dst(1), Seen::Ts, Seen::Data { sn: 1, reader }];
    let also = [dst(1), Seen::Ts, Seen::Data { sn: 5, reader }];
    let gaps = [
        dst(1),
        Seen::Gap { from: 2, base: 5, bits: vec![] },
        Seen::Gap { from: 6, base: 300, bits: vec![] },
        hb(1, 300, true),
    ];
    assert_eq!(sent, [repaired.to_vec(), also.to_vec(), gaps.to_vec()]);
    assert_eq!(source.writer.stats().gaps_sent, 2);
}

#[test]
fn acknacks_without_final_flag_are_answered_at_a_bounded_rate() {
    let mut source = matched(WriterConfig::default());
    source.write(at(20_000), 10);
    source.out.clear();
    ack_asking(&mut source, at(21_000), 1, 1, &[], 2, true);
    assert_eq!(source.sent(), [vec![dst(1), hb(1, 1, true)]]);
    ack_asking(&mut source, at(21_100), 1, 1, &[], 3, true);
    assert!(source.out.is_empty());
    source.timer(at(22_000));
    assert_eq!(source.sent(), [vec![dst(1), hb(1, 1, true)]]);
    ack_asking(&mut source, at(25_000), 1, 2, &[], 4, true);
    assert_eq!(source.sent(), [vec![dst(1), hb(1, 1, false)]]);
}

#[test]
fn a_volatile_late_joiner_gets_a_gap_up_to_its_first_change() {
    let mut source = Source::new(WriterConfig { transient_local: true, ..Default::default() });
    for i in 0..3 {
        source.write(at(i), 10);
    }
    assert!(source.out.is_empty());
    source.match_reader(at(100), reader_proxy(1));
    let greeting = [dst(1), Seen::Gap { from: 1, base: 4, bits: vec![] }, hb(1, 3, true)];
    assert_eq!(source.sent(), [greeting.to_vec()]);
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(3));
    // It did not hear that and asks from the start: the same again.
    ack_asking(&mut source, at(20_000), 1, 1, &[], 1, true);
    assert_eq!(
        source.sent(),
        [[dst(1), Seen::Gap { from: 1, base: 4, bits: vec![] }, hb(1, 3, false)].to_vec()]
    );
    source.write(at(30_000), 10);
    source.out.clear();
    ack(&mut source, at(30_100), 1, 2, &[2, 3, 4], 2);
    let reader = reader_guid(1).entity_id;
    assert_eq!(
        source.sent(),
        [
            vec![dst(1), Seen::Ts, Seen::Data { sn: 4, reader }],
            vec![dst(1), Seen::Gap { from: 2, base: 4, bits: vec![] }, hb(1, 4, true)],
        ]
    );
}

#[test]
fn a_durable_late_joiner_gets_a_heartbeat_and_the_history_on_request() {
    let mut source = Source::new(WriterConfig { transient_local: true, ..Default::default() });
    for i in 0..3 {
        source.write(at(i), 10);
    }
    source.history.remove(1);
    source.match_reader(at(100), ReaderProxyConfig { durable: true, ..reader_proxy(1) });
    assert_eq!(source.sent(), [vec![dst(1), hb(2, 3, true)]]);
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(1));
    ack(&mut source, at(200), 1, 2, &[2, 3], 1);
    let reader = reader_guid(1).entity_id;
    let repair = [dst(1), Seen::Ts, Seen::Data { sn: 2, reader }, Seen::Ts, Seen::Data { sn: 3, reader }];
    assert_eq!(source.sent()[0], repair);
    assert!(ack(&mut source, at(300), 1, 4, &[], 2).all_acked);
}

#[test]
fn a_durable_best_effort_reader_gets_the_history_before_new_data() {
    let mut source = Source::new(WriterConfig { transient_local: true, ..Default::default() });
    source.write(at(0), 10);
    source.write(at(1), 10);
    source.match_reader(at(100), ReaderProxyConfig { durable: true, reliable: false, ..reader_proxy(1) });
    source.write(at(200), 10);
    assert!(source.out.is_empty());
    source.timer(at(20_100));
    let reader = reader_guid(1).entity_id;
    let packed: Vec<Seen> = core::iter::once(dst(1))
        .chain((1..=3).flat_map(|sn| [Seen::Ts, Seen::Data { sn, reader }]))
        .collect();
    assert_eq!(source.sent(), [packed]);
    source.write(at(20_200), 10);
    assert_eq!(source.sent(), [vec![Seen::Ts, data(4)]]);
}

#[test]
fn best_effort_readers_of_a_multicast_group_each_get_the_history_in_datagrams_of_their_own() {
    let mut source = Source::new(WriterConfig { transient_local: true, ..Default::default() });
    source.write(at(0), 10);
    source.write(at(1), 3000);
    for n in [1, 2] {
        let cfg = ReaderProxyConfig {
            durable: true,
            reliable: false,
            multicast: [GROUP].into(),
            ..reader_proxy(n)
        };
        source.match_reader(at(100), cfg);
    }
    source.timer(at(20_100));
    let history = drain(&mut source.out);
    assert!(history.iter().all(|packet| !packet.to.contains(&GROUP)), "a reader that is not met yet listens");
    assert_eq!(
        history.iter().filter(|packet| packet.seen().contains(&Seen::Frag { sn: 2, number: 3 })).count(),
        2
    );
    source.write(at(20_200), 10);
    assert_eq!(drain(&mut source.out)[0].to, [GROUP], "new data is for all");
}

#[test]
fn a_durable_best_effort_reader_gets_gaps_before_later_history() {
    let mut source = Source::new(WriterConfig { transient_local: true, ..Default::default() });
    for n in 0..6 {
        source.write(at(n), 10);
    }
    [2, 3, 6].into_iter().for_each(|sn| source.history.remove(sn));
    source.match_reader(at(100), ReaderProxyConfig { durable: true, reliable: false, ..reader_proxy(1) });
    source.timer(at(20_100));
    let reader = reader_guid(1).entity_id;
    let sample = |sn| [Seen::Ts, Seen::Data { sn, reader }];
    let expected = [
        [vec![dst(1)], sample(1).to_vec()].concat(),
        vec![dst(1), Seen::Gap { from: 2, base: 4, bits: vec![] }],
        [vec![dst(1)], sample(4).to_vec(), sample(5).to_vec()].concat(),
        vec![dst(1), Seen::Gap { from: 6, base: 7, bits: vec![] }],
    ];
    assert_eq!(source.sent(), expected);
}

#[test]
fn large_samples_go_in_fragments_of_one_datagram_each() {
    let mut source = matched(WriterConfig::default());
    source.write(at(20_000), 1404 * 2 + 10);
    let packets = drain(&mut source.out);
    assert_eq!(packets[0].seen(), [Seen::Ts, Seen::Frag { sn: 1, number: 1 }]);
    assert_eq!(packets[1].seen(), [Seen::Ts, Seen::Frag { sn: 1, number: 2 }]);
    assert_eq!(packets[2].seen(), [Seen::Ts, Seen::Frag { sn: 1, number: 3 }, hb(1, 1, true)]);
    assert_eq!((packets[0].bytes.len(), packets[1].bytes.len()), (1472, 1472));
    // No room for the HEARTBEAT behind a full fragment.
    source.write(at(20_100), 1404 * 2);
    let sent = source.sent();
    assert_eq!(sent[1..], [vec![Seen::Ts, Seen::Frag { sn: 2, number: 2 }], vec![hb(1, 2, false)]]);
    assert_eq!(source.writer.stats().fragments_sent, 5);
}

#[test]
fn single_fragments_are_repaired() {
    let mut source = matched(WriterConfig::default());
    source.write(at(20_000), 1404 * 5);
    source.write(at(20_001), 10);
    source.out.clear();
    assert!(nack_frag(&mut source, at(21_000), 1, 1, &[2, 5, 6], 1));
    assert!(!nack_frag(&mut source, at(21_000), 1, 1, &[2, 5, 6], 1));
    let packets = drain(&mut source.out);
    assert_eq!(packets[0].seen(), [Seen::Ts, Seen::Frag { sn: 1, number: 2 }]);
    assert_eq!(packets[1].seen(), [Seen::Ts, Seen::Frag { sn: 1, number: 5 }]);
    assert_eq!(packets[2].seen(), [dst(1), hb(1, 2, true)]);
    assert_eq!(packets.len(), 3);
    assert_eq!((packets[0].bytes.len(), packets[0].to[0]), (1472, host(reader_guid(1).prefix)));
    // Requested again at once: waits for the suppression to end.
    nack_frag(&mut source, at(21_500), 1, 1, &[2], 2);
    assert!(source.out.is_empty());
    source.timer(at(23_000));
    assert_eq!(source.sent()[0], [Seen::Ts, Seen::Frag { sn: 1, number: 2 }]);
    // A request for fragments of a change that is not in fragments, and of one that is gone.
    nack_frag(&mut source, at(24_000), 1, 2, &[1], 3);
    let reader = reader_guid(1).entity_id;
    assert_eq!(source.sent()[0], [dst(1), Seen::Ts, Seen::Data { sn: 2, reader }]);
    source.history.remove(1);
    nack_frag(&mut source, at(25_000), 1, 1, &[4], 4);
    assert_eq!(source.sent()[0], [dst(1), Seen::Gap { from: 1, base: 2, bits: vec![] }, hb(2, 2, true)]);
    // Of a change never written: nothing.
    nack_frag(&mut source, at(26_000), 1, 1 << 62, &[1], 5);
    assert!(source.out.is_empty());
}

#[test]
fn a_whole_large_sample_is_repaired_in_fragments_within_the_budget() {
    let cfg = WriterConfig { repair_budget_per_event: 3 * 1472, ..Default::default() };
    let mut source = matched(cfg);
    source.write(at(20_000), 1404 * 7);
    source.out.clear();
    ack(&mut source, at(21_000), 1, 1, &[1], 2);
    let mut numbers = vec![];
    let mut events = 0;
    let mut now = at(21_000);
    loop {
        for message in source.sent() {
            if let [Seen::Ts, Seen::Frag { number, .. }] = message[..] {
                numbers.push(number);
            }
        }
        events += 1;
        if numbers.len() >= 7 {
            break;
        }
        assert_eq!(numbers.len(), 3 * events);
        now.mono = source.writer.next_deadline().unwrap();
        source.timer(now);
    }
    assert_eq!((numbers, events), ((1..=7).collect(), 3));
    assert_eq!(source.writer.stats().repairs_deferred, 2);
    assert_eq!(now.mono, at(23_000).mono);
}

#[test]
fn paced_data_leaves_at_the_rate_and_in_order() {
    let pacing = Pacing { rate: 1_472_000, burst: 1472 * 2 };
    let mut source = matched(WriterConfig { pacing: Some(pacing), ..Default::default() });
    source.write(at(20_000), 1404 * 20);
    assert!(source.writer.has_waiting_data());
    source.write(at(20_001), 10);
    let (mut frags, mut announced, mut now) = (vec![], vec![], at(20_001));
    let mut after = vec![];
    let mut more = true;
    while more {
        more = source.writer.has_waiting_data();
        for seen in source.sent().into_iter().flatten() {
            match seen {
                Seen::Frag { number, .. } => frags.push((number, now.mono.0 / 1_000_000)),
                Seen::HbFrag { sn: 1, last } => announced.push(last),
                Seen::Data { sn, .. } => after.push(sn),
                _ => {}
            }
        }
        now.mono = source.writer.next_deadline().unwrap_or(MonoTime(now.mono.0 + 1_000_000));
        source.timer(now);
    }
    assert_eq!(frags.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
    assert_eq!(after, [2]);
    let took = frags[19].1 - frags[0].1;
    assert!((17..=19).contains(&took), "{took} ms");
    assert_eq!(announced[0], 2);
    assert!(announced.len() >= 2 && announced.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(source.writer.stats().paced >= 18);
}

#[test]
fn paced_samples_replaced_before_they_leave_are_skipped() {
    let pacing = Pacing { rate: 1000, burst: 1 };
    let mut source = matched(WriterConfig { pacing: Some(pacing), ..Default::default() });
    for i in 0..4 {
        source.write(at(20_000 + i), 10);
    }
    assert_eq!(source.sent().len(), 1);
    source.history.remove(2);
    source.history.remove(3);
    let mut now = at(20_000);
    while source.writer.has_waiting_data() {
        now.mono = source.writer.next_deadline().unwrap();
        source.timer(now);
    }
    let all: Vec<Seen> =
        source.sent().into_iter().flatten().filter(|s| matches!(s, Seen::Data { .. })).collect();
    assert_eq!(all, [data(4)]);
    assert_eq!(source.writer.sent_sn(), SequenceNumber(4));
}

#[test]
fn a_reader_matched_after_abandoned_paced_data_gets_whole_samples() {
    let pacing = Pacing { rate: 1000, burst: 1 };
    let mut source = matched(WriterConfig { pacing: Some(pacing), ..Default::default() });
    source.write(at(20_000), 1404 * 5);
    source.out.clear();
    assert!(source.writer.unmatch_reader(reader_guid(1)));
    source.match_reader(at(20_001), reader_proxy(2));
    assert!(!source.writer.has_waiting_data());
    source.out.clear();
    source.writer.on_timer(at(90_000_000), &source.history, &mut source.out);
    source.out.clear();
    source.write(at(90_000_000), 1404 * 5);
    assert_eq!(source.sent()[0], [Seen::Ts, Seen::Frag { sn: 2, number: 1 }]);
}

#[test]
fn multicast_group_is_shared_and_directed_answers_stay_unicast() {
    let mut source = Source::new(WriterConfig::default());
    for n in 1..=3 {
        source.match_reader(at(0), ReaderProxyConfig { multicast: [GROUP].into(), ..reader_proxy(n) });
    }
    let local = ReaderProxyConfig { unicast: [Locator::LOCAL].into(), ..reader_proxy(4) };
    source.match_reader(at(0), local);
    source.out.clear();
    source.write(at(20_000), 10);
    assert!(drain(&mut source.out).iter().all(|packet| packet.to == [GROUP, Locator::LOCAL]));
    source.write(at(20_001), 3000);
    let (local, group): (Vec<_>, _) =
        drain(&mut source.out).into_iter().partition(|packet| packet.to == [Locator::LOCAL]);
    assert!(!local.is_empty() && group.len() == 3 && group.iter().all(|packet| packet.to == [GROUP]));
    ack(&mut source, at(20_100), 2, 1, &[1], 1);
    assert!(drain(&mut source.out).iter().all(|packet| packet.to == [host(reader_guid(2).prefix)]));
    (1..=3).for_each(|n| assert!(source.writer.unmatch_reader(reader_guid(n)) == (n < 4)));
    source.write(at(20_200), 10);
    assert_eq!(drain(&mut source.out)[0].to, [Locator::LOCAL]);
    assert!(!source.writer.unmatch_reader(reader_guid(1)));
    assert_eq!(source.writer.matched_readers().len(), 1);
}

#[test]
fn readers_that_ask_together_are_repaired_together() {
    let delay = Duration::from_millis(5);
    let mut source = Source::new(WriterConfig { nack_response_delay: delay, ..Default::default() });
    for n in 1..=3 {
        source.match_reader(at(0), ReaderProxyConfig { multicast: [GROUP].into(), ..reader_proxy(n) });
        ack(&mut source, at(1), n, 1, &[], 1);
    }
    source.write(at(20_000), 10);
    source.write(at(20_001), 3000);
    source.out.clear();
    for n in 1..=2 {
        ack(&mut source, at(21_000), n, 1, &[1, 2], 2);
    }
    source.timer(at(26_000));
    let data: Vec<_> = drain(&mut source.out)
        .into_iter()
        .filter(|packet| packet.seen().iter().any(|s| matches!(s, Seen::Data { .. } | Seen::Frag { .. })))
        .map(|packet| (packet.to.clone(), packet.seen().len()))
        .collect();
    assert_eq!(data, vec![(vec![GROUP], 2); 4]);
    assert_eq!(source.writer.stats().shared_repairs, 2);
}

#[test]
fn disposed_changes_carry_status_key_and_key_hash() {
    let mut source = matched(WriterConfig::default());
    let instance = InstanceHandle([7; 16]);
    let kind = crate::ChangeKind::DisposedUnregistered;
    let sn = source.history.add_change(crate::Change { kind, instance, ..change(1, sample(8)) });
    source.push(at(20_000), sn);
    let packets = drain(&mut source.out);
    let message = Message::parse(&packets[0].bytes).unwrap();
    let found = message.submessages().find_map(|parsed| match parsed.unwrap().body {
        Submessage::Data(data) => Some(data),
        _ => None,
    });
    let data = found.unwrap();
    let list = data.inline_qos.unwrap();
    assert_eq!(dunlin_wire::status_info(&list).0, 3);
    assert_eq!(dunlin_wire::key_hash(&list), Some([7; 16]));
    assert!(matches!(data.payload, dunlin_wire::Payload::Key(key) if *key == *sample(8)));
}

#[test]
fn fragments_say_whether_they_are_of_a_key() {
    let of_kind = |kind| {
        let mut source = matched(WriterConfig::default());
        let sn = source.history.add_change(crate::Change { kind, ..change(1, sample(5_000)) });
        source.push(at(20_000), sn);
        let packets = drain(&mut source.out);
        let flags: Vec<bool> = packets
            .iter()
            .flat_map(|packet| Message::parse(&packet.bytes).unwrap().submessages())
            .filter_map(|parsed| match parsed.unwrap().body {
                Submessage::DataFrag(frag) => Some(frag.key_flag),
                _ => None,
            })
            .collect();
        assert!(flags.len() > 1);
        flags
    };
    assert!(of_kind(crate::ChangeKind::Alive).iter().all(|is_key| !is_key));
    assert!(of_kind(crate::ChangeKind::Disposed).iter().all(|is_key| *is_key));
}

#[test]
fn inline_qos_goes_where_it_is_expected() {
    let strength = SharedBytes::copy_from(&[0x06, 0, 4, 0, 9, 0, 0, 0]);
    let mut source = matched(WriterConfig { reader_inline_qos: Some(strength), ..Default::default() });
    let has_qos = |source: &mut Source| {
        let packets = drain(&mut source.out);
        let message = Message::parse(&packets[0].bytes).unwrap();
        message.submessages().any(|parsed| match parsed.unwrap().body {
            Submessage::Data(data) => data.inline_qos.is_some_and(|list| list.find(6) == Some(&[9, 0, 0, 0])),
            _ => false,
        })
    };
    source.write(at(20_000), 10);
    assert!(!has_qos(&mut source));
    source.match_reader(at(20_100), ReaderProxyConfig { expects_inline_qos: true, ..reader_proxy(2) });
    source.out.clear();
    source.write(at(20_200), 10);
    assert!(has_qos(&mut source));
}

#[test]
fn a_liveliness_heartbeat_requests_no_acknack() {
    let mut source = matched(WriterConfig::default());
    source.writer.assert_liveliness(at(20_000), &source.history, &mut source.out);
    assert_eq!(source.sent(), [vec![Seen::Alive { first: 1, last: 0 }]]);
}

#[test]
fn counts_rise_with_every_heartbeat() {
    let mut source = matched(WriterConfig::default());
    for i in 0..5 {
        source.write(at(20_000 + i), 10);
        ack_asking(&mut source, at(20_000 + i), 1, 1, &[1], 2 + i as i32, true);
    }
    source.timer(at(90_000));
    let mut last = 0;
    for packet in drain(&mut source.out) {
        for parsed in Message::parse(&packet.bytes).unwrap().submessages() {
            if let Submessage::Heartbeat(hb) = parsed.unwrap().body {
                assert!(hb.count > last);
                last = hb.count;
            }
        }
    }
    assert!(last > 8);
}

#[test]
fn a_volatile_reader_that_meets_the_writer_again_gets_nothing_it_had() {
    let mut source = matched(WriterConfig::default());
    for i in 0..3 {
        source.write(at(20_000 + i), 10);
    }
    assert!(ack(&mut source, at(20_100), 1, 4, &[], 2).all_acked);
    source.out.clear();
    // It has forgotten the writer in the meantime and knows nothing.
    ack(&mut source, at(30_000), 1, 1, &[], 3);
    source.timer(at(40_000));
    let seen: Vec<Seen> = source.sent().into_iter().flatten().collect();
    assert!(seen.contains(&Seen::Gap { from: 1, base: 4, bits: vec![] }), "{seen:?}");
    assert!(!seen.iter().any(|seen| matches!(seen, Seen::Data { .. })), "{seen:?}");
}

#[test]
fn a_change_removed_before_all_fragments_were_sent_becomes_a_gap() {
    let pacing = Some(Pacing { rate: 1_000_000, burst: 1_500 });
    let mut source = Source::new(WriterConfig { pacing, ..Default::default() });
    source.match_reader(at(0), reader_proxy(1));
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), false);
    for packet in drain(&mut source.out) {
        target.receive(at(1), &packet);
    }
    for packet in drain(&mut target.out) {
        source.receive(at(2), &packet);
    }
    source.write(at(10), 12_000);
    assert!(source.writer.has_waiting_data());
    source.history.remove(1);
    for step in 1..20 {
        let now = at(20_000 * step);
        source.timer(now);
        for packet in drain(&mut source.out) {
            target.receive(now, &packet);
        }
        target.timer(now);
        for packet in drain(&mut target.out) {
            source.receive(now, &packet);
        }
    }
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(1));
}
