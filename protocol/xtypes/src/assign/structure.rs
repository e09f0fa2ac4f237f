//! Structures (DDS-XTypes 1.3 §7.2.4.4.8).

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use dunlin_cdr::Extensibility;

use super::{Keys, MAX_MISMATCHES, Mismatch, Rules, Verdict, one, within};
use crate::model::{Kind, Member, Type, TypeGraph, TypeIndex, member_flag};

/// The members that count, with the keys that count.
fn members(graph: &TypeGraph, index: TypeIndex, keys: Keys) -> Vec<&Member> {
    let all = graph.members(index);
    if keys == Keys::Alone && all.iter().any(|member| member.has(member_flag::KEY)) {
        return all.into_iter().filter(|member| member.has(member_flag::KEY)).collect();
    }
    all
}

/// Whether a member is key where keys count.
fn is_key(member: &Member, keys: Keys) -> bool {
    keys == Keys::Count && member.has(member_flag::KEY)
}

fn by_id<'m>(members: &[&'m Member]) -> BTreeMap<u32, &'m Member> {
    members.iter().map(|member| (member.id, *member)).collect()
}

impl Rules<'_> {
    pub(super) fn structures(
        &mut self,
        reader: TypeIndex,
        writer: TypeIndex,
        form: Extensibility,
        keys: Keys,
    ) -> Verdict {
        let (reader_graph, writer_graph) = (self.reader.graph, self.writer.graph);
        let own = members(reader_graph, reader, keys);
        let theirs = members(writer_graph, writer, keys);
        self.step(own.len().saturating_add(theirs.len()))?;
        let mut found = Vec::new();
        if !self.policy.ignore_member_names {
            names(&own, &theirs, &mut found);
        }
        required(&own, &theirs, keys, "writer", &mut found);
        required(&theirs, &own, keys, "reader", &mut found);
        let (own_ids, their_ids) = (by_id(&own), by_id(&theirs));
        let common = own_ids.keys().any(|id| their_ids.contains_key(id));
        let empty = own.is_empty() && theirs.is_empty();
        if !common && !empty {
            found.extend(one("the structures have no member in common"));
        }
        if self.policy.prevent_type_widening {
            for member in own.iter().filter(|member| !member.has(member_flag::OPTIONAL)) {
                if !their_ids.contains_key(&member.id) {
                    let lacks = "the writer lacks the member, and the reader prevents type widening";
                    found.extend(within(&format!("{}", member.name), one(lacks)));
                }
            }
        }
        if form != Extensibility::Mutable {
            positions(form, &own, &theirs, &mut found);
        }
        for member in &own {
            let Some(other) = their_ids.get(&member.id) else { continue };
            if let Err(inner) = self.member(form, member, other, keys) {
                found.extend(within(&format!("{}", member.name), inner));
            }
            if found.len() >= MAX_MISMATCHES {
                break;
            }
        }
        found.truncate(MAX_MISMATCHES);
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    fn member(&mut self, form: Extensibility, reader: &Member, writer: &Member, keys: Keys) -> Verdict {
        let (own, theirs) = (is_key(reader, keys), is_key(writer, keys));
        if own != theirs {
            return Err(one("it is a key on one side only"));
        }
        // Keys inside of a key's type count as far as they are what the instance is told by (`KeyHolder`).
        let inner = if keys == Keys::Alone { Keys::Alone } else { Keys::Erased };
        if form == Extensibility::Mutable {
            self.any(&reader.ty, &writer.ty, inner)?;
        } else {
            self.strong(&reader.ty, &writer.ty, inner)?;
        }
        if own {
            self.any(&reader.ty, &writer.ty, Keys::Alone)?;
        }
        // What tells instances apart within a key is key as well (`KeyHolder`).
        if own || keys == Keys::Alone {
            self.key(&reader.ty, &writer.ty)?;
        }
        Ok(())
    }

    /// What holds for keys in addition: nothing of the writer's may be lost.
    fn key(&self, reader: &Type, writer: &Type) -> Verdict {
        let (own, theirs) = (self.reader.graph.resolve(reader), self.writer.graph.resolve(writer));
        match (own, theirs) {
            (Type::String { bound: r, .. }, Type::String { bound: w, .. }) => {
                self.bounds("key", false, *r, *w)
            }
            (Type::Sequence { bound: r, .. }, Type::Sequence { bound: w, .. })
            | (Type::Map { bound: r, .. }, Type::Map { bound: w, .. }) => self.bounds("key", false, *r, *w),
            (Type::Named(r), Type::Named(w)) => {
                let own = self.reader.graph.get(*r).map(|it| &it.kind);
                let theirs = self.writer.graph.get(*w).map(|it| &it.kind);
                let (Some(Kind::Enumeration(own)), Some(Kind::Enumeration(theirs))) = (own, theirs) else {
                    return Ok(());
                };
                let known: Vec<i32> = super::sorted(own.literals.iter().map(|it| it.value));
                match theirs.literals.iter().find(|it| known.binary_search(&it.value).is_err()) {
                    Some(missing) => Err(one(format!("the reader's key has no literal {}", missing.name))),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Members with one name have one id, and the other way round.
fn names(own: &[&Member], theirs: &[&Member], found: &mut Vec<Mismatch>) {
    let ids: BTreeMap<_, u32> = theirs.iter().map(|member| (member.name.hash, member.id)).collect();
    let hashes: BTreeMap<u32, _> = theirs.iter().map(|member| (member.id, &member.name)).collect();
    for member in own {
        if let Some(id) = ids.get(&member.name.hash)
            && *id != member.id
        {
            let reason = format!("the id is {}, that of the writer {id}", member.id);
            found.extend(within(&format!("{}", member.name), one(reason)));
        } else if let Some(name) = hashes.get(&member.id)
            && name.hash != member.name.hash
        {
            let reason = format!("id {} is named {name} by the writer", member.id);
            found.extend(within(&format!("{}", member.name), one(reason)));
        }
    }
}

/// Keys and what must be understood are on both sides.
fn required(own: &[&Member], theirs: &[&Member], keys: Keys, side: &str, found: &mut Vec<Mismatch>) {
    let ids = by_id(theirs);
    for member in own.iter().filter(|member| !ids.contains_key(&member.id)) {
        let must = member.has(member_flag::MUST_UNDERSTAND) && !member.has(member_flag::OPTIONAL);
        let name = format!("{}", member.name);
        if is_key(member, keys) || keys == Keys::Alone {
            found.extend(within(&name, one(format!("the {side} lacks this key"))));
        } else if must {
            found
                .extend(within(&name, one(format!("the {side} lacks the member, which must be understood"))));
        }
    }
}

/// What is told apart by position has the same ids and presence there.
fn positions(form: Extensibility, own: &[&Member], theirs: &[&Member], found: &mut Vec<Mismatch>) {
    if form == Extensibility::Final && own.len() != theirs.len() {
        let reason = format!("final with {} members, {} of the writer", own.len(), theirs.len());
        found.extend(one(reason));
        return;
    }
    for (member, other) in own.iter().zip(theirs) {
        let name = format!("{}", member.name);
        if member.id != other.id {
            found.extend(within(&name, one(format!("the writer has {} at this place", other.name))));
            return;
        }
        if member.has(member_flag::OPTIONAL) != other.has(member_flag::OPTIONAL) {
            found.extend(within(&name, one("it is optional on one side only")));
        }
    }
}
