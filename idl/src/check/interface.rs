//! Interfaces, as far as services need them.

use std::collections::BTreeSet;

use super::annotation::{Known, Place};
use super::scope::{Def, ScopeId};
use super::{Checker, Container};
use crate::ir::*;
use crate::syntax::ast::{self, Definition, Export, Ident, ScopedName};
use crate::syntax::token::cost_of_text;

/// How many interfaces a name is looked for in.
const MAX_BASES: usize = 1000;

impl Checker<'_> {
    pub(super) fn interface_forward(&mut self, name: &Ident) {
        if matches!(self.entry_here(&name.name), Some(entry) if matches!(entry.def, Def::Interface(..))) {
            return;
        }
        let (id, scope) = self.add_interface(name);
        if self.declare(name, Def::Interface(id, scope)) {
            self.forward_interfaces.insert(id, name.span);
        }
    }

    fn add_interface(&mut self, name: &Ident) -> (InterfaceId, ScopeId) {
        let id = InterfaceId(self.model.interfaces.len());
        let scope = self.new_scope(Some(self.scope), &name.name, false);
        self.model.interfaces.push(Interface {
            name: name.name.to_string(),
            full_name: self.full_name(&name.name),
            span: name.span,
            docs: None,
            bases: Vec::new(),
            service: None,
            items: Vec::new(),
            operations: Vec::new(),
            attributes: Vec::new(),
        });
        (id, scope)
    }

    pub(super) fn interface(&mut self, definition: &Definition, interface: &ast::Interface) {
        let name = &interface.name;
        let mut bases = self.base_interfaces(&interface.bases);
        if self.count_bases(&bases) > MAX_BASES {
            self.sink.error(name.span, format!("an interface has at most {MAX_BASES} bases, with theirs"));
            bases.clear();
        }
        let announced = match self.entry_here(&name.name).map(|entry| entry.def) {
            Some(Def::Interface(id, scope)) if self.forward_interfaces.contains_key(&id) => Some((id, scope)),
            _ => None,
        };
        let (id, scope) = announced.unwrap_or_else(|| {
            let added = self.add_interface(name);
            self.declare(name, Def::Interface(added.0, added.1));
            added
        });
        self.forward_interfaces.remove(&id);
        self.add_item(Item::Interface(id));
        let service =
            self.annotations(&definition.annotations, Place::Interface).into_iter().find_map(|(known, _)| {
                if let Known::Service(platform) = known { Some(platform) } else { None }
            });
        if let Some(found) = self.model.interfaces.get_mut(id.0) {
            found.docs = definition.docs.clone();
            found.service = service;
            found.bases = bases.iter().map(|(id, _)| *id).collect();
        }
        if let Some(found) = self.scopes.get_mut(scope.0) {
            found.bases = bases.iter().map(|(_, scope)| *scope).collect();
        }
        let outer = (self.scope, self.container);
        (self.scope, self.container) = (scope, Container::Interface(id));
        for export in &interface.exports {
            match export {
                Export::Definition(definition) => self.definition(definition),
                Export::Operation(operation) => self.operation(id, operation),
                Export::Attribute(attribute) => self.attribute(id, attribute),
            }
        }
        (self.scope, self.container) = outer;
    }

    /// The number of interfaces above, each counted once.
    fn count_bases(&self, bases: &[(InterfaceId, ScopeId)]) -> usize {
        let (mut seen, mut open) = (BTreeSet::new(), bases.iter().map(|(id, _)| *id).collect::<Vec<_>>());
        while let Some(id) = open.pop() {
            if let Some(interface) = self.model.interface(id).filter(|_| seen.insert(id)) {
                open.extend(&interface.bases);
            }
        }
        seen.len()
    }

    fn base_interfaces(&mut self, names: &[ScopedName]) -> Vec<(InterfaceId, ScopeId)> {
        let mut bases: Vec<(InterfaceId, ScopeId)> = Vec::new();
        for name in names {
            match self.resolve(name) {
                Some(Def::Interface(id, scope)) => {
                    if self.forward_interfaces.contains_key(&id) {
                        self.sink.error(name.span, format!("`{}` is not defined yet", name.text()));
                    } else if bases.iter().any(|(other, _)| *other == id) {
                        self.sink.error(name.span, format!("`{}` is a base twice", name.text()));
                    } else {
                        bases.push((id, scope));
                    }
                }
                Some(_) => drop(self.sink.error(name.span, format!("`{}` is not an interface", name.text()))),
                None => {}
            }
        }
        bases
    }

    fn exceptions(&mut self, names: &[ScopedName]) -> Vec<TypeId> {
        let mut result = Vec::new();
        for name in names {
            match self.resolve(name) {
                Some(Def::Type(id))
                    if matches!(self.model.ty(id).map(|ty| &ty.kind), Some(Kind::Exception(_))) =>
                {
                    result.push(id);
                }
                Some(_) => drop(self.sink.error(name.span, format!("`{}` is not an exception", name.text()))),
                None => {}
            }
        }
        result
    }

    fn operation(&mut self, interface: InterfaceId, operation: &ast::Operation) {
        self.declare(&operation.name, Def::Member);
        let mut oneway = operation.oneway;
        for (known, _) in self.annotations(&operation.annotations, Place::Operation) {
            if let Known::Oneway(on) = known {
                oneway = on;
            }
        }
        let returns = operation.returns.as_ref().map(|ty| self.type_spec(ty));
        let outer = self.scope;
        self.scope = self.new_scope(Some(outer), &operation.name.name, false);
        let mut params = Vec::new();
        for param in &operation.params {
            self.annotations(&param.annotations, Place::Param);
            let ty = self.type_spec(&param.ty);
            self.declare(&param.name, Def::Member);
            let direction = match param.direction {
                ast::Direction::In => Direction::In,
                ast::Direction::Out => Direction::Out,
                ast::Direction::InOut => Direction::InOut,
            };
            if let Some(ty) = ty {
                params.push(Param { name: param.name.name.to_string(), direction, ty });
            }
        }
        self.scope = outer;
        let raises = self.exceptions(&operation.raises);
        let answers =
            returns.is_some() || !raises.is_empty() || params.iter().any(|p| p.direction != Direction::In);
        if oneway && answers {
            self.sink
                .error(operation.name.span, "a oneway operation has no answer")
                .hint("it returns void, has `in` parameters only and raises nothing");
        }
        let made = Operation {
            name: operation.name.name.to_string(),
            docs: operation.docs.clone(),
            oneway,
            returns: returns.flatten(),
            params,
            raises,
        };
        if let Some(interface) = self.model.interfaces.get_mut(interface.0) {
            interface.operations.push(made);
        }
    }

    fn attribute(&mut self, interface: InterfaceId, attribute: &ast::Attribute) {
        self.annotations(&attribute.annotations, Place::Attribute);
        let ty = self.type_spec(&attribute.ty);
        let (get_raises, set_raises) =
            (self.exceptions(&attribute.get_raises), self.exceptions(&attribute.set_raises));
        for name in &attribute.names {
            self.declare(name, Def::Member);
            let cost = cost_of_text(attribute.docs.as_ref().map_or(0, String::len));
            if !self.pay(cost, name.span) {
                return;
            }
            let Some(ty) = ty.clone() else { continue };
            let made = Attribute {
                name: name.name.to_string(),
                docs: attribute.docs.clone(),
                readonly: attribute.readonly,
                ty,
                get_raises: get_raises.clone(),
                set_raises: set_raises.clone(),
            };
            if let Some(interface) = self.model.interfaces.get_mut(interface.0) {
                interface.attributes.push(made);
            }
        }
    }
}
