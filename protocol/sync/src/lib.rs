//! Locks with ranks, snapshots and atomics: one façade over the standard library, `loom`, `shuttle` and bare metal.
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
//! | `--cfg shuttle` | `shuttle::sync::Mutex` | debug builds |
//! | no `std` | a spin lock on one atomic octet | no |
//!
//! The spin lock is for single-threaded executives (where it is never contended) and for small multi-core
//! systems without an operating system. It must not be taken by an interrupt handler that can interrupt a
//! holder: such a handler queues its packet for the main loop instead.
//!
//! No type here needs 64-bit atomics.

#![no_std]
#![cfg_attr(not(test), warn(unreachable_pub))]

extern crate alloc;
#[cfg(any(loom, shuttle, feature = "std"))]
extern crate std;

pub mod atomic;
mod mutex;
mod rank;
mod snapshot;

#[cfg(loom)]
mod raw_loom;
#[cfg(shuttle)]
mod raw_shuttle;
#[cfg(any(test, not(any(loom, shuttle, feature = "std"))))]
mod raw_spin;
#[cfg(all(feature = "std", not(any(loom, shuttle))))]
mod raw_std;

pub use mutex::{RankedGuard, RankedMutex};
#[cfg(loom)]
use raw_loom as raw;
#[cfg(shuttle)]
use raw_shuttle as raw;
#[cfg(not(any(loom, shuttle, feature = "std")))]
use raw_spin as raw;
#[cfg(all(feature = "std", not(any(loom, shuttle))))]
use raw_std as raw;
pub use snapshot::ArcSnapshot;
