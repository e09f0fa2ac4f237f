//! Crashes at every point of a run: storage that loses what was not synchronised, in part and out of order. What was committed is there
//! again, and what was not is there as a whole or not at all.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use dunlin::{InstanceHandle, WallTime};
use dunlin_durability::change::Change;
use dunlin_durability::history::{Quota, Verdict};
use dunlin_durability::keeper::Keeper;
use dunlin_durability::store::{FileStore, MemoryStore};
use redb::StorageBackend;

use crate::support::*;

const NOW: WallTime = WallTime(1_000_000);
/// What a disk writes at once.
const SECTOR: usize = 512;

#[derive(Default, Debug)]
struct Disk {
    /// What programs see.
    seen: Vec<u8>,
    /// What lasts.
    lasting: Vec<u8>,
    /// What was written since it was synchronised last; a length without octets.
    unsynced: Vec<Unsynced>,
    calls: u64,
    /// The call at which the machine stops.
    stops_at: u64,
}

#[derive(Debug)]
enum Unsynced {
    Octets(usize, Vec<u8>),
    Length(usize),
}

#[derive(Clone, Debug)]
struct Storage(Arc<Mutex<Disk>>);

impl Storage {
    fn of(octets: Vec<u8>, stops_at: u64) -> Self {
        let disk = Disk { seen: octets.clone(), lasting: octets, stops_at, ..Disk::default() };
        Self(Arc::new(Mutex::new(disk)))
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }

