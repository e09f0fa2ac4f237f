//! RTPS 2.5 §9.6.4 PID_ORIGINAL_WRITER_INFO: which samples a reader has had, by the name they had first, whichever way they came.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use dunlin_core::{Guid, SampleIdentity, SnRange, SnRanges};

/// Intervals of numbers that are remembered of one writer; beyond them the lowest are forgotten.
const MAX_INTERVALS: usize = 256;

/// Writers that are remembered; beyond them those are forgotten that nothing came of for longest.
const MAX_WRITERS: usize = 4096;

/// What a reader has had. It forgets rather than grow: a sample may come twice then, but none is lost.
#[derive(Debug, Default)]
pub struct Origins {
    writers: BTreeMap<Guid, Writer>,
    /// Counts what is noted, to tell what is old.
    clock: u64,
}

#[derive(Debug, Default)]
struct Writer {
    seen: SnRanges,
    /// When something of it was noted last.
    noted: u64,
}

impl Origins {
    /// Whether it has had the sample, as far as it remembers.
    #[must_use]
    pub fn contains(&self, sample: SampleIdentity) -> bool {
        let writer = self.writers.get(&sample.writer);
        writer.is_some_and(|writer| writer.seen.contains(sample.sequence_number))
    }

    /// Remembers that it has had a sample.
    pub fn note(&mut self, sample: SampleIdentity) {
        self.clock = self.clock.saturating_add(1);
        if self.writers.len() >= MAX_WRITERS && !self.writers.contains_key(&sample.writer) {
            self.forget_some();
        }
        let writer = self.writers.entry(sample.writer).or_default();
        writer.noted = self.clock;
        let number = SnRange::new(sample.sequence_number, sample.sequence_number);
        while !writer.seen.insert(number, MAX_INTERVALS) {
            let Some(lowest) = writer.seen.as_slice().first().map(|range| range.last) else { return };
            writer.seen.remove_through(lowest);
        }
    }

    /// Forgets an eighth of the writers at once, so that each one costs little.
    fn forget_some(&mut self) {
        let mut noted: Vec<u64> = self.writers.values().map(|writer| writer.noted).collect();
        let (_, limit, _) = noted.select_nth_unstable(MAX_WRITERS / 8);
        let limit = *limit;
        self.writers.retain(|_, writer| writer.noted > limit);
    }
}

#[cfg(test)]
mod tests {
    use dunlin_core::{EntityId, GuidPrefix, SequenceNumber};

    use super::*;

    fn sample(writer: u16, number: i64) -> SampleIdentity {
        let [high, low] = writer.to_be_bytes();
        let prefix = GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, high, low]);
        SampleIdentity {
            writer: Guid::new(prefix, EntityId::PARTICIPANT),
            sequence_number: SequenceNumber(number),
        }
    }

    #[test]
    fn samples_are_known_by_writer_and_number_in_any_order() {
        let mut origins = Origins::default();
        for number in [3, 1, 7, 2] {
            assert!(!origins.contains(sample(1, number)));
            origins.note(sample(1, number));
            assert!(origins.contains(sample(1, number)) && !origins.contains(sample(2, number)));
        }
        assert!(!origins.contains(sample(1, 4)) && !origins.contains(sample(1, 6)));
        assert_eq!(origins.writers.values().next().unwrap().seen.interval_count(), 2);
    }

    #[test]
    fn the_lowest_numbers_are_forgotten_when_there_are_too_many_gaps() {
        let mut origins = Origins::default();
        let count = MAX_INTERVALS as i64 + 10;
        (1..=count).for_each(|n| origins.note(sample(1, 2 * n)));
        let seen = &origins.writers.values().next().unwrap().seen;
        assert_eq!(seen.interval_count(), MAX_INTERVALS);
        assert!(!origins.contains(sample(1, 2)) && origins.contains(sample(1, 2 * count)));
        // A number below all that is remembered is remembered all the same, in the place of the lowest.
        origins.note(sample(1, 1));
        assert!(origins.contains(sample(1, 1)));
    }

    #[test]
    fn writers_that_were_silent_for_longest_are_forgotten_first() {
        let mut origins = Origins::default();
        for writer in 0..MAX_WRITERS as u16 {
            origins.note(sample(writer, 1));
        }
        origins.note(sample(0, 2));
        origins.note(sample(u16::MAX, 1));
        assert!(origins.writers.len() <= MAX_WRITERS);
        assert!(origins.contains(sample(0, 1)) && origins.contains(sample(u16::MAX, 1)));
        assert!(!origins.contains(sample(1, 1)) && origins.contains(sample(MAX_WRITERS as u16 - 1, 1)));
    }
}
