//! What derived descriptions say, and members found by them without making the value.

mod common;

use std::collections::BTreeMap;

use common::{ALL, body};
use dunlin_cdr::{
    Bound, CdrError, CdrWrite, Char8, DdsType, Decoder, Described, Encoder, Endianness, Extensibility,
    Limits, Located, MemberFlags, PrimitiveKind, Representation, Scalar, Scope, Step, StructureDescription,
    TypeDescription, TypeKind, WString, description, to_payload_as,
};

#[derive(DdsType, Debug, Clone, Copy, PartialEq)]
#[dds(bit_bound = 8, name = "Birds::Color")]
enum Color {
    #[dds(name = "RED")]
    Red = 3,
    #[default]
    Green = -1,
}

#[derive(DdsType, Debug, Clone, Copy, PartialEq)]
#[dds(bitmask, bit_bound = 9)]
struct Flags(u16);

#[derive(DdsType, Debug, Clone, Copy, PartialEq)]
#[dds(bitset)]
struct Fields(u32);

#[derive(DdsType, Debug, Clone, PartialEq)]
#[dds(transparent)]
struct Row([u16; 3]);

#[derive(DdsType, Debug, Clone, PartialEq)]
#[dds(union, discriminator = "i16", nested)]
enum Shape {
    #[dds(case = 1)]
    Circle(f32),
    #[dds(case(2, -7), name = "label")]
    Label(#[dds(bound = 6)] String),
    #[dds(default)]
    Nothing,
}

/// Types with the same members and each extensibility.
macro_rules! family {
    ($module:ident, $extensibility:ident) => {
        mod $module {
            use super::*;

            #[derive(DdsType, Debug, Clone, PartialEq)]
            #[dds(nested, $extensibility)]
            pub struct Place {
                pub x: f64,
                #[dds(optional)]
                pub y: Option<f32>,
                #[dds(key)]
                pub name: String,
            }

            #[derive(DdsType, Debug, Clone, PartialEq)]
            #[dds($extensibility)]
            pub struct Sighting {
                pub small: u8,
                #[dds(key, id = 9)]
                pub place: Place,
                #[dds(optional)]
                pub seen: Option<Place>,
                pub grid: [[u16; 3]; 2],
                pub rows: [Row; 2],
                pub names: Vec<String>,
                pub places: Vec<Place>,
                pub labels: [[String; 2]; 2],
                pub map: BTreeMap<u8, u64>,
                pub colors: Vec<Color>,
                pub shape: Shape,
                pub flags: Flags,
                pub wide: WString,
                pub letter: Char8,
                pub big: u64,
                #[dds(key)]
                pub last: i64,
            }

            fn place(name: &str, y: Option<f32>) -> Place {
                Place { x: 1.5, y, name: name.into() }
            }

            pub fn sighting(shape: Shape, seen: bool) -> Sighting {
                Sighting {
                    small: 200,
                    place: place("mud", None),
                    seen: seen.then(|| place("sand", Some(0.25))),
                    grid: [[1, 2, 3], [4, 5, 6]],
                    rows: [Row([7, 8, 9]), Row([10, 11, 12])],
                    names: vec!["a".into(), "".into(), "ccc".into()],
                    places: vec![place("p", Some(2.0)), place("qq", None)],
                    labels: [["k".into(), "ll".into()], ["m".into(), "".into()]],
                    map: BTreeMap::from([(1, 2), (3, 4)]),
                    colors: vec![Color::Green, Color::Red],
                    shape,
                    flags: Flags(0x0101),
                    wide: "Vögel".into(),
                    letter: Char8(b'x'),
                    big: u64::MAX,
                    last: i64::MIN,
                }
            }
        }
    };
}

family!(last, final);
family!(growing, appendable);
family!(listed, mutable);

fn structure<T: Described>() -> StructureDescription {
    match &description::<T>().kind {
        TypeKind::Structure(structure) => structure.clone(),
        other => panic!("{other:?}"),
    }
}

/// A path in words: member names and numbers.
fn path(ty: &'static TypeDescription, words: &str) -> Vec<Step> {
    let (mut ty, mut steps) = (ty.resolved(), Vec::new());
    for word in words.split('.') {
        let (step, next) = match &ty.kind {
            TypeKind::Structure(structure) => {
                let at = structure.position(word).unwrap();
                (Step::Member(at), &structure.member(at).unwrap().ty)
            }
            TypeKind::Union(union) if word == "_d" => (Step::Discriminator, &union.discriminator),
            TypeKind::Union(union) => {
                let at = union.cases.iter().position(|case| case.name == word).unwrap();
                (Step::Member(at), union.cases[at].ty.as_ref().unwrap())
            }
            TypeKind::Sequence { element, .. } | TypeKind::Array { element, .. } => {
                (Step::Element(word.parse().unwrap()), element)
            }
            other => panic!("{word} in {other:?}"),
        };
        steps.push(step);
        ty = next.get().resolved();
    }
    steps
}

fn locate<'a, T: Described>(
    decoder: &Decoder<'a>,
    words: &str,
) -> Result<Located<Option<Scalar<'a>>>, CdrError> {
    let ty = description::<T>();
    decoder.clone().locate(ty, &path(ty, words), |d, ty| d.read_scalar(ty))
}

