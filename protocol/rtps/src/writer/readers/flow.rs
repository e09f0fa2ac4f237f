//! RTPS 2.5 §8.4.9.2 "pushing": how much new data may be in flight to one reader, and what it has taken.

use dunlin_core::MonoTime;

use super::path_room::PathRoom;

/// What a writer with a window remembers of a reader. The window counts in it, see [`crate::writer::transmission`].
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// It has not said for long what it took: it is not waited for.
    pub(in crate::writer) overdue: bool,
    /// When that last began, and how often in a row that came soon after the last time.
    pub(in crate::writer) given_up_at: MonoTime,
    pub(in crate::writer) lapses: u32,
    /// What the path to it is found to hold besides the receiver's buffer.
    pub(in crate::writer) path: PathRoom,
    /// Octets of new data, counted since the writer was made, that it took or missed.
    pub(in crate::writer) drained: u64,
    /// Octets that may be in flight at least; for readers in shared memory more than for others.
    pub(in crate::writer) room: u64,
    /// What it said last about the room in its socket, and what of that counts.
    pub(in crate::writer) told: u32,
    pub(in crate::writer) in_socket: u64,
    /// Octets of the longest message that was sent to it through shared memory, for which its ring has room.
    longest_lossless: usize,
}

impl Flow {
    /// A reader that counts as having taken so much.
    pub(crate) fn new(drained: u64, room: u64) -> Self {
        Self {
            overdue: false,
            given_up_at: MonoTime::default(),
            lapses: 0,
            path: PathRoom::default(),
            drained,
            room,
            told: 0,
            in_socket: 0,
            longest_lossless: 0,
        }
    }

    /// Whether it is not waited for.
    pub(crate) const fn is_suspended(&self) -> bool {
        self.overdue
    }

    /// It is not waited for until it answers.
    pub(crate) fn suspend(&mut self, now: MonoTime) {
        (self.overdue, self.given_up_at) = (true, now);
    }

    /// Sets the octets that may be in flight at least; whether that is news.
    pub(crate) fn set_room(&mut self, room: u64) -> bool {
        core::mem::replace(&mut self.room, room) != room
    }

    /// Whether it says something new about the room in its socket.
    pub(crate) fn is_news(&self, told: u32) -> bool {
        self.told != told
    }

    /// Octets of the longest message that was sent to it through shared memory.
    pub(crate) fn longest_lossless(&self) -> usize {
        self.longest_lossless
    }

    /// A message of so many octets was sent to it through shared memory; whether none was longer.
    pub(crate) fn note_longest(&mut self, len: usize) -> bool {
        let longer = len > self.longest_lossless;
        if longer {
            self.longest_lossless = len;
        }
        longer
    }
}
