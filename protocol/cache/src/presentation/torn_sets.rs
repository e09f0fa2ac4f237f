//! Coherent sets (DDS 1.4 §2.2.3.6 PRESENTATION; RTPS 2.5 §8.7.6) that were open when all writers of their publisher were gone.

use alloc::collections::VecDeque;

use dunlin_core::{EntityId, SequenceNumber};

use super::Source;

/// Publishers that are remembered, at most; the one that was lost first gives way.
const MAX_PUBLISHERS: usize = 64;

/// Of publishers whose writers are all gone the set that was given up last. A writer that is created later may go on with it.
#[derive(Debug, Default)]
pub(super) struct TornSets(VecDeque<(Source, EntityId, SequenceNumber)>);

impl TornSets {
    /// The writers of a publisher are gone, of which `youngest` was created last; this `set` was given up, if any.
    pub(super) fn note(&mut self, source: Source, youngest: EntityId, set: Option<SequenceNumber>) {
        // Where each writer stands for itself, its sets go with it.
        let Some(set) = set.filter(|_| source.1 == EntityId::UNKNOWN) else { return };
        self.0.retain(|(known, ..)| *known != source);
        if self.0.len() >= MAX_PUBLISHERS {
            self.0.pop_front();
        }
        self.0.push_back((source, youngest, set));
    }

    /// The set that was given up, for a writer that is met now. Entity keys rise: one that is not younger than those that are gone
    /// is one of them, which says itself what of the set it had, or of another life of its publisher, which has other numbers.
    pub(super) fn take(&mut self, source: Source, writer: EntityId) -> Option<SequenceNumber> {
        let at = self.0.iter().position(|(known, ..)| *known == source)?;
        let (_, youngest, set) = self.0.remove(at)?;
        (writer > youngest).then_some(set)
    }
}

#[cfg(test)]
mod tests {
    use dunlin_core::{Guid, GuidPrefix};

    use super::*;

    #[test]
    fn torn_coherent_sets_of_the_latest_publishers_are_remembered() {
        let source = |n: u8| (Guid::new(GuidPrefix([n; 12]), EntityId([0, 0, 1, 8])), EntityId::UNKNOWN);
        let [older, younger] = [EntityId([0, 0, 2, 2]), EntityId([0, 0, 3, 2])];
        let mut torn = TornSets::default();
        (0..=MAX_PUBLISHERS as u8).for_each(|n| torn.note(source(n), older, Some(SequenceNumber::FIRST)));
        assert_eq!(torn.0.len(), MAX_PUBLISHERS);
        assert_eq!([torn.take(source(0), younger), torn.take(source(1), older)], [None, None]);
        assert_eq!(torn.take(source(1), younger), None, "who was met is not remembered");
        assert_eq!(torn.take(source(2), younger), Some(SequenceNumber::FIRST));
    }
}