fn found<T: Described>(data: &[u8], rep: Representation, endianness: Endianness, words: &str) -> String {
    let decoder = Decoder::new(data, rep, endianness, &Limits::default());
    match locate::<T>(&decoder, words).unwrap_or_else(|error| panic!("{words}: {error}")) {
        Located::Found(Some(value)) => format!("{value:?}"),
        other => format!("{other:?}"),
    }
}

const EXPECTED: &[(&str, &str)] = &[
    ("small", "Unsigned(200)"),
    ("place.x", "Float(1.5)"),
    ("place.y", "Absent"),
    ("place.name", "Text(\"mud\")"),
    ("seen.y", "Float(0.25)"),
    ("seen.name", "Text(\"sand\")"),
    ("grid.1.0", "Unsigned(4)"),
    ("rows.1.2", "Unsigned(12)"),
    ("names.2", "Text(\"ccc\")"),
    ("names.3", "Absent"),
    ("places.0.y", "Float(2.0)"),
    ("places.1.name", "Text(\"qq\")"),
    ("places.2.name", "Absent"),
    ("labels.0.1", "Text(\"ll\")"),
    ("labels.1.0", "Text(\"m\")"),
    ("colors.1", "Signed(3)"),
    ("shape._d", "Signed(2)"),
    ("shape.label", "Text(\"tern\")"),
    ("shape.Circle", "Absent"),
    ("flags", "Unsigned(257)"),
    ("wide", "WideText(\"Vögel\")"),
    ("letter", "Character(120)"),
    ("big", "Unsigned(18446744073709551615)"),
    ("last", "Signed(-9223372036854775808)"),
    ("place", "Found(None)"),
];

fn finds_everything<T: Described + CdrWrite>(value: &T) {
    for (rep, endianness) in ALL {
        let data = body(value, rep, endianness);
        for (words, expected) in EXPECTED {
            assert_eq!(
                &found::<T>(&data, rep, endianness, words),
                expected,
                "{words} {rep:?} {endianness:?}"
            );
        }
    }
}

#[test]
fn members_are_found_in_every_representation() {
    let shape = || Shape::Label("tern".into());
    finds_everything(&last::sighting(shape(), true));
    finds_everything(&growing::sighting(shape(), true));
    finds_everything(&listed::sighting(shape(), true));
}

#[test]
fn absent_parts_are_absent() {
    for (rep, endianness) in ALL {
        let data = body(&growing::sighting(Shape::Nothing, false), rep, endianness);
        for words in ["seen.name", "seen.y", "shape.label", "shape.Circle"] {
            assert_eq!(found::<growing::Sighting>(&data, rep, endianness, words), "Absent", "{words}");
        }
        assert_eq!(found::<growing::Sighting>(&data, rep, endianness, "flags"), "Unsigned(257)");
    }
}

fn key_payload<T: CdrWrite>(value: &T, rep: Representation) -> Vec<u8> {
    let mut out = Vec::new();
    to_payload_as(value, rep, Endianness::Little, Scope::Key, &mut out).unwrap();
    out
}

fn key_decoder<T: CdrWrite>(payload: &[u8]) -> Decoder<'_> {
    Decoder::from_payload(payload, T::FORM, &Limits::default()).unwrap().with_scope(Scope::Key)
}

fn keys<T: Described + CdrWrite>(value: &T) {
    for rep in [Representation::Xcdr1, Representation::Xcdr2] {
        let data = key_payload(value, rep);
        let decoder = key_decoder::<T>(&data);
        for (words, expected) in [
            ("place.name", Located::Found(Some(Scalar::Text("mud")))),
            ("last", Located::Found(Some(Scalar::Signed(i64::MIN)))),
            ("place.x", Located::Absent),
            ("big", Located::Absent),
        ] {
            assert_eq!(locate::<T>(&decoder, words).unwrap(), expected, "{words} {rep:?}");
        }
    }
}

