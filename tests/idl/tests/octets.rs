//! Values of generated types become the octets that their IDL asks for, and come back from them.

use std::collections::BTreeMap;
use std::fmt::Debug;

use dunlin_cdr::{
    Bound, Char8, Char16, DdsType, Extensibility, Float128, Limits, Representation, TypeSupport,
    TypeSupportOf, from_payload, key_hash, to_payload,
};
use dunlin_idl_tests::{evolution, kinds, names, recursive, video};
use kinds::{common, test};

fn payload<T: DdsType>(value: &T, representation: Representation) -> Vec<u8> {
    let mut payload = Vec::new();
    to_payload(value, representation, &mut payload).unwrap();
    payload
}

/// Also evaluates every constant of the type.
#[track_caller]
fn round_trip<T: DdsType + PartialEq + Debug + Send + Sync + 'static>(value: &T) {
    let support = TypeSupportOf::<T>::new();
    assert_eq!(support.type_name(), T::TYPE_NAME);
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let payload = payload(value, representation);
        assert_eq!(&from_payload::<T>(&payload, &Limits::default()).unwrap(), value, "{representation:?}");
        key_hash(value).unwrap();
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn primitives() -> test::Primitives {
    test::Primitives {
        a: true,
        b: 1,
        c: Char8(b'x'),
        d: Char16(0x20ac),
        e: -2,
        f: 3,
        g: -4,
        h: 5,
        i: -6,
        j: 7,
        k: 1.5,
        l: -2.5,
        m: Float128(1 << 100),
        n: -8,
        o: 9,
    }
}

fn texts() -> test::Texts {
    test::Texts {
        id: "id".into(),
        brief: "12345678".into(),
        wide: "wide €".into(),
        wide_brief: "w".into(),
        name: Bound::new("name".to_owned()).unwrap(),
        guid: [1, 2, 3],
    }
}

fn collections() -> test::Collections {
    let mut packed = test::Packed::default();
    packed.set_level(5);
    let mut wider = test::Wider::default();
    wider.set_rest(-1);
    test::Collections {
        numbers: vec![1, -2],
        strings: vec![Bound::new("abc".to_owned()).unwrap()],
        nested: vec![vec![1], vec![]],
        matrix: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        lookup: BTreeMap::from([("a".into(), 1), ("b".into(), 2)]),
        bounded: BTreeMap::from([(test::Color::Green, Bound::new(vec![primitives()]).unwrap())]),
        stamps: vec![common::Stamp { sec: 1, nanosec: 2 }],
        access: test::BOTH,
        accesses: vec![test::Access::EXECUTE, test::Access::empty()],
        packed,
        wider: [wider, test::Wider::default()],
        big: [Char8(b'b'); 40],
    }
}

