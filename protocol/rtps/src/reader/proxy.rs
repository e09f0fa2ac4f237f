//! RTPS 2.5 §8.4.10.4 "RTPS WriterProxy": what a reader remembers of one matched writer.

mod gaps;
mod marks;
mod parts;

use alloc::boxed::Box;

use dunlin_core::{
    Behaviour, Duration, Guid, Locator, MonoTime, Now, SequenceNumber, SequenceNumberSet, SnRange, SnRanges,
    WallTime,
};
use gaps::OUT_OF_REACH;
use marks::{Marks, contradict};
pub(super) use parts::Acquaintance;
use parts::{AckState, Ahead, Announced, Start};

use super::Incoming;
use crate::{Delivery, DeliverySink, ReaderStats, WriterProxyConfig, lazy::Lazy};

/// Most intervals of irrelevant changes kept ahead of the expected one; more are requested and gapped again.
pub(super) const MAX_HOLES: usize = 256;

/// The state of one matched writer.
#[derive(Debug)]
pub(super) struct WriterProxy {
    pub(super) cfg: WriterProxyConfig,
    /// Both sides are reliable.
    pub(super) reliable: bool,
    pub(super) acquaintance: Acquaintance,
    /// The sink has rejected the expected change, which is the first in the store.
    pub(super) blocked: bool,
    /// The next change to deliver. Everything before it was delivered, is irrelevant or is lost.
    pub(super) expected: SequenceNumber,
    pub(super) start: Start,
    pub(super) announced: Announced,
    pub(super) ahead: Ahead,
    /// Changes that the application was shown and has yet to commit, if it acknowledges itself.
    uncommitted: Option<Box<SnRanges>>,
    pub(super) ack: AckState,
    /// Which changes were delivered last.
    marks: Lazy<Marks>,
}

/// How far a reader was with a writer that it loses.
#[derive(Clone, Debug)]
pub(super) struct Standpoint {
    /// The first change that was neither delivered nor counted.
    next: SequenceNumber,
    /// What was shown and not committed.
    uncommitted: SnRanges,
}

impl Standpoint {
    /// The application has everything up to `through`.
    pub(super) fn commit(&mut self, through: SequenceNumber) {
        self.uncommitted.remove_through(through);
    }

    /// It cannot commit a change.
    pub(super) fn forgo_commit(&mut self, sn: SequenceNumber) {
        forgo(&mut self.uncommitted, sn);
    }
}

/// Takes a change out of those that are to be committed. If there are too many intervals, it waits for the next commit.
fn forgo(uncommitted: &mut SnRanges, sn: SequenceNumber) {
    if uncommitted.interval_count() < MAX_UNCOMMITTED {
        uncommitted.remove(sn);
    }
}

/// Most intervals of changes that are shown and not committed; beyond them what lies between counts with them.
const MAX_UNCOMMITTED: usize = 256;

impl WriterProxy {
    pub(super) fn new(cfg: WriterProxyConfig, reliable: bool, quiet: Duration) -> Self {
        Self {
            marks: Lazy::default(),
            cfg,
            reliable,
            acquaintance: Acquaintance::NotShown,
            blocked: false,
            expected: SequenceNumber::FIRST,
            start: Start::default(),
            announced: Announced::default(),
            ahead: Ahead::default(),
            uncommitted: None,
            ack: AckState::new(quiet),
        }
    }

    pub(super) fn guid(&self) -> Guid {
        self.cfg.guid
    }

    /// What a built-in writer says is doubted in other ways.
    fn is_builtin(&self) -> bool {
        self.cfg.guid.entity_id.is_builtin()
    }

    /// From now on what the application is shown is acknowledged when it commits it.
    pub(super) fn acknowledge_on_commit(&mut self) {
        self.uncommitted.get_or_insert_default();
    }

