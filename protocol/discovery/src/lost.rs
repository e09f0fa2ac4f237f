//! RTPS 2.5 §8.5.3.2 leaseDuration: participants whose lease has ended here may still know this one, when its announcements
//! reach them while theirs do not arrive. They do not begin anew when they are heard again, but go on where they were.

use alloc::collections::BTreeMap;

use dunlin_core::{GuidPrefix, MonoTime, SequenceNumber};

use crate::table::TOPICS;

/// Most that are remembered.
pub(crate) const MAX_LOST: usize = 1024;

/// What a participant had acknowledged of each of our reliable built-in writers.
pub(crate) type Acknowledged = [Option<SequenceNumber>; TOPICS];

/// What participants had acknowledged when their lease ended.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    known: BTreeMap<GuidPrefix, (MonoTime, Acknowledged)>,
    /// How many were forgotten because there were too many.
    pub(crate) forgotten: u64,
}

impl Lost {
    /// Remembers a participant; the one that was lost first gives way if there are too many.
    pub(crate) fn remember(&mut self, now: MonoTime, prefix: GuidPrefix, acknowledged: Acknowledged) {
        if self.known.len() >= MAX_LOST
            && !self.known.contains_key(&prefix)
            && let Some(oldest) = self.known.iter().min_by_key(|(_, (at, _))| *at).map(|(prefix, _)| *prefix)
        {
            self.known.remove(&oldest);
            self.forgotten = self.forgotten.saturating_add(1);
        }
        self.known.insert(prefix, (now, acknowledged));
    }

    /// It is a peer again; whether it was remembered.
    pub(crate) fn forget(&mut self, prefix: GuidPrefix) -> bool {
        self.known.remove(&prefix).is_some()
    }

    /// What it had acknowledged of the built-in writer with this index.
    pub(crate) fn acknowledged(&self, prefix: GuidPrefix, index: usize) -> Option<SequenceNumber> {
        self.known.get(&prefix)?.1.get(index).copied().flatten()
    }

    /// What all of them had acknowledged of the built-in writer with this index, if any of them is its reader.
    pub(crate) fn acknowledged_by_all(&self, index: usize) -> Option<SequenceNumber> {
        let known = self.known.values();
        known.filter_map(|(_, acknowledged)| acknowledged.get(index).copied().flatten()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(n: usize) -> GuidPrefix {
        let mut octets = [0; 12];
        octets[..8].copy_from_slice(&(n as u64).to_be_bytes());
        GuidPrefix(octets)
    }

    #[test]
    #[cfg_attr(miri, ignore = "two thousand participants")]
    fn acknowledgements_of_the_latest_lost_participants_are_remembered() {
        let mut lost = Lost::default();
        for n in 0..2 * MAX_LOST {
            lost.remember(MonoTime(n as u64), prefix(n), [Some(SequenceNumber(7)), None, None]);
            assert!(lost.known.len() <= MAX_LOST);
        }
        assert_eq!(lost.forgotten, MAX_LOST as u64);
        assert_eq!(lost.acknowledged(prefix(MAX_LOST - 1), 0), None);
        assert_eq!(lost.acknowledged(prefix(MAX_LOST), 0), Some(SequenceNumber(7)));
        assert_eq!(lost.acknowledged(prefix(MAX_LOST), 1), None);
        assert!(lost.forget(prefix(MAX_LOST)));
        assert_eq!(lost.acknowledged(prefix(MAX_LOST), 0), None);
        lost.remember(MonoTime::MAX, prefix(0), [Some(SequenceNumber(3)), None, None]);
        assert_eq!(
            (lost.acknowledged_by_all(0), lost.acknowledged_by_all(1)),
            (Some(SequenceNumber(3)), None)
        );
    }
}
