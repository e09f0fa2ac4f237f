//! Values without their types (DDS-XTypes 1.3 §7.5.2 `DynamicData`).

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use dunlin_cdr::{Char8, Char16, Float128, PrimitiveKind, WString};

use crate::types::*;

/// A value of any type. What fits a type has the variant of that type: see [`TypeView::default_value`].
#[allow(missing_docs, reason = "each is what it says")]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    Boolean(bool),
    /// `octet` and `uint8`
    Octet(u8),
    Int8(i8),
    Int16(i16),
    UInt16(u16),
    Int32(i32),
    UInt32(u32),
    Int64(i64),
    UInt64(u64),
    Float32(f32),
    Float64(f64),
    Float128(Float128),
    Char8(Char8),
    Char16(Char16),
    String(String),
    WString(WString),
    /// The value of a literal.
    Enumeration(i32),
    /// A bitmask or bitset: the integer on the wire.
    Bits(u64),
    /// A sequence or array of bytes.
    Octets(Vec<u8>),
    /// A sequence, or one dimension of an array, of anything else.
    List(Vec<Value>),
    /// The pairs of a map in the order of the wire. Of equal keys the last counts.
    Map(Vec<(Value, Value)>),
    /// The members of a structure, those of bases first; `None` is an optional member that is absent.
    Structure(Vec<Option<Value>>),
    Union(Box<UnionValue>),
}

/// A union.
#[derive(Clone, Debug, PartialEq)]
pub struct UnionValue {
    /// The discriminator, whatever its type, as a number.
    pub discriminator: i64,
    /// The member that it selects, if it selects any.
    pub member: Option<Value>,
}

