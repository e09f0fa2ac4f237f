//! The back end in a file, for PERSISTENT: an embedded database (redb) whose commits are synchronised with the disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use redb::backends::FileBackend;
use redb::{
    Builder, Database, DatabaseError, ReadOnlyTable, ReadableTable, StorageBackend, TableDefinition,
    TableError,
};

use super::{MAX_NOTE, Step, Store, StoreError, Visit, VisitNote, note_key, parse_note_key};
use crate::change::{GroupId, Head, Payload, Position};

/// The layout of the tables. A program refuses files with another one.
const VERSION: u64 = 1;

const FORMAT: TableDefinition<'_, &str, u64> = TableDefinition::new("format");
const GROUPS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("groups");
const HEADS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("heads");
const PAYLOADS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("payloads");
const NOTES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("notes");

/// Why a file cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Somebody has it open.
    #[error("another program has it open")]
    Busy,
    /// It is no such file, or it cannot be read.
    #[error("it cannot be opened: {0}")]
    Open(DatabaseError),
    /// Something in it is not as a store writes it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was written by a program with another layout.
    #[error(
        "it has layout {found}, and this program reads {VERSION}: export it with the program that wrote it"
    )]
    Version {
        /// What it has.
        found: u64,
    },
}

impl From<DatabaseError> for FileError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::DatabaseAlreadyOpen => Self::Busy,
            other => Self::Open(other),
        }
    }
}

/// See the [module](crate::store).
pub struct FileStore {
    /// None after it failed: redb does nothing any more after an error of the storage, such as a full disk, and is opened anew.
    database: Option<Database>,
    storage: Grown,
    payloads: Option<ReadOnlyTable<u64, &'static [u8]>>,
}

fn backend(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Backend(Box::new(error.into()))
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(what.into())
}

fn builder(cache: usize) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(cache).create_with_file_format_v3(true);
    builder
}

/// Memory that the database uses for what it has read and what it is about to write, in octets.
const CACHE: usize = 64 << 20;

impl FileStore {
    /// Opens a file, or makes one.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Self::of(OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path))
    }

    /// Opens a file that exists.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn open_existing(path: &Path) -> Result<Self, FileError> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        Self::of(file.and_then(|file| match file.metadata()?.len() {
            0 => Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty")),
            _ => Ok(file),
        }))
    }

    fn of(file: io::Result<File>) -> Result<Self, FileError> {
        let file = file.map_err(|error| FileError::Open(DatabaseError::Storage(error.into())))?;
        Self::on(FileBackend::new(file)?)
    }

    /// On storage of one's own, such as one that loses what was not synchronised.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn on(storage: impl StorageBackend) -> Result<Self, FileError> {
        let storage = Grown(Arc::new(storage));
        let mut store = Self { database: None, storage, payloads: None };
        store.open_database()?;
        match store.version()? {
            Some(VERSION) => Ok(store),
            Some(found) => Err(FileError::Version { found }),
            None => {
                store.begin()?;
                Ok(store)
            }
        }
    }

    /// Opens the database, if it is not open.
    fn open_database(&mut self) -> Result<(), DatabaseError> {
        if self.database.is_none() {
            let storage = self.storage.clone();
            self.database = Some(guarded(|| builder(CACHE).create_with_backend(storage))?);
        }
        Ok(())
    }

    fn database(&mut self) -> Result<&mut Database, StoreError> {
        self.database.as_mut().ok_or_else(|| StoreError::Backend("the file is not open".into()))
    }

    /// Does something with the database. What has failed closes it, and the next call opens it again.
    fn with<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.open_database().map_err(|error| StoreError::Backend(Box::new(error)))?;
        let done = sound(|| work(self));
        if done.is_err() {
            self.payloads = None;
            let database = self.database.take();
            // What it would still write fails as well.
            let _ = caught(|| drop(database));
        }
        done
    }

    /// The layout of the file; `None` if it is new.
    fn version(&mut self) -> Result<Option<u64>, StoreError> {
        let reading = self.database()?.begin_read().map_err(backend)?;
        match reading.open_table(FORMAT) {
            Ok(table) => Ok(Some(table.get("layout").map_err(backend)?.map_or(0, |it| it.value()))),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(backend(error)),
        }
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        let writing = self.database()?.begin_write().map_err(backend)?;
        {
            writing.open_table(FORMAT).map_err(backend)?.insert("layout", VERSION).map_err(backend)?;
            writing.open_table(GROUPS).map_err(backend)?;
            writing.open_table(HEADS).map_err(backend)?;
            writing.open_table(PAYLOADS).map_err(backend)?;
            writing.open_table(NOTES).map_err(backend)?;
        }
        writing.commit().map_err(backend)
    }

    /// Reads all of a file: how many changes it has.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn inspect(path: &Path) -> Result<u64, FileError> {
        let mut changes = 0;
        let read = || -> Result<(), FileError> {
            let mut store = Self::open_existing(path)?;
            store.groups()?;
            store.notes(&mut |_, _| Ok(()))?;
            let mut positions = Vec::new();
            store.scan(&mut |position, _| {
                positions.push(position);
                Ok(())
            })?;
            for position in positions {
                store.read(position)?.ok_or_else(|| damaged("a change has no bytes"))?;
                changes += 1;
            }
            Ok(())
        };
        caught(read).unwrap_or_else(|| Err(damaged("its structure does not hold").into()))?;
        Ok(changes)
    }

    /// Makes the file as small as it can be.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn compact(&mut self) -> Result<bool, StoreError> {
        self.payloads = None;
        self.database()?.compact().map_err(|error| StoreError::Backend(Box::new(error)))
    }

    /// Reads all of the file and holds it against its checksums. True if nothing had to be repaired.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn check(&mut self) -> Result<bool, FileError> {
        self.payloads = None;
        let database = self.database()?;
        Ok(guarded(|| database.check_integrity())?)
    }

    #[expect(clippy::result_large_err, reason = "the error of the crate, which it returns from every call")]
    fn write_steps(database: &Database, steps: &[Step]) -> Result<(), redb::Error> {
        let writing = database.begin_write()?;
        {
            let mut groups = writing.open_table(GROUPS)?;
            let mut heads = writing.open_table(HEADS)?;
            let mut payloads = writing.open_table(PAYLOADS)?;
            let mut notes = writing.open_table(NOTES)?;
            for step in steps {
                match step {
                    Step::Describe(group, description) => drop(groups.insert(group, &description[..])?),
                    Step::Drop(group) => drop(groups.remove(group)?),
                    Step::Append(position, head, payload) => {
                        heads.insert(position, &head.encode()[..])?;
                        payloads.insert(position, &payload[..])?;
                    }
                    Step::Remove(position) => {
                        heads.remove(position)?;
                        payloads.remove(position)?;
                    }
                    Step::Note(key, note) => drop(notes.insert(&note_key(*key)[..], &note[..])?),
                    Step::Unnote(key) => drop(notes.remove(&note_key(*key)[..])?),
                }
            }
        }
        Ok(writing.commit()?)
    }
}

