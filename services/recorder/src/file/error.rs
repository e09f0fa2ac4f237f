//! What can be wrong with a file.

use std::io;

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file system.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It does not begin like one.
    #[error("it is no MCAP file")]
    NotMcap,
    /// What stands at a place is wrong.
    #[error("it is damaged at byte {offset}: {why}")]
    Damaged {
        /// Where.
        offset: u64,
        /// What is wrong.
        why: String,
    },
    /// It would take more memory than a recording may.
    #[error("{what} at byte {offset} would take {octets} bytes; the limit is {limit}")]
    TooLarge {
        /// What.
        what: &'static str,
        /// Where.
        offset: u64,
        /// How much.
        octets: u64,
        /// How much there may be.
        limit: u64,
    },
    /// It was not written to its end, and what was asked for needs the index.
    #[error("it has no index; `dunlin record repair` makes one")]
    NoIndex,
    /// The library for MCAP refuses.
    #[error("{0}")]
    Mcap(#[from] mcap::McapError),
    /// An event cannot be serialized.
    #[error("an event cannot be written: {0}")]
    Event(#[from] dunlin::cdr::CdrError),
}

impl RecordingError {
    pub(crate) fn damaged(offset: u64, why: impl ToString) -> Self {
        Self::Damaged { offset, why: why.to_string() }
    }
}
