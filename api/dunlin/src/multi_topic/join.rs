//! The join itself: the latest values of each topic's instances, and the rows they make.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_core::{InstanceHandle, WallTime};
use dunlin_dynamic::Value;

use super::plan::Plan;
use super::side::Octets;

/// Most rows that are kept in mind, see [`Join::saw`].
pub(super) const MOST_ROWS: usize = 65_536;
/// Most candidates that are looked at for one sample.
const MOST_CANDIDATES: usize = 262_144;

/// The instances, one of each topic, that make a row.
pub(crate) type Combination = Vec<InstanceHandle>;

/// There are more rows than are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooManyRows;

/// An instance of a topic.
#[derive(Debug)]
struct Entry {
    values: Vec<Option<Value>>,
    /// The values of the topic's columns, in the order of the plan.
    key: Vec<Octets>,
    source: WallTime,
    /// The rows that were seen of it.
    seen: BTreeSet<Combination>,
}

/// What is known of one topic.
#[derive(Debug, Default)]
struct Known {
    entries: BTreeMap<InstanceHandle, Entry>,
    /// The instances by the values of some columns, see [`Side::indexes`](super::side::Side::indexes).
    indexes: Vec<BTreeMap<Vec<Octets>, BTreeSet<InstanceHandle>>>,
}

/// Everything that rows are made of.
#[derive(Debug)]
pub(crate) struct Join {
    sides: Vec<Known>,
    /// The instance of rows that each row that was seen belongs to.
    rows: BTreeMap<Combination, InstanceHandle>,
    /// How many such rows an instance has.
    support: BTreeMap<InstanceHandle, usize>,
}

/// A row that can be made.
#[derive(Debug)]
pub(crate) struct Row {
    pub combination: Combination,
    pub payload: Vec<u8>,
    /// The latest time at which a part of it was written.
    pub source: WallTime,
}

/// What a sample changes.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// The rows that it makes with the others.
    pub rows: Vec<Row>,
    /// Rows that were seen and are none any more: [`Join::leave`] them once the others were seen.
    pub left: BTreeSet<Combination>,
    /// Not all were looked for.
    pub too_many: bool,
}

impl Known {
    fn place(&mut self, indexes: &[Vec<usize>], instance: InstanceHandle, key: &[Octets]) {
        for (by, index) in indexes.iter().zip(&mut self.indexes) {
            index.entry(chosen(by, key)).or_default().insert(instance);
        }
    }

    fn displace(&mut self, indexes: &[Vec<usize>], instance: InstanceHandle, key: &[Octets]) {
        for (by, index) in indexes.iter().zip(&mut self.indexes) {
            let place = chosen(by, key);
            if let Some(same) = index.get_mut(&place) {
                same.remove(&instance);
                if same.is_empty() {
                    index.remove(&place);
                }
            }
        }
    }
}

/// Some of the values of a topic's columns.
fn chosen(by: &[usize], key: &[Octets]) -> Vec<Octets> {
    by.iter().filter_map(|position| key.get(*position).cloned()).collect()
}

/// The search for the partners of a sample.
struct Search<'a> {
    plan: &'a Plan,
    start: usize,
    partial: Combination,
    found: Vec<Combination>,
    /// Candidates that may still be looked at.
    budget: usize,
}

impl Join {
    pub(super) fn new(plan: &Plan) -> Self {
        let known = plan.sides.iter().map(|side| Known {
            entries: BTreeMap::new(),
            indexes: side.indexes.iter().map(|_| BTreeMap::new()).collect(),
        });
        Self { sides: known.collect(), rows: BTreeMap::new(), support: BTreeMap::new() }
    }

    /// Takes in a sample and returns what it changes. A sample without one of the columns makes no rows.
    pub(super) fn update(
        &mut self,
        plan: &Plan,
        side: usize,
        instance: InstanceHandle,
        values: Vec<Option<Value>>,
        source: WallTime,
    ) -> Change {
        let indexes = &plan.sides[side].indexes;
        let key = plan.sides[side].key(&values);
        let known = &mut self.sides[side];
        let before = known.entries.remove(&instance);
        if let Some(before) = before.as_ref().filter(|before| Some(&before.key) != key.as_ref()) {
            known.displace(indexes, instance, &before.key);
        }
        let seen = before.map(|before| before.seen).unwrap_or_default();
        let Some(key) = key else { return Change { left: seen, ..Change::default() } };
        known.place(indexes, instance, &key);
        let mut left = seen.clone();
        known.entries.insert(instance, Entry { values, key, source, seen });
        let mut search = Search {
            plan,
            start: side,
            partial: vec![InstanceHandle::NIL; plan.sides.len()],
            found: Vec::new(),
            budget: MOST_CANDIDATES,
        };
        search.partial[side] = instance;
        let too_many = self.complete(&mut search, 0).is_err();
        let rows = search.found.into_iter().filter_map(|combination| self.row(plan, combination));
        let rows: Vec<Row> = rows.inspect(|row| _ = left.remove(&row.combination)).collect();
        if too_many {
            // Who was not looked for may well be there still.
            left.retain(|combination| !self.fits(plan, combination));
        }
        Change { rows, left, too_many }
    }

