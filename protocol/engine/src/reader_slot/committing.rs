//! Readers that acknowledge what the application commits, and what it can never commit.

use alloc::vec::Vec;

use dunlin_core::{Guid, Now, SampleIdentity, SequenceNumber};
use dunlin_rtps::Received;

use super::{ReaderSlot, Store};
use crate::output::Output;

impl Store {
    /// A change that has waited is not shown.
    pub(crate) fn note_unshown(&mut self, change: &Received<'_>) {
        if let Some(unshown) = &mut self.unshown {
            unshown.push((change.writer, change.sn));
        }
    }

    /// What was taken to be shown, and went before the application could see it.
    pub(crate) fn take_unshown(&mut self) -> Vec<(Guid, SequenceNumber)> {
        let mut all = self.unshown.as_mut().map(core::mem::take).unwrap_or_default();
        all.append(&mut self.cache.take_gone_unseen());
        all
    }

    pub(super) fn has_unshown(&self) -> bool {
        self.cache.has_gone_unseen() || self.unshown.as_ref().is_some_and(|unshown| !unshown.is_empty())
    }
}

impl ReaderSlot {
    /// The application has stored everything of a writer up to a sample: see
    /// [`DataReaderQos::acknowledge_on_commit`](dunlin_qos::DataReaderQos::acknowledge_on_commit).
    pub fn commit(&self, now: Now, through: SampleIdentity, out: &mut Output) {
        let mut guard = self.protocol.lock();
        guard.reader.commit(now, through.writer, through.sequence_number, &mut out.outbox);
        self.arm_protocol(&mut guard, out);
    }
}
