//! RTPS 2.5 §8.3.4.1 and §9.4.5.1: walking from submessage to submessage.

mod common;

use common::{HEADER, build, hex, message, walk};
use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{EntityId, GuidPrefix, Locator, SequenceNumber};
use dunlin_wire::{
    DataFragSpec, DataSpec, Endianness, Malformation, MessageBuilder, Parsed, Payload, PayloadSpec,
    SecurityKind, SecuritySubmessage, Submessage, WireError, kind, size,
};

const WRITER: EntityId = EntityId([0, 0, 1, 2]);

fn bodies(bytes: &[u8]) -> Vec<Result<Submessage<'_>, WireError>> {
    walk(bytes).into_iter().map(|parsed| parsed.map(|parsed: Parsed<'_>| parsed.body)).collect()
}

fn large(payload: PayloadSpec) -> DataSpec<'static> {
    DataSpec {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER,
        writer_sn: SequenceNumber(1),
        inline_qos: &[],
        payload,
    }
}

#[test]
fn a_header_alone_has_no_submessages() {
    assert_eq!(walk(&hex(HEADER)), []);
}

#[test]
fn places_and_raw_octets() {
    let bytes = message("01 01 0400 00000000  09 03 0000  aa 01 0800 0000000000000000");
    let all: Vec<_> = walk(&bytes).into_iter().map(Result::unwrap).collect();
    let places: Vec<_> = all.iter().map(|parsed| (parsed.kind, parsed.flags, parsed.offset)).collect();
    assert_eq!(places, [(kind::PAD, 1, 20), (kind::INFO_TS, 3, 28), (0xaa, 1, 32)]);
    assert_eq!(all[2].raw, &bytes[32..]);
    assert_eq!(all[2].body, Submessage::Unknown);
}

#[test]
fn a_length_of_zero_reaches_to_the_end_except_where_empty_is_possible() {
    let bytes = message("01 01 0000  09 03 0000  0e 01 0000 0102030405060708090a0b0c ffffffff");
    let expected = GuidPrefix(core::array::from_fn(|index| index as u8 + 1));
    assert_eq!(
        bodies(&bytes),
        [Ok(Submessage::Pad), Ok(Submessage::InfoTs(None)), Ok(Submessage::InfoDst(expected))]
    );
    // An INFO_TS that should carry a time does not take it from the next submessage.
    let bytes = message("09 01 0000  01 01 0400 00000000");
    let error = WireError::Malformed { kind: kind::INFO_TS, reason: Malformation::TooShort };
    assert_eq!(bodies(&bytes), [Err(error)]);
    let unknown = message("7f 01 0000 01 01 0000");
    assert_eq!(bodies(&unknown), [Ok(Submessage::Unknown)]);
}

#[test]
fn unknown_and_incomprehensible_submessages_are_skipped_alone() {
    let bytes = message(
        "02 01 0400 00000000  81 01 0400 00000000  07 01 1c00 00000000 0000014c 00000000 01000000 00000000 00000000 \
         01000000  01 01 0000",
    );
    let all = bodies(&bytes);
    assert_eq!(all.len(), 4);
    assert_eq!((&all[0], &all[1]), (&Ok(Submessage::Unknown), &Ok(Submessage::Unknown)));
    assert!(matches!(all[2], Ok(Submessage::NotUnderstood(_))));
    assert_eq!(all[3], Ok(Submessage::Pad));
}

#[test]
fn a_malformed_submessage_drops_the_rest() {
    let bytes = message("01 01 0000  0e 01 0400 00000000  01 01 0000");
    let error = WireError::Malformed { kind: kind::INFO_DST, reason: Malformation::TooShort };
    assert_eq!(bodies(&bytes), [Ok(Submessage::Pad), Err(error)]);
}

#[test]
fn a_length_beyond_the_message_drops_the_rest() {
    for tail in ["0e 01 1000 000000000000000000000000", "01 01 00", "01", "7f 01 ffff"] {
        let bytes = message(&format!("01 01 0000 {tail}"));
        assert_eq!(bodies(&bytes), [Ok(Submessage::Pad), Err(WireError::LengthBeyondMessage)]);
    }
}

#[test]
fn octets_after_the_last_known_field_are_ignored() {
    let bytes = message("0e 01 1000 0102030405060708090a0b0c ffffffff 01 01 0000");
    assert_eq!(bodies(&bytes).len(), 2);
    assert!(bodies(&bytes).iter().all(Result::is_ok));
}

#[test]
fn a_walk_of_the_shortest_submessages_ends() {
    // Miri's records of references to one allocation grow with each of them.
    let count = if cfg!(miri) { 100 } else { 16_000 };
    let bytes = message(&"01 01 0000".repeat(count));
    assert_eq!(walk(&bytes).len(), count);
}

#[test]
fn submessage_above_64_kib_can_only_be_last() {
    let payload = SharedBytes::from(vec![7; 100_001]);
    let bytes = build(Endianness::Little, |builder| {
        assert!(builder.data(&large(PayloadSpec::Data(payload.clone()))));
        assert!(!builder.info_ts(None) && !builder.pad(0) && !builder.info_reply(&[], None));
        assert!(!builder.data(&large(PayloadSpec::None)));
    });
    assert_eq!(bytes[22..24], [0, 0]);
    let Ok(Submessage::Data(data)) = common::only(&bytes) else { panic!("no data") };
    let Payload::Data(octets) = data.payload else { panic!("no value") };
    assert_eq!((octets.len(), &octets[..100_001]), (100_004, &*payload));
}

