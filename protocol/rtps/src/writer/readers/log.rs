//! RTPS 2.5 §8.4.7.1 nackSuppressionDuration: what was repaired a moment ago is not repaired again, because the reader
//! asked for it before the repair could reach it.

use alloc::vec::Vec;

use dunlin_core::{Duration, MonoTime, SequenceNumber};

/// Most ranges of repairs remembered for one reader. What was repaired together is one; when there are more, what lies between
/// two of them counts as repaired with them, and has to wait as long.
const MAX_REPAIRED: usize = 1024;
/// How often the wait doubles for a change that is asked for again and again. A reader may ask so because it had no
/// room, so the wait must not grow far.
const MAX_DOUBLINGS: u32 = 3;

/// Stands for all fragments.
pub(crate) const WHOLE: u32 = 0;

/// What numbers are of: the changes that were repaired whole, or a change of which fragments were.
type Row = i64;

const WHOLES: Row = 0;

/// Repairs of neighbours at one time.
#[derive(Clone, Copy, Debug)]
struct Repair {
    row: Row,
    /// Sequence numbers, or fragment numbers.
    first: i64,
    last: i64,
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

    /// Whether another one right behind it is part of it.
    fn goes_on_with(&self, next: &Self) -> bool {
        let adjacent = self.row == next.row && self.last.saturating_add(1) == next.first;
        adjacent && self.at == next.at && self.repeats == next.repeats
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
    /// Sorted, without overlaps.
    repairs: Vec<Repair>,
}

fn place(sn: SequenceNumber, fragment: u32) -> (Row, i64) {
    if fragment == WHOLE { (WHOLES, sn.0) } else { (sn.0, i64::from(fragment)) }
}

impl RepairLog {
    /// The first that does not end before a place.
    fn position(&self, (row, number): (Row, i64)) -> usize {
        self.repairs.partition_point(|repair| (repair.row, repair.last) < (row, number))
    }

    fn find(&self, sn: SequenceNumber, fragment: u32) -> Option<&Repair> {
        let place = place(sn, fragment);
        let repair = self.repairs.get(self.position(place))?;
        (repair.row == place.0 && repair.first <= place.1).then_some(repair)
    }

