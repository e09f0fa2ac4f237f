//! RTPS 2.5 §8.3.8.7 and §9.4.5 "HeartbeatFrag".

use dunlin_core::{EntityId, SequenceNumber};

use super::{FixedSubmessage, Reject, kind, writer_to_reader};
use crate::Malformation;
use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};

/// Which fragments of one change a writer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatFrag {
    /// The reader addressed, or [`EntityId::UNKNOWN`] for all.
    pub reader_id: EntityId,
    /// The writer that reports.
    pub writer_id: EntityId,
    /// The change. At least 1.
    pub writer_sn: SequenceNumber,
    /// All fragments up to this one are available. At least 1.
    pub last_fragment_num: u32,
    /// Raised with every new report.
    pub count: i32,
}

impl HeartbeatFrag {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let (reader_id, writer_id) = writer_to_reader(cursor)?;
        let writer_sn = cursor.positive_sequence_number()?;
        let last_fragment_num = cursor.u32()?;
        if last_fragment_num == 0 {
            return Err(Malformation::Fragment.into());
        }
        Ok(Self { reader_id, writer_id, writer_sn, last_fragment_num, count: cursor.i32()? })
    }
}

impl FixedSubmessage for HeartbeatFrag {
    const KIND: u8 = kind::HEARTBEAT_FRAG;

    fn flags(&self) -> u8 {
        0
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        out.entity_id(self.reader_id);
        out.entity_id(self.writer_id);
        out.sequence_number(self.writer_sn);
        out.u32(self.last_fragment_num);
        out.i32(self.count);
    }
}
