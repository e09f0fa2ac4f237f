//! RTPS 2.5 §9.4.2.11 and §10.6: lists as written.

use core::net::Ipv4Addr;

use super::*;
use crate::testing::hex;
use crate::{ParameterList, params};

/// The example of RTPS 2.5 §10.6: a reader of topic Square with two policies.
#[test]
fn reader_announcement_of_the_standard() {
    let expected = hex(
        "00030000 5a001000 c0a80205 00003a20 00000002 80000007 05000c00 07000000 53717561 72650000 07001000 0a000000 \
         53686170 65547970 65000000 25000400 01000000 23000800 03000000 00000000 01000000",
    );
    let guid = Guid::from_bytes(*hex("c0a8020500003a200000000280000007").first_chunk().unwrap());
    let mut builder = ParameterListBuilder::payload(Endianness::Little);
    assert!(builder.put_guid(pid::ENDPOINT_GUID, guid));
    assert!(builder.put_string(pid::TOPIC_NAME, "Square"));
    assert!(builder.put_string(pid::TYPE_NAME, "ShapeType"));
    assert!(builder.put_u32(pid::DESTINATION_ORDER, 1));
    assert!(builder.put_duration(pid::DEADLINE, Duration::from_secs(3)));
    assert_eq!(builder.finish(), expected);

    let list = ParameterList::from_payload(&expected).unwrap();
    assert_eq!(list.read(pid::ENDPOINT_GUID).unwrap().guid(), Ok(guid));
    assert_eq!(list.read(pid::TOPIC_NAME).unwrap().string(), Ok("Square"));
    assert_eq!(list.read(pid::TYPE_NAME).unwrap().string(), Ok("ShapeType"));
    assert_eq!(list.read(pid::DESTINATION_ORDER).unwrap().u32(), Ok(1));
    assert_eq!(list.read(pid::DEADLINE).unwrap().duration(), Ok(Duration::from_secs(3)));
    assert_eq!(list.iter().count(), 5);
}

#[test]
fn every_kind_of_value_round_trips_in_both_byte_orders() {
    let locator = Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 1), 7411);
    let guid = Guid::from_bytes([5; 16]);
    for endianness in [Endianness::Little, Endianness::Big] {
        let mut builder = ParameterListBuilder::with_endianness(endianness);
        assert!(builder.put_bytes(1000, &[1, 2, 3]));
        assert!(builder.put_i32(1001, -5));
        assert!(builder.put_bool(1002, true));
        assert!(builder.put_entity_id(1003, EntityId::SPDP_WRITER));
        assert!(builder.put_strings(1004, ["a", "", "bcd"].into_iter()));
        assert!(builder.put_octets(1005, &[9, 8]));
        assert!(builder.put_locator(1006, &locator));
        assert!(builder.put_sequence_number(1007, SequenceNumber(7 << 33)));
        assert!(builder.put_protocol_version(ProtocolVersion::V2_5));
        assert!(builder.put_vendor_id(VendorId::DUNLIN));
        assert!(builder.put_key_hash(&[4; 16]));
        assert!(builder.put_status_info(StatusInfo(3)));
        assert!(builder.put_guid(1008, guid));
        assert!(builder.put_with(1009, |out| {
            out.u16(7);
            out.bool(true);
            out.i16(-2);
            out.i32(-3);
        }));
        let bytes = builder.finish();
        assert!(bytes.len().is_multiple_of(4));
        let (list, consumed) = ParameterList::parse(&bytes, endianness).unwrap();
        assert_eq!(consumed, bytes.len());
        let read = |pid| list.read(pid).unwrap();
        assert_eq!(list.find(1000), Some([1, 2, 3, 0].as_slice()));
        assert_eq!(read(1001).i32(), Ok(-5));
        assert_eq!(read(1002).bool(), Ok(true));
        assert_eq!(read(1003).entity_id(), Ok(EntityId::SPDP_WRITER));
        assert!(read(1004).strings().unwrap().eq(["a", "", "bcd"]));
        assert_eq!(read(1005).octets(), Ok([9, 8].as_slice()));
        assert_eq!(read(1006).locator(), Ok(locator));
        assert_eq!(read(1007).sequence_number(), Ok(SequenceNumber(7 << 33)));
        assert_eq!(read(pid::PROTOCOL_VERSION).protocol_version(), Ok(ProtocolVersion::V2_5));
        assert_eq!(read(pid::VENDORID).vendor_id(), Ok(VendorId::DUNLIN));
        assert_eq!(params::key_hash(&list), Some([4; 16]));
        assert_eq!(params::status_info(&list), StatusInfo(3));
        assert_eq!(read(1008).guid(), Ok(guid));
        let mut mixed = read(1009);
        assert_eq!((mixed.u16(), mixed.bool(), mixed.i16(), mixed.i32()), (Ok(7), Ok(true), Ok(-2), Ok(-3)));
    }
}

#[test]
fn values_beyond_sixteen_bits_of_length_are_refused() {
    let mut builder = ParameterListBuilder::new();
    assert!(builder.put_u32(pid::DOMAIN_ID, 1));
    let before = builder.as_bytes().to_vec();
    assert!(!builder.put_bytes(pid::USER_DATA, &[0; 65_533]));
    assert_eq!(builder.as_bytes(), before);
    assert!(builder.put_bytes(pid::USER_DATA, &[0; 65_532]));
    let bytes = builder.finish();
    let (list, _) = ParameterList::parse(&bytes, Endianness::Little).unwrap();
    assert_eq!(list.find(pid::USER_DATA).map(<[u8]>::len), Some(65_532));
}

#[test]
fn lists_can_be_joined() {
    let mut extra = ParameterListBuilder::new();
    assert!(extra.put_sequence_number(pid::COHERENT_SET, SequenceNumber(3)));
    let extra = extra.finish_without_sentinel();
    let mut builder = ParameterListBuilder::new();
    assert!(builder.put_status_info(StatusInfo(1)));
    builder.put_list(&extra);
    let bytes = builder.finish();
    assert_eq!(bytes, hex("7100 0400 00000001 5600 0800 00000000 03000000 0100 0000"));
}
