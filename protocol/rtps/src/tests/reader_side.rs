//! RTPS 2.5 §8.4.12: what a reader delivers, and what it answers to what.

use alloc::vec;
use alloc::vec::Vec;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{
    Duration, EntityId, Guid, GuidPrefix, MonoTime, Now, SequenceNumber, SequenceNumberSet, WallTime,
};
use dunlin_wire::{DataFragSpec, DataSpec, Gap, Heartbeat, HeartbeatFrag, MessageBuilder, PayloadSpec, pid};

use super::support::*;
use crate::{ChangeKind, ReaderConfig, WriterConfig, WriterProxyConfig};

fn packet(build: impl FnOnce(&mut MessageBuilder<'_>)) -> Packet {
    let mut out = Outbox::new();
    let mut message = MessageBuilder::new(&mut out, WRITER.prefix);
    build(&mut message);
    message.finish(&[GROUP]);
    drain(&mut out).remove(0)
}

fn spec(sn: i64, payload: SharedBytes) -> DataSpec<'static> {
    DataSpec {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER.entity_id,
        writer_sn: SequenceNumber(sn),
        inline_qos: &[],
        payload: PayloadSpec::Data(payload),
    }
}

fn data(sn: i64) -> Packet {
    packet(|message| {
        message.data(&spec(sn, sample(100)));
    })
}

fn heartbeat(first: i64, last: i64, count: i32, ask: bool) -> Packet {
    heartbeat_for(None, (first, last), count, ask)
}

/// For all readers, or for one.
fn heartbeat_for(reader: Option<Guid>, (first, last): (i64, i64), count: i32, ask: bool) -> Packet {
    packet(|message| {
        reader.into_iter().for_each(|guid| _ = message.info_dst(guid.prefix));
        message.heartbeat(&Heartbeat {
            reader_id: reader.map_or(EntityId::UNKNOWN, |guid| guid.entity_id),
            writer_id: WRITER.entity_id,
            first_sn: SequenceNumber(first),
            last_sn: SequenceNumber(last),
            count,
            final_flag: !ask,
            liveliness_flag: false,
            group: None,
        });
    })
}

fn gap(from: i64, base: i64, bits: &[i64]) -> Packet {
    let mut gap_list = SequenceNumberSet::empty(SequenceNumber(base));
    bits.iter().for_each(|sn| assert!(gap_list.insert(SequenceNumber(*sn))));
    packet(|message| {
        message.gap(&Gap {
            reader_id: EntityId::UNKNOWN,
            writer_id: WRITER.entity_id,
            gap_start: SequenceNumber(from),
            gap_list,
            group: None,
            filtered_count: None,
        });
    })
}

/// A fragment of a sample of `size` octets in fragments of 1000, for the first reader.
fn frag(sn: i64, number: u32, size: usize) -> Packet {
    let payload = sample(size);
    let start = (number as usize - 1) * 1000;
    packet(|message| {
        message.data_frag(&DataFragSpec {
            reader_id: reader_guid(1).entity_id,
            writer_id: WRITER.entity_id,
            writer_sn: SequenceNumber(sn),
            fragment_starting_num: number,
            fragments_in_submessage: 1,
            fragment_size: 1000,
            sample_size: size as u32,
            inline_qos: &[],
            key_flag: false,
            payload: payload.slice(start..(start + 1000).min(size)).unwrap(),
        });
    })
}

fn heartbeat_frag(sn: i64, last: u32, count: i32) -> Packet {
    packet(|message| {
        message.heartbeat_frag(&HeartbeatFrag {
            reader_id: EntityId::UNKNOWN,
            writer_id: WRITER.entity_id,
            writer_sn: SequenceNumber(sn),
            last_fragment_num: last,
            count,
        });
    })
}

fn ack(base: i64, bits: &[i64], ask: bool) -> Vec<Seen> {
    vec![Seen::Dst(WRITER.prefix), Seen::Ack { base, bits: bits.to_vec(), ask }]
}

/// A reliable reader that has heard `first..=last` announced and acknowledged what that was.
fn synced(cfg: ReaderConfig, first: i64) -> Target {
    let mut target = Target::new(1, cfg);
    target.match_writer(at(0), false);
    target.receive(at(1), &heartbeat(first, first - 1, 1, true));
    assert_eq!(target.sent(), [ack(first, &[], false)]);
    target
}

fn best_effort() -> Target {
    let mut target = Target::new(1, ReaderConfig { reliable: false, ..Default::default() });
    target.match_writer(at(0), false);
    target
}

