//! RTPS 2.5 §8.3.8.6 and §9.4.5 "Heartbeat".

use dunlin_core::{EntityId, SequenceNumber};

use super::{FixedSubmessage, Reject, kind, writer_to_reader};
use crate::Malformation;
use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};
use crate::group_digest::GroupDigest;

const FLAG_FINAL: u8 = 0x02;
const FLAG_LIVELINESS: u8 = 0x04;
const FLAG_GROUP: u8 = 0x08;
const DIGESTS_LEN: usize = 8;

/// Which changes a writer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    /// The reader addressed, or [`EntityId::UNKNOWN`] for all.
    pub reader_id: EntityId,
    /// The writer that reports.
    pub writer_id: EntityId,
    /// First change available; `last_sn` + 1 when there is none. At least 1.
    pub first_sn: SequenceNumber,
    /// Last change written; 0 when there never was one. At least `first_sn` − 1.
    pub last_sn: SequenceNumber,
    /// Raised with every new report.
    pub count: i32,
    /// The reader need not answer.
    pub final_flag: bool,
    /// Asserts the liveliness of the writer.
    pub liveliness_flag: bool,
    /// State of the publisher, when it is sent.
    pub group: Option<HeartbeatGroup>,
}

/// State of the publisher in a heartbeat (flag G).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatGroup {
    /// Last group sequence number given out. At least 1.
    pub current_gsn: SequenceNumber,
    /// First group sequence number of this writer. At least 1.
    pub first_gsn: SequenceNumber,
    /// Last group sequence number of this writer. At least `first_gsn` − 1.
    pub last_gsn: SequenceNumber,
    /// Digests of the writers of the publisher, which the standard's tables list and its pictures leave out.
    pub digests: Option<GroupDigests>,
}

/// Digests of the entity ids of a publisher's writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupDigests {
    /// Over the writers discovered in the clear.
    pub writer_set: GroupDigest,
    /// Over the writers discovered securely.
    pub secure_writer_set: GroupDigest,
}

impl Heartbeat {
    pub(crate) fn parse(flags: u8, cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let (reader_id, writer_id) = writer_to_reader(cursor)?;
        let first_sn = cursor.positive_sequence_number()?;
        let last_sn = cursor.sequence_number()?;
        // With `first_sn` at least 1 this also refuses a negative `last_sn`.
        if last_sn < first_sn.previous() {
            return Err(Malformation::Range.into());
        }
        let count = cursor.i32()?;
        let group = if flags & FLAG_GROUP != 0 { Some(HeartbeatGroup::parse(cursor)?) } else { None };
        Ok(Self {
            reader_id,
            writer_id,
            first_sn,
            last_sn,
            count,
            final_flag: flags & FLAG_FINAL != 0,
            liveliness_flag: flags & FLAG_LIVELINESS != 0,
            group,
        })
    }
}

impl HeartbeatGroup {
    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let current_gsn = cursor.positive_sequence_number()?;
        let first_gsn = cursor.positive_sequence_number()?;
        let last_gsn = cursor.sequence_number()?;
        // The standard also refuses `current_gsn` above `last_gsn`, although another writer of the publisher may have
        // written last; that one is accepted.
        if last_gsn < first_gsn.previous() || current_gsn < first_gsn {
            return Err(Malformation::Range.into());
        }
        let digests = if cursor.remaining() >= DIGESTS_LEN {
            let (writer_set, secure_writer_set) = (cursor.array()?, cursor.array()?);
            Some(GroupDigests {
                writer_set: GroupDigest(writer_set),
                secure_writer_set: GroupDigest(secure_writer_set),
            })
        } else {
            None
        };
        Ok(Self { current_gsn, first_gsn, last_gsn, digests })
    }
}

impl FixedSubmessage for Heartbeat {
    const KIND: u8 = kind::HEARTBEAT;

    fn flags(&self) -> u8 {
        let mut flags = 0;
        for (set, flag) in [
            (self.final_flag, FLAG_FINAL),
            (self.liveliness_flag, FLAG_LIVELINESS),
            (self.group.is_some(), FLAG_GROUP),
        ] {
            if set {
                flags |= flag;
            }
        }
        flags
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        out.entity_id(self.reader_id);
        out.entity_id(self.writer_id);
        out.sequence_number(self.first_sn);
        out.sequence_number(self.last_sn);
        out.i32(self.count);
        if let Some(group) = &self.group {
            out.sequence_number(group.current_gsn);
            out.sequence_number(group.first_gsn);
            out.sequence_number(group.last_gsn);
            if let Some(digests) = &group.digests {
                out.bytes(&digests.writer_set.0);
                out.bytes(&digests.secure_writer_set.0);
            }
        }
    }
}
