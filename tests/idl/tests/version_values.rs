//! Versions of enumerations and unions with values: what one version writes, the others read as DDS-XTypes 1.3 §7.2.4.4 (who can read whom)
//! and §7.6.3.4 (what becomes of values that do not fit) have it, in both encoding versions, decoded and through a view.

mod compare;

use dunlin_cdr::Representation::{self, Xcdr1, Xcdr2};
use dunlin_dynamic::{DynamicData, DynamicType};
use dunlin_json::{from_json, to_json};
use dunlin_xtypes::{TypeIn, assignable};

/// What a reader has of a value that does not fit: nothing.
const DISCARDED: &str = "discarded";

/// Versions of a type `T`, per reader (row) the writers (columns) that it can read, and what is read.
struct Family {
    versions: &'static [&'static str],
    table: &'static [&'static str],
    /// The same in XCDR1, where it differs: appendable types within others have no length there.
    xcdr1: Option<&'static [&'static str]>,
    /// A value that every version has, and every reader reads as it was written.
    common: &'static [&'static str],
    /// Reader, writer, written, read.
    values: &'static [(usize, usize, &'static str, &'static str)],
}

const ENUMERATIONS: Family = Family {
    versions: &[
        "@appendable enum E { A, B }; @final struct T { E e; long v; };",
        "@appendable enum E { A, B, C }; @final struct T { E e; long v; };",
        "@appendable enum E { A, @default_literal B };
         @final struct T { @try_construct(USE_DEFAULT) E e; long v; };",
        "@appendable enum E { @value(1) B }; @final struct T { @try_construct(USE_DEFAULT) E e; long v; };",
        "@bit_bound(8) @appendable enum E { A, B }; @final struct T { E e; long v; };",
    ],
    table: &["++++-", "++++-", "++++-", "++++-", "----+"],
    xcdr1: None,
    common: &[r#"{"e":"B","v":7}"#],
    values: &[
        (0, 0, r#"{"e":"B","v":7}"#, r#"{"e":"B","v":7}"#),
        (0, 1, r#"{"e":"B","v":7}"#, r#"{"e":"B","v":7}"#),
        // No literal has the value, and nobody says what to make of that.
        (0, 1, r#"{"e":"C","v":7}"#, DISCARDED),
        (0, 2, r#"{"e":"A","v":7}"#, r#"{"e":"A","v":7}"#),
        (0, 3, r#"{"e":"B","v":7}"#, r#"{"e":"B","v":7}"#),
        (1, 0, r#"{"e":"B","v":7}"#, r#"{"e":"B","v":7}"#),
        (1, 1, r#"{"e":"C","v":7}"#, r#"{"e":"C","v":7}"#),
        (1, 2, r#"{"e":"B","v":7}"#, r#"{"e":"B","v":7}"#),
        (1, 3, r#"{"e":"B","v":7}"#, r#"{"e":"B","v":7}"#),
        (2, 0, r#"{"e":"A","v":7}"#, r#"{"e":"A","v":7}"#),
        // The default literal, which is not the first.
        (2, 1, r#"{"e":"C","v":7}"#, r#"{"e":"B","v":7}"#),
        (2, 2, r#"{"e":"A","v":7}"#, r#"{"e":"A","v":7}"#),
        (2, 3, r#"{"e":"B","v":7}"#, r#"{"e":"B","v":7}"#),
        // The default literal is the first.
        (3, 0, r#"{"e":"A","v":7}"#, r#"{"e":"B","v":7}"#),
        (3, 1, r#"{"e":"C","v":7}"#, r#"{"e":"B","v":7}"#),
        (3, 2, r#"{"e":"B","v":7}"#, r#"{"e":"B","v":7}"#),
        (3, 3, r#"{"e":"B","v":7}"#, r#"{"e":"B","v":7}"#),
        (4, 4, r#"{"e":"B","v":7}"#, r#"{"e":"B","v":7}"#),
    ],
};

/// In collections each element is made on its own.
const LISTS: Family = Family {
    versions: &[
        "@appendable enum E { A, B, C }; @final struct T { sequence<E> e; long v; };",
        "@appendable enum E { A, B }; @final struct T { sequence<E> e; long v; };",
        "@appendable enum E { A, B }; @final struct T { sequence<@try_construct(USE_DEFAULT) E> e; long v; };",
        "@appendable enum E { A, B }; @final struct T { @try_construct(USE_DEFAULT) sequence<E> e; long v; };",
        "@appendable enum E { A, B, C }; @final struct T { @try_construct(TRIM) sequence<E, 2> e; long v; };",
        "@appendable enum E { A, B }; @final struct T { @try_construct(TRIM) sequence<E, 2> e; long v; };",
    ],
    table: &["++++++", "++++++", "++++++", "++++++", "++++++", "++++++"],
    xcdr1: None,
    common: &[r#"{"e":["A","B"],"v":7}"#, r#"{"e":[],"v":7}"#],
    values: &[
        (1, 0, r#"{"e":["A","B"],"v":7}"#, r#"{"e":["A","B"],"v":7}"#),
        (1, 0, r#"{"e":["A","C"],"v":7}"#, DISCARDED),
        (2, 0, r#"{"e":["B","C","B"],"v":7}"#, r#"{"e":["B","A","B"],"v":7}"#),
        (3, 0, r#"{"e":["B","C","B"],"v":7}"#, r#"{"e":[],"v":7}"#),
        (4, 0, r#"{"e":["B","C","B"],"v":7}"#, r#"{"e":["B","C"],"v":7}"#),
        // What does not fit is among what is cut off, or it is not.
        (5, 0, r#"{"e":["B","A","C"],"v":7}"#, r#"{"e":["B","A"],"v":7}"#),
        (5, 0, r#"{"e":["B","C","A"],"v":7}"#, r#"{"e":[],"v":7}"#),
    ],
};

const APPENDABLE_UNIONS: Family = Family {
    versions: &[
        "@appendable @nested union U switch (long) { case 1: long a; case 2: string b; };
         @final struct T { U u; long v; };",
        "@appendable @nested union U switch (long) { case 1: long a; case 2: string b; case 3: double c; };
         @final struct T { U u; long v; };",
        "@appendable @nested union U switch (long) { case 1: long a; default: string b; };
         @final struct T { U u; long v; };",
        "@appendable @nested union U switch (long) { case 1: long a; case 2: string<3> b; };
         @final struct T { U u; long v; };",
        "@appendable @nested union U switch (long) { case 1: long a; case 2: @try_construct(TRIM) string<3> b; };
         @final struct T { U u; long v; };",
        "@appendable @nested union U switch (long) { case 1: long a; case 2: string<3> b; };
         @final struct T { @try_construct(USE_DEFAULT) U u; long v; };",
        "@appendable @nested union U switch (long) { case 1: double a; }; @final struct T { U u; long v; };",
        "@appendable @nested union U switch (short) { case 1: long a; }; @final struct T { U u; long v; };",
    ],
    table: &["++++++--", "++-+++--", "+-++++--", "++++++--", "++++++--", "++++++--", "------+-", "-------+"],
    xcdr1: Some(&["+-------", "-+------", "--+-----", "---+-+--", "----+---", "---+-+--", "------+-", "-------+"]),
    common: &[r#"{"u":{"_d":1,"a":5},"v":7}"#, r#"{"u":{"_d":1,"a":2.5},"v":7}"#],
    values: &[
        (0, 0, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":2,"b":"word"},"v":7}"#),
        (0, 1, r#"{"u":{"_d":1,"a":5},"v":7}"#, r#"{"u":{"_d":1,"a":5},"v":7}"#),
        // Of a member that it does not know the reader has the discriminator.
        (0, 1, r#"{"u":{"_d":3,"c":2.5},"v":7}"#, r#"{"u":{"_d":3},"v":7}"#),
        (0, 2, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":2,"b":"word"},"v":7}"#),
        (0, 2, r#"{"u":{"_d":9,"b":"word"},"v":7}"#, r#"{"u":{"_d":9},"v":7}"#),
        (0, 3, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        (0, 4, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        (0, 5, r#"{"u":{"_d":1,"a":5},"v":7}"#, r#"{"u":{"_d":1,"a":5},"v":7}"#),
        (1, 0, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":2,"b":"word"},"v":7}"#),
        (1, 1, r#"{"u":{"_d":3,"c":2.5},"v":7}"#, r#"{"u":{"_d":3,"c":2.5},"v":7}"#),
        (1, 3, r#"{"u":{"_d":1,"a":5},"v":7}"#, r#"{"u":{"_d":1,"a":5},"v":7}"#),
        (1, 4, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        (1, 5, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        (2, 0, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":2,"b":"word"},"v":7}"#),
        (2, 2, r#"{"u":{"_d":9,"b":"word"},"v":7}"#, r#"{"u":{"_d":9,"b":"word"},"v":7}"#),
        (2, 3, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        (2, 4, r#"{"u":{"_d":1,"a":5},"v":7}"#, r#"{"u":{"_d":1,"a":5},"v":7}"#),
        (2, 5, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        // What a union holds decides about the union.
        (3, 0, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, DISCARDED),
        (3, 0, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        (3, 1, r#"{"u":{"_d":3,"c":2.5},"v":7}"#, r#"{"u":{"_d":3},"v":7}"#),
        (3, 2, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, DISCARDED),
        (4, 0, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        (4, 1, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        (4, 2, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        // The default of a union: discriminator 0, which selects nothing here.
        (5, 0, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":0},"v":7}"#),
        (5, 1, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#, r#"{"u":{"_d":2,"b":"wor"},"v":7}"#),
        (6, 6, r#"{"u":{"_d":1,"a":2.5},"v":7}"#, r#"{"u":{"_d":1,"a":2.5},"v":7}"#),
        (7, 7, r#"{"u":{"_d":1,"a":2},"v":7}"#, r#"{"u":{"_d":1,"a":2},"v":7}"#),
    ],
};

const MUTABLE_UNIONS: Family = Family {
    versions: &[
        "@mutable @nested union U switch (long) { case 1: @id(10) long a; case 2: @id(20) string b; };
         @final struct T { U u; long v; };",
        "@mutable @nested union U switch (long) { case 3: @id(30) double c; case 2: @id(20) string b; case 1: @id(10) long a; };
         @final struct T { U u; long v; };",
        "@mutable @nested union U switch (long) { case 1: @id(10) long a; case 2: @id(20) @try_construct(USE_DEFAULT) string<2> b; };
         @final struct T { U u; long v; };",
        "@appendable enum E { X, Y }; @mutable @nested union U switch (E) { case X: @id(10) long a; case Y: @id(20) string b; };
         @final struct T { U u; long v; };",
        "@appendable enum E { X }; @mutable @nested union U switch (@try_construct(USE_DEFAULT) E) { case X: @id(10) long a; };
         @final struct T { U u; long v; };",
    ],
    table: &["+++--", "+++--", "+++--", "---++", "---++"],
    xcdr1: None,
    common: &[r#"{"u":{"_d":1,"a":5},"v":7}"#, r#"{"u":{"_d":"X","a":5},"v":7}"#],
    values: &[
        (0, 1, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":2,"b":"word"},"v":7}"#),
        (0, 2, r#"{"u":{"_d":2,"b":"wo"},"v":7}"#, r#"{"u":{"_d":2,"b":"wo"},"v":7}"#),
        (1, 0, r#"{"u":{"_d":1,"a":5},"v":7}"#, r#"{"u":{"_d":1,"a":5},"v":7}"#),
        (1, 2, r#"{"u":{"_d":1,"a":5},"v":7}"#, r#"{"u":{"_d":1,"a":5},"v":7}"#),
        (2, 0, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":2,"b":""},"v":7}"#),
        (2, 1, r#"{"u":{"_d":2,"b":"word"},"v":7}"#, r#"{"u":{"_d":2,"b":""},"v":7}"#),
        (3, 4, r#"{"u":{"_d":"X","a":5},"v":7}"#, r#"{"u":{"_d":"X","a":5},"v":7}"#),
        // A discriminator that does not fit makes the default union.
        (4, 3, r#"{"u":{"_d":"Y","b":"word"},"v":7}"#, r#"{"u":{"_d":"X","a":0},"v":7}"#),
        (4, 3, r#"{"u":{"_d":"X","a":5},"v":7}"#, r#"{"u":{"_d":"X","a":5},"v":7}"#),
    ],
};

/// Unions that nothing follows can be read in XCDR1 too.
const TOPICS: Family = Family {
    versions: &[
        "@appendable union T switch (long) { case 1: long a; case 2: string b; };",
        "@appendable union T switch (long) { case 1: long a; case 2: string b; case 3: sequence<double> c; };",
        "@appendable union T switch (long) { case 1: long a; default: string<3> b; };",
    ],
    table: &["+++", "++-", "+-+"],
    xcdr1: None,
    common: &[r#"{"_d":1,"a":5}"#],
    values: &[
        (0, 1, r#"{"_d":3,"c":[2.5]}"#, r#"{"_d":3}"#),
        (0, 2, r#"{"_d":8,"b":"wor"}"#, r#"{"_d":8}"#),
        (1, 0, r#"{"_d":2,"b":"word"}"#, r#"{"_d":2,"b":"word"}"#),
        (2, 0, r#"{"_d":2,"b":"word"}"#, DISCARDED),
        (2, 0, r#"{"_d":2,"b":"wor"}"#, r#"{"_d":2,"b":"wor"}"#),
    ],
};

fn parsed(idl: &str) -> DynamicType {
    let files = dunlin_idl::Memory::default().with("t.idl", idl);
    let compiled = dunlin_idl::compile("t.idl", &dunlin_idl::Options::default(), &files);
    let model = compiled.model.as_ref().unwrap_or_else(|| panic!("{}", compiled.render(false)));
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(model, "T").unwrap();
    DynamicType::new(graph, index).unwrap()
}

fn reads(reader: &DynamicType, writer: &DynamicType, representation: Representation) -> Result<(), String> {
    let side = |ty: &DynamicType| (std::sync::Arc::clone(ty.graph()), ty.index());
    let ((own, at), (theirs, there)) = (side(reader), side(writer));
    let (reader, writer) = (TypeIn { graph: &own, index: at }, TypeIn { graph: &theirs, index: there });
    assignable(reader, writer, &Default::default(), representation).map_err(|found| format!("{found:?}"))
}

/// Whether a value is one of a type.
fn has(ty: &DynamicType, value: &str) -> bool {
    from_json(ty, &serde_json::from_str(value).unwrap()).is_ok_and(|read| to_json(&read) == value)
}

fn read(reader: &DynamicType, writer: &DynamicType, written: &str, representation: Representation) -> String {
    let value = from_json(writer, &serde_json::from_str(written).unwrap()).unwrap();
    let mut payload = Vec::new();
    value.to_payload(representation, &mut payload).unwrap();
    compare::with_decoded(reader, &payload);
    DynamicData::from_payload(reader, &payload).map_or(DISCARDED.to_owned(), |value| to_json(&value))
}

/// Every result in the representations, and that no pair that can be read was left out.
fn check(family: &Family, representations: &[Representation]) {
    let types: Vec<DynamicType> = family.versions.iter().map(|idl| parsed(idl)).collect();
    let mut wrong = Vec::new();
    for representation in representations.iter().copied() {
        let table = family.xcdr1.filter(|_| representation == Xcdr1).unwrap_or(family.table);
        for (own, (reader, row)) in types.iter().zip(table).enumerate() {
            assert_eq!(row.len(), types.len());
            for (their, (writer, expected)) in types.iter().zip(row.bytes()).enumerate() {
                let result = reads(reader, writer, representation);
                if result.is_ok() != (expected == b'+') {
                    wrong.push(format!("{representation:?} {own} <- {their}: {result:?}"));
                }
                let mut written = family.common.iter().filter(|value| has(writer, value)).peekable();
                assert!(written.peek().is_some(), "nothing is written as {their}");
                let differs = |value: &&&str| read(reader, writer, value, representation) != ***value;
                if let Some(value) = written.filter(|_| expected == b'+').find(differs) {
                    wrong.push(format!(
                        "{representation:?} {own} <- {their}: {value} is read as something else"
                    ));
                }
            }
        }
        let readable = |own: usize, their: usize| table[own].as_bytes()[their] == b'+';
        for (own, their, written, expected) in family.values.iter().filter(|it| readable(it.0, it.1)) {
            let read = read(&types[*own], &types[*their], written, representation);
            if read != *expected {
                wrong.push(format!(
                    "{representation:?} {own} <- {their}: {written} is {read}, not {expected}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn enumerations() {
    check(&ENUMERATIONS, &[Xcdr1, Xcdr2]);
}

#[test]
fn lists_of_enumerations() {
    check(&LISTS, &[Xcdr1, Xcdr2]);
}

#[test]
fn appendable_unions() {
    check(&APPENDABLE_UNIONS, &[Xcdr1, Xcdr2]);
}

#[test]
fn unions_as_topics() {
    check(&TOPICS, &[Xcdr1, Xcdr2]);
}

#[test]
fn mutable_unions() {
    check(&MUTABLE_UNIONS, &[Xcdr1, Xcdr2]);
}
