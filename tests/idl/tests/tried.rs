//! What becomes of values that do not fit: in Rust types as in types known at run time (DDS-XTypes 1.3 §7.3.1.2.1.14).

use dunlin_cdr::{
    BoundedString, CdrError, CdrRead, DdsType, Endianness, Limits, Representation, Scope, description, idl,
    to_payload_as,
};
use dunlin_dynamic::{DynamicData, DynamicType, Value};
use dunlin_idl::{Memory, Options, compile};
use dunlin_idl_tests::tried::tried::*;

/// What a writer has whose enumeration has one literal more and whose strings and sequences have no bounds.
const WIDE: &str = r"
    @bit_bound(8) enum Color { RED, GREEN, BLUE };
    @final struct Elements {
        sequence<Color> colors; sequence<string> texts; Color pair[2]; Color each[2][2]; map<Color, string> table;
        sequence<sequence<Color>> nested; sequence<Color> alias; sequence<string> words; sequence<Color> trimmed;
        sequence<Color> far; @optional sequence<Color> farther; map<octet, uint8> mixed;
    };
    struct Keyed { @key string name; @key Color color; @key sequence<string> words; long value; };
    @mutable struct Listed { @id(7) @key string name; @id(3) @key Color color; @id(5) long value; };
    @appendable union Growing switch (Color) { case RED: long number; case GREEN: string text; case BLUE: double d; };
    @mutable union Loose switch (Color) {
        case RED: @id(4) @must_understand long number; case GREEN: @id(6) Color paint; case BLUE: @id(9) double d;
    };
    @final union Counted switch (uint8) { case 1: long number; default: @hashid uint8 small; };
    @final union ByKey switch (@key Color) { case RED: long number; case BLUE: string text; };
    struct Unions { Growing growing; Loose loose; Counted counted; ByKey by_key; long after; };
";

const FORMS: [(Representation, Endianness); 4] = [
    (Representation::Xcdr1, Endianness::Little),
    (Representation::Xcdr1, Endianness::Big),
    (Representation::Xcdr2, Endianness::Little),
    (Representation::Xcdr2, Endianness::Big),
];

fn wide(name: &str) -> DynamicData {
    let compilation = compile("w.idl", &Options::default(), &Memory::default().with("w.idl", WIDE));
    let model = compilation.model.as_ref().unwrap_or_else(|| panic!("{}", compilation.render(false)));
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(model, name).unwrap();
    DynamicData::new(&DynamicType::new(graph, index).unwrap())
}

fn type_of<T: DdsType>() -> DynamicType {
    let (graph, index) = dunlin_xtypes::from_description(description::<T>());
    DynamicType::new(graph, index).unwrap()
}

