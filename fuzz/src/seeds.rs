//! The inputs from which fuzzing starts: every submessage in both byte orders, and messages captured from other
//! implementations. `cargo run --example seeds` writes them to `seeds/<target>/`.

use std::net::Ipv4Addr;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{
    EntityId, FragmentNumberSet, GuidPrefix, Locator, ProtocolVersion, SequenceNumber, SequenceNumberSet,
    VendorId, WallTime,
};
use dunlin_wire::checksum::ChecksumKind;
use dunlin_wire::{
    AckNack, DataFragSpec, DataSpec, Echo, EchoRequest, Endianness, Gap, GapGroup, GroupDigest, GroupDigests,
    HeaderExtensionSpec, Heartbeat, HeartbeatFrag, HeartbeatGroup, InfoReplyIp4, InfoSrc, MessageBuilder,
    NackFrag, PayloadSpec, SecurityKind, SecuritySubmessage,
};

/// Captured messages and lists: target, name and octets on each line.
const CAPTURED: &str = include_str!("captured.txt");

const READER: EntityId = EntityId([1, 2, 3, 7]);
const WRITER: EntityId = EntityId([4, 5, 6, 2]);
const SN: SequenceNumber = SequenceNumber(0x1_0000_0002);

/// One input.
pub struct Seed {
    /// For which fuzz target.
    pub target: String,
    /// File name.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

type Write = fn(&mut MessageBuilder<'_>) -> bool;

const WRITTEN: &[(&str, Write)] = &[
    ("acknack", |builder| builder.acknack(&acknack())),
    ("heartbeat", |builder| builder.heartbeat(&heartbeat(None))),
    ("heartbeat-group", |builder| builder.heartbeat(&heartbeat(Some(heartbeat_group())))),
    ("gap", |builder| builder.gap(&gap())),
    ("nack-frag", |builder| builder.nack_frag(&nack_frag())),
    ("heartbeat-frag", |builder| builder.heartbeat_frag(&heartbeat_frag())),
    ("echo-request", |builder| {
        builder.echo_request(&EchoRequest { reader_id: READER, writer_id: WRITER, count: 5 })
    }),
    ("echo", |builder| builder.echo(&Echo { reader_id: READER, writer_id: WRITER, count: 5, room: 0 })),
    ("info-ts", |builder| builder.info_ts(Some(WallTime(1_500_000_000)))),
    ("info-ts-none", |builder| builder.info_ts(None)),
    ("info-dst", |builder| builder.info_dst(GuidPrefix([7; 12]))),
    ("info-src", |builder| builder.info_src(&info_src())),
    ("info-reply", |builder| builder.info_reply(&[locator()], Some(&[locator(), locator()]))),
    ("info-reply-ip4", |builder| builder.info_reply_ip4(&info_reply_ip4())),
    ("pad", |builder| builder.pad(8)),
    ("data-frag", data_frag),
    ("header-extension-crc32c", |builder| header_extension(builder, ChecksumKind::Crc32c)),
    ("header-extension-crc64", |builder| header_extension(builder, ChecksumKind::Crc64Xz)),
    ("header-extension-md5", |builder| header_extension(builder, ChecksumKind::Md5)),
    ("security", security),
    ("data", |builder| {
        builder.info_ts(Some(WallTime(1))) && data(builder) && builder.heartbeat(&heartbeat(None))
    }),
];

/// All inputs.
pub fn all() -> Vec<Seed> {
    let mut seeds: Vec<Seed> = CAPTURED.lines().filter_map(captured).collect();
    for (name, write) in WRITTEN {
        for (order, endianness) in [("le", Endianness::Little), ("be", Endianness::Big)] {
            let (target, name) = (String::from("wire_message"), format!("{name}-{order}"));
            seeds.push(Seed { target, name, bytes: message(endianness, *write) });
        }
    }
    let lists = seeds.iter().filter(|seed| seed.target == "parameter_list");
    let lists: Vec<_> = lists.map(|seed| (seed.name.clone(), seed.bytes.clone())).collect();
    let made = [
        ("cdr_value", crate::cdr::seeds()),
        ("configuration", crate::configuration::seeds()),
        ("routes", crate::routes::seeds()),
        ("discovery_data", crate::discovery::seeds(&lists)),
        ("durable", crate::durable::seeds()),
        ("dynamic", crate::dynamic::seeds()),
        ("endpoint_cores", crate::cores::seeds()),
        ("filter", crate::filter::seeds()),
        ("live_participant", crate::live::seeds()),
        ("recordings", crate::recordings::seeds()),
        ("types", crate::types::seeds()),
        ("xml_types", crate::xml::seeds()),
    ];
    for (target, of_target) in made {
        let seed = |(name, bytes)| Seed { target: target.into(), name, bytes };
        seeds.extend(of_target.into_iter().map(seed));
    }
    seeds.extend(idl_seeds());
    seeds
}

pub(crate) fn idl_seeds() -> impl Iterator<Item = Seed> {
    IDL.iter().map(|(name, text)| idl(name, text))
}

/// The IDL from which Rust is made in our tests.
pub(crate) const IDL: &[(&str, &str)] = &[
    (
        "kinds",
        concat!(
            include_str!("../../tests/idl/idl/common/base.idl"),
            include_str!("../../tests/idl/idl/kinds.idl")
        ),
    ),
    ("evolution", include_str!("../../tests/idl/idl/evolution.idl")),
    ("names", include_str!("../../tests/idl/idl/names.idl")),
    ("recursive", include_str!("../../tests/idl/idl/recursive.idl")),
    ("video", include_str!("../../tests/idl/idl/video.idl")),
];

fn idl(name: &str, text: &str) -> Seed {
    // What is included stands in front already.
    let bytes = text.replace("#include \"base.idl\"\n", "").into_bytes();
    Seed { target: String::from("idl"), name: name.to_owned(), bytes }
}

fn captured(line: &str) -> Option<Seed> {
    let mut words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
    let (target, name) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some(Seed { target, name, bytes: hex(&words.collect::<String>()) })
}

pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().map(|c| c.to_digit(16).expect("hexadecimal digits")).collect();
    assert!(digits.len().is_multiple_of(2), "whole octets");
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn message(endianness: Endianness, write: Write) -> Vec<u8> {
    let mut outbox = Outbox::new();
    let mut builder =
        MessageBuilder::new(&mut outbox, GuidPrefix(*b"abcdefghijkl")).with_endianness(endianness);
    assert!(write(&mut builder));
    builder.finish(&[Locator::LOCAL]);
    let mut bytes = Vec::new();
    outbox.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
    bytes
}

fn locator() -> Locator {
    Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 1), 7411)
}

