//! ParticipantMessageData: RTPS 2.5 §8.4.13.5 and §9.6.3.1, an assertion of liveliness by a participant.

use alloc::vec::Vec;

use dunlin_core::GuidPrefix;
use dunlin_qos::LivelinessKind;
use dunlin_wire::{Endianness, ParamReader};

use super::values::DecodeError;

/// CDR_BE and CDR_LE, then the same for the plain encoding of XCDR version 2, which is equal for this type.
const ENCAPSULATIONS: [([u8; 2], Endianness); 4] = [
    ([0, 0], Endianness::Big),
    ([0, 1], Endianness::Little),
    ([0, 6], Endianness::Big),
    ([0, 7], Endianness::Little),
];

/// Which writers an assertion concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AssertedKind {
    /// All AUTOMATIC or all MANUAL_BY_PARTICIPANT ones.
    Standard(LivelinessKind),
    /// A message of another purpose, such as one of a vendor's own.
    Other,
}

/// One message; its data octets carry nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LivelinessMessage {
    /// The participant that asserts.
    pub(crate) prefix: GuidPrefix,
    /// What it asserts.
    pub(crate) kind: AssertedKind,
}

const AUTOMATIC: [u8; 4] = [0, 0, 0, 1];
const MANUAL_BY_PARTICIPANT: [u8; 4] = [0, 0, 0, 2];

impl LivelinessMessage {
    pub(crate) fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let (header, body) = payload.split_first_chunk::<4>().ok_or(DecodeError::Malformed)?;
        let [a, b, _, _] = *header;
        let found = ENCAPSULATIONS.iter().find(|(id, _)| *id == [a, b]);
        let (_, endianness) = found.ok_or(DecodeError::Malformed)?;
        let mut reader = ParamReader::new(body, *endianness);
        let prefix = GuidPrefix(reader.array()?);
        let kind = match reader.array()? {
            AUTOMATIC => AssertedKind::Standard(LivelinessKind::Automatic),
            MANUAL_BY_PARTICIPANT => AssertedKind::Standard(LivelinessKind::ManualByParticipant),
            _ => AssertedKind::Other,
        };
        reader.octets()?;
        Ok(Self { prefix, kind })
    }

    /// The sixteen octets of prefix and kind: the instance, and its key hash.
    pub(crate) fn key(prefix: GuidPrefix, kind: LivelinessKind) -> [u8; 16] {
        let mut key = [0; 16];
        let (head, tail) = key.split_at_mut(12);
        head.copy_from_slice(&prefix.0);
        tail.copy_from_slice(if kind == LivelinessKind::Automatic {
            &AUTOMATIC
        } else {
            &MANUAL_BY_PARTICIPANT
        });
        key
    }

    /// The little-endian payload of an assertion, with encapsulation header and no data.
    pub(crate) fn encode(prefix: GuidPrefix, kind: LivelinessKind) -> Vec<u8> {
        let mut payload = Vec::with_capacity(24);
        payload.extend_from_slice(&[0, 1, 0, 0]);
        payload.extend_from_slice(&Self::key(prefix, kind));
        payload.extend_from_slice(&0_u32.to_le_bytes());
        payload
    }
}
