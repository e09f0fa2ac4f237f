//! What holds for every back end.

use crate::support::*;
use dunlin::SharedBytes;
use dunlin_durability::change::{Head, Kind, Position};
use dunlin_durability::store::{FileStore, MemoryStore, NoteKey, NoteKind, Step, Store};
use std::collections::BTreeMap;

/// Everything that a store has.
#[derive(PartialEq, Debug, Default, Clone)]
struct Content {
    groups: BTreeMap<u32, Vec<u8>>,
    changes: BTreeMap<Position, (Head, Vec<u8>)>,
    notes: BTreeMap<NoteKey, Vec<u8>>,
}

impl Content {
    fn of(store: &mut dyn Store) -> Self {
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
    fn apply(&mut self, step: &Step) {
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

fn step(lot: &mut Lot, next: &mut Position) -> Step {
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
fn conforms<S: Store>(mut store: S, mut again: impl FnMut(S) -> S, seed: u64) {
    let (mut lot, mut model, mut next) = (Lot::new(seed), Content::default(), 0);
    assert_eq!(Content::of(&mut store), model, "it begins empty");
    for _ in 0..20 {
        let steps: Vec<Step> = (0..lot.below(40)).map(|_| step(&mut lot, &mut next)).collect();
        steps.iter().for_each(|step| model.apply(step));
        store.commit(&steps).unwrap();
        assert_eq!(Content::of(&mut store), model);
        assert_eq!(store.read(next + 1).unwrap(), None);
        if lot.below(5) == 0 {
            store = again(store);
            assert_eq!(Content::of(&mut store), model, "after it was opened again");
        }
    }
}

#[test]
fn memory() {
    (1..=20).for_each(|seed| conforms(MemoryStore::default(), |store| store, seed));
}

#[test]
fn a_file() {
    for seed in 1..=10 {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.redb");
        let again = |store: FileStore| {
            drop(store);
            FileStore::open_existing(&file).unwrap()
        };
        conforms(FileStore::open(&file).unwrap(), again, seed);
    }
}

#[test]
fn a_file_is_open_once_and_is_refused_if_it_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.redb");
    let _open = FileStore::open(&file).unwrap();
    assert!(FileStore::open(&file).err().unwrap().to_string().contains("another program"));
    let other = folder.path().join("notes.txt");
    assert!(FileStore::open_existing(&other).is_err(), "there is none");
    std::fs::write(&other, "milk, eggs, bread".repeat(1000)).unwrap();
    assert!(FileStore::open(&other).is_err());
    assert!(std::fs::read_to_string(&other).unwrap().starts_with("milk"), "it is left alone");
}

/// Octets of a file that are changed: an error or what was there, and never a panic that escapes.
#[test]
fn damaged_files_are_refused_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.redb");
    let mut store = FileStore::open(&file).unwrap();
    let (mut lot, mut next) = (Lot::new(3), 0);
    for _ in 0..5 {
        let steps: Vec<Step> = (0..30).map(|_| step(&mut lot, &mut next)).collect();
        store.commit(&steps).unwrap();
    }
    drop(store);
    let sound = std::fs::read(&file).unwrap();
    let rounds = std::env::var("DAMAGES").ok().and_then(|it| it.parse().ok()).unwrap_or(60);
    std::panic::set_hook(Box::new(|_| {}));
    let mut refused = 0;
    for round in 0..rounds {
        let mut octets = sound.clone();
        for _ in 0..1 + lot.below(8) {
            let early = if round % 2 == 0 { 4096 } else { octets.len() as u64 };
            octets[lot.below(early) as usize] ^= 1 << lot.below(8);
        }
        if lot.below(4) == 0 {
            octets.truncate(lot.below(sound.len() as u64) as usize);
        }
        let damaged = folder.path().join(format!("damaged-{round}"));
        std::fs::write(&damaged, octets).unwrap();
        refused += usize::from(FileStore::inspect(&damaged).is_err());
        std::fs::remove_file(&damaged).unwrap();
    }
    drop(std::panic::take_hook());
    assert!(refused > 0, "no damage was noticed");
}
