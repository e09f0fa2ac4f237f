//! One of every kind of type, and how types of different versions read each other.

mod common;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use common::{ALL, body, decode, hex, round_trip, vector};
use dunlin_cdr::Endianness::{Big, Little};
use dunlin_cdr::Representation::{self, Xcdr1, Xcdr2};
use dunlin_cdr::{
    Bound, BoundedString, BoundedVec, CdrError, CdrRead, CdrWrite, Char8, Char16, DdsType, DecodeOptions,
    Decoder, Float128, LimitKind, Limits, WString, from_payload, to_payload,
};
use dunlin_core::VendorId;

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct Primitives {
    a: bool,
    b: i8,
    c: u8,
    d: i16,
    e: u16,
    f: i32,
    g: u32,
    h: i64,
    i: u64,
    j: f32,
    k: f64,
    l: Char8,
    m: Char16,
    n: Float128,
}

fn primitives() -> Primitives {
    Primitives {
        a: true,
        b: -1,
        c: 255,
        d: i16::MIN,
        e: 2,
        f: -3,
        g: 4,
        h: i64::MIN,
        i: 5,
        j: 1.5,
        k: -0.0,
        l: Char8(b'x'),
        m: Char16(0x20ac),
        n: Float128(1 << 100),
    }
}

#[test]
fn primitives_in_all_forms() {
    round_trip(&primitives());
    assert_eq!(
        body(&primitives(), Xcdr2, Big),
        hex(
            "01 ff ff · 8000 0002 fffffffd 00000004 8000000000000000 0000000000000005 3fc00000 8000000000000000 \
             78 · 20ac 00000010000000000000000000000000"
        )
    );
}

#[derive(DdsType, Debug, PartialEq, Clone, Copy, PartialOrd, Eq, Ord)]
#[dds(bit_bound = 8)]
enum Small {
    A = -3,
    #[dds(default)]
    B = 4,
    C,
}

#[derive(DdsType, Debug, PartialEq, Eq, Clone, Copy, PartialOrd, Ord)]
#[dds(bitmask, bit_bound = 12)]
struct Flags(u16);

#[derive(DdsType, Debug, PartialEq, Eq, Clone, Copy)]
#[dds(bitset)]
struct Bits(u64);

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(transparent)]
struct Meters(f64);

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(union, discriminator = Small)]
enum BySmall {
    #[dds(case = Small::A)]
    First { value: Vec<Meters> },
    #[dds(case(Small::B, Small::C))]
    Second,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(union, discriminator = "Char8", mutable)]
