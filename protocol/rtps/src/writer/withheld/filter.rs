//! RTPS 2.5 §8.7.3 content filtering at the writer: what one reader wants.

use alloc::sync::Arc;

use dunlin_core::{Guid, Locator};
use dunlin_wire::{params, pid};

use crate::writer::readers::{ReaderProxy, ReaderState};
use crate::{Change, ReaderFilter};

/// The last answer, since neighbours often have the same filter.
#[derive(Default)]
pub(super) struct Memo<'a> {
    last: Option<(&'a Arc<dyn ReaderFilter>, bool)>,
    /// Filters that were evaluated.
    evaluated: u64,
}

impl<'a> Memo<'a> {
    pub(super) fn ask(&mut self, filter: &'a Arc<dyn ReaderFilter>, change: &Change) -> bool {
        if let Some((last, answer)) = self.last
            && Arc::ptr_eq(last, filter)
        {
            return answer;
        }
        let answer = filter.rejects(change);
        self.last = Some((filter, answer));
        self.evaluated = self.evaluated.saturating_add(1);
        answer
    }

    /// Filters that were evaluated.
    pub(super) fn evaluated(&self) -> u64 {
        self.evaluated
    }
}

/// Whether a change is for one reader alone, and another one (RTPS 2.5 §9.6.4.6).
pub(super) fn is_for_another(change: &Change, reader: Guid) -> bool {
    let list = change.inline_qos.as_ref();
    let directed = list.and_then(|list| params::find_in_open_list(list, pid::DIRECTED_WRITE));
    directed.is_some_and(|directed| directed != reader.to_bytes())
}

impl ReaderProxy {
    /// Whether it may be that it is not sent a change when that is new.
    pub(super) fn withholds(&self) -> bool {
        let set_is_open = self.begun_set.as_ref().is_some_and(|set| set.is_open());
        self.cfg.filter.is_some() || self.separation.is_some() || set_is_open
    }

    /// Whether a change is of the coherent set in the middle of which the reader came.
    pub(super) fn came_after_the_begin(&self, change: &Change) -> bool {
        self.begun_set.as_ref().is_some_and(|set| set.contains(change))
    }

    /// Whether a new change is not for it: it is for another reader alone, of a set that it has not whole, or its filter rejects it.
    pub(in crate::writer) fn content_rejects(&self, change: &Change) -> bool {
        is_for_another(change, self.guid())
            || self.came_after_the_begin(change)
            || self.cfg.filter.as_ref().is_some_and(|filter| filter.rejects(change))
    }

    /// The signature under which the reader is told of its filter.
    pub(in crate::writer) fn filter_signature(&self) -> Option<[u8; 16]> {
        self.cfg.filter.as_ref().and_then(|filter| filter.signature())
    }

    /// Whether a change need not be sent to this reader when it asks for it. A best-effort reader cannot be told in time what
    /// of the history it does not get.
    pub(in crate::writer) fn rejects(&self, change: &Change) -> bool {
        let filter =
            self.cfg.filter.as_ref().filter(|_| self.reliable || self.state != ReaderState::CatchingUp);
        filter.is_some_and(|filter| filter.rejects(change))
            || self.is_overtaken(change.sn)
            || is_for_another(change, self.guid())
            || self.came_after_the_begin(change)
    }

    pub(in crate::writer) fn receives_at(&self, destinations: &[Locator]) -> bool {
        let mut own = self.cfg.unicast.iter().chain(self.cfg.multicast.iter());
        own.any(|locator| destinations.contains(locator))
    }
}
