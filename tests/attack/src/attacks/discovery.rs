//! Announcements and types that are not what they should be.

use std::time::Duration;

use anyhow::Result;
use dunlin_core::{EntityId, Guid, GuidPrefix, VendorId};
use dunlin_wire::{DataSpec, PayloadSpec, pid};
use dunlin_xtypes::lookup::instance_name;
use dunlin_xtypes::lookup::message::{self, Call, GetTypesIn, Request, SampleIdentity};

use crate::announce::Participant;
use crate::field::Field;
use crate::forge;
use crate::pair::Tick;
use crate::places::{Channel, Side};

const OFTEN: Duration = Duration::from_micros(300);
const MS_1: Duration = Duration::from_millis(1);
const SIDES: [Side; 2] = [Side::Reader, Side::Writer];

fn name(round: u64) -> GuidPrefix {
    let mut prefix = [8; 12];
    prefix[..8].copy_from_slice(&round.to_le_bytes());
    GuidPrefix(prefix)
}

fn spdp(prefix: GuidPrefix, payload: Vec<u8>) -> Vec<u8> {
    forge::data(Guid::new(prefix, EntityId::SPDP_WRITER), 1, &[], PayloadSpec::Data(payload.into()))
}

/// Thousands of participants, each announced once, with a lease without end.
pub(super) fn participants_without_limit(field: &mut Field) -> Result<()> {
    let place = field.bystander()[0];
    field.again(OFTEN, |field, round| {
        let mut unverified = Participant::at(name(round), place);
        unverified.lease = dunlin_core::Duration::INFINITE;
        let bytes = spdp(name(round), unverified.list().finish());
        SIDES.iter().for_each(|side| field.send(*side, Channel::Metatraffic, &bytes));
        Ok(())
    })
}

/// Announcements cut short at each place, or with a length that is more than there is.
pub(super) fn damaged_parameter_lists(field: &mut Field) -> Result<()> {
    let place = field.bystander()[0];
    field.again(OFTEN, |field, round| {
        let mut payload = Participant::at(name(round), place).list().finish();
        let at = 4 + (round as usize * 7) % (payload.len() - 6);
        match round % 4 {
            0 => payload.truncate(at),
            1 => payload[at..at + 2].copy_from_slice(&[0xff, 0xff]),
            2 => payload[at] ^= 0x80,
            _ => payload.truncate(payload.len() - 4),
        }
        let bytes = spdp(name(round), payload);
        SIDES.iter().for_each(|side| field.send(*side, Channel::Metatraffic, &bytes));
        Ok(())
    })
}

/// The same inside announcements of endpoints of a verified peer.
pub(super) fn damaged_endpoints_of_a_peer(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    field.again(MS_1, |_, round| {
        let mut payload = peer.reader(1 + (round % 200) as u32).list().finish();
        let at = 4 + (round as usize * 7) % (payload.len() - 6);
        match round % 3 {
            0 => payload.truncate(at),
            1 => payload[at..at + 2].copy_from_slice(&[0xff, 0x7f]),
            _ => payload[at] ^= 0x55,
        }
        peer.announce(payload, false);
        peer.pump(Duration::ZERO);
        Ok(())
    })
}

/// Strangers who say that other vendors have made them, with those vendors' parameters.
pub(super) fn wrong_vendors(field: &mut Field) -> Result<()> {
    const VENDORS: [VendorId; 6] = [
        VendorId::RTI,
        VendorId::OPENDDS,
        VendorId::FAST_DDS,
        VendorId::CYCLONE_DDS,
        VendorId::DUST_DDS,
        VendorId([0xff, 0xff]),
    ];
    let place = field.bystander()[0];
    field.again(OFTEN, |field, round| {
        let vendor = VENDORS[round as usize % VENDORS.len()];
        let mut list = Participant { vendor, ..Participant::at(name(round), place) }.list();
        for id in 0x8000..0x8020 {
            list.put_bytes(id, &[0xff; 12]);
        }
        let payload = list.finish();
        let bytes = forge::message_of(vendor, name(round), |message| {
            message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id: EntityId::SPDP_WRITER,
                writer_sn: dunlin_core::SequenceNumber(1),
                inline_qos: &[],
                payload: PayloadSpec::Data(payload.into()),
            });
        });
        SIDES.iter().for_each(|side| field.send(*side, Channel::Metatraffic, &bytes));
        Ok(())
    })
}

/// Submessages with lengths, counts and octets drawn by lot, behind a good header, to all sockets.
pub(super) fn noise(field: &mut Field) -> Result<()> {
    let (reader, writer) = (field.reader.guid, field.writer.guid);
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    field.again(Duration::from_micros(200), |field, round| {
        let prefix = [reader.prefix, writer.prefix, name(round)][next() % 3];
        let mut bytes = forge::heartbeat(Guid::new(prefix, writer.entity_id), 1, 5, 5_000);
        bytes.extend((0..next() % 400).map(|_| next() as u8));
        for _ in 0..next() % 6 {
            let at = 20 + next() % (bytes.len() - 20);
            bytes[at] = next() as u8;
        }
        for side in SIDES {
            field.send(side, if round % 2 == 0 { Channel::Data } else { Channel::Metatraffic }, &bytes);
        }
        Ok(())
    })
}

/// A verified peer asks about the pair's type 2,000 times each second, 250 times in each question.
pub(super) fn type_questions(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    let (graph, root) = dunlin_xtypes::from_description(dunlin_cdr::description::<Tick>());
    let objects = dunlin_xtypes::type_objects(&graph, root)?;
    let ids: Vec<_> = objects.records.iter().map(|record| record.complete.id.clone()).collect();
    let type_ids: Vec<_> = ids.iter().cycle().take(250).cloned().collect();
    let writer = Guid::new(peer.prefix, EntityId::TYPE_LOOKUP_REQUEST_WRITER);
    field.again(Duration::from_micros(500), |field, round| {
        for side in SIDES {
            let participant = Guid::new(field.side(side).guid.prefix, EntityId::PARTICIPANT).to_bytes();
            let request = Request {
                request_id: SampleIdentity { writer_guid: writer.to_bytes(), high: 0, low: round as u32 },
                instance_name: instance_name(&participant),
                call: Call::GetTypes(GetTypesIn { type_ids: type_ids.clone() }),
            };
            let payload = PayloadSpec::Data(message::encode(&request)?.into());
            peer.send(side, Channel::Metatraffic, &forge::data(writer, round as i64 + 1, &[], payload));
        }
        peer.pump(Duration::ZERO);
        Ok(())
    })
}

/// Endpoints of a verified peer whose type information claims thousands of types behind it.
pub(super) fn type_information_without_end(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    field.again(MS_1, |_, round| {
        let mut list = peer.reader(1 + (round % 400) as u32).list();
        let mut information = vec![0; 16];
        information[..4].copy_from_slice(&30_000_u32.to_le_bytes());
        information.extend((0..30_000_u32).map(|n| (n.wrapping_mul(31) ^ round as u32) as u8));
        list.put_bytes(pid::TYPE_INFORMATION, &information);
        peer.announce(list.finish(), false);
        peer.pump(Duration::ZERO);
        Ok(())
    })
}
