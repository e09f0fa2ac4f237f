//! Values of types known at run time (DDS-XTypes 1.3 §7.5 `DynamicType`, `DynamicData`).
//!
//! A [`DynamicType`] is made of a [`TypeGraph`], whether that came from IDL, from the type objects of another participant
//! or from the description of a Rust type. A [`DynamicData`] is a value of it: its parts have paths, and it is decoded
//! from and encoded to any representation.
//!
//! ```
//! use dunlin_cdr::{DdsType, Representation, to_payload};
//! use dunlin_dynamic::{DynamicData, DynamicType, Value};
//!
//! #[derive(DdsType)]
//! struct ShapeType {
//!     #[dds(key)]
//!     color: String,
//!     x: i32,
//! }
//!
//! let (graph, shape) = dunlin_xtypes::from_description(dunlin_cdr::description::<ShapeType>());
//! let ty = DynamicType::new(graph, shape)?;
//! let mut payload = Vec::new();
//! to_payload(&ShapeType { color: "RED".into(), x: 5 }, Representation::Xcdr1, &mut payload)?;
//! let mut shape = DynamicData::from_payload(&ty, &payload)?;
//! assert_eq!(shape.get("x")?, Some(&Value::Int32(5)));
//! shape.set("color", "BLUE")?;
//! assert!(shape.set("x", 3_000_000_000_u32).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Paths
//! `a.b[3].c`: members by name, elements of sequences and arrays by index, values of maps by key (`m["key"]`, `m[5]`).
//! `u._d` is the discriminator of a union; setting a member of a union selects it.
//!
//! # Views
//! [`DynamicView`] finds parts in the bytes without decoding them, [`SharedView`] keeps the bytes too.
//!
//! # What is bounded
//! Decoding never panics. A count is believed only as far as bytes are present, nesting ends at [`MAX_NESTING`], and what
//! a value may occupy is in [`Limits`](dunlin_cdr::Limits). A type whose default value has more than [`MAX_DEFAULT`] parts
//! is refused, because a sender could leave it out.
//!
//! # What a type object does not say
//! `@default(…)` is not part of a type object: a missing member has the default of its annotation if the type is from IDL or
//! from Rust, and the default of its type if it came from another participant.
#![no_std]
#![forbid(unsafe_code)]
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

mod build;
mod convert;
mod data;
mod describe;
mod measure;
mod offsets;
mod path;
mod read;
mod support;
mod types;
mod value;
mod view;
mod write;

pub use convert::ValueError;
pub use data::DynamicData;
pub use describe::DescribeError;
pub use dunlin_xtypes::{TypeGraph, TypeIndex};
pub use path::{AccessError, AccessFailure, PathError};
pub use types::{
    BitField, BitsShape, CaseShape, DynamicType, EnumerationShape, MemberShape, Part, Shape, StructureShape,
    TypeError, TypeView, UnionShape,
};
pub use value::{UnionValue, Value};
pub use view::{
    DynamicView, Elements, FromView, Members, Number, Numbers, Pairs, SharedView, ViewError, ViewFailure,
};

/// Most values within each other, whatever their kinds.
pub const MAX_NESTING: u16 = 128;
/// Most parts of the default value of a type; 32 bytes of an array of bytes count as one.
pub const MAX_DEFAULT: usize = 1 << 22;
/// Most types that one type may be made of.
pub const MAX_TYPES: usize = 1 << 16;
/// Most members, cases, labels, literals and bits of all types that one type is made of.
pub const MAX_MEMBERS: usize = 1 << 18;
