//! Time (RTPS 2.5 §9.3.2.1, §9.3.2.2; DDS 1.4 §2.3.2). Inside Dunlin time is a count of
//! nanoseconds; on the wire it is seconds and fractions of 2^-32 s. Nothing here reads a clock.

use core::fmt;

const NANOS_PER_SEC: i64 = 1_000_000_000;

/// A point on the monotonic clock, in nanoseconds from an arbitrary start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct MonoTime(pub u64);

impl MonoTime {
    /// The far end of the clock.
    pub const MAX: Self = Self(u64::MAX);

    /// `self + duration`; the far end for an infinite duration; never before the start.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        if duration.is_infinite() { Self::MAX } else { Self(self.0.saturating_add_signed(duration.0)) }
    }

    /// Time passed since `earlier`; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration(i64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(i64::MAX))
    }
}

/// A point on the wall clock, in nanoseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct WallTime(pub i64);

impl WallTime {
    /// `self + duration`, saturating.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.0))
    }

    /// Whether a message can carry it: from 1970 to 2106 (RTPS 2.5 §9.3.2.1).
    #[must_use]
    pub fn fits_the_wire(self) -> bool {
        RtpsTime::from_wall(self).to_wall().is_some()
    }

    /// `self - earlier`, which may be negative.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

/// Both clocks, read once by the caller of a state machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// For timers and periods.
    pub mono: MonoTime,
    /// For source and reception timestamps.
    pub wall: WallTime,
}

/// A span of time in nanoseconds; [`Duration::INFINITE`] never ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(i64);

impl Duration {
    /// DURATION_ZERO.
    pub const ZERO: Self = Self(0);
    /// DURATION_INFINITE.
    pub const INFINITE: Self = Self(i64::MAX);

    /// `n` nanoseconds.
    #[must_use]
    pub const fn from_nanos(n: i64) -> Self {
        Self(n)
    }

