//! What may be lost between a writer and a reader, and of what the reader must be told.
//!
//! A number that a reader never took is lost only for a [`Reason`], and SAMPLE_LOST counts each once at most. Both follow
//! from what the applications did and were told, and from what the QoS promises: HISTORY, RESOURCE_LIMITS, DURABILITY,
//! LIFESPAN, RELIABILITY (`docs/slow-readers.md`, `docs/late-joiners.md`).

use std::collections::{BTreeMap, BTreeSet};

use dunlin_rtps::ChangeKind;

use super::delivery::missing;
use crate::log::{Nanos, Received, Span, Written};
use crate::qos::Qos;
use crate::run::MS;

/// What is older than this when a reader is created is not on its way to others any more.
const IN_FLIGHT: Nanos = 4_000 * MS;

/// So long after they met a best-effort reader has the history, as far as it arrives.
pub(super) const HISTORY_SENT: Nanos = 1_000 * MS;

/// Why a reader may never have had a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// One side is best-effort, and it was lost on the way.
    Unreliable,
    /// Later samples of the instance have taken its place in the history of the writer.
    Replaced,
    /// Its LIFESPAN may be over.
    Expired,
    /// Its instance has ended, and a full history made room of that.
    Ended,
    /// A full history made room of it while the reader was inactive.
    Released,
    /// The writer knew no such reader when it was written, or forgot it before it had acknowledged it.
    Parted,
    /// It was written before they met, to others, of whom the reader has overheard something.
    Overheard,
    /// Its coherent set may not be whole, so nothing of it is shown.
    Torn,
}

/// A writer and a reader that match, as the log has them.
pub struct Pair<'a> {
    /// All that was written.
    pub changes: &'a [Written],
    /// QoS of the writer.
    pub offered: &'a Qos,
    /// QoS of the reader.
    pub requested: &'a Qos,
    /// When the writer had matched the reader in its own life, if it has.
    pub by_writer: &'a [Span],
    /// When the reader had matched the writer.
    pub by_reader: &'a [Span],
    /// When the reader was created. What the writer has met before is another life under the same name.
    pub created: Nanos,
    /// When the writer did not wait for the reader.
    pub inactive: Vec<Span>,
    /// What was taken.
    pub received: Option<&'a Received>,
    /// When the application took what there was.
    pub looks: &'a [Nanos],
    /// From when to when what was written may have arrived at a reader that is gone after it had last looked.
    pub unseen: Option<(Nanos, Nanos)>,
    /// BY_SOURCE_TIMESTAMP drops what comes late, which happens if there are several writers.
    pub stale: bool,
    /// What is in coherent sets that may not be whole.
    pub torn: BTreeSet<u64>,
    /// The coherent sets of which something was taken.
    pub shown_sets: BTreeSet<usize>,
    /// Others that it shows sets with have limits: while one of them is full, all turn away what arrives, and a best-effort
    /// reader is told that it is lost.
    pub crowded: bool,
    /// Nothing was lost on the way, and nothing overtook anything, when a late joiner was given the history.
    pub orderly: bool,
    /// Numbers that samples in the writer's name had that it did not write, and of which the reader has to notice that they took the
    /// place of its own.
    pub forged: BTreeMap<u64, bool>,
}

/// The bounds of what a reader is told, and what it lacks without a reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    /// SAMPLE_LOST counts so many at least.
    pub must: u64,
    /// And so many at most.
    pub may: u64,
    /// Numbers that are due and that nothing excuses.
    pub missing: Vec<u64>,
}

