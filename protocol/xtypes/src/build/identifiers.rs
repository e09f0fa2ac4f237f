//! Type identifiers of types where they are used (DDS-XTypes 1.3 §7.3.4.2).

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::TypeIdentifier;
use crate::identifier::kind;
use crate::identifier::{
    PlainArrayLarge, PlainArraySmall, PlainCollectionHeader, PlainMapLarge, PlainMapSmall,
    PlainSequenceLarge, PlainSequenceSmall,
};
use crate::model::{Element, Type};

/// The identifier of a type; `None` if it is none, or a definition in it has none yet.
pub(crate) fn of(ty: &Type, ids: &[Option<TypeIdentifier>]) -> Option<TypeIdentifier> {
    Some(match ty {
        Type::Primitive(kind::NONE) => return None,
        Type::Primitive(kind) => TypeIdentifier::Primitive { kind: *kind },
        Type::String { wide, bound } => string(*wide, *bound),
        Type::Sequence { element, bound } => sequence(header(element, ids)?, *bound),
        Type::Array { element, dimensions } => array(header(element, ids)?, dimensions),
        Type::Map { key, value, bound } => map(header(value, ids)?, key.flags, of(&key.ty, ids)?, *bound),
        Type::Named(index) => ids.get(index.0).cloned().flatten()?,
    })
}

fn header(
    element: &Element,
    ids: &[Option<TypeIdentifier>],
) -> Option<(PlainCollectionHeader, TypeIdentifier)> {
    let id = of(&element.ty, ids)?;
    let header = PlainCollectionHeader { equiv_kind: id.equivalence().value(), element_flags: element.flags };
    Some((header, id))
}

fn string(wide: bool, bound: u32) -> TypeIdentifier {
    match u8::try_from(bound) {
        Ok(bound) => TypeIdentifier::StringSmall { kind: if wide { 0x72 } else { 0x70 }, bound },
        Err(_) => TypeIdentifier::StringLarge { kind: if wide { 0x73 } else { 0x71 }, bound },
    }
}

fn sequence((header, element): (PlainCollectionHeader, TypeIdentifier), bound: u32) -> TypeIdentifier {
    match u8::try_from(bound) {
        Ok(bound) => TypeIdentifier::SequenceSmall(Box::new(PlainSequenceSmall { header, bound, element })),
        Err(_) => TypeIdentifier::SequenceLarge(Box::new(PlainSequenceLarge { header, bound, element })),
    }
}

fn array((header, element): (PlainCollectionHeader, TypeIdentifier), dimensions: &[u32]) -> TypeIdentifier {
    let small: Result<Vec<u8>, _> = dimensions.iter().map(|size| u8::try_from(*size)).collect();
    match small {
        Ok(bounds) => TypeIdentifier::ArraySmall(Box::new(PlainArraySmall { header, bounds, element })),
        Err(_) => {
            let bounds = dimensions.to_vec();
            TypeIdentifier::ArrayLarge(Box::new(PlainArrayLarge { header, bounds, element }))
        }
    }
}

fn map(
    (mut header, element): (PlainCollectionHeader, TypeIdentifier),
    key_flags: u16,
    key: TypeIdentifier,
    bound: u32,
) -> TypeIdentifier {
    header.equiv_kind = element.equivalence().max(key.equivalence()).value();
    match u8::try_from(bound) {
        Ok(bound) => {
            TypeIdentifier::MapSmall(Box::new(PlainMapSmall { header, bound, element, key_flags, key }))
        }
        Err(_) => {
            TypeIdentifier::MapLarge(Box::new(PlainMapLarge { header, bound, element, key_flags, key }))
        }
    }
}
