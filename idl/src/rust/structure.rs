//! Structures, exceptions and unions.

use std::collections::BTreeSet;

use names::Taken;

use super::{Generator, names, uint8::is_uint8};
use crate::check::number_of_values;
use crate::ir::*;

impl Generator<'_> {
    pub(super) fn structure(&mut self, id: TypeId, name: &str, ty: &TypeDef, structure: &Struct) {
        let cdr = self.options.cdr.clone();
        self.docs(ty.docs.as_deref());
        self.line(&format!("#[derive(Clone, Debug, PartialEq, {cdr}::DdsType)]"));
        self.type_attributes(ty, name, &[]);
        if structure.members.is_empty() && structure.base.is_none() {
            self.line(&format!("pub struct {name} {{}}"));
        } else {
            self.open(&format!("pub struct {name} {{"));
            self.verbatim(&ty.verbatims, Placement::BeginDeclaration);
            self.fields(id, structure);
            self.verbatim(&ty.verbatims, Placement::EndDeclaration);
            self.close("}");
        }
        self.default_impl(name);
        if matches!(ty.kind, Kind::Exception(_)) {
            self.line("");
            self.open(&format!("impl ::core::fmt::Display for {name} {{"));
            self.open("fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {");
            self.line("::core::fmt::Debug::fmt(self, f)");
            self.close("}");
            self.close("}");
            self.line("");
            self.line(&format!("impl ::std::error::Error for {name} {{}}"));
        }
    }

    fn fields(&mut self, owner: TypeId, structure: &Struct) {
        let mut taken = Taken::default();
        let fields: Vec<String> = structure
            .members
            .iter()
            .map(|member| taken.choose(names::snake(&member.name), &member.name))
            .collect();
        if let Some(base) = structure.base {
            let field = taken.choose("base".to_owned(), "base_");
            let described = self.described(&Type::Named(base));
            match self.is_alias(base) {
                true => self.line(&format!("#[dds(base, as = \"{described}\")]")),
                false => self.line("#[dds(base)]"),
            }
            let base = self.path_to(base);
            self.line(&format!("pub {field}: {base},"));
        }
        for (member, field) in structure.members.iter().zip(fields) {
            self.docs(member.docs.as_deref());
            let remarks = self.remarks(member);
            self.docs(remarks.as_deref());
            let (inner, bound) = self.member_type(member);
            let boxed = member.external || (member.optional && self.contains(&member.ty, owner));
            let stored = self.stored(inner, member.optional, boxed);
            let attributes = self.member_attributes(member, &field, bound, boxed);
            if !attributes.is_empty() {
                self.line(&format!("#[dds({})]", attributes.join(", ")));
            }
            self.line(&format!("pub {field}: {stored},"));
        }
    }

    fn member_attributes(
        &mut self,
        member: &Member,
        field: &str,
        bound: Option<u32>,
        boxed: bool,
    ) -> Vec<String> {
        let default = self.default_text(member);
        if member.non_serialized {
            let default =
                default.unwrap_or_else(|| format!("{}::CdrRead::default_value()", self.options.cdr));
            return vec!["non_serialized".to_owned(), format!("default = {default}")];
        }
        let mut words = Vec::new();
        if member.key {
            words.push("key".to_owned());
        }
        words.extend(id_attribute(member));
        if field.trim_start_matches("r#") != member.name {
            words.push(format!("name = \"{}\"", member.name));
        }
        words.extend(member.optional.then(|| "optional".to_owned()));
        self.value_attributes(member, bound, boxed, &mut words);
        words.extend(default.map(|default| format!("default = {default}")));
        words
    }

    /// The attributes that members of structures and unions have alike.
    fn value_attributes(
        &mut self,
        member: &Member,
        bound: Option<u32>,
        boxed: bool,
        words: &mut Vec<String>,
    ) {
        let flags = [(member.external, "external"), (member.must_understand, "must_understand")];
        words.extend(flags.iter().filter(|(on, _)| *on).map(|(_, word)| (*word).to_owned()));
        words.extend(bound.map(|bound| format!("bound = {bound}")));
        match self.described_member(member, boxed) {
            Some(described) => words.push(format!("as = \"{described}\"")),
            None if is_uint8(self.model, &member.ty) => words.push("uint8".to_owned()),
            None => {}
        }
        match member.try_construct {
            TryConstruct::Trim => words.push("try_construct = \"trim\"".to_owned()),
            TryConstruct::UseDefault => words.push("try_construct = \"default\"".to_owned()),
            TryConstruct::Discard => {}
        }
        for (word, value) in [("min", &member.min), ("max", &member.max)] {
            if let Some(value) = value {
                words.push(format!("{word} = {}", self.value(value, &member.ty)));
            }
        }
        words.extend(member.unit.as_ref().map(|unit| format!("unit = \"{}\"", unit.escape_debug())));
    }

    pub(super) fn union(&mut self, name: &str, ty: &TypeDef, union: &Union) {
        let cdr = self.options.cdr.clone();
        let selector = self.model.resolve(&union.discriminator).clone();
        let discriminator = self.plain_type(&selector);
        self.docs(ty.docs.as_deref());
        self.line(&format!("#[derive(Clone, Debug, PartialEq, {cdr}::DdsType)]"));
        let mut words = vec!["union".to_owned(), format!("discriminator = \"{discriminator}\"")];
        if union.key {
            words.push("key".to_owned());
        }
        if self.says_more(&union.discriminator) {
            words.push(format!("as = \"{}\"", self.described(&union.discriminator)));
        } else if selector == Type::Uint8 {
            words.push("uint8".to_owned());
        }
        if union.try_construct != TryConstruct::Discard {
            words.push("try_construct = \"default\"".to_owned());
        }
        self.type_attributes(ty, name, &words);
        self.open(&format!("pub enum {name} {{"));
        self.verbatim(&ty.verbatims, Placement::BeginDeclaration);
        let mut taken = Taken::default();
        let mut arms = Vec::new();
        for case in &union.cases {
            let variant = taken.choose(names::variant(&case.member.name), &case.member.name);
            arms.push(self.case(case, &variant, &selector, &discriminator));
        }
        if !self.is_covered(union) {
            let variant = taken.choose("Unset".to_owned(), "Unset_");
            self.line("/// No member is selected.");
            // The variant has an id that no member has.
            let last = union.cases.last().map_or(0, |case| case.member.id);
            let highest = union.cases.iter().map(|case| case.member.id).max().unwrap_or(0);
            let clash = union.cases.iter().any(|case| case.member.id == last.saturating_add(1));
            let id = if clash || ty.autoid_hash {
                format!(", id = {}", free_id(union, highest))
            } else {
                String::new()
            };
            self.line(&format!("#[dds(default{id})]"));
            self.open(&format!("{variant} {{"));
            self.line("#[dds(discriminator)]");
            self.line(&format!("discriminator: {discriminator},"));
            self.close("},");
            arms.push(format!("Self::{variant} {{ discriminator, .. }} => *discriminator,"));
        }
        self.verbatim(&ty.verbatims, Placement::EndDeclaration);
        self.close("}");
        self.line("");
        self.allow();
        self.open(&format!("impl {name} {{"));
        self.line("/// The discriminator.");
        self.line("#[must_use]");
        self.open(&format!("pub fn discriminator(&self) -> {discriminator} {{"));
        self.open("match self {");
        arms.iter().for_each(|arm| self.line(arm));
        self.close("}");
        self.close("}");
        self.close("}");
        self.default_impl(name);
    }

    /// Whether every discriminator selects a member.
    fn is_covered(&self, union: &Union) -> bool {
        let labels: usize = union.cases.iter().map(|case| case.labels.len()).sum();
        union.cases.iter().any(|case| case.is_default)
            || number_of_values(self.model, &union.discriminator).is_some_and(|all| labels >= all)
    }

    /// Writes a variant and returns the arm that gives its discriminator.
    fn case(&mut self, case: &Case, variant: &str, selector: &Type, discriminator: &str) -> String {
        let member = &case.member;
        self.docs(member.docs.as_deref());
        let remarks = self.remarks(member);
        self.docs(remarks.as_deref());
        let labels: Vec<String> = case.labels.iter().map(|label| self.label(label, member)).collect();
        let mut words = Vec::new();
        match labels.as_slice() {
            [] => {}
            [label] => words.push(format!("case = {label}")),
            labels => words.push(format!("case({})", labels.join(", "))),
        }
        if case.is_default {
            words.push("default".to_owned());
        }
        words.extend(id_attribute(member));
        if variant != member.name {
            words.push(format!("name = \"{}\"", member.name));
        }
        self.line(&format!("#[dds({})]", words.join(", ")));
        let (inner, bound) = self.member_type(member);
        let stored = self.stored(inner, member.optional, member.external);
        let mut attributes = Vec::new();
        self.value_attributes(member, bound, member.external, &mut attributes);
        attributes.extend(self.default_text(member).map(|default| format!("default = {default}")));
        let attributes =
            if attributes.is_empty() { String::new() } else { format!("#[dds({})] ", attributes.join(", ")) };
        let kept = case.is_default || labels.len() > 1;
        if !kept {
            self.line(&format!("{variant}({attributes}{stored}),"));
            let value = case.labels.first().map(|label| self.value(label, selector)).unwrap_or_default();
            return format!("Self::{variant}(_) => {value},");
        }
        self.open(&format!("{variant} {{"));
        self.line("/// Which of the values it is that select this member.");
        self.line("#[dds(discriminator)]");
        self.line(&format!("discriminator: {discriminator},"));
        self.line("/// The member.");
        self.line(&format!("{attributes}value: {stored},"));
        self.close("},");
        format!("Self::{variant} {{ discriminator, .. }} => *discriminator,")
    }

    /// A label as the derive expects it.
    fn label(&mut self, label: &Value, member: &Member) -> String {
        match label {
            Value::Char(c) if c.is_ascii_graphic() && !matches!(c, b'\'' | b'\\') => {
                format!("'{}'", char::from(*c))
            }
            Value::Char(c) => c.to_string(),
            Value::WideChar(c) => c.to_string(),
            Value::Bits(id, bits) => match self.bit_path(*id, *bits) {
                Some(path) => path,
                None => {
                    self.sink.error(member.span, "the Rust back end supports single bits as labels only");
                    String::new()
                }
            },
            Value::Enum(id, index) => self.literal_path(*id, *index),
            Value::Bool(b) => b.to_string(),
            Value::Int(n) => n.to_string(),
            Value::Float(_) | Value::Str(_) | Value::WideStr(_) => String::new(),
        }
    }
}

