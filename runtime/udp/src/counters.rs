//! Counters that many threads add to.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dunlin_transport::TransportStats;

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) sent_datagrams: AtomicU64,
    pub(crate) sent_octets: AtomicU64,
    pub(crate) send_calls: AtomicU64,
    pub(crate) send_full: AtomicU64,
    pub(crate) send_failed: AtomicU64,
    pub(crate) segmentation_refused: AtomicU64,
    pub(crate) received_datagrams: AtomicU64,
    pub(crate) received_octets: AtomicU64,
    pub(crate) receive_calls: AtomicU64,
    pub(crate) receive_truncated: AtomicU64,
}

/// Adds to a counter whose order with other memory does not matter.
pub(crate) fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Relaxed);
}

impl Counters {
    pub(crate) fn read(&self, receive_overflow: u64) -> TransportStats {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        TransportStats {
            sent_datagrams: get(&self.sent_datagrams),
            sent_octets: get(&self.sent_octets),
            send_calls: get(&self.send_calls),
            send_full: get(&self.send_full),
            send_failed: get(&self.send_failed),
            segmentation_refused: get(&self.segmentation_refused),
            received_datagrams: get(&self.received_datagrams),
            received_octets: get(&self.received_octets),
            receive_calls: get(&self.receive_calls),
            receive_truncated: get(&self.receive_truncated),
            receive_overflow,
            ..TransportStats::default()
        }
    }
}
