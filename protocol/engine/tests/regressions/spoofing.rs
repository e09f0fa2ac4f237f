//! Numbers and counts in somebody else's name: Cyclone DDS#1854, OpenDDS#4302, Fast DDS#3931. Without DDS Security a
//! forger that knows the names can do harm; the stream comes back.

use dunlin_core::{Duration, EntityId, SequenceNumber, SequenceNumberSet};
use dunlin_wire::{AckNack, DataSpec, Gap, Heartbeat, PayloadSpec};

use crate::target::{HUGE, Target};

impl Target {
    fn heartbeat(&self, first: i64, last: i64, count: i32) -> Vec<u8> {
        self.forge(|message| {
            message.heartbeat(&Heartbeat {
                reader_id: EntityId::UNKNOWN,
                writer_id: self.peer_writer.guid().entity_id,
                first_sn: SequenceNumber(first),
                last_sn: SequenceNumber(last),
                count,
                final_flag: false,
                liveliness_flag: false,
                group: None,
            });
        })
    }

    /// The peer goes on writing; in the end it is heard again.
    pub fn recovers(&mut self) {
        let writer = std::sync::Arc::clone(&self.peer_writer);
        for _ in 0..5 {
            self.net.write(1, &writer, 3, b"on").expect("no limits");
            self.net.run(Duration::from_secs(1));
        }
        self.still_talks();
    }
}

#[test]
fn a_heartbeat_that_skips_everything_is_told_and_taken_back() {
    let mut target = Target::new();
    let bytes = target.heartbeat(HUGE, HUGE, 500);
    target.attack(&bytes).is_small();
    assert!(target.reader.stats().lost > 1 << 61, "the application is told");
    target.recovers();
}

#[test]
fn a_gap_over_everything_is_taken_back() {
    let mut target = Target::new();
    let bytes = target.forge(|message| {
        message.gap(&Gap {
            reader_id: EntityId::UNKNOWN,
            writer_id: target.peer_writer.guid().entity_id,
            gap_start: target.next_sn(),
            gap_list: SequenceNumberSet::empty(SequenceNumber(HUGE)),
            group: None,
            filtered_count: None,
        });
    });
    target.attack(&bytes).is_small();
    target.recovers();
}

#[test]
fn a_change_with_a_number_out_of_reach_does_not_end_the_stream() {
    let mut target = Target::new();
    let bytes = target.heartbeat(HUGE, HUGE, 500);
    target.attack(&bytes).is_small();
    let writer_id = target.peer_writer.guid().entity_id;
    let bytes = target.forge(|message| {
        message.data(&DataSpec {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            writer_sn: SequenceNumber(HUGE),
            inline_qos: &[],
            payload: PayloadSpec::Data(vec![0, 1, 0, 0, 1, 0, 0, 0].into()),
        });
    });
    target.attack(&bytes).is_small();
    target.recovers();
}

#[test]
fn counts_from_the_future_silence_nobody() {
    let mut target = Target::new();
    let sn = target.next_sn().previous().0;
    for count in [i32::MIN, -5, i32::MAX / 2, i32::MAX] {
        let bytes = target.heartbeat(1, sn, count);
        target.attack(&bytes).is_small();
    }
    target.net.loss = 1_000;
    let writer = std::sync::Arc::clone(&target.peer_writer);
    target.net.write(1, &writer, 3, b"needs a repair").expect("no limits");
    target.net.loss = 0;
    target.net.run(Duration::from_secs(2));
    let reader = std::sync::Arc::clone(&target.reader);
    assert_eq!(target.net.take(0, &reader).len(), 1, "the writer's own HEARTBEATs count");
    target.recovers();
}

#[test]
fn an_acknowledgment_of_everything_does_not_break_the_writer() {
    let mut target = Target::new();
    for (n, base) in [HUGE, i64::MAX, 1].into_iter().enumerate() {
        let acknack = AckNack {
            reader_id: target.peer_reader.guid().entity_id,
            writer_id: target.writer.guid().entity_id,
            reader_sn_state: SequenceNumberSet::empty(SequenceNumber(base)),
            count: 500 + n as i32,
            final_flag: true,
        };
        let bytes = target.forge(|message| {
            message.acknack(&acknack);
        });
        target.attack(&bytes).is_small();
    }
    assert_eq!(target.writer.acked_by_all(), target.writer.last_sn());
    target.still_talks();
}
