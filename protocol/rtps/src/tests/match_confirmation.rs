//! Whether a writer knows a reader, as far as the reader can tell: it has spoken to that reader alone.

use alloc::vec::Vec;

use dunlin_buf::Outbox;
use dunlin_core::{EntityId, GuidPrefix, SequenceNumber, SequenceNumberSet, VendorId};
use dunlin_wire::{Gap, Heartbeat, MessageBuilder};

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

fn heartbeat(to: Option<GuidPrefix>, reader_id: EntityId, count: i32) -> Packet {
    packet(to, |message| {
        message.heartbeat(&Heartbeat {
            reader_id,
            writer_id: WRITER.entity_id,
            first_sn: SequenceNumber(1),
            last_sn: SequenceNumber(0),
            count,
            final_flag: true,
            liveliness_flag: false,
            group: None,
        });
    })
}

/// Says that nothing below `base` will come.
fn gap(to: Option<GuidPrefix>, reader_id: EntityId, base: i64) -> Packet {
    packet(to, |message| {
        message.gap(&Gap {
            reader_id,
            writer_id: WRITER.entity_id,
            gap_start: SequenceNumber(1),
            gap_list: SequenceNumberSet::empty(SequenceNumber(base)),
            group: None,
            filtered_count: None,
        });
    })
}

fn target() -> Target {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), false);
    target
}

/// How many ACKNACKs leave in so many milliseconds from `from` on.
fn asked(target: &mut Target, from: u64, millis: u64) -> usize {
    (from..from + millis)
        .map(|milli| {
            target.timer(at(milli * 1000));
            target.sent().len()
        })
        .sum()
}

#[test]
fn a_heartbeat_for_all_readers_shows_no_match_and_the_reader_asks_on() {
    let mut target = target();
    target.receive(at(1), &heartbeat(None, EntityId::UNKNOWN, 1));
    assert_eq!(target.reader.is_known_to(WRITER), Some(false));
    target.sent();
    assert_eq!(asked(&mut target, 1, 5_000), 0, "it has heard the writer");
    let mut out = Outbox::new();
    target.reader.insist(at(5_001_000), WRITER, &mut out);
    assert!(asked(&mut target, 5_002, 3_000) >= 3);
    target.receive(at(8_100_000), &heartbeat(None, EntityId::UNKNOWN, 2));
    assert!(asked(&mut target, 8_101, 3_000) >= 2, "still unknown to it");
    assert!(!target.reader.take_newly_acknowledged_match());
    let to = Some(target.reader.guid().prefix);
    target.receive(at(11_200_000), &heartbeat(to, target.reader.guid().entity_id, 3));
    assert_eq!(target.reader.is_known_to(WRITER), Some(true));
    assert!(target.reader.take_newly_acknowledged_match() && !target.reader.take_newly_acknowledged_match());
    target.sent();
    assert_eq!(asked(&mut target, 11_201, 3_000), 0);
}

#[test]
fn a_gap_for_the_reader_shows_it_too() {
    let mut target = target();
    let (reader_id, to) = (target.reader.guid().entity_id, Some(target.reader.guid().prefix));
    target.receive(at(1), &gap(to, reader_id, 5));
    assert_eq!(target.reader.is_known_to(WRITER), Some(true));
    assert_eq!(target.reader.is_known_to(reader_guid(9)), None);
}

/// Without INFO_DST it is for the readers of that entity id in any participant, and this may be another one.
#[test]
fn an_entity_id_alone_shows_nothing() {
    let mut target = target();
    let own = target.reader.guid();
    for (count, to) in [None, Some(GuidPrefix::UNKNOWN), Some(GuidPrefix([9; 12]))].into_iter().enumerate() {
        target.receive(at(1 + count as u64), &heartbeat(to, own.entity_id, 1 + count as i32));
        assert_eq!(target.reader.is_known_to(WRITER), Some(false), "{to:?}");
    }
    target.receive(at(5), &heartbeat(Some(own.prefix), own.entity_id, 7));
    assert_eq!(target.reader.is_known_to(WRITER), Some(true));
}

