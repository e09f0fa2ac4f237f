//! What can go wrong while serializing or deserializing (DDS-XTypes 1.3 §7.4, RTPS 2.5 §10).

use core::fmt;

use crate::Extensibility;

/// Which limit of [`crate::Limits`] was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// [`crate::Limits::max_bytes`]: memory that the decoded value would occupy on the heap.
    Bytes,
    /// [`crate::Limits::max_sequence_len`]: elements of one collection.
    SequenceLength,
    /// [`crate::Limits::max_depth`]: nesting of structures and unions.
    Depth,
}

/// Why a value could not be serialized or deserialized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CdrError {
    /// The bytes end before the value does.
    UnexpectedEnd {
        /// Position, counted from the octet after the encapsulation header, where bytes were wanted.
        offset: usize,
        /// How many bytes were wanted there.
        needed: usize,
    },
    /// A boolean is neither 0 nor 1.
    InvalidBool {
        /// The octet found.
        value: u8,
    },
    /// A string lacks its final NUL, is not UTF-8, or a wide string has half a unit.
    InvalidString {
        /// Position of the first byte after the string.
        offset: usize,
    },
    /// Decoding would exceed one of the [`crate::Limits`], or encoding the depth every reader accepts.
    LimitExceeded {
        /// The limit reached.
        limit: LimitKind,
    },
    /// An enumeration has no literal of this value.
    UnknownEnumValue {
        /// Name of the enumeration.
        type_name: &'static str,
        /// The value received.
        value: i32,
    },
    /// No case of a union without default selects this discriminator.
    UnknownDiscriminator {
        /// Name of the union.
        type_name: &'static str,
    },
    /// A union variant holds a discriminator that selects another case (on encoding).
    InvalidDiscriminator {
        /// Name of the union.
        type_name: &'static str,
    },
    /// A string or collection is longer than its bound.
    BoundExceeded {
        /// The bound.
        bound: usize,
        /// The length found.
        len: usize,
    },
    /// The representation identifier is none that this crate reads.
    UnsupportedEncapsulation(u16),
    /// The encapsulation belongs to a type of another extensibility.
    ExtensibilityMismatch {
        /// The representation identifier received.
        encapsulation: u16,
        /// The extensibility of the local type.
        expected: Extensibility,
    },
    /// An unknown member is marked must-understand: the sample has to be discarded.
    MustUnderstand {
        /// The member id.
        id: u32,
    },
    /// A key member or a must-understand member is missing.
    MissingMember {
        /// The member id.
        id: u32,
    },
    /// A member appears twice.
    DuplicateMember {
        /// The member id.
        id: u32,
    },
    /// A member header of a mutable type or of an optional member is malformed.
    InvalidMemberHeader {
        /// Position after the header.
        offset: usize,
    },
    /// A length does not fit its 32-bit field (on encoding).
    TooLong {
        /// The length.
        len: usize,
    },
    /// The key members of a derived structure without declared key interleave with those of its base
    /// by member id, so the order that the key hash needs is not available.
    UnorderedKey {
        /// Name of the structure.
        type_name: &'static str,
    },
    /// A value of a type known at run time belongs to another type than the one it is to be written as, or does not fit
    /// its type.
    ForeignType,
    /// Bytes that were serialized elsewhere are in another representation than the one in which the writer offers its samples, or
    /// deviate from the standard, and the type that could convert them is not known at run time.
    NotConvertible {
        /// The representation identifier.
        encapsulation: u16,
    },
    /// A serialized sample of a topic of which nothing but the name of the type is known has no key hash.
    NoKeyHash,
    /// The value lay in memory that several processes share, and one of them has cut the file of that short.
    LostMemory,
}

impl CdrError {
    /// Whether the bytes were well formed but no value of the type could be made of them (DDS-XTypes 1.3
    /// §7.6.3.4, "object construction failure"): the failures that `try_construct` can absorb.
    #[must_use]
    pub const fn is_construction_failure(&self) -> bool {
        matches!(
            self,
            Self::UnknownEnumValue { .. } | Self::UnknownDiscriminator { .. } | Self::BoundExceeded { .. }
        )
    }
}

impl fmt::Display for CdrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::UnexpectedEnd { offset, needed } => {
                write!(f, "the payload ends too early: {needed} bytes wanted at offset {offset}")
            }
            Self::InvalidBool { value } => write!(f, "a boolean has the value {value}"),
            Self::InvalidString { offset } => {
                write!(f, "the string that ends at offset {offset} is malformed")
            }
            Self::LimitExceeded { limit } => write!(f, "decoding limit reached: {limit}"),
            Self::UnknownEnumValue { type_name, value } => {
                write!(f, "enum {type_name} has no literal {value}")
            }
            Self::UnknownDiscriminator { type_name } => {
                write!(f, "union {type_name} has no case for the discriminator received")
            }
            Self::InvalidDiscriminator { type_name } => {
                write!(f, "a variant of union {type_name} holds a discriminator of another case")
            }
            Self::BoundExceeded { bound, len } => write!(f, "length {len} exceeds the bound {bound}"),
            Self::UnsupportedEncapsulation(id) => {
                write!(f, "unsupported representation identifier {id:#06x}")
            }
            Self::ExtensibilityMismatch { encapsulation, expected } => write!(
                f,
                "representation identifier {encapsulation:#06x} does not fit a type that is {expected} here"
            ),
            Self::MustUnderstand { id } => write!(f, "unknown member {id:#x} must be understood"),
            Self::MissingMember { id } => write!(f, "member {id:#x} is missing"),
            Self::DuplicateMember { id } => write!(f, "member {id:#x} appears twice"),
            Self::InvalidMemberHeader { offset } => {
                write!(f, "malformed member header before offset {offset}")
            }
            Self::TooLong { len } => write!(f, "length {len} does not fit 32 bits"),
            Self::UnorderedKey { type_name } => {
                write!(f, "{type_name} cannot be a key: its member ids interleave with those of its base")
            }
            Self::ForeignType => f.write_str("the value belongs to another type, or does not fit its own"),
            Self::NotConvertible { encapsulation } => write!(
                f,
                "bytes with representation identifier {encapsulation:#06x} are not as the writer offers them, and only a type known \
                 at run time can convert them"
            ),
            Self::NoKeyHash => {
                f.write_str("the type of the topic is not known, so the sample needs a key hash")
            }
            Self::LostMemory => {
                f.write_str("a process has cut short the file in memory that the sample lay in")
            }
        }
    }
}

impl core::error::Error for CdrError {}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "memory of the decoded value",
            Self::SequenceLength => "length of a collection",
            Self::Depth => "nesting depth",
        })
    }
}
