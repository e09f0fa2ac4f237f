//! RTPS 2.5 §8.3.8.4 and §9.4.5 "Gap".

use dunlin_core::{EntityId, SequenceNumber, SequenceNumberSet};

use super::{FixedSubmessage, Reject, kind, writer_to_reader};
use crate::Malformation;
use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};

const FLAG_GROUP: u8 = 0x02;
const FLAG_FILTERED_COUNT: u8 = 0x04;

/// Changes that a writer will not send: from `gap_start` up to but not including the base of `gap_list`, and the
/// members of `gap_list`. When `gap_start` is not below the base, only the members count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The reader addressed, or [`EntityId::UNKNOWN`] for all.
    pub reader_id: EntityId,
    /// The writer that reports.
    pub writer_id: EntityId,
    /// First irrelevant change. At least 1.
    pub gap_start: SequenceNumber,
    /// End of the range and single irrelevant changes after it. The base is at least 1.
    pub gap_list: SequenceNumberSet,
    /// Group sequence numbers covered, when they are sent.
    pub group: Option<GapGroup>,
    /// How many of the changes are still in the writer's cache but filtered out, when that is sent.
    pub filtered_count: Option<i64>,
}

/// Group sequence numbers that a gap covers (flag G).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GapGroup {
    /// First. At least 1.
    pub start_gsn: SequenceNumber,
    /// Last. At least 1 and at least `start_gsn` − 1.
    pub end_gsn: SequenceNumber,
}

impl Gap {
    pub(crate) fn parse(flags: u8, cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let (reader_id, writer_id) = writer_to_reader(cursor)?;
        let gap_start = cursor.positive_sequence_number()?;
        let gap_list = cursor.sequence_number_set()?;
        if gap_list.base() < SequenceNumber::FIRST {
            return Err(Malformation::NumberSet.into());
        }
        let group = if flags & FLAG_GROUP != 0 { Some(GapGroup::parse(cursor)?) } else { None };
        let filtered_count =
            if flags & FLAG_FILTERED_COUNT != 0 { Some(cursor.sequence_number()?.0) } else { None };
        Ok(Self { reader_id, writer_id, gap_start, gap_list, group, filtered_count })
    }
}

impl GapGroup {
    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let start_gsn = cursor.positive_sequence_number()?;
        let end_gsn = cursor.positive_sequence_number()?;
        if end_gsn < start_gsn.previous() {
            return Err(Malformation::Range.into());
        }
        Ok(Self { start_gsn, end_gsn })
    }
}

impl FixedSubmessage for Gap {
    const KIND: u8 = kind::GAP;

    fn flags(&self) -> u8 {
        let group = if self.group.is_some() { FLAG_GROUP } else { 0 };
        let count = if self.filtered_count.is_some() { FLAG_FILTERED_COUNT } else { 0 };
        group | count
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        out.entity_id(self.reader_id);
        out.entity_id(self.writer_id);
        out.sequence_number(self.gap_start);
        out.sequence_number_set(&self.gap_list);
        if let Some(group) = &self.group {
            out.sequence_number(group.start_gsn);
            out.sequence_number(group.end_gsn);
        }
        if let Some(count) = self.filtered_count {
            // ChangeCount_t has the layout of a sequence number (§9.4.2).
            out.sequence_number(SequenceNumber(count));
        }
    }
}
