//! Views of serialized values say of every part what the decoded value says.

mod compare;
#[macro_use]
mod every_type;
mod random;
#[path = "../../../protocol/xtypes/tests/versions/mod.rs"]
mod versions;

use dunlin_cdr::{DdsType, Endianness, Representation, Scope, description};
use dunlin_dynamic::{DynamicData, DynamicType, DynamicView};
use dunlin_idl_tests::tried::tried;
use dunlin_idl_tests::{kinds, names, recursive, video};
use kinds::test;
use proptest::prelude::*;

fn type_of<T: DdsType>() -> DynamicType {
    let (graph, index) = dunlin_xtypes::from_description(description::<T>());
    DynamicType::new(graph, index).unwrap()
}

const FORMS: [(Representation, Endianness); 4] = [
    (Representation::Xcdr1, Endianness::Little),
    (Representation::Xcdr1, Endianness::Big),
    (Representation::Xcdr2, Endianness::Little),
    (Representation::Xcdr2, Endianness::Big),
];

/// A random value in every form, cut off anywhere, and with some octets changed.
fn check(ty: &DynamicType, seed: u64) {
    let mut bits = random::bits(seed);
    let value = DynamicData::from_value(ty, random::value(ty.view(), &mut bits, 4)).unwrap();
    for (representation, endianness) in FORMS {
        let mut payload = Vec::new();
        value.to_payload_as(representation, endianness, Scope::Sample, &mut payload).unwrap();
        assert!(compare::with_decoded(ty, &payload) > 0);
        keys(ty, &value, (representation, endianness));
        for len in 0..payload.len().min(80) {
            compare::with_decoded(ty, &payload[..len]);
        }
        for _ in 0..8 {
            let mut mutated = payload.clone();
            for _ in 0..=bits() % 3 {
                let at = usize::try_from(bits()).unwrap() % mutated.len();
                let small = u8::try_from(bits() % 12).unwrap();
                mutated[at] = if bits() & 1 == 0 { small } else { bits().to_le_bytes()[0] };
            }
            compare::with_decoded(ty, &mutated);
        }
    }
}

/// A view of a serialized key is that of the value that it is decoded into.
fn keys(ty: &DynamicType, value: &DynamicData, (representation, endianness): (Representation, Endianness)) {
    let mut payload = Vec::new();
    if !ty.is_keyed() {
        return;
    }
    value.to_payload_as(representation, endianness, Scope::Key, &mut payload).unwrap();
    let (limits, options) = Default::default();
    let decoded = DynamicData::from_key_payload(ty, &payload, &limits, options).unwrap();
    let view = DynamicView::of_key(ty, &payload, &limits, options).unwrap();
    assert_eq!(view.check(), Ok(()));
    compare::same(&view, &decoded);
}

macro_rules! types {
    ($($ty:ty),* $(,)?) => {
        fn types() -> Vec<DynamicType> {
            vec![$(type_of::<$ty>()),*]
        }
    };
}

every_type!(types);

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_part_is_that_of_the_decoded_value(seed in any::<u64>()) {
        types().iter().for_each(|ty| check(ty, seed));
    }

    #[test]
    fn octets_from_anywhere(octets in proptest::collection::vec(prop_oneof![Just(0_u8), 0_u8..5, any::<u8>()], 0..120)) {
        for ty in types() {
            for header in [[0, 0], [0, 1], [0, 2], [0, 3], [0, 6], [0, 7], [0, 8], [0, 9], [0, 10], [0, 11]] {
                compare::with_decoded(&ty, &[&header[..], &[0, 0], &octets].concat());
            }
        }
    }
}

fn parsed(idl: &str) -> DynamicType {
    let files = dunlin_idl::Memory::default().with("t.idl", idl);
    let compiled = dunlin_idl::compile("t.idl", &dunlin_idl::Options::default(), &files);
    let model = compiled.model.as_ref().unwrap_or_else(|| panic!("{}", compiled.render(false)));
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(model, "T").unwrap();
    DynamicType::new(graph, index).unwrap()
}

/// A view is of the reader's version of the type, over the octets of the writer's.
#[test]
fn a_version_is_seen_as_another_that_can_read_it() {
    let known: Vec<_> = versions::all().map(|version| (parsed(&version.idl()), version)).collect();
    let (mut pairs, mut parts) = (0, 0);
    for (reader, own) in &known {
        for (writer, _) in known.iter().filter(|(_, theirs)| own.reads(theirs)) {
            pairs += 1;
            for seed in 0..20 {
                let value = random::value(writer.view(), &mut random::bits(seed * 977 + 5), 4);
                let value = DynamicData::from_value(writer, value).unwrap();
                for (representation, endianness) in FORMS {
                    let mut payload = Vec::new();
                    value.to_payload_as(representation, endianness, Scope::Sample, &mut payload).unwrap();
                    parts += compare::with_decoded(reader, &payload);
                }
            }
        }
    }
    assert!(pairs > 100, "{pairs}");
    assert!(parts > 160 * pairs, "{parts} parts of {pairs} pairs");
}

/// What decoding and `check` say of the same octets.
fn both(ty: &DynamicType, payload: &[u8]) -> [Result<(), dunlin_cdr::CdrError>; 2] {
    let decoded = DynamicData::from_payload(ty, payload).map(drop);
    [decoded, DynamicView::new(ty, payload).and_then(|view| view.check())]
}

/// A payload of a header and numbers of 32 bits, little endian.
fn words(representation: u8, words: &[u32]) -> Vec<u8> {
    let octets = words.iter().flat_map(|word| word.to_le_bytes());
    [0, representation, 0, 0].into_iter().chain(octets).collect()
}

