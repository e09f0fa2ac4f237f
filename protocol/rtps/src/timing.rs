//! RTPS 2.5 §8.4.7 timing parameters: deadlines as optional points on the monotonic clock.

use dunlin_core::{Duration, MonoTime};

/// Octets in a millisecond of a line on which the kernel had better cut runs of datagrams into frames than IP long datagrams: 320
/// Mbit/s.
pub(crate) const FAST_LINE: u64 = 40_000;

/// How fast so many octets were on their way.
pub(crate) fn octets_in_a_millisecond(octets: usize, took: Duration) -> u64 {
    let micros = u64::try_from(took.as_nanos() / 1_000).unwrap_or(0);
    (octets as u64).saturating_mul(1_000).checked_div(micros).unwrap_or(u64::MAX)
}

/// The earlier of two deadlines.
pub(crate) fn earliest(a: Option<MonoTime>, b: Option<MonoTime>) -> Option<MonoTime> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

/// Brings a deadline forward to `at`.
pub(crate) fn arm(deadline: &mut Option<MonoTime>, at: MonoTime) {
    *deadline = earliest(*deadline, Some(at));
}

/// Whether a deadline has come.
pub(crate) fn is_due(deadline: Option<MonoTime>, now: MonoTime) -> bool {
    deadline.is_some_and(|at| at <= now)
}
