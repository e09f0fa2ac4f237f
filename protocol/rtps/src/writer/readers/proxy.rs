//! RTPS 2.5 §8.4.9.2 "RTPS ReaderProxy": what a writer remembers of one matched reader.

mod begun_set;
mod separation;

use alloc::boxed::Box;

pub(crate) use begun_set::BegunSet;
use dunlin_core::{
    Behaviour, Duration, Guid, Locator, MonoTime, SequenceNumber, SequenceNumberSet, SnRange, SnRanges,
};
pub(crate) use separation::{MAX_KEPT, Separation};

use super::{Flow, MAX_REQUEST_INTERVALS, RepairAccount, Requests, RoundTrip, Silence, Suppression, WHOLE};
use crate::count::CountFilter;
use crate::lazy::Lazy;
use crate::timing::{arm, earliest, is_due};
use crate::{Change, ReaderProxyConfig, WriterConfig};

/// Answers to ACKNACKs of one reader are at least this far apart, so that two peers that answer each other do not spin.
const REPLY_INTERVAL: Duration = Duration::from_millis(1);

/// What a reader is sent, and whether the writer waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReaderState {
    /// A best-effort reader that is still being sent the history: it gets new data behind that, not beside it.
    CatchingUp,
    /// It is sent new data. If it acknowledges, the writer waits for that.
    Active,
    /// It answers nothing: it is sent nothing but questions, and not waited for. See [`crate::writer::inactivity`].
    Silent,
    /// It answers again and is sent everything, but is not waited for until it has caught up.
    Returning,
}

impl ReaderState {
    /// Whether the writer does not wait for a reader although it acknowledges.
    pub(crate) fn is_lagging(self) -> bool {
        matches!(self, Self::Silent | Self::Returning)
    }
}

/// How a writer serves what a reader asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The highest change that was sent: nothing above it is missing.
    pub(crate) last: SequenceNumber,
    /// When the first of it may be served.
    pub(crate) serve_at: MonoTime,
    /// How long at least what was repaired is not repaired again.
    pub(crate) suppression: Duration,
    /// The reader gets what was written before it came.
    pub(crate) has_history: bool,
    /// See [`crate::WriterConfig::frugal`].
    pub(crate) frugal: bool,
}

/// The state of one matched reader.
#[derive(Clone, Debug)]
pub(crate) struct ReaderProxy {
    pub(crate) cfg: ReaderProxyConfig,
    /// Both sides are reliable.
    pub(crate) reliable: bool,
    pub(crate) state: ReaderState,

    // Where it starts
    /// Changes up to here are not for this reader: they were written before it came.
    pub(crate) start: SequenceNumber,
    /// The reader knows that, if there are any.
    pub(crate) start_known: bool,
    /// Changes up to here were not sent to this reader when they were new.
    pub(crate) history_end: SequenceNumber,
    /// Of those it has been sent the ones up to here.
    history_sent: SequenceNumber,

    // What it has said
    /// Changes up to here are acknowledged or not for this reader.
    pub(crate) acked: SequenceNumber,
    pub(crate) acks: CountFilter,
    pub(crate) fragment_nacks: Lazy<CountFilter>,
    /// How long it takes to answer.
    pub(crate) round_trip: RoundTrip,

    // Repairs and answers
    pub(crate) requests: Lazy<Requests>,
    pub(crate) account: Lazy<RepairAccount>,
    /// A HEARTBEAT is owed in answer to an ACKNACK.
    pub(crate) reply_due: Option<MonoTime>,
    /// The next one leaves no sooner.
    next_reply: MonoTime,

    // Waiting for it
    /// It says what it took, so there is a window for it.
    pub(crate) flow: Option<Box<Flow>>,
    /// It may become inactive.
    pub(crate) silence: Option<Box<Silence>>,

    // What it is not sent
    /// Its filter rejects the change that is just leaving.
    pub(crate) rejecting: bool,
    /// Changes that were not sent to it because of its filter, and of which it was not told.
    pub(crate) unannounced: Lazy<SnRanges>,
    /// What is kept back because it wants less.
    pub(crate) separation: Option<Box<Separation>>,
    /// The coherent set in the middle of which it came, until it can ask for nothing of it any more.
    pub(crate) begun_set: Option<Box<BegunSet>>,
}

impl ReaderProxy {
    pub(crate) fn new(cfg: ReaderProxyConfig, reliable: bool, start: SequenceNumber) -> Self {
        let separation = Separation::new(cfg.minimum_separation, start);
        let begun_set = cfg.begun_set.map(|first| Box::new(BegunSet::new(first)));
        Self {
            cfg,
            reliable,
            state: ReaderState::Active,
            start,
            start_known: start < SequenceNumber::FIRST,
            history_end: start,
            history_sent: start,
            acked: start,
            acks: CountFilter::default(),
            fragment_nacks: Lazy::default(),
            round_trip: RoundTrip::default(),
            requests: Lazy::default(),
            account: Lazy::default(),
            reply_due: None,
            next_reply: MonoTime::default(),
            flow: None,
            silence: None,
            rejecting: false,
            unannounced: Lazy::default(),
            separation,
            begun_set,
        }
    }

