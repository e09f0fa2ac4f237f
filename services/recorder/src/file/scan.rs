//! A file from its beginning to wherever it ends, without its index.

use std::collections::BTreeMap;
use std::io::{BufRead, Seek, SeekFrom};

use mcap::MAGIC;
use mcap::records::{Record, op};

use super::read::ChunkPlace;
use super::unpack::{self, Head, MAX_DESCRIPTIONS};
use super::{Message, RecordingError};
use crate::event::EVENT_TOPIC;
use crate::source::Source;

/// A schema of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaInfo {
    /// The type.
    pub name: String,
    /// Its notation: "omgidl" of this recorder.
    pub encoding: String,
    /// The text.
    pub data: Vec<u8>,
}

/// A channel of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelInfo {
    /// The topic.
    pub topic: String,
    /// Its schema; 0 for none.
    pub schema: u16,
    /// "cdr" of this recorder.
    pub encoding: String,
    /// What else is said of it.
    pub metadata: BTreeMap<String, String>,
    /// How many messages it has.
    pub messages: u64,
    /// The writer, if this recorder made the file.
    pub source: Option<Source>,
}

impl ChannelInfo {
    /// Whether it is the channel of events.
    #[must_use]
    pub fn is_events(&self) -> bool {
        self.topic == EVENT_TOPIC
    }
}

/// How a file ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// As it should, with an index.
    Whole,
    /// In the middle: what comes behind the place cannot be read.
    Cut {
        /// The place.
        offset: u64,
        /// Why.
        why: String,
    },
}

/// What is in a file.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// By id.
    pub schemas: BTreeMap<u16, SchemaInfo>,
    /// By id.
    pub channels: BTreeMap<u16, ChannelInfo>,
    /// In the order of the file.
    pub chunks: Vec<ChunkPlace>,
    described: u64,
}

