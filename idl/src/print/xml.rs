//! Definitions as XML (DDS-XTypes 1.3 §7.3.2).

use std::fmt::Write as _;

use super::expr::text;
use super::{Facts, is, standard_name};
use crate::check::{keyword, standard};
use crate::diagnostic::Sink;
use crate::source::Span;
use crate::syntax::ast::*;

/// The definitions of a file as a document. What XML cannot say is reported.
pub(super) fn print(definitions: &[Definition], facts: &Facts, sink: &mut Sink) -> String {
    let out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<dds>\n");
    let mut printer = Printer { out, depth: 1, facts, sink, scope: Vec::new() };
    let types = Tag::new("types");
    printer.block(types, |printer| printer.definitions(definitions));
    printer.out + "</dds>\n"
}

/// An element with its attributes and the elements that its annotations and inner types become.
#[derive(Clone, Default)]
struct Tag<'a> {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    inner: Vec<Tag<'a>>,
    notes: Vec<&'a Annotation>,
}

impl<'a> Tag<'a> {
    fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    fn named(name: &'static str, ident: &Ident) -> Self {
        Self::new(name).with("name", &*ident.name)
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.attributes.push((name, value.into()));
    }

    fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|(known, _)| *known == name)
    }

    fn is_empty(&self) -> bool {
        self.inner.is_empty() && self.notes.is_empty()
    }

    /// Adds a type and the dimensions of an array of it.
    fn usage(&mut self, spec: &'a TypeSpec, dimensions: &[Expr]) {
        match &spec.kind {
            TypeKind::Sequence(element, bound) => {
                self.part(element, "element");
                self.set("sequenceMaxLength", bounded(bound));
            }
            TypeKind::Map(key, value, bound) => {
                self.part(value, "element");
                self.part(key, "mapKey");
                self.set("mapMaxLength", bounded(bound));
            }
            _ => self.simple(spec, ["type", "nonBasicTypeName", "stringMaxLength"]),
        }
        if !dimensions.is_empty() {
            self.set("arrayDimensions", dimensions.iter().map(text).collect::<Vec<_>>().join(","));
        }
    }

    /// The element or key of a collection: attributes, or a child where they are not enough.
    fn part(&mut self, spec: &'a TypeSpec, child: &'static str) {
        let nested = matches!(spec.kind, TypeKind::Sequence(..) | TypeKind::Map(..));
        if nested || !spec.annotations.is_empty() {
            let mut tag = Tag::new(child);
            tag.usage(spec, &[]);
            tag.member_notes(&spec.annotations, spec);
            self.inner.push(tag);
        } else if child == "element" {
            self.simple(spec, ["type", "nonBasicTypeName", "stringMaxLength"]);
        } else {
            self.simple(spec, ["mapKeyType", "mapKeyNonBasicTypeName", "mapKeyStringMaxLength"]);
        }
    }

    fn simple(&mut self, spec: &TypeSpec, [ty, named, length]: [&'static str; 3]) {
        match &spec.kind {
            TypeKind::Base(base) => self.set(ty, base_name(*base)),
            TypeKind::String { wide, bound } => {
                self.set(ty, if *wide { "wstring" } else { "string" });
                if let Some(bound) = bound {
                    self.set(length, text(bound));
                }
            }
            TypeKind::Name(name) => {
                self.set(ty, "nonBasic");
                self.set(named, name.text());
            }
            TypeKind::Declared(decl) => {
                self.set(ty, "nonBasic");
                self.set(named, &*decl.name.name);
            }
            // Only a parameter of an annotation has it.
            _ => self.set(ty, "any"),
        }
    }

    /// Adds what annotations say about a type.
    fn type_notes(&mut self, annotations: &'a [Annotation]) {
        for annotation in annotations {
            let attribute = match standard_name(annotation) {
                Some(word @ ("final" | "appendable" | "mutable")) => Some(("extensibility", word.to_owned())),
                Some("extensibility") => {
                    extensibility(annotation).map(|word| ("extensibility", word.to_owned()))
                }
                Some("nested") => flag(annotation).map(|on| ("nested", on.to_string())),
                Some("autoid") => {
                    chosen(annotation, "HASH").map(|word| ("autoid", word.to_ascii_lowercase()))
                }
                Some("bit_bound") => only(annotation).map(|bits| ("bitBound", text(bits))),
                _ => None,
            };
            self.attribute_or_note(attribute, annotation);
        }
    }

    /// Adds what annotations say about a member with this type.
    fn member_notes(&mut self, annotations: &'a [Annotation], spec: &TypeSpec) {
        for annotation in annotations {
            let on = |name| flag(annotation).map(|on| (name, on.to_string()));
            let attribute = match standard_name(annotation) {
                Some("key") => on("key"),
                Some("optional") => on("optional"),
                Some("must_understand") => on("mustUnderstand"),
                Some("external") => on("external"),
                Some("non_serialized") => on("nonSerialized"),
                Some("id") => only(annotation).map(|id| ("id", text(id))),
                Some("hashid") if annotation.args.is_empty() => Some(("hashid", String::new())),
                Some("hashid") => only(annotation).map(|it| ("hashid", as_text(it))),
                Some("unit") => only(annotation).map(|it| ("unit", as_text(it))),
                Some("try_construct") => {
                    chosen(annotation, "USE_DEFAULT").map(|word| ("tryConstruct", how(word)))
                }
                Some("default") => only(annotation).map(|it| ("default", value(it, spec))),
                Some("min") => only(annotation).map(|it| ("min", value(it, spec))),
                Some("max") => only(annotation).map(|it| ("max", value(it, spec))),
                _ => None,
            };
            self.attribute_or_note(attribute, annotation);
        }
    }

    fn attribute_or_note(&mut self, attribute: Option<(&'static str, String)>, annotation: &'a Annotation) {
        match attribute.filter(|(name, _)| !self.has(name)) {
            Some(attribute) => self.attributes.push(attribute),
            None => self.notes.push(annotation),
        }
    }
}

fn base_name(base: Base) -> &'static str {
    match base {
        Base::Boolean => "boolean",
        Base::Octet => "byte",
        Base::Char => "char8",
        Base::WideChar => "char16",
        Base::Int8 => "int8",
        Base::Int16 => "int16",
        Base::Int32 => "int32",
        Base::Int64 => "int64",
        Base::Uint8 => "uint8",
        Base::Uint16 => "uint16",
        Base::Uint32 => "uint32",
        Base::Uint64 => "uint64",
        Base::Float => "float32",
        Base::Double => "float64",
        Base::LongDouble => "float128",
    }
}

