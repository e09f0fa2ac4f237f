//! RTPS 2.5 §8.3.8.1 and §9.4.5 "AckNack".

use dunlin_core::{EntityId, SequenceNumber, SequenceNumberSet};

use super::{FixedSubmessage, Reject, kind, reader_to_writer};
use crate::Malformation;
use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};

const FLAG_FINAL: u8 = 0x02;

/// What a reader has and what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckNack {
    /// The reader that reports.
    pub reader_id: EntityId,
    /// The writer it reports to.
    pub writer_id: EntityId,
    /// Everything below the base is acknowledged, the members are requested. The base of what is received is at least 1.
    pub reader_sn_state: SequenceNumberSet,
    /// Raised with every new report.
    pub count: i32,
    /// The writer need not answer.
    pub final_flag: bool,
}

impl AckNack {
    pub(crate) fn parse(flags: u8, cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let (reader_id, writer_id) = reader_to_writer(cursor)?;
        let set = cursor.sequence_number_set()?;
        let count = cursor.i32()?;
        let final_flag = flags & FLAG_FINAL != 0;
        if set.base() >= SequenceNumber::FIRST {
            return Ok(Self { reader_id, writer_id, reader_sn_state: set, count, final_flag });
        }
        // Fast DDS and RTI open a session with base 0 and no bits, against the standard; they mean "nothing yet" and
        // wait for a heartbeat even when they set the final flag.
        if set.base() == SequenceNumber::ZERO && set.num_bits() == 0 {
            let reader_sn_state = SequenceNumberSet::empty(SequenceNumber::FIRST);
            return Ok(Self { reader_id, writer_id, reader_sn_state, count, final_flag: false });
        }
        Err(Malformation::NumberSet.into())
    }
}

impl FixedSubmessage for AckNack {
    const KIND: u8 = kind::ACKNACK;

    fn flags(&self) -> u8 {
        if self.final_flag { FLAG_FINAL } else { 0 }
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        out.entity_id(self.reader_id);
        out.entity_id(self.writer_id);
        out.sequence_number_set(&self.reader_sn_state);
        out.i32(self.count);
    }
}
