//! Defaults and bounds that several layers have settings for.

use crate::{Duration, LocatorKind};

/// How long a participant is kept without a sign of life.
pub const LEASE_DURATION: Duration = Duration::from_secs(10);
/// A participant with a shorter lease would not be known long enough for anything: nobody asks for that but in another's name.
pub const SHORTEST_LEASE: Duration = Duration::from_millis(100);
/// Time between announcements of a participant.
pub const ANNOUNCEMENT_PERIOD: Duration = Duration::from_secs(3);
/// Octets of the largest datagram: an Ethernet frame without fragmentation by IP.
pub const MAX_MESSAGE_SIZE: usize = 1472;
/// Octets of the longest datagram that there can be: what UDP carries over IPv4.
pub const LARGEST_DATAGRAM: usize = 65_507;
/// Octets of the longest datagram that is sent where the way carries more than usual, as within a host, and of the longest fragment:
/// a little less than UDP has.
pub const LONG_DATAGRAM: usize = 65_000;
/// Octets from which on a sample is large to its writer: it waits for room before it is serialized, and is woken for each.
pub const LARGE_SAMPLE: usize = 64 << 10;
/// The highest participant index whose ports lie inside the block of the domain (RTPS 2.5 §9.6.2.3).
pub const MAX_PARTICIPANT_INDEX: u32 = 119;
/// Kinds of locators that carry data alone, once the path was opened, whatever transports there are.
pub const OPENED_KINDS: [LocatorKind; 1] = [LocatorKind::SHARED_MEMORY];
