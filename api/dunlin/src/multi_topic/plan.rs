//! From a topic expression to what is read of each topic, what joins them, and what a row is made of.

use std::sync::Arc;

use dunlin_cdr::{Representation, Step, StructureDescription, TypeDescription, TypeKind, TypeRef};
use dunlin_dynamic::{DynamicData, DynamicType, Value};
use dunlin_filter::{FieldPath, Selected, Selection};

use super::agree::{are_same, holds};
use super::side::{Side, Visit, structure, type_of};
use crate::error::MultiTopicError;
use crate::topic::TopicInner;

/// How rows are made.
pub(crate) struct Plan {
    pub sides: Vec<Side>,
    /// For a sample of each topic: in which order its partners are looked for.
    pub orders: Vec<Vec<Visit>>,
    parts: Vec<Part>,
    row: DynamicType,
    representation: Representation,
    /// The names of the members that join.
    columns: Vec<String>,
}

/// A part of the row.
struct Part {
    /// Its path in the row.
    member: String,
    /// Whether the row may lack it.
    optional: bool,
    cell: Cell,
}

/// A field of a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell {
    pub side: usize,
    pub field: usize,
}

fn names(structure: &StructureDescription) -> impl Iterator<Item = &str> {
    (0..structure.member_count()).filter_map(|at| structure.member(at)).map(|member| &*member.name)
}

/// Whether one path leads to, or into, what the other leads to.
fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

impl Plan {
    pub(crate) fn new(
        row: &TypeRef,
        selection: &Selection,
        topics: Vec<Arc<TopicInner>>,
        representation: Representation,
    ) -> Result<Self, MultiTopicError> {
        let sides = topics.into_iter().map(Side::new).collect::<Result<_, _>>()?;
        structure(row.get())?;
        let (orders, parts, columns) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan = Self { sides, orders, parts, row: type_of(row.get())?, representation, columns };
        plan.join()?;
        plan.select(row, selection)?;
        plan.orders = (0..plan.sides.len()).map(|start| plan.order(start)).collect();
        Ok(plan)
    }

    /// Finds the members that topics have in common: the natural join is on all of them.
    fn join(&mut self) -> Result<(), MultiTopicError> {
        let types: Vec<TypeRef> = self.sides.iter().map(|side| side.description.clone()).collect();
        let of: Vec<_> = types.iter().map(|ty| structure(ty.get())).collect::<Result<_, _>>()?;
        for (at, own) in of.iter().enumerate() {
            for name in names(own) {
                let before = of[..at].iter().any(|other| other.position(name).is_some());
                if before && !self.columns.iter().any(|known| known == name) {
                    self.columns.push(name.to_owned());
                }
            }
        }
        for (column, name) in self.columns.iter().enumerate() {
            let mut first: Option<(usize, FieldPath)> = None;
            for at in (0..of.len()).filter(|at| of[*at].position(name).is_some()) {
                let side = &mut self.sides[at];
                let path = FieldPath::new(&side.description, name)?;
                let field = side.field(name, &path);
                side.columns.push((column, field));
                match &first {
                    Some((before, known)) if !are_same(known.ty(), path.ty()) => {
                        return Err(MultiTopicError::MemberTypes {
                            member: name.clone(),
                            first: self.sides[*before].topic.name.clone(),
                            first_type: known.ty().to_string(),
                            second: self.sides[at].topic.name.clone(),
                            second_type: path.ty().to_string(),
                        });
                    }
                    Some(_) => {}
                    None => first = Some((at, path)),
                }
            }
        }
        Ok(())
    }

    fn select(&mut self, row: &TypeRef, selection: &Selection) -> Result<(), MultiTopicError> {
        let members = structure(row.get())?;
        match selection {
            Selection::All => {
                for name in names(members) {
                    let optional = members.position(name).and_then(|at| members.member(at));
                    match self.add(row, name, name) {
                        // `*` need not provide what may be absent.
                        Err(MultiTopicError::UnknownField { .. })
                            if optional.is_some_and(|member| member.is_optional()) => {}
                        added => added?,
                    }
                }
            }
            Selection::Fields(fields) => {
                for (at, Selected { field, alias, .. }) in fields.iter().enumerate() {
                    let clashes =
                        |other: &&Selected| is_within(&other.alias, alias) || is_within(alias, &other.alias);
                    if let Some(other) = fields[..at].iter().find(clashes) {
                        let (first, second) = (other.alias.clone(), alias.clone());
                        return Err(MultiTopicError::Overlap { first, second });
                    }
                    self.add(row, alias, field)?;
                }
            }
        }
        for member in (0..members.member_count()).filter_map(|at| members.member(at)) {
            let selected = || self.parts.iter().any(|part| is_within(&part.member, &member.name));
            if !member.is_optional() && !selected() {
                let (member, of) = (String::from(&*member.name), row.get().to_string());
                return Err(MultiTopicError::NotSelected { member, of });
            }
        }
        Ok(())
    }

