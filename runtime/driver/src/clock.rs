//! The real clocks.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use dunlin_core::{Duration, MonoTime, Now, WallTime};

/// Monotonic time at the first reading: not zero, so that "one period ago" exists.
const START: MonoTime = MonoTime(3_600_000_000_000);

fn anchor() -> Instant {
    static ANCHOR: OnceLock<Instant> = OnceLock::new();
    *ANCHOR.get_or_init(Instant::now)
}

pub(crate) fn mono() -> MonoTime {
    START.plus(anchor().elapsed().into())
}

/// Both clocks. The monotonic one counts from an hour before the process first read it.
#[must_use]
pub fn now() -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now { mono: mono(), wall: WallTime::default().plus(Duration::from(since)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_advance() {
        let first = now();
        while mono() == first.mono {}
        let second = now();
        assert!(second.mono > first.mono);
        // After 2020-09-13: the wall clock is in nanoseconds since 1970.
        assert!(second.wall.0 > 1_600_000_000_000_000_000);
    }
}
