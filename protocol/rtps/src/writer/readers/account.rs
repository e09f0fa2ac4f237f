//! RTPS 2.5 §8.4.9.2 "repairing" state: how often one reader is sent the same again, what it could have lost, some times over, and a bounded rate beyond that. A peer
//! that asks for everything again and again, or a forger in its name, would otherwise make a writer send without end.

use dunlin_core::{Duration, MonoTime, SequenceNumber, SnRange, SnRanges};

use super::log::RepairLog;
use crate::lazy::StaticDefault;

/// So often a change may be repaired for one reader at any speed: enough where nine of ten datagrams are lost.
const TIMES: u64 = 8;
/// Octets of headers that count with each change.
const OVERHEAD: u64 = 256;
/// Octets in a second beyond that.
const PER_SECOND: u64 = 1 << 20;
/// Most intervals of changes that are remembered as paid for: more than an ACKNACK can name.
const MAX_GRANTED: usize = 256;
/// A reader that forgets its writer is given what it had acknowledged once more, so often at most.
const ANEW: Duration = Duration::from_secs(30);

/// The repairs of one reader that have to be accounted for.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepairAccount {
    pub(crate) log: RepairLog,
    /// Changes that were asked for, and paid for once. They are asked for in any order: a fragment of a new one while those
    /// before it are still being sent.
    granted: SnRanges,
    /// When it last began anew.
    anew_at: Option<MonoTime>,
    /// Octets that may be sent without limit of time.
    credit: u64,
    /// What was sent beyond that is paid by then.
    paid_at: MonoTime,
}

impl StaticDefault for RepairAccount {
    const STATIC_DEFAULT: &'static Self = &Self {
        log: RepairLog::new(),
        granted: SnRanges::new(),
        anew_at: None,
        credit: 0,
        paid_at: MonoTime(0),
    };
}

impl RepairAccount {
    /// A change of so many octets is to be repaired.
    pub(crate) fn grant(&mut self, sn: SequenceNumber, octets: usize) {
        if self.granted.contains(sn) {
            return;
        }
        while !self.granted.insert(SnRange::new(sn, sn), MAX_GRANTED) {
            self.close_lowest_gap();
        }
        let octets = u64::try_from(octets).unwrap_or(u64::MAX).saturating_add(OVERHEAD);
        self.credit = self.credit.saturating_add(octets.saturating_mul(TIMES));
    }

    /// What lies between the two lowest intervals has arrived most likely; it counts as paid for.
    fn close_lowest_gap(&mut self) {
        if let [lowest, next, ..] = *self.granted.as_slice() {
            self.granted.insert(SnRange::new(lowest.first, next.last), MAX_GRANTED);
        }
    }

    /// The reader asks for what it had acknowledged, from the first change that it lacks on: it has forgotten its writer, and
    /// may need all of that again.
    pub(crate) fn begins_anew(&mut self, now: MonoTime, acknowledged: SequenceNumber) {
        if self.anew_at.is_none_or(|before| now >= before.plus(ANEW)) {
            self.anew_at = Some(now);
            self.granted.remove_through(acknowledged);
        }
    }

    /// Repairs have left.
    pub(crate) fn spend(&mut self, now: MonoTime, octets: usize) {
        let octets = u64::try_from(octets).unwrap_or(u64::MAX);
        let beyond = octets.saturating_sub(self.credit);
        self.credit = self.credit.saturating_sub(octets);
        let nanos = beyond.saturating_mul(1_000_000_000) / PER_SECOND;
        let wait = Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
        if beyond > 0 {
            self.paid_at = self.paid_at.max(now).plus(wait);
        }
    }

    /// Whether nothing stands in it that would be missed.
    pub(crate) fn is_settled(&self) -> bool {
        self.log.is_empty() && self.paid_at == MonoTime(0)
    }

    /// When the next repair may leave.
    pub(crate) fn ready_at(&self) -> MonoTime {
        self.paid_at
    }

    /// Changes up to here have arrived. What was granted for them and not needed is not for others.
    pub(crate) fn acknowledged(&mut self, through: SequenceNumber) {
        self.log.acknowledged(through);
        // All of it is paid for, in one interval: otherwise a reader that misses one change now and then would have many.
        if let Some(first) = self.granted.as_slice().first().map(|range| range.first)
            && first <= through
        {
            self.granted.insert(SnRange::new(first, through), MAX_GRANTED);
        }
        if self.granted.last().is_none_or(|last| through >= last) {
            self.credit = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonoTime {
        MonoTime(ms * 1_000_000)
    }

    #[test]
    fn lost_changes_are_repaired_at_once_and_the_rest_at_a_rate() {
        let mut account = RepairAccount::default();
        account.grant(SequenceNumber(5), 744);
        for _ in 0..TIMES {
            account.grant(SequenceNumber(5), 744);
            account.spend(at(7), 1_000);
            assert!(account.ready_at() <= at(7));
        }
        account.spend(at(7), 1 << 19);
        assert_eq!(account.ready_at(), at(507), "half a second");
        account.acknowledged(SequenceNumber(5));
        account.grant(SequenceNumber(6), 744);
        account.spend(at(600), 8_000);
        assert!(account.ready_at() <= at(600));
    }

    #[test]
    fn repair_credit_is_per_change_in_any_request_order() {
        let mut account = RepairAccount::default();
        let pay = |account: &mut RepairAccount, sn| {
            account.grant(SequenceNumber(sn), 744);
            (0..TIMES).for_each(|_| account.spend(at(7), 1_000));
            account.ready_at() <= at(7)
        };
        assert!(pay(&mut account, 1_000));
        assert!((1..1_000).rev().all(|sn| pay(&mut account, sn)));
        assert!(!pay(&mut account, 5));
        // Every other one, more than are remembered apart: still each once.
        let mut account = RepairAccount::default();
        assert!((1..2_000).all(|sn| pay(&mut account, 2 * sn)));
        assert!(account.granted.interval_count() <= MAX_GRANTED);
        assert!(!pay(&mut account, 2));
    }

    #[test]
    fn repair_credit_for_acknowledged_changes_returns_slowly() {
        let mut account = RepairAccount::default();
        let given = |account: &mut RepairAccount, now| {
            account.acknowledged(SequenceNumber(5));
            account.begins_anew(at(now), SequenceNumber(5));
            account.grant(SequenceNumber(5), 744);
            account.spend(at(now), 8_000);
            account.ready_at() <= at(now)
        };
        account.grant(SequenceNumber(5), 744);
        for (now, expected) in [(0, true), (1_000, false), (29_000, false), (31_000, true), (33_000, false)] {
            assert_eq!(given(&mut account, now), expected, "{now}");
        }
    }

    #[test]
    fn credit_does_not_outlive_its_changes() {
        let mut account = RepairAccount::default();
        account.grant(SequenceNumber(5), 1 << 20);
        account.acknowledged(SequenceNumber(5));
        account.grant(SequenceNumber(6), 0);
        account.spend(at(1), 1 << 20);
        assert!(account.ready_at() > at(900));
    }
}
