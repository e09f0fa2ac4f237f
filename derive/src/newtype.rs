//! Structures with one unnamed field: bitmasks, bitsets and aliases (DDS-XTypes 1.3 §7.2.2.4.1.3, §7.2.2.4.5).

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DataStruct, Error, Fields, Result, Type};

use crate::attrs::{Bits, Kind};
use crate::container::Container;

pub(crate) fn expand(container: &Container<'_>, data: &DataStruct) -> Result<TokenStream> {
    let inner = match &data.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => &fields.unnamed[0].ty,
        fields => return Err(Error::new_spanned(fields, "this kind of type has exactly one unnamed field")),
    };
    let is_bitmask = container.kind() == Some(Kind::Bitmask);
    if is_bitmask {
        let width = check_holder(container, inner)?;
        check_bits(container, width)?;
    }
    let mut tokens = TokenStream::new();
    let is_bitset = container.attrs.kind.as_ref().is_some_and(|(_, word)| word == "bitset");
    // A bitset is no discriminator, and its fields may have any name.
    if is_bitmask && !is_bitset && container.wants_description() {
        let ident = container.ident();
        tokens.extend(quote! {
            impl #ident {
                /// The value as a label of a union.
                #[doc(hidden)]
                pub const fn dds_value(&self) -> i64 {
                    self.0 as i64
                }
            }
        });
    }
    if container.wants_write() {
        tokens.extend(write(container, inner, is_bitmask));
    }
    if container.wants_read() {
        tokens.extend(read(container, inner, is_bitmask));
    }
    if let Some(word) = &container.attrs.uint8 {
        crate::uint8::check(word, inner)?;
    }
    if container.wants_description() {
        tokens.extend(describe(container, inner));
    }
    Ok(tokens)
}