#[test]
fn acknacks_to_a_silent_writer_are_repeated_until_it_answers() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), false);
    let mut times = vec![];
    while times.len() < 9 {
        let mono = target.reader.next_deadline().unwrap();
        target.timer(Now { mono, ..at(0) });
        for packet in drain(&mut target.out) {
            assert_eq!(packet.seen(), ack(1, &[], true));
            assert_eq!(packet.to, [host(WRITER.prefix)]);
            times.push(mono.0 / 1_000_000);
        }
    }
    assert_eq!(times, [10, 20, 40, 80, 160, 320, 640, 1280, 2280]);
    target.receive(at(2_300_000), &heartbeat(1, 0, 1, false));
    target.timer(at(9_000_000));
    assert!(target.out.is_empty());
    assert_eq!(target.reader.next_deadline(), None);
}

#[test]
fn the_first_acknack_can_leave_at_the_match() {
    let mut target =
        Target::new(1, ReaderConfig { preemptive_ack_delay: Duration::ZERO, ..Default::default() });
    target.match_writer(at(5), false);
    let packets = drain(&mut target.out);
    let mut expected = vec![];
    expected.extend(b"RTPS\x02\x05\x01\xd0");
    expected.extend(reader_guid(1).prefix.0);
    expected.extend([0x0e, 1, 0x0c, 0]);
    expected.extend(WRITER.prefix.0);
    // ACKNACK: base 1, no bits, count 1, final flag clear.
    expected.extend([6, 1, 0x18, 0, 0, 0, 1, 7, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(packets[0].bytes[..], expected);
}

#[test]
fn captured_sequence_of_a_lost_first_sample() {
    let mut target = synced(ReaderConfig::default(), 1);
    target.receive(at(10_000), &heartbeat(1, 1, 2, true));
    assert_eq!(target.sent(), [ack(1, &[1], false)]);
    target.receive(at(10_100), &data(1));
    target.receive(at(10_110), &heartbeat(1, 1, 3, true));
    assert_eq!(target.sent(), [ack(2, &[], false)]);
    assert_eq!(target.sink.got, [1]);
}

#[test]
fn data_is_delivered_once_and_in_order() {
    let mut target = synced(ReaderConfig::default(), 1);
    for sn in [1, 3, 5, 3, 1, 2, 4] {
        target.receive(at(2), &data(sn));
    }
    assert_eq!(target.sink.got, [1, 2, 3, 4, 5]);
    assert_eq!((target.reader.stats().duplicates, target.reader.stats().out_of_order), (2, 2));
    assert_eq!(target.sink.payloads[2], Some(sample(100)));
    assert!(target.out.is_empty());
}

#[test]
fn missing_changes_are_requested_and_not_too_often() {
    let mut target = synced(ReaderConfig::default(), 1);
    for sn in [1, 4, 6] {
        target.receive(at(2), &data(sn));
    }
    target.receive(at(10), &heartbeat(1, 7, 2, false));
    assert_eq!(target.sent(), [ack(2, &[2, 3, 5, 7], false)]);
    // Nothing new within the quiet time, which doubles.
    target.receive(at(20), &heartbeat(1, 7, 3, true));
    assert!(target.out.is_empty());
    target.timer(at(1_009));
    assert!(target.out.is_empty());
    target.timer(at(1_010));
    assert_eq!(target.sent(), [ack(2, &[2, 3, 5, 7], false)]);
    target.receive(at(1_020), &heartbeat(1, 7, 4, true));
    target.timer(at(3_009));
    assert!(target.out.is_empty());
    target.timer(at(3_010));
    assert_eq!(target.sent().len(), 1);
    // Progress is answered at once.
    target.receive(at(3_020), &data(2));
    target.receive(at(3_030), &heartbeat(1, 7, 5, false));
    assert_eq!(target.sent(), [ack(3, &[3, 5, 7], false)]);
    // A repeated or older HEARTBEAT is no news.
    target.receive(at(9_000), &heartbeat(1, 9, 5, true));
    assert!(target.out.is_empty());
    assert_eq!(target.reader.stats().heartbeats_ignored, 1);
}

#[test]
fn an_unserved_request_is_repeated_without_a_heartbeat() {
    let mut target = synced(ReaderConfig::default(), 1);
    target.receive(at(1_000), &heartbeat(1, 1, 2, false));
    assert_eq!(target.sent(), [ack(1, &[1], false)]);
    let mut times = vec![];
    while times.len() < 7 {
        let mono = target.reader.next_deadline().unwrap();
        target.timer(Now { mono, ..at(0) });
        for message in target.sent() {
            assert_eq!(message, ack(1, &[1], true));
            times.push(mono.0 / 1_000_000);
        }
    }
    assert!(times[0] >= 100 && times.windows(2).all(|pair| pair[1] - pair[0] <= 3000), "{times:?}");
    assert!(times[6] - times[5] == 3000, "{times:?}");
    target.receive(at(20_000_000), &data(1));
    while let Some(mono) = target.reader.next_deadline() {
        target.timer(Now { mono, ..at(0) });
    }
    assert!(target.out.is_empty());
}

#[test]
fn gaps_and_first_available_close_holes() {
    let mut target = synced(ReaderConfig::default(), 1);
    for sn in [3, 9] {
        target.receive(at(2), &data(sn));
    }
    target.receive(at(3), &gap(1, 3, &[4, 6]));
    assert_eq!(target.sink.got, [3]);
    target.receive(at(4), &data(5));
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![3, 5], 0));
    target.receive(at(5), &heartbeat(10, 12, 2, false));
    // 7 and 8 are gone for good, 9 had arrived.
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![3, 5, 9], 2));
    assert_eq!(target.sent(), [ack(10, &[10, 11, 12], false)]);
    assert_eq!(target.reader.stats().lost, 2);
}