/// Delimited XCDR2 and plain XCDR1, little endian.
const DELIMITED2: u8 = 9;
const PLAIN1: u8 = 1;

#[test]
fn defaults_count_as_memory_where_decoding_makes_them() {
    let missing = "@appendable struct Item { octet a; long table[1000000]; };";
    let items = parsed(&format!("{missing} @appendable struct T {{ sequence<Item> items; }};"));
    let mut refused = 0;
    for count in 1..12_u32 {
        let all: Vec<_> =
            [8 + 4 * count, 4 + 4 * count, count].into_iter().chain((0..count).map(|_| 0)).collect();
        let [decoded, checked] = both(&items, &words(DELIMITED2, &all));
        assert_eq!(decoded, checked, "{count}");
        refused += u32::from(checked.is_err());
    }
    assert!((2..6).contains(&refused), "{refused}");
}

#[test]
fn elements_without_octets_count_as_decoded() {
    let ty = parsed(
        "@final struct E {}; @final struct A { long x; E all[3000000]; }; @final struct T { sequence<A> a; };",
    );
    for (count, fits) in [(1, true), (2, true), (3, false)] {
        let all: Vec<_> = [count].into_iter().chain((0..count).map(|_| 7)).collect();
        let [decoded, checked] = both(&ty, &words(PLAIN1, &all));
        assert_eq!(decoded, checked, "{count}");
        assert_eq!(checked.is_ok(), fits, "{count}");
    }
}

/// Such a list is made when it is looked at, which has to succeed after `check`.
#[test]
fn a_list_that_has_to_be_made_is_made_by_check() {
    let ty = parsed("@final struct T { @try_construct(TRIM) sequence<string<1>, 1> names; };");
    let name = [4, u32::from_le_bytes(*b"abc\0")];
    let payload = words(PLAIN1, &[&[20][..], &name.repeat(20)].concat());
    for (memory, fits) in [(100_000, true), (900, false)] {
        let limits = dunlin_cdr::Limits { max_bytes: memory, ..Default::default() };
        let decoded = DynamicData::from_payload_with(&ty, &payload, &limits, Default::default());
        let view = DynamicView::with_options(&ty, &payload, &limits, Default::default()).unwrap();
        assert_eq!(decoded.as_ref().err().copied(), view.check().err(), "{memory}");
        assert_eq!(view.check().is_ok(), fits);
        assert_eq!(view.get("names").is_ok(), fits);
        assert_eq!(dunlin_json::view_to_json(&view).is_ok(), fits);
    }
}

#[test]
fn depth_is_counted_as_decoding_counts() {
    let lists = "@final struct T { sequence<T> inner; sequence<long> numbers; };";
    let unions =
        "@final union U switch (long) { case 1: octet a; }; @final struct T { sequence<T> inner; U held; };";
    for (idl, deepest) in [(lists, [1, 7].as_slice()), (unions, &[5])] {
        let ty = parsed(&format!("struct T; {idl}"));
        let mut refused = 0;
        for depth in 55..70 {
            let mut all = vec![1; depth];
            all.push(0);
            all.extend(deepest);
            all.extend(vec![0; depth]);
            let [decoded, checked] = both(&ty, &words(PLAIN1, &all));
            assert_eq!(decoded, checked, "{idl} {depth}");
            refused += u32::from(checked.is_err());
        }
        assert!((1..15).contains(&refused), "{refused}");
    }
}

#[test]
fn a_discriminator_is_seen_whatever_the_member_is() {
    let ty = parsed("@final union T switch (long) { case 1: string a; };");
    let payload = words(PLAIN1, &[1, 1000]);
    let view = DynamicView::new(&ty, &payload).unwrap();
    assert!(view.selected().unwrap().is_none_or(|(_, member)| member.as_str().is_err()));
    assert_eq!(view.discriminator().unwrap(), 1);
    assert!(view.get("_d").unwrap().unwrap().is_received());
    let ty = parsed("@final union T switch (long) { case 1: @try_construct(TRIM) string<2> a; };");
    let view = DynamicView::new(&ty, &payload).unwrap();
    assert!(view.selected().is_err());
    assert_eq!(view.discriminator().unwrap(), 1);
}

/// What cannot be borrowed has the same form as what can.
#[test]
fn octets_that_are_made_are_written_as_others() {
    let ty = parsed("@appendable struct T { octet a; octet many[5000]; };");
    let payload = words(DELIMITED2, &[1, 1]);
    let view = DynamicView::new(&ty, &payload).unwrap();
    let decoded = DynamicData::from_payload(&ty, &payload).unwrap();
    compare::same(&view, &decoded);
    let octets = dunlin_json::Octets::Base64;
    let seen = serde_json::to_string(&dunlin_json::JsonView::of(view).with_octets(octets)).unwrap();
    assert_eq!(seen, serde_json::to_string(&dunlin_json::Json::of(&decoded).with_octets(octets)).unwrap());
}

/// Nothing can be borrowed from them, but every part is there.
#[test]
fn parts_of_a_made_list_are_those_of_the_decoded_one() {
    let ty = parsed(
        "@final struct Row { string<1> a; sequence<long> b; }; @final struct T { @try_construct(TRIM) sequence<Row, 1> l; };",
    );
    let mut all = vec![2, 2, u32::from(b'a'), 10_000];
    all.extend(0..10_000);
    all.extend([4, u32::from_le_bytes(*b"abc\0"), 0]);
    let payload = words(PLAIN1, &all);
    let view = DynamicView::new(&ty, &payload).unwrap();
    compare::same(&view, &DynamicData::from_payload(&ty, &payload).unwrap());
}
