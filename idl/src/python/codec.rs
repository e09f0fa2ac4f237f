//! Type hints, codecs and values in Python.

use std::fmt::Write as _;

use super::{Generator, name};
use crate::backend::holder_bits;
use crate::ir::*;
use crate::rust::float128;

/// Text as a literal, from characters that may be anything.
fn literal(units: impl Iterator<Item = u32>) -> String {
    let mut text = String::from("\"");
    for unit in units {
        match u8::try_from(unit) {
            Ok(octet @ (b'"' | b'\\')) => text.extend(['\\', char::from(octet)]),
            Ok(octet @ b' '..=b'~') => text.push(char::from(octet)),
            _ if unit <= 0xffff => {
                let _ = write!(text, "\\u{unit:04x}");
            }
            _ => {
                let _ = write!(text, "\\U{unit:08x}");
            }
        }
    }
    text.push('"');
    text
}

impl Generator<'_> {
    /// A type hint.
    pub(super) fn hint(&self, ty: &Type) -> String {
        match ty {
            Type::Boolean => "bool".to_owned(),
            Type::Char | Type::WideChar | Type::String { .. } | Type::WideString { .. } => "str".to_owned(),
            Type::Float | Type::Double => "float".to_owned(),
            Type::Sequence { element, .. } => match self.model.resolve(&element.ty) {
                Type::Octet | Type::Uint8 => "bytes".to_owned(),
                _ => format!("list[{}]", self.hint(&element.ty)),
            },
            Type::Array { element, dimensions } => {
                let octets = matches!(self.model.resolve(&element.ty), Type::Octet | Type::Uint8);
                let inner =
                    if octets { "bytes".to_owned() } else { format!("list[{}]", self.hint(&element.ty)) };
                dimensions.iter().skip(1).fold(inner, |inner, _| format!("list[{inner}]"))
            }
            Type::Map { key, value, .. } => format!("dict[{}, {}]", self.hint(&key.ty), self.hint(&value.ty)),
            Type::Named(id) => match self.model.ty(*id).map(|ty| &ty.kind) {
                Some(Kind::Alias(alias)) => self.hint(&alias.ty),
                _ => self.class_name(*id).to_owned(),
            },
            _ => "int".to_owned(),
        }
    }

    /// How a type is serialized.
    pub(super) fn codec(&self, ty: &Type) -> String {
        let word = match ty {
            Type::Boolean => "BOOLEAN",
            Type::Octet | Type::Uint8 => "OCTET",
            Type::Char => "CHAR",
            Type::WideChar => "WCHAR",
            Type::Int8 => "INT8",
            Type::Int16 => "INT16",
            Type::Int32 => "INT32",
            Type::Int64 => "INT64",
            Type::Uint16 => "UINT16",
            Type::Uint32 => "UINT32",
            Type::Uint64 => "UINT64",
            Type::Float => "FLOAT",
            Type::Double => "DOUBLE",
            Type::LongDouble => "LONG_DOUBLE",
            Type::Named(id) => return self.named_codec(*id),
            other => return self.collection_codec(other),
        };
        format!("cdr.{word}")
    }

    fn collection_codec(&self, ty: &Type) -> String {
        let arguments = |inner: String, bound: &Option<u32>| match bound {
            Some(bound) if inner.is_empty() => bound.to_string(),
            Some(bound) => format!("{inner}, {bound}"),
            None => inner,
        };
        match ty {
            Type::String { bound } => format!("cdr.String({})", arguments(String::new(), bound)),
            Type::WideString { bound } => format!("cdr.WString({})", arguments(String::new(), bound)),
            Type::Sequence { element, bound } => {
                format!("cdr.Sequence({})", arguments(self.element_codec(element), bound))
            }
            Type::Array { element, dimensions } => {
                let outer = dimensions.len().saturating_sub(1);
                let level = |inner: String, (at, size): (usize, &u32)| {
                    let dimension = if at == outer { "" } else { ", True" };
                    format!("cdr.Array({inner}, {size}{dimension})")
                };
                dimensions.iter().rev().enumerate().fold(self.element_codec(element), level)
            }
            Type::Map { key, value, bound } => {
                let inner = format!("{}, {}", self.element_codec(key), self.element_codec(value));
                format!("cdr.Map({})", arguments(inner, bound))
            }
            _ => String::new(),
        }
    }

    fn named_codec(&self, id: TypeId) -> String {
        let own = self.class_name(id);
        match self.model.ty(id).map(|ty| &ty.kind) {
            Some(Kind::Enum(it)) => {
                let bits = holder_bits(it.bit_bound).min(32);
                format!("cdr.Enumeration({own}, {bits}, {})", self.literal_path(id, it.default))
            }
            Some(Kind::Bitmask(it)) => format!("cdr.Bits({own}, {})", holder_bits(it.bit_bound)),
            Some(Kind::Bitset(it)) => format!("cdr.Bits({own}, {})", holder_bits(it.width)),
            Some(Kind::Alias(alias)) => self.codec(&alias.ty),
            Some(Kind::Union(_)) => format!("cdr.Alternatives({own})"),
            _ => format!("cdr.Structure({own})"),
        }
    }

    fn element_codec(&self, element: &Element) -> String {
        let codec = self.codec(&element.ty);
        match element.try_construct {
            TryConstruct::Discard => codec,
            how => format!("cdr.Try({codec}, {})", truth(how == TryConstruct::Trim)),
        }
    }

    pub(super) fn member_codec(&self, member: &Member) -> String {
        let codec = self.codec(&member.ty);
        if member.try_construct == TryConstruct::Discard {
            return codec;
        }
        let initial = match &member.default {
            Some(value) => format!(", lambda: {}", self.value(value, &member.ty)),
            None => String::new(),
        };
        format!("cdr.Try({codec}, {}{initial})", truth(member.try_construct == TryConstruct::Trim))
    }

    pub(super) fn literal_path(&self, id: TypeId, index: usize) -> String {
        let Some(Kind::Enum(it)) = self.model.ty(id).map(|ty| &ty.kind) else { return String::new() };
        let literal = it.literals.get(index).map_or("", |literal| &literal.name);
        format!("{}.{}", self.class_name(id), name(literal))
    }

    /// A value as an expression.
    pub(super) fn value(&self, value: &Value, ty: &Type) -> String {
        match value {
            Value::Bool(it) => truth(*it).to_owned(),
            Value::Int(it) => it.to_string(),
            Value::Float(x) if matches!(self.model.resolve(ty), Type::LongDouble) => {
                format!("{:#x}", float128(*x))
            }
            Value::Float(x) => format!("{x:?}"),
            Value::Char(c) => literal(std::iter::once(u32::from(*c))),
            Value::WideChar(c) => literal(std::iter::once(u32::from(*c))),
            // Octets that are no text have been refused.
            Value::Str(octets) => literal(String::from_utf8_lossy(octets).chars().map(u32::from)),
            Value::WideStr(units) => {
                let chars = char::decode_utf16(units.iter().copied());
                literal(chars.map(|c| c.map_or_else(|unit| u32::from(unit.unpaired_surrogate()), u32::from)))
            }
            Value::Enum(id, index) => self.literal_path(*id, *index),
            Value::Bits(id, bits) => format!("{}({bits:#x})", self.class_name(*id)),
        }
    }
}

pub(super) fn truth(it: bool) -> &'static str {
    if it { "True" } else { "False" }
}