impl Generator<'_> {
    /// Whether values of a type hold a value of `wanted` in themselves, not behind a pointer or in a collection.
    fn contains(&self, ty: &Type, wanted: TypeId) -> bool {
        let (mut open, mut seen) = (vec![ty], BTreeSet::new());
        while let Some(ty) = open.pop() {
            match self.model.resolve(ty) {
                Type::Array { element, .. } if !element.external => open.push(&element.ty),
                Type::Named(id) if *id == wanted => return true,
                Type::Named(id) if seen.insert(*id) => {
                    let Some(definition) = self.model.ty(*id) else { continue };
                    match &definition.kind {
                        Kind::Struct(_) => open.extend(
                            self.model
                                .all_members(*id)
                                .into_iter()
                                .filter(|m| !m.external)
                                .map(|member| &member.ty),
                        ),
                        Kind::Union(union) => {
                            let members = union.cases.iter().map(|case| &case.member);
                            open.extend(members.filter(|m| !m.external).map(|member| &member.ty));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        false
    }
}

/// How the id of a member is given, unless it follows from the others.
fn id_attribute(member: &Member) -> Option<String> {
    match &member.id_source {
        IdSource::Given => Some(format!("id = {}", member.id)),
        IdSource::HashOf(text) => Some(format!("hashid = \"{}\"", text.escape_debug())),
        IdSource::HashOfName => Some("hashid".to_owned()),
        IdSource::Sequential => None,
    }
}

/// An id that no member of a union has.
fn free_id(union: &Union, highest: u32) -> u32 {
    let used = |id: &u32| union.cases.iter().any(|case| case.member.id == *id);
    let above = highest.saturating_add(1);
    if above <= 0x0fff_ffff { above } else { (1..highest).rev().find(|id| !used(id)).unwrap_or(1) }
}
