//! RTPS 2.5 §8.4.9.2 "repairing" and "must_repair" states: when readers are sent again what they asked for, how much of it at
//! once, and to whom together.

use dunlin_core::{Duration, Locator, MonoTime, SequenceNumber};

use super::heartbeat::GROUP_SHARE;
use super::readers::{ReaderProxy, Readers, WHOLE};
use crate::WriterConfig;
use crate::proxy_index::ProxyIndex;
use crate::timing::arm;

/// How long a budget of repairs lasts.
const INTERVAL: Duration = Duration::from_millis(1);

/// Which round of serving readers is the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Round {
    /// No reader wants anything.
    #[default]
    Idle,
    /// A reader may be served then.
    Due(MonoTime),
    /// All readers are being served: each may want something.
    Running,
}

/// The repairs of one writer: its timer, its budget and its fairness.
///
/// What a reader asked for stands in its proxy, in [`Requests`](super::readers::Requests), what it was sent
/// and may be sent in [`RepairAccount`](super::readers::RepairAccount).
///
/// Order of calls: [`arm`](Self::arm) when a reader asks for something; when that is due, [`begin_round`](Self::begin_round),
/// then the readers in [`turns`](Self::turns), then [`end_round`](Self::end_round). Each datagram may leave when it is
/// [`ready_at`](Self::ready_at), and is [spent](Self::spend).
#[derive(Debug)]
pub(super) struct Repairs {
    // When
    round: Round,
    /// Which reader is served first at the next opportunity.
    turn: usize,

    // How much
    /// Octets in one interval.
    budget: usize,
    /// When the present interval began, and what left in it.
    since: MonoTime,
    used: usize,
}

impl Repairs {
    pub(super) fn new(cfg: &WriterConfig) -> Self {
        Self {
            round: Round::Idle,
            turn: 0,
            budget: cfg.repair_budget_per_event,
            since: MonoTime::default(),
            used: 0,
        }
    }

    /// When a reader may be served.
    #[inline]
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        match self.round {
            Round::Due(at) => Some(at),
            Round::Idle | Round::Running => None,
        }
    }

    fn is_due(&self, now: MonoTime) -> bool {
        crate::timing::is_due(self.deadline(), now)
    }

    /// A reader wants to be served then. In a round that is without effect: its end says when the next one is.
    #[inline]
    pub(super) fn arm(&mut self, at: Option<MonoTime>) {
        if self.round == Round::Running {
            return;
        }
        let mut due = self.deadline();
        if let Some(at) = at {
            arm(&mut due, at);
        }
        self.round = due.map_or(Round::Idle, Round::Due);
    }

    /// Begins to serve all readers, if it is time.
    pub(super) fn begin_round(&mut self, now: MonoTime) -> bool {
        let due = self.is_due(now);
        if due {
            self.round = Round::Running;
        }
        due
    }

    /// The readers of a round, of so many: another one first each time.
    pub(super) fn turns(&mut self, count: usize) -> impl Iterator<Item = ProxyIndex> + use<> {
        let first = if self.turn < count { self.turn } else { 0 };
        self.turn = first.saturating_add(1);
        (first..count).chain(0..first).map(ProxyIndex::new)
    }

    /// All readers were served; when the first of them may be again.
    pub(super) fn end_round(&mut self, next: Option<MonoTime>) {
        self.round = next.map_or(Round::Idle, Round::Due);
    }

    /// When the budget lets the next repair leave.
    pub(super) fn ready_at(&mut self, now: MonoTime) -> MonoTime {
        let next = self.since.plus(INTERVAL);
        if now >= next {
            (self.since, self.used) = (now, 0);
        }
        if self.used < self.budget.max(1) { now } else { next }
    }

    /// Accounts for a datagram with repairs.
    pub(super) fn spend(&mut self, octets: usize) {
        self.used = self.used.saturating_add(octets);
    }

    /// Octets that may still leave in this interval.
    pub(super) fn left(&self) -> usize {
        self.budget.saturating_sub(self.used)
    }

    /// A multicast group to repair a change in, when another of its members wants the same change now. Those members' requests
    /// are thereby served.
    pub(super) fn share(
        &self,
        now: MonoTime,
        readers: &mut Readers,
        index: ProxyIndex,
        sn: SequenceNumber,
    ) -> Option<Locator> {
        if self.round != Round::Running && !self.is_due(now) {
            // Nobody else has anything due.
            return None;
        }
        let group = common_group(now, readers, index, sn)?;
        for (_, other) in readers.iter_mut().enumerate().filter(|(place, _)| *place != index.get()) {
            if other.shares(now, sn) && other.cfg.multicast.contains(&group) {
                debug_assert!(other.requests.if_made().is_some(), "who shares a change has asked for it");
                if let Some(requests) = other.requests.if_made() {
                    requests.start_over();
                    requests.whole.remove(sn);
                }
                other.note_repair(now, sn, WHOLE);
            }
        }
        Some(group)
    }
}

/// A group of a reader that others who want the same change now listen to, too, and nobody who would take it for new. Everybody
/// in the group gets it: that is worth it only if not too few want it.
fn common_group(now: MonoTime, readers: &Readers, index: ProxyIndex, sn: SequenceNumber) -> Option<Locator> {
    let groups = &readers.get(index).filter(|reader| reader.reliable)?.cfg.multicast;
    let shares = |other: &ReaderProxy| other.shares(now, sn);
    let wanting = 1_usize.saturating_add(readers.others(index).filter(|other| shares(other)).count());
    if wanting.saturating_mul(GROUP_SHARE) < readers.len() {
        return None;
    }
    let listens = |other: &ReaderProxy, group| other.cfg.multicast.contains(group);
    let shared = |group| readers.others(index).any(|other| shares(other) && listens(other, group));
    let deceives =
        |group| readers.others(index).any(|other| other.takes_for_new(sn) && listens(other, group));
    groups.iter().find(|group| shared(group) && !deceives(group)).copied()
}

#[cfg(test)]
mod tests;
