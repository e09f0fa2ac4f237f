//! Rust types and the IDL of the same types have the same type objects.

use std::collections::BTreeMap;

use dunlin_cdr::{Bound, Char8, DdsType, Described, description};
use dunlin_idl::{Memory, Options, compile};
use dunlin_xtypes::model::Kind;
use dunlin_xtypes::{BuildError, from_description, from_objects, to_idl, type_objects};

const IDL: &str = r#"
module T {
  enum Color { RED, @default_literal GREEN };
  @final enum Closed { ONE };
  @bit_bound(8) bitmask Flags { F0, @position(5) F5 };
  bitset Bits { bitfield<3> low; bitfield<1> one; bitfield<20> high; };
  @nested union Choice switch(long) { case 1: case 2: long r; default: string s; };
  @nested @final struct Inner { long x; double m[2][3]; };
  typedef sequence<Inner, 7> Inners;
  @mutable struct Outer {
    @key string<128> color; @id(9) boolean flag; @hashid octet data[3]; @id(0x123) @optional Inner maybe;
    @must_understand sequence<string<5> > names; map<long, Inner> pairs; Color c; Flags f; Bits b; Choice u; Inners inners;
    @try_construct(TRIM) string<4> text; char letter; Closed last;
  };
  struct Base { long a; };
  struct Derived : Base { long b; };
  struct Tree { long value; sequence<Tree> children; };
};
"#;

#[derive(DdsType, Clone, Copy)]
#[dds(name = "T::Color")]
#[allow(dead_code, clippy::upper_case_acronyms)]
enum Color {
    RED,
    #[dds(default)]
    GREEN,
}

#[derive(DdsType, Clone, Copy)]
#[dds(name = "T::Closed", final)]
#[allow(dead_code, clippy::upper_case_acronyms)]
enum Closed {
    ONE,
}

#[derive(DdsType, Clone, Copy)]
#[dds(name = "T::Flags", bitmask, bit_bound = 8, bits(F0 = 0, F5 = 5))]
struct Flags(u8);

#[derive(DdsType, Clone, Copy)]
#[dds(name = "T::Bits", bitset, bits(low = 0..3, one = 3, high = 4..24))]
struct Bits(u32);

#[derive(DdsType, Clone)]
#[dds(name = "T::Choice", union, discriminator = "i32", nested)]
#[allow(dead_code)]
enum Choice {
    #[dds(case(1, 2), name = "r")]
    R(i32),
    #[dds(default, name = "s")]
    S(String),
}

#[derive(DdsType, Clone)]
#[dds(name = "T::Inner", nested, final)]
struct Inner {
    x: i32,
    m: [[f64; 3]; 2],
}

#[derive(DdsType, Clone)]
#[dds(name = "T::Inners", transparent)]
struct Inners(Bound<Vec<Inner>, 7>);

#[derive(DdsType, Clone)]
#[dds(name = "T::Outer", mutable)]
struct Outer {
    #[dds(key, bound = 128)]
    color: String,
    #[dds(id = 9)]
    flag: bool,
    #[dds(hashid)]
    data: [u8; 3],
    #[dds(id = 0x0123)]
    maybe: Option<Inner>,
    #[dds(must_understand)]
    names: Vec<dunlin_cdr::BoundedString<5>>,
    pairs: BTreeMap<i32, Inner>,
    c: Color,
    f: Flags,
    b: Bits,
    u: Choice,
    inners: Inners,
    #[dds(bound = 4, try_construct = "trim")]
    text: String,
    letter: Char8,
    last: Closed,
}

#[derive(DdsType, Clone)]
#[dds(name = "T::Base")]
struct Base {
    a: i32,
}

#[derive(DdsType, Clone)]
#[dds(name = "T::Derived")]
struct Derived {
    #[dds(base)]
    base: Base,
    b: i32,
}

#[derive(DdsType, Clone)]
#[dds(name = "T::Tree")]
struct Tree {
    value: i32,
    children: Vec<Tree>,
}

fn same<T: Described>(name: &str) {
    same_as::<T>(IDL, name);
}

fn same_as<T: Described>(idl: &str, name: &str) {
    let files = Memory::default().with("t.idl", idl);
    let compilation = compile("t.idl", &Options::default(), &files);
    let model = compilation.model.as_ref().unwrap_or_else(|| panic!("{}", compilation.render(false)));
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(model, name).unwrap();
    let expected = type_objects(&graph, index).unwrap();
    let (graph, index) = from_description(description::<T>());
    let ours = type_objects(&graph, index).unwrap();
    for record in &ours.records {
        let same = expected.records.iter().any(|other| other.minimal == record.minimal);
        assert!(same, "minimal {:?}\n{:#?}", record.minimal.object, expected.records);
    }
    // `@hashid` is an annotation that the Rust type does not keep.
    assert_eq!(ours.root().unwrap().minimal, expected.root().unwrap().minimal);
    assert_eq!(
        ours.information().unwrap().minimal.dependent_typeid_count,
        expected.information().unwrap().minimal.dependent_typeid_count
    );
}

