//! Annotations: the attributes that stand for them, `<annotate>`, `<verbatim>`.

use super::Reader;
use super::element::{Attribute, Element};
use super::value::Want;
use crate::source::Span;
use crate::syntax::ast::{Annotation, Argument, Expr, ExprKind, Ident, ScopedName};

/// Attributes of structures and unions.
pub(super) const OF_TYPE: &[&str] = &["extensibility", "nested", "topLevel", "autoid"];
/// Attributes of members.
pub(super) const OF_MEMBER: &[&str] = &[
    "key",
    "optional",
    "mustUnderstand",
    "external",
    "pointer",
    "nonSerialized",
    "id",
    "hashid",
    "tryConstruct",
    "default",
    "defaultValue",
    "min",
    "max",
    "unit",
];
/// Children of everything that has a name.
pub(super) const NOTES: &[&str] = &["annotate", "verbatim"];

/// Attributes of members that are true or false.
const FLAGS: &[(&[&str], &str)] = &[
    (&["key"], "key"),
    (&["optional"], "optional"),
    (&["mustUnderstand"], "must_understand"),
    (&["external", "pointer"], "external"),
    (&["nonSerialized"], "non_serialized"),
];

/// Parameters of standard annotations that are texts.
const TEXTS: &[(&str, &str)] = &[
    ("unit", "value"),
    ("hashid", "value"),
    ("topic", "name"),
    ("topic", "platform"),
    ("verbatim", "language"),
    ("verbatim", "text"),
    ("service", "platform"),
];

pub(super) fn name(text: &str, span: Span) -> ScopedName {
    ScopedName { global: false, parts: vec![Ident { name: text.into(), span }], span }
}

/// `@word` or `@word(value)`.
pub(super) fn note(word: &str, value: Option<Expr>, span: Span) -> Annotation {
    let args = value.into_iter().map(|value| Argument { name: None, value }).collect();
    Annotation { name: name(word, span), args, span }
}

fn word(text: &str, span: Span) -> Expr {
    Expr { kind: ExprKind::Name(name(text, span)), span }
}

fn text(text: &str, span: Span) -> Expr {
    Expr { kind: ExprKind::Str(text.as_bytes().to_vec()), span }
}

