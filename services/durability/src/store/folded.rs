//! A commit as its result: of each key the last step alone, for back ends that write keys in any order.

use std::collections::BTreeMap;

use super::{NoteKey, Step};
use crate::change::{GroupId, Head, Payload, Position};

/// What is there after a commit; `None` is what is not there any more.
#[derive(Default)]
pub(crate) struct Folded<'s> {
    pub(crate) groups: BTreeMap<GroupId, Option<&'s [u8]>>,
    pub(crate) changes: BTreeMap<Position, Option<(&'s Head, &'s Payload)>>,
    pub(crate) notes: BTreeMap<NoteKey, Option<&'s [u8]>>,
}

impl<'s> Folded<'s> {
    pub(crate) fn of(steps: &'s [Step]) -> Self {
        let mut folded = Self::default();
        for step in steps {
            match step {
                Step::Describe(group, description) => drop(folded.groups.insert(*group, Some(description))),
                Step::Drop(group) => drop(folded.groups.insert(*group, None)),
                Step::Append(position, head, payload) => {
                    folded.changes.insert(*position, Some((head, payload)));
                }
                Step::Remove(position) => drop(folded.changes.insert(*position, None)),
                Step::Note(key, note) => drop(folded.notes.insert(*key, Some(note))),
                Step::Unnote(key) => drop(folded.notes.insert(*key, None)),
            }
        }
        folded
    }
}
