//! `uint8`, which is `u8` in Rust as `octet` is: an attribute tells them apart.

use crate::ir::{Element, Model, Type};

/// What a type holds where it is written out: octets of either name.
#[derive(Default)]
struct Found {
    octet: bool,
    uint8: bool,
}

fn find(model: &Model, ty: &Type, found: &mut Found) {
    match model.resolve(ty) {
        Type::Octet => found.octet = true,
        Type::Uint8 => found.uint8 = true,
        Type::Sequence { element, .. } | Type::Array { element, .. } => find(model, &element.ty, found),
        Type::Map { key, value, .. } => {
            find(model, &key.ty, found);
            find(model, &value.ty, found);
        }
        _ => {}
    }
}

/// Whether every `u8` in the Rust type is `uint8`.
pub(super) fn is_uint8(model: &Model, ty: &Type) -> bool {
    let mut found = Found::default();
    find(model, ty, &mut found);
    found.uint8 && !found.octet
}

/// The type without aliases: the derive does not see what is behind them.
pub(super) fn spelled_out(model: &Model, ty: &Type) -> Type {
    let inner =
        |element: &Element| Box::new(Element { ty: spelled_out(model, &element.ty), ..element.clone() });
    match model.resolve(ty) {
        Type::Sequence { element, bound } => Type::Sequence { element: inner(element), bound: *bound },
        Type::Array { element, dimensions } => {
            Type::Array { element: inner(element), dimensions: dimensions.clone() }
        }
        Type::Map { key, value, bound } => Type::Map { key: inner(key), value: inner(value), bound: *bound },
        other => other.clone(),
    }
}

/// Whether the type holds octets of both names where it is written out.
pub(super) fn is_mixed(model: &Model, ty: &Type) -> bool {
    let mut found = Found::default();
    find(model, ty, &mut found);
    found.uint8 && found.octet
}
