//! Where changes are kept: what a back end can do, and the one in memory.

mod file;
mod memory;

pub use file::{FileError, FileStore};
pub use memory::MemoryStore;

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
}

impl NoteKind {
    pub(crate) const fn octet(self) -> u8 {
        match self {
            Self::Numbers => 0,
            Self::Tombstone => 1,
            Self::Served => 2,
        }
    }

    pub(crate) const fn from_octet(octet: u8) -> Option<Self> {
        match octet {
            0 => Some(Self::Numbers),
            1 => Some(Self::Tombstone),
            2 => Some(Self::Served),
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
    /// The back end says so. What was not committed has no effect.
    #[error("{0}")]
    Backend(Box<dyn std::error::Error + Send + Sync>),
    /// There is something in it that no store has written.
    #[error("it is damaged: {0}")]
    Damaged(String),
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
    /// as the back end promises it.
    ///
    /// # Errors
    /// When nothing was done; it may be tried again.
    fn commit(&mut self, steps: &[Step]) -> Result<(), StoreError>;
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
}
