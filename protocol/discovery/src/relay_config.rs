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
}

impl Default for RelayConfig {
    fn default() -> Self {
        Self { addresses: Vec::new(), max_applications: 256, rate: None, bundle_delay: Duration::ZERO }
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
    /// Submessages from somebody who is not known, or not from where he speaks.
    pub strangers: u64,
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
}
