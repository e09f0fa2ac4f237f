//! DDS 1.4 §2.2.3.12 TIME_BASED_FILTER and RTPS 2.5 §8.7.3 content filtering at the writer: which readers a change does not go
//! to, and which get it later.

mod filter;

use alloc::vec::Vec;

use dunlin_core::{Locator, MonoTime, SequenceNumber, SnRange};
use filter::{Memo, is_for_another};

use super::readers::{ReaderProxy, Readers};
use crate::timing::earliest;
use crate::{Change, WriterStats};

/// Most intervals of changes that a reader was not told of; more are told at once.
pub(super) const MAX_UNANNOUNCED: usize = 64;

/// What readers say of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FilterOutcome {
    /// A reader wants it.
    pub(super) wanted: bool,
    /// A reader does not.
    pub(super) rejected: bool,
    /// A reader has a minimum separation.
    pub(super) separated: bool,
    /// It was not asked about before.
    pub(super) new: bool,
}

/// A change was kept back for a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// The change in whose place it is kept: that will not be sent.
    pub(super) overtaken: Option<SequenceNumber>,
    /// What is kept back has to leave now.
    pub(super) leaves: bool,
}

/// What is not sent to all readers.
///
/// What it remembers of one reader stands in that reader's proxy: what it was not told of, and its [`Separation`](super::readers::Separation).
///
/// Order of calls for each change, while [`is_on`](Self::is_on): [`select`](Self::select); then, for a change that is new,
/// [`keep_back`](Self::keep_back) for each reader that it comes too soon for, and [`refresh_held`](Self::refresh_held). Changes
/// that share a datagram with it: [`is_for_the_same`](Self::is_for_the_same), then [`note_joined`](Self::note_joined).
///
/// At most one change is undecided at a time: the next is asked about when the one before it has left, so one number tells which
/// are decided.
#[derive(Debug, Default)]
pub(super) struct Withheld {
    // Who does not get a change
    /// Some reader has a filter or a minimum separation, or there are changes for one reader alone: so each is asked about.
    on: bool,
    /// There are changes for one reader alone.
    directs: bool,
    /// Nobody has to be asked any more once all were told what they did not get.
    winds_up: bool,
    /// Changes up to here were asked about, and who does not get them is known.
    decided_through: SequenceNumber,
    /// Destinations of what not all readers want; empty while they do.
    narrow: Vec<Locator>,

    // Who gets it later
    /// When the minimum separation of what is kept back is over, at the earliest.
    due: Option<MonoTime>,
    /// The first change that is kept back for a reader that acknowledges nothing.
    held: Option<SequenceNumber>,
    /// Somebody waits for acknowledgments of changes up to here, so none is kept back.
    hurry_through: SequenceNumber,
}

/// Who does not get a change.
impl Withheld {
    /// Whether changes have to be asked about.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// From now on there are changes that are for one reader alone.
    pub(super) fn direct(&mut self) {
        (self.on, self.directs) = (true, true);
    }

    /// A reader was added.
    pub(super) fn add(&mut self, proxy: &ReaderProxy) {
        self.on |= proxy.withholds();
    }

    /// Takes up whether any reader has a filter or a minimum separation, or is still to be told of what it did not get: nobody looks
    /// for that before new data otherwise.
    pub(super) fn survey(&mut self, readers: &Readers) {
        let asked = self.directs || readers.iter().any(ReaderProxy::withholds);
        let untold = readers.iter().any(|proxy| !proxy.unannounced.is_empty());
        (self.on, self.winds_up) = (asked || untold, !asked && untold);
        self.narrow.clear();
    }

    /// The destinations of all new data have changed.
    pub(super) fn forget_destinations(&mut self) {
        self.narrow.clear();
    }

    /// Where the change that is just leaving goes, of `all` destinations of new data.
    #[inline]
    pub(super) fn destinations<'a>(&'a self, all: &'a [Locator]) -> &'a [Locator] {
        if self.narrow.is_empty() { all } else { &self.narrow }
    }

    /// Whether that is not all of them.
    pub(super) fn is_narrow(&self) -> bool {
        !self.narrow.is_empty()
    }

    /// Asks who wants a change, and makes it leave for those alone.
    pub(super) fn select(
        &mut self,
        now: MonoTime,
        change: &Change,
        readers: &mut Readers,
        stats: &mut WriterStats,
    ) -> FilterOutcome {
        if core::mem::take(&mut self.winds_up) {
            self.survey(readers);
        }
        for proxy in readers.iter_mut() {
            self.winds_up |= proxy.note_new(change);
        }
        let (mut outcome, changed) = self.ask(now, change, readers, stats);
        if !outcome.rejected {
            self.narrow.clear();
        } else if outcome.wanted && (changed || self.narrow.is_empty()) {
            let wanting = readers.cover(true, ReaderProxy::is_receiver);
            self.narrow.clear();
            self.narrow.extend_from_slice(wanting);
        }
        // What waits for pacer or window comes here again.
        outcome.new = change.sn > self.decided_through;
        self.decided_through = self.decided_through.max(change.sn);
        outcome
    }

