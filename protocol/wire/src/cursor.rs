//! RTPS 2.5 §9.3.2 "Mapping of the Types that Appear Within Submessages": reading them from bytes that may end early.

use dunlin_core::{
    EntityId, FragmentNumberSet, Guid, GuidPrefix, Locator, LocatorKind, ProtocolVersion, RtpsTime,
    SequenceNumber, SequenceNumberSet, VendorId,
};

use crate::{Endianness, Malformation};

const SET_WORDS: usize = 8;

/// Position in a run of bytes of one byte order. Every read checks the bytes left and fails with
/// [`Malformation::TooShort`], without moving, when there are too few.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    endianness: Endianness,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8], endianness: Endianness) -> Self {
        Self { rest: bytes, endianness }
    }

    pub(crate) const fn endianness(&self) -> Endianness {
        self.endianness
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) const fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformation> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(Malformation::TooShort)?;
        self.rest = tail;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformation> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Malformation::TooShort)?;
        self.rest = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformation> {
        let [value] = self.array()?;
        Ok(value)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformation> {
        let octets = self.array()?;
        Ok(match self.endianness {
            Endianness::Big => u16::from_be_bytes(octets),
            Endianness::Little => u16::from_le_bytes(octets),
        })
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformation> {
        let octets = self.array()?;
        Ok(match self.endianness {
            Endianness::Big => u32::from_be_bytes(octets),
            Endianness::Little => u32::from_le_bytes(octets),
        })
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Malformation> {
        self.u32().map(u32::cast_signed)
    }

    pub(crate) fn entity_id(&mut self) -> Result<EntityId, Malformation> {
        self.array().map(EntityId)
    }

    pub(crate) fn guid_prefix(&mut self) -> Result<GuidPrefix, Malformation> {
        self.array().map(GuidPrefix)
    }

    pub(crate) fn guid(&mut self) -> Result<Guid, Malformation> {
        self.array().map(Guid::from_bytes)
    }

    pub(crate) fn protocol_version(&mut self) -> Result<ProtocolVersion, Malformation> {
        let [major, minor] = self.array()?;
        Ok(ProtocolVersion { major, minor })
    }

    pub(crate) fn vendor_id(&mut self) -> Result<VendorId, Malformation> {
        self.array().map(VendorId)
    }

    pub(crate) fn sequence_number(&mut self) -> Result<SequenceNumber, Malformation> {
        let mut ahead = *self;
        let high = ahead.i32()?;
        let low = ahead.u32()?;
        *self = ahead;
        Ok(SequenceNumber::from_parts(high, low))
    }

    /// A sequence number that names a change: at least 1.
    pub(crate) fn positive_sequence_number(&mut self) -> Result<SequenceNumber, Malformation> {
        let number = self.sequence_number()?;
        if number < SequenceNumber::FIRST { Err(Malformation::SequenceNumber) } else { Ok(number) }
    }

    pub(crate) fn time(&mut self) -> Result<RtpsTime, Malformation> {
        let mut ahead = *self;
        let seconds = ahead.u32()?;
        let fraction = ahead.u32()?;
        *self = ahead;
        Ok(RtpsTime { seconds, fraction })
    }

    pub(crate) fn locator(&mut self) -> Result<Locator, Malformation> {
        let mut ahead = *self;
        let kind = LocatorKind(ahead.i32()?);
        let port = ahead.u32()?;
        let address = ahead.array()?;
        *self = ahead;
        Ok(Locator { kind, port, address })
    }

    /// RTPS 2.5 §9.4.2.6; the base may be any number, bits beyond `numBits` are ignored.
    pub(crate) fn sequence_number_set(&mut self) -> Result<SequenceNumberSet, Malformation> {
        let base = self.sequence_number()?;
        let (num_bits, words) = self.bitmap()?;
        SequenceNumberSet::from_parts(base, num_bits, &words).ok_or(Malformation::NumberSet)
    }

    /// RTPS 2.5 §9.4.2.8; bits beyond `numBits` are ignored.
    pub(crate) fn fragment_number_set(&mut self) -> Result<FragmentNumberSet, Malformation> {
        let base = self.u32()?;
        let (num_bits, words) = self.bitmap()?;
        FragmentNumberSet::from_parts(base, num_bits, &words).ok_or(Malformation::NumberSet)
    }

    /// `numBits` as announced, and the words of at most 256 of them.
    fn bitmap(&mut self) -> Result<(u32, [u32; SET_WORDS]), Malformation> {
        let num_bits = self.u32()?;
        let mut words = [0; SET_WORDS];
        let mut left = num_bits;
        for word in &mut words {
            if left == 0 {
                break;
            }
            // A shift by 32 keeps the whole word, hence the checked form.
            let beyond = u32::MAX.checked_shr(left).unwrap_or(0);
            *word = self.u32()? & !beyond;
            left = left.saturating_sub(32);
        }
        Ok((num_bits, words))
    }
}
