//! A new file made of what can be read of another: repair, and cuts by time and topic.

use std::collections::BTreeMap;
use std::io::{BufRead, Seek, Write};

use super::scan::{self, ChannelInfo, Contents, Ending, Visitor};
use super::write::{Compression, RecordingWriter, Schema};
use super::{Message, RecordingError};
use crate::names::Names;

/// Octets of a chunk before it is packed.
const CHUNK: u64 = 4 << 20;

/// What is taken over.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Topics.
    pub topics: Names,
    /// Receptions from this time on, in nanoseconds since 1970.
    pub from: u64,
    /// Receptions up to and with this time.
    pub to: u64,
}

impl Default for Selection {
    fn default() -> Self {
        Self { topics: Names::default(), from: 0, to: u64::MAX }
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rewritten {
    /// Messages that were taken over.
    pub messages: u64,
    /// Chunks that could not be unpacked.
    pub damaged: u64,
    /// How the file ended.
    pub ending: Ending,
}

/// Writes what can be read of a recording, and is selected, as a whole one.
///
/// # Errors
/// When the input is no recording, or the medium does not take the output.
pub fn rewrite<R: BufRead + Seek, W: Write>(
    input: &mut R,
    output: W,
    compression: Compression,
    selection: &Selection,
) -> Result<Rewritten, RecordingError> {
    let writer = RecordingWriter::new(output, compression)?;
    let mut copy = Copy { writer, selection, channels: BTreeMap::new(), messages: 0, damaged: 0 };
    let (_, ending) = scan::scan(input, &mut copy)?;
    copy.writer.finish()?;
    Ok(Rewritten { messages: copy.messages, damaged: copy.damaged, ending })
}

struct Copy<'s, W: Write> {
    writer: RecordingWriter<W>,
    selection: &'s Selection,
    /// Which channel a channel became; none if it is not taken over.
    channels: BTreeMap<u16, Option<u16>>,
    messages: u64,
    damaged: u64,
}

impl<W: Write> Copy<'_, W> {
    fn channel(&mut self, contents: &Contents, id: u16) -> Result<Option<u16>, RecordingError> {
        if let Some(known) = self.channels.get(&id) {
            return Ok(*known);
        }
        let made = match contents.channels.get(&id) {
            Some(info) if info.is_events() || self.selection.topics.allow(&info.topic) => {
                Some(self.add(contents, info)?)
            }
            _ => None,
        };
        self.channels.insert(id, made);
        Ok(made)
    }

    fn add(&mut self, contents: &Contents, info: &ChannelInfo) -> Result<u16, RecordingError> {
        let schema = contents.schemas.get(&info.schema).map(|schema| Schema {
            name: schema.name.clone(),
            encoding: schema.encoding.clone(),
            text: schema.data.clone(),
        });
        self.writer.add_channel(&info.topic, &info.encoding, schema.as_ref(), &info.metadata)
    }
}

impl<W: Write> Visitor for Copy<'_, W> {
    fn message(&mut self, contents: &Contents, message: &Message<'_>) -> Result<(), RecordingError> {
        if message.log_time < self.selection.from || message.log_time > self.selection.to {
            return Ok(());
        }
        let Some(channel) = self.channel(contents, message.channel)? else { return Ok(()) };
        let times = (message.log_time, message.publish_time);
        self.writer.message(channel, message.sequence, times, message.data)?;
        self.messages += 1;
        if self.writer.open_octets() > CHUNK {
            self.writer.flush()?;
        }
        Ok(())
    }

    fn damaged(&mut self, _: &RecordingError) {
        self.damaged += 1;
    }
}
