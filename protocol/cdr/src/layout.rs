//! The vocabulary of the encoding rules (DDS-XTypes 1.3 §7.4.3): encoding version, byte order, extensibility,
//! element kinds, and the limits and options of decoding.

use core::fmt;

use dunlin_core::{Behaviour, VendorId};

/// Encoding version of the extended CDR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Representation {
    /// Encoding version 1 (classic CDR, alignment up to 8).
    Xcdr1,
    /// Encoding version 2 (alignment up to 4, delimiter headers).
    Xcdr2,
}

impl Representation {
    /// The greatest alignment of this encoding version.
    #[must_use]
    pub const fn max_alignment(self) -> usize {
        match self {
            Self::Xcdr1 => 8,
            Self::Xcdr2 => 4,
        }
    }
}

/// How a type may evolve (DDS-XTypes 1.3 §7.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Extensibility {
    /// Members are fixed.
    Final,
    /// Members may be appended.
    Appendable,
    /// Members may be added, removed and reordered; each carries its id.
    Mutable,
}

impl fmt::Display for Extensibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Final => "final",
            Self::Appendable => "appendable",
            Self::Mutable => "mutable",
        })
    }
}

/// Byte order of a serialized value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endianness {
    /// Most significant octet first.
    Big,
    /// Least significant octet first.
    Little,
}

/// Which part of a value is serialized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The whole value.
    Sample,
    /// The key members in declaration order, with the extensibility of their types: the serialized key of a
    /// DATA submessage (RTPS 2.5 §9.4.5.3, flag K).
    Key,
    /// The key members in the order of their ids, every type treated as final: input of the key hash
    /// (RTPS 2.5 §9.6.4.8).
    KeyHash,
}

/// How a collection treats its elements: XCDR2 puts a delimiter header (DHEADER) before collections of
/// anything but primitives (DDS-XTypes 1.3 §7.4.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ElementKind {
    /// Numbers, booleans, characters, bytes.
    Primitive,
    /// Enumerations, bitmasks and bitsets: not primitive by the rules, but to some vendors.
    EnumLike,
    /// Everything else.
    Compound,
}

/// How the size of a member of a mutable type is announced in XCDR2 (the LC field of EMHEADER1,
/// DDS-XTypes 1.3 §7.4.3.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LengthCode {
    /// Exactly one byte.
    One,
    /// Exactly two bytes.
    Two,
    /// Exactly four bytes.
    Four,
    /// Exactly eight bytes.
    Eight,
    /// A separate NEXTINT holds the size. Always correct.
    NextInt,
    /// The member starts with a `u32` that counts the bytes after it.
    Octets,
    /// The member starts with a `u32` that counts units of four bytes.
    Words,
    /// The member starts with a `u32` that counts units of eight bytes.
    DoubleWords,
}

impl LengthCode {
    /// The value of the LC field.
    #[must_use]
    pub const fn code(self) -> u32 {
        match self {
            Self::One => 0,
            Self::Two => 1,
            Self::Four => 2,
            Self::Eight => 3,
            Self::NextInt => 4,
            Self::Octets => 5,
            Self::Words => 6,
            Self::DoubleWords => 7,
        }
    }

    /// The code of a primitive of `size` bytes.
    #[must_use]
    pub const fn of_primitive(size: usize) -> Self {
        match size {
            1 => Self::One,
            2 => Self::Two,
            4 => Self::Four,
            8 => Self::Eight,
            _ => Self::NextInt,
        }
    }

    /// The code of a sequence whose elements are of this kind and have this code themselves.
    #[must_use]
    pub const fn of_sequence(kind: ElementKind, element: Self) -> Self {
        match (kind, element) {
            (ElementKind::Primitive, Self::One) => Self::Octets,
            (ElementKind::Primitive, Self::Four) => Self::Words,
            (ElementKind::Primitive, Self::Eight) => Self::DoubleWords,
            (ElementKind::Primitive, _) => Self::NextInt,
            _ => Self::Octets,
        }
    }
}

/// Bounds of what decoding may cost, whatever the peer sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of heap memory that the decoded value may occupy (borrowed parts are free).
    pub max_bytes: usize,
    /// Elements that one sequence or map may have.
    pub max_sequence_len: usize,
    /// Nesting of structures and unions, the outermost included.
    pub max_depth: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_bytes: 256 << 20, max_sequence_len: 64 << 20, max_depth: MAX_DEPTH }
    }
}

/// The default nesting limit, and the one that encoding keeps to.
pub(crate) const MAX_DEPTH: u16 = 64;

/// Deviations of other vendors that cannot be recognized from the bytes: set from the vendor id of the writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeOptions {
    /// The length of a wide string counts UTF-16 units, not bytes.
    pub wstring_length_in_units: bool,
    /// XCDR2 sequences and arrays of enumerations, bitmasks and bitsets have no DHEADER.
    pub no_dheader_for_enum_elements: bool,
    /// Whether an XCDR2 map has a DHEADER depends on its value type alone.
    pub map_dheader_by_value: bool,
}

impl DecodeOptions {
    /// The options for samples that an implementation of this vendor serialized.
    #[must_use]
    pub fn for_vendor(vendor: VendorId) -> Self {
        Self {
            wstring_length_in_units: vendor.does(Behaviour::CountsUnitsOfWideStrings),
            no_dheader_for_enum_elements: vendor.does(Behaviour::OmitsDheaderOfEnums),
            map_dheader_by_value: vendor.does(Behaviour::DecidesDheaderOfMapsByValue),
        }
    }
}
