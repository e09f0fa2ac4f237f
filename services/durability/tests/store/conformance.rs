//! What holds for every back end.

use dunlin_durability::store::{FileStore, MemoryStore, Step, Store};

use crate::suite::{conforms, step};
use crate::support::*;

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
