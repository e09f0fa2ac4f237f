//! What other participants did that was refused (RTPS 2.5 §8.3.4), counted for each of them within bounds.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use dunlin_core::{GuidPrefix, Misbehaviour, MisbehaviourCounts};
use dunlin_sync::RankedMutex;

use crate::ranks;

/// So many participants are counted one by one. Whose last misbehaviour is longest ago is then counted with all others together.
pub const MOST_MISBEHAVING: usize = 64;

/// What a participant did that was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misbehaved {
    /// Which, as its messages said: nobody can tell whether they were its own. [`GuidPrefix::UNKNOWN`] for those together of whom
    /// nothing is known, or of whom there were too many.
    pub participant: GuidPrefix,
    /// What, and how often.
    pub counts: MisbehaviourCounts,
}

/// The counts of all.
#[derive(Default)]
pub(crate) struct Ledger(RankedMutex<{ ranks::LEAF }, Counted>);

#[derive(Default)]
struct Counted {
    participants: BTreeMap<GuidPrefix, Entry>,
    others: MisbehaviourCounts,
    /// Of all together.
    total: MisbehaviourCounts,
    last: u64,
}

struct Entry {
    counts: MisbehaviourCounts,
    /// Higher than that of those who misbehaved before.
    last: u64,
}

impl Counted {
    /// How often it was refused, of all participants together.
    fn note(&mut self, participant: GuidPrefix, what: Misbehaviour) -> u32 {
        if participant == GuidPrefix::UNKNOWN {
            self.others.add(what);
        } else {
            if !self.participants.contains_key(&participant) {
                self.make_room();
            }
            self.last = self.last.saturating_add(1);
            let empty = || Entry { counts: MisbehaviourCounts::default(), last: 0 };
            let entry = self.participants.entry(participant).or_insert_with(empty);
            entry.counts.add(what);
            entry.last = self.last;
        }
        self.total.add(what)
    }

    fn make_room(&mut self) {
        if self.participants.len() < MOST_MISBEHAVING {
            return;
        }
        let longest_ago =
            self.participants.iter().min_by_key(|(_, entry)| entry.last).map(|(prefix, _)| *prefix);
        if let Some(gone) = longest_ago.and_then(|prefix| self.participants.remove(&prefix)) {
            self.others.add_all(&gone.counts);
        }
    }
}

impl Ledger {
    /// Counts one; how many there are of all participants together.
    pub(crate) fn note(&self, participant: GuidPrefix, what: Misbehaviour) -> u32 {
        self.0.lock().note(participant, what)
    }

    pub(crate) fn read(&self) -> Vec<Misbehaved> {
        let counted = self.0.lock();
        let known = counted.participants.iter();
        let known = known.map(|(prefix, entry)| Misbehaved { participant: *prefix, counts: entry.counts });
        let others = Misbehaved { participant: GuidPrefix::UNKNOWN, counts: counted.others };
        known.chain((others.counts.iter().next().is_some()).then_some(others)).collect()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn prefix(n: usize) -> GuidPrefix {
        let mut octets = [1; 12];
        octets[..8].copy_from_slice(&u64::try_from(n).unwrap().to_be_bytes());
        GuidPrefix(octets)
    }

    #[test]
    fn misbehaviour_counters_of_many_peers_are_bounded() {
        let ledger = Ledger::default();
        for n in 0..10_000 {
            ledger.note(prefix(n), Misbehaviour::NotMatched);
            // One that goes on is not forgotten.
            ledger.note(prefix(0), Misbehaviour::LastNumber);
        }
        let read = ledger.read();
        assert_eq!(read.len(), MOST_MISBEHAVING + 1);
        let sum = |what| read.iter().map(|it| it.counts.of(what)).sum::<u32>();
        assert_eq!((sum(Misbehaviour::NotMatched), sum(Misbehaviour::LastNumber)), (10_000, 10_000));
        assert_eq!((read[0].participant, read[0].counts.of(Misbehaviour::LastNumber)), (prefix(0), 10_000));
        assert_eq!(read.last().map(|it| it.participant), Some(GuidPrefix::UNKNOWN));
    }
}
