//! Unions (DDS-XTypes 1.3 §7.2.2.4.4.3): the model that the code generators work on.

mod labels;
mod read;
mod write;

use labels::Labels;
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DataEnum, Error, Expr, Field, Ident, Index, Member, Result, Type, Variant};

use crate::attrs::{Annotations, IdAttr, MemberAttrs, TryConstruct, inner_of, mentions};
use crate::container::Container;
use crate::ids;
use crate::structure::default_expr;

/// The attributes of the member that a variant selects.
const MEMBER: &[&str] = &[
    "bound",
    "external",
    "uint8",
    "as",
    "must_understand",
    "default",
    "try_construct",
    "unit",
    "min",
    "max",
];

/// The member that a variant selects.
pub(crate) struct Value<'a> {
    pub member: Member,
    pub ty: &'a Type,
    pub bound: Option<Expr>,
    /// `u8` in the type is `uint8`.
    pub uint8: bool,
    /// What it is in IDL.
    pub described: Option<Type>,
    pub must_understand: bool,
    pub default: Option<Expr>,
    pub try_construct: TryConstruct,
    /// Held by a pointer to other languages too.
    pub external: bool,
    /// The type may contain the union, so it has no greatest size.
    pub recursive: bool,
}

/// A case of a union.
pub(crate) struct Case<'a> {
    pub ident: &'a Ident,
    /// The name of the member in IDL.
    pub name: String,
    pub labels: Vec<Expr>,
    pub is_default: bool,
    pub id: u32,
    pub annotations: Annotations,
    pub value: Option<Value<'a>>,
    /// The field that keeps the discriminator.
    pub kept: Option<Member>,
}

/// A union to derive for.
pub(crate) struct Union<'a> {
    pub container: &'a Container<'a>,
    pub discriminator: &'a Type,
    pub cases: Vec<Case<'a>>,
}

pub(crate) fn expand(container: &Container<'_>, data: &DataEnum) -> Result<TokenStream> {
    let union = Union::new(container, data)?;
    let mut tokens = TokenStream::new();
    if container.wants_write() {
        tokens.extend(union.write()?);
    }
    if container.wants_read() {
        tokens.extend(union.read()?);
    }
    if container.wants_description() {
        tokens.extend(union.describe());
    }
    if container.wants_topic_type() && container.input.generics.params.is_empty() {
        let has_key = container.attrs.key.is_some();
        tokens.extend(container.topic_type(&quote!(#has_key), container.is_mutable())?);
    }
    Ok(tokens)
}

impl<'a> Union<'a> {
    fn new(container: &'a Container<'a>, data: &'a DataEnum) -> Result<Self> {
        let Some(discriminator) = &container.attrs.discriminator else {
            return Err(Error::new_spanned(
                container.ident(),
                "a union needs the type of its discriminator: #[dds(union, discriminator = \"i32\")]",
            ));
        };
        if let Some(word) = &container.attrs.uint8 {
            crate::uint8::check(word, discriminator)?;
        }
        let mut cases: Vec<Case<'a>> = Vec::new();
        for variant in &data.variants {
            let case = parse_case(container, variant, &cases)?;
            if let Some(other) = cases.iter().find(|other| other.name == case.name) {
                let message = format!("has the same name as `{}`", other.ident);
                return Err(Error::new(variant.ident.span(), message));
            }
            if let Some(other) = cases.iter().find(|other| other.id == case.id) {
                let message = format!("has the same member id as `{}`; set one with `id`", other.ident);
                return Err(Error::new(variant.ident.span(), message));
            }
            cases.push(case);
        }
        if cases.is_empty() {
            return Err(Error::new_spanned(container.ident(), "a union needs at least one case"));
        }
        let union = Self { container, discriminator, cases };
        union.labels().check(&union)?;
        Ok(union)
    }

    pub(crate) fn labels(&self) -> Labels {
        Labels::of(self.discriminator)
    }

    /// What becomes of a discriminator that does not fit.
    pub(crate) fn try_construct(&self) -> TryConstruct {
        self.container.attrs.try_construct.as_ref().map_or(TryConstruct::Discard, |(_, how)| *how)
    }

    pub(crate) fn default_case(&self) -> Option<&Case<'a>> {
        self.cases.iter().find(|case| case.is_default)
    }
}

fn parse_case<'a>(container: &Container<'_>, variant: &'a Variant, earlier: &[Case<'_>]) -> Result<Case<'a>> {
    let attrs = MemberAttrs::parse(&variant.attrs)?;
    attrs.allow("the case of a union", &["case", "default", "id", "hashid", "name"])?;
    if let Some((word, Some(_))) = &attrs.default {
        return Err(Error::new(word.span(), "the default case has no value: `default`"));
    }
    let is_default = attrs.default.is_some();
    if attrs.cases.is_empty() && !is_default {
        return Err(Error::new_spanned(
            variant,
            "say which labels select it: #[dds(case = 1)] or #[dds(default)]",
        ));
    }
    if let Some((word, _)) = attrs.default.as_ref().filter(|_| earlier.iter().any(|case| case.is_default)) {
        return Err(Error::new(word.span(), "another case is the default"));
    }
    let name = attrs.name.as_ref().map_or_else(|| variant.ident.unraw().to_string(), syn::LitStr::value);
    let id = case_id(container, &name, &attrs, earlier)?;
    if id > ids::MAX_ID {
        return Err(Error::new(variant.ident.span(), ids::TOO_GREAT));
    }
    let annotations = attrs.annotations(container.attrs.autoid_hash());
    let labels = attrs.cases;
    let mut case =
        Case { ident: &variant.ident, name, labels, is_default, id, annotations, value: None, kept: None };
    for (position, field) in variant.fields.iter().enumerate() {
        add_field(container, &mut case, position, field)?;
    }
    Ok(case)
}