/// Somebody else has called changes irrelevant that the writer has not written.
#[test]
fn a_gap_that_a_heartbeat_contradicts_is_undone() {
    let mut target = synced(ReaderConfig::default(), 1);
    target.receive(at(2), &data(1));
    // Ahead of what is expected, and from there on.
    target.receive(at(3), &gap(4, 1_000, &[]));
    target.receive(at(4), &gap(2, 4, &[]));
    assert_eq!(target.sink.got, [1]);
    target.receive(at(5), &heartbeat(1, 2, 2, true));
    assert_eq!(target.sent(), [ack(2, &[2], false)], "what was passed over is asked for");
    for sn in 2..=5 {
        target.receive(at(6), &data(sn));
    }
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![1, 2, 3, 4, 5], 0));
    // What the writer says itself stays.
    target.receive(at(7), &gap(6, 9, &[]));
    target.receive(at(8), &heartbeat(1, 8, 3, true));
    assert_eq!(target.sent(), [ack(9, &[], false)]);
}

#[test]
fn a_gap_beyond_a_missing_change_that_a_heartbeat_contradicts_is_undone() {
    let mut target = synced(ReaderConfig::default(), 1);
    target.receive(at(2), &data(1));
    target.receive(at(3), &gap(4, 1_000, &[]));
    target.receive(at(4), &heartbeat(1, 2, 2, true));
    assert_eq!(target.sent(), [ack(2, &[2], false)]);
    (2..=4).for_each(|sn| target.receive(at(5), &data(sn)));
    assert_eq!(target.sink.got, [1, 2, 3, 4], "nothing is taken for irrelevant any more");
    target.receive(at(6), &heartbeat(1, 5, 3, true));
    assert_eq!(target.sent(), [ack(5, &[5], false)], "the next is asked for");
}

#[test]
fn a_gap_undone_by_an_older_heartbeat_is_not_counted_lost() {
    for (later, lost) in [(5, 0), (2_000_000, 3)] {
        let mut target = synced(ReaderConfig::default(), 1);
        target.receive(at(2), &data(1));
        target.receive(at(3), &gap(2, 5, &[]));
        target.receive(at(4), &heartbeat(1, 2, 2, true));
        target.receive(at(4 + later), &heartbeat(1, 5, 3, true));
        target.receive(at(4 + later), &heartbeat(5, 5, 4, true));
        target.receive(at(5 + later), &data(5));
        assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![1, 5], lost), "{later} µs later");
    }
}

/// Somebody else says so again and again, and the writer is held up: it has written nothing, and then several.
#[test]
fn a_gap_ahead_that_is_repeated_passes_nothing_over_for_good() {
    let mut target = synced(ReaderConfig::default(), 1);
    target.receive(at(2), &data(1));
    for round in 0..3 {
        target.receive(at(3 + 10 * round), &gap(2, 1_000, &[]));
        target.receive(at(4 + 10 * round), &heartbeat(1, 1, 2 + round as i32, true));
    }
    target.receive(at(33), &gap(2, 1_000, &[]));
    target.sent();
    target.receive(at(34), &heartbeat(1, 4, 5, false));
    assert_eq!(target.sent(), [ack(2, &[2, 3, 4], false)]);
    (2..=4).for_each(|sn| target.receive(at(35), &data(sn)));
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![1, 2, 3, 4], 0));
}

