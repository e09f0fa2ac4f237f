//! RTPS 2.5 §9.4.2.11.2 and §9.6.3 "ParameterValue": reading the values of parameters, which are CDR aligned from their
//! own start.

use dunlin_core::{Duration, EntityId, Guid, Locator, ProtocolVersion, RtpsTime, SequenceNumber, VendorId};

use crate::cursor::Cursor;
use crate::{Endianness, Malformation, WireError};

/// Reads the fields of one parameter value in order. Bytes after the last field read are ignored.
///
/// Every method fails with [`WireError::ParameterList`] when the value ends too early or is not one of its type.
#[derive(Debug, Clone, Copy)]
pub struct ParamReader<'a> {
    cursor: Cursor<'a>,
    len: usize,
}

type Read<T> = Result<T, WireError>;

fn short(_: Malformation) -> WireError {
    invalid()
}

const fn invalid() -> WireError {
    WireError::ParameterList(Malformation::ParameterValue)
}

impl<'a> ParamReader<'a> {
    /// Starts at the first byte of `value`.
    pub const fn new(value: &'a [u8], endianness: Endianness) -> Self {
        Self { cursor: Cursor::new(value, endianness), len: value.len() }
    }

    /// Bytes not read yet.
    pub const fn remaining(&self) -> usize {
        self.cursor.remaining()
    }

    fn align(&mut self, alignment: usize) -> Read<()> {
        let position = self.len.saturating_sub(self.cursor.remaining());
        let padding = position.next_multiple_of(alignment).saturating_sub(position);
        self.cursor.take(padding).map(|_| ()).map_err(short)
    }

    /// A byte.
    pub fn u8(&mut self) -> Read<u8> {
        self.cursor.u8().map_err(short)
    }

    /// A boolean; every byte but zero is true.
    pub fn bool(&mut self) -> Read<bool> {
        self.u8().map(|octet| octet != 0)
    }

    /// An unsigned integer of 16 bits.
    pub fn u16(&mut self) -> Read<u16> {
        self.align(2)?;
        self.cursor.u16().map_err(short)
    }

    /// A signed integer of 16 bits.
    pub fn i16(&mut self) -> Read<i16> {
        self.u16().map(u16::cast_signed)
    }

    /// An unsigned integer of 32 bits.
    pub fn u32(&mut self) -> Read<u32> {
        self.align(4)?;
        self.cursor.u32().map_err(short)
    }

    /// A signed integer of 32 bits.
    pub fn i32(&mut self) -> Read<i32> {
        self.u32().map(u32::cast_signed)
    }

    /// `N` bytes as they are.
    pub fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        self.cursor.array().map_err(short)
    }

    /// All bytes not read yet.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.cursor.rest();
        self.cursor = Cursor::new(&[], self.cursor.endianness());
        rest
    }

    /// `GUID_t`.
    pub fn guid(&mut self) -> Read<Guid> {
        self.cursor.guid().map_err(short)
    }

    /// `EntityId_t`.
    pub fn entity_id(&mut self) -> Read<EntityId> {
        self.cursor.entity_id().map_err(short)
    }

    /// `ProtocolVersion_t`.
    pub fn protocol_version(&mut self) -> Read<ProtocolVersion> {
        self.cursor.protocol_version().map_err(short)
    }

    /// `VendorId_t`.
    pub fn vendor_id(&mut self) -> Read<VendorId> {
        self.cursor.vendor_id().map_err(short)
    }

    /// `SequenceNumber_t`.
    pub fn sequence_number(&mut self) -> Read<SequenceNumber> {
        self.align(4)?;
        self.cursor.sequence_number().map_err(short)
    }

    /// `Locator_t`.
    pub fn locator(&mut self) -> Read<Locator> {
        self.align(4)?;
        self.cursor.locator().map_err(short)
    }

    /// `Duration_t` or `Time_t` as it stands on the wire.
    pub fn time(&mut self) -> Read<RtpsTime> {
        self.align(4)?;
        self.cursor.time().map_err(short)
    }

    /// `Duration_t`.
    pub fn duration(&mut self) -> Read<Duration> {
        self.time().map(RtpsTime::to_duration)
    }

    /// `Duration_t` of a sender that writes nanoseconds in the place of the fraction, as OpenDDS does inside QoS.
    pub fn duration_of_nanos(&mut self) -> Read<Duration> {
        self.time().map(RtpsTime::to_duration_of_nanos)
    }

    /// A string; what follows a NUL inside it is dropped, a missing NUL at its end is tolerated.
    pub fn string(&mut self) -> Read<&'a str> {
        let octets = self.octets()?;
        let text = octets.split(|octet| *octet == 0).next().unwrap_or(octets);
        core::str::from_utf8(text).map_err(|_| invalid())
    }

    /// A sequence of bytes.
    pub fn octets(&mut self) -> Read<&'a [u8]> {
        let length = usize::try_from(self.u32()?).map_err(|_| invalid())?;
        self.cursor.take(length).map_err(short)
    }

    /// The element count of a sequence whose elements take at least `element_len` bytes each.
    pub fn count(&mut self, element_len: usize) -> Read<usize> {
        let count = usize::try_from(self.u32()?).map_err(|_| invalid())?;
        let octets = count.checked_mul(element_len).ok_or_else(invalid)?;
        if octets > self.remaining() { Err(invalid()) } else { Ok(count) }
    }

    /// A sequence of strings. All of them are checked before the first is yielded.
    pub fn strings(&mut self) -> Read<Strings<'a>> {
        // The shortest string is a length; its alignment adds no bytes in front of it.
        let count = self.count(4)?;
        let strings = Strings { reader: *self, left: count };
        for _ in 0..count {
            self.string()?;
        }
        Ok(strings)
    }
}

/// Iterator over a sequence of strings.
#[derive(Debug, Clone)]
pub struct Strings<'a> {
    reader: ParamReader<'a>,
    left: usize,
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.left = self.left.checked_sub(1)?;
        self.reader.string().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Strings<'_> {}

macro_rules! single_value {
    ($($(#[$doc:meta])* $name:ident => $method:ident -> $type:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Errors
            /// [`WireError::ParameterList`] when `value` is too short or not of that type.
            pub fn $name(value: &[u8], endianness: Endianness) -> Read<$type> {
                ParamReader::new(value, endianness).$method()
            }
        )*
    };
}

single_value! {
    /// The value as an unsigned integer.
    as_u32 => u32 -> u32;
    /// The value as a signed integer.
    as_i32 => i32 -> i32;
    /// The value as a boolean.
    as_bool => bool -> bool;
    /// The value as a `GUID_t`.
    as_guid => guid -> Guid;
    /// The value as an `EntityId_t`.
    as_entity_id => entity_id -> EntityId;
    /// The value as a `ProtocolVersion_t`.
    as_protocol_version => protocol_version -> ProtocolVersion;
    /// The value as a `VendorId_t`.
    as_vendor_id => vendor_id -> VendorId;
    /// The value as a `SequenceNumber_t`.
    as_sequence_number => sequence_number -> SequenceNumber;
    /// The value as a `Locator_t`.
    as_locator => locator -> Locator;
    /// The value as a `Duration_t`.
    as_duration => duration -> Duration;
    /// The value as a `Duration_t` whose fraction is nanoseconds, see [`ParamReader::duration_of_nanos`].
    as_duration_of_nanos => duration_of_nanos -> Duration;
    /// The value as a string.
    as_str => string -> &str;
    /// The value as a sequence of bytes.
    as_octets => octets -> &[u8];
    /// The value as a sequence of strings.
    as_strings => strings -> Strings<'_>;
}

#[cfg(test)]
mod tests;
