//! What minimal and complete type objects share (DDS-XTypes 1.3 §7.3.4.5, Annex B).

use alloc::vec::Vec;

use dunlin_cdr::{CdrRead, CdrWrite};

use crate::TypeIdentifier;

/// What members of structures have in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonStructMember {
    /// The id.
    pub member_id: u32,
    /// The flags.
    pub member_flags: u16,
    /// The type.
    pub member_type_id: TypeIdentifier,
}

/// What members of unions have in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonUnionMember {
    /// The id.
    pub member_id: u32,
    /// The flags.
    pub member_flags: u16,
    /// The type.
    pub type_id: TypeIdentifier,
    /// The labels.
    pub label_seq: Vec<i32>,
}

/// The discriminator in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonDiscriminatorMember {
    /// The flags.
    pub member_flags: u16,
    /// The type.
    pub type_id: TypeIdentifier,
}

/// A parameter of an annotation in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonAnnotationParameter {
    /// No flags are defined.
    pub member_flags: u16,
    /// The type.
    pub member_type_id: TypeIdentifier,
}

/// What an alias stands for in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonAliasBody {
    /// Flags of what it stands for.
    pub related_flags: u16,
    /// What it stands for.
    pub related_type: TypeIdentifier,
}

/// Elements in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonCollectionElement {
    /// The flags.
    pub element_flags: u16,
    /// The type.
    pub type_id: TypeIdentifier,
}

/// The bound in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonCollectionHeader {
    /// The bound; 0 is none.
    pub bound: u32,
}

/// The dimensions in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonArrayHeader {
    /// The dimensions, the outermost first.
    pub bound_seq: Vec<u32>,
}

/// A literal in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CommonEnumeratedLiteral {
    /// The value.
    pub value: i32,
    /// The flags.
    pub flags: u16,
}

/// The size of an enumeration or bitmask in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonEnumeratedHeader {
    /// Number of bits.
    pub bit_bound: u16,
}

/// A flag of a bitmask in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonBitflag {
    /// The bit, 0 the least.
    pub position: u16,
    /// No flags are defined.
    pub flags: u16,
}

/// A field of a bitset in both kinds of objects.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CommonBitfield {
    /// Its least bit.
    pub position: u16,
    /// No flags are defined.
    pub flags: u16,
    /// Number of bits.
    pub bitcount: u8,
    /// Kind of the integer that holds its value.
    pub holder_type: u8,
}
