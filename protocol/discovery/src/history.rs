//! History of a built-in writer: RTPS 2.5 §8.5.4.2 and §8.4.13.3, KEEP_LAST with one change per instance.

use alloc::collections::{BTreeMap, BTreeSet};

use dunlin_buf::SharedBytes;
use dunlin_core::{InstanceHandle, SequenceNumber, WallTime};
use dunlin_rtps::{Change, ChangeKind, WriterHistory};

/// The last change of every instance. A disposal stays until [`Self::forget_disposed`].
#[derive(Debug, Default)]
pub(crate) struct BuiltinHistory {
    changes: BTreeMap<SequenceNumber, Change>,
    instances: BTreeMap<InstanceHandle, SequenceNumber>,
    disposed: BTreeSet<SequenceNumber>,
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
        kind: ChangeKind,
        instance: InstanceHandle,
        source_timestamp: WallTime,
        payload: SharedBytes,
    ) -> SequenceNumber {
        let sn = self.last.next();
        self.last = sn;
        if let Some(old) = self.instances.insert(instance, sn) {
            self.changes.remove(&old);
            self.disposed.remove(&old);
        }
        if kind != ChangeKind::Alive {
            self.disposed.insert(sn);
        }
        let change =
            Change { sn, kind, instance, source_timestamp, payload: Some(payload), inline_qos: None };
        self.changes.insert(sn, change);
        sn
    }

    /// Removes disposals that everybody has acknowledged: who comes later never knew the instance.
    pub(crate) fn forget_disposed(&mut self, acked_by_all: SequenceNumber) {
        while let Some(sn) = self.disposed.first().copied().filter(|sn| *sn <= acked_by_all) {
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
        history.put(kind, instance, WallTime(0), SharedBytes::copy_from(&[0; 4])).0
    }

    #[test]
    fn one_change_per_instance_is_kept() {
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
    fn disposals_go_when_acknowledged() {
        let mut history = BuiltinHistory::default();
        put(&mut history, ChangeKind::Alive, 1);
        put(&mut history, ChangeKind::DisposedUnregistered, 1);
        put(&mut history, ChangeKind::DisposedUnregistered, 2);
        history.forget_disposed(SequenceNumber(1));
        assert_eq!(history.first_sn(), Some(SequenceNumber(2)));
        history.forget_disposed(SequenceNumber(2));
        assert_eq!(history.first_sn(), Some(SequenceNumber(3)));
        // The instance may come back; its disposal must not take the new change along.
        put(&mut history, ChangeKind::Alive, 2);
        history.forget_disposed(SequenceNumber(9));
        assert_eq!((history.first_sn(), history.last_sn().0), (Some(SequenceNumber(4)), 4));
    }
}
