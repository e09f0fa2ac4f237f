//! Definitions as IDL.

use std::fmt::Write as _;

use super::expr::{bound, name, scoped, text};
use super::{Facts, is};
use crate::syntax::ast::*;

/// The definitions of a file as IDL. The layout is made afterwards.
///
/// # Errors
/// What is wrong with what was printed.
pub(super) fn print(definitions: &[Definition], facts: &Facts) -> Result<String, String> {
    let mut printer = Printer { out: String::new(), facts, scope: Vec::new() };
    printer.definitions(definitions);
    crate::format("printed.idl", &printer.out)
}

struct Printer<'a> {
    out: String,
    facts: &'a Facts,
    scope: Vec<&'a str>,
}

/// The name of an annotation, which may be a keyword.
fn annotation_name(scoped_name: &ScopedName) -> String {
    match scoped_name.single() {
        Some(single @ ("default" | "oneway")) => single.to_owned(),
        _ => scoped(scoped_name),
    }
}

fn annotation(annotation: &Annotation) -> String {
    let name = annotation_name(&annotation.name);
    let args: Vec<String> = annotation
        .args
        .iter()
        .map(|arg| match &arg.name {
            Some(param) => format!("{}={}", param.name, text(&arg.value)),
            None => text(&arg.value),
        })
        .collect();
    if args.is_empty() { format!("@{name} ") } else { format!("@{name}({}) ", args.join(", ")) }
}

fn annotations(all: &[Annotation]) -> String {
    all.iter().map(annotation).collect()
}

fn base_name(base: Base) -> &'static str {
    match base {
        Base::Boolean => "boolean",
        Base::Octet => "octet",
        Base::Char => "char",
        Base::WideChar => "wchar",
        Base::Int8 => "int8",
        Base::Int16 => "int16",
        Base::Int32 => "int32",
        Base::Int64 => "int64",
        Base::Uint8 => "uint8",
        Base::Uint16 => "uint16",
        Base::Uint32 => "uint32",
        Base::Uint64 => "uint64",
        Base::Float => "float",
        Base::Double => "double",
        Base::LongDouble => "long double",
    }
}

fn ty(spec: &TypeSpec) -> String {
    let more =
        |bound: &Option<Expr>| bound.as_ref().map(|it| format!(", {}", self::bound(it))).unwrap_or_default();
    match &spec.kind {
        TypeKind::Base(base) => base_name(*base).to_owned(),
        TypeKind::Name(name) => scoped(name),
        TypeKind::String { wide, bound } => {
            let word = if *wide { "wstring" } else { "string" };
            bound.as_ref().map_or_else(|| word.to_owned(), |it| format!("{word}<{}>", self::bound(it)))
        }
        TypeKind::Sequence(element, bound) => {
            format!("sequence<{}{}{}>", annotations(&element.annotations), ty(element), more(bound))
        }
        TypeKind::Map(key, value, bound) => format!(
            "map<{}{}, {}{}{}>",
            annotations(&key.annotations),
            ty(key),
            annotations(&value.annotations),
            ty(value),
            more(bound)
        ),
        TypeKind::Declared(decl) => name(&decl.name.name),
        TypeKind::Refused | TypeKind::Any => "any".to_owned(),
    }
}

