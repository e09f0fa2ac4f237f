//! Types with members of every kind.
#![allow(dead_code, reason = "each test file uses a part")]

use dunlin_cdr::{
    CdrWrite, Char8, Char16, DdsType, DecodeOptions, Endianness, Representation, Scope, WString,
    to_payload_as,
};
use dunlin_filter::Filter;

pub const ALL: [(Representation, Endianness); 4] = [
    (Representation::Xcdr1, Endianness::Little),
    (Representation::Xcdr1, Endianness::Big),
    (Representation::Xcdr2, Endianness::Little),
    (Representation::Xcdr2, Endianness::Big),
];

#[derive(DdsType, Debug, Clone, Copy, PartialEq)]
#[dds(bit_bound = 16)]
pub enum Mode {
    #[dds(name = "FAST")]
    Fast = 2,
    #[default]
    Slow = -4,
}

#[derive(DdsType, Debug, Clone, Copy, PartialEq)]
#[dds(bitmask, bit_bound = 16)]
pub struct Bits(pub u16);

#[derive(DdsType, Debug, Clone, PartialEq)]
#[dds(union, discriminator = "i16", nested)]
pub enum Choice {
    #[dds(case = 1)]
    Word(String),
    #[dds(case = 2)]
    Number(i64),
    #[dds(default)]
    Nothing,
}

#[derive(DdsType, Debug, Clone, PartialEq)]
#[dds(final)]
pub struct Nest {
    pub depth: i32,
    pub label: String,
    pub maybe: Option<i64>,
}

#[derive(DdsType, Debug, Clone, PartialEq)]
#[dds(nested, mutable)]
pub struct Spot {
    #[dds(key)]
    pub x: f64,
    pub note: String,
}

#[derive(DdsType, Debug, Clone, PartialEq)]
pub struct Sample {
    #[dds(key)]
    pub id: i32,
    pub name: String,
    pub small: u8,
    pub signed: i16,
    pub big: u64,
    pub low: i64,
    pub single: f32,
    pub double: f64,
    pub nan: f64,
    pub flag: bool,
    pub letter: Char8,
    pub wide: Char16,
    pub mode: Mode,
    pub bits: Bits,
    pub text: WString,
    pub nest: Nest,
    pub other: Nest,
    pub grid: [[u16; 3]; 2],
    pub list: Vec<String>,
    pub nests: Vec<Nest>,
    pub choice: Choice,
    #[dds(key)]
    pub spot: Spot,
}

fn nest(depth: i32, label: &str, maybe: Option<i64>) -> Nest {
    Nest { depth, label: label.into(), maybe }
}

pub fn fill() -> Sample {
    Sample {
        id: 7,
        name: "dunlin".into(),
        small: 200,
        signed: -5,
        big: u64::MAX,
        low: i64::MIN,
        single: 0.1,
        double: 2.5,
        nan: f64::NAN,
        flag: true,
        letter: Char8(b'x'),
        wide: Char16(0xe9),
        mode: Mode::Fast,
        bits: Bits(0x101),
        text: "Vögel".into(),
        nest: nest(3, "mud", None),
        other: nest(9, "sand", Some(5)),
        grid: [[1, 2, 3], [4, 5, 6]],
        list: vec!["a".into(), "b".into()],
        nests: vec![nest(10, "pp", Some(1)), nest(11, "qq", None)],
        choice: Choice::Number(40),
        spot: Spot { x: 4.0, note: "here".into() },
    }
}

pub fn payload<T: CdrWrite>(value: &T, representation: Representation, endianness: Endianness) -> Vec<u8> {
    let mut octets = Vec::new();
    to_payload_as(value, representation, endianness, Scope::Sample, &mut octets).unwrap();
    octets
}

/// Whether a sample passes, which must not depend on how it is serialized.
pub fn passes<T: DdsType>(expression: &str, parameters: &[impl AsRef<str>], sample: &T) -> bool {
    let filter =
        Filter::new::<T>(expression, parameters).unwrap_or_else(|error| panic!("{expression}: {error}"));
    let passed = ALL.map(|(representation, endianness)| {
        filter.check(&payload(sample, representation, endianness), DecodeOptions::default()).passed()
    });
    assert!(passed.iter().all(|each| *each == passed[0]), "{expression} {passed:?}");
    passed[0]
}
