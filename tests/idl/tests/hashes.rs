//! Types have the hashes of the IDL that they were made from: who compiles the IDL with another implementation, or has it as
//! a type known at run time, has the same type.

use dunlin_cdr::{Described, description};
use dunlin_idl::{Compilation, Disk, Options, compile};
use dunlin_idl_tests::{evolution, kinds, names, recursive, station, video};
use dunlin_xtypes::model::{Definition, Element, Kind, Type};
use dunlin_xtypes::{TypeGraph, TypeIndex, from_description, to_idl, type_objects};
use kinds::test;
use std::collections::BTreeSet;

/// What Rust types do not say: other names for types, which are other names in Rust too, and annotations of complete objects.
fn without_aliases(graph: &TypeGraph) -> TypeGraph {
    let mut plain = graph.clone();
    for (index, definition) in graph.iter() {
        let mut definition: Definition = definition.clone();
        match &mut definition.kind {
            Kind::Structure(it) => {
                if let Some(Type::Named(base)) = it.base.map(|base| graph.resolve(&Type::Named(base)).clone())
                {
                    it.base = Some(base);
                }
                for member in &mut it.members {
                    member.ty = spelled_out(graph, &member.ty);
                    member.annotations = Default::default();
                }
            }
            Kind::Union(it) => {
                it.discriminator.ty = spelled_out(graph, &it.discriminator.ty);
                for case in &mut it.cases {
                    case.member.ty = spelled_out(graph, &case.member.ty);
                    case.member.annotations = Default::default();
                }
            }
            _ => {}
        }
        plain.set(index, definition);
    }
    plain
}

fn spelled_out(graph: &TypeGraph, ty: &Type) -> Type {
    let inner =
        |element: &Element| Box::new(Element { ty: spelled_out(graph, &element.ty), flags: element.flags });
    match graph.resolve(ty) {
        Type::Sequence { element, bound } => Type::Sequence { element: inner(element), bound: *bound },
        Type::Map { key, value, bound } => Type::Map { key: inner(key), value: inner(value), bound: *bound },
        Type::Array { element, dimensions } => match inner(element) {
            // An array of arrays has more dimensions in Rust.
            box_of if matches!(box_of.ty, Type::Array { .. }) => {
                let Type::Array { element, dimensions: more } = box_of.ty else { unreachable!() };
                Type::Array { element, dimensions: [dimensions.as_slice(), &more].concat() }
            }
            element => Type::Array { element, dimensions: dimensions.clone() },
        },
        other => other.clone(),
    }
}

/// Compares all types of a file that is not an alias.
fn compare(file: &str, types: &[&(TypeGraph, TypeIndex)]) {
    let options = Options { include_dirs: vec!["idl/common".into()], ..Options::default() };
    let Compilation { model, .. } = compile(&format!("idl/{file}"), &options, &Disk);
    let (graph, _) = dunlin_idl::xtypes::type_graph(&model.unwrap());
    let graph = without_aliases(&graph);
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
    ($file:literal: $($ty:ty),* $(,)?) => { compare($file, &[$(&graph::<$ty>()),*]) };
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
