//! A spin lock for targets without an operating system.

#[cfg(not(loom))]
use core::cell::UnsafeCell;
#[cfg(not(any(loom, shuttle)))]
use core::hint::spin_loop;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

#[cfg(loom)]
use loom::hint::spin_loop;
#[cfg(shuttle)]
use shuttle::hint::spin_loop;
#[cfg(loom)]
use tracked::UnsafeCell;

use crate::atomic::{AtomicBool, Ordering};

/// A mutex that waits by spinning.
pub(crate) struct Mutex<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands out the value to one holder at a time, so sharing the mutex between threads moves
// the value between them at most: `T: Send` is what that needs, exactly as for `std::sync::Mutex`.
unsafe impl<T: Send> Sync for Mutex<T> {}
// SAFETY: sending the mutex sends the value it owns.
unsafe impl<T: Send> Send for Mutex<T> {}

/// The guard of [`Mutex`]; releases the lock when dropped. Not `Send`, as a guard of the standard library
/// is not, so that code which compiles here compiles there.
pub(crate) struct Guard<'a, T> {
    mutex: &'a Mutex<T>,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard only gives `&T`, which threads may share if `T: Sync`.
unsafe impl<T: Sync> Sync for Guard<'_, T> {}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            // Waiting on a plain load keeps the cache line shared until the holder writes it.
            while self.locked.load(Ordering::Relaxed) {
                spin_loop();
            }
        }
    }

    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.locked
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            .then(|| Guard { mutex: self, not_send: PhantomData })
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    pub(crate) fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: a guard exists only while `locked` is true on its behalf, so nobody else has a reference
        // to the value; the returned borrow ends before the guard does.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; `&mut self` makes this the only borrow through this guard.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.mutex.locked.store(false, Ordering::Release);
    }
}

/// The cell of the model checker, with the interface of the one in `core`.
#[cfg(loom)]
mod tracked {
    pub(super) struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(super) fn new(value: T) -> Self {
            Self(loom::cell::UnsafeCell::new(value))
        }

        /// Counts as a write: it fails unless all earlier accesses happened before.
        pub(super) fn get(&self) -> *mut T {
            self.0.with_mut(|value| value)
        }

        pub(super) fn get_mut(&mut self) -> &mut T {
            // SAFETY: the exclusive borrow proves that nobody else has the value.
            unsafe { &mut *self.get() }
        }

        pub(super) fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }
}

#[cfg(all(test, loom))]
mod model {
    //! The lock from two threads, with the memory order of the real atomics.

    use loom::sync::Arc;
    use loom::thread;

    use super::Mutex;

    #[test]
    fn excludes_and_publishes() {
        loom::model(|| {
            let mut mutex = Mutex::new(0_u32);
            *mutex.get_mut() += 1;
            let mutex = Arc::new(mutex);
            let other = {
                let mutex = Arc::clone(&mutex);
                thread::spawn(move || *mutex.lock() += 1)
            };
            *mutex.lock() += 1;
            other.join().expect("no panic");
            let mutex = Arc::try_unwrap(mutex).ok().expect("the other thread has ended");
            assert_eq!(mutex.into_inner(), 3);
        });
    }

    #[test]
    fn an_attempt_succeeds_only_on_a_free_lock() {
        loom::model(|| {
            let mutex = Arc::new(Mutex::new(0_u32));
            let other = {
                let mutex = Arc::clone(&mutex);
                thread::spawn(move || mutex.try_lock().map(|mut value| *value += 1).is_some())
            };
            let here = mutex.try_lock().map(|mut value| *value += 1).is_some();
            let there = other.join().expect("no panic");
            assert!(here || there, "the lock was free for the first");
            assert_eq!(*mutex.lock(), u32::from(here) + u32::from(there));
        });
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Mutex;

    #[test]
    fn excludes_and_releases() {
        let mut mutex = Mutex::new(0);
        *mutex.get_mut() += 1;
        {
            let mut guard = mutex.lock();
            *guard += 1;
            assert!(mutex.try_lock().is_none());
        }
        assert_eq!(mutex.try_lock().map(|guard| *guard), Some(2));
        assert_eq!(mutex.into_inner(), 2);
    }

    /// An interpreter needs fewer to meet every case.
    #[cfg(feature = "std")]
    const ROUNDS: u32 = if cfg!(miri) { 30 } else { 10_000 };

    #[cfg(feature = "std")]
    #[test]
    fn counts_correctly_under_contention() {
        let mutex = Mutex::new(0_u32);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        *mutex.lock() += 1;
                    }
                });
            }
        });
        assert_eq!(mutex.into_inner(), 4 * ROUNDS);
    }
}
