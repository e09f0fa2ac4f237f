//! One type of every construct that the derive macro supports (DDS-XTypes 1.3 §7.2.2): what applications declare.

use std::collections::BTreeMap;
use std::sync::Arc;

use dunlin_cdr::{BoundedString, BoundedVec, Char8, Char16, DdsType, Float128, WString};

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
pub(super) struct Primitives {
    a: bool,
    b: i8,
    #[dds(key)]
    c: u8,
    d: i16,
    e: u16,
    f: i32,
    g: u32,
    #[dds(key)]
    h: i64,
    i: u64,
    j: f32,
    k: f64,
    l: Char8,
    m: Char16,
    n: Float128,
}

#[derive(DdsType, Debug, PartialEq, Clone, Copy, PartialOrd, Eq, Ord)]
#[dds(bit_bound = 8)]
pub(super) enum Small {
    A = -3,
    #[dds(default)]
    B = 4,
    C,
}

#[derive(DdsType, Debug, PartialEq, Eq, Clone, Copy, PartialOrd, Ord)]
#[dds(bitmask, bit_bound = 12)]
pub(super) struct Flags(u16);

#[derive(DdsType, Debug, PartialEq, Eq, Clone, Copy)]
#[dds(bitset)]
pub(super) struct Bits(u64);

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(transparent)]
pub(super) struct Meters(f64);

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(union, discriminator = Small)]
pub(super) enum BySmall {
    #[dds(case = Small::A)]
    First { value: Vec<Meters> },
    #[dds(case(Small::B, Small::C))]
    Second,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(union, discriminator = "Char8", mutable)]
pub(super) enum ByChar {
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
pub(super) enum ByBool {
    #[dds(case = true)]
    Yes(u64),
    #[dds(default)]
    No(u8),
}

#[derive(DdsType, Debug, PartialEq, Clone)]
pub(super) struct Text {
    text: String,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
pub(super) struct Collections {
    strings: Vec<String>,
    wide: WString,
    map: BTreeMap<i32, u8>,
    names: BTreeMap<String, Vec<f32>>,
    flags: Vec<bool>,
    grid: [[i64; 2]; 3],
    cubes: [[[BoundedString<3>; 2]; 1]; 2],
    rows: Vec<[i32; 2]>,
    bounded: BoundedVec<BoundedString<4>, 2>,
    shared: Arc<Text>,
    bytes: Box<[u8]>,
}

/// Keys in nested types, in the order of their ids.
#[derive(DdsType, Debug, PartialEq, Clone)]
pub(super) struct Keyed {
    #[dds(key, id = 9)]
    name: String,
    before: Vec<u16>,
    #[dds(key, id = 3)]
    part: Primitives,
    #[dds(key, id = 4)]
    kind: Small,
    after: Option<Text>,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
pub(super) struct Tree {
    value: i32,
    next: Option<Box<Tree>>,
    children: Vec<Tree>,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(union, discriminator = "u8")]
pub(super) enum Expression {
    #[dds(case = 0)]
    Literal(i32),
    #[dds(case = 1)]
    Call(Box<Call>),
    #[dds(case = 2)]
    Not(Box<Expression>),
}

#[derive(DdsType, Debug, PartialEq, Clone)]
pub(super) struct Call {
    #[dds(key)]
    callee: Expression,
    arguments: Vec<Expression>,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(nested)]
pub(super) struct Generic<T> {
    value: T,
    values: Vec<T>,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
pub(super) struct Base {
    #[dds(key)]
    id: u32,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
pub(super) struct Derived {
    #[dds(base)]
    base: Base,
    pair: Generic<Small>,
    nothing: Vec<Nothing>,
}

/// Takes no octets at all.
#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
pub(super) struct Nothing {}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(mutable)]
pub(super) struct Everything {
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
