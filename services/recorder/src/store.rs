//! The thread that writes: files, their chunks, when a new one begins and an old one goes.

use std::collections::{BTreeMap, VecDeque};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::event::{Event, EventKind};
use crate::file::{Compression, RecordingError, RecordingWriter};
use crate::ledger::{Ledger, Track};
use crate::medium::{Medium, Open, Syncer, numbered};
use crate::queue::{Entry, Queue};

/// Octets of a chunk before it is packed.
const CHUNK: u64 = 4 << 20;
/// Longest time that a sample waits for its chunk to be closed.
const FLUSH: Duration = Duration::from_millis(400);
/// Until a medium that failed is tried again with a new file.
const RETRY: Duration = Duration::from_secs(1);
/// Files that are there already before it is tried again later.
const MAX_TRIES: u32 = 100_000;
/// Channels of a file before the next one begins; MCAP has room for 65,535.
const MAX_CHANNELS: usize = 60_000;

/// Where and how recordings are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StorageOptions {
    /// The first file. Further ones are numbered.
    pub file: PathBuf,
    /// How chunks are packed.
    pub compression: Compression,
    /// A new file begins after so many octets.
    pub split_octets: Option<u64>,
    /// A new file begins after so long.
    pub split_time: Option<Duration>,
    /// So many files are kept; the oldest one goes.
    pub keep_files: Option<usize>,
    /// So many octets are kept, beside the present file.
    pub keep_octets: Option<u64>,
    /// Files are kept for so long after they were finished.
    pub keep_time: Option<Duration>,
    /// Files of earlier runs that count as well and go first, oldest first.
    pub earlier: Vec<PathBuf>,
}

impl StorageOptions {
    /// One file, everything.
    #[must_use]
    pub fn in_file(file: PathBuf) -> Self {
        Self {
            file,
            compression: Compression::default(),
            split_octets: None,
            split_time: None,
            keep_files: None,
            keep_octets: None,
            keep_time: None,
            earlier: Vec::new(),
        }
    }
}

/// A file that was finished.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Where it is.
    pub file: PathBuf,
    /// How large it is.
    pub octets: u64,
    /// When it was finished.
    pub finished: SystemTime,
}

impl Kept {
    /// A file of which nothing more is written from now on.
    fn of(file: PathBuf) -> Self {
        let octets = file.metadata().map_or(0, |it| it.len());
        Self { file, octets, finished: SystemTime::now() }
    }
}

/// A file of an earlier run, and since when it is finished: how long ago that was, the clock of the world alone knows.
fn earlier(file: &Path) -> (Kept, Instant) {
    let (octets, finished) = file.metadata().map_or((0, None), |it| (it.len(), it.modified().ok()));
    let finished = finished.unwrap_or_else(SystemTime::now);
    let ago = SystemTime::now().duration_since(finished).unwrap_or_default();
    let (now, file) = (Instant::now(), file.to_owned());
    (Kept { file, octets, finished }, now.checked_sub(ago).unwrap_or(now))
}

/// The files that there are, for whoever wants to look at them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordingFiles(Arc<Mutex<ListedFiles>>);

#[derive(Debug, Default)]
struct ListedFiles {
    kept: Vec<Kept>,
    present: Option<PathBuf>,
}

impl RecordingFiles {
    fn state(&self) -> MutexGuard<'_, ListedFiles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all(&self) -> Vec<Kept> {
        self.state().kept.clone()
    }

    pub(crate) fn present(&self) -> Option<PathBuf> {
        self.state().present.clone()
    }
}

/// Splits when it is asked to.
pub(crate) type SplitWish = Arc<std::sync::atomic::AtomicBool>;

struct OpenRecording {
    writer: RecordingWriter<Box<dyn Medium>>,
    syncer: Syncer,
    file: PathBuf,
    began: Instant,
    channels: BTreeMap<u64, u16>,
    /// What the open chunk has.
    open: Vec<(Arc<Track>, i64, u64)>,
}