#[test]
fn the_longest_stated_length() {
    // 20 fixed bytes: a body of 65 532 bytes is the longest multiple of four that can be stated.
    for (len, stated) in [(65_512, 0xfffc_u16), (65_513, 0)] {
        let bytes = build(Endianness::Big, |builder| {
            assert!(builder.data(&large(PayloadSpec::Data(SharedBytes::from(vec![0; len])))));
            assert_eq!(builder.pad(0), stated != 0);
        });
        assert_eq!(bytes[22..24], stated.to_be_bytes());
        assert!(walk(&bytes).iter().all(Result::is_ok));
    }
}

#[test]
fn security_bodies_state_their_length() {
    let mut body = vec![0; 65_536];
    body[..4].copy_from_slice(&65_528_u32.to_be_bytes());
    let submessage = |body| SecuritySubmessage {
        kind: SecurityKind::SecBody,
        header_is_authenticated: false,
        pre_shared_key: false,
        body,
    };
    let bytes = build(Endianness::Little, |builder| {
        assert!(!builder.security(&submessage(&body)));
        assert!(builder.security(&submessage(&body[..65_532])));
        assert!(builder.pad(0));
    });
    assert_eq!(walk(&bytes).len(), 2);
}

#[test]
fn payloads_are_shared_and_padded() {
    let payload = SharedBytes::from(vec![7; 257]);
    let mut outbox = Outbox::new();
    let mut builder = MessageBuilder::new(&mut outbox, GuidPrefix([1; 12]));
    assert!(builder.is_empty());
    let spec = large(PayloadSpec::Data(payload.clone()));
    assert!(builder.data(&spec) && builder.info_ts(None));
    assert_eq!(builder.len(), size::HEADER + spec.encoded_len() + size::SUBMESSAGE_HEADER);
    builder.finish(&[Locator::LOCAL]);
    let parts: Vec<&[u8]> = outbox.datagrams().flat_map(|datagram| datagram.parts()).collect();
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[1].as_ptr(), payload.as_ptr());
    assert_eq!(parts[2], hex("000000 09030000"));
}

#[test]
fn small_payloads_are_copied_into_one_piece() {
    let mut outbox = Outbox::new();
    let mut builder = MessageBuilder::new(&mut outbox, GuidPrefix([1; 12]));
    for len in [5, 256] {
        assert!(builder.data(&large(PayloadSpec::Data(vec![7; len].into()))));
    }
    builder.finish(&[Locator::LOCAL]);
    assert_eq!(outbox.datagrams().map(|datagram| datagram.parts().count()).sum::<usize>(), 1);
}

#[test]
fn empty_unfinished_and_unaddressed_messages_vanish() {
    let mut outbox = Outbox::new();
    MessageBuilder::new(&mut outbox, GuidPrefix([1; 12])).finish(&[Locator::LOCAL]);
    // Never finished.
    assert!(MessageBuilder::new(&mut outbox, GuidPrefix([1; 12])).pad(0));
    let mut builder = MessageBuilder::new(&mut outbox, GuidPrefix([1; 12]));
    assert!(builder.pad(0));
    builder.finish(&[]);
    assert_eq!(outbox.datagram_count(), 0);
}

#[test]
fn byte_orders_can_be_mixed() {
    let mut outbox = Outbox::new();
    let mut builder = MessageBuilder::new(&mut outbox, GuidPrefix([1; 12]));
    assert!(builder.pad(4));
    let mut builder = builder.with_endianness(Endianness::Big);
    assert!(builder.pad(4));
    builder.finish(&[Locator::LOCAL]);
    let mut bytes = Vec::new();
    outbox.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
    assert_eq!(bytes[20..], hex("01 01 0400 00000000 01 00 0004 00000000"));
}

#[test]
fn an_ipv4_reply_needs_ipv4_locators() {
    let bytes = build(Endianness::Little, |builder| {
        let unicast = Locator::udp_v6(std::net::Ipv6Addr::LOCALHOST, 1);
        assert!(!builder.info_reply_ip4(&dunlin_wire::InfoReplyIp4 { unicast, multicast: None }));
        assert!(builder.is_empty());
    });
    assert!(bytes.is_empty());
}

#[test]
fn protected_payloads_are_marked() {
    let payload = SharedBytes::from(vec![0; 8]);
    let fragment = DataFragSpec {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER,
        writer_sn: SequenceNumber(1),
        fragment_starting_num: 1,
        fragments_in_submessage: 1,
        fragment_size: 8,
        sample_size: 16,
        inline_qos: &[],
        key_flag: false,
        payload: payload.clone(),
    };
    let bytes = build(Endianness::Little, |builder| {
        for marked in [true, false] {
            builder.non_standard_payload(marked);
            assert!(builder.data(&large(PayloadSpec::Data(payload.clone()))) && builder.data_frag(&fragment));
        }
    });
    let marks: Vec<bool> = bodies(&bytes)
        .into_iter()
        .map(|body| match body.unwrap() {
            Submessage::Data(data) => data.non_standard_payload,
            Submessage::DataFrag(data) => data.non_standard_payload,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(marks, [true, true, false, false]);
}