/// Reads what was written with the wide type, in every form, with the Rust type and with the same type known at run time.
fn read<T: DdsType + PartialEq + std::fmt::Debug>(sent: &DynamicData) -> Result<T, CdrError> {
    let ty = type_of::<T>();
    let mut results = Vec::new();
    for (representation, endianness) in FORMS {
        let (mut payload, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        sent.to_payload_as(representation, endianness, Scope::Sample, &mut payload).unwrap();
        let read = dunlin_cdr::from_payload::<T>(&payload, &Limits::default());
        match (&read, DynamicData::from_payload(&ty, &payload)) {
            (Ok(value), Ok(dynamic)) => {
                to_payload_as(value, representation, endianness, Scope::Sample, &mut ours).unwrap();
                dynamic.to_payload_as(representation, endianness, Scope::Sample, &mut theirs).unwrap();
                assert_eq!(ours, theirs, "{representation:?} {value:?}");
            }
            (Err(_), Err(_)) => {}
            (ours, theirs) => panic!("{representation:?} {ours:?} {theirs:?}"),
        }
        results.push(read);
    }
    let first = results.remove(0);
    for other in results {
        assert_eq!(other, first);
    }
    first
}

fn bounded<const N: usize>(text: &str) -> BoundedString<N> {
    text.try_into().unwrap()
}

fn texts(items: &[&str]) -> Value {
    Value::List(items.iter().map(|text| Value::String((*text).into())).collect())
}

fn colors(items: &[i32]) -> Value {
    Value::List(items.iter().map(|value| Value::Enumeration(*value)).collect())
}

/// Elements of sequences, arrays and maps, also behind typedefs.
#[test]
fn elements_that_do_not_fit_become_others() {
    use Color::{Green, Red};
    let mut sent = wide("Elements");
    sent.set("colors", colors(&[0, 2, 1])).unwrap();
    sent.set("texts", texts(&["abcd", "e"])).unwrap();
    sent.set("pair", colors(&[0, 2])).unwrap();
    sent.set("each[1][0]", 2).unwrap();
    let pair = |key, text: &str| (Value::Enumeration(key), Value::String(text.into()));
    sent.set("table", Value::Map(vec![pair(0, "zero0"), pair(2, "two")])).unwrap();
    sent.set("nested", Value::List(vec![colors(&[2, 0]), colors(&[])])).unwrap();
    sent.set("alias", colors(&[2, 0])).unwrap();
    sent.set("words", texts(&["longer", "s"])).unwrap();
    sent.set("trimmed", colors(&[0, 2, 0, 0])).unwrap();
    sent.set("farther", colors(&[2])).unwrap();
    let read: Elements = read(&sent).unwrap();
    assert_eq!(read.colors, [Red, Green, Green]);
    assert_eq!(read.texts.iter().map(|text| text.as_str()).collect::<Vec<_>>(), ["ab", "e"]);
    // The array's own annotation is for the whole of it: one literal that is not known makes the default.
    assert_eq!(read.pair, [Green, Green]);
    assert_eq!(read.each, [[Green, Green], [Green, Green]]);
    let table: Vec<_> = read.table.iter().map(|(key, text)| (*key, text.as_str())).collect();
    assert_eq!(table, [(Red, "zero"), (Green, "two")]);
    assert_eq!(
        read.nested.iter().map(|inner| inner.to_vec()).collect::<Vec<_>>(),
        [vec![Green, Red], vec![]]
    );
    assert_eq!(*read.alias, [Green, Red]);
    assert_eq!(read.words, [bounded::<4>("long"), bounded("s")]);
    assert_eq!(read.trimmed, [Red, Green, Red]);
    assert_eq!(***read.farther.as_ref().unwrap(), vec![Green]);
}

/// Without an annotation the sample is refused.
#[test]
fn samples_with_an_invalid_value_are_discarded_without_try_construct() {
    let mut sent = wide("Elements");
    sent.set("far", colors(&[2])).unwrap();
    assert!(matches!(read::<Elements>(&sent), Err(CdrError::UnknownEnumValue { value: 2, .. })));
    sent.set("far", colors(&[1])).unwrap();
    sent.set("alias", colors(&[0, 0, 0, 0])).unwrap();
    assert!(matches!(read::<Elements>(&sent), Err(CdrError::BoundExceeded { .. })));
}

/// Keys are those of the value that was made to fit.
#[test]
fn keys_that_do_not_fit_become_others() {
    fn keys<T: DdsType + PartialEq + std::fmt::Debug>(sent: &DynamicData, expected: &T) {
        assert_eq!(&read::<T>(sent).unwrap(), expected);
        let hash = dunlin_cdr::key_hash(expected).unwrap();
        for (representation, endianness) in FORMS {
            let (mut payload, mut key, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
            sent.to_payload_as(representation, endianness, Scope::Sample, &mut payload).unwrap();
            sent.to_payload_as(representation, endianness, Scope::Key, &mut key).unwrap();
            for (payload, is_key) in [(&payload, false), (&key, true)] {
                let found =
                    dunlin_cdr::key_hash_of_payload::<T>(payload, is_key, Default::default(), &mut scratch);
                assert_eq!(found.unwrap(), hash, "{representation:?} {is_key}");
                let support: &dyn dunlin_cdr::TypeSupport = &type_of::<T>();
                assert_eq!(support.key_hash_of_payload(payload, is_key).unwrap(), hash);
            }
        }
    }
    let mut sent = wide("Keyed");
    sent.set("name", "name").unwrap();
    sent.set("color", 2).unwrap();
    sent.set("words", texts(&["longer"])).unwrap();
    sent.set("value", 5).unwrap();
    let words = vec![bounded("long")];
    keys(&sent, &Keyed { name: "nam".into(), color: Color::Green, words, value: 5 });
    let mut sent = wide("Listed");
    sent.set("name", "names").unwrap();
    sent.set("color", 2).unwrap();
    keys(&sent, &Listed { name: "name".into(), color: Color::Green, value: 0 });
}

/// A discriminator that does not fit, and members of unions that do not.
#[test]
fn unions_that_do_not_fit_become_others() {
    let mut sent = wide("Unions");
    sent.set("growing.text", "longer").unwrap();
    sent.set("loose.paint", 2).unwrap();
    sent.set("counted.number", 4).unwrap();
    sent.set("after", 6).unwrap();
    let known: Unions = read(&sent).unwrap();
    assert_eq!(known.growing, Growing::Text("long".into()));
    // The default is that of the member.
    assert_eq!(known.loose, Loose::Paint(Color::Red));
    assert_eq!(known.counted, Counted::Number(4));
    assert_eq!(known.after, 6);
    // Here the default discriminator selects the default union, and what follows is found behind it.
    sent.set("loose.d", 1.5).unwrap();
    let unknown: Unions = read(&sent).unwrap();
    assert_eq!(unknown.loose, Loose::Paint(Color::Red));
    assert_eq!(unknown.after, 6);
    // A final union has no length.
    sent.set("by_key.text", "x").unwrap();
    assert!(matches!(read::<Unions>(&sent), Err(CdrError::UnknownEnumValue { value: 2, .. })));
}

/// An appendable union has a length in XCDR2 alone.
#[test]
fn the_length_of_an_appendable_union_is_known_in_xcdr2() {
    let mut sent = wide("Growing");
    sent.set("d", 2.5).unwrap();
    for (representation, read_as) in
        [(Representation::Xcdr2, Some(Growing::Text("none".into()))), (Representation::Xcdr1, None)]
    {
        let mut payload = Vec::new();
        sent.to_payload(representation, &mut payload).unwrap();
        assert_eq!(dunlin_cdr::from_payload::<Growing>(&payload, &Limits::default()).ok(), read_as);
    }
}

/// A union has the default of the member that its default discriminator selects, and so has a member that was not sent.
#[test]
fn members_of_unions_have_defaults() {
    assert_eq!(Growing::default(), Growing::Text("none".into()));
    assert_eq!(Loose::default(), Loose::Paint(Color::Red));
    assert_eq!(Counted::default(), Counted::Small { discriminator: 0, value: 3 });
    let mut payload = Vec::new();
    DynamicData::new(&type_of::<Unions>()).to_payload(Representation::Xcdr2, &mut payload).unwrap();
    assert_eq!(dunlin_cdr::from_payload::<Unions>(&payload, &Limits::default()).unwrap(), Unions::default());
    // A list with the discriminator alone.
    let mut listed = vec![0x00, 0x0b, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0];
    listed.extend([0; 4]);
    let read = dunlin_cdr::from_payload::<Loose>(&listed, &Limits::default()).unwrap();
    assert_eq!(read, Loose::Number(5));
    assert_eq!(
        DynamicData::from_payload(&type_of::<Loose>(), &listed).unwrap().get("number").unwrap(),
        Some(&Value::Int32(5))
    );
}

/// Who does not know a member of a union that has to be understood refuses it.
#[test]
fn members_of_unions_have_to_be_understood() {
    let mut payload = Vec::new();
    dunlin_cdr::to_payload(&Loose::Number(1), Representation::Xcdr2, &mut payload).unwrap();
    let mut theirs = Vec::new();
    let mut same = DynamicData::new(&type_of::<Loose>());
    same.set("number", 1).unwrap();
    same.to_payload(Representation::Xcdr2, &mut theirs).unwrap();
    assert_eq!(payload, theirs);
    // The header of the member has the flag.
    assert_eq!(payload[16..20], [4, 0, 0, 0xa0]);
}

/// Arrays that are elements of arrays by name are no dimensions of them.
#[test]
fn rows_of_arrays() {
    let idl = "typedef long Triple[3]; @final struct A { Triple rows[2]; };";
    let compilation = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", idl));
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(&compilation.model.unwrap(), "A").unwrap();
    let ty = DynamicType::new(graph, index).unwrap();
    let mut theirs = Vec::new();
    DynamicData::new(&ty).to_payload(Representation::Xcdr2, &mut theirs).unwrap();
    assert_eq!(theirs.len(), 4 + 4 + 24, "the rows have a length");
    let value = <Arrays as CdrRead>::default_value();
    let rows: [idl::Row<[i32; 3]>; 2] = value.rows;
    assert_eq!(rows[1].len(), 3);
}
