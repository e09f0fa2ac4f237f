//! RTPS 2.5 §9.4.5: the bytes of each submessage in both byte orders, read and written; and what remains of them when
//! the end is missing.

mod common;

use std::net::Ipv4Addr;

use common::{build, hex, message, only, visit, walk};
use dunlin_buf::SharedBytes;
use dunlin_core::{
    EntityId, FragmentNumberSet, GuidPrefix, Locator, ProtocolVersion, SequenceNumber, SequenceNumberSet,
    VendorId, WallTime,
};
use dunlin_wire::{
    AckNack, DataFragSpec, DataSpec, Echo, EchoRequest, Endianness, Gap, GapGroup, GroupDigest, GroupDigests,
    Heartbeat, HeartbeatFrag, HeartbeatGroup, InfoReplyIp4, InfoSrc, MessageBuilder, NackFrag, Payload,
    PayloadSpec, SecurityKind, SecuritySubmessage, Submessage, WireError,
};

const READER: EntityId = EntityId([1, 2, 3, 7]);
const WRITER: EntityId = EntityId([4, 5, 6, 2]);
const SN: SequenceNumber = SequenceNumber(0x1_0000_0002);

/// Checks reading and writing of one submessage in both byte orders, and every truncation.
fn golden(
    little: &str,
    big: &str,
    write: impl Fn(&mut MessageBuilder<'_>) -> bool,
    check: impl Fn(&Submessage<'_>),
) {
    for (text, endianness) in [(little, Endianness::Little), (big, Endianness::Big)] {
        let bytes = message(text);
        check(&only(&bytes).unwrap());
        assert_eq!(build(endianness, |builder| assert!(write(builder))), bytes, "{endianness:?}");
        truncations(&bytes);
    }
}

/// Cutting a message never lets its last submessage through, neither with its true length nor with "to the end".
fn truncations(bytes: &[u8]) {
    for len in (0..bytes.len()).step_by(if cfg!(miri) { 11 } else { 1 }) {
        let cut = &bytes[..len];
        visit(cut);
        if len < 20 {
            assert!(dunlin_wire::Message::parse(cut).is_err());
        } else if len > 20 {
            assert_eq!(walk(cut), [Err(WireError::LengthBeyondMessage)], "{len} octets");
        }
        if len >= 24 {
            let mut open = cut.to_vec();
            open[22..24].fill(0);
            visit(&open);
        }
    }
}

/// As [`golden`] for a submessage that is read as the value it was written from.
macro_rules! golden_value {
    ($method:ident, $variant:ident, $value:expr, $little:expr, $big:expr) => {
        let value = $value;
        golden(
            $little,
            $big,
            |builder| builder.$method(&value),
            |body| assert_eq!(*body, Submessage::$variant(value)),
        );
    };
}

#[test]
fn acknack() {
    let mut set = SequenceNumberSet::empty(SN);
    assert!(set.insert(SN.plus(2)) && set.insert(SN.plus(33)));
    golden_value!(
        acknack,
        AckNack,
        AckNack { reader_id: READER, writer_id: WRITER, reader_sn_state: set, count: 7, final_flag: true },
        "06 03 2000 01020307 04050602 01000000 02000000 22000000 00000020 00000040 07000000",
        "06 02 0020 01020307 04050602 00000001 00000002 00000022 20000000 40000000 00000007"
    );
    golden_value!(
        acknack,
        AckNack,
        AckNack {
            reader_id: READER,
            writer_id: WRITER,
            reader_sn_state: SequenceNumberSet::empty(SequenceNumber(1)),
            count: -1,
            final_flag: false,
        },
        "06 01 1800 01020307 04050602 00000000 01000000 00000000 ffffffff",
        "06 00 0018 01020307 04050602 00000000 00000001 00000000 ffffffff"
    );
}

#[test]
fn heartbeat() {
    let plain = Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER,
        first_sn: SequenceNumber(1),
        last_sn: SN,
        count: 3,
        final_flag: true,
        liveliness_flag: true,
        group: None,
    };
    golden_value!(
        heartbeat,
        Heartbeat,
        plain,
        "07 07 1c00 00000000 04050602 00000000 01000000 01000000 02000000 03000000",
        "07 06 001c 00000000 04050602 00000000 00000001 00000001 00000002 00000003"
    );
    let group = HeartbeatGroup {
        current_gsn: SequenceNumber(9),
        first_gsn: SequenceNumber(4),
        last_gsn: SequenceNumber(8),
        digests: None,
    };
    golden_value!(
        heartbeat,
        Heartbeat,
        Heartbeat { final_flag: false, liveliness_flag: false, group: Some(group), ..plain },
        "07 09 3400 00000000 04050602 00000000 01000000 01000000 02000000 03000000 \
         00000000 09000000 00000000 04000000 00000000 08000000",
        "07 08 0034 00000000 04050602 00000000 00000001 00000001 00000002 00000003 \
         00000000 00000009 00000000 00000004 00000000 00000008"
    );
    let digests = Some(GroupDigests {
        writer_set: GroupDigest([1, 2, 3, 4]),
        secure_writer_set: GroupDigest([5, 6, 7, 8]),
    });
    golden_value!(
        heartbeat,
        Heartbeat,
        Heartbeat { group: Some(HeartbeatGroup { digests, ..group }), ..plain },
        "07 0f 3c00 00000000 04050602 00000000 01000000 01000000 02000000 03000000 \
         00000000 09000000 00000000 04000000 00000000 08000000 01020304 05060708",
        "07 0e 003c 00000000 04050602 00000000 00000001 00000001 00000002 00000003 \
         00000000 00000009 00000000 00000004 00000000 00000008 01020304 05060708"
    );
}

#[test]
fn gap() {
    let mut list = SequenceNumberSet::empty(SequenceNumber(5));
    assert!(list.insert(SequenceNumber(6)));
    let plain = Gap {
        reader_id: READER,
        writer_id: WRITER,
        gap_start: SequenceNumber(2),
        gap_list: list,
        group: None,
        filtered_count: None,
    };
    golden_value!(
        gap,
        Gap,
        plain,
        "08 01 2000 01020307 04050602 00000000 02000000 00000000 05000000 02000000 00000040",
        "08 00 0020 01020307 04050602 00000000 00000002 00000000 00000005 00000002 40000000"
    );
    let group = GapGroup { start_gsn: SequenceNumber(10), end_gsn: SequenceNumber(12) };
    golden_value!(
        gap,
        Gap,
        Gap { group: Some(group), filtered_count: Some(3), ..plain },
        "08 07 3800 01020307 04050602 00000000 02000000 00000000 05000000 02000000 00000040 \
         00000000 0a000000 00000000 0c000000 00000000 03000000",
        "08 06 0038 01020307 04050602 00000000 00000002 00000000 00000005 00000002 40000000 \
         00000000 0000000a 00000000 0000000c 00000000 00000003"
    );
    golden_value!(
        gap,
        Gap,
        Gap { filtered_count: Some(1), ..plain },
        "08 05 2800 01020307 04050602 00000000 02000000 00000000 05000000 02000000 00000040 00000000 01000000",
        "08 04 0028 01020307 04050602 00000000 00000002 00000000 00000005 00000002 40000000 00000000 00000001"
    );
}

#[test]
fn nack_frag() {
    let mut set = FragmentNumberSet::empty(3);
    assert!(set.insert(4));
    golden_value!(
        nack_frag,
        NackFrag,
        NackFrag {
            reader_id: READER,
            writer_id: WRITER,
            writer_sn: SN,
            fragment_number_state: set,
            count: 5
        },
        "12 01 2000 01020307 04050602 01000000 02000000 03000000 02000000 00000040 05000000",
        "12 00 0020 01020307 04050602 00000001 00000002 00000003 00000002 40000000 00000005"
    );
}

#[test]
fn heartbeat_frag() {
    golden_value!(
        heartbeat_frag,
        HeartbeatFrag,
        HeartbeatFrag { reader_id: READER, writer_id: WRITER, writer_sn: SN, last_fragment_num: 9, count: 5 },
        "13 01 1800 01020307 04050602 01000000 02000000 09000000 05000000",
        "13 00 0018 01020307 04050602 00000001 00000002 00000009 00000005"
    );
}

#[test]
fn echo() {
    golden_value!(
        echo_request,
        EchoRequest,
        EchoRequest { reader_id: EntityId::UNKNOWN, writer_id: WRITER, count: 5 },
        "d0 01 0c00 00000000 04050602 05000000",
        "d0 00 000c 00000000 04050602 00000005"
    );
    golden_value!(
        echo,
        Echo,
        Echo { reader_id: READER, writer_id: WRITER, count: -2, room: 0 },
        "d1 01 0c00 01020307 04050602 feffffff",
        "d1 00 000c 01020307 04050602 fffffffe"
    );
    golden_value!(
        echo,
        Echo,
        Echo { reader_id: READER, writer_id: WRITER, count: -2, room: 0x0020_0000 },
        "d1 01 1000 01020307 04050602 feffffff 00002000",
        "d1 00 0010 01020307 04050602 fffffffe 00200000"
    );
}

/// The ids are every vendor's own: what does not look like ours is passed over, and what follows it is read.
#[test]
fn echo_of_another_kind() {
    for text in [
        "d0 01 0400 04050602",
        "d1 01 0c00 00000000 04050602 05000000",
        "d1 01 0c00 04050602 01020307 00000000",
    ] {
        assert_eq!(only(&message(text)), Ok(Submessage::Unknown), "{text}");
    }
}

#[test]
fn info_dst() {
    let prefix = GuidPrefix(*b"123456789abc");
    golden(
        "0e 01 0c00 313233343536373839616263",
        "0e 00 000c 313233343536373839616263",
        |builder| builder.info_dst(prefix),
        |body| assert_eq!(*body, Submessage::InfoDst(prefix)),
    );
}

#[test]
fn info_src() {
    golden_value!(
        info_src,
        InfoSrc,
        InfoSrc {
            version: ProtocolVersion { major: 2, minor: 4 },
            vendor_id: VendorId::OPENDDS,
            guid_prefix: GuidPrefix(*b"123456789abc"),
        },
        "0c 01 1400 00000000 0204 0103 313233343536373839616263",
        "0c 00 0014 00000000 0204 0103 313233343536373839616263"
    );
}

#[test]
fn info_ts() {
    let half = Some(WallTime(1_500_000_000));
    golden(
        "09 01 0800 01000000 00000080",
        "09 00 0008 00000001 80000000",
        |builder| builder.info_ts(half),
        |body| assert_eq!(*body, Submessage::InfoTs(half)),
    );
    golden(
        "09 03 0000",
        "09 02 0000",
        |builder| builder.info_ts(None),
        |body| assert_eq!(*body, Submessage::InfoTs(None)),
    );
}

#[test]
fn info_ts_outside_the_wire_range_is_written_invalid() {
    for time in [WallTime(-1), WallTime(i64::MAX)] {
        let bytes = build(Endianness::Little, |builder| assert!(builder.info_ts(Some(time))));
        assert_eq!(bytes, message("09 03 0000"));
    }
    let invalid = message("09 01 0800 ffffffff ffffffff");
    assert_eq!(only(&invalid), Ok(Submessage::InfoTs(None)));
}

#[test]
fn info_reply() {
    let a = Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 1), 7411);
    let b = Locator::udp_v4(Ipv4Addr::new(239, 255, 0, 1), 7401);
    golden(
        "0f 03 3800 01000000 01000000 f31c0000 0000000000000000000000000a000001 \
         01000000 01000000 e91c0000 000000000000000000000000efff0001",
        "0f 02 0038 00000001 00000001 00001cf3 0000000000000000000000000a000001 \
         00000001 00000001 00001ce9 000000000000000000000000efff0001",
        |builder| builder.info_reply(&[a], Some(&[b])),
        |body| {
            let Submessage::InfoReply(reply) = body else { panic!("{body:?}") };
            assert_eq!(reply.unicast.iter().collect::<Vec<_>>(), [a]);
            assert_eq!(reply.multicast.unwrap().iter().collect::<Vec<_>>(), [b]);
        },
    );
    golden(
        "0f 01 0400 00000000",
        "0f 00 0004 00000000",
        |builder| builder.info_reply(&[], None),
        |body| {
            let Submessage::InfoReply(reply) = body else { panic!("{body:?}") };
            assert!(reply.unicast.is_empty() && reply.multicast.is_none());
        },
    );
}

