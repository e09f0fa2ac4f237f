//! RTPS 2.5 §8.4.7.1: how far away a reader is, measured so that nackSuppressionDuration can cover the way to it and back.
//!
//! An ACKNACK does not say what it answers, but one that shows that a change has arrived was sent after it arrived. So
//! the time from the first sending of a change to such an ACKNACK is never less than the round trip, and that from its
//! first repair hardly ever: only when the change was late, not lost. What had to wait for a repair may only lower the
//! estimate, because how long that took depends on the estimate itself.

use dunlin_core::{Duration, MonoTime, SequenceNumber, SequenceNumberSet};

use crate::lazy::{Lazy, StaticDefault};

/// A measurement that takes longer is given up.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(3);
/// How long the least round trip counts, at least.
const LEAST_SPAN: Duration = Duration::from_secs(10);
/// What part of its difference to the estimate a measurement changes it by.
const SHARE: i64 = 8;

/// A change in flight.
#[derive(Clone, Copy, Debug)]
struct Timed {
    sn: SequenceNumber,
    since: MonoTime,
    /// It was sent for the first time, and nothing was repaired meanwhile.
    clean: bool,
    /// It was sent for the second time.
    is_repair: bool,
}

/// What ECHOs have shown.
#[derive(Clone, Debug, Default)]
struct Exact {
    /// Least of the exact ones of the present span of time and of the one before it: paths change.
    least: [Option<Duration>; 2],
    span_since: MonoTime,
    /// Least of all exact ones since the reader was last somewhere else.
    nearest: Option<Duration>,
}

impl StaticDefault for Exact {
    const STATIC_DEFAULT: &'static Self = &Self { least: [None; 2], span_since: MonoTime(0), nearest: None };
}

/// The distance of one reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTrip {
    timed: Option<Timed>,
    estimate: Option<Duration>,
    exact: Lazy<Exact>,
}

impl RoundTrip {
    fn begin(&mut self, sn: SequenceNumber, since: MonoTime, is_repair: bool) {
        if self.timed.is_none_or(|timed| since.since(timed.since) > MAX_ROUND_TRIP) {
            self.timed = Some(Timed { sn, since, clean: !is_repair, is_repair });
        }
    }

    /// A change leaves for the first time and an acknowledgment is asked for.
    pub(crate) fn sent(&mut self, now: MonoTime, sn: SequenceNumber) {
        self.begin(sn, now, false);
    }

    /// A change leaves again.
    pub(crate) fn repaired(&mut self, now: MonoTime, sn: SequenceNumber, first_repair: bool) {
        // Which repair arrived will not be known.
        self.timed = self.timed.filter(|timed| !(timed.is_repair && timed.sn == sn));
        if let Some(timed) = self.timed.as_mut().filter(|timed| sn <= timed.sn) {
            timed.clean = false;
        }
        if first_repair {
            self.begin(sn, now, true);
        }
    }

    /// An ECHO has come, which says what it answers: the measurement is exact.
    pub(crate) fn echoed(&mut self, now: MonoTime, took: Duration) {
        if took > MAX_ROUND_TRIP {
            return;
        }
        let exact = self.exact.made();
        exact.nearest = Some(exact.nearest.map_or(took, |nearest| nearest.min(took)));
        let [present, before] = exact.least;
        exact.least = match now.since(exact.span_since) {
            age if age < LEAST_SPAN => [Some(present.map_or(took, |least| least.min(took))), before],
            age => {
                exact.span_since = now;
                [Some(took), present.filter(|_| age < LEAST_SPAN.times(2))]
            }
        };
        let old = self.estimate.unwrap_or(took).as_nanos();
        let difference = took.as_nanos().saturating_sub(old);
        self.estimate = Some(Duration::from_nanos(old.saturating_add(difference / SHARE)));
    }

    /// The least round trip that was measured exactly in the last ten seconds or so; zero before the first.
    pub(crate) fn least(&self) -> Duration {
        self.exact.least.iter().flatten().min().copied().unwrap_or(Duration::ZERO)
    }

    /// The least round trip that was ever measured exactly; zero before the first. A line that is always full makes all
    /// answers wait in its queue: the least of the last seconds then says how long the queue is, not how long the way.
    pub(crate) fn nearest(&self) -> Duration {
        self.exact.nearest.unwrap_or(Duration::ZERO)
    }

    /// The reader has moved: how far away it is now has to be measured again.
    pub(crate) fn forget_nearest(&mut self) {
        if let Some(exact) = self.exact.if_made() {
            exact.nearest = None;
        }
    }

    /// An ACKNACK has come.
    pub(crate) fn answered(&mut self, now: MonoTime, set: &SequenceNumberSet) {
        let Some(timed) = self.timed.filter(|timed| has_arrived(timed.sn, set)) else { return };
        self.timed = None;
        let took = now.since(timed.since);
        if took > MAX_ROUND_TRIP {
            // One of the two stood still: repairs would wait for it as long as that.
            return;
        }
        self.estimate = match self.estimate {
            None => Some(took),
            Some(old) if timed.clean || took < old => {
                let difference = took.as_nanos().saturating_sub(old.as_nanos());
                Some(Duration::from_nanos(old.as_nanos().saturating_add(difference / SHARE)))
            }
            unchanged => unchanged,
        };
    }