/// What the writer has announced and not sent yet is asked for, and the answer comes behind the word of somebody else.
#[test]
fn a_gap_ahead_is_no_answer_to_a_request() {
    let mut target = synced(ReaderConfig::default(), 1);
    target.receive(at(2), &data(1));
    target.receive(at(2), &data(4));
    target.receive(at(3), &heartbeat(1, 4, 2, true));
    assert_eq!(target.sent(), [ack(2, &[2, 3], false)]);
    for millis in [5, 50, 95] {
        target.receive(at(1_000 * millis), &gap(1, 1_000, &[]));
        assert_eq!(target.sink.got, [1]);
        assert_eq!(target.sent(), [ack(2, &[2, 3], true)], "a HEARTBEAT is asked for");
    }
    target.receive(at(96_000), &gap(1, 1_000, &[]));
    assert!(target.sent().is_empty(), "not for each of them");
    (2..=3).for_each(|sn| target.receive(at(97_000), &data(sn)));
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![1, 2, 3, 4], 0));
}

/// It would have been delivered behind what is on its way or has to be repaired.
#[test]
fn a_gap_over_what_has_arrived_already_passes_nothing_over() {
    let mut target = synced(ReaderConfig::default(), 1);
    for sn in [1, 4] {
        target.receive(at(2), &data(sn));
    }
    target.receive(at(3), &gap(1, 1_000, &[]));
    assert_eq!(target.sink.got, [1]);
    target.receive(at(4), &heartbeat(1, 4, 2, true));
    assert_eq!(target.sent(), [ack(2, &[2, 3], false)]);
    (2..=3).for_each(|sn| target.receive(at(5), &data(sn)));
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![1, 2, 3, 4], 0));
}

/// What has been written since the last HEARTBEAT is irrelevant too.
#[test]
fn a_gap_ahead_holds_when_a_heartbeat_reaches_its_end() {
    let mut target = synced(ReaderConfig::default(), 1);
    target.receive(at(2), &data(1));
    target.receive(at(3), &heartbeat(1, 4, 2, true));
    assert_eq!(target.sent(), [ack(2, &[2, 3, 4], false)]);
    target.receive(at(5_000), &gap(2, 7, &[8]));
    assert_eq!(target.sent(), [ack(2, &[2, 3, 4], true)]);
    target.receive(at(5_100), &heartbeat(1, 8, 3, false));
    assert_eq!(target.sent(), [ack(7, &[7], false)]);
    target.receive(at(5_200), &data(7));
    target.receive(at(5_300), &data(9));
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![1, 7, 9], 0));
}

/// A writer calls changes irrelevant that its HEARTBEATs never reach: the two do not talk about it for ever.
#[test]
fn a_gap_that_is_repeated_for_a_second_holds_for_what_is_written() {
    let mut target = synced(ReaderConfig::default(), 1);
    target.receive(at(2), &data(1));
    target.receive(at(3), &gap(2, 9, &[]));
    target.receive(at(4), &heartbeat(1, 4, 2, true));
    assert_eq!(target.sent(), [ack(2, &[2, 3, 4], false)]);
    target.receive(at(5), &gap(2, 9, &[]));
    target.receive(at(10_000), &heartbeat(1, 4, 3, false));
    assert_eq!(target.sent().last(), Some(&ack(2, &[2, 3, 4], false)), "it may be of somebody else");
    target.receive(at(1_000_004), &gap(2, 9, &[]));
    target.sent();
    target.receive(at(1_000_005), &heartbeat(1, 4, 4, false));
    assert!(target.sent().is_empty(), "nothing is missing of what is written");
    target.receive(at(1_000_006), &data(5));
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![1, 5], 0), "the rest may come");
}

#[test]
fn the_start_of_a_volatile_reader_is_not_undone_by_a_heartbeat() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), false);
    target.receive(at(1), &gap(1, 8, &[]));
    target.receive(at(2), &heartbeat(1, 5, 1, true));
    target.receive(at(3), &data(4));
    target.receive(at(4), &heartbeat(7, 8, 2, true));
    target.receive(at(5), &data(8));
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![8], 0));
}

