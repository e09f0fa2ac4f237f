//! RTPS 2.5 §8.4.10.4 "RTPS WriterProxy": what a reader remembers of one matched writer.

mod gaps;

use super::passed_over::PassedOver;
use super::store::OutOfOrder;
use super::{Incoming, Reassembly};
use crate::count::CountFilter;
use crate::lazy::Lazy;
use crate::timing::earliest;
use crate::{Delivery, DeliverySink, ReaderStats, WriterProxyConfig};
use alloc::boxed::Box;
use dunlin_core::{
    Behaviour, Duration, Guid, Locator, MonoTime, Now, SequenceNumber, SequenceNumberSet, SnRange, SnRanges,
};
use gaps::OUT_OF_REACH;

/// Most intervals of irrelevant changes kept ahead of the expected one; more are requested and gapped again.
pub(super) const MAX_HOLES: usize = 256;

/// Most ECHOs to one writer in a millisecond. A writer with the usual window asks so often at 130 Gbit/s.
const MAX_ECHOES: u32 = 256;

/// Bounds how many ECHOs a writer is sent, whoever asks in its name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EchoGate {
    since: MonoTime,
    sent: u32,
}

impl EchoGate {
    /// Whether one more may be sent.
    pub(super) fn pass(&mut self, now: MonoTime) -> bool {
        if now.since(self.since) >= Duration::from_millis(1) {
            *self = Self { since: now, sent: 0 };
        }
        self.sent = self.sent.saturating_add(1);
        self.sent <= MAX_ECHOES
    }
}

/// When the writer is next told something.
#[derive(Debug)]
pub(super) struct AckState {
    /// An answer to a HEARTBEAT.
    pub(super) due: Option<MonoTime>,
    /// An ACKNACK that asks a silent writer for a HEARTBEAT.
    pub(super) preemptive_due: Option<MonoTime>,
    pub(super) preemptive_interval: Duration,
    /// A request that has not been served.
    pub(super) retry_due: Option<MonoTime>,
    pub(super) retry_interval: Duration,
    pub(super) sent_at: Option<MonoTime>,
    /// Base of the last ACKNACK.
    pub(super) sent_base: SequenceNumber,
    /// Highest change that was announced when it was sent: what was missing up to there has been requested.
    pub(super) sent_announced: SequenceNumber,
    /// Least time to an ACKNACK that says nothing new.
    pub(super) quiet: Duration,
}

impl AckState {
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        earliest(earliest(self.due, self.preemptive_due), self.retry_due)
    }
}

