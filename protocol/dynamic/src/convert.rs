//! Values that are to become values of a type: conversions without loss, ranges, bounds (DDS-XTypes 1.3 §7.5.2.11).

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use dunlin_cdr::{Char8, Char16, PrimitiveKind, WString};

use crate::MAX_NESTING;
use crate::types::*;
use crate::value::{UnionValue, Value, from_discriminator, integer_of, is_octet};

/// Why a value does not fit a type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// It is of another kind.
    Kind {
        /// What was wanted.
        wanted: String,
    },
    /// A number is beyond the range of its type.
    Range {
        /// The type.
        wanted: String,
        /// The number.
        number: String,
    },
    /// No literal has this name or value.
    Literal {
        /// The enumeration.
        enumeration: String,
        /// What was given.
        given: String,
    },
    /// A string, sequence or map is too long, or an array has another length.
    Length {
        /// The length that is allowed.
        bound: usize,
        /// The length that it has.
        len: usize,
    },
    /// A structure has another number of members, or lacks one that is not optional.
    Members {
        /// The structure.
        structure: String,
    },
    /// The member of a union is not the one that its discriminator selects.
    Discriminator {
        /// The union.
        union: String,
    },
    /// Values nest too deeply.
    Nesting,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { wanted } => write!(f, "expected {wanted}"),
            Self::Range { wanted, number } => write!(f, "{number} is out of the range of {wanted}"),
            Self::Literal { enumeration, given } => write!(f, "{enumeration} has no literal {given}"),
            Self::Length { bound, len } => write!(f, "length {len} where {bound} is allowed"),
            Self::Members { structure } => write!(f, "members missing or too many for {structure}"),
            Self::Discriminator { union } => {
                write!(f, "the discriminator of {union} does not select this member")
            }
            Self::Nesting => write!(f, "values nest more than {MAX_NESTING} levels"),
        }
    }
}

impl core::error::Error for ValueError {}

/// What a type is called in messages.
pub(crate) fn name_of(view: TypeView<'_>) -> String {
    if !view.name().is_empty() {
        return view.name().to_string();
    }
    match view.shape() {
        Shape::Primitive(kind) => kind.idl_name(),
        Shape::Text { wide: false, .. } => "a string",
        Shape::Text { wide: true, .. } => "a wide string",
        Shape::Sequence { .. } => "a sequence",
        Shape::Array { .. } => "an array",
        Shape::Map { .. } => "a map",
        _ => "a type without name",
    }
    .to_string()
}

/// Turns a value into one of a type, if it says the same.
pub(crate) fn convert(view: TypeView<'_>, value: Value, depth: u16) -> Result<Value, ValueError> {
    let inner = depth.checked_sub(1).ok_or(ValueError::Nesting)?;
    match view.shape() {
        Shape::Primitive(kind) => primitive(view, *kind, &value),
        Shape::Enumeration(it) => enumeration(view, it, &value),
        Shape::Bits(_) => number(view, &value),
        Shape::Text { wide, bound } => text(view, *wide, *bound, value),
        Shape::Sequence { element, bound } => {
            let list = list(view, view.at(*element), value, inner)?;
            check_bound(*bound, len_of(&list))?;
            Ok(list)
        }
        Shape::Array { element, length, .. } => {
            let list = list(view, view.at(*element), value, inner)?;
            let len = len_of(&list);
            if len == *length { Ok(list) } else { Err(ValueError::Length { bound: *length, len }) }
        }
        Shape::Map { key, value: to, bound } => {
            let Value::Map(pairs) = value else { return Err(kind_error(view)) };
            check_bound(*bound, pairs.len())?;
            let pair = |(k, v)| Ok((convert(view.at(*key), k, inner)?, convert(view.at(*to), v, inner)?));
            pairs.into_iter().map(pair).collect::<Result<_, _>>().map(Value::Map)
        }
        Shape::Structure(it) => structure(view, it, value, inner),
        Shape::Union(it) => union(view, it, value, inner),
    }
}

fn kind_error(view: TypeView<'_>) -> ValueError {
    ValueError::Kind { wanted: name_of(view) }
}

fn check_bound(bound: Option<usize>, len: usize) -> Result<(), ValueError> {
    match bound {
        Some(bound) if len > bound => Err(ValueError::Length { bound, len }),
        _ => Ok(()),
    }
}

pub(crate) fn len_of(value: &Value) -> usize {
    match value {
        Value::Octets(octets) => octets.len(),
        Value::List(items) => items.len(),
        Value::Map(pairs) => pairs.len(),
        _ => 0,
    }
}

