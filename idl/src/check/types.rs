//! Types where they are used, aliases, forward declarations, and what all declarations of types have in common.

use super::Checker;
use super::annotation::{Known, Place};
use super::scope::{Def, ScopeId};
use crate::ir::*;
use crate::source::Span;
use crate::syntax::ast::{
    Annotation, Base, Declarator, Definition, Ident, ScopedName, TypeDecl, TypeDeclKind, TypeKind, TypeSpec,
};

/// What annotations say about a type.
#[derive(Clone, Debug, Default)]
pub(super) struct TypeSettings {
    extensibility: Option<(Extensibility, Span)>,
    nested: Option<bool>,
    autoid_hash: Option<bool>,
    pub bit_bound: Option<(u16, Span)>,
    pub ignore_literal_names: bool,
    data_representation: Option<u32>,
    verbatims: Vec<Verbatim>,
    custom: Vec<Applied>,
}

/// A type that is being declared.
pub(super) struct Begun {
    pub id: TypeId,
    pub scope: ScopeId,
    pub settings: TypeSettings,
}

impl Checker<'_> {
    /// Declares a type.
    pub(super) fn type_decl(&mut self, decl: &TypeDecl, annotations: &[Annotation], docs: Option<String>) {
        self.declare_type(decl, annotations, docs);
    }

    pub(super) fn declare_type(
        &mut self,
        decl: &TypeDecl,
        annotations: &[Annotation],
        docs: Option<String>,
    ) -> Option<TypeId> {
        match &decl.kind {
            TypeDeclKind::Struct { base, members } => {
                self.structure(&decl.name, base.as_ref(), members, annotations, docs)
            }
            TypeDeclKind::Exception { members } => self.exception(&decl.name, members, annotations, docs),
            TypeDeclKind::Union { discriminator, cases } => {
                self.union(&decl.name, discriminator, cases, annotations, docs)
            }
            TypeDeclKind::Enum { literals } => self.enumeration(&decl.name, literals, annotations, docs),
            TypeDeclKind::Bitmask { bits } => self.bitmask(&decl.name, bits, annotations, docs),
            TypeDeclKind::Bitset { base, fields } => {
                self.bitset(&decl.name, base.as_ref(), fields, annotations, docs)
            }
        }
    }

    fn type_settings(&mut self, annotations: &[Annotation], place: Place) -> TypeSettings {
        let mut settings = TypeSettings::default();
        for (known, span) in self.annotations(annotations, place) {
            match known {
                Known::Extensibility(extensibility) => {
                    if let Some((other, first)) =
                        settings.extensibility.filter(|(other, _)| *other != extensibility)
                    {
                        let message = format!("the extensibility is {other:?} already").to_lowercase();
                        self.sink.error(span, message).also(first, "given here");
                    }
                    settings.extensibility = Some((extensibility, span));
                }
                Known::Nested(nested) => settings.nested = Some(nested),
                Known::AutoId { hash } => settings.autoid_hash = Some(hash),
                Known::BitBound(bits) => settings.bit_bound = Some((bits, span)),
                Known::IgnoreLiteralNames(on) => settings.ignore_literal_names = on,
                Known::DataRepresentation(mask) => settings.data_representation = Some(mask),
                Known::Verbatim(verbatim) => settings.verbatims.push(verbatim),
                Known::Custom(applied) => settings.custom.push(applied),
                _ => {}
            }
        }
        settings
    }

    /// Gives a type its name, or finds the forward declaration that announced it. `kind` is empty so far.
    pub(super) fn begin(
        &mut self,
        name: &Ident,
        kind: Kind,
        place: Place,
        annotations: &[Annotation],
        docs: Option<String>,
    ) -> Begun {
        let settings = self.type_settings(annotations, place);
        let announced = match self.entry_here(&name.name).map(|entry| entry.def) {
            Some(Def::Type(id)) if self.forward.contains_key(&id) && same_kind(&self.model, id, &kind) => {
                Some(id)
            }
            _ => None,
        };
        let id = announced.unwrap_or_else(|| {
            let id = self.add_type(name, kind);
            self.declare(name, Def::Type(id));
            id
        });
        let scope = self.new_scope(Some(self.scope), &name.name, false);
        if let Some(slot) = self.type_scopes.get_mut(id.0) {
            *slot = Some(scope);
        }
        let mut docs = docs;
        for comment in settings.verbatims.iter().filter(|verbatim| verbatim.language == "comment") {
            docs =
                Some(docs.map_or_else(|| comment.text.clone(), |docs| format!("{docs}\n{}", comment.text)));
        }
        let (default_extensibility, defaults) = (self.options.default_extensibility, self.defaults);
        if let Some(ty) = self.model.types.get_mut(id.0) {
            ty.span = name.span;
            ty.docs = docs;
            ty.extensibility =
                settings.extensibility.map_or(default_extensibility, |(extensibility, _)| extensibility);
            ty.extensibility_given = settings.extensibility.is_some();
            ty.nested = settings.nested.unwrap_or(defaults.nested) || place == Place::Exception;
            ty.autoid_hash = settings.autoid_hash.unwrap_or(defaults.autoid_hash);
            ty.data_representation = settings.data_representation.or(defaults.data_representation);
            ty.verbatims = settings
                .verbatims
                .iter()
                .filter(|verbatim| verbatim.language != "comment")
                .cloned()
                .collect();
            ty.annotations = settings.custom.clone();
        }
        Begun { id, scope, settings }
    }

    fn add_type(&mut self, name: &Ident, kind: Kind) -> TypeId {
        let id = TypeId(self.model.types.len());
        self.model.types.push(TypeDef {
            name: name.name.to_string(),
            full_name: self.full_name(&name.name),
            span: name.span,
            docs: None,
            extensibility: self.options.default_extensibility,
            extensibility_given: false,
            nested: false,
            autoid_hash: false,
            data_representation: None,
            verbatims: Vec::new(),
            annotations: Vec::new(),
            kind,
        });
        self.type_scopes.push(None);
        self.complete.push(false);
        id
    }

    /// The type is whole from here on.
    pub(super) fn end(&mut self, id: TypeId, kind: Kind) {
        if let Some(ty) = self.model.types.get_mut(id.0) {
            ty.kind = kind;
        }
        if let Some(complete) = self.complete.get_mut(id.0) {
            // A second definition has been complained about.
            if !std::mem::replace(complete, true) {
                self.add_item(Item::Type(id));
            }
        }
        self.forward.remove(&id);
    }

    /// `struct X;` or `union X;`
    pub(super) fn forward(&mut self, definition: &Definition, union: bool, name: &Ident) {
        let place = Place::Forward;
        if !definition.annotations.is_empty() {
            let settings = self.type_settings(&definition.annotations, place);
            if settings.extensibility.is_some() || settings.nested.is_some() {
                self.sink
                    .warning(name.span, "annotations of a forward declaration are ignored")
                    .hint("put them in front of the definition");
            }
        }
        let kind = match union {
            true => Kind::Union(Union {
                discriminator: Type::Int32,
                key: false,
                try_construct: TryConstruct::Discard,
                annotations: Vec::new(),
                cases: Vec::new(),
            }),
            false => Kind::Struct(Struct::default()),
        };
        // Another declaration of the same type is fine.
        if let Some(entry) = self.entry_here(&name.name)
            && let Def::Type(id) = entry.def
            && entry.name == name.name
            && same_kind(&self.model, id, &kind)
        {
            return;
        }
        let id = self.add_type(name, kind);
        if self.declare(name, Def::Type(id)) {
            self.forward.insert(id, name.span);
        }
    }

    pub(super) fn typedef(&mut self, definition: &Definition, spec: &TypeSpec, declarators: &[Declarator]) {
        let annotations: Vec<Annotation> =
            definition.annotations.iter().chain(&spec.annotations).cloned().collect();
        let ty = match &spec.kind {
            // The annotations are about the type that is declared.
            TypeKind::Declared(decl) => {
                self.declare_type(decl, &annotations, definition.docs.clone()).map(Type::Named)
            }
            _ => self.type_spec(spec),
        };
        let declared = matches!(spec.kind, TypeKind::Declared(_));
        let settings = match declared {
            true => super::member::Settings::default(),
            false => self.settings(&annotations, Place::Typedef),
        };
        for declarator in declarators {
            let name = &declarator.name;
            if !self.pay(settings.cost(definition.docs.as_ref()), name.span) {
                return;
            }
            let ty = ty.clone().and_then(|ty| self.with_dimensions(ty, declarator));
            let depth = ty.as_ref().map_or(0, |ty| self.alias_depth(ty)).saturating_add(1);
            let Some(ty) = ty.filter(|_| self.may_be_alias(depth, name.span)) else {
                // The name is known all the same.
                let id = self.add_type(name, Kind::Struct(Struct::default()));
                self.mark_complete(id);
                self.declare(name, Def::Type(id));
                continue;
            };
            let inherited = self.inherited(&settings, &ty, name.span);
            let id = self.add_type(name, Kind::Alias(Alias { ty }));
            self.alias_depths.insert(id, depth);
            if let Some(alias) = self.model.types.get_mut(id.0) {
                alias.docs = definition.docs.clone().filter(|_| !declared);
                alias.annotations = settings.custom().to_vec();
                alias.nested = true;
            }
            self.mark_complete(id);
            self.inherited_settings.insert(id, inherited);
            if self.declare(name, Def::Type(id)) {
                self.add_item(Item::Type(id));
            }
        }
    }

    /// How many aliases lie one behind the other in a type.
    fn alias_depth(&self, ty: &Type) -> usize {
        match ty {
            Type::Named(id) => self.alias_depths.get(id).copied().unwrap_or(0),
            Type::Array { element, .. } | Type::Sequence { element, .. } => self.alias_depth(&element.ty),
            Type::Map { key, value, .. } => self.alias_depth(&key.ty).max(self.alias_depth(&value.ty)),
            _ => 0,
        }
    }

    /// Whether there are not too many aliases in a chain, each of which is gone through again for each that follows.
    fn may_be_alias(&mut self, depth: usize, span: Span) -> bool {
        let limit = self.options.limits.nesting;
        if depth > limit {
            self.sink.error(span, format!("there are more than {limit} aliases behind each other"));
        }
        depth <= limit
    }

    fn mark_complete(&mut self, id: TypeId) {
        if let Some(complete) = self.complete.get_mut(id.0) {
            *complete = true;
        }
    }

    /// An array, if the declarator has dimensions.
    pub(super) fn with_dimensions(&mut self, ty: Type, declarator: &Declarator) -> Option<Type> {
        if declarator.dimensions.is_empty() {
            return Some(ty);
        }
        let sizes: Vec<Option<u32>> =
            declarator.dimensions.iter().map(|size| self.size(size, "the size of an array")).collect();
        let dimensions = sizes.into_iter().collect::<Option<Vec<u32>>>()?;
        let product = dimensions.iter().try_fold(1u32, |product, size| product.checked_mul(*size));
        if product.is_none() {
            self.sink.error(declarator.name.span, "this array has more than 4294967295 elements");
            return None;
        }
        if let Some(id) = self.incomplete(&ty) {
            self.report_incomplete(id, declarator.name.span, "an array needs it; a sequence does not");
            return None;
        }
        let element = Element { ty, external: false, try_construct: TryConstruct::Discard };
        Some(Type::Array { element: Box::new(element), dimensions })
    }

    /// The type that is not defined yet, if values of `ty` contain it.
    pub(super) fn incomplete(&self, ty: &Type) -> Option<TypeId> {
        let mut ty = self.model.resolve(ty);
        // Arrays of aliases of arrays can be nested as deep as there are aliases.
        while let Type::Array { element, .. } = ty {
            ty = self.model.resolve(&element.ty);
        }
        match ty {
            Type::Named(id) if !self.complete.get(id.0).copied().unwrap_or(true) => Some(*id),
            _ => None,
        }
    }

    /// Whether a type may have this base: there are not too many above it.
    pub(super) fn check_depth(&mut self, base: TypeId, span: Span) -> bool {
        let (mut depth, mut next) = (0usize, Some(base));
        while let Some(ty) = next.and_then(|id| self.model.ty(id)) {
            depth = depth.saturating_add(1);
            next = match &ty.kind {
                Kind::Struct(structure) => structure.base,
                Kind::Bitset(bitset) => bitset.base,
                _ => None,
            };
        }
        let limit = self.options.limits.nesting;
        if depth > limit {
            self.sink.error(span, format!("there are more than {limit} bases above each other"));
        }
        depth <= limit
    }

    pub(super) fn report_incomplete(&mut self, id: TypeId, span: Span, why: &str) {
        let (name, declared) = match self.model.ty(id) {
            Some(ty) => (ty.full_name.clone(), ty.span),
            None => return,
        };
        self.sink.error(span, format!("`{name}` is not defined yet: {why}")).also(declared, "declared here");
    }

    /// The meaning of a type. Mistakes are reported.
    pub(super) fn type_spec(&mut self, spec: &TypeSpec) -> Option<Type> {
        Some(match &spec.kind {
            TypeKind::Base(base) => base_type(*base),
            TypeKind::Name(name) => self.named_type(name)?,
            TypeKind::String { wide, bound } => {
                let bound = match bound {
                    Some(bound) => Some(self.size(bound, "the bound of a string")?),
                    None => None,
                };
                if *wide { Type::WideString { bound } } else { Type::String { bound } }
            }
            TypeKind::Sequence(element, bound) => {
                let element = self.element(element);
                let bound = match bound {
                    Some(bound) => Some(self.size(bound, "the bound of a sequence")?),
                    None => None,
                };
                Type::Sequence { element: Box::new(element?), bound }
            }
            TypeKind::Map(key, value, bound) => {
                let (checked, value) = (self.element(key), self.element(value));
                let bound = match bound {
                    Some(bound) => Some(self.size(bound, "the bound of a map")?),
                    None => None,
                };
                let checked = checked?;
                self.check_map_key(&checked.ty, key.span);
                Type::Map { key: Box::new(checked), value: Box::new(value?), bound }
            }
            TypeKind::Declared(decl) => Type::Named(self.declare_type(decl, &spec.annotations, None)?),
            TypeKind::Refused | TypeKind::Any => return None,
        })
    }

    fn element(&mut self, spec: &TypeSpec) -> Option<Element> {
        let mut element =
            Element { ty: self.type_spec(spec)?, external: false, try_construct: TryConstruct::Discard };
        for (known, span) in self.annotations(&spec.annotations, Place::Element) {
            match known {
                Known::External(on) => element.external = on,
                Known::TryConstruct(how) => {
                    let resolved = self.model.resolve(&element.ty);
                    let collection = matches!(
                        resolved,
                        Type::String { .. }
                            | Type::WideString { .. }
                            | Type::Sequence { .. }
                            | Type::Map { .. }
                    );
                    if how == TryConstruct::Trim && !collection {
                        self.sink.error(span, "only strings, sequences and maps can be trimmed");
                    }
                    element.try_construct = how;
                }
                _ => {}
            }
        }
        Some(element)
    }

    fn check_map_key(&mut self, ty: &Type, span: Span) {
        let resolved = self.model.resolve(ty);
        let fits = match resolved {
            Type::Boolean | Type::Char | Type::WideChar | Type::String { .. } | Type::WideString { .. } => {
                true
            }
            Type::Named(id) => matches!(self.model.ty(*id).map(|ty| &ty.kind), Some(Kind::Enum(_))),
            other => super::integer_range(other).is_some(),
        };
        if !fits {
            let shown = self.show_type(ty);
            self.sink
                .error(span, format!("{shown} cannot be the key of a map"))
                .hint("keys are integers, strings, characters, booleans or enumerations");
        }
    }

    fn named_type(&mut self, name: &ScopedName) -> Option<Type> {
        match self.resolve(name)? {
            Def::Type(id) => {
                if matches!(self.model.ty(id).map(|ty| &ty.kind), Some(Kind::Exception(_))) {
                    self.sink.error(
                        name.span,
                        format!("`{}` is an exception, which is not the type of data", name.text()),
                    );
                    return None;
                }
                Some(Type::Named(id))
            }
            Def::Interface(..) => {
                self.sink.error(
                    name.span,
                    format!("`{}` is an interface; references are not supported", name.text()),
                );
                None
            }
            other => {
                self.sink.error(name.span, format!("`{}` is {}, not a type", name.text(), other.what()));
                None
            }
        }
    }
}

fn same_kind(model: &Model, id: TypeId, kind: &Kind) -> bool {
    matches!(
        (model.ty(id).map(|ty| &ty.kind), kind),
        (Some(Kind::Struct(_)), Kind::Struct(_)) | (Some(Kind::Union(_)), Kind::Union(_))
    )
}

fn base_type(base: Base) -> Type {
    match base {
        Base::Boolean => Type::Boolean,
        Base::Octet => Type::Octet,
        Base::Char => Type::Char,
        Base::WideChar => Type::WideChar,
        Base::Int8 => Type::Int8,
        Base::Int16 => Type::Int16,
        Base::Int32 => Type::Int32,
        Base::Int64 => Type::Int64,
        Base::Uint8 => Type::Uint8,
        Base::Uint16 => Type::Uint16,
        Base::Uint32 => Type::Uint32,
        Base::Uint64 => Type::Uint64,
        Base::Float => Type::Float,
        Base::Double => Type::Double,
        Base::LongDouble => Type::LongDouble,
    }
}
