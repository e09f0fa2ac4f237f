//! RTPS 2.5 §8.4.12: what a writer says to others, before it knows a reader or while nothing else arrives there.

use dunlin_buf::Outbox;
use dunlin_core::{EntityId, GuidPrefix, SequenceNumber, VendorId};
use dunlin_wire::{DataFragSpec, DataSpec, Heartbeat, MessageBuilder, PayloadSpec};

use super::support::*;
use crate::{ReaderConfig, WriterProxyConfig};

fn packet(to: Option<GuidPrefix>, build: impl FnOnce(&mut MessageBuilder<'_>)) -> Packet {
    let mut out = Outbox::new();
    let mut message = MessageBuilder::new(&mut out, WRITER.prefix);
    if let Some(prefix) = to {
        message.info_dst(prefix);
    }
    build(&mut message);
    message.finish(&[GROUP]);
    drain(&mut out).remove(0)
}

fn data(sn: i64) -> Packet {
    data_for(None, EntityId::UNKNOWN, sn)
}

fn data_for(to: Option<GuidPrefix>, reader_id: EntityId, sn: i64) -> Packet {
    packet(to, |message| {
        message.data(&DataSpec {
            reader_id,
            writer_id: WRITER.entity_id,
            writer_sn: SequenceNumber(sn),
            inline_qos: &[],
            payload: PayloadSpec::Data(sample(10)),
        });
    })
}

fn in_one_fragment(sn: i64) -> Packet {
    in_one_fragment_for(None, EntityId::UNKNOWN, sn)
}

fn in_one_fragment_for(to: Option<GuidPrefix>, reader_id: EntityId, sn: i64) -> Packet {
    packet(to, |message| {
        message.data_frag(&DataFragSpec {
            reader_id,
            writer_id: WRITER.entity_id,
            writer_sn: SequenceNumber(sn),
            fragment_starting_num: 1,
            fragments_in_submessage: 1,
            fragment_size: 1_000,
            sample_size: 1_000,
            inline_qos: &[],
            key_flag: false,
            payload: sample(1_000),
        });
    })
}

/// For all readers, or for that of a target alone.
fn heartbeat(to: Option<&Target>, first: i64, last: i64, count: i32) -> Packet {
    let own = to.map(|target| target.reader.guid());
    packet(own.map(|guid| guid.prefix), |message| {
        message.heartbeat(&Heartbeat {
            reader_id: own.map_or(EntityId::UNKNOWN, |guid| guid.entity_id),
            writer_id: WRITER.entity_id,
            first_sn: SequenceNumber(first),
            last_sn: SequenceNumber(last),
            count,
            final_flag: true,
            liveliness_flag: false,
            group: None,
        });
    })
}

fn matched(durable: bool) -> Target {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), durable);
    target
}

/// Data of a group arrives and nothing else, for so long that the writer gives the reader up. What it has got it shows, and so
/// it tells of what lies between and behind that.
#[test]
fn a_volatile_reader_counts_losses_after_its_first_change() {
    let mut target = matched(false);
    [10, 11, 14].into_iter().for_each(|sn| target.receive(at(1), &data(sn)));
    assert!(target.sink.got.is_empty(), "nobody has said yet where it starts");
    let first = heartbeat(Some(&target), 18, 17, 1);
    target.receive(at(2), &first);
    assert_eq!((&target.sink.got[..], target.sink.lost), (&[10, 11, 14][..], 2 + 3));
    // One that has got nothing begins with what is left.
    let mut target = matched(false);
    let first = heartbeat(Some(&target), 18, 17, 1);
    target.receive(at(2), &first);
    assert_eq!(target.sink.lost, 0);
}

/// The reader has discovered the writer, and the writer, which others listen to, not yet the reader. An instance that ends
/// meanwhile leaves the history that the reader is given.
#[test]
fn an_overheard_heartbeat_makes_an_unknown_durable_reader_count_no_loss() {
    let mut target = matched(true);
    target.receive(at(1), &heartbeat(None, 1, 3, 1));
    [4, 5].into_iter().for_each(|sn| target.receive(at(2), &data(sn)));
    target.receive(at(3), &heartbeat(None, 2, 5, 2));
    let history = heartbeat(Some(&target), 4, 5, 3);
    target.receive(at(4), &history);
    assert_eq!((&target.sink.got[..], target.sink.lost), (&[4, 5][..], 0));
    for (millis, count) in [(5, 4), (15, 5)] {
        let later = heartbeat(Some(&target), 8, 8, count);
        target.receive(at(1_000 * millis), &later);
    }
    assert_eq!(target.sink.lost, 2, "it is known by now");
}

/// The same where the reader presents what it has overheard, behind a history that is gone. A writer of another vendor may direct
/// nothing to one reader.
#[test]
fn an_overheard_change_makes_an_unknown_durable_reader_count_no_loss() {
    for (vendor, overheard, lost) in [(VendorId::DUNLIN, 0, 2), (VendorId::UNKNOWN, 3, 5)] {
        let mut target = Target::new(1, ReaderConfig::default());
        let cfg =
            WriterProxyConfig { guid: WRITER, reliable: true, durable: true, vendor, ..Default::default() };
        target.reader.match_writer(at(0), cfg, &mut target.out);
        [4, 5].into_iter().for_each(|sn| target.receive(at(1), &data(sn)));
        target.receive(at(2), &heartbeat(None, 4, 8, 1));
        assert_eq!(target.sink.got, [4, 5], "{vendor:?}");
        target.receive(at(3), &heartbeat(None, 9, 11, 2));
        assert_eq!(target.sink.lost, overheard, "{vendor:?}: 6 to 8 are gone");
        for (first, count) in [(9, 3), (11, 4)] {
            let own = heartbeat(Some(&target), first, 11, count);
            target.receive(at(4), &own);
        }
        assert_eq!(target.sink.lost, lost, "{vendor:?}: 9 and 10 were in the history that it was given");
    }
}