fn describe(container: &Container<'_>, inner: &Type) -> TokenStream {
    let krate = &container.krate;
    let bound = container.attrs.bit_bound.as_ref();
    let bound = bound.map_or_else(|| quote!(<#inner>::BITS as u8), |bound| quote!(#bound));
    let is_bitset = container.attrs.kind.as_ref().is_some_and(|(_, word)| word == "bitset");
    let bits = container.attrs.bits.iter().map(|bits| {
        let Bits { name, position, width, holder } = bits;
        let name = name.unraw().to_string();
        let holder = match holder {
            Some(kind) => quote!(#krate::PrimitiveKind::#kind),
            None => quote!(#krate::BitsDescription::holder_of(#width)),
        };
        quote!(#krate::BitsDescription { name: #krate::StaticOrArc::constant(#name), position: #position, width: #width, holder: #holder })
    });
    // Sets of bits that say nothing are final, other types are appendable.
    let extensibility = match container.attrs.extensibility {
        Some(_) => container.extensibility_tokens(),
        None => quote!(#krate::Extensibility::Final),
    };
    let bits = quote!(#krate::StaticOrArc::constant(const { &[#(#bits),*] }));
    container.described(&match container.kind() {
        Some(Kind::Bitmask) if is_bitset => {
            quote!(Bitset { extensibility: #extensibility, holder: <#inner>::BITS as u8, bits: #bits })
        }
        Some(Kind::Bitmask) => {
            quote!(Bitmask { extensibility: #extensibility, bit_bound: #bound, bits: #bits })
        }
        _ => {
            let described = container.attrs.described.as_ref().map(|(_, ty)| ty);
            let target = container.type_ref(inner, None, container.attrs.uint8.is_some(), described);
            quote!(Alias(#target))
        }
    })
}

/// Checks that a flag has one bit, that none is outside of the bit bound, and that no two share a bit or a name. What
/// holds them has `holder_bits`.
fn check_bits(container: &Container<'_>, holder_bits: u32) -> Result<()> {
    let bound = container.attrs.bit_bound.as_ref().and_then(|bound| bound.base10_parse::<u32>().ok());
    let bound = bound.unwrap_or(holder_bits);
    let is_bitset = container.attrs.kind.as_ref().is_some_and(|(_, word)| word == "bitset");
    let mut taken = 0u64;
    let mut names = BTreeSet::new();
    for Bits { name, position, width, holder } in &container.attrs.bits {
        if !is_bitset && (*width != 1 || holder.is_some()) {
            return Err(Error::new(name.span(), "a flag of a bitmask has one position"));
        }
        if u32::from(*position) + u32::from(*width) > bound {
            return Err(Error::new(name.span(), "the bits are outside of the type"));
        }
        let own = (u64::MAX >> (64 - u32::from(*width))) << *position;
        if taken & own != 0 {
            return Err(Error::new(name.span(), "another one has these bits"));
        }
        taken |= own;
        if !names.insert(name.unraw()) {
            return Err(Error::new(name.span(), "another one has this name"));
        }
    }
    Ok(())
}

/// Checks that the integer is the one that the bit bound asks for; returns how many bits it has.
fn check_holder(container: &Container<'_>, inner: &Type) -> Result<u32> {
    let width = match inner {
        Type::Path(path) if path.path.is_ident("u8") => 8,
        Type::Path(path) if path.path.is_ident("u16") => 16,
        Type::Path(path) if path.path.is_ident("u32") => 32,
        Type::Path(path) if path.path.is_ident("u64") => 64,
        _ => return Err(Error::new_spanned(inner, "a bitmask or bitset is held by u8, u16, u32 or u64")),
    };
    let Some(bound) = &container.attrs.bit_bound else { return Ok(width) };
    let needed = match bound.base10_parse::<u8>() {
        Ok(1..=8) => 8,
        Ok(9..=16) => 16,
        Ok(17..=32) => 32,
        Ok(33..=64) => 64,
        _ => return Err(Error::new(bound.span(), "the bit_bound of a bitmask is 1 to 64")),
    };
    if needed == width {
        return Ok(width);
    }
    Err(Error::new_spanned(inner, format!("a bit_bound of {bound} is held by u{needed}")))
}

fn kind(container: &Container<'_>, is_bitmask: bool, inner: &TokenStream) -> TokenStream {
    let krate = &container.krate;
    if is_bitmask { quote!(#krate::ElementKind::EnumLike) } else { quote!(<#inner>::KIND) }
}

fn write(container: &Container<'_>, inner: &Type, is_bitmask: bool) -> TokenStream {
    let krate = &container.krate;
    let target = quote!(#inner as #krate::CdrWrite);
    let kind = kind(container, is_bitmask, &target);
    let header = container.write_header(&quote!(CdrWrite));
    quote! {
        #header {
            const KIND: #krate::ElementKind = #kind;
            const LENGTH_CODE: #krate::LengthCode = <#target>::LENGTH_CODE;
            const FORM: #krate::Extensibility = <#target>::FORM;
            const KEY_SIZE: #krate::KeySize = <#target>::KEY_SIZE;

            #[inline]
            fn write(&self, e: &mut #krate::Encoder<'_>) -> ::core::result::Result<(), #krate::CdrError> {
                <#target>::write(&self.0, e)
            }
        }
    }
}

fn read(container: &Container<'_>, inner: &Type, is_bitmask: bool) -> TokenStream {
    let krate = &container.krate;
    let target = quote!(#inner as #krate::CdrRead<'de>);
    let kind = kind(container, is_bitmask, &target);
    let header = container.read_header(&quote!(CdrRead));
    let value = match &container.attrs.described {
        Some((_, described)) => quote!(<#described as #krate::idl::ReadAs<'de, #inner>>::read_as(d)?),
        None => quote!(<#target>::read(d)?),
    };
    quote! {
        #header {
            const KIND: #krate::ElementKind = #kind;
            const MIN_SIZE: usize = <#target>::MIN_SIZE;
            const FORM: #krate::Extensibility = <#target>::FORM;

            #[inline]
            fn read(d: &mut #krate::Decoder<'de>) -> ::core::result::Result<Self, #krate::CdrError> {
                ::core::result::Result::Ok(Self(#value))
            }

            #[inline]
            fn default_value() -> Self {
                Self(<#target>::default_value())
            }

            #[inline]
            fn skip(d: &mut #krate::Decoder<'de>) -> ::core::result::Result<(), #krate::CdrError> {
                <#target>::skip(d)
            }

            #[inline]
            fn skip_slice(
                d: &mut #krate::Decoder<'de>,
                n: usize,
            ) -> ::core::result::Result<(), #krate::CdrError> {
                <#target>::skip_slice(d, n)
            }
        }
    }
}
