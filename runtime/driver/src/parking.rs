//! Where threads wait for each other: writers for room, events for the entity that they are about.

use std::sync::PoisonError;
use std::task::Waker;

use dunlin_core::{Duration, MonoTime};

use crate::sync::{AtomicUsize, Condvar, Mutex, RwLock, SeqCst, lock};
use crate::{clock, machine};

/// Lets an entity be made and made known to the sink before any thread tells an event of it.
#[derive(Default)]
pub(crate) struct Introduction {
    going_on: AtomicUsize,
    gate: RwLock<()>,
}

impl Introduction {
    /// Runs `f`; events that come true meanwhile on other threads are told when it has returned.
    pub(crate) fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Ended<'a>(&'a AtomicUsize);
        impl Drop for Ended<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, SeqCst);
            }
        }
        self.going_on.fetch_add(1, SeqCst);
        let _ended = Ended(&self.going_on);
        let _guard = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        f()
    }

    /// An event of an entity comes after its making, and whoever sees it sees the count of then.
    pub(crate) fn wait_for_others(&self) {
        if self.going_on.load(SeqCst) > 0 {
            drop(self.gate.read().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Where writers wait for room in their history.
#[derive(Default)]
pub(crate) struct Space {
    /// Counts the times that room was made; changed under `lock` only.
    generation: AtomicUsize,
    waiting: AtomicUsize,
    /// Who waits on a machine that is not the real one.
    lock: Mutex<Vec<Waker>>,
    freed: Condvar,
}

impl Space {
    /// To be taken before the attempt that may fail.
    pub(crate) fn ticket(&self) -> usize {
        self.generation.load(SeqCst)
    }

    /// Somebody should try again: there is room, or something else has changed that he waits for.
    pub(crate) fn notify(&self) {
        let mut guard = lock(&self.lock);
        self.generation.fetch_add(1, SeqCst);
        let wakers = std::mem::take(&mut *guard);
        drop(guard);
        if self.waiting.load(SeqCst) > 0 {
            self.freed.notify_all();
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits until room was made after `ticket` was taken; false if `until` came first.
    pub(crate) fn wait(&self, ticket: usize, until: MonoTime) -> bool {
        if let Some(changed) = machine::wait(&mut |waker| self.changed_or_wake(ticket, waker), until) {
            return changed;
        }
        self.waiting.fetch_add(1, SeqCst);
        let changed = self.wait_for_change(ticket, until);
        self.waiting.fetch_sub(1, SeqCst);
        changed
    }

    /// True if room was made after `ticket` was taken; if not, `waker` is woken then.
    fn changed_or_wake(&self, ticket: usize, waker: &Waker) -> bool {
        let mut wakers = lock(&self.lock);
        let changed = self.generation.load(SeqCst) != ticket;
        if !changed && !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
        changed
    }

    fn wait_for_change(&self, ticket: usize, until: MonoTime) -> bool {
        let mut guard = lock(&self.lock);
        while self.generation.load(SeqCst) == ticket {
            let left = until.since(clock::mono());
            if left <= Duration::ZERO {
                return false;
            }
            guard = match left.to_std().filter(|_| until != MonoTime::MAX) {
                Some(left) => self.freed.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.freed.wait(guard).unwrap_or_else(PoisonError::into_inner),
            };
        }
        true
    }
}

#[cfg(all(test, loom))]
mod model {
    //! A thread that waits beside one that makes it unnecessary; a wake-up that is lost is a deadlock.

    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// What the engine keeps under the lock of a writer's core.
    #[derive(Default)]
    struct Core {
        room: usize,
        refused: bool,
    }

    impl Core {
        fn write(&mut self) -> bool {
            self.refused = self.room == 0;
            self.room = self.room.saturating_sub(1);
            !self.refused
        }

        /// True if it is to be told.
        fn free(&mut self) -> bool {
            self.room += 1;
            std::mem::take(&mut self.refused)
        }
    }

    type Shared = Arc<(Mutex<Core>, Space)>;

    /// As `Session::write` does it.
    fn write(shared: &Shared) {
        loop {
            let ticket = shared.1.ticket();
            if lock(&shared.0).write() {
                return;
            }
            assert!(shared.1.wait(ticket, MonoTime::MAX));
        }
    }

    /// As a receive thread concludes an acknowledgement.
    fn free(shared: &Shared) {
        let told = lock(&shared.0).free();
        if told {
            shared.1.notify();
        }
    }

    fn writers_beside_acknowledgements(writers: usize) {
        let shared = Shared::default();
        let threads: Vec<_> = (0..writers)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || write(&shared))
            })
            .collect();
        for _ in 0..writers {
            free(&shared);
        }
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(lock(&shared.0).room, 0);
    }

    #[test]
    fn a_writer_does_not_sleep_through_the_room_that_was_made() {
        loom::model(|| writers_beside_acknowledgements(1));
    }

    /// Every interleaving would take hours: those with four preemptions.
    #[test]
    fn two_writers_do_not_sleep_through_the_room_that_was_made() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(4);
        builder.check(|| writers_beside_acknowledgements(2));
    }

    /// What a machine that is not the real one keeps a thread from running with.
    #[derive(Default)]
    struct Bell {
        rung: Mutex<bool>,
        changed: Condvar,
    }

    impl std::task::Wake for Bell {
        fn wake(self: std::sync::Arc<Self>) {
            *lock(&self.rung) = true;
            self.changed.notify_one();
        }
    }

    impl Bell {
        fn wait(&self) {
            let mut rung = lock(&self.rung);
            while !std::mem::take(&mut *rung) {
                rung = self.changed.wait(rung).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    #[test]
    fn a_writer_that_waits_by_waker_is_woken() {
        loom::model(|| {
            let shared = Shared::default();
            let writer = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let bell = std::sync::Arc::new(Bell::default());
                    let waker = Waker::from(std::sync::Arc::clone(&bell));
                    loop {
                        let ticket = shared.1.ticket();
                        if lock(&shared.0).write() {
                            return;
                        }
                        while !shared.1.changed_or_wake(ticket, &waker) {
                            bell.wait();
                        }
                    }
                })
            };
            free(&shared);
            writer.join().expect("no panic");
        });
    }

    #[test]
    fn an_event_is_dispatched_after_its_entity_is_registered() {
        loom::model(|| {
            let introduction = Arc::new(Introduction::default());
            let (exists, known) = (Arc::new(Mutex::new(false)), Arc::new(Mutex::new(false)));
            let teller = {
                let (introduction, exists, known) = (introduction.clone(), exists.clone(), known.clone());
                thread::spawn(move || {
                    // An event of the entity proves that it exists.
                    if *lock(&exists) {
                        introduction.wait_for_others();
                        assert!(*lock(&known), "told before anybody knew it");
                    }
                })
            };
            introduction.run(|| {
                *lock(&exists) = true;
                *lock(&known) = true;
            });
            teller.join().expect("no panic");
        });
    }
}