#[test]
fn kinds_of_types() {
    same::<Outer>("T::Outer");
}

#[test]
fn inheritance() {
    same::<Derived>("T::Derived");
}

#[test]
fn recursion() {
    same::<Tree>("T::Tree");
    let (graph, index) = from_description(description::<Tree>());
    let objects = type_objects(&graph, index).unwrap();
    let dunlin_xtypes::TypeIdentifier::Component(id) = &objects.root().unwrap().minimal.id else { panic!() };
    assert_eq!((id.scc_length, id.scc_index), (1, 1));
    assert_eq!(objects.information().unwrap().complete.dependent_typeid_count, 0);
}

const UINT8: &str = r#"
module T {
  @final @nested union Of switch(uint8) { case 1: uint8 a; };
  typedef uint8 Alias;
  struct Numbers {
    @key uint8 k; octet o; uint8 a[3][2]; sequence<uint8> s; sequence<uint8, 5> b; @optional uint8 m; map<uint8, string> p;
    Of u; Alias l; int8 i;
  };
};
"#;

#[derive(DdsType, Clone)]
#[dds(name = "T::Of", union, discriminator = "u8", uint8, nested, final)]
#[allow(dead_code)]
enum Of {
    #[dds(case = 1, name = "a")]
    A(#[dds(uint8)] u8),
}

#[derive(DdsType, Clone)]
#[dds(name = "T::Alias", transparent, uint8)]
struct Alias(u8);

#[derive(DdsType, Clone)]
#[dds(name = "T::Numbers")]
struct Numbers {
    #[dds(key, uint8)]
    k: u8,
    o: u8,
    #[dds(uint8)]
    a: [[u8; 2]; 3],
    #[dds(uint8)]
    s: Vec<u8>,
    #[dds(uint8)]
    b: dunlin_cdr::BoundedVec<u8, 5>,
    #[dds(uint8)]
    m: Option<u8>,
    #[dds(uint8)]
    p: BTreeMap<u8, String>,
    u: Of,
    l: Alias,
    i: i8,
}

#[test]
fn uint8_is_distinguished_from_octet() {
    same_as::<Numbers>(UINT8, "T::Numbers");
}

#[derive(DdsType, Clone)]
#[dds(union, discriminator = "i64")]
#[allow(dead_code)]
enum Far {
    #[dds(case = 0x8000_0000)]
    Value(i32),
}

#[derive(DdsType, Clone)]
#[dds(union, discriminator = "u64")]
#[allow(dead_code)]
enum Near {
    #[dds(case = 0xffff_ffff)]
    Value(i32),
}

#[derive(DdsType, Clone)]
#[dds(union, discriminator = "i32")]
#[allow(dead_code)]
enum Nothing {
    #[dds(case = 1)]
    Nothing,
    #[dds(default)]
    Other(i32),
}

#[derive(DdsType, Clone)]
#[dds(union, discriminator = "i32")]
#[allow(dead_code)]
enum Partial {
    #[dds(case = 1)]
    Value(i32),
    #[dds(case = 2)]
    Nothing,
    #[dds(default)]
    Unset,
}

/// What the labels of type objects cannot say is not announced as something else.
#[test]
fn labels_have_32_bits() {
    let objects = |(graph, index)| type_objects(&graph, index);
    let far = objects(from_description(description::<Far>()));
    assert_eq!(far, Err(BuildError::Label { union: "Far".into(), label: 0x8000_0000 }));
    let near = objects(from_description(description::<Near>())).unwrap();
    let root = near.root().unwrap();
    let find = |id: &_| {
        let mut both = near.records.iter().flat_map(|it| [&it.minimal, &it.complete]);
        both.find(|it| it.id == *id).map(|it| it.object.clone())
    };
    for id in [&root.minimal.id, &root.complete.id] {
        let (graph, index) = from_objects(id, &find).unwrap();
        let Kind::Union(it) = &graph.get(index).unwrap().kind else { panic!() };
        assert_eq!(it.cases[0].labels, [0xffff_ffff]);
        assert!(to_idl(&graph, index).contains("case 4294967295:"));
    }
}

/// A case without member is no case of the type system, unless a default case would take its labels.
#[test]
fn cases_without_member() {
    let (graph, index) = from_description(description::<Partial>());
    let Kind::Union(it) = &graph.get(index).unwrap().kind else { panic!() };
    assert_eq!(it.cases.len(), 1);
    assert!(type_objects(&graph, index).is_ok());
    let (graph, index) = from_description(description::<Nothing>());
    assert_eq!(type_objects(&graph, index), Err(BuildError::Dangling));
}
