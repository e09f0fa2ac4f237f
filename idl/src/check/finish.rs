//! What can only be checked when everything is declared.

use super::scope::Def;
use super::{Checker, Keys};
use crate::ir::{Kind, Type, TypeId, Value};
use crate::source::Span;

impl Checker<'_> {
    pub(super) fn finish(&mut self) {
        let forward: Vec<(TypeId, Span)> = std::mem::take(&mut self.forward).into_iter().collect();
        for (id, span) in forward {
            let name = self.model.ty(id).map_or_else(String::new, |ty| ty.full_name.clone());
            self.sink.error(span, format!("`{name}` is announced but never defined"));
        }
        let interfaces: Vec<Span> = std::mem::take(&mut self.forward_interfaces).into_values().collect();
        for span in interfaces {
            self.sink.error(span, "this interface is announced but never defined");
        }
        for keys in std::mem::take(&mut self.keys) {
            self.apply_keys(&keys);
        }
        if !self.sink.has_errors() {
            self.check_endless();
        }
    }

    /// Marks the key members that a pragma names.
    fn apply_keys(&mut self, keys: &Keys) {
        let outer = std::mem::replace(&mut self.scope, keys.scope);
        let found = self.resolve(&keys.ty);
        self.scope = outer;
        let Some(def) = found else { return };
        let resolved = match def {
            Def::Type(id) => self.model.resolve(&Type::Named(id)).clone(),
            _ => Type::Boolean,
        };
        let id = match resolved {
            Type::Named(id) if matches!(self.model.ty(id).map(|ty| &ty.kind), Some(Kind::Struct(_))) => id,
            _ => {
                self.sink.error(keys.ty.span, format!("`{}` is not a structure", keys.ty.text()));
                return;
            }
        };
        if let Some(ty) = self.model.types.get_mut(id.0) {
            ty.nested = false;
        }
        for path in &keys.paths {
            let mut at = Some(id);
            for part in path {
                let Some(owner) = at else {
                    self.sink.error(part.span, format!("`{}` is not in a structure", part.name));
                    break;
                };
                let Some(ty) = self.mark_key(owner, &part.name, part.span) else { break };
                at = match self.model.resolve(&ty) {
                    Type::Named(id) => Some(*id),
                    _ => None,
                };
            }
        }
    }

    /// Makes a member a key and returns its type.
    fn mark_key(&mut self, owner: TypeId, name: &str, span: Span) -> Option<Type> {
        let mut owner = owner;
        loop {
            // In the time that it takes to read one, some names are compared.
            let count = match self.model.ty(owner).map(|ty| &ty.kind) {
                Some(Kind::Struct(structure)) => structure.members.len(),
                _ => 0,
            };
            if !self.pay((count / 16).saturating_add(1), span) {
                return None;
            }
            let ty = self.model.types.get_mut(owner.0)?;
            let Kind::Struct(structure) = &mut ty.kind else {
                self.sink.error(span, format!("`{}` is not a structure", ty.full_name));
                return None;
            };
            let base = structure.base;
            if let Some(member) = structure.members.iter_mut().find(|member| member.name == name) {
                member.key = true;
                let (optional, non_serialized, ty) =
                    (member.optional, member.non_serialized, member.ty.clone());
                self.check_key(optional, non_serialized, &ty, span);
                if base.is_some() {
                    self.refuse_key_after_base(span);
                }
                return Some(ty);
            }
            let Some(base) = base else {
                self.sink.error(span, format!("`{}` has no member `{name}`", ty.full_name));
                return None;
            };
            owner = base;
        }
    }

    /// Refuses types whose values all contain another value of the type.
    fn check_endless(&mut self) {
        // 0: not seen, 1: being looked at, 2: fine.
        let mut states = vec![0u8; self.model.types.len()];
        for start in 0..self.model.types.len() {
            // The path from the start: type and which of its parts come next.
            let mut path: Vec<(TypeId, Vec<(Type, Span)>)> = Vec::new();
            if states.get(start).copied() == Some(0) {
                path.push((TypeId(start), self.parts(TypeId(start))));
                set(&mut states, start, 1);
            }
            while let Some((id, parts)) = path.last_mut() {
                let Some((ty, span)) = parts.pop() else {
                    set(&mut states, id.0, 2);
                    path.pop();
                    continue;
                };
                let Type::Named(next) = ty else { continue };
                match states.get(next.0).copied() {
                    Some(0) => {
                        set(&mut states, next.0, 1);
                        path.push((next, self.parts(next)));
                    }
                    Some(1) => {
                        let name = self.model.ty(next).map_or_else(String::new, |ty| ty.full_name.clone());
                        self.sink
                            .error(span, format!("each value of `{name}` would contain another one"))
                            .hint("add @optional, or use a sequence");
                    }
                    _ => {}
                }
            }
        }
    }

    /// The types of which every value of this type contains one.
    fn parts(&self, id: TypeId) -> Vec<(Type, Span)> {
        let Some(ty) = self.model.ty(id) else { return Vec::new() };
        let member = |member: &crate::ir::Member| {
            let mut ty = self.model.resolve(&member.ty);
            while let Type::Array { element, .. } = ty {
                ty = self.model.resolve(&element.ty);
            }
            (!member.optional && !member.non_serialized).then(|| (ty.clone(), member.span))
        };
        match &ty.kind {
            Kind::Struct(structure) | Kind::Exception(structure) => {
                let base = structure.base.map(|base| (Type::Named(base), ty.span));
                base.into_iter().chain(structure.members.iter().filter_map(member)).collect()
            }
            Kind::Union(union) => {
                // What the default value of the discriminator selects.
                let zero = match self.model.definition(&union.discriminator).map(|ty| &ty.kind) {
                    Some(Kind::Enum(e)) => {
                        e.literals.get(e.default).map_or(0, |literal| literal.value.into())
                    }
                    _ => 0,
                };
                let selects = |value: &Value| self.ordinal(value) == zero;
                let selected = union.cases.iter().find(|case| case.labels.iter().any(selects));
                let case = selected.or_else(|| union.cases.iter().find(|case| case.is_default));
                case.and_then(|case| member(&case.member)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

fn set(states: &mut [u8], at: usize, value: u8) {
    if let Some(state) = states.get_mut(at) {
        *state = value;
    }
}
