//! Ranges up to 2^63: CVE-2025-64438 (Fast DDS: a GAP makes it allocate 64 GB), the fragment counts of CVE-2026-22590.
//! Ranges stay intervals, and nobody enumerates them.

use dunlin_core::{Duration, EntityId, FragmentNumberSet, SequenceNumber, SequenceNumberSet};
use dunlin_wire::{AckNack, Gap, Heartbeat, HeartbeatFrag, NackFrag};

use crate::target::{HUGE, Target};

const EDGES: [i64; 7] = [i64::MIN, -1, 0, 1, HUGE, i64::MAX - 1, i64::MAX];

fn set(base: i64) -> SequenceNumberSet {
    SequenceNumberSet::from_parts(SequenceNumber(base), 256, &[u32::MAX; 8])
        .unwrap_or_else(|| SequenceNumberSet::empty(SequenceNumber(base)))
}

#[test]
fn gaps_of_any_size_cost_the_same() {
    let mut target = Target::new();
    for start in [0, target.next_sn().0, HUGE, i64::MAX - 1, i64::MAX] {
        // A GAP within reach is believed, and what it names is lost.
        for base in EDGES.into_iter().filter(|base| *base != 1) {
            let bytes = target.forge(|message| {
                message.gap(&Gap {
                    reader_id: EntityId::UNKNOWN,
                    writer_id: target.peer_writer.guid().entity_id,
                    gap_start: SequenceNumber(start),
                    gap_list: set(base),
                    group: None,
                    filtered_count: Some(i64::MAX),
                });
            });
            target.attack(&bytes).is_small();
        }
    }
    target.still_talks();
}

#[test]
fn heartbeats_of_any_size_are_answered_with_256_bits() {
    let mut target = Target::new();
    let mut count = 1_000;
    for first in EDGES {
        for last in EDGES {
            count += 1;
            let bytes = target.forge(|message| {
                message.heartbeat(&Heartbeat {
                    reader_id: EntityId::UNKNOWN,
                    writer_id: target.peer_writer.guid().entity_id,
                    first_sn: SequenceNumber(first),
                    last_sn: SequenceNumber(last),
                    count,
                    final_flag: false,
                    liveliness_flag: false,
                    group: None,
                });
            });
            target.attack(&bytes).is_small();
        }
    }
    assert!(target.reader.stats().out_of_order_octets == 0);
    target.recovers();
}

#[test]
fn requests_of_any_size_are_answered_with_what_there_is() {
    let mut target = Target::new();
    for (n, base) in EDGES.into_iter().enumerate() {
        let acknack = AckNack {
            reader_id: target.peer_reader.guid().entity_id,
            writer_id: target.writer.guid().entity_id,
            reader_sn_state: set(base),
            count: 1_000 + n as i32,
            final_flag: false,
        };
        let bytes = target.forge(|message| {
            message.acknack(&acknack);
        });
        target.attack(&bytes).is_small();
    }
    assert!(target.writer.acked_by_all() <= target.writer.last_sn());
    target.still_talks();

    // What is there is sent to whoever asks for it. The reader itself does not count so far for seconds.
    let repaired = target.writer.stats().repairs_sent;
    target.net.loss = 1_000;
    let writer = std::sync::Arc::clone(&target.writer);
    target.net.write(0, &writer, 7, b"is asked for").expect("no limits");
    target.net.loss = 0;
    let mut missing = SequenceNumberSet::empty(writer.last_sn());
    missing.insert(writer.last_sn());
    let acknack = AckNack {
        reader_id: target.peer_reader.guid().entity_id,
        writer_id: writer.guid().entity_id,
        reader_sn_state: missing,
        count: 2_000,
        final_flag: false,
    };
    let bytes = target.forge(|message| {
        message.acknack(&acknack);
    });
    target.attack(&bytes);
    target.net.run(Duration::from_millis(100));
    assert!(writer.stats().repairs_sent > repaired);
}

#[test]
fn fragments_that_do_not_exist_are_not_sent() {
    let mut target = Target::new();
    target.net.loss = 1_000;
    let (writer, body) = (std::sync::Arc::clone(&target.writer), vec![7; 20_000]);
    target.net.write(0, &writer, 1, &body).expect("no limits");
    target.net.loss = 0;
    let sent = writer.last_sn();
    for (n, (sn, first)) in [(sent.0, 0), (sent.0, 16), (sent.0, u32::MAX - 256), (HUGE, 1), (0, 1), (-1, 1)]
        .into_iter()
        .enumerate()
    {
        let set = FragmentNumberSet::from_parts(first, 256, &[u32::MAX; 8])
            .unwrap_or_else(|| FragmentNumberSet::empty(first));
        let nack = NackFrag {
            reader_id: target.peer_reader.guid().entity_id,
            writer_id: writer.guid().entity_id,
            writer_sn: SequenceNumber(sn),
            fragment_number_state: set,
            count: 1_000 + n as i32,
        };
        let bytes = target.forge(|message| {
            message.nack_frag(&nack);
        });
        // At most it is told what there is.
        let answer = target.attack(&bytes);
        assert!(answer.octets <= 100 && answer.memory <= 4 * 1024, "{sn} from {first}: {answer:?}");
    }
    target.still_talks();
}

#[test]
fn announced_fragments_of_nothing_are_not_remembered() {
    let mut target = Target::new();
    for (n, sn) in EDGES.into_iter().enumerate() {
        let bytes = target.forge(|message| {
            message.heartbeat_frag(&HeartbeatFrag {
                reader_id: EntityId::UNKNOWN,
                writer_id: target.peer_writer.guid().entity_id,
                writer_sn: SequenceNumber(sn),
                last_fragment_num: u32::MAX,
                count: n as i32,
            });
        });
        target.attack(&bytes).is_nothing();
    }
    target.still_talks();
}