/// A reader that has just matched a reliable writer of a vendor.
fn met(vendor: VendorId) -> Target {
    let mut target = Target::new(1, ReaderConfig::default());
    let writer = WriterProxyConfig {
        guid: WRITER,
        reliable: true,
        unicast: [GROUP].into(),
        vendor,
        ..Default::default()
    };
    target.reader.match_writer(at(0), writer, &mut target.out);
    target
}

/// Of the ACKNACK behind the header and an INFO_DST, as it is on the wire: a receiver takes base 0 for 1.
fn base_and_ask(message: &[u8]) -> (i64, bool) {
    assert_eq!((message[36], message[37] & 1), (0x06, 1), "ACKNACK, little-endian");
    let base = u32::from_le_bytes(message[52..56].try_into().unwrap());
    (i64::from(base), message[37] & 2 == 0)
}

/// The base of each ACKNACK that leaves within seconds of an insistence, and whether it asks for an answer.
fn insists(vendor: VendorId, before: impl FnOnce(&mut Target)) -> Vec<(i64, bool)> {
    let mut target = met(vendor);
    before(&mut target);
    target.sent();
    target.reader.insist(at(1_000_000), WRITER, &mut target.out);
    for milli in 1_000..3_000 {
        target.timer(at(milli * 1000));
    }
    drain(&mut target.out).iter().map(|packet| base_and_ask(&packet.bytes)).collect()
}

/// Fast DDS answers an ACKNACK of a reader that misses nothing only if its base is 0.
#[test]
fn fast_dds_is_asked_as_if_by_a_new_reader() {
    let all =
        |asked: &[(i64, bool)], base: i64| asked.len() >= 2 && asked.iter().all(|ack| *ack == (base, true));
    let unheard = insists(VendorId::FAST_DDS, |_| ());
    assert!(all(&unheard, 0), "{unheard:?}");
    let heard = |target: &mut Target| target.receive(at(1), &heartbeat(None, EntityId::UNKNOWN, 1));
    let asked = insists(VendorId::FAST_DDS, heard);
    assert!(all(&asked, 0), "{asked:?}");
    let others = insists(VendorId::DUNLIN, heard);
    assert!(all(&others, 1), "{others:?}");
    // What was received stays acknowledged.
    let received = insists(VendorId::FAST_DDS, |target| {
        heard(target);
        target.receive(at(2), &gap(None, EntityId::UNKNOWN, 2));
    });
    assert!(all(&received, 2), "{received:?}");
}

/// Its first HEARTBEAT may come before the reader has heard of the writer: asked with base 1, Fast DDS is silent for 3 s.
#[test]
fn fast_dds_that_was_not_heard_is_asked_as_by_a_new_reader() {
    let asked = |vendor| {
        let mut target = met(vendor);
        (0..1_000).for_each(|milli| target.timer(at(milli * 1000)));
        let unheard: Vec<_> =
            drain(&mut target.out).iter().map(|packet| base_and_ask(&packet.bytes)).collect();
        let own = target.reader.guid();
        target.receive(at(1_000_001), &heartbeat(Some(own.prefix), own.entity_id, 1));
        target.reader.ask(at(1_000_002), WRITER);
        (1_000..3_000).for_each(|milli| target.timer(at(milli * 1000)));
        let heard: Vec<_> =
            drain(&mut target.out).iter().map(|packet| base_and_ask(&packet.bytes).0).collect();
        (unheard, heard)
    };
    let (unheard, heard) = asked(VendorId::FAST_DDS);
    assert!(unheard.len() >= 2 && unheard.iter().all(|ack| *ack == (0, true)), "{unheard:?}");
    assert!(!heard.is_empty() && !heard.contains(&0), "once heard, what it has is acknowledged: {heard:?}");
    let (unheard, _) = asked(VendorId::DUNLIN);
    assert!(unheard.len() >= 2 && unheard.iter().all(|ack| *ack == (1, true)), "{unheard:?}");
}
