//! Making room in a writer's history (DDS 1.4 §2.2.3.14, §2.2.3.18, §2.2.3.19; §2.2.2.4.2.11 write).
//!
//! * BEST_EFFORT never blocks: the oldest sample goes.
//! * RELIABLE, KEEP_LAST: the oldest of the instance goes, acknowledged or not; when the samples of all instances
//!   together reach `max_samples`, older samples of instances with several go first.
//! * RELIABLE, KEEP_ALL: only what is acknowledged goes, and with TRANSIENT_LOCAL durability only what belongs to
//!   instances that were disposed or unregistered.
//! * With a DURABILITY_SERVICE, what is kept for late joiners has its own limits (see `service`).

use dunlin_core::{InstanceHandle, SequenceNumber};
use dunlin_qos::DurabilityKind;
use dunlin_rtps::ChangeKind;

use super::WriterCache;
use super::config::AddError;
use super::instance::RemovalQueue;
use crate::slab::{Id, NIL};

/// How many instances with several samples are looked at for one whose oldest is acknowledged.
const PROBES: usize = 16;

impl WriterCache {
    /// Whether acknowledged changes stay where they are, for late joiners.
    #[must_use]
    pub fn retains(&self) -> bool {
        self.config.durability > DurabilityKind::Volatile && self.service.is_none()
    }

    /// The oldest change that only matched readers need, and that leaves, or is stored for late joiners, once they have
    /// acknowledged it. `None` if there is none, or acknowledged changes stay where they are, for late joiners.
    pub fn first_owed(&mut self) -> Option<SequenceNumber> {
        if self.retains() {
            return None;
        }
        let oldest = if self.service.is_some() { self.first_live() } else { self.index.first() };
        oldest.map(|(sn, _)| sn)
    }

    /// Changes that are in flight to matched readers, and those that are kept for late joiners unless a DURABILITY_SERVICE
    /// keeps them.
    #[must_use]
    pub fn owed(&self) -> usize {
        self.sample_count()
    }

    /// Makes the room that a change of this kind needs, or with `None` the one that registering the instance needs, if everything
    /// up to `acked` counts as acknowledged. Nothing is removed that need not be. How many changes behind `kept` were, which is
    /// not counted if that is no less.
    ///
    /// # Errors
    /// When there is none yet, or will be none.
    pub fn make_room_past(
        &mut self,
        instance: InstanceHandle,
        kind: Option<ChangeKind>,
        (kept, acked): (SequenceNumber, SequenceNumber),
    ) -> (Result<(), AddError>, usize) {
        let known = self.find(self.config.raw(instance));
        let count = |cache: &Self| if kept < acked { cache.index.count_after(kept) } else { 0 };
        let before = count(self);
        let result = match kind {
            Some(kind) => self.make_room(known, kind, acked),
            None if known.is_some() => Ok(()),
            None => self.make_room_for_instance(acked),
        };
        (result, before.saturating_sub(count(self)))
    }

    /// Removes an instance that was disposed and unregistered, of which nothing behind `acked` was written. How many changes
    /// behind `kept` went; `None` if there is no such instance, or it goes by itself.
    pub fn purge_gone(&mut self, (kept, acked): (SequenceNumber, SequenceNumber)) -> Option<usize> {
        let id =
            Some(self.removal_queues.gone.head()).filter(|id| self.retains() && self.is_acked(*id, acked))?;
        let before = self.index.count_after(kept);
        self.purge(id);
        Some(before.saturating_sub(self.index.count_after(kept)))
    }

    /// Whether adding a sample of `instance` may drop one with a higher number than `sent`, which is still to be sent.
    #[must_use]
    pub fn may_drop_after(&self, instance: InstanceHandle, sent: SequenceNumber) -> bool {
        let Some(kept) = self.kept_per_instance() else { return false };
        if self.sample_count() >= self.limits.samples {
            return true;
        }
        let known = self.find(self.config.raw(instance)).and_then(|id| self.instances.get(id));
        known.is_some_and(|found| found.samples.len() >= kept && found.newest > sent)
    }

    /// The change that another one displaces because the history is full and the writer never waits (BEST_EFFORT).
    #[must_use]
    pub fn gives_way(&mut self) -> Option<SequenceNumber> {
        if self.config.reliable || self.sample_count() < self.limits.samples {
            return None;
        }
        let oldest = if self.service.is_some() { self.first_live() } else { self.index.first() };
        oldest.map(|(sn, _)| sn)
    }

    fn count(&self, known: Option<Id>) -> usize {
        known.and_then(|id| self.instances.get(id)).map_or(0, |instance| instance.samples.len())
    }

    /// How many samples an instance keeps when another is added, by dropping its oldest; `None` when it has to wait
    /// instead.
    pub(super) fn kept_per_instance(&self) -> Option<usize> {
        match self.limits.depth {
            Some(depth) => Some(depth.min(self.limits.samples_per_instance)),
            None if !self.config.reliable => Some(self.limits.samples_per_instance),
            None => None,
        }
    }

    /// Sees to it that a change of this kind may be added.
    pub(super) fn make_room(
        &mut self,
        known: Option<Id>,
        kind: ChangeKind,
        acked: SequenceNumber,
    ) -> Result<(), AddError> {
        let result = self.make_room_for_sample(known, acked);
        // What ends an instance is what frees its room later: refusing it would leave the history full for good.
        // After a value, an instance can exceed the limits by one disposal and one unregistration.
        if result == Err(AddError::OutOfResources) && self.ends_instance(known, kind) {
            return Ok(());
        }
        result
    }

