//! Messages of valid submessages: names that exist, numbers of any size.

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, ProtocolVersion, SequenceNumber, VendorId, WallTime};
use dunlin_wire::{
    AckNack, DataFragSpec, DataSpec, Endianness, Gap, Header, Heartbeat, HeartbeatFrag, InfoSrc,
    MessageBuilder, NackFrag, PayloadSpec,
};

use super::node::prefix;
use super::world::World;
use crate::input::Input;

/// Submessages of one message.
const MAX_SUBMESSAGES: usize = 8;
/// Payloads are parts of this one: an encapsulation header and a sample.
const PAYLOAD: [u8; 1200] = {
    let mut payload = [0; 1200];
    payload[1] = 1;
    payload[8] = 7;
    payload[12] = 8;
    payload
};

fn header_of(source: GuidPrefix) -> Header {
    Header { version: ProtocolVersion::V2_5, vendor_id: VendorId::DUNLIN, guid_prefix: source }
}

/// The octets of a header.
pub(super) fn header(source: GuidPrefix) -> Vec<u8> {
    header_of(source).to_bytes().to_vec()
}

/// Who speaks to whom.
struct Parties {
    /// Endpoints of the victim and of its peer.
    victim: [Guid; 2],
    peer: [Guid; 2],
    near: SequenceNumber,
}

/// One message to node `to`.
pub(super) fn message(world: &World, to: usize, input: &mut Input<'_>) -> Vec<u8> {
    let (victim, peer) = (&world.nodes[to], &world.nodes[1 - to]);
    let parties = Parties {
        victim: [victim.writer.guid(), victim.reader.guid()],
        peer: [peer.writer.guid(), peer.reader.guid()],
        near: peer.writer.last_sn().max(victim.writer.last_sn()),
    };
    let mut outbox = Outbox::new();
    let endianness = Endianness::from_flags(input.u8());
    let mut message =
        MessageBuilder::with_header(&mut outbox, header_of(source(input, to))).with_endianness(endianness);
    for _ in 0..MAX_SUBMESSAGES {
        if !submessage(&mut message, &parties, to, input) {
            break;
        }
    }
    message.finish(&[Locator::LOCAL]);
    let mut bytes = Vec::new();
    outbox.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
    bytes
}

fn source(input: &mut Input<'_>, to: usize) -> GuidPrefix {
    match input.u8() % 16 {
        0..=9 => prefix(1 - to),
        10..=12 => prefix(2),
        13 => prefix(3),
        14 => prefix(to),
        _ => GuidPrefix([0; 12]),
    }
}

/// Adds a submessage; false at the end of the message.
fn submessage(message: &mut MessageBuilder<'_>, parties: &Parties, to: usize, input: &mut Input<'_>) -> bool {
    let near = parties.near;
    match input.u8() % 16 {
        0 | 1 => heartbeat(message, parties, input),
        2 | 3 => gap(message, parties, input),
        4 | 5 => acknack(message, parties, input),
        6 | 7 => fragments(message, parties, input),
        8 => data(message, parties, input),
        9 => {
            let (writer_id, reader_id) = to_reader(parties, input);
            message.heartbeat_frag(&HeartbeatFrag {
                reader_id,
                writer_id,
                writer_sn: input.sn(near),
                last_fragment_num: input.fragment_number(),
                count: input.count(0),
            })
        }
        10 => {
            let (writer_id, reader_id) = to_writer(parties, input);
            message.nack_frag(&NackFrag {
                reader_id,
                writer_id,
                writer_sn: input.sn(near),
                fragment_number_state: input.fragment_set(),
                count: input.count(0),
            })
        }
        11 => message.info_dst(input.pick(&[prefix(to), prefix(1 - to), GuidPrefix::UNKNOWN])),
        12 => message.info_ts(Some(WallTime(i64::from(input.u32()) << 32))),
        13 => message.info_src(&InfoSrc {
            version: ProtocolVersion::V2_5,
            vendor_id: VendorId::FAST_DDS,
            guid_prefix: source(input, to),
        }),
        14 => message.pad(usize::from(input.u8())),
        _ => false,
    }
}

const BUILTIN_WRITERS: [EntityId; 4] = [
    EntityId::SPDP_WRITER,
    EntityId::SEDP_PUBLICATIONS_WRITER,
    EntityId::SEDP_SUBSCRIPTIONS_WRITER,
    EntityId::PARTICIPANT_MESSAGE_WRITER,
];
const BUILTIN_READERS: [EntityId; 4] = [
    EntityId::SPDP_READER,
    EntityId::SEDP_PUBLICATIONS_READER,
    EntityId::SEDP_SUBSCRIPTIONS_READER,
    EntityId::PARTICIPANT_MESSAGE_READER,
];

