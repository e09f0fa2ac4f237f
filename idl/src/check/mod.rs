//! From the syntax tree to the resolved model: names, constants, ids, and everything that can be wrong with them.

mod annotation;
mod enumeration;
mod finish;
mod interface;
mod member;
mod scope;
mod structure;
mod types;
mod value;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use annotation::standard;
use annotation::{Known, Place};
pub(crate) use enumeration::{bit_fields, default_holder};
use member::Inherited;
pub(crate) use scope::distance;
use scope::{Def, Scope, ScopeId};
pub(crate) use structure::{keyword, number_of_values};
use value::cost_of_value;
pub(crate) use value::integer_range;

use crate::Options;
use crate::diagnostic::Sink;
use crate::ir::*;
use crate::source::Span;
use crate::syntax::ast::{
    AnnotationDecl, AnnotationItem, Definition, DefinitionKind, Ident, ScopedName, TypeKind, TypeSpec,
};
use crate::syntax::token::cost_of_text;

/// What modules say about the types inside.
#[derive(Clone, Copy, Debug, Default)]
struct Defaults {
    autoid_hash: bool,
    nested: bool,
    data_representation: Option<u32>,
}

/// An annotation that the source declares.
#[derive(Clone, Debug)]
struct Declared {
    full_name: String,
    params: Vec<AnnotationParam>,
    scope: ScopeId,
    /// It declares names of its own.
    has_names: bool,
}

impl Declared {
    /// How much it takes to apply it, in tokens.
    fn cost(&self) -> usize {
        let params = self.params.iter().map(|param| {
            let default = param.default.as_ref().map_or(0, cost_of_value);
            cost_of_text(param.name.len()).saturating_add(default).saturating_add(1)
        });
        params.fold(cost_of_text(self.full_name.len()), usize::saturating_add)
    }

    /// The scope in which arguments are evaluated.
    fn arguments_scope(&self, here: ScopeId) -> ScopeId {
        if self.has_names { self.scope } else { here }
    }
}

/// How much an annotation may declare, since all of it is gone through for each use.
const ANNOTATION_BODY: usize = 256;

/// Where definitions go.
#[derive(Clone, Copy, Debug)]
enum Container {
    Module(ModuleId),
    Interface(InterfaceId),
    /// An annotation: what it declares is no part of the model.
    Nowhere,
}

/// A pragma with keys, to be looked at when all types are known.
struct Keys {
    scope: ScopeId,
    ty: ScopedName,
    paths: Vec<Vec<Ident>>,
}

/// Where the literals of enumerations have their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LiteralScope {
    /// In the scope around the enumeration too, as in IDL (IDL 4.2 §7.5.2): two enumerations of one module share none.
    Enclosing,
    /// In their enumeration: files in XML have enumerations that share literals, which DDS-XTypes 1.3 §7.3.2 does not forbid. What
    /// names one without its enumeration means the first.
    Enumeration,
}

impl LiteralScope {
    /// Of what a file declares.
    pub(crate) fn of(path: &str) -> Self {
        if crate::xml::is_xml(path) { Self::Enumeration } else { Self::Enclosing }
    }
}

pub(crate) struct Checker<'a> {
    options: &'a Options,
    literals: LiteralScope,
    sink: &'a mut Sink,
    model: Model,
    scopes: Vec<Scope>,
    scope: ScopeId,
    container: Container,
    defaults: Defaults,
    /// Of each type, the scope with its members.
    type_scopes: Vec<Option<ScopeId>>,
    /// Whether each type is defined, not only announced or begun.
    complete: Vec<bool>,
    /// Announced types that are not defined yet.
    forward: BTreeMap<TypeId, Span>,
    forward_interfaces: BTreeMap<InterfaceId, Span>,
    inherited_settings: BTreeMap<TypeId, Inherited>,
    /// How many aliases lie behind each, itself included.
    alias_depths: BTreeMap<TypeId, usize>,
    annotation_decls: Vec<Declared>,
    unknown_annotations: BTreeSet<String>,
    keys: Vec<Keys>,
    /// The last name that was not resolved has been complained about.
    reported: bool,
    /// How many more members may be inherited.
    inheritance: usize,
    /// How much more may be evaluated and copied, in tokens.
    budget: usize,
}

