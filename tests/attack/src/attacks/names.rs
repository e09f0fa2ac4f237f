//! Speaking in the name of one of the pair, from another address.

use std::time::Duration;

use anyhow::Result;
use dunlin_core::{EntityId, Guid, Locator, StatusInfo, WallTime};
use dunlin_wire::{Heartbeat, MessageBuilder, ParameterListBuilder, PayloadSpec, pid};

use crate::announce::{self, Endpoint, Participant};
use crate::field::Field;
use crate::forge::{self, HUGE};
use crate::pair::{TOPIC, TYPE_NAME};
use crate::places::{Channel, Side};

const OFTEN: Duration = Duration::from_millis(20);
const MS_100: Duration = Duration::from_millis(100);

fn ended() -> Vec<u8> {
    let mut list = ParameterListBuilder::new();
    list.put_status_info(StatusInfo(StatusInfo::DISPOSED | StatusInfo::UNREGISTERED));
    list.finish()
}

/// An endpoint is said to be deleted.
fn disposal(field: &mut Field, endpoint: Guid, sedp: EntityId, to: Side) -> Result<()> {
    let peer = field.peer()?;
    let writer = Guid::new(endpoint.prefix, sedp);
    let next = peer.announced.get(&writer).copied().unwrap_or(1) + 1;
    field.again(MS_100, |field, round| {
        let payload = PayloadSpec::Key(announce::key(endpoint).into());
        let bytes = forge::data(writer, next + round as i64, &ended(), payload);
        field.send(to, Channel::Metatraffic, &bytes);
        Ok(())
    })
}

/// The reader is said to be deleted.
pub(super) fn disposal_of_the_reader(field: &mut Field) -> Result<()> {
    let reader = field.reader.guid;
    disposal(field, reader, EntityId::SEDP_SUBSCRIPTIONS_WRITER, Side::Writer)
}

/// The writer is said to be deleted.
pub(super) fn disposal_of_the_writer(field: &mut Field) -> Result<()> {
    let writer = field.writer.guid;
    disposal(field, writer, EntityId::SEDP_PUBLICATIONS_WRITER, Side::Reader)
}

fn goodbye(field: &mut Field, who: Side, sn: impl Fn(u64) -> i64) -> Result<()> {
    let prefix = field.side(who).guid.prefix;
    let to = if who == Side::Reader { Side::Writer } else { Side::Reader };
    let participant = Guid::new(prefix, EntityId::PARTICIPANT);
    field.again(MS_100, |field, round| {
        let payload = PayloadSpec::Key(announce::key(participant).into());
        let mut list = ParameterListBuilder::new();
        list.put_status_info(StatusInfo(StatusInfo::DISPOSED | StatusInfo::UNREGISTERED));
        match round % 3 {
            0 => {}
            1 => _ = list.put_bytes(pid::vendor::GOODBYE_SECRET, &[round as u8; 16]),
            _ => _ = list.put_bytes(pid::vendor::LEASE_ENDED, &[]),
        }
        let writer = Guid::new(prefix, EntityId::SPDP_WRITER);
        let bytes = forge::data(writer, sn(round), &list.finish(), payload);
        field.send(to, Channel::Metatraffic, &bytes);
        Ok(())
    })
}

/// The reader's participant is said to leave.
pub(super) fn goodbye_of_the_reader(field: &mut Field) -> Result<()> {
    goodbye(field, Side::Reader, |round| 100 + round as i64)
}

/// The writer's participant is said to leave.
pub(super) fn goodbye_of_the_writer(field: &mut Field) -> Result<()> {
    goodbye(field, Side::Writer, |round| 100 + round as i64)
}

/// One goodbye with a number that no later announcement reaches.
pub(super) fn goodbye_with_a_far_number(field: &mut Field) -> Result<()> {
    goodbye(field, Side::Reader, |round| HUGE + round as i64)
}

