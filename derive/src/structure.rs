//! Structures (DDS-XTypes 1.3 §7.2.2.4.4): the model that the code generators work on.

mod key;
pub(crate) mod read;
mod write;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{DataStruct, Error, Expr, Fields, Ident, Result, Type};

use crate::attrs::{Annotations, Extensibility, IdAttr, MemberAttrs, TryConstruct, inner_of, mentions};
use crate::container::Container;
use crate::ids::{self, Id};

/// Which of the two directions code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Write,
    Read,
}

/// A serialized member.
pub(crate) struct Member<'a> {
    pub ident: &'a Ident,
    /// The name in IDL.
    pub name: String,
    /// The type without `Option`.
    pub ty: &'a Type,
    pub optional: bool,
    pub key: bool,
    pub must_understand: bool,
    pub external: bool,
    pub id: Id,
    pub bound: Option<Expr>,
    /// `u8` in the type is `uint8`.
    pub uint8: bool,
    /// What it is in IDL.
    pub described: Option<Type>,
    pub default: Option<Expr>,
    pub try_construct: TryConstruct,
    pub annotations: Annotations,
    /// The type contains the structure itself.
    pub recursive: bool,
    /// Position among the serialized members.
    pub index: usize,
}

/// A field that is not serialized.
pub(crate) struct Hidden<'a> {
    pub ident: &'a Ident,
    pub default: Option<Expr>,
}

/// The field with the members of the base type.
pub(crate) struct Base<'a> {
    pub ident: &'a Ident,
    pub ty: &'a Type,
    /// What it is called in IDL.
    pub described: Option<Type>,
}

/// A structure to derive for.
pub(crate) struct Structure<'a> {
    pub container: &'a Container<'a>,
    pub base: Option<Base<'a>>,
    pub members: Vec<Member<'a>>,
    pub hidden: Vec<Hidden<'a>>,
}

pub(crate) fn expand(container: &Container<'_>, data: &DataStruct) -> Result<TokenStream> {
    let structure = Structure::new(container, data)?;
    let mut tokens = TokenStream::new();
    if container.wants_write() {
        tokens.extend(structure.write());
    }
    if container.wants_read() {
        tokens.extend(structure.read());
    }
    if container.wants_description() {
        tokens.extend(structure.describe());
    }
    if container.wants_topic_type() {
        let has_key = structure.has_key(Side::Write);
        let prefers_xcdr2 = container.is_mutable() || structure.members.iter().any(|m| m.optional);
        tokens.extend(container.topic_type(&has_key, prefers_xcdr2)?);
    }
    Ok(tokens)
}

impl<'a> Structure<'a> {
    fn new(container: &'a Container<'a>, data: &'a DataStruct) -> Result<Self> {
        let fields = match &data.fields {
            Fields::Named(fields) => &fields.named,
            Fields::Unit => {
                return Ok(Self { container, base: None, members: Vec::new(), hidden: Vec::new() });
            }
            Fields::Unnamed(fields) => {
                return Err(Error::new_spanned(
                    fields,
                    "members need names; a structure with one unnamed field may be #[dds(bitmask)], #[dds(bitset)] or \
                     #[dds(transparent)]",
                ));
            }
        };
        let mut structure = Self { container, base: None, members: Vec::new(), hidden: Vec::new() };
        for (position, field) in fields.iter().enumerate() {
            let Some(ident) = &field.ident else { continue };
            structure.add(position, ident, &field.ty, MemberAttrs::parse(&field.attrs)?)?;
        }
        structure.check_ids()?;
        Ok(structure)
    }

    fn add(&mut self, position: usize, ident: &'a Ident, ty: &'a Type, attrs: MemberAttrs) -> Result<()> {
        if let Some(word) = attrs.present.iter().find(|word| *word == "case" || *word == "discriminator") {
            return Err(Error::new(word.span(), format!("`{word}` belongs to the variants of a union")));
        }
        if let Some(word) = &attrs.base {
            attrs.allow("a base", &["base", "as"])?;
            if position != 0 {
                return Err(Error::new(word.span(), "the base is the first field"));
            }
            self.base = Some(Base { ident, ty, described: attrs.described });
            return Ok(());
        }
        let default = default_expr(&attrs, ident)?;
        if attrs.non_serialized {
            attrs.allow("a non_serialized field", &["non_serialized", "default"])?;
            self.hidden.push(Hidden { ident, default });
            return Ok(());
        }
        let member = self.member(ident, ty, attrs, default)?;
        self.members.push(member);
        Ok(())
    }