fn declarators(all: &[Declarator]) -> String {
    let one = |it: &Declarator| {
        let sizes: String = it.dimensions.iter().map(|size| format!("[{}]", text(size))).collect();
        format!("{}{sizes}", name(&it.name.name))
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl<'a> Printer<'a> {
    fn definitions(&mut self, definitions: &'a [Definition]) {
        for definition in definitions {
            self.docs(definition.docs.as_deref());
            self.definition(definition);
        }
    }

    fn docs(&mut self, docs: Option<&str>) {
        for line in docs.unwrap_or_default().lines() {
            let _ = writeln!(self.out, "/// {line}");
        }
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn definition(&mut self, definition: &'a Definition) {
        let notes = annotations(&definition.annotations);
        match &definition.kind {
            DefinitionKind::Module { name: ident, definitions } => {
                self.line(&format!("{notes}module {} {{", name(&ident.name)));
                self.scope.push(&ident.name);
                self.definitions(definitions);
                self.scope.pop();
                self.line("};");
            }
            DefinitionKind::Const { ty: spec, name: ident, value } => {
                self.line(&format!("{notes}const {} {} = {};", ty(spec), name(&ident.name), text(value)));
            }
            DefinitionKind::Type(decl) => self.type_decl(&notes, decl, &definition.annotations),
            DefinitionKind::Typedef { ty: spec, declarators: all } => {
                let notes = format!("{notes}{}", annotations(&spec.annotations));
                self.line(&format!("{notes}typedef {} {};", ty(spec), declarators(all)));
            }
            DefinitionKind::Forward { union, name: ident } => {
                let word = if *union { "union" } else { "struct" };
                self.line(&format!("{notes}{word} {};", name(&ident.name)));
            }
            DefinitionKind::Annotation(decl) => self.annotation_decl(decl),
            // Neither XML nor messages of ROS 2 have them.
            DefinitionKind::Interface(_)
            | DefinitionKind::InterfaceForward(_)
            | DefinitionKind::Keys { .. } => {}
        }
    }

    fn annotation_decl(&mut self, decl: &'a AnnotationDecl) {
        self.line(&format!("@annotation {} {{", decl.name.name));
        for item in &decl.body {
            match item {
                AnnotationItem::Param { ty: spec, name: ident, default } => {
                    let default =
                        default.as_ref().map(|it| format!(" default {}", text(it))).unwrap_or_default();
                    self.line(&format!("{} {}{default};", ty(spec), ident.name));
                }
                AnnotationItem::Definition(definition) => self.definition(definition),
            }
        }
        self.line("};");
    }

    fn type_decl(&mut self, notes: &str, decl: &'a TypeDecl, given: &[Annotation]) {
        let own = name(&decl.name.name);
        let base = |base: &Option<ScopedName>| {
            base.as_ref().map(|it| format!(" : {}", scoped(it))).unwrap_or_default()
        };
        let structured = matches!(decl.kind, TypeDeclKind::Struct { .. } | TypeDeclKind::Union { .. });
        let implied = self.implied(structured, given);
        match &decl.kind {
            TypeDeclKind::Struct { base: it, members } => {
                let says = given.iter().any(|it| is(it, "nested") || is(it, "topic"));
                let topic = !says && self.facts.is_topic(&self.scope, &decl.name.name);
                let topic = if topic { "@nested(FALSE) " } else { "" };
                self.line(&format!("{implied}{topic}{notes}struct {own}{} {{", base(it)));
                for member in members {
                    self.member(member, &decl.name.name);
                }
            }
            TypeDeclKind::Exception { members } => {
                self.line(&format!("{notes}exception {own} {{"));
                for member in members {
                    self.member(member, &decl.name.name);
                }
            }
            TypeDeclKind::Union { discriminator, cases } => {
                let selector = format!("{}{}", annotations(&discriminator.annotations), ty(discriminator));
                self.line(&format!("{implied}{notes}union {own} switch ({selector}) {{"));
                for case in cases {
                    for label in &case.labels {
                        match &label.value {
                            Some(value) => self.line(&format!("case {}:", text(value))),
                            None => self.line("default:"),
                        }
                    }
                    self.member(&case.member, &decl.name.name);
                }
            }
            TypeDeclKind::Enum { literals } => self.enumerators("enum", notes, &own, literals),
            TypeDeclKind::Bitmask { bits } => self.enumerators("bitmask", notes, &own, bits),
            TypeDeclKind::Bitset { base: it, fields } => {
                self.line(&format!("{notes}bitset {own}{} {{", base(it)));
                for field in fields {
                    let holder = field.ty.as_ref().map(|it| format!(", {}", ty(it))).unwrap_or_default();
                    let names: Vec<String> = field.names.iter().map(|it| name(&it.name)).collect();
                    let (notes, width) = (annotations(&field.annotations), bound(&field.width));
                    self.docs(field.docs.as_deref());
                    self.line(&format!("{notes}bitfield<{width}{holder}> {};", names.join(" ")));
                }
            }
        }
        self.line("};");
    }

    /// The extensibility that a type has without saying so, where others would take another one.
    fn implied(&self, structured: bool, given: &[Annotation]) -> String {
        let says = |name: &str| given.iter().any(|it| is(it, name));
        let default = self.facts.default_extensibility;
        let silent = !["final", "appendable", "mutable", "extensibility"].into_iter().any(says);
        match structured && silent && default != crate::Extensibility::Appendable {
            true => format!("@{} ", crate::check::keyword(default)),
            false => String::new(),
        }
    }

    fn member(&mut self, member: &'a Member, owner: &str) {
        self.docs(member.docs.as_deref());
        let first = member.declarators.first().map_or("", |it| &it.name.name);
        let implied = !member.annotations.iter().any(|it| is(it, "key"))
            && self.facts.is_key(&self.scope, owner, first);
        let key = if implied { "@key " } else { "" };
        let notes = annotations(&member.annotations);
        let spec = format!("{}{}", annotations(&member.ty.annotations), ty(&member.ty));
        self.line(&format!("{key}{notes}{spec} {};", declarators(&member.declarators)));
    }

    fn enumerators(&mut self, word: &str, notes: &str, own: &str, literals: &'a [Enumerator]) {
        self.line(&format!("{notes}{word} {own} {{"));
        for (index, literal) in literals.iter().enumerate() {
            self.docs(literal.docs.as_deref());
            let comma = if index.saturating_add(1) < literals.len() { "," } else { "" };
            self.line(&format!("{}{}{comma}", annotations(&literal.annotations), name(&literal.name.name)));
        }
    }
}
