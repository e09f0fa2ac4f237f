//! A durability service of DDS: keeps what writers of TRANSIENT and PERSISTENT data have written, and gives it to readers that come
//! later, also when the writers have gone (DDS 1.4 §2.2.3.4, §2.2.3.5).
//!
//! A [`Service`] is made of a [`ServiceConfig`]. It has no thread of its own: [`Service::pump`] does what there is to do, and
//! [`Service::run`] waits and pumps until it is told to stop. `dunlin store FILE.toml` is a program around it; `docs/durability.md`
//! tells what it keeps and what it cannot. Without DDS, a [`Keeper`](keeper::Keeper) decides what is kept, over any
//! [`Store`](store::Store).
//!
//! ```no_run
//! use dunlin_durability::{Service, ServiceConfig};
//!
//! let config = ServiceConfig::from_toml("site.toml", "name = \"site\"\ndomain = 0", None)?;
//! Service::new(config)?.run(&dunlin::GuardCondition::new())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod align;
mod aligning;
pub mod backend;
pub mod change;
pub mod config;
pub mod contract;
mod feed;
pub mod history;
pub mod keeper;
mod kept;
pub mod origins;
mod service;
pub mod store;
pub mod topic;
mod writers;

pub use config::{ConfigError, Problem, ServiceConfig};
pub use feed::{Counters, TopicState};
pub use service::{Service, ServiceError, Stores};
