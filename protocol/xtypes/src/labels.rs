//! Labels of unions: values of 64 bits here, of 32 bits in type objects (DDS-XTypes 1.3 Annex B `UnionCaseLabelSeq`).

use alloc::vec::Vec;

use crate::identifier::kind;
use crate::model::{Kind, Type, TypeGraph, TypeIndex, Union};

/// Whether values of the discriminator have no sign.
fn is_unsigned(graph: &TypeGraph, discriminator: &Type) -> bool {
    match graph.resolve(discriminator) {
        Type::Primitive(primitive) => matches!(*primitive, kind::UINT32 | kind::UINT64),
        Type::Named(index) => matches!(graph.get(*index).map(|it| &it.kind), Some(Kind::Bitmask(_))),
        _ => false,
    }
}

/// A label in a type object: the low 32 bits, if the discriminator's type says what the others are.
pub(crate) fn narrow(graph: &TypeGraph, discriminator: &Type, label: i64) -> Option<i32> {
    if is_unsigned(graph, discriminator) {
        return u32::try_from(label).ok().map(u32::cast_signed);
    }
    i32::try_from(label).ok()
}

/// Makes labels from type objects values of the discriminators.
pub(crate) fn widen(graph: &mut TypeGraph) {
    let unsigned = |(index, it): (TypeIndex, &crate::model::Definition)| match &it.kind {
        Kind::Union(union) if is_unsigned(graph, &union.discriminator.ty) => Some(index),
        _ => None,
    };
    let unions: Vec<TypeIndex> = graph.iter().filter_map(unsigned).collect();
    for index in unions {
        let Some(mut definition) = graph.get(index).cloned() else { continue };
        if let Kind::Union(Union { cases, .. }) = &mut definition.kind {
            for label in cases.iter_mut().flat_map(|case| &mut case.labels) {
                *label &= i64::from(u32::MAX);
            }
        }
        graph.set(index, definition);
    }
}
