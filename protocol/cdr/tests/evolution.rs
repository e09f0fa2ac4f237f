//! How types of different versions, and derived types, read each other.

mod common;

use std::collections::BTreeMap;

use common::{body, decode, hex, round_trip, vector};
use dunlin_cdr::Endianness::Little;
use dunlin_cdr::Representation::{Xcdr1, Xcdr2};
use dunlin_cdr::{BoundedString, CdrError, DdsType, Limits, from_payload, to_payload};

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
#[dds(bit_bound = 8)]
enum Small {
    A = -3,
    #[dds(default)]
    B = 4,
    C,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct Base0 {
    #[dds(key)]
    a: u8,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(final)]
struct Derived0 {
    #[dds(base)]
    base: Base0,
    b: i32,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
struct Base1 {
    #[dds(key)]
    a: u8,
    c: u16,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
struct Derived1 {
    #[dds(base)]
    base: Base1,
    b: i32,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(mutable)]
struct Base2 {
    #[dds(must_understand)]
    a: u8,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(mutable)]
struct Derived2 {
    #[dds(base)]
    base: Base2,
    b: Option<i32>,
    #[dds(must_understand)]
    c: i32,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(mutable)]
struct Derived3 {
    #[dds(base)]
    base: Derived2,
    #[dds(id = 77)]
    d: String,
    e: u8,
}

#[test]
fn inheritance() {
    let value = Derived0 { base: Base0 { a: 1 }, b: 2 };
    round_trip(&value);
    vector(&value, Xcdr2, "01 ··· 02000000");
    let value = Derived1 { base: Base1 { a: 1, c: 3 }, b: 2 };
    round_trip(&value);
    // One DHEADER for all, none for the base.
    vector(&value, Xcdr2, "08000000 01 · 0300 02000000");
    const { assert!(Derived1::HAS_KEY) };
    assert_eq!(Derived1::MAX_KEY_SIZE, Some(1));
    assert_eq!(dunlin_cdr::key_hash(&value).unwrap()[..2], [1, 0]);
    let mut payload = Vec::new();
    dunlin_cdr::key_payload(&value, Xcdr2, &mut payload).unwrap();
    assert_eq!(payload, hex("00090003 01000000 01 ···"));
    let key = dunlin_cdr::from_key_payload::<Derived1>(&payload, &Limits::default()).unwrap();
    assert_eq!(key, Derived1 { base: Base1 { a: 1, c: 0 }, b: 0 });
}

#[test]
fn inheritance_of_mutable_types() {
    let base = Derived2 { base: Base2 { a: 1 }, b: Some(2), c: 3 };
    round_trip(&base);
    // Ids go on after those of the base.
    vector(&base, Xcdr2, "18000000 00000080 01 ··· 01000020 02000000 020000a0 03000000");
    let value = Derived3 { base, d: "x".into(), e: 9 };
    round_trip(&value);
    let data = body(&value, Xcdr2, Little);
    assert_eq!(&data[data.len() - 5..], hex("4e000000 09"));
}

mod versions {
    use super::*;

    #[derive(DdsType, Debug, PartialEq, Clone)]
    pub struct Old {
        pub a: u8,
    }

    #[derive(DdsType, Debug, PartialEq, Clone)]
    pub struct New {
        pub a: u8,
        pub b: Option<String>,
        #[dds(default = 7)]
        pub c: u16,
        #[dds(default = "nothing")]
        pub d: String,
        pub e: Small,
    }

    #[derive(DdsType, Debug, PartialEq, Clone)]
    #[dds(final, nested)]
    pub struct Holder<T: PartialEq> {
        pub inner: Vec<T>,
        pub end: u8,
    }
}

#[test]
fn appendable_versions() {
    use versions::{Holder, New, Old};
    let new = New { a: 1, b: Some("b".into()), c: 2, d: "d".into(), e: Small::A };
    let from_old = New { a: 1, b: None, c: 7, d: "nothing".into(), e: Small::B };
    let mut payload = Vec::new();
    for rep in [Xcdr1, Xcdr2] {
        to_payload(&new, rep, &mut payload).unwrap();
        assert_eq!(from_payload(&payload, &Limits::default()), Ok(Old { a: 1 }));
        to_payload(&Old { a: 1 }, rep, &mut payload).unwrap();
        assert_eq!(from_payload(&payload, &Limits::default()), Ok(from_old.clone()));
    }
    round_trip(&Holder { inner: vec!["x".to_string()], end: 1 });
    // Delimited, so inside of others too.
    let outer = Holder { inner: vec![new.clone(), new], end: 9 };
    to_payload(&outer, Xcdr2, &mut payload).unwrap();
    let old = Holder { inner: vec![Old { a: 1 }, Old { a: 1 }], end: 9 };
    assert_eq!(from_payload(&payload, &Limits::default()), Ok(old.clone()));
    to_payload(&old, Xcdr2, &mut payload).unwrap();
    let read = from_payload(&payload, &Limits::default());
    assert_eq!(read, Ok(Holder { inner: vec![from_old.clone(), from_old], end: 9 }));
}

mod lists {
    use super::*;