pub(crate) struct Store {
    storage: StorageOptions,
    open: Open,
    ledger: Arc<Ledger>,
    files: RecordingFiles,
    split: SplitWish,
    present: Option<OpenRecording>,
    next: u32,
    retry: Option<Instant>,
    flush_at: Instant,
    /// Since when they are: clocks of the world are set.
    finished: VecDeque<(Kept, Instant)>,
}

impl Store {
    /// Opens the first file.
    pub(crate) fn new(
        storage: StorageOptions,
        open: Open,
        ledger: Arc<Ledger>,
        (files, split): (RecordingFiles, SplitWish),
    ) -> Result<Self, RecordingError> {
        let flush_at = Instant::now() + FLUSH;
        let (present, retry) = (None, None);
        let finished = storage.earlier.iter().map(|file| earlier(file)).collect();
        let mut store =
            Self { storage, open, ledger, files, split, present, next: 0, retry, flush_at, finished };
        store.begin()?;
        store.forget_old();
        Ok(store)
    }

    fn begin(&mut self) -> Result<(), RecordingError> {
        let (file, opened) = self.open_next();
        self.begin_on(opened?, file.clone()).inspect_err(|_| {
            // It has nothing, and another one is begun every second as long as the disk is full.
            if file.metadata().is_ok_and(|it| it.is_file()) {
                let _ = std::fs::remove_file(&file);
                self.next -= 1;
            }
        })
    }