    pub(crate) fn guid(&self) -> Guid {
        self.cfg.guid
    }

    /// Where messages for this reader alone go.
    pub(crate) fn directed(&self) -> &[Locator] {
        if self.cfg.unicast.is_empty() { &self.cfg.multicast } else { &self.cfg.unicast }
    }

    /// Notes that a change, or a fragment of it, is being repaired.
    pub(crate) fn note_repair(&mut self, now: MonoTime, sn: SequenceNumber, fragment: u32) {
        let again = self.account.made().log.note(now, sn, fragment);
        if fragment == WHOLE && sn > self.history_sent && sn <= self.history_end {
            self.history_sent = sn;
            self.round_trip.sent(now, sn);
        } else {
            self.round_trip.repaired(now, sn, fragment == WHOLE && !again);
        }
    }

    /// Moves requests whose time has come to what is to be served.
    pub(crate) fn release_later(&mut self, now: MonoTime, least: Duration) {
        let suppression = self.suppression(least);
        if let Some(requests) = self.requests.if_made() {
            requests.release_later(now, &self.account.log, suppression);
        }
    }

    /// Everything up to `through` has arrived: nothing of it has to be repaired.
    pub(crate) fn acknowledge(&mut self, through: SequenceNumber) {
        self.acked = through;
        if let Some(account) = self.account.if_made() {
            account.acknowledged(through);
        }
        if let Some(unannounced) = self.unannounced.if_made() {
            unannounced.remove_through(through);
        }
        if let Some(separation) = &mut self.separation {
            separation.acknowledged(through);
        }
        if let Some(requests) = self.requests.if_made() {
            requests.fragments.retain(|request| request.sn > through);
        }
        self.begun_set.take_if(|set| set.is_done(through));
    }

    /// A change is new; true if the coherent set that had begun when the reader came has ended with it. Who acknowledges nothing
    /// asks for nothing of it.
    pub(crate) fn note_new(&mut self, change: &Change) -> bool {
        let ended = self.begun_set.as_mut().is_some_and(|set| set.note(change));
        if ended {
            self.begun_set.take_if(|set| !self.reliable || set.is_done(self.acked));
        }
        ended
    }

    /// Replaces what it wants by the changes of an ACKNACK. How many of them have to wait because they were just repaired.
    pub(crate) fn request(&mut self, now: MonoTime, set: &SequenceNumberSet, terms: &Terms) -> u64 {
        let suppression = self.suppression(terms.suppression);
        let (in_progress, previous) = (self.requests.whole.first(), self.requests.due);
        // A reader that does not know yet where it starts is told by a GAP.
        let base = set.base().max(SequenceNumber::FIRST);
        if !terms.has_history && base == set.base() && base <= self.acked {
            // A volatile reader that asks for what it had acknowledged has forgotten this writer and met it again: to
            // the reader all that is older than the new meeting.
            self.start = self.acked;
        } else if base <= self.acked
            && let Some(account) = self.account.if_made()
        {
            account.begins_anew(now, self.acked);
        }
        self.start_known |= base > self.start;
        if set.is_empty() && base > self.start && self.requests.fragments.is_empty() {
            self.want_nothing(terms.frugal);
            return 0;
        }
        let requests = self.requests.made();
        requests.whole.clear();
        requests.clear_later();
        requests.whole.insert(SnRange::new(base, self.start), MAX_REQUEST_INTERVALS);
        let mut suppressed = 0u64;
        for sn in set.iter().take_while(|sn| *sn <= terms.last).filter(|sn| *sn >= base) {
            match self.account.log.suppressed_until(now, sn, WHOLE, suppression) {
                None => {
                    requests.whole.insert(SnRange::new(sn, sn), MAX_REQUEST_INTERVALS);
                }
                Some(until) => {
                    requests.postpone(sn, until);
                    suppressed = suppressed.saturating_add(1);
                }
            }
        }
        if requests.whole.first() != in_progress {
            requests.start_over();
        }
        if requests.is_empty() {
            requests.due = None;
        } else {
            requests.rearm_for_more(terms.serve_at, previous);
        }
        suppressed
    }

    fn want_nothing(&mut self, frugal: bool) {
        if frugal {
            self.requests.forget();
            if self.account.is_settled() {
                self.account.forget();
            }
        } else if let Some(requests) = self.requests.if_made() {
            requests.clear();
        }
    }

    /// A request was served as far as the change with this number.
    pub(crate) fn served_through(&mut self, sn: SequenceNumber) {
        if let Some(requests) = self.requests.if_made() {
            requests.whole.remove_through(sn);
            requests.start_over();
        }
    }

    /// How long what was repaired is not repaired again.
    pub(crate) fn suppression(&self, least: Duration) -> Suppression {
        Suppression { least, round_trip: self.round_trip.window() }
    }