    /// The application has everything up to `through`. True if more can be acknowledged by that.
    pub(super) fn commit(&mut self, through: SequenceNumber) -> bool {
        let before = self.unacknowledged();
        if let Some(uncommitted) = &mut self.uncommitted {
            uncommitted.remove_through(through);
        }
        self.unacknowledged() > before
    }

    /// The application cannot commit a change. True if more can be acknowledged by that.
    pub(super) fn forgo_commit(&mut self, sn: SequenceNumber) -> bool {
        let before = self.unacknowledged();
        if let Some(uncommitted) = &mut self.uncommitted {
            forgo(uncommitted, sn);
        }
        self.unacknowledged() > before
    }

    /// The expected change is shown, and acknowledged when the application commits it.
    fn shown(&mut self) {
        let Some(uncommitted) = &mut self.uncommitted else { return };
        let own = SnRange::new(self.expected, self.expected);
        if !uncommitted.insert(own, MAX_UNCOMMITTED) {
            let from = uncommitted.last().unwrap_or(self.expected);
            uncommitted.insert(SnRange::new(from, self.expected), MAX_UNCOMMITTED);
        }
    }

    /// The first change that is not to be acknowledged.
    pub(super) fn unacknowledged(&self) -> SequenceNumber {
        let first = self.uncommitted.as_ref().and_then(|uncommitted| uncommitted.first());
        first.map_or(self.expected, |first| first.min(self.expected))
    }

    /// Goes on with a writer that was lost, of which everything before `next` was delivered or counted. A volatile reader takes
    /// no change twice; another one is given the history again, like any late joiner, and counts only what it never had. So does
    /// who is best-effort, which takes what comes. What was not committed still waits for that.
    pub(super) fn resume(&mut self, Standpoint { next, uncommitted }: Standpoint) {
        self.start.resumed = true;
        self.start.uncounted_before = next;
        if let Some(known) = &mut self.uncommitted {
            **known = uncommitted;
        }
        if self.reliable && !self.cfg.durable {
            self.start.certain = true;
            self.expected = next;
        }
    }

    /// See [`Reader::resumed_from`](super::Reader::resumed_from).
    pub(super) fn resumed_from(&self) -> Option<SequenceNumber> {
        self.start.resumed.then_some(self.start.uncounted_before)
    }

    /// How far it is, if that is known.
    pub(super) fn standpoint(&self) -> Option<Standpoint> {
        let uncommitted = || self.uncommitted.as_deref().cloned().unwrap_or_default();
        self.place().map(|next| Standpoint { next, uncommitted: uncommitted() })
    }

    /// The first change that was neither delivered nor counted, if that is known.
    fn place(&self) -> Option<SequenceNumber> {
        let settled = if self.start.resumed { self.start.uncounted_before } else { SequenceNumber::FIRST };
        let begun = self.start.certain || !self.reliable;
        let known = self.start.resumed || (self.start.heard && begun);
        known.then(|| self.expected.max(settled))
    }

    /// Where ACKNACKs go.
    pub(super) fn destinations(&self) -> &[Locator] {
        if self.cfg.unicast.is_empty() { &self.cfg.multicast } else { &self.cfg.unicast }
    }

    /// Whether the writer has said, since it was matched, which changes it has.
    pub(super) fn was_told_what_there_is(&self) -> bool {
        self.announced.historical_last != SequenceNumber::UNKNOWN
    }

    fn has_history(&self) -> bool {
        self.announced.historical_last != SequenceNumber::UNKNOWN
            && self.expected > self.announced.historical_last
    }

    pub(super) fn historical_complete(&self) -> bool {
        !(self.reliable && self.cfg.durable) || self.has_history()
    }

    /// Whether a change needs nothing more: it was received, is irrelevant or was given up.
    pub(super) fn is_settled(&self, sn: SequenceNumber) -> bool {
        let irrelevant = self.ahead.irrelevant.contains(sn) && !self.ahead.passed_over.is_claimed(sn);
        sn < self.expected || irrelevant || self.ahead.store.contains(sn)
    }

