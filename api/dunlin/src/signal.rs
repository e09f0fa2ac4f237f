//! How a change of an entity reaches the threads and tasks that wait for it.

use std::future::poll_fn;
use std::io;
use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::task::{Poll, Waker};

use dunlin_core::{Duration, MonoTime};
use dunlin_driver::machine;

use crate::event_descriptor::EventDescriptor;
use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};

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
    tasks: Vec<(u64, Waker)>,
    /// The number of the last [`Registration`].
    last: u64,
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

    /// Raises it at the end of the scope: after the listeners, whatever they do.
    #[must_use]
    pub(crate) fn raise_at_end(&self) -> RaiseAtEnd<'_> {
        RaiseAtEnd(self)
    }

    pub(crate) fn raise(&self) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut waiters = self.lock();
        let tasks = std::mem::take(&mut waiters.tasks);
        let mut tasks: Vec<Waker> = tasks.into_iter().map(|(_, waker)| waker).collect();
        for wait_set in waiters.wait_sets.iter().filter_map(Weak::upgrade) {
            tasks.extend(wait_set.advance());
        }
        self.recount(&waiters);
        drop(waiters);
        tasks.into_iter().for_each(Waker::wake);
    }
}

/// Raises a signal when it is dropped: also when a listener panics that is called meanwhile.
pub(crate) struct RaiseAtEnd<'s>(&'s Signal);

impl Drop for RaiseAtEnd<'_> {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// The place of something that polls among those that a signal wakes; it is given up on drop.
#[derive(Debug)]
pub(crate) struct Registration {
    signal: Arc<Signal>,
    /// 0 until it is first needed.
    number: u64,
}

impl Registration {
    pub(crate) fn new(signal: Arc<Signal>) -> Self {
        Self { signal, number: 0 }
    }

    /// Wakes `waker`, and none that was given before, at the next raise; the caller must look at its condition again
    /// afterwards.
    pub(crate) fn register(&mut self, waker: &Waker) {
        let waker = waker.clone();
        let mut waiters = self.signal.lock();
        if self.number == 0 {
            waiters.last += 1;
            self.number = waiters.last;
        }
        let before = waiters.tasks.iter_mut().find(|(number, _)| *number == self.number);
        let before = match before {
            Some((_, before)) => Some(std::mem::replace(before, waker)),
            None => {
                waiters.tasks.push((self.number, waker));
                None
            }
        };
        self.signal.recount(&waiters);
        drop(waiters);
        // Outside of the lock, as its drop may be somebody else's code.
        drop(before);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.number == 0 {
            return;
        }
        let mut waiters = self.signal.lock();
        let at = waiters.tasks.iter().position(|(number, _)| *number == self.number);
        let waker = at.map(|at| waiters.tasks.swap_remove(at));
        self.signal.recount(&waiters);
        drop(waiters);
        drop(waker);
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
    let mut places = signals.map(Registration::new);
    poll_fn(move |context| {
        if let Some(found) = done() {
            return Poll::Ready(found);
        }
        places.iter_mut().for_each(|place| place.register(context.waker()));
        // What changed between the look and the registration raised the signal too early.
        done().map_or(Poll::Pending, Poll::Ready)
    })
}

/// Blocks until `done`, which becomes true with a raise of any of these; false if that takes longer than `timeout`. For a thread
/// that may block.
pub(crate) fn block_until(signals: &[&Signal], timeout: Duration, mut done: impl FnMut() -> bool) -> bool {
    let core = Arc::new(WaitCore::default());
    signals.iter().for_each(|signal| signal.attach(&core));
    let deadline = machine::deadline(timeout);
    let result = loop {
        let seen = core.generation();
        if done() {
            break true;
        }
        if !core.wait_past(seen, deadline) {
            break false;
        }
    };
    signals.iter().for_each(|signal| signal.detach(&core));
    result
}

/// The part of a wait-set that signals reach. One thread or task waits at a time.
#[derive(Debug, Default)]
pub(crate) struct WaitCore {
    progress: Mutex<Progress>,
    changed: Condvar,
    /// Made when it is first asked for.
    descriptor: OnceLock<EventDescriptor>,
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
        if let Some(descriptor) = self.descriptor.get() {
            descriptor.raise();
        }
        waker
    }

    /// The descriptor, which is readable when it is made: what has changed before that raised nothing.
    pub(crate) fn descriptor(&self) -> io::Result<EventDescriptor> {
        if let Some(made) = self.descriptor.get() {
            return Ok(made.clone());
        }
        let made = EventDescriptor::new()?;
        let made = self.descriptor.get_or_init(|| made);
        made.raise();
        Ok(made.clone())
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

#[cfg(all(test, not(loom)))]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::AtomicU32;
    use std::task::{Context, Wake};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn waits(signal: &Signal) -> usize {
        assert_eq!(signal.count.load(Ordering::SeqCst), signal.lock().tasks.len());
        signal.lock().tasks.len()
    }

    #[test]
    fn a_wait_that_is_dropped_leaves_nothing_and_takes_no_waker_of_another() {
        let (one, other) = (Arc::<Signal>::default(), Arc::<Signal>::default());
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let mut kept = pin!(when(Arc::clone(&one), || None::<()>));
        assert!(kept.as_mut().poll(&mut context).is_pending());
        {
            // Of the same task.
            let mut dropped = pin!(when_any([Arc::clone(&one), Arc::clone(&other)], || None::<()>));
            for _ in 0..3 {
                assert!(dropped.as_mut().poll(&mut context).is_pending());
                assert_eq!((waits(&one), waits(&other)), (2, 1));
            }
        }
        assert_eq!((waits(&one), waits(&other)), (1, 0));
        other.raise();
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        one.raise();
        assert_eq!((count.0.load(Ordering::SeqCst), waits(&one)), (1, 0));
        assert!(kept.as_mut().poll(&mut context).is_pending());
        assert_eq!(waits(&one), 1);
    }
}
