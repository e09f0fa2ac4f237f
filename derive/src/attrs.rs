//! Parsing of `#[dds(...)]`.

use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::Parse;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Ident, Lit, LitInt, LitStr, Path, Result, Token, Type};

/// Extensibility of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extensibility {
    Final,
    Appendable,
    Mutable,
}

/// What a Rust type stands for, as far as attributes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Union,
    Bitmask,
    Transparent,
}

/// Attributes of a type.
#[derive(Default)]
pub(crate) struct TypeAttrs {
    pub name: Option<LitStr>,
    pub extensibility: Option<(Ident, Extensibility)>,
    pub nested: bool,
    /// Whether ids are hashes of names, if that is said.
    pub autoid: Option<(Ident, bool)>,
    pub krate: Option<Path>,
    pub bit_bound: Option<LitInt>,
    /// Flags of a bitmask or fields of a bitset.
    pub bits: Vec<Bits>,
    pub kind: Option<(Kind, Ident)>,
    pub discriminator: Option<Type>,
    pub key: Option<Ident>,
    /// `u8` in the discriminator or behind the alias is `uint8`.
    pub uint8: Option<Ident>,
    /// What the discriminator, or what is behind the alias, is in IDL.
    pub described: Option<(Ident, Type)>,
    /// The one representation that the type allows: whether it is XCDR2.
    pub representation: Option<(Ident, bool)>,
    /// What becomes of a discriminator that does not fit.
    pub try_construct: Option<(Ident, TryConstruct)>,
    /// Annotations that the source declares itself, of the type and its parts.
    pub annotations: Option<Expr>,
}

/// A flag of a bitmask or a field of a bitset.
pub(crate) struct Bits {
    pub name: Ident,
    pub position: u8,
    pub width: u8,
    /// The type of the value, if it is said: a variant of `PrimitiveKind`.
    pub holder: Option<Ident>,
}

/// How the id of a member is given.
pub(crate) enum IdAttr {
    Number(LitInt),
    Hash(Option<LitStr>),
}

/// What becomes of a value that the type cannot hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TryConstruct {
    #[default]
    Discard,
    Default,
    Trim,
}

/// Attributes of a field or variant.
#[derive(Default)]
pub(crate) struct MemberAttrs {
    pub key: Option<Ident>,
    pub id: Option<IdAttr>,
    pub name: Option<LitStr>,
    pub optional: Option<Ident>,
    pub must_understand: bool,
    pub default: Option<(Ident, Option<Expr>)>,
    pub bound: Option<Expr>,
    /// `u8` in the type is `uint8`, not `octet`.
    pub uint8: Option<Ident>,
    /// What the member is in IDL.
    pub described: Option<Type>,
    pub unit: Option<LitStr>,
    pub min: Option<Expr>,
    pub max: Option<Expr>,
    pub try_construct: TryConstruct,
    pub external: Option<Ident>,
    pub non_serialized: bool,
    pub base: Option<Ident>,
    pub cases: Vec<Expr>,
    pub discriminator: Option<Ident>,
    /// The attributes present, to refuse those without meaning in a place.
    pub present: Vec<Ident>,
}

fn ident(meta: &ParseNestedMeta<'_>) -> Result<Ident> {
    meta.path.get_ident().cloned().ok_or_else(|| Error::new(meta.path.span(), "expected a single word"))
}

fn twice(word: &Ident) -> Error {
    Error::new(word.span(), format!("`{word}` is given twice"))
}

/// Sets an option that may be given once.
fn set<T>(slot: &mut Option<T>, at: &Ident, value: T) -> Result<()> {
    if slot.is_some() {
        return Err(twice(at));
    }
    *slot = Some(value);
    Ok(())
}

/// A type given as such or in a string.
fn parse_type(meta: &ParseNestedMeta<'_>) -> Result<Type> {
    let value = meta.value()?;
    if value.peek(LitStr) { value.parse::<LitStr>()?.parse() } else { value.parse() }
}