    /// Whether a complete change is the next to deliver. Until a writer is heard, a volatile reader does not know
    /// whether even the very first change is meant for it.
    pub(super) fn is_next(&self, sn: SequenceNumber) -> bool {
        let announced = !self.cfg.only_announced || sn <= self.announced.last;
        sn == self.expected && announced && (self.start.heard || self.start.resumed || self.cfg.durable)
    }

    /// Whether changes wait for a HEARTBEAT that announces them.
    pub(super) fn awaits_announcement(&self) -> bool {
        self.cfg.only_announced && self.ahead.store.last_sn().is_some_and(|sn| sn > self.announced.last)
    }

    /// Whether the writer may not have met this volatile reader yet. Only one that directs what it says to one participant is sure
    /// to show that it has; what was left out until then it sends again.
    pub(super) fn may_be_unknown_to_its_writer(&self) -> bool {
        self.reliable
            && !self.cfg.durable
            && !self.start.certain
            && self.acquaintance != Acquaintance::Shown
            && self.cfg.vendor.does(Behaviour::SpeaksDunlin)
    }

    /// Whether a durable reader is not given the history yet: what it gets its writer may say to others, and what is gone by the time
    /// that it is given the history it never lacked. Every writer that directs what it says begins with that.
    fn may_only_overhear(&self) -> bool {
        self.cfg.durable
            && self.acquaintance != Acquaintance::Shown
            && self.cfg.vendor.does(Behaviour::SpeaksDunlin)
    }

    /// Passes over a change in fragments that may be for others. What came before it is of no use to this reader, which has shown
    /// nothing yet: it begins behind, and lacks nothing.
    pub(super) fn begin_behind(&mut self, sn: SequenceNumber) {
        if let Some(store) = self.ahead.store.if_made() {
            store.remove_through(sn);
            self.blocked = false;
        }
    }

    /// A writer that speaks need not be asked any more, unless it is to show that it knows this reader.
    fn heard(&mut self) {
        if self.acquaintance != Acquaintance::AskedFor {
            self.ack.preemptive_due = None;
        }
    }

    /// The writer has changes from `first` to `last`.
    pub(super) fn announce(&mut self, now: MonoTime, first: SequenceNumber, last: SequenceNumber) {
        self.drop_unannounced(last);
        self.take_back_skips(first, last);
        self.take_back_gaps(now, last.max(self.start.after));
        if !(self.start.resumed || self.start.heard && self.start.certain) {
            self.start.uncounted_before = self.counted_from(first);
        }
        self.start.heard = true;
        // What it says to others before may be gone by the time that it knows this reader.
        self.start.certain |= self.cfg.durable && self.acquaintance == Acquaintance::Shown;
        self.announced.first = self.announced.first.max(first);
        self.announced.last = last;
        if self.announced.historical_last == SequenceNumber::UNKNOWN {
            self.announced.historical_last = last;
        }
        self.heard();
        if let Some(partials) = self.ahead.partials.if_made() {
            partials.announce_through(last);
        }
    }

    /// From which change on a reader counts that hears for the first time that the writer has those from `first` on. What a
    /// volatile one was given already it shows, and so it lacks what lies behind that. One that is given the history lacks
    /// nothing that was gone from it.
    fn counted_from(&self, first: SequenceNumber) -> SequenceNumber {
        let given = self.ahead.store.first_sn().filter(|_| !self.cfg.durable);
        given.map_or(first, |given| given.min(first))
    }

    /// The writer has matched this reader before it wrote anything: all that it ever writes is for this reader, and what is
    /// gone when it is heard again is lost.
    pub(super) fn begins_with_the_first(&mut self) {
        self.start.certain |= self.expected == SequenceNumber::FIRST;
    }

