//! Rules for types and values known at run time, with types of IDL that is compiled here and types that no IDL can say.

use dunlin_cdr::{CdrError, DecodeOptions, Limits, TypeSupport};
use dunlin_dynamic::{DescribeError, DynamicData, DynamicType, Shape, TypeError, Value};
use dunlin_filter::{Filter, Verdict};
use dunlin_idl::{Memory, Options, compile};
use dunlin_xtypes::identifier::kind;
use dunlin_xtypes::model::*;
use dunlin_xtypes::{TypeGraph, TypeIndex};

fn ty(idl: &str, name: &str) -> DynamicType {
    let compilation = compile("t.idl", &Options::default(), &Memory::default().with("t.idl", idl));
    let model = compilation.model.as_ref().unwrap_or_else(|| panic!("{}", compilation.render(false)));
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(model, name).unwrap();
    DynamicType::new(graph, index).unwrap()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn text(data: &DynamicData, path: &str) -> String {
    format!("{:?}", data.part(path).unwrap().map(|(_, value)| value.into_owned()))
}

fn member(name: &str, id: u32, flags: u16, ty: Type) -> Member {
    let flags = flags | member_flag::DISCARD;
    Member { name: Name::new(name), id, flags, ty, annotations: Default::default(), default: None }
}

fn structure(graph: &mut TypeGraph, index: TypeIndex, name: &str, members: Vec<Member>) {
    let kind = Kind::Structure(Structure { base: None, members });
    graph.set(index, Definition { name: name.into(), flags: type_flag::FINAL, kind });
}

const LONG: Type = Type::Primitive(kind::INT32);

/// What follows a union with a list of members in a serialized key is where it is.
#[test]
fn a_key_goes_on_behind_a_listed_union() {
    let ty = ty(
        "@mutable union U switch(@key long) { case 1: long x; }; @final struct K { @key U u; @key long b; };",
        "K",
    );
    let payload = hex("00010000 017f0800 00000000 04000000 01000000 027f0000 05000000");
    let data =
        DynamicData::from_key_payload(&ty, &payload, &Limits::default(), DecodeOptions::default()).unwrap();
    assert_eq!((text(&data, "u._d"), text(&data, "b")), ("Some(Int32(1))".into(), "Some(Int32(5))".into()));
}

/// `@key` says nothing in what is no part of the topic's key (DDS-XTypes 1.3 §7.2.4.4.8): a writer's version may lack such a
/// member. In the key itself nothing may be missing.
#[test]
fn key_members_may_be_missing_beside_the_key() {
    let idl = "@appendable struct Item { @key long a; @default(9) @key long b; };
        @mutable struct Loose { @id(1) @key long a; @id(2) @key long b; };
        @final struct First { @key long id; sequence<Item> items; Loose loose; };
        @final struct Second { @key Item item; @key Loose loose; };
        @appendable struct Third { @key long id; @key long more; };
        @appendable struct Fourth { First first; };
        @appendable struct Fifth { Item plain; }; @final struct Sixth { @key Fifth fifth; };";
    let loose = "08000000 01000020 03000000";
    let first = format!("01000000 0c000000 01000000 04000000 02000000 {loose}");
    let data = DynamicData::from_payload(&ty(idl, "First"), &hex(&format!("00070000 {first}"))).unwrap();
    assert_eq!(text(&data, "items[0].b"), "Some(Int32(9))");
    assert_eq!(text(&data, "loose.b"), "Some(Int32(0))");
    let inner = format!("00090000 {:08x} {first}", 32_u32.swap_bytes());
    assert!(DynamicData::from_payload(&ty(idl, "Fourth"), &hex(&inner)).is_ok());
    let missing = |id| Some(CdrError::MissingMember { id });
    let whole = "08000000 01000000 02000000";
    for (name, payload, error) in [
        ("Second", format!("00070000 {whole} {loose}"), missing(2)),
        ("Second", format!("00070000 04000000 01000000 {loose}"), missing(1)),
        ("Third", "00090000 04000000 01000000".into(), missing(1)),
        // A structure without key members is key as a whole.
        ("Sixth", "00070000 08000000 04000000 01000000".into(), missing(1)),
    ] {
        let read = DynamicData::from_payload(&ty(idl, name), &hex(&payload));
        assert_eq!(read.err(), error, "{name} {payload}");
    }
}

/// Defaults of IDL are those of new values, of members that are missing, of what is cleared, and of unions.
#[test]
fn defaults_of_idl_are_known_at_run_time() {
    let idl = "enum C { RED, GREEN }; typedef string<8> Name; @bit_bound(12) bitmask M { A, B };
        @appendable struct Part { long a; @default(-5) int8 b; };
        union U switch(octet) { case 0: @default(6) long six; case 1: @default(\"t\") string text; };
        @appendable struct S { long id; @default(\"name\") Name name; @default(GREEN) C color; @default(B) M bits;
            @default('x') char letter; @default(L\"w\") wstring wide; @default(2.5) float single; @default(0.5) long double quad;
            @default(TRUE) boolean flag; @default(1099511627776) uint64 large; Part part; Part parts[2]; U u;
            @optional Part maybe; };";
    let ty = ty(idl, "S");
    let expected = |data: &DynamicData| {
        for (path, value) in [
            ("name", "Some(String(\"name\"))"),
            ("color", "Some(Enumeration(1))"),
            ("bits", "Some(Bits(2))"),
            ("letter", "Some(Char8(Char8(120)))"),
            ("wide", "Some(WString(\"w\"))"),
            ("single", "Some(Float32(2.5))"),
            ("quad", "Some(Float128(Float128(85060207136517546210586590865283612672)))"),
            ("flag", "Some(Boolean(true))"),
            ("large", "Some(UInt64(1099511627776))"),
            ("part.b", "Some(Int8(-5))"),
            ("parts[1].b", "Some(Int8(-5))"),
            ("u.six", "Some(Int32(6))"),
            ("maybe", "None"),
        ] {
            assert_eq!(text(data, path), value, "{path}");
        }
    };
    let mut data = DynamicData::new(&ty);
    expected(&data);
    expected(&DynamicData::from_payload(&ty, &hex("00090000 04000000 07000000")).unwrap());
    data.set("name", "other").unwrap();
    data.set("part.b", 1).unwrap();
    data.clear("name").unwrap();
    data.clear("part").unwrap();
    expected(&data);
    data.set("u._d", 1).unwrap();
    assert_eq!(text(&data, "u.text"), "Some(String(\"t\"))");
    data.set("maybe.a", 3).unwrap();
    assert_eq!(text(&data, "maybe.b"), "Some(Int8(-5))");
}

/// What defaults allocate is paid for: a few octets do not make many megabytes.
#[test]
fn defaults_of_members_are_claimed() {
    let long = "x".repeat(4096);
    let ty = ty(
        &format!(
            "@appendable struct Part {{ @default(\"{long}\") string text; }}; @appendable struct S {{ sequence<Part> parts; }};"
        ),
        "S",
    );
    let payload = |count: u32| {
        let mut octets = hex("00090000");
        octets.extend((8 + 4 * count).to_le_bytes());
        octets.extend((4 + 4 * count).to_le_bytes());
        octets.extend(count.to_le_bytes());
        octets.resize(octets.len() + 4 * count as usize, 0);
        octets
    };
    let limits = Limits { max_bytes: 1 << 20, ..Limits::default() };
    let read =
        |count| DynamicData::from_payload_with(&ty, &payload(count), &limits, DecodeOptions::default());
    assert_eq!(read(100).unwrap().item_count("parts").unwrap(), 100);
    assert!(matches!(read(1000), Err(CdrError::LimitExceeded { .. })));
}

/// The key is found without the members behind it, and without making those before it.
#[test]
fn key_hashes_need_the_key_alone() {
    for (form, header) in [("@final", "00070000"), ("@appendable", "00090000 14000000")] {
        let idl = format!("{form} struct S {{ sequence<octet> a; @key long id; sequence<string> rest; }};");
        let ty = ty(&idl, "S");
        let whole = hex(&format!("{header} 02000000 0102 0000 2a000000 00000000 00000000"));
        let broken = hex(&format!("{header} 02000000 0102 0000 2a000000 ffffffff ffffffff"));
        let hash = ty.key_hash_of_payload(&whole, false).unwrap();
        assert_eq!(hash[..4], [0, 0, 0, 42]);
        assert!(DynamicData::from_payload(&ty, &broken).is_err());
        assert_eq!(ty.key_hash_of_payload(&broken, false), Ok(hash));
        let mut key = Vec::new();
        ty.key_payload_with(&broken, DecodeOptions::default(), &mut key).unwrap();
        assert_eq!(ty.key_hash_of_payload(&key, true), Ok(hash));
        let cut = &whole[..whole.len() - 12];
        assert!(ty.key_hash_of_payload(cut, false).is_err());
    }
    let ty = ty("@mutable struct S { @id(1) string a; @id(2) @key long id; };", "S");
    let listed = hex("000b0000 18000000 01000040 08000000 04000000 ff00ff00 02000020 07000000");
    assert!(DynamicData::from_payload(&ty, &listed).is_err());
    assert_eq!(ty.key_hash_of_payload(&listed, false).unwrap()[..4], [0, 0, 0, 7]);
    let without = hex("000b0000 0c000000 01000040 04000000 00000000");
    assert_eq!(ty.key_hash_of_payload(&without, false), Err(CdrError::MissingMember { id: 2 }));
}

/// A discriminator that is unknown makes the default union where the end of what was sent is known.
#[test]
fn unknown_discriminators_with_a_default() {
    let idl = |form: &str| {
        format!(
            "enum C {{ RED, GREEN }}; {form} union U switch(@try_construct(USE_DEFAULT) C) {{ case RED: long n; \
             case GREEN: string t; }}; @final struct S {{ U u; long after; }};"
        )
    };
    for (form, payload) in [
        ("@appendable", "00070000 08000000 07000000 11000000 05000000"),
        ("@mutable", "00070000 14000000 00000020 07000000 01000040 04000000 11000000 05000000"),
        ("@mutable", "00010000 0000 0400 07000000 0100 0400 11000000 027f 0000 05000000"),
    ] {
        let data = DynamicData::from_payload(&ty(&idl(form), "S"), &hex(payload)).unwrap();
        assert_eq!(text(&data, "u._d"), "Some(Enumeration(0))", "{form}");
        assert_eq!(text(&data, "u.n"), "Some(Int32(0))", "{form}");
        assert_eq!(text(&data, "after"), "Some(Int32(5))", "{form}");
    }
    for (form, payload) in [
        ("@final", "00070000 07000000 11000000 05000000"),
        ("@appendable", "00010000 07000000 11000000 05000000"),
    ] {
        let read = DynamicData::from_payload(&ty(&idl(form), "S"), &hex(payload));
        assert!(matches!(read, Err(CdrError::UnknownEnumValue { value: 7, .. })), "{form} {read:?}");
    }
}

/// The default case gets a discriminator that its type has.
#[test]
fn default_cases_are_selected_by_values_of_the_discriminator() {
    let idl = "enum C { @value(3) RED, @value(-7) GREEN }; @bit_bound(1) bitmask M { ON };
        union B switch(boolean) { case FALSE: long a; default: long b; };
        union E switch(C) { case RED: long a; default: long b; };
        union I switch(int8) { case 0: case 1: case 2: long a; default: long b; };
        union N switch(uint64) { case 0: long a; default: long b; };
        union O switch(octet) { case 0: long a; default: long b; };
        struct All { B b; E e; I i; N n; O o; };";
    let mut data = DynamicData::new(&ty(idl, "All"));
    for (union, wanted) in [
        ("b", "Some(Boolean(true))"),
        ("e", "Some(Enumeration(-7))"),
        ("i", "Some(Int8(3))"),
        ("n", "Some(UInt64(1))"),
        ("o", "Some(Octet(1))"),
    ] {
        data.set(&format!("{union}.b"), 5).unwrap();
        assert_eq!(text(&data, &format!("{union}._d")), wanted);
        assert_eq!(text(&data, &format!("{union}.b")), "Some(Int32(5))");
    }
}

fn union_of_booleans(labels: [&[i64]; 3]) -> (TypeGraph, TypeIndex) {
    let mut graph = TypeGraph::default();
    let case = |(at, labels): (u32, &[i64])| Case {
        member: member(&format!("m{at}"), at + 1, if at == 2 { member_flag::DEFAULT } else { 0 }, LONG),
        labels: labels.to_vec(),
    };
    let union = Union {
        discriminator: Element { ty: Type::Primitive(kind::BOOLEAN), flags: member_flag::DISCARD },
        cases: (0..).zip(labels).map(case).collect(),
    };
    let index = graph.add(Definition { name: "U".into(), flags: type_flag::FINAL, kind: Kind::Union(union) });
    (graph, index)
}

/// A default case that nothing selects cannot be set; labels that two cases have are no type.
#[test]
fn cases_that_nothing_selects() {
    let (graph, index) = union_of_booleans([&[0], &[1], &[]]);
    let ty = DynamicType::new(graph, index).unwrap();
    let Shape::Union(it) = ty.view().shape() else { panic!() };
    assert_eq!(it.label_of(&it.cases[2]), None);
    let mut data = DynamicData::new(&ty);
    data.set("m1", 4).unwrap();
    assert!(data.set("m2", 5).is_err());
    assert_eq!(text(&data, "m1"), "Some(Int32(4))");
    let (graph, index) = union_of_booleans([&[0], &[1, 0], &[]]);
    let refused = DynamicType::new(graph, index).unwrap_err();
    assert_eq!(refused, TypeError::DuplicateValue { name: "U".into(), value: 0 });
}

/// Work with a type is bounded by what it is made of, whatever that is.
#[test]
fn types_are_bounded() {
    let mut graph = TypeGraph::default();
    let literal = |name: i32, value: i32| Literal {
        name: Name::hashed(name.to_le_bytes()),
        value,
        is_default: value == 0,
    };
    let mut enumeration = |count: i32, twice: bool| {
        let mut literals: Vec<Literal> = (0..count).map(|value| literal(value, value)).collect();
        literals.extend(twice.then(|| literal(count, 1)));
        let it = Enumeration { bit_bound: 32, literals, ignore_literal_names: false };
        graph.add(Definition { name: "E".into(), flags: type_flag::FINAL, kind: Kind::Enumeration(it) })
    };
    let (many, twice) = (enumeration(1 << 18, false), enumeration(3, true));
    let index = graph.reserve();
    structure(&mut graph, index, "S", vec![member("e", 1, 0, Type::Named(many))]);
    assert_eq!(DynamicType::new(graph.clone(), index).unwrap_err(), TypeError::TooLarge { name: "E".into() });
    structure(&mut graph, index, "S", vec![member("e", 1, 0, Type::Named(twice))]);
    let refused = DynamicType::new(graph, index).unwrap_err();
    assert_eq!(refused, TypeError::DuplicateValue { name: "E".into(), value: 1 });
}

/// A union whose discriminator selects nothing has no member. What lies behind it is found, and one that was not sent is such
/// a union.
#[test]
fn filters_pass_by_a_union_without_a_member() {
    let idl = "@final union U switch(long) { case 5: long x; };
        @final struct S { U u; long after; };
        @appendable struct New { long first; U u; };";
    let verdict = |name: &str, expression: &str, payload: &str| {
        let filter = Filter::for_type(ty(idl, name).describe().unwrap(), expression, &[""; 0]).unwrap();
        filter.check(&hex(payload), DecodeOptions::default())
    };
    let payload = "00010000 07000000 03000000";
    assert_eq!(verdict("S", "after = 3", payload), Verdict::Passed);
    assert_eq!(verdict("S", "after = 3 AND u._d = 5", payload), Verdict::Rejected);
    let payload = "00090000 04000000 01000000";
    assert_eq!(verdict("New", "u._d = 0", payload), Verdict::Passed);
    assert_eq!(verdict("New", "u._d = 5", payload), Verdict::Rejected);
}

/// A type within each other as deep as no stack is, where values need not hold any of it.
#[test]
fn deep_types_have_no_description() {
    let mut graph = TypeGraph::default();
    let all: Vec<TypeIndex> = (0..20_000).map(|_| graph.reserve()).collect();
    for (at, index) in all.iter().enumerate() {
        let next = all.get(at + 1).map_or(LONG, |next| Type::Named(*next));
        structure(&mut graph, *index, &format!("S{at}"), vec![member("m", 1, member_flag::OPTIONAL, next)]);
    }
    let ty = DynamicType::new(graph, all[0]).unwrap();
    assert!(matches!(ty.describe(), Err(DescribeError::TooDeep { .. })));
}

/// A type that holds itself has no values, by whichever way that is found first.
#[test]
fn endless_types() {
    let held = |flags: u16| {
        let mut graph = TypeGraph::default();
        let (a, b) = (graph.reserve(), graph.reserve());
        let to_b = member("o", 1, member_flag::OPTIONAL, Type::Named(b));
        structure(&mut graph, a, "A", vec![to_b, member("h", 2, flags, Type::Named(b))]);
        structure(&mut graph, b, "B", vec![member("a", 1, 0, Type::Named(a))]);
        DynamicType::new(graph, a)
    };
    assert!(matches!(held(0), Err(TypeError::Endless { .. })));
    // The default of A is one part and B's holds it.
    let ty = held(member_flag::OPTIONAL).unwrap();
    assert_eq!(DynamicData::new(&ty).value(), &Value::Structure(vec![None, None]));
}

/// Everything that can be set can be cleared.
#[test]
fn clearing() {
    let ty = ty(
        "union U switch(long) { case 0: long a; case 1: long b; }; struct S { sequence<octet> octets; octet row[3]; U u; };",
        "S",
    );
    let mut data = DynamicData::new(&ty);
    data.set("octets", Value::Octets(vec![1, 2, 3])).unwrap();
    data.set("row[2]", 9).unwrap();
    data.set("u.b", 5).unwrap();
    data.clear("octets[1]").unwrap();
    data.clear("row[2]").unwrap();
    data.clear("u._d").unwrap();
    assert_eq!(text(&data, "octets"), "Some(Octets([1, 0, 3]))");
    assert_eq!(text(&data, "row"), "Some(Octets([0, 0, 0]))");
    assert_eq!((text(&data, "u._d"), text(&data, "u.a")), ("Some(Int32(0))".into(), "Some(Int32(0))".into()));
    assert!(data.clear("octets[3]").is_err() && data.clear("octets[0].x").is_err());
}

/// Bits without name behind the last field count for the width.
#[test]
fn bitsets_have_the_width_of_their_idl() {
    let ty = ty("bitset B { bitfield<4> a; bitfield<6>; }; @final struct S { B b; octet o; };", "S");
    let data = DynamicData::from_payload(&ty, &hex("00010000 0500 0700")).unwrap();
    assert_eq!((text(&data, "b"), text(&data, "o")), ("Some(Bits(5))".into(), "Some(Octet(7))".into()));
}
