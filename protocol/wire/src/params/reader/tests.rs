//! RTPS 2.5 §9.6.3: values of parameters, good and bad.

use alloc::vec::Vec;

use super::*;
use crate::testing::hex;

const LITTLE: Endianness = Endianness::Little;

#[test]
fn single_values() {
    assert_eq!(as_u32(&hex("01000080"), LITTLE), Ok(0x8000_0001));
    assert_eq!(as_u32(&hex("80000001"), Endianness::Big), Ok(0x8000_0001));
    assert_eq!(as_i32(&hex("ffffffff 99"), LITTLE), Ok(-1));
    assert_eq!(as_bool(&hex("01000000"), LITTLE), Ok(true));
    assert_eq!(as_str(&hex("07000000 53717561726500 00"), LITTLE), Ok("Square"));
    assert_eq!(as_octets(&hex("02000000 0102 0000"), LITTLE), Ok([1, 2].as_slice()));
    let guid = hex("c0a8020500003a200000000280000007");
    assert_eq!(as_guid(&guid, LITTLE).unwrap().to_bytes(), *guid);
    assert_eq!(as_entity_id(&hex("000100c2"), LITTLE), Ok(EntityId::SPDP_WRITER));
    assert_eq!(as_vendor_id(&hex("01100000"), LITTLE), Ok(VendorId::CYCLONE_DDS));
    assert_eq!(as_protocol_version(&hex("02050000"), LITTLE), Ok(ProtocolVersion::V2_5));
    assert_eq!(as_sequence_number(&hex("01000000 02000000"), LITTLE), Ok(SequenceNumber((1 << 32) + 2)));
    let locator = as_locator(&hex("01000000 f31c0000 000000000000000000000000 7f000001"), LITTLE).unwrap();
    assert_eq!(alloc::format!("{locator}"), "udp/127.0.0.1:7411");
}

#[test]
fn durations_in_fractions_and_in_nanoseconds() {
    assert_eq!(as_duration(&hex("00000000 9a999919"), LITTLE), Ok(Duration::from_millis(100)));
    assert_eq!(as_duration(&hex("ffffff7f 00000000"), LITTLE), Ok(Duration::INFINITE));
    assert_eq!(as_duration_of_nanos(&hex("00000000 00e1f505"), LITTLE), Ok(Duration::from_millis(100)));
}

#[test]
fn parameters_that_are_too_short_are_refused() {
    let bytes = hex("01000000 0200");
    assert_eq!(as_u32(&bytes[..3], LITTLE), Err(invalid()));
    assert_eq!(as_guid(&bytes, LITTLE), Err(invalid()));
    assert_eq!(as_duration(&bytes, LITTLE), Err(invalid()));
    assert_eq!(as_locator(&bytes, LITTLE), Err(invalid()));
    assert_eq!(as_sequence_number(&bytes, LITTLE), Err(invalid()));
    assert_eq!(as_bool(&[], LITTLE), Err(invalid()));
}

#[test]
fn strings_are_bounded_and_checked() {
    assert_eq!(as_str(&hex("00000000"), LITTLE), Ok(""));
    assert_eq!(as_str(&hex("01000000 00000000"), LITTLE), Ok(""));
    assert_eq!(as_str(&hex("02000000 4142"), LITTLE), Ok("AB"));
    assert_eq!(as_str(&hex("04000000 41004200"), LITTLE), Ok("A"));
    assert_eq!(as_str(&hex("ffffffff 41"), LITTLE), Err(invalid()));
    assert_eq!(as_str(&hex("02000000 c300"), LITTLE), Err(invalid()));
}

#[test]
fn sequences_of_strings() {
    let bytes = hex("03000000  02000000 4100 0000  01000000 00 000000  03000000 424300");
    let strings = as_strings(&bytes, LITTLE).unwrap();
    assert_eq!(strings.len(), 3);
    assert_eq!(strings.collect::<Vec<_>>(), ["A", "", "BC"]);
    assert_eq!(as_strings(&hex("00000000"), LITTLE).unwrap().count(), 0);
    assert!(as_strings(&hex("ffffffff 02000000 4100"), LITTLE).is_err());
    assert!(as_strings(&hex("02000000 02000000 4100 0000"), LITTLE).is_err());
}

#[test]
fn fields_are_aligned_from_the_start_of_the_value() {
    let mut reader = ParamReader::new(&[9, 0, 1, 0, 7, 0, 0, 0, 5], LITTLE);
    assert_eq!((reader.u8(), reader.u16(), reader.u32()), (Ok(9), Ok(1), Ok(7)));
    assert_eq!((reader.remaining(), reader.i16().is_err()), (1, true));
    assert_eq!((reader.rest(), reader.rest()), ([5].as_slice(), [].as_slice()));
}

#[test]
fn counts_are_bounded_by_the_octets_present() {
    assert_eq!(ParamReader::new(&hex("02000000 00000000"), LITTLE).count(2), Ok(2));
    assert_eq!(ParamReader::new(&hex("03000000 00000000"), LITTLE).count(2), Err(invalid()));
    assert_eq!(ParamReader::new(&hex("ffffffff 00000000"), LITTLE).count(usize::MAX), Err(invalid()));
}
