//! The Python back end: dataclasses with type hints, and how they are serialized.
//!
//! | IDL | Python |
//! |---|---|
//! | module | a class without instances that has the names inside; a type itself is called `Module_Type` |
//! | struct, exception | a dataclass; a base is a base class |
//! | union | a class with `discriminator` and `value`, made as `U(member=…)` |
//! | enum, bitmask | `IntEnum`; an integer, with the bits as constants of its class |
//! | bitset | a class around an integer, `int(value)`, with properties |
//! | typedef, const | another name, a value |
//! | string, wstring, char, wchar | `str` |
//! | sequence, array, map | `list`, of octets `bytes`; `dict` |
//! | `@optional` | `Optional`, absent is `None`; `@external` means nothing |
//! | long double | the `int` that its bits are |
//!
//! Names stay as they are; words of Python, and names that the classes have themselves, get a `_` at the end. The module
//! `dunlin_cdr` comes with them.

mod codec;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use crate::backend::{Backend, Generated, Input, check_support, without_interfaces};
use crate::diagnostic::{Diagnostic, Sink};
use crate::ir::*;

/// The module that generated code imports.
pub const SUPPORT: &str = concat!(
    include_str!("support/octets.py"),
    include_str!("support/codecs.py"),
    include_str!("support/compound.py"),
);

/// The Python back end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Python;

impl Backend for Python {
    fn file_name(&self, stem: &str) -> String {
        format!("{}.py", module_name(stem))
    }

    fn generate(&self, input: &Input<'_>) -> Result<Generated, Vec<Diagnostic>> {
        let mut sink = Sink::new(200);
        check_support(input, "Python", &mut sink);
        check_texts(input, &mut sink);
        if sink.has_errors() {
            return Err(sink.finish());
        }
        let model = without_interfaces(input.model);
        let input = Input { model: &model, ..*input };
        let mut generator = Generator::new(&input);
        generator.file();
        let files = vec![
            (self.file_name(input.stem()), generator.out),
            ("dunlin_cdr.py".to_owned(), SUPPORT.to_owned()),
        ];
        Ok(Generated { files, diagnostics: sink.finish() })
    }
}

/// Text of Python is text: octets that are none cannot be the value of a constant or a default.
fn check_texts(input: &Input<'_>, sink: &mut Sink) {
    let model = input.model;
    let constants = model.constants.iter().map(|constant| (Some(&constant.value), constant.span));
    let structures = model.types.iter().flat_map(|ty| match &ty.kind {
        Kind::Struct(it) | Kind::Exception(it) => it.members.iter().collect::<Vec<_>>(),
        Kind::Union(it) => it.cases.iter().map(|case| &case.member).collect(),
        _ => Vec::new(),
    });
    let defaults = structures.map(|member| (member.default.as_ref(), member.span));
    for (value, span) in constants.chain(defaults).filter(|(_, span)| input.is_wanted(span.file)) {
        if let Some(Value::Str(octets)) = value
            && std::str::from_utf8(octets).is_err()
        {
            sink.error(span, "this string is not UTF-8, which a Python string has to be");
        }
    }
}

/// A name that can be imported.
fn module_name(stem: &str) -> String {
    let plain: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let begins = plain.starts_with(|c: char| c.is_ascii_digit()) || plain.is_empty();
    name(&if begins { format!("_{plain}") } else { plain })
}

/// Words that cannot be names, names that the support module or its classes have, and built-in types.
const RESERVED: &[&str] = &[
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "mro",
    "name",
    "value",
    "serialize",
    "serialize_key",
    "deserialize",
    "key_hash_octets",
    "member",
    "discriminator",
    "bits",
    "cdr",
    "bool",
    "int",
    "float",
    "str",
    "bytes",
    "list",
    "dict",
    "range",
    "Any",
    "Optional",
    "dataclass",
    "field",
    "enum",
    "dunlin_cdr",
    "annotations",
    "classmethod",
    "tuple",
    "conjugate",
    "real",
    "imag",
    "numerator",
    "denominator",
    "bit_length",
    "bit_count",
    "to_bytes",
    "from_bytes",
    "as_integer_ratio",
    "is_integer",
    "self",
    "cls",
];

/// A name that Python accepts.
fn name(name: &str) -> String {
    if RESERVED.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

struct Generator<'a> {
    input: &'a Input<'a>,
    model: &'a Model,
    out: String,
    types: BTreeMap<TypeId, String>,
    constants: BTreeMap<ConstId, String>,
}

