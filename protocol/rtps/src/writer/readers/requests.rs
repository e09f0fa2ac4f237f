//! RTPS 2.5 §8.4.9.2 "RTPS ReaderProxy", requested_changes: what one reader asked for.

use alloc::vec::Vec;

use dunlin_core::{FragmentNumberSet, Locator, MonoTime, SequenceNumber, SnRange, SnRanges};

use super::log::{RepairLog, Suppression, WHOLE};
use crate::lazy::StaticDefault;
use crate::timing::{arm, earliest, is_due};

/// Most intervals of changes a reader can have requested at once: an ACKNACK has 256 bits.
pub(crate) const MAX_REQUEST_INTERVALS: usize = 160;
/// Most requests for fragments kept for one reader.
pub(crate) const MAX_FRAGMENT_REQUESTS: usize = 32;
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

impl StaticDefault for Requests {
    const STATIC_DEFAULT: &'static Self = &Self {
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
    pub(crate) fn release_later(&mut self, now: MonoTime, log: &RepairLog, suppression: Suppression) {
        if !is_due(self.later_at, now) {
            return;
        }
        self.start_over();
        let (whole, mut next) = (&mut self.whole, None);
        self.later.retain(|sn| match log.suppressed_until(now, *sn, WHOLE, suppression) {
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

    /// Sets the deadline for what is requested now; a deadline that was set before stays if it is earlier.
    pub(crate) fn rearm_for_more(&mut self, at: MonoTime, previous: Option<MonoTime>) {
        self.rearm(at);
        if self.due.is_some() {
            self.due = earliest(self.due, previous);
        }
    }

    /// Adds a request for fragments, from the first of `numbers` on, in place of what older ones say of the same fragments. True
    /// when some have to wait because they were just repaired.
    pub(crate) fn add_fragments(
        &mut self,
        now: MonoTime,
        sn: SequenceNumber,
        numbers: &FragmentNumberSet,
        log: &RepairLog,
        suppression: Suppression,
    ) -> bool {
        let base = numbers.base();
        let (mut at_once, mut later) = (FragmentNumberSet::empty(base), FragmentNumberSet::empty(base));
        let mut later_at = None;
        for number in numbers.iter() {
            if let Some(until) = log.suppressed_until(now, sn, number, suppression) {
                arm(&mut later_at, until);
                later.insert(number);
            } else {
                at_once.insert(number);
            }
        }
        let requests = &mut self.fragments;
        let last = numbers.iter().last().unwrap_or(base);
        requests.retain_mut(|other| {
            if other.sn == sn {
                other.fragments = without(&other.fragments, base, last);
            }
            !other.fragments.is_empty()
        });
        let wanted = [(at_once, now), (later, later_at.unwrap_or(now))];
        for (fragments, not_before) in wanted.into_iter().filter(|(fragments, _)| !fragments.is_empty()) {
            if requests.len() >= MAX_FRAGMENT_REQUESTS {
                requests.remove(0);
            }
            requests.push(FragmentRequest { sn, fragments, next: base, not_before });
        }
        later_at.is_some()
    }
}

/// The fragments that lie before the first or behind the last.
fn without(fragments: &FragmentNumberSet, first: u32, last: u32) -> FragmentNumberSet {
    let mut left = FragmentNumberSet::empty(fragments.base());
    fragments
        .iter()
        .filter(|number| *number < first || *number > last)
        .for_each(|number| _ = left.insert(number));
    left
}

#[cfg(test)]
mod tests {
    use dunlin_core::Duration;

    use super::*;

    fn set(numbers: core::ops::RangeInclusive<u32>) -> FragmentNumberSet {
        let mut set = FragmentNumberSet::empty(*numbers.start());
        numbers.for_each(|number| assert!(set.insert(number)));
        set
    }

    /// A reader that gets fragments slowly asks for what is still missing again and again, each time from a later one on.
    #[test]
    fn overlapping_nack_frags_request_each_fragment_once() {
        let suppression = Suppression { least: Duration::from_millis(2), round_trip: Duration::ZERO };
        let (mut requests, log, now) = (Requests::default(), RepairLog::new(), MonoTime(5));
        let wanted = |requests: &Requests| -> Vec<u32> {
            requests.fragments.iter().flat_map(|request| request.fragments.iter()).collect()
        };
        for first in 1..=20 {
            requests.add_fragments(now, SequenceNumber(7), &set(first..=100), &log, suppression);
        }
        let mut numbers = wanted(&requests);
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
        // What lies behind the last that a later request names stays wanted, and so do those of other changes.
        requests.add_fragments(now, SequenceNumber(8), &set(50..=60), &log, suppression);
        requests.add_fragments(now, SequenceNumber(7), &set(30..=40), &log, suppression);
        assert_eq!(wanted(&requests).len(), 111);
    }
}
