//! A recording that is read by its index.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use mcap::MAGIC;
use mcap::records::{Footer, Record, op};

use super::RecordingError;
use super::scan::{self, Contents, Ending, Visitor};
use super::unpack::{self, Head};

/// Octets of the footer with its head, and the magic behind it.
const TAIL: u64 = 9 + 20 + 8;

/// Where a chunk is, and which time it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkPlace {
    /// Of the file.
    pub offset: u64,
    /// Octets of the record.
    pub length: u64,
    /// The earliest message, in nanoseconds since 1970.
    pub start: u64,
    /// The latest.
    pub end: u64,
}

/// A message as it stands in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// Its channel.
    pub channel: u16,
    /// The low half of the sequence number.
    pub sequence: u32,
    /// When it was received, in nanoseconds since 1970.
    pub log_time: u64,
    /// When it was written.
    pub publish_time: u64,
    /// The payload with encapsulation header.
    pub data: &'a [u8],
}

impl<'a> Message<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Option<Self> {
        let (channel, rest) = body.split_first_chunk::<2>()?;
        let (sequence, rest) = rest.split_first_chunk::<4>()?;
        let (log_time, rest) = rest.split_first_chunk::<8>()?;
        let (publish_time, data) = rest.split_first_chunk::<8>()?;
        Some(Self {
            channel: u16::from_le_bytes(*channel),
            sequence: u32::from_le_bytes(*sequence),
            log_time: u64::from_le_bytes(*log_time),
            publish_time: u64::from_le_bytes(*publish_time),
            data,
        })
    }
}

/// A recording. What it takes to open one with an index does not depend on how long it is.
pub struct Recording<R = BufReader<File>> {
    input: R,
    length: u64,
    contents: Contents,
    ending: Ending,
    damaged: u64,
}

impl Recording {
    /// Opens a file.
    ///
    /// # Errors
    /// When there is none, or it is no recording.
    pub fn open(file: &Path) -> Result<Self, RecordingError> {
        Self::new(BufReader::new(File::open(file)?))
    }
}

impl<R: BufRead + Seek> Recording<R> {
    /// Of any input.
    ///
    /// # Errors
    /// When it is no recording.
    pub fn new(mut input: R) -> Result<Self, RecordingError> {
        let length = input.seek(SeekFrom::End(0))?;
        scan::begin(&mut input)?;
        if let Ok(contents) = indexed(&mut input, length) {
            return Ok(Self { input, length, contents, ending: Ending::Whole, damaged: 0 });
        }
        let mut count = CountDamage(0);
        let (contents, ending) = scan::scan(&mut input, &mut count)?;
        Ok(Self { input, length, contents, ending, damaged: count.0 })
    }

