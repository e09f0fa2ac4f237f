//! RTPS 2.5 §8.3.8.12 and §9.4.5 "NackFrag".

use dunlin_core::{EntityId, FragmentNumberSet, SequenceNumber};

use super::{FixedSubmessage, Reject, kind, reader_to_writer};
use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};

/// Fragments of one change that a reader asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NackFrag {
    /// The reader that asks.
    pub reader_id: EntityId,
    /// The writer it asks.
    pub writer_id: EntityId,
    /// The change. At least 1.
    pub writer_sn: SequenceNumber,
    /// The fragments; the first has number 1.
    pub fragment_number_state: FragmentNumberSet,
    /// Raised with every new request.
    pub count: i32,
}

impl NackFrag {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let (reader_id, writer_id) = reader_to_writer(cursor)?;
        Ok(Self {
            reader_id,
            writer_id,
            writer_sn: cursor.positive_sequence_number()?,
            fragment_number_state: cursor.fragment_number_set()?,
            count: cursor.i32()?,
        })
    }
}

impl FixedSubmessage for NackFrag {
    const KIND: u8 = kind::NACK_FRAG;

    fn flags(&self) -> u8 {
        0
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        out.entity_id(self.reader_id);
        out.entity_id(self.writer_id);
        out.sequence_number(self.writer_sn);
        out.fragment_number_set(&self.fragment_number_state);
        out.i32(self.count);
    }
}