enum ByChar {
    #[dds(case = 'a', id = 17)]
    First(#[dds(external)] Box<Collections>),
    #[dds(case('b', 'c'))]
    Second {
        #[dds(discriminator)]
        which: Char8,
        #[dds(bound = 3)]
        value: String,
    },
    #[dds(default)]
    Third,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(union, discriminator = "bool", final)]
enum ByBool {
    #[dds(case = true)]
    Yes(u64),
    #[dds(default)]
    No(u8),
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
struct Collections {
    strings: Vec<String>,
    wide: WString,
    map: BTreeMap<i32, u8>,
    names: BTreeMap<String, Vec<f32>>,
    flags: Vec<bool>,
    grid: [[i64; 2]; 3],
    cubes: [[[BoundedString<3>; 2]; 1]; 2],
    rows: Vec<[i32; 2]>,
    bounded: BoundedVec<BoundedString<4>, 2>,
    shared: Arc<str2::Text>,
    bytes: Box<[u8]>,
}

mod str2 {
    use super::*;
    #[derive(DdsType, Debug, PartialEq, Clone, Default)]
    pub struct Text {
        pub text: String,
    }
}

fn collections() -> Collections {
    let text = |s: &str| s.try_into().unwrap();
    Collections {
        strings: vec!["".into(), "é".into()],
        wide: "Ω𝄞".into(),
        map: BTreeMap::from([(1, 2), (-3, 4)]),
        names: BTreeMap::from([("x".into(), vec![1.0]), ("yz".into(), vec![])]),
        flags: vec![true, false, true],
        grid: [[1, 2], [3, 4], [5, 6]],
        cubes: [[[text("a"), text("bcd")]], [[text(""), text("e")]]],
        rows: vec![[1, 2], [3, 4]],
        bounded: Bound::new(vec!["abcd".try_into().unwrap()]).unwrap(),
        shared: Arc::new(str2::Text { text: "shared".into() }),
        bytes: vec![9, 8, 7].into(),
    }
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(mutable)]
struct Everything {
    primitives: Primitives,
    small: Small,
    smalls: Vec<Small>,
    pair: [Small; 2],
    flags: Flags,
    #[dds(id = 0x0fff_0000)]
    mask_map: BTreeMap<Flags, Flags>,
    bits: Bits,
    meters: [Meters; 2],
    #[dds(hashid)]
    by_small: BySmall,
    by_chars: Vec<ByChar>,
    by_bool: ByBool,
    collections: Collections,
    maybe: Option<Collections>,
    maybe_not: Option<Primitives>,
    maybe_small: Option<Small>,
    #[dds(external)]
    boxed: Box<Primitives>,
    #[dds(external, optional)]
    tree: Option<Box<Tree>>,
    words: Vec<u16>,
    longs: Vec<u64>,
    floats: [f32; 1],
}

#[derive(DdsType, Debug, PartialEq, Clone)]
struct Tree {
    value: i32,
    next: Option<Box<Tree>>,
    children: Vec<Tree>,
}

fn everything() -> Everything {
    let leaf = |value| Tree { value, next: None, children: vec![] };
    Everything {
        primitives: primitives(),
        small: Small::A,
        smalls: vec![Small::C, Small::B],
        pair: [Small::B, Small::A],
        flags: Flags(0x801),
        mask_map: BTreeMap::from([(Flags(1), Flags(2))]),
        bits: Bits(1 << 63),
        meters: [Meters(1.0), Meters(2.0)],
        by_small: BySmall::First { value: vec![Meters(3.0)] },
        by_chars: vec![
            ByChar::First(Box::new(collections())),
            ByChar::Second { which: Char8(b'c'), value: "xyz".into() },
            ByChar::Third,
        ],
        by_bool: ByBool::No(1),
        collections: collections(),
        maybe: Some(collections()),
        maybe_not: None,
        maybe_small: Some(Small::C),
        boxed: Box::new(primitives()),
        tree: Some(Box::new(Tree {
            value: 1,
            next: Some(Box::new(leaf(2))),
            children: vec![leaf(3), leaf(4)],
        })),
        words: vec![1, 2, 3],
        longs: vec![u64::MAX],
        floats: [0.5],
    }
}

#[derive(DdsType, Debug, PartialEq, Clone)]
struct Wrapped {
    first: u8,
    everything: Everything,
    last: u8,
}

#[test]
fn every_kind_of_value_survives_a_round_trip() {
    round_trip(&everything());
    round_trip(&collections());
    round_trip(&Wrapped { first: 1, everything: everything(), last: 2 });
    for case in everything().by_chars {
        round_trip(&case);
    }
    round_trip(&BySmall::Second);
    round_trip(&ByBool::Yes(3));
}

#[test]
fn every_truncation_fails_without_panic() {
    for (rep, endianness) in ALL {
        let data = body(&everything(), rep, endianness);
        for len in (0..data.len()).step_by(if cfg!(miri) { 41 } else { 1 }) {
            let result = decode::<Everything>(&data[..len], rep, endianness);
            assert!(result.is_err(), "{len} of {} octets, {rep:?}", data.len());
        }
    }
}

#[test]
fn enumeration_literals() {
    assert_eq!(body(&Small::A, Xcdr1, Little), [0xfd]);
    assert_eq!(Small::default_value(), Small::B);
    assert_eq!(
        decode::<Small>(&[7], Xcdr1, Little),
        Err(CdrError::UnknownEnumValue { type_name: "Small", value: 7 })
    );
}

#[test]
fn delimiters_of_collections() {
    // Neither key nor value of the map is anything but primitive: no DHEADER.
    vector(&BTreeMap::from([(1i32, 2u8)]), Xcdr2, "01000000 01000000 02");
    vector(&BTreeMap::from([(1i32, Small::B)]), Xcdr2, "09000000 01000000 01000000 04");
    // Dimensions of one array share one DHEADER; sequences of arrays have one for the sequence.
    vector(&[[1i16, 2], [3, 4]], Xcdr2, "0100 0200 0300 0400");
    vector(&[[Small::A, Small::B], [Small::B, Small::B]], Xcdr2, "04000000 fd040404");
    vector(&vec![[1i16, 2]], Xcdr2, "08000000 01000000 0100 0200");
    vector(&Vec::<u64>::new(), Xcdr1, "00000000");
    vector(&WString::from("aΩ"), Xcdr1, "04000000 6100 a903");
}

#[test]
fn deviations_of_vendors() {
    let fast = DecodeOptions::for_vendor(VendorId::FAST_DDS);
    fn read<'de, T: CdrRead<'de>>(data: &'de [u8], options: DecodeOptions) -> Result<T, CdrError> {
        T::read(&mut Decoder::new(data, Xcdr2, Little, &Limits::default()).with_options(options))
    }
    let wide = hex("02000000 6100 a903");
    assert_eq!(read::<WString>(&wide, fast), Ok("aΩ".into()));
    assert_eq!(read::<WString>(&wide, DecodeOptions::default()), Ok("a".into()));
    assert!(read::<WString>(&hex("03000000 6100 a903"), DecodeOptions::default()).is_err());
    assert_eq!(read::<Vec<Small>>(&hex("01000000 04"), fast), Ok(vec![Small::B]));
    assert_eq!(read::<[Flags; 1]>(&hex("0300"), fast), Ok([Flags(3)]));
    let map = BTreeMap::from([("a".to_string(), 1u8)]);
    assert_eq!(read::<BTreeMap<String, u8>>(&hex("01000000 02000000 6100 01"), fast), Ok(map));
    assert_eq!(DecodeOptions::for_vendor(VendorId::CYCLONE_DDS), DecodeOptions::default());
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(nested)]
struct Generic<T> {
    value: T,
    values: Vec<T>,
}

#[test]
fn generic_types() {
    round_trip(&Generic { value: Small::A, values: vec![Small::B] });
}

#[test]
fn all_length_codes_are_read() {
    #[derive(DdsType, Debug, PartialEq)]
    #[dds(mutable)]
    struct Codes {
        octets: Vec<u8>,
        words: Vec<u32>,
        longs: Vec<f64>,
        text: String,
    }
    let value = Codes { octets: vec![1], words: vec![2], longs: vec![3.0], text: "t".into() };
    vector(
        &value,
        Xcdr2,
        "32000000 00000050 01000000 01 ··· 01000060 01000000 02000000 02000070 01000000 0000000000000840 \
         03000050 02000000 7400",
    );
    let next_int = hex("42000000 00000040 05000000 01000000 01 ··· 01000040 08000000 01000000 02000000 \
         02000040 0c000000 01000000 0000000000000840 03000040 06000000 02000000 7400");
    assert_eq!(decode(&next_int, Xcdr2, Little), Ok(value));
}

#[derive(CdrRead, CdrWrite, Debug, PartialEq)]
#[dds(final)]
struct Stamp {
    seconds: i32,
}

#[derive(CdrRead, CdrWrite, Debug, PartialEq)]
struct FrameView<'a> {
    stamp: Stamp,
    name: &'a str,
    #[dds(bound = 4)]
    payload: &'a [u8],
    copy: Cow<'a, [u8]>,
    text: Cow<'a, str>,
}

#[test]
fn borrowed_views() {
    let value = FrameView {
        stamp: Stamp { seconds: 5 },
        name: "cam",
        payload: &[1, 2, 3],
        copy: Cow::Owned(vec![4]),
        text: Cow::Borrowed("t"),
    };
    let mut payload = Vec::new();
    for rep in [Xcdr1, Xcdr2] {
        to_payload(&value, rep, &mut payload).unwrap();
        let limits = Limits { max_bytes: 0, ..Limits::default() };
        let view: FrameView<'_> = from_payload(&payload, &limits).unwrap();
        assert_eq!(view, value);
        assert!(matches!(view.copy, Cow::Borrowed(_)));
        assert!(payload.as_ptr_range().contains(&view.payload.as_ptr()));
    }
}

#[test]
fn discriminators() {
    let wrong = ByChar::Second { which: Char8(b'z'), value: String::new() };
    let mut out = Vec::new();
    assert_eq!(
        to_payload(&wrong, Xcdr2, &mut out),
        Err(CdrError::InvalidDiscriminator { type_name: "ByChar" })
    );
    // The least value that is no label stands for the default.
    assert_eq!(body(&ByChar::Third, Xcdr2, Little), hex("05000000 00000000 00"));
    assert_eq!(body(&ByBool::No(7), Xcdr2, Little), hex("0007"));
    assert_eq!(BySmall::default_value(), BySmall::Second);
    assert_eq!(ByBool::default_value(), ByBool::No(0));

    #[derive(DdsType, Debug, PartialEq)]
    #[dds(union, discriminator = "u8")]
    enum NoDefault {
        #[dds(case = 3)]
        Three(u8),
    }
    assert_eq!(NoDefault::default_value(), NoDefault::Three(0));
    assert_eq!(
        decode::<NoDefault>(&[4, 0], Xcdr1, Little),
        Err(CdrError::UnknownDiscriminator { type_name: "NoDefault" })
    );
}

#[test]
fn limits() {
    let deep = |levels| {
        (0..levels).fold(Tree { value: 0, next: None, children: vec![] }, |tree, value| Tree {
            value,
            next: None,
            children: vec![tree],
        })
    };
    let depth = CdrError::LimitExceeded { limit: LimitKind::Depth };
    for rep in [Representation::Xcdr1, Xcdr2] {
        let mut out = Vec::new();
        to_payload(&deep(63), rep, &mut out).unwrap();
        assert_eq!(from_payload(&out, &Limits::default()), Ok(deep(63)));
        let shallow = Limits { max_depth: 63, ..Limits::default() };
        assert_eq!(from_payload::<Tree>(&out, &shallow), Err(depth));
        assert_eq!(to_payload(&deep(64), rep, &mut out), Err(depth));

        to_payload(&vec![1u32; 100], rep, &mut out).unwrap();
        let bytes = Limits { max_bytes: 399, ..Limits::default() };
        let result = from_payload::<Vec<u32>>(&out, &bytes);
        assert_eq!(result, Err(CdrError::LimitExceeded { limit: LimitKind::Bytes }));
        let len = Limits { max_sequence_len: 99, ..Limits::default() };
        let result = from_payload::<Vec<u32>>(&out, &len);
        assert_eq!(result, Err(CdrError::LimitExceeded { limit: LimitKind::SequenceLength }));
    }
}

#[test]
fn counts_are_bounded_by_the_octets_present() {
    #[derive(DdsType, Debug, PartialEq, Clone)]
    #[dds(final)]
    struct Nothing {}

    let huge = hex("ffffffff ffffffff ffffffff");
    for (rep, endianness) in ALL {
        assert!(decode::<Vec<u64>>(&huge, rep, endianness).is_err());
        assert!(decode::<Vec<Nothing>>(&huge, rep, endianness).is_err());
        assert!(decode::<Vec<Tree>>(&huge, rep, endianness).is_err());
        assert!(decode::<String>(&huge, rep, endianness).is_err());
        assert!(decode::<WString>(&huge, rep, endianness).is_err());
        assert!(decode::<&[u8]>(&huge, rep, endianness).is_err());
        assert!(decode::<BTreeMap<u8, u8>>(&huge, rep, endianness).is_err());
        assert!(Vec::<String>::skip(&mut Decoder::new(&huge, rep, endianness, &Limits::default())).is_err());
    }
    round_trip(&vec![Nothing {}; 3]);
    assert_eq!(decode::<bool>(&[2], Xcdr1, Little), Err(CdrError::InvalidBool { value: 2 }));
    assert!(decode::<Vec<bool>>(&hex("02000000 0102"), Xcdr1, Little).is_err());
}

mod facade {
    pub use dunlin_cdr as cdr;
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
#[dds(crate = "crate::facade::cdr", autoid = "hash", mutable)]
struct Elsewhere {
    color: u8,
    #[dds(name = "shapesize")]
    size: u8,
}

#[test]
fn path_of_the_crate_and_hashed_ids() {
    let value = Elsewhere { color: 1, size: 2 };
    round_trip(&value);
    vector(&value, Xcdr2, "0d000000 70dda50f 01 ··· da907704 02");
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
#[dds(final)]
struct Left {
    right: Option<Box<Right>>,
}

#[derive(DdsType, Debug, PartialEq, Clone, Default)]
#[dds(final)]
struct Right {
    left: Option<Box<Left>>,
    more: Vec<Left>,
    named: BTreeMap<u8, Right>,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(union, discriminator = "u8")]
enum Expression {
    #[dds(case = 0)]
    Literal(i32),
    #[dds(case = 1)]
    Call(Box<Call>),
    #[dds(case = 2)]
    Not(Box<Expression>),
}

#[derive(DdsType, Debug, PartialEq, Clone)]
struct Call {
    #[dds(key)]
    callee: Expression,
    arguments: Vec<Expression>,
}

#[test]
fn recursive_types() {
    let right = Right { left: Some(Box::default()), more: vec![Left::default()], named: BTreeMap::new() };
    let named = BTreeMap::from([(1, right.clone())]);
    round_trip(&Left { right: Some(Box::new(Right { named, ..right })) });
    let callee = Expression::Not(Box::new(Expression::Literal(5)));
    let call = Call { callee, arguments: vec![Expression::Literal(1)] };
    let call = Call { callee: Expression::Call(Box::new(call)), arguments: vec![] };
    round_trip(&call);
    assert!(dunlin_cdr::key_hash(&call).is_ok());
    assert_eq!(Call::MAX_KEY_SIZE, None);
}
