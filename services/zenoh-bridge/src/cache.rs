//! What a route has passed to zenoh, for those who come late or have missed it.

use std::collections::{BTreeMap, HashMap, VecDeque};

use dunlin::InstanceHandle;
use zenoh::bytes::ZBytes;
use zenoh::time::Timestamp;

use crate::attachment::Meta;

/// Samples in one answer.
const PAGE: usize = 256;
/// Their octets.
const PAGE_OCTETS: usize = 4 << 20;

/// A change that was passed on.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) meta: Meta,
    pub(crate) payload: ZBytes,
    pub(crate) timestamp: Timestamp,
    octets: usize,
    /// It belongs to the history that the writers keep for late readers.
    history: bool,
}

/// What may be kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) samples: usize,
    pub(crate) octets: usize,
}

/// The changes by number.
pub(crate) struct Cache {
    room: Room,
    /// History by instance: so deep, or everything; none if the writers keep none.
    history: Option<Option<u32>>,
    kept: BTreeMap<u64, Kept>,
    by_instance: HashMap<InstanceHandle, VecDeque<u64>>,
    octets: usize,
    next: u64,
}

impl Cache {
    pub(crate) fn new(room: Room, history: Option<Option<u32>>) -> Self {
        Self { room, history, kept: BTreeMap::new(), by_instance: HashMap::new(), octets: 0, next: 1 }
    }

    /// The number of the next change.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Keeps a change that has the next number.
    pub(crate) fn push(&mut self, meta: Meta, payload: ZBytes, timestamp: Timestamp) {
        let octets = payload.len();
        let number = self.next;
        self.next += 1;
        self.octets += octets;
        if let Some(depth) = self.history {
            let samples = self.by_instance.entry(meta.instance).or_default();
            samples.push_back(number);
            while depth.is_some_and(|depth| samples.len() > depth as usize) {
                let superseded = samples.pop_front().and_then(|number| self.kept.get_mut(&number));
                if let Some(kept) = superseded {
                    kept.history = false;
                }
            }
        }
        let history = self.history.is_some();
        self.kept.insert(number, Kept { meta, payload, timestamp, octets, history });
        self.make_room();
    }

    fn make_room(&mut self) {
        while self.kept.len() > self.room.samples || self.octets > self.room.octets {
            // What late readers do not get goes first; only the oldest ones are looked at, so that this is cheap.
            let stale = self.kept.iter().take(8).find(|(_, kept)| !kept.history).map(|(number, _)| *number);
            let oldest = stale.or_else(|| self.kept.keys().next().copied());
            let Some(kept) = oldest.and_then(|number| self.kept.remove(&number)) else { return };
            self.octets -= kept.octets;
            self.forget(&kept);
        }
    }

    fn forget(&mut self, kept: &Kept) {
        if let Some(samples) = self.by_instance.get_mut(&kept.meta.instance) {
            samples.retain(|number| *number != kept.meta.number);
            if samples.is_empty() {
                self.by_instance.remove(&kept.meta.instance);
            }
        }
    }

    /// Changes from a number on: all that are left, or those that late readers get. True if there are more.
    pub(crate) fn page(&self, from: u64, history_only: bool) -> (Vec<Kept>, bool) {
        let (mut page, mut octets) = (Vec::new(), 0);
        for kept in self.kept.range(from..).map(|(_, kept)| kept) {
            if history_only && !kept.history {
                continue;
            }
            octets += kept.octets;
            if page.len() >= PAGE || !page.is_empty() && octets > PAGE_OCTETS {
                return (page, true);
            }
            page.push(kept.clone());
        }
        (page, false)
    }

    /// The last samples that late readers get, for those who know nothing of instances: the first one first.
    pub(crate) fn last(&self, most: usize) -> Vec<Kept> {
        let data = |kept: &&Kept| kept.history && kept.meta.change == crate::attachment::Change::Data;
        let mut last: Vec<Kept> = self.kept.values().rev().filter(data).take(most).cloned().collect();
        last.reverse();
        last
    }
}

#[cfg(test)]
mod tests {
    use dunlin::{SampleIdentity, SequenceNumber, WallTime};

    use super::*;
    use crate::attachment::{Change, SourceId};

    fn push(cache: &mut Cache, instance: u8, change: Change) {
        let origin =
            SampleIdentity { writer: dunlin::Guid::from_bytes([1; 16]), sequence_number: SequenceNumber(1) };
        let meta = Meta {
            change,
            more: false,
            source: SourceId::default(),
            number: cache.next(),
            origin,
            timestamp: WallTime(0),
            instance: InstanceHandle([instance; 16]),
            related: None,
        };
        let id = zenoh::config::ZenohId::default();
        let timestamp = Timestamp::new(zenoh::time::NTP64(meta.number), id.into());
        cache.push(meta, ZBytes::from(vec![0; 10]), timestamp);
    }

    fn numbers(page: &[Kept]) -> Vec<u64> {
        page.iter().map(|kept| kept.meta.number).collect()
    }

    #[test]
    fn history_is_by_instance_and_what_was_missed_is_all() {
        let mut cache = Cache::new(Room { samples: 100, octets: 1000 }, Some(Some(1)));
        for instance in [1, 1, 2, 1] {
            push(&mut cache, instance, Change::Data);
        }
        push(&mut cache, 2, Change::Dispose);
        assert_eq!(numbers(&cache.page(0, true).0), [4, 5]);
        assert_eq!(numbers(&cache.page(2, false).0), [2, 3, 4, 5]);
        assert_eq!(numbers(&cache.last(10)), [4]);
    }

    #[test]
    fn room_is_bounded_and_history_goes_last() {
        let mut cache = Cache::new(Room { samples: 4, octets: 1000 }, Some(Some(1)));
        for instance in [1, 2, 2, 2, 2, 2] {
            push(&mut cache, instance, Change::Data);
        }
        assert_eq!(numbers(&cache.page(0, false).0), [1, 4, 5, 6]);
        let mut cache = Cache::new(Room { samples: 100, octets: 35 }, None);
        for _ in 0..9 {
            push(&mut cache, 1, Change::Data);
        }
        assert_eq!(numbers(&cache.page(0, false).0), [7, 8, 9]);
        assert!(cache.page(0, true).0.is_empty() && cache.by_instance.is_empty());
    }

    #[test]
    fn answers_come_in_pages() {
        let mut cache = Cache::new(Room { samples: 1000, octets: 100_000 }, Some(None));
        for _ in 0..PAGE + 3 {
            push(&mut cache, 1, Change::Data);
        }
        let (page, more) = cache.page(1, true);
        assert!(more && page.len() == PAGE);
        let (page, more) = cache.page(PAGE as u64 + 1, true);
        assert!(!more && page.len() == 3);
    }
}
