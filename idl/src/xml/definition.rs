//! What stands in `<types>` and `<module>`.

use super::Reader;
use super::annotate::{NOTES, OF_MEMBER};
use super::element::Element;
use super::usage::{INNER, TYPE};
use super::value::Want;
use crate::syntax::ast::{
    AnnotationDecl, AnnotationItem, Declarator, Definition, DefinitionKind, Ident, TypeKind, TypeSpec,
};

/// What may be defined.
pub(super) const DEFINITIONS: &[&str] = &[
    "include",
    "forward_dcl",
    "const",
    "module",
    "struct",
    "union",
    "enum",
    "bitmask",
    "bitset",
    "typedef",
    "annotation",
];

/// Of RTI Connext, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("valuetype", "value types are not supported: a <struct> with `baseType` is sent in the same way"),
    (
        "sparse_valuetype",
        "sparse types are not supported: a mutable <struct> has members that may be missing",
    ),
    ("interface", "interfaces are not data: write them in IDL"),
    ("exception", "exceptions are not data: write them in IDL"),
];

impl Reader<'_> {
    /// The definitions in an element.
    pub(super) fn definitions(&mut self, parent: Element<'_, '_>, out: &mut Vec<Definition>) {
        if parent.name() != "module" {
            parent.allow(&[], self.sink);
        }
        for element in parent.children() {
            if self.is_done() {
                return;
            }
            let is_note = parent.name() == "module" && NOTES.contains(&element.name());
            match element.name() {
                _ if is_note => {}
                "include" => {
                    let from = element.path().to_owned();
                    self.include(element, &from, out);
                }
                // Fast DDS groups definitions.
                "type" if parent.name() != "module" => self.definitions(element, out),
                "directive" => {
                    self.sink.warning(element.span(), "this directive means nothing here and is ignored");
                }
                _ => {
                    let definition = self.definition(element, parent);
                    out.extend(definition.map(|it| Definition { docs: element.docs(), ..it }));
                }
            }
        }
    }

    fn definition(&mut self, element: Element<'_, '_>, parent: Element<'_, '_>) -> Option<Definition> {
        match element.name() {
            "module" => self.module(element),
            "const" => self.constant(element),
            "typedef" => self.typedef(element),
            "forward_dcl" => self.forward(element),
            "annotation" => self.annotation_decl(element),
            "struct" => self.structure(element),
            "union" => self.union(element),
            "enum" => self.enumeration(element),
            "bitmask" => self.bitmask(element),
            "bitset" => self.bitset(element),
            name => {
                match REFUSED.iter().find(|(refused, _)| *refused == name) {
                    Some((_, why)) => drop(self.sink.error(element.span(), *why)),
                    None => element.unexpected(parent.name(), DEFINITIONS, self.sink),
                }
                None
            }
        }
    }

    /// The name that an element gives.
    pub(super) fn named(&mut self, element: Element<'_, '_>) -> Option<Ident> {
        let name = self.required(element, &["name"])?;
        self.ident(name)
    }

    /// Reports children that mean nothing.
    pub(super) fn only(&mut self, element: Element<'_, '_>, allowed: &[&[&str]]) {
        for child in element.children() {
            if !allowed.iter().any(|names| names.contains(&child.name())) {
                let known: Vec<&str> = allowed.iter().copied().flatten().copied().collect();
                child.unexpected(element.name(), &known, self.sink);
            }
        }
    }

    fn module(&mut self, element: Element<'_, '_>) -> Option<Definition> {
        element.allow(&[&["name"]], self.sink);
        let name = self.named(element);
        let annotations = self.notes(element);
        let mut definitions = Vec::new();
        // Mistakes inside are told too.
        self.definitions(element, &mut definitions);
        Some(Definition {
            annotations,
            docs: None,
            kind: DefinitionKind::Module { name: name?, definitions },
        })
    }

    fn constant(&mut self, element: Element<'_, '_>) -> Option<Definition> {
        element.allow(&[&["name", "value"], TYPE], self.sink);
        self.only(element, &[NOTES]);
        let (name, annotations) = (self.named(element), self.notes(element));
        let usage = self.usage(element);
        let value = self.required(element, &["value"]);
        let usage = usage?;
        if !usage.dimensions.is_empty() {
            self.sink.error(usage.ty.span, "a constant cannot be an array");
            return None;
        }
        let value = self.value(value?, Want::of(&usage.ty))?;
        let kind = DefinitionKind::Const { ty: usage.ty, name: name?, value };
        Some(Definition { annotations, docs: None, kind })
    }

    fn typedef(&mut self, element: Element<'_, '_>) -> Option<Definition> {
        element.allow(&[&["name"], TYPE, OF_MEMBER], self.sink);
        self.only(element, &[NOTES, INNER]);
        let (name, usage) = (self.named(element), self.usage(element));
        let want = usage.as_ref().map_or(Want::Other, |usage| Want::of(&usage.ty));
        let annotations = self.member_annotations(element, want);
        let usage = usage?;
        let declarators = vec![Declarator { name: name?, dimensions: usage.dimensions }];
        Some(Definition {
            annotations,
            docs: None,
            kind: DefinitionKind::Typedef { ty: usage.ty, declarators },
        })
    }

    fn forward(&mut self, element: Element<'_, '_>) -> Option<Definition> {
        element.allow(&[&["name", "kind"]], self.sink);
        self.only(element, &[NOTES]);
        let (name, annotations) = (self.named(element), self.notes(element));
        let kind = self.required(element, &["kind"])?;
        let union = self.word(kind, &[("struct", false), ("union", true)])?;
        Some(Definition { annotations, docs: None, kind: DefinitionKind::Forward { union, name: name? } })
    }

    fn annotation_decl(&mut self, element: Element<'_, '_>) -> Option<Definition> {
        element.allow(&[&["name"]], self.sink);
        let name = self.named(element);
        let mut body = Vec::new();
        for child in element.children() {
            match child.name() {
                "member" => body.extend(self.parameter(child)),
                "enum" | "const" | "typedef" | "bitmask" => {
                    body.extend(self.definition(child, element).map(AnnotationItem::Definition));
                }
                _ => child.unexpected(
                    "annotation",
                    &["member", "enum", "const", "typedef", "bitmask"],
                    self.sink,
                ),
            }
        }
        let kind = DefinitionKind::Annotation(AnnotationDecl { name: name?, body });
        Some(Definition { annotations: Vec::new(), docs: None, kind })
    }

    /// A parameter of an annotation.
    fn parameter(&mut self, element: Element<'_, '_>) -> Option<AnnotationItem> {
        element.allow(&[&["name", "default", "defaultValue"], TYPE], self.sink);
        self.only(element, &[]);
        let name = self.named(element);
        let any = element.attribute(&["type"]).filter(|ty| ty.value.trim() == "any");
        let ty = match any {
            Some(any) => TypeSpec { annotations: Vec::new(), kind: TypeKind::Any, span: any.span },
            None => self.usage(element)?.ty,
        };
        let default = match element.attribute(&["default", "defaultValue"]) {
            Some(default) => Some(self.value(default, Want::of(&ty))?),
            None => None,
        };
        Some(AnnotationItem::Param { ty, name: name?, default })
    }
}
