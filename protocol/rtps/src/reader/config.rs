//! RTPS 2.5 §8.4.10 "RTPS StatefulReader": configuration of readers and of writer proxies.

use alloc::sync::Arc;

use dunlin_core::{Duration, Guid, Locator, VendorId};

use super::ReceiveRoom;

/// Configuration of a [`Reader`](crate::Reader).
#[derive(Clone, Debug)]
pub struct ReaderConfig {
    /// The reader.
    pub guid: Guid,
    /// Requests RELIABLE.
    pub reliable: bool,
    /// What is for readers of other participants arrives here too, as behind a daemon.
    pub shares_place: bool,
    /// What the application is shown is acknowledged when it [commits](crate::Reader::commit) it, not when it arrives.
    pub acknowledge_on_commit: bool,
    /// Time from a HEARTBEAT that wants an answer to the ACKNACK.
    pub heartbeat_response_delay: Duration,
    /// ACKNACKs that say nothing new are at least this far apart; it doubles while nothing changes.
    pub ack_suppression: Duration,
    /// Time from a match to the first ACKNACK, unless the writer is heard before; zero sends it at the match.
    pub preemptive_ack_delay: Duration,
    /// What was requested and has not arrived is requested again after this time even without a HEARTBEAT; it doubles
    /// while nothing changes.
    pub nack_retry_period: Duration,
    /// Changes kept per writer until the ones before them arrive.
    pub max_out_of_order_samples: usize,
    /// Octets of those changes, per writer.
    pub max_out_of_order_bytes: usize,
    /// Octets of those changes of all writers together.
    pub max_out_of_order_bytes_total: usize,
    /// Partly received changes kept per reliable writer; a best-effort writer has at most two.
    pub max_partial_samples: usize,
    /// Octets of partly received changes, per writer; a larger change is never received.
    pub max_reassembly_bytes_per_writer: usize,
    /// Octets of partly received changes of all writers together.
    pub max_reassembly_bytes: usize,
    /// Octets of reassembly buffers kept for reuse.
    pub max_pooled_bytes: usize,
    /// What all readers behind the same receive buffers tell their writers of the room there, each its part.
    pub receive_room: ReceiveRoom,
}

impl Default for ReaderConfig {
    fn default() -> Self {
        Self {
            guid: Guid::UNKNOWN,
            reliable: true,
            shares_place: false,
            acknowledge_on_commit: false,
            heartbeat_response_delay: Duration::ZERO,
            ack_suppression: Duration::from_millis(1),
            preemptive_ack_delay: Duration::from_millis(10),
            nack_retry_period: Duration::from_millis(100),
            max_out_of_order_samples: 1024,
            max_out_of_order_bytes: 16 << 20,
            max_out_of_order_bytes_total: 64 << 20,
            max_partial_samples: 16,
            max_reassembly_bytes_per_writer: 64 << 20,
            max_reassembly_bytes: 128 << 20,
            max_pooled_bytes: 16 << 20,
            receive_room: ReceiveRoom::default(),
        }
    }
}

/// A matched writer (RTPS 2.5 §8.4.10.4 WriterProxy).
#[derive(Clone, Debug, Default)]
pub struct WriterProxyConfig {
    /// The writer.
    pub guid: Guid,
    /// Offers RELIABLE; without effect on a best-effort reader.
    pub reliable: bool,
    /// Both sides are durable: the history is expected.
    pub durable: bool,
    /// A change is shown once a HEARTBEAT has announced it, for which the writer is asked; one that a HEARTBEAT does not reach is dropped.
    pub only_announced: bool,
    /// Where ACKNACKs go.
    pub unicast: Arc<[Locator]>,
    /// Where ACKNACKs go when there is no unicast locator.
    pub multicast: Arc<[Locator]>,
    /// Maker of its implementation.
    pub vendor: VendorId,
}
