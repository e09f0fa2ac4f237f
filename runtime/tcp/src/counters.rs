//! Counters that many threads add to.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dunlin_transport::{SendReport, TransportStats};

/// What happened to connections since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpStats {
    /// Opened by others.
    pub accepted: u64,
    /// Opened by this end.
    pub connected: u64,
    /// Ended because the other end made no sense, or was not who it has to be.
    pub refused: u64,
    /// Ended to make room for others.
    pub evicted: u64,
    /// Connections now, those that are being opened included.
    pub open: u64,
}

#[derive(Default)]
pub(crate) struct Counters {
    sent_datagrams: AtomicU64,
    sent_octets: AtomicU64,
    send_full: AtomicU64,
    send_failed: AtomicU64,
    pub(crate) received_datagrams: AtomicU64,
    pub(crate) received_octets: AtomicU64,
    pub(crate) receive_calls: AtomicU64,
    pub(crate) receive_overflow: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) connected: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) evicted: AtomicU64,
    pub(crate) open: AtomicU64,
}

/// Adds to a counter whose order with other memory does not matter.
pub(crate) fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Relaxed);
}

impl Counters {
    pub(crate) fn count_sent(&self, report: &SendReport, octets: usize) {
        add(&self.sent_datagrams, report.sent);
        add(&self.sent_octets, octets);
        add(&self.send_full, report.full);
        add(&self.send_failed, report.failed);
    }

    pub(crate) fn transport(&self) -> TransportStats {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        TransportStats {
            sent_datagrams: get(&self.sent_datagrams),
            sent_octets: get(&self.sent_octets),
            send_calls: get(&self.sent_datagrams),
            send_full: get(&self.send_full),
            send_failed: get(&self.send_failed),
            received_datagrams: get(&self.received_datagrams),
            received_octets: get(&self.received_octets),
            receive_calls: get(&self.receive_calls),
            receive_overflow: get(&self.receive_overflow),
            ..TransportStats::default()
        }
    }

    pub(crate) fn connections(&self) -> TcpStats {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        TcpStats {
            accepted: get(&self.accepted),
            connected: get(&self.connected),
            refused: get(&self.refused),
            evicted: get(&self.evicted),
            open: get(&self.open),
        }
    }
}
