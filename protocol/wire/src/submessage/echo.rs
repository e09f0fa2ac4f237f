//! RTPS 2.5 §8.3.8 and §9.4.5.1.1 (ids from 0x80 on are each vendor's own): a question that is answered at once and says
//! what it answers, unlike HEARTBEAT and ACKNACK. Other vendors skip both.

use dunlin_core::EntityId;

use super::{FixedSubmessage, Reject, kind, reader_to_writer, writer_to_reader};
use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};

/// A writer asks its readers to say that they have taken everything that was sent before this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoRequest {
    /// The reader, or [`EntityId::UNKNOWN`] for all of the writer's.
    pub reader_id: EntityId,
    /// The writer that asks.
    pub writer_id: EntityId,
    /// Comes back in the answer.
    pub count: i32,
}

/// The answer to an [`EchoRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// The reader that answers.
    pub reader_id: EntityId,
    /// The writer that asked.
    pub writer_id: EntityId,
    /// That of the request.
    pub count: i32,
    /// Bytes that the writer may have in flight to the reader at once, as far as its receive buffer goes; 0 if it does not
    /// say.
    pub room: u32,
}

impl EchoRequest {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let (reader_id, writer_id) = writer_to_reader(cursor)?;
        Ok(Self { reader_id, writer_id, count: cursor.i32()? })
    }
}

impl Echo {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let (reader_id, writer_id) = reader_to_writer(cursor)?;
        // What comes after the count is newer than the submessage.
        Ok(Self { reader_id, writer_id, count: cursor.i32()?, room: cursor.u32().unwrap_or(0) })
    }
}

impl FixedSubmessage for EchoRequest {
    const KIND: u8 = kind::ECHO_REQUEST;

    fn flags(&self) -> u8 {
        0
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        out.entity_id(self.reader_id);
        out.entity_id(self.writer_id);
        out.i32(self.count);
    }
}

impl FixedSubmessage for Echo {
    const KIND: u8 = kind::ECHO;

    fn flags(&self) -> u8 {
        0
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        out.entity_id(self.reader_id);
        out.entity_id(self.writer_id);
        out.i32(self.count);
        if self.room > 0 {
            out.u32(self.room);
        }
    }
}
