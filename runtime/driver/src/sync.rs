//! The locks and atomics of the waiting kernels: those of the standard library, or those of the model checker.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, RwLock};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, RwLock};

#[cfg(not(loom))]
pub(crate) use crate::lock::lock;

#[cfg(loom)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> loom::sync::MutexGuard<'_, T> {
    mutex.lock().expect("the checker ends at the first panic")
}
