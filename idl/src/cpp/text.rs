//! Names, types and values in C++.

use std::fmt::Write as _;

use super::Generator;
use crate::backend::holder_bits;
use crate::ir::*;
use crate::rust::float128;

/// Words that cannot be names, and macros that every program may have.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char8_t",
    "char16_t",
    "char32_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "std",
    "dunlin",
    "NULL",
    "EOF",
    "errno",
    "linux",
    "unix",
    "assert",
];

/// A name that C++ accepts.
pub(super) fn name(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("_cxx_{name}") } else { name.to_owned() }
}

/// The namespace of a full name: `A::B` of `A::B::C`.
pub(super) fn namespace(full_name: &str) -> String {
    match full_name.rsplit_once("::") {
        Some((scope, _)) => scope.split("::").map(name).collect::<Vec<_>>().join("::"),
        None => String::new(),
    }
}

/// The full name of a type, from the global namespace.
pub(super) fn path(full_name: &str) -> String {
    let parts: Vec<String> = full_name.split("::").map(name).collect();
    format!("::{}", parts.join("::"))
}

/// A macro that is defined where the type or constant is: several headers may have it.
pub(super) fn guard(full_name: &str) -> String {
    let parts = full_name.split("::").map(|part| format!("{}{part}", part.len()));
    format!("DUNLIN_IDL_{}", parts.collect::<String>())
}

/// Octets as a string literal.
pub(super) fn literal(octets: &[u8]) -> String {
    let mut text = String::from("\"");
    for octet in octets {
        match octet {
            b'"' | b'\\' => text.extend(['\\', char::from(*octet)]),
            b' '..=b'~' if *octet != b'?' => text.push(char::from(*octet)),
            _ => {
                let _ = write!(text, "\\{octet:03o}");
            }
        }
    }
    text.push('"');
    text
}

/// UTF-16 units as a string literal; what is not ASCII ends its part of the literal, so that no digit joins it.
pub(super) fn wide_literal(units: &[u16]) -> String {
    let mut text = String::from("u\"");
    for unit in units {
        match u8::try_from(*unit) {
            Ok(octet @ (b'"' | b'\\')) => text.extend(['\\', char::from(octet)]),
            Ok(octet @ b' '..=b'~') => text.push(char::from(octet)),
            _ => {
                let _ = write!(text, "\\x{unit:04x}\" u\"");
            }
        }
    }
    text.push('"');
    text
}

