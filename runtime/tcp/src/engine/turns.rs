//! Who works for the transport: the thread that receives user data, as long as it is there; it reads what it waits for itself, so
//! that a sample does not pass another thread. While it does something else, such as calling a listener, the thread of the
//! transport stands in.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use super::{Engine, Shared};

/// Who receives has so long to come back before the other thread stands in: longer than a usual batch of samples takes, and not
/// noticed by those who wait for an answer.
const ABSENT: Duration = Duration::from_millis(4);
/// Looks in a row that find it waiting before the other thread sleeps until it leaves.
const CALM: u32 = 8;

/// Whose turn it is.
pub(crate) struct Turns {
    engine: Mutex<Engine>,
    shared: Arc<Shared>,
    /// Who receives waits for something to come.
    receives: AtomicBool,
    /// It wants the turn of the other thread.
    wanted: AtomicBool,
    /// How often it has left.
    left: AtomicU64,
    /// The other thread sleeps until it is woken.
    asleep: AtomicBool,
    sleep: Mutex<()>,
    bell: Condvar,
}

impl Turns {
    pub(crate) fn new(engine: Engine, shared: Arc<Shared>) -> Self {
        Self {
            engine: Mutex::new(engine),
            shared,
            receives: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            left: AtomicU64::new(0),
            asleep: AtomicBool::new(false),
            sleep: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// A turn of who receives user data. If the other thread has it and this one `may_wait`, that one gives way.
    pub(crate) fn receive(&self, may_wait: bool) {
        if may_wait {
            self.receives.store(true, SeqCst);
        }
        let engine = match self.engine.try_lock() {
            Ok(engine) => Some(engine),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if may_wait => {
                self.wanted.store(true, SeqCst);
                self.shared.wake.wake();
                Some(self.lock())
            }
            Err(TryLockError::WouldBlock) => None,
        };
        if let Some(mut engine) = engine {
            self.wanted.store(false, SeqCst);
            // Something may have come while the other thread had its turn.
            engine.turn(may_wait && self.shared.inbox.is_empty());
        }
    }

    /// Who receives has something, and leaves.
    pub(crate) fn leave(&self) {
        if self.receives.swap(false, SeqCst) {
            self.left.fetch_add(1, SeqCst);
            if self.asleep.swap(false, SeqCst) {
                drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
                self.bell.notify_one();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes both, at the end.
    pub(crate) fn wake(&self) {
        self.shared.wake.wake();
        self.asleep.store(false, SeqCst);
        drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
        self.bell.notify_one();
    }

    /// The work of the thread of the transport, until the transport is dropped.
    pub(crate) fn run_background_thread(&self) {
        let (mut before, mut calm) = (0, 0);
        while !self.shared.quit.load(SeqCst) {
            let left = self.left.load(SeqCst);
            let receives = self.receives.load(SeqCst);
            calm = if receives && left == before { calm + 1 } else { 0 };
            if receives || left != before || self.wanted.load(SeqCst) {
                before = left;
                self.pause(calm >= CALM);
                continue;
            }
            // It was away all the time.
            let mut engine = self.lock();
            while !self.wanted.load(SeqCst) && !self.receives.load(SeqCst) && !self.shared.quit.load(SeqCst) {
                engine.turn(true);
            }
        }
        self.lock().finish();
    }

    /// Waits a moment, or until who receives leaves.
    fn pause(&self, is_calm: bool) {
        let sleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_calm {
            drop(self.bell.wait_timeout(sleep, ABSENT));
            return;
        }
        self.asleep.store(true, SeqCst);
        // It may have left before it could know.
        if !self.receives.load(SeqCst) || self.shared.quit.load(SeqCst) {
            self.asleep.store(false, SeqCst);
            return;
        }
        let awake = |_: &mut ()| self.asleep.load(SeqCst);
        drop(self.bell.wait_while(sleep, awake));
    }
}
