//! What drives the passive engine: threads, clocks, sockets. Threads are a [`Port`](dunlin_host::Port): what a call sends and
//! causes, and in which order, is the same as in the simulator (`dunlin-host`).
//!
//! [`Session::join`] makes a participant and attaches it to the receive group of its process, domain and
//! transport and few threads, however many participants share it: `dunlin-rx-meta` receives what is for discovery, and
//! `dunlin-timer` sleeps until the next deadline of any of them. Each channel of user data has a thread from the first
//! datagram on that it is for, which until then `dunlin-rx-meta` watches: `dunlin-rx-data`, `dunlin-rx-mcast` (multicast);
//! `dunlin-rx-shm` is there once a peer shares memory. They wait as [`Waiting`] says and hand what arrives to every
//! participant of the group.
//!
//! There is no sending thread. Whoever causes output sends it: an application thread in
//! [`Session::write`] and [`Session::run`], where a full socket makes it wait; a library thread without ever
//! waiting. Events are told to the [`EventSink`] on the thread that caused them, when it holds no lock and
//! has sent everything. What they cause in turn, and what goes from one endpoint of a participant to another,
//! waits in a queue of the thread until the call that caused it is done, so nothing recurses.
//!
//! A participant [without threads](Threads::Caller) has none of these: who calls [`Session::pump`] does their work.
//!
//! All this is so on the real machine. On one that a simulator makes up, see [`machine`], there are no threads of the
//! library: the simulator calls in their place.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod clock;
mod config;
mod group_member;
mod identity;
mod limiter;
mod listeners;
mod lock;
pub mod log;
pub mod machine;
mod parking;
mod platform;
mod pumping;
mod receive_group;
mod session;
mod sync;
mod thread;
mod thread_port;
mod timer;
mod waiting;

pub use clock::now;
pub use config::{
    DAEMON_INDEX, DriverConfig, JoinError, SERVER_PORT, TCP_PEER, daemon_locators, daemon_on_loopback,
    peer_locators, server_locators, server_port,
};
pub use dunlin_host::{AtHighWater, WriteWait};
pub use group_member::EventSink;
pub use limiter::{Again, Limiter};
pub use listeners::{listeners_anywhere, listeners_here};
pub use machine::CannotWait;
pub use pumping::PumpError;
pub use session::Session;
pub use thread_port::{cannot_wait, on_receive_thread};
pub use waiting::{ReceiveConfig, Threads, Waiting};
