//! One clock for all processes of a machine.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the monotonic clock, which all processes share.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
