//! Which mappings are watched: a table that a signal handler can read while others change it.

use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// Most mappings of a process. A process with more gets no further ones, so data takes the network.
const ENTRIES: usize = 16_384;

/// Phases of an entry, in the low bits of its state; the rest counts how often the entry was used.
const FREE: usize = 0;
/// Taken, without a range yet.
const CLAIMED: usize = 1;
const LIVE: usize = 2;
/// The handler is putting zeros in its place.
const LOSING: usize = 3;
const LOST: usize = 4;
const PHASE: usize = 7;

/// One mapping.
struct Entry {
    state: AtomicUsize,
    start: AtomicUsize,
    len: AtomicUsize,
}

/// The table.
pub(super) struct Table {
    entries: [Entry; ENTRIES],
    /// No entry from here on was ever used.
    used: AtomicUsize,
}

pub(super) static TABLE: Table = Table {
    entries: [const {
        Entry { state: AtomicUsize::new(FREE), start: AtomicUsize::new(0), len: AtomicUsize::new(0) }
    }; ENTRIES],
    used: AtomicUsize::new(0),
};

/// What is known of an address at which an access failed.
pub(super) enum Verdict<'a> {
    /// It is in no mapping of the table.
    Elsewhere,
    /// Its mapping is lost already, or about to be.
    Known,
    /// Its mapping is lost now, and the caller is to put something else there.
    Lost(Losing<'a>),
}

/// A mapping that is being replaced.
pub(super) struct Losing<'a> {
    entry: &'a Entry,
    state: usize,
}

impl Losing<'_> {
    pub(super) fn range(&self) -> (usize, usize) {
        (self.entry.start.load(Ordering::Relaxed), self.entry.len.load(Ordering::Relaxed))
    }

    /// Ends it. Where nothing could be put there the mapping is as it was.
    pub(super) fn conclude(self, done: bool) {
        let phase = if done { LOST } else { LIVE };
        self.entry.state.store((self.state & !PHASE) | phase, Ordering::Release);
    }
}

impl Entry {
    fn claim(&self) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        let claimed = (state & !PHASE) | CLAIMED;
        let free = state & PHASE == FREE;
        free && self.state.compare_exchange(state, claimed, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Its state, if this address is in its range.
    fn state_if_at(&self, at: usize) -> Option<usize> {
        let state = self.state.load(Ordering::Acquire);
        let range = self.start.load(Ordering::Relaxed)..;
        let len = self.len.load(Ordering::Relaxed);
        // Orders the range before the second look: if that finds the same use the range is the one of this use.
        fence(Ordering::Acquire);
        let same = (self.state.load(Ordering::Relaxed) ^ state) & !PHASE == 0;
        let there = range.contains(&at) && at - range.start < len;
        (same && there && state & PHASE >= LIVE).then_some(state)
    }
}

impl Table {
    /// Notes that an access at this address failed.
    pub(super) fn lose(&self, at: usize) -> Verdict<'_> {
        let used = self.used.load(Ordering::Acquire);
        for entry in &self.entries[..used] {
            let Some(state) = entry.state_if_at(at) else { continue };
            let losing = (state & !PHASE) | LOSING;
            let swap = |from| entry.state.compare_exchange(from, losing, Ordering::AcqRel, Ordering::Relaxed);
            return if state & PHASE == LIVE && swap(state).is_ok() {
                Verdict::Lost(Losing { entry, state: losing })
            } else {
                Verdict::Known
            };
        }
        Verdict::Elsewhere
    }
}

impl Table {
    /// Loses all mappings, with what `replace` does to a range. Only where no other thread is: in a child of `fork`.
    pub(super) fn lose_all(&self, replace: impl Fn(usize, usize) -> bool) {
        for entry in &self.entries[..self.used.load(Ordering::Acquire)] {
            let state = entry.state.load(Ordering::Acquire);
            // One that was being lost by a thread that is not here is lost by this.
            if !matches!(state & PHASE, LIVE | LOSING) {
                continue;
            }
            if replace(entry.start.load(Ordering::Relaxed), entry.len.load(Ordering::Relaxed)) {
                entry.state.store((state & !PHASE) | LOST, Ordering::Release);
            }
        }
    }
}

/// The entry of a mapping.
#[derive(Debug)]
pub(crate) struct Watch(usize);

impl Watch {
    /// Enters a mapping; `None` if there are too many.
    pub(crate) fn new(start: usize, len: usize) -> Option<Self> {
        let index = TABLE.entries.iter().position(Entry::claim)?;
        TABLE.used.fetch_max(index + 1, Ordering::AcqRel);
        let entry = &TABLE.entries[index];
        // Whoever reads the new range also reads that the entry is used anew.
        fence(Ordering::Release);
        entry.start.store(start, Ordering::Relaxed);
        entry.len.store(len, Ordering::Relaxed);
        let watch = Self(index);
        watch.enter(LIVE);
        Some(watch)
    }

    fn entry(&self) -> &'static Entry {
        &TABLE.entries[self.0]
    }

    fn enter(&self, phase: usize) {
        let state = self.entry().state.load(Ordering::Relaxed);
        self.entry().state.store((state & !PHASE) | phase, Ordering::Release);
    }

    /// True if what is there is not the file any more. Whoever has read something there looks at this after that: then it was
    /// the file if this says no.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        // Also keeps the compiler from looking before the octets were read.
        fence(Ordering::Acquire);
        self.entry().state.load(Ordering::Relaxed) & PHASE != LIVE
    }

    /// The file is about to be mapped there again. To be called by nobody else at the same time.
    pub(crate) fn is_back(&self) {
        self.enter(LIVE);
    }

    /// The file could not be mapped there again.
    pub(crate) fn stays_lost(&self) {
        self.enter(LOST);
    }

    /// Takes it out of the table. Nothing else may be done with it after that.
    pub(crate) fn leave(&self) {
        let state = self.entry().state.load(Ordering::Relaxed);
        self.entry().state.store((state & !PHASE).wrapping_add(PHASE + 1), Ordering::Release);
    }
}
