//! Structures, unions, enumerations, bitmasks and bitsets.

use super::Reader;
use super::annotate::{NOTES, OF_MEMBER, OF_TYPE, note};
use super::element::Element;
use super::usage::{INNER, TYPE};
use super::value::Want;
use crate::syntax::ast::{
    BitField, Case, Declarator, Definition, DefinitionKind, Enumerator, Label, Member, ScopedName, TypeDecl,
    TypeDeclKind, TypeSpec,
};

const BIT_BOUND: &[&str] = &["bitBound", "bit_bound"];
/// The number of bits of a bit field.
const WIDTH: &[&str] = &["bitBound", "bit_bound", "bitcount", "bitCount"];

fn defined(annotations: Vec<crate::syntax::ast::Annotation>, decl: TypeDecl) -> Definition {
    Definition { annotations, docs: None, kind: DefinitionKind::Type(decl) }
}

impl Reader<'_> {
    pub(super) fn structure(&mut self, element: Element<'_, '_>) -> Option<Definition> {
        element.allow(&[&["name", "baseType"], OF_TYPE], self.sink);
        self.only(element, &[&["member"], NOTES]);
        let (name, base) = (self.named(element), self.base(element));
        let annotations = self.type_annotations(element);
        let members = element.children().filter(|child| child.name() == "member");
        let members = members.filter_map(|member| self.member(member)).collect();
        Some(defined(annotations, TypeDecl { name: name?, kind: TypeDeclKind::Struct { base, members } }))
    }

    fn base(&mut self, element: Element<'_, '_>) -> Option<ScopedName> {
        let base = element.attribute(&["baseType"])?;
        self.scoped_name(base)
    }

    fn member(&mut self, element: Element<'_, '_>) -> Option<Member> {
        if self.is_done() {
            return None;
        }
        element.allow(&[&["name"], TYPE, OF_MEMBER], self.sink);
        self.only(element, &[NOTES, INNER]);
        let (name, usage) = (self.named(element), self.usage(element));
        let want = usage.as_ref().map_or(Want::Other, |usage| Want::of(&usage.ty));
        let annotations = self.member_annotations(element, want);
        let usage = usage?;
        let declarators = vec![Declarator { name: name?, dimensions: usage.dimensions }];
        Some(Member { annotations, ty: usage.ty, declarators, docs: element.docs() })
    }

    pub(super) fn union(&mut self, element: Element<'_, '_>) -> Option<Definition> {
        element.allow(&[&["name"], OF_TYPE], self.sink);
        self.only(element, &[&["discriminator", "case"], NOTES]);
        let (name, annotations) = (self.named(element), self.type_annotations(element));
        let mut found = element.children().filter(|child| child.name() == "discriminator");
        let discriminator = match (found.next(), found.next()) {
            (Some(discriminator), None) => self.discriminator(discriminator),
            (None, _) => {
                self.sink.error(element.span(), "this <union> has no <discriminator>");
                None
            }
            (Some(_), Some(second)) => {
                self.sink.error(second.span(), "a union has one <discriminator>");
                None
            }
        };
        let want = discriminator.as_ref().map_or(Want::Other, Want::of);
        let cases = element.children().filter(|child| child.name() == "case");
        let cases = cases.filter_map(|case| self.case(case, want)).collect();
        let kind = TypeDeclKind::Union { discriminator: discriminator?, cases };
        Some(defined(annotations, TypeDecl { name: name?, kind }))
    }

    fn discriminator(&mut self, element: Element<'_, '_>) -> Option<TypeSpec> {
        element.allow(&[&["type", "nonBasicTypeName", "key", "tryConstruct"]], self.sink);
        self.only(element, &[NOTES]);
        let annotations = self.member_annotations(element, Want::Other);
        let mut ty = self.usage(element)?.ty;
        ty.annotations.extend(annotations);
        Some(ty)
    }

    fn case(&mut self, element: Element<'_, '_>, want: Want) -> Option<Case> {
        element.allow(&[], self.sink);
        self.only(element, &[&["caseDiscriminator", "member"]]);
        let labels = element.children().filter(|child| child.name() == "caseDiscriminator");
        let labels: Vec<Label> = labels.filter_map(|label| self.label(label, want)).collect();
        if !element.children().any(|child| child.name() == "caseDiscriminator") {
            self.sink
                .error(element.span(), "this <case> has no <caseDiscriminator>")
                .hint("`value=\"default\"` selects it for all other values");
        }
        let mut members = element.children().filter(|child| child.name() == "member");
        match (members.next(), members.next()) {
            (Some(member), None) => Some(Case { labels, member: self.member(member)? }),
            (None, _) => {
                self.sink.error(element.span(), "this <case> has no <member>");
                None
            }
            (Some(_), Some(second)) => {
                self.sink.error(second.span(), "a case has one <member>");
                None
            }
        }
    }

    fn label(&mut self, element: Element<'_, '_>, want: Want) -> Option<Label> {
        element.allow(&[&["value"]], self.sink);
        self.only(element, &[]);
        let value = self.required(element, &["value"])?;
        let span = value.span;
        if value.value.trim() == "default" {
            return Some(Label { value: None, span });
        }
        Some(Label { value: Some(self.value(value, want)?), span })
    }

    pub(super) fn enumeration(&mut self, element: Element<'_, '_>) -> Option<Definition> {
        element.allow(&[&["name"], BIT_BOUND, OF_TYPE], self.sink);
        self.only(element, &[&["enumerator"], NOTES]);
        let (name, mut annotations) = (self.named(element), self.type_annotations(element));
        annotations.extend(self.bit_bound(element));
        let literals = self.enumerators(element, &["enumerator"], &["value"]);
        Some(defined(annotations, TypeDecl { name: name?, kind: TypeDeclKind::Enum { literals } }))
    }

    fn bit_bound(&mut self, element: Element<'_, '_>) -> Option<crate::syntax::ast::Annotation> {
        let found = element.attribute(BIT_BOUND)?;
        let value = self.expression(found.trimmed())?;
        Some(note("bit_bound", Some(value), found.span))
    }

    /// Literals or flags; `numbers` are names of the attribute with what they stand for, of which the first is the annotation's.
    fn enumerators(
        &mut self,
        parent: Element<'_, '_>,
        names: &[&str],
        numbers: &[&'static str],
    ) -> Vec<Enumerator> {
        let number = numbers.first().copied().unwrap_or_default();
        let mut literals = Vec::new();
        for element in parent.children().filter(|child| names.contains(&child.name())) {
            if self.is_done() {
                break;
            }
            let more: &[&str] = if number == "value" { &["defaultLiteral"] } else { &[] };
            element.allow(&[&["name"], numbers, more], self.sink);
            self.only(element, &[NOTES]);
            let (name, mut annotations) = (self.named(element), self.notes(element));
            if let Some(found) = element.attribute(numbers) {
                let value = self.expression(found.trimmed());
                annotations.extend(value.map(|value| note(number, Some(value), found.span)));
            }
            if let Some(found) = element.attribute(&["defaultLiteral"]).filter(|_| !more.is_empty())
                && self.flag(found) == Some(true)
            {
                annotations.push(note("default_literal", None, found.span));
            }
            literals.extend(name.map(|name| Enumerator { annotations, name, docs: element.docs() }));
        }
        if literals.is_empty() {
            self.sink.error(parent.span(), format!("this <{}> is empty", parent.name()));
        }
        literals
    }

    pub(super) fn bitmask(&mut self, element: Element<'_, '_>) -> Option<Definition> {
        element.allow(&[&["name"], BIT_BOUND, OF_TYPE], self.sink);
        self.only(element, &[&["flag", "bit_value"], NOTES]);
        let (name, mut annotations) = (self.named(element), self.type_annotations(element));
        annotations.extend(self.bit_bound(element));
        // DDS-XTypes 1.3 Annex A calls it `position`; files for Connext have `value`.
        let bits = self.enumerators(element, &["flag", "bit_value"], &["position", "value"]);
        Some(defined(annotations, TypeDecl { name: name?, kind: TypeDeclKind::Bitmask { bits } }))
    }

    pub(super) fn bitset(&mut self, element: Element<'_, '_>) -> Option<Definition> {
        element.allow(&[&["name", "baseType"], OF_TYPE], self.sink);
        self.only(element, &[&["bitfield"], NOTES]);
        let (name, base) = (self.named(element), self.base(element));
        let annotations = self.type_annotations(element);
        let fields = element.children().filter(|child| child.name() == "bitfield");
        let fields = fields.filter_map(|field| self.bit_field(field)).collect();
        Some(defined(annotations, TypeDecl { name: name?, kind: TypeDeclKind::Bitset { base, fields } }))
    }

    fn bit_field(&mut self, element: Element<'_, '_>) -> Option<BitField> {
        if self.is_done() {
            return None;
        }
        element.allow(&[&["name", "type", "nonBasicTypeName", "position"], WIDTH], self.sink);
        self.only(element, &[NOTES]);
        let mut annotations = self.notes(element);
        if let Some(found) = element.attribute(&["position"]) {
            let value = self.expression(found.trimmed())?;
            annotations.push(note("position", Some(value), found.span));
        }
        let names = match element.attribute(&["name"]).filter(|name| !name.value.is_empty()) {
            Some(name) => vec![self.ident(name)?],
            None => Vec::new(),
        };
        let ty = match element.attribute(&["type", "nonBasicTypeName"]) {
            Some(_) => Some(self.usage(element)?.ty),
            None => None,
        };
        let width = self.required(element, WIDTH)?;
        let width = self.expression(width.trimmed())?;
        Some(BitField { annotations, width, ty, names, docs: element.docs(), span: element.span() })
    }
}