/// The state of one matched writer.
#[derive(Debug)]
pub(super) struct WriterProxy {
    pub(super) cfg: WriterProxyConfig,
    /// Both sides are reliable.
    pub(super) reliable: bool,
    /// The next change to deliver. Everything before it was delivered, is irrelevant or is lost.
    pub(super) expected: SequenceNumber,
    passed_over: Lazy<PassedOver>,
    /// Changes through this one come before those of a volatile reader: the first GAP has said so.
    begins_after: SequenceNumber,
    /// What the writer has is known: it was heard.
    pub(super) synced: bool,
    /// Where a volatile reader starts is certain: a GAP has said so, a change was delivered, or nothing was written yet when
    /// the writer met it.
    started: bool,
    /// What of the history a durable reader is given is certain: a writer that knows it has said what there is. What it says
    /// to others before may be gone by then.
    told: bool,
    /// It was matched before, until it was not heard for the lease of its participant.
    pub(super) resumed: bool,
    /// The writer has said something to this reader alone, so it has matched it.
    pub(super) knows_reader: bool,
    /// It is asked until it has.
    pub(super) insisted: bool,
    pub(super) store: Lazy<OutOfOrder>,
    /// Changes from `expected` on that will not come.
    pub(super) irrelevant: SnRanges,
    /// Changes before this one are not available any more.
    pub(super) floor: SequenceNumber,
    /// Changes before this one were gone before the writer was heard, or were never meant for this reader: they are
    /// not lost.
    uncounted_before: SequenceNumber,
    pub(super) partials: Lazy<Reassembly>,
    /// Highest change the writer has announced.
    pub(super) announced: SequenceNumber,
    /// The last change of the history; unknown until the writer says what it has.
    historical_last: SequenceNumber,
    pub(super) heartbeats: CountFilter,
    pub(super) fragment_heartbeats: CountFilter,
    /// The sink has rejected the expected change, which is the first in the store.
    pub(super) blocked: bool,
    pub(super) echoes: EchoGate,
    /// Changes that the application was shown and has yet to commit, if it acknowledges itself.
    uncommitted: Option<Box<SnRanges>>,
    pub(super) ack: AckState,
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
            cfg,
            reliable,
            expected: SequenceNumber::FIRST,
            passed_over: Lazy::default(),
            begins_after: SequenceNumber::ZERO,
            synced: false,
            started: false,
            told: false,
            resumed: false,
            knows_reader: false,
            insisted: false,
            store: Lazy::default(),
            irrelevant: SnRanges::new(),
            floor: SequenceNumber::ZERO,
            uncounted_before: SequenceNumber::ZERO,
            partials: Lazy::default(),
            announced: SequenceNumber::ZERO,
            historical_last: SequenceNumber::UNKNOWN,
            heartbeats: CountFilter::default(),
            fragment_heartbeats: CountFilter::default(),
            blocked: false,
            echoes: EchoGate::default(),
            uncommitted: None,
            ack: AckState {
                due: None,
                preemptive_due: None,
                preemptive_interval: Duration::from_millis(10),
                retry_due: None,
                retry_interval: Duration::ZERO,
                sent_at: None,
                sent_base: SequenceNumber::ZERO,
                sent_announced: SequenceNumber::ZERO,
                quiet,
            },
        }
    }

    pub(super) fn guid(&self) -> Guid {
        self.cfg.guid
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
        self.resumed = true;
        self.uncounted_before = next;
        if let Some(known) = &mut self.uncommitted {
            **known = uncommitted;
        }
        if self.reliable && !self.cfg.durable {
            self.started = true;
            self.expected = next;
        }
    }

    /// See [`Reader::resumed_from`](super::Reader::resumed_from).
    pub(super) fn resumed_from(&self) -> Option<SequenceNumber> {
        self.resumed.then_some(self.uncounted_before)
    }

    /// How far it is, if that is known.
    pub(super) fn standpoint(&self) -> Option<Standpoint> {
        let uncommitted = || self.uncommitted.as_deref().cloned().unwrap_or_default();
        self.place().map(|next| Standpoint { next, uncommitted: uncommitted() })
    }

    /// The first change that was neither delivered nor counted, if that is known.
    fn place(&self) -> Option<SequenceNumber> {
        let settled = if self.resumed { self.uncounted_before } else { SequenceNumber::FIRST };
        let begun = self.started || self.told || !self.reliable;
        let known = self.resumed || (self.synced && begun);
        known.then(|| self.expected.max(settled))
    }

    /// Where ACKNACKs go.
    pub(super) fn destinations(&self) -> &[Locator] {
        if self.cfg.unicast.is_empty() { &self.cfg.multicast } else { &self.cfg.unicast }
    }

    /// Whether the writer has said, since it was matched, which changes it has.
    pub(super) fn was_told_what_there_is(&self) -> bool {
        self.historical_last != SequenceNumber::UNKNOWN
    }

    fn has_history(&self) -> bool {
        self.historical_last != SequenceNumber::UNKNOWN && self.expected > self.historical_last
    }

    pub(super) fn historical_complete(&self) -> bool {
        !(self.reliable && self.cfg.durable) || self.has_history()
    }

    /// Whether a change needs nothing more: it was received, is irrelevant or was given up.
    pub(super) fn is_settled(&self, sn: SequenceNumber) -> bool {
        let irrelevant = self.irrelevant.contains(sn) && !self.passed_over.is_claimed(sn);
        sn < self.expected || irrelevant || self.store.contains(sn)
    }

    /// Whether a complete change is the next to deliver. Until a writer is heard, a volatile reader does not know
    /// whether even the very first change is meant for it.
    pub(super) fn is_next(&self, sn: SequenceNumber) -> bool {
        let announced = !self.cfg.only_announced || sn <= self.announced;
        sn == self.expected && announced && (self.synced || self.resumed || self.cfg.durable)
    }

    /// Whether changes wait for a HEARTBEAT that announces them.
    pub(super) fn awaits_announcement(&self) -> bool {
        self.cfg.only_announced && self.store.last_sn().is_some_and(|sn| sn > self.announced)
    }

    /// Whether the writer may not have met this volatile reader yet. Only one that directs what it says to one participant is sure
    /// to show that it has; what was left out until then it sends again.
    pub(super) fn may_be_unknown_to_its_writer(&self) -> bool {
        self.reliable
            && !self.cfg.durable
            && !self.started
            && !self.knows_reader
            && self.cfg.vendor.does(Behaviour::SpeaksDunlin)
    }

    /// Passes over a change in fragments that may be for others. What came before it is of no use to this reader, which has shown
    /// nothing yet: it begins behind, and lacks nothing.
    pub(super) fn begin_behind(&mut self, sn: SequenceNumber) {
        if let Some(store) = self.store.if_made() {
            store.remove_through(sn);
            self.blocked = false;
        }
    }

    /// A writer that speaks need not be asked any more, unless it is to show that it knows this reader.
    fn heard(&mut self) {
        if self.knows_reader || !self.insisted {
            self.ack.preemptive_due = None;
        }
    }

    /// The writer has changes from `first` to `last`.
    pub(super) fn announce(&mut self, now: MonoTime, first: SequenceNumber, last: SequenceNumber) {
        self.drop_unannounced(last);
        self.take_back_skips(first, last);
        self.take_back_gaps(now, last.max(self.begins_after));
        if !self.resumed && !(self.synced && (self.started || self.told)) {
            self.uncounted_before = self.counted_from(first);
        }
        self.synced = true;
        self.told |= self.cfg.durable && self.knows_reader;
        self.floor = self.floor.max(first);
        self.announced = last;
        if self.historical_last == SequenceNumber::UNKNOWN {
            self.historical_last = last;
        }
        self.heard();
        if let Some(partials) = self.partials.if_made() {
            partials.announce_through(last);
        }
    }

    /// From which change on a reader counts that hears for the first time that the writer has those from `first` on. What a
    /// volatile one was given already it shows, and so it lacks what lies behind that. One that is given the history lacks
    /// nothing that was gone from it.
    fn counted_from(&self, first: SequenceNumber) -> SequenceNumber {
        let given = self.store.first_sn().filter(|_| !self.cfg.durable);
        given.map_or(first, |given| given.min(first))
    }

    /// The writer has matched this reader before it wrote anything: all that it ever writes is for this reader, and what is
    /// gone when it is heard again is lost.
    pub(super) fn begins_with_the_first(&mut self) {
        self.started |= self.expected == SequenceNumber::FIRST;
    }

    /// Delivers what is in order: after the expected change was put into the store, or a hole was closed.
    pub(super) fn advance(&mut self, now: Now, sink: &mut dyn DeliverySink, stats: &mut ReaderStats) {
        while !self.blocked {
            let expected = self.expected;
            let store = if self.is_next(expected) { self.store.if_made() } else { None };
            let next = store.and_then(|store| store.take(expected));
            if let Some(change) = next {
                self.offer(now, change, sink, stats);
                continue;
            }
            let hole = self.irrelevant.range_of(self.expected);
            let end = match hole {
                Some(range) => self.end_of(now.mono, range),
                None => self.floor.min(self.irrelevant.first().unwrap_or(self.floor)),
            };
            // A change that arrived although it was called irrelevant, or just before it was gone, is delivered.
            let target = self.before_stored(end);
            if target <= self.expected {
                return;
            }
            if hole.is_none() {
                self.lose(now.mono, target, sink, stats);
            } else if target.previous() > self.announced.max(self.begins_after) {
                let from = self.expected.max(self.begins_after.next());
                self.passed_over.made().pass(from);
            }
            if target.0.saturating_sub(self.expected.0) > OUT_OF_REACH {
                self.passed_over.made().skip(self.expected);
            }
            self.skip_to(target);
        }
    }

    fn before_stored(&self, sn: SequenceNumber) -> SequenceNumber {
        self.store.first_sn().map_or(sn, |stored| stored.min(sn))
    }

    fn skip_to(&mut self, sn: SequenceNumber) {
        self.expected = self.expected.max(sn);
        self.irrelevant.remove_through(self.expected.previous());
    }

    /// Counts the changes from the expected one up to but not including `target` as lost.
    fn lose(
        &mut self,
        now: MonoTime,
        target: SequenceNumber,
        sink: &mut dyn DeliverySink,
        stats: &mut ReaderStats,
    ) {
        let gone = SnRange::new(self.expected.max(self.uncounted_before), target.previous());
        let count = gone.count().saturating_sub(self.passed_over.not_lost(now, gone));
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
        self.settle(delivery, stats, || change);
    }

    /// What becomes of the expected change, now that the sink has seen it.
    pub(super) fn settle(
        &mut self,
        delivery: Delivery,
        stats: &mut ReaderStats,
        change: impl FnOnce() -> Incoming,
    ) {
        match delivery {
            Delivery::Accepted | Delivery::Dropped => {
                if delivery == Delivery::Accepted {
                    self.shown();
                }
                stats.delivered = stats.delivered.saturating_add(1);
                self.started = true;
                if let Some(passed) = self.passed_over.if_made() {
                    passed.deliver();
                }
                self.expected = self.expected.next();
                if !self.irrelevant.is_empty() {
                    self.irrelevant.remove_through(self.expected.previous());
                }
            }
            Delivery::Rejected => {
                stats.rejected = stats.rejected.saturating_add(1);
                self.blocked = true;
                self.store.made().put_first(change());
            }
        }
    }

    /// Whether a change is the next of a reliable writer, nothing waits for it, and nothing that comes later is known not to
    /// come: delivering it is all that there is to do.
    pub(super) fn has_nothing_but(&mut self, sn: SequenceNumber) -> bool {
        self.reliable
            && self.synced
            && !self.blocked
            && self.is_next(sn)
            && sn < SequenceNumber::MAX
            && self.floor <= sn
            && self.irrelevant.is_empty()
            && self.store.is_empty()
            && self.partials.if_made().is_none_or(|partials| partials.is_empty())
    }

    /// Jumps to a change of a best-effort writer: what was skipped and not called irrelevant is lost.
    pub(super) fn jump_to(
        &mut self,
        sn: SequenceNumber,
        sink: &mut dyn DeliverySink,
        stats: &mut ReaderStats,
    ) {
        if self.synced {
            let skipped = SnRange::new(self.expected.max(self.uncounted_before), sn.previous());
            let lost = skipped.count().saturating_sub(self.irrelevant.count_within(skipped));
            report_lost(self.cfg.guid, lost, sink, stats);
        }
        self.synced = true;
        self.skip_to(sn);
    }

    /// What to request: a set based at the first change that is not acknowledged, with the available changes of which nothing has
    /// arrived.
    pub(super) fn missing(&self) -> SequenceNumberSet {
        let base = self.unacknowledged();
        let mut set = SequenceNumberSet::empty(base);
        let mut sn = self.expected.max(self.floor);
        let end = self.announced.min(base.plus(i64::from(dunlin_core::MAX_SET_BITS).saturating_sub(1)));
        while sn <= end && sn < SequenceNumber::MAX {
            let hole = self.irrelevant.range_of(sn).filter(|_| !self.passed_over.is_claimed(sn));
            if let Some(range) = hole {
                sn = self.passed_over.claimed_from(range).unwrap_or(range.last.next());
                continue;
            }
            if !self.store.contains(sn) && !self.partials.wants_fragments(sn) {
                set.insert(sn);
            }
            sn = sn.next();
        }
        set
    }
}

fn report_lost(writer: Guid, count: u64, sink: &mut dyn DeliverySink, stats: &mut ReaderStats) {
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
        assert!(size_of::<super::WriterProxy>() <= 352);
    }
}
