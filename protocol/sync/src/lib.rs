//! Locks with ranks, and snapshots: one façade over the standard library, `loom` and bare metal.
//!
//! Every lock of the protocol layers has a rank in its type. A thread may take a lock only if its rank is
//! higher than that of every lock the thread already holds; two locks of one rank are therefore never held
//! together. Debug builds on the standard library check this on every lock, so an order that could deadlock
//! is found by the first test that takes it, not by the first deployment that hits the wrong interleaving.
//!
//! | build | lock | rank check |
//! |---|---|---|
//! | feature `std` (default) | `std::sync::Mutex` | debug builds |
//! | `--cfg loom` | `loom::sync::Mutex` | no |
//! | no `std` | a spin lock on one atomic octet | no |
//!
//! The spin lock is for single-threaded executives (where it is never contended) and for small multi-core
//! systems without an operating system. It must not be taken by an interrupt handler that can interrupt a
//! holder: such a handler queues its packet for the main loop instead.
//!
//! No type here needs 64-bit atomics.

#![no_std]
// `--cfg loom` is given by hand for a model-checking run; no manifest declares it.
#![allow(unexpected_cfgs)]

extern crate alloc;
#[cfg(any(loom, feature = "std"))]
extern crate std;

mod mutex;
mod rank;
mod snapshot;

#[cfg(loom)]
mod raw_loom;
#[cfg(any(test, not(any(loom, feature = "std"))))]
mod raw_spin;
#[cfg(all(feature = "std", not(loom)))]
mod raw_std;

#[cfg(loom)]
use raw_loom as raw;
#[cfg(not(any(loom, feature = "std")))]
use raw_spin as raw;
#[cfg(all(feature = "std", not(loom)))]
use raw_std as raw;

pub use mutex::{RankedGuard, RankedMutex};
pub use snapshot::ArcSnapshot;
