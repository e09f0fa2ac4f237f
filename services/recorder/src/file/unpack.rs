//! Records of MCAP as they stand in a file, and the contents of chunks; with bounded memory, whatever the file says.

use std::io::{Read, Seek};

use mcap::records::op;
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};

use super::RecordingError;

/// Longest record, and most octets that a chunk may unpack to.
pub const MAX_CHUNK: u64 = 256 << 20;
/// Most octets of schemas and channels of a file.
pub const MAX_DESCRIPTIONS: u64 = 256 << 20;
/// Octets before the body of a record: opcode and length.
pub(crate) const HEAD: u64 = 9;

/// Where a record is and how long its body is said to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) offset: u64,
    pub(crate) opcode: u8,
    pub(crate) length: u64,
}

impl Head {
    /// Where the next record is.
    pub(crate) fn end(self) -> u64 {
        self.offset.saturating_add(HEAD).saturating_add(self.length)
    }
}

/// Reads the head of the record at the place where the input is; `None` if nothing is left. What it says fits into the file.
pub(crate) fn head<R: Read>(input: &mut R, offset: u64, length: u64) -> Result<Option<Head>, RecordingError> {
    if offset == length {
        return Ok(None);
    }
    let mut octets = [0; HEAD as usize];
    if length.saturating_sub(offset) < HEAD {
        return Err(RecordingError::damaged(offset, "the file ends within a record"));
    }
    input.read_exact(&mut octets)?;
    let [opcode, size @ ..] = octets;
    let head = Head { offset, opcode, length: u64::from_le_bytes(size) };
    if head.end() > length {
        return Err(RecordingError::damaged(offset, "the file ends within a record"));
    }
    if opcode == 0 {
        return Err(RecordingError::damaged(offset, "this is no record"));
    }
    Ok(Some(head))
}

/// Reads the body behind a head, into a buffer that is reused.
pub(crate) fn body<R: Read>(input: &mut R, head: Head, buffer: &mut Vec<u8>) -> Result<(), RecordingError> {
    if head.length > MAX_CHUNK {
        let Head { offset, length: octets, .. } = head;
        return Err(RecordingError::TooLarge { what: "a record", offset, octets, limit: MAX_CHUNK });
    }
    buffer.clear();
    let read = input.take(head.length).read_to_end(buffer)?;
    if read as u64 != head.length {
        return Err(RecordingError::damaged(head.offset, "the file ends within a record"));
    }
    Ok(())
}

pub(crate) fn skip<R: Seek>(input: &mut R, head: Head) -> Result<(), RecordingError> {
    // Behind the head; as long as that is in the buffer, nothing is read again.
    input.seek_relative(i64::try_from(head.length).unwrap_or(i64::MAX))?;
    Ok(())
}

/// Takes the opcode and the body of a record.
pub(crate) type Visit<'a> = dyn FnMut(u8, &[u8]) -> Result<(), RecordingError> + 'a;

/// Unpacks the body of a chunk and checks it; each record in it is visited.
pub(crate) fn unpack(head: Head, body: &[u8], visit: &mut Visit<'_>) -> Result<(), RecordingError> {
    let limit = usize::try_from(MAX_CHUNK).unwrap_or(usize::MAX);
    let options = LinearReaderOptions::default()
        .with_skip_start_magic(true)
        .with_skip_end_magic(true)
        .with_prevalidate_chunk_crcs(true)
        .with_record_length_limit(limit);
    let mut reader = LinearReader::new_with_options(options);
    let damaged = |error: mcap::McapError| RecordingError::damaged(head.offset, error);
    let start = [&[op::CHUNK][..], &head.length.to_le_bytes()].concat();
    let mut parts = [&start[..], body];
    let mut ended = false;
    while let Some(event) = reader.next_event() {
        match event.map_err(damaged)? {
            LinearReadEvent::ReadRequest(wanted) => {
                let filled = fill(&mut parts, reader.insert(wanted.min(limit)));
                reader.notify_read(filled);
                // It says what is missing, once.
                if filled == 0 && std::mem::replace(&mut ended, true) {
                    return Err(RecordingError::damaged(head.offset, "a chunk ends too early"));
                }
            }
            LinearReadEvent::Record { data, opcode } => visit(opcode, data)?,
        }
    }
    Ok(())
}

fn fill(parts: &mut [&[u8]], place: &mut [u8]) -> usize {
    let mut filled = 0;
    for part in parts {
        let take = part.len().min(place.len() - filled);
        let (now, later) = part.split_at(take);
        place[filled..filled + take].copy_from_slice(now);
        (*part, filled) = (later, filled + take);
    }
    filled
}
