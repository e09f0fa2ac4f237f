//! RTPS 2.5 §9.4.2.11.2 and §9.6.3 "ParameterValue": writing the values of parameters, CDR aligned from their own start.

use alloc::vec::Vec;

use dunlin_core::{Duration, EntityId, Guid, Locator, ProtocolVersion, RtpsTime, SequenceNumber, VendorId};

use crate::Endianness;
use crate::encoder::Encoder;

/// Writes the fields of one parameter value in order.
#[derive(Debug)]
pub struct ParamWriter<'v> {
    out: &'v mut Vec<u8>,
    start: usize,
    endianness: Endianness,
}

impl<'v> ParamWriter<'v> {
    pub(super) fn new(out: &'v mut Vec<u8>, endianness: Endianness) -> Self {
        let start = out.len();
        Self { out, start, endianness }
    }

    fn encoder(&mut self) -> Encoder<'_, Vec<u8>> {
        Encoder::new(self.out, self.endianness)
    }

    /// Bytes written so far.
    pub fn len(&self) -> usize {
        self.out.len().saturating_sub(self.start)
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds zeros up to a multiple of `alignment` bytes from the start of the value.
    pub fn align(&mut self, alignment: usize) {
        let len = self.len();
        let padding = len.next_multiple_of(alignment.max(1)).saturating_sub(len);
        self.out.resize(self.out.len().saturating_add(padding), 0);
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// A byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    /// A boolean.
    pub fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    /// An unsigned integer of 16 bits.
    pub fn u16(&mut self, value: u16) {
        self.align(2);
        self.encoder().u16(value);
    }

    /// A signed integer of 16 bits.
    pub fn i16(&mut self, value: i16) {
        self.u16(value.cast_unsigned());
    }

    /// An unsigned integer of 32 bits.
    pub fn u32(&mut self, value: u32) {
        self.align(4);
        self.encoder().u32(value);
    }

    /// A signed integer of 32 bits.
    pub fn i32(&mut self, value: i32) {
        self.u32(value.cast_unsigned());
    }

    /// `GUID_t`.
    pub fn guid(&mut self, guid: Guid) {
        self.encoder().guid(guid);
    }

    /// `EntityId_t`.
    pub fn entity_id(&mut self, id: EntityId) {
        self.encoder().entity_id(id);
    }

    /// `ProtocolVersion_t`.
    pub fn protocol_version(&mut self, version: ProtocolVersion) {
        self.encoder().protocol_version(version);
    }

    /// `VendorId_t`.
    pub fn vendor_id(&mut self, vendor: VendorId) {
        self.encoder().vendor_id(vendor);
    }

    /// `SequenceNumber_t`.
    pub fn sequence_number(&mut self, number: SequenceNumber) {
        self.align(4);
        self.encoder().sequence_number(number);
    }

    /// `Locator_t`.
    pub fn locator(&mut self, locator: &Locator) {
        self.align(4);
        self.encoder().locator(locator);
    }

    /// `Duration_t`.
    pub fn duration(&mut self, duration: Duration) {
        self.align(4);
        self.encoder().time(RtpsTime::from_duration(duration));
    }

    /// A string with its length and NUL.
    pub fn string(&mut self, text: &str) {
        self.length(text.len().saturating_add(1));
        self.bytes(text.as_bytes());
        self.u8(0);
    }

    /// A sequence of bytes.
    pub fn octets(&mut self, octets: &[u8]) {
        self.length(octets.len());
        self.bytes(octets);
    }

    /// A sequence of strings.
    pub fn strings<'t>(&mut self, strings: impl ExactSizeIterator<Item = &'t str>) {
        self.length(strings.len());
        strings.for_each(|text| self.string(text));
    }

    /// The length of a sequence. One above 32 bits cannot belong to a parameter, whose builder then refuses it.
    pub fn length(&mut self, length: usize) {
        self.u32(u32::try_from(length).unwrap_or(u32::MAX));
    }
}
