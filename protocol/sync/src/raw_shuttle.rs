//! The mutex of the random scheduler.

use std::sync::{PoisonError, TryLockError};

use shuttle::sync::Mutex as ShuttleMutex;

/// The guard of [`Mutex`].
pub(crate) type Guard<'a, T> = shuttle::sync::MutexGuard<'a, T>;

/// A mutex at which `shuttle` may switch threads.
pub(crate) struct Mutex<T>(ShuttleMutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ShuttleMutex::new(value))
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
