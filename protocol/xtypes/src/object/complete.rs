//! Complete type objects (DDS-XTypes 1.3 §7.3.4.5, Annex B).

use alloc::string::String;
use alloc::vec::Vec;

use dunlin_cdr::{CdrRead, CdrWrite};

use super::annotation::{
    AnnotationParameterValue, AppliedAnnotation, AppliedBuiltinMemberAnnotations,
    AppliedBuiltinTypeAnnotations,
};
use super::common::*;
use crate::TypeIdentifier;
use crate::identifier::ExtendedDefinition;

/// A complete type object.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(union, discriminator = "u8", final)]
pub enum CompleteTypeObject {
    /// `typedef`
    #[dds(case = 0x30)]
    Alias(CompleteAliasType),
    /// `@annotation`
    #[dds(case = 0x50)]
    Annotation(CompleteAnnotationType),
    /// `struct`
    #[dds(case = 0x51)]
    Structure(CompleteStructType),
    /// `union`
    #[dds(case = 0x52)]
    Union(CompleteUnionType),
    /// `bitset`
    #[dds(case = 0x53)]
    Bitset(CompleteBitsetType),
    /// `sequence` with annotations of its own
    #[dds(case = 0x60)]
    Sequence(CompleteSequenceType),
    /// Array with annotations of its own
    #[dds(case = 0x61)]
    Array(CompleteArrayType),
    /// `map` with annotations of its own
    #[dds(case = 0x62)]
    Map(CompleteMapType),
    /// `enum`
    #[dds(case = 0x40)]
    Enumeration(CompleteEnumeratedType),
    /// `bitmask`
    #[dds(case = 0x41)]
    Bitmask(CompleteBitmaskType),
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

/// Name and annotations of a member.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CompleteMemberDetail {
    /// The name.
    pub name: String,
    /// The standard's annotations.
    pub ann_builtin: Option<AppliedBuiltinMemberAnnotations>,
    /// Annotations that the source declares itself.
    pub ann_custom: Option<Vec<AppliedAnnotation>>,
}

/// Name and annotations of a type.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CompleteTypeDetail {
    /// The standard's annotations.
    pub ann_builtin: Option<AppliedBuiltinTypeAnnotations>,
    /// Annotations that the source declares itself.
    pub ann_custom: Option<Vec<AppliedAnnotation>>,
    /// The qualified name.
    pub type_name: String,
}

/// Annotations of elements.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CompleteElementDetail {
    /// The standard's annotations.
    pub ann_builtin: Option<AppliedBuiltinMemberAnnotations>,
    /// Annotations that the source declares itself.
    pub ann_custom: Option<Vec<AppliedAnnotation>>,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteStructMember {
    /// Id, flags and type.
    pub common: CommonStructMember,
    /// Name and annotations.
    pub detail: CompleteMemberDetail,
}

/// Base and name of a structure.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteStructHeader {
    /// The base, or none.
    pub base_type: TypeIdentifier,
    /// Name and annotations.
    pub detail: CompleteTypeDetail,
}

/// A structure.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CompleteStructType {
    /// Flags of the type.
    pub struct_flags: u16,
    /// Base and name.
    pub header: CompleteStructHeader,
    /// Its own members in the order of their declaration.
    pub member_seq: Vec<CompleteStructMember>,
}

/// A member of a union.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteUnionMember {
    /// Id, flags, type and labels.
    pub common: CommonUnionMember,
    /// Name and annotations.
    pub detail: CompleteMemberDetail,
}

/// The discriminator of a union.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteDiscriminatorMember {
    /// Flags and type.
    pub common: CommonDiscriminatorMember,
    /// The standard's annotations.
    pub ann_builtin: Option<AppliedBuiltinTypeAnnotations>,
    /// Annotations that the source declares itself.
    pub ann_custom: Option<Vec<AppliedAnnotation>>,
}

/// The name of a union.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteUnionHeader {
    /// Name and annotations.
    pub detail: CompleteTypeDetail,
}

/// A union.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CompleteUnionType {
    /// Flags of the type.
    pub union_flags: u16,
    /// The name.
    pub header: CompleteUnionHeader,
    /// The discriminator.
    pub discriminator: CompleteDiscriminatorMember,
    /// The members in the order of their declaration.
    pub member_seq: Vec<CompleteUnionMember>,
}

/// A parameter of an annotation.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteAnnotationParameter {
    /// Flags and type.
    pub common: CommonAnnotationParameter,
    /// The name.
    pub name: String,
    /// The value when it is not given.
    pub default_value: AnnotationParameterValue,
}

