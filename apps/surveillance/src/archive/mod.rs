//! What was recorded: the files of a recorder, also the one that is being written, in the order of time.
//!
//! Nothing of it touches the recording: files are read as anybody could read them.

mod cursor;
mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
pub use cursor::{Cursor, Picture, Step};
use dunlin_recorder::file::Chunk;
use file::Shelved;

use crate::messages::Recorded;

/// Recordings that are open for reading, beside the present one.
const OPEN: usize = 8;
/// Cameras that are told of.
const CAMERAS: usize = 256;

/// A chunk: the number of its file, and its own in that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    file: u64,
    chunk: usize,
}

/// All recordings of a topic of cameras.
pub struct Archive {
    topic: String,
    files: BTreeMap<u64, Shelved>,
    next: u64,
    /// What cannot be read; it is told once.
    unreadable: BTreeSet<PathBuf>,
}

impl Archive {
    /// An archive without files.
    #[must_use]
    pub fn new(topic: &str) -> Self {
        Self { topic: topic.to_owned(), files: BTreeMap::new(), next: 0, unreadable: BTreeSet::new() }
    }

    /// Takes note of the files that there are: those that were finished, oldest first, and the present one. Reads of the present
    /// file what has been added to it.
    pub fn refresh(&mut self, finished: &[PathBuf], present: Option<&Path>) {
        let there: BTreeSet<&Path> = finished.iter().map(PathBuf::as_path).chain(present).collect();
        self.files.retain(|_, shelved| there.contains(shelved.path()));
        self.unreadable.retain(|path| there.contains(path.as_path()));
        for path in finished.iter().map(PathBuf::as_path).chain(present) {
            let grows = present == Some(path);
            let known = self.files.iter().find(|(_, it)| it.path() == path).map(|(number, _)| *number);
            let result = match known.and_then(|number| self.files.get_mut(&number)) {
                Some(shelved) => shelved.look_again(grows, &self.topic),
                None => self.add(path, grows),
            };
            if let Err(error) = result
                && self.unreadable.insert(path.to_owned())
            {
                dunlin_program::tell!("{} cannot be read: {error:#}", path.display());
            }
        }
        self.close_some();
    }

    fn add(&mut self, path: &Path, grows: bool) -> Result<()> {
        let shelved = Shelved::open(path, grows, &self.topic)?;
        self.files.insert(self.next, shelved);
        self.next += 1;
        Ok(())
    }

    /// Few files are open at a time; others are opened when they are read.
    fn close_some(&mut self) {
        let mut open: Vec<&mut Shelved> = self.files.values_mut().filter(|it| it.is_open_to_read()).collect();
        let many = open.len().saturating_sub(OPEN);
        open.sort_by_key(|it| it.last_read());
        open.into_iter().take(many).for_each(Shelved::close);
    }

    /// From when to when there is something of each camera.
    #[must_use]
    pub fn recorded(&self) -> Vec<Recorded> {
        let mut all = BTreeMap::<&str, (i64, i64)>::new();
        for (camera, (first, last)) in self.files.values().flat_map(|it| it.cameras()) {
            let known = all.entry(camera).or_insert((first, last));
            *known = (known.0.min(first), known.1.max(last));
        }
        let told =
            |(camera, (first, last)): (&str, (i64, i64))| Recorded { camera: camera.to_owned(), first, last };
        all.into_iter().take(CAMERAS).map(told).collect()
    }

    /// The first chunk that has something of a time or later.
    #[must_use]
    pub fn seek(&self, time: i64) -> Option<Place> {
        let time = u64::try_from(time).unwrap_or(0);
        self.files.iter().find_map(|(file, shelved)| Some(Place { file: *file, chunk: shelved.seek(time)? }))
    }

    /// The chunk after one, in the same file or the next one that has any.
    #[must_use]
    pub fn after(&self, place: Place) -> Option<Place> {
        let within = self.files.get(&place.file).is_some_and(|it| place.chunk + 1 < it.chunks());
        if within {
            return Some(Place { chunk: place.chunk + 1, ..place });
        }
        let mut later = self.files.range(place.file + 1..);
        later.find(|(_, it)| it.chunks() > 0).map(|(file, _)| Place { file: *file, chunk: 0 })
    }

    /// The chunk before one.
    #[must_use]
    pub fn before(&self, place: Place) -> Option<Place> {
        if let Some(chunk) = place.chunk.checked_sub(1) {
            return Some(Place { chunk, ..place });
        }
        let mut earlier = self.files.range(..place.file).rev();
        earlier
            .find(|(_, it)| it.chunks() > 0)
            .map(|(file, it)| Place { file: *file, chunk: it.chunks() - 1 })
    }

    /// Reads a chunk.
    ///
    /// # Errors
    /// When it has gone, or cannot be read.
    pub fn chunk(&mut self, place: Place) -> Result<(Chunk, BTreeSet<u16>)> {
        let shelved = self.files.get_mut(&place.file);
        shelved.ok_or_else(|| anyhow::anyhow!("the file has been removed"))?.chunk(place.chunk)
    }
}

#[cfg(test)]
mod tests;