#[test]
fn changes_removed_before_the_first_heartbeat_are_not_lost() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), true);
    assert!(!target.reader.historical_complete());
    let first = heartbeat_for(Some(target.reader.guid()), (100, 101), 1, true);
    target.receive(at(1), &first);
    assert_eq!(target.sent(), [ack(100, &[100, 101], false)]);
    target.receive(at(2), &data(100));
    target.receive(at(3), &heartbeat(102, 105, 2, true));
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![100], 1));
    assert!(target.reader.historical_complete());
}

#[test]
fn data_before_a_heartbeat_waits_unless_first_of_a_durable_stream() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), true);
    target.receive(at(1), &data(1));
    target.receive(at(2), &data(2));
    assert_eq!(target.sink.got, [1, 2]);
    assert!(target.out.is_empty());
    let mut volatile = Target::new(1, ReaderConfig::default());
    volatile.match_writer(at(0), false);
    volatile.receive(at(1), &data(1));
    assert_eq!((volatile.sink.got.len(), volatile.sent()), (0, vec![ack(1, &[], true)]));
    volatile.receive(at(2), &heartbeat(1, 1, 1, false));
    assert_eq!(volatile.sink.got, [1]);
    let mut late = Target::new(1, ReaderConfig::default());
    late.match_writer(at(0), false);
    late.receive(at(100), &data(7));
    assert_eq!((late.sink.got.len(), late.sent()), (0, vec![ack(1, &[], true)]));
    late.receive(at(200), &data(8));
    assert!(late.out.is_empty());
    late.receive(at(10_200), &data(9));
    assert_eq!(late.sent().len(), 1);
    late.receive(at(10_300), &gap(1, 8, &[]));
    // What the GAP covers was meant for others.
    assert_eq!((late.sink.got.clone(), late.sink.lost), (vec![8, 9], 0));
    late.receive(at(10_400), &data(12));
    late.receive(at(10_500), &gap(10, 12, &[]));
    assert_eq!(late.sink.got, [8, 9, 12]);
}

#[test]
fn rejected_samples_are_not_acknowledged() {
    let mut target = synced(ReaderConfig::default(), 1);
    target.sink.room = Some(1);
    for sn in 1..=3 {
        target.receive(at(2), &data(sn));
    }
    assert_eq!(target.sink.got, [1]);
    target.receive(at(3), &heartbeat(1, 3, 2, true));
    assert_eq!(target.sent(), [ack(2, &[], false)]);
    target.reader.retry_rejected(at(4), &mut target.sink, &mut target.out);
    assert!(target.out.is_empty() && target.reader.stats().rejected == 2);
    target.sink.room = Some(1);
    target.reader.retry_rejected(at(5), &mut target.sink, &mut target.out);
    assert_eq!((target.sink.got.clone(), target.sent()), (vec![1, 2], vec![ack(3, &[], false)]));
    // Even if the writer removes it meanwhile: it has arrived.
    target.receive(at(6), &heartbeat(4, 9, 3, false));
    assert_eq!(target.sent(), [ack(3, &[4, 5, 6, 7, 8, 9], false)]);
    target.receive(at(7), &heartbeat(9, 9, 4, false));
    target.sent();
    target.sink.room = None;
    target.reader.retry_rejected(at(8), &mut target.sink, &mut target.out);
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![1, 2, 3], 5));
    assert_eq!(target.sent(), [ack(9, &[9], false)]);
}

#[test]
fn best_effort_readers_jump_over_holes_and_count_them() {
    let mut target = best_effort();
    for sn in [5, 6, 8, 7, 8] {
        target.receive(at(1), &data(sn));
    }
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![5, 6, 8], 1));
    target.receive(at(2), &gap(10, 13, &[14]));
    target.receive(at(3), &data(16));
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![5, 6, 8, 16], 4));
    target.receive(at(4), &gap(17, 20, &[]));
    target.receive(at(5), &data(20));
    assert_eq!(target.sink.lost, 4);
    target.receive(at(6), &heartbeat(1, 50, 1, true));
    target.sink.room = Some(0);
    target.receive(at(7), &data(21));
    target.sink.room = None;
    target.receive(at(8), &data(22));
    assert_eq!(target.sink.got[4..], [20, 22]);
    assert_eq!((target.reader.stats().rejected, target.sink.lost), (1, 4));
    assert!(target.out.is_empty() && target.reader.next_deadline().is_none());
    assert!(target.reader.historical_complete());
}