fn bounded(bound: &Option<Expr>) -> String {
    bound.as_ref().map_or_else(|| "-1".to_owned(), text)
}

fn how(word: &str) -> String {
    match word {
        "USE_DEFAULT" => "useDefault".to_owned(),
        word => word.to_ascii_lowercase(),
    }
}

/// The only argument of an annotation.
fn only(annotation: &Annotation) -> Option<&Expr> {
    match annotation.args.as_slice() {
        [Argument { name: None, value }] => Some(value),
        [Argument { name: Some(name), value }] if &*name.name == "value" => Some(value),
        _ => None,
    }
}

/// Whether an annotation that is true or false without a calculation is true.
fn flag(annotation: &Annotation) -> Option<bool> {
    if annotation.args.is_empty() {
        return Some(true);
    }
    match only(annotation)?.kind {
        ExprKind::Bool(on) => Some(on),
        _ => None,
    }
}

/// The word that an annotation has as its argument.
fn chosen<'a>(annotation: &'a Annotation, default: &'static str) -> Option<&'a str> {
    if annotation.args.is_empty() {
        return Some(default);
    }
    match &only(annotation)?.kind {
        ExprKind::Name(name) => name.parts.last().map(|part| &*part.name),
        _ => None,
    }
}

/// The extensibility that an annotation names.
fn extensibility(annotation: &Annotation) -> Option<&'static str> {
    match chosen(annotation, "")? {
        "FINAL" | "FINAL_EXTENSIBILITY" => Some("final"),
        "APPENDABLE" | "EXTENSIBLE_EXTENSIBILITY" => Some("appendable"),
        "MUTABLE" | "MUTABLE_EXTENSIBILITY" => Some("mutable"),
        _ => None,
    }
}