    /// Opens the next file. Numbers that an earlier run has used are passed over, but for the first: that one was named.
    fn open_next(&mut self) -> (PathBuf, std::io::Result<Box<dyn Medium>>) {
        let mut tries = 0;
        loop {
            let file = numbered(&self.storage.file, self.next);
            let opened = (self.open)(&file);
            let is_there = opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists);
            tries += 1;
            let goes_on = is_there && self.next > 0 && tries < MAX_TRIES;
            if opened.is_ok() || is_there {
                self.next += 1;
            }
            if !goes_on {
                return (file, opened);
            }
        }
    }

    fn begin_on(&mut self, medium: Box<dyn Medium>, file: PathBuf) -> Result<(), RecordingError> {
        let (ledger, name) = (Arc::clone(&self.ledger), file.display().to_string());
        let failed =
            move |error| ledger.problem(format!("{name}: what was written may not be safe: {error}"));
        let syncer = Syncer::new(&*medium, Arc::new(failed));
        let mut writer = RecordingWriter::new(medium, self.storage.compression)?;
        // So that a file that ends early is a recording at any rate.
        writer.flush()?;
        self.files.state().present = Some(file.clone());
        let (began, channels, open) = (Instant::now(), BTreeMap::new(), Vec::new());
        self.present = Some(OpenRecording { writer, syncer, file, began, channels, open });
        Ok(())
    }

    /// Writes what comes until nothing comes any more.
    pub(crate) fn run(mut self, queue: &Queue) {
        let mut batch = Vec::new();
        loop {
            let goes_on = queue.take(self.flush_at, &mut batch);
            for entry in batch.drain(..) {
                self.put(entry);
            }
            if Instant::now() >= self.flush_at {
                self.flush();
                self.forget_old();
            }
            if !goes_on {
                break;
            }
        }
        self.flush();
        self.finish();
    }

    fn put(&mut self, entry: Entry) {
        if self.present.is_none() && !self.try_again() {
            self.drop(&entry);
            return;
        }
        let Some(present) = &mut self.present else { return };
        match present.put(&entry) {
            Ok(()) => {
                if let Some(track) = entry.track.filter(|_| entry.number > 0) {
                    let octets = entry.payload.map_or(0, |payload| payload.len() as u64);
                    present.open.push((track, entry.number, octets));
                }
                let (is_full, has_channels) =
                    (present.writer.open_octets() > CHUNK, present.channels.len() < MAX_CHANNELS);
                if is_full || !has_channels {
                    self.flush();
                }
                if !has_channels {
                    self.finish();
                }
            }
            Err(error) => {
                self.drop(&entry);
                self.fail(&error);
            }
        }
    }

    fn drop(&self, entry: &Entry) {
        if let Some(track) = entry.track.as_ref().filter(|_| entry.counts()) {
            self.ledger.dropped(track, entry.number);
        }
    }

    /// Begins a new file after one that failed, once some time has passed.
    fn try_again(&mut self) -> bool {
        if self.retry.is_some_and(|at| Instant::now() < at) {
            return false;
        }
        match self.begin() {
            Ok(()) => {
                self.retry = None;
                true
            }
            Err(error) => {
                self.retry = Some(Instant::now() + RETRY);
                self.ledger.problem(format!("no file can be begun: {error}"));
                false
            }
        }
    }

    fn fail(&mut self, error: &RecordingError) {
        let Some(present) = self.present.take() else { return };
        self.files.state().present = None;
        self.ledger.problem(format!("{}: {error}", present.file.display()));
        for (track, number, _) in &present.open {
            self.ledger.dropped(track, *number);
        }
        let OpenRecording { writer, syncer, file, .. } = present;
        drop((writer, syncer));
        // What it has can be read, and it goes when its time comes: a full disk has room again then.
        self.keep(Kept::of(file));
        self.retry = Some(Instant::now() + RETRY);
    }

    /// Closes the chunk, and begins a new file if it is time.
    fn flush(&mut self) {
        self.flush_at = Instant::now() + FLUSH;
        let Some(present) = &mut self.present else { return };
        let runs = self.ledger.untold();
        let told = runs.iter().try_for_each(|run| {
            let event = Event {
                kind: EventKind::Dropped,
                writer: run.track.source.writer.to_bytes(),
                number: run.first,
                count: run.count,
                text: run.track.source.topic.clone(),
                ..Event::default()
            };
            let now = now();
            present.writer.event((now, now), &event)
        });
        match told.and_then(|()| present.writer.flush()) {
            Ok(()) => {
                present.syncer.sync();
                self.ledger.recorded(&present.settle());
            }
            Err(error) => {
                self.ledger.tell_again(runs);
                return self.fail(&error);
            }
        }
        let split = self.split.swap(false, std::sync::atomic::Ordering::SeqCst);
        let large = self.storage.split_octets.is_some_and(|most| present.writer.octets() >= most);
        let long = self.storage.split_time.is_some_and(|most| present.began.elapsed() >= most);
        if split || large || long {
            self.finish();
        }
    }

    /// Writes the index of the present file; the next sample begins another one.
    fn finish(&mut self) {
        let Some(present) = self.present.take() else { return };
        self.files.state().present = None;
        let OpenRecording { writer, syncer, file, .. } = present;
        if let Err(error) = writer.finish() {
            self.ledger.problem(format!("{}: the index is missing: {error}", file.display()));
        }
        drop(syncer);
        self.retry = None;
        self.keep(Kept::of(file));
    }

    /// Keeps a file for as long as it is to be kept.
    fn keep(&mut self, kept: Kept) {
        self.files.state().kept.push(kept.clone());
        self.finished.push_back((kept, Instant::now()));
        self.forget_old();
    }

    /// Removes files that are not kept any longer.
    fn forget_old(&mut self) {
        while let Some((oldest, since)) = self.finished.front() {
            let files = self.finished.len() + usize::from(self.present.is_some());
            let many = self.storage.keep_files.is_some_and(|most| files > most.max(1));
            let octets: u64 = self.finished.iter().map(|(kept, _)| kept.octets).sum();
            let large = self.storage.keep_octets.is_some_and(|most| octets > most);
            let old = self.storage.keep_time.is_some_and(|longest| since.elapsed() > longest);
            if !(many || large || old) {
                return;
            }
            if let Err(error) = std::fs::remove_file(&oldest.file) {
                self.ledger.problem(format!("{} cannot be removed: {error}", oldest.file.display()));
            }
            let gone = oldest.file.clone();
            self.files.state().kept.retain(|kept| kept.file != gone);
            self.finished.pop_front();
        }
    }
}

