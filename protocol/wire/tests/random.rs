//! RTPS 2.5 §8.3.4.1: no bytes make a walk panic or go on for ever, and what is written is read back (properties).

mod common;

use common::{SOURCE, build, message, only, visit, walk};
use dunlin_buf::SharedBytes;
use dunlin_core::{
    EntityId, FragmentNumberSet, Guid, GuidPrefix, Locator, LocatorKind, ProtocolVersion, SequenceNumber,
    SequenceNumberSet, VendorId, WallTime,
};
use dunlin_wire::checksum::ChecksumKind;
use dunlin_wire::{
    AckNack, DataFragSpec, DataSpec, Endianness, Gap, GapGroup, GroupDigest, GroupDigests,
    HeaderExtensionSpec, Heartbeat, HeartbeatFrag, HeartbeatGroup, InfoReplyIp4, InfoSrc, MessageBuilder,
    NackFrag, ParameterList, ParameterListBuilder, Payload, PayloadSpec, SecurityKind, SecuritySubmessage,
    Submessage, pid,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn endianness() -> impl Strategy<Value = Endianness> {
    prop_oneof![Just(Endianness::Little), Just(Endianness::Big)]
}

fn reader() -> impl Strategy<Value = EntityId> {
    (any::<[u8; 3]>(), prop_oneof![Just(0x04), Just(0x07), Just(0xc4), Just(0xc7)])
        .prop_map(|([a, b, c], kind)| EntityId([a, b, c, kind]))
}

fn any_reader() -> impl Strategy<Value = EntityId> {
    prop_oneof![Just(EntityId::UNKNOWN), reader()]
}

fn writer() -> impl Strategy<Value = EntityId> {
    (any::<[u8; 3]>(), prop_oneof![Just(0x02), Just(0x03), Just(0xc2), Just(0xc3)])
        .prop_map(|([a, b, c], kind)| EntityId([a, b, c, kind]))
}

fn number() -> impl Strategy<Value = SequenceNumber> {
    prop_oneof![1..1000_i64, 1..i64::MAX - 1000, Just(1), Just(0xffff_ffff), Just(0x1_0000_0000)]
        .prop_map(SequenceNumber)
}

fn number_set() -> impl Strategy<Value = SequenceNumberSet> {
    (number(), vec(0..256_i64, 0..40)).prop_map(|(base, members)| {
        let mut set = SequenceNumberSet::empty(base);
        assert!(members.into_iter().all(|member| set.insert(base.plus(member))));
        set
    })
}

fn fragment_set() -> impl Strategy<Value = FragmentNumberSet> {
    (1..u32::MAX - 1000, vec(0..256_u32, 0..40)).prop_map(|(base, members)| {
        let mut set = FragmentNumberSet::empty(base);
        assert!(members.into_iter().all(|member| set.insert(base + member)));
        set
    })
}

fn locator() -> impl Strategy<Value = Locator> {
    (any::<i32>(), any::<u32>(), any::<[u8; 16]>()).prop_map(|(kind, port, address)| Locator {
        kind: LocatorKind(kind),
        port,
        address,
    })
}

fn ipv4_locator() -> impl Strategy<Value = Locator> {
    let valid = (any::<u32>(), 1..u32::MAX).prop_map(|(address, port)| {
        let mut octets = [0; 16];
        octets[12..].copy_from_slice(&address.to_be_bytes());
        Locator { kind: LocatorKind::UDP_V4, port, address: octets }
    });
    prop_oneof![valid, Just(Locator::INVALID)]
}

fn heartbeat() -> impl Strategy<Value = Heartbeat> {
    let digests = option::of(any::<([u8; 4], [u8; 4])>());
    let group = (number(), 0..1000_i64, 0..1000_i64, digests).prop_map(|(first, current, last, digests)| {
        HeartbeatGroup {
            current_gsn: first.plus(current),
            first_gsn: first,
            last_gsn: first.plus(last - 1),
            digests: digests.map(|(writers, secure)| GroupDigests {
                writer_set: GroupDigest(writers),
                secure_writer_set: GroupDigest(secure),
            }),
        }
    });
    (any_reader(), writer(), number(), 0..1000_i64, any::<(i32, bool, bool)>(), option::of(group)).prop_map(
        |(reader_id, writer_id, first_sn, more, (count, final_flag, liveliness_flag), group)| {
            let last_sn = first_sn.plus(more - 1);
            Heartbeat { reader_id, writer_id, first_sn, last_sn, count, final_flag, liveliness_flag, group }
        },
    )
}

fn gap() -> impl Strategy<Value = Gap> {
    let group = (number(), 1..1000_i64)
        .prop_map(|(start_gsn, more)| GapGroup { start_gsn, end_gsn: start_gsn.plus(more) });
    (any_reader(), writer(), number(), number_set(), option::of(group), option::of(any::<i64>())).prop_map(
        |(reader_id, writer_id, gap_start, gap_list, group, filtered_count)| Gap {
            reader_id,
            writer_id,
            gap_start,
            gap_list,
            group,
            filtered_count,
        },
    )
}

/// What a parameter list contains, with values padded to four bytes.
fn parameters() -> impl Strategy<Value = Vec<(u16, Vec<u8>)>> {
    let identifier =
        prop_oneof![Just(pid::USER_DATA), Just(pid::KEY_HASH), 0x8000..0x8fff_u16, 0x100..0x200_u16];
    let value = (4..12_usize).prop_flat_map(|words| vec(any::<u8>(), words * 4));
    vec((identifier, value), 0..6)
}

fn list(parameters: &[(u16, Vec<u8>)], endianness: Endianness) -> Vec<u8> {
    let mut builder = ParameterListBuilder::with_endianness(endianness);
    assert!(parameters.iter().all(|(pid, value)| builder.put_bytes(*pid, value)));
    builder.finish()
}

fn contents(list: &ParameterList<'_>) -> Vec<(u16, Vec<u8>)> {
    list.iter().map(|parameter| (parameter.pid, parameter.value.to_vec())).collect()
}

/// Writes one submessage and reads it back.
fn round_trip(
    endianness: Endianness,
    write: impl FnOnce(&mut MessageBuilder<'_>) -> bool,
    check: impl FnOnce(Submessage<'_>),
) {
    let bytes = build(endianness, |builder| assert!(write(builder)));
    assert!(bytes.len().is_multiple_of(4));
    let all = walk(&bytes);
    assert_eq!(all.len(), 1);
    check(all[0].unwrap().body);
}

proptest! {
    #[test]
    fn random_octets(bytes in vec(any::<u8>(), 0..600)) {
        visit(&bytes);
        for endianness in [Endianness::Little, Endianness::Big] {
            if let Ok((list, consumed)) = ParameterList::parse(&bytes, endianness) {
                prop_assert!(consumed <= bytes.len() && list.iter().count() <= bytes.len() / 4);
            }
        }
    }

    #[test]
    fn random_submessages(
        submessages in vec((0..0x40_u8, any::<u8>(), vec(any::<u8>(), 0..80)), 0..8),
    ) {
        let mut bytes = message("");
        for (kind, flags, body) in submessages {
            let length = body.len() as u16;
            let length = if flags & 1 == 1 { length.to_le_bytes() } else { length.to_be_bytes() };
            bytes.extend([kind, flags, length[0], length[1]]);
            bytes.extend(body);
        }
        prop_assert!(walk(&bytes).len() <= bytes.len() / 4);
        visit(&bytes);
    }

    #[test]
    fn damaged_messages(
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        heartbeat in heartbeat(),
        gap in gap(),
        parameters in parameters(),
        endianness in endianness(),
    ) {
        let qos = list(&parameters, endianness);
        let mut bytes = build(endianness, |builder| {
            builder.info_dst(SOURCE);
            builder.heartbeat(&heartbeat);
            builder.gap(&gap);
            builder.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id: heartbeat.writer_id,
                writer_sn: heartbeat.first_sn,
                inline_qos: &qos,
                payload: PayloadSpec::Key(SharedBytes::from(vec![0; 16])),
            });
        });
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        visit(&bytes);
        visit(&bytes[..cut.index(bytes.len())]);
    }

    #[test]
    fn acknack(
        ids in (reader(), writer()),
        reader_sn_state in number_set(),
        (count, final_flag) in any::<(i32, bool)>(),
        endianness in endianness(),
    ) {
        let value = AckNack { reader_id: ids.0, writer_id: ids.1, reader_sn_state, count, final_flag };
        round_trip(endianness, |builder| builder.acknack(&value), |read| assert_eq!(read, Submessage::AckNack(value)));
    }

    #[test]
    fn heartbeats(value in heartbeat(), endianness in endianness()) {
        let expected = Submessage::Heartbeat(value);
        round_trip(endianness, |builder| builder.heartbeat(&value), |read| assert_eq!(read, expected));
    }

    #[test]
    fn gaps(value in gap(), endianness in endianness()) {
        round_trip(endianness, |builder| builder.gap(&value), |read| assert_eq!(read, Submessage::Gap(value)));
    }

    #[test]
    fn nack_frags(
        (reader_id, writer_id, writer_sn) in (reader(), writer(), number()),
        fragment_number_state in fragment_set(),
        count in any::<i32>(),
        endianness in endianness(),
    ) {
        let value = NackFrag { reader_id, writer_id, writer_sn, fragment_number_state, count };
        let expected = Submessage::NackFrag(value);
        round_trip(endianness, |builder| builder.nack_frag(&value), |read| assert_eq!(read, expected));
    }

    #[test]
    fn heartbeat_frags(
        (reader_id, writer_id, writer_sn) in (any_reader(), writer(), number()),
        last_fragment_num in 1..=u32::MAX,
        count in any::<i32>(),
        endianness in endianness(),
    ) {
        let value = HeartbeatFrag { reader_id, writer_id, writer_sn, last_fragment_num, count };
        let expected = Submessage::HeartbeatFrag(value);
        round_trip(endianness, |builder| builder.heartbeat_frag(&value), |read| assert_eq!(read, expected));
    }

    #[test]
    fn infos(
        prefix in any::<[u8; 12]>(),
        (major, minor, vendor) in any::<(u8, u8, [u8; 2])>(),
        nanos in 0..4_294_967_295_000_000_000_i64,
        (unicast, multicast) in (ipv4_locator(), option::of(ipv4_locator())),
        endianness in endianness(),
    ) {
        let guid_prefix = GuidPrefix(prefix);
        let dst = Submessage::InfoDst(guid_prefix);
        round_trip(endianness, |builder| builder.info_dst(guid_prefix), |read| assert_eq!(read, dst));
        let version = ProtocolVersion { major, minor };
        let src = InfoSrc { version, vendor_id: VendorId(vendor), guid_prefix };
        let expected = Submessage::InfoSrc(src);
        round_trip(endianness, |builder| builder.info_src(&src), |read| assert_eq!(read, expected));
        let time = Some(WallTime(nanos));
        round_trip(endianness, |builder| builder.info_ts(time), |read| assert_eq!(read, Submessage::InfoTs(time)));
        let reply = InfoReplyIp4 { unicast, multicast };
        let expected = Submessage::InfoReplyIp4(reply);
        round_trip(endianness, |builder| builder.info_reply_ip4(&reply), |read| assert_eq!(read, expected));
    }

    #[test]
    fn info_replies(
        unicast in vec(locator(), 0..6),
        multicast in option::of(vec(locator(), 0..6)),
        endianness in endianness(),
    ) {
        round_trip(endianness, |builder| builder.info_reply(&unicast, multicast.as_deref()), |read| {
            let Submessage::InfoReply(reply) = read else { panic!("{read:?}") };
            assert_eq!(reply.unicast.iter().collect::<Vec<_>>(), unicast);
            assert_eq!(reply.multicast.map(|list| list.iter().collect::<Vec<_>>()), multicast);
        });
    }

    #[test]
    fn data(
        (reader_id, writer_id, writer_sn) in (any_reader(), writer(), number()),
        parameters in option::of(parameters()),
        payload in option::of((any::<bool>(), vec(any::<u8>(), 4..200))),
        endianness in endianness(),
    ) {
        let inline_qos = parameters.as_ref().map_or(Vec::new(), |parameters| list(parameters, endianness));
        let spec = DataSpec {
            reader_id,
            writer_id,
            writer_sn,
            inline_qos: &inline_qos,
            payload: match &payload {
                None => PayloadSpec::None,
                Some((true, octets)) => PayloadSpec::Key(SharedBytes::copy_from(octets)),
                Some((false, octets)) => PayloadSpec::Data(SharedBytes::copy_from(octets)),
            },
        };
        round_trip(endianness, |builder| builder.data(&spec), |read| {
            let Submessage::Data(data) = read else { panic!("{read:?}") };
            assert_eq!((data.reader_id, data.writer_id, data.writer_sn), (reader_id, writer_id, writer_sn));
            assert_eq!(data.inline_qos.as_ref().map(contents), parameters);
            assert_eq!(matches!(data.payload, Payload::Key(_)), matches!(payload, Some((true, _))));
            let kept = payload.as_ref().map(|(_, octets)| {
                let padding = octets.len().next_multiple_of(4) - octets.len();
                [octets.as_slice(), &[0; 3][..padding]].concat()
            });
            assert_eq!(data.payload.bytes().map(<[u8]>::to_vec), kept);
        });
    }

    #[test]
    fn data_frags(
        (reader_id, writer_id, writer_sn) in (any_reader(), writer(), number()),
        (fragment_size, sample_size) in (1..300_u16, 300..3000_u32),
        (first, count) in any::<(prop::sample::Index, prop::sample::Index)>(),
        parameters in parameters(),
        (key_flag, endianness) in (any::<bool>(), endianness()),
    ) {
        let total = sample_size.div_ceil(u32::from(fragment_size));
        let before = first.index(total as usize) as u32;
        let count = 1 + count.index((total - before) as usize) as u32;
        let size = u32::from(fragment_size);
        let len = ((before + count) * size).min(sample_size) - before * size;
        let payload: Vec<u8> = (0..len).map(|octet| octet as u8).collect();
        let inline_qos = list(&parameters, endianness);
        let spec = DataFragSpec {
            reader_id,
            writer_id,
            writer_sn,
            fragment_starting_num: before + 1,
            fragments_in_submessage: count as u16,
            fragment_size,
            sample_size,
            inline_qos: &inline_qos,
            key_flag,
            payload: SharedBytes::copy_from(&payload),
        };
        round_trip(endianness, |builder| builder.data_frag(&spec), |read| {
            let Submessage::DataFrag(data) = read else { panic!("{read:?}") };
            assert_eq!((data.reader_id, data.writer_id, data.writer_sn), (reader_id, writer_id, writer_sn));
            assert_eq!((data.fragment_starting_num, data.offset()), (before + 1, before * size));
            assert_eq!((u32::from(data.fragments_in_submessage), data.total_fragments()), (count, total));
            assert_eq!((data.payload, data.key_flag), (payload.as_slice(), key_flag));
            assert_eq!(contents(&data.inline_qos.unwrap()), parameters);
        });
    }

    #[test]
    fn header_extensions(
        (message_length, nanos) in (any::<bool>(), option::of(0..4_000_000_000_000_000_000_i64)),
        (u_extension4, w_extension8) in (option::of(any::<[u8; 4]>()), option::of(any::<[u8; 8]>())),
        checksum in option::of(prop::sample::select(vec![
            ChecksumKind::Crc32c, ChecksumKind::Crc64Xz, ChecksumKind::Md5,
        ])),
        parameters in option::of(parameters()),
        endianness in endianness(),
    ) {
        let octets = parameters.as_ref().map_or(Vec::new(), |parameters| list(parameters, endianness));
        let send_timestamp = nanos.map(WallTime);
        let spec = HeaderExtensionSpec {
            message_length, send_timestamp, u_extension4, w_extension8, checksum, parameters: &octets,
        };
        // One that says nothing is refused.
        prop_assume!(spec != HeaderExtensionSpec::default());
        round_trip(endianness, |builder| builder.header_extension(&spec), |read| {
            let Submessage::HeaderExtension(extension) = read else { panic!("{read:?}") };
            assert_eq!(extension.message_length.is_some(), message_length);
            assert_eq!(extension.send_timestamp, send_timestamp);
            assert_eq!((extension.u_extension4, extension.w_extension8), (u_extension4, w_extension8));
            assert_eq!(extension.checksum.map(|checksum| checksum.kind), checksum);
            assert_eq!(extension.parameters.as_ref().map(contents), parameters);
        });
    }

    #[test]
    fn security(content in vec(any::<u8>(), 0..64), flags in any::<(bool, bool)>(), endianness in endianness()) {
        let mut body = (content.len() as u32).to_be_bytes().to_vec();
        body.extend(&content);
        let value = SecuritySubmessage {
            kind: SecurityKind::SecBody, header_is_authenticated: false, pre_shared_key: false, body: &body,
        };
        round_trip(endianness, |builder| builder.security(&value), |read| {
            let Submessage::Security(security) = read else { panic!("{read:?}") };
            assert_eq!(security.content(), Some(content.as_slice()));
        });
        let header = [7; 20];
        let value = SecuritySubmessage {
            kind: SecurityKind::SrtpsPrefix, header_is_authenticated: flags.0, pre_shared_key: flags.1, body: &header,
        };
        let expected = Submessage::Security(value);
        round_trip(endianness, |builder| builder.security(&value), |read| assert_eq!(read, expected));
    }

    #[test]
    fn parameter_values(
        text in "[a-zA-Z0-9_/]{0,40}",
        texts in vec("[a-z]{0,9}", 0..5),
        octets in vec(any::<u8>(), 0..50),
        (locator, guid, nanos) in (locator(), any::<[u8; 16]>(), 0..i64::from(i32::MAX - 1) * 1_000_000_000),
        endianness in endianness(),
    ) {
        let duration = dunlin_core::Duration::from_nanos(nanos);
        let mut builder = ParameterListBuilder::payload(endianness);
        prop_assert!(builder.put_string(pid::TOPIC_NAME, &text));
        prop_assert!(builder.put_strings(pid::PARTITION, texts.iter().map(String::as_str)));
        prop_assert!(builder.put_octets(pid::USER_DATA, &octets));
        prop_assert!(builder.put_locator(pid::UNICAST_LOCATOR, &locator));
        prop_assert!(builder.put_guid(pid::ENDPOINT_GUID, Guid::from_bytes(guid)));
        prop_assert!(builder.put_duration(pid::DEADLINE, duration));
        let bytes = builder.finish();
        let list = ParameterList::from_payload(&bytes).unwrap();
        prop_assert_eq!(list.read(pid::TOPIC_NAME).unwrap().string(), Ok(text.as_str()));
        let read: Vec<String> = list.read(pid::PARTITION).unwrap().strings().unwrap().map(String::from).collect();
        prop_assert_eq!(read, texts);
        prop_assert_eq!(list.read(pid::USER_DATA).unwrap().octets(), Ok(octets.as_slice()));
        prop_assert_eq!(list.read(pid::UNICAST_LOCATOR).unwrap().locator(), Ok(locator));
        prop_assert_eq!(list.read(pid::ENDPOINT_GUID).unwrap().guid(), Ok(Guid::from_bytes(guid)));
        prop_assert_eq!(list.read(pid::DEADLINE).unwrap().duration(), Ok(duration));
        for len in (0..bytes.len()).step_by(if cfg!(miri) { 11 } else { 1 }) {
            prop_assert!(ParameterList::from_payload(&bytes[..len]).is_err());
        }
    }
}

#[test]
fn a_written_message_is_read_by_its_own_header() {
    let bytes = build(Endianness::Little, |builder| assert!(builder.pad(0)));
    assert_eq!(only(&bytes), Ok(Submessage::Pad));
    let read = dunlin_wire::Message::parse(&bytes).unwrap();
    assert_eq!(read.header(), dunlin_wire::Header::of(SOURCE));
    assert_eq!(read.as_bytes(), bytes);
}
