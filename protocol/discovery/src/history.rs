//! History of a built-in writer: RTPS 2.5 §8.5.4.2 and §8.4.13.3, KEEP_LAST with one change per instance.

use alloc::collections::BTreeMap;

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, InstanceHandle, MonoTime, Now, SequenceNumber};
use dunlin_rtps::{Change, ChangeKind, WriterHistory};

/// Most disposals that are kept for participants whose lease has ended: many never come back.
const MAX_OWED: usize = 256;

/// The last change of every instance. A disposal stays until [`Self::forget_disposed`].
#[derive(Debug, Default)]
pub(crate) struct BuiltinHistory {
    changes: BTreeMap<SequenceNumber, Change>,
    instances: BTreeMap<InstanceHandle, SequenceNumber>,
    /// Disposals, with the time of each.
    disposed: BTreeMap<SequenceNumber, MonoTime>,
    last: SequenceNumber,
}

impl BuiltinHistory {
    /// An empty history whose first change will have this number.
    pub(crate) fn starting_at(first: SequenceNumber) -> Self {
        Self { last: first.previous(), ..Self::default() }
    }

    /// Adds a change, which replaces the last one of its instance.
    pub(crate) fn put(
        &mut self,
        now: Now,
        kind: ChangeKind,
        instance: InstanceHandle,
        payload: SharedBytes,
    ) -> SequenceNumber {
        let sn = self.last.next();
        self.last = sn;
        if let Some(old) = self.instances.insert(instance, sn) {
            self.changes.remove(&old);
            self.disposed.remove(&old);
        }
        if kind != ChangeKind::Alive {
            self.disposed.insert(sn, now.mono);
        }
        let source_timestamp = now.wall;
        let change =
            Change { sn, kind, instance, source_timestamp, payload: Some(payload), inline_qos: None };
        self.changes.insert(sn, change);
        sn
    }

    /// Removes disposals that everybody has acknowledged and that are older than `keep`. Until then a peer may still know
    /// the instance that is not among everybody: this side forgot it, and it has not forgotten this side yet. One that
    /// stands still may do so for any time: what is behind `lost_acked` stays for those, as far as there is room.
    pub(crate) fn forget_disposed(
        &mut self,
        now: MonoTime,
        acked_by_all: SequenceNumber,
        lost_acked: Option<SequenceNumber>,
        keep: Duration,
    ) {
        while let Some((sn, at)) = self.disposed.first_key_value().map(|(sn, at)| (*sn, *at))
            && sn <= acked_by_all
            && at.plus(keep) <= now
            && (lost_acked.is_none_or(|acked| sn <= acked) || self.disposed.len() > MAX_OWED)
        {
            self.disposed.remove(&sn);
            if let Some(change) = self.changes.remove(&sn) {
                self.instances.remove(&change.instance);
            }
        }
    }
}

impl WriterHistory for BuiltinHistory {
    fn get(&self, sn: SequenceNumber) -> Option<&Change> {
        self.changes.get(&sn)
    }

    fn first_sn(&self) -> Option<SequenceNumber> {
        self.changes.first_key_value().map(|(sn, _)| *sn)
    }

    fn last_sn(&self) -> SequenceNumber {
        self.last
    }

    fn next_at_or_after(&self, sn: SequenceNumber) -> Option<SequenceNumber> {
        self.changes.range(sn..).next().map(|(sn, _)| *sn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(history: &mut BuiltinHistory, kind: ChangeKind, instance: u8) -> i64 {
        let instance = InstanceHandle([instance; 16]);
        history.put(Now::default(), kind, instance, SharedBytes::copy_from(&[0; 4])).0
    }

    #[test]
    fn builtin_history_keeps_one_change_per_instance() {
        let mut history = BuiltinHistory::default();
        assert_eq!((history.first_sn(), history.last_sn().0), (None, 0));
        assert_eq!(put(&mut history, ChangeKind::Alive, 1), 1);
        assert_eq!(put(&mut history, ChangeKind::Alive, 2), 2);
        assert_eq!(put(&mut history, ChangeKind::Alive, 1), 3);
        assert_eq!((history.first_sn(), history.last_sn().0), (Some(SequenceNumber(2)), 3));
        assert!(history.get(SequenceNumber(1)).is_none());
        assert_eq!(history.next_at_or_after(SequenceNumber(1)), Some(SequenceNumber(2)));
        assert_eq!(history.next_at_or_after(SequenceNumber(4)), None);
    }

    #[test]
    fn disposals_go_when_acknowledged_and_old() {
        const KEEP: Duration = Duration::from_secs(3);
        let mut history = BuiltinHistory::default();
        let forget = |history: &mut BuiltinHistory, acked: i64| {
            history.forget_disposed(MonoTime(0).plus(KEEP), SequenceNumber(acked), None, KEEP);
        };
        put(&mut history, ChangeKind::Alive, 1);
        put(&mut history, ChangeKind::DisposedUnregistered, 1);
        put(&mut history, ChangeKind::DisposedUnregistered, 2);
        forget(&mut history, 1);
        assert_eq!(history.first_sn(), Some(SequenceNumber(2)));
        history.forget_disposed(MonoTime(0), SequenceNumber(2), None, KEEP);
        assert_eq!(history.first_sn(), Some(SequenceNumber(2)), "it is young");
        forget(&mut history, 2);
        assert_eq!(history.first_sn(), Some(SequenceNumber(3)));
        // The instance may come back; its disposal must not take the new change along.
        put(&mut history, ChangeKind::Alive, 2);
        forget(&mut history, 9);
        assert_eq!((history.first_sn(), history.last_sn().0), (Some(SequenceNumber(4)), 4));
    }

    #[test]
    fn disposals_that_lost_participants_lack_stay_up_to_a_limit() {
        let mut history = BuiltinHistory::default();
        for instance in 0..=255 {
            put(&mut history, ChangeKind::DisposedUnregistered, instance);
        }
        let forget = |history: &mut BuiltinHistory, lost: Option<i64>| {
            let lost = lost.map(SequenceNumber);
            history.forget_disposed(MonoTime(1), SequenceNumber::MAX, lost, Duration::ZERO);
            history.first_sn().map(|first| first.0)
        };
        assert_eq!(forget(&mut history, Some(0)), Some(1));
        let more = InstanceHandle([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        history.put(Now::default(), ChangeKind::DisposedUnregistered, more, SharedBytes::copy_from(&[0; 4]));
        assert_eq!(forget(&mut history, Some(0)), Some(2), "the oldest gives way");
        assert_eq!(forget(&mut history, Some(5)), Some(6));
        assert_eq!(forget(&mut history, None), None);
    }
}
