//! Types have the hashes of the IDL that they were made from: who compiles the IDL with another implementation, or has it as
//! a type known at run time, has the same type.

use std::collections::BTreeSet;

use dunlin_cdr::{Described, description};
use dunlin_idl::{Compilation, Disk, Extensibility, Options, compile};
use dunlin_idl_tests::{evolution, kinds, names, recursive, station, video};
use dunlin_xtypes::model::Kind;
use dunlin_xtypes::{TypeGraph, TypeIndex, TypeObjects, from_description, to_idl, type_objects};
use kinds::test;

/// Compares all structures and unions of a file, and all that they depend on.
fn compare(file: &str, default_extensibility: Extensibility, types: &[&(TypeGraph, TypeIndex)]) {
    let options =
        Options { include_dirs: vec!["idl/common".into()], default_extensibility, ..Options::default() };
    let Compilation { model, .. } = compile(file, &options, &Disk);
    let (graph, _) = dunlin_idl::xtypes::type_graph(&model.unwrap());
    let mut missing: BTreeSet<&str> = graph
        .iter()
        .filter(|(_, it)| matches!(it.kind, Kind::Structure(_) | Kind::Union(_)))
        .map(|(_, it)| it.name.as_str())
        .collect();
    for (rust, root) in types {
        let name = &rust.get(*root).unwrap().name;
        assert!(missing.remove(name.as_str()), "{name} is not in {file}");
        let index = graph.find(name).unwrap();
        let (ours, theirs) = (type_objects(rust, *root).unwrap(), type_objects(&graph, index).unwrap());
        assert_eq!(ours.records.len(), theirs.records.len(), "{name}");
        assert_eq!(ours.information(), theirs.information(), "{name}");
        let annotations =
            |of: &TypeObjects| of.annotations.iter().map(|it| it.id.clone()).collect::<BTreeSet<_>>();
        assert_eq!(annotations(&ours), annotations(&theirs), "{name}");
        for record in &ours.records {
            let of = &rust.get(record.index).unwrap().name;
            let index = graph.find(of).unwrap_or_else(|| panic!("{of} is not in {file}"));
            let other = theirs.records.iter().find(|other| other.index == index).unwrap();
            let shown = || format!("{of}\n{}\n{}", to_idl(rust, record.index), to_idl(&graph, index));
            assert_eq!(record.complete.object, other.complete.object, "{}", shown());
            assert_eq!(record.minimal.object, other.minimal.object, "{}", shown());
            assert_eq!(record.minimal.id, other.minimal.id, "{}", shown());
            assert_eq!(record.complete.id, other.complete.id, "{}", shown());
        }
        // What type objects do not say: the width of bitsets, labels of 64 bits.
        for (_, definition) in rust.iter() {
            let other = graph.get(graph.find(&definition.name).unwrap()).unwrap();
            match (&definition.kind, &other.kind) {
                (Kind::Bitset(ours), Kind::Bitset(theirs)) => {
                    assert_eq!(holder(ours.width), holder(theirs.width), "{}", definition.name);
                }
                (Kind::Union(ours), Kind::Union(theirs)) => {
                    let labels: Vec<_> = ours.cases.iter().map(|case| &case.labels).collect();
                    let others: Vec<_> = theirs.cases.iter().map(|case| &case.labels).collect();
                    assert_eq!(labels, others, "{}", definition.name);
                }
                _ => {}
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?} of {file} are not compared");
}

/// Bits of the integer that holds so many.
fn holder(bits: u16) -> u16 {
    bits.next_power_of_two().max(8)
}

fn graph<T: Described>() -> (TypeGraph, TypeIndex) {
    from_description(description::<T>())
}

macro_rules! compare {
    ($file:literal: $($ty:ty),* $(,)?) => {
        compare(concat!("idl/", $file), Extensibility::Appendable, &[$(&graph::<$ty>()),*])
    };
}

#[test]
fn rust_types_have_the_hashes_of_their_idl() {
    use kinds::common;
    compare!("kinds.idl": common::Stamp, test::Primitives, test::Texts, test::Collections, test::Hashed, test::Defaults,
        test::Choice, test::Numbered, test::Sparse, test::Covered, test::Masked, test::Broken, test::Empty, test::Labelled,
        test::HashedUnion, test::Bits);
    compare!("evolution.idl": evolution::v1::Point, evolution::v1::Record, evolution::v1::Base, evolution::v1::Derived,
        evolution::v1::Further, evolution::v2::Point, evolution::v2::Record);
    compare!("names.idl": names::Vec, names::String, names::Box, names::FnType, names::r#type::Match,
        names::r#type::super_::GuidT, names::types::Thing, names::r#type::Again, names::Result, names::UnsetU,
        names::Default, names::Documented);
    compare!("recursive.idl": recursive::Tree, recursive::Node, recursive::A, recursive::B, recursive::Sum,
        recursive::Expr, recursive::Chain, recursive::Inner, recursive::Outer);
    compare!("video.idl": video::VideoFrame);
    compare!("station.xml": station::weather::Station, station::weather::Report, station::weather::Wind);
}

#[test]
fn typedefs_and_annotations_are_in_the_hashes() {
    use dunlin_idl_tests::tried::tried::*;
    compare!("tried.idl": Elements, Arrays, Keyed, Listed, Growing, Loose, Counted, ByKey, Said, Unions);
}

/// Annotations that the source declares itself, and `@verbatim`.
#[test]
fn annotations_of_the_source_are_in_the_hashes() {
    use dunlin_idl_tests::annotated::m::*;
    compare!("annotated.idl": Report, Reports, Choice, Node, Plain);
}

/// What the IDL has is what Cyclone DDS makes of it (`protocol/xtypes/tests/cyclone.rs`), and so have the Rust types.
#[test]
fn rust_types_have_the_hashes_of_cyclone_dds() {
    use dunlin_idl_tests::cyclone::*;
    use dunlin_idl_tests::cyclone_appendable::d;
    macro_rules! graphs {
        ($($ty:ty),* $(,)?) => { &[$(&graph::<$ty>()),*] };
    }
    let folder = "../../protocol/xtypes/tests/cyclone";
    compare(
        &format!("{folder}/final.idl"),
        Extensibility::Final,
        graphs!(
            p::Numbers,
            p::Sized,
            p::Chars,
            p::WideChars,
            p::Bounded,
            p::Keyed,
            p::TwoKeys,
            p::One,
            p::Appendable,
            p::Mutable,
            p::MutableKeyed,
            p::Inner,
            p::InnerA,
            p::InnerM,
            p::Nested,
            p::NestedA,
            s::Octets,
            s::Simple,
            s::Primitives,
            s::BoundedSequences,
            s::Strings,
            s::Nested,
            s::OfStructs,
            s::OfSequencesOfStructs,
            a::Small,
            a::Large,
            a::Dimensions,
            a::OfStrings,
            a::OfStructs,
            a::OfSequences,
            a::SequenceOfArrays,
            e::Plain,
            e::All,
            e::Collections,
            e::KeyedByColor,
            b::Plain,
            b::All,
            b::Collections,
            u::OnLong,
            u::OnBool,
            u::OnChar,
            u::OnEnum,
            u::OnShort,
            u::AppendableU,
            u::KeyedU,
            u::OnUint8,
            u::OnInt64,
            u::ByLong,
            u::ByBool,
            u::ByChar,
            u::ByEnum,
            u::ByShort,
            u::App,
            u::ByKeyed,
            u::ByUint8,
            u::Collections,
            u::Topic,
            t::WithAlias,
            t::Chain,
            t::OfCollections,
            t::OfTypes,
            t::KeyedAlias,
            t::SequenceOfAliases,
            i::Base,
            i::Derived,
            i::More,
            i::BaseA,
            i::DerivedA,
            i::BaseM,
            i::DerivedM,
            o::Optionals,
            o::OptionalTypes,
            o::External,
            o::MustUnderstand,
            o::Hashed,
            o::AutoHash,
            o::AutoSequential,
            o::AutoBare,
            o::TryConstruct,
            o::Documented,
            o::WithDefault,
            Global,
            ShapeType,
            deep::deeper::deepest::S,
        ),
    );
    let appendable = graphs!(d::Choice, d::Inner, d::Outer, d::Derived, d::ShapeType);
    compare(&format!("{folder}/appendable.idl"), Extensibility::Appendable, appendable);
}