    /// Nothing was repaired.
    pub(crate) const fn new() -> Self {
        Self { repairs: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.repairs.is_empty()
    }

    /// Notes a repair. True when it was not the first one, or may not have been.
    pub(crate) fn note(&mut self, now: MonoTime, sn: SequenceNumber, fragment: u32) -> bool {
        let (row, number) = place(sn, fragment);
        let at = self.position((row, number));
        let known = self.repairs.get(at).copied().filter(|known| known.row == row && known.first <= number);
        match known {
            Some(known) => {
                let repeats = known.repeats.saturating_add(1).min(MAX_DOUBLINGS.saturating_add(1));
                self.split(at, &known, Repair { row, first: number, last: number, at: now, repeats });
                true
            }
            None => self.insert(at, Repair { row, first: number, last: number, at: now, repeats: 0 }),
        }
    }

    /// Part of a range was repaired again.
    fn split(&mut self, at: usize, known: &Repair, again: Repair) {
        if self.repairs.len().saturating_add(2) > MAX_REPAIRED {
            if let Some(repair) = self.repairs.get_mut(at) {
                (repair.at, repair.repeats) = (again.at, again.repeats);
            }
            return;
        }
        let before =
            (known.first < again.first).then(|| Repair { last: again.first.saturating_sub(1), ..*known });
        let after =
            (again.last < known.last).then(|| Repair { first: again.last.saturating_add(1), ..*known });
        let parts = before.into_iter().chain([again]).chain(after);
        self.repairs.splice(at..=at, parts);
        self.join(at.saturating_add(usize::from(before.is_some())));
    }

    /// Makes one of a repair and the one before it, if they belong together.
    fn join(&mut self, at: usize) {
        let Some(before) = at.checked_sub(1) else { return };
        let Some(repair) = self.repairs.get(at).copied() else { return };
        if let Some(before) = self.repairs.get_mut(before).filter(|before| before.goes_on_with(&repair)) {
            before.last = repair.last;
            self.repairs.remove(at);
        }
    }

    /// Notes a repair of what is in no range. True when there is no room to tell that it was the first.
    fn insert(&mut self, at: usize, repair: Repair) -> bool {
        let full = self.repairs.len() >= MAX_REPAIRED;
        let before = at.checked_sub(1).and_then(|before| self.repairs.get_mut(before));
        match before.filter(|before| before.row == repair.row && (full || before.goes_on_with(&repair))) {
            Some(before) => (before.last, before.at) = (repair.last, repair.at),
            None if !full => self.repairs.insert(at, repair),
            None => {}
        }
        full
    }

    /// When a change, or a fragment of it, may be repaired, if that is not at once.
    pub(crate) fn suppressed_until(
        &self,
        now: MonoTime,
        sn: SequenceNumber,
        fragment: u32,
        suppression: Suppression,
    ) -> Option<MonoTime> {
        let until = |fragment| self.find(sn, fragment).map(|repair| repair.until(suppression));
        until(WHOLE).max(until(fragment)).filter(|until| *until > now)
    }

    /// How often a whole change was repaired, up to a few times.
    pub(crate) fn repeats(&self, sn: SequenceNumber) -> u32 {
        self.find(sn, WHOLE).map_or(0, |repair| repair.repeats.saturating_add(1))
    }

    /// Whether a change, or a fragment of it, was repaired before, or may have been.
    pub(crate) fn knows(&self, sn: SequenceNumber, fragment: u32) -> bool {
        let full = self.repairs.len() >= MAX_REPAIRED;
        full || self.find(sn, WHOLE).is_some() || self.find(sn, fragment).is_some()
    }

    /// Forgets what has arrived.
    pub(crate) fn acknowledged(&mut self, through: SequenceNumber) {
        if self.repairs.is_empty() {
            return;
        }
        self.repairs.retain_mut(|repair| {
            let whole = repair.row == WHOLES;
            if whole {
                repair.first = repair.first.max(through.0.saturating_add(1));
            }
            if whole { repair.first <= repair.last } else { repair.row > through.0 }
        });
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
    fn repairs_sent_together_are_one_range() {
        let mut repaired = RepairLog::default();
        let suppressed = |log: &RepairLog, sn, fragment| {
            log.suppressed_until(at(1), SequenceNumber(sn), fragment, NEAR).is_some()
        };
        for number in 1..=10_000 {
            assert!(!repaired.note(at(0), SequenceNumber(number), WHOLE));
            assert!(!repaired.note(at(0), SequenceNumber(20_000), number as u32));
        }
        assert_eq!(repaired.repairs.len(), 2);
        assert!(suppressed(&repaired, 10_000, WHOLE) && suppressed(&repaired, 20_000, 10_000));
        assert!(!suppressed(&repaired, 10_001, WHOLE) && !suppressed(&repaired, 20_000, 10_001));
        repaired.acknowledged(SequenceNumber(9_999));
        assert!(!suppressed(&repaired, 9_999, WHOLE) && suppressed(&repaired, 10_000, WHOLE));
        repaired.acknowledged(SequenceNumber(20_000));
        assert!(repaired.is_empty());
    }

    #[test]
    fn a_repeated_repair_suppresses_only_its_own_fragments() {
        let (sn, mut repaired) = (SequenceNumber(5), RepairLog::default());
        (1..=9).for_each(|number| _ = repaired.note(at(0), sn, number));
        assert!(repaired.note(at(10), sn, 4) && repaired.note(at(10), sn, 5));
        assert_eq!(repaired.repairs.len(), 3);
        for number in 1..=9 {
            let until = repaired.suppressed_until(at(11), sn, number, NEAR);
            assert_eq!(until, [4, 5].contains(&number).then_some(at(12)), "fragment {number}");
        }
    }

    #[test]
    fn the_record_is_bounded_and_suppresses_all_the_same() {
        let mut repaired = RepairLog::default();
        for sn in 0..10_000 {
            repaired.note(at(sn), SequenceNumber(2 * sn as i64 + 1), WHOLE);
        }
        assert_eq!(repaired.repairs.len(), MAX_REPAIRED);
        let last = SequenceNumber(19_999);
        assert!(
            repaired.suppressed_until(at(9_999), last, WHOLE, NEAR).is_some() && repaired.knows(last, WHOLE)
        );
        for number in 1..5_000 {
            repaired.note(at(20_000), SequenceNumber(3 * number % 700 + 1), WHOLE);
        }
        assert!(repaired.repairs.len() <= MAX_REPAIRED);
    }
}
