//! Elements and attributes with their places.

use std::ops::Range;

use roxmltree::Node;

use super::File;
use crate::check::distance;
use crate::diagnostic::Sink;
use crate::source::{Span, u32_of};
use crate::syntax::lexer::plain_lines;

/// An attribute's value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute<'a> {
    pub value: &'a str,
    pub span: Span,
    /// The value is written as it is, without references, so that parts of it have places of their own.
    exact: bool,
}

impl Attribute<'_> {
    /// The place of a part of the value.
    pub(super) fn part(&self, part: Range<usize>) -> Span {
        if !self.exact {
            return self.span;
        }
        let at = |offset: usize| self.span.start.saturating_add(u32_of(offset)).min(self.span.end);
        Span { start: at(part.start), end: at(part.end), ..self.span }
    }

    /// The value without white space around it.
    pub(super) fn trimmed(self) -> Self {
        let start = self.value.len().saturating_sub(self.value.trim_start().len());
        self.sub(start, self.value.trim())
    }

    /// The same place with another value.
    pub(super) fn spelled<'b>(&self, value: &'b str) -> Attribute<'b> {
        Attribute { value, span: self.span, exact: false }
    }

    /// A part of the value that begins at this octet.
    pub(super) fn sub<'b>(&self, start: usize, value: &'b str) -> Attribute<'b> {
        let span = self.part(start..start.saturating_add(value.len()));
        Attribute { value, span, exact: self.exact }
    }
}

/// An element of a file.
#[derive(Clone, Copy)]
pub(super) struct Element<'a, 'd> {
    node: Node<'a, 'd>,
    file: &'a File,
}

impl<'a, 'd> Element<'a, 'd> {
    pub(super) fn new(node: Node<'a, 'd>, file: &'a File) -> Self {
        Self { node, file }
    }

    /// The name without the prefix of a namespace.
    pub(super) fn name(&self) -> &'a str {
        self.node.tag_name().name()
    }

    /// The path of its file.
    pub(super) fn path(&self) -> &'a str {
        &self.file.path
    }

    /// The place of its name in the start tag.
    pub(super) fn span(&self) -> Span {
        let range = self.node.range();
        let start = range.start.saturating_add(1);
        let rest = self.file.text.get(start..range.end).unwrap_or("");
        let len = rest.find(|c: char| c.is_whitespace() || matches!(c, '/' | '>')).unwrap_or(rest.len());
        self.file.span(start..start.saturating_add(len))
    }

    pub(super) fn children(&self) -> impl Iterator<Item = Element<'a, 'd>> + use<'a, 'd> {
        let file = self.file;
        self.node.children().filter(Node::is_element).map(move |node| Element { node, file })
    }

    /// The text in it.
    pub(super) fn text(&self) -> String {
        self.node.children().filter(Node::is_text).filter_map(|part| part.text()).collect()
    }

    /// The documentation before it: comments that begin with a star, `<!--* … -->`.
    pub(super) fn docs(&self) -> Option<String> {
        let mut docs: Vec<&str> = Vec::new();
        let before = self.node.prev_siblings().skip(1);
        for node in before.take_while(|node| node.is_comment() || node.is_text()) {
            let text = node.text().unwrap_or("");
            match text.strip_prefix('*').filter(|_| node.is_comment()) {
                Some(doc) => {
                    let doc = doc.strip_prefix(' ').unwrap_or(doc);
                    docs.push(doc.strip_suffix(' ').unwrap_or(doc));
                }
                None if node.is_text() && text.trim().is_empty() => {}
                None => break,
            }
        }
        docs.reverse();
        let docs = plain_lines(&docs.join("\n"));
        (!docs.is_empty()).then_some(docs)
    }

    /// The attribute with one of these names.
    pub(super) fn attribute(&self, names: &[&str]) -> Option<Attribute<'a>> {
        let found = self
            .node
            .attributes()
            .find(|attribute| attribute.namespace().is_none() && names.contains(&attribute.name()))?;
        let range = found.range_value();
        let exact = self.file.text.get(range.clone()) == Some(found.value());
        let span = self.file.span(range);
        Some(Attribute { value: found.value(), span, exact })
    }

    /// Reports attributes that mean nothing here, and text. Attributes of other namespaces are for others.
    pub(super) fn allow(&self, allowed: &[&[&str]], sink: &mut Sink) {
        for attribute in self.node.attributes().filter(|attribute| attribute.namespace().is_none()) {
            let name = attribute.name();
            if HARMLESS.contains(&name) || allowed.iter().any(|names| names.contains(&name)) {
                continue;
            }
            let span = self.file.span(attribute.range_qname());
            let known: Vec<&str> = allowed.iter().copied().flatten().copied().collect();
            let message = format!("<{}> has no attribute `{name}`", self.name());
            suggest(sink.error(span, message), name, &known);
        }
        for (one, other) in SAME {
            if let (Some(_), Some(second)) = (self.attribute(&[one]), self.attribute(&[other])) {
                sink.error(second.span, format!("`{one}` and `{other}` say the same: write one of them"));
            }
        }
        self.without_text(sink);
    }

    /// Reports text.
    pub(super) fn without_text(&self, sink: &mut Sink) {
        let mut texts = self.node.children().filter(Node::is_text);
        let Some(found) = texts.find(|node| node.text().is_some_and(|text| !text.trim().is_empty())) else {
            return;
        };
        let range = found.range();
        let text = self.file.text.get(range.clone()).unwrap_or("");
        let start = range.start.saturating_add(text.len().saturating_sub(text.trim_start().len()));
        let span = self.file.span(start..start.saturating_add(text.trim().len()));
        sink.error(span, format!("text in <{}> means nothing", self.name()));
    }

    /// Reports an element that means nothing where it is.
    pub(super) fn unexpected(&self, parent: &str, allowed: &[&str], sink: &mut Sink) {
        let message = format!("<{}> means nothing in <{parent}>", self.name());
        suggest(sink.error(self.span(), message), self.name(), allowed);
    }
}

/// Attributes that other implementations have, and that do not change what is sent.
const HARMLESS: &[&str] =
    &["cppMapping", "languageBinding", "resolveName", "transferMode", "useVector", "visibility"];

/// Spellings of one thing by different implementations.
const SAME: &[(&str, &str)] = &[
    ("external", "pointer"),
    ("bitBound", "bit_bound"),
    ("bitBound", "bitcount"),
    ("bitBound", "bitCount"),
    ("bit_bound", "bitcount"),
    ("bit_bound", "bitCount"),
    ("bitcount", "bitCount"),
    ("mapKeyType", "key_type"),
    ("default", "defaultValue"),
    ("nested", "topLevel"),
];

/// Adds what was meant, or what there is.
pub(super) fn suggest(diagnostic: &mut crate::diagnostic::Diagnostic, name: &str, known: &[&str]) {
    let lower = name.to_ascii_lowercase();
    let near = |candidate: &&&str| {
        let limit = (lower.len() / 3).clamp(1, 3);
        distance(&lower, &candidate.to_ascii_lowercase(), limit).is_some()
    };
    match known.iter().find(near) {
        Some(meant) => diagnostic.hint(format!("did you mean `{meant}`?")),
        None if known.is_empty() => diagnostic,
        None => diagnostic.hint(format!("there is {}", known.join(", "))),
    };
}