    /// Counts a call; fails once the machine has stopped.
    fn called(&self) -> io::Result<MutexGuard<'_, Disk>> {
        let mut disk = self.disk();
        disk.calls += 1;
        if disk.calls >= disk.stops_at {
            return Err(io::Error::other("the machine has stopped"));
        }
        Ok(disk)
    }

    /// What is on the disk after the crash: of what was not synchronised some sectors, others not.
    fn after_crash(&self, lot: &mut Lot) -> Vec<u8> {
        let mut disk = self.disk();
        let mut octets = std::mem::take(&mut disk.lasting);
        let whole = lot.below(3) == 0;
        for lost in std::mem::take(&mut disk.unsynced) {
            match lost {
                Unsynced::Length(length) if whole || lot.below(2) == 0 => octets.resize(length, 0),
                Unsynced::Length(_) => {}
                Unsynced::Octets(offset, written) => {
                    for (at, sector) in written.chunks(SECTOR).enumerate() {
                        let from = offset + at * SECTOR;
                        if whole || lot.below(2) == 0 {
                            octets.resize(octets.len().max(from + sector.len()), 0);
                            octets[from..from + sector.len()].copy_from_slice(sector);
                        }
                    }
                }
            }
        }
        octets
    }
}

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk().seen.len() as u64)
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let disk = self.disk();
        let found = disk.seen.get(offset as usize..offset as usize + len);
        found.map(<[u8]>::to_vec).ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut disk = self.called()?;
        disk.seen.resize(len as usize, 0);
        disk.unsynced.push(Unsynced::Length(len as usize));
        Ok(())
    }

    fn sync_data(&self, eventual: bool) -> io::Result<()> {
        let mut disk = self.called()?;
        if !eventual {
            let disk = &mut *disk;
            for written in disk.unsynced.drain(..) {
                match written {
                    Unsynced::Length(length) => disk.lasting.resize(length, 0),
                    Unsynced::Octets(at, octets) => {
                        disk.lasting[at..at + octets.len()].copy_from_slice(&octets)
                    }
                }
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut disk = self.called()?;
        let offset = offset as usize;
        disk.seen[offset..offset + data.len()].copy_from_slice(data);
        disk.unsynced.push(Unsynced::Octets(offset, data.to_vec()));
        Ok(())
    }
}

type Content = Vec<(InstanceHandle, Vec<u8>)>;

/// What a run does: changes with commits between them.
struct Run {
    batches: Vec<Vec<Change>>,
    /// What is to be there after so many batches.
    contents: Vec<Content>,
}

const DEPTH: i32 = 2;

fn run(seed: u64) -> Run {
    let mut lot = Lot::new(seed);
    let all = changes(&mut lot, 60);
    let mut batches = vec![Vec::new()];
    for change in all {
        batches.last_mut().unwrap().push(change);
        if lot.below(6) == 0 {
            batches.push(Vec::new());
        }
    }
    let mut keeper = Keeper::open(MemoryStore::default(), Quota::default(), |_| None).unwrap();
    keeper.add(contract(DEPTH, false), b"group".to_vec());
    let mut contents = vec![Vec::new()];
    for batch in &batches {
        batch.iter().for_each(|change| _ = keeper.apply(change, NOW, false));
        keeper.commit().unwrap();
        contents.push(content(&mut keeper, 1));
    }
    Run { batches, contents }
}

fn open(storage: &Storage) -> Option<Keeper<FileStore>> {
    let store = FileStore::on(storage.clone()).ok()?;
    Keeper::open(store, Quota::default(), |_| Some(contract(DEPTH, false))).ok()
}

/// Runs until the machine stops. Returns how many batches were committed; none if not even the group was.
fn until_stopped(run: &Run, storage: &Storage) -> Option<usize> {
    let mut keeper = open(storage)?;
    keeper.add(contract(DEPTH, false), b"group".to_vec());
    keeper.commit().ok()?;
    for (at, batch) in run.batches.iter().enumerate() {
        batch.iter().for_each(|change| _ = keeper.apply(change, NOW, false));
        if keeper.commit().is_err() {
            return Some(at);
        }
    }
    Some(run.batches.len())
}

/// What is there after the crash is what was committed, or one batch more that was on its way.
fn recovers(seed: u64, run: &Run, octets: Vec<u8>, committed: Option<usize>) {
    let storage = Storage::of(octets, u64::MAX);
    let Some(mut keeper) = open(&storage) else {
        assert_eq!(committed, None, "seed {seed}: it does not open");
        return;
    };
    let Some(committed) = committed else { return };
    let found = content(&mut keeper, 1);
    let possible = [committed, (committed + 1).min(run.batches.len())];
    let had = possible.into_iter().find(|at| run.contents[*at] == found);
    let had = had.unwrap_or_else(|| panic!("seed {seed}: after {committed} batches there is {found:?}"));
    // What was had is known, also what is not kept any more.
    for change in run.batches[..had].iter().flatten() {
        assert_eq!(keeper.apply(change, NOW, false), Verdict::Duplicate, "seed {seed}");
    }
    for batch in &run.batches[had..] {
        batch.iter().for_each(|change| _ = keeper.apply(change, NOW, false));
        keeper.commit().unwrap();
    }
    assert_eq!(content(&mut keeper, 1), *run.contents.last().unwrap(), "seed {seed}: it goes on");
}

#[test]
fn committed_changes_survive_a_crash_at_any_point() {
    let points = std::env::var("CRASHES").ok().and_then(|it| it.parse().ok()).unwrap_or(200);
    std::panic::set_hook(Box::new(|info| eprintln!("{info}")));
    let mut runs = 0;
    let mut committed_some = 0;
    let mut current = (run(0), 0);
    for seed in 0..points {
        // Several points of one run: counting its calls costs as much as a crash.
        if seed % 20 == 0 {
            let run = run(seed / 20);
            let whole = Storage::of(Vec::new(), u64::MAX);
            assert_eq!(until_stopped(&run, &whole), Some(run.batches.len()));
            let calls = whole.disk().calls;
            current = (run, calls);
        }
        let ((run, calls), mut lot) = (&current, Lot::new(seed ^ 0xC0FFEE));
        let storage = Storage::of(Vec::new(), 1 + lot.below(*calls));
        let committed = until_stopped(run, &storage);
        committed_some += usize::from(committed.is_some_and(|batches| batches > 0));
        recovers(seed, run, storage.after_crash(&mut lot), committed);
        runs += 1;
    }
    assert!(
        runs == points && (points < 20 || committed_some > runs as usize / 2),
        "{committed_some} of {runs}"
    );
}