/// Resolves everything.
pub(crate) fn check(
    definitions: &[Definition],
    literals: LiteralScope,
    options: &Options,
    sink: &mut Sink,
) -> Model {
    let mut checker = Checker {
        options,
        literals,
        sink,
        model: Model::default(),
        scopes: Vec::new(),
        scope: ScopeId(0),
        container: Container::Module(ModuleId(0)),
        defaults: Defaults::default(),
        type_scopes: Vec::new(),
        complete: Vec::new(),
        forward: BTreeMap::new(),
        forward_interfaces: BTreeMap::new(),
        inherited_settings: BTreeMap::new(),
        alias_depths: BTreeMap::new(),
        annotation_decls: Vec::new(),
        unknown_annotations: BTreeSet::new(),
        keys: Vec::new(),
        reported: false,
        inheritance: options.limits.tokens / 4,
        budget: options.limits.tokens.saturating_mul(2),
    };
    checker.new_scope(None, &"".into(), true);
    checker.model.modules.push(Module {
        name: String::new(),
        full_name: String::new(),
        docs: None,
        items: Vec::new(),
        file: None,
        verbatims: Vec::new(),
    });
    for definition in definitions {
        checker.definition(definition);
    }
    checker.finish();
    checker.model
}

impl Checker<'_> {
    /// Pays for what is evaluated or copied once more; says once if that is too much.
    fn pay(&mut self, tokens: usize, span: Span) -> bool {
        let rest = self.budget.checked_sub(tokens).filter(|rest| *rest > 0);
        if rest.is_none() && !self.is_spent() {
            self.sink.error(span, "names, values and documentation are repeated too often");
        }
        self.budget = rest.unwrap_or(0);
        rest.is_some()
    }

    /// There was too much of it: nothing more is looked at.
    fn is_spent(&self) -> bool {
        self.budget == 0
    }

    fn definition(&mut self, definition: &Definition) {
        if self.sink.is_full() || self.is_spent() {
            return;
        }
        match &definition.kind {
            DefinitionKind::Module { name, definitions } => self.module(definition, name, definitions),
            DefinitionKind::Const { ty, name, value } => self.constant(definition, ty, name, value),
            DefinitionKind::Type(decl) => {
                self.type_decl(decl, &definition.annotations, definition.docs.clone())
            }
            DefinitionKind::Typedef { ty, declarators } => self.typedef(definition, ty, declarators),
            DefinitionKind::Forward { union, name } => self.forward(definition, *union, name),
            DefinitionKind::Interface(interface) => self.interface(definition, interface),
            DefinitionKind::InterfaceForward(name) => self.interface_forward(name),
            DefinitionKind::Annotation(decl) => self.annotation_decl(decl),
            DefinitionKind::Keys { ty, paths } => {
                self.keys.push(Keys { scope: self.scope, ty: ty.clone(), paths: paths.clone() });
            }
        }
    }

    fn module(&mut self, definition: &Definition, name: &Ident, definitions: &[Definition]) {
        let existing = match self.entry_here(&name.name) {
            Some(entry) if entry.name == name.name => match entry.def {
                Def::Module(id, scope) => Some((id, scope)),
                _ => None,
            },
            _ => None,
        };
        let (id, scope) = match existing {
            Some(found) => found,
            None => {
                let id = ModuleId(self.model.modules.len());
                let scope = self.new_scope(Some(self.scope), &name.name, true);
                self.model.modules.push(Module {
                    name: name.name.to_string(),
                    full_name: self.full_name(&name.name),
                    docs: definition.docs.clone(),
                    items: Vec::new(),
                    file: Some(name.span.file),
                    verbatims: Vec::new(),
                });
                if self.declare(name, Def::Module(id, scope)) {
                    self.add_item(Item::Module(id));
                }
                (id, scope)
            }
        };
        let outer = (self.scope, self.container, self.defaults);
        self.module_annotations(definition, id);
        (self.scope, self.container) = (scope, Container::Module(id));
        for definition in definitions {
            self.definition(definition);
        }
        (self.scope, self.container, self.defaults) = outer;
    }

    fn module_annotations(&mut self, definition: &Definition, id: ModuleId) {
        for (known, _) in self.annotations(&definition.annotations, Place::Module) {
            match known {
                Known::AutoId { hash } => self.defaults.autoid_hash = hash,
                Known::DefaultNested(nested) => self.defaults.nested = nested,
                Known::DataRepresentation(mask) => self.defaults.data_representation = Some(mask),
                Known::Verbatim(verbatim) => {
                    if let Some(module) = self.model.modules.get_mut(id.0) {
                        module.verbatims.push(verbatim);
                    }
                }
                _ => {}
            }
        }
    }

    fn add_item(&mut self, item: Item) {
        match self.container {
            Container::Module(id) => {
                if let Some(module) = self.model.modules.get_mut(id.0) {
                    module.items.push(item);
                }
            }
            Container::Interface(id) => {
                if let Some(interface) = self.model.interfaces.get_mut(id.0) {
                    interface.items.push(item);
                }
            }
            Container::Nowhere => {}
        }
    }

    fn constant(
        &mut self,
        definition: &Definition,
        ty: &TypeSpec,
        name: &Ident,
        value: &crate::syntax::ast::Expr,
    ) {
        let docs = definition.docs.clone();
        self.annotations(&definition.annotations, Place::Const);
        let Some(resolved) = self.type_spec(ty) else { return };
        if !self.has_literals(&resolved) {
            let shown = self.show_type(&resolved);
            self.sink.error(ty.span, format!("a constant cannot have the type {shown}"));
            return;
        }
        let value = self.evaluate(value, &resolved);
        let id = ConstId(self.model.constants.len());
        // After a mistake the name is known all the same, so that its uses are not mistakes too.
        let known = value.is_some();
        let value = value.unwrap_or_else(|| self.zero(&resolved));
        let (text, full_name) = (name.name.to_string(), self.full_name(&name.name));
        let span = name.span;
        self.model.constants.push(Constant { name: text, full_name, span, docs, ty: resolved, value });
        if self.declare(name, Def::Const(id)) && known {
            self.add_item(Item::Const(id));
        }
    }

    /// Some value of a type.
    fn zero(&self, ty: &Type) -> Value {
        match self.model.resolve(ty) {
            Type::Boolean => Value::Bool(false),
            // Not zero, so that it can be a bound.
            ty if integer_range(ty).is_some() => Value::Int(1),
            Type::Char => Value::Char(0),
            Type::WideChar => Value::WideChar(0),
            Type::String { .. } => Value::Str(Vec::new()),
            Type::WideString { .. } => Value::WideStr(Vec::new()),
            Type::Named(id) => match self.model.ty(*id).map(|ty| &ty.kind) {
                Some(Kind::Bitmask(_)) => Value::Bits(*id, 0),
                _ => Value::Enum(*id, 0),
            },
            _ => Value::Float(0.0),
        }
    }

    fn annotation_decl(&mut self, decl: &AnnotationDecl) {
        if decl.body.len() > ANNOTATION_BODY {
            let message = format!("an annotation declares at most {ANNOTATION_BODY} parameters and names");
            self.sink.error(decl.name.span, message);
            return;
        }
        let scope = self.new_scope(Some(self.scope), &decl.name.name, false);
        let full_name = self.full_name(&decl.name.name);
        let outer = (self.scope, self.container);
        (self.scope, self.container) = (scope, Container::Nowhere);
        let (mut params, mut has_names): (Vec<AnnotationParam>, bool) = (Vec::new(), false);
        for item in &decl.body {
            match item {
                AnnotationItem::Definition(definition) => {
                    has_names = true;
                    self.definition(definition);
                }
                AnnotationItem::Param { ty, name, default } => {
                    let resolved = match ty.kind {
                        TypeKind::Any => None,
                        _ => match self.type_spec(ty) {
                            Some(ty) => Some(ty),
                            None => continue,
                        },
                    };
                    let default = default.as_ref().and_then(|value| match &resolved {
                        Some(ty) => self.evaluate(value, ty),
                        None => self.any_value(value),
                    });
                    self.declare(name, Def::Member);
                    params.push(AnnotationParam { name: name.name.to_string(), ty: resolved, default });
                }
            }
        }
        (self.scope, self.container) = outer;
        let same = |other: &Declared| {
            other.params.len() == params.len()
                && other.params.iter().zip(&params).all(|(a, b)| a.name == b.name && a.default == b.default)
        };
        // Tools declare the same one in each of their files.
        let known = self.annotation_here(&decl.name.name).and_then(|index| self.annotation_decls.get(index));
        if known.is_some_and(same) {
            return;
        }
        let declared = Annotation { full_name: full_name.clone(), params: params.clone() };
        self.model.annotations.push(declared);
        let index = self.annotation_decls.len();
        self.annotation_decls.push(Declared { full_name, params, scope, has_names });
        self.declare(&decl.name, Def::Annotation(index));
    }
}
