//! Numbers and counts in somebody else's name: Cyclone DDS#1854, OpenDDS#4302, Fast DDS#3931. Without DDS Security a
//! forger that knows the names can do harm; the stream comes back.

use std::sync::Arc;

use dunlin_core::{Duration, EntityId, Guid, SequenceNumber, SequenceNumberSet, StatusInfo, WallTime};
use dunlin_engine::Event;
use dunlin_qos::DataWriterQos;
use dunlin_wire::{AckNack, DataSpec, Gap, Heartbeat, PayloadSpec};

use crate::announcements::endpoint;
use crate::common::unpack;
use crate::target::{HUGE, Target};

impl Target {
    /// The goodbye of the peer without the secret that it would have.
    pub fn forged_goodbye(&self) -> Vec<u8> {
        let status = StatusInfo(StatusInfo::DISPOSED | StatusInfo::UNREGISTERED);
        let gone = Guid::new(self.peer(), EntityId::PARTICIPANT).to_bytes();
        self.forge(|message| {
            message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id: EntityId::SPDP_WRITER,
                writer_sn: SequenceNumber(HUGE),
                inline_qos: &dunlin_wire::inline_qos_for_status(status, Some(&gone)),
                payload: PayloadSpec::None,
            });
        })
    }

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

/// The writer is asked, and has everything.
#[test]
fn a_heartbeat_that_skips_everything_is_asked_about() {
    let mut target = Target::new();
    let (writer, reader) = (Arc::clone(&target.peer_writer), Arc::clone(&target.reader));
    for round in 0..200_i64 {
        let bytes = target.heartbeat(HUGE + round, HUGE + round, 500 + round as i32);
        target.attack(&bytes).is_small();
        if round % 10 == 0 {
            target.net.write(1, &writer, 3, b"goes on").expect("no limits");
        }
        target.net.run(Duration::from_millis(20));
    }
    assert_eq!((target.net.take(0, &reader).len(), target.reader.stats().lost), (20, 0));
    target.still_talks();
}

/// One such datagram took the peer away, with its endpoints, until it announced itself again.
#[test]
fn a_forged_goodbye_from_the_address_and_port_of_a_peer_pauses_nothing() {
    let mut target = Target::new();
    let (writer, reader) = (Arc::clone(&target.peer_writer), Arc::clone(&target.reader));
    let bytes = target.forged_goodbye();
    for round in 0..200 {
        if round % 5 == 0 {
            target.attack(&bytes).is_nothing();
        }
        target.net.write(1, &writer, 3, b"goes on").expect("no limits");
        target.net.run(Duration::from_millis(20));
        assert_eq!(target.net.take(0, &reader).len(), 1, "{round}");
    }
    assert_eq!((reader.stats().lost, reader.matched_writers().len()), (0, 1));
    target.still_talks();
}

/// Samples with the next numbers are taken for real: nothing tells them from those of the peer before that writes them. Each that is
/// lost by that is told.
#[test]
fn a_sample_lost_to_a_forged_one_with_its_number_is_told() {
    let mut target = Target::new();
    let (writer, reader) = (Arc::clone(&target.peer_writer), Arc::clone(&target.reader));
    let (mut real, mut forged, mut told) = (0, 0, 0);
    for round in 0..100_i64 {
        let next = target.next_sn();
        let writer_id = writer.guid().entity_id;
        let time = (round % 2 == 0).then_some(WallTime(round));
        let bytes = target.forge(|message| {
            message.info_ts(time);
            for ahead in 0..2 {
                let payload = PayloadSpec::Data(vec![0, 1, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0].into());
                let (reader_id, writer_sn) = (EntityId::UNKNOWN, next.plus(ahead));
                message.data(&DataSpec { reader_id, writer_id, writer_sn, inline_qos: &[], payload });
            }
        });
        let events = if round % 3 == 0 { target.events_of(&bytes) } else { vec![] };
        target.net.write(1, &writer, 3, b"is real!").expect("no limits");
        target.net.run(Duration::from_millis(20));
        let bodies: Vec<_> = target.net.take(0, &reader).iter().map(|sample| unpack(sample).1).collect();
        real += bodies.iter().filter(|body| *body == b"is real!").count();
        forged += bodies.iter().filter(|body| *body != b"is real!").count();
        let all = events.into_iter().chain(target.net.take_events(0));
        told += all
            .filter_map(|event| match event {
                Event::SampleLost { count, .. } => Some(count),
                _ => None,
            })
            .sum::<u64>();
    }
    assert!(forged >= 30 && real + forged >= 100, "{real} {forged}");
    assert_eq!((100 - real as u64, reader.stats().lost), (told, told));
}

/// Somebody else announces in the name of the peer that its endpoints are gone or changed, or skips what it announced.
#[test]
fn spoofed_endpoint_removal_is_refused() {
    let mut target = Target::new();
    let sedp = [EntityId::SEDP_PUBLICATIONS_WRITER, EntityId::SEDP_SUBSCRIPTIONS_WRITER];
    let endpoints = [target.peer_writer.guid(), target.peer_reader.guid()];
    let next = target.next_announcements();
    for round in 0..100_i64 {
        for ((writer_id, guid), next) in sedp.into_iter().zip(endpoints).zip(next) {
            let status = StatusInfo(StatusInfo::DISPOSED | StatusInfo::UNREGISTERED);
            let inline_qos = dunlin_wire::inline_qos_for_status(status, Some(&guid.to_bytes()));
            let elsewhere = endpoint(guid, "Elsewhere").finish();
            let payload =
                if round % 2 == 0 { PayloadSpec::None } else { PayloadSpec::Data(elsewhere.into()) };
            let gone = target.forge(|message| {
                message.data(&DataSpec {
                    reader_id: EntityId::UNKNOWN,
                    writer_id,
                    writer_sn: next.plus(round),
                    inline_qos: if round % 2 == 0 { &inline_qos } else { &[] },
                    payload,
                });
            });
            target.attack(&gone).is_small();
            let skipped = target.forge(|message| {
                message.heartbeat(&Heartbeat {
                    reader_id: EntityId::UNKNOWN,
                    writer_id,
                    first_sn: SequenceNumber(HUGE),
                    last_sn: SequenceNumber(HUGE),
                    count: i32::MAX / 2,
                    final_flag: false,
                    liveliness_flag: false,
                    group: None,
                });
            });
            target.attack(&skipped).is_small();
        }
        target.net.run(Duration::from_millis(100));
        assert_eq!((target.reader.matched_writers().len(), target.writer.matched_readers().len()), (1, 1));
    }
    target.still_talks();
    let (more, qos) = (Arc::clone(&target.reader), DataWriterQos::default().reliable());
    target.net.writer(1, "In", &qos);
    target.net.settle();
    assert_eq!(more.matched_writers().len(), 2, "what the peer announces itself takes effect");
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
fn forged_heartbeat_and_acknack_counts_do_not_block_true_ones() {
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