    /// How long a repair and the answer to it take, with a quarter for good measure; zero while unknown.
    pub(crate) fn window(&self) -> Duration {
        let estimate = self.estimate.unwrap_or(Duration::ZERO).as_nanos();
        Duration::from_nanos(estimate.saturating_add(estimate / 4))
    }
}

/// Whether an ACKNACK shows that a change has arrived: it lies below the base, or between changes that are missing.
fn has_arrived(sn: SequenceNumber, set: &SequenceNumberSet) -> bool {
    sn < set.base() || (!set.contains(sn) && set.iter().last().is_some_and(|last| last > sn))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonoTime {
        MonoTime(ms * 1_000_000)
    }

    fn acknack(base: i64, missing: &[i64]) -> SequenceNumberSet {
        let mut set = SequenceNumberSet::empty(SequenceNumber(base));
        missing.iter().for_each(|sn| assert!(set.insert(SequenceNumber(*sn))));
        set
    }

    #[test]
    fn an_answer_after_a_pause_says_nothing_about_the_distance() {
        let mut round_trip = RoundTrip::default();
        round_trip.sent(at(100), SequenceNumber(5));
        round_trip.answered(at(60_000), &acknack(6, &[]));
        assert_eq!(round_trip.window(), Duration::ZERO);
        round_trip.sent(at(60_000), SequenceNumber(6));
        round_trip.answered(at(60_080), &acknack(7, &[]));
        assert_eq!(round_trip.window(), Duration::from_millis(100));
    }

    #[test]
    fn round_trip_counts_only_acknacks_that_show_the_change() {
        let mut round_trip = RoundTrip::default();
        round_trip.sent(at(100), SequenceNumber(5));
        for set in [acknack(5, &[]), acknack(5, &[5]), acknack(3, &[3, 4]), acknack(3, &[5, 6])] {
            round_trip.answered(at(110), &set);
            assert_eq!(round_trip.window(), Duration::ZERO);
        }
        round_trip.answered(at(180), &acknack(3, &[3, 6]));
        assert_eq!(round_trip.window(), Duration::from_millis(100));
    }

    #[test]
    fn the_least_round_trip_is_that_of_the_last_seconds() {
        let mut round_trip = RoundTrip::default();
        let ms = Duration::from_millis;
        for (now, took, least) in [
            (10_000, 5, 5),
            (12_000, 80, 5),
            (19_000, 3, 3),
            (25_000, 80, 3),
            (34_000, 90, 3),
            (36_000, 70, 70),
        ] {
            round_trip.echoed(at(now), ms(took));
            assert_eq!(round_trip.least(), ms(least), "after {now} ms");
        }
        round_trip.echoed(at(90_000), ms(100));
        assert_eq!(round_trip.least(), ms(100), "what was before the pause is forgotten");
        assert_eq!(round_trip.nearest(), ms(3), "a queue that is always full does not make the way longer");
        round_trip.forget_nearest();
        round_trip.echoed(at(91_000), ms(120));
        assert_eq!(round_trip.nearest(), ms(120));
    }

    #[test]
    fn clean_measurements_move_the_estimate_both_ways() {
        let mut round_trip = RoundTrip::default();
        for (took, window) in [(80, 100), (160, 112), (8, 99)] {
            round_trip.sent(at(1000), SequenceNumber(5));
            round_trip.answered(at(1000 + took), &acknack(6, &[]));
            assert_eq!(round_trip.window().as_nanos() / 1_000_000, window);
        }
    }

    #[test]
    fn an_acknack_after_a_repair_only_lowers_the_round_trip_estimate() {
        let mut round_trip = RoundTrip::default();
        let mut waited = |took: u64| {
            round_trip.sent(at(1000), SequenceNumber(5));
            round_trip.repaired(at(1001), SequenceNumber(4), false);
            round_trip.answered(at(1000 + took), &acknack(6, &[]));
            round_trip.window()
        };
        assert_eq!(waited(80), Duration::from_millis(100));
        assert_eq!(waited(160), Duration::from_millis(100));
        assert_eq!(waited(16), Duration::from_millis(90));
    }

    #[test]
    fn a_first_repair_measures_and_a_second_one_spoils_it() {
        let mut round_trip = RoundTrip::default();
        round_trip.repaired(at(1000), SequenceNumber(5), true);
        round_trip.repaired(at(1010), SequenceNumber(5), false);
        round_trip.answered(at(1011), &acknack(6, &[]));
        assert_eq!(round_trip.window(), Duration::ZERO);
        round_trip.repaired(at(2000), SequenceNumber(6), true);
        round_trip.answered(at(2080), &acknack(7, &[]));
        assert_eq!(round_trip.window(), Duration::from_millis(100));
    }
}
