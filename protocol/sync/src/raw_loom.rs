//! The mutex of the model checker.

use std::sync::PoisonError;

use loom::sync::Mutex as LoomMutex;

/// The guard of [`Mutex`].
pub(crate) type Guard<'a, T> = loom::sync::MutexGuard<'a, T>;

/// A mutex whose every interleaving `loom` explores.
pub(crate) struct Mutex<T>(LoomMutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(LoomMutex::new(value))
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.0.try_lock().ok()
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