/// A value where a text is expected: as it is, or as IDL writes it.
fn as_text(expr: &Expr) -> String {
    let ExprKind::Str(octets) = &expr.kind else { return format!("({})", text(expr)) };
    match std::str::from_utf8(octets) {
        Ok(plain) if !plain.trim_start().starts_with(['"', '(', 'L']) && !plain.chars().any(is_special) => {
            plain.to_owned()
        }
        _ => text(expr),
    }
}

/// Characters that XML does not have or does not keep.
fn is_special(c: char) -> bool {
    c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// A value of a type.
fn value(expr: &Expr, spec: &TypeSpec) -> String {
    match (&expr.kind, &spec.kind) {
        (ExprKind::Bool(on), _) => on.to_string(),
        (_, TypeKind::String { wide: false, .. }) => as_text(expr),
        (ExprKind::WideStr(_), TypeKind::String { .. }) => text(expr),
        // Else they would be characters or a text.
        (ExprKind::Name(_) | ExprKind::Integer(_), TypeKind::Base(Base::Char | Base::WideChar))
        | (_, TypeKind::String { .. }) => format!("({})", text(expr)),
        _ => text(expr),
    }
}

struct Printer<'p> {
    out: String,
    depth: usize,
    facts: &'p Facts,
    sink: &'p mut Sink,
    scope: Vec<&'p str>,
}

impl<'p> Printer<'p> {
    fn indent(&mut self) {
        self.out.push_str(&"  ".repeat(self.depth));
    }

    fn docs(&mut self, docs: Option<&str>) {
        let Some(docs) = docs else { return };
        // Two hyphens would end the comment.
        let mut apart = String::with_capacity(docs.len());
        for c in docs.chars() {
            if c == '-' && apart.ends_with('-') {
                apart.push(' ');
            }
            apart.push(c);
        }
        self.indent();
        let _ = writeln!(self.out, "<!--* {apart} -->");
    }

    fn start(&mut self, tag: &Tag<'_>, end: &str) {
        self.indent();
        let _ = write!(self.out, "<{}", tag.name);
        for (name, value) in &tag.attributes {
            let _ = write!(self.out, " {name}=\"{}\"", escaped(value));
        }
        self.out.push_str(end);
        self.out.push('\n');
    }

    fn block(&mut self, tag: Tag<'_>, body: impl FnOnce(&mut Self)) {
        self.start(&tag, ">");
        self.depth = self.depth.saturating_add(1);
        self.contents(&tag);
        body(self);
        self.depth = self.depth.saturating_sub(1);
        self.indent();
        let _ = writeln!(self.out, "</{}>", tag.name);
    }

    /// An element with nothing in it but annotations and inner types.
    fn leaf(&mut self, tag: Tag<'_>) {
        if tag.is_empty() { self.start(&tag, "/>") } else { self.block(tag, |_| {}) }
    }

    fn contents(&mut self, tag: &Tag<'_>) {
        for note in &tag.notes {
            self.annotate(note);
        }
        for inner in &tag.inner {
            self.leaf(inner.clone());
        }
    }

    fn annotate(&mut self, annotation: &Annotation) {
        let tag = Tag::new("annotate").with("name", annotation.name.text());
        if annotation.args.is_empty() {
            return self.leaf(tag);
        }
        let known = annotation.name.single().and_then(standard).map(|(_, params)| params).unwrap_or_default();
        self.block(tag, |printer| {
            for (index, arg) in annotation.args.iter().enumerate() {
                let mut tag = Tag::new("member");
                match (&arg.name, known.get(index)) {
                    (Some(name), _) => tag.set("name", &*name.name),
                    (None, Some(name)) => tag.set("name", *name),
                    (None, None) => {}
                }
                tag.set("value", text(&arg.value));
                printer.leaf(tag);
            }
        });
    }

    fn definitions(&mut self, definitions: &'p [Definition]) {
        for definition in definitions {
            if !matches!(definition.kind, DefinitionKind::Keys { .. }) {
                self.docs(definition.docs.as_deref());
            }
            self.definition(definition);
        }
    }

