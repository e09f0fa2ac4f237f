//! RTPS 2.5 §8.3.8.2, §8.7.2.3: which of the last changes of a writer had which source timestamp. A change that is sent again has the same one.
//! Two with one number and different ones are two changes, and the writer has written only one of them.

use dunlin_core::{SequenceNumber, WallTime};

use crate::lazy::StaticDefault;

/// Delivered changes that are remembered: so many a forger can be ahead of the writer, and is still noticed.
const KEPT: i64 = 64;
/// Nothing is remembered of the change.
const NOTHING: i64 = i64::MIN;
/// The change had no source timestamp.
const UNTIMED: i64 = i64::MIN + 1;

/// The source timestamps of the last changes that were delivered, each where its number says.
#[derive(Debug)]
pub(super) struct Marks([i64; KEPT as usize]);

impl Default for Marks {
    fn default() -> Self {
        Self([NOTHING; KEPT as usize])
    }
}

impl StaticDefault for Marks {
    const STATIC_DEFAULT: &'static Self = &Self([NOTHING; KEPT as usize]);
}

/// Whether two source timestamps cannot be those of one change. Not every writer sends them always.
pub(super) fn contradict(one: Option<WallTime>, other: Option<WallTime>, always_timed: bool) -> bool {
    one != other && (always_timed || (one.is_some() && other.is_some()))
}

impl Marks {
    #[inline]
    fn slot(&mut self, sn: SequenceNumber) -> Option<&mut i64> {
        self.0.get_mut((sn.0 & (KEPT - 1)) as usize)
    }

    /// A change was delivered.
    #[inline]
    pub(super) fn put(&mut self, sn: SequenceNumber, timestamp: Option<WallTime>) {
        if let Some(slot) = self.slot(sn) {
            *slot = timestamp.map_or(UNTIMED, |time| time.0);
        }
    }

    /// Nothing more is to be said about a change.
    pub(super) fn forget(&mut self, sn: SequenceNumber) {
        self.slot(sn).into_iter().for_each(|slot| *slot = NOTHING);
    }

    /// Changes from `first` to before `end` were not delivered.
    pub(super) fn skip(&mut self, first: SequenceNumber, end: SequenceNumber) {
        let count = end.0.saturating_sub(first.0).min(KEPT);
        (0..count).for_each(|offset| self.forget(first.plus(offset)));
    }

    /// Whether the change that was delivered with this number is another one; told once. `expected` is the next to be delivered.
    pub(super) fn refute(
        &mut self,
        expected: SequenceNumber,
        sn: SequenceNumber,
        timestamp: Option<WallTime>,
        always_timed: bool,
    ) -> bool {
        let kept = sn < expected && expected.0.saturating_sub(sn.0) <= KEPT;
        let Some(slot) = self.slot(sn).filter(|slot| kept && **slot != NOTHING) else { return false };
        let known = Some(*slot).filter(|mark| *mark != UNTIMED).map(WallTime);
        let refuted = contradict(known, timestamp, always_timed);
        if refuted {
            *slot = NOTHING;
        }
        refuted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sn(n: i64) -> SequenceNumber {
        SequenceNumber(n)
    }

    #[test]
    fn the_last_changes_are_told_from_others_with_their_numbers_once() {
        let mut marks = Marks::default();
        (1..=100).for_each(|n| marks.put(sn(n), Some(WallTime(n))));
        let mut refuted =
            |n, time: Option<i64>, timed| marks.refute(sn(101), sn(n), time.map(WallTime), timed);
        assert!(!refuted(100, Some(100), true), "sent again");
        assert!(!refuted(99, None, false), "no time that tells otherwise");
        assert!(refuted(99, None, true), "this writer has always told it");
        assert!(refuted(37, Some(38), false) && !refuted(37, Some(38), false), "once");
        assert!(!refuted(36, Some(1), true), "forgotten");
        assert!(!refuted(101, Some(1), true), "not delivered yet");
    }

    #[test]
    fn a_change_that_was_not_delivered_refutes_none() {
        let mut marks = Marks::default();
        (1..=64).for_each(|n| marks.put(sn(n), Some(WallTime(n))));
        marks.skip(sn(65), sn(70));
        marks.put(sn(70), None);
        let mut refuted = |n, timed| marks.refute(sn(71), sn(n), Some(WallTime(0)), timed);
        assert!((65..70).all(|n| !refuted(n, true)));
        assert!(!refuted(70, false) && refuted(70, true) && refuted(64, true));
        marks.skip(sn(71), sn(1 << 40));
        assert!((0..64).all(|n| !marks.refute(sn(1 << 40), sn((1 << 40) - 1 - n), Some(WallTime(0)), true)));
    }
}