#[test]
fn info_reply_ip4() {
    let unicast = Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 1), 7411);
    golden_value!(
        info_reply_ip4,
        InfoReplyIp4,
        InfoReplyIp4 { unicast, multicast: Some(Locator::INVALID) },
        "0d 03 1000 0100000a f31c0000 00000000 00000000",
        "0d 02 0010 0a000001 00001cf3 00000000 00000000"
    );
    golden_value!(
        info_reply_ip4,
        InfoReplyIp4,
        InfoReplyIp4 { unicast, multicast: None },
        "0d 01 0800 0100000a f31c0000",
        "0d 00 0008 0a000001 00001cf3"
    );
}

#[test]
fn pad() {
    golden("01 01 0000", "01 00 0000", |builder| builder.pad(0), |body| assert_eq!(*body, Submessage::Pad));
    golden(
        "01 01 0800 0000000000000000",
        "01 00 0008 0000000000000000",
        |builder| builder.pad(5),
        |body| assert_eq!(*body, Submessage::Pad),
    );
}

#[test]
fn data() {
    let payload = hex("00010000 01020304");
    golden(
        "15 05 1c00 0000 1000 01020307 04050602 01000000 02000000 00010000 01020304",
        "15 04 001c 0000 0010 01020307 04050602 00000001 00000002 00010000 01020304",
        |builder| {
            let payload = PayloadSpec::Data(SharedBytes::copy_from(&payload));
            let (reader_id, writer_id) = (READER, WRITER);
            builder.data(&DataSpec { reader_id, writer_id, writer_sn: SN, inline_qos: &[], payload })
        },
        |body| {
            let Submessage::Data(data) = body else { panic!("{body:?}") };
            assert_eq!((data.reader_id, data.writer_id, data.writer_sn), (READER, WRITER, SN));
            assert_eq!((data.payload, data.inline_qos), (Payload::Data(&payload), None));
            assert!(!data.non_standard_payload);
        },
    );
}