    fn member(
        &self,
        ident: &'a Ident,
        ty: &'a Type,
        attrs: MemberAttrs,
        default: Option<Expr>,
    ) -> Result<Member<'a>> {
        let inner = inner_of(ty, "Option");
        check_member(&attrs, ty, inner.is_some())?;
        if let Some(word) = attrs.key.as_ref().filter(|_| self.base.is_some()) {
            return Err(Error::new(word.span(), "a structure with a base cannot add key members"));
        }
        Ok(Member {
            ident,
            annotations: attrs.annotations(self.container.attrs.autoid_hash()),
            name: member_name(ident, &attrs),
            ty: inner.unwrap_or(ty),
            optional: inner.is_some(),
            key: attrs.key.is_some(),
            must_understand: attrs.must_understand,
            external: attrs.external.is_some(),
            id: self.next_id(ident, &attrs)?,
            bound: attrs.bound,
            uint8: attrs.uint8.is_some(),
            described: attrs.described,
            default,
            try_construct: attrs.try_construct,
            recursive: mentions(ty, self.container.ident()),
            index: self.members.len(),
        })
    }

    fn next_id(&self, ident: &Ident, attrs: &MemberAttrs) -> Result<Id> {
        let name = member_name(ident, attrs);
        match &attrs.id {
            Some(IdAttr::Number(number)) => match number.base10_parse::<u32>() {
                Ok(id) if id <= ids::MAX_ID => Ok(Id::Known(id)),
                _ => Err(Error::new(number.span(), "a member id has at most 28 bits (0x0fffffff)")),
            },
            Some(IdAttr::Hash(other)) => Ok(Id::Known(ids::hash_of(other.as_ref(), &name))),
            None if self.container.attrs.autoid_hash() => Ok(Id::Known(ids::hash_id(&name))),
            None => Ok(match (self.members.last(), &self.base) {
                (Some(previous), _) => previous.id.next(),
                (None, Some(_)) => Id::AfterBase(0),
                (None, None) => Id::Known(0),
            }),
        }
    }

    fn check_ids(&self) -> Result<()> {
        for (i, member) in self.members.iter().enumerate() {
            if member.id.is_too_great() {
                return Err(Error::new(member.ident.span(), ids::TOO_GREAT));
            }
            if self.members.iter().take(i).any(|other| other.name == member.name) {
                return Err(Error::new(member.ident.span(), "another member has the same name"));
            }
            if self.members.iter().take(i).any(|other| other.id == member.id) {
                let message =
                    "another member has the same id (given, sequential or hashed); set one with `id`";
                return Err(Error::new(member.ident.span(), message));
            }
        }
        Ok(())
    }

    /// Fails to compile if ids clash that only the compiler knows, or if the base has another extensibility. Goes into
    /// the body of a method, because constants outside cannot name generic parameters.
    fn base_check(&self, side: Side) -> TokenStream {
        let Some(Base { ty, .. }) = &self.base else { return TokenStream::new() };
        let (krate, form, name) =
            (&self.container.krate, self.container.extensibility_tokens(), self.container.ident());
        let (own, cdr) = match side {
            Side::Write => (quote!(codegen::StructWrite), quote!(CdrWrite)),
            Side::Read => (quote!(codegen::StructRead<'_>), quote!(CdrRead<'_>)),
        };
        let clash = format!("member ids of {name} clash with each other or with those of its base");
        let mismatch = format!("{name} has another extensibility than its base");
        quote! {
            ::core::assert!(<Self as #krate::#own>::IDS.are_valid(), #clash);
            ::core::assert!(#krate::codegen::same_form(<#ty as #krate::#cdr>::FORM, #form), #mismatch);
        }
    }

    /// An expression for the id of a member.
    pub(crate) fn id(&self, member: &Member<'_>) -> TokenStream {
        let krate = &self.container.krate;
        member.id.tokens(krate, &self.next_of_base())
    }

    fn next_of_base(&self) -> TokenStream {
        let side = if self.container.wants_write() { Side::Write } else { Side::Read };
        match &self.base {
            Some(base) => {
                let base = self.base_trait(base, side);
                quote!(<#base>::IDS.next)
            }
            None => quote!(0u32),
        }
    }

    /// The member ids, as a constant expression.
    pub(crate) fn ids(&self, side: Side) -> TokenStream {
        let krate = &self.container.krate;
        let mut members = self.all();
        members.sort_by_key(|member| member.id);
        let own = members.into_iter().map(|member| self.id(member));
        let next = match self.members.last() {
            Some(last) => last.id.next().tokens(krate, &self.next_of_base()),
            None => self.next_of_base(),
        };
        let base = match &self.base {
            None => quote!(None),
            Some(base) => {
                let base = self.base_trait(base, side);
                quote!(Some(&<#base>::IDS))
            }
        };
        quote!(#krate::codegen::Ids { own: &[#(#own),*], next: #next, base: ::core::option::Option::#base })
    }

    pub(crate) fn declares_key(&self) -> bool {
        self.members.iter().any(|member| member.key)
    }

    /// An expression for whether any member, also of the base, is a key.
    pub(crate) fn has_key(&self, side: Side) -> TokenStream {
        match &self.base {
            Some(base) => {
                let base = self.base_trait(base, side);
                quote!(<#base>::HAS_KEY)
            }
            None => {
                let declares = self.declares_key();
                quote!(#declares)
            }
        }
    }

    /// `Base as Trait`, for paths.
    fn base_trait(&self, base: &Base<'_>, side: Side) -> TokenStream {
        let (krate, ty) = (&self.container.krate, base.ty);
        match side {
            Side::Write => quote!(#ty as #krate::codegen::StructWrite),
            Side::Read => quote!(#ty as #krate::codegen::StructRead<'de>),
        }
    }

    /// Whether the layout of a value can be the same everywhere, if the types of the members allow it.
    pub(crate) fn may_be_packed(&self) -> bool {
        let plain = |m: &Member<'_>| {
            !m.optional && !m.recursive && m.bound.is_none() && m.try_construct == TryConstruct::Discard
        };
        self.container.extensibility() == Extensibility::Final
            && self.base.is_none()
            && !self.members.is_empty()
            && self.members.iter().all(plain)
    }

    /// All members in declaration order.
    pub(crate) fn all(&self) -> Vec<&Member<'a>> {
        self.members.iter().collect()
    }

    /// The members that make the key, in declaration order: all, if none is marked.
    pub(crate) fn keys(&self) -> Vec<&Member<'a>> {
        let declares = self.declares_key();
        self.members.iter().filter(|member| member.key || !declares).collect()
    }

    /// The members that make the key, in the order of their ids.
    pub(crate) fn keys_by_id(&self) -> Vec<&Member<'a>> {
        let mut keys = self.keys();
        keys.sort_by_key(|member| member.id);
        keys
    }

    /// Whether key members are declared in the order of their ids.
    pub(crate) fn keys_are_ordered(&self) -> bool {
        self.keys().iter().map(|m| m.index).eq(self.keys_by_id().iter().map(|m| m.index))
    }

    /// The local variable of a member.
    pub(crate) fn local(member: &Member<'_>) -> Ident {
        format_ident!("f{}", member.index)
    }
}

/// The name of a member in IDL.
fn member_name(ident: &Ident, attrs: &MemberAttrs) -> String {
    attrs.name.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value)
}

fn check_member(attrs: &MemberAttrs, ty: &Type, is_option: bool) -> Result<()> {
    if let Some(word) = attrs.optional.as_ref().filter(|_| !is_option) {
        return Err(Error::new(word.span(), "an optional member has the type `Option<...>`"));
    }
    if let Some(word) = &attrs.uint8 {
        crate::uint8::check(word, ty)?;
    }
    let stored = inner_of(ty, "Option").unwrap_or(ty);
    if let Some(word) = attrs.external.as_ref().filter(|_| inner_of(stored, "Box").is_none()) {
        return Err(Error::new(word.span(), "an external member has the type `Box<...>`"));
    }
    if let Some(word) = attrs.key.as_ref().filter(|_| is_option) {
        return Err(Error::new(word.span(), "a key member cannot be optional"));
    }
    if let Some((word, _)) = attrs.default.as_ref().filter(|_| is_option) {
        return Err(Error::new(word.span(), "an optional member is absent by default"));
    }
    let word = attrs.present.iter().find(|word| *word == "try_construct");
    let span = word.map_or_else(proc_macro2::Span::call_site, Ident::span);
    if attrs.try_construct == TryConstruct::Trim && attrs.bound.is_none() && attrs.described.is_none() {
        return Err(Error::new(span, "there is nothing to trim without `bound`"));
    }
    Ok(())
}

/// The value of `default = value`; string literals become whatever string type the field has.
pub(crate) fn default_expr(attrs: &MemberAttrs, ident: &Ident) -> Result<Option<Expr>> {
    match &attrs.default {
        None => Ok(None),
        Some((word, None)) => {
            Err(Error::new(word.span(), format!("say which value `{ident}` has by default: `default = ...`")))
        }
        Some((_, Some(Expr::Lit(lit)))) if matches!(lit.lit, syn::Lit::Str(_)) => {
            Ok(Some(syn::parse_quote!(::core::convert::From::from(#lit))))
        }
        Some((_, Some(value))) => Ok(Some(value.clone())),
    }
}