impl<'a> Generator<'a> {
    /// Chooses the names of all types and constants: `A_B_C` of `A::B::C`.
    fn new(input: &'a Input<'a>) -> Self {
        let model = input.model;
        let (mut types, mut constants) = (BTreeMap::new(), BTreeMap::new());
        // The outermost modules have names too.
        let outermost = model.root().map(|root| root.items.as_slice()).unwrap_or_default();
        let mut taken: BTreeSet<String> = outermost
            .iter()
            .filter_map(|item| match item {
                Item::Module(id) => Some(name(&model.module(*id)?.name)),
                _ => None,
            })
            .collect();
        let mut choose = |full_name: &str| {
            let mut chosen = name(&full_name.replace("::", "_"));
            while !taken.insert(chosen.clone()) {
                chosen.push('_');
            }
            chosen
        };
        for (id, ty) in model.types() {
            types.insert(id, choose(&ty.full_name));
        }
        for (index, constant) in model.constants.iter().enumerate() {
            constants.insert(ConstId(index), choose(&constant.full_name));
        }
        Self { input, model, out: String::new(), types, constants }
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn class_name(&self, id: TypeId) -> &str {
        self.types.get(&id).map_or("", String::as_str)
    }

    fn file(&mut self) {
        self.line(&format!("# {}", self.input.header()));
        for line in [
            "from __future__ import annotations",
            "",
            "import enum",
            "from dataclasses import dataclass, field",
            "from typing import Any, Optional",
            "",
            "import dunlin_cdr as cdr",
        ] {
            self.line(line);
        }
        self.file_verbatims(Placement::BeginFile);
        let model = self.model;
        for (id, ty) in order(model) {
            if self.input.is_wanted(ty.span.file) {
                self.verbatims(&ty.verbatims, Placement::BeforeDeclaration);
                self.ty(id, ty);
                self.verbatims(&ty.verbatims, Placement::AfterDeclaration);
            }
        }
        for (index, constant) in model.constants.iter().enumerate() {
            if self.input.is_wanted(constant.span.file) {
                let own = self.constants.get(&ConstId(index)).cloned().unwrap_or_default();
                let value = self.value(&constant.value, &constant.ty);
                self.line(&format!("\n{own} = {value}"));
            }
        }
        if let Some(root) = model.root() {
            self.modules(root, 0);
        }
        self.file_verbatims(Placement::EndFile);
    }

    fn verbatims(&mut self, verbatims: &[Verbatim], placement: Placement) {
        for verbatim in verbatims.iter().filter(|it| it.placement == placement) {
            if matches!(verbatim.language.as_str(), "python" | "*") {
                self.line(&verbatim.text);
            }
        }
    }

    fn file_verbatims(&mut self, placement: Placement) {
        let model = self.model;
        let of_types = model.types.iter().flat_map(|ty| &ty.verbatims);
        let all: Vec<Verbatim> =
            model.modules.iter().flat_map(|module| &module.verbatims).chain(of_types).cloned().collect();
        self.verbatims(&all, placement);
    }

    /// The modules in a module, as classes that have the names inside. Nesting is limited by the parser.
    fn modules(&mut self, module: &Module, depth: usize) {
        let indent = "    ".repeat(depth);
        for item in &module.items {
            let Item::Module(id) = item else { continue };
            let Some(inner) = self.model.module(*id) else { continue };
            self.line(&format!("\n{indent}class {}:", name(&inner.name)));
            self.docs(inner.docs.as_deref().or(Some(&inner.full_name)), &format!("{indent}    "));
            for item in &inner.items {
                let (own, target) = match item {
                    Item::Type(id) => {
                        let wanted = |ty: &&TypeDef| self.input.is_wanted(ty.span.file);
                        let Some(ty) = self.model.ty(*id).filter(wanted) else { continue };
                        (&ty.name, self.types.get(id))
                    }
                    Item::Const(id) => {
                        let wanted = |it: &&Constant| self.input.is_wanted(it.span.file);
                        let Some(constant) = self.model.constant(*id).filter(wanted) else { continue };
                        (&constant.name, self.constants.get(id))
                    }
                    _ => continue,
                };
                let target = target.cloned().unwrap_or_default();
                self.line(&format!("{indent}    {} = {target}", name(own)));
            }
            self.modules(inner, depth.saturating_add(1));
        }
    }

    /// A documentation string.
    fn docs(&mut self, docs: Option<&str>, indent: &str) {
        let Some(docs) = docs.filter(|docs| !docs.is_empty()) else { return };
        let text = docs.trim_end().lines().collect::<Vec<_>>().join(&format!("\n{indent}"));
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        self.line(&format!("{indent}\"\"\"{text}\"\"\""));
    }
}

/// Types after their bases and what they stand for; everything else is found when it is needed.
fn order(model: &Model) -> Vec<(TypeId, &TypeDef)> {
    let mut aliases = Vec::new();
    let mut others = Vec::new();
    for (id, ty) in model.types() {
        match ty.kind {
            Kind::Alias(_) => aliases.push((id, ty)),
            _ => others.push((id, ty)),
        }
    }
    // A structure may be announced before its base is declared.
    let mut done: BTreeSet<TypeId> = BTreeSet::new();
    let mut ordered = Vec::with_capacity(model.types.len());
    for (id, _) in others {
        let mut chain = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next.filter(|id| done.insert(*id)) {
            let Some(ty) = model.ty(id) else { break };
            chain.push((id, ty));
            next = match &ty.kind {
                Kind::Struct(it) => it.base.map(|base| resolved(model, base)),
                _ => None,
            };
        }
        ordered.extend(chain.into_iter().rev());
    }
    ordered.extend(aliases);
    ordered
}

/// The type that an alias stands for.
fn resolved(model: &Model, id: TypeId) -> TypeId {
    match model.resolve(&Type::Named(id)) {
        Type::Named(id) => *id,
        _ => id,
    }
}
