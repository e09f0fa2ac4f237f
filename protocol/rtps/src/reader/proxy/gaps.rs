//! RTPS 2.5 §8.3.8.4 Gap: what will not come, and how far that is believed. A writer has written what it calls irrelevant, so a HEARTBEAT
//! behind its GAP reaches to the end of it. Until one does, the GAP may be of somebody else: it ends no request for what the
//! writer has announced, and passes over what it has not only until something contradicts.

use dunlin_core::{MonoTime, SequenceNumber, SnRange};

use super::super::passed_over::Word;
use super::{MAX_HOLES, WriterProxy};

/// No writer has so many changes in flight that it has not announced.
pub(super) const OUT_OF_REACH: i64 = 1 << 20;

impl WriterProxy {
    /// Takes the interval of a GAP. The first one may say where a volatile reader starts: what came before that, by
    /// way of others, is not for it.
    pub(in super::super) fn gap(&mut self, range: SnRange) {
        if self.reliable && range.first <= self.expected {
            self.start.heard = true;
            self.heard();
            if !self.start.certain && !self.cfg.durable {
                self.start.certain = true;
                self.start.after = range.last;
                if let Some(store) = self.ahead.store.if_made() {
                    store.remove_through(range.last);
                }
                self.blocked &= range.last < self.expected;
            }
        }
        self.call_irrelevant(range);
    }

    /// Takes what a GAP says of an interval.
    pub(in super::super) fn call_irrelevant(&mut self, range: SnRange) {
        if self.reliable
            && range.last > self.announced.last.max(self.start.after)
            && range.last >= self.expected
        {
            self.ahead.passed_over.made().claim(self.expected, range);
        }
        self.add_irrelevant(range);
    }

    /// Notes changes that will not come.
    pub(in super::super) fn add_irrelevant(&mut self, range: SnRange) {
        let range = SnRange::new(range.first.max(self.expected), range.last);
        self.ahead.irrelevant.insert(range, MAX_HOLES);
    }

    /// Whether a GAP that no HEARTBEAT has confirmed is about the expected change, which the writer has announced.
    pub(in super::super) fn awaits_heartbeat(&self) -> bool {
        self.expected <= self.announced.last && self.ahead.passed_over.is_claimed(self.expected)
    }

    /// Up to where an interval of irrelevant changes, which the expected one lies in, is passed over.
    pub(super) fn end_of(&mut self, now: MonoTime, hole: SnRange) -> SequenceNumber {
        let claimed = self.ahead.passed_over.claimed_from(hole);
        let Some(from) = claimed.map(|from| from.max(self.expected)) else { return hole.last.next() };
        if from > self.expected || self.awaits_heartbeat() {
            return from;
        }
        let arrived = self.ahead.store.first_sn().is_some_and(|sn| sn <= hole.last);
        if arrived {
            // What it calls irrelevant was sent.
            self.forget_claim(now, from);
            return from;
        }
        hole.last.next()
    }

    /// Whether a HEARTBEAT says that changes are gone which neither another one nor a change behind them has announced.
    fn is_out_of_the_blue(&self, first: SequenceNumber) -> bool {
        let begun = self.reliable && self.start.heard && (self.start.certain || self.start.delivered);
        let arrived = self.ahead.store.last_sn().unwrap_or(SequenceNumber::ZERO);
        let seen = self.announced.last.max(arrived).max(self.expected.previous());
        begun && first > seen.next()
    }

    /// Whether a HEARTBEAT that has changes from `first` on is believed. What is gone out of the blue has to be said again, and
    /// nothing may contradict it meanwhile.
    pub(in super::super) fn believes(&mut self, now: MonoTime, first: SequenceNumber) -> bool {
        if self.is_out_of_the_blue(first) {
            return self.ahead.passed_over.made().suspect.is_confirmed(now, first);
        }
        if let Some(passed) = self.ahead.passed_over.if_made() {
            passed.suspect.contradict();
        }
        true
    }

    /// Somebody else may have sent what the writer has not announced, in its name.
    pub(super) fn drop_unannounced(&mut self, last: SequenceNumber) {
        if self.cfg.only_announced
            && let Some(store) = self.ahead.store.if_made()
        {
            store.remove_after(last);
        }
    }

    /// The next change lies far behind everything that the writer has: somebody else spoke in its name, and the reader
    /// goes on where it was. What has been passed over was not delivered yet; where forged changes were delivered too,
    /// only those that are still to come are certain to be new.
    pub(super) fn take_back_skips(&mut self, first: SequenceNumber, last: SequenceNumber) {
        if self.expected.0.saturating_sub(last.0) <= OUT_OF_REACH {
            return;
        }
        let resume = self.ahead.passed_over.skipped_from().unwrap_or(last.next());
        if let Some(store) = self.ahead.store.if_made() {
            store.remove_after(last.plus(OUT_OF_REACH));
        }
        (self.expected, self.blocked) = (resume, false);
        self.start.after = SequenceNumber::ZERO;
        self.ahead.passed_over.forget();
        self.announced.first = first;
        self.ahead.irrelevant.clear();
        (self.ack.sent_base, self.ack.sent_announced) = (resume, resume.previous());
    }

    /// The writer has not written what is behind `last`, so nobody but somebody else has called it irrelevant, unless its HEARTBEAT is
    /// older. Then nothing holds of what the same GAP says of other changes. Nothing of what was passed over has been delivered.
    pub(super) fn take_back_gaps(&mut self, now: MonoTime, last: SequenceNumber) {
        let Some(passed) = self.ahead.passed_over.if_made() else { return };
        if let Word::Contradicted(from) = passed.judge(now, self.expected, last) {
            self.forget_claim(now, from);
        }
        let Some(passed) = self.ahead.passed_over.if_made() else { return };
        if let Some(resume) = passed.take_back(now, self.expected, last) {
            self.expected = resume;
            (self.ack.sent_base, self.ack.sent_announced) = (resume, resume.previous());
        }
    }

    /// What a GAP has said of the changes from `from` on does not hold.
    fn forget_claim(&mut self, now: MonoTime, from: SequenceNumber) {
        let passed = self.ahead.passed_over.made();
        passed.unclaim();
        let ahead = |range: &SnRange| SnRange::new(range.first.max(from), range.last);
        self.ahead.irrelevant.as_slice().iter().for_each(|range| passed.doubt(now, ahead(range)));
        self.ahead.irrelevant.remove_from(from);
    }
}
