//! A token bucket, of ours as RTPS 2.5 §8.5.3 knows no daemon: what has left and is not made up for by time.

use dunlin_core::MonoTime;

use crate::relay_config::Limit;

/// When something may leave. Over any time at most a burst and what the rate allows leaves.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    limit: Option<Limit>,
    /// When everything that has left is made up for.
    full: MonoTime,
}

impl Bucket {
    pub(crate) fn new(limit: Option<Limit>) -> Self {
        Self { limit, full: MonoTime::default() }
    }

    /// When so many octets may leave: at once if this is in the past. More than a burst waits until everything is made up for.
    pub(crate) fn ready(&self, octets: usize) -> MonoTime {
        let Some(limit) = self.limit else { return MonoTime::default() };
        let octets = u64::try_from(octets).unwrap_or(u64::MAX);
        MonoTime(self.full.0.saturating_sub(nanos(limit.burst.saturating_sub(octets), limit.rate)))
    }

    /// So many octets leave, whether or not they may.
    pub(crate) fn take(&mut self, now: MonoTime, octets: usize) {
        let Some(limit) = self.limit else { return };
        let octets = u64::try_from(octets).unwrap_or(u64::MAX);
        self.full = MonoTime(self.full.max(now).0.saturating_add(nanos(octets, limit.rate)));
    }

    /// Whether everything that has left is made up for.
    pub(crate) fn is_full(&self, now: MonoTime) -> bool {
        self.full <= now
    }
}

/// How long so many octets take at this rate.
fn nanos(octets: u64, rate: u64) -> u64 {
    let nanos = u128::from(octets).saturating_mul(1_000_000_000).checked_div(u128::from(rate));
    u64::try_from(nanos.unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_burst_leaves_at_once_and_then_as_much_as_the_rate_allows() {
        for (rate, burst, octets) in
            [(1_000_000, 10_000, 1_500), (12_500_000, 62_500, 1_500), (125_000, 1_500, 100)]
        {
            let mut bucket = Bucket::new(Some(Limit { rate, burst }));
            let (mut now, mut left) = (MonoTime(7 * SECOND), 0u64);
            let end = MonoTime(8 * SECOND);
            let mut at_once = 0;
            while now < end {
                if bucket.ready(octets) <= now {
                    bucket.take(now, octets);
                    left += octets as u64;
                    at_once += u64::from(now == MonoTime(7 * SECOND));
                } else {
                    now = bucket.ready(octets);
                }
            }
            assert_eq!(at_once, burst / octets as u64, "a burst and no more");
            let most = rate + burst;
            assert!(left <= most && left >= most - 2 * octets as u64, "{left} of {rate} and {burst}");
            assert!(left <= rate + rate / 20, "within 5 % of the limit: {left} of {rate}");
        }
    }

    #[test]
    fn a_datagram_longer_than_the_token_bucket_leaves_when_it_is_full() {
        let mut bucket = Bucket::new(Some(Limit { rate: 1_000, burst: 100 }));
        bucket.take(MonoTime(SECOND), 500);
        assert_eq!(
            (bucket.ready(500), bucket.ready(50)),
            (MonoTime(SECOND * 3 / 2), MonoTime(SECOND * 29 / 20))
        );
        assert!(bucket.is_full(MonoTime(SECOND * 3 / 2)) && !bucket.is_full(MonoTime(SECOND)));
        assert_eq!(Bucket::new(None).ready(1 << 30), MonoTime(0));
    }
}
