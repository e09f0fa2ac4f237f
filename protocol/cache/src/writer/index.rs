//! The sequence numbers present in a writer's history (RTPS 2.5 §8.2.3): added in ascending order, removed anywhere.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use dunlin_core::SequenceNumber;

use crate::slab::Id;

type Entry = (SequenceNumber, Id);

/// Entries per chunk.
const CHUNK: usize = 64;
/// A chunk that has become this small joins a neighbour when both together leave room to spare.
const SPARSE: usize = 16;
const JOINED: usize = 48;

/// Ascending sequence numbers with the slab positions of their changes, in chunks.
///
/// Holes cost nothing: chunks contain only numbers that are present, and sparse neighbours are joined. Finding takes
/// two binary searches; emptied chunks are kept for reuse.
#[derive(Debug, Default)]
pub(super) struct SnIndex {
    chunks: VecDeque<VecDeque<Entry>>,
    spare: Vec<VecDeque<Entry>>,
}

impl SnIndex {
    /// Appends a number that is above all others.
    #[inline]
    pub(super) fn push(&mut self, sn: SequenceNumber, id: Id) {
        debug_assert!(self.last().is_none_or(|last| last < sn), "numbers are given out in order");
        if let Some(last) = self.chunks.back_mut()
            && last.len() < CHUNK
        {
            last.push_back((sn, id));
            return;
        }
        let mut chunk = self.spare.pop().unwrap_or_else(|| VecDeque::with_capacity(CHUNK));
        chunk.push_back((sn, id));
        self.chunks.push_back(chunk);
    }

    fn last(&self) -> Option<SequenceNumber> {
        Some(self.chunks.back()?.back()?.0)
    }

    #[inline]
    pub(super) fn first(&self) -> Option<Entry> {
        self.chunks.front()?.front().copied()
    }

    /// The lowest entry at or above `sn`.
    pub(super) fn at_or_after(&self, sn: SequenceNumber) -> Option<Entry> {
        let newest = self.chunks.back().and_then(VecDeque::back);
        if let Some(newest) = newest.filter(|newest| newest.0 <= sn) {
            return (newest.0 == sn).then_some(*newest);
        }
        if let Some(id) = self.dense(sn) {
            return Some((sn, id));
        }
        let chunk = self.chunks.get(self.chunk_of(sn))?;
        chunk.get(place_of(chunk, sn)).copied()
    }

    /// Where `sn` is if nothing between the lowest number and it was ever removed: every chunk but the first is full up to there.
    #[inline]
    fn dense(&self, sn: SequenceNumber) -> Option<Id> {
        let chunk = self.chunks.front()?;
        let steps = usize::try_from(sn.0.checked_sub(chunk.front()?.0.0)?).ok()?;
        let entry = match steps.checked_sub(chunk.len()) {
            None => chunk.get(steps),
            Some(beyond) => self.chunks.get((beyond / CHUNK).saturating_add(1))?.get(beyond % CHUNK),
        };
        entry.filter(|entry| entry.0 == sn).map(|entry| entry.1)
    }

    /// How many entries are above `sn`.
    pub(super) fn count_after(&self, sn: SequenceNumber) -> usize {
        let at = self.chunk_of(sn.next());
        let below = self.chunks.get(at).map_or(0, |chunk| place_of(chunk, sn.next()));
        self.chunks
            .iter()
            .skip(at)
            .fold(0usize, |sum, chunk| sum.saturating_add(chunk.len()))
            .saturating_sub(below)
    }

    pub(super) fn get(&self, sn: SequenceNumber) -> Option<Id> {
        self.at_or_after(sn).filter(|entry| entry.0 == sn).map(|entry| entry.1)
    }

    /// Takes out a number, which is there.
    pub(super) fn remove(&mut self, sn: SequenceNumber) {
        debug_assert!(self.get(sn).is_some(), "{sn:?} is of no change");
        let oldest = self.first().is_some_and(|first| first.0 == sn);
        let at = if oldest { 0 } else { self.chunk_of(sn) };
        let Some(chunk) = self.chunks.get_mut(at) else { return };
        if oldest {
            chunk.pop_front();
        } else {
            let place = place_of(chunk, sn);
            if chunk.get(place).is_none_or(|entry| entry.0 != sn) {
                return;
            }
            chunk.remove(place);
        }
        if chunk.is_empty() {
            self.drop_chunk(at);
        } else if chunk.len() <= SPARSE {
            self.join(at);
            if let Some(before) = at.checked_sub(1) {
                self.join(before);
            }
        }
    }

