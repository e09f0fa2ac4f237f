//! Assignability (DDS-XTypes 1.3 §7.2.4): a table of versions of one type with the results that the standard asks for, and
//! the options of TYPE_CONSISTENCY_ENFORCEMENT one by one.

mod versions;

use dunlin_cdr::Representation::{self, Xcdr1, Xcdr2};
use dunlin_idl::{Memory, Options, compile};
use dunlin_qos::TypeConsistencyEnforcement;
use dunlin_xtypes::model::{Kind, Type, member_flag};
use dunlin_xtypes::{Comparison, Mismatch, TypeGraph, TypeIn, TypeIndex, assignable, to_idl};

fn parse(idl: &str) -> (TypeGraph, TypeIndex) {
    let compilation = compile("t.idl", &Options::default(), &Memory::default().with("t.idl", idl));
    let model = compilation.model.as_ref().unwrap_or_else(|| panic!("{}\n{idl}", compilation.render(false)));
    dunlin_idl::xtypes::type_graph_of(model, "T").unwrap()
}

fn check(
    reader: &str,
    writer: &str,
    policy: &TypeConsistencyEnforcement,
    representation: Representation,
) -> Result<(), Vec<Mismatch>> {
    let (reader, writer) = (parse(reader), parse(writer));
    let reader = TypeIn { graph: &reader.0, index: reader.1 };
    assignable(reader, TypeIn { graph: &writer.0, index: writer.1 }, policy, representation)
}

