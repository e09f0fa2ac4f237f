//! A back end over a log that fails: what is not known to be added may be there.

use std::collections::BTreeMap;

use dunlin::WallTime;
use dunlin_durability::change::{Kind, Payload, Position};
use dunlin_durability::history::Quota;
use dunlin_durability::keeper::Keeper;
use dunlin_durability::store::{
    Log, LogStore, MemoryStore, Record, Step, Store, StoreError, Visit, VisitNote,
};

use crate::suite::{Content, conforms, step};
use crate::support::*;

/// Records in memory; a lot decides which calls fail, before or after they were done.
#[derive(Default)]
struct Memory {
    records: BTreeMap<Record, Vec<u8>>,
    last: Record,
    fails: Option<Lot>,
}

impl Memory {
    fn fails(&mut self) -> bool {
        self.fails.as_mut().is_some_and(|lot| lot.below(4) == 0)
    }

    fn failure<T>() -> Result<T, StoreError> {
        Err(StoreError::Backend("the connection was lost".into()))
    }
}

impl Log for Memory {
    fn append(&mut self, octets: &[u8]) -> Result<Record, StoreError> {
        if self.fails() {
            return Self::failure();
        }
        self.last += 1;
        self.records.insert(self.last, octets.to_vec());
        if self.fails() { Self::failure() } else { Ok(self.last) }
    }

    fn read(&mut self, record: Record) -> Result<Vec<u8>, StoreError> {
        self.records.get(&record).cloned().ok_or_else(|| StoreError::Damaged("it is gone".into()))
    }

    fn scan(
        &mut self,
        visit: &mut dyn FnMut(Record, Vec<u8>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.records.iter().try_for_each(|(record, octets)| visit(*record, octets.clone()))
    }

    fn remove_before(&mut self, record: Record) -> Result<(), StoreError> {
        if self.fails() {
            return Self::failure();
        }
        self.records = self.records.split_off(&record);
        Ok(())
    }
}

#[test]
fn the_log_store_passes_the_conformance_suite() {
    for seed in 1..=20 {
        for waste in [0, 10_000, 1 << 30] {
            let again = |store: LogStore<Memory>| LogStore::with_waste(store.into_log(), waste).unwrap();
            conforms(LogStore::with_waste(Memory::default(), waste).unwrap(), again, seed);
        }
    }
}

/// Each commit is tried until it is known to be done, as the service does; after some the store is opened anew.
#[test]
fn log_store_loses_no_commit_when_calls_fail() {
    for seed in 1..=40 {
        let log = Memory { fails: Some(Lot::new(seed + 1000)), ..Memory::default() };
        let (mut lot, mut next, mut model) = (Lot::new(seed), 0, Content::default());
        let mut store = LogStore::with_waste(log, 2_000).unwrap();
        for _ in 0..40 {
            let steps: Vec<Step> = (0..lot.below(20)).map(|_| step(&mut lot, &mut next)).collect();
            steps.iter().for_each(|step| model.apply(step));
            while store.commit(&steps).is_err() {}
            assert_eq!(Content::of(&mut store), model, "seed {seed}");
            if lot.below(6) == 0 {
                store = LogStore::with_waste(store.into_log(), 2_000).unwrap();
                assert_eq!(Content::of(&mut store), model, "seed {seed}, opened anew");
            }
        }
    }
}

#[test]
fn the_log_is_compacted() {
    let mut store = LogStore::with_waste(Memory::default(), 100_000).unwrap();
    for round in 0..1000u64 {
        let mut new = change(Kind::Data, 1, (1, round as i64 + 1), 5);
        new.head.octets = 1000;
        let payload = dunlin::SharedBytes::copy_from(&[round as u8; 1000]);
        store
            .commit(&[Step::Append(round, new.head, payload), Step::Remove(round.wrapping_sub(10))])
            .unwrap();
        assert!(store.octets() < 150_000, "{} octets", store.octets());
    }
    assert_eq!(Content::of(&mut store).changes.len(), 10);
}

#[test]
fn damaged_records_are_refused() {
    let mut store = LogStore::open(Memory::default()).unwrap();
    let (mut lot, mut next) = (Lot::new(9), 0);
    let steps: Vec<Step> = (0..30).map(|_| step(&mut lot, &mut next)).collect();
    store.commit(&steps).unwrap();
    let sound = store.into_log().records.remove(&1).unwrap();
    let mut refused = 0;
    for _ in 0..2000 {
        let mut octets = sound.clone();
        octets.truncate(lot.below(sound.len() as u64 + 1) as usize);
        if !octets.is_empty() {
            let at = lot.below(octets.len().min(2000) as u64) as usize;
            octets[at] ^= 1 << lot.below(8);
        }
        let log = Memory { records: [(1, octets)].into(), last: 1, fails: None };
        match LogStore::open(log) {
            Ok(mut store) => _ = Content::of(&mut store),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 500, "{refused}");
}

/// A store whose first answer is lost: what it was to commit is done.
struct Silent(MemoryStore, bool);

impl Store for Silent {
    fn groups(&mut self) -> Result<Vec<(u32, Vec<u8>)>, StoreError> {
        self.0.groups()
    }

    fn scan(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        self.0.scan(visit)
    }

    fn notes(&mut self, visit: VisitNote<'_>) -> Result<(), StoreError> {
        self.0.notes(visit)
    }

    fn read(&mut self, position: Position) -> Result<Option<Payload>, StoreError> {
        self.0.read(position)
    }

    fn commit(&mut self, steps: &[Step]) -> Result<(), StoreError> {
        self.0.commit(steps)?;
        if std::mem::take(&mut self.1) { Memory::failure() } else { Ok(()) }
    }
}

#[test]
fn an_unconfirmed_commit_is_rolled_back_where_it_must_be() {
    let mut keeper = Keeper::open(Silent(MemoryStore::default(), true), Quota::default(), |_| None).unwrap();
    keeper.add(contract(1, false), b"group".to_vec());
    keeper.apply(&change(Kind::Data, 1, (1, 1), 5), WallTime(0), false);
    assert!(keeper.commit().is_err());
    // Only the last one is kept, and the first one is in the store.
    keeper.apply(&change(Kind::Data, 1, (1, 2), 6), WallTime(0), false);
    keeper.commit().unwrap();
    let found = Content::of(&mut keeper.into_store()).changes;
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [1]);
}
