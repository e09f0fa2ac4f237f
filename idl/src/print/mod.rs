//! Syntax trees as text: IDL of XML, XML of IDL.

mod expr;
mod idl;
mod tree;
mod xml;

pub(crate) use tree::to_xml;

use crate::diagnostic::{Diagnostic, Sink};
use crate::ir::{Kind, Model};
use crate::source::{Loader, SourceMap};
use crate::syntax::ast::{Annotation, Definition, DefinitionKind};
use crate::{Options, Parsed, Severity, check, front, is_ros_interface};
use std::collections::{BTreeMap, BTreeSet};

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
    let mut sources = SourceMap::default();
    let mut sink = Sink::new(options.limits.diagnostics);
    let text = match front(path, options, loader, &mut sources, &mut sink) {
        Ok(Parsed { definitions, .. }) => printed(path, &definitions, to, options, &mut sink),
        Err(problem) => {
            sink.add(Severity::Error, None, problem);
            None
        }
    };
    Conversion { text, diagnostics: sink.finish(), sources }
}

fn printed(
    path: &str,
    definitions: &[Definition],
    to: Notation,
    options: &Options,
    sink: &mut Sink,
) -> Option<String> {
    if options.ros2_names && !is_ros_interface(path) {
        let message = "the names that ROS 2 announces are not those of the file: they cannot be written";
        sink.add(Severity::Error, None, message.to_owned());
        return None;
    }
    let model = check::check(definitions, options, sink);
    if sink.has_errors() {
        return None;
    }
    let (keys, topics) = (keys(definitions, &model), topics(definitions, &model));
    let facts = Facts { keys, topics, default_extensibility: options.default_extensibility };
    let text = match to {
        Notation::Xml => xml::print(definitions, &facts, sink),
        Notation::Idl => idl::print(definitions, &facts),
    };
    (!sink.has_errors()).then_some(text)
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
