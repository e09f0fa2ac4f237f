//! RTPS 2.5 §8.4.10.4 ChangeFromWriter, RECEIVED state: changes that wait for the ones before them.

use alloc::collections::VecDeque;

use dunlin_core::SequenceNumber;

use super::Incoming;
use crate::lazy::StaticDefault;

/// Counted for each change beside its payload and inline QoS, for what surrounds it in memory.
const OVERHEAD: usize = 128;

/// Changes that arrived early, ascending, bounded in number and octets.
#[derive(Debug, Default)]
pub(crate) struct OutOfOrder {
    changes: VecDeque<Incoming>,
    octets: usize,
}

impl StaticDefault for OutOfOrder {
    const STATIC_DEFAULT: &'static Self = &Self { changes: VecDeque::new(), octets: 0 };
}

fn cost(change: &Incoming) -> usize {
    change.len().saturating_add(OVERHEAD)
}

impl OutOfOrder {
    fn position(&self, sn: SequenceNumber) -> Result<usize, usize> {
        self.changes.binary_search_by_key(&sn, |change| change.sn)
    }

    pub(crate) fn contains(&self, sn: SequenceNumber) -> bool {
        self.position(sn).is_ok()
    }

    pub(crate) fn get_mut(&mut self, sn: SequenceNumber) -> Option<&mut Incoming> {
        let position = self.position(sn).ok()?;
        self.changes.get_mut(position)
    }

    pub(crate) fn first_sn(&self) -> Option<SequenceNumber> {
        self.changes.front().map(|change| change.sn)
    }

    pub(crate) fn last_sn(&self) -> Option<SequenceNumber> {
        self.changes.back().map(|change| change.sn)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.changes.len()
    }

    /// What is counted of the changes.
    pub(crate) fn octets(&self) -> usize {
        self.octets
    }

    /// Keeps a change. The furthest ahead give way to one that is needed earlier; false when there is no room for it.
    pub(crate) fn insert(&mut self, mut change: Incoming, max_changes: usize, max_octets: usize) -> bool {
        let Err(position) = self.position(change.sn) else { return false };
        let needed = cost(&change);
        while self.changes.len() >= max_changes || self.octets.saturating_add(needed) > max_octets {
            if position >= self.changes.len() {
                return false;
            }
            if let Some(furthest) = self.changes.pop_back() {
                self.octets = self.octets.saturating_sub(cost(&furthest));
            }
        }
        change.detach();
        self.octets = self.octets.saturating_add(needed);
        self.changes.insert(position, change);
        true
    }

    /// Puts a change in front that must not be lost because the sink had no room for it; the bounds do not count.
    pub(crate) fn put_first(&mut self, mut change: Incoming) {
        change.detach();
        self.octets = self.octets.saturating_add(cost(&change));
        self.changes.push_front(change);
    }

    /// Forgets the changes up to `sn`.
    pub(crate) fn remove_through(&mut self, sn: SequenceNumber) {
        while let Some(first) = self.first_sn().filter(|first| *first <= sn) {
            self.take(first);
        }
    }

    /// Forgets the changes after `sn`.
    pub(crate) fn remove_after(&mut self, sn: SequenceNumber) {
        while self.changes.back().is_some_and(|change| change.sn > sn) {
            let Some(last) = self.changes.pop_back() else { return };
            self.octets = self.octets.saturating_sub(cost(&last));
        }
    }

    /// Takes the first change if it has this number.
    pub(crate) fn take(&mut self, sn: SequenceNumber) -> Option<Incoming> {
        self.changes.front().filter(|change| change.sn == sn)?;
        let change = self.changes.pop_front()?;
        self.octets = self.octets.saturating_sub(cost(&change));
        Some(change)
    }
}

#[cfg(test)]
mod tests {
    use dunlin_buf::SharedBytes;

    use super::*;

    fn incoming(sn: i64, len: usize) -> Incoming {
        Incoming {
            sn: SequenceNumber(sn),
            source_timestamp: None,
            payload: Some(SharedBytes::from(alloc::vec![0; len])),
            key_only: false,
            inline_qos: None,
            reassembled: false,
            is_refuted: false,
        }
    }

    #[test]
    fn out_of_order_samples_with_the_highest_numbers_are_evicted_first() {
        let mut store = OutOfOrder::default();
        assert!([9, 3, 5].into_iter().all(|sn| store.insert(incoming(sn, 10), 3, 10_000)));
        assert!(!store.insert(incoming(10, 10), 3, 10_000));
        assert!(!store.insert(incoming(5, 10), 3, 10_000));
        assert!(store.insert(incoming(4, 10), 3, 10_000) && !store.contains(SequenceNumber(9)));
        assert!(!store.insert(incoming(6, 9_000), 9, 9_200));
        assert!(store.insert(incoming(2, 8_900), 9, 9_100) && !store.contains(SequenceNumber(3)));
        assert!(store.take(SequenceNumber(3)).is_none());
        assert_eq!(store.take(SequenceNumber(2)).unwrap().sn.0, 2);
        assert!([4, 7].into_iter().all(|sn| store.insert(incoming(sn, 10), 3, 10_000)));
        store.remove_through(SequenceNumber(6));
        assert_eq!(store.first_sn(), Some(SequenceNumber(7)));
        store.remove_through(SequenceNumber::MAX);
        assert!(store.is_empty() && store.octets == 0);
    }

    #[test]
    fn out_of_order_samples_do_not_hold_their_packet() {
        let packet = SharedBytes::from(alloc::vec![0; 60_000]);
        let part = |sn| Incoming { payload: packet.slice(100..200), ..incoming(sn, 0) };
        let mut store = OutOfOrder::default();
        assert!(store.insert(part(2), 3, 10_000));
        store.put_first(part(1));
        for sn in [1, 2] {
            let payload = store.take(SequenceNumber(sn)).and_then(|change| change.payload).unwrap();
            assert_eq!((payload.len(), payload.retained_len()), (100, 100));
        }
    }
}
