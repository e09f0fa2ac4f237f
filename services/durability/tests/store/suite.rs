//! The conformance suite: what holds for every back end.

use std::collections::BTreeMap;

use dunlin::SharedBytes;
use dunlin_durability::change::{Head, Kind, Position};
use dunlin_durability::store::{NoteKey, NoteKind, Step, Store};

use crate::support::*;

/// Everything that a store has.
#[derive(PartialEq, Debug, Default, Clone)]
pub struct Content {
    pub groups: BTreeMap<u32, Vec<u8>>,
    pub changes: BTreeMap<Position, (Head, Vec<u8>)>,
    pub notes: BTreeMap<NoteKey, Vec<u8>>,
}

impl Content {
    pub fn of(store: &mut dyn Store) -> Self {
        let mut content = Self { groups: store.groups().unwrap().into_iter().collect(), ..Self::default() };
        let mut heads = Vec::new();
        let mut scanned = |position, head| {
            heads.push((position, head));
            Ok(())
        };
        store.scan(&mut scanned).unwrap();
        assert!(heads.is_sorted_by_key(|(position, _)| *position));
        for (position, head) in heads {
            let payload = store.read(position).unwrap().expect("it has a head").to_vec();
            content.changes.insert(position, (head, payload));
        }
        let mut noted = |key, note: &[u8]| {
            content.notes.insert(key, note.to_vec());
            Ok(())
        };
        store.notes(&mut noted).unwrap();
        content
    }

    /// What a step is to do.
    pub fn apply(&mut self, step: &Step) {
        match step.clone() {
            Step::Describe(group, description) => drop(self.groups.insert(group, description)),
            Step::Drop(group) => drop(self.groups.remove(&group)),
            Step::Append(position, head, payload) => {
                self.changes.insert(position, (head, payload.to_vec()));
            }
            Step::Remove(position) => drop(self.changes.remove(&position)),
            Step::Note(key, note) => drop(self.notes.insert(key, note)),
            Step::Unnote(key) => drop(self.notes.remove(&key)),
        }
    }
}

/// A step by lot.
pub fn step(lot: &mut Lot, next: &mut Position) -> Step {
    let kinds = [NoteKind::Numbers, NoteKind::Tombstone, NoteKind::Served];
    let key = NoteKey {
        group: lot.below(3) as u32,
        kind: kinds[lot.below(3) as usize],
        of: [lot.below(4) as u8; 16],
    };
    match lot.below(8) {
        0 => Step::Describe(lot.below(4) as u32, vec![7; lot.below(40) as usize]),
        1 => Step::Drop(lot.below(4) as u32),
        2 => Step::Note(key, vec![lot.below(200) as u8; lot.below(100) as usize]),
        3 => Step::Unnote(key),
        4 => Step::Remove(lot.below(*next + 1)),
        _ => {
            *next += 1 + lot.below(3);
            let mut change = change(Kind::Data, lot.below(5) as u8, (1, *next as i64), 5);
            let most = if lot.below(20) == 0 { 100_000 } else { 300 };
            let octets = lot.below(most) as usize;
            change.head.octets = octets as u32;
            Step::Append(*next, change.head, SharedBytes::copy_from(&vec![3; octets]))
        }
    }
}

/// The suite. `again` closes a store and opens it, where it lasts.
pub fn conforms<S: Store>(mut store: S, mut again: impl FnMut(S) -> S, seed: u64) {
    let (mut lot, mut model, mut next) = (Lot::new(seed), Content::default(), 0);
    assert_eq!(Content::of(&mut store), model, "it begins empty");
    for _ in 0..20 {
        let steps: Vec<Step> = (0..lot.below(40)).map(|_| step(&mut lot, &mut next)).collect();
        steps.iter().for_each(|step| model.apply(step));
        store.commit(&steps).unwrap();
        if lot.below(3) == 0 {
            // As after an answer that was lost.
            store.commit(&steps).unwrap();
        }
        assert_eq!(Content::of(&mut store), model);
        assert_eq!(store.read(next + 1).unwrap(), None);
        if lot.below(5) == 0 {
            store = again(store);
            assert_eq!(Content::of(&mut store), model, "after it was opened again");
        }
    }
}