/// They part before the writer has discovered the reader, which goes on where it was only if it was given something.
#[test]
fn an_overheard_heartbeat_makes_a_rematched_durable_reader_count_no_loss() {
    for (given, lost) in [(false, 0), (true, 5)] {
        let mut target = Target::new(1, ReaderConfig::default());
        target.match_writer_of(at(0), life(1), true);
        let before = heartbeat(given.then_some(&target), 1, 3, 1);
        target.receive(at(1), &before);
        assert!(target.reader.lose_writer(WRITER, life(1)));
        target.match_writer_of(at(2), life(1), true);
        let history = heartbeat(Some(&target), 6, 7, 2);
        target.receive(at(3), &history);
        assert_eq!(target.sink.lost, lost, "given: {given}");
    }
}

/// What was in the history when the writer met the reader is lost if it goes before it has arrived.
#[test]
fn announced_history_that_is_removed_is_lost_to_a_durable_reader() {
    let mut target = matched(true);
    for (first, last, count) in [(4, 6, 1), (6, 6, 2)] {
        let history = heartbeat(Some(&target), first, last, count);
        target.receive(at(1), &history);
    }
    assert_eq!(target.sink.lost, 2);
}

/// Two readers here lack an old change in fragments, which is sent again and names nobody. A third one has just come.
#[test]
fn overheard_fragments_are_not_new_to_an_unmatched_volatile_reader() {
    for (vendor, own, got) in [
        (VendorId::DUNLIN, false, &[][..]),
        (VendorId::DUNLIN, true, &[3]),
        // Who names nobody and directs nothing may mean this reader.
        (VendorId::UNKNOWN, false, &[3]),
    ] {
        let mut target = Target::new(1, ReaderConfig::default());
        let cfg = WriterProxyConfig { guid: WRITER, reliable: true, vendor, ..Default::default() };
        target.reader.match_writer(at(0), cfg, &mut target.out);
        let overheard = heartbeat(own.then_some(&target), 3, 3, 1);
        target.receive(at(1), &overheard);
        target.receive(at(2), &in_one_fragment(3));
        assert_eq!(target.sink.got, got, "{vendor:?}, which has met the reader: {own}");
    }
}

/// A daemon passes on to all of its programs what names no participant, and readers in two of them have the same entity id.
#[test]
fn repair_for_a_reader_of_equal_entity_id_is_not_new_to_an_unmatched_one() {
    type Form = fn(Option<GuidPrefix>, EntityId, i64) -> Packet;
    let forms: [Form; 2] = [data_for, in_one_fragment_for];
    for (again, shares_place) in forms.into_iter().flat_map(|form| [(form, true), (form, false)]) {
        let mut target = Target::new(1, ReaderConfig { shares_place, ..Default::default() });
        let vendor = VendorId::DUNLIN;
        let unicast = [host(WRITER.prefix)].into();
        let cfg = WriterProxyConfig { guid: WRITER, reliable: true, vendor, unicast, ..Default::default() };
        target.reader.match_writer(at(0), cfg, &mut target.out);
        let own = target.reader.guid();
        target.receive(at(1), &heartbeat(None, 3, 5, 1));
        target.sent();
        target.receive(at(2), &again(None, own.entity_id, 3));
        if !shares_place {
            assert_eq!(target.sink.got, [3], "it can be for nobody else");
            continue;
        }
        assert_eq!(target.sink.got, [], "it may be for the other one");
        target.timer(at(50_000));
        let asks = |seen: &Seen| matches!(seen, Seen::Ack { ask: true, .. });
        assert!(target.sent().iter().flatten().any(asks), "the writer is to show whom it means");
        target.receive(at(60_000), &again(Some(own.prefix), own.entity_id, 3));
        assert_eq!(target.sink.got, [3]);
        let announced = heartbeat(Some(&target), 3, 5, 2);
        target.receive(at(61_000), &announced);
        target.receive(at(62_000), &again(None, own.entity_id, 4));
        assert_eq!(target.sink.got, [3, 4], "the writer has met this one");
    }
}

/// It has overheard a change of one datagram, and then passes over some in fragments.
#[test]
fn an_unmatched_volatile_reader_loses_nothing_it_passes_over() {
    let mut target = Target::new(1, ReaderConfig::default());
    let vendor = VendorId::DUNLIN;
    let cfg = WriterProxyConfig { guid: WRITER, reliable: true, vendor, ..Default::default() };
    target.reader.match_writer(at(0), cfg, &mut target.out);
    target.receive(at(1), &heartbeat(None, 1, 2, 1));
    target.receive(at(2), &data(3));
    for sn in 4..=6 {
        target.receive(at(3), &in_one_fragment(sn));
    }
    target.receive(at(4), &heartbeat(None, 6, 6, 2));
    target.receive(at(5), &heartbeat(None, 7, 6, 3));
    assert_eq!((target.sink.got.as_slice(), target.sink.lost), (&[][..], 0));
    target.receive(at(6), &data(7));
    target.receive(at(6), &data(8));
    assert_eq!((target.sink.got.as_slice(), target.sink.lost), (&[7, 8][..], 0));
}