    fn refused(&mut self, span: Span, what: &str) {
        self.sink.error(span, format!("XML has no {what}"));
    }

    fn definition(&mut self, definition: &'p Definition) {
        let notes = &definition.annotations;
        match &definition.kind {
            DefinitionKind::Module { name, definitions } => {
                let mut tag = Tag::named("module", name);
                tag.notes.extend(notes);
                self.scope.push(&name.name);
                self.block(tag, |printer| printer.definitions(definitions));
                self.scope.pop();
            }
            DefinitionKind::Const { ty, name, value: given } => {
                let mut tag = Tag::named("const", name);
                tag.usage(ty, &[]);
                tag.set("value", value(given, ty));
                tag.notes.extend(notes);
                self.leaf(tag);
            }
            DefinitionKind::Type(decl) => self.type_decl(decl, notes),
            DefinitionKind::Typedef { ty, declarators } => self.typedef(notes, ty, declarators),
            DefinitionKind::Forward { union, name } => {
                let mut tag =
                    Tag::named("forward_dcl", name).with("kind", if *union { "union" } else { "struct" });
                tag.notes.extend(notes);
                self.leaf(tag);
            }
            DefinitionKind::Annotation(decl) => self.annotation_decl(decl),
            DefinitionKind::Interface(Interface { name, .. }) | DefinitionKind::InterfaceForward(name) => {
                self.refused(name.span, "interfaces");
            }
            // Members say it.
            DefinitionKind::Keys { .. } => {}
        }
    }

    fn typedef(&mut self, notes: &'p [Annotation], ty: &'p TypeSpec, declarators: &'p [Declarator]) {
        let declared = if let TypeKind::Declared(decl) = &ty.kind { Some(decl) } else { None };
        if let Some(decl) = declared {
            self.type_decl(decl, notes.iter().chain(&ty.annotations));
        }
        for declarator in declarators {
            let mut tag = Tag::named("typedef", &declarator.name);
            tag.usage(ty, &declarator.dimensions);
            if declared.is_none() {
                tag.member_notes(notes, ty);
                tag.member_notes(&ty.annotations, ty);
            }
            self.leaf(tag);
        }
    }

    fn annotation_decl(&mut self, decl: &'p AnnotationDecl) {
        self.block(Tag::named("annotation", &decl.name), |printer| {
            for item in &decl.body {
                match item {
                    AnnotationItem::Param { ty, name, default } => {
                        let mut tag = Tag::named("member", name);
                        tag.usage(ty, &[]);
                        if let Some(default) = default {
                            tag.set("default", value(default, ty));
                        }
                        printer.leaf(tag);
                    }
                    AnnotationItem::Definition(definition) => printer.definition(definition),
                }
            }
        });
    }

    fn type_decl(&mut self, decl: &'p TypeDecl, notes: impl IntoIterator<Item = &'p Annotation>) {
        let notes: Vec<&Annotation> = notes.into_iter().collect();
        if let TypeDeclKind::Union { discriminator, .. } = &decl.kind
            && let TypeKind::Declared(inner) = &discriminator.kind
        {
            let message = format!(
                "XML has no types in others: `{0}` is declared beside `{1}`, where its name is no longer `{1}::{0}`",
                inner.name.name, decl.name.name
            );
            self.sink.warning(inner.name.span, message);
            self.type_decl(inner, []);
        }
        let name = match &decl.kind {
            TypeDeclKind::Struct { .. } => "struct",
            TypeDeclKind::Union { .. } => "union",
            TypeDeclKind::Enum { .. } => "enum",
            TypeDeclKind::Bitmask { .. } => "bitmask",
            TypeDeclKind::Bitset { .. } => "bitset",
            TypeDeclKind::Exception { .. } => {
                // No data has it as its type.
                self.sink.warning(decl.name.span, "XML has no exceptions: this one is left out");
                return;
            }
        };
        let mut tag = Tag::named(name, &decl.name);
        if let TypeDeclKind::Struct { base: Some(base), .. } | TypeDeclKind::Bitset { base: Some(base), .. } =
            &decl.kind
        {
            tag.set("baseType", base.text());
        }
        for note in &notes {
            tag.type_notes(std::slice::from_ref(*note));
        }
        let says = tag.has("extensibility") || notes.iter().any(|it| is(it, "extensibility"));
        if matches!(name, "struct" | "union") && !says {
            // Not everybody takes the same default.
            tag.set("extensibility", keyword(self.facts.default_extensibility));
        }
        let says = notes.iter().any(|it| is(it, "nested") || is(it, "topic"));
        if name == "struct" && !says && self.facts.is_topic(&self.scope, &decl.name.name) {
            tag.set("nested", "false");
        }
        self.block(tag, |printer| printer.body(decl));
    }

