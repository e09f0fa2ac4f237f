//! The sleep of the timer thread.
//!
//! A sender that brings a deadline closer must wake the thread, but only if the thread would sleep past that
//! deadline; a needless wake costs every write a system call. So the thread publishes until when it sleeps.
//! While it is still finding that out it publishes "for ever": a deadline that it might just have missed then
//! pokes it, and a poke is never lost, because it is looked at again under the lock before sleeping.

use std::sync::PoisonError;
use std::time::Duration as StdDuration;

use dunlin_core::MonoTime;

use crate::clock;
use crate::sync::{AtomicU64, Condvar, Mutex, SeqCst, lock};

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

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use dunlin_core::Duration;

    use super::*;

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

#[cfg(all(test, loom))]
mod model {
    //! The thread beside senders that bring the deadline closer; the checker's clock never lets a sleep end, so a
    //! deadline that the thread sleeps past is a deadlock.

    use dunlin_core::Duration;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// What the engine knows, behind a lock of its own.
    type Deadlines = Arc<Mutex<Vec<MonoTime>>>;

    fn bring_closer(which: usize, timer: &Timer, deadlines: &Deadlines) {
        let now = MonoTime::default();
        lock(deadlines)[which] = now;
        timer.wake_by(now);
    }

    /// The thread until it has met every deadline.
    fn run(timer: &Timer, deadlines: &Deadlines) {
        let mut left = lock(deadlines).len();
        while left > 0 {
            assert!(timer.sleep(|| *lock(deadlines).iter().min().expect("some")));
            for deadline in lock(deadlines).iter_mut().filter(|deadline| **deadline == MonoTime::default()) {
                *deadline = MonoTime::MAX;
                left -= 1;
            }
        }
    }

    fn deadlines_that_come_closer(senders: usize) {
        let timer = Arc::new(Timer::new());
        let far = clock::mono().plus(Duration::from_secs(86_400));
        let deadlines: Deadlines = Arc::new(Mutex::new(vec![far; senders]));
        let threads: Vec<_> = (0..senders)
            .map(|which| {
                let (timer, deadlines) = (Arc::clone(&timer), Arc::clone(&deadlines));
                thread::spawn(move || bring_closer(which, &timer, &deadlines))
            })
            .collect();
        run(&timer, &deadlines);
        for thread in threads {
            thread.join().expect("no panic");
        }
    }

    #[test]
    fn no_deadline_is_slept_past() {
        loom::model(|| deadlines_that_come_closer(1));
    }

    /// Every interleaving would take hours: those with four preemptions.
    #[test]
    fn no_deadline_is_slept_past_with_two_threads_that_move_it() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(4);
        builder.check(|| deadlines_that_come_closer(2));
    }

    #[test]
    fn a_stop_ends_the_thread() {
        loom::model(|| {
            let timer = Arc::new(Timer::new());
            let thread = {
                let timer = Arc::clone(&timer);
                thread::spawn(move || while timer.sleep(|| MonoTime::MAX) {})
            };
            timer.wake_by(MonoTime::default());
            timer.stop();
            thread.join().expect("no panic");
        });
    }
}