/// The reader's participant is said to ask for a lease of a microsecond.
pub(super) fn lease_of_a_microsecond(field: &mut Field) -> Result<()> {
    let mut short =
        Participant::at(field.reader.guid.prefix, field.places.of(Side::Reader, Channel::Metatraffic));
    short.data = vec![field.places.of(Side::Reader, Channel::Data)];
    short.lease = dunlin_core::Duration::from_micros(1);
    let writer = Guid::new(short.prefix, EntityId::SPDP_WRITER);
    field.again(MS_100, |field, round| {
        let payload = PayloadSpec::Data(short.list().finish().into());
        field.send(
            Side::Writer,
            Channel::Metatraffic,
            &forge::data(writer, 2_000 + round as i64, &[], payload),
        );
        Ok(())
    })
}

fn acknacks(field: &mut Field, every: Duration, of: impl Fn(u64) -> (i64, u32, i32)) -> Result<()> {
    let (reader, writer) = (field.reader.guid, field.writer.guid);
    field.again(every, |field, round| {
        let (base, asked, count) = of(round);
        let bytes = forge::acknack(reader, writer.entity_id, base, asked, count);
        field.send(Side::Writer, Channel::Data, &bytes);
        Ok(())
    })
}

/// ACKNACKs whose counts no real one reaches.
pub(super) fn acknack_counts_ahead(field: &mut Field) -> Result<()> {
    acknacks(field, OFTEN, |round| (1, 0, [i32::MAX, i32::MAX / 2, i32::MIN][round as usize % 3]))
}

/// Everything is said to be acknowledged, also what was not written yet.
pub(super) fn everything_is_acknowledged(field: &mut Field) -> Result<()> {
    acknacks(field, OFTEN, |round| (HUGE, 0, 5_000 + round as i32))
}

/// Nothing is said to have arrived, again and again.
pub(super) fn nothing_is_acknowledged(field: &mut Field) -> Result<()> {
    acknacks(field, OFTEN, |round| (1, 255, 5_000 + round as i32))
}

fn heartbeats(field: &mut Field, of: impl Fn(u64) -> (i64, i64, i32)) -> Result<()> {
    let writer = field.writer.guid;
    field.again(OFTEN, |field, round| {
        let (first, last, count) = of(round);
        field.send(Side::Reader, Channel::Data, &forge::heartbeat(writer, first, last, count));
        Ok(())
    })
}

/// HEARTBEATs whose counts no real one reaches.
pub(super) fn heartbeat_counts_ahead(field: &mut Field) -> Result<()> {
    heartbeats(field, |round| (1, 100, [i32::MAX, i32::MAX / 2, -1][round as usize % 3]))
}

/// The writer is said to have nothing below a number far ahead.
pub(super) fn heartbeat_ahead(field: &mut Field) -> Result<()> {
    heartbeats(field, |round| (HUGE, HUGE, 5_000 + round as i32))
}

/// The same, but a few hundred samples ahead, as it could be.
pub(super) fn heartbeat_a_little_ahead(field: &mut Field) -> Result<()> {
    heartbeats(field, |round| (900 + round as i64, 1_000 + round as i64, 5_000 + round as i32))
}

/// Everything is said to be irrelevant.
pub(super) fn gap_ahead(field: &mut Field) -> Result<()> {
    let writer = field.writer.guid;
    field.again(OFTEN, |field, _| {
        field.send(Side::Reader, Channel::Data, &forge::gap(writer, 1, HUGE));
        Ok(())
    })
}

/// The next second of samples is said to be irrelevant.
pub(super) fn gap_a_little_ahead(field: &mut Field) -> Result<()> {
    let writer = field.writer.guid;
    field.again(OFTEN, |field, round| {
        let from = 400 + 20 * round as i64;
        field.send(Side::Reader, Channel::Data, &forge::gap(writer, from, from + 1_000));
        Ok(())
    })
}

