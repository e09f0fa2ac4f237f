//! An immutable value that many read and a few replace.

use alloc::sync::Arc;
use core::fmt;

use crate::raw;

/// A shared pointer to an immutable value, replaced as a whole.
///
/// Readers clone the pointer (a short uncontended lock and one reference count) and then work on a table
/// that nobody changes under them; a writer builds a new table beside the old one and swaps it in. The lock
/// inside is held only for the pointer's copy and never while another lock is taken, so it has no rank and
/// may be read under any lock.
pub struct ArcSnapshot<T> {
    current: raw::Mutex<Arc<T>>,
}

impl<T> ArcSnapshot<T> {
    /// A snapshot that starts as `value`.
    pub fn new(value: T) -> Self {
        Self { current: raw::Mutex::new(Arc::new(value)) }
    }

    /// The present value. It stays valid, and unchanged, however often it is replaced meanwhile.
    pub fn load(&self) -> Arc<T> {
        Arc::clone(&self.current.lock())
    }

    /// Replaces the value. Callers that derive the new value from the old one serialise themselves by a
    /// lock of their own.
    pub fn store(&self, value: T) {
        let next = Arc::new(value);
        let previous = core::mem::replace(&mut *self.current.lock(), next);
        // The old value, if this was its last owner, is dropped here and not under the lock.
        drop(previous);
    }
}

impl<T: Default> Default for ArcSnapshot<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for ArcSnapshot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ArcSnapshot").field(&*self.load()).finish()
    }
}
