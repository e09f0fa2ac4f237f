//! Changes the identifiers that type objects mention (DDS-XTypes 1.3 §7.3.4.5).

use super::complete::*;
use super::minimal::*;
use crate::TypeIdentifier;

type Change<'a> = dyn FnMut(&mut TypeIdentifier) + 'a;

/// Calls `change` with the identifiers in a complete object.
pub(super) fn complete(object: &mut CompleteTypeObject, change: &mut Change<'_>) {
    match object {
        CompleteTypeObject::Alias(it) => change(&mut it.body.common.related_type),
        CompleteTypeObject::Annotation(it) => {
            it.member_seq.iter_mut().for_each(|member| change(&mut member.common.member_type_id));
        }
        CompleteTypeObject::Structure(it) => {
            change(&mut it.header.base_type);
            it.member_seq.iter_mut().for_each(|member| change(&mut member.common.member_type_id));
        }
        CompleteTypeObject::Union(it) => {
            change(&mut it.discriminator.common.type_id);
            it.member_seq.iter_mut().for_each(|member| change(&mut member.common.type_id));
        }
        CompleteTypeObject::Sequence(it) => change(&mut it.element.common.type_id),
        CompleteTypeObject::Array(it) => change(&mut it.element.common.type_id),
        CompleteTypeObject::Map(it) => {
            change(&mut it.key.common.type_id);
            change(&mut it.element.common.type_id);
        }
        CompleteTypeObject::Enumeration(_)
        | CompleteTypeObject::Bitmask(_)
        | CompleteTypeObject::Bitset(_)
        | CompleteTypeObject::Extended { .. } => {}
    }
}

/// Calls `change` with the identifiers in a minimal object.
pub(super) fn minimal(object: &mut MinimalTypeObject, change: &mut Change<'_>) {
    match object {
        MinimalTypeObject::Alias(it) => change(&mut it.body.common.related_type),
        MinimalTypeObject::Annotation(it) => {
            it.member_seq.iter_mut().for_each(|member| change(&mut member.common.member_type_id));
        }
        MinimalTypeObject::Structure(it) => {
            change(&mut it.header.base_type);
            it.member_seq.iter_mut().for_each(|member| change(&mut member.common.member_type_id));
        }
        MinimalTypeObject::Union(it) => {
            change(&mut it.discriminator.common.type_id);
            it.member_seq.iter_mut().for_each(|member| change(&mut member.common.type_id));
        }
        MinimalTypeObject::Sequence(it) => change(&mut it.element.common.type_id),
        MinimalTypeObject::Array(it) => change(&mut it.element.common.type_id),
        MinimalTypeObject::Map(it) => {
            change(&mut it.key.common.type_id);
            change(&mut it.element.common.type_id);
        }
        MinimalTypeObject::Enumeration(_)
        | MinimalTypeObject::Bitmask(_)
        | MinimalTypeObject::Bitset(_)
        | MinimalTypeObject::Extended { .. } => {}
    }
}