fn parse_path(meta: &ParseNestedMeta<'_>) -> Result<Path> {
    let value = meta.value()?;
    if value.peek(LitStr) { value.parse::<LitStr>()?.parse() } else { value.call(Path::parse_mod_style) }
}

fn dds_attributes(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("dds"))
}

impl TypeAttrs {
    /// Whether ids are hashes of names.
    pub(crate) fn autoid_hash(&self) -> bool {
        self.autoid.as_ref().is_some_and(|(_, is_hash)| *is_hash)
    }

    pub(crate) fn parse(attrs: &[Attribute]) -> Result<Self> {
        let mut result = Self::default();
        for attr in dds_attributes(attrs) {
            attr.parse_nested_meta(|meta| result.parse_one(&meta))?;
        }
        Ok(result)
    }

    fn parse_one(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let word = ident(meta)?;
        match word.unraw().to_string().as_str() {
            "name" => set(&mut self.name, &word, meta.value()?.parse()?),
            "final" => set(&mut self.extensibility, &word, (word.clone(), Extensibility::Final)),
            "appendable" => set(&mut self.extensibility, &word, (word.clone(), Extensibility::Appendable)),
            "mutable" => set(&mut self.extensibility, &word, (word.clone(), Extensibility::Mutable)),
            "nested" => {
                self.nested = true;
                Ok(())
            }
            "autoid" => {
                let is_hash = parse_choice(meta, &["sequential", "hash"])? == 1;
                set(&mut self.autoid, &word, (word.clone(), is_hash))
            }
            "crate" => set(&mut self.krate, &word, parse_path(meta)?),
            "bit_bound" => set(&mut self.bit_bound, &word, meta.value()?.parse()?),
            "bits" if self.bits.is_empty() => {
                self.bits = parse_bits(meta)?;
                Ok(())
            }
            "bits" => Err(twice(&word)),
            "union" => set(&mut self.kind, &word, (Kind::Union, word.clone())),
            "bitmask" | "bitset" => set(&mut self.kind, &word, (Kind::Bitmask, word.clone())),
            "transparent" => set(&mut self.kind, &word, (Kind::Transparent, word.clone())),
            "discriminator" => set(&mut self.discriminator, &word, parse_type(meta)?),
            "key" => set(&mut self.key, &word, word.clone()),
            "uint8" => set(&mut self.uint8, &word, word.clone()),
            "as" => set(&mut self.described, &word, (word.clone(), parse_type(meta)?)),
            "data_representation" => {
                let is_xcdr2 = parse_choice(meta, &["xcdr1", "xcdr2"])? == 1;
                set(&mut self.representation, &word, (word.clone(), is_xcdr2))
            }
            "try_construct" => {
                set(&mut self.try_construct, &word, (word.clone(), parse_try_construct(meta)?))
            }
            "annotations" => set(&mut self.annotations, &word, meta.value()?.parse()?),
            _ => Err(Error::new(
                word.span(),
                format!(
                    "unknown attribute `{word}`; on types there are: name, final, appendable, mutable, nested, autoid, \
                     crate, bit_bound, bits, union, discriminator, key, uint8, as, try_construct, \
                     data_representation, annotations, bitmask, bitset, transparent"
                ),
            )),
        }
    }
}

/// Parses `= "word"` and returns the index of the word among the choices.
fn parse_choice(meta: &ParseNestedMeta<'_>, choices: &[&str]) -> Result<usize> {
    let text: LitStr = meta.value()?.parse()?;
    let found = choices.iter().position(|choice| text.value().eq_ignore_ascii_case(choice));
    found.ok_or_else(|| Error::new(text.span(), format!("expected one of: {}", choices.join(", "))))
}

fn parse_try_construct(meta: &ParseNestedMeta<'_>) -> Result<TryConstruct> {
    Ok(match parse_choice(meta, &["discard", "default", "trim"])? {
        0 => TryConstruct::Discard,
        1 => TryConstruct::Default,
        _ => TryConstruct::Trim,
    })
}