impl OpenRecording {
    fn put(&mut self, entry: &Entry) -> Result<(), RecordingError> {
        if let Some(event) = &entry.event {
            self.writer.event(entry.times, event)?;
        }
        let (Some(track), Some(payload)) = (&entry.track, &entry.payload) else { return Ok(()) };
        let channel = match self.channels.get(&track.id) {
            Some(channel) => *channel,
            None => {
                let channel = self.writer.add(&track.source, track.schema.as_ref())?;
                self.channels.insert(track.id, channel);
                channel
            }
        };
        let sequence = crate::file::low_half(entry.number);
        self.writer.message(channel, sequence, entry.times, payload)
    }

    /// Takes what the chunk had: samples and octets by topic.
    fn settle(&mut self) -> BTreeMap<String, (u64, u64)> {
        let mut topics = BTreeMap::<String, (u64, u64)>::new();
        for (track, _, octets) in self.open.drain(..) {
            let topic = &track.source.topic;
            let counts = match topics.get_mut(topic) {
                Some(counts) => counts,
                None => topics.entry(topic.clone()).or_default(),
            };
            *counts = (counts.0 + 1, counts.1 + octets);
        }
        topics
    }
}

/// In nanoseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::open_files;

    fn store(storage: StorageOptions) -> Store {
        Store::new(storage, open_files(), Arc::new(Ledger::default()), Default::default()).unwrap()
    }

    /// A name in a folder that is there as long as the other one.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ring.mcap");
        (folder, file)
    }

    #[test]
    fn a_clock_that_is_set_ends_no_file() {
        let (_folder, file) = place();
        let keep_time = Some(Duration::from_secs(3600));
        let mut store = store(StorageOptions { keep_time, ..StorageOptions::in_file(file.clone()) });
        store.finish();
        // As if the clock had been set forward since.
        for (kept, _) in &mut store.finished {
            kept.finished = SystemTime::UNIX_EPOCH;
        }
        store.forget_old();
        assert!(file.exists());
        store.storage.keep_time = Some(Duration::ZERO);
        store.forget_old();
        assert!(!file.exists());
    }

    #[test]
    fn files_of_an_earlier_run_cost_nothing() {
        let (_folder, file) = place();
        for n in 1..=5 {
            std::fs::write(numbered(&file, n), "old").unwrap();
        }
        let mut store = store(StorageOptions::in_file(file.clone()));
        store.finish();
        assert!(store.try_again(), "{:?}", store.ledger.counts());
        assert!(store.ledger.counts().is_complete() && numbered(&file, 6).exists());
        assert_eq!(std::fs::read(numbered(&file, 3)).unwrap(), b"old");
    }

    #[test]
    fn files_of_an_earlier_run_count_where_they_are_named_and_go_first() {
        let (_folder, file) = place();
        let earlier: Vec<PathBuf> = (1..=5).map(|n| file.with_file_name(format!("old-{n}.mcap"))).collect();
        earlier.iter().for_each(|file| std::fs::write(file, vec![0u8; 1000]).unwrap());
        let there = || earlier.iter().map(|file| file.exists()).collect::<Vec<_>>();
        let storage = StorageOptions { earlier: earlier.clone(), ..StorageOptions::in_file(file.clone()) };
        let mut store = store(StorageOptions { keep_octets: Some(3_500), ..storage });
        assert_eq!(there(), [false, false, true, true, true]);
        store.finish();
        assert_eq!((there()[2], file.exists()), (file.metadata().unwrap().len() <= 500, true));
        store.storage.keep_time = Some(Duration::ZERO);
        store.forget_old();
        assert_eq!((there(), file.exists()), (vec![false; 5], false));
        assert!(store.ledger.counts().is_complete());
    }

    #[test]
    fn an_existing_first_file_is_refused_without_another_name() {
        let (_folder, file) = place();
        std::fs::write(&file, "old").unwrap();
        let made = Store::new(
            StorageOptions::in_file(file),
            open_files(),
            Arc::new(Ledger::default()),
            Default::default(),
        );
        assert!(made.is_err());
    }

    #[test]
    fn a_failed_recording_file_is_listed() {
        let (_folder, file) = place();
        let mut store = store(StorageOptions::in_file(file.clone()));
        store.fail(&RecordingError::Io(ErrorKind::StorageFull.into()));
        assert_eq!(store.files.all().iter().map(|kept| &kept.file).collect::<Vec<_>>(), [&file]);
    }
}
