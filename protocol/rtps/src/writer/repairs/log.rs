//! RTPS 2.5 §8.4.7.1 nackSuppressionDuration: what was repaired a moment ago is not repaired again, because the reader
//! asked for it before the repair could reach it.

use alloc::vec::Vec;
use dunlin_core::{Duration, MonoTime, SequenceNumber};

/// Most repairs remembered for one reader; without the record, the worst that follows is a repair too many.
const MAX_REPAIRED: usize = 1024;
/// How often the wait doubles for a change that is asked for again and again. A reader may ask so because it had no
/// room, so the wait must not grow far.
const MAX_DOUBLINGS: u32 = 3;

/// A whole change, or one fragment of it.
type Key = (SequenceNumber, u32);

/// Stands for all fragments.
pub(crate) const WHOLE: u32 = 0;

#[derive(Clone, Copy, Debug)]
struct Repair {
    key: Key,
    at: MonoTime,
    /// Repairs before this one.
    repeats: u32,
}

impl Repair {
    /// Waiting as long as the repair and the answer to it take is enough when that is known. The least wait doubles with
    /// every repair after the second, so that not much happens while it is not.
    fn until(&self, suppression: Suppression) -> MonoTime {
        let doublings = self.repeats.saturating_sub(1);
        let wait = suppression.least.times(1_i64.checked_shl(doublings).unwrap_or(1));
        self.at.plus(wait.max(suppression.round_trip))
    }
}

/// How long what was repaired is not repaired again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suppression {
    /// Configured.
    pub(crate) least: Duration,
    /// Time to the reader and back, with some margin; zero while unknown.
    pub(crate) round_trip: Duration,
}

/// The repairs sent to one reader that it has not acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepairLog {
    /// Sorted by key.
    repairs: Vec<Repair>,
}

impl RepairLog {
    fn find(&self, key: Key) -> Option<&Repair> {
        let at = self.repairs.binary_search_by_key(&key, |repair| repair.key).ok()?;
        self.repairs.get(at)
    }

    /// Nothing was repaired.
    pub(crate) const fn new() -> Self {
        Self { repairs: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.repairs.is_empty()
    }

    /// Notes a repair. True when it was not the first one.
    pub(crate) fn note(&mut self, now: MonoTime, sn: SequenceNumber, fragment: u32) -> bool {
        let key = (sn, fragment);
        match self.repairs.binary_search_by_key(&key, |repair| repair.key) {
            Ok(at) => {
                if let Some(repair) = self.repairs.get_mut(at) {
                    repair.at = now;
                    repair.repeats = repair.repeats.saturating_add(1).min(MAX_DOUBLINGS.saturating_add(1));
                }
                true
            }
            Err(at) if self.repairs.len() < MAX_REPAIRED => {
                self.repairs.insert(at, Repair { key, at: now, repeats: 0 });
                false
            }
            // Unknown, so it must not count as the first.
            Err(_) => true,
        }
    }

    /// When a change, or a fragment of it, may be repaired, if that is not at once.
    pub(crate) fn suppressed_until(
        &self,
        now: MonoTime,
        sn: SequenceNumber,
        fragment: u32,
        suppression: Suppression,
    ) -> Option<MonoTime> {
        let until = |fragment| self.find((sn, fragment)).map(|repair| repair.until(suppression));
        until(WHOLE).max(until(fragment)).filter(|until| *until > now)
    }

    /// How often a whole change was repaired, up to a few times.
    pub(crate) fn repeats(&self, sn: SequenceNumber) -> u32 {
        self.find((sn, WHOLE)).map_or(0, |repair| repair.repeats.saturating_add(1))
    }

    /// Whether a change, or a fragment of it, was repaired before, or may have been.
    pub(crate) fn knows(&self, sn: SequenceNumber, fragment: u32) -> bool {
        let full = self.repairs.len() >= MAX_REPAIRED;
        full || self.find((sn, WHOLE)).is_some() || self.find((sn, fragment)).is_some()
    }

    /// Forgets what has arrived.
    pub(crate) fn acknowledged(&mut self, through: SequenceNumber) {
        let arrived = self.repairs.partition_point(|repair| repair.key.0 <= through);
        self.repairs.drain(..arrived);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonoTime {
        MonoTime(ms * 1_000_000)
    }

    const NEAR: Suppression = Suppression { least: Duration::from_millis(2), round_trip: Duration::ZERO };

    #[test]
    fn the_wait_doubles_with_each_repair_and_is_bounded() {
        let sn = SequenceNumber(5);
        let mut repaired = RepairLog::default();
        assert_eq!(repaired.suppressed_until(at(0), sn, WHOLE, NEAR), None);
        for (now, until) in [(0, 2), (10, 12), (20, 24), (30, 38), (40, 56), (60, 76)] {
            repaired.note(at(now), sn, WHOLE);
            assert_eq!(repaired.suppressed_until(at(now), sn, WHOLE, NEAR), Some(at(until)));
            assert_eq!(repaired.suppressed_until(at(until), sn, WHOLE, NEAR), None);
        }
        let far = Suppression { round_trip: Duration::from_millis(100), ..NEAR };
        assert_eq!(repaired.suppressed_until(at(60), sn, WHOLE, far), Some(at(160)));
        repaired.acknowledged(sn);
        assert_eq!(repaired.suppressed_until(at(60), sn, WHOLE, far), None);
    }

    #[test]
    fn a_whole_repair_covers_its_fragments_and_not_the_other_way_round() {
        let sn = SequenceNumber(5);
        let mut repaired = RepairLog::default();
        repaired.note(at(0), sn, 7);
        assert!(repaired.suppressed_until(at(1), sn, 7, NEAR).is_some());
        assert!(repaired.suppressed_until(at(1), sn, 8, NEAR).is_none());
        assert!(repaired.suppressed_until(at(1), sn, WHOLE, NEAR).is_none());
        repaired.note(at(1), sn, WHOLE);
        assert!(repaired.suppressed_until(at(2), sn, 8, NEAR).is_some());
    }

    #[test]
    fn the_record_is_bounded() {
        let mut repaired = RepairLog::default();
        for sn in 0..10_000 {
            repaired.note(at(0), SequenceNumber(sn), WHOLE);
        }
        assert_eq!(repaired.repairs.len(), MAX_REPAIRED);
    }
}
