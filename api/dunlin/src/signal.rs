//! How a change of an entity reaches the threads and tasks that wait for it.

use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};
use dunlin_core::MonoTime;
use dunlin_driver::machine;
use std::future::poll_fn;
use std::sync::{Arc, PoisonError, Weak};
use std::task::{Poll, Waker};

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
        let mut tasks = std::mem::take(&mut waiters.tasks);
        for wait_set in waiters.wait_sets.iter().filter_map(Weak::upgrade) {
            tasks.extend(wait_set.advance());
        }
        self.recount(&waiters);
        drop(waiters);
        tasks.into_iter().for_each(Waker::wake);
    }
}

/// What `done` finds, once it finds something; it changes with a raise of `signal`.
pub(crate) fn when<R>(signal: Arc<Signal>, done: impl FnMut() -> Option<R>) -> impl Future<Output = R> {
    when_any([signal], done)
}

/// What `done` finds, once it finds something; it changes with a raise of any of these.
pub(crate) fn when_any<R, const N: usize>(
    signals: [Arc<Signal>; N],
    mut done: impl FnMut() -> Option<R>,
) -> impl Future<Output = R> {
    poll_fn(move |context| {
        if let Some(found) = done() {
            return Poll::Ready(found);
        }
        signals.iter().for_each(|signal| signal.register(context.waker()));
        // What changed between the look and the registration raised the signal too early.
        done().map_or(Poll::Pending, Poll::Ready)
    })
}

/// The part of a wait-set that signals reach. One thread or task waits at a time.
#[derive(Debug, Default)]
pub(crate) struct WaitCore {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    generation: u64,
    /// The task that waits, or the thread on a machine that is not the real one.
    waker: Option<Waker>,
}

impl WaitCore {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = self.advance() {
            waker.wake();
        }
    }

    /// Wakes the thread; the task is left to the caller, who may hold a lock.
    fn advance(&self) -> Option<Waker> {
        let mut progress = self.lock();
        progress.generation = progress.generation.wrapping_add(1);
        let waker = progress.waker.take();
        drop(progress);
        self.changed.notify_all();
        waker
    }

    pub(crate) fn generation(&self) -> u64 {
        self.lock().generation
    }

    /// True if the generation differs from `seen`; if not, `waker` is woken when it does.
    pub(crate) fn changed_or_wake(&self, seen: u64, waker: &Waker) -> bool {
        let mut progress = self.lock();
        let changed = progress.generation != seen;
        let before = if changed { None } else { progress.waker.replace(waker.clone()) };
        drop(progress);
        // Outside of the lock, as its drop may be somebody else's code.
        drop(before);
        changed
    }

    /// Blocks until the generation differs from `seen`; false when `deadline` came first.
    pub(crate) fn wait_past(&self, seen: u64, deadline: MonoTime) -> bool {
        machine::wait(&mut |waker| self.changed_or_wake(seen, waker), deadline)
            .unwrap_or_else(|| self.block_past(seen, deadline))
    }

    fn block_past(&self, seen: u64, deadline: MonoTime) -> bool {
        let mut progress = self.lock();
        while progress.generation == seen {
            if deadline == MonoTime::MAX {
                progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let left = deadline.since(machine::mono()).to_std().unwrap_or_default();
            if left.is_zero() {
                return false;
            }
            progress = self.changed.wait_timeout(progress, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}
