//! RTPS 2.5 §9.4.2.11 "ParameterList": writing a list.

use alloc::vec::Vec;

use dunlin_core::{Duration, EntityId, Guid, Locator, ProtocolVersion, SequenceNumber, StatusInfo, VendorId};

use super::{ParamWriter, pid};
use crate::Endianness;
use crate::encoder::Encoder;

const ALIGNMENT: usize = 4;
const PARAMETER_HEADER_LEN: usize = 4;

/// Builds a parameter list.
///
/// Every `put` method returns whether the parameter was added: a value of more than 65 532 bytes cannot be a parameter
/// and leaves the list as it was.
#[derive(Debug, Clone, Default)]
pub struct ParameterListBuilder {
    bytes: Vec<u8>,
    endianness: Endianness,
}

impl ParameterListBuilder {
    /// An empty little-endian list.
    pub const fn new() -> Self {
        Self::with_endianness(Endianness::Little)
    }

    /// An empty list.
    pub const fn with_endianness(endianness: Endianness) -> Self {
        Self { bytes: Vec::new(), endianness }
    }

    /// An empty list behind an encapsulation header PL_CDR_BE or PL_CDR_LE (§10.2), as discovery sends it.
    pub fn payload(endianness: Endianness) -> Self {
        let mut builder = Self::with_endianness(endianness);
        builder.bytes.extend_from_slice(&[0, 0x02 | endianness.flag(), 0, 0]);
        builder
    }

    /// Adds a parameter whose value `write` produces; it is padded to a multiple of four bytes.
    pub fn put_with(&mut self, pid: u16, write: impl FnOnce(&mut ParamWriter<'_>)) -> bool {
        let start = self.bytes.len();
        let mut header = Encoder::new(&mut self.bytes, self.endianness);
        header.u16(pid);
        header.u16(0);
        let mut value = ParamWriter::new(&mut self.bytes, self.endianness);
        write(&mut value);
        value.align(ALIGNMENT);
        let length = u16::try_from(value.len());
        let written = length.is_ok_and(|length| self.patch_length(start, length));
        if !written {
            self.bytes.truncate(start);
        }
        written
    }

    fn patch_length(&mut self, start: usize, length: u16) -> bool {
        let octets = match self.endianness {
            Endianness::Big => length.to_be_bytes(),
            Endianness::Little => length.to_le_bytes(),
        };
        let end = start.saturating_add(PARAMETER_HEADER_LEN);
        let field = self.bytes.get_mut(start..end).and_then(|header| header.last_chunk_mut());
        field.map(|field| *field = octets).is_some()
    }

    /// Adds a parameter with this value, padded with zeros.
    pub fn put_bytes(&mut self, pid: u16, value: &[u8]) -> bool {
        self.put_with(pid, |out| out.bytes(value))
    }

    /// Adds an unsigned integer.
    pub fn put_u32(&mut self, pid: u16, value: u32) -> bool {
        self.put_with(pid, |out| out.u32(value))
    }

    /// Adds a signed integer.
    pub fn put_i32(&mut self, pid: u16, value: i32) -> bool {
        self.put_with(pid, |out| out.i32(value))
    }

    /// Adds a boolean.
    pub fn put_bool(&mut self, pid: u16, value: bool) -> bool {
        self.put_with(pid, |out| out.bool(value))
    }

    /// Adds a `GUID_t`.
    pub fn put_guid(&mut self, pid: u16, guid: Guid) -> bool {
        self.put_with(pid, |out| out.guid(guid))
    }

    /// Adds an `EntityId_t`.
    pub fn put_entity_id(&mut self, pid: u16, id: EntityId) -> bool {
        self.put_with(pid, |out| out.entity_id(id))
    }

    /// Adds a string.
    pub fn put_string(&mut self, pid: u16, text: &str) -> bool {
        self.put_with(pid, |out| out.string(text))
    }

    /// Adds a sequence of strings.
    pub fn put_strings<'t>(&mut self, pid: u16, strings: impl ExactSizeIterator<Item = &'t str>) -> bool {
        self.put_with(pid, |out| out.strings(strings))
    }

    /// Adds a sequence of bytes.
    pub fn put_octets(&mut self, pid: u16, octets: &[u8]) -> bool {
        self.put_with(pid, |out| out.octets(octets))
    }

    /// Adds a `Locator_t`.
    pub fn put_locator(&mut self, pid: u16, locator: &Locator) -> bool {
        self.put_with(pid, |out| out.locator(locator))
    }

    /// Adds a `Duration_t`.
    pub fn put_duration(&mut self, pid: u16, duration: Duration) -> bool {
        self.put_with(pid, |out| out.duration(duration))
    }

    /// Adds a `SequenceNumber_t`.
    pub fn put_sequence_number(&mut self, pid: u16, number: SequenceNumber) -> bool {
        self.put_with(pid, |out| out.sequence_number(number))
    }

    /// Adds a `ProtocolVersion_t`.
    pub fn put_protocol_version(&mut self, version: ProtocolVersion) -> bool {
        self.put_with(pid::PROTOCOL_VERSION, |out| out.protocol_version(version))
    }

    /// Adds a `VendorId_t`.
    pub fn put_vendor_id(&mut self, vendor: VendorId) -> bool {
        self.put_with(pid::VENDORID, |out| out.vendor_id(vendor))
    }

    /// Adds a key hash.
    pub fn put_key_hash(&mut self, hash: &[u8; 16]) -> bool {
        self.put_bytes(pid::KEY_HASH, hash)
    }

    /// Adds a status; its bytes do not depend on the byte order.
    pub fn put_status_info(&mut self, status: StatusInfo) -> bool {
        self.put_bytes(pid::STATUS_INFO, &status.0.to_be_bytes())
    }

    /// Adds all parameters of a ready-made list without sentinel, in the byte order of this builder.
    pub fn put_list(&mut self, parameters: &[u8]) {
        self.bytes.extend_from_slice(parameters);
    }

    /// The bytes so far, without sentinel.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The list with its sentinel.
    pub fn finish(mut self) -> Vec<u8> {
        let mut out = Encoder::new(&mut self.bytes, self.endianness);
        out.u16(pid::SENTINEL);
        out.u16(0);
        self.bytes
    }

    /// The list without sentinel, to be joined with others.
    pub fn finish_without_sentinel(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