    /// Reads what has been added since, to a file that is still being written.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn extend(&mut self) -> Result<(), RecordingError> {
        let Ending::Cut { offset, .. } = self.ending else { return Ok(()) };
        self.length = self.input.seek(SeekFrom::End(0))?;
        let mut count = CountDamage(0);
        let contents = std::mem::take(&mut self.contents);
        (self.contents, self.ending) = scan::scan_on(&mut self.input, &mut count, contents, offset)?;
        self.damaged += count.0;
        Ok(())
    }

    /// What is in it.
    #[must_use]
    pub const fn contents(&self) -> &Contents {
        &self.contents
    }

    /// How it ends.
    #[must_use]
    pub const fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Chunks that cannot be unpacked, if it had to be read as a whole.
    #[must_use]
    pub const fn damaged_chunks(&self) -> u64 {
        self.damaged
    }

    /// Octets of the file.
    #[must_use]
    pub const fn octets(&self) -> u64 {
        self.length
    }

    /// The earliest and the latest reception, in nanoseconds since 1970.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        let chunks = self.contents.chunks.iter().filter(|chunk| chunk.end > 0);
        chunks.fold(None, |span: Option<(u64, u64)>, chunk| {
            let (start, end) = span.unwrap_or((u64::MAX, 0));
            Some((start.min(chunk.start), end.max(chunk.end)))
        })
    }

    /// The first chunk that has something of a time or later.
    #[must_use]
    pub fn seek(&self, time: u64) -> usize {
        let found = self.contents.chunks.iter().position(|chunk| chunk.end >= time);
        found.unwrap_or(self.contents.chunks.len())
    }

    /// The n-th chunk, unpacked; `None` behind the last one.
    ///
    /// # Errors
    /// When it cannot be unpacked. Others may be sound.
    pub fn chunk(&mut self, n: usize) -> Result<Option<Chunk>, RecordingError> {
        let Some(place) = self.contents.chunks.get(n).copied() else { return Ok(None) };
        self.input.seek(SeekFrom::Start(place.offset))?;
        let head = unpack::head(&mut self.input, place.offset, self.length)?;
        let head = head.filter(|head| head.opcode == op::CHUNK && head.end() - head.offset == place.length);
        let Some(head) = head else {
            return Err(RecordingError::damaged(place.offset, "the index says that a chunk is here"));
        };
        let (mut body, mut octets) = (Vec::new(), Vec::new());
        unpack::body(&mut self.input, head, &mut body)?;
        unpack::unpack(head, &body, &mut |opcode, body| {
            if opcode == op::MESSAGE {
                octets.extend_from_slice(&(body.len() as u64).to_le_bytes());
                octets.extend_from_slice(body);
            }
            Ok(())
        })?;
        Ok(Some(Chunk { octets, at: 0 }))
    }

    /// Visits all messages from a time on, until the visitor says that it has enough.
    ///
    /// # Errors
    /// When a chunk cannot be unpacked.
    pub fn for_each(
        &mut self,
        from: u64,
        mut visit: impl FnMut(&Contents, Message<'_>) -> bool,
    ) -> Result<(), RecordingError> {
        let mut n = self.seek(from);
        while let Some(mut chunk) = self.chunk(n)? {
            n += 1;
            while let Some(message) = chunk.next_message() {
                if message.log_time >= from && !visit(&self.contents, message) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// The messages of a chunk.
#[derive(Debug, Default)]
pub struct Chunk {
    octets: Vec<u8>,
    at: usize,
}

impl Chunk {
    /// The next message, in the order of the file.
    pub fn next_message(&mut self) -> Option<Message<'_>> {
        let (length, _) = self.octets.get(self.at..)?.split_first_chunk::<8>()?;
        let start = self.at + 8;
        let end = start.checked_add(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        self.at = end;
        Message::parse(self.octets.get(start..end)?)
    }
}

struct CountDamage(u64);

impl Visitor for CountDamage {
    fn message(&mut self, _: &Contents, _: &Message<'_>) -> Result<(), RecordingError> {
        Ok(())
    }

    fn damaged(&mut self, _: &RecordingError) {
        self.0 += 1;
    }
}

/// What the summary at the end says.
fn indexed<R: BufRead + Seek>(input: &mut R, length: u64) -> Result<Contents, RecordingError> {
    let place = length.checked_sub(TAIL).ok_or(RecordingError::NoIndex)?;
    let summary = footer(input, place, length)?.summary_start;
    if summary == 0 || summary >= place {
        return Err(RecordingError::NoIndex);
    }
    let (mut contents, mut at, mut buffer) = (Contents::default(), summary, Vec::new());
    let mut statistics = Vec::new();
    input.seek(SeekFrom::Start(summary))?;
    while at < place {
        let head = unpack::head(input, at, place)?.ok_or(RecordingError::NoIndex)?;
        unpack::body(input, head, &mut buffer)?;
        if head.opcode == op::STATISTICS {
            // Channels may come behind it.
            statistics.clone_from(&buffer);
        } else {
            contents.learn(at, head.opcode, &buffer)?;
        }
        at = head.end();
    }
    if statistics.is_empty() {
        return Err(RecordingError::NoIndex);
    }
    contents.learn(summary, op::STATISTICS, &statistics)?;
    contents.chunks.sort_by_key(|chunk| chunk.offset);
    Ok(contents)
}

fn footer<R: BufRead + Seek>(input: &mut R, place: u64, length: u64) -> Result<Footer, RecordingError> {
    input.seek(SeekFrom::Start(place))?;
    let head = unpack::head(input, place, length)?;
    let head: Head = head.filter(|it| it.opcode == op::FOOTER).ok_or(RecordingError::NoIndex)?;
    let mut body = Vec::new();
    unpack::body(input, head, &mut body)?;
    let mut magic = [0; MAGIC.len()];
    input.read_exact(&mut magic)?;
    match mcap::parse_record(op::FOOTER, &body) {
        Ok(Record::Footer(footer)) if magic == *MAGIC => Ok(footer),
        _ => Err(RecordingError::NoIndex),
    }
}