impl Reader<'_> {
    /// What attributes and children say about a type.
    pub(super) fn type_annotations(&mut self, element: Element<'_, '_>) -> Vec<Annotation> {
        let mut annotations = Vec::new();
        if let Some(found) = element.attribute(&["extensibility"]) {
            let words = [
                ("final", "final"),
                ("appendable", "appendable"),
                ("extensible", "appendable"),
                ("mutable", "mutable"),
                ("FINAL_EXTENSIBILITY", "final"),
                ("EXTENSIBLE_EXTENSIBILITY", "appendable"),
                ("MUTABLE_EXTENSIBILITY", "mutable"),
            ];
            annotations.extend(self.word(found, &words).map(|word| note(word, None, found.span)));
        }
        if let Some(found) = element.attribute(&["nested"]) {
            annotations.extend(self.flag_note("nested", found, false));
        }
        if let Some(found) = element.attribute(&["topLevel"]) {
            annotations.extend(self.flag_note("nested", found, true));
        }
        if let Some(found) = element.attribute(&["autoid"]) {
            let chosen = self.word(found, &[("sequential", "SEQUENTIAL"), ("hash", "HASH")]);
            annotations.extend(chosen.map(|it| note("autoid", Some(word(it, found.span)), found.span)));
        }
        annotations.extend(self.notes(element));
        annotations
    }

    fn flag_note(&mut self, word: &str, found: Attribute<'_>, inverted: bool) -> Option<Annotation> {
        let value = self.flag(found)? != inverted;
        let off = (!value).then_some(Expr { kind: ExprKind::Bool(false), span: found.span });
        Some(note(word, off, found.span))
    }

    /// What attributes and children say about a member; `want` is what its default is.
    pub(super) fn member_annotations(&mut self, element: Element<'_, '_>, want: Want) -> Vec<Annotation> {
        let mut annotations = Vec::new();
        for (names, word) in FLAGS {
            if let Some(found) = element.attribute(names) {
                annotations.extend(self.flag_note(word, found, false));
            }
        }
        if let Some(found) = element.attribute(&["id"]) {
            let value = self.expression(found.trimmed());
            annotations.extend(value.map(|value| note("id", Some(value), found.span)));
        }
        for name in ["hashid", "unit"] {
            if let Some(found) = element.attribute(&[name]) {
                let value = self.value(found, Want::Text);
                annotations.extend(value.map(|value| note(name, Some(value), found.span)));
            }
        }
        if let Some(found) = element.attribute(&["tryConstruct"]) {
            let words = [
                ("discard", "DISCARD"),
                ("useDefault", "USE_DEFAULT"),
                ("use_default", "USE_DEFAULT"),
                ("trim", "TRIM"),
            ];
            let chosen = self.word(found, &words);
            annotations
                .extend(chosen.map(|it| note("try_construct", Some(word(it, found.span)), found.span)));
        }
        for (names, name) in
            [(&["default", "defaultValue"][..], "default"), (&["min"][..], "min"), (&["max"][..], "max")]
        {
            if let Some(found) = element.attribute(names) {
                let value = self.value(found, want);
                annotations.extend(value.map(|value| note(name, Some(value), found.span)));
            }
        }
        annotations.extend(self.notes(element));
        annotations
    }

    /// The children that are annotations.
    pub(super) fn notes(&mut self, element: Element<'_, '_>) -> Vec<Annotation> {
        let mut annotations = Vec::new();
        for child in element.children() {
            match child.name() {
                "annotate" => annotations.extend(self.annotate(child)),
                "verbatim" => annotations.extend(self.verbatim(child)),
                _ => {}
            }
        }
        annotations
    }

    /// `<annotate name="range"><member name="min" value="0"/></annotate>`
    fn annotate(&mut self, element: Element<'_, '_>) -> Option<Annotation> {
        element.allow(&[&["name"]], self.sink);
        let given = self.required(element, &["name"])?;
        let name = self.scoped_name(given)?;
        let mut args = Vec::new();
        for child in element.children() {
            if child.name() != "member" {
                child.unexpected("annotate", &["member"], self.sink);
                continue;
            }
            child.allow(&[&["name", "value"]], self.sink);
            let param = match child.attribute(&["name"]) {
                Some(param) => Some(self.ident(param)?),
                None => None,
            };
            let value = self.required(child, &["value"])?;
            let is_text = |param: &str| name.single().is_some_and(|name| TEXTS.contains(&(name, param)));
            let want = match &param {
                Some(param) if is_text(&param.name) => Want::Text,
                _ => Want::Other,
            };
            args.push(Argument { name: param, value: self.value(value, want)? });
        }
        Some(Annotation { name, args, span: given.span })
    }

    /// `<verbatim language="c++" placement="before-declaration"><text>…</text></verbatim>`
    fn verbatim(&mut self, element: Element<'_, '_>) -> Option<Annotation> {
        element.allow(&[&["language", "placement"]], self.sink);
        let span = element.span();
        let (mut lines, mut args) = (String::new(), Vec::new());
        for child in element.children() {
            match child.name() {
                "text" => lines.push_str(&child.text()),
                _ => child.unexpected("verbatim", &["text"], self.sink),
            }
        }
        let mut add = |param: &str, value: Expr| {
            let param = Ident { name: param.into(), span: value.span };
            args.push(Argument { name: Some(param), value });
        };
        if let Some(language) = element.attribute(&["language"]) {
            add("language", text(language.value, language.span));
        }
        if let Some(placement) = element.attribute(&["placement"]) {
            let placed = placement.value.trim().to_ascii_uppercase().replace('-', "_");
            add("placement", text(&placed, placement.span));
        }
        add("text", text(&lines, span));
        Some(Annotation { name: name("verbatim", span), args, span })
    }
}
