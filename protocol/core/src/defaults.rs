//! Defaults that several layers have settings for.

use crate::Duration;

/// How long a participant is kept without a sign of life.
pub const LEASE_DURATION: Duration = Duration::from_secs(10);
/// Time between announcements of a participant.
pub const ANNOUNCEMENT_PERIOD: Duration = Duration::from_secs(3);
/// Octets of the largest datagram: an Ethernet frame without fragmentation by IP.
pub const MAX_MESSAGE_SIZE: usize = 1472;