macro_rules! from {
    ($($ty:ty => $variant:ident,)*) => {$(
        impl From<$ty> for Value {
            fn from(value: $ty) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}

from! {
    bool => Boolean, u8 => Octet, i8 => Int8, i16 => Int16, u16 => UInt16, i32 => Int32, u32 => UInt32, i64 => Int64,
    u64 => UInt64, f32 => Float32, f64 => Float64, Float128 => Float128, Char8 => Char8, Char16 => Char16,
    String => String, WString => WString, Vec<u8> => Octets, Vec<Value> => List,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl Value {
    /// The number that an integer, boolean, octet, character, enumeration or set of bits is.
    #[must_use]
    pub fn as_integer(&self) -> Option<i128> {
        Some(match self {
            Self::Boolean(value) => i128::from(*value),
            Self::Octet(value) => i128::from(*value),
            Self::Int8(value) => i128::from(*value),
            Self::Int16(value) => i128::from(*value),
            Self::UInt16(value) => i128::from(*value),
            Self::Int32(value) | Self::Enumeration(value) => i128::from(*value),
            Self::UInt32(value) => i128::from(*value),
            Self::Int64(value) => i128::from(*value),
            Self::UInt64(value) | Self::Bits(value) => i128::from(*value),
            Self::Char8(value) => i128::from(value.0),
            Self::Char16(value) => i128::from(value.0),
            _ => return None,
        })
    }

    /// The number that a float or an integer is, rounded to 64 bits.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "rounding is what it says")]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Float32(value) => Some(f64::from(*value)),
            Self::Float64(value) => Some(*value),
            other => other.as_integer().map(|value| value as f64),
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

/// The value 0 of a primitive type.
const fn zero(kind: PrimitiveKind) -> Value {
    match kind {
        PrimitiveKind::Boolean => Value::Boolean(false),
        PrimitiveKind::Octet | PrimitiveKind::UInt8 => Value::Octet(0),
        PrimitiveKind::Int8 => Value::Int8(0),
        PrimitiveKind::Int16 => Value::Int16(0),
        PrimitiveKind::UInt16 => Value::UInt16(0),
        PrimitiveKind::Int32 => Value::Int32(0),
        PrimitiveKind::UInt32 => Value::UInt32(0),
        PrimitiveKind::Int64 => Value::Int64(0),
        PrimitiveKind::UInt64 => Value::UInt64(0),
        PrimitiveKind::Float32 => Value::Float32(0.0),
        PrimitiveKind::Float64 => Value::Float64(0.0),
        PrimitiveKind::Float128 => Value::Float128(Float128(0)),
        PrimitiveKind::Char8 => Value::Char8(Char8(0)),
        PrimitiveKind::Char16 => Value::Char16(Char16(0)),
    }
}

/// Whether lists of this element are kept as bytes.
pub(crate) const fn is_octet(element: TypeView<'_>) -> bool {
    matches!(element.node.shape, Shape::Primitive(PrimitiveKind::Octet | PrimitiveKind::UInt8))
}

/// The default value of a type; types whose default is endless or too large do not exist.
pub(crate) fn default_of(view: TypeView<'_>) -> Value {
    match view.shape() {
        Shape::Primitive(kind) => zero(*kind),
        Shape::Text { wide: false, .. } => Value::String(String::new()),
        Shape::Text { wide: true, .. } => Value::WString(WString::default()),
        Shape::Enumeration(it) => Value::Enumeration(it.default),
        Shape::Bits(_) => Value::Bits(0),
        Shape::Sequence { element, .. } if is_octet(view.at(*element)) => Value::Octets(Vec::new()),
        Shape::Sequence { .. } => Value::List(Vec::new()),
        Shape::Array { element, length, .. } => {
            let element = view.at(*element);
            if is_octet(element) {
                return Value::Octets(alloc::vec![0; *length]);
            }
            Value::List((0..*length).map(|_| default_of(element)).collect())
        }
        Shape::Map { .. } => Value::Map(Vec::new()),
        Shape::Structure(it) => {
            let default = |member: &MemberShape| (!member.is_optional()).then(|| member.default_value(view));
            Value::Structure(it.members.iter().map(default).collect())
        }
        Shape::Union(it) => {
            let discriminator = default_discriminator(view.at(it.discriminator));
            Value::Union(Box::new(union_of(view, it, discriminator)))
        }
    }
}

/// The default that a member has, or that of its type.
pub(crate) fn own_or_default(view: TypeView<'_>, own: Option<&Value>) -> Value {
    own.cloned().unwrap_or_else(|| default_of(view))
}

/// Parts of a value, as [`Node::parts`] counts them: bytes of memory by the size of a part.
pub(crate) fn parts_of(value: &Value) -> usize {
    let octets = |len: usize| len.checked_div(size_of::<Value>()).unwrap_or(len);
    let inner = match value {
        Value::String(text) => octets(text.len()),
        Value::WString(text) => octets(text.0.len().saturating_mul(2)),
        Value::Octets(items) => octets(items.len()),
        Value::List(items) => items.iter().fold(0, |all: usize, item| all.saturating_add(parts_of(item))),
        Value::Map(pairs) => pairs.iter().fold(0, |all: usize, (key, value)| {
            all.saturating_add(parts_of(key)).saturating_add(parts_of(value))
        }),
        Value::Structure(members) => {
            members.iter().flatten().fold(0, |all: usize, item| all.saturating_add(parts_of(item)))
        }
        Value::Union(it) => it.member.as_ref().map_or(0, parts_of),
        _ => 0,
    };
    inner.saturating_add(1)
}

/// A union with a discriminator and the default of what that selects.
pub(crate) fn union_of(view: TypeView<'_>, it: &UnionShape, discriminator: i64) -> UnionValue {
    let member = it.selected(discriminator).map(|case| case.default_value(view));
    UnionValue { discriminator, member }
}

/// The discriminator that a missing union has.
pub(crate) fn default_discriminator(discriminator: TypeView<'_>) -> i64 {
    match discriminator.shape() {
        Shape::Enumeration(it) => i64::from(it.default),
        _ => 0,
    }
}

/// A number as the value of a primitive, enumeration or set of bits; `None` if it does not fit.
pub(crate) fn integer_of(shape: &Shape, number: i128) -> Option<Value> {
    Some(match shape {
        Shape::Enumeration(it) => {
            let value = i32::try_from(number).ok()?;
            it.name_of(value)?;
            Value::Enumeration(value)
        }
        Shape::Bits(it) => {
            let value = u64::try_from(number).ok()?;
            // Bits above the bit bound are kept where there is room for them, as Rust types do: writers send them.
            let over = u32::try_from(it.holder.size().saturating_mul(8))
                .ok()
                .and_then(|width| value.checked_shr(width))
                .unwrap_or(0);
            if over != 0 {
                return None;
            }
            Value::Bits(value)
        }
        Shape::Primitive(kind) => match kind {
            PrimitiveKind::Boolean => Value::Boolean(match number {
                0 => false,
                1 => true,
                _ => return None,
            }),
            PrimitiveKind::Octet | PrimitiveKind::UInt8 => Value::Octet(u8::try_from(number).ok()?),
            PrimitiveKind::Int8 => Value::Int8(i8::try_from(number).ok()?),
            PrimitiveKind::Int16 => Value::Int16(i16::try_from(number).ok()?),
            PrimitiveKind::UInt16 => Value::UInt16(u16::try_from(number).ok()?),
            PrimitiveKind::Int32 => Value::Int32(i32::try_from(number).ok()?),
            PrimitiveKind::UInt32 => Value::UInt32(u32::try_from(number).ok()?),
            PrimitiveKind::Int64 => Value::Int64(i64::try_from(number).ok()?),
            PrimitiveKind::UInt64 => Value::UInt64(u64::try_from(number).ok()?),
            PrimitiveKind::Char8 => Value::Char8(Char8(u8::try_from(number).ok()?)),
            PrimitiveKind::Char16 => Value::Char16(Char16(u16::try_from(number).ok()?)),
            PrimitiveKind::Float32 | PrimitiveKind::Float64 | PrimitiveKind::Float128 => return None,
        },
        _ => return None,
    })
}

/// A discriminator as a number, and back. Numbers above 63 bits have their bits.
pub(crate) fn to_discriminator(value: &Value) -> Option<i64> {
    match value {
        Value::UInt64(value) => Some(value.cast_signed()),
        other => i64::try_from(other.as_integer()?).ok(),
    }
}

pub(crate) fn from_discriminator(discriminator: TypeView<'_>, value: i64) -> Option<Value> {
    if matches!(discriminator.shape(), Shape::Primitive(PrimitiveKind::UInt64)) {
        return Some(Value::UInt64(value.cast_unsigned()));
    }
    integer_of(discriminator.shape(), i128::from(value))
}
