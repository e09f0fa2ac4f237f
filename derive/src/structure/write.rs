//! Serialization of structures (DDS-XTypes 1.3 §7.4.3.5 rules 17-30).

use super::{Base, Member, Structure};
use crate::attrs::Extensibility;
use proc_macro2::TokenStream;
use quote::quote;

impl Structure<'_> {
    pub fn write(&self) -> TokenStream {
        let krate = &self.container.krate;
        let form = self.container.extensibility_tokens();
        let length_code = match self.container.extensibility() {
            Extensibility::Final => quote!(NextInt),
            _ => quote!(Octets),
        };
        let key_size = self.key_size();
        let header = self.container.write_header(&quote!(CdrWrite));
        let members = self.struct_write();
        quote! {
            #header {
                const LENGTH_CODE: #krate::LengthCode = #krate::LengthCode::#length_code;
                const FORM: #krate::Extensibility = #form;
                const KEY_SIZE: #krate::KeySize = #key_size;

                #[inline]
                fn write(&self, e: &mut #krate::Encoder<'_>) -> ::core::result::Result<(), #krate::CdrError> {
                    e.write_struct(#form, |e| #krate::codegen::StructWrite::write_members(self, e))
                }
            }
            #members
        }
    }

    /// The implementation that derived structures build on.
    fn struct_write(&self) -> TokenStream {
        let krate = &self.container.krate;
        let header = self.container.write_header(&quote!(codegen::StructWrite));
        let (next_id, has_key, body) = (self.next_free_id(), self.has_key(), self.write_body());
        let ids: Vec<TokenStream> = self.members.iter().map(|member| self.id(member)).collect();
        let inherited = match &self.base {
            Some(Base { ty, .. }) => quote!(<#ty as #krate::codegen::StructWrite>::IDS),
            None => quote!(&[]),
        };
        quote! {
            #header {
                const NEXT_ID: u32 = #next_id;
                const IDS: &'static [u32] = &[#(#ids),*];
                const BASE_IDS: &'static [&'static [u32]] = &[#inherited];
                const HAS_KEY: bool = #has_key;

                fn write_members(
                    &self,
                    e: &mut #krate::Encoder<'_>,
                ) -> ::core::result::Result<(), #krate::CdrError> {
                    #body
                    ::core::result::Result::Ok(())
                }
            }
        }
    }
}
