//! Named attacks on a live pair: a reliable topic at 1 kHz between two processes that use the public API alone, and somebody
//! who sends what the standard allows and what it does not, octet by octet. Each attack has its bounds as data.
//!
//! A new attack is a function in [`attacks`] and a row in its table.

#![deny(unsafe_code)]

pub mod announce;
pub mod attacks;
pub mod bound;
pub mod children;
pub mod counters;
pub mod field;
pub mod forge;
pub mod pair;
pub mod peer;
pub mod places;
pub mod raw;
pub mod report;
pub mod run;
pub mod streams;