    /// Asks for whom a change is; and whether those are others than for the one before it.
    fn ask(
        &self,
        now: MonoTime,
        change: &Change,
        readers: &mut Readers,
        stats: &mut WriterStats,
    ) -> (FilterOutcome, bool) {
        let (mut memo, mut outcome, mut changed) = (Memo::default(), FilterOutcome::default(), false);
        for proxy in readers.iter_mut().filter(|proxy| proxy.is_sent_new_data()) {
            let too_soon = proxy.is_too_soon(now, change, self.decided_through);
            let elsewhere = self.is_for_others(proxy, change);
            let ReaderProxy { cfg, rejecting, separation, .. } = proxy;
            let rejects =
                too_soon || elsewhere || cfg.filter.as_ref().is_some_and(|filter| memo.ask(filter, change));
            outcome.separated |= separation.is_some();
            changed |= core::mem::replace(rejecting, rejects) != rejects;
            outcome.rejected |= rejects;
            outcome.wanted |= !rejects;
        }
        stats.filters_evaluated = stats.filters_evaluated.saturating_add(memo.evaluated());
        (outcome, changed)
    }

    /// Whether a change is for others, whatever the reader's filter says.
    fn is_for_others(&self, proxy: &ReaderProxy, change: &Change) -> bool {
        (self.directs && is_for_another(change, proxy.guid())) || proxy.came_after_the_begin(change)
    }

    /// Whether a change that would share a datagram with the one before it is for the same readers.
    pub(super) fn is_for_the_same(
        &self,
        change: &Change,
        readers: &Readers,
        stats: &mut WriterStats,
    ) -> bool {
        let mut memo = Memo::default();
        let same = readers.iter().filter(|proxy| proxy.is_sent_new_data()).all(|proxy| {
            let elsewhere = self.is_for_others(proxy, change);
            let rejects =
                elsewhere || proxy.cfg.filter.as_ref().is_some_and(|filter| memo.ask(filter, change));
            rejects == proxy.rejecting && proxy.separation.is_none()
        });
        stats.filters_evaluated = stats.filters_evaluated.saturating_add(memo.evaluated());
        same
    }

    /// A change has joined the one before it, which is for the same readers: nor do the others get this one.
    pub(super) fn note_joined(&mut self, change: &Change, readers: &mut Readers, stats: &mut WriterStats) {
        let sn = change.sn;
        self.decided_through = self.decided_through.max(sn);
        for proxy in readers.iter_mut() {
            self.winds_up |= proxy.note_new(change);
        }
        for proxy in readers.iter_mut().filter(|proxy| proxy.rejecting && proxy.is_sent_new_data()) {
            if !proxy.receives_at(&self.narrow) {
                proxy.unannounced.made().insert(SnRange::new(sn, sn), MAX_UNANNOUNCED);
                stats.samples_filtered = stats.samples_filtered.saturating_add(1);
            }
        }
    }

    /// Whether a reader gets the change that is just leaving, if it is `sent` to anybody: also one that does not want it does
    /// where it receives at a place that another one has it sent to.
    pub(super) fn is_sent_to(&self, proxy: &ReaderProxy, sent: bool) -> bool {
        !proxy.rejecting || (sent && proxy.receives_at(&self.narrow))
    }
}

/// Who gets it later.
impl Withheld {
    /// When something that is kept back is to leave; `None` while nothing is.
    #[inline]
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        self.due
    }

    /// What was due has left; when the next is due.
    pub(super) fn set_deadline(&mut self, due: Option<MonoTime>) {
        self.due = due;
    }

    /// Keeps a change back for a reader; `None` if that has no minimum separation.
    pub(super) fn keep_back(
        &mut self,
        now: MonoTime,
        proxy: &mut ReaderProxy,
        change: &Change,
    ) -> Option<Kept> {
        let separation = proxy.separation.as_deref_mut()?;
        let overtaken = separation.keep(now, change);
        self.due = earliest(self.due, separation.deadline());
        Some(Kept { overtaken, leaves: separation.is_full(change.sn) || change.sn <= self.hurry_through })
    }

    /// Nothing up to this change is to be kept back any more.
    pub(super) fn hurry(&mut self, through: SequenceNumber) {
        self.hurry_through = through;
    }

    /// Takes up what is kept back for readers that acknowledge nothing.
    pub(super) fn refresh_held(&mut self, readers: &Readers) {
        let best_effort = readers.iter().filter(|proxy| !proxy.reliable);
        self.held = best_effort.filter_map(ReaderProxy::first_kept).min();
    }

    /// Changes up to here have left to all that are sent new data, if those up to `pushed` were sent.
    #[inline]
    pub(super) fn left_through(&self, pushed: SequenceNumber) -> SequenceNumber {
        self.held.map_or(pushed, |first| pushed.min(first.previous()))
    }
}

#[cfg(test)]
mod tests;
