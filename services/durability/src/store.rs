//! Where changes are kept: what a back end can do, and those that there are.

mod file;
mod folded;
mod log;
mod memory;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "nats", feature = "s3"))]
mod remote;

#[cfg(feature = "s3")]
mod s3;
#[cfg(feature = "s3")]
mod tiered;

pub use file::{FileError, FileStore};
pub use log::{Log, LogStore, Record};
pub use memory::MemoryStore;
#[cfg(feature = "nats")]
pub use nats::{NatsLog, NatsStore};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
#[cfg(feature = "postgres")]
pub(crate) use postgres::Tls;
#[cfg(feature = "s3")]
pub use s3::S3;
#[cfg(feature = "s3")]
pub use tiered::{Cold, Segment, TieredStore};

use crate::backend::{Backend, ColdBackend};
use crate::change::{GroupId, Head, Payload, Position};

/// Longest description of a group or note, in octets.
pub const MAX_NOTE: usize = 1 << 20;

/// What a note is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoteKind {
    /// The numbers of an original writer.
    Numbers,
    /// That an instance has ended.
    Tombstone,
    /// That a reader has been given the history.
    Served,
    /// Which values have moved into a segment of a cold tier.
    Segment,
    /// When an instance ends that was disposed and given up.
    Ending,
    /// What a store is called where its segments lie.
    Name,
}

impl NoteKind {
    pub(crate) const fn octet(self) -> u8 {
        match self {
            Self::Numbers => 0,
            Self::Tombstone => 1,
            Self::Served => 2,
            Self::Segment => 3,
            Self::Ending => 4,
            Self::Name => 5,
        }
    }

    pub(crate) const fn from_octet(octet: u8) -> Option<Self> {
        match octet {
            0 => Some(Self::Numbers),
            1 => Some(Self::Tombstone),
            2 => Some(Self::Served),
            3 => Some(Self::Segment),
            4 => Some(Self::Ending),
            5 => Some(Self::Name),
            _ => None,
        }
    }
}

/// Names a note.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NoteKey {
    /// The history that it is of.
    pub group: GroupId,
    /// What it is about.
    pub kind: NoteKind,
    /// A writer, an instance or a reader.
    pub of: [u8; 16],
}

/// Length of the key of a note as octets.
pub(crate) const NOTE_KEY: usize = 21;

pub(crate) fn note_key(key: NoteKey) -> [u8; NOTE_KEY] {
    let mut octets = [0; NOTE_KEY];
    octets[..4].copy_from_slice(&key.group.to_be_bytes());
    octets[4] = key.kind.octet();
    octets[5..].copy_from_slice(&key.of);
    octets
}

pub(crate) fn parse_note_key(octets: &[u8]) -> Option<NoteKey> {
    let rest: &[u8; NOTE_KEY] = octets.try_into().ok()?;
    let rest = &mut &rest[..];
    let group = u32::from_be_bytes(crate::change::take(rest)?);
    let [kind] = crate::change::take(rest)?;
    Some(NoteKey { group, kind: NoteKind::from_octet(kind)?, of: crate::change::take(rest)? })
}

/// One step of a commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Describes a group.
    Describe(GroupId, Vec<u8>),
    /// Forgets the description of a group. Its changes and notes are removed apart.
    Drop(GroupId),
    /// Adds a change. Positions ascend.
    Append(Position, Head, Payload),
    /// Removes a change, if it is there.
    Remove(Position),
    /// Sets a note.
    Note(NoteKey, Vec<u8>),
    /// Removes a note, if it is there.
    Unnote(NoteKey),
}

/// Why a store does not do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The back end says so.
    #[error("{0}")]
    Backend(Box<dyn std::error::Error + Send + Sync>),
    /// There is something in it that no store has written, or something is missing for good: asking again does not help.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// A place of it belongs to another store.
    #[error("{0}")]
    Taken(String),
}

/// What a store calls with each change.
pub type Visit<'v> = &'v mut dyn FnMut(Position, Head) -> Result<(), StoreError>;