#[test]
fn key_members_are_found_in_serialized_keys() {
    keys(&last::sighting(Shape::Nothing, true));
    keys(&growing::sighting(Shape::Nothing, true));
    keys(&listed::sighting(Shape::Nothing, true));
}

#[derive(DdsType)]
struct Older {
    a: u16,
}

#[derive(DdsType)]
struct Newer {
    a: u16,
    #[dds(default = 7)]
    b: u64,
    c: Option<u8>,
    #[dds(must_understand)]
    d: u8,
}

#[test]
fn members_unknown_to_an_older_version_are_missing() {
    for (rep, endianness) in ALL {
        let data = body(&Older { a: 5 }, rep, endianness);
        let decoder = Decoder::new(&data, rep, endianness, &Limits::default());
        let value = |words| locate::<Newer>(&decoder, words);
        assert_eq!(value("a"), Ok(Located::Found(Some(Scalar::Unsigned(5)))));
        assert_eq!(value("b"), Ok(Located::Missing(0)));
        assert_eq!(value("c"), Ok(Located::Absent));
        assert_eq!(value("d"), Err(CdrError::MissingMember { id: 3 }));
    }
    let default = structure::<Newer>().member(1).unwrap().write_default.clone().unwrap();
    let mut out = Vec::new();
    default.write(&mut Encoder::new(&mut out, Representation::Xcdr2, Endianness::Big)).unwrap();
    assert_eq!(out, [0, 0, 0, 0, 0, 0, 0, 7]);
}

mod within {
    use super::*;

    #[derive(DdsType)]
    #[dds(nested)]
    pub struct Older {
        #[dds(key)]
        a: u16,
    }

    #[derive(DdsType)]
    #[dds(nested)]
    pub struct Newer {
        #[dds(key)]
        a: u16,
        #[dds(key, default = 7)]
        b: u16,
    }

    macro_rules! topics {
        ($($name:ident: $inner:ty),*) => {$(
            #[derive(DdsType)]
            #[dds(final)]
            pub struct $name {
                #[dds(key)]
                key: $inner,
                plain: $inner,
                maybe: Option<$inner>,
            }
        )*};
    }

    topics!(Sent: Older, Read: Newer);

    pub fn sent() -> Sent {
        Sent { key: Older { a: 1 }, plain: Older { a: 2 }, maybe: Some(Older { a: 3 }) }
    }
}

/// What has `@key` beside the key is missing like any other member (DDS-XTypes 1.3 §7.2.4.4.8).
#[test]
fn keys_beside_the_key_may_be_missing() {
    let data = body(&within::sent(), Representation::Xcdr2, Endianness::Little);
    let decoder = Decoder::new(&data, Representation::Xcdr2, Endianness::Little, &Limits::default());
    let value = |words| locate::<within::Read>(&decoder, words);
    assert_eq!(value("plain.a"), Ok(Located::Found(Some(Scalar::Unsigned(2)))));
    assert_eq!(value("plain.b"), Ok(Located::Missing(1)));
    assert_eq!(value("maybe.b"), Ok(Located::Missing(1)));
    assert_eq!(value("key.b"), Err(CdrError::MissingMember { id: 1 }));
}

#[derive(DdsType)]
struct Base {
    #[dds(key)]
    id: u32,
    note: String,
}

#[derive(DdsType)]
struct Derived {
    #[dds(base)]
    base: Base,
    #[dds(id = 40, must_understand, bound = 3, try_construct = "trim")]
    text: String,
    #[dds(external)]
    more: Option<Box<Derived>>,
    list: Vec<Bound<Vec<u8>, 4>>,
}

