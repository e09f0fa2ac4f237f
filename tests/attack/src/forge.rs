//! Messages in anybody's name (RTPS 2.5 §9.4).

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, ProtocolVersion, SequenceNumber, VendorId, WallTime};
use dunlin_core::{FragmentNumberSet, SequenceNumberSet};
use dunlin_wire::{
    AckNack, DataFragSpec, DataSpec, Gap, Header, Heartbeat, MessageBuilder, NackFrag, PayloadSpec,
};

/// The largest number that can still be counted on from.
pub const HUGE: i64 = 1 << 62;

/// A message of Dunlin's make.
pub fn message(source: GuidPrefix, write: impl FnOnce(&mut MessageBuilder<'_>)) -> Vec<u8> {
    message_of(VendorId::DUNLIN, source, write)
}

/// A message that says who made its sender.
pub fn message_of(
    vendor_id: VendorId,
    guid_prefix: GuidPrefix,
    write: impl FnOnce(&mut MessageBuilder<'_>),
) -> Vec<u8> {
    let mut outbox = Outbox::new();
    let header = Header { version: ProtocolVersion::V2_5, vendor_id, guid_prefix };
    let mut builder = MessageBuilder::with_header(&mut outbox, header);
    write(&mut builder);
    builder.finish(&[Locator::LOCAL]);
    let mut bytes = vec![];
    outbox.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
    bytes
}

/// A HEARTBEAT of a writer to all its readers, which want to answer it.
pub fn heartbeat(writer: Guid, first: i64, last: i64, count: i32) -> Vec<u8> {
    message(writer.prefix, |message| {
        message.heartbeat(&Heartbeat {
            reader_id: EntityId::UNKNOWN,
            writer_id: writer.entity_id,
            first_sn: SequenceNumber(first),
            last_sn: SequenceNumber(last),
            count,
            final_flag: false,
            liveliness_flag: false,
            group: None,
        });
    })
}

/// An ACKNACK that has everything below `base` and asks for `asked` numbers from there on.
pub fn acknack(reader: Guid, writer: EntityId, base: i64, asked: u32, count: i32) -> Vec<u8> {
    message(reader.prefix, |message| {
        message.acknack(&AckNack {
            reader_id: reader.entity_id,
            writer_id: writer,
            reader_sn_state: numbers(base, asked),
            count,
            final_flag: asked == 0,
        });
    })
}

fn numbers(base: i64, many: u32) -> SequenceNumberSet {
    let mut set = SequenceNumberSet::empty(SequenceNumber(base));
    for offset in 0..i64::from(many) {
        set.insert(SequenceNumber(base + offset));
    }
    set
}

/// A request for the first fragments of a change.
pub fn nack_frag(reader: Guid, writer: EntityId, sn: i64, count: i32) -> Vec<u8> {
    let mut fragments = FragmentNumberSet::empty(1);
    (1..=256).for_each(|number| _ = fragments.insert(number));
    message(reader.prefix, |message| {
        message.nack_frag(&NackFrag {
            reader_id: reader.entity_id,
            writer_id: writer,
            writer_sn: SequenceNumber(sn),
            fragment_number_state: fragments,
            count,
        });
    })
}

/// A GAP over all numbers from `start` to just before `end`.
pub fn gap(writer: Guid, start: i64, end: i64) -> Vec<u8> {
    message(writer.prefix, |message| {
        message.gap(&Gap {
            reader_id: EntityId::UNKNOWN,
            writer_id: writer.entity_id,
            gap_start: SequenceNumber(start),
            gap_list: SequenceNumberSet::empty(SequenceNumber(end)),
            group: None,
            filtered_count: None,
        });
    })
}

/// A change of a writer.
pub fn data(writer: Guid, sn: i64, inline_qos: &[u8], payload: PayloadSpec) -> Vec<u8> {
    message(writer.prefix, |message| {
        message.data(&DataSpec {
            reader_id: EntityId::UNKNOWN,
            writer_id: writer.entity_id,
            writer_sn: SequenceNumber(sn),
            inline_qos,
            payload,
        });
    })
}

/// A change of a writer, with a source timestamp or without.
pub fn timed_data(writer: Guid, sn: i64, time: Option<WallTime>, payload: PayloadSpec) -> Vec<u8> {
    message(writer.prefix, |message| {
        message.info_ts(time);
        message.data(&DataSpec {
            reader_id: EntityId::UNKNOWN,
            writer_id: writer.entity_id,
            writer_sn: SequenceNumber(sn),
            inline_qos: &[],
            payload,
        });
    })
}

/// One fragment of 1 KiB of a change of so many octets, for one reader: what names none may be of a change that is sent again to
/// others, and a reader that its writer has not met does not begin with it.
pub fn fragment(writer: Guid, reader_id: EntityId, sn: i64, number: u32, sample_size: u32) -> Vec<u8> {
    message(writer.prefix, |message| {
        message.data_frag(&DataFragSpec {
            reader_id,
            writer_id: writer.entity_id,
            writer_sn: SequenceNumber(sn),
            fragment_starting_num: number,
            fragments_in_submessage: 1,
            fragment_size: 1_024,
            sample_size,
            inline_qos: &[],
            key_flag: false,
            payload: SharedBytes::from(vec![0; 1_024]),
        });
    })
}
