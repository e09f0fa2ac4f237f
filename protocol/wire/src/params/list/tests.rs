//! RTPS 2.5 §9.4.2.11: which lists are well formed and what they yield.

use alloc::vec::Vec;

use super::*;
use crate::testing::hex;

/// Identifiers with their values, and the bytes that the list takes.
type Contents = (Vec<(u16, Vec<u8>)>, usize);

fn little(text: &str) -> Result<Contents, Malformation> {
    let bytes = hex(text);
    let (list, consumed) = ParameterList::scan(&bytes, Endianness::Little)?;
    Ok((list.iter().map(|parameter| (parameter.pid, parameter.value.to_vec())).collect(), consumed))
}

#[test]
fn parameters_in_order_without_padding_and_sentinel() {
    let (parameters, consumed) =
        little("0f00 0400 07000000  0000 0400 ffffffff  2f00 0000  2f00 0400 01020304  0100 ffff  99999999")
            .unwrap();
    assert_eq!(consumed, 32);
    assert_eq!(parameters, [(0x0f, hex("07000000")), (0x2f, Vec::new()), (0x2f, hex("01020304"))],);
}

#[test]
fn parameter_list_is_parsed_in_both_byte_orders() {
    let big = hex("000f 0004 00000007 0001 0000");
    let (list, consumed) = ParameterList::parse(&big, Endianness::Big).unwrap();
    assert_eq!((consumed, list.as_bytes()), (12, big.as_slice()));
    assert_eq!(list.read(pid::DOMAIN_ID).unwrap().u32(), Ok(7));
    assert_eq!(list.find(pid::DOMAIN_TAG), None);
}

#[test]
fn malformed_lists() {
    assert_eq!(little(""), Err(Malformation::ParameterListEnd));
    assert_eq!(little("0100"), Err(Malformation::ParameterListEnd));
    assert_eq!(little("0f00 0400 07000000"), Err(Malformation::ParameterListEnd));
    assert_eq!(little("0f00 0800 07000000 0100 00"), Err(Malformation::ParameterListEnd));
    assert_eq!(little("0f00 0300 07000000 0100 0000"), Err(Malformation::ParameterLength));
    assert_eq!(little("0000 0200 0000 0100 0000"), Err(Malformation::ParameterLength));
    let error = ParameterList::parse(&[], Endianness::Little).unwrap_err();
    assert_eq!(error, WireError::ParameterList(Malformation::ParameterListEnd));
}

#[test]
fn every_truncation_is_refused() {
    let bytes =
        hex("0f00 0400 07000000 0000 0800 0000000000000000 013f 0800 05000000 04000000 41000000 0100 0000");
    assert!(ParameterList::scan(&bytes, Endianness::Little).is_ok());
    for len in 0..bytes.len() {
        assert!(ParameterList::scan(&bytes[..len], Endianness::Little).is_err(), "{len} octets");
    }
}

#[test]
fn the_sentinel_may_be_missing_only_where_that_is_allowed() {
    let bytes = hex("0f00 0400 07000000");
    assert_eq!(ParameterList::scan_open(&bytes, Endianness::Little).unwrap().iter().count(), 1);
    assert_eq!(ParameterList::scan_open(&[], Endianness::Little).unwrap().iter().count(), 0);
    let more = hex("0f00 0400 07000000 0100 0000 0f00 0400 08000000");
    assert_eq!(ParameterList::scan_open(&more, Endianness::Little).unwrap().iter().count(), 1);
    assert!(ParameterList::scan_open(&hex("0f00 0400 0700"), Endianness::Little).is_err());
}

#[test]
fn extended_parameters_and_list_end() {
    let (parameters, _) = little("013f 0800 05000000 04000000 41424344 023f 0000").unwrap();
    assert_eq!(parameters, [(0x0005, hex("41424344"))]);
    // The must-understand bit may stand in the parameter id or in the member id.
    let (parameters, _) = little("017f 0800 05000000 00000000 027f 0000").unwrap();
    assert_eq!(parameters, [(0x4005, Vec::new())]);
    let (parameters, _) = little("013f 0800 05000040 00000000 0100 0000").unwrap();
    assert_eq!(parameters, [(0x4005, Vec::new())]);
    // A member id of more than 14 bits has no short form, and those that structure a list are not taken for it.
    for member in ["00000100", "00000000", "01000000", "023f0000"] {
        let (parameters, _) =
            little(&alloc::format!("013f 0800 {member} 04000000 01020304 0100 0000")).unwrap();
        assert_eq!(parameters, [(pid::EXTENDED, hex("01020304"))]);
    }
    assert_eq!(little("013f 0400 05000000 0100 0000"), Err(Malformation::ParameterValue));
    assert_eq!(little("013f 0800 05000000 ffffffff 0100 0000"), Err(Malformation::ParameterLength));
    assert_eq!(little("013f 0800 05000000 fcffffff 0100 0000"), Err(Malformation::ParameterListEnd));
}

#[test]
fn unknown_parameters_that_have_to_be_understood_are_found() {
    let bytes = hex("0f00 0400 00000000 bb8a 0000 1440 0400 00000000 0100 0000");
    assert_eq!(ParameterList::parse(&bytes, Endianness::Little).unwrap().0.not_understood(), None);
    let bytes = hex("0f00 0400 00000000 bb4a 0000 0100 0000");
    assert_eq!(ParameterList::parse(&bytes, Endianness::Little).unwrap().0.not_understood(), Some(0x4abb));
}

#[test]
fn vendor_parameters_need_their_vendor() {
    let bytes = hex("05b0 0400 0b000000 0100 0000");
    let (list, _) = ParameterList::parse(&bytes, Endianness::Little).unwrap();
    let flags = pid::vendor::OPENDDS_PARTICIPANT_FLAGS;
    assert!(list.find_of_vendor(VendorId::OPENDDS, VendorId::OPENDDS, flags).is_some());
    assert_eq!(list.find_of_vendor(VendorId::OPENDDS, VendorId::RTI, flags), None);
}

#[test]
fn payloads_choose_the_byte_order() {
    let little = hex("0003 0000 0f00 0400 07000000 0100 0000");
    let big = hex("0002 0000 000f 0004 00000007 0001 0000");
    for payload in [little, big] {
        let list = ParameterList::from_payload(&payload).unwrap();
        assert_eq!(list.read(pid::DOMAIN_ID).unwrap().u32(), Ok(7));
    }
    assert_eq!(ParameterList::from_payload(&hex("0003 00")), Err(WireError::TooShort));
    let plain = hex("0001 0000 0100 0000");
    assert_eq!(ParameterList::from_payload(&plain), Err(WireError::ParameterList(Malformation::Payload)));
}
