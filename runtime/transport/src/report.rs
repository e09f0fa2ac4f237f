//! Counts of what was sent and received.

/// What became of the datagrams of one call of [`send`](crate::Transport::send). A datagram with
/// several destinations counts once for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendReport {
    /// Handed to the network.
    pub sent: usize,
    /// Dropped because the transport was full and the caller did not want to wait.
    pub full: usize,
    /// Refused by the network.
    pub failed: usize,
    /// Not for this transport.
    pub skipped: usize,
    /// Error number of the operating system for the last one refused.
    pub last_error: Option<i32>,
}

impl SendReport {
    /// Adds the counts of another call.
    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.full += other.full;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.last_error = other.last_error.or(self.last_error);
    }
}

/// Counters of a transport since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransportStats {
    /// Datagrams handed to the network, once per destination.
    pub sent_datagrams: u64,
    /// Octets of those.
    pub sent_octets: u64,
    /// System calls for those: fewer than datagrams where segmentation offload works.
    pub send_calls: u64,
    /// Datagrams dropped because the socket was full.
    pub send_full: u64,
    /// Datagrams the network refused.
    pub send_failed: u64,
    /// Runs of datagrams that the kernel refused to segment and that went out one by one.
    pub segmentation_refused: u64,
    /// Datagrams received.
    pub received_datagrams: u64,
    /// Octets of those.
    pub received_octets: u64,
    /// System calls that brought those.
    pub receive_calls: u64,
    /// Datagrams dropped because they did not fit a receive buffer.
    pub receive_truncated: u64,
    /// Datagrams the kernel dropped because nobody received them in time.
    pub receive_overflow: u64,
    /// Datagrams put into the memory of processes of this host, once per destination. None of them is among those above.
    pub shared_sent_datagrams: u64,
    /// Octets of those.
    pub shared_sent_octets: u64,
    /// Datagrams dropped because a receiver did not take those before.
    pub shared_send_full: u64,
    /// Datagrams that a receiver could not be sent: it is gone, or there is no memory.
    pub shared_send_failed: u64,
    /// Datagrams taken from the memory of other processes.
    pub shared_received_datagrams: u64,
    /// Octets of those.
    pub shared_received_octets: u64,
    /// Processes whose memory made no sense, and that are not listened to any more.
    pub shared_broken: u64,
    /// Files of shared memory that somebody has cut short while this process used them.
    pub shared_cut: u64,
}

impl TransportStats {
    /// The counts of both.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        let pairs = [
            (&mut self.sent_datagrams, other.sent_datagrams),
            (&mut self.sent_octets, other.sent_octets),
            (&mut self.send_calls, other.send_calls),
            (&mut self.send_full, other.send_full),
            (&mut self.send_failed, other.send_failed),
            (&mut self.segmentation_refused, other.segmentation_refused),
            (&mut self.received_datagrams, other.received_datagrams),
            (&mut self.received_octets, other.received_octets),
            (&mut self.receive_calls, other.receive_calls),
            (&mut self.receive_truncated, other.receive_truncated),
            (&mut self.receive_overflow, other.receive_overflow),
            (&mut self.shared_sent_datagrams, other.shared_sent_datagrams),
            (&mut self.shared_sent_octets, other.shared_sent_octets),
            (&mut self.shared_send_full, other.shared_send_full),
            (&mut self.shared_send_failed, other.shared_send_failed),
            (&mut self.shared_received_datagrams, other.shared_received_datagrams),
            (&mut self.shared_received_octets, other.shared_received_octets),
            (&mut self.shared_broken, other.shared_broken),
            (&mut self.shared_cut, other.shared_cut),
        ];
        for (sum, other) in pairs {
            *sum = sum.saturating_add(other);
        }
        self
    }
}