fn number(view: TypeView<'_>, value: &Value) -> Result<Value, ValueError> {
    let number = value.as_integer().ok_or_else(|| kind_error(view))?;
    integer_of(view.shape(), number)
        .ok_or_else(|| ValueError::Range { wanted: name_of(view), number: number.to_string() })
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "checked to be exact, or of no account"
)]
fn primitive(view: TypeView<'_>, kind: PrimitiveKind, value: &Value) -> Result<Value, ValueError> {
    let range = |number: String| ValueError::Range { wanted: name_of(view), number };
    match (kind, value) {
        (PrimitiveKind::Float32, Value::Float32(value)) => Ok(Value::Float32(*value)),
        // The nearest: a program that has numbers of 64 bits means them so.
        (PrimitiveKind::Float32, Value::Float64(value)) => {
            let near = *value as f32;
            if near.is_infinite() && !value.is_infinite() {
                Err(range(value.to_string()))
            } else {
                Ok(near.into())
            }
        }
        (PrimitiveKind::Float64, Value::Float64(_) | Value::Float32(_)) => {
            value.as_f64().map(Value::Float64).ok_or_else(|| kind_error(view))
        }
        (PrimitiveKind::Float32 | PrimitiveKind::Float64, _) => {
            let number = value.as_integer().ok_or_else(|| kind_error(view))?;
            let single = kind == PrimitiveKind::Float32;
            let float = if single { f64::from(number as f32) } else { number as f64 };
            if float as i128 != number {
                return Err(range(number.to_string()));
            }
            Ok(if single { Value::Float32(float as f32) } else { Value::Float64(float) })
        }
        (PrimitiveKind::Float128, Value::Float128(value)) => Ok(Value::Float128(*value)),
        (PrimitiveKind::Char8 | PrimitiveKind::Char16, Value::String(text)) => {
            let mut characters = text.chars();
            let (Some(only), None) = (characters.next(), characters.next()) else {
                return Err(kind_error(view));
            };
            let code = u32::from(only);
            if kind == PrimitiveKind::Char8 {
                return u8::try_from(code)
                    .map(|code| Value::Char8(Char8(code)))
                    .map_err(|_| range(text.clone()));
            }
            u16::try_from(code).map(|code| Value::Char16(Char16(code))).map_err(|_| range(text.clone()))
        }
        _ => number(view, value),
    }
}

fn enumeration(view: TypeView<'_>, it: &EnumerationShape, value: &Value) -> Result<Value, ValueError> {
    let error = |given: String| ValueError::Literal { enumeration: name_of(view), given };
    if let Value::String(name) = value {
        return it.value_of(name).map(Value::Enumeration).ok_or_else(|| error(name.clone()));
    }
    let number = value.as_integer().ok_or_else(|| kind_error(view))?;
    integer_of(view.shape(), number).ok_or_else(|| error(number.to_string()))
}

fn text(view: TypeView<'_>, wide: bool, bound: Option<usize>, value: Value) -> Result<Value, ValueError> {
    match (wide, value) {
        (false, Value::String(text)) => {
            check_bound(bound, text.len())?;
            // It would end there for every reader.
            if text.contains('\0') { Err(kind_error(view)) } else { Ok(Value::String(text)) }
        }
        (true, Value::WString(text)) => {
            check_bound(bound, text.0.len())?;
            Ok(Value::WString(text))
        }
        (true, Value::String(text)) => {
            let text = WString::from(text.as_str());
            check_bound(bound, text.0.len())?;
            Ok(Value::WString(text))
        }
        _ => Err(kind_error(view)),
    }
}

fn list(view: TypeView<'_>, element: TypeView<'_>, value: Value, depth: u16) -> Result<Value, ValueError> {
    match (is_octet(element), value) {
        (true, Value::Octets(octets)) => Ok(Value::Octets(octets)),
        (true, Value::List(items)) => {
            let octet = |item: Value| match number(element, &item)? {
                Value::Octet(octet) => Ok(octet),
                _ => Err(kind_error(element)),
            };
            items.into_iter().map(octet).collect::<Result<_, _>>().map(Value::Octets)
        }
        (false, Value::List(items)) => {
            let items = items.into_iter().map(|item| convert(element, item, depth));
            items.collect::<Result<Vec<_>, _>>().map(Value::List)
        }
        (false, Value::Octets(octets)) => {
            let items = octets.into_iter().map(|octet| convert(element, Value::Octet(octet), depth));
            items.collect::<Result<Vec<_>, _>>().map(Value::List)
        }
        _ => Err(kind_error(view)),
    }
}

fn structure(view: TypeView<'_>, it: &StructureShape, value: Value, depth: u16) -> Result<Value, ValueError> {
    let Value::Structure(members) = value else { return Err(kind_error(view)) };
    let error = || ValueError::Members { structure: name_of(view) };
    if members.len() != it.members.len() {
        return Err(error());
    }
    let convert_one = |(member, value): (&MemberShape, Option<Value>)| match value {
        Some(value) => convert(view.at(member.part), value, depth).map(Some),
        None if member.is_optional() => Ok(None),
        None => Err(error()),
    };
    it.members.iter().zip(members).map(convert_one).collect::<Result<_, _>>().map(Value::Structure)
}

fn union(view: TypeView<'_>, it: &UnionShape, value: Value, depth: u16) -> Result<Value, ValueError> {
    let Value::Union(given) = value else { return Err(kind_error(view)) };
    let UnionValue { discriminator, member } = *given;
    let error = || ValueError::Discriminator { union: name_of(view) };
    from_discriminator(view.at(it.discriminator), discriminator).ok_or_else(error)?;
    let member = match (it.selected(discriminator), member) {
        (Some(case), Some(value)) => Some(convert(view.at(case.part), value, depth)?),
        (None, None) => None,
        _ => return Err(error()),
    };
    Ok(Value::Union(Box::new(UnionValue { discriminator, member })))
}
