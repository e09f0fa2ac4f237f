//! Frames at a steady rate.

use std::time::{Duration, Instant};

use dunlin_program::Stop;

/// Gives the beat for a source.
#[derive(Clone, Debug)]
pub struct Pacer {
    period: Duration,
    next: Option<Instant>,
    missed: u64,
}

impl Pacer {
    /// `rate` beats per second, or no waiting at all when it is 0.
    #[must_use]
    pub fn new(rate: f64) -> Self {
        let period = if rate > 0.0 { Duration::from_secs_f64(1.0 / rate) } else { Duration::ZERO };
        Self { period, next: None, missed: 0 }
    }

    /// Beats that passed while nobody waited for them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Waits for the next beat; returns false when `stop` was set.
    #[must_use]
    pub fn wait(&mut self, stop: &Stop) -> bool {
        !stop.wait_until(self.beat(Instant::now(), self.period))
    }

    /// Waits until `period` after the previous beat, whatever the rate; returns false when `stop` was set.
    #[must_use]
    pub fn wait_for(&mut self, stop: &Stop, period: Duration) -> bool {
        let previous = self.next.unwrap_or_else(Instant::now);
        let due = previous + period;
        // After a long halt the beat starts anew; a short one is made good by shorter pauses.
        let late = Instant::now().saturating_duration_since(due);
        self.next = Some(if late > Duration::from_millis(500) { Instant::now() } else { due });
        !stop.wait_until(due)
    }

    /// When the beat after the previous one is due. Of the beats already over, the last one is due at once and the
    /// others are missed.
    fn beat(&mut self, now: Instant, period: Duration) -> Instant {
        let mut due = self.next.unwrap_or(now);
        if !period.is_zero() {
            let behind = now.saturating_duration_since(due).as_nanos() / period.as_nanos();
            let behind = u32::try_from(behind).unwrap_or(u32::MAX);
            self.missed += u64::from(behind);
            due += period.saturating_mul(behind);
            self.next = Some(due + period);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_regular_and_missed_ones_are_counted() {
        let mut pacer = Pacer::new(10.0);
        let start = Instant::now();
        let period = Duration::from_millis(100);
        assert_eq!(pacer.beat(start, period), start);
        assert_eq!(pacer.beat(start + Duration::from_millis(20), period), start + period);
        assert_eq!(pacer.beat(start + Duration::from_millis(250), period), start + 2 * period);
        assert_eq!(pacer.missed(), 0);
        assert_eq!(pacer.beat(start + Duration::from_millis(560), period), start + 5 * period);
        assert_eq!(pacer.missed(), 2);
        assert_eq!(pacer.beat(start + Duration::from_millis(570), period), start + 6 * period);
    }

    #[test]
    fn pacer_without_a_rate_never_waits() {
        let mut pacer = Pacer::new(0.0);
        for _ in 0..1000 {
            assert!(pacer.wait(&Stop::default()));
        }
        assert_eq!(pacer.missed(), 0);
        let stop = Stop::default();
        stop.set();
        assert!(!pacer.wait(&stop));
    }
}
