//! Serialization of structures (DDS-XTypes 1.3 §7.4.3.5 rules 17-30).

use proc_macro2::TokenStream;
use quote::quote;

use super::{Base, Member, Side, Structure};
use crate::attrs::Extensibility;

impl Structure<'_> {
    pub(crate) fn write(&self) -> TokenStream {
        let krate = &self.container.krate;
        let form = self.container.extensibility_tokens();
        let length_code = match self.container.extensibility() {
            Extensibility::Final => quote!(NextInt),
            _ => quote!(Octets),
        };
        let key_size = self.key_size();
        let header = self.container.write_header(&quote!(CdrWrite));
        let members = self.struct_write();
        let packed = self.pack();
        quote! {
            #header {
                const LENGTH_CODE: #krate::LengthCode = #krate::LengthCode::#length_code;
                const FORM: #krate::Extensibility = #form;
                const KEY_SIZE: #krate::KeySize = #key_size;
                #packed

                #[inline]
                fn write(&self, e: &mut #krate::Encoder<'_>) -> ::core::result::Result<(), #krate::CdrError> {
                    e.write_struct(#form, |e| #krate::codegen::StructWrite::write_members(self, e))
                }
            }
            #members
        }
    }

    /// The layout of a final structure, as far as the types of its members have one, and how to fill it.
    fn pack(&self) -> TokenStream {
        let krate = &self.container.krate;
        if !self.may_be_packed() {
            return TokenStream::new();
        }
        let types: Vec<_> = self.members.iter().map(|member| member.ty).collect();
        let idents: Vec<_> = self.members.iter().map(|member| member.ident).collect();
        quote! {
            const PACKED: ::core::option::Option<#krate::codegen::Packed> =
                #krate::codegen::Packed::structure(&[#(<#types as #krate::CdrWrite>::PACKED),*]);
            // SAFETY: these are the size and the fields of the structure, as the compiler has them.
            const IN_PLACE: #krate::codegen::InPlace<Self> = unsafe {
                #krate::codegen::InPlace::structure(
                    (::core::mem::size_of::<Self>(), ::core::mem::align_of::<Self>()),
                    <Self as #krate::CdrWrite>::PACKED,
                    &[#((
                        ::core::mem::offset_of!(Self, #idents),
                        <#types as #krate::CdrWrite>::PACKED,
                        <#types as #krate::CdrWrite>::IN_PLACE.holds(),
                    )),*],
                )
            };

            #[inline]
            fn pack(&self, to: &mut [u8], big_endian: bool) {
                #(
                    let size = const { #krate::codegen::Packed::size(<#types as #krate::CdrWrite>::PACKED) };
                    let (first, to) = #krate::codegen::split_mut(to, size);
                    <#types as #krate::CdrWrite>::pack(&self.#idents, first, big_endian);
                )*
                let _ = to;
            }
        }
    }

    /// The implementation that derived structures build on.
    fn struct_write(&self) -> TokenStream {
        let krate = &self.container.krate;
        let header = self.container.write_header(&quote!(codegen::StructWrite));
        let (ids, has_key) = (self.ids(Side::Write), self.has_key(Side::Write));
        let (check, body) = (self.base_check(Side::Write), self.write_body());
        quote! {
            #header {
                const IDS: #krate::codegen::Ids = #ids;
                const HAS_KEY: bool = #has_key;

                #[inline]
                fn write_members(
                    &self,
                    e: &mut #krate::Encoder<'_>,
                ) -> ::core::result::Result<(), #krate::CdrError> {
                    const { #check }
                    #body
                    ::core::result::Result::Ok(())
                }
            }
        }
    }

    fn write_body(&self) -> TokenStream {
        let krate = &self.container.krate;
        let base = self.base.as_ref().map(|base| self.write_base(base));
        let (all, keys) = (self.write_list(&self.all()), self.write_list(&self.keys()));
        let by_id = self.write_list(&self.keys_by_id());
        let own = match (self.declares_key(), self.keys_are_ordered()) {
            (false, true) => all,
            (false, false) => quote! {
                if e.scope() == #krate::Scope::KeyHash { #by_id } else { #all }
            },
            (true, true) => quote! {
                if e.scope() == #krate::Scope::Sample { #all } else { #keys }
            },
            (true, false) => quote! {
                match e.scope() {
                    #krate::Scope::Sample => { #all }
                    #krate::Scope::Key => { #keys }
                    #krate::Scope::KeyHash => { #by_id }
                }
            },
        };
        quote!(#base #own)
    }

    /// Writes the members of the base. If it has a key, that is all the key there is.
    fn write_base(&self, base: &Base<'_>) -> TokenStream {
        let (krate, ident, name) = (&self.container.krate, base.ident, self.container.type_name());
        quote! {
            #krate::codegen::StructWrite::write_members(&self.#ident, e)?;
            if e.scope() != #krate::Scope::Sample && <Self as #krate::codegen::StructWrite>::HAS_KEY {
                return ::core::result::Result::Ok(());
            }
            if e.scope() == #krate::Scope::KeyHash && !<Self as #krate::codegen::StructWrite>::IDS.ascend() {
                return ::core::result::Result::Err(#krate::CdrError::UnorderedKey { type_name: #name });
            }
        }
    }

    fn write_list(&self, members: &[&Member<'_>]) -> TokenStream {
        members.iter().map(|member| self.write_member(member)).collect()
    }

    fn write_member(&self, member: &Member<'_>) -> TokenStream {
        let (krate, ident, ty) = (&self.container.krate, member.ident, member.ty);
        let (id, must_understand) = (self.id(member), member.must_understand);
        let bound = member.bound.as_ref().map(|bound| match member.optional {
            true => quote! {
                if let ::core::option::Option::Some(value) = &self.#ident {
                    #krate::Bounded::check_bound(value, #bound)?;
                }
            },
            false => quote!(#krate::Bounded::check_bound(&self.#ident, #bound)?;),
        });
        let write = match (self.container.is_mutable(), member.optional) {
            (false, false) => quote!(<#ty as #krate::CdrWrite>::write(&self.#ident, e)?;),
            (false, true) => quote!(e.write_optional(#id, #must_understand, self.#ident.as_ref())?;),
            (true, false) => quote!(e.write_member(#id, #must_understand, &self.#ident)?;),
            (true, true) => quote!(e.write_optional_member(#id, #must_understand, self.#ident.as_ref())?;),
        };
        quote!(#bound #write)
    }
}
