//! RTPS 2.5 §8.4.9.2 "repairing" state: how often one reader is sent the same again, what it could have lost, some times over, and a bounded rate beyond that. A peer
//! that asks for everything again and again, or a forger in its name, would otherwise make a writer send without end.

use super::log::RepairLog;
use crate::lazy::Blank;
use dunlin_core::{Duration, MonoTime, SequenceNumber};

/// So often a change may be repaired for one reader at any speed: enough where nine of ten datagrams are lost.
const TIMES: u64 = 8;
/// Octets of headers that count with each change.
const OVERHEAD: u64 = 256;
/// Octets in a second beyond that.
const PER_SECOND: u64 = 1 << 20;
/// A reader that asks for what it had acknowledged has to ask twice, so far apart at least: one that has it says so meanwhile.
const SECOND_SIGN_AFTER: Duration = Duration::from_millis(10);
/// The first of the two does not count any more after this time.
const FIRST_SIGN_FOR: Duration = Duration::from_secs(3);
/// The longest way to a reader and back that is waited for between them.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(1);

/// The repairs of one reader that have to be accounted for.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepairAccount {
    pub(crate) log: RepairLog,
    /// Changes up to here were asked for, and paid for once.
    granted: SequenceNumber,
    /// Octets that may be sent without limit of time.
    credit: u64,
    /// What was sent beyond that is paid by then.
    paid_at: MonoTime,
    /// When it asked for what it had acknowledged.
    asked_again: Option<MonoTime>,
    /// It does not have it: it gets what it had acknowledged up to here again.
    again_through: SequenceNumber,
}

impl Blank for RepairAccount {
    const BLANK: &'static Self = &Self {
        log: RepairLog::new(),
        granted: SequenceNumber::ZERO,
        credit: 0,
        paid_at: MonoTime(0),
        asked_again: None,
        again_through: SequenceNumber::ZERO,
    };
}

/// What a writer makes of a reader that asks for what it had acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// It is to be asked whether that is so.
    Doubtful,
    /// It was asked, and says it again: it has started again, or has forgotten the writer.
    Believed,
}

impl RepairAccount {
    /// A change of so many octets is to be repaired.
    pub(crate) fn grant(&mut self, sn: SequenceNumber, octets: usize) {
        if sn > self.granted {
            self.granted = sn;
            let octets = u64::try_from(octets).unwrap_or(u64::MAX).saturating_add(OVERHEAD);
            self.credit = self.credit.saturating_add(octets.saturating_mul(TIMES));
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
        let again = self.asked_again.is_some() || self.again_through > SequenceNumber::ZERO;
        self.log.is_empty() && self.paid_at == MonoTime(0) && !again
    }

    /// When the next repair may leave.
    pub(crate) fn ready_at(&self) -> MonoTime {
        self.paid_at
    }

    /// Changes up to here have arrived. What was granted for them and not needed is not for others.
    pub(crate) fn acknowledged(&mut self, through: SequenceNumber) {
        self.log.acknowledged(through);
        if through >= self.granted {
            self.credit = 0;
        }
    }

    /// The reader asks for changes from `base` on. What it had acknowledged, up to `acked`, it gets only if it is shown
    /// not to have it; `round_trip` is how long a question and its answer take.
    pub(crate) fn ask(
        &mut self,
        now: MonoTime,
        base: SequenceNumber,
        acked: SequenceNumber,
        round_trip: Duration,
    ) -> Again {
        if base <= self.again_through {
            return Again::Believed;
        }
        let age = self.asked_again.map(|at| now.since(at));
        match age.filter(|age| *age < FIRST_SIGN_FOR) {
            Some(age) if age >= SECOND_SIGN_AFTER.max(round_trip.min(LONGEST_ROUND_TRIP)) => {
                self.asked_again = None;
                self.again_through = acked;
                self.granted = base.previous();
                Again::Believed
            }
            Some(_) => Again::Doubtful,
            None => {
                self.asked_again = Some(now);
                Again::Doubtful
            }
        }
    }

    /// It asks for nothing that it had acknowledged.
    pub(crate) fn contradict(&mut self, base: SequenceNumber) {
        self.asked_again = None;
        if base > self.again_through {
            self.again_through = SequenceNumber::ZERO;
        }
    }

    /// Whether it has asked for what it had acknowledged, and has not said otherwise since.
    pub(crate) fn has_asked_again(&self) -> bool {
        self.asked_again.is_some()
    }

    /// Whether it is to be asked what it has, as long as that lasts.
    pub(crate) fn is_doubtful(&self, now: MonoTime) -> bool {
        self.asked_again.is_some_and(|at| now.since(at) < FIRST_SIGN_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonoTime {
        MonoTime(ms * 1_000_000)
    }

    #[test]
    fn what_was_lost_is_repaired_at_once_and_the_rest_at_a_rate() {
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
    fn credit_does_not_outlive_its_changes() {
        let mut account = RepairAccount::default();
        account.grant(SequenceNumber(5), 1 << 20);
        account.acknowledged(SequenceNumber(5));
        account.grant(SequenceNumber(6), 0);
        account.spend(at(1), 1 << 20);
        assert!(account.ready_at() > at(900));
    }

    #[test]
    fn what_was_acknowledged_takes_two_signs_without_contradiction() {
        let (base, acked) = (SequenceNumber(3), SequenceNumber(9));
        let mut account = RepairAccount::default();
        let ask =
            |account: &mut RepairAccount, ms| account.ask(at(ms), base, acked, Duration::from_millis(50));
        assert_eq!(ask(&mut account, 1), Again::Doubtful);
        assert_eq!(ask(&mut account, 40), Again::Doubtful, "within the round trip");
        account.contradict(acked.next());
        assert_eq!(ask(&mut account, 100), Again::Doubtful, "the reader itself has answered");
        assert_eq!(ask(&mut account, 4_000), Again::Doubtful, "too old");
        assert!(account.is_doubtful(at(4_010)));
        assert_eq!(ask(&mut account, 4_060), Again::Believed);
        assert_eq!(ask(&mut account, 4_061), Again::Believed);
        account.contradict(acked.next());
        assert_eq!(ask(&mut account, 4_100), Again::Doubtful);
    }
}
