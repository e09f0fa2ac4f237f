//! What all derived types have in common: crate path, generics, extensibility, the parts to generate.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, GenericParam, Generics, Ident, Lifetime, Result, parse_quote};

use crate::attrs::{Bits, Extensibility, Kind, TryConstruct, TypeAttrs};
use crate::manifest::name_in;
use crate::{enumeration, newtype, structure, union};

/// Which traits to implement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    All,
    Read,
    Write,
}

/// A type to derive for.
pub(crate) struct Container<'a> {
    pub input: &'a DeriveInput,
    pub attrs: TypeAttrs,
    pub output: Output,
    /// Path of `dunlin-cdr`.
    pub krate: TokenStream,
}

impl<'a> Container<'a> {
    pub(crate) fn new(input: &'a DeriveInput, output: Output) -> Result<Self> {
        let attrs = TypeAttrs::parse(&input.attrs)?;
        let krate = match &attrs.krate {
            Some(path) => quote!(#path),
            None => find_crate()?,
        };
        Ok(Self { input, attrs, output, krate })
    }

    pub(crate) fn expand(&self) -> Result<TokenStream> {
        self.check_attributes()?;
        match (&self.input.data, self.kind()) {
            (Data::Struct(data), Some(Kind::Bitmask | Kind::Transparent)) => newtype::expand(self, data),
            (Data::Struct(data), None) => structure::expand(self, data),
            (Data::Enum(data), Some(Kind::Union)) => union::expand(self, data),
            (Data::Enum(data), None) => {
                match data.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
                    Some(variant) => Err(Error::new_spanned(
                        variant,
                        "an enum with fields is a union: add #[dds(union, discriminator = \"...\")] to it",
                    )),
                    None => enumeration::expand(self, data),
                }
            }
            (Data::Struct(_), Some(Kind::Union)) => Err(self.wrong_kind("a union is derived for an `enum`")),
            (Data::Enum(_), _) => {
                Err(self.wrong_kind("this attribute needs a `struct` with one unnamed field"))
            }
            (Data::Union(_), _) => Err(Error::new_spanned(
                self.ident(),
                "Rust unions cannot be derived; an IDL union is an `enum` with #[dds(union)]",
            )),
        }
    }

    pub(crate) fn kind(&self) -> Option<Kind> {
        self.attrs.kind.as_ref().map(|(kind, _)| *kind)
    }

    fn wrong_kind(&self, message: &str) -> Error {
        let span = self.attrs.kind.as_ref().map_or_else(Span::call_site, |(_, word)| word.span());
        Error::new(span, message)
    }

    /// Refuses attributes that this kind of type does not honour.
    fn check_attributes(&self) -> Result<()> {
        let is_union = self.kind() == Some(Kind::Union);
        let is_enum = matches!(self.input.data, Data::Enum(_)) && !is_union;
        if let Some(ty) = self.attrs.discriminator.as_ref().filter(|_| !is_union) {
            return Err(Error::new_spanned(ty, "only a union has a discriminator: add `union`"));
        }
        if let Some(word) = self.attrs.key.as_ref().filter(|_| !is_union) {
            return Err(Error::new(
                word.span(),
                "`key` belongs on fields; on a type it marks a union's discriminator",
            ));
        }
        let sized = is_enum || self.kind() == Some(Kind::Bitmask);
        if let Some(bound) = self.attrs.bit_bound.as_ref().filter(|_| !sized) {
            return Err(Error::new(bound.span(), "only enumerations and bitmasks have a bit_bound"));
        }
        let has_type = is_union || self.kind() == Some(Kind::Transparent);
        if let Some(word) = self.attrs.uint8.as_ref().filter(|_| !has_type) {
            let message =
                "`uint8` belongs on fields; on a type it is for the discriminator of a union, or an alias";
            return Err(Error::new(word.span(), message));
        }
        if let Some((word, _)) = self.attrs.described.as_ref().filter(|_| !has_type) {
            let message =
                "`as` belongs on fields; on a type it is for the discriminator of a union, or an alias";
            return Err(Error::new(word.span(), message));
        }
        if let Some(said) = self.attrs.annotations.as_ref().filter(|_| self.kind() == Some(Kind::Transparent))
        {
            return Err(Error::new_spanned(said, "a transparent type has the description of what is in it"));
        }
        let is_struct = matches!(self.input.data, Data::Struct(_)) && self.kind().is_none();
        if let Some((word, _)) = self.attrs.representation.as_ref().filter(|_| !is_union && !is_struct) {
            return Err(Error::new(
                word.span(),
                "only topic types, structures and unions, have a representation",
            ));
        }
        match &self.attrs.try_construct {
            Some((word, _)) if !is_union => {
                let message =
                    "`try_construct` belongs on fields; on a type it is for the discriminator of a union";
                return Err(Error::new(word.span(), message));
            }
            Some((word, TryConstruct::Trim)) => {
                return Err(Error::new(word.span(), "there is nothing to trim in a discriminator"));
            }
            _ => {}
        }
        if let Some((word, _)) = self.attrs.autoid.as_ref().filter(|_| !is_union && !is_struct) {
            return Err(Error::new(word.span(), "only structures and unions have member ids"));
        }
        let is_transparent = self.kind() == Some(Kind::Transparent);
        if let Some((word, _)) = self.attrs.extensibility.as_ref().filter(|_| is_transparent) {
            return Err(Error::new(word.span(), "a transparent type has the extensibility of what is in it"));
        }
        let of_bits = self.kind() == Some(Kind::Bitmask);
        if let Some(Bits { name, .. }) = self.attrs.bits.first().filter(|_| !of_bits) {
            return Err(Error::new(name.span(), "only bitmasks and bitsets have bits"));
        }
        Ok(())
    }

