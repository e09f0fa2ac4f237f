//! Bytes on their way in and out: shared buffers, pools that reuse them, and the outbox in which a
//! state machine returns its datagrams.
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

mod arc;
mod memory;
mod outbox;
mod pool;
mod shared;

pub use memory::Memory;
pub use outbox::{Datagram, Outbox};
pub use pool::{BufMut, BufPool};
pub use shared::SharedBytes;