/// Storage whose length lasts before anything else does. redb writes a header that counts on the new length together with it, and does
/// not open a file that is shorter than its header says.
#[derive(Clone, Debug)]
struct Grown(Arc<dyn StorageBackend>);

impl StorageBackend for Grown {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.0.read(offset, len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if len < self.0.len()? {
            self.0.sync_data(false)?;
            return self.0.set_len(len);
        }
        self.0.set_len(len)?;
        self.0.sync_data(false)
    }

    fn sync_data(&self, eventual: bool) -> io::Result<()> {
        self.0.sync_data(eventual)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

impl FileStore {
    fn read_groups(&mut self) -> Result<Vec<(GroupId, Vec<u8>)>, StoreError> {
        let reading = self.database()?.begin_read().map_err(backend)?;
        let table = reading.open_table(GROUPS).map_err(backend)?;
        let mut groups = Vec::new();
        for row in table.iter().map_err(backend)? {
            let (group, description) = row.map_err(backend)?;
            if description.value().len() > MAX_NOTE {
                return Err(damaged("the description of a group is too long"));
            }
            groups.push((group.value(), description.value().to_vec()));
        }
        Ok(groups)
    }

    fn read_heads(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        let reading = self.database()?.begin_read().map_err(backend)?;
        let table = reading.open_table(HEADS).map_err(backend)?;
        for row in table.iter().map_err(backend)? {
            let (position, head) = row.map_err(backend)?;
            let head = Head::decode(head.value()).ok_or_else(|| damaged("a change has no sound head"))?;
            visit(position.value(), head)?;
        }
        Ok(())
    }

    fn read_notes(&mut self, visit: VisitNote<'_>) -> Result<(), StoreError> {
        let reading = self.database()?.begin_read().map_err(backend)?;
        let table = reading.open_table(NOTES).map_err(backend)?;
        for row in table.iter().map_err(backend)? {
            let (key, note) = row.map_err(backend)?;
            let key = parse_note_key(key.value()).ok_or_else(|| damaged("a note has no sound key"))?;
            visit(key, note.value())?;
        }
        Ok(())
    }

    fn read_payload(&mut self, position: Position) -> Result<Option<Payload>, StoreError> {
        if self.payloads.is_none() {
            let reading = self.database()?.begin_read().map_err(backend)?;
            self.payloads = Some(reading.open_table(PAYLOADS).map_err(backend)?);
        }
        let Some(table) = &self.payloads else { return Ok(None) };
        let found = table.get(position).map_err(backend)?;
        Ok(found.map(|octets| Payload::copy_from(octets.value())))
    }
}

impl Store for FileStore {
    fn groups(&mut self) -> Result<Vec<(GroupId, Vec<u8>)>, StoreError> {
        self.with(|store| store.read_groups())
    }

    fn scan(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        self.with(|store| store.read_heads(visit))
    }

    fn notes(&mut self, visit: VisitNote<'_>) -> Result<(), StoreError> {
        self.with(|store| store.read_notes(visit))
    }

    fn read(&mut self, position: Position) -> Result<Option<Payload>, StoreError> {
        self.with(|store| store.read_payload(position))
    }

    fn commit(&mut self, steps: &[Step]) -> Result<(), StoreError> {
        // What is being read is kept as long as somebody reads it.
        self.payloads = None;
        self.with(|store| Self::write_steps(store.database()?, steps).map_err(backend))
    }
}

/// What a database says of itself, or that it does not hold together.
fn sound<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    caught(work).unwrap_or_else(|| Err(damaged("its structure does not hold; restore it from an export")))
}

/// Does something with a database. Of files whose octets were changed redb promises an error but asserts in places: `None` is a panic.
fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok()
}

fn guarded<T>(open: impl FnOnce() -> Result<T, DatabaseError>) -> Result<T, DatabaseError> {
    let broken =
        || redb::StorageError::Corrupted("its structure is damaged; restore it from an export".into());
    caught(open).unwrap_or_else(|| Err(DatabaseError::Storage(broken())))
}