/// What a store calls with each note.
pub type VisitNote<'v> = &'v mut dyn FnMut(NoteKey, &[u8]) -> Result<(), StoreError>;

/// A back end. One conformance suite holds for all (`tests/store/conformance.rs`).
pub trait Store: Send {
    /// Descriptions of the groups, by ascending number.
    ///
    /// # Errors
    /// When it cannot be read.
    fn groups(&mut self) -> Result<Vec<(GroupId, Vec<u8>)>, StoreError>;

    /// All changes, in the order of their positions.
    ///
    /// # Errors
    /// When it cannot be read, and what `visit` says.
    fn scan(&mut self, visit: Visit<'_>) -> Result<(), StoreError>;

    /// All notes.
    ///
    /// # Errors
    /// When it cannot be read, and what `visit` says.
    fn notes(&mut self, visit: VisitNote<'_>) -> Result<(), StoreError>;

    /// The octets of a change; `None` if it is not there.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&mut self, position: Position) -> Result<Option<Payload>, StoreError>;

    /// Does all steps or none. When it returns without an error they last, whatever happens to the process or the machine, as far
    /// as the back end promises it. Steps may be done twice.
    ///
    /// # Errors
    /// When it is not known to be done: of a back end that is away the answer may be lost. It is to be tried again with the same
    /// steps first, to which others may be added.
    fn commit(&mut self, steps: &[Step]) -> Result<(), StoreError>;

    /// What does not work although commits do, such as a cold tier that is away.
    fn trouble(&self) -> Option<String> {
        None
    }
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn groups(&mut self) -> Result<Vec<(GroupId, Vec<u8>)>, StoreError> {
        (**self).groups()
    }

    fn scan(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        (**self).scan(visit)
    }

    fn notes(&mut self, visit: VisitNote<'_>) -> Result<(), StoreError> {
        (**self).notes(visit)
    }

    fn read(&mut self, position: Position) -> Result<Option<Payload>, StoreError> {
        (**self).read(position)
    }

    fn commit(&mut self, steps: &[Step]) -> Result<(), StoreError> {
        (**self).commit(steps)
    }

    fn trouble(&self) -> Option<String> {
        (**self).trouble()
    }
}

/// Why a back end cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The file cannot be used.
    #[error("{file}: {error}")]
    File {
        /// Its name.
        file: String,
        /// Why.
        error: FileError,
    },
    /// The server cannot be used.
    #[error(transparent)]
    Server(#[from] StoreError),
    /// This program was built without it.
    #[error("this program was built without the feature {0}")]
    NotBuilt(&'static str),
}

/// Opens the back end that a configuration names, with its cold tier if it has one.
///
/// # Errors
/// When one of them cannot be used.
pub fn open_backend(backend: &Backend, cold: Option<&ColdBackend>) -> Result<Box<dyn Store>, BackendError> {
    let store = open_hot(backend)?;
    match cold {
        None => Ok(store),
        #[cfg(feature = "s3")]
        Some(cold) => Ok(Box::new(TieredStore::open(store, S3::new(cold)?, cold.tier)?)),
        #[cfg(not(feature = "s3"))]
        Some(_) => Err(BackendError::NotBuilt("s3")),
    }
}

fn open_hot(backend: &Backend) -> Result<Box<dyn Store>, BackendError> {
    match backend {
        Backend::File(file) => match FileStore::open(file) {
            Ok(store) => Ok(Box::new(store)),
            Err(error) => Err(BackendError::File { file: file.display().to_string(), error }),
        },
        #[cfg(feature = "postgres")]
        Backend::Postgres(backend) => Ok(Box::new(PostgresStore::open(backend)?)),
        #[cfg(feature = "nats")]
        Backend::Nats(backend) => Ok(Box::new(NatsStore::connect(backend)?)),
        #[cfg(not(feature = "nats"))]
        Backend::Nats(_) => Err(BackendError::NotBuilt("nats")),
        #[cfg(not(feature = "postgres"))]
        Backend::Postgres(_) => Err(BackendError::NotBuilt("postgres")),
    }
}
