//! The one way to lock a mutex of the standard library here.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also where a thread has panicked with the lock: what a mutex guards here is whole between two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