impl Contents {
    /// Notes a record that says something of the file. Others are no concern of it.
    pub(crate) fn learn(&mut self, offset: u64, opcode: u8, body: &[u8]) -> Result<(), RecordingError> {
        if !matches!(opcode, op::SCHEMA | op::CHANNEL | op::CHUNK_INDEX | op::STATISTICS) {
            return Ok(());
        }
        let damaged = |error: mcap::McapError| RecordingError::damaged(offset, error);
        match mcap::parse_record(opcode, body).map_err(damaged)? {
            Record::Schema { header, data } => {
                if !self.schemas.contains_key(&header.id) {
                    self.count(offset, body.len())?;
                }
                let (name, encoding) = (header.name, header.encoding);
                self.schemas.entry(header.id).or_insert(SchemaInfo { name, encoding, data: data.into() });
            }
            Record::Channel(channel) => self.channel(offset, body.len(), channel)?,
            Record::ChunkIndex(index) => self.chunks.push(ChunkPlace {
                offset: index.chunk_start_offset,
                length: index.chunk_length,
                start: index.message_start_time,
                end: index.message_end_time,
            }),
            Record::Statistics(statistics) => {
                for (id, messages) in statistics.channel_message_counts {
                    if let Some(channel) = self.channels.get_mut(&id) {
                        channel.messages = messages;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn channel(
        &mut self,
        offset: u64,
        octets: usize,
        channel: mcap::records::Channel,
    ) -> Result<(), RecordingError> {
        if self.channels.contains_key(&channel.id) {
            return Ok(());
        }
        self.count(offset, octets)?;
        let source = Source::from_metadata(&channel.topic, &channel.metadata);
        let info = ChannelInfo {
            topic: channel.topic,
            schema: channel.schema_id,
            encoding: channel.message_encoding,
            metadata: channel.metadata,
            messages: 0,
            source,
        };
        self.channels.insert(channel.id, info);
        Ok(())
    }

    fn count(&mut self, offset: u64, octets: usize) -> Result<(), RecordingError> {
        self.described = self.described.saturating_add(octets as u64);
        if self.described > MAX_DESCRIPTIONS {
            let (octets, limit) = (self.described, MAX_DESCRIPTIONS);
            return Err(RecordingError::TooLarge {
                what: "what describes the channels",
                offset,
                octets,
                limit,
            });
        }
        Ok(())
    }
}

/// What a scan visits.
pub(crate) trait Visitor {
    /// A message, after its channel has become known.
    fn message(&mut self, contents: &Contents, message: &Message<'_>) -> Result<(), RecordingError>;
    /// A chunk that cannot be unpacked; it is left out.
    fn damaged(&mut self, error: &RecordingError);
}

/// Reads a file from its beginning.
///
/// # Errors
/// When it is no recording, or as the visitor says.
pub(crate) fn scan<R: BufRead + Seek>(
    input: &mut R,
    visitor: &mut dyn Visitor,
) -> Result<(Contents, Ending), RecordingError> {
    begin(input)?;
    scan_on(input, visitor, Contents::default(), MAGIC.len() as u64)
}

/// Reads a file from a record on, with what is known of what comes before it.
///
/// # Errors
/// As [`scan`].
pub(crate) fn scan_on<R: BufRead + Seek>(
    input: &mut R,
    visitor: &mut dyn Visitor,
    contents: Contents,
    mut at: u64,
) -> Result<(Contents, Ending), RecordingError> {
    let length = input.seek(SeekFrom::End(0))?;
    input.seek(SeekFrom::Start(at))?;
    let mut scanner = Scanner { contents, visitor, refused: None };
    let mut buffer = Vec::new();
    loop {
        let step = scanner.record(input, at, length, &mut buffer);
        if let Some(refused) = scanner.refused.take() {
            return Err(refused);
        }
        match step {
            Ok(Some(next)) => at = next,
            Ok(None) => return Ok((scanner.contents, Ending::Whole)),
            Err(error) => {
                let why = error.to_string();
                return Ok((scanner.contents, Ending::Cut { offset: at, why }));
            }
        }
    }
}

pub(crate) fn begin<R: BufRead + Seek>(input: &mut R) -> Result<(), RecordingError> {
    let mut magic = [0; MAGIC.len()];
    input.seek(SeekFrom::Start(0))?;
    input.read_exact(&mut magic).map_err(|_| RecordingError::NotMcap)?;
    if magic == *MAGIC { Ok(()) } else { Err(RecordingError::NotMcap) }
}

struct Scanner<'v> {
    contents: Contents,
    visitor: &'v mut dyn Visitor,
    /// What the visitor refuses ends the scan; what is wrong with the file does not.
    refused: Option<RecordingError>,
}

impl Scanner<'_> {
    /// Looks at one record; where the next one is.
    fn record<R: BufRead + Seek>(
        &mut self,
        input: &mut R,
        at: u64,
        length: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<u64>, RecordingError> {
        let Some(head) = unpack::head(input, at, length)? else {
            return Err(RecordingError::damaged(at, "the file ends without its index"));
        };
        match head.opcode {
            op::CHUNK => {
                unpack::body(input, head, buffer)?;
                self.chunk(head, buffer);
            }
            op::SCHEMA | op::CHANNEL | op::MESSAGE => {
                unpack::body(input, head, buffer)?;
                self.inner(head.offset, head.opcode, buffer)?;
            }
            // The summary repeats what is known.
            op::DATA_END => return Ok(None),
            _ => unpack::skip(input, head)?,
        }
        Ok(Some(head.end()))
    }

    fn chunk(&mut self, head: Head, body: &[u8]) {
        let (mut start, mut end) = (u64::MAX, 0);
        // First as a whole, so that nothing of a chunk with a fault is taken.
        let sound = unpack::unpack(head, body, &mut |_, _| Ok(()));
        let told = sound.and_then(|()| {
            unpack::unpack(head, body, &mut |opcode, inner| {
                if let (op::MESSAGE, Some(message)) = (opcode, Message::parse(inner)) {
                    (start, end) = (message.log_time.min(start), message.log_time.max(end));
                }
                self.inner(head.offset, opcode, inner)
            })
        });
        match told {
            Ok(()) => {
                let (start, length) = (start.min(end), head.end().saturating_sub(head.offset));
                self.contents.chunks.push(ChunkPlace { offset: head.offset, length, start, end });
            }
            Err(error) => self.visitor.damaged(&error),
        }
    }

    fn inner(&mut self, offset: u64, opcode: u8, body: &[u8]) -> Result<(), RecordingError> {
        if opcode != op::MESSAGE {
            return self.contents.learn(offset, opcode, body);
        }
        let message =
            Message::parse(body).ok_or_else(|| RecordingError::damaged(offset, "a message is too short"))?;
        let Some(channel) = self.contents.channels.get_mut(&message.channel) else {
            return Err(RecordingError::damaged(offset, "a message has no channel"));
        };
        channel.messages += 1;
        if self.refused.is_none() {
            self.refused = self.visitor.message(&self.contents, &message).err();
        }
        Ok(())
    }
}
