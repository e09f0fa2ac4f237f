//! XCDR1 and XCDR2 serialization, keys and key hashes (DDS-XTypes 1.3 §7.4, RTPS 2.5 §10 and §9.6.4.8).
//!
//! Types get their serialization from `#[derive(DdsType)]`. [`to_payload`] and [`from_payload`] convert between
//! values and serialized payloads, [`key_payload`] and [`from_key_payload`] between values and serialized keys,
//! [`key_hash`] names the instance that a value belongs to.
//!
//! ```
//! use dunlin_cdr::{DdsType, Limits, Representation, from_payload, to_payload};
//!
//! #[derive(DdsType, Debug, PartialEq)]
//! struct ShapeType {
//!     #[dds(key)]
//!     color: String,
//!     x: i32,
//!     y: i32,
//!     shapesize: i32,
//! }
//!
//! let shape = ShapeType { color: "BLUE".into(), x: 1, y: 2, shapesize: 30 };
//! let mut payload = Vec::new();
//! to_payload(&shape, Representation::Xcdr1, &mut payload)?;
//! assert_eq!(from_payload::<ShapeType>(&payload, &Limits::default())?, shape);
//! # Ok::<(), dunlin_cdr::CdrError>(())
//! ```
//!
//! The attributes are described at the derive macro [`macro@DdsType`].
#![no_std]
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

extern crate alloc;
// Lets derived code name this crate the same way inside and outside of it.
extern crate self as dunlin_cdr;

pub mod annotation;
mod bounded;
mod decoder;
mod description;
mod encapsulation;
mod encoder;
mod error;
pub mod idl;
mod in_place;
mod key;
mod key_size;
mod layout;
mod map;
mod packed;
mod payload;
mod pointer;
mod primitive;
mod sequence;
mod text;
mod topic_type;
mod traits;
mod type_support;
mod walk;

pub use bounded::{Bound, Bounded, BoundedString, BoundedVec};
pub use decoder::{Decoder, Member, Region};
pub use description::{
    BitsDescription, CaseDescription, Described, EnumerationDescription, LiteralDescription,
    MemberAnnotations, MemberDescription, MemberFlags, PrimitiveKind, StaticOrArc, StructureDescription,
    TypeDescription, TypeKind, TypeRef, UnionDescription, WriteDefault, WriteValue, description,
};
pub use dunlin_derive::{CdrRead, CdrWrite, DdsType};
pub use encapsulation::{EncapsulationHeader, representation_id};
pub use encoder::Encoder;
pub use error::{CdrError, LimitKind};
pub use key::{
    KeyHash, from_key_hash, key_hash, key_hash_from_sample, key_hash_of_octets, key_hash_of_payload,
    key_hash_with, key_payload_of_payload,
};
pub use key_size::KeySize;
pub use layout::{
    DecodeOptions, ElementKind, Endianness, Extensibility, LengthCode, Limits, Representation, Scope,
};
pub use payload::{
    from_key_payload, from_key_payload_with, from_payload, from_payload_with, key_payload, to_payload,
    to_payload_as, write_payload,
};
pub use primitive::{Char8, Char16, Float128, UInt8};
pub use text::WString;
pub use topic_type::TopicType;
pub use traits::{CdrRead, CdrWrite, DdsType};
pub use type_support::{TypeSupport, TypeSupportOf};
pub use walk::{Located, Scalar, Step};

/// What derived code uses besides the public interface.
#[doc(hidden)]
pub mod codegen;

/// Code that must not compile, because a constant the derive macro cannot evaluate itself is out of bounds.
///
/// ```compile_fail
/// #[derive(dunlin_cdr::DdsType)]
/// #[dds(bit_bound = 8)]
/// enum Large {
///     Value = 128,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(dunlin_cdr::DdsType)]
/// #[dds(final)]
/// struct Base {
///     a: u8,
/// }
/// #[derive(dunlin_cdr::DdsType)]
/// struct Derived {
///     #[dds(base)]
///     base: Base,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(dunlin_cdr::DdsType)]
/// struct Base {
///     #[dds(id = 7)]
///     a: u8,
/// }
/// #[derive(dunlin_cdr::DdsType)]
/// struct Derived {
///     #[dds(base)]
///     base: Base,
///     #[dds(id = 7)]
///     b: u8,
/// }
/// ```
///
/// ```compile_fail
/// // An optional member is recognized by its literal type.
/// type Maybe = Option<u8>;
/// #[derive(dunlin_cdr::DdsType)]
/// struct Hidden {
///     a: Maybe,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(dunlin_cdr::DdsType)]
/// #[dds(nested)]
/// struct Inner {
///     a: u8,
/// }
/// dunlin_cdr::TypeSupportOf::<Inner>::new();
/// fn topic<T: dunlin_cdr::DdsType>() {}
/// topic::<Inner>();
/// ```
#[cfg(doctest)]
pub struct Refused;