/// The name of an annotation.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteAnnotationHeader {
    /// The qualified name.
    pub annotation_name: String,
}

/// The declaration of an annotation.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CompleteAnnotationType {
    /// No flags are defined.
    pub annotation_flag: u16,
    /// The name.
    pub header: CompleteAnnotationHeader,
    /// Its parameters.
    pub member_seq: Vec<CompleteAnnotationParameter>,
}

/// What an alias stands for.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteAliasBody {
    /// Flags and type.
    pub common: CommonAliasBody,
    /// The standard's annotations.
    pub ann_builtin: Option<AppliedBuiltinMemberAnnotations>,
    /// Annotations that the source declares itself.
    pub ann_custom: Option<Vec<AppliedAnnotation>>,
}

/// The name of an alias.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteAliasHeader {
    /// Name and annotations.
    pub detail: CompleteTypeDetail,
}

/// An alias.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CompleteAliasType {
    /// No flags are defined.
    pub alias_flags: u16,
    /// The name.
    pub header: CompleteAliasHeader,
    /// What it stands for.
    pub body: CompleteAliasBody,
}

/// The elements of a collection.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteCollectionElement {
    /// Flags and type.
    pub common: CommonCollectionElement,
    /// Annotations.
    pub detail: CompleteElementDetail,
}

/// The bound of a sequence or map.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteCollectionHeader {
    /// The bound.
    pub common: CommonCollectionHeader,
    /// Name and annotations.
    pub detail: Option<CompleteTypeDetail>,
}

/// The dimensions of an array.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteArrayHeader {
    /// The dimensions.
    pub common: CommonArrayHeader,
    /// Name and annotations.
    pub detail: CompleteTypeDetail,
}

/// A sequence with annotations of its own.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CompleteSequenceType {
    /// No flags are defined.
    pub collection_flag: u16,
    /// The bound.
    pub header: CompleteCollectionHeader,
    /// The elements.
    pub element: CompleteCollectionElement,
}

/// An array with annotations of its own.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteArrayType {
    /// No flags are defined.
    pub collection_flag: u16,
    /// The dimensions.
    pub header: CompleteArrayHeader,
    /// The elements.
    pub element: CompleteCollectionElement,
}

/// A map with annotations of its own.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CompleteMapType {
    /// No flags are defined.
    pub collection_flag: u16,
    /// The bound.
    pub header: CompleteCollectionHeader,
    /// The keys.
    pub key: CompleteCollectionElement,
    /// The values.
    pub element: CompleteCollectionElement,
}

/// A literal of an enumeration.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteEnumeratedLiteral {
    /// Value and flags.
    pub common: CommonEnumeratedLiteral,
    /// Name and annotations.
    pub detail: CompleteMemberDetail,
}

/// Size of an enumeration or bitmask.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteEnumeratedHeader {
    /// The size.
    pub common: CommonEnumeratedHeader,
    /// Name and annotations.
    pub detail: CompleteTypeDetail,
}

/// An enumeration.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct CompleteEnumeratedType {
    /// Flags of the type.
    pub enum_flags: u16,
    /// Its size.
    pub header: CompleteEnumeratedHeader,
    /// The literals in the order of their values.
    pub literal_seq: Vec<CompleteEnumeratedLiteral>,
}

/// A flag of a bitmask.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteBitflag {
    /// Position and flags.
    pub common: CommonBitflag,
    /// Name and annotations.
    pub detail: CompleteMemberDetail,
}

/// A bitmask.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteBitmaskType {
    /// Flags of the type.
    pub bitmask_flags: u16,
    /// Its size.
    pub header: CompleteEnumeratedHeader,
    /// The flags in the order of their positions.
    pub flag_seq: Vec<CompleteBitflag>,
}

/// A field of a bitset.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteBitfield {
    /// Position and size.
    pub common: CommonBitfield,
    /// Name and annotations.
    pub detail: CompleteMemberDetail,
}

/// The name of a bitset.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteBitsetHeader {
    /// Name and annotations.
    pub detail: CompleteTypeDetail,
}

/// A bitset.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct CompleteBitsetType {
    /// Flags of the type.
    pub bitset_flags: u16,
    /// The name.
    pub header: CompleteBitsetHeader,
    /// The fields in the order of their positions.
    pub field_seq: Vec<CompleteBitfield>,
}