fn acknack() -> AckNack {
    let mut set = SequenceNumberSet::empty(SN);
    assert!(set.insert(SN.plus(2)) && set.insert(SN.plus(40)));
    AckNack { reader_id: READER, writer_id: WRITER, reader_sn_state: set, count: 7, final_flag: true }
}

fn heartbeat(group: Option<HeartbeatGroup>) -> Heartbeat {
    Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER,
        first_sn: SequenceNumber(1),
        last_sn: SN,
        count: 3,
        final_flag: false,
        liveliness_flag: true,
        group,
    }
}

fn heartbeat_group() -> HeartbeatGroup {
    HeartbeatGroup {
        current_gsn: SequenceNumber(9),
        first_gsn: SequenceNumber(4),
        last_gsn: SequenceNumber(8),
        digests: Some(GroupDigests {
            writer_set: GroupDigest([1, 2, 3, 4]),
            secure_writer_set: GroupDigest([5, 6, 7, 8]),
        }),
    }
}

fn gap() -> Gap {
    let mut gap_list = SequenceNumberSet::empty(SequenceNumber(5));
    assert!(gap_list.insert(SequenceNumber(6)));
    Gap {
        reader_id: READER,
        writer_id: WRITER,
        gap_start: SequenceNumber(2),
        gap_list,
        group: Some(GapGroup { start_gsn: SequenceNumber(10), end_gsn: SequenceNumber(12) }),
        filtered_count: Some(3),
    }
}

fn nack_frag() -> NackFrag {
    let mut set = FragmentNumberSet::empty(3);
    assert!(set.insert(4));
    NackFrag { reader_id: READER, writer_id: WRITER, writer_sn: SN, fragment_number_state: set, count: 5 }
}

fn heartbeat_frag() -> HeartbeatFrag {
    HeartbeatFrag { reader_id: READER, writer_id: WRITER, writer_sn: SN, last_fragment_num: 9, count: 5 }
}

fn info_src() -> InfoSrc {
    let version = ProtocolVersion { major: 2, minor: 4 };
    InfoSrc { version, vendor_id: VendorId::OPENDDS, guid_prefix: GuidPrefix([9; 12]) }
}

fn info_reply_ip4() -> InfoReplyIp4 {
    InfoReplyIp4 { unicast: locator(), multicast: Some(Locator::INVALID) }
}

fn data(builder: &mut MessageBuilder<'_>) -> bool {
    builder.data(&DataSpec {
        reader_id: READER,
        writer_id: WRITER,
        writer_sn: SN,
        inline_qos: &[],
        payload: PayloadSpec::Data(SharedBytes::copy_from(b"\0\x01\0\0hello")),
    })
}

fn data_frag(builder: &mut MessageBuilder<'_>) -> bool {
    builder.data_frag(&DataFragSpec {
        reader_id: READER,
        writer_id: WRITER,
        writer_sn: SN,
        fragment_starting_num: 2,
        fragments_in_submessage: 2,
        fragment_size: 8,
        sample_size: 20,
        inline_qos: &[],
        key_flag: true,
        payload: SharedBytes::copy_from(&[7; 12]),
    })
}

fn header_extension(builder: &mut MessageBuilder<'_>, checksum: ChecksumKind) -> bool {
    let spec = HeaderExtensionSpec {
        message_length: true,
        send_timestamp: Some(WallTime(1_500_000_000)),
        u_extension4: Some([1; 4]),
        w_extension8: Some([2; 8]),
        checksum: Some(checksum),
        parameters: &[],
    };
    builder.header_extension(&spec) && data(builder)
}

fn security(builder: &mut MessageBuilder<'_>) -> bool {
    let submessage =
        |kind, body| SecuritySubmessage { kind, header_is_authenticated: false, pre_shared_key: false, body };
    builder.security(&submessage(SecurityKind::SecPrefix, &[1; 20]))
        && builder.security(&submessage(SecurityKind::SecBody, &[0, 0, 0, 4, 1, 2, 3, 4]))
        && builder.security(&submessage(SecurityKind::SecPostfix, &[0; 20]))
}
