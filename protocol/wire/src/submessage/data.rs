//! RTPS 2.5 §8.3.8.2 and §9.4.5 "Data".

use dunlin_core::{EntityId, SequenceNumber};

use super::inline_qos::{after_fixed_fields, split};
use super::{Reject, writer_to_reader};
use crate::cursor::Cursor;
use crate::{Endianness, Malformation, ParameterList};

pub(crate) mod flag {
    pub(crate) const INLINE_QOS: u8 = 0x02;
    pub(crate) const DATA: u8 = 0x04;
    pub(crate) const KEY: u8 = 0x08;
    pub(crate) const NON_STANDARD_PAYLOAD: u8 = 0x10;
}

/// Bytes up to the inline QoS.
const FIXED_LEN: usize = 20;
const ENCAPSULATION_LEN: usize = 4;

/// A change of a data object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// The reader addressed, or [`EntityId::UNKNOWN`] for all.
    pub reader_id: EntityId,
    /// The writer of the change.
    pub writer_id: EntityId,
    /// The change. At least 1.
    pub writer_sn: SequenceNumber,
    /// Parameters of this change.
    pub inline_qos: Option<ParameterList<'a>>,
    /// Value or key.
    pub payload: Payload<'a>,
    /// The payload is not a plain serialization; set by payload protection of DDS Security.
    pub non_standard_payload: bool,
}

/// Serialized payload with its encapsulation header of four bytes; up to three bytes of padding may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Payload<'a> {
    /// No payload.
    #[default]
    None,
    /// A value.
    Data(&'a [u8]),
    /// The key of an instance.
    Key(&'a [u8]),
}

impl<'a> Payload<'a> {
    /// The bytes, whether value or key; `None` when there is no payload.
    pub const fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::None => None,
            Self::Data(bytes) | Self::Key(bytes) => Some(bytes),
        }
    }
}

impl<'a> Data<'a> {
    pub(crate) fn parse(flags: u8, body: &'a [u8]) -> Result<Self, Reject> {
        let mut cursor = Cursor::new(body, Endianness::from_flags(flags));
        let tail = after_fixed_fields(&mut cursor, body, FIXED_LEN)?;
        let (reader_id, writer_id) = writer_to_reader(&mut cursor)?;
        let writer_sn = cursor.positive_sequence_number()?;
        let (inline_qos, rest) = split(tail, &cursor, flags & flag::INLINE_QOS != 0)?;
        let payload = match (flags & flag::DATA != 0, flags & flag::KEY != 0) {
            (false, false) => Payload::None,
            (true, true) => return Err(Malformation::Flags.into()),
            _ if rest.len() < ENCAPSULATION_LEN => return Err(Malformation::Payload.into()),
            (true, false) => Payload::Data(rest),
            (false, true) => Payload::Key(rest),
        };
        let non_standard_payload = flags & flag::NON_STANDARD_PAYLOAD != 0;
        Ok(Self { reader_id, writer_id, writer_sn, inline_qos, payload, non_standard_payload })
    }
}
