//! Wakes a thread that waits.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Remembers that somebody woke it until somebody waits.
#[derive(Default)]
pub(crate) struct Wake {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    woken: bool,
    ending: bool,
}

impl Wake {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        let mut state = self.state();
        if !state.woken {
            state.woken = true;
            self.changed.notify_all();
        }
    }

    /// Whoever waits is to end.
    pub(crate) fn end(&self) {
        self.state().ending = true;
        self.changed.notify_all();
    }

    /// Waits until it is woken, or so long. False when it is to end.
    pub(crate) fn wait(&self, longest: Option<Duration>) -> bool {
        let deadline = longest.map(|longest| Instant::now() + longest);
        let mut state = self.state();
        while !state.woken && !state.ending {
            let Some(deadline) = deadline else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        state.woken = false;
        !state.ending
    }
}
