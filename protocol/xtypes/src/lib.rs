//! The extensible type system: type identifiers and type objects, their hashes, type information, and types known at run
//! time (DDS-XTypes 1.3 §7.3).
//!
//! A [`TypeGraph`] holds types known at run time. [`type_objects`] makes type objects of it, whose hashes name a type
//! among implementations.
//!
//! ```
//! use dunlin_cdr::DdsType;
//!
//! #[derive(DdsType)]
//! struct ShapeType {
//!     #[dds(key, bound = 128)]
//!     color: String,
//!     x: i32,
//!     y: i32,
//!     shapesize: i32,
//! }
//!
//! let (graph, shape) = dunlin_xtypes::from_description(dunlin_cdr::description::<ShapeType>());
//! let objects = dunlin_xtypes::type_objects(&graph, shape)?;
//! let information = objects.information()?;
//! assert_eq!(information.minimal.dependent_typeid_count, 0);
//! # Ok::<(), dunlin_xtypes::BuildError>(())
//! ```
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

mod applied;
pub mod assign;
mod build;
mod describe;
pub mod identifier;
pub mod information;
mod labels;
mod load;
pub mod lookup;
pub mod model;
pub mod object;
mod print;

pub use assign::{Comparison, Mismatch, TypeIn, assignable};
pub use build::{BuildError, IdentifiedObject, TypeObjects, TypeRecord, type_objects};
pub use describe::from_description;
pub use dunlin_cdr as cdr;
pub use dunlin_qos::TypeConsistencyEnforcement;
pub use identifier::{Equivalence, EquivalenceHash, TypeIdentifier};
pub use information::{TypeIdentifierWithDependencies, TypeIdentifierWithSize, TypeInformation};
pub use load::{LoadError, from_objects};
pub use model::{TypeGraph, TypeIndex};
pub use object::{TypeObject, from_octets, to_octets};
pub use print::to_idl;
