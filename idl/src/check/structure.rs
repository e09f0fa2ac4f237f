//! Structures, exceptions and unions.

use std::collections::BTreeMap;

use super::Checker;
use super::annotation::{Known, Place};
use super::member::Numbering;
use super::scope::Def;
use crate::ir::*;
use crate::source::Span;
use crate::syntax::ast::{self, Annotation, Ident, ScopedName, TypeSpec};
use crate::syntax::token::cost_of_text;

impl Checker<'_> {
    pub(super) fn structure(
        &mut self,
        name: &Ident,
        base: Option<&ScopedName>,
        members: &[ast::Member],
        annotations: &[Annotation],
        docs: Option<String>,
    ) -> Option<TypeId> {
        let base = base.and_then(|base| self.base_struct(base).map(|id| (id, base.span)));
        let begun = self.begin(name, Kind::Struct(Struct::default()), Place::Struct, annotations, docs);
        let inherited = base.map(|(id, span)| self.inherited_members(id, span)).unwrap_or_default();
        if let Some((id, span)) = base {
            self.check_base(begun.id, id, span);
        }
        let mut numbering = Numbering {
            hash: self.model.ty(begun.id).is_some_and(|ty| ty.autoid_hash),
            next: inherited
                .iter()
                .rfind(|member| !member.non_serialized)
                .map_or(0, |last| last.id.saturating_add(1)),
        };
        let outer = std::mem::replace(&mut self.scope, begun.scope);
        let members = self.members(members, &inherited, &mut numbering);
        self.scope = outer;
        if base.is_some()
            && let Some(key) = members.iter().find(|member| member.key)
        {
            self.refuse_key_after_base(key.span);
        }
        self.check_ids(&inherited, &members);
        self.end(begun.id, Kind::Struct(Struct { base: base.map(|(id, _)| id), members }));
        Some(begun.id)
    }

    pub(super) fn refuse_key_after_base(&mut self, span: Span) {
        self.sink
            .error(span, "a structure with a base cannot add key members")
            .hint("the keys of the base are its keys");
    }

    pub(super) fn exception(
        &mut self,
        name: &Ident,
        members: &[ast::Member],
        annotations: &[Annotation],
        docs: Option<String>,
    ) -> Option<TypeId> {
        let begun = self.begin(name, Kind::Exception(Struct::default()), Place::Exception, annotations, docs);
        let hash = self.model.ty(begun.id).is_some_and(|ty| ty.autoid_hash);
        let outer = std::mem::replace(&mut self.scope, begun.scope);
        let members = self.members(members, &[], &mut Numbering { hash, next: 0 });
        self.scope = outer;
        self.check_ids(&[], &members);
        self.end(begun.id, Kind::Exception(Struct { base: None, members }));
        Some(begun.id)
    }

    /// The structure that a base stands for.
    fn base_struct(&mut self, name: &ScopedName) -> Option<TypeId> {
        let text = name.text();
        let Def::Type(id) = self.resolve(name)? else {
            self.sink.error(name.span, format!("`{text}` is not a structure"));
            return None;
        };
        let Type::Named(id) = *self.model.resolve(&Type::Named(id)) else {
            self.sink.error(name.span, format!("`{text}` is not a structure"));
            return None;
        };
        if !matches!(self.model.ty(id).map(|ty| &ty.kind), Some(Kind::Struct(_))) {
            self.sink.error(name.span, format!("`{text}` is not a structure"));
            return None;
        }
        if !self.complete.get(id.0).copied().unwrap_or(false) {
            self.report_incomplete(id, name.span, "it cannot be a base");
            return None;
        }
        self.check_depth(id, name.span).then_some(id)
    }

    /// The members of a base and its bases. A large base with many derived types must not cost its size for each.
    fn inherited_members(&mut self, base: TypeId, span: Span) -> Vec<Member> {
        let members = self.model.all_members(base);
        let Some(rest) = self.inheritance.checked_sub(members.len()) else {
            if self.inheritance > 0 {
                self.sink.error(span, "too many members are inherited");
            }
            self.inheritance = 0;
            return Vec::new();
        };
        let docs = members.iter().filter_map(|member| member.docs.as_ref());
        let cost = docs.map(|docs| cost_of_text(docs.len())).fold(0, usize::saturating_add);
        let members = members.into_iter().cloned().collect();
        self.inheritance = rest;
        if self.pay(cost, span) { members } else { Vec::new() }
    }

    fn check_base(&mut self, derived: TypeId, base: TypeId, span: Span) {
        let (Some(own), Some(other)) = (self.model.ty(derived), self.model.ty(base)) else { return };
        if own.extensibility == other.extensibility {
            return;
        }
        let words = (keyword(own.extensibility), keyword(other.extensibility));
        let message = format!("`{}` is {}, but its base `{}` is {}", own.name, words.0, other.name, words.1);
        let declared = other.span;
        self.sink
            .error(span, message)
            .also(declared, "the base")
            .hint(format!("a structure has the extensibility of its base: write @{}", words.1));
    }

    fn members(
        &mut self,
        members: &[ast::Member],
        inherited: &[Member],
        numbering: &mut Numbering,
    ) -> Vec<Member> {
        let names: BTreeMap<String, Span> =
            inherited.iter().map(|member| (member.name.to_ascii_lowercase(), member.span)).collect();
        let mut result = Vec::new();
        for member in members {
            let ty = self.type_spec(&member.ty);
            let settings = self.settings(&member.annotations, Place::Member);
            if let (Some(span), true) = (settings.single_id(), member.declarators.len() > 1) {
                self.sink.error(span, "one id cannot be given to several members");
            }
            for declarator in &member.declarators {
                let name = &declarator.name;
                if let Some(other) = names.get(&name.name.to_ascii_lowercase()) {
                    self.sink
                        .error(name.span, format!("`{}` is a member of the base already", name.name))
                        .also(*other, "inherited");
                } else {
                    self.declare(name, Def::Member);
                }
                let Some(ty) = ty.clone().and_then(|ty| self.with_dimensions(ty, declarator)) else {
                    numbering.next = numbering.next.saturating_add(1);
                    continue;
                };
                if !self.pay(settings.cost(member.docs.as_ref()), name.span) {
                    return result;
                }
                let made = self.make_member(name, ty, member.docs.clone(), &settings, numbering);
                self.check_member_is_finite(&made);
                result.push(made);
            }
        }
        result
    }

    /// A member of a type that is not defined yet has to be somewhere else in memory.
    fn check_member_is_finite(&mut self, member: &Member) {
        if member.external || member.optional {
            return;
        }
        if let Some(id) = self.incomplete(&member.ty) {
            self.report_incomplete(
                id,
                member.span,
                "a value would contain itself; use a sequence, or @external with @optional",
            );
        }
    }

    pub(super) fn union(
        &mut self,
        name: &Ident,
        discriminator: &TypeSpec,
        cases: &[ast::Case],
        annotations: &[Annotation],
        docs: Option<String>,
    ) -> Option<TypeId> {
        let empty = Union {
            discriminator: Type::Int32,
            key: false,
            try_construct: TryConstruct::Discard,
            annotations: Vec::new(),
            cases: Vec::new(),
        };
        let begun = self.begin(name, Kind::Union(empty.clone()), Place::Union, annotations, docs);
        let outer = std::mem::replace(&mut self.scope, begun.scope);
        let mut union = empty;
        let ty = self.type_spec(discriminator);
        let selector = ty.filter(|ty| self.check_discriminator(ty, discriminator.span));
        for (known, span) in self.annotations(&discriminator.annotations, Place::Discriminator) {
            match known {
                Known::Key(on) => union.key = on,
                Known::TryConstruct(TryConstruct::Trim) => {
                    self.sink
                        .error(span, "only strings, sequences and maps can be trimmed")
                        .hint("a discriminator that does not fit is discarded or becomes the default");
                }
                Known::TryConstruct(how) => union.try_construct = how,
                Known::Custom(applied) => union.annotations.push(applied),
                _ => {}
            }
        }
        let hash = self.model.ty(begun.id).is_some_and(|ty| ty.autoid_hash);
        let mut numbering = Numbering { hash, next: 1 };
        let mut labels = Labels::default();
        for case in cases {
            let case = self.case(case, selector.as_ref(), &mut labels, &mut numbering);
            union.cases.extend(case);
        }
        self.scope = outer;
        if let Some(selector) = selector {
            self.check_coverage(&selector, &labels);
            union.discriminator = selector;
        }
        if cases.is_empty() {
            self.sink.error(name.span, "a union has at least one case");
        }
        let members: Vec<Member> = union.cases.iter().map(|case| case.member.clone()).collect();
        self.check_ids(&[], &members);
        if let Some(zero) = members.iter().find(|member| member.id == 0) {
            self.sink.error(zero.span, "the member id 0 belongs to the discriminator");
        }
        self.end(begun.id, Kind::Union(union));
        Some(begun.id)
    }

    fn check_discriminator(&mut self, ty: &Type, span: Span) -> bool {
        let resolved = self.model.resolve(ty);
        let kind = match resolved {
            Type::Named(id) => self.model.ty(*id).map(|ty| &ty.kind),
            _ => None,
        };
        let fits = super::integer_range(resolved).is_some()
            || matches!(resolved, Type::Boolean | Type::Char | Type::WideChar)
            || matches!(kind, Some(Kind::Enum(_)));
        if matches!(kind, Some(Kind::Bitmask(_))) {
            self.sink.warning(span, "a bitmask as discriminator is an extension that not every compiler has");
            return true;
        }
        if !fits {
            let shown = self.show_type(ty);
            self.sink
                .error(span, format!("{shown} cannot be the type of a discriminator"))
                .hint("it is an integer, a character, boolean, octet or an enumeration");
        }
        fits
    }

    fn case(
        &mut self,
        case: &ast::Case,
        selector: Option<&Type>,
        labels: &mut Labels,
        numbering: &mut Numbering,
    ) -> Option<Case> {
        let (mut values, mut is_default) = (Vec::new(), false);
        for label in &case.labels {
            let Some(expr) = &label.value else {
                if let Some(other) = labels.default.replace(label.span) {
                    self.sink.error(label.span, "there is a `default` already").also(other, "the other one");
                }
                is_default = true;
                continue;
            };
            let Some(value) = selector.and_then(|selector| self.evaluate(expr, selector)) else { continue };
            let ordinal = self.ordinal(&value);
            if let Some(other) = labels.seen.insert(ordinal, label.span) {
                self.sink
                    .error(label.span, "this label selects another case already")
                    .also(other, "the other one");
                continue;
            }
            values.push(value);
        }
        let ty = self.type_spec(&case.member.ty);
        let settings = self.settings(&case.member.annotations, Place::Case);
        let declarator = case.member.declarators.first()?;
        self.declare(&declarator.name, Def::Member);
        let ty = self.with_dimensions(ty?, declarator)?;
        let member = self.make_member(&declarator.name, ty, case.member.docs.clone(), &settings, numbering);
        self.check_member_is_finite(&member);
        Some(Case { labels: values, is_default, member })
    }

    /// A number that is the same for equal labels.
    pub(super) fn ordinal(&self, value: &Value) -> i128 {
        match value {
            Value::Bool(b) => i128::from(*b),
            Value::Int(n) => *n,
            Value::Char(c) => i128::from(*c),
            Value::WideChar(c) => i128::from(*c),
            Value::Bits(_, bits) => i128::from(*bits),
            Value::Enum(id, index) => match self.model.ty(*id).map(|ty| &ty.kind) {
                Some(Kind::Enum(e)) => e.literals.get(*index).map_or(0, |literal| literal.value.into()),
                _ => 0,
            },
            Value::Float(_) | Value::Str(_) | Value::WideStr(_) => 0,
        }
    }

    fn check_coverage(&mut self, selector: &Type, labels: &Labels) {
        let Some(default) = labels.default else { return };
        let all = number_of_values(&self.model, selector);
        if all.is_some_and(|all| labels.seen.len() >= all) {
            self.sink.error(default, "`default` selects nothing: all values have a case");
        }
    }
}

#[derive(Default)]
struct Labels {
    seen: BTreeMap<i128, Span>,
    default: Option<Span>,
}

/// How many values a discriminator can have, if that is few enough to write them all down.
pub(crate) fn number_of_values(model: &Model, ty: &Type) -> Option<usize> {
    match model.resolve(ty) {
        Type::Boolean => Some(2),
        Type::Octet | Type::Uint8 | Type::Int8 | Type::Char => Some(256),
        Type::Uint16 | Type::Int16 | Type::WideChar => Some(65536),
        Type::Named(id) => match &model.ty(*id)?.kind {
            Kind::Enum(e) => Some(e.literals.len()),
            _ => None,
        },
        _ => None,
    }
}

/// The annotation of an extensibility.
pub(crate) fn keyword(extensibility: Extensibility) -> &'static str {
    match extensibility {
        Extensibility::Final => "final",
        Extensibility::Appendable => "appendable",
        Extensibility::Mutable => "mutable",
    }
}
