//! Annotations where they are applied (DDS-XTypes 1.3 §7.3.4.5, Annex B `AppliedAnnotation`).

use alloc::string::String;
use alloc::vec::Vec;

use dunlin_cdr::{CdrRead, CdrWrite, Char8, Char16, Float128, WString};

use crate::TypeIdentifier;
use crate::identifier::ExtendedDefinition;

/// The first 4 bytes of the MD5 digest of a name.
pub type NameHash = [u8; 4];

/// The value of a parameter of an annotation.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(union, discriminator = "u8", final)]
#[allow(missing_docs, reason = "each is what it says")]
pub enum AnnotationParameterValue {
    #[dds(case = 0x01)]
    Boolean(bool),
    #[dds(case = 0x02)]
    Byte(u8),
    #[dds(case = 0x0c)]
    Int8(i8),
    #[dds(case = 0x0d)]
    UInt8(u8),
    #[dds(case = 0x03)]
    Int16(i16),
    #[dds(case = 0x06)]
    UInt16(u16),
    #[dds(case = 0x04)]
    Int32(i32),
    #[dds(case = 0x07)]
    UInt32(u32),
    #[dds(case = 0x05)]
    Int64(i64),
    #[dds(case = 0x08)]
    UInt64(u64),
    #[dds(case = 0x09)]
    Float32(f32),
    #[dds(case = 0x0a)]
    Float64(f64),
    #[dds(case = 0x0b)]
    Float128(Float128),
    #[dds(case = 0x10)]
    Char(Char8),
    #[dds(case = 0x11)]
    WideChar(Char16),
    /// The value of a literal.
    #[dds(case = 0x40)]
    Enumerated(i32),
    #[dds(case = 0x20)]
    String(#[dds(bound = 128)] String),
    #[dds(case = 0x21)]
    WideString(#[dds(bound = 128)] WString),
    /// Of a later version of the standard.
    #[dds(default)]
    Extended {
        #[dds(discriminator)]
        kind: u8,
        definition: ExtendedDefinition,
    },
}

/// A parameter of an applied annotation.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct AppliedAnnotationParameter {
    /// Hash of its name.
    pub paramname_hash: NameHash,
    /// Its value.
    pub value: AnnotationParameterValue,
}

/// An annotation that the source of the type declares itself.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct AppliedAnnotation {
    /// The annotation.
    pub annotation_typeid: TypeIdentifier,
    /// Its parameters.
    pub param_seq: Option<Vec<AppliedAnnotationParameter>>,
}

/// `@verbatim`
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct AppliedVerbatimAnnotation {
    /// Where the text goes.
    #[dds(bound = 32)]
    pub placement: String,
    /// For which back end.
    #[dds(bound = 32)]
    pub language: String,
    /// The text.
    pub text: String,
}

/// The standard's annotations of a member that appear in its type object.
#[derive(Clone, Debug, Default, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct AppliedBuiltinMemberAnnotations {
    /// `@unit`
    pub unit: Option<String>,
    /// `@min`
    pub min: Option<AnnotationParameterValue>,
    /// `@max`
    pub max: Option<AnnotationParameterValue>,
    /// `@hashid`
    pub hash_id: Option<String>,
}

impl AppliedBuiltinMemberAnnotations {
    /// Itself, unless it says nothing.
    #[must_use]
    pub fn some(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// The standard's annotations of a type that appear in its type object.
#[derive(Clone, Debug, Default, PartialEq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct AppliedBuiltinTypeAnnotations {
    /// `@verbatim`
    pub verbatim: Option<AppliedVerbatimAnnotation>,
}
