//! What every back end has in common: a model goes in, files come out.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::check::bit_fields;
use crate::diagnostic::{Diagnostic, Sink};
use crate::ir::*;
use crate::source::FileId;

/// What a back end is given.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The types.
    pub model: &'a Model,
    /// The file that was compiled.
    pub main: Option<FileId>,
    /// Its path, of which the generated file has its name.
    pub path: &'a str,
    /// Whether types of included files are wanted too, so that the code is complete.
    pub includes: bool,
}

impl Input<'_> {
    /// The name of the file without folder and ending.
    #[must_use]
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit(['/', '\\']).next().unwrap_or(self.path);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    /// The first line of generated code, behind the sign that begins a comment.
    pub(crate) fn header(&self) -> String {
        let name = self.path.rsplit(['/', '\\']).next().unwrap_or(self.path).replace(['\n', '\r'], " ");
        format!("Made from {name} by the IDL compiler of Dunlin: changes will be lost.")
    }

    /// Whether something of this file is wanted.
    pub(crate) fn is_wanted(&self, file: FileId) -> bool {
        self.includes || self.main.is_none_or(|main| main == file)
    }
}

/// What a back end makes.
#[derive(Clone, Debug, Default)]
pub struct Generated {
    /// Names of files, relative to the output folder, and their text. The first is that of the types; others support it
    /// and are the same whatever the types are.
    pub files: Vec<(String, String)>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// A back end: makes code of types.
pub trait Backend {
    /// Name of the file with the types of an input, whose name without folder and ending is `stem`.
    fn file_name(&self, stem: &str) -> String;

    /// Makes code of a model.
    ///
    /// # Errors
    /// Diagnostics for constructs that it does not support.
    fn generate(&self, input: &Input<'_>) -> Result<Generated, Vec<Diagnostic>>;
}

/// The model with a module in the place of each interface: the types and constants of interfaces are like all others, their
/// operations and attributes make no code.
pub(crate) fn without_interfaces(model: &Model) -> Cow<'_, Model> {
    if model.interfaces.is_empty() {
        return Cow::Borrowed(model);
    }
    let mut changed = model.clone();
    let first = changed.modules.len();
    changed.modules.extend(model.interfaces.iter().map(|it| Module {
        name: it.name.clone(),
        full_name: it.full_name.clone(),
        docs: it.docs.clone(),
        items: it.items.clone(),
        file: Some(it.span.file),
        verbatims: Vec::new(),
    }));
    for item in changed.modules.iter_mut().flat_map(|module| &mut module.items) {
        if let Item::Interface(id) = item {
            *item = Item::Module(ModuleId(first.saturating_add(id.0)));
        }
    }
    Cow::Owned(changed)
}

/// Warns of interfaces, which make no code.
pub(crate) fn skip_interfaces(input: &Input<'_>, language: &str, sink: &mut Sink) {
    for interface in input.model.interfaces.iter().filter(|it| input.is_wanted(it.span.file)) {
        let name = &interface.full_name;
        let message = format!("the {language} back end makes no code of the interface `{name}`");
        sink.warning(interface.span, message)
            .hint("the types and constants in it are like those of a module");
    }
}

/// Says what a back end leaves out: interfaces, restricted representations.
pub(crate) fn check_support(input: &Input<'_>, language: &str, sink: &mut Sink) {
    skip_interfaces(input, language, sink);
    for ty in input.model.types.iter().filter(|ty| input.is_wanted(ty.span.file)) {
        if ty.data_representation.is_some_and(|mask| mask & 5 != 5) && !matches!(ty.kind, Kind::Alias(_)) {
            let name = &ty.full_name;
            let message =
                format!("the {language} back end does not restrict the data representation of `{name}`");
            sink.warning(ty.span, message);
        }
    }
}

/// The bits of the integer that holds so many.
pub(crate) const fn holder_bits(bits: u16) -> u16 {
    match bits {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        _ => 64,
    }
}

/// A field of a bitset for accessors: name, position, width, whether boolean, whether signed.
pub(crate) struct Accessor<'a> {
    pub field: &'a BitField,
    pub boolean: bool,
    pub signed: bool,
}

/// The fields of a bitset with those of its bases.
pub(crate) fn accessors(model: &Model, id: TypeId) -> Vec<Accessor<'_>> {
    let fields = bit_fields(model, id).into_iter();
    fields
        .map(|field| {
            let holder = model.resolve(&field.holder);
            let signed = matches!(holder, Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64);
            Accessor { field, boolean: matches!(holder, Type::Boolean), signed }
        })
        .collect()
}

/// The members of a structure or exception that are serialized, those of bases first.
pub(crate) fn serialized(model: &Model, id: TypeId) -> Vec<&Member> {
    members(model, id).into_iter().filter(|member| !member.non_serialized).collect()
}

/// All members of a structure or exception.
pub(crate) fn members(model: &Model, id: TypeId) -> Vec<&Member> {
    match model.ty(id).map(|ty| &ty.kind) {
        Some(Kind::Exception(exception)) => exception.members.iter().collect(),
        _ => model.all_members(id),
    }
}

/// The types with names inside a type. Those in `soft` may be incomplete where it is declared, those in `hard` not.
#[derive(Default)]
pub(crate) struct Needs {
    pub hard: Vec<TypeId>,
    pub soft: Vec<TypeId>,
}

impl Needs {
    /// Adds what a use of a type needs; `whole` says that it is there by value.
    pub(crate) fn add(&mut self, model: &Model, ty: &Type, whole: bool) {
        match ty {
            Type::Named(id) => match model.ty(*id).map(|ty| &ty.kind) {
                Some(Kind::Alias(alias)) => {
                    self.hard.push(*id);
                    // Aliases come after what they stand for, so this ends.
                    self.add(model, &alias.ty, whole);
                }
                Some(Kind::Struct(_) | Kind::Exception(_) | Kind::Union(_)) if !whole => self.soft.push(*id),
                _ => self.hard.push(*id),
            },
            Type::Array { element, .. } => self.add(model, &element.ty, whole && !element.external),
            Type::Sequence { element, .. } => self.add(model, &element.ty, false),
            Type::Map { key, value, .. } => {
                self.add(model, &key.ty, true);
                self.add(model, &value.ty, false);
            }
            _ => {}
        }
    }
}

/// Whether an optional member needs a pointer because its type contains the type around it.
pub(crate) fn contains_itself(model: &Model, owner: TypeId, member: &Member) -> bool {
    if !member.optional || member.external {
        return false;
    }
    let mut needs = Needs::default();
    needs.add(model, &member.ty, true);
    let (mut open, mut seen) = (needs.hard, BTreeSet::new());
    while let Some(id) = open.pop() {
        if id == owner {
            return true;
        }
        if seen.insert(id) {
            open.extend(by_value(model, id));
        }
    }
    false
}

/// The types that a type contains by value, optional or not.
fn by_value(model: &Model, id: TypeId) -> Vec<TypeId> {
    let mut needs = Needs::default();
    match model.ty(id).map(|ty| &ty.kind) {
        Some(Kind::Struct(_) | Kind::Exception(_)) => {
            for member in members(model, id).iter().filter(|member| !member.external) {
                needs.add(model, &member.ty, true);
            }
        }
        Some(Kind::Union(union)) => {
            for case in union.cases.iter().filter(|case| !case.member.external) {
                needs.add(model, &case.member.ty, true);
            }
        }
        _ => {}
    }
    needs.hard
}