#[test]
fn structures() {
    round_trip(&primitives());
    round_trip(&test::Primitives::default());
    round_trip(&texts());
    round_trip(&collections());
    round_trip(&test::Collections::default());
    round_trip(&test::Hashed { color: 1, shape_size: "x".into(), flag: true });
    round_trip(&test::Defaults { maybe: Some(3), far: Some(Box::new("far".into())), ..Default::default() });
    round_trip(&test::Empty {});
    round_trip(&video::VideoFrame { camera_id: "cam".into(), ..Default::default() });
    round_trip(&names::FnType { r#type: 1, foo_bar: 2, foo_bar_: 3, ..Default::default() });
    round_trip(&names::Box { value: Box::new(5) });
}

#[test]
fn unions() {
    for value in [
        test::Choice::default(),
        test::Choice::Text("abcde".into()),
        test::Choice::Number { discriminator: test::Color::Green, value: 4 },
    ] {
        round_trip(&value);
    }
    assert_eq!(test::Choice::default(), test::Choice::Text(String::new()));
    for value in [
        test::Numbered::default(),
        test::Numbered::One(1),
        test::Numbered::Many { discriminator: 3, value: vec!["a".into()] },
        test::Numbered::Texts(Box::new(texts())),
        test::Numbered::Other { discriminator: 77, value: [1, 2] },
    ] {
        round_trip(&value);
    }
    assert_eq!(test::Numbered::default().discriminator(), 0);
    assert_eq!(test::Numbered::Texts(Box::default()).discriminator(), -1);
    for value in [
        test::Sparse::First(1),
        test::Sparse::Second(1.5),
        test::Sparse::Unset { discriminator: Char8(b'z') },
    ] {
        round_trip(&value);
    }
    round_trip(&test::Covered::No(common::Stamp { sec: 1, nanosec: 2 }));
    round_trip(&test::Covered::Yes(1));
    round_trip(&test::Masked::Write(5));
    assert_eq!(test::Masked::Write(5).discriminator(), test::Access::WRITE);
    round_trip(&names::UnsetU::Unset_ { discriminator: 5 });
}

#[test]
fn types_that_contain_themselves() {
    use recursive::*;
    let leaf = Tree { value: 1, children: vec![] };
    round_trip(&Tree { value: 2, children: vec![leaf.clone(), leaf] });
    let node = Node { name: "a".into(), ..Default::default() };
    round_trip(&Node { more: vec![node.clone()], next: Some(Box::new(node)), ..Default::default() });
    let b = B { a: A::default(), some: vec![A::default()] };
    round_trip(&A { b: Some(Box::new(b.clone())), all: BTreeMap::from([("x".into(), b)]) });
    let one = Expr::Number(1.0);
    round_trip(&Expr::Sum(Sum { terms: vec![one.clone(), Expr::Negated(Box::new(one))] }));
    round_trip(&Chain { value: 1, next: Some(Box::new(Chain::default())) });
    round_trip(&Inner { outer: Some(Box::new(Outer { inner: [Inner::default(), Inner::default()] })) });
}

#[test]
fn octets_are_those_of_the_standard() {
    let point = evolution::v1::Point { x: 5 };
    assert_eq!(payload(&point, Representation::Xcdr2), hex("00090000 04000000 05000000"));
    let record = evolution::v1::Record { a: 1, b: "b".into() };
    // Two members with the ids 1 and 2.
    assert_eq!(
        payload(&record, Representation::Xcdr2)[..20],
        hex("000b0002 12000000 01000020 01000000 02000050 02000000 6200")[..20]
    );
    let derived = evolution::v1::Derived { base: evolution::v1::Base { id: 7 }, text: "t".into() };
    assert_eq!(payload(&derived, Representation::Xcdr1), hex("00010002 07000000 02000000 74000000"));
    // The hash of "color" is the id of the first member.
    let hashed = payload(&test::Hashed::default(), Representation::Xcdr2);
    assert_eq!(hashed[8..12], hex("70dda52f"));
    let mut bits = test::Packed::default();
    bits.set_on(true);
    bits.set_level(3);
    bits.set_offset(-1);
    assert_eq!(bits.0, 0x7f07);
}

#[test]
fn versions_read_each_other() {
    use evolution::{v1, v2};
    let new = payload(&v2::Point { x: 1, y: 2 }, Representation::Xcdr2);
    assert_eq!(from_payload::<v1::Point>(&new, &Limits::default()).unwrap(), v1::Point { x: 1 });
    let old = payload(&v1::Point { x: 1 }, Representation::Xcdr2);
    assert_eq!(from_payload::<v2::Point>(&old, &Limits::default()).unwrap(), v2::Point { x: 1, y: 9 });
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let new = payload(&v2::Record { c: Some(1.5), b: "b".into(), a: 3 }, representation);
        assert_eq!(
            from_payload::<v1::Record>(&new, &Limits::default()).unwrap(),
            v1::Record { a: 3, b: "b".into() }
        );
    }
}

#[test]
fn defaults_are_those_of_the_idl() {
    let value = test::Defaults::default();
    assert_eq!((value.number, value.text.as_str(), value.name.as_str()), (5, "text", "tiny"));
    assert_eq!((value.wide.to_string(), value.flag, value.ratio), ("wide".to_owned(), true, -1.5));
    assert_eq!((value.color, value.letter, value.access), (test::Color::Green, Char8(b'z'), test::BOTH));
    assert_eq!((*value.boxed, value.boxed_text.as_str(), value.tried), (7, "boxed", test::Color::Red));
    assert_eq!((value.hidden, value.maybe, value.far), ([0; 50], None, None));
    assert_eq!(test::Color::default(), test::Color::DarkBlue);
}

#[test]
fn bounds_are_enforced() {
    let long = test::Texts { brief: "123456789".into(), ..Default::default() };
    assert!(to_payload(&long, Representation::Xcdr1, &mut Vec::new()).is_err());
}

#[test]
fn names_and_kinds_of_the_idl() {
    assert_eq!(test::Texts::TYPE_NAME, "Test::Texts");
    assert_eq!(names::FnType::TYPE_NAME, "fn_type");
    assert_eq!(names::r#type::super_::GuidT::TYPE_NAME, "type::super::GUID_t");
    assert_eq!(test::Collections::EXTENSIBILITY, Extensibility::Mutable);
    const { assert!(test::Texts::HAS_KEY && !test::Primitives::HAS_KEY && test::Numbered::HAS_KEY) };
    const { assert!(evolution::v1::Derived::HAS_KEY && evolution::v1::Further::HAS_KEY) };
}

#[test]
fn constants_and_flags() {
    assert_eq!((test::OCT, test::LARGEST, test::LEAST), (255, u64::MAX, i64::MIN));
    assert_eq!((test::TEXT, test::WIDE_TEXT), ("quote \" and \\ and ü", "wide"));
    assert_eq!(
        (test::LETTER, test::WIDE, test::FAVOURITE),
        (Char8(b'x'), Char16(0x20ac), test::Color::DarkBlue)
    );
    assert_eq!(test::LARGE, Float128(0x3fff_8000 << 96));
    assert!(test::BOTH.contains(test::Access::READ) && !test::BOTH.contains(test::Access::EXECUTE));
    assert_eq!(test::BOTH.without(test::Access::READ), test::Access::WRITE);
    let mut wider = test::Wider::default();
    wider.set_offset(-3);
    wider.set_counter(0xfffff);
    wider.set_rest(-5);
    wider.set_on(true);
    assert_eq!(
        (wider.on(), wider.level(), wider.offset(), wider.counter(), wider.rest()),
        (true, 0, -3, 0xfffff, -5)
    );
    wider.set_rest(7);
    wider.set_offset(63);
    assert_eq!((wider.offset(), wider.rest()), (63, 7));
    let error: Box<dyn std::error::Error> = Box::new(test::Broken { why: "x".into() });
    assert!(error.to_string().contains("why"));
}
