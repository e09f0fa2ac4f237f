//! The standard library's mutex. A panic while the lock is held does not poison it: the protocol cores have
//! no invariants across calls that a panic in a caller could break, and refusing service would turn one
//! failed call into a dead participant.

use std::sync::{Mutex as StdMutex, PoisonError, TryLockError};

/// The guard of [`Mutex`].
pub(crate) type Guard<'a, T> = std::sync::MutexGuard<'a, T>;

/// A mutex that ignores poisoning.
pub(crate) struct Mutex<T>(StdMutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(StdMutex::new(value))
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
