//! Paths: what is known of the way to a place, whichever transport it is of.

use core::fmt::Debug;

use crate::{Locator, LocatorKind};

/// The way to one place. The transport that carries it describes it; whoever sends decides by it, and asks no other question
/// about transports. A locator names a path: it says where to, and its kind says which transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// The transport.
    pub kind: LocatorKind,
    /// Octets of the largest message that arrives in one piece; 0 if it is no larger than what the participant usually sends.
    pub max_message: usize,
    /// Octets that may wait on the way beside one message. What waits there is not lost, and arrives in the order in which it was
    /// sent: sending waits for room, or is refused. 0 if there is no such room, or it is not known.
    pub room: usize,
    /// Whether it ends on this host. A path that carries long messages need not.
    pub same_host: bool,
    /// Whether longer messages than usual leave in several frames, of which each may be lost, and the message with it.
    pub in_frames: bool,
}

impl Path {
    /// Octets that may be in flight within a process: nothing is lost there, but what a reader has no room for shall not be
    /// offered to it without end.
    const ROOM_IN_PROCESS: usize = 512 * 1024;

    /// A path of which nothing is known.
    #[must_use]
    pub const fn unknown(kind: LocatorKind) -> Self {
        Self { kind, max_message: 0, room: 0, same_host: false, in_frames: false }
    }

    /// The path to a participant of this process.
    #[must_use]
    pub const fn in_process() -> Self {
        Self {
            kind: LocatorKind::LOCAL,
            max_message: usize::MAX,
            room: Self::ROOM_IN_PROCESS,
            same_host: true,
            in_frames: false,
        }
    }

    /// Whether what has left waits to be taken instead of being lost.
    #[must_use]
    pub const fn is_lossless(&self) -> bool {
        self.room > 0
    }

    /// Octets of the largest message if that is more than `usual` and none can be lost: a change need not be in fragments there,
    /// however long it is.
    #[must_use]
    pub const fn whole_changes(&self, usual: usize) -> Option<usize> {
        if self.is_lossless() && self.max_message > usual { Some(self.max_message) } else { None }
    }
}

/// Who describes paths.
pub trait Paths: Debug + Send + Sync {
    /// The path to a place. Asked for each large change, so it must take no time.
    fn path(&self, to: &Locator) -> Path;
}