    /// Up to where it lacks what was written for it before it was met, as one that was lost does. Of what was gone from the
    /// history that it is given it lacks nothing.
    pub(crate) fn lost_before_it_came(&self, cfg: &WriterConfig) -> SequenceNumber {
        if self.cfg.durable && cfg.transient_local { SequenceNumber::ZERO } else { self.history_end }
    }

    /// Whether it may be sent a change again in a multicast group, with others that want it now. What a best-effort reader
    /// wants is history, or was kept back. Best-effort readers that the writer has not met yet would take that for new.
    pub(crate) fn shares(&self, now: MonoTime, sn: SequenceNumber) -> bool {
        self.reliable && is_due(self.requests.due, now) && sn > self.start && self.requests.whole.contains(sn)
    }

    /// Whether a best-effort reader that is given the history would pass over what it is still to get before this change, and
    /// count it as lost.
    fn would_jump_to(&self, sn: SequenceNumber) -> bool {
        self.state == ReaderState::CatchingUp && self.requests.whole.first().is_some_and(|first| first < sn)
    }

    /// Whether the reader would take a change for new that was written before it came: a best-effort reader takes
    /// whatever is newer than the last it got, a reliable one what follows the first number until it knows better. Also
    /// whether it would take a change before others that it is still to get.
    pub(crate) fn takes_for_new(&self, sn: SequenceNumber) -> bool {
        (sn <= self.start && !(self.reliable && self.start_known)) || self.would_jump_to(sn)
    }

    /// Whether the reader has to hear of changes up to `last`.
    pub(crate) fn needs_heartbeat(&self, last: SequenceNumber) -> bool {
        self.reliable && (self.acked < self.awaited_through(last) || !self.acks.heard())
    }

    /// Whether HEARTBEATs to all ask it for changes up to `last`; an inactive reader is asked on its own.
    pub(crate) fn is_asked(&self, last: SequenceNumber) -> bool {
        self.state != ReaderState::Silent && self.needs_heartbeat(last)
    }

    /// Whether it has everything up to `last` and asks for nothing, as far as it acknowledges at all.
    #[inline]
    pub(crate) fn is_up_to_date(&self, last: SequenceNumber) -> bool {
        !self.reliable || (self.acked == last && self.acks.heard() && self.requests.is_empty())
    }

    /// Whether the writer keeps changes until it has acknowledged them.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.reliable && self.state == ReaderState::Active
    }

    /// Whether new data goes to it.
    pub(crate) fn is_sent_new_data(&self) -> bool {
        !matches!(self.state, ReaderState::CatchingUp | ReaderState::Silent)
    }

    /// Whether the change that is just leaving is meant for it.
    pub(crate) fn is_receiver(&self) -> bool {
        self.is_sent_new_data() && !self.rejecting
    }

    /// Whether it was inactive and has caught up.
    pub(crate) fn has_returned(&self) -> bool {
        let to = self.silence.as_ref().map(|silence| silence.return_to);
        self.state == ReaderState::Returning && to.is_none_or(|to| self.acked >= to)
    }

    /// Whether a change, or a fragment of it, was sent to it again already, or may have been.
    pub(crate) fn was_repaired(&self, sn: SequenceNumber, fragment: u32) -> bool {
        self.account.log.knows(sn, fragment)
    }

    /// Whether a change, or a fragment of it, was repaired a moment ago, for an older request.
    pub(crate) fn is_suppressed(
        &self,
        now: MonoTime,
        sn: SequenceNumber,
        fragment: u32,
        least: Duration,
    ) -> bool {
        self.account.log.suppressed_until(now, sn, fragment, self.suppression(least)).is_some()
    }

    /// It was asked for an acknowledgment.
    pub(crate) fn asked(&mut self, now: MonoTime) {
        if let Some(silence) = &mut self.silence {
            silence.unanswered.get_or_insert(now);
        }
    }

    /// Whether a HEARTBEAT behind one that asks it something keeps it from answering.
    pub(crate) fn delays_answers(&self) -> bool {
        self.reliable && self.state != ReaderState::Silent && self.cfg.vendor.does(Behaviour::DelaysAnswers)
    }

    /// It asks for a HEARTBEAT.
    pub(crate) fn owe_reply(&mut self, now: MonoTime) {
        arm(&mut self.reply_due, self.next_reply.max(now));
    }

    /// It is sent one.
    pub(crate) fn replied(&mut self, now: MonoTime) {
        self.reply_due = None;
        self.next_reply = now.plus(REPLY_INTERVAL);
    }

    /// When `on_timer` has work for this reader.
    pub(crate) fn deadline(&self) -> Option<MonoTime> {
        earliest(self.requests.due, self.reply_due)
    }
}

#[cfg(test)]
mod tests {
    /// A participant has three of them for each other one; docs/scale.md says what that comes to.
    #[test]
    fn a_proxy_stays_small() {
        assert!(size_of::<super::ReaderProxy>() <= 296);
    }
}
