//! Encoding of values (DDS-XTypes 1.3 §7.4.3.5). The rules are those of derived code.

use dunlin_cdr::{CdrError, CdrWrite, ElementKind, Encoder, Extensibility, PrimitiveKind, Scope};
use dunlin_xtypes::model::member_flag;

use crate::read::in_scope;
use crate::types::*;
use crate::value::{UnionValue, Value, from_discriminator};

/// Writes a value of a type, in the scope of the encoder. A value that does not fit the type is
/// [`CdrError::ForeignType`].
pub(crate) fn write(view: TypeView<'_>, value: &Value, e: &mut Encoder<'_>) -> Result<(), CdrError> {
    match (view.shape(), value) {
        (Shape::Primitive(kind), value) => primitive(*kind, value, e),
        (Shape::Enumeration(it), Value::Enumeration(value)) => {
            let wide = i64::from(*value).cast_unsigned();
            integer(it.holder, wide, e);
            Ok(())
        }
        (Shape::Bits(it), Value::Bits(value)) => {
            integer(it.holder, *value, e);
            Ok(())
        }
        (Shape::Text { bound, .. }, Value::String(text)) => {
            check(*bound, text.len())?;
            e.write_str(text)
        }
        (Shape::Text { bound, .. }, Value::WString(text)) => {
            check(*bound, text.0.len())?;
            text.write(e)
        }
        (Shape::Sequence { element, bound }, _) => {
            let element = view.at(*element);
            let len = crate::convert::len_of(value);
            check(*bound, len)?;
            e.write_delimited_if(element.element_kind() != ElementKind::Primitive, |e| {
                e.write_len(len)?;
                elements(element, value, e)
            })
        }
        (Shape::Array { element, length, dimension }, _) => {
            if crate::convert::len_of(value) != *length {
                return Err(CdrError::ForeignType);
            }
            let element = view.at(*element);
            let delimited = !dimension && element.item_kind() != ElementKind::Primitive;
            e.write_delimited_if(delimited, |e| elements(element, value, e))
        }
        (Shape::Map { key, value: to, bound }, Value::Map(pairs)) => {
            check(*bound, pairs.len())?;
            let (key, to) = (view.at(*key), view.at(*to));
            let kind = TypeView::pair_kind(key.element_kind(), to.element_kind());
            e.write_delimited_if(kind != ElementKind::Primitive, |e| {
                e.write_len(pairs.len())?;
                pairs.iter().try_for_each(|(k, v)| {
                    write(key, k, e)?;
                    write(to, v, e)
                })
            })
        }
        (Shape::Structure(it), Value::Structure(members)) => {
            e.write_struct(it.extensibility, |e| structure(view, it, members, e))
        }
        (Shape::Union(it), Value::Union(value)) => {
            e.write_struct(it.extensibility, |e| union(view, it, value, e))
        }
        _ => Err(CdrError::ForeignType),
    }
}

fn check(bound: Option<usize>, len: usize) -> Result<(), CdrError> {
    match bound {
        Some(bound) if len > bound => Err(CdrError::BoundExceeded { bound, len }),
        _ => Ok(()),
    }
}

fn elements(element: TypeView<'_>, list: &Value, e: &mut Encoder<'_>) -> Result<(), CdrError> {
    match list {
        Value::Octets(octets) if crate::value::is_octet(element) => {
            e.write_bytes(octets);
            Ok(())
        }
        Value::List(items) => items.iter().try_for_each(|item| write(element, item, e)),
        _ => Err(CdrError::ForeignType),
    }
}