    pub(crate) fn ident(&self) -> &'a Ident {
        &self.input.ident
    }

    pub(crate) fn extensibility(&self) -> Extensibility {
        self.attrs.extensibility.as_ref().map_or(Extensibility::Appendable, |(_, said)| *said)
    }

    pub(crate) fn extensibility_tokens(&self) -> TokenStream {
        let krate = &self.krate;
        match self.extensibility() {
            Extensibility::Final => quote!(#krate::Extensibility::Final),
            Extensibility::Appendable => quote!(#krate::Extensibility::Appendable),
            Extensibility::Mutable => quote!(#krate::Extensibility::Mutable),
        }
    }

    pub(crate) fn is_mutable(&self) -> bool {
        self.extensibility() == Extensibility::Mutable
    }

    /// The name of the type for announcements and errors.
    pub(crate) fn type_name(&self) -> String {
        self.attrs.name.as_ref().map_or_else(|| self.ident().to_string(), syn::LitStr::value)
    }

    pub(crate) fn wants_write(&self) -> bool {
        self.output != Output::Read
    }

    pub(crate) fn wants_read(&self) -> bool {
        self.output != Output::Write
    }

    /// Whether to make a topic type of it.
    pub(crate) fn wants_topic_type(&self) -> bool {
        self.output == Output::All && !self.attrs.nested
    }

    /// `impl ... trait for Type where ...` of a writing trait.
    pub(crate) fn write_header(&self, name: &TokenStream) -> TokenStream {
        let (krate, ident) = (&self.krate, self.ident());
        let mut generics = self.input.generics.clone();
        for param in generics.type_params_mut() {
            param.bounds.push(parse_quote!(#krate::CdrWrite));
        }
        let (impl_generics, _, where_clause) = generics.split_for_impl();
        let (_, type_generics, _) = self.input.generics.split_for_impl();
        quote! {
            #[automatically_derived]
            #[allow(unreachable_patterns)]
            impl #impl_generics #krate::#name for #ident #type_generics #where_clause
        }
    }

    /// `impl<'de, ...> trait<'de> for Type where ...` of a reading trait.
    pub(crate) fn read_header(&self, name: &TokenStream) -> TokenStream {
        let (krate, ident) = (&self.krate, self.ident());
        let generics = self.read_generics();
        let (impl_generics, _, where_clause) = generics.split_for_impl();
        let (_, type_generics, _) = self.input.generics.split_for_impl();
        quote! {
            #[automatically_derived]
            #[allow(unreachable_patterns)]
            impl #impl_generics #krate::#name<'de> for #ident #type_generics #where_clause
        }
    }

    fn read_generics(&self) -> Generics {
        let krate = &self.krate;
        let mut generics = self.input.generics.clone();
        let outlived: Vec<Lifetime> = generics.lifetimes().map(|param| param.lifetime.clone()).collect();
        for param in generics.type_params_mut() {
            param.bounds.push(parse_quote!(#krate::CdrRead<'de>));
            if self.output == Output::All {
                param.bounds.push(parse_quote!(#krate::CdrWrite));
            }
        }
        let de: GenericParam =
            if outlived.is_empty() { parse_quote!('de) } else { parse_quote!('de: #(#outlived)+*) };
        generics.params.insert(0, de);
        generics
    }

    /// The `DdsType` implementation of a structure or union.
    pub(crate) fn topic_type(&self, has_key: &TokenStream, prefers_xcdr2: bool) -> Result<TokenStream> {
        let generics = &self.input.generics;
        if let Some(param) = generics.params.iter().find(|p| !matches!(p, GenericParam::Const(_))) {
            return Err(Error::new_spanned(
                param,
                "a topic type has neither lifetimes nor type parameters: mark it #[dds(nested)], or derive CdrRead and \
                 CdrWrite instead",
            ));
        }
        let (krate, ident, name) = (&self.krate, self.ident(), self.type_name());
        let extensibility = self.extensibility_tokens();
        let only = self.attrs.representation.as_ref().map(|(_, is_xcdr2)| *is_xcdr2);
        let version = format_ident!("{}", if only.unwrap_or(prefers_xcdr2) { "Xcdr2" } else { "Xcdr1" });
        let allowed = only.map(|_| {
            quote! {
                const REPRESENTATIONS: &'static [#krate::Representation] = &[#krate::Representation::#version];
            }
        });
        let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
        Ok(quote! {
            #[automatically_derived]
            impl #impl_generics #krate::DdsType for #ident #type_generics #where_clause {
                const TYPE_NAME: &'static str = #name;
                const EXTENSIBILITY: #krate::Extensibility = #extensibility;
                const HAS_KEY: bool = #has_key;
                const MAX_KEY_SIZE: ::core::option::Option<usize> =
                    <Self as #krate::CdrWrite>::KEY_SIZE.max_size();
                const DEFAULT_REPRESENTATION: #krate::Representation = #krate::Representation::#version;
                #allowed
            }
        })
    }
}

/// The path of `dunlin-cdr` in the crate that derives. Both crates name themselves with `extern crate self`.
fn find_crate() -> Result<TokenStream> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").map(std::path::PathBuf::from).unwrap_or_default();
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    if let Some(name) = name_in(&manifest, "dunlin-cdr") {
        let name = format_ident!("{name}");
        return Ok(quote!(::#name));
    }
    if let Some(name) = name_in(&manifest, "dunlin") {
        let name = format_ident!("{name}");
        return Ok(quote!(::#name::cdr));
    }
    Err(Error::new(
        Span::call_site(),
        "neither `dunlin` nor `dunlin-cdr` is a dependency; say where it is with #[dds(crate = \"path\")]",
    ))
}