#[test]
fn early_data_is_bounded_and_the_earliest_is_kept() {
    let cfg = ReaderConfig { max_out_of_order_samples: 3, ..Default::default() };
    let mut target = synced(cfg, 1);
    for sn in [9, 8, 7, 6, 5, 10] {
        target.receive(at(2), &data(sn));
    }
    assert_eq!(target.reader.stats().out_of_order_dropped, 1);
    target.receive(at(3), &heartbeat(1, 10, 2, false));
    assert_eq!(target.sent(), [ack(1, &[1, 2, 3, 4, 8, 9, 10], false)]);
    for sn in 1..=4 {
        target.receive(at(4), &data(sn));
    }
    assert_eq!(target.sink.got, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn fragments_make_a_sample_in_any_order() {
    let mut target = synced(ReaderConfig::default(), 1);
    for number in [3, 1, 1, 2] {
        assert!(target.sink.got.is_empty());
        target.receive(at(2), &frag(1, number, 2500));
    }
    assert_eq!((target.sink.got.clone(), &target.sink.payloads[0]), (vec![1], &Some(sample(2500))));
    assert!(target.sink.last.unwrap().3);
    let stats = target.reader.stats();
    assert_eq!((stats.fragments_received, stats.duplicate_fragments, stats.reassembled), (3, 1, 1));
    target.receive(at(3), &frag(1, 1, 2500));
    assert_eq!(target.reader.stats().duplicates, 1);
    target.receive(at(4), &frag(2, 1, 1500));
    target.receive(at(4), &frag(2, 2, 1600));
    assert_eq!(target.reader.stats().fragments_refused, 1);
    // The whole sample makes the parts superfluous.
    target.receive(at(5), &data(2));
    assert_eq!(target.sink.got, [1, 2]);
}

#[test]
fn the_reassembly_buffer_is_reused_and_copied_once() {
    let mut target = synced(ReaderConfig::default(), 1);
    (1..=3).for_each(|number| target.receive(at(2), &frag(1, number, 2500)));
    let address = target.sink.payloads[0].as_ref().unwrap().as_ptr();
    target.sink.payloads.clear();
    (1..=3).for_each(|number| target.receive(at(2), &frag(2, number, 2500)));
    assert_eq!(target.sink.payloads[0].as_ref().unwrap().as_ptr(), address);
    assert_eq!(target.sink.payloads[0], Some(sample(2500)));
}

#[test]
fn missing_fragments_are_requested_one_by_one() {
    let mut target = synced(ReaderConfig::default(), 1);
    for number in [1, 4] {
        target.receive(at(2), &frag(1, number, 5000));
    }
    target.receive(at(3), &heartbeat_frag(1, 4, 1));
    let expected = [ack(1, &[], false), vec![Seen::NackFrag { sn: 1, numbers: vec![2, 3] }]].concat();
    assert_eq!(target.sent(), [expected]);
    target.receive(at(4), &heartbeat_frag(1, 5, 1));
    assert!(target.out.is_empty());
    target.receive(at(2_000), &heartbeat(1, 2, 2, true));
    let expected = [ack(1, &[2], false), vec![Seen::NackFrag { sn: 1, numbers: vec![2, 3, 5] }]].concat();
    assert_eq!(target.sent(), [expected]);
    // A sample of which nothing has arrived is not known in fragments.
    target.receive(at(3_000), &heartbeat_frag(2, 5, 2));
    assert!(target.out.is_empty());
}

#[test]
fn a_writer_that_does_not_serve_fragments_is_asked_for_the_whole() {
    let mut target = synced(ReaderConfig::default(), 1);
    target.receive(at(2), &frag(1, 1, 5000));
    let mut asked = vec![];
    for i in 0..7u64 {
        target.receive(at(100_000 * (i + 1)), &heartbeat(1, 1, 2 + i as i32, true));
        target.timer(at(100_000 * (i + 1) + 99_000));
        let sent = target.sent().into_iter().next().unwrap();
        asked.push((sent[1] == Seen::Ack { base: 1, bits: vec![1], ask: false }, sent.len()));
    }
    assert_eq!(asked[..5], [(false, 3); 5]);
    assert_eq!(asked[5..], [(true, 2); 2]);
    target.receive(at(900_000), &frag(1, 2, 5000));
    target.receive(at(900_001), &heartbeat(1, 1, 20, true));
    target.timer(at(999_000));
    let sent = target.sent().pop().unwrap();
    assert_eq!(sent[2], Seen::NackFrag { sn: 1, numbers: vec![3, 4, 5] });
}

#[test]
fn partial_samples_are_bounded() {
    let cfg = ReaderConfig {
        max_partial_samples: 2,
        max_reassembly_bytes_per_writer: 20_000,
        ..Default::default()
    };
    let mut target = synced(cfg, 1);
    for sn in [5, 3, 9, 2] {
        target.receive(at(2), &frag(sn, 1, 3000));
    }
    // 9 found no room, 5 gave way to 2.
    assert_eq!(target.reader.stats().partials_evicted, 1);
    for sn in [3, 2, 5] {
        (2..=3).for_each(|number| target.receive(at(3), &frag(sn, number, 3000)));
    }
    target.receive(at(3), &gap(1, 2, &[]));
    assert_eq!(target.sink.got, [2, 3]);
    // Larger than ever accepted: given up and counted.
    target.receive(at(4), &frag(4, 1, 30_000));
    assert_eq!((target.sink.lost, target.reader.stats().oversized), (1, 1));
    target.receive(at(4), &frag(4, 2, 30_000));
    assert_eq!(target.sink.lost, 1);
    // Superseded.
    target.receive(at(5), &frag(6, 1, 3000));
    target.receive(at(6), &heartbeat(1, 20, 2, false));
    target.receive(at(6), &heartbeat(20, 20, 3, false));
    assert_eq!(target.reader.stats().partials_evicted, 3);
}

#[test]
fn best_effort_keeps_only_the_newest_partial_samples() {
    let mut target = best_effort();
    for sn in [1, 2, 3] {
        target.receive(at(2), &frag(sn, 1, 2000));
    }
    assert_eq!(target.reader.stats().partials_evicted, 1);
    target.receive(at(3), &frag(3, 2, 2000));
    target.receive(at(3), &frag(2, 2, 2000));
    assert_eq!(target.sink.got, [3]);
    assert_eq!(target.reader.stats().partials_evicted, 2);
}

#[test]
fn writers_share_the_reassembly_memory_and_stale_parts_give_way() {
    let cfg = ReaderConfig { max_reassembly_bytes: 4000, ..Default::default() };
    let mut target = synced(cfg, 1);
    let other = Guid::new(GuidPrefix([9; 12]), WRITER.entity_id);
    target.reader.match_writer(
        at(0),
        WriterProxyConfig { guid: other, reliable: true, durable: true, ..Default::default() },
        &mut target.out,
    );
    target.receive(at(2), &frag(1, 1, 3000));
    let from_other = |number| {
        let packet = frag(1, number, 3000);
        let mut bytes = packet.bytes.to_vec();
        bytes[8..20].copy_from_slice(&other.prefix.0);
        Packet { bytes: SharedBytes::from(bytes), ..packet }
    };
    target.receive(at(3), &from_other(1));
    assert_eq!(target.reader.stats().fragments_received, 1);
    (1..=3).for_each(|number| target.receive(at(2_000_000), &from_other(number)));
    assert_eq!((target.sink.got.clone(), target.reader.stats().partials_evicted), (vec![1], 1));
    assert!(target.reader.unmatch_writer(other) && !target.reader.unmatch_writer(other));
    assert_eq!(target.reader.matched_writers().len(), 1);
}

#[test]
fn inline_qos_and_time_reach_the_sink() {
    let mut target = synced(ReaderConfig::default(), 1);
    let mut inline = vec![];
    inline.extend([0x70, 0, 16, 0]);
    inline.extend([9; 16]);
    inline.extend([0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0]);
    let dispose = |sn| {
        packet(|message| {
            message.info_ts(Some(WallTime(5_000_000_000)));
            let payload = PayloadSpec::Key(sample(12));
            message.data(&DataSpec { inline_qos: &inline, payload, ..spec(sn, sample(0)) });
        })
    };
    target.receive(at(2), &dispose(2));
    target.receive(at(3), &data(1));
    assert_eq!(target.sink.kinds, [ChangeKind::Alive, ChangeKind::DisposedUnregistered]);
    assert_eq!(target.sink.last, Some((Some([9; 16]), Some(WallTime(5_000_000_000)), true, false)));
    assert_eq!(target.sink.payloads[1], Some(sample(12)));
}

#[test]
fn a_sample_directed_at_another_reader_counts_as_received() {
    let mut target = synced(ReaderConfig::default(), 1);
    let directed = |sn, guid: Guid| {
        let mut inline = vec![];
        inline.extend(pid::DIRECTED_WRITE.to_le_bytes());
        inline.extend([16, 0]);
        inline.extend(guid.to_bytes());
        inline.extend([1, 0, 0, 0]);
        packet(|message| {
            message.data(&DataSpec { inline_qos: &inline, ..spec(sn, sample(8)) });
        })
    };
    target.receive(at(2), &directed(1, reader_guid(2)));
    target.receive(at(2), &directed(2, reader_guid(1)));
    target.receive(at(3), &heartbeat(1, 2, 2, true));
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![2], 0));
    assert_eq!(target.sent(), [ack(3, &[], false)]);
    assert_eq!(target.reader.stats().directed_elsewhere, 1);
    // A DATA addressed to another reader of the participant is not looked at.
    let other = packet(|message| {
        message.data(&DataSpec { reader_id: reader_guid(2).entity_id, ..spec(3, sample(8)) });
    });
    target.receive(at(4), &other);
    assert_eq!(target.sink.got, [2]);
}