impl Pair<'_> {
    pub(super) fn reliable(&self) -> bool {
        self.offered.reliable && self.requested.reliable
    }

    fn durable(&self) -> bool {
        self.offered.durable && self.requested.durable
    }

    /// Whether the application takes everything that arrives.
    fn shows_all(&self) -> bool {
        let selective = self.requested.exclusive || self.requested.separation > 0 || self.stale;
        let limited = self.requested.keep_last.is_some() || self.offered.lifespan.is_some();
        !selective && !limited && self.requested.filter.is_none()
    }

    /// Whether late joiners like this reader are given everything.
    fn keeps_all(&self) -> bool {
        self.durable() && self.offered.keep_last.is_none()
    }

    pub(super) fn taken(&self, number: u64) -> bool {
        self.received.is_some_and(|received| received.count(number) > 0)
    }

    /// The first and the last number that was taken.
    fn ends(&self) -> Option<(u64, u64)> {
        let last = self.changes.len() as u64;
        let first = (1..=last).find(|number| self.taken(*number))?;
        let last = (1..=last).rev().find(|number| self.taken(*number))?;
        Some((first, last))
    }

    pub(super) fn change(&self, number: u64) -> Option<&Written> {
        self.changes.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// How many changes were written by then.
    fn written(&self, by: Nanos) -> u64 {
        self.changes.partition_point(|change| change.at <= by) as u64
    }

    /// Why a number that was not taken may be lost; `None` if it may not.
    #[must_use]
    pub fn reason(&self, number: u64) -> Option<Reason> {
        let torn = || self.torn.contains(&number).then_some(Reason::Torn);
        self.own_reason(number).or_else(torn)
    }

    /// The same without regard to the others of its set.
    #[must_use]
    pub fn own_reason(&self, number: u64) -> Option<Reason> {
        let change = self.change(number)?;
        if !self.reliable() {
            return self.unreliable(number, change).then_some(Reason::Unreliable);
        }
        let rules = [
            (Reason::Replaced, self.replaced(number, change)),
            (Reason::Expired, self.offered.lifespan.is_some()),
            (Reason::Ended, self.ended(number, change)),
            (Reason::Released, self.released(number, change)),
            // Of what was written before they first met the writer says that it is not for the reader, also when they meet again.
            (Reason::Overheard, self.overheard(number, change)),
            (Reason::Parted, self.parted(number, change)),
        ];
        rules.into_iter().find(|(_, holds)| *holds).map(|(reason, _)| reason)
    }

    /// Between two changes that arrived a best-effort reader lacks what it was told of; whoever does not take all that arrives
    /// may have heard of more than it took.
    fn unreliable(&self, number: u64, change: &Written) -> bool {
        // The history comes at once, and what a full reader turns away of it does not come again.
        let turns_away = self.crowded || self.requested.max_samples.is_some();
        if turns_away && self.durable() {
            return true;
        }
        if self.shows_all() && self.requested.max_samples.is_none() && !self.crowded {
            let count = self.changes.len() as u64;
            return (1..number).any(|n| self.arrives(n)) && (number + 1..=count).any(|n| self.arrives(n));
        }
        // What was gone from the history is told of; if that does not arrive it seems lost.
        let confused = self.durable() && !self.orderly;
        confused || self.by_reader.first().is_some_and(|(met, _)| change.at + IN_FLIGHT >= *met)
    }

    /// Whether a change belongs to a coherent set of which the reader was shown nothing.
    pub(super) fn withheld(&self, change: &Written) -> bool {
        self.requested.coherent && change.set.is_some_and(|set| !self.shown_sets.contains(&set))
    }

    /// Whether a change has arrived, or may have: one without data is not taken as a sample, nor is what was given up with its
    /// set, and the application of a reader that is gone did not see what came last.
    fn arrives(&self, number: u64) -> bool {
        let met = self.by_reader.first().map_or(Nanos::MAX, |(met, _)| *met);
        let for_it = |change: &Written| self.durable() || change.at + IN_FLIGHT >= met;
        let hidden = |it: &Written| it.kind != ChangeKind::Alive || self.withheld(it);
        let hidden = self.change(number).is_some_and(|it| hidden(it) && for_it(it));
        hidden || self.taken(number) || self.change(number).is_some_and(|it| self.unseen(it))
    }

    /// Whether a change may have arrived that the application had no time to take.
    fn unseen(&self, change: &Written) -> bool {
        let Some((since, until)) = self.unseen else { return false };
        let met = self.by_writer.last().map_or(0, |(met, _)| *met);
        let history = self.durable() && met + HISTORY_SENT >= since;
        change.at <= until && (change.at >= since || history)
    }

    fn later<'a>(&'a self, number: u64, change: &'a Written) -> impl Iterator<Item = &'a Written> {
        let rest = self.changes.get(number as usize..).unwrap_or_default();
        rest.iter().filter(|later| later.key == change.key)
    }

    fn replaced(&self, number: u64, change: &Written) -> bool {
        let Some(depth) = self.offered.keep_last else { return false };
        let ends = |later: &Written| later.kind != ChangeKind::Alive;
        self.later(number, change).count() >= depth as usize || self.later(number, change).any(ends)
    }

    /// TRANSIENT_LOCAL keeps what it must for late joiners, but for instances that are disposed or have no writer.
    fn ended(&self, number: u64, change: &Written) -> bool {
        let full = self.offered.durable && self.offered.max_samples.is_some();
        let ends = |later: &Written| later.kind != ChangeKind::Alive;
        let gone = ends(change) || self.later(number, change).any(ends);
        let lagged = |(from, until): &Span| {
            let until = until.unwrap_or(Nanos::MAX);
            change.at <= until && self.written(until) > self.written(from.saturating_sub(1))
        };
        full && gone && self.inactive.iter().any(lagged)
    }

    /// A volatile KEEP_ALL history lets go of its oldest change when a write needs room, while the reader is inactive. It then
    /// held as many as it may, this one and those behind it.
    fn released(&self, number: u64, change: &Written) -> bool {
        let Some(limit) = self.offered.max_samples.map(u64::from) else { return false };
        let made_room = |(from, until): &Span| {
            let until = until.unwrap_or(Nanos::MAX);
            let (before, last) = (self.written(from.saturating_sub(1)), self.written(until));
            change.at <= until && last > before && number + limit <= last
        };
        let volatile = self.offered.keep_last.is_none() && !self.offered.durable;
        volatile && self.inactive.iter().any(made_room)
    }

    /// A writer that has forgotten a reader keeps for it only what it keeps for late joiners.
    fn parted(&self, number: u64, change: &Written) -> bool {
        let ends = |later: &Written| later.kind != ChangeKind::Alive;
        let kept = self.keeps_all() && !ends(change) && !self.later(number, change).any(ends);
        // A volatile reader is told at each meeting that what was written before the first is not for it.
        let for_it = self.durable() || self.by_writer.first().is_none_or(|(met, _)| change.at > *met);
        !kept && for_it && self.was_parted_after(change)
    }

    fn was_parted_after(&self, change: &Written) -> bool {
        let again = self.by_writer.iter().skip(1).any(|(from, _)| change.at <= *from);
        again || self.by_writer.last().is_none_or(|(_, until)| until.is_some())
    }

    /// What was written before the writer met the reader is for others; the reader counts it only if it delivered something
    /// of it, be it the end of an instance, which nobody takes as a sample.
    fn overheard(&self, number: u64, change: &Written) -> bool {
        let before = self.by_writer.first().is_some_and(|(met, _)| change.at <= *met);
        let began = || !self.shows_all() || (1..number).any(|n| self.arrives(n));
        let kept = self.keeps_all() && self.offered.max_samples.is_none();
        before && !kept && began()
    }

    /// Until when a reader had not heard anything of a writer that gave it up: it cannot tell what was released until it was
    /// back from what was written before it came.
    fn unheard_until(&self) -> Nanos {
        let Some((met, _)) = self.by_reader.last() else { return 0 };
        let first = self.received.and_then(|received| received.first_taken).unwrap_or(Nanos::MAX);
        let over = |(from, until): &Span| {
            let until = until.unwrap_or(Nanos::MAX);
            (*met <= until && (from <= met || *from <= first)).then_some(until)
        };
        self.inactive.iter().find_map(over).unwrap_or(0)
    }

    /// A best-effort reader is given the history again when it meets its writer again, and so gets what it had to take for
    /// lost until then: others that came behind it had arrived.
    fn came_after_all(&self, number: u64) -> bool {
        let Some(at) = self.received.and_then(|received| received.first_taken_at(number)) else {
            return false;
        };
        let partings = self.by_reader.windows(2).filter_map(|meetings| Some((meetings[0].1?, meetings[1].0)));
        let before = |(parted, met): (Nanos, Nanos)| {
            // Whoever did not look in between had perhaps not taken all that had arrived.
            let looked = self.looks.iter().any(|look| (parted..met).contains(look));
            let arrived = |n: u64| {
                let change = self.change(n).filter(|change| change.at < parted);
                let taken = self.received.and_then(|received| received.first_taken_at(n));
                let in_time = change.is_some_and(|it| it.kind != ChangeKind::Alive)
                    || taken.is_some_and(|taken| taken < met || !looked);
                change.is_some() && in_time
            };
            let last = self.changes.len() as u64;
            at >= met && (1..number).any(arrived) && (number + 1..=last).any(arrived)
        };
        !self.reliable() && self.durable() && partings.into_iter().any(before)
    }

    /// When its writer was lost a reader gave up the set that was open, for all it knew for good. Who is given the history when
    /// they meet again gets it after all.
    fn given_up_and_given_again(&self, number: u64) -> bool {
        let Some(change) = self.change(number).filter(|it| it.set.is_some()) else { return false };
        let taken = self.received.and_then(|received| received.first_taken_at(number));
        let again = |spans: &[Span]| {
            let open = spans[0].1.is_some_and(|parted| change.at < parted);
            open && taken.is_none_or(|at| at >= spans[1].0)
        };
        self.durable() && self.requested.coherent && self.by_reader.windows(2).any(again)
    }

    /// How many numbers may be counted as lost.
    #[must_use]
    pub fn may(&self) -> u64 {
        let lost = |number: &u64| {
            let lacks = !self.taken(*number) && self.reason(*number).is_some();
            lacks || self.came_after_all(*number) || self.given_up_and_given_again(*number)
        };
        let lost = (1..=self.changes.len() as u64).filter(lost).count() as u64;
        lost + self.may_by_forgery()
    }

    /// Whether anything that is due was released, or was perhaps not shown with its set, told of or not.
    #[must_use]
    pub fn lacks_some(&self) -> bool {
        let lacked = |number: &u64| {
            let reason = self.reason(*number);
            let gone = matches!(reason, Some(Reason::Released | Reason::Ended)) || self.torn.contains(number);
            !self.taken(*number) && gone
        };
        (1..=self.changes.len() as u64).any(|number| lacked(&number))
    }

    /// From which number on a reliable reader is owed everything or a word that it is lost. One that parted from its writer and
    /// met it again goes on where it was.
    pub(super) fn first_due(&self) -> Option<u64> {
        let (by_writer, by_reader) = (self.by_writer.last()?, self.by_reader.last()?);
        let open = by_writer.1.is_none() && by_reader.1.is_none();
        let met = self.written(by_writer.0.max(by_reader.0)) + 1;
        let met = self.ends().map_or(met, |(first, _)| first.min(met));
        open.then_some(if self.durable() { 1 } else { met })
    }

    /// Whether what is lost for this reason was in front of all that was left of a volatile history, so that the reader can tell
    /// how much it is.
    fn is_counted(&self, reason: Reason) -> bool {
        let all = self.offered.keep_last.is_none() && self.requested.keep_last.is_none();
        all && !self.durable() && matches!(reason, Reason::Released | Reason::Parted)
    }

    /// Whether the coherent set of a change had begun before they met for the first time: its rest is not for a volatile reader.
    fn came_in_the_middle(&self, number: u64) -> bool {
        let mut own = self.by_writer.iter().filter(|(from, _)| *from >= self.created);
        let (Some((met, _)), None) = (own.next(), own.next()) else { return false };
        let set = self.change(number).and_then(|change| change.set);
        let begun = |earlier: &Written| earlier.set == set && earlier.at <= *met;
        self.requested.coherent && !self.durable() && set.is_some() && self.changes.iter().any(begun)
    }

    /// What a reader that keeps nothing to itself is owed.
    fn owed(&self) -> Verdict {
        // Forged samples are some of the last ones of an instance, too.
        let last = self.requested.keep_last.is_none() || self.forged.is_empty();
        let judged = last && !self.requested.exclusive && self.requested.separation == 0 && !self.stale;
        let first = self.first_due().filter(|_| judged && self.offered.lifespan.is_none());
        let Some(first) = first else { return Verdict::default() };
        let received = |number| self.received.map_or(0, |received| received.count(number));
        let met = self.by_writer.last().map_or(0, |(from, _)| *from);
        let lacks = missing((self.changes, met), self.offered, self.requested, received, first);
        let unheard = self.unheard_until();
        let mut verdict = Verdict::default();
        for number in lacks {
            if self.forged.contains_key(&number) {
                verdict.must += u64::from(self.notices(number));
                continue;
            }
            match self.reason(number) {
                None => verdict.missing.push(number),
                Some(reason) if self.is_counted(reason) && !self.came_in_the_middle(number) => {
                    verdict.must += u64::from(self.change(number).is_some_and(|change| change.at > unheard));
                }
                Some(_) => {}
            }
        }
        verdict
    }

    /// What a best-effort reader that takes all that arrives must be told of: what it lacks between two samples of one meeting.
    fn declared(&self) -> u64 {
        let once = self.received.is_some_and(|received| received.sessions <= 1);
        let plain = self.offered.lifespan.is_none() && self.requested.keep_last.is_none();
        let open = self.requested.max_samples.is_none() && !self.requested.exclusive;
        let shown = self.requested.separation == 0 && !self.requested.by_source;
        let Some((first, last)) = self.ends().filter(|_| once && plain && open && shown) else { return 0 };
        // What was gone from the history before it was sent is not lost.
        let met = self.by_writer.last().map_or(Nanos::MAX, |(met, _)| met + HISTORY_SENT);
        let new = |change: &Written| !self.durable() || change.at > met;
        let wanted = |number: &u64| {
            let due = |change: &Written| {
                let wanted = self.requested.wants(change.key, *number);
                change.kind == ChangeKind::Alive && wanted && new(change)
            };
            !self.taken(*number) && self.change(*number).is_some_and(due) && !self.came_in_the_middle(*number)
        };
        let told = |number: &u64| !self.forged.contains_key(number) || self.notices(*number);
        (first..=last).filter(wanted).filter(told).count() as u64
    }

    /// All of it. The reader must have taken what it could.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let mut verdict = if self.reliable() {
            self.owed()
        } else {
            Verdict { must: self.declared(), ..Verdict::default() }
        };
        verdict.may = self.may();
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number `n` is written at `10 * n`.
    struct Story {
        changes: Vec<Written>,
        offered: Qos,
        requested: Qos,
        by_writer: Vec<Span>,
        by_reader: Vec<Span>,
        created: Nanos,
        inactive: Vec<Span>,
        received: Received,
        looks: Vec<Nanos>,
        unseen: Option<(Nanos, Nanos)>,
        orderly: bool,
        crowded: bool,
        forged: BTreeMap<u64, bool>,
    }

    impl Story {
        /// Ten samples of one instance, written after both have met, of which these were taken.
        fn new(taken: impl IntoIterator<Item = u64>) -> Self {
            let written =
                |n: u64| Written { kind: ChangeKind::Alive, key: 1, len: 8, at: 10 * n, set: None, turn: n };
            let mut received = Received { sessions: 1, ..Received::default() };
            for number in taken {
                received.note(number, 10 * number + 1);
                received.first_taken.get_or_insert(10 * number + 1);
            }
            let (offered, requested) = (Qos::default(), Qos::default());
            let (by_writer, by_reader) = (vec![(1, None)], vec![(2, None)]);
            let changes = (1..=10).map(written).collect();
            Self {
                changes,
                offered,
                requested,
                by_writer,
                by_reader,
                created: 0,
                inactive: Vec::new(),
                received,
                looks: Vec::new(),
                unseen: None,
                orderly: true,
                crowded: false,
                forged: BTreeMap::new(),
            }
        }

        fn shown_sets(&self) -> BTreeSet<usize> {
            let taken = (1..).zip(&self.changes).filter(|(number, _)| self.received.count(*number) > 0);
            taken.filter_map(|(_, change)| change.set).collect()
        }

        fn verdict(&self) -> (u64, u64, Vec<u64>) {
            let pair = Pair {
                changes: &self.changes,
                offered: &self.offered,
                requested: &self.requested,
                by_writer: &self.by_writer,
                by_reader: &self.by_reader,
                created: self.created,
                inactive: self.inactive.clone(),
                received: Some(&self.received),
                looks: &self.looks,
                unseen: self.unseen,
                stale: false,
                torn: BTreeSet::new(),
                shown_sets: self.shown_sets(),
                orderly: self.orderly,
                crowded: self.crowded,
                forged: self.forged.clone(),
            };
            let Verdict { must, may, missing } = pair.verdict();
            (must, may, missing)
        }
    }

    #[test]
    fn samples_replaced_by_forged_ones_must_be_told_where_the_reader_notices() {
        let mut story = Story::new([1, 2, 3, 4, 7, 8, 9, 10]);
        assert_eq!(story.verdict(), (0, 0, vec![5, 6]));
        story.forged = [(4, true), (5, true), (6, false), (11, false)].into();
        assert_eq!(story.verdict(), (1, 4, vec![]), "5; each number once at most");
        story.forged = [(5, true)].into();
        assert_eq!(story.verdict(), (1, 1, vec![6]), "6 has no excuse");
        story.requested.keep_last = Some(1);
        assert_eq!(
            story.verdict(),
            (0, 1, vec![]),
            "a forged one may have taken the place of 6 in its history"
        );
        story.requested.keep_last = None;
        story.requested.reliable = false;
        assert_eq!(story.verdict().0, 2, "5 was replaced, 6 passed over");
        story.forged = [(5, false), (6, false)].into();
        assert_eq!(story.verdict().0, 0);
    }

    #[test]
    fn unexplained_losses_are_missing_samples() {
        assert_eq!(Story::new(1..=10).verdict(), (0, 0, vec![]));
        assert_eq!(Story::new((1..=10).filter(|n| *n != 5)).verdict(), (0, 0, vec![5]));
        // A limit alone explains nothing.
        let mut story = Story::new((1..=10).filter(|n| *n != 5));
        story.offered.max_samples = Some(2);
        assert_eq!(story.verdict(), (0, 0, vec![5]));
    }

    #[test]
    fn a_full_history_releases_only_the_oldest_for_an_inactive_reader() {
        // The last write in that time is number 9, for which there is room once 5 has gone.
        let released = |lacks: &[u64]| {
            let mut story = Story::new((1..=10).filter(|n| !lacks.contains(n)));
            story.offered.max_samples = Some(4);
            story.inactive = vec![(45, Some(95))];
            story.verdict()
        };
        assert_eq!(released(&[4, 5]), (2, 2, vec![]));
        assert_eq!(released(&[5]), (1, 1, vec![]));
        assert_eq!(released(&[4, 5, 6]), (2, 2, vec![6]));
        assert_eq!(released(&[10]), (0, 0, vec![10]));
    }

    #[test]
    fn history_releases_nothing_without_a_write_a_limit_or_for_late_joiners() {
        let story = |limit: Option<u32>, durable: bool, inactive: Span| {
            let mut story = Story::new(4..=10);
            (story.offered.max_samples, story.offered.durable, story.requested.durable) =
                (limit, durable, durable);
            story.inactive = vec![inactive];
            story.verdict()
        };
        let lacks = vec![1, 2, 3];
        assert_eq!(story(Some(4), false, (45, Some(95))), (3, 3, vec![]));
        assert_eq!(story(Some(4), false, (81, Some(89))), (0, 0, lacks.clone()));
        assert_eq!(story(None, false, (45, Some(95))), (0, 0, lacks.clone()));
        assert_eq!(story(Some(4), true, (45, Some(95))), (0, 0, lacks));
    }

    #[test]
    fn no_gap_is_due_to_a_reader_that_received_nothing() {
        let mut story = Story::new(6..=10);
        story.offered.max_samples = Some(4);
        story.inactive = vec![(3, Some(95))];
        assert_eq!(story.verdict(), (0, 5, vec![]));
    }

    #[test]
    fn a_rematched_reader_counts_what_was_gone_as_lost() {
        let parted = |lacks: &[u64]| {
            let mut story = Story::new((1..=10).filter(|n| !lacks.contains(n)));
            story.by_writer = vec![(1, Some(35)), (75, None)];
            story
        };
        assert_eq!(parted(&[4, 5, 6, 7]).verdict(), (4, 4, vec![]));
        assert_eq!(parted(&[7, 8]).verdict(), (1, 1, vec![8]));
        // Late joiners are given all of it again.
        let mut durable = parted(&[4, 5]);
        (durable.offered.durable, durable.requested.durable) = (true, true);
        assert_eq!(durable.verdict(), (0, 0, vec![4, 5]));
        // That the reader alone forgot the writer is no reason: the writer keeps it all.
        let mut story = Story::new([1, 2, 3, 8, 9, 10]);
        story.by_reader = vec![(2, Some(35)), (75, None)];
        assert_eq!(story.verdict(), (0, 0, vec![4, 5, 6, 7]));
    }

    #[test]
    fn the_rest_of_a_coherent_set_begun_before_the_match_is_not_lost() {
        // Number 5 is released, which is in a set with 3 and 4.
        let must = |met: Nanos, coherent: bool| {
            let mut story = Story::new((1..=10).filter(|n| *n != 5));
            (story.by_writer, story.inactive) = (vec![(met, None)], vec![(45, Some(95))]);
            story.offered.max_samples = Some(4);
            story.changes[2..5].iter_mut().for_each(|change| change.set = Some(0));
            (story.offered.coherent, story.requested.coherent) = (coherent, coherent);
            story.verdict().0
        };
        assert_eq!(must(35, true), 0);
        assert_eq!(must(35, false), 1, "who does not ask for coherent access gets the rest");
        assert_eq!(must(25, true), 1);
    }

    #[test]
    fn best_effort_reader_gets_no_rest_of_a_set_begun_before_the_match() {
        // A sample from before the set had waited for others, and is sent when they have met.
        let must = |met: &[Span], created: Nanos| {
            let mut story = Story::new((1..=10).filter(|n| !(3..=5).contains(n)));
            story.by_writer = met.to_vec();
            story.created = created;
            (story.offered.reliable, story.requested.reliable) = (false, false);
            (story.offered.coherent, story.requested.coherent) = (true, true);
            story.changes[2..5].iter_mut().for_each(|change| change.set = Some(0));
            story.verdict().0
        };
        assert_eq!((must(&[(35, None)], 20), must(&[(25, None)], 20)), (0, 3));
        let twice = [(5, Some(15)), (35, None)];
        assert_eq!((must(&twice, 20), must(&twice, 0)), (0, 3), "another life, and one that was lost alone");
    }

    #[test]
    fn samples_written_before_the_match_are_neither_due_nor_lost() {
        let mut story = Story::new(6..=10);
        (story.by_writer, story.by_reader) = (vec![(55, None)], vec![(40, None)]);
        assert_eq!(story.verdict(), (0, 0, vec![]));
        // But what follows something overheard may be counted.
        let mut story = Story::new([2, 6, 7, 8, 9, 10]);
        (story.by_writer, story.by_reader) = (vec![(55, None)], vec![(40, None)]);
        assert_eq!(story.verdict().1, 3);
        // Nor is it owed when they part and meet again: what was written from the first time on is.
        story.by_writer = vec![(55, Some(65)), (85, None)];
        assert_eq!(story.verdict(), (0, 3, vec![]));
        story.received = Story::new([2, 6, 9, 10]).received;
        assert_eq!(story.verdict(), (2, 5, vec![]));
    }

    #[test]
    fn an_overheard_disposal_may_be_the_first_change_of_a_volatile_reader() {
        let mut story = Story::new(6..=10);
        (story.by_writer, story.by_reader) = (vec![(55, None)], vec![(15, None)]);
        assert_eq!(story.verdict(), (0, 0, vec![]));
        story.changes[1].kind = ChangeKind::Unregistered;
        assert_eq!(story.verdict(), (0, 3, vec![]), "3 to 5 lie behind number 2");
        story.by_reader = vec![(IN_FLIGHT + 21, None)];
        assert_eq!(story.verdict(), (0, 0, vec![]), "which was not on its way any more when the reader came");
    }

    #[test]
    fn keep_last_and_lifespan_remove_samples_without_a_loss() {
        let mut story = Story::new([1, 2, 9, 10]);
        story.offered.keep_last = Some(2);
        assert_eq!(story.verdict(), (0, 6, vec![]));
        let mut story = Story::new([1, 2, 10]);
        story.offered.keep_last = Some(1);
        story.changes[8].key = 2;
        assert_eq!(story.verdict(), (0, 6, vec![9]));
        let mut story = Story::new([1, 2]);
        story.offered.lifespan = Some(1);
        assert_eq!(story.verdict(), (0, 8, vec![]));
    }

    #[test]
    fn best_effort_readers_count_gaps_exactly() {
        let mut story = Story::new([3, 4, 7, 9]);
        story.requested.reliable = false;
        assert_eq!(story.verdict(), (3, 3, vec![]));
        // Whoever keeps only the last may have had the others.
        story.requested.keep_last = Some(1);
        assert_eq!(story.verdict(), (0, 6, vec![]));
    }

    #[test]
    fn a_full_reader_beside_a_best_effort_reader_causes_its_losses() {
        let mut story = Story::new([3, 4, 5]);
        story.requested.reliable = false;
        assert_eq!(story.verdict(), (0, 0, vec![]), "nothing told of the rest");
        story.crowded = true;
        assert_eq!(story.verdict(), (0, 7, vec![]));
        story.by_reader = vec![(IN_FLIGHT + 51, None)];
        assert_eq!(story.verdict().1, 5, "what is older was not on its way");
        (story.offered.durable, story.requested.durable) = (true, true);
        assert_eq!(story.verdict().1, 7, "the history is");
    }

    #[test]
    fn a_best_effort_reader_with_limits_loses_what_it_turns_away_of_a_history() {
        let mut story = Story::new([1, 2, 9, 10]);
        story.requested.reliable = false;
        (story.offered.durable, story.requested.durable) = (true, true);
        story.requested.separation = 1;
        story.by_reader = vec![(IN_FLIGHT + 1_000, None)];
        assert_eq!(story.verdict().1, 0, "all of it was there when they met");
        story.requested.max_samples = Some(4);
        assert_eq!(story.verdict().1, 6, "and did not fit");
    }

    #[test]
    fn samples_received_from_history_later_count_as_lost_until_then() {
        let story = |durable: bool, looks: &[Nanos]| {
            let mut story = Story::new([1, 2, 5, 9, 10]);
            (story.offered.reliable, story.requested.reliable) = (false, false);
            (story.offered.durable, story.requested.durable) = (durable, durable);
            story.by_reader = vec![(2, Some(75)), (85, None)];
            story.looks = looks.to_vec();
            [3, 4, 6, 7, 8].into_iter().for_each(|number| story.received.note(number, 90));
            story.verdict().1
        };
        assert_eq!(story(true, &[80]), 2, "3 and 4, behind which 5 had arrived");
        assert_eq!(story(true, &[]), 3, "7 may have arrived before 6, and waited for the application");
        assert_eq!(story(false, &[80]), 0, "what is written once comes once");
    }

    #[test]
    fn samples_received_after_the_last_read_of_a_lost_reader_reveal_losses() {
        let mut story = Story::new([3, 4]);
        story.requested.reliable = false;
        assert_eq!(story.verdict().1, 0, "nothing came behind 4");
        story.unseen = Some((75, 95));
        assert_eq!(story.verdict().1, 4, "9 may have come, so 5 to 8 are lost");
        // The history may come once more, and all of it had been written long before.
        (story.offered.durable, story.requested.durable) = (true, true);
        story.unseen = Some((2 + HISTORY_SENT, 95));
        assert_eq!(story.verdict().1, 0);
        story.by_writer = vec![(1, Some(20)), (85, None)];
        assert_eq!(story.verdict().1, 5, "2 and 5 to 8");
    }

    #[test]
    fn a_change_without_data_that_arrives_tells_of_holes_too() {
        let mut story = Story::new([3, 4, 7]);
        story.requested.reliable = false;
        assert_eq!(story.verdict(), (2, 2, vec![]));
        story.changes[9].kind = ChangeKind::Disposed;
        assert_eq!(story.verdict(), (2, 4, vec![]), "8 and 9, but not 10 itself");
        story.changes[0].kind = ChangeKind::Unregistered;
        assert_eq!(story.verdict(), (2, 5, vec![]));
        // What nobody sent to this reader tells it nothing.
        story.by_reader = vec![(IN_FLIGHT + 11, None)];
        assert_eq!(story.verdict(), (2, 4, vec![]));
    }

    #[test]
    fn a_set_that_is_given_up_tells_of_holes_too() {
        let mut story = Story::new([3, 4]);
        story.requested.reliable = false;
        story.changes[7..9].iter_mut().for_each(|change| change.set = Some(1));
        assert_eq!(story.verdict().1, 0, "who does not ask for sets is shown each change");
        story.requested.coherent = true;
        assert_eq!(story.verdict().1, 4, "8 or 9 may have come, and with it word of 5 to 8");
        story.received.note(8, 81);
        assert_eq!(story.verdict().1, 3, "all of a set is shown or nothing");
    }

    #[test]
    fn a_set_that_was_open_when_the_writer_was_lost_may_come_again() {
        let story = |durable: bool, coherent: bool| {
            let mut story = Story::new([1, 2, 3, 7, 8, 9, 10]);
            (story.offered.durable, story.requested.durable, story.requested.coherent) =
                (durable, durable, coherent);
            story.by_reader = vec![(2, Some(55)), (65, None)];
            story.changes[2..7].iter_mut().for_each(|change| change.set = Some(1));
            [4, 5, 6].into_iter().for_each(|number| story.received.note(number, 71));
            story.verdict().1
        };
        assert_eq!(story(true, true), 2, "4 and 5; 3 had been taken by then, 6 and 7 not been written");
        assert_eq!(story(true, false), 0);
        assert_eq!(story(false, true), 0);
    }

    #[test]
    fn removed_samples_are_lost_to_best_effort_readers_only_under_loss() {
        let mut story = Story::new([]);
        story.received = Received { sessions: 1, ..Received::default() };
        story.changes.iter_mut().zip(0..).for_each(|(change, n)| change.at = 1_000 * MS * n);
        for qos in [&mut story.offered, &mut story.requested] {
            (qos.reliable, qos.durable, qos.keep_last) = (false, true, Some(1));
        }
        (story.by_writer, story.by_reader) = (vec![(8_500 * MS, None)], vec![(8_500 * MS, None)]);
        assert_eq!(story.verdict().1, 5, "four seconds of them may have been on their way");
        story.orderly = false;
        assert_eq!(story.verdict().1, 10);
    }
}