    /// Selects a field of the topics for a part of the row.
    fn add(&mut self, row: &TypeRef, member: &str, field: &str) -> Result<(), MultiTopicError> {
        let target = FieldPath::new(row, member).ok();
        let target = target.and_then(|target| Some((is_optional(row.get(), target.steps())?, target)));
        let Some((optional, target)) = target else {
            let (member, of) = (member.to_owned(), row.get().to_string());
            return Err(MultiTopicError::UnknownMember { member, of });
        };
        let (cell, found) = self.find(field)?;
        if !holds(found.ty(), target.ty()) {
            return Err(MultiTopicError::Mismatch {
                member: member.to_owned(),
                expected: target.ty().to_string(),
                field: field.to_owned(),
                found: found.ty().to_string(),
            });
        }
        self.parts.push(Part { member: member.to_owned(), optional, cell });
        Ok(())
    }

    /// The first topic that has a selected field: in others that have it, it joins, and is the same.
    fn find(&mut self, name: &str) -> Result<(Cell, FieldPath), MultiTopicError> {
        let mut reason = None;
        for (at, side) in self.sides.iter_mut().enumerate() {
            match FieldPath::new(&side.description, name) {
                Ok(path) => return Ok((Cell { side: at, field: side.field(name, &path) }, path)),
                Err(error) => {
                    reason.get_or_insert(error.reason.to_string());
                }
            }
        }
        let (field, reason) = (name.to_owned(), reason.unwrap_or_default());
        Err(MultiTopicError::UnknownField { field, reason })
    }

    /// In which order the partners of a sample are looked for: next comes the topic of which most is known by then, so that
    /// few candidates are looked at in vain. Makes the indexes for that.
    fn order(&mut self, start: usize) -> Vec<Visit> {
        let mut known: Vec<Option<(usize, usize)>> = vec![None; self.columns.len()];
        let mut visited = vec![false; self.sides.len()];
        let mut order = Vec::new();
        let mut next = Some(start);
        while let Some(side) = next {
            visited[side] = true;
            for (position, (column, _)) in self.sides[side].columns.iter().enumerate() {
                known[*column].get_or_insert((side, position));
            }
            let bound =
                |side: &Side| side.columns.iter().filter(|(column, _)| known[*column].is_some()).count();
            let left = (0..self.sides.len()).filter(|side| !visited[*side]);
            // Of equals the first.
            next = left.rev().max_by_key(|side| bound(&self.sides[*side]));
            if let Some(side) = next {
                order.push(self.sides[side].visit(side, &known));
            }
        }
        order
    }

    /// The payload of a row; `value` tells what is in a cell. `None` if a member that is not optional has no value.
    pub(crate) fn payload<'v>(&self, value: impl Fn(Cell) -> Option<&'v Value>) -> Option<Vec<u8>> {
        let mut row = DynamicData::new(&self.row);
        for part in &self.parts {
            match value(part.cell) {
                Some(value) => row.set(&part.member, value.clone()).ok()?,
                None if part.optional => {}
                None => return None,
            }
        }
        let mut payload = Vec::new();
        row.to_payload(self.representation, &mut payload).ok()?;
        Some(payload)
    }
}

/// Whether the member at the end of a path may be absent; `None` if something else than members of structures is on the way.
fn is_optional(row: &TypeDescription, steps: &[Step]) -> Option<bool> {
    let (mut ty, mut optional) = (row, false);
    for step in steps {
        let (Step::Member(at), TypeKind::Structure(structure)) = (step, &ty.resolved().kind) else {
            return None;
        };
        let member = structure.member(*at)?;
        (ty, optional) = (member.ty.get(), member.is_optional());
    }
    Some(optional)
}
