//! Keys: key hashes, serialized keys, and taking the key out of a sample.

mod common;

use common::{ALL, hex};
use dunlin_cdr::{
    BoundedString, CdrError, DdsType, DecodeOptions, Decoder, Endianness, Extensibility, Limits,
    Representation, Scope, TypeSupport, TypeSupportOf, from_key_hash, from_key_payload, from_payload,
    key_hash, key_hash_from_sample, key_hash_with, key_payload, to_payload, to_payload_as,
};
use dunlin_core::VendorId;

fn hash(text: &str) -> [u8; 16] {
    hex(text).try_into().unwrap()
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
struct ShapeType {
    #[dds(key)]
    color: String,
    x: i32,
    y: i32,
    shapesize: i32,
}

fn shape(color: &str) -> ShapeType {
    ShapeType { color: color.into(), x: 1, y: 2, shapesize: 30 }
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
#[dds(final)]
struct Long {
    text: String,
    #[dds(key)]
    id: i32,
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
struct Two {
    #[dds(key, bound = 12)]
    color: String,
    #[dds(key)]
    big: i64,
    value: f64,
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
#[dds(mutable)]
struct Inner {
    #[dds(id = 2)]
    ignored: u64,
    #[dds(id = 1, key)]
    m_long: i32,
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
#[dds(mutable)]
struct Outer {
    #[dds(id = 40, key)]
    label: String,
    #[dds(id = 20)]
    data: Vec<u8>,
    #[dds(id = 30, key)]
    m_nested: Inner,
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
#[dds(nested)]
struct Position {
    x: i16,
    y: i64,
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
struct Cell {
    note: Option<String>,
    #[dds(key, id = 9)]
    level: u8,
    #[dds(key, id = 3)]
    position: Position,
    samples: Vec<Position>,
}

/// Checks everything that can be derived from the key of a value.
fn check_key<T>(value: &T, expected: [u8; 16], without_rest: &T)
where
    T: DdsType + PartialEq + core::fmt::Debug,
{
    assert_eq!(key_hash(value), Ok(expected));
    let mut scratch = vec![0; 3];
    assert_eq!(key_hash_with(value, &mut scratch), Ok(expected));
    let support = TypeSupportOf::<T>::new();
    let limits = Limits::default();
    for (rep, endianness) in ALL {
        let mut payload = Vec::new();
        to_payload_as(value, rep, endianness, Scope::Sample, &mut payload).unwrap();
        assert_eq!(support.key_hash_of_payload(&payload, false), Ok(expected), "{rep:?} {endianness:?}");
        let (mut key, mut taken) = (Vec::new(), Vec::new());
        key_payload(value, rep, &mut key).unwrap();
        support.key_payload_with(&payload, DecodeOptions::default(), &mut taken).unwrap();
        assert_eq!(taken, key);
        assert!(support.key_payload_with(&payload[..5], DecodeOptions::default(), &mut taken).is_err());
        assert!(taken.is_empty());
        to_payload_as(value, rep, endianness, Scope::Key, &mut payload).unwrap();
        assert_eq!(support.key_hash_of_payload(&payload, true), Ok(expected), "{rep:?} {endianness:?}");
        let key_only = from_key_payload::<T>(&payload, &limits).unwrap();
        assert_eq!(&key_only, without_rest);
        assert_eq!(key_hash(&key_only), Ok(expected));
        for len in (0..payload.len()).step_by(if cfg!(miri) { 29 } else { 1 }) {
            // Only what comes after the last key member may be missing.
            if let Ok(found) = support.key_hash_of_payload(&payload[..len], true) {
                assert_eq!(found, expected, "{len} of {payload:02x?}");
            }
        }
    }
    match (T::MAX_KEY_SIZE, from_key_hash::<T>(&expected, &limits)) {
        (Some(0..=16), Some(from_hash)) => assert_eq!(from_hash.as_ref(), Ok(without_rest)),
        (Some(0..=16), None) => panic!("the key fits the hash"),
        (_, from_hash) => assert!(from_hash.is_none()),
    }
}

#[test]
fn hashes_of_shapes() {
    for (color, expected) in [
        ("BLUE", "cac217c318363f8ef1160eeedef9e886"),
        ("RED", "d36de865fac295155f18df7157b217e6"),
        ("GREEN", "30219b4293ba6b3fee6a4fe029813882"),
        ("YELLOW", "9ed0e8b29f0249becf6b24567d3b0da9"),
    ] {
        let key = ShapeType { color: color.into(), ..Default::default() };
        check_key(&shape(color), hash(expected), &key);
    }
    assert_eq!(ShapeType::MAX_KEY_SIZE, None);
    assert_eq!(ShapeType::EXTENSIBILITY, Extensibility::Appendable);
    assert_eq!(ShapeType::DEFAULT_REPRESENTATION, Representation::Xcdr1);
}

#[test]
fn captured_payloads_of_shapes() {
    let sample = hex("00010000 05000000 424c5545 00000000 01000000 02000000 1e000000");
    assert_eq!(from_payload::<ShapeType>(&sample, &Limits::default()), Ok(shape("BLUE")));
    let mut out = Vec::new();
    to_payload(&shape("BLUE"), Representation::Xcdr1, &mut out).unwrap();
    assert_eq!(out, sample);

    let blue = hash("cac217c318363f8ef1160eeedef9e886");
    let disposed = hex("00010000 05000000 424c5545 00000000");
    assert_eq!(TypeSupportOf::<ShapeType>::new().key_hash_of_payload(&disposed, true), Ok(blue));
    key_payload(&shape("BLUE"), Representation::Xcdr1, &mut out).unwrap();
    assert_eq!(out, hex("00010003 05000000 424c5545 00000000"));
    key_payload(&shape("BLUE"), Representation::Xcdr2, &mut out).unwrap();
    assert_eq!(out, hex("00090003 09000000 05000000 424c5545 00000000"));
}

#[test]
fn short_keys_are_their_own_hash() {
    let value = Long { text: "anything".into(), id: 0x1234_5678 };
    let key = Long { text: String::new(), id: 0x1234_5678 };
    check_key(&value, hash("12345678 000000000000000000000000"), &key);
    assert_eq!(Long::MAX_KEY_SIZE, Some(4));
}

#[test]
fn key_of_string_and_long_long() {
    let value = Two { color: "BLUE".into(), big: 0x1234_5678_9abc_def0, value: 1.0 };
    let key = Two { value: 0.0, ..value.clone() };
    assert_eq!(Two::MAX_KEY_SIZE, Some(28));
    check_key(&value, hash("f91a59e32e4535d9a69cd5d9f5b6e36e"), &key);
}

#[test]
fn nested_mutable_key() {
    let inner = Inner { ignored: 7, m_long: 0x1234_5678 };
    let value = Outer { label: "BLUE".into(), data: vec![1; 5], m_nested: inner };
    let key =
        Outer { label: "BLUE".into(), data: vec![], m_nested: Inner { ignored: 0, m_long: 0x1234_5678 } };
    check_key(&value, hash("374b96e2e727237f016cc4cebb6eb71e"), &key);
    let mut out = Vec::new();
    key_payload(&value, Representation::Xcdr2, &mut out).unwrap();
    // Declaration order and own extensibility: label, then the nested key.
    let expected = "000b0000 20000000 28000050 05000000 424c5545 00 ··· 1e000050 08000000 01000020 78563412";
    assert_eq!(out, hex(expected));
}

#[test]
fn keys_in_order_of_ids() {
    let value = Cell {
        note: Some("x".into()),
        level: 5,
        position: Position { x: 1, y: 2 },
        samples: vec![Position { x: 3, y: 4 }],
    };
    let key = Cell { note: None, samples: vec![], ..value.clone() };
    // position (a structure without key members counts whole), then level.
    assert_eq!(Cell::MAX_KEY_SIZE, Some(13));
    check_key(&value, hash("0001 0000 0000000000000002 05 000000"), &key);
    let mut out = Vec::new();
    key_payload(&value, Representation::Xcdr1, &mut out).unwrap();
    assert_eq!(out, hex("00010000 05 · 0100 ····  0200000000000000"));
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
struct Frame {
    #[dds(key)]
    camera: u16,
    data: Vec<u8>,
}

#[test]
fn key_first_needs_no_look_at_the_rest() {
    // The sequence claims more bytes than there are: only the key may be read.
    let octets = hex("0700 ·· ffffffff");
    let mut decoder = Decoder::new(&octets, Representation::Xcdr1, Endianness::Little, &Limits::default());
    let result = key_hash_from_sample::<Frame>(&mut decoder, &mut Vec::new());
    assert_eq!(result, Ok(hash("0007 0000000000000000000000000000")));
    assert!(from_payload::<Frame>(&[&[0, 1, 0, 0], &octets[..]].concat(), &Limits::default()).is_err());
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
struct Keyless {
    x: i32,
}

#[test]
fn types_without_key() {
    let value = Keyless { x: 3 };
    assert_eq!(key_hash(&value), Ok([0; 16]));
    let mut out = Vec::new();
    key_payload(&value, Representation::Xcdr2, &mut out).unwrap();
    assert_eq!(out, hex("00090000"));
    assert_eq!(from_key_payload(&out, &Limits::default()), Ok(Keyless { x: 0 }));
    const { assert!(!Keyless::HAS_KEY) };
    assert!(from_key_hash::<Keyless>(&[0; 16], &Limits::default()).is_none());
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(union, discriminator = "i16", key, mutable)]
enum Event {
    #[dds(case = 0)]
    Nothing,
    #[dds(case(1, 2))]
    Count(u64),
    #[dds(default)]
    Other(#[dds(discriminator)] i16, String),
}

#[test]
fn keyed_union() {
    check_key(&Event::Count(9), hash("0001 0000000000000000000000000000"), &Event::Count(0));
    check_key(
        &Event::Other(-1, "x".into()),
        hash("ffff 0000000000000000000000000000"),
        &Event::Other(-1, String::new()),
    );
    check_key(&Event::Nothing, [0; 16], &Event::Nothing);
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct Many {
    rest: Vec<Position>,
    #[dds(key)]
    event: Event,
    #[dds(key)]
    grid: [[u8; 2]; 2],
    #[dds(key)]
    names: [BoundedString<2>; 1],
    optional: Option<i64>,
    #[dds(key)]
    places: [Position; 2],
}

#[test]
fn keys_of_many_kinds() {
    let places = [Position { x: 1, y: 2 }, Position { x: 3, y: 4 }];
    let value = Many {
        rest: vec![Position { x: 1, y: 1 }],
        event: Event::Count(3),
        grid: [[1, 2], [3, 4]],
        names: ["ab".try_into().unwrap()],
        optional: Some(1),
        places: places.clone(),
    };
    let key = Many { rest: vec![], event: Event::Count(0), optional: None, ..value.clone() };
    let mut scratch = Vec::new();
    let expected = key_hash_with(&value, &mut scratch).unwrap();
    let octets = "0001 01020304 0000 00000007 00000003 616200 00 00000018 0001 0000 0000000000000002 \
                  0003 0000 0000000000000004";
    assert_eq!(scratch, hex(octets));
    assert_eq!(Many::MAX_KEY_SIZE, Some(hex(octets).len()));
    check_key(&value, expected, &key);
}

#[test]
fn invalid_key_values() {
    let value = Two { color: "much too long a color".into(), big: 1, value: 0.0 };
    let failure = Err(CdrError::BoundExceeded { bound: 12, len: 21 });
    assert_eq!(key_hash(&value), failure);
    let mut out = vec![1, 2, 3];
    assert_eq!(to_payload(&value, Representation::Xcdr2, &mut out), failure.map(drop));
    assert!(out.is_empty());
}

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
enum Mode {
    On,
    Off,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct AfterModes {
    modes: Vec<Mode>,
    #[dds(key)]
    id: u32,
}

#[test]
fn vendor_deviations_before_the_key() {
    let support = TypeSupportOf::<AfterModes>::new();
    let without_dheader = hex("00070000 02000000 01000000 00000000 05000000");
    let options = DecodeOptions::for_vendor(VendorId::FAST_DDS);
    let expected = Ok(hash("00000005 000000000000000000000000"));
    assert_eq!(support.key_hash_with(&without_dheader, false, options, &mut Vec::new()), expected);
    assert_ne!(support.key_hash_of_payload(&without_dheader, false), expected);
}
