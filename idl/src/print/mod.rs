//! Syntax trees as text: IDL of XML, XML of IDL.

mod expr;
mod idl;
mod tree;
mod xml;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use tree::to_xml;

use crate::check::LiteralScope;
use crate::diagnostic::{Diagnostic, Sink};
use crate::ir::{Kind, Model};
use crate::source::{Loader, SourceMap, Span};
use crate::syntax::ast::{Annotation, Definition, DefinitionKind};
use crate::{Limits, Memory, Options, Severity, check, front, is_ros_interface};

/// How types are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// IDL 4.2, in the layout of [`format`](crate::format()).
    Idl,
    /// The XML representation of types (DDS-XTypes 1.3 §7.3.2).
    Xml,
}

/// What became of a file that was to be written in another notation.
#[derive(Debug)]
pub struct Conversion {
    /// The text; `None` if there are errors.
    pub text: Option<String>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The files, for showing diagnostics.
    pub sources: SourceMap,
}

impl Conversion {
    /// All diagnostics, ready to be shown.
    #[must_use]
    pub fn render(&self, styled: bool) -> String {
        self.diagnostics.iter().map(|diagnostic| diagnostic.render(&self.sources, styled)).collect()
    }
}

/// Writes the types of a file, IDL, XML or a ROS 2 interface, in a notation; what it includes becomes part of the text.
///
/// Constants and annotations stay, macros are replaced, comments that are no documentation are left out. XML has no
/// interfaces: a file with them is refused. Exceptions are left out of it with a warning.
#[must_use]
pub fn convert(path: &str, to: Notation, options: &Options, loader: &dyn Loader) -> Conversion {
    convert_all(&[path], to, options, loader)
}

/// Writes the types of several files as one text, in their order. What several of them include is written once.
#[must_use]
pub fn convert_all(paths: &[&str], to: Notation, options: &Options, loader: &dyn Loader) -> Conversion {
    let mut sources = SourceMap::default();
    let mut sink = Sink::new(options.limits.diagnostics);
    let (mut definitions, mut known) = (Vec::new(), BTreeSet::new());
    for path in paths {
        match front(path, options, loader, &mut sources, &mut sink) {
            Ok(parsed) => {
                let of_known = |it: &Definition| {
                    let file = place(it).and_then(|span| sources.get(span.file));
                    file.is_some_and(|file| known.contains(&loader.identity(&file.name)))
                };
                definitions.extend(parsed.definitions.into_iter().filter(|it| !of_known(it)));
                known.extend(parsed.files.iter().map(|file| loader.identity(file)));
            }
            Err(problem) => drop(sink.add(Severity::Error, None, problem)),
        }
        if options.ros2_names && !is_ros_interface(path) {
            let message = "the names that ROS 2 announces are not those of the file: they cannot be written";
            sink.add(Severity::Error, None, message.to_owned());
        }
    }
    let text = if sink.has_errors() {
        None
    } else {
        // IDL has no enumerations that share literals, so neither has what is written in it.
        let all_in_xml = to == Notation::Xml && paths.iter().all(|path| crate::xml::is_xml(path));
        let literals = if all_in_xml { LiteralScope::Enumeration } else { LiteralScope::Enclosing };
        printed(&definitions, literals, to, options, &mut sink)
    };
    Conversion { text, diagnostics: sink.finish(), sources }
}

/// Where a definition is.
fn place(definition: &Definition) -> Option<Span> {
    Some(match &definition.kind {
        DefinitionKind::Module { name, .. }
        | DefinitionKind::Const { name, .. }
        | DefinitionKind::Forward { name, .. }
        | DefinitionKind::InterfaceForward(name) => name.span,
        DefinitionKind::Type(decl) => decl.name.span,
        DefinitionKind::Typedef { declarators, .. } => declarators.first()?.name.span,
        DefinitionKind::Interface(it) => it.name.span,
        DefinitionKind::Annotation(it) => it.name.span,
        DefinitionKind::Keys { ty, .. } => ty.span,
    })
}

fn printed(
    definitions: &[Definition],
    literals: LiteralScope,
    to: Notation,
    options: &Options,
    sink: &mut Sink,
) -> Option<String> {
    let model = check::check(definitions, literals, options, sink);
    if sink.has_errors() {
        return None;
    }
    let (keys, topics) = (keys(definitions, &model), topics(definitions, &model));
    let facts = Facts { keys, topics, default_extensibility: options.default_extensibility };
    let text = match to {
        Notation::Xml => Ok(xml::print(definitions, &facts, sink)),
        Notation::Idl => idl::print(definitions, &facts),
    };
    if sink.has_errors() {
        return None;
    }
    match text.and_then(|text| read_again(text, to, options, &model)) {
        Ok((text, warning)) => {
            if let Some(warning) = warning {
                sink.add(Severity::Warning, None, warning);
            }
            Some(text)
        }
        Err(why) => {
            sink.add(Severity::Error, None, format!("what was printed cannot be read again: {why}"));
            None
        }
    }
}

