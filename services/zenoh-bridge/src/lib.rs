//! A bridge between DDS and zenoh: `dunlin bridge zenoh FILE.toml`.
//!
//! What DDS writers of a domain write goes to zenoh, and what comes from zenoh is written to the domain, in the key conventions of
//! `zenoh-plugin-dds` and `zenoh-plugin-ros2dds`. Two of these bridges also carry what those conventions leave out: first identities,
//! instance states, source timestamps, and history by instance; what was lost on the way is asked for again.
//!
//! [`Bridge`] is the bridge as a library, [`BridgeConfig`] what it is to do.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod attachment;
mod bridge;
mod cache;
pub mod config;
mod down;
mod key;
mod offer;
mod origins;
mod output;
mod placings;
mod plan;
mod queue;
mod service;
mod source;
mod stats;
mod token;
mod types;
mod up;
mod wake;

pub use bridge::{Bridge, BridgeError};
pub use config::BridgeConfig;
pub use stats::{Count, Counts};
