//! From a topic expression to what is read of each topic, what joins them, and what a row is made of.

use super::MultiTopicError;
use crate::topic::TopicInner;
use dunlin_cdr::{Representation, StructureDescription, TypeDescription, TypeKind};
use dunlin_filter::{FieldReader, FilterError, Selected, Selection};
use std::sync::Arc;

/// How rows are made.
pub(crate) struct Plan {
    pub sides: Vec<Side>,
    /// Where each member of the row comes from; `None` for an optional one that is not selected.
    pub cells: Vec<Option<Cell>>,
    pub row: &'static StructureDescription,
    pub representation: Representation,
    /// The names of the members that join, and their readers in each topic are found by.
    columns: Vec<&'static str>,
}

/// One of the joined topics.
pub(crate) struct Side {
    pub topic: Arc<TopicInner>,
    description: &'static TypeDescription,
    /// What is read of its samples.
    pub fields: Vec<FieldReader>,
    /// The columns that the topic has, with the fields that hold them.
    pub columns: Vec<(usize, usize)>,
}

/// A field of a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell {
    pub side: usize,
    pub field: usize,
}

fn structure(ty: &'static TypeDescription) -> Result<&'static StructureDescription, MultiTopicError> {
    match &ty.resolved().kind {
        TypeKind::Structure(structure) => Ok(structure),
        _ => Err(MultiTopicError::NotAStructure(ty.to_string())),
    }
}

/// The names of the key members.
fn keys(structure: &'static StructureDescription) -> Vec<&'static str> {
    let members = (0..structure.member_count()).filter_map(|at| structure.member(at));
    members.filter(|member| member.is_key()).map(|member| member.name).collect()
}

/// Whether two types without parts have the same values.
fn same_type(a: &'static TypeDescription, b: &'static TypeDescription) -> bool {
    let (a, b) = (a.resolved(), b.resolved());
    match (&a.kind, &b.kind) {
        (TypeKind::Primitive(a), TypeKind::Primitive(b)) => a == b,
        (TypeKind::String { .. }, TypeKind::String { .. }) => true,
        (TypeKind::WideString { .. }, TypeKind::WideString { .. }) => true,
        (TypeKind::Enumeration(_), TypeKind::Enumeration(_)) => a.name == b.name,
        (TypeKind::Bitmask { bit_bound: x, .. }, TypeKind::Bitmask { bit_bound: y, .. }) => {
            a.name == b.name && x == y
        }
        (TypeKind::Bitset { holder: x, .. }, TypeKind::Bitset { holder: y, .. }) => {
            a.name == b.name && x == y
        }
        _ => false,
    }
}

impl Side {
    /// The position of a field that is read; adds it if need be.
    fn field(&mut self, name: &str) -> Result<usize, FilterError> {
        self.fields.push(FieldReader::new(self.description, name)?);
        Ok(self.fields.len() - 1)
    }
}

impl Plan {
    pub fn new(
        row: &'static TypeDescription,
        selection: &Selection,
        topics: Vec<Arc<TopicInner>>,
        representation: Representation,
    ) -> Result<Self, MultiTopicError> {
        let side = |topic: Arc<TopicInner>| {
            let description = topic.description();
            let description =
                description.ok_or_else(|| MultiTopicError::NoDescription(topic.type_name.clone()))?;
            Ok(Side { topic, description, fields: Vec::new(), columns: Vec::new() })
        };
        let sides = topics.into_iter().map(side).collect::<Result<_, MultiTopicError>>()?;
        let (cells, columns) = (Vec::new(), Vec::new());
        let mut plan = Self { sides, cells, row: structure(row)?, representation, columns };
        plan.join()?;
        plan.select(row, selection)?;
        Ok(plan)
    }

    /// How many columns join topics.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Finds the key members that topics have in common.
    fn join(&mut self) -> Result<(), MultiTopicError> {
        let mut keys_of = Vec::new();
        for side in &self.sides {
            keys_of.push(keys(structure(side.description)?));
        }
        for (at, own) in keys_of.iter().enumerate() {
            let before = || keys_of.iter().take(at).flatten();
            let common: Vec<&'static str> =
                own.iter().filter(|name| before().any(|b| b == *name)).copied().collect();
            if at > 0 && common.is_empty() {
                let topic = self.sides[at].topic.name.clone();
                return Err(MultiTopicError::NoCommonKey { topic });
            }
            for name in common {
                if !self.columns.contains(&name) {
                    self.columns.push(name);
                }
            }
        }
        for (column, name) in self.columns.iter().enumerate() {
            let mut first: Option<&'static TypeDescription> = None;
            for (side, keys) in self.sides.iter_mut().zip(&keys_of) {
                if !keys.contains(name) {
                    continue;
                }
                let field = side.field(name)?;
                side.columns.push((column, field));
                let ty = side.fields[field].ty();
                match first {
                    Some(first) if !same_type(first, ty) => {
                        let (first, second) = (first.to_string(), ty.to_string());
                        let member = (*name).to_owned();
                        return Err(MultiTopicError::KeyTypes { member, first, second });
                    }
                    _ => first = first.or(Some(ty)),
                }
            }
        }
        Ok(())
    }

    fn select(
        &mut self,
        row: &'static TypeDescription,
        selection: &Selection,
    ) -> Result<(), MultiTopicError> {
        if let Selection::Fields(fields) = selection
            && let Some(unknown) = fields.iter().find(|field| self.row.position(&field.alias).is_none())
        {
            let member = unknown.alias.clone();
            return Err(MultiTopicError::UnknownMember { member, of: row.to_string() });
        }
        for position in 0..self.row.member_count() {
            let Some(member) = self.row.member(position) else { break };
            let field = match selection {
                Selection::All => Some(member.name),
                Selection::Fields(fields) => {
                    let found = fields.iter().find(|Selected { alias, .. }| alias == member.name);
                    found.map(|selected| selected.field.as_str())
                }
            };
            let cell = match field.map(|field| (field, self.find(field))) {
                Some((field, Ok(cell))) => {
                    self.check(member.name, member.ty.get(), field, cell)?;
                    Some(cell)
                }
                // `*` need not provide what may be absent.
                Some((_, Err(MultiTopicError::UnknownField { .. }))) | None if member.is_optional() => None,
                Some((_, Err(error))) => return Err(error),
                None => {
                    let member = member.name.to_owned();
                    return Err(MultiTopicError::NotSelected { member, of: row.to_string() });
                }
            };
            self.cells.push(cell);
        }
        Ok(())
    }

    fn check(
        &self,
        member: &str,
        ty: &'static TypeDescription,
        field: &str,
        cell: Cell,
    ) -> Result<(), MultiTopicError> {
        let found = self.sides[cell.side].fields[cell.field].ty();
        if same_type(ty, found) {
            return Ok(());
        }
        Err(MultiTopicError::Mismatch {
            member: member.to_owned(),
            expected: ty.to_string(),
            field: field.to_owned(),
            found: found.to_string(),
        })
    }

    /// The topic that a selected field is of.
    fn find(&mut self, name: &str) -> Result<Cell, MultiTopicError> {
        let mut reason = None;
        let mut found: Option<Cell> = None;
        let joins = self.columns.contains(&name);
        for at in 0..self.sides.len() {
            let field = match self.sides[at].field(name) {
                Ok(field) => field,
                Err(error) => {
                    reason.get_or_insert(error.reason.to_string());
                    continue;
                }
            };
            match found {
                None => found = Some(Cell { side: at, field }),
                Some(_) if joins => {}
                Some(first) => {
                    return Err(MultiTopicError::Ambiguous {
                        field: name.to_owned(),
                        first: self.sides[first.side].topic.name.clone(),
                        second: self.sides[at].topic.name.clone(),
                    });
                }
            }
        }
        found.ok_or_else(|| MultiTopicError::UnknownField {
            field: name.to_owned(),
            reason: reason.unwrap_or_default(),
        })
    }
}