    /// Delivers what is in order: after the expected change was put into the store, or a hole was closed.
    pub(super) fn advance(&mut self, now: Now, sink: &mut dyn DeliverySink, stats: &mut ReaderStats) {
        while !self.blocked {
            let expected = self.expected;
            let store = if self.is_next(expected) { self.ahead.store.if_made() } else { None };
            let next = store.and_then(|store| store.take(expected));
            if let Some(change) = next {
                let is_refuted = change.is_refuted;
                self.offer(now, change, sink, stats);
                if let Some(marks) = self.marks.if_made().filter(|_| is_refuted) {
                    marks.forget(expected);
                }
                continue;
            }
            let hole = self.ahead.irrelevant.range_of(self.expected);
            let end = match hole {
                Some(range) => self.end_of(now.mono, range),
                None => {
                    self.announced.first.min(self.ahead.irrelevant.first().unwrap_or(self.announced.first))
                }
            };
            // A change that arrived although it was called irrelevant, or just before it was gone, is delivered.
            let target = self.before_stored(end);
            if target <= self.expected {
                return;
            }
            if hole.is_none() {
                self.lose(now.mono, target, sink, stats);
            } else if target.previous() > self.announced.last.max(self.start.after) {
                let from = self.expected.max(self.start.after.next());
                self.ahead.passed_over.made().pass(from);
            }
            if target.0.saturating_sub(self.expected.0) > OUT_OF_REACH {
                self.ahead.passed_over.made().skip(self.expected);
            }
            self.skip_to(target);
        }
    }

    fn before_stored(&self, sn: SequenceNumber) -> SequenceNumber {
        self.ahead.store.first_sn().map_or(sn, |stored| stored.min(sn))
    }

    fn skip_to(&mut self, sn: SequenceNumber) {
        if let Some(marks) = self.marks.if_made() {
            marks.skip(self.expected, sn);
        }
        self.expected = self.expected.max(sn);
        self.ahead.irrelevant.remove_through(self.expected.previous());
    }

    /// Counts the changes from the expected one up to but not including `target` as lost.
    fn lose(
        &mut self,
        now: MonoTime,
        target: SequenceNumber,
        sink: &mut dyn DeliverySink,
        stats: &mut ReaderStats,
    ) {
        let gone = SnRange::new(self.expected.max(self.start.uncounted_before), target.previous());
        let count = gone.count().saturating_sub(self.ahead.passed_over.not_lost(now, gone));
        report_lost(self.cfg.guid, count, sink, stats);
    }

    /// Offers the expected change to the sink; a rejected one goes back to the front of the store.
    pub(super) fn offer(
        &mut self,
        now: Now,
        change: Incoming,
        sink: &mut dyn DeliverySink,
        stats: &mut ReaderStats,
    ) {
        let delivery = sink.deliver(now, &change.received(self.cfg.guid));
        self.settle(delivery, change.source_timestamp, stats, || change);
    }

    /// Whether a change that came before has this number and is another one; told once. Either may be the one that the writer wrote.
    pub(super) fn refute(&mut self, sn: SequenceNumber, timestamp: Option<WallTime>) -> bool {
        if self.is_builtin() {
            return false;
        }
        let always_timed = self.cfg.vendor.does(Behaviour::SpeaksDunlin);
        if sn < self.expected {
            let (expected, marks) = (self.expected, self.marks.if_made());
            return marks.is_some_and(|marks| marks.refute(expected, sn, timestamp, always_timed));
        }
        let waiting = self.ahead.store.if_made().and_then(|store| store.get_mut(sn));
        waiting.is_some_and(|change| {
            let refuted = !change.is_refuted && contradict(change.source_timestamp, timestamp, always_timed);
            change.is_refuted |= refuted;
            refuted
        })
    }

    /// A change was delivered that had this source timestamp.
    #[inline]
    pub(super) fn mark(&mut self, sn: SequenceNumber, timestamp: Option<WallTime>) {
        if !self.is_builtin() {
            self.marks.made().put(sn, timestamp);
        }
    }

