//! Values as serde sees them.

use std::borrow::Cow;

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use dunlin_cdr::PrimitiveKind;
use dunlin_dynamic::{BitsShape, DynamicData, Part, Shape, TypeView, UnionValue, Value};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// What sequences and arrays of bytes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Octets {
    /// Lists of numbers.
    #[default]
    Numbers,
    /// Strings: RFC 4648 §4, with padding.
    Base64,
}

/// A value with its type, to be serialized.
#[derive(Clone, Copy, Debug)]
pub struct Json<'a> {
    view: TypeView<'a>,
    value: &'a Value,
    octets: Octets,
}

impl<'a> Json<'a> {
    /// A whole value.
    #[must_use]
    pub fn of(data: &'a DynamicData) -> Self {
        Self::part(data.dynamic_type().view(), data.value())
    }

    /// A part of a value.
    #[must_use]
    pub fn part(view: TypeView<'a>, value: &'a Value) -> Self {
        Self { view, value, octets: Octets::Numbers }
    }

    /// The same with bytes in another form.
    #[must_use]
    pub fn with_octets(self, octets: Octets) -> Self {
        Self { octets, ..self }
    }
}

/// A part of a value: its type and what it is.
pub type Selection<'a> = (TypeView<'a>, Cow<'a, Value>);

/// Parts of a value as one object, whose keys are their paths; `None` is a part that is absent. And the form of bytes.
#[derive(Clone, Debug)]
pub struct Selected<'a>(pub Vec<(&'a str, Option<Selection<'a>>)>, pub Octets);

impl Serialize for Selected<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for (path, part) in &self.0 {
            let part = part.as_ref().map(|(view, value)| Json::part(*view, value).with_octets(self.1));
            map.serialize_entry(path, &part)?;
        }
        map.end()
    }
}

/// What floats are that JSON has no number for.
fn not_finite(value: f64) -> &'static str {
    match (value.is_nan(), value > 0.0) {
        (true, _) => "NaN",
        (false, true) => "Infinity",
        (false, false) => "-Infinity",
    }
}

fn character<S: Serializer>(code: u16, s: S) -> Result<S::Ok, S::Error> {
    match char::from_u32(code.into()) {
        Some(character) => s.serialize_char(character),
        None => s.serialize_u16(code),
    }
}

fn flags<S: Serializer>(it: &BitsShape, bits: u64, s: S) -> Result<S::Ok, S::Error> {
    if it.is_bitset {
        let mut map = s.serialize_map(Some(it.fields.len()))?;
        for field in &it.fields {
            let value = field.get(bits);
            match i64::try_from(value) {
                Ok(value) => map.serialize_entry(&field.name, &value)?,
                Err(_) => map.serialize_entry(&field.name, &u64::try_from(value).unwrap_or_default())?,
            }
        }
        return map.end();
    }
    let set = it.fields.iter().filter(|field| bits & field.mask() != 0);
    let rest = it.fields.iter().fold(bits, |rest, field| rest & !field.mask());
    let mut seq = s.serialize_seq(None)?;
    for field in set {
        seq.serialize_element(&field.name)?;
    }
    if rest != 0 {
        seq.serialize_element(&rest)?;
    }
    seq.end()
}

/// A key of a map as the name of a member, if its type is one whose values have names.
pub(crate) fn key_text(view: TypeView<'_>, key: &Value) -> Option<String> {
    match (view.shape(), key) {
        (Shape::Text { .. }, Value::String(text)) => Some(text.clone()),
        (Shape::Text { .. }, Value::WString(text)) => Some(text.to_string_lossy()),
        (Shape::Enumeration(it), Value::Enumeration(value)) => {
            Some(it.name_of(*value).map_or_else(|| value.to_string(), ToOwned::to_owned))
        }
        (Shape::Primitive(kind), key) if is_integer(*kind) => {
            key.as_integer().map(|number| number.to_string())
        }
        _ => None,
    }
}

/// Whether keys of this type are names of members of an object.
pub(crate) fn is_name(view: TypeView<'_>) -> bool {
    match view.shape() {
        Shape::Text { .. } | Shape::Enumeration(_) => true,
        Shape::Primitive(kind) => is_integer(*kind),
        _ => false,
    }
}

fn is_integer(kind: PrimitiveKind) -> bool {
    use PrimitiveKind::{Int8, Int16, Int32, Int64, Octet, UInt16, UInt32, UInt64};
    matches!(kind, Octet | Int8 | Int16 | UInt16 | Int32 | UInt32 | Int64 | UInt64)
}

/// The entry `_d` of a union.
pub(crate) fn discriminator<M: SerializeMap>(
    map: &mut M,
    view: TypeView<'_>,
    number: i64,
) -> Result<(), M::Error> {
    match view.shape() {
        Shape::Enumeration(literals) => {
            match i32::try_from(number).ok().and_then(|value| literals.name_of(value)) {
                Some(name) => map.serialize_entry("_d", name),
                None => map.serialize_entry("_d", &number),
            }
        }
        Shape::Primitive(PrimitiveKind::Boolean) => map.serialize_entry("_d", &(number != 0)),
        Shape::Primitive(PrimitiveKind::UInt64) => map.serialize_entry("_d", &number.cast_unsigned()),
        _ => map.serialize_entry("_d", &number),
    }
}

/// Bytes in one of their forms.
pub(crate) fn octets_as<S: Serializer>(form: Octets, octets: &[u8], s: S) -> Result<S::Ok, S::Error> {
    match form {
        Octets::Numbers => s.collect_seq(octets),
        Octets::Base64 => s.collect_str(&Base64Display::new(octets, &STANDARD)),
    }
}

