//! What a type is in IDL where the Rust type does not say it: with the types of `dunlin_cdr::idl`.

use super::Generator;
use super::uint8::is_mixed;
use crate::ir::*;

impl Generator<'_> {
    /// Whether the type says more than its Rust type: has names of typedefs in it, or elements with annotations.
    pub(super) fn says_more(&self, ty: &Type) -> bool {
        let element =
            |it: &Element| it.external || it.try_construct != TryConstruct::Discard || self.says_more(&it.ty);
        let more = match ty {
            Type::Sequence { element: it, .. } | Type::Array { element: it, .. } => element(it),
            Type::Map { key, value, .. } => element(key) || element(value),
            Type::Named(id) => self.is_alias(*id),
            _ => false,
        };
        more || is_mixed(self.model, ty)
    }

    pub(super) fn is_alias(&self, id: TypeId) -> bool {
        matches!(self.model.ty(id).map(|ty| &ty.kind), Some(Kind::Alias(_)))
    }

    /// The type that describes a member, if that says more than its Rust type.
    pub(super) fn described_member(&self, member: &Member, boxed: bool) -> Option<String> {
        // The derive knows of nothing to trim otherwise.
        let unbounded = member.try_construct == TryConstruct::Trim;
        if !self.says_more(&member.ty) && !unbounded {
            return None;
        }
        let described = self.described(&member.ty);
        Some(if boxed { format!("{}::idl::External<{described}>", self.options.cdr) } else { described })
    }

    /// The type that describes this one.
    pub(super) fn described(&self, ty: &Type) -> String {
        let idl = format!("{}::idl", self.options.cdr);
        let most = |bound: &Option<u32>| bound.map_or_else(String::new, |bound| format!(", {bound}"));
        match ty {
            Type::Uint8 => format!("{idl}::Uint8"),
            Type::String { bound } => format!("{idl}::Text<{}>", bound.unwrap_or(0)),
            Type::WideString { bound } => format!("{idl}::WideText<{}>", bound.unwrap_or(0)),
            Type::Sequence { element, bound } => {
                format!("{idl}::Sequence<{}{}>", self.described_element(element), most(bound))
            }
            Type::Array { element, dimensions } => {
                let inner = self.described(&element.ty);
                let is_row = self.is_row(&element.ty);
                let inner = if is_row { format!("{idl}::RowOf<{inner}>") } else { inner };
                let inner = self.with_flags(inner, element);
                dimensions.iter().rev().fold(inner, |inner, size| format!("{idl}::Array<{inner}, {size}>"))
            }
            Type::Map { key, value, bound } => format!(
                "{idl}::Map<{}, {}{}>",
                self.described_element(key),
                self.described_element(value),
                most(bound)
            ),
            Type::Named(id) => match self.aliases.get(id) {
                Some(alias) => format!("{idl}::Alias<{}>", self.path_of(alias)),
                None => format!("{idl}::Plain<{}>", self.path_to(*id)),
            },
            other => format!("{idl}::Plain<{}>", self.plain_type(other)),
        }
    }

    fn described_element(&self, element: &Element) -> String {
        self.with_flags(self.described(&element.ty), element)
    }

    fn with_flags(&self, described: String, element: &Element) -> String {
        let idl = format!("{}::idl", self.options.cdr);
        let tried = match element.try_construct {
            TryConstruct::Discard => described,
            TryConstruct::UseDefault => format!("{idl}::UseDefault<{described}>"),
            TryConstruct::Trim if !self.is_bounded(&element.ty) => {
                format!("{idl}::TrimUnbounded<{described}>")
            }
            TryConstruct::Trim => format!("{idl}::Trim<{described}>"),
        };
        if element.external { format!("{idl}::External<{tried}>") } else { tried }
    }

    fn is_bounded(&self, ty: &Type) -> bool {
        match self.model.resolve(ty) {
            Type::String { bound }
            | Type::WideString { bound }
            | Type::Sequence { bound, .. }
            | Type::Map { bound, .. } => bound.is_some(),
            _ => false,
        }
    }

    /// A typedef: another name for the Rust type, and what describes it.
    pub(super) fn alias(&mut self, id: TypeId, name: &str, ty: &TypeDef, alias: &Alias) {
        let cdr = self.options.cdr.clone();
        self.docs(ty.docs.as_deref());
        let target = self.plain_type(&alias.ty);
        self.line(&format!("pub type {name} = {target};"));
        let described = self.described(&alias.ty);
        let marker = self.aliases.get(&id).and_then(|path| path.last()).cloned().unwrap_or_default();
        self.line("");
        self.line(&format!("/// What [`{}`] is called in IDL.", name.trim_start_matches("r#")));
        self.line("#[doc(hidden)]");
        self.allow();
        self.line(&format!("pub enum {marker} {{}}"));
        self.line("");
        self.open(&format!("impl {cdr}::idl::AliasOf for {marker} {{"));
        self.line(&format!("const NAME: &'static str = \"{}\";", ty.full_name));
        if let Some(said) = self.said.get(&ty.full_name) {
            self.line(&format!("const ANNOTATIONS: {cdr}::annotation::TypeAnnotations = {said};"));
        }
        self.line(&format!("type Target = {described};"));
        self.close("}");
    }
}
