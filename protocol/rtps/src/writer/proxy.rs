//! RTPS 2.5 §8.4.9.2 "RTPS ReaderProxy": what a writer remembers of one matched reader.

use super::path::PathRoom;
use super::repaired::{Repaired, Suppression, WHOLE};
use super::round_trip::RoundTrip;
use super::separation::Separation;
use crate::ReaderProxyConfig;
use crate::count::CountFilter;
use crate::lazy::{Blank, Lazy};
use crate::timing::{arm, earliest, is_due};
use alloc::boxed::Box;
use alloc::vec::Vec;
use dunlin_core::{Duration, FragmentNumberSet, Guid, Locator, MonoTime, SequenceNumber, SnRange, SnRanges};

/// Most requests for fragments kept for one reader.
pub(crate) const MAX_FRAGMENT_REQUESTS: usize = 32;
/// Most intervals of changes a reader can have requested at once: an ACKNACK has 256 bits.
pub(crate) const MAX_REQUEST_INTERVALS: usize = 160;

/// Fragments of one change that a reader asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FragmentRequest {
    pub(crate) sn: SequenceNumber,
    pub(crate) fragments: FragmentNumberSet,
    /// First fragment still to be sent.
    pub(crate) next: u32,
    pub(crate) not_before: MonoTime,
}

/// What a reader asked for and has not been sent yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    /// Whole changes.
    pub(crate) whole: SnRanges,
    /// The fragment to go on with in the first of `whole`; 0 at its start.
    pub(crate) next_fragment: u32,
    /// The group those fragments go to, because others wanted the change as well.
    pub(crate) group: Option<Locator>,
    pub(crate) fragments: Vec<FragmentRequest>,
    /// Changes requested again right after they were repaired, for `later_at`.
    later: Vec<SequenceNumber>,
    later_at: Option<MonoTime>,
    /// When the next of them may be served.
    pub(crate) due: Option<MonoTime>,
}

impl Blank for Requests {
    const BLANK: &'static Self = &Self {
        whole: SnRanges::new(),
        next_fragment: 0,
        group: None,
        fragments: Vec::new(),
        later: Vec::new(),
        later_at: None,
        due: None,
    };
}

impl Requests {
    pub(crate) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.fragments.is_empty() && self.later.is_empty()
    }

    /// The first of `whole` is another one now: begin it at its start.
    pub(crate) fn start_over(&mut self) {
        self.next_fragment = 0;
        self.group = None;
    }

    /// Notes a change that may not be served before `until`.
    pub(crate) fn postpone(&mut self, sn: SequenceNumber, until: MonoTime) {
        self.later.push(sn);
        arm(&mut self.later_at, until);
    }

    /// Nothing is wanted.
    pub(crate) fn clear(&mut self) {
        self.whole.clear();
        self.fragments.clear();
        self.clear_later();
        self.start_over();
        self.due = None;
    }

    /// Forgets what was suppressed.
    pub(crate) fn clear_later(&mut self) {
        self.later.clear();
        self.later_at = None;
    }

    /// Moves what is not suppressed any more to what is to be served.
    pub(crate) fn release_later(&mut self, now: MonoTime, repaired: &Repaired, suppression: Suppression) {
        if !is_due(self.later_at, now) {
            return;
        }
        self.start_over();
        let (whole, mut next) = (&mut self.whole, None);
        self.later.retain(|sn| match repaired.suppressed_until(now, *sn, WHOLE, suppression) {
            Some(until) => {
                arm(&mut next, until);
                true
            }
            None => {
                whole.insert(SnRange::new(*sn, *sn), MAX_REQUEST_INTERVALS);
                false
            }
        });
        self.later_at = next;
    }

    /// Sets the deadline to the earliest time at which anything that remains may be served, but not before `at`.
    pub(crate) fn rearm(&mut self, at: MonoTime) {
        let mut next = None;
        if !self.whole.is_empty() {
            next = Some(at);
        }
        for request in &self.fragments {
            arm(&mut next, request.not_before.max(at));
        }
        if let Some(later_at) = self.later_at {
            arm(&mut next, later_at.max(at));
        }
        self.due = next;
    }
}

/// What a reader that acknowledges is to its writer, see [`super::inactive`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// The writer waits for its acknowledgments.
    Active,
    /// It answers nothing: it is sent nothing but questions, and not waited for.
    Silent,
    /// It answers again and is sent everything, but is not waited for until it has caught up.
    Returning,
}

/// What a writer with a window remembers of a reader, see [`super::window`].
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// It has not said for long what it took: it is not waited for.
    pub(crate) overdue: bool,
    /// When that last began, and how often in a row that came soon after the last time.
    pub(crate) given_up_at: MonoTime,
    pub(crate) lapses: u32,
    /// What the path to it is found to hold besides the receiver's buffer.
    pub(crate) path: PathRoom,
    /// Octets of new data, counted since the writer was made, that it took or missed.
    pub(crate) drained: u64,
    /// Octets that may be under way at least; for readers in shared memory more than for others.
    pub(crate) room: u64,
    /// What it said last about the room in its socket, and what of that counts.
    pub(crate) told: u32,
    pub(crate) in_socket: u64,
    /// Octets of the longest message that was sent to it through shared memory, for which its ring has room.
    pub(crate) longest_in_memory: usize,
}

