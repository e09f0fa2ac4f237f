//! RTPS 2.5 §8.3.7 and §9.4.5: what a header extension says about its message.

mod common;

use common::{build, hex, message, only, visit, walk};
use dunlin_buf::SharedBytes;
use dunlin_core::{EntityId, SequenceNumber, WallTime};
use dunlin_wire::checksum::ChecksumKind;
use dunlin_wire::{
    DataSpec, Endianness, HeaderExtensionSpec, Malformation, PayloadSpec, Submessage, WireError, kind,
};

fn malformed(reason: Malformation) -> WireError {
    WireError::Malformed { kind: kind::HEADER_EXTENSION, reason }
}

/// A message with a header extension, a shared payload and something after it.
fn extended(endianness: Endianness, spec: &HeaderExtensionSpec<'_>) -> Vec<u8> {
    build(endianness, |builder| {
        assert!(builder.header_extension(spec));
        let payload = PayloadSpec::Data(SharedBytes::copy_from(b"\0\x01\0\0hello"));
        let (reader_id, writer_id) = (EntityId::UNKNOWN, EntityId([0, 0, 1, 2]));
        let writer_sn = SequenceNumber(1);
        assert!(builder.data(&DataSpec { reader_id, writer_id, writer_sn, inline_qos: &[], payload }));
        assert!(builder.info_ts(None));
    })
}

#[test]
fn header_extension_with_all_fields_in_both_byte_orders() {
    let text = "00 ff 3400 78000000 01000000 00000080 01020304 1112131415161718 \
                00000000000000000000000000000000 0f80 0400 07000000 0100 0000";
    let little = hex(text);
    for endianness in [Endianness::Little, Endianness::Big] {
        let parameters: &[u8] = match endianness {
            Endianness::Little => &hex("0f80 0400 07000000 0100 0000"),
            Endianness::Big => &hex("800f 0004 00000007 0001 0000"),
        };
        let spec = HeaderExtensionSpec {
            message_length: true,
            send_timestamp: Some(WallTime(1_500_000_000)),
            u_extension4: Some([1, 2, 3, 4]),
            w_extension8: Some([0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]),
            checksum: Some(ChecksumKind::Md5),
            parameters,
        };
        let bytes = extended(endianness, &spec);
        let all: Vec<_> = walk(&bytes).into_iter().map(Result::unwrap).collect();
        assert_eq!(all.len(), 3);
        let Submessage::HeaderExtension(extension) = all[0].body else { panic!("{:?}", all[0]) };
        assert_eq!(extension.message_length, Some(bytes.len() as u32));
        assert_eq!(extension.send_timestamp, spec.send_timestamp);
        assert_eq!((extension.u_extension4, extension.w_extension8), (spec.u_extension4, spec.w_extension8));
        assert_eq!(extension.checksum.unwrap().kind, ChecksumKind::Md5);
        assert_eq!(extension.parameters.unwrap().as_bytes(), parameters);
        if endianness == Endianness::Little {
            let mut seen = all[0].raw.to_vec();
            seen[4..8].copy_from_slice(&little[4..8]);
            seen[28..44].fill(0);
            assert_eq!(seen, little);
        }
    }
}

#[test]
fn header_extension_checksum_detects_every_changed_byte() {
    for checksum in [ChecksumKind::Crc32c, ChecksumKind::Crc64Xz, ChecksumKind::Md5] {
        for endianness in [Endianness::Little, Endianness::Big] {
            let spec = HeaderExtensionSpec { checksum: Some(checksum), ..Default::default() };
            let bytes = extended(endianness, &spec);
            assert!(walk(&bytes).iter().all(Result::is_ok), "{checksum:?}");
            for position in (0..bytes.len()).filter(|position| !(4..24).contains(position)).skip(4) {
                let mut changed = bytes.clone();
                changed[position] ^= 0x10;
                assert_eq!(walk(&changed), [Err(WireError::ChecksumMismatch)], "{checksum:?} {position}");
            }
        }
    }
}

