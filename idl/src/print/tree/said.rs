//! Annotations that sources declare themselves, and `@verbatim`, as a syntax tree.

use dunlin_xtypes::identifier::kind;
use dunlin_xtypes::model::{self, AnnotationIndex, AnnotationParameter, Part, TypeIndex};
use dunlin_xtypes::object::annotation::AnnotationParameterValue as Value;
use dunlin_xtypes::object::name_hash;

use super::{NOWHERE, Tree, base, global, ident, last, note, parameter, spec, value};
use crate::syntax::ast::*;

fn text(text: &str) -> Expr {
    value(ExprKind::Str(text.as_bytes().to_vec()))
}

fn named(name: &str, value: Expr) -> Argument {
    Argument { name: Some(ident(name)), value }
}

/// Whether a type is declared in an annotation.
fn is_inside(name: &str, annotation: &str) -> bool {
    name.rsplit_once("::").is_some_and(|(scope, _)| scope == annotation)
}

impl Tree<'_> {
    /// Declares the annotations of a definition that are not declared yet.
    pub(super) fn declarations(&mut self, index: TypeIndex, depth: usize) -> Result<(), String> {
        let graph = self.graph;
        for applied in graph.annotations(index).iter().flat_map(|it| &it.applied) {
            if self.declared.insert(applied.annotation) {
                self.declaration(applied.annotation, depth.saturating_add(1))?;
            }
        }
        Ok(())
    }

    fn declaration(&mut self, at: AnnotationIndex, depth: usize) -> Result<(), String> {
        let graph = self.graph;
        let Some(declared) = graph.annotation(at) else { return Ok(()) };
        let mut body = Vec::new();
        for it in &declared.parameters {
            let model::Type::Named(index) = it.ty else { continue };
            let Some(definition) = graph.get(index) else { continue };
            if !is_inside(&definition.name, &declared.name) {
                self.visit(index, true, depth)?;
            } else if self.done.insert(index) {
                self.declarations(index, depth)?;
                let (annotations, kind) = self.written(index, definition)?;
                body.push(AnnotationItem::Definition(Definition { annotations, docs: None, kind }));
            }
        }
        for it in &declared.parameters {
            let ty = match &it.ty {
                model::Type::Primitive(kind::NONE) => spec(TypeKind::Any),
                model::Type::Primitive(primitive) => spec(TypeKind::Base(base(*primitive)?)),
                // What is declared in an annotation is known nowhere else.
                model::Type::Named(index) => match graph.get(*index).map(|it| it.name.as_str()) {
                    Some(name) if is_inside(name, &declared.name) => {
                        let parts = vec![last(name)];
                        spec(TypeKind::Name(ScopedName { global: false, parts, span: NOWHERE }))
                    }
                    _ => spec(TypeKind::Name(self.name_of(*index)?)),
                },
                other => self.plain(other)?,
            };
            // As in IDL, what cannot be written is left out.
            let default = it.default.as_ref().and_then(|value| self.value(&declared.name, it, value).ok());
            body.push(AnnotationItem::Param { ty, name: ident(&it.name), default });
        }
        let kind = DefinitionKind::Annotation(AnnotationDecl { name: last(&declared.name), body });
        self.add(&declared.name, Vec::new(), kind);
        Ok(())
    }

    /// What the source says of a part of a definition.
    pub(super) fn said(&self, index: TypeIndex, part: Part) -> Result<Vec<Annotation>, String> {
        let Some(said) = self.graph.annotations(index) else { return Ok(Vec::new()) };
        let mut notes = Vec::new();
        if let (Part::Type, Some(it)) = (part, &said.verbatim) {
            let placement = ScopedName { global: false, parts: vec![ident(&it.placement)], span: NOWHERE };
            let mut verbatim = note("verbatim", None);
            verbatim.args.push(named("language", text(&it.language)));
            verbatim.args.push(named("placement", value(ExprKind::Name(placement))));
            verbatim.args.push(named("text", text(&it.text)));
            notes.push(verbatim);
        }
        'applied: for applied in said.of(part) {
            let Some(declared) = self.graph.annotation(applied.annotation) else { continue };
            let mut args = Vec::new();
            for it in &declared.parameters {
                let hash = name_hash(&it.name);
                let given = applied.values.iter().find(|given| given.paramname_hash == hash);
                let given =
                    given.map(|given| &given.value).filter(|given| Some(*given) != it.default.as_ref());
                match given.and_then(|given| self.value(&declared.name, it, given).ok()) {
                    Some(given) => args.push(named(&it.name, given)),
                    None if it.default.is_some() => {}
                    // As in IDL, an annotation is left out whose value is missing or cannot be written.
                    None => continue 'applied,
                }
            }
            notes.push(Annotation { name: global(&declared.name), args, span: NOWHERE });
        }
        Ok(notes)
    }

    /// The value of a parameter.
    fn value(&self, annotation: &str, it: &AnnotationParameter, given: &Value) -> Result<Expr, String> {
        Ok(match given {
            Value::String(it) => text(it),
            Value::WideString(it) => value(ExprKind::WideStr(it.0.clone())),
            Value::Enumerated(number) => {
                let model::Type::Named(index) = it.ty else { return Err("a literal of no type".to_owned()) };
                let definition = self.graph.get(index).ok_or("a type is missing")?;
                let model::Kind::Enumeration(all) = &definition.kind else {
                    return Err("a literal of no enumeration".to_owned());
                };
                let literal = all.literals.iter().find(|literal| literal.value == *number);
                let literal = &literal.ok_or("a value that is no literal")?.name.text;
                let inside = is_inside(&definition.name, annotation);
                value(ExprKind::Name(match definition.name.rsplit_once("::") {
                    Some((scope, _)) if !inside => global(&format!("{scope}::{literal}")),
                    None => global(literal),
                    Some(_) => ScopedName { global: false, parts: vec![ident(literal)], span: NOWHERE },
                }))
            }
            other => parameter(other)?,
        })
    }
}