    #[derive(DdsType, Debug, PartialEq, Clone)]
    #[dds(mutable)]
    pub struct Old {
        #[dds(id = 1)]
        pub a: u8,
    }

    #[derive(DdsType, Debug, PartialEq, Clone)]
    #[dds(mutable)]
    pub struct New {
        #[dds(id = 3)]
        pub c: Vec<String>,
        #[dds(id = 1)]
        pub a: u8,
        #[dds(id = 2, default = -1)]
        pub b: i64,
    }

    #[derive(DdsType, Debug, PartialEq, Clone)]
    #[dds(mutable)]
    pub struct Strict {
        #[dds(id = 1)]
        pub a: u8,
        #[dds(id = 4, must_understand)]
        pub s: u32,
    }

    #[derive(DdsType, Debug, PartialEq, Clone)]
    #[dds(mutable)]
    pub struct Lenient {
        #[dds(id = 1)]
        pub a: u8,
        #[dds(id = 4, must_understand)]
        pub s: Option<u32>,
    }
}

#[test]
fn mutable_versions() {
    use lists::{Lenient, New, Old, Strict};
    let new = New { c: vec!["x".into()], a: 1, b: 2 };
    let mut payload = Vec::new();
    for rep in [Xcdr1, Xcdr2] {
        to_payload(&new, rep, &mut payload).unwrap();
        assert_eq!(from_payload(&payload, &Limits::default()), Ok(Old { a: 1 }));
        assert_eq!(
            from_payload::<Strict>(&payload, &Limits::default()),
            Err(CdrError::MissingMember { id: 4 })
        );
        to_payload(&Old { a: 5 }, rep, &mut payload).unwrap();
        assert_eq!(from_payload(&payload, &Limits::default()), Ok(New { c: vec![], a: 5, b: -1 }));
        to_payload(&Strict { a: 5, s: 6 }, rep, &mut payload).unwrap();
        assert_eq!(
            from_payload::<Old>(&payload, &Limits::default()),
            Err(CdrError::MustUnderstand { id: 4 })
        );
        // An optional member may be absent, whoever has to understand it where it is there.
        for s in [None, Some(7)] {
            to_payload(&Lenient { a: 5, s }, rep, &mut payload).unwrap();
            assert_eq!(from_payload(&payload, &Limits::default()), Ok(Lenient { a: 5, s }));
            let old = from_payload::<Old>(&payload, &Limits::default());
            assert_eq!(old, s.map_or(Ok(Old { a: 5 }), |_| Err(CdrError::MustUnderstand { id: 4 })));
        }
    }
}

#[test]
fn duplicate_members() {
    let twice = hex("18000000 01000000 01 ··· 01000000 02 ··· 01000000 03 ···");
    assert_eq!(decode::<lists::Old>(&twice, Xcdr2, Little), Err(CdrError::DuplicateMember { id: 1 }));
    let private = hex("01c00400 00000000 027f0000");
    assert_eq!(decode::<lists::Old>(&private, Xcdr1, Little), Err(CdrError::MustUnderstand { id: 1 }));
    let private = hex("01800400 00000000 01000100 05 ··· 027f0000");
    assert_eq!(decode::<lists::Old>(&private, Xcdr1, Little), Ok(lists::Old { a: 5 }));
}

#[derive(DdsType, Debug, PartialEq, Clone)]
struct Tolerant {
    #[dds(try_construct = "default", default = Small::A)]
    small: Small,
    #[dds(try_construct = "trim", bound = 3)]
    text: String,
    #[dds(try_construct = "default", bound = 1)]
    list: Vec<u16>,
    #[dds(try_construct = "trim", bound = 1)]
    map: BTreeMap<u8, u8>,
    #[dds(try_construct = "default")]
    smalls: Vec<Small>,
    #[dds(non_serialized, default = 42)]
    cache: usize,
    last: u8,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(name = "Tolerant")]
struct Loose {
    small: i8,
    text: String,
    list: Vec<u16>,
    map: BTreeMap<u8, u8>,
    smalls: Vec<Flat>,
    last: u8,
}

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
#[dds(bitmask)]
struct Flat(u8);

#[test]
fn values_that_do_not_fit() {
    let loose = Loose {
        small: 99,
        text: "aéé".into(),
        list: vec![1, 2],
        map: BTreeMap::from([(1, 2), (3, 4)]),
        smalls: vec![Flat(4), Flat(99), Flat(5)],
        last: 8,
    };
    let mut payload = Vec::new();
    for rep in [Xcdr1, Xcdr2] {
        to_payload(&loose, rep, &mut payload).unwrap();
        let read = from_payload(&payload, &Limits::default());
        let expected = Tolerant {
            small: Small::A,
            text: "aé".into(),
            list: vec![],
            map: BTreeMap::from([(1, 2)]),
            smalls: vec![],
            cache: 42,
            last: 8,
        };
        assert_eq!(read, Ok(expected.clone()));
        let too_long = Tolerant { text: "abcd".into(), ..expected };
        assert_eq!(
            to_payload(&too_long, rep, &mut payload),
            Err(CdrError::BoundExceeded { bound: 3, len: 4 })
        );
    }
    assert_eq!(Loose::TYPE_NAME, "Tolerant");
    assert!(BoundedString::<2>::try_from("abc").is_err());
    assert!(decode::<BoundedString<2>>(&body(&"abc", Xcdr1, Little), Xcdr1, Little).is_err());
}

#[test]
fn the_encapsulation_header_distinguishes_final_and_appendable() {
    #[derive(DdsType, Debug, PartialEq)]
    #[dds(final)]
    struct Fixed {
        x: i32,
    }
    #[derive(DdsType, Debug, PartialEq)]
    struct Open {
        x: i32,
    }
    #[derive(DdsType, Debug, PartialEq)]
    #[dds(mutable)]
    struct List {
        x: i32,
    }
    let limits = Limits::default();
    let plain = hex("00070000 05000000");
    let delimited = hex("00090000 04000000 05000000");
    assert_eq!(from_payload(&plain, &limits), Ok(Open { x: 5 }));
    assert_eq!(from_payload(&delimited, &limits), Ok(Open { x: 5 }));
    assert_eq!(from_payload(&plain, &limits), Ok(Fixed { x: 5 }));
    assert_eq!(from_payload(&delimited, &limits), Ok(Fixed { x: 5 }));
    for payload in [plain, delimited, hex("00010000 05000000")] {
        let result = from_payload::<List>(&payload, &limits);
        assert!(matches!(result, Err(CdrError::ExtensibilityMismatch { .. })), "{result:?}");
    }
    assert_eq!(from_payload(&hex("00010001 05000000 00"), &limits), Ok(Open { x: 5 }));
    for id in [4u16, 5, 0x0c, 0x10, 0x15, 0xc000] {
        let payload = [&id.to_be_bytes()[..], &[0; 6]].concat();
        assert_eq!(from_payload::<Open>(&payload, &limits), Err(CdrError::UnsupportedEncapsulation(id)));
    }
    assert!(from_payload::<Open>(&hex("00010003 05"), &limits).is_err());
    assert!(from_payload::<Open>(&[0, 1, 0], &limits).is_err());
}

mod beside {
    use super::*;

