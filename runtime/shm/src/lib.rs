//! Shared memory between the processes of one host, for user data. Discovery stays where it was.
//!
//! Everybody who receives has an *inbox*, a small file with a bell, and everybody who sends to it makes a *ring* of their own
//! beside it: one producer, one consumer, so that whoever dies in the middle of a message holds up nobody else. Files live in
//! one folder, hold a lock as long as their owner lives, and are removed by whoever finds them unlocked. There is no daemon.
//!
//! [`ShmTransport`] goes around another transport and takes over the locators of kind [`LocatorKind::SHARED_MEMORY`] of
//! participants that share the folder with it. What another process writes is never trusted: every number is
//! read once, then checked. `docs/shared-memory.md` describes the files and what it costs.
//!
//! [`LocatorKind::SHARED_MEMORY`]: dunlin_core::LocatorKind::SHARED_MEMORY
#![cfg_attr(not(test), warn(unreachable_pub))]
#![deny(unsafe_code)]

#[cfg(any(test, all(target_os = "linux", not(loom))))]
mod bell;
mod config;
mod plain;
#[cfg(any(test, all(target_os = "linux", not(loom))))]
#[cfg_attr(loom, allow(dead_code, reason = "some of it is for files alone"))]
mod ring;

#[cfg(all(target_os = "linux", not(loom)))]
mod borrow;
#[cfg(all(target_os = "linux", not(loom)))]
mod folder;
#[cfg(all(target_os = "linux", not(loom)))]
mod head;
#[cfg(all(target_os = "linux", not(loom)))]
mod inbox;
#[cfg(all(target_os = "linux", not(loom)))]
mod lend;
#[cfg(all(target_os = "linux", not(loom)))]
mod outlet;
#[cfg(all(target_os = "linux", not(loom)))]
mod segment;
#[cfg(all(target_os = "linux", not(loom)))]
mod send;
#[cfg(all(target_os = "linux", not(loom)))]
mod sigbus;
#[cfg(all(target_os = "linux", not(loom)))]
mod transport;
#[cfg(not(all(target_os = "linux", not(loom))))]
mod unavailable;

pub use config::{Access, ShmConfig};
pub use plain::{Aligned, view, view_mut};
#[cfg(all(target_os = "linux", not(loom)))]
pub use transport::ShmTransport;
#[cfg(not(all(target_os = "linux", not(loom))))]
pub use unavailable::ShmTransport;