fn allow() -> TypeConsistencyEnforcement {
    TypeConsistencyEnforcement::default()
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn table() {
    let parsed: Vec<_> = versions::all().map(|version| (parse(&version.idl()), version)).collect();
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (reader, own) in &parsed {
        for (writer, theirs) in &parsed {
            let reader = TypeIn { graph: &reader.0, index: reader.1 };
            let writer = TypeIn { graph: &writer.0, index: writer.1 };
            let result = assignable(reader, writer, &allow(), Xcdr2);
            let policy = allow();
            let mut comparison = Comparison::new(reader.graph, writer.graph, &policy, Xcdr2);
            for _ in 0..2 {
                let (own, theirs) = (own.members, theirs.members);
                assert_eq!(comparison.assignable(reader.index, writer.index), result, "{own} <- {theirs}");
            }
            compared += 1;
            if result.is_ok() != own.reads(theirs) {
                wrong.push(format!("{{{}}} <- {{{}}}: {result:?}", own.members, theirs.members));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(compared, 33 * 33);
}

/// Each pair of texts with an option off and on.
fn option(reader: &str, writer: &str, off: &TypeConsistencyEnforcement, on: &TypeConsistencyEnforcement) {
    assert!(check(reader, writer, off, Xcdr2).is_err(), "{reader} <- {writer}");
    assert_eq!(check(reader, writer, on, Xcdr2), Ok(()), "{reader} <- {writer}");
}

#[test]
fn every_option() {
    let allow = allow();
    let strings = TypeConsistencyEnforcement { ignore_string_bounds: false, ..allow };
    option("struct T { string<4> s; };", "struct T { string<5> s; };", &strings, &allow);
    option("struct T { string<4> s; };", "struct T { string s; };", &strings, &allow);
    assert_eq!(check("struct T { string<5> s; };", "struct T { string<4> s; };", &strings, Xcdr2), Ok(()));
    let sequences = TypeConsistencyEnforcement { ignore_sequence_bounds: false, ..allow };
    option("struct T { sequence<long, 4> s; };", "struct T { sequence<long, 5> s; };", &sequences, &allow);
    option("struct T { map<long, long, 4> s; };", "struct T { map<long, long, 5> s; };", &sequences, &allow);
    let names = TypeConsistencyEnforcement { ignore_member_names: true, ..allow };
    option("struct T { long a; long b; };", "struct T { long x; long y; };", &allow, &names);
    option("@mutable struct T { @id(1) long a; };", "@mutable struct T { @id(1) long x; };", &allow, &names);
    let narrow = TypeConsistencyEnforcement { prevent_type_widening: true, ..allow };
    option("struct T { long a; long b; };", "struct T { long a; };", &narrow, &allow);
    assert_eq!(
        check("struct T { long a; @optional long b; };", "struct T { long a; };", &narrow, Xcdr2),
        Ok(())
    );
    assert_eq!(check("struct T { long a; };", "struct T { long a; long b; };", &narrow, Xcdr2), Ok(()));
    let disallow = TypeConsistencyEnforcement::DISALLOW;
    option("struct T { long a; };", "struct T { long a; long b; };", &disallow, &allow);
    assert_eq!(check("struct T { long a; };", "struct T { long a; };", &disallow, Xcdr2), Ok(()));
}

#[test]
fn the_reason_is_the_real_one() {
    let reasons = |reader: &str, writer: &str, policy: &TypeConsistencyEnforcement| {
        let found = check(reader, writer, policy, Xcdr2).unwrap_err();
        (found[0].to_string(), found[0].extensibility)
    };
    let list = |of: &str| format!("@nested struct P {{ double x; }}; struct T {{ sequence<{of}> s; }};");
    let (told, _) = reasons(&list("double"), &list("P"), &allow());
    assert_eq!(told, "s.elements: `double` cannot read `P`", "nobody spoke of bitmasks");
    let (told, extensibility) = reasons("@final struct T { long a; };", "struct T { long a; };", &allow());
    assert!(extensibility && told.contains("final"), "{told}");
    let bits = |of: &str| format!("@bit_bound(8) bitmask B {{ X }}; struct T {{ sequence<{of}> s; }};");
    let (told, extensibility) = reasons(&bits("uint8"), &bits("B"), &allow());
    assert!(!extensibility && told.contains("lists of bitmasks and of integers"), "{told}");
    // In a mutable union a value is found by its id, in others it comes behind the discriminator.
    let names = TypeConsistencyEnforcement { ignore_member_names: true, ..allow() };
    let union = |word: &str, id: u32, name: &str| {
        format!(
            "@{word} @nested union U switch (long) {{ case 1: @id({id}) long {name}; }}; struct T {{ U u; }};"
        )
    };
    let (told, _) = reasons(&union("mutable", 1, "a"), &union("mutable", 2, "b"), &names);
    assert!(told.contains("the member id 1, that of the writer 2"), "{told}");
    assert_eq!(check(&union("mutable", 1, "a"), &union("mutable", 1, "b"), &names, Xcdr2), Ok(()));
    assert_eq!(check(&union("appendable", 1, "a"), &union("appendable", 2, "b"), &names, Xcdr2), Ok(()));
}

fn verdict(reader: &str, writer: &str) -> Result<(), Vec<Mismatch>> {
    check(reader, writer, &allow(), Xcdr2)
}

#[test]
fn nested_appendable_types_need_delimiters_to_be_assignable() {
    let with = |word: &str, members: &str| {
        format!("@{word} @nested struct I {{ {members} }}; struct T {{ sequence<I> s; long after; }};")
    };
    let (old, new) = (with("appendable", "long a;"), with("appendable", "long a; long b;"));
    assert_eq!(check(&old, &new, &allow(), Xcdr2), Ok(()));
    // XCDR1 has no header that says where an appendable structure ends.
    assert!(check(&old, &new, &allow(), Xcdr1).is_err());
    let (old, new) = (with("mutable", "long a;"), with("mutable", "long a; long b;"));
    assert_eq!(check(&old, &new, &allow(), Xcdr1), Ok(()));
}

#[test]
fn differences_of_types_are_listed_by_member() {
    let reader = "@nested struct I { long a; double b; }; struct T { I inner; string name; long last; };";
    let writer = "@nested struct I { float a; double b; }; struct T { I inner; wstring name; long last; };";
    let found: Vec<String> = verdict(reader, writer).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(found, ["inner.a: `int32` cannot read `float`", "name: `string` cannot read `wstring`"]);
}

#[test]
fn keys() {
    let key = |ty: &str| format!("struct T {{ @key {ty} k; long v; }};");
    assert!(verdict(&key("string<4>"), &key("string<5>")).is_err(), "bounds of keys always count");
    assert_eq!(verdict(&key("string<5>"), &key("string<4>")), Ok(()));
    let enumeration = |literals: &str| format!("enum E {{ {literals} }}; struct T {{ @key E k; long v; }};");
    assert!(verdict(&enumeration("A"), &enumeration("A, B")).is_err());
    assert_eq!(verdict(&enumeration("A, B"), &enumeration("A")), Ok(()));
    let nested = |members: &str| format!("@nested struct I {{ {members} }}; struct T {{ @key I k; }};");
    assert_eq!(verdict(&nested("@key long a; long b;"), &nested("@key long a; long b; long c;")), Ok(()));
    assert!(verdict(&nested("long a; long b;"), &nested("long a; long b; long c;")).is_err(), "all are key");
    // The same counts for what instances are told by within a key.
    assert!(verdict(&nested("@key string<4> a;"), &nested("@key string<5> a;")).is_err());
    assert_eq!(verdict(&nested("@key string<5> a;"), &nested("@key string<4> a;")), Ok(()));
    assert!(verdict(&nested("sequence<long, 4> a;"), &nested("sequence<long, 5> a;")).is_err());
    assert_eq!(
        verdict(&nested("@key long a; string<4> b;"), &nested("@key long a; string<5> b;")),
        Ok(()),
        "no part of the key"
    );
    // In a member that is no key, keys mean nothing.
    let plain = |members: &str| format!("@nested struct I {{ {members} }}; struct T {{ I k; }};");
    assert_eq!(verdict(&plain("@key long a; long b;"), &plain("long a; long b;")), Ok(()));
}

#[test]
fn enumerations_bitmasks_and_aliases() {
    let enumeration = |text: &str| format!("{text}; struct T {{ E e; }};");
    assert_eq!(verdict(&enumeration("enum E { A, B }"), &enumeration("enum E { A, B, C }")), Ok(()));
    assert!(
        verdict(&enumeration("@final enum E { A, B }"), &enumeration("@final enum E { A, B, C }")).is_err()
    );
    assert_eq!(verdict(&enumeration("@final enum E { A, B }"), &enumeration("enum E { A, B }")), Ok(()));
    assert!(verdict(&enumeration("enum E { A, B }"), &enumeration("@final enum E { A, B, C }")).is_err());
    assert!(verdict(&enumeration("enum E { A, B }"), &enumeration("enum E { B, A }")).is_err());
    assert!(verdict(&enumeration("@bit_bound(8) enum E { A }"), &enumeration("enum E { A, B }")).is_err());
    let bits = "@bit_bound(16) bitmask E { A }; struct T { E e; };";
    assert_eq!(verdict("struct T { uint16 e; };", bits), Ok(()));
    assert!(verdict("struct T { uint32 e; };", bits).is_err());
    // In a list the bytes differ.
    let list = "@bit_bound(16) bitmask E { A }; struct T { sequence<E> e; };";
    assert!(verdict("struct T { sequence<uint16> e; };", list).is_err());
    assert!(verdict(list, "struct T { sequence<uint16> e; };").is_err());
    assert_eq!(verdict("typedef long L; struct T { L e; };", "struct T { long e; };"), Ok(()));
}

#[test]
fn octet_and_uint8_are_one_type() {
    for members in ["X e;", "X e[3];", "sequence<X> e;", "map<X, X> e;", "sequence<I> e;", "@key U e;"] {
        let with = |name: &str| {
            let text = "@final @nested struct I { X a; }; @nested union U switch (X) { case 1: X a; }; struct T { M };";
            text.replace('M', members).replace('X', name)
        };
        assert_eq!(verdict(&with("octet"), &with("uint8")), Ok(()), "{members}");
        assert_eq!(verdict(&with("uint8"), &with("octet")), Ok(()), "{members}");
        assert!(verdict(&with("octet"), &with("int8")).is_err(), "{members}");
    }
}

#[test]
fn unions() {
    let union = |word: &str, cases: &str| {
        format!("@{word} @nested union U switch (long) {{ {cases} }}; struct T {{ U u; }};")
    };
    let (ab, abc) =
        ("case 1: long a; case 2: string b;", "case 1: long a; case 2: string b; case 3: double c;");
    assert_eq!(verdict(&union("appendable", ab), &union("appendable", abc)), Ok(()));
    assert!(verdict(&union("final", ab), &union("final", abc)).is_err());
    assert!(
        verdict(&union("mutable", "case 1: @id(1) long a;"), &union("mutable", "case 2: @id(1) long a;"))
            .is_err()
    );
    let other = "case 1: double a; case 2: string b;";
    assert!(verdict(&union("appendable", ab), &union("appendable", other)).is_err());
    let default = "case 1: long a; default: string b;";
    assert_eq!(verdict(&union("appendable", default), &union("appendable", ab)), Ok(()));
    assert!(
        verdict(&union("appendable", default), &union("appendable", abc)).is_err(),
        "c would be read as b"
    );
}

#[test]
fn recursive_types() {
    let tree = |members: &str| format!("struct T {{ {members} sequence<T> next; }};");
    assert_eq!(verdict(&tree("long a;"), &tree("long a;")), Ok(()));
    let more = "struct T { long a; sequence<T> next; long more; };";
    assert_eq!(verdict(&tree("long a;"), more), Ok(()));
    assert!(verdict(&tree("long a;"), &tree("float a;")).is_err());
}

/// Aliases that fan out: 2^30 ways through the type, and an answer at once.
#[test]
fn work_is_bounded() {
    use dunlin_xtypes::model::*;
    let fan = |bound: u32| {
        let mut graph = TypeGraph::default();
        let alias = |ty: Type| {
            let kind = Kind::Alias(Element { ty, flags: 0 });
            Definition { name: String::new(), flags: 0, kind }
        };
        let mut last = graph.add(alias(Type::String { wide: false, bound }));
        for _ in 0..30 {
            let half = || Box::new(Element { ty: Type::Named(last), flags: 1 });
            last = graph.add(alias(Type::Map { key: half(), value: half(), bound: 0 }));
        }
        let annotations = Default::default();
        let member = Member {
            name: Name::new("m"),
            id: 0,
            flags: 1,
            ty: Type::Named(last),
            annotations,
            default: None,
        };
        let kind = Kind::Structure(Structure { base: None, members: vec![member] });
        let index = graph.add(Definition { name: "T".into(), flags: type_flag::APPENDABLE, kind });
        (graph, index)
    };
    let (reader, writer) = (fan(4), fan(5));
    let result = assignable(
        TypeIn { graph: &reader.0, index: reader.1 },
        TypeIn { graph: &writer.0, index: writer.1 },
        &allow(),
        Xcdr2,
    );
    assert!(result.is_err(), "given up");
}

/// Literals are compared by their values where both sides say so.
#[test]
fn names_of_literals_may_be_ignored() {
    let of = |word: &str, name: &str| format!("{word} enum E {{ A, {name} }}; @final struct T {{ E e; }};");
    let ignore = "@ignore_literal_names";
    assert!(check(&of(ignore, "B"), &of(ignore, "C"), &allow(), Xcdr2).is_ok());
    for (reader, writer) in [("", ""), (ignore, ""), ("", ignore), ("@ignore_literal_names(FALSE)", ignore)] {
        assert!(check(&of(reader, "B"), &of(writer, "C"), &allow(), Xcdr2).is_err(), "{reader} {writer}");
    }
    let closed = |name: &str| of("@ignore_literal_names @final", name);
    assert!(check(&closed("B"), &closed("C"), &allow(), Xcdr2).is_ok());
    assert!(check(&closed("B"), &closed("@value(5) B"), &allow(), Xcdr2).is_err());
}

/// Bases that go round are looked at once.
#[test]
fn cyclic_base_types_terminate() {
    use dunlin_xtypes::model::*;
    let mut graph = TypeGraph::default();
    let all: Vec<TypeIndex> = (0..100).map(|_| graph.reserve()).collect();
    let base = |at: usize| Some(all[if at == 0 { 1 } else { 0 }]);
    for (at, index) in all.iter().enumerate() {
        let (ty, annotations) = (Type::Primitive(4), Default::default());
        let member = Member { name: Name::new("m"), id: 0, flags: 1, ty, annotations, default: None };
        let kind = Kind::Structure(Structure { base: base(at), members: vec![member] });
        graph.set(*index, Definition { name: format!("T{at}"), flags: type_flag::FINAL, kind });
    }
    assert_eq!((graph.members(all[0]).len(), graph.members(all[99]).len()), (2, 3));
}

/// Printed as IDL, a type is the same type again.
#[test]
fn idl_of_a_type_means_the_same() {
    for version in versions::all() {
        again(&format!("struct T {{ {} }};", version.members));
    }
    again(
        "module M { module N { enum E { A, @default_literal B }; @bit_bound(9) bitmask F { X, @position(7) Y };
         bitset S { bitfield<3> a; bitfield<2>; bitfield<9> b; }; typedef long Row[3][2]; }; };
         @nested union U switch (M::N::E) { case M::N::A: long a; default: string<3> b; };
         @nested union C switch (char) { case 'x': case '\\'': long a; }; @nested union B switch (boolean) { case TRUE: long a; };
         @mutable struct T { @key @id(9) M::N::E e; M::N::F f; M::N::S s; M::N::Row r[2]; @optional sequence<U, 4> u; C c; B b;
           map<string, double, 3> m; wchar w; @try_construct(TRIM) string<3> t; @external @must_understand U x; };",
    );
    again(
        "@nested union U switch (unsigned long) { case 4294967295: long a; case 2147483648: long b; };
         @nested union V switch (unsigned long long) { case 4294967295: long a; };
         @nested union W switch (long long) { case -2147483648: long a; }; struct T { U u; V v; W w; };",
    );
    again(
        "enum E { A, B }; typedef sequence<@try_construct(TRIM) string<3>> Texts; @mutable @autoid(HASH) struct T { Texts t;
         map<@try_construct(USE_DEFAULT) E, @external sequence<@try_construct E>, 4> m; @hashid(\"name\") long h; };
         ",
    );
    again(
        "@nested union U switch (@key @try_construct(USE_DEFAULT) long) { case 1: long a; }; struct T { U u; };",
    );
    again(
        "struct T { @min(-3) @max(7) int8 a; @range(min = 'a', max = '\\'') char b; @min(1.5) float c; @max(1e300) double d;
         @max(L'\\u20ac') wchar e; @max(18446744073709551615) uint64 f; @hashid long g; @unit(\"km\") @min(1) octet h; };",
    );
    again("@final struct Base { @unit(\"m\") long b; }; @final struct T : Base { sequence<T> next; };");
}

fn again(idl: &str) {
    let (graph, index) = parse(idl);
    let printed = to_idl(&graph, index);
    let (again, there) = parse(&printed);
    let objects = |graph, index| dunlin_xtypes::type_objects(graph, index).unwrap().information().unwrap();
    assert_eq!(objects(&graph, index), objects(&again, there), "{printed}");
}

/// The types as Fast DDS 3 has them, which leaves flags out: what is not delimited has to be the same type.
fn without_flags(idl: &str) -> (TypeGraph, TypeIndex) {
    let (mut graph, root) = parse(idl);
    let all: Vec<_> = graph.iter().map(|(index, it)| (index, it.clone())).collect();
    for (index, mut changed) in all {
        match &mut changed.kind {
            Kind::Structure(it) => {
                for member in &mut it.members {
                    if let Type::Sequence { element, .. } | Type::Array { element, .. } = &mut member.ty {
                        element.flags = 0;
                    }
                    if let Type::Map { key, value, .. } = &mut member.ty {
                        (key.flags, value.flags) = (0, 0);
                    }
                }
            }
            Kind::Union(it) => {
                it.discriminator.flags &= !member_flag::MUST_UNDERSTAND;
                it.cases.iter_mut().for_each(|case| case.labels.sort_unstable());
            }
            Kind::Enumeration(it) => {
                changed.flags = 0;
                it.literals.iter_mut().for_each(|literal| literal.is_default = false);
            }
            Kind::Bitmask(_) => changed.flags = 0,
            Kind::Bitset(_) | Kind::Alias(_) => {}
        }
        graph.set(index, changed);
    }
    (graph, root)
}

#[test]
fn flags_that_others_leave_out_do_not_count() {
    const INNER: &str = "@final @nested struct Inner { long a; };
        enum Color { RED, @default_literal GREEN };
        @bit_bound(8) bitmask Flags { F0 };
        @final @nested struct Colored { Color c; Flags f; };
        @final @nested union Choice switch(long) { case 3: case 1: long a; };
        @final @nested struct Lists { sequence<long> a; map<long, long> m; };";
    for member in [
        "sequence<Inner> a",
        "Inner a[2]",
        "map<long, Inner> a",
        "Colored a",
        "sequence<Color> a",
        "Flags a[3]",
        "Choice a",
        "Lists a",
    ] {
        let idl = format!("{INNER} @final struct T {{ {member}; }};");
        let (all, none) = (parse(&idl), without_flags(&idl));
        assert_ne!(all, none, "{member}");
        let (all, none) = (TypeIn { graph: &all.0, index: all.1 }, TypeIn { graph: &none.0, index: none.1 });
        for representation in [Xcdr1, Xcdr2] {
            assert_eq!(assignable(all, none, &allow(), representation), Ok(()), "{member}");
            assert_eq!(assignable(none, all, &allow(), representation), Ok(()), "{member}");
            let disallow = TypeConsistencyEnforcement::DISALLOW;
            assert_eq!(assignable(all, none, &disallow, representation), Ok(()), "{member}");
        }
    }
}