/// A writer and one of the victim's readers.
fn to_reader(parties: &Parties, input: &mut Input<'_>) -> (EntityId, EntityId) {
    let choice = input.u8();
    let builtin = usize::from(choice / 16) % 4;
    match choice % 16 {
        0..=4 => (parties.peer[0].entity_id, parties.victim[1].entity_id),
        5..=8 => (parties.peer[0].entity_id, EntityId::UNKNOWN),
        9 | 10 => (BUILTIN_WRITERS[builtin], BUILTIN_READERS[builtin]),
        11 => (BUILTIN_WRITERS[builtin], EntityId::UNKNOWN),
        12 => (BUILTIN_WRITERS[builtin], parties.victim[1].entity_id),
        13 => (parties.peer[0].entity_id, BUILTIN_READERS[builtin]),
        14 => (parties.victim[0].entity_id, parties.victim[0].entity_id),
        _ => (EntityId([choice; 4]), EntityId::UNKNOWN),
    }
}

/// One of the victim's writers and a reader.
fn to_writer(parties: &Parties, input: &mut Input<'_>) -> (EntityId, EntityId) {
    let choice = input.u8();
    let builtin = usize::from(choice / 16) % 4;
    match choice % 8 {
        0..=4 => (parties.victim[0].entity_id, parties.peer[1].entity_id),
        5 | 6 => (BUILTIN_WRITERS[builtin], BUILTIN_READERS[builtin]),
        _ => (EntityId([choice; 4]), EntityId::UNKNOWN),
    }
}

fn heartbeat(message: &mut MessageBuilder<'_>, parties: &Parties, input: &mut Input<'_>) -> bool {
    let (writer_id, reader_id) = to_reader(parties, input);
    let flags = input.u8();
    message.heartbeat(&Heartbeat {
        reader_id,
        writer_id,
        first_sn: input.sn(parties.near),
        last_sn: input.sn(parties.near),
        count: input.count(1),
        final_flag: flags & 1 != 0,
        liveliness_flag: flags & 2 != 0,
        group: None,
    })
}

fn gap(message: &mut MessageBuilder<'_>, parties: &Parties, input: &mut Input<'_>) -> bool {
    let (writer_id, reader_id) = to_reader(parties, input);
    message.gap(&Gap {
        reader_id,
        writer_id,
        gap_start: input.sn(parties.near),
        gap_list: input.sn_set(parties.near),
        group: None,
        filtered_count: None,
    })
}

fn acknack(message: &mut MessageBuilder<'_>, parties: &Parties, input: &mut Input<'_>) -> bool {
    let (writer_id, reader_id) = to_writer(parties, input);
    message.acknack(&AckNack {
        reader_id,
        writer_id,
        reader_sn_state: input.sn_set(parties.near),
        count: input.count(1),
        final_flag: input.u8().is_multiple_of(2),
    })
}

fn data(message: &mut MessageBuilder<'_>, parties: &Parties, input: &mut Input<'_>) -> bool {
    let (writer_id, reader_id) = to_reader(parties, input);
    let len = usize::from(input.u8()) * 4;
    let bytes = match len {
        0..=19 => SharedBytes::copy_from(&PAYLOAD[..20 + len]),
        _ => SharedBytes::copy_from(input.bytes(len)),
    };
    let payload = match input.u8() % 4 {
        0 => PayloadSpec::None,
        1 => PayloadSpec::Key(bytes),
        _ => PayloadSpec::Data(bytes),
    };
    let writer_sn = input.sn(parties.near);
    message.data(&DataSpec { reader_id, writer_id, writer_sn, inline_qos: &[], payload })
}

fn fragments(message: &mut MessageBuilder<'_>, parties: &Parties, input: &mut Input<'_>) -> bool {
    let (writer_id, reader_id) = to_reader(parties, input);
    let fragment_size = input.pick(&[1, 300, 600, 1200, 65_535]);
    let fragments_in_submessage = u16::from(input.u8() % 4);
    let sample_size = match input.u8() {
        lie @ 0xf0.. => u32::MAX >> (lie % 16),
        size => u32::from(size) * 64 + 1,
    };
    let len = usize::from(fragment_size) * usize::from(fragments_in_submessage);
    message.data_frag(&DataFragSpec {
        reader_id,
        writer_id,
        writer_sn: input.sn(parties.near),
        fragment_starting_num: input.fragment_number(),
        fragments_in_submessage,
        fragment_size,
        sample_size,
        inline_qos: &[],
        key_flag: false,
        payload: SharedBytes::copy_from(&PAYLOAD[..len.min(PAYLOAD.len())]),
    })
}