#[test]
fn data_without_payload_and_with_key() {
    for (little, big, key) in [
        (
            "15 03 2000 0000 1000 01020307 04050602 01000000 02000000 7100 0400 00000003 0100 0000",
            "15 02 0020 0000 0010 01020307 04050602 00000001 00000002 0071 0004 00000003 0001 0000",
            None,
        ),
        (
            "15 0b 2800 0000 1000 01020307 04050602 01000000 02000000 7100 0400 00000003 0100 0000 00010000 0a0b0000",
            "15 0a 0028 0000 0010 01020307 04050602 00000001 00000002 0071 0004 00000003 0001 0000 00010000 0a0b0000",
            Some("00010000 0a0b"),
        ),
    ] {
        for (text, endianness) in [(little, Endianness::Little), (big, Endianness::Big)] {
            let bytes = message(text);
            let Ok(Submessage::Data(data)) = only(&bytes) else { panic!("{text}") };
            let list = data.inline_qos.unwrap();
            assert_eq!(dunlin_wire::status_info(&list).0, 3);
            // The padding belongs to the payload as far as a receiver can tell.
            let padded = key.map(|key| [hex(key), vec![0, 0]].concat());
            assert_eq!(data.payload, padded.as_ref().map_or(Payload::None, |key| Payload::Key(key)));
            let payload = key.map_or(PayloadSpec::None, |key| PayloadSpec::Key(SharedBytes::from(hex(key))));
            let spec = DataSpec {
                reader_id: READER,
                writer_id: WRITER,
                writer_sn: SN,
                inline_qos: list.as_bytes(),
                payload,
            };
            assert_eq!(spec.encoded_len(), bytes.len() - 20);
            assert_eq!(build(endianness, |builder| assert!(builder.data(&spec))), bytes);
            truncations(&bytes);
        }
    }
}

