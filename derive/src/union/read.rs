//! Deserialization of unions (DDS-XTypes 1.3 §7.4.3.5 rules 21-24).

use proc_macro2::TokenStream;
use quote::quote;
use syn::Result;

use super::{Case, Union, Value};
use crate::attrs::{Extensibility, TryConstruct};
use crate::structure::read::Reading;

impl Union<'_> {
    pub(crate) fn read(&self) -> Result<TokenStream> {
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

    /// Reads the discriminator into `selected`. One that does not fit may be the default union, where it is known how long
    /// the union is that was sent.
    fn read_discriminator_or_default(&self) -> TokenStream {
        let read = self.read_discriminator();
        let mutable = self.container.is_mutable();
        if self.try_construct() == TryConstruct::Discard
            || self.container.extensibility() == Extensibility::Final
        {
            return read;
        }
        let krate = &self.container.krate;
        let labels = self.labels();
        let scrutinee = labels.scrutinee(&quote!(selected));
        let patterns = self.cases.iter().map(|case| labels.pattern(case));
        let name = self.container.type_name();
        let unknown = self.default_case().is_none().then(|| quote! {
            if !::core::matches!(#scrutinee, #(#patterns)|*) {
                return ::core::result::Result::Err(#krate::CdrError::UnknownDiscriminator { type_name: #name });
            }
        });
        let discriminator = self.discriminator;
        quote! {
            let found = #krate::codegen::discriminator_or_default(
                d,
                #mutable,
                |d| -> ::core::result::Result<#discriminator, #krate::CdrError> {
                    #read
                    #unknown
                    ::core::result::Result::Ok(selected)
                },
            )?;
            let ::core::option::Option::Some(selected) = found else {
                return ::core::result::Result::Ok(<Self as #krate::CdrRead<'de>>::default_value());
            };
        }
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
        let (discriminator, key_only) = (self.read_discriminator_or_default(), self.key_only());
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
        let Some(value) = &case.value else {
            return match self.container.is_mutable() {
                true => quote! {
                    if d.scope() != #krate::Scope::KeyHash {
                        #krate::codegen::find_member(d, #id, true, |_| ::core::result::Result::Ok(()))?;
                    }
                },
                false => TokenStream::new(),
            };
        };
        let ty = value.ty;
        let read = self.container.read_value(Reading {
            ty,
            bound: value.bound.as_ref(),
            described: value.described.as_ref(),
            try_construct: value.try_construct,
            default: value.default.as_ref(),
        });
        // What a union holds is told from others by the discriminator alone.
        let read = quote!(#krate::codegen::read_beside_key::<#ty, _>(d, true, |d| #read));
        let default = self.default_of(value);
        let plain = quote!(if key_only { #default } else { #read? });
        match self.container.is_mutable() {
            true => quote! {
                let value = if d.scope() == #krate::Scope::KeyHash {
                    #plain
                } else {
                    #krate::codegen::find_member(d, #id, true, |d| #read)?.unwrap_or_else(|| #default)
                };
            },
            false => quote!(let value = #plain;),
        }
    }

    /// The value of a member that was not sent.
    fn default_of(&self, value: &Value<'_>) -> TokenStream {
        let (krate, ty) = (&self.container.krate, value.ty);
        match &value.default {
            Some(value) => quote!(#value),
            None => quote!(<#ty as #krate::CdrRead<'de>>::default_value()),
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
        // A union that the default takes the place of has the key of that.
        if self.try_construct() != TryConstruct::Discard {
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
        let default_case = |case: &Case<'_>, selected: TokenStream| {
            let value = case.value.as_ref().map(|value| self.default_of(value));
            Self::construct(case, &selected, &value.unwrap_or_default())
        };
        let arms = self.ordered_cases().map(|case| {
            let (pattern, value) = (labels.pattern(case), default_case(case, quote!(selected)));
            quote!(#pattern => #value,)
        });
        let fallback = match (self.default_case(), self.cases.first()) {
            (None, Some(first)) => {
                let value = default_case(first, labels.canonical(self, first)?);
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
