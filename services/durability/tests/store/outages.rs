//! Storage that fails for a while: a full disk that has room again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin::SharedBytes;
use dunlin_durability::change::{Kind, Position};
use dunlin_durability::store::{FileStore, Step, Store};
use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use crate::suite::Content;
use crate::support::*;

/// A disk that may be full, or not be readable.
#[derive(Clone, Debug)]
struct Storage {
    octets: Arc<InMemoryBackend>,
    full: Arc<AtomicBool>,
    broken: Arc<AtomicBool>,
}

impl Storage {
    fn new() -> Self {
        Self { octets: Arc::new(InMemoryBackend::new()), full: Arc::default(), broken: Arc::default() }
    }

    fn room(&self) -> io::Result<()> {
        match self.full.load(Ordering::SeqCst) {
            true => Err(io::Error::from(io::ErrorKind::StorageFull)),
            false => Ok(()),
        }
    }
}

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        self.octets.len()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        match self.broken.load(Ordering::SeqCst) {
            true => Err(io::Error::other("input/output error")),
            false => self.octets.read(offset, len),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.room()?;
        self.octets.set_len(len)
    }

    fn sync_data(&self, eventual: bool) -> io::Result<()> {
        self.room()?;
        self.octets.sync_data(eventual)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.room()?;
        self.octets.write(offset, data)
    }
}

fn append(position: Position) -> Step {
    let mut change = change(Kind::Data, 1, (1, position as i64), 5);
    let value = vec![position as u8; 10_000];
    change.head.octets = value.len() as u32;
    Step::Append(position, change.head, SharedBytes::copy_from(&value))
}

#[test]
fn a_disk_that_has_room_again_is_written_again() {
    let storage = Storage::new();
    let mut store = FileStore::on(storage.clone()).unwrap();
    let mut model = Content::default();
    for round in 0..4u64 {
        let steps: Vec<Step> = (1..=20).map(|n| append(round * 100 + n)).collect();
        storage.full.store(true, Ordering::SeqCst);
        for _ in 0..3 {
            store.commit(&steps).expect_err("there is no room");
        }
        storage.full.store(false, Ordering::SeqCst);
        store.commit(&steps).unwrap();
        steps.iter().for_each(|step| model.apply(step));
        assert_eq!(Content::of(&mut store), model);
    }
    drop(store);
    assert_eq!(Content::of(&mut FileStore::on(storage).unwrap()), model);
}

#[test]
fn a_disk_that_can_be_read_again_is_read_and_written_again() {
    let storage = Storage::new();
    let mut store = FileStore::on(storage.clone()).unwrap();
    let steps: Vec<Step> = (1..=20).map(append).collect();
    store.commit(&steps).unwrap();
    drop(store);
    let mut store = FileStore::on(storage.clone()).unwrap();
    storage.broken.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        store.read(7).expect_err("it cannot be read");
    }
    storage.broken.store(false, Ordering::SeqCst);
    assert_eq!(store.read(7).unwrap().expect("it was committed")[..], [7; 10_000]);
    store.commit(&[append(21)]).unwrap();
    assert!(store.read(21).unwrap().is_some());
}