#[test]
fn unmatched_writers_are_counted_and_ignored() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.receive(at(0), &data(1));
    target.receive(at(0), &frag(1, 1, 2000));
    target.receive(at(0), &heartbeat(1, 1, 1, true));
    target.receive(at(0), &heartbeat_frag(1, 1, 1));
    target.receive(at(0), &gap(1, 2, &[]));
    assert_eq!(target.reader.stats().unmatched, 5);
    assert!(target.out.is_empty() && target.sink.got.is_empty());
}

#[test]
fn liveliness_heartbeats_are_reported_and_not_answered() {
    let mut target = synced(ReaderConfig::default(), 1);
    let alive = Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER.entity_id,
        first_sn: SequenceNumber(1),
        last_sn: SequenceNumber(4),
        count: 2,
        final_flag: true,
        liveliness_flag: true,
        group: None,
    };
    let Target { reader, sink, out } = &mut target;
    assert!(reader.on_heartbeat(at(2), WRITER.prefix.into(), &alive, sink, out));
    assert!(!reader.on_heartbeat(at(3), WRITER.prefix.into(), &alive, sink, out));
    assert!(!reader.on_heartbeat(at(3), GuidPrefix([3; 12]).into(), &alive, sink, out));
    assert!(out.is_empty());
    let mut best_effort = best_effort();
    let Target { reader, sink, out } = &mut best_effort;
    assert!(reader.on_heartbeat(at(2), WRITER.prefix.into(), &alive, sink, out));
    assert!(out.is_empty());
}

