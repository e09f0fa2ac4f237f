//! How a change of an entity reaches the threads and tasks that wait for it.

use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::task::Waker;
use std::time::Instant;

/// Raised by whoever changed something; wakes the wait-sets and tasks that registered.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    waiters: Mutex<Waiters>,
    /// How many are registered: raising a signal nobody waits for is one atomic load.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Waiters {
    wait_sets: Vec<Weak<WaitCore>>,
    tasks: Vec<Waker>,
}

impl Signal {
    fn lock(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recount(&self, waiters: &Waiters) {
        self.count.store(waiters.wait_sets.len() + waiters.tasks.len(), Ordering::SeqCst);
    }

    pub(crate) fn attach(&self, core: &Arc<WaitCore>) {
        let mut waiters = self.lock();
        waiters.wait_sets.retain(|known| known.strong_count() > 0);
        if !waiters.wait_sets.iter().any(|known| known.as_ptr() == Arc::as_ptr(core)) {
            waiters.wait_sets.push(Arc::downgrade(core));
        }
        self.recount(&waiters);
    }

    pub(crate) fn detach(&self, core: &Arc<WaitCore>) {
        let mut waiters = self.lock();
        waiters.wait_sets.retain(|known| known.as_ptr() != Arc::as_ptr(core));
        self.recount(&waiters);
    }

    /// Wakes `waker` at the next raise; the caller must look at its condition again afterwards.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut waiters = self.lock();
        if !waiters.tasks.iter().any(|known| known.will_wake(waker)) {
            waiters.tasks.push(waker.clone());
        }
        self.recount(&waiters);
    }

    pub(crate) fn raise(&self) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut waiters = self.lock();
        let tasks = std::mem::take(&mut waiters.tasks);
        for wait_set in waiters.wait_sets.iter().filter_map(Weak::upgrade) {
            wait_set.wake();
        }
        self.recount(&waiters);
        drop(waiters);
        tasks.into_iter().for_each(Waker::wake);
    }
}

/// The part of a wait-set that signals reach.
#[derive(Debug, Default)]
pub(crate) struct WaitCore {
    generation: Mutex<u64>,
    changed: Condvar,
}

impl WaitCore {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.generation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        let mut generation = self.lock();
        *generation = generation.wrapping_add(1);
        drop(generation);
        self.changed.notify_all();
    }

    pub(crate) fn generation(&self) -> u64 {
        *self.lock()
    }

    /// Blocks until the generation differs from `seen`; false when `deadline` came first.
    pub(crate) fn wait_past(&self, seen: u64, deadline: Option<Instant>) -> bool {
        let mut generation = self.lock();
        while *generation == seen {
            let Some(deadline) = deadline else {
                generation = self.changed.wait(generation).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            generation =
                self.changed.wait_timeout(generation, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}
