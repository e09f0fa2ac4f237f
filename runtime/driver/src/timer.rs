//! The sleep of the timer thread.
//!
//! A sender that brings a deadline closer must wake the thread, but only if the thread would sleep past that
//! deadline; a needless wake costs every write a system call. So the thread publishes until when it sleeps.
//! While it is still finding that out it publishes "for ever": a deadline that it might just have missed then
//! pokes it, and a poke is never lost, because it is looked at again under the lock before sleeping.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration as StdDuration;

use dunlin_core::MonoTime;

use crate::clock;
use crate::lock::lock;

/// A deadline this close is not slept for less than: it bounds how often the thread can run.
const SHORTEST: StdDuration = StdDuration::from_micros(50);
/// Nor does it sleep longer than this at a time.
const LONGEST: StdDuration = StdDuration::from_secs(3600);

#[derive(Default)]
struct State {
    poked: bool,
    stopped: bool,
}

pub(crate) struct Timer {
    sleeps_until: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

impl Timer {
    pub(crate) fn new() -> Self {
        let sleeps_until = AtomicU64::new(u64::MAX);
        Self { sleeps_until, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Makes sure that the thread is awake at `deadline`.
    pub(crate) fn wake_by(&self, deadline: MonoTime) {
        if deadline.0 < self.sleeps_until.load(SeqCst) {
            lock(&self.state).poked = true;
            self.changed.notify_one();
        }
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        lock(&self.state).stopped = true;
        self.changed.notify_all();
    }

    /// Sleeps until the time that `deadline` gives, or until a closer one turns up. False once stopped.
    pub(crate) fn sleep(&self, deadline: impl FnOnce() -> MonoTime) -> bool {
        self.sleeps_until.store(u64::MAX, SeqCst);
        lock(&self.state).poked = false;
        let deadline = deadline();
        self.sleeps_until.store(deadline.0, SeqCst);
        let mut state = lock(&self.state);
        while !state.poked && !state.stopped {
            let left = deadline.since(clock::mono()).to_std().unwrap_or(LONGEST);
            if left.is_zero() {
                break;
            }
            let wait = left.clamp(SHORTEST, LONGEST);
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        !state.stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_core::Duration;
    use std::sync::Arc;
    use std::sync::mpsc;

    #[test]
    fn a_closer_deadline_wakes_and_a_later_one_does_not() {
        let timer = Arc::new(Timer::new());
        let (asleep, is_asleep) = mpsc::channel();
        let thread = {
            let timer = Arc::clone(&timer);
            std::thread::spawn(move || {
                let far = clock::mono().plus(Duration::from_secs(600));
                timer.sleep(|| {
                    asleep.send(far).unwrap();
                    far
                })
            })
        };
        let far = is_asleep.recv().unwrap();
        while timer.sleeps_until.load(SeqCst) != far.0 {
            std::thread::yield_now();
        }
        timer.wake_by(far.plus(Duration::from_secs(1)));
        assert!(!lock(&timer.state).poked);
        timer.wake_by(clock::mono());
        assert!(thread.join().unwrap());
    }

    #[test]
    fn a_deadline_that_turns_up_while_the_next_one_is_sought_is_not_missed() {
        let timer = Timer::new();
        let far = clock::mono().plus(Duration::from_secs(600));
        assert!(timer.sleep(|| {
            timer.wake_by(far.plus(Duration::from_secs(1)));
            far
        }));
    }

    #[test]
    fn a_deadline_that_has_passed_does_not_sleep_and_a_stop_ends() {
        let timer = Timer::new();
        assert!(timer.sleep(clock::mono));
        assert!(timer.sleep(MonoTime::default));
        timer.stop();
        assert!(!timer.sleep(|| MonoTime::MAX));
    }
}