    /// What becomes of the expected change, now that the sink has seen it.
    pub(super) fn settle(
        &mut self,
        delivery: Delivery,
        timestamp: Option<WallTime>,
        stats: &mut ReaderStats,
        change: impl FnOnce() -> Incoming,
    ) {
        match delivery {
            Delivery::Accepted | Delivery::Dropped => {
                if delivery == Delivery::Accepted {
                    self.shown();
                }
                stats.delivered = stats.delivered.saturating_add(1);
                self.start.delivered = true;
                self.start.certain |= !self.may_only_overhear();
                if let Some(passed) = self.ahead.passed_over.if_made() {
                    passed.deliver();
                }
                self.mark(self.expected, timestamp);
                self.expected = self.expected.next();
                if !self.ahead.irrelevant.is_empty() {
                    self.ahead.irrelevant.remove_through(self.expected.previous());
                }
            }
            Delivery::Rejected => {
                stats.rejected = stats.rejected.saturating_add(1);
                self.blocked = true;
                self.ahead.store.made().put_first(change());
            }
        }
    }

    /// Whether a change is the next of a reliable writer, nothing waits for it, and nothing that comes later is known not to
    /// come: delivering it is all that there is to do.
    pub(super) fn has_nothing_but(&mut self, sn: SequenceNumber) -> bool {
        self.reliable
            && self.start.heard
            && !self.blocked
            && self.is_next(sn)
            && sn < SequenceNumber::MAX
            && self.announced.first <= sn
            && self.ahead.irrelevant.is_empty()
            && self.ahead.store.is_empty()
            && self.ahead.partials.if_made().is_none_or(|partials| partials.is_empty())
    }

    /// Jumps to a change of a best-effort writer: what was skipped and not called irrelevant is lost.
    pub(super) fn jump_to(
        &mut self,
        sn: SequenceNumber,
        sink: &mut dyn DeliverySink,
        stats: &mut ReaderStats,
    ) {
        if self.start.heard {
            let skipped = SnRange::new(self.expected.max(self.start.uncounted_before), sn.previous());
            let lost = skipped.count().saturating_sub(self.ahead.irrelevant.count_within(skipped));
            report_lost(self.cfg.guid, lost, sink, stats);
        }
        self.start.heard = true;
        self.skip_to(sn);
    }

    /// What to request: a set based at the first change that is not acknowledged, with the available changes of which nothing has
    /// arrived.
    pub(super) fn missing(&self) -> SequenceNumberSet {
        let base = self.unacknowledged();
        let mut set = SequenceNumberSet::empty(base);
        let mut sn = self.expected.max(self.announced.first);
        let end = self.announced.last.min(base.plus(i64::from(dunlin_core::MAX_SET_BITS).saturating_sub(1)));
        while sn <= end && sn < SequenceNumber::MAX {
            let hole = self.ahead.irrelevant.range_of(sn).filter(|_| !self.ahead.passed_over.is_claimed(sn));
            if let Some(range) = hole {
                sn = self.ahead.passed_over.claimed_from(range).unwrap_or(range.last.next());
                continue;
            }
            if !self.ahead.store.contains(sn) && !self.ahead.partials.wants_fragments(sn) {
                set.insert(sn);
            }
            sn = sn.next();
        }
        set
    }
}

pub(super) fn report_lost(writer: Guid, count: u64, sink: &mut dyn DeliverySink, stats: &mut ReaderStats) {
    if count > 0 {
        stats.lost = stats.lost.saturating_add(count);
        sink.lost(writer, count);
    }
}

#[cfg(test)]
mod tests {
    /// A participant has three of them for each other one; docs/scale.md says what that comes to.
    #[test]
    fn a_proxy_stays_small() {
        assert!(size_of::<super::WriterProxy>() <= 328);
    }
}