#[test]
fn a_writer_and_a_reader_settle_with_few_messages() {
    let mut source = Source::new(WriterConfig { transient_local: true, ..Default::default() });
    let mut target = Target::new(1, ReaderConfig::default());
    for i in 0..3 {
        source.write(at(i), 100);
    }
    target.match_writer(at(10), true);
    source.match_reader(at(10), crate::ReaderProxyConfig { durable: true, ..reader_proxy(1) });
    let mut messages = 0;
    let mut now = at(11);
    while !(source.out.is_empty() && target.out.is_empty()) {
        for packet in drain(&mut source.out) {
            messages += 1;
            target.receive(now, &packet);
        }
        for packet in drain(&mut target.out) {
            messages += 1;
            source.receive(now, &packet);
        }
        now.mono = MonoTime(now.mono.0 + 50_000);
    }
    // HEARTBEAT, ACKNACK, DATA, HEARTBEAT, ACKNACK.
    assert_eq!((target.sink.got.clone(), messages), (vec![1, 2, 3], 5));
    assert!(target.reader.historical_complete());
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(3));
}

#[test]
fn a_reader_matched_before_the_first_write_counts_all_that_is_gone() {
    for written in [0, 3] {
        let (mut source, mut target) =
            (Source::new(WriterConfig::default()), Target::new(0, ReaderConfig::default()));
        for _ in 0..written {
            source.write(at(0), 10);
        }
        source.match_reader(at(10), reader_proxy(0));
        target.match_writer(at(10), false);
        drain(&mut source.out).iter().for_each(|packet| target.receive(at(20), packet));
        drain(&mut target.out);
        for _ in 0..20 {
            source.write(at(1_000), 10);
        }
        (1..=15).for_each(|sn| source.history.remove(sn));
        drain(&mut source.out);
        for later in [0, 1_000_000] {
            source.timer(at(1_000_000 + later));
            drain(&mut source.out).iter().for_each(|packet| target.receive(at(1_000_100 + later), packet));
        }
        assert_eq!(target.sink.lost, 15 - written, "{written} were not for it");
    }
}
