//! The wish to end, and the promise that it is granted.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long after a signal the process has ended, however its output and its readers behave.
const LONGEST_END: Duration = Duration::from_millis(1700);

/// A flag that can be waited for; clones share it.
#[derive(Clone, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Default)]
struct Inner {
    set: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Sets the flag on Ctrl-C and on a request to terminate, also where the parent process ignores these signals.
    /// When the program has not ended by itself in [`LONGEST_END`], it is ended.
    ///
    /// # Errors
    /// When the process has such a handler already.
    pub fn on_signals(&self) -> Result<(), ctrlc::Error> {
        let stop = self.clone();
        ctrlc::set_handler(move || {
            if !stop.is_set() {
                stop.set();
                std::thread::spawn(|| {
                    let end = Stop::default();
                    end.wait(LONGEST_END);
                    std::process::exit(0);
                });
            }
        })
    }

    /// Sets the flag and wakes everybody who waits for it.
    pub fn set(&self) {
        *self.lock() = true;
        self.0.changed.notify_all();
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        *self.lock()
    }

    /// Sleeps for `duration`, or less when the flag is set; returns whether it is set.
    pub fn wait(&self, duration: Duration) -> bool {
        let deadline = Instant::now() + duration;
        let mut set = self.lock();
        while !*set {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (set, _) = self.0.changed.wait_timeout(set, left).unwrap_or_else(PoisonError::into_inner);
        }
        *set
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_with_the_flag_or_the_time() {
        let stop = Stop::default();
        assert!(!stop.wait(Duration::ZERO) && !stop.is_set());
        let other = stop.clone();
        let waiter = std::thread::spawn(move || other.wait(Duration::from_secs(3600)));
        stop.set();
        assert!(waiter.join().unwrap());
    }
}
