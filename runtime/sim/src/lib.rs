//! A deterministic simulator: participants on a virtual clock and a virtual network, all from one seed.
//!
//! A [`World`] has one thread, one queue of events ordered by time, and one source of chance. The
//! [`Participant`](dunlin_engine::Participant) in each of its nodes is the one that runs on real machines, called
//! through the same functions (`dunlin-host`); only clock and network are replaced. The same seed gives the same run, to the last bit,
//! so whatever fails can be looked at again, see [`for_each_seed`].
//!
//! The network between two nodes is a [`PathConfig`]: delay, loss (independent and in bursts), duplication, reordering,
//! a rate with a queue, the longest datagram that passes, and flipped bits. Paths can be cut in one direction or both;
//! nodes can crash, restart under a new or the old name, stand still for a while, change their address or sit behind a
//! router that translates addresses; groups fail for all or for one node; each node has its own wall clock, which may
//! jump and drift, and its own byte order.
//!
//! ```
//! use dunlin_core::Duration;
//! use dunlin_sim::{NetworkConfig, NodeConfig, PathConfig, World};
//!
//! let path = PathConfig { loss_ppm: 200_000, reorder_ppm: 50_000, ..PathConfig::default() };
//! let mut world = World::new(7, NetworkConfig::of(path));
//! let (one, other) = (world.add_node(NodeConfig::default()), world.add_node(NodeConfig::default()));
//! let found = |world: &mut World| {
//!     [one, other].iter().all(|node| world.participant(*node).discovered_participants().len() == 1)
//! };
//! world.run_until(found, Duration::from_secs(60)).expect("announcements are repeated");
//! ```
//!
//! Participants may also live outside, see [`World::add_host`]: then the world is their clock and network alone.
//!
//! Nothing here reads a clock, opens a socket, starts a thread or looks at the environment.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod address;
mod application;
mod byte_order;
mod commit;
mod fault;
mod host;
mod hosts;
mod network;
mod node;
mod path;
mod port;
mod queue;
mod seeds;
mod traffic;
mod world;

pub use address::Nat;
pub use commit::{commit, commit_in};
pub use network::NetworkConfig;
pub use node::{Identity, NodeConfig, NodeId};
pub use path::{Burst, Delay, PathConfig};
pub use seeds::for_each_seed;
pub use traffic::{Datagram, NetworkStats, Traffic};
pub use world::{TimedOut, World};