fn structure(
    view: TypeView<'_>,
    it: &StructureShape,
    members: &[Option<Value>],
    e: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    if members.len() != it.members.len() {
        return Err(CdrError::ForeignType);
    }
    let mutable = it.extensibility == Extensibility::Mutable;
    for at in 0..members.len() {
        let at = if e.scope() == Scope::KeyHash { it.by_id.get(at).copied().unwrap_or(at) } else { at };
        let (Some(member), Some(value)) = (it.members.get(at), members.get(at)) else { continue };
        if !in_scope(it, member, e.scope()) {
            continue;
        }
        let ty = view.at(member.part);
        let (id, must_understand) = (member.id, member.must_understand());
        match value {
            // In a key every type is final, so presence needs its flag.
            _ if member.is_optional() && (!mutable || e.scope() == Scope::KeyHash) => {
                let value = value.as_ref().map(|value| |e: &mut Encoder<'_>| write(ty, value, e));
                e.write_optional_as(id, must_understand, value)?;
            }
            Some(value) if mutable => {
                e.write_member_as(id, must_understand, ty.length_code(), |e| write(ty, value, e))?;
            }
            Some(value) => write(ty, value, e)?,
            None if member.is_optional() => {}
            None => return Err(CdrError::ForeignType),
        }
    }
    Ok(())
}

fn union(
    view: TypeView<'_>,
    it: &UnionShape,
    value: &UnionValue,
    e: &mut Encoder<'_>,
) -> Result<(), CdrError> {
    let mutable = it.extensibility == Extensibility::Mutable;
    let ty = view.at(it.discriminator);
    let discriminator = from_discriminator(ty, value.discriminator).ok_or(CdrError::ForeignType)?;
    if mutable {
        e.write_member_as(0, false, ty.length_code(), |e| write(ty, &discriminator, e))?;
    } else {
        write(ty, &discriminator, e)?;
    }
    if it.has_key && e.scope() != Scope::Sample {
        return Ok(());
    }
    match (it.selected(value.discriminator), &value.member) {
        (None, None) => Ok(()),
        (Some(case), Some(member)) => {
            let ty = view.at(case.part);
            if mutable {
                let must_understand = case.part.flags & member_flag::MUST_UNDERSTAND != 0;
                return e
                    .write_member_as(case.id, must_understand, ty.length_code(), |e| write(ty, member, e));
            }
            write(ty, member, e)
        }
        _ => Err(CdrError::ForeignType),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the low bits are what is written")]
fn integer(holder: PrimitiveKind, value: u64, e: &mut Encoder<'_>) {
    match holder.size() {
        1 => e.write_u8(value as u8),
        2 => e.write_u16(value as u16),
        4 => e.write_u32(value as u32),
        _ => e.write_u64(value),
    }
}

fn primitive(kind: PrimitiveKind, value: &Value, e: &mut Encoder<'_>) -> Result<(), CdrError> {
    match (kind, value) {
        (PrimitiveKind::Boolean, Value::Boolean(value)) => value.write(e),
        (PrimitiveKind::Octet | PrimitiveKind::UInt8, Value::Octet(value)) => value.write(e),
        (PrimitiveKind::Int8, Value::Int8(value)) => value.write(e),
        (PrimitiveKind::Int16, Value::Int16(value)) => value.write(e),
        (PrimitiveKind::UInt16, Value::UInt16(value)) => value.write(e),
        (PrimitiveKind::Int32, Value::Int32(value)) => value.write(e),
        (PrimitiveKind::UInt32, Value::UInt32(value)) => value.write(e),
        (PrimitiveKind::Int64, Value::Int64(value)) => value.write(e),
        (PrimitiveKind::UInt64, Value::UInt64(value)) => value.write(e),
        (PrimitiveKind::Float32, Value::Float32(value)) => value.write(e),
        (PrimitiveKind::Float64, Value::Float64(value)) => value.write(e),
        (PrimitiveKind::Float128, Value::Float128(value)) => value.write(e),
        (PrimitiveKind::Char8, Value::Char8(value)) => value.write(e),
        (PrimitiveKind::Char16, Value::Char16(value)) => value.write(e),
        _ => Err(CdrError::ForeignType),
    }
}