    /// `n` microseconds.
    #[must_use]
    pub const fn from_micros(n: i64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// `n` milliseconds.
    #[must_use]
    pub const fn from_millis(n: i64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// `n` seconds.
    #[must_use]
    pub const fn from_secs(n: i64) -> Self {
        Self(n.saturating_mul(NANOS_PER_SEC))
    }

    /// The span in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// True for DURATION_INFINITE.
    #[must_use]
    pub const fn is_infinite(self) -> bool {
        self.0 == i64::MAX
    }

    /// `self / n`; infinite stays infinite; `n` of 0 counts as 1.
    #[must_use]
    pub const fn divided_by(self, n: i64) -> Self {
        if self.is_infinite() {
            return self;
        }
        match self.0.checked_div(n) {
            Some(nanos) => Self(nanos),
            None => self,
        }
    }

    /// `self * n`, saturating to infinite.
    #[must_use]
    pub const fn times(self, n: i64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// As a standard duration; `None` when infinite; negative spans become zero.
    #[must_use]
    pub fn to_std(self) -> Option<core::time::Duration> {
        (!self.is_infinite()).then(|| core::time::Duration::from_nanos(u64::try_from(self.0).unwrap_or(0)))
    }
}

impl From<core::time::Duration> for Duration {
    fn from(d: core::time::Duration) -> Self {
        Self(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        let (unit, name) = match n {
            _ if self.is_infinite() => return f.write_str("infinite"),
            _ if n % NANOS_PER_SEC == 0 => (NANOS_PER_SEC, "s"),
            _ if n % 1_000_000 == 0 => (1_000_000, "ms"),
            _ if n % 1_000 == 0 => (1_000, "us"),
            _ => (1, "ns"),
        };
        write!(f, "{}{name}", n.checked_div(unit).unwrap_or(n))
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Seconds and 2^-32 s fractions as they stand on the wire. The same eight octets carry Time_t
/// (unsigned seconds) and Duration_t (signed seconds).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RtpsTime {
    /// Whole seconds (bits of an i32 in a Duration_t).
    pub seconds: u32,
    /// Fraction in units of 2^-32 s.
    pub fraction: u32,
}

const INFINITE_SECONDS: u32 = 0x7fff_ffff;

/// Fraction to nanoseconds, rounding down: the inverse of [`nanos_to_fraction`].
fn fraction_to_nanos(fraction: u32) -> i64 {
    (u64::from(fraction).wrapping_mul(NANOS_PER_SEC as u64) >> 32) as i64
}

/// Nanoseconds below one second to a fraction, rounding up so that a round trip is exact.
fn nanos_to_fraction(nanos: i64) -> u32 {
    ((nanos as u64) << 32).div_ceil(NANOS_PER_SEC as u64) as u32
}

impl RtpsTime {
    /// TIME_INVALID.
    pub const INVALID: Self = Self { seconds: u32::MAX, fraction: u32::MAX };

    /// As a timestamp; `None` for TIME_INVALID and for an infinite time.
    #[must_use]
    pub fn to_wall(self) -> Option<WallTime> {
        if self.seconds == u32::MAX && self.fraction >= u32::MAX.wrapping_sub(1) {
            return None;
        }
        let seconds = i64::from(self.seconds).saturating_mul(NANOS_PER_SEC);
        Some(WallTime(seconds.saturating_add(fraction_to_nanos(self.fraction))))
    }

    /// From a timestamp; one outside the range of the wire becomes TIME_INVALID.
    #[must_use]
    pub fn from_wall(time: WallTime) -> Self {
        let nanos = time.0.rem_euclid(NANOS_PER_SEC);
        match u32::try_from(time.0.div_euclid(NANOS_PER_SEC)) {
            Ok(seconds) => Self { seconds, fraction: nanos_to_fraction(nanos) },
            Err(_) => Self::INVALID,
        }
    }

    /// As a duration. Seconds 7fffffff are infinite whatever the fraction, because older stacks put
    /// the infinite of the DDS API there.
    #[must_use]
    pub fn to_duration(self) -> Duration {
        if self.seconds == INFINITE_SECONDS {
            return Duration::INFINITE;
        }
        let seconds = i64::from(self.seconds as i32).saturating_mul(NANOS_PER_SEC);
        Duration(seconds.saturating_add(fraction_to_nanos(self.fraction)))
    }

    /// As a duration whose second word is nanoseconds, as OpenDDS writes it in QoS.
    #[must_use]
    pub fn to_duration_of_nanos(self) -> Duration {
        if self.seconds == INFINITE_SECONDS {
            return Duration::INFINITE;
        }
        let seconds = i64::from(self.seconds as i32).saturating_mul(NANOS_PER_SEC);
        Duration(seconds.saturating_add(i64::from(self.fraction)))
    }

    /// From a duration; longer than the wire can say becomes infinite.
    #[must_use]
    pub fn from_duration(duration: Duration) -> Self {
        let infinite = Self { seconds: INFINITE_SECONDS, fraction: u32::MAX };
        if duration.is_infinite() {
            return infinite;
        }
        let nanos = duration.0.rem_euclid(NANOS_PER_SEC);
        match i32::try_from(duration.0.div_euclid(NANOS_PER_SEC)) {
            Ok(seconds) if seconds as u32 != INFINITE_SECONDS => {
                Self { seconds: seconds as u32, fraction: nanos_to_fraction(nanos) }
            }
            _ => infinite,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::Rng;

    #[test]
    fn round_trips_are_exact() {
        let mut rng = Rng::new(1);
        for _ in 0..if cfg!(miri) { 200 } else { 10_000 } {
            let nanos = rng.below(4_000_000_000 * 1_000_000_000) as i64;
            assert_eq!(RtpsTime::from_wall(WallTime(nanos)).to_wall(), Some(WallTime(nanos)));
            let duration = Duration::from_nanos(nanos / 2);
            assert_eq!(RtpsTime::from_duration(duration).to_duration(), duration);
        }
    }

    #[test]
    fn special_values() {
        assert_eq!(RtpsTime::INVALID.to_wall(), None);
        assert_eq!(RtpsTime::from_wall(WallTime(-1)), RtpsTime::INVALID);
        let last = (i64::from(u32::MAX) + 1) * NANOS_PER_SEC - 1;
        let fits = [-1, 0, last - 1, last, last + 1, i64::MAX].map(|nanos| WallTime(nanos).fits_the_wire());
        assert_eq!(fits, [false, true, true, true, false, false]);
        assert_eq!(
            RtpsTime { seconds: 0x7fff_ffff, fraction: 0x7fff_ffff }.to_duration(),
            Duration::INFINITE
        );
        let infinite = RtpsTime::from_duration(Duration::INFINITE);
        assert_eq!((infinite.seconds, infinite.fraction), (0x7fff_ffff, u32::MAX));
        // 100 ms as Cyclone DDS writes it
        let tenth = RtpsTime { seconds: 0, fraction: 0x1999_999a };
        assert_eq!(tenth.to_duration(), Duration::from_millis(100));
        assert_eq!(RtpsTime::from_duration(Duration::from_millis(100)), tenth);
        assert_eq!(MonoTime(5).plus(Duration::INFINITE), MonoTime::MAX);
        assert_eq!(Duration::from_millis(1500).to_string(), "1500ms");
        assert_eq!(Duration::INFINITE.to_string(), "infinite");
    }
}
