//! Bytes that other implementations produced (little-endian, without encapsulation header).

mod common;

use common::{hex, reads_only_whole, vector};
use dunlin_cdr::Representation::{Xcdr1, Xcdr2};
use dunlin_cdr::{CdrError, DdsType};

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct Pair {
    a: u8,
    b: i64,
}

#[test]
fn final_structure() {
    let value = Pair { a: 1, b: 2 };
    vector(&value, Xcdr2, "01 ··· 0200000000000000");
    vector(&value, Xcdr1, "01 ······· 0200000000000000");
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(appendable)]
struct One {
    x: i32,
}

#[test]
fn appendable_structure() {
    vector(&One { x: 1 }, Xcdr2, "04000000 01000000");
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(mutable)]
struct Sparse {
    #[dds(id = 5)]
    x: i32,
    #[dds(id = 7)]
    y: Option<u8>,
}

#[test]
fn mutable_structure() {
    vector(&Sparse { x: 1, y: None }, Xcdr2, "08000000 05000020 01000000");
    vector(&Sparse { x: 1, y: Some(9) }, Xcdr2, "0d000000 05000020 01000000 07000000 09");
}

#[test]
fn strings() {
    vector(&vec!["a".to_string()], Xcdr2, "0a000000 01000000 02000000 6100");
    vector(&vec!["a".to_string()], Xcdr1, "01000000 02000000 6100");
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct F {
    a: u8,
    b: u64,
    c: i16,
    s: String,
    d: f64,
}

#[test]
fn alignment() {
    let value = F { a: 1, b: 0x1122_3344_5566_7788, c: -2, s: "ab".into(), d: 1.0 };
    vector(&value, Xcdr1, "01 ······· 8877665544332211 feff ·· 03000000 616200 ····· 000000000000f03f");
    vector(&value, Xcdr2, "01 ··· 8877665544332211 feff ·· 03000000 616200 · 000000000000f03f");
}

#[derive(DdsType, Debug, PartialEq, Clone)]
struct Ap {
    x: i32,
    y: Vec<i16>,
    z: Vec<String>,
}

#[test]
fn sequences() {
    let value = Ap { x: 5, y: vec![1, 2, 3], z: vec!["a".into(), "bcd".into()] };
    vector(&value, Xcdr1, "05000000 03000000 010002000300 ·· 02000000 02000000 6100 ·· 04000000 62636400");
    vector(
        &value,
        Xcdr2,
        "28000000 05000000 03000000 010002000300 ·· 14000000 02000000 02000000 6100 ·· 04000000 62636400",
    );
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct P {
    x: i16,
    y: i64,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct Arr {
    a: [i16; 3],
    p: [P; 2],
    q: Vec<P>,
    r: Vec<Vec<u8>>,
}

#[test]
fn arrays() {
    let value = Arr {
        a: [1, 2, 3],
        p: [P { x: 1, y: 2 }, P { x: 3, y: 4 }],
        q: vec![P { x: 5, y: 6 }],
        r: vec![vec![1, 2, 3], vec![4]],
    };
    vector(
        &value,
        Xcdr1,
        "010002000300 0100 0200000000000000 0300 ······ 0400000000000000 01000000 0500 ·· 0600000000000000 \
         02000000 03000000 010203 · 01000000 04",
    );
    vector(
        &value,
        Xcdr2,
        "010002000300 ·· 18000000 0100 ·· 0200000000000000 0300 ·· 0400000000000000 10000000 01000000 0500 ·· \
         0600000000000000 11000000 02000000 03000000 010203 · 01000000 04",
    );
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct O {
    a: u8,
    o: Option<i32>,
    p: Option<i64>,
    q: u8,
}

#[test]
fn optional_members() {
    let full = O { a: 1, o: Some(7), p: Some(9), q: 2 };
    let none = O { a: 1, o: None, p: None, q: 2 };
    vector(&full, Xcdr2, "01 01 ·· 07000000 01 ··· 0900000000000000 02");
    vector(&none, Xcdr2, "01 00 00 02");
    vector(
        &full,
        Xcdr1,
        "01 ··· 017f0800 01000000 04000000 07000000 017f0800 02000000 08000000 0900000000000000 02",
    );
    vector(&none, Xcdr1, "01 ··· 017f0800 01000000 00000000 017f0800 02000000 00000000 02");
    // Short headers are as good.
    reads_only_whole(&full, Xcdr1, &hex("01 ··· 01000400 07000000 02000800 0900000000000000 02"));
    reads_only_whole(&none, Xcdr1, &hex("01 ··· 01000000 02000000 02"));
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(mutable)]
struct M {
    a: u8,
    b: i32,
    c: f64,
    s: String,
    t: Vec<i32>,
    u: Vec<u8>,
    o: Option<i16>,
}

fn m(o: Option<i16>) -> M {
    M { a: 1, b: 2, c: 3.0, s: "xy".into(), t: vec![10, 20], u: vec![1, 2, 3], o }
}

const M_LONG: &str = "00000000 01 ··· 01000020 02000000 02000030 0000000000000840 03000050 03000000 787900 · \
                      04000060 02000000 0a000000 14000000 05000050 03000000 010203";

#[test]
fn mutable_members_in_version_2() {
    vector(&m(Some(4)), Xcdr2, &format!("4a000000 {M_LONG} · 06000010 0400"));
    vector(&m(None), Xcdr2, &format!("43000000 {M_LONG}"));
}

#[test]
fn mutable_members_in_version_1() {
    vector(
        &m(Some(4)),
        Xcdr1,
        "017f0800 00000000 01000000 01 ··· 017f0800 01000000 04000000 02000000 \
         017f0800 02000000 08000000 0000000000000840 017f0800 03000000 07000000 03000000 787900 · \
         017f0800 04000000 0c000000 02000000 0a000000 14000000 017f0800 05000000 07000000 03000000 010203 · \
         017f0800 06000000 02000000 0400 ·· 027f0000",
    );
    // Lengths rounded up to four, the other end of list, and a parameter to be ignored.
    let rounded =
        hex("017f0800 00000000 04000000 01 ··· 017f0800 01000000 04000000 02000000 033f0400 ffffffff \
         017f0800 02000000 08000000 0000000000000840 017f0800 03000000 08000000 03000000 787900 · \
         017f0800 04000000 0c000000 02000000 0a000000 14000000 017f0800 05000000 08000000 03000000 010203 · \
         017f0800 06000000 04000000 0400 ·· 023f0000");
    reads_only_whole(&m(Some(4)), Xcdr1, &rounded);
    // Short headers, in another order.
    let short = hex(
        "05000700 03000000 010203 · 01000400 02000000 02000800 0000000000000840 03000700 03000000 787900 · \
         04400c00 02000000 0a000000 14000000 00000100 01 ··· 027f0000",
    );
    reads_only_whole(&m(None), Xcdr1, &short);
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(union, discriminator = "i32", final)]
enum U {
    #[dds(case = 1)]
    X(u8),
    #[dds(case = 2)]
    Y(i64),
    #[dds(default)]
    Z(#[dds(discriminator)] i32, String),
}

#[test]
fn union() {
    vector(&U::X(5), Xcdr1, "01000000 05");
    vector(&U::X(5), Xcdr2, "01000000 05");
    vector(&U::Y(6), Xcdr1, "02000000 ···· 0600000000000000");
    vector(&U::Y(6), Xcdr2, "02000000 0600000000000000");
    vector(&U::Z(-1, "q".into()), Xcdr1, "ffffffff 02000000 7100");
    vector(&U::Z(-1, "q".into()), Xcdr2, "ffffffff 02000000 7100");
}

#[derive(DdsType, Debug, PartialEq, Clone)]
enum E {
    R,
    G,
    B,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct EE {
    e: E,
    es: Vec<E>,
    u: U,
}

#[test]
fn enumerations() {
    let value = EE { e: E::G, es: vec![E::R, E::B], u: U::Y(6) };
    vector(&value, Xcdr1, "01000000 02000000 00000000 02000000 02000000 ···· 0600000000000000");
    vector(&value, Xcdr2, "01000000 0c000000 02000000 00000000 02000000 02000000 0600000000000000");
}

#[derive(DdsType, Debug, PartialEq, Clone)]
struct Nest {
    i: u8,
    n: Ap,
    j: u8,
}

#[test]
fn nested_delimiters() {
    let value = Nest { i: 1, n: Ap { x: 5, y: vec![], z: vec![] }, j: 2 };
    vector(&value, Xcdr1, "01 ··· 05000000 00000000 00000000 02");
    vector(&value, Xcdr2, "19000000 01 ··· 10000000 05000000 00000000 04000000 00000000 02");
}

#[test]
fn empty_string_of_length_zero() {
    assert_eq!(common::decode::<String>(&[0; 4], Xcdr1, dunlin_cdr::Endianness::Little), Ok(String::new()));
    let unterminated = hex("02000000 6161");
    let result = common::decode::<String>(&unterminated, Xcdr1, dunlin_cdr::Endianness::Little);
    assert!(matches!(result, Err(CdrError::InvalidString { .. })));
}
