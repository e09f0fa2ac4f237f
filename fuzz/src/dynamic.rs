//! Types and values known at run time: a type of ours or one that a stranger sent, then a payload or JSON. What is a value of
//! the type can be encoded in every form, told as JSON, and comes back from each as it was.

use std::sync::OnceLock;

use dunlin_cdr::{CdrError, DecodeOptions, Endianness, LimitKind, Limits, Representation, Scope};
use dunlin_core::VendorId;
use dunlin_dynamic::{DynamicData, DynamicType, DynamicView};
use dunlin_json::{from_json, leaves, to_json, view_to_json};
use dunlin_xtypes::lookup::TypeLibrary;
use dunlin_xtypes::lookup::message::{GetTypesOut, TypeIdentifierTypeObjectPair};
use dunlin_xtypes::{TypeObject, from_octets, to_octets, type_objects};

use crate::input::Input;

/// Octets of the account of the value that is decoded.
const LIMITS: Limits = Limits { max_bytes: 1 << 20, max_sequence_len: 1 << 16, max_depth: 64 };
/// Parts of a value that are worth the time.
const MOST_PARTS: usize = 1 << 12;
/// Heap memory that decoding may take: the account, what growing vectors waste, and defaults.
const MOST_MEMORY: u64 = 8 << 20;

const FORMS: [(Representation, Endianness); 4] = [
    (Representation::Xcdr1, Endianness::Little),
    (Representation::Xcdr1, Endianness::Big),
    (Representation::Xcdr2, Endianness::Little),
    (Representation::Xcdr2, Endianness::Big),
];

/// The first octet says where the type comes from and what the value is made of.
pub fn dynamic(data: &[u8]) {
    if let Some(value) = value_of(data) {
        round_trips(&value);
    }
}

/// The value that an input describes.
pub fn value_of(data: &[u8]) -> Option<DynamicData> {
    let mut input = Input::new(data);
    let what = input.u8();
    let ty = if what & 1 == 0 { ours(&mut input) } else { theirs(&mut input)? };
    // Arrays of arrays have defaults of megabytes, which are as good and only slower.
    if leaves(&DynamicData::new(&ty), "").len() > MOST_PARTS {
        return None;
    }
    let rest = input.rest();
    if what & 2 == 0 { payload(&ty, rest) } else { from_json(&ty, &serde_json::from_slice(rest).ok()?).ok() }
}

/// The types that we make Rust of.
fn known() -> &'static [DynamicType] {
    static KNOWN: OnceLock<Vec<DynamicType>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut known = Vec::new();
        for seed in crate::seeds::idl_seeds() {
            let files = dunlin_idl::Memory::default().with("a.idl", seed.bytes);
            let compiled = dunlin_idl::compile("a.idl", &dunlin_idl::Options::default(), &files);
            let (graph, indices) =
                dunlin_idl::xtypes::type_graph(&compiled.model.expect("a seed is correct"));
            let graph = std::sync::Arc::new(graph);
            known.extend(indices.iter().filter_map(|index| DynamicType::new(graph.clone(), *index).ok()));
        }
        known
    })
}

fn ours(input: &mut Input<'_>) -> DynamicType {
    let known = known();
    known[usize::from(input.u8()) % known.len()].clone()
}

/// The type of the first of up to eight type objects, each after its length.
fn theirs(input: &mut Input<'_>) -> Option<DynamicType> {
    let mut types = Vec::new();
    for _ in 0..input.u8() % 9 {
        let len = usize::from(input.u16());
        let type_object: TypeObject = from_octets(input.bytes(len)).ok()?;
        let type_identifier = type_object.identifier().ok()?;
        types.push(TypeIdentifierTypeObjectPair { type_identifier, type_object });
    }
    let root = types.first()?.type_identifier.clone();
    let mut library = TypeLibrary::new(1 << 20);
    library.learn(&GetTypesOut { types, ..GetTypesOut::default() });
    let (graph, index) = library.load(&root).ok()?;
    DynamicType::new(graph, index).ok()
}

fn payload(ty: &DynamicType, octets: &[u8]) -> Option<DynamicData> {
    let mut decoded = None;
    let used = allocation_counter::measure(|| {
        for vendor in [VendorId::CYCLONE_DDS, VendorId::FAST_DDS] {
            let options = DecodeOptions::for_vendor(vendor);
            let _ = DynamicData::from_payload_with(ty, octets, &LIMITS, options).is_ok();
        }
        let _ = DynamicData::from_key_payload(ty, octets, &LIMITS, DecodeOptions::default()).is_ok();
        decoded = DynamicData::from_payload_with(ty, octets, &LIMITS, DecodeOptions::default()).ok();
    });
    assert!(used.bytes_max <= MOST_MEMORY, "{} octets of memory for {}", used.bytes_max, octets.len());
    let used = allocation_counter::measure(|| viewed(ty, octets));
    assert!(used.bytes_max <= MOST_MEMORY, "{} octets of memory for {}", used.bytes_max, octets.len());
    if let Ok(view) = DynamicView::with_options(ty, octets, &LIMITS, DecodeOptions::default()) {
        same(&view, octets, decoded.as_ref());
    }
    decoded
}

