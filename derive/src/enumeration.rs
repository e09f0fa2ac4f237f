//! Enumerations (DDS-XTypes 1.3 §7.2.2.4.1.2, §7.3.1.2.1.5 bit_bound, §7.3.1.2.1.10 default_literal).

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{DataEnum, Error, Ident, Result};

use crate::attrs::MemberAttrs;
use crate::container::Container;

struct Enumeration<'a> {
    container: &'a Container<'a>,
    literals: Vec<&'a Ident>,
    /// Their names in IDL.
    names: Vec<String>,
    default: &'a Ident,
    bits: u8,
}

pub(crate) fn expand(container: &Container<'_>, data: &DataEnum) -> Result<TokenStream> {
    let enumeration = parse(container, data)?;
    let mut tokens = enumeration.range_check();
    if container.wants_write() {
        tokens.extend(enumeration.write());
    }
    if container.wants_read() {
        tokens.extend(enumeration.read());
    }
    if container.wants_description() {
        tokens.extend(enumeration.describe());
    }
    Ok(tokens)
}

fn parse<'a>(container: &'a Container<'a>, data: &'a DataEnum) -> Result<Enumeration<'a>> {
    let bits = match &container.attrs.bit_bound {
        None => 32,
        Some(bound) => match bound.base10_parse::<u8>() {
            Ok(bits @ 1..=32) => bits,
            _ => return Err(Error::new(bound.span(), "the bit_bound of an enumeration is 1 to 32")),
        },
    };
    let mut default = None;
    let mut names: Vec<String> = Vec::new();
    for variant in &data.variants {
        let attrs = MemberAttrs::parse(&variant.attrs)?;
        attrs.allow("the literal of an enumeration", &["default", "name"])?;
        let name = attrs.name.as_ref().map_or_else(|| variant.ident.unraw().to_string(), syn::LitStr::value);
        if names.contains(&name) {
            return Err(Error::new(variant.ident.span(), "another literal has the same name"));
        }
        names.push(name);
        if let Some((word, value)) = attrs.default {
            if value.is_some() || default.is_some() {
                return Err(Error::new(
                    word.span(),
                    "one literal of an enumeration is the default, without value",
                ));
            }
            default = Some(&variant.ident);
        }
    }
    let literals: Vec<&Ident> = data.variants.iter().map(|variant| &variant.ident).collect();
    let first = literals.first().copied();
    let Some(default) = default.or(first) else {
        return Err(Error::new_spanned(container.ident(), "an enumeration needs at least one literal"));
    };
    Ok(Enumeration { container, literals, names, default, bits })
}

impl Enumeration<'_> {
    /// The integer that carries the value.
    fn holder(&self) -> TokenStream {
        match self.bits {
            1..=8 => quote!(i8),
            9..=16 => quote!(i16),
            _ => quote!(i32),
        }
    }

    /// Fails to compile if a literal does not fit the bit bound.
    fn range_check(&self) -> TokenStream {
        let (ident, literals, bits) = (self.container.ident(), &self.literals, u32::from(self.bits));
        let message = format!("a literal of {ident} does not fit its bit_bound of {bits}");
        quote! {
            const _: () = {
                #(::core::assert!(
                    (#ident::#literals as i64) >> (#bits - 1) == 0 || (#ident::#literals as i64) >> (#bits - 1) == -1,
                    #message
                );)*
            };
        }
    }

    fn describe(&self) -> TokenStream {
        let (krate, ident, bits) = (&self.container.krate, self.container.ident(), self.bits);
        let literals = self.literals.iter().zip(&self.names).map(|(literal, name)| {
            let is_default = *literal == self.default;
            quote! {
                #krate::LiteralDescription {
                    name: #krate::StaticOrArc::constant(#name),
                    value: #ident::#literal as i32,
                    is_default: #is_default,
                }
            }
        });
        let extensibility = self.container.extensibility_tokens();
        let described = self.container.described(&quote! {
            Enumeration(#krate::EnumerationDescription {
                extensibility: #extensibility,
                bit_bound: #bits,
                literals: #krate::StaticOrArc::constant(const { &[#(#literals),*] }),
            })
        });
        let all = &self.literals;
        quote! {
            impl #ident {
                /// The value as a label of a union.
                #[doc(hidden)]
                pub const fn dds_value(&self) -> i64 {
                    match self {
                        #(Self::#all => Self::#all as i64,)*
                    }
                }
            }
            #described
        }
    }

    fn write(&self) -> TokenStream {
        let (krate, holder, literals) = (&self.container.krate, self.holder(), &self.literals);
        let header = self.container.write_header(&quote!(CdrWrite));
        quote! {
            #header {
                const KIND: #krate::ElementKind = #krate::ElementKind::EnumLike;
                const LENGTH_CODE: #krate::LengthCode = <#holder as #krate::CdrWrite>::LENGTH_CODE;
                const KEY_SIZE: #krate::KeySize = <#holder as #krate::CdrWrite>::KEY_SIZE;

                #[inline]
                fn write(&self, e: &mut #krate::Encoder<'_>) -> ::core::result::Result<(), #krate::CdrError> {
                    let value = match self {
                        #(Self::#literals => Self::#literals as #holder,)*
                    };
                    #krate::CdrWrite::write(&value, e)
                }
            }
        }
    }

    fn read(&self) -> TokenStream {
        let (krate, holder, default) = (&self.container.krate, self.holder(), self.default);
        let (ident, literals) = (self.container.ident(), &self.literals);
        let values: Vec<Ident> = (0..literals.len()).map(|i| format_ident!("VALUE_{i}")).collect();
        let name = self.container.type_name();
        let header = self.container.read_header(&quote!(CdrRead));
        quote! {
            #header {
                const KIND: #krate::ElementKind = #krate::ElementKind::EnumLike;
                const MIN_SIZE: usize = <#holder as #krate::CdrRead<'de>>::MIN_SIZE;

                #[inline]
                fn read(d: &mut #krate::Decoder<'de>) -> ::core::result::Result<Self, #krate::CdrError> {
                    #(const #values: #holder = #ident::#literals as #holder;)*
                    match <#holder as #krate::CdrRead<'de>>::read(d)? {
                        #(#values => ::core::result::Result::Ok(Self::#literals),)*
                        value => ::core::result::Result::Err(#krate::CdrError::UnknownEnumValue {
                            type_name: #name,
                            value: ::core::convert::From::from(value),
                        }),
                    }
                }

                #[inline]
                fn default_value() -> Self {
                    Self::#default
                }

                #[inline]
                fn skip(d: &mut #krate::Decoder<'de>) -> ::core::result::Result<(), #krate::CdrError> {
                    <#holder as #krate::CdrRead<'de>>::skip(d)
                }

                #[inline]
                fn skip_slice(
                    d: &mut #krate::Decoder<'de>,
                    n: usize,
                ) -> ::core::result::Result<(), #krate::CdrError> {
                    <#holder as #krate::CdrRead<'de>>::skip_slice(d, n)
                }
            }
        }
    }
}
