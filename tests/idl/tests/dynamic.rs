//! Values of types known at run time have the octets of the Rust types made of the same IDL, and come back from them.

#[macro_use]
mod every_type;
mod random;

use dunlin_cdr::{
    CdrRead, CdrWrite, DdsType, Decoder, Endianness, Limits, Representation, Scope, description,
    key_hash_of_payload, to_payload_as,
};
use dunlin_dynamic::{DynamicData, DynamicType, TypeError};
use dunlin_idl_tests::tried::tried;
use dunlin_idl_tests::{kinds, names, recursive, video};
use dunlin_xtypes::model::{Kind, Member};
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

/// The same octets from the Rust type, the same value back, the same key; what is cut off is an error or a value.
fn check<T: DdsType>(seed: u64) {
    let ty = type_of::<T>();
    let value = DynamicData::from_value(&ty, random::value(ty.view(), &mut random::bits(seed), 4)).unwrap();
    for (representation, endianness) in FORMS {
        let (mut ours, mut theirs, mut again) = (Vec::new(), Vec::new(), Vec::new());
        value.to_payload_as(representation, endianness, Scope::Sample, &mut ours).unwrap();
        let typed: T = dunlin_cdr::from_payload(&ours, &Limits::default())
            .unwrap_or_else(|error| panic!("{} {representation:?} {error}: {value:?}", T::TYPE_NAME));
        to_payload_as(&typed, representation, endianness, Scope::Sample, &mut theirs).unwrap();
        assert_eq!(ours, theirs, "{} {representation:?} {endianness:?} {value:?}", T::TYPE_NAME);
        let back = DynamicData::from_payload(&ty, &theirs).unwrap();
        back.to_payload_as(representation, endianness, Scope::Sample, &mut again).unwrap();
        assert_eq!(again, theirs);
        keys(&ty, &typed, &back, &theirs, representation);
        for len in 0..theirs.len() {
            let _ = DynamicData::from_payload(&ty, &theirs[..len]);
        }
    }
}

fn keys<T: DdsType>(
    ty: &DynamicType,
    typed: &T,
    dynamic: &DynamicData,
    payload: &[u8],
    representation: Representation,
) {
    assert_eq!((ty.is_keyed(), ty.max_key_size()), (T::HAS_KEY, T::MAX_KEY_SIZE), "{}", T::TYPE_NAME);
    assert_eq!(ty.default_representation(), T::DEFAULT_REPRESENTATION, "{}", T::TYPE_NAME);
    let (mut ours, mut theirs, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
    assert_eq!(dynamic.key_hash(&mut scratch), dunlin_cdr::key_hash(typed));
    dynamic.key_payload(representation, &mut ours).unwrap();
    dunlin_cdr::key_payload(typed, representation, &mut theirs).unwrap();
    assert_eq!(ours, theirs);
    let support: &dyn dunlin_cdr::TypeSupport = ty;
    let expected = key_hash_of_payload::<T>(payload, false, Default::default(), &mut scratch).unwrap();
    assert_eq!(support.key_hash_of_payload(payload, false).unwrap(), expected);
    assert_eq!(support.key_hash_of_payload(&ours, true).unwrap(), expected);
    support.key_payload_with(payload, Default::default(), &mut theirs).unwrap();
    assert_eq!(ours, theirs);
}

/// Random octets are no panic, and what both take is the same to both.
fn hostile<T: DdsType>(octets: &[u8]) {
    let ty = type_of::<T>();
    for (representation, endianness) in FORMS {
        let limits = Limits { max_bytes: 1 << 20, ..Limits::default() };
        let mut d = Decoder::new(octets, representation, endianness, &limits);
        let Ok(dynamic) = DynamicData::read(&ty, &mut d) else { continue };
        let mut d = Decoder::new(octets, representation, endianness, &limits);
        if let Ok(typed) = <T as CdrRead>::read(&mut d) {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            if to_payload_as(&typed, representation, endianness, Scope::Sample, &mut theirs).is_ok() {
                dynamic.to_payload_as(representation, endianness, Scope::Sample, &mut ours).unwrap();
                // Rust's maps put pairs in order and keep one of equal keys.
                if !T::TYPE_NAME.contains("Collections")
                    && !T::TYPE_NAME.contains("::A")
                    && !T::TYPE_NAME.contains("Elements")
                {
                    assert_eq!(ours, theirs, "{}", T::TYPE_NAME);
                }
            }
        }
    }
}

macro_rules! types {
    ($($ty:ty),* $(,)?) => {
        fn all_of_them(seed: u64) {
            $(check::<$ty>(seed);)*
        }

        fn all_hostile(octets: &[u8]) {
            $(hostile::<$ty>(octets);)*
        }
    };
}

every_type!(types);

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn octets_are_those_of_rust_types(seed in any::<u64>()) {
        all_of_them(seed);
    }

    #[test]
    fn octets_from_anywhere(octets in proptest::collection::vec(prop_oneof![Just(0_u8), 0_u8..5, any::<u8>()], 0..200)) {
        all_hostile(&octets);
    }
}

#[test]
fn defaults_are_those_of_types() {
    let ty = type_of::<test::Texts>();
    let mut payload = Vec::new();
    let typed = <test::Texts as CdrRead>::default_value();
    dunlin_cdr::to_payload(&typed, Representation::Xcdr2, &mut payload).unwrap();
    let mut ours = Vec::new();
    DynamicData::new(&ty).to_payload(Representation::Xcdr2, &mut ours).unwrap();
    assert_eq!(ours, payload);
    let _ = <test::Texts as CdrWrite>::FORM;
}

#[test]
fn types_with_ambiguous_member_ids_are_refused() {
    let (graph, index) = dunlin_xtypes::from_description(description::<test::Primitives>());
    let changed = |change: fn(&mut [Member])| {
        let (mut graph, mut definition) = (graph.clone(), graph.get(index).unwrap().clone());
        let Kind::Structure(structure) = &mut definition.kind else { panic!("a structure") };
        change(&mut structure.members);
        graph.set(index, definition);
        DynamicType::new(graph, index).err()
    };
    let name = || "Test::Primitives".to_owned();
    assert_eq!(changed(|_| {}), None);
    let twice = changed(|members| members[1].name = members[0].name.clone());
    assert_eq!(twice, Some(TypeError::DuplicateName { name: name(), member: "a".into() }));
    let wide = changed(|members| members[1].id = 0x1000_0000);
    assert_eq!(wide, Some(TypeError::WideId { name: name(), id: 0x1000_0000 }));
    let same = changed(|members| members[1].id = members[0].id);
    assert!(matches!(same, Some(TypeError::DuplicateId { .. })));
}
