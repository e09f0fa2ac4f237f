//! RTPS 2.5 §8.3.8.3 and §9.4.5 "DataFrag".

use dunlin_core::{EntityId, SequenceNumber};

use super::inline_qos::{after_fixed_fields, split};
use super::{Reject, writer_to_reader};
use crate::cursor::Cursor;
use crate::{Endianness, Malformation, ParameterList};

pub(crate) mod flag {
    pub(crate) const INLINE_QOS: u8 = 0x02;
    pub(crate) const KEY: u8 = 0x04;
    pub(crate) const NON_STANDARD_PAYLOAD: u8 = 0x08;
}

/// Bytes up to the inline QoS.
const FIXED_LEN: usize = 32;
const MAX_PADDING: u64 = 3;

/// Consecutive fragments of a change.
///
/// The numbers agree with each other: fragment size and count are not zero, the fragments lie inside the sample, and
/// `payload` holds exactly their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataFrag<'a> {
    /// The reader addressed, or [`EntityId::UNKNOWN`] for all.
    pub reader_id: EntityId,
    /// The writer of the change.
    pub writer_id: EntityId,
    /// The change. At least 1.
    pub writer_sn: SequenceNumber,
    /// Number of the first fragment here; the first of a change is 1.
    pub fragment_starting_num: u32,
    /// How many fragments are here.
    pub fragments_in_submessage: u16,
    /// Bytes of each fragment but the last of the change.
    pub fragment_size: u16,
    /// Bytes of the whole serialized payload, encapsulation header included.
    pub sample_size: u32,
    /// Parameters of this change.
    pub inline_qos: Option<ParameterList<'a>>,
    /// The payload is a key.
    pub key_flag: bool,
    /// The payload is not a plain serialization; set by payload protection of DDS Security.
    pub non_standard_payload: bool,
    /// The bytes of these fragments.
    pub payload: &'a [u8],
}

impl<'a> DataFrag<'a> {
    pub(crate) fn parse(flags: u8, body: &'a [u8]) -> Result<Self, Reject> {
        let mut cursor = Cursor::new(body, Endianness::from_flags(flags));
        let tail = after_fixed_fields(&mut cursor, body, FIXED_LEN)?;
        let (reader_id, writer_id) = writer_to_reader(&mut cursor)?;
        let writer_sn = cursor.positive_sequence_number()?;
        let fragment_starting_num = cursor.u32()?;
        let fragments_in_submessage = cursor.u16()?;
        let fragment_size = cursor.u16()?;
        let sample_size = cursor.u32()?;
        let (inline_qos, rest) = split(tail, &cursor, flags & flag::INLINE_QOS != 0)?;
        let extent = extent(fragment_starting_num, fragments_in_submessage, fragment_size, sample_size)
            .ok_or(Malformation::Fragment)?;
        Ok(Self {
            reader_id,
            writer_id,
            writer_sn,
            fragment_starting_num,
            fragments_in_submessage,
            fragment_size,
            sample_size,
            inline_qos,
            key_flag: flags & flag::KEY != 0,
            non_standard_payload: flags & flag::NON_STANDARD_PAYLOAD != 0,
            payload: extent.cut(rest)?,
        })
    }

    /// How many fragments the change has.
    pub fn total_fragments(&self) -> u32 {
        self.sample_size.div_ceil(u32::from(self.fragment_size).max(1))
    }

    /// Offset of the first byte of `payload` in the whole serialized payload.
    pub fn offset(&self) -> u32 {
        self.fragment_starting_num.saturating_sub(1).saturating_mul(u32::from(self.fragment_size))
    }
}

/// How many bytes of payload the numbers of a DATA_FRAG ask for.
struct Extent {
    /// Bytes inside the sample.
    exact: u64,
    /// All fragments at full size.
    full: u64,
}

impl Extent {
    /// The bytes of the fragments at the start of `rest`. More than the fragments at full size is malformed, except
    /// for what aligns the next submessage.
    fn cut<'a>(&self, rest: &'a [u8]) -> Result<&'a [u8], Malformation> {
        let present = u64::try_from(rest.len()).unwrap_or(u64::MAX);
        if present > self.full.saturating_add(MAX_PADDING) {
            return Err(Malformation::Payload);
        }
        let exact = usize::try_from(self.exact).map_err(|_| Malformation::Payload)?;
        rest.get(..exact).ok_or(Malformation::Payload)
    }
}

/// `None` when the numbers contradict each other (§8.3.8.3.3).
fn extent(start: u32, count: u16, size: u16, sample_size: u32) -> Option<Extent> {
    let (start, count, size, sample) =
        (u64::from(start), u64::from(count), u64::from(size), u64::from(sample_size));
    if size == 0 || count == 0 || size > sample {
        return None;
    }
    let before = start.checked_sub(1)?;
    let last = before.saturating_add(count);
    // The last one begins within the sample. Dividing would cost a call on processors of 32 bits.
    if last.saturating_sub(1).saturating_mul(size) >= sample {
        return None;
    }
    let begin = before.saturating_mul(size);
    let end = last.saturating_mul(size).min(sample);
    Some(Extent { exact: end.checked_sub(begin)?, full: count.saturating_mul(size) })
}
