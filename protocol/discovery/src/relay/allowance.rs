//! How much an application may send: a quota of ours, as RTPS 2.5 §8.5.3 knows no daemon.

use dunlin_core::MonoTime;

/// What an application may still send now.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    /// Octets that it has used up, and when that was so.
    used: u64,
    at: MonoTime,
}

impl Allowance {
    /// Whether so many octets may pass at this rate; then they are taken from what may pass later.
    pub(crate) fn take(&mut self, now: MonoTime, octets: usize, rate: Option<u64>) -> bool {
        let Some(rate) = rate else { return true };
        let since = u128::try_from(now.since(self.at).as_nanos()).unwrap_or(0);
        let free = since.saturating_mul(u128::from(rate)).checked_div(1_000_000_000).unwrap_or(0);
        let free = u64::try_from(free).unwrap_or(u64::MAX);
        if free > 0 {
            self.used = self.used.saturating_sub(free);
            self.at = now;
        }
        let after = self.used.saturating_add(u64::try_from(octets).unwrap_or(u64::MAX));
        // One larger than all that may pass in a second passes when nothing was sent for long.
        let may = after <= rate || self.used == 0;
        if may {
            self.used = after;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_octets_passes_at_once_and_then_as_many_each_second() {
        let mut allowance = Allowance::default();
        let mut passed = 0;
        for millisecond in 1..=3_000 {
            for _ in 0..10 {
                passed += usize::from(allowance.take(MonoTime(millisecond * 1_000_000), 100, Some(10_000)));
            }
        }
        assert!((395..=400).contains(&passed), "{passed} of 100 octets: a second at once, and three of them");
        assert!(allowance.take(MonoTime(0), 1 << 30, None));
    }

    #[test]
    fn a_datagram_larger_than_the_rate_allowance_passes_rarely() {
        let mut allowance = Allowance::default();
        let second = |n: u64| MonoTime(n * 1_000_000_000);
        assert!(allowance.take(second(1), 5_000, Some(1_000)));
        assert!(!allowance.take(second(2), 5_000, Some(1_000)));
        assert!(allowance.take(second(7), 5_000, Some(1_000)));
    }
}
