//! RTPS 2.5 §9.3.2 "Mapping of the Types that Appear Within Submessages": writing them.

use alloc::vec::Vec;

use dunlin_core::{
    EntityId, FragmentNumberSet, Guid, GuidPrefix, Locator, ProtocolVersion, RtpsTime, SequenceNumber,
    SequenceNumberSet, VendorId,
};

use crate::Endianness;

/// Where encoded bytes go.
pub(crate) trait Sink {
    fn append(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Room for the longest submessage of fixed layout, a GAP of 88 bytes, so that building one needs no heap.
pub(crate) const BLOCK_CAPACITY: usize = 96;

const HEADER: usize = crate::size::SUBMESSAGE_HEADER;

/// A submessage of fixed layout under construction, on the stack.
#[derive(Debug)]
pub(crate) struct Block {
    octets: [u8; BLOCK_CAPACITY],
    len: usize,
}

impl Block {
    pub(crate) const fn new() -> Self {
        Self { octets: [0; BLOCK_CAPACITY], len: 0 }
    }

    /// A block that begins with the header of the submessage, to be [set](Self::set_header).
    pub(crate) const fn with_header() -> Self {
        Self { len: HEADER, ..Self::new() }
    }

    pub(crate) fn set_header(&mut self, kind: u8, flags: u8, stated: u16, endianness: Endianness) {
        let [first, second] = match endianness {
            Endianness::Big => stated.to_be_bytes(),
            Endianness::Little => stated.to_le_bytes(),
        };
        if let Some(header) = self.octets.first_chunk_mut() {
            *header = [kind, flags | endianness.flag(), first, second];
        }
    }

    /// Bytes behind the header.
    pub(crate) const fn body_len(&self) -> usize {
        self.len.saturating_sub(HEADER)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or(&self.octets)
    }
}

impl Sink for Block {
    fn append(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        debug_assert!(end <= BLOCK_CAPACITY, "a submessage of fixed layout is longer than a block");
        if let Some(slot) = self.octets.get_mut(self.len..end) {
            slot.copy_from_slice(bytes);
            self.len = end;
        }
    }
}

/// Appends values in one byte order.
#[derive(Debug)]
pub(crate) struct Encoder<'v, S> {
    out: &'v mut S,
    endianness: Endianness,
}

impl<'v, S: Sink> Encoder<'v, S> {
    pub(crate) fn new(out: &'v mut S, endianness: Endianness) -> Self {
        Self { out, endianness }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out.append(bytes);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&match self.endianness {
            Endianness::Big => value.to_be_bytes(),
            Endianness::Little => value.to_le_bytes(),
        });
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&match self.endianness {
            Endianness::Big => value.to_be_bytes(),
            Endianness::Little => value.to_le_bytes(),
        });
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.u32(value.cast_unsigned());
    }

    pub(crate) fn entity_id(&mut self, id: EntityId) {
        self.bytes(&id.0);
    }

    pub(crate) fn guid_prefix(&mut self, prefix: GuidPrefix) {
        self.bytes(&prefix.0);
    }

    pub(crate) fn guid(&mut self, guid: Guid) {
        self.bytes(&guid.to_bytes());
    }

    pub(crate) fn protocol_version(&mut self, version: ProtocolVersion) {
        self.bytes(&[version.major, version.minor]);
    }

    pub(crate) fn vendor_id(&mut self, vendor: VendorId) {
        self.bytes(&vendor.0);
    }

    pub(crate) fn sequence_number(&mut self, number: SequenceNumber) {
        self.i32(number.high());
        self.u32(number.low());
    }

    pub(crate) fn time(&mut self, time: RtpsTime) {
        self.u32(time.seconds);
        self.u32(time.fraction);
    }

    pub(crate) fn locator(&mut self, locator: &Locator) {
        self.i32(locator.kind.0);
        self.u32(locator.port);
        self.bytes(&locator.address);
    }

    pub(crate) fn sequence_number_set(&mut self, set: &SequenceNumberSet) {
        self.sequence_number(set.base());
        self.u32(set.num_bits());
        set.words().iter().for_each(|word| self.u32(*word));
    }

    pub(crate) fn fragment_number_set(&mut self, set: &FragmentNumberSet) {
        self.u32(set.base());
        self.u32(set.num_bits());
        set.words().iter().for_each(|word| self.u32(*word));
    }
}