/// Samples that the writer did not write, with numbers that it is about to use, some of them with source timestamps.
pub(super) fn samples_in_the_writers_name(field: &mut Field) -> Result<()> {
    let writer = field.writer.guid;
    field.again(OFTEN, |field, round| {
        for ahead in 0..8 {
            let payload = super::tick(0, 1_000_000 + round);
            let sn = 450 + 20 * round as i64 + ahead;
            let time = (round % 2 == 0).then_some(WallTime(1_700_000_000_000_000_000 + sn));
            let bytes = forge::timed_data(writer, sn, time, PayloadSpec::Data(payload));
            field.send(Side::Reader, Channel::Data, &bytes);
        }
        Ok(())
    })
}

/// A sample with a number that cannot be reached.
pub(super) fn sample_far_ahead(field: &mut Field) -> Result<()> {
    let writer = field.writer.guid;
    field.again(OFTEN, |field, round| {
        let payload = PayloadSpec::Data(super::tick(0, 7));
        field.send(Side::Reader, Channel::Data, &forge::data(writer, HUGE + round as i64, &[], payload));
        Ok(())
    })
}

/// The reader is announced again with QoS that does not match.
pub(super) fn reader_is_said_to_change(field: &mut Field) -> Result<()> {
    let peer = field.peer()?;
    let writer = Guid::new(field.reader.guid.prefix, EntityId::SEDP_SUBSCRIPTIONS_WRITER);
    let next = peer.announced.get(&writer).copied().unwrap_or(1) + 1;
    let reader = field.reader.guid;
    field.again(MS_100, |field, round| {
        let mut list = Endpoint::new(reader, TOPIC, TYPE_NAME).list();
        list.put_strings(pid::PARTITION, ["elsewhere"].into_iter());
        let payload = PayloadSpec::Data(list.finish().into());
        field.send(
            Side::Writer,
            Channel::Metatraffic,
            &forge::data(writer, next + round as i64, &[], payload),
        );
        Ok(())
    })
}

/// The SEDP writers of both are said to have skipped everything.
pub(super) fn discovery_is_said_to_skip(field: &mut Field) -> Result<()> {
    let (reader, writer) = (field.reader.guid.prefix, field.writer.guid.prefix);
    let forged = |message: &mut MessageBuilder<'_>| {
        for writer_id in [EntityId::SEDP_PUBLICATIONS_WRITER, EntityId::SEDP_SUBSCRIPTIONS_WRITER] {
            message.heartbeat(&Heartbeat {
                reader_id: EntityId::UNKNOWN,
                writer_id,
                first_sn: dunlin_core::SequenceNumber(HUGE),
                last_sn: dunlin_core::SequenceNumber(HUGE),
                count: i32::MAX / 2,
                final_flag: false,
                liveliness_flag: false,
                group: None,
            });
        }
    };
    field.again(MS_100, |field, _| {
        field.send(Side::Writer, Channel::Metatraffic, &forge::message(reader, forged));
        field.send(Side::Reader, Channel::Metatraffic, &forge::message(writer, forged));
        Ok(())
    })
}

/// Each side gets messages in its own name.
pub(super) fn messages_in_the_receivers_name(field: &mut Field) -> Result<()> {
    let (reader, writer) = (field.reader.guid, field.writer.guid);
    let victim = Locator::udp(field.bystander()[0]);
    let place = victim.to_socket_addr().unwrap_or(field.bystander()[0]);
    field.again(OFTEN, |field, round| {
        for (side, own) in [(Side::Reader, reader), (Side::Writer, writer)] {
            let announcement = Participant::at(own.prefix, place).list().finish();
            let spdp = Guid::new(own.prefix, EntityId::SPDP_WRITER);
            let payload = PayloadSpec::Data(announcement.into());
            field.send(side, Channel::Metatraffic, &forge::data(spdp, round as i64 + 1, &[], payload));
        }
        field.send(Side::Reader, Channel::Data, &forge::acknack(reader, writer.entity_id, 1, 255, 9_000));
        field.send(Side::Writer, Channel::Data, &forge::heartbeat(writer, HUGE, HUGE, 9_000));
        Ok(())
    })
}
