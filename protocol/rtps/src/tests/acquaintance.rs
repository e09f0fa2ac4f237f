//! Whether a writer knows a reader, as far as the reader can tell: it has spoken to that reader alone.

use super::support::*;
use crate::ReaderConfig;
use dunlin_buf::Outbox;
use dunlin_core::{EntityId, SequenceNumber, SequenceNumberSet};
use dunlin_wire::{Gap, Heartbeat, MessageBuilder};

fn packet(build: impl FnOnce(&mut MessageBuilder<'_>)) -> Packet {
    let mut out = Outbox::new();
    let mut message = MessageBuilder::new(&mut out, WRITER.prefix);
    build(&mut message);
    message.finish(&[GROUP]);
    drain(&mut out).remove(0)
}

fn heartbeat(reader_id: EntityId, count: i32) -> Packet {
    packet(|message| {
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
fn what_is_for_all_shows_nothing_and_the_reader_asks_on() {
    let mut target = target();
    target.receive(at(1), &heartbeat(EntityId::UNKNOWN, 1));
    assert_eq!(target.reader.is_known_to(WRITER), Some(false));
    target.sent();
    assert_eq!(asked(&mut target, 1, 5_000), 0, "it has heard the writer");
    let mut out = Outbox::new();
    target.reader.insist(at(5_001_000), WRITER, &mut out);
    assert!(asked(&mut target, 5_002, 3_000) >= 3);
    target.receive(at(8_100_000), &heartbeat(EntityId::UNKNOWN, 2));
    assert!(asked(&mut target, 8_101, 3_000) >= 2, "still unknown to it");
    assert!(!target.reader.take_acquaintance());
    target.receive(at(11_200_000), &heartbeat(target.reader.guid().entity_id, 3));
    assert_eq!(target.reader.is_known_to(WRITER), Some(true));
    assert!(target.reader.take_acquaintance() && !target.reader.take_acquaintance());
    target.sent();
    assert_eq!(asked(&mut target, 11_201, 3_000), 0);
}

#[test]
fn a_gap_for_the_reader_shows_it_too() {
    let mut target = target();
    let reader_id = target.reader.guid().entity_id;
    target.receive(
        at(1),
        &packet(|message| {
            message.gap(&Gap {
                reader_id,
                writer_id: WRITER.entity_id,
                gap_start: SequenceNumber(1),
                gap_list: SequenceNumberSet::empty(SequenceNumber(5)),
                group: None,
                filtered_count: None,
            });
        }),
    );
    assert_eq!(target.reader.is_known_to(WRITER), Some(true));
    assert_eq!(target.reader.is_known_to(reader_guid(9)), None);
}
