//! RTPS 2.5 §8.4 "Behavior Module": writers and readers as state machines without input or output.
//!
//! [`Writer`] and [`Reader`] are plain `&mut self` values. Time, the history and the datagrams to send are arguments:
//! a call appends what it wants sent to an [`Outbox`](dunlin_buf::Outbox), and [`Writer::next_deadline`] and
//! [`Reader::next_deadline`] say when `on_timer` has work. [`StatelessWriter`] and [`StatelessReader`] carry
//! participant discovery, which has no matched peers.
//!
//! Every range of sequence numbers a peer announces stays an interval, and everything that is kept for a peer is
//! bounded by configuration.
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

mod change;
mod compat;
mod count;
mod delivery;
mod emit;
mod lazy;
mod local_delivery;
mod pacer;
mod proxy_index;
mod reader;
mod remembered;
mod stateless;
mod stats;
mod timing;
mod writer;

#[cfg(test)]
mod tests;

pub use change::{Change, ChangeKind, WriterHistory};
pub use delivery::{Delivery, DeliverySink, Received};
pub use emit::MAX_READER_INLINE_QOS;
pub use local_delivery::LocalChange;
pub use pacer::{Pacer, Pacing};
pub use reader::{Reader, ReaderConfig, ReceiveRoom, Run, Source, WriterProxyConfig};
pub use remembered::Life;
pub use stateless::{StatelessReader, StatelessWriter};
pub use stats::{ReaderStats, WriterStats};
pub use writer::{AckOutcome, HeartbeatCounts, ReaderFilter, ReaderProxyConfig, Writer, WriterConfig};