/// Looks at octets that may be no value.
fn viewed(ty: &DynamicType, octets: &[u8]) {
    let options = DecodeOptions::for_vendor(VendorId::FAST_DDS);
    let views = [
        DynamicView::with_options(ty, octets, &LIMITS, DecodeOptions::default()),
        DynamicView::with_options(ty, octets, &LIMITS, options),
        DynamicView::of_key(ty, octets, &LIMITS, DecodeOptions::default()),
    ];
    for view in views.into_iter().flatten() {
        let _ = view.check().is_ok();
        let members = view.members().into_iter().flatten().flatten();
        for view in members.filter_map(|(_, member)| member).take(64).chain([view.clone()]) {
            let _ = (view.item_count().is_ok(), view.as_str().is_ok(), view.as_octets().is_ok());
            let elements = view.elements().into_iter().flatten().take(64);
            let pairs = view.pairs().into_iter().flatten().take(64);
            let _ = (elements.filter_map(Result::ok).count(), pairs.filter_map(Result::ok).count());
            let _ = (view.selected().is_ok(), view.as_integer().is_ok(), view.as_f64().is_ok());
        }
    }
}

/// A view of octets says what the value says that is decoded from them, or that there is none. Its memory is bounded by none of the limits.
fn same(view: &DynamicView<'_>, octets: &[u8], decoded: Option<&DynamicData>) {
    let Some(decoded) = decoded else {
        let ty = view.type_view();
        let read = || -> Result<(), CdrError> {
            let mut d = dunlin_cdr::Decoder::from_payload(octets, ty.extensibility(), &LIMITS)?;
            ty.read(&mut d).map(drop)
        };
        let limited = matches!(read(), Err(CdrError::LimitExceeded { .. }));
        assert!(limited || view.check().is_err(), "a view of what is no value");
        return;
    };
    assert_eq!(view.check(), Ok(()), "no view of a value");
    assert_eq!(view_to_json(view).expect("checked"), to_json(decoded));
    for (path, _) in leaves(decoded, "") {
        let seen = view.get(&path).map(|part| part.map(|part| part.to_value().expect("checked")));
        match decoded.part(&path) {
            Ok(part) => {
                let seen = seen.expect("a path of the value").map(|value| format!("{value:?}"));
                assert_eq!(seen, part.map(|(_, value)| format!("{value:?}")), "{path}");
            }
            // Names of strangers may have dots.
            Err(_) => assert!(seen.is_err(), "{path}"),
        }
    }
}

fn encoded(value: &DynamicData, (rep, endianness): (Representation, Endianness)) -> Vec<u8> {
    let mut out = Vec::new();
    value.to_payload_as(rep, endianness, Scope::Sample, &mut out).expect("a value of the type");
    out
}

/// Compared as octets and as text, since some numbers are not equal to themselves.
fn round_trips(value: &DynamicData) {
    let (ty, text) = (value.dynamic_type(), to_json(value));
    let told =
        |text: &str| -> serde_json::Value { serde_json::from_str(text).expect("what was told is JSON") };
    let json = told(&text);
    match from_json(ty, &json) {
        // A string with a zero inside is read, but never made: it would end there for other readers.
        Err(_) if text.contains("\\u0000") => {}
        // NaN has many forms, JSON one, half a surrogate pair becomes U+FFFD, and objects have no order: what is told stays.
        again => assert_eq!(told(&to_json(&again.expect("what was told is a value of the type"))), json),
    }
    for (path, _) in leaves(value, "") {
        let _ = value.part(&path);
    }
    let canonical = encoded(value, FORMS[2]);
    let mut scratch = Vec::new();
    let hash = value.key_hash(&mut scratch).expect("a value of the type");
    for form in FORMS {
        let octets = encoded(value, form);
        let again = match DynamicData::from_payload(ty, &octets) {
            // Elements without octets are bounded by the octets of the payload, and there may have been more of them.
            Err(CdrError::LimitExceeded { limit: LimitKind::SequenceLength }) => return,
            again => again.expect("what was just encoded"),
        };
        assert_eq!(encoded(&again, FORMS[2]), canonical);
        assert_eq!(again.key_hash(&mut scratch), Ok(hash));
    }
}

/// Inputs that are accepted: types of ours with their default value, as a payload, as JSON, and with the type as a stranger
/// sends it.
pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (at, ty) in known().iter().enumerate() {
        let value = DynamicData::new(ty);
        let Ok(at) = u8::try_from(at) else { continue };
        if leaves(&value, "").len() > MOST_PARTS || at % 4 != 0 {
            continue;
        }
        let octets = encoded(&value, FORMS[usize::from(at / 4) % FORMS.len()]);
        seeds.push((format!("payload-{at}"), [&[0, at], &*octets].concat()));
        seeds.push((format!("json-{at}"), [&[2, at], to_json(&value).as_bytes()].concat()));
        let Ok(objects) = type_objects(ty.graph(), ty.index()) else { continue };
        let objects: Vec<_> =
            objects.records.iter().rev().filter_map(|it| to_octets(&it.complete.object).ok()).collect();
        let Ok(count @ 1..=8) = u8::try_from(objects.len()) else { continue };
        let mut sent = vec![1, count];
        for object in &objects {
            sent.extend(u16::try_from(object.len()).unwrap_or(u16::MAX).to_le_bytes());
            sent.extend(object);
        }
        // Types of a component have no objects that stand alone.
        let seed = [&*sent, &*octets].concat();
        if value_of(&seed).is_some() {
            seeds.push((format!("object-{at}"), seed));
        }
    }
    seeds
}