/// Compiles what was printed. With it comes a warning if its types are not the same.
fn read_again(
    text: String,
    to: Notation,
    options: &Options,
    model: &Model,
) -> Result<(String, Option<String>), String> {
    let name = if to == Notation::Xml { "printed.xml" } else { "printed.idl" };
    // Macros and folders were for the files. What is printed may be longer than they are.
    let Limits { file_size, tokens, nesting, .. } = options.limits;
    let limits = Limits {
        file_size: file_size.saturating_mul(8),
        tokens: tokens.saturating_mul(8),
        nesting: nesting.saturating_add(100),
        ..options.limits.clone()
    };
    let options =
        Options { default_extensibility: options.default_extensibility, limits, ..Options::default() };
    let result = crate::compile(name, &options, &Memory::default().with(name, text.as_str()));
    let Some(again) = &result.model else {
        let error = result.diagnostics.into_iter().find(|it| it.severity == Severity::Error);
        return Err(error.map_or_else(String::new, |it| it.message));
    };
    let missing = differing(model, again);
    Ok((
        text,
        missing.map(|name| format!("what was printed of `{name}` is another type than that of the file")),
    ))
}

/// The first type that the other model has with other members, literals or bits.
fn differing(model: &Model, other: &Model) -> Option<String> {
    let shapes = |model: &Model| -> BTreeMap<String, Vec<String>> {
        let data = model.types().filter(|(_, ty)| !matches!(ty.kind, Kind::Exception(_)));
        data.map(|(_, ty)| (ty.full_name.clone(), shape(model, &ty.kind))).collect()
    };
    let (of_file, of_text) = (shapes(model), shapes(other));
    let differs =
        |(name, shape): &(String, Vec<String>)| of_text.get(name).is_some_and(|other| other != shape);
    of_file.into_iter().find(differs).map(|(name, _)| name)
}

fn shape(model: &Model, kind: &Kind) -> Vec<String> {
    let ty = |ty: &crate::ir::Type| crate::dump::type_text(model, ty);
    let member = |it: &crate::ir::Member| format!("{} {} {} {}", it.id, it.name, it.key, ty(&it.ty));
    match kind {
        Kind::Struct(it) | Kind::Exception(it) => it.members.iter().map(member).collect(),
        Kind::Union(it) => it.cases.iter().map(|case| member(&case.member)).collect(),
        Kind::Enum(it) => it.literals.iter().map(|it| format!("{} {}", it.value, it.name)).collect(),
        Kind::Bitmask(it) => it.bits.iter().map(|it| format!("{} {}", it.position, it.name)).collect(),
        Kind::Bitset(it) => {
            it.fields.iter().map(|it| format!("{} {} {}", it.position, it.width, it.name)).collect()
        }
        Kind::Alias(it) => vec![ty(&it.ty)],
    }
}

/// What the text has to say although the definitions do not.
struct Facts {
    /// Of a file whose pragmas name key members: each structure with its keys.
    keys: BTreeMap<String, BTreeSet<String>>,
    /// Of such a file: the types that are not nested.
    topics: BTreeSet<String>,
    /// The extensibility of types that do not say one.
    default_extensibility: crate::Extensibility,
}

impl Facts {
    /// Whether a pragma may have made a member a key.
    fn is_key(&self, scope: &[&str], ty: &str, member: &str) -> bool {
        !self.keys.is_empty() && self.keys.get(&full(scope, ty)).is_some_and(|keys| keys.contains(member))
    }

    /// Whether a pragma may have made a type one of topics.
    fn is_topic(&self, scope: &[&str], ty: &str) -> bool {
        !self.topics.is_empty() && self.topics.contains(&full(scope, ty))
    }
}

fn full(scope: &[&str], ty: &str) -> String {
    let parts: Vec<&str> = scope.iter().copied().chain([ty]).collect();
    parts.join("::")
}

fn keys(definitions: &[Definition], model: &Model) -> BTreeMap<String, BTreeSet<String>> {
    if !has_pragmas(definitions) {
        return BTreeMap::new();
    }
    let of = |ty: &crate::ir::TypeDef| match &ty.kind {
        Kind::Struct(structure) => {
            let keys = structure.members.iter().filter(|member| member.key);
            Some((ty.full_name.clone(), keys.map(|member| member.name.clone()).collect()))
        }
        _ => None,
    };
    model.types().filter_map(|(_, ty)| of(ty)).collect()
}

/// Structures that are topics' types.
fn topics(definitions: &[Definition], model: &Model) -> BTreeSet<String> {
    if !has_pragmas(definitions) {
        return BTreeSet::new();
    }
    model.types().filter(|(_, ty)| !ty.nested).map(|(_, ty)| ty.full_name.clone()).collect()
}

fn has_pragmas(definitions: &[Definition]) -> bool {
    definitions.iter().any(|definition| match &definition.kind {
        DefinitionKind::Keys { .. } => true,
        DefinitionKind::Module { definitions, .. } => has_pragmas(definitions),
        _ => false,
    })
}

/// The name of a standard annotation, however it is spelled.
fn standard_name(annotation: &Annotation) -> Option<&'static str> {
    let (name, _) = check::standard(annotation.name.single()?)?;
    Some(name)
}

/// Whether an annotation is the standard one with this name.
fn is(annotation: &Annotation, name: &str) -> bool {
    standard_name(annotation) == Some(name)
}
