//! RTPS 2.5 §8.4.9.2 "RTPS ReaderProxy": what a writer remembers of one matched reader.

use crate::ReaderProxyConfig;
use crate::count::CountFilter;
use crate::timing::{arm, earliest};
use alloc::vec::Vec;
use dunlin_core::{Duration, FragmentNumberSet, Guid, Locator, MonoTime, SequenceNumber, SnRanges};

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
    pub(crate) later: SnRanges,
    pub(crate) later_at: MonoTime,
    /// When the next of them may be served.
    pub(crate) due: Option<MonoTime>,
    /// Changes repaired since `recent_since`.
    recent: SnRanges,
    recent_since: MonoTime,
    /// Change, first fragment and time of fragment requests that were served.
    recent_fragments: Vec<(SequenceNumber, u32, MonoTime)>,
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

    /// Notes that a change is being repaired, and when.
    pub(crate) fn repaired(&mut self, now: MonoTime, sn: SequenceNumber, window: Duration) {
        if now.since(self.recent_since) >= window {
            self.recent.clear();
            self.recent_since = now;
        }
        // When the record is full, the worst that follows is a repair too many.
        self.recent.insert(dunlin_core::SnRange::new(sn, sn), MAX_REQUEST_INTERVALS);
    }

    /// When a change may be repaired, if that is not at once.
    pub(crate) fn suppressed_until(
        &self,
        now: MonoTime,
        sn: SequenceNumber,
        window: Duration,
    ) -> Option<MonoTime> {
        let until = self.recent_since.plus(window);
        (until > now && self.recent.contains(sn)).then_some(until)
    }

    /// Notes that a request for fragments was served.
    pub(crate) fn fragments_repaired(&mut self, now: MonoTime, request: &FragmentRequest) {
        if self.recent_fragments.len() >= MAX_FRAGMENT_REQUESTS {
            self.recent_fragments.remove(0);
        }
        self.recent_fragments.push((request.sn, request.fragments.base(), now));
    }

    /// When fragments from `base` on may be repaired, if that is not at once.
    pub(crate) fn fragments_suppressed_until(
        &self,
        now: MonoTime,
        sn: SequenceNumber,
        base: u32,
        window: Duration,
    ) -> Option<MonoTime> {
        let served = self.recent_fragments.iter().rev().find(|entry| entry.0 == sn && entry.1 == base)?;
        let until = served.2.plus(window);
        (until > now).then_some(until)
    }

    /// Moves what was suppressed until now to what is to be served.
    pub(crate) fn release_later(&mut self, now: MonoTime) {
        if self.later.is_empty() || self.later_at > now {
            return;
        }
        self.start_over();
        for range in self.later.as_slice() {
            self.whole.insert(*range, MAX_REQUEST_INTERVALS);
        }
        self.later.clear();
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
        if !self.later.is_empty() {
            arm(&mut next, self.later_at.max(at));
        }
        self.due = next;
    }
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
    pub(crate) requests: Requests,
    /// A best-effort reader that is still being sent the history gets new data behind it, not beside it.
    pub(crate) catching_up: bool,
    /// A HEARTBEAT is owed in answer to an ACKNACK.
    pub(crate) reply_due: Option<MonoTime>,
    pub(crate) replied_at: Option<MonoTime>,
}

impl ReaderProxy {
    pub(crate) fn new(cfg: ReaderProxyConfig, reliable: bool, start: SequenceNumber) -> Self {
        Self {
            cfg,
            reliable,
            start,
            start_known: start < SequenceNumber::FIRST,
            acked: start,
            acks: CountFilter::default(),
            fragment_nacks: CountFilter::default(),
            requests: Requests::default(),
            catching_up: false,
            reply_due: None,
            replied_at: None,
        }
    }

    pub(crate) fn guid(&self) -> Guid {
        self.cfg.guid
    }

    /// Where messages for this reader alone go.
    pub(crate) fn directed(&self) -> &[Locator] {
        if self.cfg.unicast.is_empty() { &self.cfg.multicast } else { &self.cfg.unicast }
    }

    /// Whether the reader has to hear of changes up to `last`.
    pub(crate) fn needs_heartbeat(&self, last: SequenceNumber) -> bool {
        self.reliable && (self.acked < last || !self.acks.heard())
    }

    /// When `on_timer` has work for this reader.
    pub(crate) fn deadline(&self) -> Option<MonoTime> {
        earliest(self.requests.due, self.reply_due)
    }
}
