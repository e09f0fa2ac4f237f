//! The atomics of `core`, or those of the checker that the build is for.
//!
//! Only widths that every target has: none of 64 bits.

#[cfg(not(any(loom, shuttle)))]
pub use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
#[cfg(shuttle)]
pub use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
