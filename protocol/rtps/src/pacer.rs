//! Shaping of what a writer sends: a token bucket over octets. (RTPS 2.5 §8.4.1)

use dunlin_core::{Duration, MonoTime};

/// How fast a writer may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pacing {
    /// Octets per second over time; 0 counts as 1.
    pub rate: u64,
    /// Octets that may leave at once after a pause. One datagram may always leave, however large.
    pub burst: u64,
}

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// A token bucket: a datagram may leave while there is credit; a datagram larger than the credit leaves a debt.
#[derive(Clone, Debug)]
pub struct Pacer {
    pacing: Pacing,
    /// Octets that may still leave; negative is debt.
    credit: i64,
    updated: MonoTime,
    /// Nanoseconds times rate that did not yet make an octet.
    remainder: u64,
}

impl Pacer {
    /// A full bucket.
    #[must_use]
    pub fn new(pacing: Pacing) -> Self {
        let pacing = Pacing { rate: pacing.rate.max(1), burst: pacing.burst.clamp(1, i64::MAX as u64) };
        Self { pacing, credit: pacing.burst as i64, updated: MonoTime::default(), remainder: 0 }
    }

    /// Adds what has accrued since the last call.
    fn refill(&mut self, now: MonoTime) {
        let elapsed = u128::from(now.0.saturating_sub(self.updated.0));
        if elapsed == 0 {
            return;
        }
        self.updated = now;
        let accrued =
            elapsed.wrapping_mul(u128::from(self.pacing.rate)).wrapping_add(u128::from(self.remainder));
        let octets = accrued.wrapping_div(NANOS_PER_SEC);
        let room = self.pacing.burst.saturating_add_signed(self.credit.saturating_neg());
        if octets >= u128::from(room) {
            self.credit = self.pacing.burst as i64;
            self.remainder = 0;
        } else {
            self.credit = self.credit.saturating_add_unsigned(octets as u64);
            self.remainder = accrued.wrapping_rem(NANOS_PER_SEC) as u64;
        }
    }

    /// Whether a datagram may leave now.
    pub fn ready(&mut self, now: MonoTime) -> bool {
        self.refill(now);
        self.credit > 0
    }

    /// Accounts for `octets` that leave now.
    pub fn spend(&mut self, octets: usize) {
        self.credit = self.credit.saturating_sub_unsigned(octets as u64);
    }

    /// When the next datagram may leave; `now` itself when one may leave at once.
    pub fn ready_at(&mut self, now: MonoTime) -> MonoTime {
        if self.ready(now) {
            return now;
        }
        let missing = u128::from(self.credit.unsigned_abs().saturating_add(1));
        let nanos = missing
            .wrapping_mul(NANOS_PER_SEC)
            .saturating_sub(u128::from(self.remainder))
            .div_ceil(u128::from(self.pacing.rate));
        now.plus(Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX)))
    }
}

/// A deadline at the time an optional pacer next lets a datagram leave.
pub(crate) fn ready_at(pacer: &mut Option<Pacer>, now: MonoTime) -> MonoTime {
    pacer.as_mut().map_or(now, |pacer| pacer.ready_at(now))
}

/// Whether an optional pacer lets a datagram leave.
pub(crate) fn is_ready(pacer: &mut Option<Pacer>, now: MonoTime) -> bool {
    pacer.as_mut().is_none_or(|pacer| pacer.ready(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_term_rate_is_kept_and_the_burst_bounded() {
        let mut pacer = Pacer::new(Pacing { rate: 1_000_000, burst: 10_000 });
        let (mut now, end, mut sent) = (MonoTime(0), MonoTime(1_000_000_000), 0u64);
        let mut first_burst = 0;
        while now < end {
            while pacer.ready(now) {
                pacer.spend(1500);
                sent += 1500;
            }
            if first_burst == 0 {
                first_burst = sent;
            }
            let next = pacer.ready_at(now);
            assert!(next > now);
            now = next;
        }
        assert!((10_000..11_500).contains(&first_burst));
        assert!((1_010_000..1_013_500).contains(&sent), "{sent}");
    }

    #[test]
    fn a_datagram_larger_than_the_burst_leaves_and_is_paid_for() {
        let mut pacer = Pacer::new(Pacing { rate: 1000, burst: 1 });
        assert!(pacer.ready(MonoTime(5)));
        pacer.spend(60_000);
        assert!(!pacer.ready(MonoTime(1_000_000_000)));
        let at = pacer.ready_at(MonoTime(1_000_000_000));
        assert!((59_000_000_000..61_000_000_000).contains(&at.0), "{at:?}");
        assert!(pacer.ready(at));
    }
}
