//! The encapsulation header before every serialized payload (RTPS 2.5 §10.2, DDS-XTypes 1.3 §7.6.3.1.2).

use crate::{CdrError, Endianness, Extensibility, Representation};

/// Representation identifiers. For XCDR2 these are the values of DDS-XTypes 1.3 Table 60, which all
/// implementations use, not those of RTPS 2.5 Table 10.3.
#[allow(missing_docs)]
pub mod representation_id {
    pub const CDR_BE: u16 = 0x0000;
    pub const CDR_LE: u16 = 0x0001;
    pub const PL_CDR_BE: u16 = 0x0002;
    pub const PL_CDR_LE: u16 = 0x0003;
    pub const XML: u16 = 0x0004;
    pub const CDR2_BE: u16 = 0x0006;
    pub const CDR2_LE: u16 = 0x0007;
    pub const D_CDR2_BE: u16 = 0x0008;
    pub const D_CDR2_LE: u16 = 0x0009;
    pub const PL_CDR2_BE: u16 = 0x000a;
    pub const PL_CDR2_LE: u16 = 0x000b;
}

/// The four bytes before a serialized payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncapsulationHeader {
    /// One of [`representation_id`].
    pub id: u16,
    /// Representation options; the low two bits count the padding bytes after the data.
    pub options: u16,
}

impl EncapsulationHeader {
    /// Bytes of the header.
    pub const SIZE: usize = 4;

    /// The header (options 0) of a payload whose outermost type has this extensibility.
    #[must_use]
    pub const fn new(rep: Representation, ext: Extensibility, endianness: Endianness) -> Self {
        use representation_id as id;
        let big = match (rep, ext) {
            (Representation::Xcdr1, Extensibility::Final | Extensibility::Appendable) => id::CDR_BE,
            (Representation::Xcdr1, Extensibility::Mutable) => id::PL_CDR_BE,
            (Representation::Xcdr2, Extensibility::Final) => id::CDR2_BE,
            (Representation::Xcdr2, Extensibility::Appendable) => id::D_CDR2_BE,
            (Representation::Xcdr2, Extensibility::Mutable) => id::PL_CDR2_BE,
        };
        // Odd identifiers are the little-endian forms.
        let id = match endianness {
            Endianness::Big => big,
            Endianness::Little => big | 1,
        };
        Self { id, options: 0 }
    }

    /// Splits a payload into header and data.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`] if there are fewer than four bytes.
    pub fn parse(payload: &[u8]) -> Result<(Self, &[u8]), CdrError> {
        let Some((head, rest)) = payload.split_first_chunk::<4>() else {
            return Err(CdrError::UnexpectedEnd { offset: 0, needed: Self::SIZE });
        };
        let [i0, i1, o0, o1] = *head;
        Ok((Self { id: u16::from_be_bytes([i0, i1]), options: u16::from_be_bytes([o0, o1]) }, rest))
    }

    /// The four bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 4] {
        let ([i0, i1], [o0, o1]) = (self.id.to_be_bytes(), self.options.to_be_bytes());
        [i0, i1, o0, o1]
    }

    /// Byte order of the data.
    #[must_use]
    pub const fn endianness(self) -> Endianness {
        if self.id & 1 == 1 { Endianness::Little } else { Endianness::Big }
    }

    /// Encoding version and extensibility of the outermost type.
    ///
    /// # Errors
    /// [`CdrError::UnsupportedEncapsulation`] for XML, reserved and vendor-specific identifiers.
    pub const fn form(self) -> Result<(Representation, Extensibility), CdrError> {
        use representation_id as id;
        Ok(match self.id & !1 {
            // Appendable types have this form too in encoding version 1.
            id::CDR_BE => (Representation::Xcdr1, Extensibility::Final),
            id::PL_CDR_BE => (Representation::Xcdr1, Extensibility::Mutable),
            id::CDR2_BE => (Representation::Xcdr2, Extensibility::Final),
            id::D_CDR2_BE => (Representation::Xcdr2, Extensibility::Appendable),
            id::PL_CDR2_BE => (Representation::Xcdr2, Extensibility::Mutable),
            _ => return Err(CdrError::UnsupportedEncapsulation(self.id)),
        })
    }

    /// Number of padding bytes after the data.
    #[must_use]
    pub const fn padding(self) -> usize {
        (self.options & 3) as usize
    }
}
