//! The back end in memory, for TRANSIENT: it lasts as long as the process.

use std::collections::BTreeMap;

use super::{NoteKey, Step, Store, StoreError, Visit, VisitNote};
use crate::change::{GroupId, Head, Payload, Position};

/// See the [module](crate::store).
#[derive(Default, Debug)]
pub struct MemoryStore {
    groups: BTreeMap<GroupId, Vec<u8>>,
    changes: BTreeMap<Position, (Head, Payload)>,
    notes: BTreeMap<NoteKey, Vec<u8>>,
}

impl Store for MemoryStore {
    fn groups(&mut self) -> Result<Vec<(GroupId, Vec<u8>)>, StoreError> {
        Ok(self.groups.iter().map(|(group, description)| (*group, description.clone())).collect())
    }

    fn scan(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        self.changes.iter().try_for_each(|(position, (head, _))| visit(*position, *head))
    }

    fn notes(&mut self, visit: VisitNote<'_>) -> Result<(), StoreError> {
        self.notes.iter().try_for_each(|(key, note)| visit(*key, note))
    }

    fn read(&mut self, position: Position) -> Result<Option<Payload>, StoreError> {
        Ok(self.changes.get(&position).map(|(_, payload)| payload.clone()))
    }

    fn commit(&mut self, steps: &[Step]) -> Result<(), StoreError> {
        for step in steps {
            match step {
                Step::Describe(group, description) => {
                    self.groups.insert(*group, description.clone());
                }
                Step::Drop(group) => {
                    self.groups.remove(group);
                }
                Step::Append(position, head, payload) => {
                    self.changes.insert(*position, (*head, payload.clone()));
                }
                Step::Remove(position) => {
                    self.changes.remove(position);
                }
                Step::Note(key, note) => {
                    self.notes.insert(*key, note.clone());
                }
                Step::Unnote(key) => {
                    self.notes.remove(key);
                }
            }
        }
        Ok(())
    }
}