    fn body(&mut self, decl: &'p TypeDecl) {
        match &decl.kind {
            TypeDeclKind::Struct { members, .. } | TypeDeclKind::Exception { members } => {
                for member in members {
                    self.member(member, &decl.name.name);
                }
            }
            TypeDeclKind::Union { discriminator, cases } => {
                let mut tag = Tag::new("discriminator");
                tag.usage(discriminator, &[]);
                tag.member_notes(&discriminator.annotations, discriminator);
                self.leaf(tag);
                for case in cases {
                    self.case(case, discriminator, &decl.name.name);
                }
            }
            TypeDeclKind::Enum { literals } => self.enumerators("enumerator", "value", literals),
            TypeDeclKind::Bitmask { bits } => self.enumerators("flag", "position", bits),
            TypeDeclKind::Bitset { fields, .. } => fields.iter().for_each(|field| self.bit_field(field)),
        }
    }

    fn member(&mut self, member: &'p Member, owner: &str) {
        self.docs(member.docs.as_deref());
        for declarator in &member.declarators {
            let mut tag = Tag::named("member", &declarator.name);
            tag.usage(&member.ty, &declarator.dimensions);
            tag.member_notes(&member.annotations, &member.ty);
            let says = member.annotations.iter().any(|it| is(it, "key"));
            if !says && self.facts.is_key(&self.scope, owner, &declarator.name.name) {
                tag.set("key", "true");
            }
            self.leaf(tag);
        }
    }

    fn case(&mut self, case: &'p Case, discriminator: &TypeSpec, owner: &str) {
        self.block(Tag::new("case"), |printer| {
            for label in &case.labels {
                let given =
                    label.value.as_ref().map_or_else(|| "default".to_owned(), |it| value(it, discriminator));
                printer.leaf(Tag::new("caseDiscriminator").with("value", given));
            }
            printer.member(&case.member, owner);
        });
    }

    fn enumerators(&mut self, name: &'static str, number: &'static str, literals: &'p [Enumerator]) {
        for literal in literals {
            self.docs(literal.docs.as_deref());
            let mut tag = Tag::named(name, &literal.name);
            for note in &literal.annotations {
                let attribute = match standard_name(note) {
                    Some(word) if word == number => only(note).map(|it| (number, text(it))),
                    Some("default_literal") => Some(("defaultLiteral", "true".to_owned())),
                    _ => None,
                };
                tag.attribute_or_note(attribute, note);
            }
            self.leaf(tag);
        }
    }

    fn bit_field(&mut self, field: &'p BitField) {
        self.docs(field.docs.as_deref());
        let names: Vec<Option<&Ident>> = match field.names.as_slice() {
            [] => vec![None],
            names => names.iter().map(Some).collect(),
        };
        for (index, name) in names.into_iter().enumerate() {
            let mut tag = name.map_or_else(|| Tag::new("bitfield"), |name| Tag::named("bitfield", name));
            tag.set("bitBound", text(&field.width));
            if let Some(ty) = &field.ty {
                tag.usage(ty, &[]);
            }
            for note in &field.annotations {
                let position = if is(note, "position") { only(note) } else { None };
                // The fields that follow are behind the first.
                if index == 0 || position.is_none() {
                    tag.attribute_or_note(position.map(|it| ("position", text(it))), note);
                }
            }
            self.leaf(tag);
        }
    }
}

/// A value between quotation marks.
fn escaped(value: &str) -> String {
    let mut out = String::new();
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}
