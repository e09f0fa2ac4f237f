//! The part of an output that goes to readers of the same process.

use alloc::vec::Vec;
use core::mem;

use dunlin_core::{Guid, Locator, SequenceNumber};
use dunlin_rtps::LocalChange;

use super::Output;

/// A change on its way, where to, and which readers have taken it.
#[derive(Default)]
pub struct LocalDelivery {
    pub(crate) change: Option<LocalChange>,
    /// Where the readers are: [`Locator::LOCAL`], and others [`beside`](Locator::in_process) this participant.
    pub places: Vec<Locator>,
    /// Up to which change each reader needs nothing more.
    pub(crate) taken: Vec<(Guid, SequenceNumber)>,
}

impl LocalDelivery {
    pub(super) const fn new() -> Self {
        Self { change: None, places: Vec::new(), taken: Vec::new() }
    }

    /// Asks a writer for its change; false if that has to be sent.
    pub(crate) fn fill(&mut self, offer: impl FnOnce(&mut Vec<Locator>) -> Option<LocalChange>) -> bool {
        self.change = offer(&mut self.places);
        self.change.is_some()
    }

    pub(crate) fn is_some(&self) -> bool {
        self.change.is_some()
    }

    /// Forgets everything; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.change = None;
        self.places.clear();
        self.taken.clear();
    }
}

impl Output {
    /// The change to deliver, if there is one; give it [back](Self::give_back) afterwards.
    pub fn take_local_delivery(&mut self) -> Option<LocalDelivery> {
        self.local_delivery.change.is_some().then(|| mem::take(&mut self.local_delivery))
    }

    /// Keeps its memory.
    pub fn give_back(&mut self, delivery: LocalDelivery) {
        self.local_delivery = delivery;
        self.local_delivery.clear();
    }
}