#[test]
fn a_known_checksum() {
    // CRC-32C of the 28 bytes with zeros in place of the checksum, stored big-endian.
    let mut zeroed = message("00 21 0400 00000000");
    let sum = dunlin_wire::checksum::crc32c(&zeroed);
    zeroed[24..28].copy_from_slice(&sum.to_be_bytes());
    assert!(matches!(only(&zeroed), Ok(Submessage::HeaderExtension(_))));
    zeroed[24..28].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(only(&zeroed), Err(WireError::ChecksumMismatch));
}

#[test]
fn the_message_length_ends_the_walk() {
    // Two messages back to back, as on a stream.
    let mut bytes = message("00 03 0400 20000000 01 01 0000");
    bytes.extend(message("01 01 0000"));
    assert_eq!(walk(&bytes).len(), 2);
    let exact = message("00 03 0400 1c000000");
    assert!(only(&exact).is_ok());
    for length in ["1b000000", "00000000", "1d000000", "ffffffff"] {
        let bytes = message(&format!("00 03 0400 {length}"));
        assert_eq!(only(&bytes), Err(malformed(Malformation::MessageLength)), "{length}");
    }
}

#[test]
fn header_extension_must_be_the_first_submessage() {
    let bytes = message("01 01 0000 00 01 0000");
    assert_eq!(walk(&bytes)[1], Err(malformed(Malformation::Misplaced)));
    let bytes = message("00 05 0800 0000000000000000 00 05 0800 0000000000000000");
    assert_eq!(walk(&bytes)[1], Err(malformed(Malformation::Misplaced)));
    let bytes = build(Endianness::Little, |builder| {
        let spec = HeaderExtensionSpec { message_length: true, ..Default::default() };
        assert!(builder.pad(0) && !builder.header_extension(&spec));
    });
    assert_eq!(bytes.len(), 24);
}

#[test]
fn an_empty_header_extension_is_not_written() {
    let bytes = build(Endianness::Little, |builder| {
        assert!(!builder.header_extension(&HeaderExtensionSpec::default()));
        assert!(builder.pad(0));
    });
    assert_eq!(only(&bytes), Ok(Submessage::Pad));
}

#[test]
fn header_extension_too_short_for_its_flags_is_malformed() {
    for (flags, len) in
        [("03", 4), ("05", 8), ("09", 4), ("11", 8), ("21", 4), ("41", 8), ("61", 16), ("7f", 40)]
    {
        for present in 1..len {
            let body = "00".repeat(present);
            let bytes = message(&format!("00 {flags} {present:02x}00 {body}"));
            assert_eq!(only(&bytes), Err(malformed(Malformation::TooShort)), "{flags} {present}");
        }
    }
}

#[test]
fn parameters() {
    let with = |list: &str, len: usize| message(&format!("00 81 {len:02x}00 {list}"));
    // The sentinel is optional in this place only.
    for (list, len) in [("0f80 0400 07000000", 8), ("0f80 0400 07000000 0100 0000", 12)] {
        let bytes = with(list, len);
        let Ok(Submessage::HeaderExtension(extension)) = only(&bytes) else { panic!("{list}") };
        assert_eq!(extension.parameters.unwrap().iter().count(), 1);
    }
    let bytes = with("0f80 0800 07000000", 8);
    assert_eq!(only(&bytes), Err(malformed(Malformation::ParameterListEnd)));
    let bytes = message("00 81 0800 bb4a 0400 07000000 01 01 0000");
    assert_eq!(walk(&bytes), [Err(WireError::NotUnderstoodParameter { pid: 0x4abb })]);
}

#[test]
fn truncated_header_extensions_never_panic() {
    let spec = HeaderExtensionSpec {
        message_length: true,
        send_timestamp: Some(WallTime(0)),
        checksum: Some(ChecksumKind::Crc64Xz),
        ..Default::default()
    };
    let bytes = extended(Endianness::Little, &spec);
    for len in (0..bytes.len()).step_by(if cfg!(miri) { 11 } else { 1 }) {
        visit(&bytes[..len]);
        if len > 20 {
            assert!(walk(&bytes[..len])[0].is_err(), "{len} octets");
        }
    }
}
