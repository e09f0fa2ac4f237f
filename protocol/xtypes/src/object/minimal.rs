//! Minimal type objects (DDS-XTypes 1.3 §7.3.4.5, Annex B).

use alloc::vec::Vec;

use dunlin_cdr::{CdrRead, CdrWrite};

use super::annotation::{AnnotationParameterValue, NameHash};
use super::common::*;
use crate::TypeIdentifier;
use crate::identifier::ExtendedDefinition;

/// A minimal type object.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(union, discriminator = "u8", final)]
pub enum MinimalTypeObject {
    /// `typedef`
    #[dds(case = 0x30)]
    Alias(MinimalAliasType),
    /// `@annotation`
    #[dds(case = 0x50)]
    Annotation(MinimalAnnotationType),
    /// `struct`
    #[dds(case = 0x51)]
    Structure(MinimalStructType),
    /// `union`
    #[dds(case = 0x52)]
    Union(MinimalUnionType),
    /// `bitset`
    #[dds(case = 0x53)]
    Bitset(MinimalBitsetType),
    /// `sequence` with annotations of its own
    #[dds(case = 0x60)]
    Sequence(MinimalSequenceType),
    /// Array with annotations of its own
    #[dds(case = 0x61)]
    Array(MinimalArrayType),
    /// `map` with annotations of its own
    #[dds(case = 0x62)]
    Map(MinimalMapType),
    /// `enum`
    #[dds(case = 0x40)]
    Enumeration(MinimalEnumeratedType),
    /// `bitmask`
    #[dds(case = 0x41)]
    Bitmask(MinimalBitmaskType),
    /// Of a later version of the standard.
    #[dds(default)]
    Extended {
        /// The kind.
        #[dds(discriminator)]
        kind: u8,
        /// Nothing is known of it.
        definition: ExtendedDefinition,
    },
}

/// The name of a member as a hash.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct MinimalMemberDetail {
    /// The hash.
    pub name_hash: NameHash,
}

/// Nothing: names of types do not matter here.
#[derive(Clone, Debug, Default, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct MinimalTypeDetail {}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalStructMember {
    /// Id, flags and type.
    pub common: CommonStructMember,
    /// The name's hash.
    pub detail: MinimalMemberDetail,
}

/// Base of a structure.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalStructHeader {
    /// The base, or none.
    pub base_type: TypeIdentifier,
    /// Nothing.
    pub detail: MinimalTypeDetail,
}

/// A structure.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct MinimalStructType {
    /// Flags of the type.
    pub struct_flags: u16,
    /// Base.
    pub header: MinimalStructHeader,
    /// Its own members in the order of their declaration.
    pub member_seq: Vec<MinimalStructMember>,
}

/// A member of a union.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalUnionMember {
    /// Id, flags, type and labels.
    pub common: CommonUnionMember,
    /// The name's hash.
    pub detail: MinimalMemberDetail,
}

/// The discriminator of a union.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalDiscriminatorMember {
    /// Flags and type.
    pub common: CommonDiscriminatorMember,
}

/// Nothing.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalUnionHeader {
    /// Nothing.
    pub detail: MinimalTypeDetail,
}

/// A union.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct MinimalUnionType {
    /// Flags of the type.
    pub union_flags: u16,
    /// Nothing.
    pub header: MinimalUnionHeader,
    /// The discriminator.
    pub discriminator: MinimalDiscriminatorMember,
    /// The members in the order of their declaration.
    pub member_seq: Vec<MinimalUnionMember>,
}

/// A parameter of an annotation.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalAnnotationParameter {
    /// Flags and type.
    pub common: CommonAnnotationParameter,
    /// Hash of the name.
    pub name_hash: NameHash,
    /// The value when it is not given.
    pub default_value: AnnotationParameterValue,
}

/// Nothing.
#[derive(Clone, Debug, Default, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalAnnotationHeader {}

/// The declaration of an annotation.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct MinimalAnnotationType {
    /// No flags are defined.
    pub annotation_flag: u16,
    /// Nothing.
    pub header: MinimalAnnotationHeader,
    /// Its parameters.
    pub member_seq: Vec<MinimalAnnotationParameter>,
}

/// What an alias stands for.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalAliasBody {
    /// Flags and type.
    pub common: CommonAliasBody,
}

/// Nothing.
#[derive(Clone, Debug, Default, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalAliasHeader {}

/// An alias.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct MinimalAliasType {
    /// No flags are defined.
    pub alias_flags: u16,
    /// Nothing.
    pub header: MinimalAliasHeader,
    /// What it stands for.
    pub body: MinimalAliasBody,
}

/// The elements of a collection.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalCollectionElement {
    /// Flags and type.
    pub common: CommonCollectionElement,
}

/// The bound of a sequence or map.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalCollectionHeader {
    /// The bound.
    pub common: CommonCollectionHeader,
}

/// The dimensions of an array.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalArrayHeader {
    /// The dimensions.
    pub common: CommonArrayHeader,
}

/// A sequence with annotations of its own.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct MinimalSequenceType {
    /// No flags are defined.
    pub collection_flag: u16,
    /// The bound.
    pub header: MinimalCollectionHeader,
    /// The elements.
    pub element: MinimalCollectionElement,
}

/// An array with annotations of its own.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct MinimalArrayType {
    /// No flags are defined.
    pub collection_flag: u16,
    /// The dimensions.
    pub header: MinimalArrayHeader,
    /// The elements.
    pub element: MinimalCollectionElement,
}

/// A map with annotations of its own.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct MinimalMapType {
    /// No flags are defined.
    pub collection_flag: u16,
    /// The bound.
    pub header: MinimalCollectionHeader,
    /// The keys.
    pub key: MinimalCollectionElement,
    /// The values.
    pub element: MinimalCollectionElement,
}

/// A literal of an enumeration.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalEnumeratedLiteral {
    /// Value and flags.
    pub common: CommonEnumeratedLiteral,
    /// The name's hash.
    pub detail: MinimalMemberDetail,
}

/// Size of an enumeration or bitmask.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalEnumeratedHeader {
    /// The size.
    pub common: CommonEnumeratedHeader,
}

/// An enumeration.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct MinimalEnumeratedType {
    /// Flags of the type.
    pub enum_flags: u16,
    /// Its size.
    pub header: MinimalEnumeratedHeader,
    /// The literals in the order of their values.
    pub literal_seq: Vec<MinimalEnumeratedLiteral>,
}

/// A flag of a bitmask.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalBitflag {
    /// Position and flags.
    pub common: CommonBitflag,
    /// The name's hash.
    pub detail: MinimalMemberDetail,
}

/// A bitmask.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalBitmaskType {
    /// Flags of the type.
    pub bitmask_flags: u16,
    /// Its size.
    pub header: MinimalEnumeratedHeader,
    /// The flags in the order of their positions.
    pub flag_seq: Vec<MinimalBitflag>,
}

/// A field of a bitset.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalBitfield {
    /// Position and size.
    pub common: CommonBitfield,
    /// Hash of the name.
    pub name_hash: NameHash,
}

/// Nothing.
#[derive(Clone, Debug, Default, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalBitsetHeader {}

/// A bitset.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct MinimalBitsetType {
    /// Flags of the type.
    pub bitset_flags: u16,
    /// Nothing.
    pub header: MinimalBitsetHeader,
    /// The fields in the order of their positions.
    pub field_seq: Vec<MinimalBitfield>,
}
