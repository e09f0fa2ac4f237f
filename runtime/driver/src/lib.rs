//! Threads, clocks and sockets around the passive engine: who sends, who receives, who waits.
//!
//! The thread that causes output sends it. Receiving threads block on their sockets, deliver straight
//! into reader caches, send what that causes without blocking, and call listeners after every lock is
//! released. One timer thread serves every deadline. Participants of one process in one domain with
//! the same settings share sockets and threads.
#![forbid(unsafe_code)]

mod clock;
mod config;
mod context;
mod group;
mod identity;
mod member;
mod session;
mod timer;

pub use config::{DriverConfig, JoinError, peer_locators};
pub use context::on_receive_thread;
pub use session::Session;

use dunlin_engine::Event;

/// Takes what the engine has to tell. Called with no lock held, on the thread that caused the event.
pub trait EventSink: Send + Sync {
    /// One fact, in the order in which they became true.
    fn on_event(&self, event: &Event);
}
