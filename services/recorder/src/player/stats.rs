//! What was played.

use std::time::Duration;

/// Width of a class, and how many there are.
const CLASS: Duration = Duration::from_micros(1);
const CLASSES: usize = 20_000;

/// What was played, and how well.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Played {
    /// Samples.
    pub samples: u64,
    /// Disposes and unregistrations.
    pub ends: u64,
    /// Samples whose time could not be kept, as the writer had written a later one: they have the present time.
    pub retimed: u64,
    /// Samples and ends that the writer refused.
    pub refused: u64,
    /// Topics that could not be played, chunks that could not be read, rounds that could not begin.
    pub unplayed: u64,
    /// How late half of the samples were at most.
    pub late_median: Duration,
    /// How late 99 % of the samples were at most.
    pub late_99: Duration,
    /// How late the last of them was.
    pub late_max: Duration,
    /// Topics that could not be played, chunks that could not be read, and why; what had to be changed.
    pub problems: Vec<String>,
}

/// Counts how late samples are.
#[derive(Default)]
pub(super) struct Lateness {
    classes: Vec<u64>,
    longest: Duration,
}

impl Lateness {
    pub(super) fn note(&mut self, late: Duration) {
        self.classes.resize(CLASSES, 0);
        let class = usize::try_from(late.as_nanos() / CLASS.as_nanos()).unwrap_or(usize::MAX);
        if let Some(count) = self.classes.get_mut(class.min(CLASSES - 1)) {
            *count += 1;
        }
        self.longest = self.longest.max(late);
    }

    pub(super) fn percentile(&self, percent: u64) -> Duration {
        let all: u64 = self.classes.iter().sum();
        let (mut seen, wanted) = (0, (all * percent).div_ceil(100));
        let found = self.classes.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        let found = u32::try_from(found.unwrap_or(0) + 1).unwrap_or(u32::MAX);
        if all == 0 { Duration::ZERO } else { (CLASS * found).min(self.longest) }
    }

    pub(super) const fn longest(&self) -> Duration {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_a_sorted_list() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.percentile(99), Duration::ZERO);
        (1..=100).for_each(|n| lateness.note(Duration::from_micros(n) - Duration::from_nanos(1)));
        lateness.note(Duration::from_secs(5));
        assert_eq!(lateness.percentile(50), Duration::from_micros(51));
        assert_eq!(lateness.longest(), Duration::from_secs(5));
    }
}
