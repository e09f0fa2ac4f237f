//! Which samples a history has had, by first writer and number.

use std::collections::BTreeMap;

use dunlin::{Guid, SampleIdentity};

use crate::change::take;

/// Intervals of numbers that are remembered of each writer.
const INTERVALS: usize = 1024;

/// Numbers of one writer, in ascending intervals that do not touch.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Numbers(Vec<(i64, i64)>);

impl Numbers {
    /// Whether a number is among them.
    #[must_use]
    pub fn contains(&self, number: i64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, last)| number <= *last)
    }

    /// The highest one.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.0.last().map(|(_, last)| *last)
    }

    /// Adds a number. Beyond so many intervals the oldest two become one: a gap that old is filled by nobody.
    pub fn add(&mut self, number: i64) {
        let known = &mut self.0;
        // Usually the next one.
        if let Some((_, last)) = known.last_mut()
            && last.checked_add(1) == Some(number)
        {
            *last = number;
            return;
        }
        if self.contains(number) {
            return;
        }
        let known = &mut self.0;
        let at = known.partition_point(|(first, _)| *first <= number);
        known.insert(at, (number, number));
        self.join(at);
        self.join(at.saturating_sub(1));
        if self.0.len() > INTERVALS {
            let (first, _) = self.0.remove(0);
            self.0[0].0 = first;
        }
    }

    /// Makes one interval of this and the next, if they touch.
    fn join(&mut self, at: usize) {
        if let (Some((_, last)), Some((next, end))) = (self.0.get(at).copied(), self.0.get(at + 1).copied())
            && last.saturating_add(1) >= next
        {
            self.0[at].1 = end.max(last);
            self.0.remove(at + 1);
        }
    }

    /// As stores keep it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|(first, last)| [first.to_le_bytes(), last.to_le_bytes()].concat()).collect()
    }

    /// What [`encode`](Self::encode) made; `None` if it is not that.
    #[must_use]
    pub fn decode(mut octets: &[u8]) -> Option<Self> {
        if octets.len() > INTERVALS * 16 {
            return None;
        }
        let mut known: Vec<(i64, i64)> = Vec::with_capacity(octets.len() / 16);
        while !octets.is_empty() {
            let (first, last) =
                (i64::from_le_bytes(take(&mut octets)?), i64::from_le_bytes(take(&mut octets)?));
            let follows =
                known.last().is_none_or(|(_, before)| before.checked_add(1).is_some_and(|it| it < first));
            (first <= last && follows).then_some(())?;
            known.push((first, last));
        }
        Some(Self(known))
    }
}

/// What a history has had, of all writers.
#[derive(Default, Debug)]
pub struct Origins {
    writers: BTreeMap<Guid, Numbers>,
}

impl Origins {
    /// Whether a sample was had.
    #[must_use]
    pub fn contains(&self, sample: SampleIdentity) -> bool {
        self.writers.get(&sample.writer).is_some_and(|numbers| numbers.contains(sample.sequence_number.0))
    }

    /// Notes a sample.
    pub fn note(&mut self, sample: SampleIdentity) {
        self.writers.entry(sample.writer).or_default().add(sample.sequence_number.0);
    }

    /// How many writers are remembered.
    #[must_use]
    pub fn writers(&self) -> usize {
        self.writers.len()
    }

    /// Of one writer.
    #[must_use]
    pub fn of(&self, writer: Guid) -> Option<&Numbers> {
        self.writers.get(&writer)
    }

    /// Takes what a store had of a writer.
    pub fn restore(&mut self, writer: Guid, numbers: Numbers) {
        self.writers.insert(writer, numbers);
    }

    /// Forgets a writer.
    pub fn forget(&mut self, writer: Guid) {
        self.writers.remove(&writer);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn origin_numbers_survive_encoding(numbers in proptest::collection::vec(1i64..200, 0..200)) {
            let (mut known, mut model) = (Numbers::default(), BTreeSet::new());
            for number in numbers {
                known.add(number);
                model.insert(number);
                prop_assert!((0..205).all(|number| known.contains(number) == model.contains(&number)));
            }
            prop_assert_eq!(Numbers::decode(&known.encode()), Some(known));
        }

        #[test]
        fn random_bytes_decode_to_origin_numbers_or_nothing(octets in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Some(numbers) = Numbers::decode(&octets) {
                prop_assert_eq!(numbers.encode(), octets);
            }
        }
    }

    #[test]
    fn remembered_origins_are_bounded_and_forget_no_sample() {
        let mut known = Numbers::default();
        (1..=5000).for_each(|number| known.add(number * 2));
        assert_eq!(known.0.len(), INTERVALS);
        assert!((1..=5000).all(|number| known.contains(number * 2)) && !known.contains(9999));
    }
}
