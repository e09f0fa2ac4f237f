//! The mutex with a rank.

use core::fmt;
use core::ops::{Deref, DerefMut};

use crate::rank::HeldRank;
use crate::raw;

/// A mutex that may be locked only by a thread whose other locks all have lower ranks.
///
/// `RANK` is at most 63. Debug builds on the standard library panic on a violation, before they could
/// deadlock. A panic of a holder does not poison the lock.
pub struct RankedMutex<const RANK: u8, T> {
    raw: raw::Mutex<T>,
}

impl<const RANK: u8, T> RankedMutex<RANK, T> {
    const RANK_FITS: () = assert!(RANK < 64, "a rank is at most 63");

    /// A free lock around `value`.
    pub fn new(value: T) -> Self {
        let () = Self::RANK_FITS;
        Self { raw: raw::Mutex::new(value) }
    }

    /// Waits for the lock.
    ///
    /// # Panics
    /// In debug builds on the standard library, if the thread holds a lock of this or a higher rank.
    #[track_caller]
    pub fn lock(&self) -> RankedGuard<'_, RANK, T> {
        let held = HeldRank::enter();
        RankedGuard { guard: self.raw.lock(), held }
    }

    /// Takes the lock if it is free; the order of ranks holds here too.
    ///
    /// # Panics
    /// As [`lock`](Self::lock).
    #[track_caller]
    pub fn try_lock(&self) -> Option<RankedGuard<'_, RANK, T>> {
        let held = HeldRank::enter();
        self.raw.try_lock().map(|guard| RankedGuard { guard, held })
    }

    /// The value, without locking: the exclusive borrow proves that nobody else has it.
    pub fn get_mut(&mut self) -> &mut T {
        self.raw.get_mut()
    }

    /// Unwraps the value.
    pub fn into_inner(self) -> T {
        self.raw.into_inner()
    }
}

impl<const RANK: u8, T: Default> Default for RankedMutex<RANK, T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<const RANK: u8, T> fmt::Debug for RankedMutex<RANK, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankedMutex").field("rank", &RANK).finish_non_exhaustive()
    }
}

/// Access to the value of a [`RankedMutex`]; dropping it releases the lock. It stays on its thread.
pub struct RankedGuard<'a, const RANK: u8, T> {
    guard: raw::Guard<'a, T>,
    // Declared after the guard: the mark goes when the lock is free.
    #[allow(dead_code, reason = "kept for its destructor")]
    held: HeldRank<RANK>,
}

impl<const RANK: u8, T> Deref for RankedGuard<'_, RANK, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<const RANK: u8, T> DerefMut for RankedGuard<'_, RANK, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<const RANK: u8, T: fmt::Debug> fmt::Debug for RankedGuard<'_, RANK, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