    fn ends_instance(&self, known: Option<Id>, kind: ChangeKind) -> bool {
        let Some(instance) = known.and_then(|id| self.instances.get(id)) else { return false };
        let newest = self.changes.get(instance.samples.tail()).map(|entry| entry.change.kind);
        match (kind, newest) {
            (ChangeKind::Alive, _) => false,
            (_, None | Some(ChangeKind::Alive)) => true,
            (kind, Some(ChangeKind::Disposed)) => kind != ChangeKind::Disposed,
            _ => false,
        }
    }

    fn make_room_for_sample(&mut self, known: Option<Id>, acked: SequenceNumber) -> Result<(), AddError> {
        if known.is_none() {
            self.make_room_for_instance(acked)?;
        }
        let count = self.count(known);
        match self.kept_per_instance() {
            Some(kept) if count >= kept => return Ok(()),
            None if count >= self.limits.samples_per_instance => self.make_room_within(known, acked)?,
            _ => {}
        }
        if self.sample_count() < self.limits.samples {
            return Ok(());
        }
        self.make_room_anywhere(acked)
    }

    /// Room for one more instance.
    pub(super) fn make_room_for_instance(&mut self, acked: SequenceNumber) -> Result<(), AddError> {
        if self.instances.len() < self.limits.instances {
            return Ok(());
        }
        loop {
            let candidates = [self.removal_queues.gone.head(), self.removal_queues.idle.head()];
            let free = |id: &Id| *id != NIL && (!self.config.reliable || self.is_acked(*id, acked));
            let Some(id) = candidates.iter().copied().find(free) else {
                let none = candidates == [NIL, NIL];
                return Err(if none { AddError::OutOfResources } else { AddError::WaitForAck });
            };
            // It stays if it was registered again.
            self.purge(id);
            if self.instances.len() < self.limits.instances {
                return Ok(());
            }
        }
    }

    fn is_acked(&self, id: Id, acked: SequenceNumber) -> bool {
        self.instances.get(id).is_some_and(|instance| instance.newest <= acked)
    }

    /// Room below `max_samples_per_instance` under RELIABLE and KEEP_ALL.
    fn make_room_within(&mut self, known: Option<Id>, acked: SequenceNumber) -> Result<(), AddError> {
        if !self.retains() {
            return Err(AddError::WaitForAck);
        }
        let Some((id, instance)) = known.and_then(|id| Some((id, self.instances.get(id)?))) else {
            return Err(AddError::OutOfResources);
        };
        if instance.removal_queue == RemovalQueue::None {
            return Err(self.full_of_retained());
        }
        if instance.newest > acked {
            return Err(AddError::WaitForAck);
        }
        self.purge(id);
        Ok(())
    }

    /// Room below `max_samples`.
    fn make_room_anywhere(&mut self, acked: SequenceNumber) -> Result<(), AddError> {
        if !self.config.reliable {
            let oldest = if self.service.is_some() { self.first_live() } else { self.index.first() };
            if let Some((_, oldest)) = oldest {
                self.retire(oldest);
            }
            return Ok(());
        }
        if !self.retains() && self.limits.depth.is_none() {
            return Err(AddError::WaitForAck);
        }
        let ended = self.service.is_none() && self.purge_ended_instance(acked);
        if ended || self.drop_from_crowded(acked) {
            return Ok(());
        }
        if !self.retains() {
            return Err(AddError::WaitForAck);
        }
        let ended = [&self.removal_queues.gone, &self.removal_queues.idle, &self.removal_queues.disposed];
        if ended.iter().any(|removal_queue| !removal_queue.is_empty()) {
            return Err(AddError::WaitForAck);
        }
        Err(self.full_of_retained())
    }

    /// What to answer when every sample is kept for late joiners.
    fn full_of_retained(&self) -> AddError {
        if self.config.lifespan.is_infinite() { AddError::OutOfResources } else { AddError::WaitForAck }
    }

    /// Removes the samples of the first instance that was disposed or unregistered and that everybody knows of.
    fn purge_ended_instance(&mut self, acked: SequenceNumber) -> bool {
        let before = self.changes.len();
        loop {
            let fronts = [
                self.removal_queues.gone.head(),
                self.removal_queues.idle.head(),
                self.removal_queues.disposed.head(),
            ];
            let Some(id) = fronts.into_iter().find(|id| self.is_acked(*id, acked)) else { return false };
            self.purge(id);
            if self.changes.len() < before {
                return true;
            }
        }
    }

    /// Under KEEP_LAST, drops the oldest sample of an instance that has several; an acknowledged one if it is found
    /// soon.
    fn drop_from_crowded(&mut self, acked: SequenceNumber) -> bool {
        if self.limits.depth.is_none() {
            return false;
        }
        let oldest_of = |(_, instance): (Id, &super::instance::Instance)| instance.samples.head();
        let is_acked = |id: &Id| self.changes.get(*id).is_some_and(|entry| entry.change.sn <= acked);
        let probed = self.crowded.iter(&self.instances).map(oldest_of).take(PROBES).find(is_acked);
        let Some(id) = probed.or_else(|| self.crowded.iter(&self.instances).map(oldest_of).next()) else {
            return false;
        };
        self.retire(id);
        true
    }
}
