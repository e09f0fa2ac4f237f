//! Type descriptions (DDS-XTypes 1.3 §7.3.4.5): names, ids, flags and nesting as constants.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, Type, parse_quote};

use crate::attrs::{Annotations, TryConstruct, inner_of};
use crate::container::Container;
use crate::structure::{Member, Structure};
use crate::uint8::described_type;
use crate::union::{Case, Union};

impl Container<'_> {
    /// Whether to describe the type: what can be part of a topic type has a description.
    pub(crate) fn wants_description(&self) -> bool {
        self.wants_read() && self.wants_write() && self.input.generics.lifetimes().next().is_none()
    }

    /// The implementation of `Described` with an expression for the kind.
    pub(crate) fn described(&self, kind: &TokenStream) -> TokenStream {
        let (krate, ident, name) = (&self.krate, self.ident(), self.type_name());
        let annotations = match &self.attrs.annotations {
            Some(said) => quote!(#said),
            None => quote!(#krate::annotation::TypeAnnotations::NONE),
        };
        let mut generics = self.input.generics.clone();
        for param in generics.type_params_mut() {
            param.bounds.push(parse_quote!(#krate::Described));
            param.bounds.push(parse_quote!(#krate::CdrWrite));
            param.bounds.push(parse_quote!(for<'de> #krate::CdrRead<'de>));
        }
        let (impl_generics, _, where_clause) = generics.split_for_impl();
        let (_, type_generics, _) = self.input.generics.split_for_impl();
        quote! {
            #[automatically_derived]
            impl #impl_generics #krate::Described for #ident #type_generics #where_clause {
                const DESCRIPTION: #krate::TypeDescription = #krate::TypeDescription {
                    name: #krate::StaticOrArc::constant(#name),
                    kind: #krate::TypeKind::#kind,
                    annotations: #annotations,
                };
            }
        }
    }

    /// A reference to the description of a type, with a bound or without, and with `uint8` for `u8` or without, unless
    /// `described` says what it is.
    pub(crate) fn type_ref(
        &self,
        ty: &Type,
        bound: Option<&Expr>,
        uint8: bool,
        described: Option<&Type>,
    ) -> TokenStream {
        let krate = &self.krate;
        if let Some(described) = described {
            return quote!(#krate::TypeRef::of::<#described>());
        }
        let ty = described_type(ty, uint8, krate);
        match bound {
            Some(bound) => quote!(#krate::TypeRef::bounded::<#ty, { #bound }>()),
            None => quote!(#krate::TypeRef::of::<#ty>()),
        }
    }
}

const DISCARD: u16 = 1;
const EXTERNAL: u16 = 4;
const MUST_UNDERSTAND: u16 = 0x10;
const DEFAULT: u16 = 0x40;

fn bit(set: bool, bit: u16) -> u16 {
    if set { bit } else { 0 }
}

fn try_construct_flags(how: TryConstruct) -> u16 {
    match how {
        TryConstruct::Discard => DISCARD,
        TryConstruct::Default => 2,
        TryConstruct::Trim => 3,
    }
}

/// The flags of XTypes for a member.
fn flags(member: &Member<'_>) -> u16 {
    try_construct_flags(member.try_construct)
        | bit(member.external, EXTERNAL)
        | bit(member.optional, 8)
        | bit(member.must_understand, MUST_UNDERSTAND)
        | bit(member.key, 0x20)
}

impl Structure<'_> {
    /// The implementation of `Described`.
    pub(crate) fn describe(&self) -> TokenStream {
        let (krate, nested) = (&self.container.krate, self.container.attrs.nested);
        let (extensibility, autoid_hash) =
            (self.container.extensibility_tokens(), self.container.attrs.autoid_hash());
        let base = match &self.base {
            Some(base) => {
                let ty = self.container.type_ref(base.ty, None, false, base.described.as_ref());
                quote!(Some(#ty))
            }
            None => quote!(None),
        };
        let members = self.members.iter().map(|member| self.describe_member(member));
        self.container.described(&quote! {
            Structure(#krate::StructureDescription {
                extensibility: #extensibility,
                nested: #nested,
                autoid_hash: #autoid_hash,
                base: ::core::option::Option::#base,
                members: #krate::StaticOrArc::constant(const { &[#(#members),*] }),
            })
        })
    }

    fn describe_member(&self, member: &Member<'_>) -> TokenStream {
        let (krate, id, name, flags) = (&self.container.krate, self.id(member), &member.name, flags(member));
        let ty = self.container.type_ref(
            member.ty,
            member.bound.as_ref(),
            member.uint8,
            member.described.as_ref(),
        );
        let default = self.container.write_value(member.ty, member.default.as_ref());
        let annotations = self.container.annotations(member.ty, &member.annotations);
        quote! {
            #krate::MemberDescription {
                name: #krate::StaticOrArc::constant(#name),
                id: #id,
                flags: #krate::MemberFlags(#flags),
                ty: #ty,
                write_default: #default,
                annotations: #annotations,
            }
        }
    }
}

impl Container<'_> {
    /// What writes a value of a member's type, if there is one.
    fn write_value(&self, ty: &Type, value: Option<&Expr>) -> TokenStream {
        let krate = &self.krate;
        match value {
            Some(value) => quote! {
                ::core::option::Option::Some(#krate::WriteDefault::new(&|e: &mut #krate::Encoder<'_>| {
                    let value: #ty = #value;
                    #krate::CdrWrite::write(&value, e)
                }))
            },
            None => quote!(::core::option::Option::None),
        }
    }

    /// The annotations of a member of this type.
    fn annotations(&self, ty: &Type, it: &Annotations) -> TokenStream {
        let krate = &self.krate;
        // A least value is one of the type itself, not of the pointer to it.
        let ty = inner_of(ty, "Box").unwrap_or(ty);
        let text = |text: &Option<String>| match text {
            Some(text) => quote!(::core::option::Option::Some(#text)),
            None => quote!(::core::option::Option::None),
        };
        let (unit, hash_id) = (text(&it.unit), text(&it.hash_id));
        let (min, max) = (self.write_value(ty, it.min.as_ref()), self.write_value(ty, it.max.as_ref()));
        quote!(#krate::MemberAnnotations { unit: #unit, min: #min, max: #max, hash_id: #hash_id })
    }
}

impl Union<'_> {
    /// The implementation of `Described`.
    pub(crate) fn describe(&self) -> TokenStream {
        let (krate, nested) = (&self.container.krate, self.container.attrs.nested);
        let (extensibility, key, autoid_hash) = (
            self.container.extensibility_tokens(),
            self.container.attrs.key.is_some(),
            self.container.attrs.autoid_hash(),
        );
        let attrs = &self.container.attrs;
        let described = attrs.described.as_ref().map(|(_, ty)| ty);
        let discriminator = match described {
            Some(described) => quote!(#described),
            None => {
                let ty = described_type(self.discriminator, attrs.uint8.is_some(), krate);
                quote!(#ty)
            }
        };
        let flags = try_construct_flags(self.try_construct());
        let cases = self.cases.iter().map(|case| self.describe_case(case));
        self.container.described(&quote! {
            Union(#krate::UnionDescription {
                extensibility: #extensibility,
                nested: #nested,
                autoid_hash: #autoid_hash,
                discriminator: #krate::TypeRef::flagged::<#discriminator>(#krate::MemberFlags(#flags)),
                key: #key,
                cases: #krate::StaticOrArc::constant(const { &[#(#cases),*] }),
            })
        })
    }

    fn describe_case(&self, case: &Case<'_>) -> TokenStream {
        let krate = &self.container.krate;
        let (name, id, is_default) = (&case.name, case.id, case.is_default);
        let of_value = case.value.as_ref().map_or(DISCARD, |value| {
            try_construct_flags(value.try_construct)
                | bit(value.external, EXTERNAL)
                | bit(value.must_understand, MUST_UNDERSTAND)
        });
        let flags = of_value | bit(is_default, DEFAULT);
        let labels = case.labels.iter().map(|label| self.labels().value_of(label, self.discriminator));
        let (ty, default, annotations) = match &case.value {
            Some(value) => {
                let described = value.described.as_ref();
                let ty = self.container.type_ref(value.ty, value.bound.as_ref(), value.uint8, described);
                let default = self.container.write_value(value.ty, value.default.as_ref());
                let annotations = self.container.annotations(value.ty, &case.annotations);
                (quote!(Some(#ty)), default, annotations)
            }
            None => {
                (quote!(None), quote!(::core::option::Option::None), quote!(#krate::MemberAnnotations::NONE))
            }
        };
        quote! {
            #krate::CaseDescription {
                name: #krate::StaticOrArc::constant(#name),
                id: #id,
                flags: #krate::MemberFlags(#flags),
                labels: #krate::StaticOrArc::constant(const { &[#(#labels),*] }),
                is_default: #is_default,
                ty: ::core::option::Option::#ty,
                write_default: #default,
                annotations: #annotations,
            }
        }
    }
}