/// Parses `= expr` or `(expr, expr)`.
fn parse_cases(meta: &ParseNestedMeta<'_>) -> Result<Vec<Expr>> {
    if meta.input.peek(Token![=]) {
        return Ok(vec![meta.value()?.parse()?]);
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let cases = content.parse_terminated(Expr::parse, Token![,])?;
    if cases.is_empty() {
        return Err(Error::new(meta.path.span(), "a case needs at least one label"));
    }
    Ok(cases.into_iter().collect())
}

/// The variant of `PrimitiveKind` for the type of a bit field's value, and how many bits that has.
fn parse_holder(content: syn::parse::ParseStream<'_>) -> Result<(Ident, u8)> {
    let word: Ident = content.parse()?;
    let (kind, bits) = match word.to_string().as_str() {
        "bool" => ("Boolean", 1),
        "u8" => ("Octet", 8),
        "uint8" => ("UInt8", 8),
        "i8" => ("Int8", 8),
        "u16" => ("UInt16", 16),
        "i16" => ("Int16", 16),
        "u32" => ("UInt32", 32),
        "i32" => ("Int32", 32),
        "u64" => ("UInt64", 64),
        "i64" => ("Int64", 64),
        _ => return Err(Error::new(word.span(), "a bit field has an integer, `bool` or `uint8` as value")),
    };
    Ok((Ident::new(kind, word.span()), bits))
}

/// Parses `(name = 0, other = 3..7, signed: i8 = 7..12)`: a position, or the first position and the one after the last.
fn parse_bits(meta: &ParseNestedMeta<'_>) -> Result<Vec<Bits>> {
    let content;
    syn::parenthesized!(content in meta.input);
    let mut bits = Vec::new();
    while !content.is_empty() {
        let name = content.call(Ident::parse_any)?;
        let holder = if content.peek(Token![:]) {
            content.parse::<Token![:]>()?;
            Some(parse_holder(&content)?)
        } else {
            None
        };
        content.parse::<Token![=]>()?;
        let first: LitInt = content.parse()?;
        let position: u8 = first.base10_parse()?;
        let mut width = 1;
        if content.peek(Token![..]) {
            content.parse::<Token![..]>()?;
            let end: LitInt = content.parse()?;
            width = end.base10_parse::<u8>()?.saturating_sub(position);
        }
        if width == 0 || position.saturating_add(width) > 64 {
            return Err(Error::new(first.span(), "there are bits 0 to 63, and a field has at least one"));
        }
        if holder.as_ref().is_some_and(|(_, most)| *most < width) {
            return Err(Error::new(first.span(), "the type of the field has less bits"));
        }
        bits.push(Bits { name, position, width, holder: holder.map(|(kind, _)| kind) });
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    Ok(bits)
}

/// What is said of a member without an effect on its values.
#[derive(Default)]
pub(crate) struct Annotations {
    pub unit: Option<String>,
    pub min: Option<Expr>,
    pub max: Option<Expr>,
    /// The name whose hash the id is; empty for the member's own.
    pub hash_id: Option<String>,
}

impl MemberAttrs {
    /// What is said of the member; `autoid`: ids are hashes of names without annotation.
    pub(crate) fn annotations(&self, autoid: bool) -> Annotations {
        let hash_id = match &self.id {
            Some(IdAttr::Hash(Some(text))) if !text.value().is_empty() => Some(text.value()),
            Some(IdAttr::Hash(_)) if !autoid => Some(String::new()),
            _ => None,
        };
        Annotations {
            unit: self.unit.as_ref().map(LitStr::value),
            min: self.min.clone(),
            max: self.max.clone(),
            hash_id,
        }
    }

    pub(crate) fn parse(attrs: &[Attribute]) -> Result<Self> {
        let mut result = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("default")) {
            let word = Ident::new("default", attr.span());
            result.present.push(word.clone());
            set(&mut result.default, &word, (word.clone(), None))?;
        }
        for attr in dds_attributes(attrs) {
            attr.parse_nested_meta(|meta| result.parse_one(&meta))?;
        }
        Ok(result)
    }

    fn parse_one(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let word = ident(meta)?;
        if word != "case" && self.present.contains(&word) {
            return Err(twice(&word));
        }
        self.present.push(word.clone());
        match word.unraw().to_string().as_str() {
            "key" => set(&mut self.key, &word, word.clone()),
            "id" => set(&mut self.id, &word, IdAttr::Number(meta.value()?.parse()?)),
            "hashid" => {
                let name = meta.input.peek(Token![=]).then(|| meta.value()?.parse()).transpose()?;
                set(&mut self.id, &word, IdAttr::Hash(name))
            }
            "name" => set(&mut self.name, &word, meta.value()?.parse()?),
            "optional" => set(&mut self.optional, &word, word.clone()),
            "must_understand" => {
                self.must_understand = true;
                Ok(())
            }
            "default" => {
                let value = meta.input.peek(Token![=]).then(|| meta.value()?.parse()).transpose()?;
                set(&mut self.default, &word, (word.clone(), value))
            }
            "bound" => set(&mut self.bound, &word, meta.value()?.parse()?),
            "uint8" => set(&mut self.uint8, &word, word.clone()),
            "as" => set(&mut self.described, &word, parse_type(meta)?),
            "unit" => set(&mut self.unit, &word, meta.value()?.parse()?),
            "min" => set(&mut self.min, &word, meta.value()?.parse()?),
            "max" => set(&mut self.max, &word, meta.value()?.parse()?),
            "try_construct" => {
                self.try_construct = parse_try_construct(meta)?;
                Ok(())
            }
            "external" => set(&mut self.external, &word, word.clone()),
            "non_serialized" => {
                self.non_serialized = true;
                Ok(())
            }
            "base" => set(&mut self.base, &word, word.clone()),
            "discriminator" => set(&mut self.discriminator, &word, word.clone()),
            "case" => {
                self.cases.extend(parse_cases(meta)?);
                Ok(())
            }
            _ => Err(Error::new(word.span(), format!("unknown attribute `{word}` of a field or variant"))),
        }
    }

    /// Refuses attributes that have no meaning here.
    pub(crate) fn allow(&self, place: &str, allowed: &[&str]) -> Result<()> {
        match self.present.iter().find(|word| !allowed.iter().any(|name| *word == name)) {
            Some(word) => Err(Error::new(word.span(), format!("`{word}` has no meaning on {place}"))),
            None => Ok(()),
        }
    }
}

/// The `T` of a type written as `wrapper<T>`.
pub(crate) fn inner_of<'a>(ty: &'a Type, wrapper: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if path.qself.is_some() || last.ident != wrapper {
        return None;
    }
    let syn::PathArguments::AngleBracketed(args) = &last.arguments else { return None };
    match (args.args.len(), args.args.first()) {
        (1, Some(syn::GenericArgument::Type(inner))) => Some(inner),
        _ => None,
    }
}

/// Whether a type mentions this name anywhere.
pub(crate) fn mentions(ty: &Type, name: &Ident) -> bool {
    struct Finder<'a>(&'a Ident, bool);
    impl Finder<'_> {
        fn tokens(&mut self, tokens: proc_macro2::TokenStream) {
            for token in tokens {
                match token {
                    proc_macro2::TokenTree::Ident(ident) if ident == *self.0 || ident == "Self" => {
                        self.1 = true
                    }
                    proc_macro2::TokenTree::Group(group) => self.tokens(group.stream()),
                    _ => {}
                }
            }
        }
    }
    let mut finder = Finder(name, false);
    finder.tokens(quote::ToTokens::to_token_stream(ty));
    finder.1
}

/// The value of an integer literal, with sign.
pub(crate) fn integer(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => int.base10_parse().ok(),
            Lit::Byte(byte) => Some(i128::from(byte.value())),
            Lit::Char(c) => Some(i128::from(u32::from(c.value()))),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => integer(&unary.expr).map(|n| -n),
        _ => None,
    }
}
