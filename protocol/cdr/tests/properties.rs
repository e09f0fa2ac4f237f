//! Random values survive every representation; random and damaged bytes never do harm.

// An interpreter takes minutes to make the values alone.
#![cfg(not(miri))]

mod common;

use std::collections::BTreeMap;

use common::{ALL, body, decode, round_trip};
use dunlin_cdr::{
    Bound, BoundedString, CdrRead, CdrWrite, Char8, Char16, DdsType, DecodeOptions, Decoder, Endianness,
    Extensibility, Float128, Limits, Representation, Scope, WString, from_key_hash, from_key_payload,
    from_payload, key_hash, key_hash_of_payload, key_payload, key_payload_of_payload, to_payload_as,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
#[dds(bit_bound = 16)]
enum Color {
    Red,
    Green = 7,
    Blue = -2,
}

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
#[dds(bitmask)]
struct Mask(u32);

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
#[dds(final)]
struct Point {
    x: f32,
    y: i16,
    z: [u8; 2],
}

/// The same members with each extensibility.
macro_rules! bag {
    ($name:ident, $choice:ident, $extensibility:ident) => {
        #[derive(DdsType, Debug, PartialEq, Clone)]
        #[dds($extensibility, union, discriminator = "u16")]
        enum $choice {
            #[dds(case = 1)]
            Text(String),
            #[dds(case(2, 5))]
            Points(Vec<Point>),
            #[dds(case = 3)]
            Tree(#[dds(external)] Box<$choice>),
            #[dds(default)]
            Other {
                #[dds(discriminator)]
                which: u16,
                value: Option_,
            },
        }

        #[derive(DdsType, Debug, PartialEq, Clone)]
        #[dds($extensibility)]
        struct $name {
            data: Vec<u8>,
            flag: bool,
            #[dds(key, id = 130)]
            color: Color,
            text: String,
            wide: WString,
            #[dds(key, id = 20, bound = 5)]
            name: String,
            characters: [Characters; 1],
            optional: Option<i64>,
            #[dds(optional)]
            other: Option<Vec<String>>,
            numbers: Vec<u64>,
            points: Vec<Point>,
            grid: [[Color; 2]; 2],
            map: BTreeMap<i16, Mask>,
            dictionary: BTreeMap<String, f64>,
            choices: Vec<$choice>,
            children: Vec<$name>,
            #[dds(key)]
            position: Point,
            short: BoundedString<4>,
        }
    };
}

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
struct Characters {
    octet: Char8,
    wide: Char16,
    long: Float128,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
#[dds(mutable)]
struct Option_ {
    value: Option<u8>,
    #[dds(must_understand)]
    mask: Mask,
}

bag!(FinalBag, FinalChoice, final);
bag!(AppendableBag, AppendableChoice, appendable);
bag!(MutableBag, MutableChoice, mutable);

fn color() -> impl Strategy<Value = Color> {
    prop_oneof![Just(Color::Red), Just(Color::Green), Just(Color::Blue)]
}

fn point() -> impl Strategy<Value = Point> {
    (-1e9f32..1e9, any::<i16>(), any::<[u8; 2]>()).prop_map(|(x, y, z)| Point { x, y, z })
}

/// Strategies of one bag and its union.
macro_rules! strategies {
    ($name:ident, $choice:ident, $bag:ident, $bag_choice:ident) => {
        fn $bag_choice() -> impl Strategy<Value = $choice> {
            let leaf = prop_oneof![
                ".{0,6}".prop_map($choice::Text),
                vec(point(), 0..3).prop_map($choice::Points),
                (6u16.., any::<Option<u8>>(), any::<u32>()).prop_map(|(which, value, mask)| {
                    $choice::Other { which, value: Option_ { value, mask: Mask(mask) } }
                }),
            ];
            leaf.prop_recursive(3, 4, 1, |inner| inner.prop_map(|choice| $choice::Tree(Box::new(choice))))
        }

        fn $bag() -> impl Strategy<Value = $name> {
            let texts = (".{0,9}", vec(any::<u16>(), 0..4), "[a-z]{0,5}", "[a-z]{0,4}");
            let plain = (vec(any::<u8>(), 0..9), any::<bool>(), any::<(u8, u16, u128)>(), color(), point());
            let optional = (any::<Option<i64>>(), proptest::option::of(vec(".{0,3}", 0..3)));
            let lists = (
                vec(any::<u64>(), 0..3),
                vec(point(), 0..4),
                [[color(), color()], [color(), color()]],
                btree_map(any::<i16>(), any::<u32>().prop_map(Mask), 0..3),
                btree_map(".{0,3}", -1e9..1e9, 0..3),
                vec($bag_choice(), 0..3),
            );
            let one = (texts, plain, optional, lists).prop_map(|(texts, plain, optional, lists)| $name {
                data: plain.0,
                flag: plain.1,
                color: plain.3,
                text: texts.0,
                wide: WString(texts.1),
                name: texts.2,
                characters: [Characters {
                    octet: Char8(plain.2.0),
                    wide: Char16(plain.2.1),
                    long: Float128(plain.2.2),
                }],
                optional: optional.0,
                other: optional.1,
                numbers: lists.0,
                points: lists.1,
                grid: lists.2,
                map: lists.3,
                dictionary: lists.4,
                choices: lists.5,
                children: vec![],
                position: plain.4,
                short: Bound::new(texts.3).unwrap(),
            });
            let one = one.boxed();
            (one.clone(), vec(one, 0..3)).prop_map(|(mut bag, children)| {
                bag.children = children;
                bag
            })
        }
    };
}

strategies!(FinalBag, FinalChoice, final_bag, final_choice);
strategies!(AppendableBag, AppendableChoice, appendable_bag, appendable_choice);
strategies!(MutableBag, MutableChoice, mutable_bag, mutable_choice);

/// Keys from the value, the sample and the serialized key agree.
fn keys_agree<T: DdsType + PartialEq + core::fmt::Debug>(value: &T) {
    let expected = key_hash(value).unwrap();
    let (mut scratch, mut payload, mut key, mut taken) = (vec![], vec![], vec![], vec![]);
    let options = DecodeOptions::default();
    for (rep, endianness) in ALL {
        to_payload_as(value, rep, endianness, Scope::Sample, &mut payload).unwrap();
        assert_eq!(key_hash_of_payload::<T>(&payload, false, options, &mut scratch), Ok(expected));
        key_payload(value, rep, &mut key).unwrap();
        key_payload_of_payload::<T>(&payload, options, &mut taken).unwrap();
        assert_eq!(taken, key);
        to_payload_as(value, rep, endianness, Scope::Key, &mut key).unwrap();
        assert_eq!(key_hash_of_payload::<T>(&key, true, options, &mut scratch), Ok(expected));
        let only_key: T = from_key_payload(&key, &Limits::default()).unwrap();
        assert_eq!(key_hash(&only_key), Ok(expected));
    }
}

/// Cuts a serialized value anywhere: an error, or a value of an older version of the type.
fn truncation<T: CdrWrite + for<'de> CdrRead<'de>>(value: &T, cut: usize) {
    for (rep, endianness) in ALL {
        let data = body(value, rep, endianness);
        let Some(short) = data.get(..cut % data.len()) else { continue };
        let result = decode::<T>(short, rep, endianness);
        let tolerated = rep == Representation::Xcdr1 && <T as CdrRead>::FORM == Extensibility::Appendable;
        assert!(result.is_err() || tolerated, "{rep:?} {short:02x?}");
    }
}

/// Whatever the bytes: no panic, and what is read can be written and read again; its key is the one found without
/// reading it all.
fn harmless<T: DdsType + core::fmt::Debug>(payload: &[u8]) {
    let limits = Limits { max_bytes: 1 << 16, ..Limits::default() };
    let options = DecodeOptions::default();
    let (mut scratch, mut again, mut twice) = (vec![], vec![], vec![]);
    let found = key_hash_of_payload::<T>(payload, false, options, &mut scratch);
    let _ = key_hash_of_payload::<T>(payload, true, options, &mut scratch);
    let _ = from_key_payload::<T>(payload, &limits);
    let _ = key_payload_of_payload::<T>(payload, options, &mut scratch);
    if let Ok(mut decoder) = Decoder::from_payload(payload, T::EXTENSIBILITY, &limits) {
        let _ = <T as CdrRead>::skip(&mut decoder);
    }
    if let Some(head) = payload.first_chunk() {
        let _ = from_key_hash::<T>(head, &limits);
    }
    let mut value = None;
    let cost = allocation_counter::measure(|| value = from_payload::<T>(payload, &limits).ok());
    assert!(cost.bytes_max <= (1 << 16) + 256, "{} octets of memory", cost.bytes_max);
    let Some(value) = value else { return };
    assert_eq!(found, key_hash(&value), "{payload:02x?}");
    let rep = Representation::Xcdr2;
    to_payload_as(&value, rep, Endianness::Big, Scope::Sample, &mut again).unwrap();
    let value: T = from_payload(&again, &Limits::default()).unwrap();
    to_payload_as(&value, rep, Endianness::Big, Scope::Sample, &mut twice).unwrap();
    assert_eq!(again, twice);
}

fn damaged<T: DdsType + core::fmt::Debug>(value: &T, damage: &[(usize, u8)]) {
    for (rep, endianness) in ALL {
        let mut payload = Vec::new();
        to_payload_as(value, rep, endianness, Scope::Sample, &mut payload).unwrap();
        let len = payload.len();
        for (at, octet) in damage {
            payload[at % len] = *octet;
        }
        harmless::<T>(&payload);
    }
}

/// Small numbers are the interesting ones in headers and lengths.
fn octet() -> impl Strategy<Value = u8> {
    prop_oneof![4 => 0u8..12, 1 => Just(0x7f), 1 => Just(0xff), 2 => any::<u8>()]
}

fn random_payload() -> impl Strategy<Value = Vec<u8>> {
    (0u8..12, vec(octet(), 0..200)).prop_map(|(id, body)| [&[0, id, 0, 0][..], &body].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn final_values(value in final_bag(), cut: usize) {
        round_trip(&value);
        keys_agree(&value);
        truncation(&value, cut);
    }

    #[test]
    fn appendable_values(value in appendable_bag(), cut: usize) {
        round_trip(&value);
        keys_agree(&value);
        truncation(&value, cut);
    }

    #[test]
    fn mutable_values(value in mutable_bag(), cut: usize) {
        round_trip(&value);
        keys_agree(&value);
        truncation(&value, cut);
    }

    #[test]
    fn primitive_sequences(a: Vec<i8>, b: Vec<i16>, c: Vec<u32>, d: Vec<i64>, e: Vec<bool>, f: [u16; 5]) {
        round_trip(&a);
        round_trip(&b);
        round_trip(&c);
        round_trip(&d);
        round_trip(&e);
        round_trip(&f);
        round_trip(&[c.clone(), c]);
    }

    #[test]
    fn damaged_final(value in final_bag(), damage in vec((any::<usize>(), octet()), 1..4)) {
        damaged(&value, &damage);
    }

    #[test]
    fn damaged_appendable(value in appendable_bag(), damage in vec((any::<usize>(), octet()), 1..4)) {
        damaged(&value, &damage);
    }

    #[test]
    fn damaged_mutable(value in mutable_bag(), damage in vec((any::<usize>(), octet()), 1..4)) {
        damaged(&value, &damage);
    }

    #[test]
    fn random_octets(payload in random_payload()) {
        harmless::<FinalBag>(&payload);
        harmless::<AppendableBag>(&payload);
        harmless::<MutableBag>(&payload);
        harmless::<FinalChoice>(&payload);
        harmless::<AppendableChoice>(&payload);
        harmless::<MutableChoice>(&payload);
        harmless::<Characters>(&payload);
    }
}
