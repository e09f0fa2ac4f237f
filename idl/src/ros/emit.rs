//! Syntax trees of messages: modules, a structure, and a module of its constants.

use super::parse::{Constant, Element, Field, Reference, Section, Shape, Type};
use super::{Kind, Unit, action};
use crate::source::Span;
use crate::syntax::ast::*;

/// Adds the definitions of a file. What `missing` says of other messages has been reported.
pub(super) fn definitions(
    unit: &Unit,
    sections: Vec<Section>,
    span: Span,
    missing: &dyn Fn(&Reference) -> bool,
    out: &mut Vec<Definition>,
) {
    let names = unit.kind.sections().iter().copied();
    let mut parts: Vec<(&str, Section)> = names.zip(sections).collect();
    if unit.kind == Kind::Action {
        parts.extend(action::derived(&unit.name, span));
    }
    let emitter = Emitter { unit, span, missing };
    let inner = parts.into_iter().flat_map(|(ending, section)| emitter.section(ending, section)).collect();
    let inner = emitter.module("dds_", inner);
    let inner = emitter.module(unit.kind.word(), vec![inner]);
    out.push(emitter.module(&unit.package, vec![inner]));
}

struct Emitter<'a> {
    unit: &'a Unit,
    /// The place of what nobody wrote.
    span: Span,
    missing: &'a dyn Fn(&Reference) -> bool,
}

impl Emitter<'_> {
    fn ident(&self, name: &str) -> Ident {
        Ident { name: name.into(), span: self.span }
    }

    fn module(&self, name: &str, definitions: Vec<Definition>) -> Definition {
        let kind = DefinitionKind::Module { name: self.ident(name), definitions };
        Definition { annotations: Vec::new(), docs: None, kind }
    }

    fn section(&self, ending: &str, section: Section) -> Vec<Definition> {
        let name = format!("{}{ending}", self.unit.name);
        let mut definitions = Vec::new();
        if !section.constants.is_empty() {
            let constants = section.constants.into_iter().map(|constant| self.constant(constant)).collect();
            definitions.push(self.module(&format!("{name}_Constants"), constants));
        }
        let mut members: Vec<Member> = section.fields.into_iter().map(|field| self.member(field)).collect();
        if members.is_empty() {
            members.push(self.dummy());
        }
        let decl = TypeDecl {
            name: self.ident(&format!("{name}_")),
            kind: TypeDeclKind::Struct { base: None, members },
        };
        let annotations = vec![self.annotation("final", None)];
        definitions.push(Definition { annotations, docs: section.docs, kind: DefinitionKind::Type(decl) });
        definitions
    }

    fn annotation(&self, name: &str, value: Option<Expr>) -> Annotation {
        let span = value.as_ref().map_or(self.span, |value| value.span);
        let name = ScopedName { global: false, parts: vec![Ident { name: name.into(), span }], span };
        let args = value.into_iter().map(|value| Argument { name: None, value }).collect();
        Annotation { name, args, span }
    }

    fn constant(&self, constant: Constant) -> Definition {
        let kind =
            DefinitionKind::Const { ty: self.ty(constant.ty), name: constant.name, value: constant.value };
        Definition { annotations: Vec::new(), docs: constant.docs, kind }
    }

    /// The member that ROS 2 gives to messages without any.
    fn dummy(&self) -> Member {
        let ty = TypeSpec { annotations: Vec::new(), kind: TypeKind::Base(Base::Uint8), span: self.span };
        let name = self.ident("structure_needs_at_least_one_member");
        let declarators = vec![Declarator { name, dimensions: Vec::new() }];
        Member { annotations: Vec::new(), ty, declarators, docs: None }
    }

    fn member(&self, field: Field) -> Member {
        let dimensions = match &field.ty.shape {
            Shape::Array(size) => vec![size.clone()],
            _ => Vec::new(),
        };
        let annotations = field.default.map(|value| self.annotation("default", Some(value)));
        Member {
            annotations: annotations.into_iter().collect(),
            ty: self.ty(field.ty),
            declarators: vec![Declarator { name: field.name, dimensions }],
            docs: field.docs,
        }
    }

    /// The type without the size of an array, which goes behind the name.
    fn ty(&self, ty: Type) -> TypeSpec {
        let kind = match ty.element {
            Element::Primitive(base) => TypeKind::Base(base),
            Element::Text { wide, bound } => TypeKind::String { wide, bound },
            Element::Message(reference) if (self.missing)(&reference) => TypeKind::Refused,
            Element::Message(reference) => {
                let (package, name) = reference.key(&self.unit.package);
                TypeKind::Name(scoped(&package, Kind::Message, &name, ty.span))
            }
            Element::Own(name) => TypeKind::Name(scoped(&self.unit.package, self.unit.kind, &name, ty.span)),
        };
        let element = TypeSpec { annotations: Vec::new(), kind, span: ty.span };
        match ty.shape {
            Shape::Sequence(bound) => {
                let kind = TypeKind::Sequence(Box::new(element), bound);
                TypeSpec { annotations: Vec::new(), kind, span: ty.span }
            }
            Shape::Single | Shape::Array(_) => element,
        }
    }
}

/// `::pkg::msg::dds_::Name_`
fn scoped(package: &str, kind: Kind, name: &str, span: Span) -> ScopedName {
    let parts = [package, kind.word(), "dds_", &format!("{name}_")];
    let parts = parts.into_iter().map(|part| Ident { name: part.into(), span }).collect();
    ScopedName { global: true, parts, span }
}
