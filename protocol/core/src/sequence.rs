//! Sequence numbers (RTPS 2.5 §8.3.5.4, §9.3.2.4).

use core::fmt;

/// Position of a change in its writer's stream: 1 for the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SequenceNumber(pub i64);

impl SequenceNumber {
    /// Before the first change.
    pub const ZERO: Self = Self(0);
    /// The first change of a writer.
    pub const FIRST: Self = Self(1);
    /// The largest value.
    pub const MAX: Self = Self(i64::MAX);
    /// SEQUENCENUMBER_UNKNOWN: high = -1, low = 0.
    pub const UNKNOWN: Self = Self(-(1 << 32));

    /// The following number (saturating).
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The preceding number (saturating).
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// `self + n` (saturating).
    #[must_use]
    pub const fn plus(self, n: i64) -> Self {
        Self(self.0.saturating_add(n))
    }

    /// From the two halves on the wire.
    #[must_use]
    pub const fn from_parts(high: i32, low: u32) -> Self {
        Self(((high as i64) << 32) | low as i64)
    }

    /// The high half on the wire.
    #[must_use]
    pub const fn high(self) -> i32 {
        (self.0 >> 32) as i32
    }

    /// The low half on the wire.
    #[must_use]
    pub const fn low(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_trip() {
        for value in [0, 1, 0xffff_ffff, 0x1_0000_0000, i64::MAX, -1, SequenceNumber::UNKNOWN.0] {
            let sn = SequenceNumber(value);
            assert_eq!(SequenceNumber::from_parts(sn.high(), sn.low()), sn);
        }
        assert_eq!((SequenceNumber::UNKNOWN.high(), SequenceNumber::UNKNOWN.low()), (-1, 0));
    }
}