    /// Versions of the same types: the later one alone has what `$more` names.
    macro_rules! versions {
        ($($module:ident { $($more:ident)* })*) => {$(
            pub mod $module {
                use super::*;

                #[derive(DdsType, Debug, PartialEq, Clone, Default)]
                #[dds(name = "Item", nested, appendable)]
                pub struct Item {
                    #[dds(key)]
                    pub a: u32,
                    $(#[dds(key, default = 9)] pub $more: u32,)*
                }

                #[derive(DdsType, Debug, PartialEq, Clone, Default)]
                #[dds(name = "Loose", nested, mutable)]
                pub struct Loose {
                    #[dds(key, id = 1)]
                    pub a: u32,
                    $(#[dds(key, id = 2)] pub $more: u32,)*
                }

                /// All of it is key where it is key.
                #[derive(DdsType, Debug, PartialEq, Clone, Default)]
                #[dds(name = "Plain", nested, final)]
                pub struct Plain {
                    pub item: Item,
                }

                #[derive(DdsType, Debug, PartialEq, Clone)]
                #[dds(name = "Held", union, discriminator = "u8", nested, appendable)]
                pub enum Held {
                    #[dds(case = 1)]
                    Item(Item),
                }

                #[derive(DdsType, Debug, PartialEq, Clone, Default)]
                #[dds(name = "Base", final)]
                pub struct Base {
                    #[dds(key)]
                    pub id: u32,
                    pub item: Item,
                }

                #[derive(DdsType, Debug, PartialEq, Clone)]
                #[dds(name = "Beside", final)]
                pub struct Beside {
                    #[dds(base)]
                    pub base: Base,
                    pub loose: Loose,
                    pub items: Vec<Item>,
                    pub maybe: Option<Plain>,
                    pub held: Held,
                }

                #[derive(DdsType, Debug, PartialEq, Clone)]
                #[dds(name = "Keyless", final)]
                pub struct Keyless {
                    pub item: Item,
                    pub loose: Loose,
                }

                #[derive(DdsType, Debug, PartialEq, Clone, Default)]
                #[dds(name = "OfItem", final)]
                pub struct OfItem {
                    #[dds(key)]
                    pub key: Item,
                }

                #[derive(DdsType, Debug, PartialEq, Clone, Default)]
                #[dds(name = "OfLoose", final)]
                pub struct OfLoose {
                    #[dds(key)]
                    pub key: Loose,
                }

                #[derive(DdsType, Debug, PartialEq, Clone, Default)]
                #[dds(name = "OfPlain", final)]
                pub struct OfPlain {
                    #[dds(key)]
                    pub key: Plain,
                }
            }
        )*};
    }

    versions! { old {} new { b } }
}

/// `@key` says nothing beside the topic's key, so the writer's version may lack such members; in the key it may not
/// (DDS-XTypes 1.3 §7.2.4.4.8, key erased and key holder types).
#[test]
fn keys_beside_the_key_may_be_missing() {
    use beside::{new, old};
    let mut payload = Vec::new();
    let (old_item, item) = (|a| old::Item { a }, |a| new::Item { a, b: 9 });
    let sent = old::Beside {
        base: old::Base { id: 1, item: old_item(2) },
        loose: old::Loose { a: 3 },
        items: vec![old_item(4), old_item(5)],
        maybe: Some(old::Plain { item: old_item(6) }),
        held: old::Held::Item(old_item(7)),
    };
    to_payload(&sent, Xcdr2, &mut payload).unwrap();
    let read = new::Beside {
        base: new::Base { id: 1, item: item(2) },
        loose: new::Loose { a: 3, b: 0 },
        items: vec![item(4), item(5)],
        maybe: Some(new::Plain { item: item(6) }),
        held: new::Held::Item(item(7)),
    };
    assert_eq!(from_payload(&payload, &Limits::default()), Ok(read));
    to_payload(&old::Keyless { item: old_item(1), loose: old::Loose { a: 2 } }, Xcdr2, &mut payload).unwrap();
    let read = new::Keyless { item: item(1), loose: new::Loose { a: 2, b: 0 } };
    assert_eq!(from_payload(&payload, &Limits::default()), Ok(read));
    let missing = |id| CdrError::MissingMember { id };
    to_payload(&old::OfItem::default(), Xcdr2, &mut payload).unwrap();
    assert_eq!(from_payload::<new::OfItem>(&payload, &Limits::default()), Err(missing(1)));
    to_payload(&old::OfPlain::default(), Xcdr2, &mut payload).unwrap();
    assert_eq!(from_payload::<new::OfPlain>(&payload, &Limits::default()), Err(missing(1)));
    for rep in [Xcdr1, Xcdr2] {
        to_payload(&old::OfLoose::default(), rep, &mut payload).unwrap();
        assert_eq!(from_payload::<new::OfLoose>(&payload, &Limits::default()), Err(missing(2)));
    }
}
