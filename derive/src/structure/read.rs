//! Deserialization of structures (DDS-XTypes 1.3 §7.4.3.5 rules 17-30, §7.6.3.4 object construction).

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Expr, Type};

use super::{Base, Member, Side, Structure};
use crate::attrs::{Extensibility, TryConstruct};
use crate::container::Container;
use crate::ids::Id;

/// How a member is read.
pub(crate) struct Reading<'a> {
    /// The type without `Option`.
    pub ty: &'a Type,
    pub bound: Option<&'a Expr>,
    pub described: Option<&'a Type>,
    pub try_construct: TryConstruct,
    pub default: Option<&'a Expr>,
}

impl Container<'_> {
    /// An expression (a `Result`) that reads a member and makes the best of one that does not fit.
    pub(crate) fn read_value(&self, it: Reading<'_>) -> TokenStream {
        let (krate, ty) = (&self.krate, it.ty);
        let plain = match it.described {
            Some(described) => quote!(<#described as #krate::idl::ReadAs<'de, #ty>>::read_as(d)),
            None => quote!(<#ty as #krate::CdrRead<'de>>::read(d)),
        };
        let read = match (it.bound, it.try_construct) {
            (None, _) => plain,
            (Some(bound), TryConstruct::Trim) => quote!(#krate::codegen::trimmed::<#ty>(#plain, #bound)),
            (Some(bound), _) => quote!(#krate::codegen::bounded::<#ty>(#plain, #bound)),
        };
        if it.try_construct == TryConstruct::Discard {
            return read;
        }
        // What shortening does not help against becomes the default.
        let default = match it.default {
            Some(value) => quote!(#value),
            None => quote!(<#ty as #krate::CdrRead<'de>>::default_value()),
        };
        quote!(d.read_or::<#ty>(|d| #read, || #default))
    }
}

impl Structure<'_> {
    pub(crate) fn read(&self) -> TokenStream {
        let krate = &self.container.krate;
        let form = self.container.extensibility_tokens();
        let (min_size, default) = (self.min_size(), self.default_value());
        let (copy_key, copy_key_members) = self.copy_key();
        let header = self.container.read_header(&quote!(CdrRead));
        let members = self.struct_read(&copy_key_members);
        let packed = self.unpack();
        let result = quote!(::core::result::Result);
        quote! {
            #header {
                const MIN_SIZE: usize = #min_size;
                const FORM: #krate::Extensibility = #form;
                #packed

                #[inline]
                fn read(d: &mut #krate::Decoder<'de>) -> #result<Self, #krate::CdrError> {
                    d.read_struct(#form, |d| <Self as #krate::codegen::StructRead<'de>>::read_members(d, false))
                }

                fn default_value() -> Self {
                    #default
                }

                fn skip(d: &mut #krate::Decoder<'de>) -> #result<(), #krate::CdrError> {
                    d.skip_struct(#form, <Self as #krate::codegen::StructRead<'de>>::skip_members)
                }

                #copy_key
            }
            #members
        }
    }

    /// The layout of a final structure, as far as the types of its members have one, and how to take it apart.
    fn unpack(&self) -> TokenStream {
        let krate = &self.container.krate;
        if !self.may_be_packed() {
            return TokenStream::new();
        }
        let types: Vec<_> = self.members.iter().map(|member| member.ty).collect();
        let locals: Vec<Ident> = self.members.iter().map(Self::local).collect();
        let construct = self.construct(&self.all());
        quote! {
            const PACKED: ::core::option::Option<#krate::codegen::Packed> =
                #krate::codegen::Packed::structure(&[#(<#types as #krate::CdrRead<'de>>::PACKED),*]);

            #[inline]
            fn unpack(from: &[u8], big_endian: bool) -> ::core::option::Option<Self> {
                #(
                    let size = const { #krate::codegen::Packed::size(<#types as #krate::CdrRead<'de>>::PACKED) };
                    let (first, from) = from.split_at_checked(size)?;
                    let #locals = <#types as #krate::CdrRead<'de>>::unpack(first, big_endian)?;
                )*
                let _ = from;
                let value: ::core::result::Result<Self, #krate::CdrError> = #construct;
                value.ok()
            }
        }
    }

    /// The implementation that derived structures build on.
    fn struct_read(&self, copy_key_members: &TokenStream) -> TokenStream {
        let krate = &self.container.krate;
        let header = self.container.read_header(&quote!(codegen::StructRead));
        let (ids, has_key) = (self.ids(Side::Read), self.has_key(Side::Read));
        let (check, skip) = (self.base_check(Side::Read), self.skip_body());
        let read = if self.container.is_mutable() { self.read_mutable() } else { self.read_ordered() };
        let result = quote!(::core::result::Result);
        quote! {
            #header {
                const IDS: #krate::codegen::Ids = #ids;
                const HAS_KEY: bool = #has_key;

                #[inline]
                fn read_members(
                    d: &mut #krate::Decoder<'de>,
                    as_base: bool,
                ) -> #result<Self, #krate::CdrError> {
                    const { #check }
                    let _ = as_base;
                    #krate::codegen::enter_keys(d, <Self as #krate::codegen::StructRead<'de>>::HAS_KEY);
                    #read
                }

                fn skip_members(d: &mut #krate::Decoder<'de>) -> #result<(), #krate::CdrError> {
                    #skip
                    #result::Ok(())
                }

                #copy_key_members
            }
        }
    }

    /// The smallest size of a value.
    fn min_size(&self) -> TokenStream {
        let krate = &self.container.krate;
        let members = self.members.iter().map(|member| {
            let ty = member.ty;
            match (member.optional, member.recursive) {
                (true, _) => quote!(1),
                (false, true) => quote!(0),
                (false, false) => quote!(<#ty as #krate::CdrRead<'de>>::MIN_SIZE),
            }
        });
        let base = self.base.iter().map(|base| {
            let ty = base.ty;
            quote!(<#ty as #krate::CdrRead<'de>>::MIN_SIZE)
        });
        let sum = quote!(#krate::codegen::sum(&[#(#base,)* #(#members),*]));
        match self.container.extensibility() {
            Extensibility::Final => sum,
            Extensibility::Appendable => quote!(#krate::codegen::min(4, #sum)),
            Extensibility::Mutable => quote!(4),
        }
    }

    /// The value of a field that nothing was received for.
    fn default_of(&self, member: &Member<'_>) -> TokenStream {
        let (krate, ty) = (&self.container.krate, member.ty);
        match &member.default {
            _ if member.optional => quote!(::core::option::Option::None),
            Some(value) => quote!(#value),
            None => quote!(<#ty as #krate::CdrRead<'de>>::default_value()),
        }
    }

    /// The fields that are not serialized, for a structure expression.
    fn hidden_fields(&self) -> TokenStream {
        let fields = self.hidden.iter().map(|hidden| {
            let ident = hidden.ident;
            match &hidden.default {
                Some(value) => quote!(#ident: #value,),
                None => quote!(#ident: ::core::default::Default::default(),),
            }
        });
        fields.collect()
    }

    fn default_value(&self) -> TokenStream {
        let krate = &self.container.krate;
        let base = self
            .base
            .iter()
            .map(|Base { ident, ty, .. }| quote!(#ident: <#ty as #krate::CdrRead<'de>>::default_value(),));
        let members = self.members.iter().map(|member| {
            let (ident, value) = (member.ident, self.default_of(member));
            quote!(#ident: #value,)
        });
        let hidden = self.hidden_fields();
        quote!(Self { #(#base)* #(#members)* #hidden })
    }

    /// An expression (a `Result`) that reads the value of a member.
    pub(crate) fn read_value(&self, member: &Member<'_>) -> TokenStream {
        let (krate, ty) = (&self.container.krate, member.ty);
        let read = self.container.read_value(Reading {
            ty,
            bound: member.bound.as_ref(),
            described: member.described.as_ref(),
            try_construct: member.try_construct,
            default: member.default.as_ref(),
        });
        if member.key || (self.base.is_none() && !self.declares_key()) {
            return read;
        }
        let has_key = quote!(<Self as #krate::codegen::StructRead<'de>>::HAS_KEY);
        quote!(#krate::codegen::read_beside_key::<#ty, _>(d, #has_key, |d| #read))
    }

    /// Reads a member of a final or appendable type into its local variable. `plain` is for key members alone, where
    /// nothing may be missing.
    fn read_into_local(&self, member: &Member<'_>, plain: bool) -> TokenStream {
        let (local, read) = (Self::local(member), self.read_value(member));
        let read = if member.optional { quote!(d.read_optional(|d| #read)?) } else { quote!(#read?) };
        if plain || self.container.extensibility() == Extensibility::Final {
            return quote!(let #local = #read;);
        }
        let missing = self.missing(member);
        quote!(let #local = if d.ends_early() { #missing } else { #read };)
    }

    /// What a member is if the sender did not have it.
    fn missing(&self, member: &Member<'_>) -> TokenStream {
        let (krate, id) = (&self.container.krate, self.id(member));
        let refuse = quote!(return ::core::result::Result::Err(#krate::CdrError::MissingMember { id: #id }));
        if member.must_understand && !member.optional {
            return refuse;
        }
        let default = self.default_of(member);
        match member.key {
            true => quote!(if #krate::codegen::keys_count(d) { #refuse } else { #default }),
            false => default,
        }
    }

    /// `Ok(Self { ... })` from local variables of the members in `read`, defaults for the others.
    fn construct(&self, read: &[&Member<'_>]) -> TokenStream {
        let base = self.base.iter().map(|Base { ident, .. }| quote!(#ident: base,));
        let members = self.members.iter().map(|member| {
            let (ident, local) = (member.ident, Self::local(member));
            if read.iter().any(|other| other.index == member.index) {
                return quote!(#ident: #local,);
            }
            let value = self.default_of(member);
            quote!(#ident: #value,)
        });
        let hidden = self.hidden_fields();
        quote!(::core::result::Result::Ok(Self { #(#base)* #(#members)* #hidden }))
    }

    fn read_list(&self, members: &[&Member<'_>], plain: bool) -> TokenStream {
        let lets = members.iter().map(|member| self.read_into_local(member, plain));
        let construct = self.construct(members);
        quote!(#(#lets)* #construct)
    }

    /// Reads the members of a final or appendable type.
    fn read_ordered(&self) -> TokenStream {
        let krate = &self.container.krate;
        let base = self.base.as_ref().map(|base| self.read_base(base));
        let all = self.read_list(&self.all(), false);
        let keys = self.read_list(&self.keys(), true);
        let by_id = self.read_list(&self.keys_by_id(), true);
        let own = match (self.declares_key(), self.keys_are_ordered()) {
            (false, true) => all,
            (false, false) => quote! {
                if d.scope() == #krate::Scope::KeyHash { #by_id } else { #all }
            },
            (true, true) => quote! {
                if d.scope() == #krate::Scope::Sample { #all } else { #keys }
            },
            (true, false) => quote! {
                match d.scope() {
                    #krate::Scope::Sample => { #all }
                    #krate::Scope::Key => { #keys }
                    #krate::Scope::KeyHash => { #by_id }
                }
            },
        };
        quote!(#base #own)
    }

    /// Reads the members of the base. If it has a key, that is all the key there is.
    fn read_base(&self, base: &Base<'_>) -> TokenStream {
        let krate = &self.container.krate;
        let (base, without_own) = (self.base_trait(base, Side::Read), self.construct(&[]));
        quote! {
            let base = <#base>::read_members(d, true)?;
            if d.scope() != #krate::Scope::Sample && <Self as #krate::codegen::StructRead<'de>>::HAS_KEY {
                return #without_own;
            }
        }
    }

    /// Reads the members of a mutable type.
    fn read_mutable(&self) -> TokenStream {
        let krate = &self.container.krate;
        let plain_base = self.base.as_ref().map(|base| self.read_base(base));
        let plain = self.read_list(&self.keys_by_id(), true);
        let list_base = self.base.as_ref().map(|base| {
            let base = self.base_trait(base, Side::Read);
            quote! {
                // The members of base and derived structure are in one list, in any order.
                let start = #krate::codegen::mark(d);
                let base = <#base>::read_members(d, true)?;
                #krate::codegen::reset(d, start);
            }
        });
        let inherited = match &self.base {
            Some(_) => quote!(<Self as #krate::codegen::StructRead<'de>>::IDS.contains(id)),
            None => quote!(false),
        };
        let locals: Vec<Ident> = self.members.iter().map(Self::local).collect();
        let arms = self.members.iter().map(|member| self.read_arm(member));
        let (finish, construct) = (self.finish_list(), self.construct(&self.all()));
        quote! {
            if d.scope() == #krate::Scope::KeyHash {
                #plain_base
                #plain
            } else {
                #list_base
                #(let mut #locals = ::core::option::Option::None;)*
                while let ::core::option::Option::Some(member) = d.next_member()? {
                    match member.id {
                        #(#arms)*
                        id => d.unknown_member(&member, as_base || #inherited)?,
                    }
                    d.end_member(member);
                }
                #finish
                #construct
            }
        }
    }

    fn read_arm(&self, member: &Member<'_>) -> TokenStream {
        let (krate, local, read) = (&self.container.krate, Self::local(member), self.read_value(member));
        let id = self.id(member);
        let pattern = match member.id {
            Id::Known(id) => quote!(id @ #id),
            Id::AfterBase(_) => quote!(id if id == #id),
        };
        quote! {
            #pattern => {
                #krate::codegen::once(&#local, id)?;
                #local = ::core::option::Option::Some(#read?);
            }
        }
    }

    /// Turns the optional local variables of a mutable type into values.
    fn finish_list(&self) -> TokenStream {
        let krate = &self.container.krate;
        let finish = self.members.iter().map(|member| {
            let local = Self::local(member);
            let (default, missing) = (self.default_of(member), self.missing(member));
            // In a serialized key only key members have to be present.
            let missing = match member.must_understand && !member.key {
                true => quote!(if d.scope() == #krate::Scope::Sample { #missing } else { #default }),
                false => missing,
            };
            match member.optional {
                true => TokenStream::new(),
                false => quote! {
                    let #local = match #local {
                        ::core::option::Option::Some(value) => value,
                        ::core::option::Option::None => #missing,
                    };
                },
            }
        });
        finish.collect()
    }

    /// Skips a member of a final or appendable type.
    pub(crate) fn skip_member(&self, member: &Member<'_>) -> TokenStream {
        let (krate, ty) = (&self.container.krate, member.ty);
        match member.optional {
            true => quote!(d.read_optional(<#ty as #krate::CdrRead<'de>>::skip)?;),
            false => quote!(<#ty as #krate::CdrRead<'de>>::skip(d)?;),
        }
    }

    fn skip_body(&self) -> TokenStream {
        let krate = &self.container.krate;
        if self.container.is_mutable() {
            return quote!(#krate::codegen::skip_list(d)?;);
        }
        let base = self.base.as_ref().map(|base| {
            let base = self.base_trait(base, Side::Read);
            quote! {
                <#base>::skip_members(d)?;
                if d.scope() != #krate::Scope::Sample && <Self as #krate::codegen::StructRead<'de>>::HAS_KEY {
                    return ::core::result::Result::Ok(());
                }
            }
        });
        let all: TokenStream = self.members.iter().map(|member| self.skip_from(member)).collect();
        if !self.declares_key() {
            return quote!(#base #all);
        }
        let keys: TokenStream = self.keys().into_iter().map(|member| self.skip_from(member)).collect();
        quote!(if d.scope() == #krate::Scope::Sample { #all } else { #keys })
    }

    /// Skips a member, unless the sender's type ended before it.
    fn skip_from(&self, member: &Member<'_>) -> TokenStream {
        let skip = self.skip_member(member);
        if self.container.extensibility() == Extensibility::Final {
            return skip;
        }
        quote! {
            if d.ends_early() {
                return ::core::result::Result::Ok(());
            }
            #skip
        }
    }
}
