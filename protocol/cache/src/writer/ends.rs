//! The ends of coherent sets in a writer's history (RTPS 2.5 §8.7.5, §8.7.6): each stays as long as a change of its set does, and
//! until it is acknowledged. Looked at is only what may be over: there may be as many as there are samples.

use alloc::collections::VecDeque;

use dunlin_core::SequenceNumber;

use super::WriterCache;

/// The first change of a set and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SetEnd {
    first: SequenceNumber,
    sn: SequenceNumber,
}

/// The ends of a writer's sets that are in its history, in the order of their numbers: its sets follow one another.
#[derive(Debug, Default)]
pub(super) struct SetEnds {
    ends: VecDeque<SetEnd>,
    /// What was acknowledged when somebody last said so.
    acked: SequenceNumber,
    /// How many were looked at.
    #[cfg(test)]
    looks: u64,
}

impl SetEnds {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn push(&mut self, first: SequenceNumber, sn: SequenceNumber) {
        debug_assert!(self.ends.back().is_none_or(|last| last.sn < sn), "the latest is the last");
        self.ends.push_back(SetEnd { first, sn });
    }

    /// The place of the first end at or above a number.
    fn place(&self, sn: SequenceNumber) -> usize {
        self.ends.partition_point(|end| end.sn < sn)
    }
}

impl WriterCache {
    /// Everything up to `acked` is acknowledged: the ends among it go of whose sets nothing else is left.
    pub(super) fn ends_acked(&mut self, acked: SequenceNumber) {
        let before = core::mem::replace(&mut self.ends.acked, acked);
        if self.ends.is_empty() || acked <= before {
            return;
        }
        let mut place = self.ends.place(before.next());
        while self.ends.ends.get(place).is_some_and(|end| end.sn <= acked) {
            if !self.drop_end_if_over(place) {
                place = place.saturating_add(1);
            }
        }
    }

    /// A change has gone: its set may be over, or it was the end of one.
    pub(super) fn end_after(&mut self, sn: SequenceNumber) {
        let place = self.ends.place(sn);
        let Some(end) = self.ends.ends.get(place).copied() else { return };
        if end.sn == sn {
            self.ends.ends.remove(place);
        } else if end.first <= sn && end.sn <= self.ends.acked {
            self.drop_end_if_over(place);
        }
    }

    /// Drops an acknowledged end if nothing else is left of its set; false if it stays.
    fn drop_end_if_over(&mut self, place: usize) -> bool {
        let Some(end) = self.ends.ends.get(place).copied() else { return false };
        #[cfg(test)]
        {
            self.ends.looks = self.ends.looks.saturating_add(1);
        }
        if self.index.at_or_after(end.first).is_some_and(|(next, _)| next < end.sn) {
            return false;
        }
        self.ends.ends.remove(place);
        if let Some(entry) = self.index.get(end.sn) {
            self.remove_change(entry);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use dunlin_buf::SharedBytes;
    use dunlin_core::{InstanceHandle, MonoTime, Now, WallTime};
    use dunlin_qos::{DataWriterQos, HistoryKind};
    use dunlin_rtps::ChangeKind;

    use super::*;
    use crate::{NewChange, WriterCacheConfig};

    const NOW: Now = Now { mono: MonoTime(0), wall: WallTime(0) };

    fn cache(qos: &DataWriterQos) -> WriterCache {
        WriterCache::new(WriterCacheConfig::from_qos(qos, true))
    }

    /// Writes a set of one change and ends it.
    fn set(cache: &mut WriterCache, instance: u8, acked: i64) {
        let acked = SequenceNumber(acked);
        let change = NewChange {
            kind: ChangeKind::Alive,
            instance: InstanceHandle([instance; 16]),
            source_timestamp: NOW.wall,
            payload: Some(SharedBytes::copy_from(&[0; 8])),
            inline_qos: None,
        };
        let first = cache.add(NOW, change, acked).unwrap();
        cache.add_set_end(NOW.wall, first, SharedBytes::copy_from(&[0; 4]), acked);
    }

    fn lasting(kind: HistoryKind) -> DataWriterQos {
        let mut qos = DataWriterQos::default().reliable().transient_local();
        (qos.history.kind, qos.history.depth) = (kind, 1);
        qos
    }

    #[test]
    fn a_write_looks_at_few_ends_however_many_sets_remain() {
        let mut cache = cache(&lasting(HistoryKind::KeepAll));
        let count = 1_000;
        (0..count).for_each(|n| set(&mut cache, n as u8, 2 * n));
        assert_eq!(cache.ends.len(), count as usize);
        assert!(cache.ends.looks <= 2 * count as u64, "{}", cache.ends.looks);
    }

    #[test]
    fn an_end_of_set_is_removed_after_its_set_and_acknowledgement() {
        // The set is replaced first, or acknowledged first.
        for acked_first in [false, true] {
            let mut cache = cache(&lasting(HistoryKind::KeepLast));
            set(&mut cache, 1, 0);
            set(&mut cache, 2, 0);
            if acked_first {
                cache.remove_acked(SequenceNumber(4));
                assert_eq!(cache.ends.len(), 2);
            }
            set(&mut cache, 1, if acked_first { 4 } else { 0 });
            assert_eq!(cache.ends.len(), if acked_first { 2 } else { 3 }, "{acked_first}");
            cache.remove_acked(SequenceNumber(6));
            assert_eq!((cache.ends.len(), cache.len()), (2, 4), "{acked_first}");
        }
    }

    #[test]
    fn volatile_writer_drops_instance_ends_once_acked() {
        let mut cache = cache(&DataWriterQos::default().reliable().keep_all());
        (0..3).for_each(|_| set(&mut cache, 1, 0));
        cache.remove_acked(SequenceNumber(3));
        assert_eq!((cache.ends.len(), cache.len()), (2, 3));
        cache.remove_acked(SequenceNumber(6));
        assert!(cache.ends.is_empty() && cache.is_empty());
    }
}
