//! `uint8` and `octet` (DDS-XTypes 1.3 §7.2.2.2): two types with the same values, both `u8` in Rust.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, GenericArgument, Ident, PathArguments, Result, Type, parse_quote};

/// Refuses the attribute where there is no `u8`.
pub(crate) fn check(word: &Ident, ty: &Type) -> Result<()> {
    if !replace(&mut ty.clone(), &quote!(x)) {
        return Err(Error::new(word.span(), "`uint8` needs a `u8` in the type as it is written here"));
    }
    Ok(())
}

/// The type that is described for a member of this type.
pub(crate) fn described_type(ty: &Type, uint8: bool, krate: &TokenStream) -> Type {
    let mut ty = ty.clone();
    if uint8 {
        replace(&mut ty, krate);
    }
    ty
}

/// Puts `UInt8` for each `u8`; whether there was one.
fn replace(ty: &mut Type, krate: &TokenStream) -> bool {
    match ty {
        Type::Path(path) if path.qself.is_none() && path.path.is_ident("u8") => {
            *ty = parse_quote!(#krate::UInt8);
            true
        }
        Type::Path(path) => {
            let mut any = false;
            for segment in &mut path.path.segments {
                let PathArguments::AngleBracketed(arguments) = &mut segment.arguments else { continue };
                for argument in &mut arguments.args {
                    if let GenericArgument::Type(inner) = argument {
                        any |= replace(inner, krate);
                    }
                }
            }
            any
        }
        Type::Array(array) => replace(&mut array.elem, krate),
        Type::Paren(inner) => replace(&mut inner.elem, krate),
        Type::Group(inner) => replace(&mut inner.elem, krate),
        _ => false,
    }
}