#[test]
fn data_frag() {
    let payload = hex("0102030405060708 090a0b0c");
    for (text, endianness) in [
        (
            "16 05 2c00 0000 1c00 01020307 04050602 01000000 02000000 02000000 0200 0800 14000000 \
             0102030405060708090a0b0c",
            Endianness::Little,
        ),
        (
            "16 04 002c 0000 001c 01020307 04050602 00000001 00000002 00000002 0002 0008 00000014 \
             0102030405060708090a0b0c",
            Endianness::Big,
        ),
    ] {
        let bytes = message(text);
        let Ok(Submessage::DataFrag(data)) = only(&bytes) else { panic!("{text}") };
        assert_eq!((data.fragment_starting_num, data.fragments_in_submessage), (2, 2));
        assert_eq!((data.fragment_size, data.sample_size, data.payload), (8, 20, payload.as_slice()));
        assert_eq!((data.total_fragments(), data.offset()), (3, 8));
        assert!(data.key_flag && !data.non_standard_payload && data.inline_qos.is_none());
        let spec = DataFragSpec {
            reader_id: data.reader_id,
            writer_id: data.writer_id,
            writer_sn: data.writer_sn,
            fragment_starting_num: 2,
            fragments_in_submessage: 2,
            fragment_size: 8,
            sample_size: 20,
            inline_qos: &[],
            key_flag: true,
            payload: SharedBytes::copy_from(&payload),
        };
        assert_eq!(spec.encoded_len(), bytes.len() - 20);
        assert_eq!(build(endianness, |builder| assert!(builder.data_frag(&spec))), bytes);
        truncations(&bytes);
    }
}

