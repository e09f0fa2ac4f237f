//! The wish to end, from a signal, a closed standard input, or the program itself.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A flag that can be waited for; clones share it.
#[derive(Clone, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Default)]
struct Inner {
    set: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Sets the flag on Ctrl-C and on a request to terminate, also where the parent process ignores these signals; the
    /// second one ends the process at once, with status 130.
    ///
    /// # Errors
    /// When the process has such a handler already.
    pub fn on_signals(&self) -> Result<(), ctrlc::Error> {
        let stop = self.clone();
        ctrlc::set_handler(move || {
            if stop.is_set() {
                std::process::exit(130);
            }
            stop.set();
        })
    }

    /// The same for a program that promises an end: when it has not ended by itself in `longest`, the process is ended with
    /// status 0. Further signals change nothing.
    ///
    /// # Errors
    /// When the process has such a handler already.
    pub fn on_signals_within(&self, longest: Duration) -> Result<(), ctrlc::Error> {
        let stop = self.clone();
        ctrlc::set_handler(move || {
            if stop.is_set() {
                return;
            }
            stop.set();
            std::thread::spawn(move || {
                _ = Self::default().wait(longest);
                std::process::exit(0);
            });
        })
    }

    /// Sets the flag when standard input ends: a child so ends with its parent, however that one ended.
    pub fn on_end_of_stdin(&self) {
        let stop = self.clone();
        std::thread::spawn(move || {
            let mut buffer = [0_u8; 256];
            let mut input = std::io::stdin().lock();
            while matches!(input.read(&mut buffer), Ok(n) if n > 0) {}
            stop.set();
        });
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

    /// Sleeps until `deadline`, or less when the flag is set; returns whether it is set.
    #[must_use]
    pub fn wait_until(&self, deadline: Instant) -> bool {
        let mut set = self.lock();
        while !*set {
            let now = Instant::now();
            if now >= deadline {
                break;
            }
            (set, _) =
                self.0.changed.wait_timeout(set, deadline - now).unwrap_or_else(PoisonError::into_inner);
        }
        *set
    }

    /// Sleeps for `duration`, or less when the flag is set; returns whether it is set.
    #[must_use]
    pub fn wait(&self, duration: Duration) -> bool {
        self.wait_until(Instant::now() + duration)
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiter_is_woken() {
        let stop = Stop::default();
        assert!(!stop.wait(Duration::ZERO));
        let other = stop.clone();
        let waiter = std::thread::spawn(move || other.wait(Duration::from_secs(3600)));
        stop.set();
        assert!(waiter.join().unwrap());
        assert!(stop.is_set());
    }
}
