//! Annotations that sources declare themselves, and `@verbatim`, as IDL.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::{MAX_DEPTH, Printer, constant};
use crate::applied::{AnnotationIndex, AnnotationParameter, Applied, Part};
use crate::identifier::kind;
use crate::model::{Kind, Type, TypeIndex};
use crate::object::annotation::AnnotationParameterValue as Value;
use crate::object::name_hash;
use crate::print::primitive_name;

/// Where a text of `@verbatim` may go (IDL 4.2 §8.3.5.1).
const PLACEMENTS: &[&str] = &[
    "BEGIN_FILE",
    "BEFORE_DECLARATION",
    "BEGIN_DECLARATION",
    "END_DECLARATION",
    "AFTER_DECLARATION",
    "END_FILE",
];

/// A text as a string of IDL, with quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        escape(&mut out, c);
    }
    out.push('"');
    out
}

fn escape(out: &mut String, c: char) {
    let _ = match c {
        '"' | '\\' => write!(out, "\\{c}"),
        '\n' => out.write_str("\\n"),
        c if c.is_ascii_control() => write!(out, "\\x{:02x}", u32::from(c)),
        c => out.write_char(c),
    };
}

fn wide_quoted(units: &[u16]) -> String {
    let mut out = String::from("L\"");
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok(c) if c.is_ascii_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            Ok(c) => escape(&mut out, c),
            Err(unit) => {
                let _ = write!(out, "\\u{:04x}", unit.unpaired_surrogate());
            }
        }
    }
    out.push('"');
    out
}

impl Printer<'_> {
    /// Declares the annotations of a definition that are not declared yet.
    pub(super) fn declarations(&mut self, index: TypeIndex, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let graph = self.graph;
        for applied in graph.annotations(index).iter().flat_map(|it| &it.applied) {
            if self.declared.insert(applied.annotation) {
                self.declaration(applied.annotation, depth.saturating_add(1));
            }
        }
    }

    fn declaration(&mut self, at: AnnotationIndex, depth: usize) {
        let graph = self.graph;
        let Some(declared) = graph.annotation(at) else { return };
        let mut body = String::new();
        for parameter in &declared.parameters {
            let Type::Named(index) = parameter.ty else { continue };
            let Some(definition) = graph.get(index) else { continue };
            if !is_inside(&definition.name, &declared.name) {
                self.visit(index, depth);
            } else if self.done.insert(index) {
                self.declarations(index, depth);
                for line in self.definition(index, definition).lines() {
                    let _ = writeln!(body, "    {line}");
                }
            }
        }
        for parameter in &declared.parameters {
            let ty = match &parameter.ty {
                Type::Primitive(kind::NONE) => String::from("any"),
                Type::Primitive(it) => primitive_name(*it).to_string(),
                // What is declared in an annotation is known nowhere else.
                Type::Named(index) => match graph.get(*index).map(|it| it.name.as_str()) {
                    Some(name) if is_inside(name, &declared.name) => super::last(name).to_string(),
                    _ => self.name_of(*index),
                },
                other => self.usage(other).0,
            };
            let default =
                parameter.default.as_ref().and_then(|it| self.parameter(&declared.name, parameter, it));
            let default = default.map_or_else(String::new, |it| format!(" default {it}"));
            let _ = writeln!(body, "    {ty} {}{default};", parameter.name);
        }
        let name = super::last(&declared.name);
        let body = format!("@annotation {name} {{\n{body}}};\n");
        self.in_modules(&declared.name, &body);
    }

    /// What the source says of a part of a definition.
    pub(super) fn said(&self, index: TypeIndex, part: Part) -> String {
        let Some(said) = self.graph.annotations(index) else { return String::new() };
        let mut out = String::new();
        if let (Part::Type, Some(it)) = (part, &said.verbatim)
            && PLACEMENTS.contains(&it.placement.as_str())
        {
            let (language, text) = (quoted(&it.language), quoted(&it.text));
            let _ = writeln!(
                out,
                "@verbatim(language = {language}, placement = {}, text = {text})",
                it.placement
            );
        }
        for applied in said.of(part) {
            out.push_str(&self.applied(applied).unwrap_or_default());
        }
        out
    }

    /// The same before a discriminator, where the name of the type follows: after an annotation without parentheses, `::`
    /// would belong to its name.
    pub(super) fn said_of_discriminator(&self, index: TypeIndex) -> String {
        let said = self.said(index, Part::Discriminator);
        if said.is_empty() || said.ends_with(") ") { said } else { format!("{said}@key(FALSE) ") }
    }

    /// `None` if a value that it needs cannot be written.
    fn applied(&self, it: &Applied) -> Option<String> {
        let declared = self.graph.annotation(it.annotation)?;
        let mut values: Vec<String> = Vec::new();
        for parameter in &declared.parameters {
            let hash = name_hash(&parameter.name);
            let given = it.values.iter().find(|given| given.paramname_hash == hash);
            match given.map(|given| &given.value) {
                same if same.is_some() && same == parameter.default.as_ref() => {}
                given => {
                    let text = given.and_then(|value| self.parameter(&declared.name, parameter, value));
                    match text {
                        Some(text) => values.push(format!("{} = {text}", parameter.name)),
                        None if parameter.default.is_some() => {}
                        None => return None,
                    }
                }
            }
        }
        let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
        Some(format!("@::{}{values} ", declared.name))
    }

    /// The value of a parameter.
    fn parameter(&self, annotation: &str, parameter: &AnnotationParameter, value: &Value) -> Option<String> {
        Some(match value {
            Value::Boolean(it) => String::from(if *it { "TRUE" } else { "FALSE" }),
            Value::String(it) => quoted(it),
            Value::WideString(it) => wide_quoted(&it.0),
            Value::Enumerated(value) => {
                let Type::Named(index) = parameter.ty else { return None };
                let definition = self.graph.get(index)?;
                let Kind::Enumeration(it) = &definition.kind else { return None };
                let literal = &it.literals.iter().find(|literal| literal.value == *value)?.name;
                match definition.name.rsplit_once("::") {
                    Some(_) if is_inside(&definition.name, annotation) => literal.to_string(),
                    Some((scope, _)) => format!("::{scope}::{literal}"),
                    None => format!("::{literal}"),
                }
            }
            other => constant(other)?,
        })
    }
}

/// Whether a type is declared in an annotation.
fn is_inside(name: &str, annotation: &str) -> bool {
    name.rsplit_once("::").is_some_and(|(scope, _)| scope == annotation)
}
