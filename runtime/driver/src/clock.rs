//! The only place that reads the clocks.

use dunlin_core::{MonoTime, Now, WallTime};
use rustix::time::{ClockId, clock_gettime};

fn nanos(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    i64::from(time.tv_sec).saturating_mul(1_000_000_000).saturating_add(i64::from(time.tv_nsec))
}

/// Both clocks. The monotonic one never goes back; the wall clock may be set.
pub(crate) fn now() -> Now {
    Now {
        mono: MonoTime(u64::try_from(nanos(ClockId::Monotonic)).unwrap_or(0)),
        wall: WallTime(nanos(ClockId::Realtime)),
    }
}
