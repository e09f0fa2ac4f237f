//! How a sleeping receiver is woken by any of many senders, each of which may die at any point.
//!
//! The bell is a counter. A sender publishes, counts the bell up and wakes the receiver if that says that it sleeps. The receiver
//! reads the bell, looks through its rings, says that it sleeps, and sleeps unless the bell has gone on.
//! Nobody but the receiver takes back that it sleeps, so a sender that dies in between takes no wake-up from
//! the others.

use dunlin_sync::atomic::{AtomicU32, Ordering};

/// The words of a bell and the system's way to wait on them.
pub(crate) trait Bell {
    /// Counted up by senders.
    fn count(&self) -> &AtomicU32;
    /// 1 while the receiver sleeps or is about to.
    fn sleeping(&self) -> &AtomicU32;
    /// Sleeps for a while unless the count is another one. May return early.
    fn wait(&self, count: u32);
    /// Wakes the receiver if it waits.
    fn wake(&self);
}

/// Says that something was published.
pub(crate) fn ring(bell: &impl Bell) {
    bell.count().fetch_add(1, Ordering::AcqRel);
    // A read-modify-write, because that sees the latest value: either this sees that the receiver sleeps, or the
    // receiver saw the count go on.
    if bell.sleeping().fetch_or(0, Ordering::AcqRel) != 0 {
        bell.wake();
    }
}

/// The count, to be read before looking for what was published.
pub(crate) fn count(bell: &impl Bell) -> u32 {
    bell.count().load(Ordering::Acquire)
}

/// Sleeps until the bell is rung, unless it was since it was `seen`.
pub(crate) fn sleep(bell: &impl Bell, seen: u32) {
    bell.sleeping().swap(1, Ordering::AcqRel);
    bell.wait(seen);
    bell.sleeping().swap(0, Ordering::AcqRel);
}

#[cfg(all(test, loom))]
mod model {
    use loom::sync::{Arc, Condvar, Mutex};

    use super::*;

    /// A futex: the count is compared under the lock that waking takes.
    struct Modelled {
        count: AtomicU32,
        sleeping: AtomicU32,
        published: [AtomicU32; 2],
        lock: Mutex<()>,
        woken: Condvar,
    }

    impl Bell for Modelled {
        fn count(&self) -> &AtomicU32 {
            &self.count
        }

        fn sleeping(&self) -> &AtomicU32 {
            &self.sleeping
        }

        fn wait(&self, count: u32) {
            let lock = self.lock.lock().unwrap();
            // The kernel reads the word itself.
            if self.count.fetch_or(0, Ordering::AcqRel) == count {
                drop(self.woken.wait(lock).unwrap());
            }
        }

        fn wake(&self) {
            drop(self.lock.lock().unwrap());
            self.woken.notify_one();
        }
    }

    /// Two senders, the first of which dies after it has counted the bell up or before: what the other one
    /// published is found, or this is a deadlock.
    #[test]
    fn the_bell_loses_no_wake_up_when_a_sender_dies() {
        loom::model(|| {
            let bell = Arc::new(Modelled {
                count: AtomicU32::new(0),
                sleeping: AtomicU32::new(0),
                published: [AtomicU32::new(0), AtomicU32::new(0)],
                lock: Mutex::new(()),
                woken: Condvar::new(),
            });
            let dying = Arc::clone(&bell);
            let first = loom::thread::spawn(move || {
                dying.published[0].store(1, Ordering::Release);
                dying.count.fetch_add(1, Ordering::AcqRel);
            });
            let sender = Arc::clone(&bell);
            let second = loom::thread::spawn(move || {
                sender.published[1].store(1, Ordering::Release);
                ring(&*sender);
            });
            loop {
                let seen = count(&*bell);
                if bell.published[1].load(Ordering::Acquire) == 1 {
                    break;
                }
                sleep(&*bell, seen);
            }
            first.join().unwrap();
            second.join().unwrap();
        });
    }
}