impl Flow {
    /// A reader that counts as having taken so much.
    pub(crate) fn new(drained: u64, room: u64) -> Self {
        Self {
            overdue: false,
            given_up_at: MonoTime::default(),
            lapses: 0,
            path: PathRoom::default(),
            drained,
            room,
            told: 0,
            in_socket: 0,
            longest_in_memory: 0,
        }
    }
}

/// What a writer that does not wait for inactive readers remembers of one, see [`super::inactive`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence {
    /// What had been sent when it answered again: having acknowledged that it is active again.
    pub(crate) return_to: SequenceNumber,
    /// When it was first asked for an acknowledgment after its last answer.
    pub(crate) unanswered: Option<MonoTime>,
    /// When it was asked for the last time before it counts as inactive.
    pub(crate) last_call: Option<MonoTime>,
    /// When an inactive reader is asked again, and how long after the last time that is.
    pub(crate) probe: (MonoTime, Duration),
}

/// The state of one matched reader.
#[derive(Clone, Debug)]
pub(crate) struct ReaderProxy {
    pub(crate) cfg: ReaderProxyConfig,
    /// Both sides are reliable.
    pub(crate) reliable: bool,
    /// Changes up to here are not for this reader: they were written before it came.
    pub(crate) start: SequenceNumber,
    /// The reader knows that, if there are any.
    pub(crate) start_known: bool,
    /// Changes up to here are acknowledged or not for this reader.
    pub(crate) acked: SequenceNumber,
    pub(crate) acks: CountFilter,
    pub(crate) fragment_nacks: CountFilter,
    pub(crate) requests: Lazy<Requests>,
    pub(crate) repaired: Repaired,
    pub(crate) round_trip: RoundTrip,
    /// Changes up to here were not sent to this reader when they were new.
    pub(crate) history_end: SequenceNumber,
    /// Of those it has been sent the ones up to here.
    history_sent: SequenceNumber,
    /// A best-effort reader that is still being sent the history gets new data behind it, not beside it.
    pub(crate) catching_up: bool,
    /// A HEARTBEAT is owed in answer to an ACKNACK.
    pub(crate) reply_due: Option<MonoTime>,
    pub(crate) replied_at: Option<MonoTime>,
    /// It says what it took, so there is a window for it.
    pub(crate) flow: Option<Box<Flow>>,
    /// Whether the writer keeps changes for it.
    pub(crate) standing: Standing,
    /// It may become inactive.
    pub(crate) silence: Option<Box<Silence>>,
    /// Its filter rejects the change that is just leaving.
    pub(crate) rejecting: bool,
    /// Changes that were not sent to it because of its filter, and of which it was not told.
    pub(crate) untold: Lazy<SnRanges>,
    /// What is kept back because it wants less.
    pub(super) separation: Option<Box<Separation>>,
}

impl ReaderProxy {
    pub(crate) fn new(cfg: ReaderProxyConfig, reliable: bool, start: SequenceNumber) -> Self {
        let separation = Separation::new(cfg.minimum_separation, start);
        Self {
            cfg,
            reliable,
            start,
            start_known: start < SequenceNumber::FIRST,
            acked: start,
            acks: CountFilter::default(),
            fragment_nacks: CountFilter::default(),
            requests: Lazy::default(),
            repaired: Repaired::default(),
            round_trip: RoundTrip::default(),
            history_end: start,
            history_sent: start,
            catching_up: false,
            reply_due: None,
            replied_at: None,
            flow: None,
            standing: Standing::Active,
            silence: None,
            rejecting: false,
            untold: Lazy::default(),
            separation,
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
        let again = self.repaired.note(now, sn, fragment);
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
            requests.release_later(now, &self.repaired, suppression);
        }
    }

    /// Everything up to `through` has arrived: nothing of it has to be repaired.
    pub(crate) fn acknowledge(&mut self, through: SequenceNumber) {
        self.acked = through;
        self.repaired.acknowledged(through);
        if let Some(untold) = self.untold.if_made() {
            untold.remove_through(through);
        }
        if let Some(separation) = &mut self.separation {
            separation.acknowledged(through);
        }
        if let Some(requests) = self.requests.if_made() {
            requests.fragments.retain(|request| request.sn > through);
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

    /// Whether a change is wanted now.
    pub(crate) fn wants(&self, now: MonoTime, sn: SequenceNumber) -> bool {
        is_due(self.requests.due, now)
            && sn > self.start
            && self.requests.whole.contains(sn)
            && !self.would_jump_to(sn)
    }

    /// Whether a best-effort reader that is given the history would pass over what it is still to get before this change, and
    /// count it as lost.
    fn would_jump_to(&self, sn: SequenceNumber) -> bool {
        self.catching_up && self.requests.whole.first().is_some_and(|first| first < sn)
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
        self.standing != Standing::Silent && self.needs_heartbeat(last)
    }

    /// Whether the writer keeps changes until it has acknowledged them.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.reliable && self.standing == Standing::Active
    }

    /// Whether new data goes to it.
    pub(crate) fn is_sent_new_data(&self) -> bool {
        !self.catching_up && self.standing != Standing::Silent
    }

    /// It was asked for an acknowledgment.
    pub(crate) fn asked(&mut self, now: MonoTime) {
        if let Some(silence) = &mut self.silence {
            silence.unanswered.get_or_insert(now);
        }
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
        assert!(size_of::<super::ReaderProxy>() <= 328);
    }
}
