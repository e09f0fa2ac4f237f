//! A router of DDS: passes data on between domains, partitions and topics, with its identity, time, order and instance states.
//!
//! A [`Router`] is made of a [`RouterConfig`]. It has no thread of its own: [`Router::pump`] does what there is to do, and
//! [`Router::run`] waits and pumps until it is told to stop. `dunlin route FILE.toml` is a program around it; `docs/router.md`
//! tells what it keeps and what it cannot.
//!
//! ```no_run
//! use dunlin_router::{Router, RouterConfig};
//!
//! let text = r#"
//!     name = "gate"
//!     [participant.inner]
//!     domain = 0
//!     [participant.outer]
//!     domain = 1
//!     [[route]]
//!     from = "inner"
//!     to = "outer"
//! "#;
//! let mut router = Router::new(RouterConfig::from_toml("gate.toml", text, None)?)?;
//! router.run(&dunlin::GuardCondition::new())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod config;
mod flow;
pub mod import;
mod instances;
mod kind;
mod known;
mod open;
mod origins;
mod plan;
mod requests;
mod router;
mod stats;
mod status;

pub use config::{ConfigError, Problem, RouterConfig};
pub use dunlin_settings::pattern;
pub use router::{Forwarding, Progress, Refusal, RouteState, Router, RouterError};
pub use stats::{Dropped, FlowStats};
pub use status::{RouterStatus, STATUS_TOPIC};
