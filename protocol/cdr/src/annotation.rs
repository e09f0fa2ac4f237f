//! What the source of a type says of it and nobody but those who see the type looks at: annotations that it declares itself,
//! and `@verbatim` (IDL 4.2 §7.4.15, §8.3.5; DDS-XTypes 1.3 Annex B `AppliedAnnotation`, `AppliedVerbatimAnnotation`).
//!
//! ```
//! use dunlin_cdr::annotation::{Annotation, Applied, Parameter, ParameterType, Part, TypeAnnotations, Value};
//! use dunlin_cdr::{DdsType, PrimitiveKind};
//!
//! // `@annotation Since { long version default 1; };`
//! const SINCE: Annotation = Annotation {
//!     name: "Since",
//!     parameters: &[Parameter {
//!         name: "version",
//!         ty: ParameterType::Primitive(PrimitiveKind::Int32),
//!         default: Some(Value::Int32(1)),
//!     }],
//! };
//! const SAID: TypeAnnotations = TypeAnnotations {
//!     verbatim: None,
//!     applied: &[(Part::Member("y"), Applied { annotation: &SINCE, values: &[("version", Value::Int32(2))] })],
//! };
//!
//! /// `struct Point { long x; @Since(version = 2) long y; };`
//! #[derive(DdsType)]
//! #[dds(annotations = SAID)]
//! struct Point {
//!     x: i32,
//!     y: i32,
//! }
//! assert_eq!(dunlin_cdr::description::<Point>().annotations.applied.len(), 1);
//! ```

use crate::{PrimitiveKind, TypeDescription};

/// What is said of a type and its parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct TypeAnnotations {
    /// `@verbatim` on the type.
    pub verbatim: Option<Verbatim>,
    /// Annotations that the source declares itself, with what they stand before.
    pub applied: &'static [(Part, Applied)],
}

impl TypeAnnotations {
    /// Nothing.
    pub const NONE: Self = Self { verbatim: None, applied: &[] };
}

/// What an annotation stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The type itself.
    Type,
    /// The discriminator of a union.
    Discriminator,
    /// The member, literal, flag or bit field of this name.
    Member(&'static str),
}

/// `@verbatim`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verbatim {
    /// For which back end; `*` for all. At most 32 bytes, or type objects do not have it.
    pub language: &'static str,
    /// Where the text goes: `BEFORE_DECLARATION` and so on.
    pub placement: &'static str,
    /// The text.
    pub text: &'static str,
}

/// An annotation where it is applied.
#[derive(Clone, Copy, Debug)]
pub struct Applied {
    /// The annotation.
    pub annotation: &'static Annotation,
    /// All its parameters with their values, whether they are given or follow from the declaration.
    pub values: &'static [(&'static str, Value)],
}

/// A declared annotation.
#[derive(Clone, Copy, Debug)]
pub struct Annotation {
    /// The qualified name.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

/// A parameter of an annotation.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// The type.
    pub ty: ParameterType,
    /// The value where none is given.
    pub default: Option<Value>,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum ParameterType {
    /// `any`
    Any,
    /// A number, boolean or character.
    Primitive(PrimitiveKind),
    /// A string with a bound in bytes; 0 is none.
    Text(u32),
    /// A wide string with a bound in UTF-16 units; 0 is none.
    WideText(u32),
    /// An enumeration.
    Enumeration(&'static TypeDescription),
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is what it says")]
pub enum Value {
    Boolean(bool),
    Octet(u8),
    Int8(i8),
    UInt8(u8),
    Int16(i16),
    UInt16(u16),
    Int32(i32),
    UInt32(u32),
    Int64(i64),
    UInt64(u64),
    Float32(f32),
    Float64(f64),
    /// The bits of the value.
    Float128(u128),
    Char8(u8),
    Char16(u16),
    /// The value of a literal.
    Enumerated(i32),
    /// At most 128 bytes, or type objects do not have it.
    Text(&'static str),
    /// At most 128 UTF-16 units, or type objects do not have it.
    WideText(&'static [u16]),
}
