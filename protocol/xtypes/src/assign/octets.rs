//! `octet` and `uint8`, which are taken for one type.
//!
//! The standard tells them apart (DDS-XTypes 1.3 §7.2.4.4.4 has no exception for them), but their octets are the same, many
//! languages have one type for both, and participants without type information match whichever of the two they mean.

use crate::identifier::kind;
use crate::model::{Kind, Type, TypeGraph};
use alloc::borrow::Cow;

const fn unify(primitive: u8) -> u8 {
    match primitive {
        kind::UINT8 => kind::BYTE,
        other => other,
    }
}

/// Whether two primitive types have the same values and octets.
pub(super) const fn same(one: u8, other: u8) -> bool {
    unify(one) == unify(other)
}

/// The types with `octet` for every `uint8`, so that their identifiers are equal if nothing else differs.
pub(super) fn unified(graph: &TypeGraph) -> Cow<'_, TypeGraph> {
    let mut unified = Cow::Borrowed(graph);
    for (index, definition) in graph.iter() {
        let mut changed = definition.clone();
        of_kind(&mut changed.kind);
        if changed != *definition {
            unified.to_mut().set(index, changed);
        }
    }
    unified
}

fn of_kind(kind: &mut Kind) {
    match kind {
        Kind::Structure(it) => it.members.iter_mut().for_each(|member| of_type(&mut member.ty)),
        Kind::Union(it) => {
            of_type(&mut it.discriminator.ty);
            it.cases.iter_mut().for_each(|case| of_type(&mut case.member.ty));
        }
        Kind::Alias(it) => of_type(&mut it.ty),
        Kind::Bitset(it) => it.fields.iter_mut().for_each(|field| field.holder = unify(field.holder)),
        Kind::Enumeration(_) | Kind::Bitmask(_) => {}
    }
}

fn of_type(ty: &mut Type) {
    match ty {
        Type::Primitive(primitive) => *primitive = unify(*primitive),
        Type::Sequence { element, .. } | Type::Array { element, .. } => of_type(&mut element.ty),
        Type::Map { key, value, .. } => {
            of_type(&mut key.ty);
            of_type(&mut value.ty);
        }
        Type::String { .. } | Type::Named(_) => {}
    }
}
