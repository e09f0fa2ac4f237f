//! Views of serialized values say of every part what the decoded value says.

mod compare;
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

types! {
    test::Primitives, test::Texts, test::Collections, test::Hashed, test::Defaults, test::Choice, test::Numbered,
    test::Sparse, test::Covered, test::Empty, test::Labelled, test::HashedUnion, test::Bits,
    names::r#type::Again, video::VideoFrame, tried::Elements, tried::Arrays, tried::Keyed, tried::Listed, tried::Said,
    tried::Unions,
    recursive::Tree, recursive::Node, recursive::Chain, recursive::Outer, recursive::A,
}

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
