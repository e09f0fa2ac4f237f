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

#[cfg(all(test, loom))]
mod model {
    //! Readers beside a thread that replaces the value twice.

    use alloc::sync::Arc;

    use loom::cell::UnsafeCell;
    use loom::sync::Arc as LoomArc;
    use loom::thread;

    use super::ArcSnapshot;

    /// A table whose reads are checked against its making, and whose end takes the lock of the snapshot.
    struct Table {
        number: UnsafeCell<u32>,
        snapshot: Option<LoomArc<ArcSnapshot<Option<Table>>>>,
    }

    impl Table {
        fn new(number: u32, snapshot: Option<&LoomArc<ArcSnapshot<Option<Table>>>>) -> Option<Self> {
            Some(Self { number: UnsafeCell::new(number), snapshot: snapshot.cloned() })
        }

        fn number(table: &Arc<Option<Self>>) -> u32 {
            // SAFETY: nobody writes to a table once it is in the snapshot; the checker verifies that making it
            // happened before.
            table.as_ref().as_ref().map_or(0, |table| table.number.with(|number| unsafe { *number }))
        }
    }

    impl Drop for Table {
        fn drop(&mut self) {
            // A deadlock, which the checker reports, if this ran while the snapshot is locked.
            drop(self.snapshot.as_ref().map(|snapshot| snapshot.load()));
        }
    }

    #[test]
    fn readers_see_whole_tables_that_never_go_back() {
        loom::model(|| {
            let snapshot = LoomArc::new(ArcSnapshot::new(None));
            let reader = {
                let snapshot = LoomArc::clone(&snapshot);
                thread::spawn(move || {
                    let first = snapshot.load();
                    let second = snapshot.load();
                    let numbers = (Table::number(&first), Table::number(&second));
                    assert!(numbers.0 <= numbers.1, "went back: {numbers:?}");
                })
            };
            snapshot.store(Table::new(1, Some(&snapshot)));
            snapshot.store(Table::new(2, None));
            reader.join().expect("no panic");
            assert_eq!(Table::number(&snapshot.load()), 2);
        });
    }
}
