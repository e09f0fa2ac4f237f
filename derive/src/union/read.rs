//! Deserialization of unions (DDS-XTypes 1.3 §7.4.3.5 rules 21-24).

use super::{Case, Union, Value};
use crate::attrs::Extensibility;
use proc_macro2::TokenStream;
use quote::quote;
use syn::Result;

impl Union<'_> {
    pub fn read(&self) -> Result<TokenStream> {
        let (krate, discriminator) = (&self.container.krate, self.discriminator);
        let form = self.container.extensibility_tokens();
        let disc_size = quote!(<#discriminator as #krate::CdrRead<'de>>::MIN_SIZE);
        let min_size = match self.container.extensibility() {
            Extensibility::Final => disc_size,
            Extensibility::Appendable => quote!(#krate::codegen::min(4, #disc_size)),
            Extensibility::Mutable => quote!(4),
        };
        let (read, skip, default) = (self.read_body(), self.skip_body(), self.default_value()?);
        let copy_key = self.copy_key();
        let header = self.container.read_header(&quote!(CdrRead));
        let result = quote!(::core::result::Result);
        Ok(quote! {
            #header {
                const MIN_SIZE: usize = #min_size;
                const FORM: #krate::Extensibility = #form;

                fn read(d: &mut #krate::Decoder<'de>) -> #result<Self, #krate::CdrError> {
                    d.read_struct(#form, |d| { #read })
                }

                fn default_value() -> Self {
                    #default
                }

                fn skip(d: &mut #krate::Decoder<'de>) -> #result<(), #krate::CdrError> {
                    d.skip_struct(#form, |d| { #skip #result::Ok(()) })
                }

                #copy_key
            }
        })
    }

    /// Reads the discriminator into `selected`.
    fn read_discriminator(&self) -> TokenStream {
        let (krate, discriminator) = (&self.container.krate, self.discriminator);
        let read = quote!(<#discriminator as #krate::CdrRead<'de>>::read);
        if !self.container.is_mutable() {
            return quote!(let selected = #read(d)?;);
        }
        quote! {
            let selected = if d.scope() == #krate::Scope::KeyHash {
                #read(d)?
            } else {
                let start = #krate::codegen::mark(d);
                let found = #krate::codegen::find_member(d, 0, false, #read)?;
                #krate::codegen::reset(d, start);
                found.ok_or(#krate::CdrError::MissingMember { id: 0 })?
            };
        }
    }

    /// Whether the discriminator is all there is: it is the key, and only the key is present.
    fn key_only(&self) -> TokenStream {
        let krate = &self.container.krate;
        match self.container.attrs.key {
            Some(_) => quote!(d.scope() != #krate::Scope::Sample),
            None => quote!(false),
        }
    }

    fn read_body(&self) -> TokenStream {
        let labels = self.labels();
        let (discriminator, key_only) = (self.read_discriminator(), self.key_only());
        let (krate, has_key) = (&self.container.krate, self.container.attrs.key.is_some());
        let scrutinee = labels.scrutinee(&quote!(selected));
        let arms = self.ordered_cases().map(|case| {
            let (pattern, read) = (labels.pattern(case), self.read_value(case));
            let construct = Self::construct(case, &quote!(selected), &quote!(value));
            quote!(#pattern => { #read #construct })
        });
        let unknown = self.unknown();
        quote! {
            #krate::codegen::enter_keys(d, #has_key);
            #discriminator
            let key_only = #key_only;
            ::core::result::Result::Ok(match #scrutinee { #(#arms)* #unknown })
        }
    }

    /// The cases with the default last, as the arms of a match have to be.
    fn ordered_cases(&self) -> impl Iterator<Item = &Case<'_>> {
        let labelled = self.cases.iter().filter(|case| !case.is_default);
        labelled.chain(self.cases.iter().filter(|case| case.is_default))
    }

    /// The arm for discriminators that select nothing.
    fn unknown(&self) -> TokenStream {
        let (krate, name) = (&self.container.krate, self.container.type_name());
        if self.default_case().is_some() {
            return TokenStream::new();
        }
        quote!(_ => return ::core::result::Result::Err(#krate::CdrError::UnknownDiscriminator { type_name: #name }),)
    }

    /// Reads the selected member into `value`, if there is one.
    fn read_value(&self, case: &Case<'_>) -> TokenStream {
        let (krate, id) = (&self.container.krate, case.id);
        let Some(Value { ty, bound, .. }) = &case.value else {
            return match self.container.is_mutable() {
                true => quote! {
                    if d.scope() != #krate::Scope::KeyHash {
                        #krate::codegen::find_member(d, #id, true, |_| ::core::result::Result::Ok(()))?;
                    }
                },
                false => TokenStream::new(),
            };
        };
        let read = match bound {
            Some(bound) => quote!(#krate::codegen::read_bounded::<#ty>(d, #bound)),
            None => quote!(<#ty as #krate::CdrRead<'de>>::read(d)),
        };
        // What a union holds is told from others by the discriminator alone.
        let read = quote!(#krate::codegen::read_beside_key::<#ty, _>(d, true, |d| #read));
        let default = quote!(<#ty as #krate::CdrRead<'de>>::default_value);
        let plain = quote!(if key_only { #default() } else { #read? });
        match self.container.is_mutable() {
            true => quote! {
                let value = if d.scope() == #krate::Scope::KeyHash {
                    #plain
                } else {
                    #krate::codegen::find_member(d, #id, true, |d| #read)?.unwrap_or_else(#default)
                };
            },
            false => quote!(let value = #plain;),
        }
    }

    /// A value of the variant.
    fn construct(case: &Case<'_>, selected: &TokenStream, value: &TokenStream) -> TokenStream {
        let ident = case.ident;
        let kept = case.kept.iter().map(|member| quote!(#member: #selected,));
        let values = case.value.iter().map(|inner| {
            let member = &inner.member;
            quote!(#member: #value,)
        });
        quote!(Self::#ident { #(#kept)* #(#values)* })
    }

    /// Skips the union where nothing delimits it.
    fn skip_body(&self) -> TokenStream {
        let (krate, discriminator, labels) = (&self.container.krate, self.discriminator, self.labels());
        if self.container.is_mutable() {
            return quote!(#krate::codegen::skip_list(d)?;);
        }
        let key_only = self.key_only();
        let scrutinee = labels.scrutinee(&quote!(selected));
        let arms = self.ordered_cases().map(|case| {
            let pattern = labels.pattern(case);
            match &case.value {
                Some(Value { ty, .. }) => quote!(#pattern => <#ty as #krate::CdrRead<'de>>::skip(d)?,),
                None => quote!(#pattern => {}),
            }
        });
        let unknown = self.unknown();
        quote! {
            let selected = <#discriminator as #krate::CdrRead<'de>>::read(d)?;
            if !(#key_only) {
                match #scrutinee { #(#arms)* #unknown }
            }
        }
    }

    /// Takes the key out of a sample without reading the selected member.
    fn copy_key(&self) -> TokenStream {
        let krate = &self.container.krate;
        if self.container.attrs.key.is_none() || !self.container.wants_write() {
            return TokenStream::new();
        }
        let (form, discriminator) = (self.container.extensibility_tokens(), self.read_discriminator());
        quote! {
            fn copy_key(
                d: &mut #krate::Decoder<'de>,
                e: &mut #krate::Encoder<'_>,
            ) -> ::core::result::Result<(), #krate::CdrError> {
                d.read_struct(#form, |d| {
                    #discriminator
                    #krate::CdrWrite::write(&selected, e)
                })
            }
        }
    }

    /// What the default value of the discriminator selects; if that is nothing, the first case.
    fn default_value(&self) -> Result<TokenStream> {
        let (krate, discriminator, labels) = (&self.container.krate, self.discriminator, self.labels());
        let default_of = |case: &Case<'_>, selected: TokenStream| {
            let value = case.value.as_ref().map(|value| {
                let ty = value.ty;
                quote!(<#ty as #krate::CdrRead<'de>>::default_value())
            });
            Self::construct(case, &selected, &value.unwrap_or_default())
        };
        let arms = self.ordered_cases().map(|case| {
            let (pattern, value) = (labels.pattern(case), default_of(case, quote!(selected)));
            quote!(#pattern => #value,)
        });
        let fallback = match (self.default_case(), self.cases.first()) {
            (None, Some(first)) => {
                let value = default_of(first, labels.canonical(self, first)?);
                quote!(_ => #value,)
            }
            _ => TokenStream::new(),
        };
        let scrutinee = labels.scrutinee(&quote!(selected));
        Ok(quote! {
            let selected: #discriminator = <#discriminator as #krate::CdrRead<'de>>::default_value();
            match #scrutinee { #(#arms)* #fallback }
        })
    }
}