impl<'a> Json<'a> {
    fn inner(&self, part: Part, value: &'a Value) -> Self {
        Self { view: self.view.at(part), value, octets: self.octets }
    }

    fn union<S: Serializer>(&self, union: &'a UnionValue, s: S) -> Result<S::Ok, S::Error> {
        let Shape::Union(it) = self.view.shape() else { return s.serialize_none() };
        let mut map = s.serialize_map(None)?;
        discriminator(&mut map, self.view.at(it.discriminator), union.discriminator)?;
        if let (Some(case), Some(member)) = (it.selected(union.discriminator), &union.member) {
            map.serialize_entry(&case.name, &self.inner(case.part, member))?;
        }
        map.end()
    }

    fn map<S: Serializer>(&self, pairs: &'a [(Value, Value)], s: S) -> Result<S::Ok, S::Error> {
        let Shape::Map { key, value, .. } = self.view.shape() else { return s.serialize_none() };
        if is_name(self.view.at(*key)) {
            let mut map = s.serialize_map(Some(pairs.len()))?;
            for (k, v) in pairs {
                let name = key_text(self.view.at(*key), k).unwrap_or_default();
                map.serialize_entry(&name, &self.inner(*value, v))?;
            }
            return map.end();
        }
        let mut seq = s.serialize_seq(Some(pairs.len()))?;
        for (k, v) in pairs {
            seq.serialize_element(&[self.inner(*key, k), self.inner(*value, v)])?;
        }
        seq.end()
    }

    fn structure<S: Serializer>(&self, members: &'a [Option<Value>], s: S) -> Result<S::Ok, S::Error> {
        let Shape::Structure(it) = self.view.shape() else { return s.serialize_none() };
        let mut map = s.serialize_map(Some(members.len()))?;
        for (member, value) in it.members.iter().zip(members) {
            map.serialize_entry(&member.name, &value.as_ref().map(|value| self.inner(member.part, value)))?;
        }
        map.end()
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Boolean(value) => s.serialize_bool(*value),
            Value::Octet(value) => s.serialize_u8(*value),
            Value::Int8(value) => s.serialize_i8(*value),
            Value::Int16(value) => s.serialize_i16(*value),
            Value::UInt16(value) => s.serialize_u16(*value),
            Value::Int32(value) => s.serialize_i32(*value),
            Value::UInt32(value) => s.serialize_u32(*value),
            Value::Int64(value) => s.serialize_i64(*value),
            Value::UInt64(value) => s.serialize_u64(*value),
            Value::Float32(value) if value.is_finite() => s.serialize_f32(*value),
            Value::Float64(value) if value.is_finite() => s.serialize_f64(*value),
            Value::Float32(value) => s.serialize_str(not_finite(f64::from(*value))),
            Value::Float64(value) => s.serialize_str(not_finite(*value)),
            Value::Float128(value) => s.serialize_str(&format!("{:#034x}", value.0)),
            Value::Char8(value) => character(value.0.into(), s),
            Value::Char16(value) => character(value.0, s),
            Value::String(text) => s.serialize_str(text),
            Value::WString(text) => s.serialize_str(&text.to_string_lossy()),
            Value::Enumeration(value) => match self.view.shape() {
                Shape::Enumeration(it) if it.name_of(*value).is_some() => {
                    s.serialize_str(it.name_of(*value).unwrap_or_default())
                }
                _ => s.serialize_i32(*value),
            },
            Value::Bits(bits) => match self.view.shape() {
                Shape::Bits(it) => flags(it, *bits, s),
                _ => s.serialize_u64(*bits),
            },
            Value::Octets(octets) => octets_as(self.octets, octets, s),
            Value::List(items) => match self.view.shape() {
                Shape::Sequence { element, .. } | Shape::Array { element, .. } => {
                    s.collect_seq(items.iter().map(|item| self.inner(*element, item)))
                }
                _ => s.serialize_none(),
            },
            Value::Map(pairs) => self.map(pairs, s),
            Value::Structure(members) => self.structure(members, s),
            Value::Union(union) => self.union(union, s),
            _ => s.serialize_none(),
        }
    }
}

/// The parts of a value that have no members, with their paths: lists and maps as JSON. Of the part at `path` alone, unless
/// that is empty; what is absent is `null`.
#[must_use]
pub fn leaves(data: &DynamicData, path: &str) -> Vec<(String, String)> {
    leaves_as(data, path, Octets::Numbers)
}

/// As [`leaves`], with bytes in another form.
#[must_use]
pub fn leaves_as(data: &DynamicData, path: &str, octets: Octets) -> Vec<(String, String)> {
    let mut out = Vec::new();
    match data.part(path) {
        Ok(Some((view, value))) => collect(path, Json::part(view, &value).with_octets(octets), &mut out),
        _ => out.push((path.to_owned(), "null".into())),
    }
    out
}

fn collect(path: &str, json: Json<'_>, out: &mut Vec<(String, String)>) {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (json.view.shape(), json.value) {
        (Shape::Structure(it), Value::Structure(members)) => {
            for (member, value) in it.members.iter().zip(members) {
                match value {
                    Some(value) => collect(&inner(&member.name), json.inner(member.part, value), out),
                    None => out.push((inner(&member.name), "null".into())),
                }
            }
        }
        (_, Value::Octets(octets)) if json.octets == Octets::Base64 => {
            out.push((path.to_owned(), STANDARD.encode(octets)));
        }
        (_, Value::String(text)) => out.push((path.to_owned(), text.clone())),
        _ => out.push((path.to_owned(), serde_json::to_string(&json).unwrap_or_default())),
    }
}
