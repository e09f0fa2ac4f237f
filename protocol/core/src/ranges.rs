//! Sets of sequence numbers as intervals. What a peer announces can span 2^63 numbers, so nothing
//! here ever expands an interval.

use alloc::vec::Vec;

use crate::SequenceNumber;

/// The numbers `first..=last`; empty when `last < first`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnRange {
    /// Lowest member.
    pub first: SequenceNumber,
    /// Highest member.
    pub last: SequenceNumber,
}

impl SnRange {
    /// The interval from `first` to `last`, both included.
    #[must_use]
    pub const fn new(first: SequenceNumber, last: SequenceNumber) -> Self {
        Self { first, last }
    }

    /// True when it has no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last < self.first
    }

    /// How many members it has (saturating).
    #[must_use]
    pub fn count(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        (self.last.0.wrapping_sub(self.first.0) as u64).saturating_add(1)
    }
}

/// Disjoint, non-adjacent intervals in ascending order, at most a given number of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnRanges {
    ranges: Vec<SnRange>,
}

impl SnRanges {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { ranges: Vec::new() }
    }

    /// True when it has no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many intervals it holds.
    #[must_use]
    pub fn interval_count(&self) -> usize {
        self.ranges.len()
    }

    /// The intervals, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[SnRange] {
        &self.ranges
    }

    /// Index of the first interval whose end is at or after `sn`.
    fn position(&self, sn: SequenceNumber) -> usize {
        self.ranges.partition_point(|range| range.last < sn)
    }

    /// Whether `sn` is a member.
    #[must_use]
    pub fn contains(&self, sn: SequenceNumber) -> bool {
        self.ranges.get(self.position(sn)).is_some_and(|range| range.first <= sn)
    }

    /// The interval that `sn` lies in.
    #[must_use]
    pub fn range_of(&self, sn: SequenceNumber) -> Option<SnRange> {
        self.ranges.get(self.position(sn)).copied().filter(|range| range.first <= sn)
    }

    /// Lowest member.
    #[must_use]
    pub fn first(&self) -> Option<SequenceNumber> {
        self.ranges.first().map(|range| range.first)
    }

    /// Highest member.
    #[must_use]
    pub fn last(&self) -> Option<SequenceNumber> {
        self.ranges.last().map(|range| range.last)
    }

    /// How many members lie in an interval (saturating).
    #[must_use]
    pub fn count_within(&self, range: SnRange) -> u64 {
        self.ranges.iter().fold(0, |sum: u64, known| {
            let inside = SnRange::new(known.first.max(range.first), known.last.min(range.last));
            sum.saturating_add(inside.count())
        })
    }

    /// Adds an interval, merging what it touches. False, and nothing added, when that would make
    /// more than `max_intervals` intervals.
    pub fn insert(&mut self, range: SnRange, max_intervals: usize) -> bool {
        if range.is_empty() {
            return true;
        }
        let from = self.position(range.first.previous());
        let to = self.ranges.partition_point(|r| r.first <= range.last.next());
        if from >= to {
            if self.ranges.len() >= max_intervals {
                return false;
            }
            self.ranges.insert(from, range);
            return true;
        }
        let mut merged = range;
        for touched in self.ranges.drain(from..to) {
            merged.first = merged.first.min(touched.first);
            merged.last = merged.last.max(touched.last);
        }
        self.ranges.insert(from, merged);
        true
    }

    /// Removes every member at or below `sn`.
    pub fn remove_through(&mut self, sn: SequenceNumber) {
        let gone = self.position(sn.next());
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.first = first.first.max(sn.next());
        }
    }

    /// Removes every member at or above `sn`.
    pub fn remove_from(&mut self, sn: SequenceNumber) {
        let left = self.position(sn);
        let Some(range) = self.ranges.get_mut(left) else { return };
        let keep = range.first < sn;
        range.last = range.last.min(sn.previous());
        self.ranges.truncate(left.saturating_add(usize::from(keep)));
    }

    /// Removes one member, splitting its interval if it lies inside.
    pub fn remove(&mut self, sn: SequenceNumber) {
        let index = self.position(sn);
        let Some(range) = self.ranges.get_mut(index) else { return };
        if range.first > sn {
            return;
        }
        let (left, right) = (SnRange::new(range.first, sn.previous()), SnRange::new(sn.next(), range.last));
        match (left.is_empty(), right.is_empty()) {
            (true, true) => {
                self.ranges.remove(index);
            }
            (true, false) => *range = right,
            (false, true) => *range = left,
            (false, false) => {
                *range = left;
                self.ranges.insert(index.saturating_add(1), right);
            }
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;
    use crate::Rng;

    fn range(first: i64, last: i64) -> SnRange {
        SnRange::new(SequenceNumber(first), SequenceNumber(last))
    }

    #[test]
    fn sequence_number_ranges_behave_like_a_set() {
        let mut rng = Rng::new(7);
        for _ in 0..if cfg!(miri) { 3 } else { 200 } {
            let (mut ranges, mut model) = (SnRanges::new(), BTreeSet::new());
            for _ in 0..60 {
                let first = rng.below(60) as i64;
                let last = first + rng.below(8) as i64 - 1;
                match rng.below(6) {
                    0 => {
                        ranges.remove_through(SequenceNumber(first));
                        model.retain(|n| *n > first);
                    }
                    1 => {
                        ranges.remove(SequenceNumber(first));
                        model.remove(&first);
                    }
                    2 => {
                        ranges.remove_from(SequenceNumber(first));
                        model.retain(|n| *n < first);
                    }
                    _ => {
                        assert!(ranges.insert(range(first, last), usize::MAX));
                        model.extend(first..=last);
                    }
                }
                for n in 0..70 {
                    assert_eq!(ranges.contains(SequenceNumber(n)), model.contains(&n));
                }
                for pair in ranges.as_slice().windows(2) {
                    assert!(pair[0].last.next() < pair[1].first);
                }
            }
        }
    }

    #[test]
    fn huge_intervals_cost_nothing_and_the_bound_holds() {
        let mut ranges = SnRanges::new();
        assert!(ranges.insert(range(1, i64::MAX), 4));
        ranges.remove(SequenceNumber(1 << 40));
        assert_eq!(ranges.interval_count(), 2);
        let mut bounded = SnRanges::new();
        assert!(bounded.insert(range(1, 1), 2) && bounded.insert(range(3, 3), 2));
        assert!(!bounded.insert(range(5, 5), 2));
        assert!(bounded.insert(range(2, 2), 2));
        assert_eq!(bounded.as_slice(), [range(1, 3)]);
        assert_eq!(range(1, i64::MAX).count(), i64::MAX as u64);
    }
}