#[test]
fn inherited_members_come_first() {
    let derived = structure::<Derived>();
    assert_eq!((derived.member_count(), derived.members.len(), derived.has_key()), (5, 3, true));
    assert_eq!([0, 1, 2, 3].map(|at| derived.member(at).unwrap().id), [0, 1, 40, 41]);
    assert!(derived.member(5).is_none());
    assert_eq!(derived.position("list"), Some(4));
    let text = derived.member(2).unwrap();
    let flags = MemberFlags::TRY_CONSTRUCT_TRIM.with(MemberFlags::MUST_UNDERSTAND);
    assert_eq!((text.flags, text.ty.get().to_string().as_str()), (flags, "string<3>"));
    let more = derived.member(3).unwrap();
    assert!(more.is_optional() && more.flags.contains(MemberFlags::EXTERNAL));
    assert_eq!(format!("{:?} {}", more.ty, derived.member(4).unwrap().ty.get()), {
        "TypeRef(Derived) sequence<sequence<octet, 4>>"
    });
    let inner = Derived { base: Base { id: 2, note: "n".into() }, text: "".into(), more: None, list: vec![] };
    let base = Base { id: 1, note: "m".into() };
    let value = Derived { base, text: "abc".into(), more: Some(Box::new(inner)), list: vec![vec_of(3)] };
    for (rep, endianness) in ALL {
        let data = body(&value, rep, endianness);
        for (words, expected) in [
            ("id", "Unsigned(1)"),
            ("note", "Text(\"m\")"),
            ("text", "Text(\"abc\")"),
            ("more.id", "Unsigned(2)"),
            ("more.more.id", "Absent"),
            ("list.0.2", "Unsigned(3)"),
        ] {
            assert_eq!(found::<Derived>(&data, rep, endianness, words), expected, "{words} {rep:?}");
        }
        let key = key_payload(&value, rep);
        let decoder = key_decoder::<Derived>(&key);
        assert_eq!(locate::<Derived>(&decoder, "id"), Ok(Located::Found(Some(Scalar::Unsigned(1)))));
        assert_eq!(locate::<Derived>(&decoder, "text"), Ok(Located::Absent));
    }
}

fn vec_of(last: u8) -> Bound<Vec<u8>, 4> {
    Bound::new((1..=last).collect()).unwrap()
}

#[test]
fn descriptions_say_what_was_declared() {
    let TypeKind::Enumeration(color) = &description::<Color>().kind else { panic!() };
    assert_eq!((&*description::<Color>().name, color.bit_bound), ("Birds::Color", 8));
    assert_eq!(color.literal("RED").unwrap().value, 3);
    assert!(color.literal("Red").is_none() && color.literal("Green").unwrap().is_default);
    assert_eq!(color.default_value(), -1);
    assert!(matches!(description::<Flags>().kind, TypeKind::Bitmask { bit_bound: 9, .. }));
    assert!(matches!(description::<Fields>().kind, TypeKind::Bitset { holder: 32, .. }));
    assert!(matches!(description::<Row>().kind, TypeKind::Alias(_)));
    assert_eq!(description::<Row>().resolved().to_string(), "uint16[3]");
    let TypeKind::Union(shape) = &description::<Shape>().kind else { panic!() };
    assert!(shape.nested && !shape.key && shape.extensibility == Extensibility::Appendable);
    assert_eq!([1, 2, -7, 4].map(|value| shape.selected(value)), [Some(0), Some(1), Some(1), Some(2)]);
    assert_eq!((&*shape.cases[1].name, shape.cases[1].id, shape.cases[2].is_default), ("label", 2, true));
    assert_eq!(shape.cases[1].ty.as_ref().unwrap().get().to_string(), "string<6>");
    let TypeKind::Map { key, value, bound: None } = &description::<BTreeMap<u8, f32>>().kind else {
        panic!()
    };
    assert_eq!((key.get().to_string(), value.get().to_string()), ("octet".into(), "float".into()));
    assert!(matches!(description::<Box<f64>>().kind, TypeKind::Primitive(PrimitiveKind::Float64)));
    let sighting = structure::<listed::Sighting>();
    assert_eq!(sighting.extensibility, Extensibility::Mutable);
    assert_eq!([0, 1, 2].map(|at| sighting.member(at).unwrap().id), [0, 9, 10]);
}

#[test]
fn truncated_and_damaged_payloads_are_searched_without_panic() {
    let value = growing::sighting(Shape::Label("tern".into()), true);
    for (rep, endianness) in ALL {
        let data = body(&value, rep, endianness);
        for len in 0..data.len() {
            let decoder = Decoder::new(&data[..len], rep, endianness, &Limits::default());
            for (words, expected) in EXPECTED {
                if let Ok(Located::Found(Some(value))) = locate::<growing::Sighting>(&decoder, words) {
                    assert_eq!(&format!("{value:?}"), expected);
                }
            }
            let _ = decoder.clone().skip_value(description::<growing::Sighting>());
        }
        for at in 0..data.len() {
            let mut damaged = data.clone();
            damaged[at] ^= 0xff;
            let decoder = Decoder::new(&damaged, rep, endianness, &Limits::default());
            for (words, _) in EXPECTED {
                let _ = locate::<growing::Sighting>(&decoder, words);
            }
            let _ = decoder.clone().skip_value(description::<growing::Sighting>());
        }
    }
}
