//! A file that is being written.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mcap::records::MessageHeader;
use mcap::write::NoSeek;

use super::RecordingError;
use crate::event::{EVENT_TOPIC, Event};
use crate::source::Source;

/// How chunks are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compression {
    /// As they are.
    None,
    /// Fast.
    #[default]
    Lz4,
    /// Smaller.
    Zstd,
}

/// A type, as text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Schema {
    /// Name of the type.
    pub name: String,
    /// "omgidl".
    pub encoding: String,
    /// The text.
    pub text: Vec<u8>,
}

/// Counts what goes through.
struct Counted<W> {
    inner: W,
    octets: Arc<AtomicU64>,
    /// Once something was not taken, nothing is: what was counted as not recorded must not come later.
    failed: Option<io::ErrorKind>,
}

impl<W> Counted<W> {
    fn settle<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.failed = Some(error.kind());
        }
        result
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if let Some(failed) = self.failed {
            return Err(failed.into());
        }
        let written = self.inner.write(octets);
        let written = self.settle(written)?;
        self.octets.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(failed) = self.failed {
            return Err(failed.into());
        }
        let flushed = self.inner.flush();
        self.settle(flushed)
    }
}

/// Writes a recording. Samples are on the medium after [`flush`](Self::flush), not before.
pub struct RecordingWriter<W: Write> {
    mcap: mcap::Writer<NoSeek<BufWriter<Counted<W>>>>,
    schemas: BTreeMap<Schema, u16>,
    events: u16,
    octets: Arc<AtomicU64>,
    /// Octets of the chunk that is open.
    open: u64,
}

impl<W: Write> RecordingWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When the medium takes nothing.
    pub fn new(medium: W, compression: Compression) -> Result<Self, RecordingError> {
        let octets = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: medium, octets: Arc::clone(&octets), failed: None };
        let kind = match compression {
            Compression::None => None,
            Compression::Lz4 => Some(mcap::Compression::Lz4),
            Compression::Zstd => Some(mcap::Compression::Zstd),
        };
        let level = if compression == Compression::Zstd { 1 } else { 0 };
        // Chunks are closed by `flush` alone: then what is lost with a chunk can be counted.
        let options = mcap::WriteOptions::new()
            .library(concat!("dunlin-recorder ", env!("CARGO_PKG_VERSION")))
            .compression(kind)
            .compression_level(level)
            .compression_threads(0)
            .chunk_size(None)
            .disable_seeking(true);
        let mut mcap = options.create(NoSeek::new(BufWriter::with_capacity(1 << 18, counted)))?;
        let schema = mcap.add_schema("dunlin::recorder::Event", "omgidl", Event::idl().as_bytes())?;
        let events = mcap.add_channel(schema, EVENT_TOPIC, "cdr", &BTreeMap::new())?;
        Ok(Self { mcap, schemas: BTreeMap::new(), events, octets, open: 0 })
    }

    /// A channel for a writer.
    ///
    /// # Errors
    /// When the file has no room for another one.
    pub fn add(&mut self, source: &Source, schema: Option<&Schema>) -> Result<u16, RecordingError> {
        self.add_channel(&source.topic, "cdr", schema, &source.to_metadata())
    }

    /// A channel of any kind.
    ///
    /// # Errors
    /// When the file has no room for another one.
    pub fn add_channel(
        &mut self,
        topic: &str,
        encoding: &str,
        schema: Option<&Schema>,
        metadata: &BTreeMap<String, String>,
    ) -> Result<u16, RecordingError> {
        let id = match schema {
            Some(schema) => self.schema(schema)?,
            None => 0,
        };
        Ok(self.mcap.add_channel(id, topic, encoding, metadata)?)
    }

    fn schema(&mut self, schema: &Schema) -> Result<u16, RecordingError> {
        if let Some(id) = self.schemas.get(schema) {
            return Ok(*id);
        }
        let id = self.mcap.add_schema(&schema.name, &schema.encoding, &schema.text)?;
        self.schemas.insert(schema.clone(), id);
        Ok(id)
    }

    /// A message of a channel; times in nanoseconds since 1970.
    ///
    /// # Errors
    /// When the medium takes nothing.
    pub fn message(
        &mut self,
        channel: u16,
        sequence: u32,
        (log_time, publish_time): (u64, u64),
        data: &[u8],
    ) -> Result<(), RecordingError> {
        self.open += data.len() as u64 + 31;
        let header = MessageHeader { channel_id: channel, sequence, log_time, publish_time };
        Ok(self.mcap.write_to_known_channel(&header, data)?)
    }

    /// An event.
    ///
    /// # Errors
    /// When the medium takes nothing.
    pub fn event(&mut self, times: (u64, u64), event: &Event) -> Result<(), RecordingError> {
        let octets = event.to_octets()?;
        self.message(self.events, low_half(event.number), times, &octets)
    }

    /// Closes the chunk and hands it to the medium.
    ///
    /// # Errors
    /// When the medium takes nothing.
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        self.open = 0;
        Ok(self.mcap.flush()?)
    }

    /// Octets of the chunk that is open, before they are packed.
    #[must_use]
    pub const fn open_octets(&self) -> u64 {
        self.open
    }

    /// Octets that the medium has.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.octets.load(Ordering::Relaxed)
    }

    /// Writes the index. Nothing can be written afterwards.
    ///
    /// # Errors
    /// When the medium takes nothing.
    pub fn finish(mut self) -> Result<(), RecordingError> {
        self.mcap.finish()?;
        Ok(self.mcap.into_inner().into_inner().flush()?)
    }
}

pub(crate) fn low_half(number: i64) -> u32 {
    (number & i64::from(u32::MAX)) as u32
}
