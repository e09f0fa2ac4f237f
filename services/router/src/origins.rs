//! Which samples have passed, by first writer and number: bounded, and forgetful only where a stranger makes it so.

use std::collections::BTreeMap;

use dunlin::{Guid, SampleIdentity};

/// First writers that are remembered.
const WRITERS: usize = 4096;
/// Intervals of numbers that are remembered of each.
const INTERVALS: usize = 256;

/// Numbers in ascending intervals that do not touch.
type Intervals = Vec<(i64, i64)>;

/// What has passed.
#[derive(Clone, Default)]
pub(crate) struct Origins {
    writers: BTreeMap<Guid, (u64, Intervals)>,
    /// Grows with each use of a writer that was not the last one.
    uses: u64,
}

impl Origins {
    pub(crate) fn contains(&self, sample: SampleIdentity) -> bool {
        let Some((_, known)) = self.writers.get(&sample.writer) else { return false };
        let number = sample.sequence_number.0;
        let after = known.partition_point(|(first, _)| *first <= number);
        after.checked_sub(1).and_then(|at| known.get(at)).is_some_and(|(_, last)| number <= *last)
    }

    pub(crate) fn note(&mut self, sample: SampleIdentity) {
        if !self.writers.contains_key(&sample.writer) && self.writers.len() >= WRITERS {
            // A sample may come twice then, but none is lost.
            let oldest = self.writers.iter().min_by_key(|(_, (used, _))| *used).map(|(writer, _)| *writer);
            oldest.map(|writer| self.writers.remove(&writer));
        }
        self.uses += 1;
        let (used, known) = self.writers.entry(sample.writer).or_default();
        *used = self.uses;
        add(known, sample.sequence_number.0);
    }
}

fn add(known: &mut Intervals, number: i64) {
    // Usually the next one.
    if let Some((_, last)) = known.last_mut()
        && last.checked_add(1) == Some(number)
    {
        *last = number;
        return;
    }
    let at = known.partition_point(|(first, _)| *first <= number);
    let before = at.checked_sub(1);
    if before.and_then(|at| known.get(at)).is_some_and(|(_, last)| number <= *last) {
        return;
    }
    let joins_before =
        before.filter(|at| known.get(*at).is_some_and(|(_, last)| last.checked_add(1) == Some(number)));
    let joins_after = known.get(at).is_some_and(|(first, _)| number.checked_add(1) == Some(*first));
    match (joins_before, joins_after) {
        (Some(before), true) => {
            let (_, last) = known.remove(at);
            known[before].1 = last;
        }
        (Some(before), false) => known[before].1 = number,
        (None, true) => known[at].0 = number,
        (None, false) => known.insert(at, (number, number)),
    }
    if known.len() > INTERVALS {
        known.remove(0);
    }
}

#[cfg(test)]
mod tests {
    use dunlin::SequenceNumber;

    use super::*;

    fn sample(writer: u8, number: i64) -> SampleIdentity {
        let writer = Guid::from_bytes([writer; 16]);
        SampleIdentity { writer, sequence_number: SequenceNumber(number) }
    }

    #[test]
    fn numbers_in_any_order_become_intervals() {
        let mut origins = Origins::default();
        for number in [5, 3, 4, 1, 9, 2, 4] {
            origins.note(sample(1, number));
        }
        let known: Vec<i64> = (0..12).filter(|number| origins.contains(sample(1, *number))).collect();
        assert_eq!(known, [1, 2, 3, 4, 5, 9]);
        assert!(!origins.contains(sample(2, 1)));
        assert_eq!(origins.writers[&Guid::from_bytes([1; 16])].1, [(1, 5), (9, 9)]);
    }

    #[test]
    fn the_highest_number_is_followed_by_none() {
        let mut origins = Origins::default();
        for number in [i64::MAX, 1, i64::MAX - 1, 2, i64::MAX, i64::MIN, 0] {
            origins.note(sample(1, number));
            assert!(origins.contains(sample(1, number)), "{number}");
        }
        let known = [(i64::MIN, i64::MIN), (0, 2), (i64::MAX - 1, i64::MAX)];
        assert_eq!(origins.writers[&Guid::from_bytes([1; 16])].1, known);
    }

    #[test]
    fn remembered_origins_are_bounded() {
        let mut origins = Origins::default();
        for number in 0..2000 {
            origins.note(sample(1, number * 2));
        }
        assert_eq!(origins.writers[&Guid::from_bytes([1; 16])].1.len(), INTERVALS);
        for writer in 0..2 * WRITERS as u32 {
            let mut octets = [7; 16];
            octets[..4].copy_from_slice(&writer.to_be_bytes());
            let writer = Guid::from_bytes(octets);
            origins.note(SampleIdentity { writer, sequence_number: SequenceNumber(1) });
        }
        assert_eq!(origins.writers.len(), WRITERS);
    }
}
