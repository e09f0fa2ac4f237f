//! Keys of structures (DDS-XTypes 1.3 §7.6.8 key erased and key holder types; RTPS 2.5 §9.6.4.8).

use proc_macro2::TokenStream;
use quote::quote;

use super::{Member, Side, Structure};
use crate::attrs::TryConstruct;

impl Structure<'_> {
    /// The greatest size of the key members in the order of their ids.
    pub(crate) fn key_size(&self) -> TokenStream {
        let krate = &self.container.krate;
        let keys = self.keys_by_id();
        let sizes = keys.iter().map(|member| self.member_key_size(member));
        let own = quote!(#krate::KeySize::EMPTY #(.then(#sizes))*);
        let Some(base) = &self.base else { return own };
        let (base_ty, has_key) = (base.ty, self.has_key(Side::Write));
        quote! {{
            let base = <#base_ty as #krate::CdrWrite>::KEY_SIZE;
            if #has_key { base } else { base.then(#own) }
        }}
    }

    fn member_key_size(&self, member: &Member<'_>) -> TokenStream {
        let (krate, ty) = (&self.container.krate, member.ty);
        match &member.bound {
            // Whether an optional member is there is no matter of its type; a recursive type has no greatest size.
            _ if member.optional || member.recursive => quote!(#krate::KeySize::UNBOUNDED),
            Some(bound) => quote!(<#ty as #krate::Bounded>::KEY.size(#bound)),
            None => quote!(<#ty as #krate::CdrWrite>::KEY_SIZE),
        }
    }

    /// Overrides of the methods that take the key out of a whole sample: one for `CdrRead`, one for `StructRead`.
    pub(crate) fn copy_key(&self) -> (TokenStream, TokenStream) {
        let krate = &self.container.krate;
        let form = self.container.extensibility_tokens();
        // Without the writing side there is nothing to copy to; without key the default does.
        if !self.container.wants_write() || (self.base.is_none() && !self.declares_key()) {
            return (TokenStream::new(), TokenStream::new());
        }
        let outer = self.base_key_condition(quote! {
            d.read_struct(#form, |d| <Self as #krate::codegen::StructRead<'de>>::copy_key_members(d, e))
        });
        let inner = match &self.base {
            Some(base) => {
                let base = self.base_trait(base, Side::Read);
                quote!(<#base>::copy_key_members(d, e))
            }
            None if self.container.is_mutable() => self.copy_from_list(),
            None => self.copy_in_order(),
        };
        let inner = self.base_key_condition_members(inner);
        let signature = quote!((
            d: &mut #krate::Decoder<'de>,
            e: &mut #krate::Encoder<'_>,
        ) -> ::core::result::Result<(), #krate::CdrError>);
        (quote!(fn copy_key #signature { #outer }), quote!(fn copy_key_members #signature { #inner }))
    }

    /// With a base only the compiler knows whether there are key members.
    fn base_key_condition(&self, copy: TokenStream) -> TokenStream {
        if self.base.is_none() {
            return copy;
        }
        let (krate, has_key) = (&self.container.krate, self.has_key(Side::Read));
        quote! {
            if #has_key {
                #copy
            } else {
                #krate::CdrWrite::write(&<Self as #krate::CdrRead<'de>>::read(d)?, e)
            }
        }
    }

    fn base_key_condition_members(&self, copy: TokenStream) -> TokenStream {
        if self.base.is_none() {
            return copy;
        }
        let (krate, has_key) = (&self.container.krate, self.has_key(Side::Read));
        quote! {
            if #has_key {
                #copy
            } else {
                let value = <Self as #krate::codegen::StructRead<'de>>::read_members(d, true)?;
                #krate::codegen::StructWrite::write_members(&value, e)
            }
        }
    }

    /// Finds the key members by skipping what comes between, then copies them in the order of their ids.
    fn copy_in_order(&self) -> TokenStream {
        let krate = &self.container.krate;
        let last = self.members.iter().rposition(|member| member.key);
        let steps = self.members.iter().take(last.map_or(0, |last| last + 1)).map(|member| {
            let (local, ty, skip) = (Self::local(member), member.ty, self.skip_member(member));
            if !member.key {
                return quote!(if d.scope() == #krate::Scope::Sample { #skip });
            }
            let skip = (Some(member.index) != last).then(|| quote!(<#ty as #krate::CdrRead<'de>>::skip(d)?;));
            quote!(let #local = #krate::codegen::mark(d); #skip)
        });
        let copies = self.keys_by_id().into_iter().map(|member| {
            let (local, copy) = (Self::local(member), self.copy_member(member));
            quote! {
                #krate::codegen::reset(d, #local);
                #copy
            }
        });
        let copies: TokenStream = copies.collect();
        quote!(#(#steps)* #copies ::core::result::Result::Ok(()))
    }

    /// Copies a key member from where it is. One that may not fit is a key only after it was made to.
    fn copy_member(&self, member: &Member<'_>) -> TokenStream {
        let (krate, ty) = (&self.container.krate, member.ty);
        let copy = quote!(<#ty as #krate::CdrRead<'de>>::copy_key(d, e)?;);
        let read = self.read_value(member);
        let repaired = quote! {
            let value: #ty = #read?;
            #krate::CdrWrite::write(&value, e)?;
        };
        match &member.described {
            _ if member.try_construct != TryConstruct::Discard => quote!({ #repaired }),
            None => copy,
            Some(described) => quote! {
                if <#described as #krate::idl::ReadAs<'de, #ty>>::REPAIRS { #repaired } else { #copy }
            },
        }
    }

    /// Finds the key members in the member list, then copies them in the order of their ids.
    fn copy_from_list(&self) -> TokenStream {
        let krate = &self.container.krate;
        let keys = self.keys_by_id();
        let locals: Vec<_> = keys.iter().map(|member| Self::local(member)).collect();
        let ids: Vec<_> = keys.iter().map(|member| self.id(member)).collect();
        let copies: Vec<_> = keys.iter().map(|member| self.copy_member(member)).collect();
        quote! {
            #(let mut #locals = ::core::option::Option::None;)*
            while let ::core::option::Option::Some(member) = d.next_member()? {
                match member.id {
                    #(#ids => {
                        #krate::codegen::once(&#locals, #ids)?;
                        #locals = ::core::option::Option::Some(#krate::codegen::mark(d));
                    })*
                    _ => {}
                }
                d.end_member(member);
                if #(#locals.is_some())&&* {
                    break;
                }
            }
            #(
                #krate::codegen::reset_to(d, #locals, #ids)?;
                #copies
            )*
            ::core::result::Result::Ok(())
        }
    }
}
