//! What a daemon may spend on the applications of its host, and what it counts. RTPS 2.5 §8.5.3 has no such role.

use alloc::vec::Vec;
use core::net::IpAddr;

use dunlin_core::Duration;

/// What a daemon is told at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayConfig {
    /// Addresses of applications besides those of this host, as of containers.
    pub addresses: Vec<IpAddr>,
    /// Most participants of this host for which it speaks.
    pub max_applications: usize,
    /// Octets of data that each of them may send in a second, and as many at once; what is more is dropped and counted.
    pub rate: Option<u64>,
    /// How long a message to another daemon waits for others that go there too; zero: not at all.
    pub bundle_delay: Duration,
    /// In which order, and how fast, data leaves for other hosts.
    pub shaping: Shaping,
}

/// Bands at most.
pub const MAX_BANDS: usize = 8;

/// A token bucket: how much may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Octets a second, with the headers of IP and UDP.
    pub rate: u64,
    /// Octets that may leave at once after a pause; more than a datagram.
    pub burst: u64,
}

/// Data of writers whose TRANSPORT_PRIORITY (DDS 1.4 §2.2.3.15) is in one range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Band {
    /// The lowest priority in it; what is lower than all bands belongs to the lowest.
    pub from: i32,
    /// Its own limit.
    pub limit: Option<Limit>,
    /// Octets that may wait; what finds no room is dropped and counted, and reliable writers repair it.
    pub queue: usize,
    /// The differentiated services code point of its datagrams (RFC 2474); `None`: the priority of each writer.
    pub dscp: Option<u8>,
}

impl Default for Band {
    fn default() -> Self {
        Self { from: 0, limit: None, queue: 4 * 1024 * 1024, dscp: None }
    }
}

/// What decides when data leaves for other hosts. Nothing waits as long as there is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shaping {
    /// The bands, [`MAX_BANDS`] at most; none is one for all.
    pub bands: Vec<Band>,
    /// Of everything together, which is that of the interface where there is one.
    pub all: Option<Limit>,
    /// Of what goes to one address and port of another host.
    pub destination: Option<Limit>,
}

/// What a band has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BandStats {
    /// The lowest TRANSPORT_PRIORITY in it.
    pub from: i32,
    /// Datagrams that have left, one for each place that they went to.
    pub passed: u64,
    /// Octets of these.
    pub octets: u64,
    /// Those of them that had to wait.
    pub delayed: u64,
    /// Datagrams dropped because too many octets waited.
    pub dropped: u64,
    /// Now: datagrams that wait.
    pub waiting: u64,
    /// Now: octets that wait.
    pub waiting_octets: u64,
    /// The longest time that a datagram has waited, in nanoseconds.
    pub longest_wait: u64,
}

impl Default for RelayConfig {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            max_applications: 256,
            rate: None,
            bundle_delay: Duration::ZERO,
            shaping: Shaping::default(),
        }
    }
}

/// What a daemon has passed on, and what not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RelayStats {
    /// Participants of this host for which it speaks now.
    pub applications: u64,
    /// Participants of this host that it has refused because there were too many.
    pub applications_refused: u64,
    /// Datagrams taken in to be passed on.
    pub taken: u64,
    /// Datagrams passed on, one for each place that they went to.
    pub passed: u64,
    /// Octets of these.
    pub octets: u64,
    /// Submessages whose source participant is unknown, or known at another address than the sender's.
    pub unknown_source: u64,
    /// Submessages for somebody who is not known here, or who is not the affair of who sent them.
    pub unroutable: u64,
    /// Datagrams dropped because an application sent more than it may.
    pub over_rate: u64,
    /// Datagrams of several messages sent to other daemons.
    pub bundles: u64,
    /// Messages in them.
    pub bundled: u64,
    /// Announcements of participants in their name.
    pub announcements: u64,
    /// Goodbyes in the name of participants.
    pub goodbyes: u64,
    /// What left for other hosts, by bands, the lowest first.
    pub bands: [Option<BandStats>; MAX_BANDS],
}
