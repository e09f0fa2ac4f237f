//! What the bytes of values do not depend on, and types that differ in nothing else are therefore taken for one.
//!
//! `octet` and `uint8`: the standard tells them apart (DDS-XTypes 1.3 §7.2.4.4.4 has no exception for them), but their bytes are
//! the same, many languages have one type for both, and participants without type information match whichever of the two they mean.
//!
//! Flags that implementations do not agree about: Fast DDS 3 gives elements of collections no try-construct behaviour, enumerations
//! and bitmasks no extensibility, no literal of an enumeration is its default, and discriminators need not be understood. With
//! them in the way no list of final structures would be readable (`tests/interop/tests/fastdds3_types.rs`).

use alloc::borrow::Cow;

use crate::identifier::kind;
use crate::model::{Element, Kind, Type, TypeGraph, member_flag, type_flag};

const fn unify(primitive: u8) -> u8 {
    match primitive {
        kind::UINT8 => kind::BYTE,
        other => other,
    }
}

/// Whether two primitive types have the same values and bytes.
pub(super) const fn same(one: u8, other: u8) -> bool {
    unify(one) == unify(other)
}

/// What says how values that do not fit are taken.
const TRY_CONSTRUCT: u16 = member_flag::DISCARD | member_flag::USE_DEFAULT | member_flag::TRIM;
const EXTENSIBILITY: u16 = type_flag::FINAL | type_flag::APPENDABLE | type_flag::MUTABLE;

/// The types with `octet` for every `uint8` and without the flags, so that their identifiers are equal if nothing else differs.
pub(super) fn unified(graph: &TypeGraph) -> Cow<'_, TypeGraph> {
    let mut unified = Cow::Borrowed(graph);
    for (index, definition) in graph.iter() {
        let mut changed = definition.clone();
        of_kind(&mut changed.kind);
        if matches!(changed.kind, Kind::Enumeration(_) | Kind::Bitmask(_)) {
            changed.flags &= !EXTENSIBILITY;
        }
        if changed != *definition {
            unified.to_mut().set(index, changed);
        }
    }
    // Minimal objects, which alone are compared, do not know them.
    if unified.has_annotations() {
        unified.to_mut().forget_annotations();
    }
    unified
}

fn of_kind(kind: &mut Kind) {
    match kind {
        Kind::Structure(it) => it.members.iter_mut().for_each(|member| of_type(&mut member.ty)),
        Kind::Union(it) => {
            of_type(&mut it.discriminator.ty);
            it.discriminator.flags &= !member_flag::MUST_UNDERSTAND;
            for case in &mut it.cases {
                of_type(&mut case.member.ty);
                case.labels.sort_unstable();
            }
        }
        Kind::Alias(it) => of_type(&mut it.ty),
        Kind::Bitset(it) => it.fields.iter_mut().for_each(|field| field.holder = unify(field.holder)),
        Kind::Enumeration(it) => it.literals.iter_mut().for_each(|literal| literal.is_default = false),
        Kind::Bitmask(_) => {}
    }
}

fn of_type(ty: &mut Type) {
    match ty {
        Type::Primitive(primitive) => *primitive = unify(*primitive),
        Type::Sequence { element, .. } | Type::Array { element, .. } => of_element(element),
        Type::Map { key, value, .. } => {
            of_element(key);
            of_element(value);
        }
        Type::String { .. } | Type::Named(_) => {}
    }
}

fn of_element(element: &mut Element) {
    element.flags &= !TRY_CONSTRUCT;
    of_type(&mut element.ty);
}
