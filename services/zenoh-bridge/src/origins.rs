//! Which samples have passed, by first writer and number: bounded, and forgetful only where a stranger makes it so.

use std::collections::BTreeMap;

use dunlin::{Guid, SampleIdentity};

/// First writers that are remembered.
const WRITERS: usize = 4096;
/// Intervals of numbers that are remembered of each.
const INTERVALS: usize = 256;

/// Of one writer: first and last numbers of intervals that do not touch, and when it was noted last.
#[derive(Default)]
struct Passed {
    intervals: BTreeMap<i64, i64>,
    used: u64,
}

/// What has passed.
#[derive(Default)]
pub(crate) struct Origins {
    writers: BTreeMap<Guid, Passed>,
    uses: u64,
}

impl Origins {
    pub(crate) fn contains(&self, sample: SampleIdentity) -> bool {
        let number = sample.sequence_number.0;
        let before =
            self.writers.get(&sample.writer).and_then(|it| it.intervals.range(..=number).next_back());
        before.is_some_and(|(_, last)| number <= *last)
    }

    pub(crate) fn note(&mut self, sample: SampleIdentity) {
        if !self.writers.contains_key(&sample.writer) && self.writers.len() >= WRITERS {
            // A sample may come twice then, but none is lost.
            let oldest = self.writers.iter().min_by_key(|(_, it)| it.used).map(|(writer, _)| *writer);
            oldest.map(|writer| self.writers.remove(&writer));
        }
        self.uses += 1;
        let passed = self.writers.entry(sample.writer).or_default();
        passed.used = self.uses;
        passed.add(sample.sequence_number.0);
    }
}

impl Passed {
    fn add(&mut self, number: i64) {
        let before = self.intervals.range(..=number).next_back().map(|(first, last)| (*first, *last));
        if before.is_some_and(|(_, last)| number <= last) {
            return;
        }
        let first = before.filter(|(_, last)| last + 1 == number).map_or(number, |(first, _)| first);
        let last = self.intervals.remove(&number.saturating_add(1)).unwrap_or(number);
        self.intervals.insert(first, last);
        if self.intervals.len() > INTERVALS {
            self.intervals.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use dunlin::SequenceNumber;

    use super::*;

    fn sample(writer: u32, number: i64) -> SampleIdentity {
        let mut octets = [7; 16];
        octets[..4].copy_from_slice(&writer.to_be_bytes());
        SampleIdentity { writer: Guid::from_bytes(octets), sequence_number: SequenceNumber(number) }
    }

    #[test]
    fn numbers_in_any_order_become_intervals() {
        let mut origins = Origins::default();
        for number in [5, 3, 4, 1, 9, 2, 4, i64::MAX] {
            origins.note(sample(1, number));
        }
        let known: Vec<i64> = (0..12).filter(|number| origins.contains(sample(1, *number))).collect();
        assert_eq!(known, [1, 2, 3, 4, 5, 9]);
        assert!(!origins.contains(sample(2, 1)) && origins.contains(sample(1, i64::MAX)));
        assert_eq!(origins.writers[&sample(1, 0).writer].intervals.len(), 3);
    }

    #[test]
    fn remembered_origins_are_bounded() {
        let mut origins = Origins::default();
        for number in 0..2000 {
            origins.note(sample(1, number * 2));
        }
        assert_eq!(origins.writers[&sample(1, 0).writer].intervals.len(), INTERVALS);
        for writer in 0..2 * WRITERS as u32 {
            origins.note(sample(writer, 1));
        }
        assert_eq!(origins.writers.len(), WRITERS);
    }
}
