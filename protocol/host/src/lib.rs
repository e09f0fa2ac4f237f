//! The glue between the passive [`Participant`] and whatever it runs on: threads, a simulator, a fuzz target, the loop of a
//! program without threads.
//!
//! What it runs on implements [`Port`]: clocks, a way to send, a way to tell events, and a place for one [`State`]. Everything
//! that happens to a participant then goes through the functions here, in this order:
//!
//! 1. [`call`] for the application and [`drive`] for what arrives and for timers lend the engine an empty
//!    [`Output`](dunlin_engine::Output). [`write()`] lets a sample join others that wait, or takes the turn of the writer.
//! 2. The datagrams of the output are sent. Then the turn ends.
//! 3. The change is delivered to readers of this process, if the writer offers it for that.
//! 4. Datagrams for this process and events are queued. The outermost call works the queue off before it returns, so
//!    nothing recurses: not listeners that write, and not participants that answer themselves.
//!
//! What follows from what in one call is limited: after [`MAX_CHAIN`] steps the rest is [deferred](Port::defer), so that
//! listeners that answer each other do not keep the call for ever.
//!
//! No function here takes a lock, allocates in steady state or calls through a pointer; a port that keeps its state per thread
//! needs no lock either.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

extern crate alloc;

mod call;
mod port;
mod queue;
mod state;
mod write;

pub use call::{call, conclude, drive, receive, run_timers, send, with_output};
#[cfg(doc)]
use dunlin_engine::Participant;
pub use port::{Blocking, Port, SendMode};
pub use queue::{MAX_CHAIN, Work, work_off};
pub use state::State;
pub use write::{AtHighWater, WriteWait, end_instances, end_set, flush, try_write, write, write_blocking};
