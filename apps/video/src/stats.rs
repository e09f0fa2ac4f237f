//! Counters and distributions shared by publisher and viewer.

use std::time::Duration;

use hdrhistogram::Histogram;

/// A distribution of durations from one microsecond to 1,000 seconds with 0.1 % precision.
#[derive(Clone)]
pub struct Durations(Histogram<u32>);

impl Default for Durations {
    fn default() -> Self {
        Self::new()
    }
}

impl Durations {
    const MAX_US: u64 = 1_000_000_000;

    /// An empty distribution.
    ///
    /// # Panics
    /// Never: the bounds are constants that the histogram accepts.
    #[must_use]
    pub fn new() -> Self {
        Self(Histogram::new_with_bounds(1, Self::MAX_US, 3).expect("valid constant bounds"))
    }

    /// Adds one duration; longer than the range counts as its end.
    pub fn add(&mut self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(Self::MAX_US);
        self.0.saturating_record(us.clamp(1, Self::MAX_US));
    }

    /// How many durations were added.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The duration below which `percent` of all lie, in milliseconds; 0 when there is none.
    #[must_use]
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        self.0.value_at_percentile(percent) as f64 / 1000.0
    }

    /// The longest duration in milliseconds.
    #[must_use]
    pub fn max_ms(&self) -> f64 {
        self.0.max() as f64 / 1000.0
    }

    /// Adds everything that `other` holds.
    pub fn merge(&mut self, other: &Durations) {
        // Both have the same bounds, so that adding cannot fail.
        let _ = self.0.add(&other.0);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.reset();
    }
}

/// Counts lost frames of one writer by the gaps in its frame numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossCounter {
    next: Option<u64>,
    lost: u64,
}

impl LossCounter {
    /// Takes note of a frame and returns how many before it are missing. The first frame sets the base; a lower
    /// number than expected means that the count began anew.
    pub fn on_frame(&mut self, number: u64) -> u64 {
        let missing = self.next.map_or(0, |next| number.saturating_sub(next));
        self.next = Some(number.wrapping_add(1));
        self.lost = self.lost.saturating_add(missing);
        missing
    }

    /// Frames lost since the beginning.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// Frames and octets per second over the last full interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    frames: u64,
    bytes: u64,
    since: Option<std::time::Instant>,
    /// Frames per second in the interval before the last call of [`Rate::tick`].
    pub frames_per_second: f64,
    /// Payload bits per second in that interval.
    pub bits_per_second: f64,
}

impl Rate {
    /// Counts one frame.
    pub fn add(&mut self, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes as u64;
    }

    /// Ends an interval at `now`.
    pub fn tick(&mut self, now: std::time::Instant) {
        if let Some(since) = self.since {
            let seconds = now.saturating_duration_since(since).as_secs_f64().max(1e-3);
            self.frames_per_second = self.frames as f64 / seconds;
            self.bits_per_second = self.bytes as f64 * 8.0 / seconds;
        }
        self.frames = 0;
        self.bytes = 0;
        self.since = Some(now);
    }
}

/// Bits per second in the unit that people read best.
#[must_use]
pub fn human_bits(bits_per_second: f64) -> String {
    if bits_per_second >= 1e6 {
        format!("{:.1} Mbit/s", bits_per_second / 1e6)
    } else {
        format!("{:.0} kbit/s", bits_per_second / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn percentiles_are_those_of_the_values_added() {
        let mut durations = Durations::new();
        assert_eq!(durations.percentile_ms(50.0), 0.0);
        for ms in 1..=100 {
            durations.add(Duration::from_millis(ms));
        }
        assert!((durations.percentile_ms(50.0) - 50.0).abs() < 0.1);
        assert!((durations.percentile_ms(99.0) - 99.0).abs() < 0.2);
        assert!((durations.max_ms() - 100.0).abs() < 0.2);
        durations.add(Duration::from_secs(1_000_000));
        assert!((durations.max_ms() - 1e6).abs() < 1e3);
    }

    #[test]
    fn merging_adds_the_counts() {
        let (mut a, mut b) = (Durations::new(), Durations::new());
        a.add(Duration::from_millis(1));
        b.add(Duration::from_millis(3));
        a.merge(&b);
        assert_eq!(a.count(), 2);
        a.clear();
        assert_eq!(a.count(), 0);
    }

    #[test]
    fn gaps_are_lost_and_a_new_count_is_not() {
        let mut loss = LossCounter::default();
        assert_eq!(loss.on_frame(100), 0, "whoever joins late has lost nothing");
        assert_eq!(loss.on_frame(101), 0);
        assert_eq!(loss.on_frame(104), 2);
        assert_eq!(loss.on_frame(0), 0, "counting began anew");
        assert_eq!(loss.on_frame(1), 0);
        assert_eq!(loss.lost(), 2);
    }

    #[test]
    fn rate_covers_the_last_interval() {
        let start = Instant::now();
        let mut rate = Rate::default();
        rate.tick(start);
        for _ in 0..50 {
            rate.add(1000);
        }
        rate.tick(start + Duration::from_secs(2));
        assert!((rate.frames_per_second - 25.0).abs() < 1e-6);
        assert!((rate.bits_per_second - 200_000.0).abs() < 1e-3);
        rate.tick(start + Duration::from_secs(3));
        assert_eq!(rate.frames_per_second, 0.0);
    }

    #[test]
    fn bits_are_readable() {
        assert_eq!(human_bits(1_640_000.0), "1.6 Mbit/s");
        assert_eq!(human_bits(64_000.0), "64 kbit/s");
    }
}
