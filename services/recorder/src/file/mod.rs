//! Recordings as files: MCAP with one channel for each writer, and one for events.

mod error;
mod read;
mod rewrite;
mod scan;
mod unpack;
mod write;

pub use error::RecordingError;
pub use read::{Chunk, ChunkPlace, Message, Recording};
pub use rewrite::{Rewritten, Selection, rewrite};
pub use scan::{ChannelInfo, Contents, Ending, SchemaInfo};
pub use unpack::{MAX_CHUNK, MAX_DESCRIPTIONS};
pub(crate) use write::low_half;
pub use write::{Compression, RecordingWriter, Schema};