    /// The first chunk that ends at or above `sn`. What is asked for most is the newest, then the oldest.
    fn chunk_of(&self, sn: SequenceNumber) -> usize {
        let last = self.chunks.len().saturating_sub(1);
        let begins = |chunk: &VecDeque<Entry>| chunk.front().is_some_and(|entry| entry.0 <= sn);
        let ends = |chunk: &VecDeque<Entry>| chunk.back().is_some_and(|entry| entry.0 >= sn);
        if self.chunks.get(last).is_some_and(|chunk| begins(chunk) && ends(chunk)) {
            return last;
        }
        if self.chunks.front().is_some_and(ends) {
            return 0;
        }
        // Without holes every chunk between those two is full, and the number itself says where it is.
        let second = self.chunks.get(1).and_then(VecDeque::front);
        let steps = second.and_then(|first| usize::try_from(sn.0.saturating_sub(first.0.0)).ok());
        let guess = steps.map_or(1, |steps| (steps / CHUNK).saturating_add(1));
        if self.chunks.get(guess).is_some_and(|chunk| begins(chunk) && ends(chunk)) {
            return guess;
        }
        self.chunks.partition_point(|chunk| chunk.back().is_some_and(|entry| entry.0 < sn))
    }

    fn drop_chunk(&mut self, at: usize) {
        if let Some(mut chunk) = self.chunks.remove(at) {
            chunk.clear();
            self.spare.push(chunk);
        }
    }

    /// Moves the entries of a chunk to the front of the following one, if both together are few.
    fn join(&mut self, at: usize) {
        let following = at.saturating_add(1);
        let sum = |a: &VecDeque<Entry>, b: &VecDeque<Entry>| a.len().saturating_add(b.len());
        match (self.chunks.get(at), self.chunks.get(following)) {
            (Some(chunk), Some(next)) if sum(chunk, next) <= JOINED => {}
            _ => return,
        }
        while let Some(entry) = self.chunks.get_mut(at).and_then(VecDeque::pop_back) {
            if let Some(next) = self.chunks.get_mut(following) {
                next.push_front(entry);
            }
        }
        self.drop_chunk(at);
    }
}

/// The position in a chunk of the first entry at or above `sn`. Without holes the number itself says where it is.
fn place_of(chunk: &VecDeque<Entry>, sn: SequenceNumber) -> usize {
    let steps = chunk.front().map_or(0, |first| sn.0.saturating_sub(first.0.0));
    match usize::try_from(steps) {
        Ok(place) if chunk.get(place).is_some_and(|entry| entry.0 == sn) => place,
        _ => chunk.partition_point(|entry| entry.0 < sn),
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use dunlin_core::Rng;

    use super::*;

    fn check(index: &SnIndex, model: &BTreeMap<i64, Id>, probe: i64) {
        let expected = model.range(probe..).next().map(|(sn, id)| (SequenceNumber(*sn), *id));
        assert_eq!(index.at_or_after(SequenceNumber(probe)), expected);
        assert_eq!(index.get(SequenceNumber(probe)), model.get(&probe).copied());
        assert_eq!(index.first().map(|entry| entry.0.0), model.keys().next().copied());
    }

    #[test]
    fn holes_are_skipped_as_in_a_map() {
        let mut rng = Rng::new(3);
        let mut index = SnIndex::default();
        let mut model = BTreeMap::new();
        let mut last = 0;
        for _ in 0..if cfg!(miri) { 300 } else { 20_000 } {
            if rng.chance(10, 19) {
                last += 1;
                index.push(SequenceNumber(last), last as Id);
                model.insert(last, last as Id);
            } else {
                let sn = 1 + rng.below(last.max(1) as u64) as i64;
                if model.remove(&sn).is_some() {
                    index.remove(SequenceNumber(sn));
                }
            }
            check(&index, &model, rng.below(last as u64 + 3) as i64);
        }
        for sn in model.into_keys() {
            index.remove(SequenceNumber(sn));
        }
        assert!(index.first().is_none() && index.chunks.is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "too much to interpret")]
    fn memory_follows_what_is_present() {
        let mut index = SnIndex::default();
        for sn in 1..=100_000 {
            index.push(SequenceNumber(sn), 0);
            if sn > 1 && sn % 1000 != 0 {
                index.remove(SequenceNumber(sn));
            }
        }
        assert!(index.chunks.len() <= 6, "{} chunks", index.chunks.len());
        assert!(index.spare.len() <= 2);
        // Few that are left of many.
        let mut sparse = SnIndex::default();
        (1..=6400).for_each(|sn| sparse.push(SequenceNumber(sn), 0));
        (1..=6400).filter(|sn| sn % 64 != 0).for_each(|sn| sparse.remove(SequenceNumber(sn)));
        assert!(sparse.chunks.len() <= 10, "{} chunks for 100 entries", sparse.chunks.len());
        // A window that moves on, as in a volatile writer.
        let mut window = SnIndex::default();
        for sn in 1..=100_000 {
            window.push(SequenceNumber(sn), 0);
            if sn > 100 {
                window.remove(SequenceNumber(sn - 100));
            }
        }
        assert!(window.chunks.len() + window.spare.len() <= 5);
    }
}
