//! The real clocks.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dunlin_core::{MonoTime, Now, WallTime};

/// Monotonic time at the first reading: not zero, so that "one period ago" exists.
const START: MonoTime = MonoTime(3_600_000_000_000);

/// In 64 bits: every write reads clocks.
fn nanos(since: Duration) -> u64 {
    since.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(since.subsec_nanos()))
}

pub(crate) fn mono() -> MonoTime {
    static ANCHOR: OnceLock<Instant> = OnceLock::new();
    let present = Instant::now();
    let anchor = *ANCHOR.get_or_init(|| present);
    MonoTime(START.0.saturating_add(nanos(present.duration_since(anchor))))
}

/// Both clocks. The monotonic one counts from an hour before the process first read it.
#[must_use]
pub fn now() -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall = i64::try_from(nanos(since)).unwrap_or(i64::MAX);
    Now { mono: mono(), wall: WallTime(wall) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_and_wall_clock_advance() {
        let first = now();
        while mono() == first.mono {}
        let second = now();
        assert!(second.mono > first.mono);
        // After 2020-09-13: the wall clock is in nanoseconds since 1970.
        assert!(second.wall.0 > 1_600_000_000_000_000_000);
    }
}
