//! Random values of types known at run time.
#![allow(dead_code)]

use std::cmp::Ordering;

use dunlin_cdr::{Float128, PrimitiveKind, WString};
use dunlin_dynamic::{MemberShape, Shape, TypeView, UnionValue, Value};

/// The same bits for the same seed.
pub fn bits(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// A value without what is no number: not everybody keeps its bits.
pub fn without_nan(value: Value) -> Value {
    match value {
        Value::Float32(x) if x.is_nan() => Value::Float32(1.5),
        Value::Float64(x) if x.is_nan() => Value::Float64(-2.5),
        Value::List(items) => Value::List(items.into_iter().map(without_nan).collect()),
        Value::Map(pairs) => {
            Value::Map(pairs.into_iter().map(|(k, v)| (without_nan(k), without_nan(v))).collect())
        }
        Value::Structure(members) => {
            Value::Structure(members.into_iter().map(|member| member.map(without_nan)).collect())
        }
        Value::Union(it) => Value::Union(Box::new(UnionValue {
            discriminator: it.discriminator,
            member: it.member.map(without_nan),
        })),
        other => other,
    }
}

/// A random value that both sides can have: pairs of maps ascend, because Rust's maps write them so.
pub fn value(view: TypeView<'_>, random_bits: &mut impl FnMut() -> u64, depth: u32) -> Value {
    let mut next = || random_bits();
    match view.shape() {
        Shape::Primitive(kind) => number(*kind, next()),
        Shape::Enumeration(it) => {
            let at = usize::try_from(next()).unwrap() % it.literals.len();
            Value::Enumeration(it.literals[at].1)
        }
        Shape::Bits(it) if it.fields.is_empty() => Value::Bits(next() & 1),
        Shape::Bits(it) => Value::Bits(next() & it.fields.iter().fold(0, |all, field| all | field.mask())),
        Shape::Text { wide, bound } => {
            let len = usize::try_from(next() % 5).unwrap().min(bound.unwrap_or(5));
            let text: String =
                (0..len).map(|_| char::from(b'a' + u8::try_from(next() % 26).unwrap())).collect();
            if *wide { Value::WString(WString::from(text.as_str())) } else { Value::String(text) }
        }
        Shape::Sequence { element, bound } => {
            let most = if depth == 0 { 0 } else { 3.min(bound.unwrap_or(3)) };
            let len = next() % (u64::try_from(most).unwrap() + 1);
            list(view.at(*element), usize::try_from(len).unwrap(), random_bits, depth)
        }
        Shape::Array { element, length, .. } => list(view.at(*element), *length, random_bits, depth),
        Shape::Map { key, value: to, bound, .. } => {
            let most = if depth == 0 { 0 } else { 4.min(bound.unwrap_or(4)) };
            let count = next() % (u64::try_from(most).unwrap() + 1);
            let pair = |_| {
                let key = value(view.at(*key), random_bits, depth.saturating_sub(1));
                (key, value(view.at(*to), random_bits, depth.saturating_sub(1)))
            };
            let mut pairs: Vec<(Value, Value)> = (0..count).map(pair).collect();
            pairs.sort_by(|(a, _), (b, _)| ascending(a, b));
            pairs.dedup_by(|(a, _), (b, _)| a == b);
            Value::Map(pairs)
        }
        Shape::Structure(it) => {
            let member = |member: &MemberShape| {
                let absent = member.is_optional() && (depth == 0 || random_bits().is_multiple_of(2));
                (!absent).then(|| value(view.at(member.part), random_bits, depth.saturating_sub(1)))
            };
            Value::Structure(it.members.iter().map(member).collect())
        }
        Shape::Union(it) => {
            let case = &it.cases[usize::try_from(next()).unwrap() % it.cases.len()];
            let member = Some(value(view.at(case.part), random_bits, depth.saturating_sub(1)));
            Value::Union(Box::new(UnionValue { discriminator: it.label_of(case).unwrap(), member }))
        }
        other => panic!("{other:?}"),
    }
}

/// The order of keys in Rust.
fn ascending(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::WString(a), Value::WString(b)) => a.cmp(b),
        _ => a.as_integer().unwrap().cmp(&b.as_integer().unwrap()),
    }
}

fn list(element: TypeView<'_>, len: usize, bits: &mut impl FnMut() -> u64, depth: u32) -> Value {
    if matches!(element.shape(), Shape::Primitive(PrimitiveKind::Octet)) {
        return Value::Octets((0..len).map(|_| bits().to_le_bytes()[0]).collect());
    }
    Value::List((0..len).map(|_| value(element, bits, depth.saturating_sub(1))).collect())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "random bits")]
fn number(kind: PrimitiveKind, bits: u64) -> Value {
    match kind {
        PrimitiveKind::Boolean => Value::Boolean(bits & 1 == 1),
        PrimitiveKind::Octet | PrimitiveKind::UInt8 => Value::Octet(bits as u8),
        PrimitiveKind::Int8 => Value::Int8(bits as i8),
        PrimitiveKind::Int16 => Value::Int16(bits as i16),
        PrimitiveKind::UInt16 => Value::UInt16(bits as u16),
        PrimitiveKind::Int32 => Value::Int32(bits as i32),
        PrimitiveKind::UInt32 => Value::UInt32(bits as u32),
        PrimitiveKind::Int64 => Value::Int64(bits as i64),
        PrimitiveKind::UInt64 => Value::UInt64(bits),
        PrimitiveKind::Float32 => Value::Float32(f32::from_bits(bits as u32)),
        PrimitiveKind::Float64 => Value::Float64(f64::from_bits(bits)),
        PrimitiveKind::Float128 => Value::Float128(Float128(u128::from(bits) << 17)),
        PrimitiveKind::Char8 => Value::Char8(dunlin_cdr::Char8(bits as u8)),
        PrimitiveKind::Char16 => Value::Char16(dunlin_cdr::Char16(bits as u16)),
    }
}
