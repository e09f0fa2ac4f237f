//! What can be chosen.

use std::path::PathBuf;

/// Who may use the files that a process makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    /// Processes of the same user.
    #[default]
    User,
    /// Those of the same group as well.
    Group,
    /// Everybody on the host who can reach the folder.
    Everyone,
}

impl Access {
    /// Permission bits of a file.
    #[must_use]
    pub const fn mode(self) -> u32 {
        match self {
            Self::User => 0o600,
            Self::Group => 0o660,
            Self::Everyone => 0o666,
        }
    }
}

/// How shared memory is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShmConfig {
    /// Whether it is used at all.
    pub enabled: bool,
    /// The folder of the files. Processes that share it find each other, also from different containers.
    pub directory: PathBuf,
    /// Octets of the ring to each receiver, once it has got a message of more than 64 KiB; it begins with 1 MiB at most, and
    /// grows to eight times this, or 32 MiB, where a message is longer than half of it. A power of two from 256 KiB to
    /// 256 MiB; others are rounded up to one.
    pub ring_size: u32,
    /// Who may use the files.
    pub access: Access,
    /// Whether this process goes on when somebody cuts such a file short. It then has a handler for SIGBUS, which passes on what
    /// is not of a file of shared memory.
    pub sigbus_handler: bool,
}

/// Room for three of the largest messages.
#[cfg(all(target_os = "linux", not(loom)))]
pub(crate) const MIN_RING: u32 = 1 << 18;
#[cfg(all(target_os = "linux", not(loom)))]
pub(crate) const MAX_RING: u32 = 1 << 28;
/// A ring begins with at most so much.
#[cfg(all(target_os = "linux", not(loom)))]
const FIRST_RING: u32 = 1 << 20;
/// A message longer than this part of the first ring needs one of full size, because the protocol then counts on the room
/// there: anything that is no datagram of a network.
#[cfg(all(target_os = "linux", not(loom)))]
const FIRST_PART: u32 = 16;
/// A ring grows to so many times its full size for messages that need it.
#[cfg(all(target_os = "linux", not(loom)))]
const GROWTH: u32 = 8;
/// No message is longer, however large the ring.
#[cfg(all(target_os = "linux", not(loom)))]
pub(crate) const MAX_MESSAGE: usize = 16 << 20;

impl ShmConfig {
    /// Octets of a ring of full size.
    #[cfg(all(target_os = "linux", not(loom)))]
    pub(crate) fn capacity(&self) -> u32 {
        self.ring_size.clamp(MIN_RING, MAX_RING).next_power_of_two()
    }

    /// Octets of a ring in which a message of this length is to find room, beside others.
    #[cfg(all(target_os = "linux", not(loom)))]
    pub(crate) fn capacity_for(&self, len: usize) -> u32 {
        let full = self.capacity();
        let first = full.min(FIRST_RING);
        if len <= (first / FIRST_PART) as usize {
            return first;
        }
        let mut capacity = full;
        while (crate::ring::longest(capacity) as usize) < len && capacity < self.largest() {
            capacity *= 2;
        }
        capacity
    }

    /// Octets of the largest ring.
    #[cfg(all(target_os = "linux", not(loom)))]
    fn largest(&self) -> u32 {
        let most = (2 * MAX_MESSAGE) as u32;
        self.capacity().saturating_mul(GROWTH).min(most).max(self.capacity())
    }

    /// Octets of half a ring of full size.
    #[cfg(all(target_os = "linux", not(loom)))]
    pub(crate) fn room(&self) -> usize {
        (crate::ring::longest(self.capacity()) as usize).min(MAX_MESSAGE)
    }

    /// Octets of the longest message, if no ring may grow to more than `most` octets.
    #[cfg(all(target_os = "linux", not(loom)))]
    pub(crate) fn longest(&self, most: u64) -> usize {
        let mut capacity = self.largest();
        while capacity > self.capacity() && u64::from(capacity) > most {
            capacity /= 2;
        }
        (crate::ring::longest(capacity) as usize).min(MAX_MESSAGE)
    }
}

impl Default for ShmConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            directory: PathBuf::from("/dev/shm/dunlin"),
            ring_size: 1 << 22,
            access: Access::User,
            sigbus_handler: true,
        }
    }
}
