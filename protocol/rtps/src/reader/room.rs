//! RTPS 2.5 §9.4.5.1.1 (submessages of vendors): what the sockets of a process hold of what is in flight to it, and who shares it.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Octets for which the receive buffers behind some readers have room, in equal parts for the reliable writers that these are
/// matched with. Clones are the same room. The default says nothing.
#[derive(Clone, Debug, Default)]
pub struct ReceiveRoom(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    octets: usize,
    writers: AtomicUsize,
}

impl ReceiveRoom {
    /// Room for so many octets; 0 if it is not known.
    #[must_use]
    pub fn new(octets: usize) -> Self {
        Self(Arc::new(Shared { octets, writers: AtomicUsize::new(0) }))
    }

    /// The part of each writer, 0 if it is not known.
    pub(super) fn part(&self) -> u32 {
        let part = self.0.octets.checked_div(self.0.writers.load(Relaxed)).unwrap_or(0);
        u32::try_from(part).unwrap_or(u32::MAX)
    }
}

/// The writers of one reader that share the room, as long as it is there.
#[derive(Debug)]
pub(super) struct Shares {
    room: ReceiveRoom,
    writers: usize,
}

impl Shares {
    pub(super) const fn of(room: ReceiveRoom) -> Self {
        Self { room, writers: 0 }
    }

    pub(super) fn add(&mut self) {
        self.writers = self.writers.saturating_add(1);
        self.room.0.writers.fetch_add(1, Relaxed);
    }

    pub(super) fn remove(&mut self) {
        if self.writers > 0 {
            self.writers = self.writers.saturating_sub(1);
            self.room.0.writers.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for Shares {
    fn drop(&mut self) {
        self.room.0.writers.fetch_sub(self.writers, Relaxed);
    }
}
