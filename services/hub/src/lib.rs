//! Discovery servers and daemons: the centralised and the federated architecture.
//!
//! Participants with `discovery.architecture = "centralised"` announce themselves to the servers that `discovery.servers` names, and to
//! nobody else. A [`Server`] learns their endpoints, and introduces to each other those that write and read the same topic. From
//! then on they speak to each other directly: data takes no way over the server, and nothing ends when the server does.
//!
//! Several servers need not know each other: every participant speaks to all of them.
//!
//! Participants with `discovery.architecture = "federated"` speak to the [`Daemon`] of their host alone. It announces them to others with
//! itself as the place to send to, and passes on what comes and goes, without taking part in reliability. See
//! `docs/architectures.md`.
//!
//! ```
//! use dunlin_hub::{Server, ServerConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut config = ServerConfig { port: Some(21_811), ..ServerConfig::new(7) };
//! config.base.set("network.interfaces", "lo")?;
//! let server = Server::start(config)?;
//! assert_eq!(server.status().clients, 0);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod daemon;
mod foreign;
mod server;

pub use daemon::{Daemon, DaemonConfig, DaemonError, DaemonStatus};
pub use foreign::ForeignClient;
pub use server::{Server, ServerConfig, ServerStatus, StartError};
