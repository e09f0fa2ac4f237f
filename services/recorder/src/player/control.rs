//! What steers a player: one clock, that can be stopped, moved and made faster.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The last part of a wait is not slept: sleeping is late by some tens of microseconds.
const AWAKE: Duration = Duration::from_micros(120);
/// Rates that a player can have.
const RATES: std::ops::RangeInclusive<f64> = 0.001..=10_000.0;

/// Steers a player; clones steer the same one.
#[derive(Clone)]
pub struct Control(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy)]
struct State {
    rate: f64,
    paused: bool,
    /// Samples that may go although it is paused.
    steps: u64,
    stopped: bool,
    seek: Option<Duration>,
    /// When the recorded time `position` is played; none before the first sample and after a jump.
    anchor: Option<(Instant, u64)>,
    position: u64,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// The sample is due, and is so late.
    Due(Duration),
    Seek(Duration),
    Stopped,
}

impl Control {
    pub(super) fn new(rate: f64) -> Self {
        let (anchor, position) = (None, 0);
        let state = State { rate, paused: false, steps: 0, stopped: false, seek: None, anchor, position };
        Self(Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.0.changed.notify_all();
    }

    /// Ends it.
    pub fn stop(&self) {
        self.change(|state| state.stopped = true);
    }

    /// Whether it was ended.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// Holds the clock, or lets it go on.
    pub fn pause(&self, paused: bool) {
        self.change(|state| {
            state.paused = paused;
            state.anchor = None;
            state.steps = 0;
        });
    }

    /// Holds the clock, and lets so many samples go nevertheless.
    pub fn step(&self, samples: u64) {
        self.change(|state| {
            state.paused = true;
            state.anchor = None;
            state.steps = state.steps.saturating_add(samples);
        });
    }

    /// Changes the rate; 0 is as fast as possible.
    pub fn rate(&self, rate: f64) {
        self.change(|state| {
            state.rate = if rate == 0.0 { 0.0 } else { rate.clamp(*RATES.start(), *RATES.end()) };
            state.anchor = None;
        });
    }

    /// Goes on at another time of the recording, counted from its beginning.
    pub fn seek(&self, to: Duration) {
        self.change(|state| {
            state.seek = Some(to);
            state.anchor = None;
        });
    }

    /// The recorded time of the sample that was played last.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.state().position
    }

    /// What has been asked for, if it ends the pass.
    pub(super) fn asked(&self) -> Option<Turn> {
        self.state().asked()
    }

    /// Waits until the sample that was recorded at a time is due.
    pub(super) fn wait(&self, time: u64) -> Turn {
        let mut state = self.state();
        loop {
            if let Some(asked) = state.asked() {
                return asked;
            }
            if state.steps > 0 {
                (state.steps, state.position) = (state.steps - 1, time);
                return Turn::Due(Duration::ZERO);
            }
            if state.paused {
                state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let now = Instant::now();
            let due = state.due(time, now);
            let Some(left) = due.checked_duration_since(now).filter(|left| !left.is_zero()) else {
                state.position = time;
                return Turn::Due(now.duration_since(due));
            };
            if let Some(asleep) = left.checked_sub(AWAKE).filter(|asleep| !asleep.is_zero()) {
                let waited = self.0.changed.wait_timeout(state, asleep);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            drop(state);
            while Instant::now() < due {
                std::hint::spin_loop();
            }
            state = self.state();
        }
    }
}

impl State {
    fn asked(&mut self) -> Option<Turn> {
        if self.stopped {
            return Some(Turn::Stopped);
        }
        self.seek.take().map(Turn::Seek)
    }

    /// When a sample is due. Each is reckoned from the anchor, so that no error adds up.
    fn due(&mut self, time: u64, now: Instant) -> Instant {
        if self.rate == 0.0 {
            return now;
        }
        let (began, from) = *self.anchor.get_or_insert((now, time));
        // What lies before is due already.
        let after = Duration::from_nanos(time.saturating_sub(from)).as_secs_f64() / self.rate;
        let after = Duration::try_from_secs_f64(after).unwrap_or(Duration::MAX);
        began.checked_add(after).unwrap_or_else(|| now + Duration::from_secs(86_400))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_drift_and_obeys() {
        let control = Control::new(100.0);
        let begin = Instant::now();
        for n in 0..1000_u64 {
            assert!(matches!(control.wait(1_000_000 + n * 1_000_000), Turn::Due(_)));
        }
        let took = begin.elapsed();
        assert!(took >= Duration::from_micros(9_990) && took < Duration::from_millis(500), "{took:?}");
        control.step(1);
        assert_eq!(control.wait(u64::MAX), Turn::Due(Duration::ZERO));
        assert_eq!(control.asked(), None);
        control.seek(Duration::from_secs(2));
        assert_eq!(control.asked(), Some(Turn::Seek(Duration::from_secs(2))));
        control.seek(Duration::from_secs(3));
        assert_eq!(control.wait(5), Turn::Seek(Duration::from_secs(3)));
        control.pause(true);
        let other = control.clone();
        let waiter = std::thread::spawn(move || other.wait(7));
        control.stop();
        assert_eq!(waiter.join().unwrap(), Turn::Stopped);
    }
}
