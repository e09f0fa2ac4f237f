//! The query language of DDS 1.4 Annex B: filter expressions of content-filtered topics, query expressions with
//! ORDER BY, and topic expressions of multi-topics.
//!
//! An expression is parsed and checked against the description of a type once; what it compiles to reads the members it
//! needs straight from serialized samples of any representation.
//!
//! ```
//! use dunlin_cdr::{DdsType, DecodeOptions, Representation, to_payload};
//! use dunlin_filter::{Filter, Verdict};
//!
//! #[derive(DdsType)]
//! struct Shape {
//!     #[dds(key)]
//!     color: String,
//!     x: i32,
//!     y: i32,
//! }
//!
//! let mut filter = Filter::new::<Shape>("color LIKE %0 AND x BETWEEN 10 AND 20", &["'B%'"])?;
//! let mut payload = Vec::new();
//! to_payload(&Shape { color: "BLUE".into(), x: 15, y: 0 }, Representation::Xcdr1, &mut payload)?;
//! assert_eq!(filter.check(&payload, DecodeOptions::default()), Verdict::Passed);
//! filter.set_parameters(&["'GREEN'"])?;
//! assert_eq!(filter.check(&payload, DecodeOptions::default()), Verdict::Rejected);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The language
//! `field op value`, `value op field`, `field op field` with `=`, `<>` (or `!=`), `<`, `<=`, `>`, `>=`, `LIKE`;
//! `field [NOT] BETWEEN value AND value`, `field [NOT] LIKE pattern`; `NOT`, `AND`, `OR` in this order of strength, and
//! parentheses. Keywords may have any case. A field is a member, `a.b` a member of a member, `a[3]` an element; `a._d` is
//! the discriminator of a union. Values are integers (decimal or `0x`), floating-point numbers, `TRUE` and `FALSE`, texts
//! in single quotes (`''` is a quote within), and parameters `%0` to `%99`, each of which holds such a value, so that a
//! text has its quotes there too. A text stands for a string, a character, or a literal of an enumeration.
//!
//! # What comparisons mean
//! - Numbers are compared exactly, whatever their types: no integer is rounded to compare it with a float. A `float` has
//!   the value that its 32 bits have, so `x = 0.1` is false for the nearest `float` to 0.1. NaN differs from everything.
//! - Strings are compared octet by octet; wide strings by code point, which is the same order.
//! - Enumerations are compared by value. Booleans may be written `0` and `1`; false is less than true.
//! - In a pattern `%` stands for any characters and `_` for one; nothing escapes them.
//! - A predicate on a part that is not there is false: an optional member that is absent, an element beyond the end, a
//!   case that is not selected. A member that the sender's version of the type lacks has its default.
//!
//! # Limits
//! [`MAX_EXPRESSION`], [`MAX_PARAMETER`], [`MAX_PARAMETERS`], [`MAX_PREDICATES`], [`MAX_DEPTH`] bound what is accepted.
//! Evaluation looks at each predicate at most once, and each reads at most its operands; `LIKE` takes at most the length
//! of the pattern times that of the string. [`Filter::check_within`] gives up after a number of [`Steps`].
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

mod check;
mod error;
mod field;
mod filter;
mod join;
mod like;
mod nearest;
mod steps;
mod syntax;
mod token;
mod value;

pub use error::{FilterError, Place, Reason};
pub use field::FieldPath;
pub use filter::{Filter, SortKey, Verdict};
pub use join::{Selected, Selection, TopicExpression};
pub use like::like;
pub use steps::{Steps, TooManySteps};
pub use value::Value;

/// Most bytes of an expression.
pub const MAX_EXPRESSION: usize = 16 << 10;
/// Most bytes of a parameter.
pub const MAX_PARAMETER: usize = 1 << 10;
/// Most parameters.
pub const MAX_PARAMETERS: usize = 100;
/// Most predicates in an expression.
pub const MAX_PREDICATES: usize = 256;
/// Most parentheses and negations around a predicate, and steps from a sample to a member.
pub const MAX_DEPTH: usize = 32;
