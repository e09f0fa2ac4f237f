//! RTPS 2.5 §8.4.7 timing parameters: deadlines as optional points on the monotonic clock.

use dunlin_core::MonoTime;

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
