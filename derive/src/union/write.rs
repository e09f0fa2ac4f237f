//! Serialization of unions (DDS-XTypes 1.3 §7.4.3.5 rules 21-24).

use proc_macro2::TokenStream;
use quote::quote;
use syn::Result;

use super::{Case, Union, Value};
use crate::attrs::Extensibility;

impl Union<'_> {
    pub(crate) fn write(&self) -> Result<TokenStream> {
        let krate = &self.container.krate;
        let form = self.container.extensibility_tokens();
        let length_code = match self.container.extensibility() {
            Extensibility::Final => quote!(NextInt),
            _ => quote!(Octets),
        };
        let (key_size, discriminator) = (self.key_size(), self.discriminator);
        let selections =
            self.cases.iter().map(|case| self.write_selection(case)).collect::<Result<Vec<_>>>()?;
        let write_discriminator = match self.container.is_mutable() {
            true => quote!(e.write_member(0, false, &selected)?;),
            false => quote!(<#discriminator as #krate::CdrWrite>::write(&selected, e)?;),
        };
        let key_only = self.container.attrs.key.as_ref().map(|_| {
            quote! {
                if e.scope() != #krate::Scope::Sample {
                    return ::core::result::Result::Ok(());
                }
            }
        });
        let values = self.cases.iter().map(|case| self.write_value(case));
        let header = self.container.write_header(&quote!(CdrWrite));
        Ok(quote! {
            #header {
                const LENGTH_CODE: #krate::LengthCode = #krate::LengthCode::#length_code;
                const FORM: #krate::Extensibility = #form;
                const KEY_SIZE: #krate::KeySize = #key_size;

                fn write(&self, e: &mut #krate::Encoder<'_>) -> ::core::result::Result<(), #krate::CdrError> {
                    e.write_struct(#form, |e| {
                        let selected: #discriminator = match self { #(#selections)* };
                        #write_discriminator
                        #key_only
                        match self { #(#values)* }
                        ::core::result::Result::Ok(())
                    })
                }
            }
        })
    }

    /// An arm that computes the discriminator of a variant.
    fn write_selection(&self, case: &Case<'_>) -> Result<TokenStream> {
        let (krate, ident, labels) = (&self.container.krate, case.ident, self.labels());
        let Some(kept) = &case.kept else {
            let canonical = labels.canonical(self, case)?;
            return Ok(quote!(Self::#ident { .. } => #canonical,));
        };
        let name = self.container.type_name();
        let scrutinee = labels.scrutinee(&quote!(kept));
        let deref = if scrutinee.to_string() == "kept" { quote!(*kept) } else { scrutinee };
        let error = quote!(#krate::CdrError::InvalidDiscriminator { type_name: #name });
        let invalid = quote!(return ::core::result::Result::Err(#error));
        // The discriminator has to select this very case.
        let check = if case.is_default {
            let others =
                self.cases.iter().filter(|other| !other.is_default).map(|other| labels.pattern(other));
            quote!(#(#others => #invalid,)* _ => ::core::clone::Clone::clone(kept),)
        } else {
            let own = labels.pattern(case);
            quote!(#own => ::core::clone::Clone::clone(kept), _ => #invalid,)
        };
        Ok(quote!(Self::#ident { #kept: kept, .. } => match #deref { #check },))
    }

    /// An arm that writes the selected member.
    fn write_value(&self, case: &Case<'_>) -> TokenStream {
        let (krate, ident, id) = (&self.container.krate, case.ident, case.id);
        let Some(Value { member, ty, bound, must_understand, .. }) = &case.value else {
            return quote!(Self::#ident { .. } => {});
        };
        let check = bound.as_ref().map(|bound| quote!(#krate::Bounded::check_bound(value, #bound)?;));
        let write = match self.container.is_mutable() {
            true => quote!(e.write_member(#id, #must_understand, value)?;),
            false => quote!(<#ty as #krate::CdrWrite>::write(value, e)?;),
        };
        quote!(Self::#ident { #member: value, .. } => { #check #write })
    }

    /// The greatest size as a key: the discriminator alone if it is the key, else with the largest member.
    fn key_size(&self) -> TokenStream {
        let (krate, discriminator) = (&self.container.krate, self.discriminator);
        let first = quote!(<#discriminator as #krate::CdrWrite>::KEY_SIZE);
        if self.container.attrs.key.is_some() {
            return first;
        }
        let sizes = self.cases.iter().filter_map(|case| case.value.as_ref()).map(|value| {
            let ty = value.ty;
            match &value.bound {
                _ if value.recursive => quote!(#krate::KeySize::UNBOUNDED),
                Some(bound) => quote!(<#ty as #krate::Bounded>::KEY.size(#bound)),
                None => quote!(<#ty as #krate::CdrWrite>::KEY_SIZE),
            }
        });
        quote!(#first.then(#krate::KeySize::EMPTY #(.or(#sizes))*))
    }
}