    /// Chooses instances for the topics from the `at`th visit on.
    fn complete(&self, search: &mut Search<'_>, at: usize) -> Result<(), TooManyRows> {
        let Some(visit) = search.plan.orders[search.start].get(at) else {
            search.found.push(search.partial.clone());
            return Ok(());
        };
        let value = |(side, position): &(usize, usize)| {
            let entry = self.sides[*side].entries.get(&search.partial[*side])?;
            entry.key.get(*position).cloned()
        };
        let Some(wanted) = visit.from.iter().map(value).collect::<Option<Vec<_>>>() else { return Ok(()) };
        let index = &self.sides[visit.side].indexes[visit.index];
        for candidate in index.get(&wanted).into_iter().flatten() {
            search.budget = search.budget.checked_sub(1).ok_or(TooManyRows)?;
            search.partial[visit.side] = *candidate;
            self.complete(search, at + 1)?;
        }
        Ok(())
    }

    /// Whether the instances of a row are all there, with equal values.
    fn fits(&self, plan: &Plan, combination: &Combination) -> bool {
        let mut columns: BTreeMap<usize, &Octets> = BTreeMap::new();
        plan.sides.iter().zip(&self.sides).zip(combination).all(|((side, known), part)| {
            let Some(entry) = known.entries.get(part) else { return false };
            side.columns
                .iter()
                .zip(&entry.key)
                .all(|((column, _), value)| *columns.entry(*column).or_insert(value) == value)
        })
    }

    fn row(&self, plan: &Plan, combination: Combination) -> Option<Row> {
        let entry = |side: usize| self.sides[side].entries.get(&combination[side]);
        let payload = plan.payload(|cell| entry(cell.side)?.values[cell.field].as_ref())?;
        let source = (0..combination.len()).filter_map(|side| Some(entry(side)?.source)).max()?;
        Some(Row { combination, payload, source })
    }

    /// Notes that a row was seen, of this instance of rows. Returns the instance that it belonged to before, if no row
    /// that was seen is left of that.
    ///
    /// # Errors
    /// More rows than are kept; nothing is noted then.
    pub(super) fn saw(
        &mut self,
        combination: &Combination,
        instance: InstanceHandle,
    ) -> Result<Option<InstanceHandle>, TooManyRows> {
        if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(combination) {
            return Err(TooManyRows);
        }
        let before = self.rows.insert(combination.clone(), instance);
        if before == Some(instance) {
            return Ok(None);
        }
        *self.support.entry(instance).or_default() += 1;
        for (known, part) in self.sides.iter_mut().zip(combination) {
            if let Some(entry) = known.entries.get_mut(part) {
                entry.seen.insert(combination.clone());
            }
        }
        Ok(before.filter(|before| self.release(*before)))
    }

    /// One row less of an instance of rows; whether it was the last.
    fn release(&mut self, instance: InstanceHandle) -> bool {
        let Some(count) = self.support.get_mut(&instance) else { return false };
        *count -= 1;
        let last = *count == 0;
        if last {
            self.support.remove(&instance);
        }
        last
    }

    /// Forgets rows that are none any more. Returns the instances of rows that ended with them.
    pub(super) fn leave(&mut self, gone: BTreeSet<Combination>) -> Vec<InstanceHandle> {
        let mut ended = Vec::new();
        for combination in gone {
            for (known, part) in self.sides.iter_mut().zip(&combination) {
                if let Some(entry) = known.entries.get_mut(part) {
                    entry.seen.remove(&combination);
                }
            }
            if let Some(row) = self.rows.remove(&combination)
                && self.release(row)
            {
                ended.push(row);
            }
        }
        ended
    }

    /// An instance of a topic ended. Returns the instances of rows that ended with it.
    pub(super) fn end(&mut self, plan: &Plan, side: usize, instance: InstanceHandle) -> Vec<InstanceHandle> {
        let known = &mut self.sides[side];
        let Some(gone) = known.entries.remove(&instance) else { return Vec::new() };
        known.displace(&plan.sides[side].indexes, instance, &gone.key);
        self.leave(gone.seen)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