impl Generator<'_> {
    /// A type with names from the global namespace.
    pub(super) fn type_text(&self, ty: &Type) -> String {
        let element = |element: &Element| self.stored(&element.ty, element.external);
        match ty {
            Type::Boolean => "bool".to_owned(),
            Type::Octet | Type::Uint8 => "std::uint8_t".to_owned(),
            Type::Char => "char".to_owned(),
            Type::WideChar => "char16_t".to_owned(),
            Type::Int8 => "std::int8_t".to_owned(),
            Type::Int16 => "std::int16_t".to_owned(),
            Type::Int32 => "std::int32_t".to_owned(),
            Type::Int64 => "std::int64_t".to_owned(),
            Type::Uint16 => "std::uint16_t".to_owned(),
            Type::Uint32 => "std::uint32_t".to_owned(),
            Type::Uint64 => "std::uint64_t".to_owned(),
            Type::Float => "float".to_owned(),
            Type::Double => "double".to_owned(),
            Type::LongDouble => "::dunlin::cdr::Float128".to_owned(),
            Type::String { .. } => "std::string".to_owned(),
            Type::WideString { .. } => "std::u16string".to_owned(),
            Type::Sequence { element: inside, .. } => format!("std::vector<{}>", element(inside)),
            Type::Array { element: inside, dimensions } => dimensions
                .iter()
                .rev()
                .fold(element(inside), |inner, size| format!("std::array<{inner}, {size}>")),
            Type::Map { key, value, .. } => format!("std::map<{}, {}>", element(key), element(value)),
            Type::Named(id) => self.model.ty(*id).map_or_else(String::new, |ty| path(&ty.full_name)),
        }
    }

    /// A type that may be behind a pointer.
    pub(super) fn stored(&self, ty: &Type, boxed: bool) -> String {
        let text = self.type_text(ty);
        if boxed { format!("::dunlin::cdr::Box<{text}>") } else { text }
    }

    /// How a type is serialized, in the namespace `dunlin::cdr`.
    pub(super) fn codec(&self, ty: &Type) -> String {
        let bound = |bound: &Option<u32>| bound.unwrap_or(0);
        match ty {
            Type::String { bound: b } => format!("String<{}>", bound(b)),
            Type::WideString { bound: b } => format!("WString<{}>", bound(b)),
            Type::Sequence { element, bound: b } => {
                format!("Sequence<{}, {}>", self.element_codec(element), bound(b))
            }
            Type::Array { element, dimensions } => {
                let outer = dimensions.len().saturating_sub(1);
                let level = |inner: String, (at, size): (usize, &u32)| {
                    let dimension = if at == outer { "" } else { ", true" };
                    format!("Array<{inner}, {size}{dimension}>")
                };
                dimensions.iter().rev().enumerate().fold(self.element_codec(element), level)
            }
            Type::Map { key, value, bound: b } => {
                format!("Map<{}, {}, {}>", self.element_codec(key), self.element_codec(value), bound(b))
            }
            Type::Named(id) => self.named_codec(*id),
            primitive => format!("Number<{}>", self.type_text(primitive)),
        }
    }

    fn named_codec(&self, id: TypeId) -> String {
        let Some(ty) = self.model.ty(id) else { return String::new() };
        let path = path(&ty.full_name);
        match &ty.kind {
            Kind::Struct(_) | Kind::Exception(_) => format!("Structure<{path}>"),
            Kind::Union(_) => format!("Union<{path}>"),
            Kind::Enum(_) => format!("Enumeration<{path}>"),
            Kind::Bitmask(_) => format!("Bitmask<{path}>"),
            Kind::Bitset(_) => format!("Bitset<{path}>"),
            Kind::Alias(alias) => self.codec(&alias.ty),
        }
    }

    fn element_codec(&self, element: &Element) -> String {
        wrapped(self.codec(&element.ty), element.external, element.try_construct)
    }

    pub(super) fn member_codec(&self, member: &Member, boxed: bool) -> String {
        wrapped(self.codec(&member.ty), boxed, member.try_construct)
    }

    /// A value as an expression.
    pub(super) fn value(&self, value: &Value, ty: &Type) -> String {
        let resolved = self.model.resolve(ty);
        match value {
            Value::Bool(it) => it.to_string(),
            Value::Int(it) if *it == i128::from(i64::MIN) => "(-9223372036854775807LL - 1)".to_owned(),
            Value::Int(it) if matches!(resolved, Type::Uint64) => format!("{it}ULL"),
            Value::Int(it) if matches!(resolved, Type::Int64) => format!("{it}LL"),
            Value::Int(it) if matches!(resolved, Type::Uint32) => format!("{it}U"),
            Value::Int(it) if *it == i128::from(i32::MIN) => "(-2147483647 - 1)".to_owned(),
            Value::Int(it) => it.to_string(),
            Value::Float(x) if matches!(resolved, Type::LongDouble) => {
                let bits = float128(*x);
                let (high, low) = (bits >> 64, bits & u128::from(u64::MAX));
                format!("::dunlin::cdr::Float128{{{high:#x}ULL, {low:#x}ULL}}")
            }
            Value::Float(x) if matches!(resolved, Type::Float) => format!("static_cast<float>({x:?})"),
            Value::Float(x) => format!("{x:?}"),
            Value::Char(c) => format!("static_cast<char>({c})"),
            Value::WideChar(c) => format!("static_cast<char16_t>({c})"),
            Value::Str(octets) => literal(octets),
            Value::WideStr(units) => wide_literal(units),
            Value::Enum(id, index) => self.literal_path(*id, *index),
            Value::Bits(id, bits) => {
                format!("static_cast<{}>({bits:#x}ULL)", self.type_text(&Type::Named(*id)))
            }
        }
    }

    pub(super) fn literal_path(&self, id: TypeId, index: usize) -> String {
        let Some(TypeDef { kind: Kind::Enum(it), full_name, .. }) = self.model.ty(id) else {
            return String::new();
        };
        let literal = it.literals.get(index).map_or("", |literal| &literal.name);
        format!("{}::{}", path(full_name), name(literal))
    }

    /// What a new value of a type is, where C++ does not see to it itself.
    pub(super) fn zero(&self, ty: &Type) -> Option<String> {
        match self.model.resolve(ty) {
            Type::Boolean => Some("false".to_owned()),
            Type::Char => Some("'\\0'".to_owned()),
            Type::WideChar => Some("u'\\0'".to_owned()),
            Type::Float | Type::Double => Some("0".to_owned()),
            Type::LongDouble | Type::String { .. } | Type::WideString { .. } => None,
            Type::Sequence { .. } | Type::Map { .. } => None,
            Type::Array { .. } => match self.innermost(ty) {
                Some(value) => Some(format!("::dunlin::cdr::filled<{}>({value})", self.type_text(ty))),
                None => Some("{}".to_owned()),
            },
            Type::Named(id) => match self.model.ty(*id).map(|ty| &ty.kind) {
                Some(Kind::Enum(it)) => Some(self.literal_path(*id, it.default)),
                Some(Kind::Bitmask(_)) => Some("0".to_owned()),
                _ => None,
            },
            _ => Some("0".to_owned()),
        }
    }

    /// The default literal of the enumeration of which an array consists in the end.
    fn innermost(&self, ty: &Type) -> Option<String> {
        match self.model.resolve(ty) {
            Type::Array { element, .. } => self.innermost(&element.ty),
            Type::Named(id) => match self.model.ty(*id).map(|ty| &ty.kind) {
                Some(Kind::Enum(it)) => Some(self.literal_path(*id, it.default)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The unsigned integer of so many bits.
    pub(super) fn unsigned(bits: u16) -> String {
        format!("std::uint{}_t", holder_bits(bits))
    }
}

fn wrapped(codec: String, boxed: bool, how: TryConstruct) -> String {
    let codec = if boxed { format!("Boxed<{codec}>") } else { codec };
    match how {
        TryConstruct::Discard => codec,
        TryConstruct::UseDefault => format!("Try<{codec}, TryConstruct::UseDefault>"),
        TryConstruct::Trim => format!("Try<{codec}, TryConstruct::Trim>"),
    }
}
