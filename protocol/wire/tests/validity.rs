//! RTPS 2.5 §8.3.8 "Validity" of each submessage: which are malformed, which are skipped, which are accepted at the edge.

mod common;

use common::{message, only};
use dunlin_core::{EntityId, SequenceNumber};
use dunlin_wire::{Malformation, NotUnderstood, Payload, Submessage, WireError};

const IDS: &str = "00000107 00000102";

fn malformed(text: &str) -> Malformation {
    match only(&message(text)) {
        Err(WireError::Malformed { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

fn not_understood(text: &str) -> NotUnderstood {
    match only(&message(text)) {
        Ok(Submessage::NotUnderstood(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

fn accepted(text: &str) -> bool {
    !matches!(only(&message(text)), Err(_) | Ok(Submessage::NotUnderstood(_) | Submessage::Unknown))
}

/// Bytes of a sequence number, little-endian.
fn sn(number: i64) -> String {
    let number = SequenceNumber(number);
    let octets = [number.high().to_le_bytes(), number.low().to_le_bytes()].concat();
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// A submessage that reaches to the end of the message.
fn open(kind: &str, flags: &str, body: &str) -> String {
    format!("{kind} {flags} 0000 {body}")
}

#[test]
fn heartbeat_ranges() {
    let heartbeat = |first, last| open("07", "01", &format!("{IDS} {} {} 01000000", sn(first), sn(last)));
    for (first, last) in [(1, 0), (11, 10), (1, 1), (5, i64::MAX), (i64::MAX, i64::MAX)] {
        assert!(accepted(&heartbeat(first, last)), "{first}..{last}");
    }
    for (first, last) in [(1, -1), (11, 9), (2, 0), (i64::MAX, 0)] {
        assert_eq!(malformed(&heartbeat(first, last)), Malformation::Range, "{first}..{last}");
    }
    for (first, last) in [(0, 0), (-1, 5), (i64::MIN, 0), (SequenceNumber::UNKNOWN.0, 1)] {
        assert_eq!(malformed(&heartbeat(first, last)), Malformation::SequenceNumber, "{first}..{last}");
    }
}

#[test]
fn heartbeat_groups() {
    let heartbeat = |current, first, last| {
        let group = format!("{} {} {}", sn(current), sn(first), sn(last));
        open("07", "09", &format!("{IDS} {} {} 01000000 {group}", sn(1), sn(0)))
    };
    assert!(accepted(&heartbeat(5, 5, 4)));
    assert!(accepted(&heartbeat(9, 5, 7)));
    assert_eq!(malformed(&heartbeat(4, 5, 7)), Malformation::Range);
    assert_eq!(malformed(&heartbeat(9, 5, 3)), Malformation::Range);
    assert_eq!(malformed(&heartbeat(0, 5, 7)), Malformation::SequenceNumber);
    assert_eq!(malformed(&heartbeat(9, 0, 7)), Malformation::SequenceNumber);
    // Fewer bytes than two digests are a future field, not a digest.
    let text = heartbeat(9, 5, 7) + "01020304";
    let bytes = message(&text);
    let Ok(Submessage::Heartbeat(heartbeat)) = only(&bytes) else { panic!("{text}") };
    assert_eq!(heartbeat.group.unwrap().digests, None);
}

#[test]
fn number_set_edges() {
    let acknack = |base: i64, bits: u32, words: usize| {
        let bits: String = bits.to_le_bytes().iter().map(|octet| format!("{octet:02x}")).collect();
        let words = "ffffffff".repeat(words);
        open("06", "01", &format!("{IDS} {} {bits} {words} 01000000", sn(base)))
    };
    for bits in [0, 1, 31, 32, 33, 255, 256] {
        let bytes = message(&acknack(10, bits, bits.div_ceil(32) as usize));
        let Ok(Submessage::AckNack(read)) = only(&bytes) else { panic!("{bits} bits") };
        assert_eq!(read.reader_sn_state.iter().count(), bits as usize);
        assert_eq!((read.reader_sn_state.num_bits(), read.count), (bits, 1));
        let stray = read.reader_sn_state.words().iter().map(|word| word.count_ones()).sum::<u32>();
        assert_eq!(stray, bits, "bits beyond numBits are dropped");
    }
    for bits in [257, 288, u32::MAX] {
        assert_eq!(malformed(&acknack(10, bits, 9)), Malformation::NumberSet);
    }
    assert_eq!(malformed(&acknack(10, 33, 0)), Malformation::TooShort);
    assert_eq!(malformed(&acknack(-1, 0, 0)), Malformation::NumberSet);
    assert_eq!(malformed(&acknack(0, 1, 1)), Malformation::NumberSet);
    assert!(accepted(&acknack(0, 0, 0)));
    assert!(accepted(&acknack(i64::MAX, 0, 0)));
    assert_eq!(malformed(&acknack(i64::MAX, 1, 1)), Malformation::NumberSet);
}

#[test]
fn gap_ranges() {
    let gap = |start, base| open("08", "01", &format!("{IDS} {} {} 00000000", sn(start), sn(base)));
    for (start, base) in [(1, 2), (5, 5), (9, 3), (1, i64::MAX)] {
        assert!(accepted(&gap(start, base)), "{start}, {base}");
    }
    assert_eq!(malformed(&gap(0, 2)), Malformation::SequenceNumber);
    assert_eq!(malformed(&gap(1, 0)), Malformation::NumberSet);
    let group = |first, last| {
        let fields = format!("{IDS} {} {} 00000000 {} {}", sn(1), sn(2), sn(first), sn(last));
        open("08", "03", &fields)
    };
    assert!(accepted(&group(5, 5)) && accepted(&group(5, 4)));
    assert_eq!(malformed(&group(5, 3)), Malformation::Range);
    assert_eq!(malformed(&group(0, 3)), Malformation::SequenceNumber);
    assert_eq!(malformed(&group(1, 0)), Malformation::SequenceNumber);
}

#[test]
fn fragment_requests() {
    let nack =
        |number, base: &str| open("12", "01", &format!("{IDS} {} {base} 00000000 01000000", sn(number)));
    assert!(accepted(&nack(1, "01000000")));
    assert_eq!(malformed(&nack(0, "01000000")), Malformation::SequenceNumber);
    assert_eq!(malformed(&nack(1, "00000000")), Malformation::NumberSet);
    let heartbeat = |number, last: &str| open("13", "01", &format!("{IDS} {} {last} 01000000", sn(number)));
    assert!(accepted(&heartbeat(1, "01000000")));
    assert_eq!(malformed(&heartbeat(0, "01000000")), Malformation::SequenceNumber);
    assert_eq!(malformed(&heartbeat(1, "00000000")), Malformation::Fragment);
}

#[test]
fn entity_kinds() {
    let body = format!("{} 00000000 01000000", sn(1));
    let acknack = |ids: &str| open("06", "01", &format!("{ids} {body}"));
    assert_eq!(not_understood(&acknack("00000000 00000102")), NotUnderstood::EntityKind(EntityId::UNKNOWN));
    let writer = EntityId([0, 0, 1, 2]);
    assert_eq!(not_understood(&acknack("00000102 00000102")), NotUnderstood::EntityKind(writer));
    let reader = EntityId([0, 0, 1, 7]);
    assert_eq!(not_understood(&acknack("00000107 00000107")), NotUnderstood::EntityKind(reader));
    let heartbeat = |ids: &str| open("07", "01", &format!("{ids} {} {} 01000000", sn(1), sn(0)));
    assert!(accepted(&heartbeat("00000000 00000102")));
    assert_eq!(not_understood(&heartbeat("00000102 00000102")), NotUnderstood::EntityKind(writer));
    assert_eq!(not_understood(&heartbeat("00000107 00000000")), NotUnderstood::EntityKind(EntityId::UNKNOWN));
    // Topics of Cyclone DDS: a kind of entity of its own.
    let topic = EntityId([0, 0, 1, 0x4c]);
    assert_eq!(not_understood(&heartbeat("00000000 0000014c")), NotUnderstood::EntityKind(topic));
}

fn data(flags: &str, offset: &str, number: i64, rest: &str) -> String {
    open("15", flags, &format!("0000 {offset} {IDS} {} {rest}", sn(number)))
}

#[test]
fn data_rules() {
    assert!(accepted(&data("01", "1000", 1, "")));
    assert_eq!(malformed(&data("0d", "1000", 1, "00010000 01")), Malformation::Flags);
    assert_eq!(malformed(&data("05", "1000", 0, "00010000")), Malformation::SequenceNumber);
    assert_eq!(
        malformed(&data("05", "1000", SequenceNumber::UNKNOWN.0, "00010000")),
        Malformation::SequenceNumber
    );
    assert_eq!(malformed(&data("05", "1000", 1, "000100")), Malformation::Payload);
    assert_eq!(malformed(&data("05", "0f00", 1, "00010000")), Malformation::InlineQosOffset);
    assert_eq!(malformed(&data("05", "1500", 1, "00010000")), Malformation::InlineQosOffset);
    assert_eq!(malformed(&data("05", "ffff", 1, "00010000")), Malformation::InlineQosOffset);
}

#[test]
fn fields_before_the_inline_qos_that_are_not_known_yet_are_skipped() {
    let bytes = message(&data("05", "1400", 1, "deadbeef 00010000 07"));
    let Ok(Submessage::Data(data)) = only(&bytes) else { panic!("no data") };
    assert_eq!(data.payload, Payload::Data(&[0, 1, 0, 0, 7]));
}

#[test]
fn inline_qos_rules() {
    let with = |list: &str| data("03", "1000", 1, list);
    assert!(accepted(&with("0100 0000")));
    assert!(accepted(&with("bb8a 0400 00000000 0100 0000")));
    assert_eq!(malformed(&with("")), Malformation::ParameterListEnd);
    assert_eq!(malformed(&with("7100 0400 00000001")), Malformation::ParameterListEnd);
    assert_eq!(malformed(&with("7100 0800 00000001 0100")), Malformation::ParameterListEnd);
    assert_eq!(malformed(&with("7100 0300 00000001 0100 0000")), Malformation::ParameterLength);
    assert_eq!(malformed(&with("7100 0000 0100 0000")), Malformation::ParameterValue);
    assert_eq!(malformed(&with("7000 0400 00000001 0100 0000")), Malformation::ParameterValue);
    assert_eq!(
        malformed(&with("6100 1400 0000000000000000000000000000000000000000 0100 0000")),
        Malformation::ParameterValue
    );
    assert_eq!(not_understood(&with("bb4a 0400 00000000 0100 0000")), NotUnderstood::Parameter(0x4abb));
    assert_eq!(not_understood(&with("bbca 0000 0100 0000")), NotUnderstood::Parameter(0xcabb));
}

fn fragment(start: u32, count: u16, size: u16, sample: u32, payload: usize) -> String {
    let mut fields = Vec::new();
    fields.extend(start.to_le_bytes());
    fields.extend(count.to_le_bytes());
    fields.extend(size.to_le_bytes());
    fields.extend(sample.to_le_bytes());
    let fields: String = fields.iter().map(|octet| format!("{octet:02x}")).collect();
    open("16", "01", &format!("0000 1c00 {IDS} {} {fields}{}", sn(1), "aa".repeat(payload)))
}

#[test]
fn fragment_numbers() {
    for (start, count, size, sample) in [
        (0, 1, 8, 20),
        (4, 1, 8, 20),
        (u32::MAX, 1, 8, 20),
        (1, 0, 8, 20),
        (1, 1, 0, 20),
        (1, 1, 21, 20),
        (1, 4, 8, 20),
        (2, u16::MAX, 8, 20),
        (1, 1, 1, 0),
        (u32::MAX, u16::MAX, u16::MAX, u32::MAX),
    ] {
        let text = fragment(start, count, size, sample, 8);
        assert_eq!(malformed(&text), Malformation::Fragment, "{start} {count} {size} {sample}");
    }
    assert!(accepted(&fragment(1, 1, 20, 20, 20)), "one fragment is the whole sample");
    // The largest sample has 65 537 fragments of the largest size.
    assert!(accepted(&fragment(65_537, 1, u16::MAX, u32::MAX, 65_535)));
    assert_eq!(malformed(&fragment(65_538, 1, u16::MAX, u32::MAX, 65_535)), Malformation::Fragment);
}

#[test]
fn fragment_payloads() {
    for (start, count, present, kept) in [
        (1, 1, 8, Some(8)),
        (1, 1, 11, Some(8)),
        (1, 1, 12, None),
        (1, 1, 7, None),
        (1, 2, 16, Some(16)),
        (1, 2, 15, None),
        (3, 1, 4, Some(4)),
        (3, 1, 8, Some(4)),
        (3, 1, 3, None),
        (1, 3, 20, Some(20)),
        (1, 3, 27, Some(20)),
        (1, 3, 28, None),
    ] {
        let bytes = message(&fragment(start, count, 8, 20, present));
        let read = match only(&bytes) {
            Ok(Submessage::DataFrag(data)) => Some(data.payload.len()),
            Err(WireError::Malformed { reason: Malformation::Payload, .. }) => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(read, kept, "{start} {count} {present}");
    }
}

#[test]
fn locator_counts_are_bounded_by_the_octets_present() {
    assert_eq!(malformed("0f 01 0400 01000000"), Malformation::LocatorList);
    assert_eq!(malformed("0f 01 0400 ffffffff"), Malformation::LocatorList);
    assert_eq!(malformed("0f 03 0400 00000000"), Malformation::TooShort);
    assert_eq!(malformed("0d 03 0800 00000000 00000000"), Malformation::TooShort);
}

#[test]
fn security_elements() {
    assert_eq!(malformed("31 01 1000 00000000 00000000 00000000 00000000"), Malformation::Security);
    assert_eq!(malformed("30 01 0800 00000005 00000000"), Malformation::Security);
    assert_eq!(malformed("30 01 0400 ffffffff"), Malformation::Security);
    let mac = "00".repeat(16);
    assert_eq!(malformed(&format!("34 01 1400 {mac} 00000001")), Malformation::Security);
    assert_eq!(malformed(&format!("34 01 1400 {mac} ffffffff")), Malformation::Security);
    assert!(accepted(&format!("34 01 1400 {mac} 00000000")));
    for id in ["35", "3f"] {
        assert_eq!(only(&message(&format!("{id} 01 0400 00000000"))), Ok(Submessage::Unknown));
    }
}