#[test]
fn security() {
    let element = hex("00000002 00000001 0a0b0c0d 0102030405060708");
    let prefix = SecuritySubmessage {
        kind: SecurityKind::SrtpsPrefix,
        header_is_authenticated: true,
        pre_shared_key: false,
        body: &element,
    };
    golden(
        "33 03 1400 00000002 00000001 0a0b0c0d 0102030405060708",
        "33 02 0014 00000002 00000001 0a0b0c0d 0102030405060708",
        |builder| builder.security(&prefix),
        |body| {
            assert_eq!(*body, Submessage::Security(prefix));
            let header = prefix.header().unwrap();
            assert_eq!((header.transformation_kind, header.session_id), ([0, 0, 0, 2], [10, 11, 12, 13]));
            assert_eq!(header.initialization_vector_suffix, [1, 2, 3, 4, 5, 6, 7, 8]);
        },
    );
    let mac = "11".repeat(16);
    let footer = format!("32 01 2800 {mac} 00000001 01020304 {mac}");
    let footer = message(&footer);
    let Ok(Submessage::Security(postfix)) = only(&footer) else { panic!("no postfix") };
    let macs: Vec<_> = postfix.footer().unwrap().receiver_macs().collect();
    assert_eq!(
        (macs.len(), macs[0].receiver_mac_key_id, macs[0].receiver_mac),
        (1, [1, 2, 3, 4], [0x11; 16])
    );
    let content = message("30 01 0c00 00000006 010203040506 0000");
    let Ok(Submessage::Security(body)) = only(&content) else { panic!("no body") };
    assert_eq!(body.content(), Some([1, 2, 3, 4, 5, 6].as_slice()));
    assert_eq!((body.header(), body.footer()), (None, None));
    truncations(&footer);
    truncations(&content);
}

#[test]
fn a_small_sample_is_info_ts_and_data() {
    let time = WallTime(1_700_000_000_123_456_789);
    for len in 0..=257 {
        let payload = SharedBytes::copy_from(&vec![7; len]);
        let separate = build(Endianness::Little, |builder| {
            builder.info_ts(Some(time));
            assert!(builder.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id: WRITER,
                writer_sn: SN,
                inline_qos: &[],
                payload: PayloadSpec::Data(payload.clone()),
            }));
        });
        let mut added = false;
        let mut together =
            |builder: &mut MessageBuilder<'_>| added = builder.small_sample(time, WRITER, SN, &payload);
        let whole = build(Endianness::Little, &mut together);
        assert_eq!((added, if added { whole } else { separate.clone() }), (len <= 256, separate));
    }
    let payload = SharedBytes::copy_from(&[7; 8]);
    build(Endianness::Big, |builder| assert!(!builder.small_sample(time, WRITER, SN, &payload)));
    build(Endianness::Little, |builder| {
        assert!(!builder.small_sample(WallTime(-1), WRITER, SN, &payload), "no message can carry it");
        builder.non_standard_payload(true);
        assert!(!builder.small_sample(time, WRITER, SN, &payload));
    });
}