/// Ids are sequential from 1: 0 is the discriminator's.
fn case_id(container: &Container<'_>, name: &str, attrs: &MemberAttrs, earlier: &[Case<'_>]) -> Result<u32> {
    match &attrs.id {
        Some(IdAttr::Number(number)) => match number.base10_parse::<u32>() {
            Ok(id @ 1..=ids::MAX_ID) => Ok(id),
            _ => Err(Error::new(number.span(), "the member id of a case is 1 to 0x0fffffff")),
        },
        Some(IdAttr::Hash(other)) => Ok(ids::hash_of(other.as_ref(), name)),
        None if container.attrs.autoid_hash() => Ok(ids::hash_id(name)),
        None => Ok(earlier.last().map_or(1, |case| case.id + 1)),
    }
}

fn add_field<'a>(
    container: &Container<'_>,
    case: &mut Case<'a>,
    position: usize,
    field: &'a Field,
) -> Result<()> {
    let attrs = MemberAttrs::parse(&field.attrs)?;
    let member = field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(position)), Member::Named);
    if attrs.discriminator.is_some() {
        attrs.allow("the kept discriminator", &["discriminator"])?;
        if case.kept.replace(member).is_some() {
            return Err(Error::new_spanned(field, "another field keeps the discriminator"));
        }
        return Ok(());
    }
    attrs.allow("the member of a union", MEMBER)?;
    if let Some(word) = &attrs.uint8 {
        crate::uint8::check(word, &field.ty)?;
    }
    let boxed = inner_of(&field.ty, "Box").is_some();
    if let Some(word) = attrs.external.as_ref().filter(|_| !boxed) {
        return Err(Error::new(word.span(), "an external member has the type `Box<...>`"));
    }
    if case.value.is_some() {
        return Err(Error::new_spanned(
            field,
            "a case has one member; a field for the discriminator is marked #[dds(discriminator)]",
        ));
    }
    if attrs.try_construct == TryConstruct::Trim && attrs.bound.is_none() && attrs.described.is_none() {
        return Err(Error::new_spanned(field, "there is nothing to trim without `bound`"));
    }
    let default = match &field.ident {
        Some(ident) => default_expr(&attrs, ident)?,
        None => default_expr(&attrs, case.ident)?,
    };
    let own = attrs.annotations(container.attrs.autoid_hash());
    case.annotations = Annotations { hash_id: case.annotations.hash_id.take(), ..own };
    case.value = Some(Value {
        member,
        ty: &field.ty,
        bound: attrs.bound,
        uint8: attrs.uint8.is_some(),
        described: attrs.described,
        must_understand: attrs.must_understand,
        default,
        try_construct: attrs.try_construct,
        external: attrs.external.is_some(),
        recursive: boxed || mentions(&field.ty, container.ident()),
    });
    Ok(())
}
