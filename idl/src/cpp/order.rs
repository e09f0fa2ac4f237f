//! The order of declarations: a type comes after those that it contains by value.

use crate::backend::{Needs, contains_itself, members};
use crate::ir::*;

/// All types in an order in which C++ can declare them; structures and unions are announced before.
pub(super) fn order(model: &Model) -> Vec<TypeId> {
    let mut done = vec![false; model.types.len()];
    let mut order = Vec::with_capacity(model.types.len());
    for (id, _) in model.types() {
        // Types that wait for those they contain; no recursion, because chains may be long.
        let mut stack = vec![(id, needs(model, id))];
        while let Some((id, open)) = stack.last_mut() {
            if done.get(id.0).copied().unwrap_or(true) {
                stack.pop();
                continue;
            }
            match open.pop() {
                Some(next) if !done.get(next.0).copied().unwrap_or(true) && next != *id => {
                    let needed = needs(model, next);
                    stack.push((next, needed));
                }
                Some(_) => {}
                None => {
                    if let Some(slot) = done.get_mut(id.0) {
                        *slot = true;
                    }
                    order.push(*id);
                }
            }
        }
    }
    order
}

/// What has to be declared before a type.
fn needs(model: &Model, id: TypeId) -> Vec<TypeId> {
    let mut needs = Needs::default();
    let mut add = |member: &Member| {
        let pointer = member.external || contains_itself(model, id, member);
        needs.add(model, &member.ty, !pointer);
    };
    match model.ty(id).map(|ty| &ty.kind) {
        Some(Kind::Struct(structure)) => {
            structure.members.iter().for_each(&mut add);
            needs.hard.extend(structure.base);
        }
        Some(Kind::Exception(_)) => members(model, id).into_iter().for_each(add),
        Some(Kind::Union(union)) => {
            union.cases.iter().for_each(|case| add(&case.member));
            needs.add(model, &union.discriminator, true);
        }
        Some(Kind::Bitset(bitset)) => needs.hard.extend(bitset.base),
        Some(Kind::Alias(alias)) => needs.add(model, &alias.ty, false),
        _ => {}
    }
    needs.hard
}
