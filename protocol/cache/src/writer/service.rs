//! DURABILITY_SERVICE at the writer (DDS 1.4 §2.2.3.5): which changes late joiners get that nobody else waits for.
//!
//! HISTORY and RESOURCE_LIMITS then bound what is in flight to present readers, and a change that everybody has, or that
//! HISTORY gives up, is stored as these policies say. A limit of the store never lets a write wait or fail: the oldest
//! that is stored makes room.

use alloc::vec::Vec;

use dunlin_core::{Counter, Duration, MonoTime, Now, SequenceNumber};
use dunlin_qos::{DurabilityService, History, ResourceLimits};
use dunlin_rtps::ChangeKind;

use super::WriterCache;
use super::instance::{RemovalQueue, STORED};
use crate::limits::Limits;
use crate::list::List;
use crate::slab::{Id, NIL};
use crate::timers::TimerHeap;

/// What is stored for late joiners alone.
#[derive(Debug)]
pub(super) struct Service {
    limits: Limits,
    cleanup_delay: Duration,
    /// In the order of storing.
    stored: List<STORED>,
    /// Instances with stored changes.
    instances: Counter,
    /// Up to here nothing is in flight: it is stored, or gone.
    settled: SequenceNumber,
    /// When what is stored of instances that have ended is forgotten.
    cleanups: TimerHeap,
}

impl Service {
    pub(super) fn new(policy: &DurabilityService) -> Self {
        let history = History { kind: policy.history_kind, depth: policy.history_depth };
        let limits = ResourceLimits {
            max_samples: policy.max_samples,
            max_instances: policy.max_instances,
            max_samples_per_instance: policy.max_samples_per_instance,
        };
        Self {
            limits: Limits::new(history, limits),
            cleanup_delay: policy.service_cleanup_delay,
            stored: List::new(),
            instances: Counter::ZERO,
            settled: SequenceNumber::ZERO,
            cleanups: TimerHeap::new(),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.stored.len()
    }

    pub(super) fn next_cleanup(&self) -> Option<MonoTime> {
        self.cleanups.peek().map(|(time, _)| time)
    }

    /// The instance is not known any more.
    pub(super) fn forget(&mut self, instance: Id) {
        self.cleanups.remove(instance);
    }

    /// Changes of one instance that late joiners get.
    fn kept_per_instance(&self) -> usize {
        let per_instance = self.limits.samples_per_instance;
        self.limits.depth.map_or(per_instance, |depth| depth.min(per_instance))
    }
}

impl WriterCache {
    /// The first change that is in flight to present readers.
    pub(super) fn first_live(&mut self) -> Option<(SequenceNumber, Id)> {
        loop {
            let service = self.service.as_mut()?;
            let (sn, id) = self.index.at_or_after(service.settled.next())?;
            let entry = self.changes.get(id)?;
            if !entry.stored && entry.instance != NIL {
                return Some((sn, id));
            }
            service.settled = sn;
        }
    }

    /// Present readers do not need a change any more: it is stored for late joiners, or gone.
    pub(super) fn retire(&mut self, id: Id) {
        let owner = self.changes.get(id).map(|entry| entry.instance);
        let owner = owner.filter(|_| self.service.is_some());
        let known = owner.and_then(|owner| self.instances.get(owner));
        let Some(owner) = owner.filter(|_| known.is_some_and(|instance| !instance.cleaned)) else {
            self.remove_change(id);
            return;
        };
        self.unlink(id);
        let (Some(service), Some(instance)) = (&mut self.service, self.instances.get_mut(owner)) else {
            return;
        };
        if let Some(entry) = self.changes.get_mut(id) {
            entry.stored = true;
        }
        service.instances.add(usize::from(instance.stored.is_empty()));
        instance.stored.push_back(&mut self.changes, id);
        service.stored.push_back(&mut self.changes, id);
        self.trim_stored(owner);
    }

    /// Takes a change out of the lists it is in.
    pub(super) fn unlink(&mut self, id: Id) {
        let Some(entry) = self.changes.get(id) else { return };
        let (owner, stored) = (entry.instance, entry.stored);
        // The end of a set is of no instance.
        let Some(instance) = self.instances.get_mut(owner) else { return };
        if !stored {
            let was = instance.samples.len();
            instance.samples.remove(&mut self.changes, id);
            if was == 2 {
                self.crowded.remove(&mut self.instances, owner);
            }
            return;
        }
        instance.stored.remove(&mut self.changes, id);
        let last = instance.stored.is_empty();
        if let Some(service) = &mut self.service {
            service.stored.remove(&mut self.changes, id);
            service.instances.subtract(usize::from(last));
        }
    }

    /// Drops what is stored beyond the limits, the oldest first. What is in flight counts too: late joiners get it as well.
    pub(super) fn trim_stored(&mut self, owner: Id) {
        let Some(service) = &self.service else { return };
        let (kept, samples, instances) =
            (service.kept_per_instance(), service.limits.samples, service.limits.instances);
        while let Some(instance) = self.instances.get(owner)
            && !instance.stored.is_empty()
            && instance.samples.len().saturating_add(instance.stored.len()) > self.with_end(owner, kept)
        {
            let oldest = instance.stored.head();
            self.remove_change(oldest);
        }
        let total = |cache: &Self| cache.changes.len().saturating_sub(cache.ends.len());
        while total(self) > samples && self.drop_oldest_stored() {}
        while self.service.as_ref().is_some_and(|service| service.instances.get() > instances) {
            let oldest = self.service.as_ref().map_or(NIL, |service| service.stored.head());
            let Some(entry) = self.changes.get(oldest) else { return };
            self.drop_stored(entry.instance);
        }
    }

    /// An unregistration that does not dispose leaves the last values to late joiners.
    fn with_end(&self, owner: Id, kept: usize) -> usize {
        let newest = self.instances.get(owner).and_then(|instance| {
            let tail =
                if instance.samples.is_empty() { instance.stored.tail() } else { instance.samples.tail() };
            self.changes.get(tail)
        });
        let unregistered = newest.is_some_and(|entry| entry.change.kind == ChangeKind::Unregistered);
        kept.saturating_add(usize::from(unregistered))
    }

    fn drop_oldest_stored(&mut self) -> bool {
        let oldest = self.service.as_ref().map_or(NIL, |service| service.stored.head());
        self.remove_change(oldest);
        oldest != NIL
    }

    /// Drops everything that is stored of an instance.
    fn drop_stored(&mut self, id: Id) {
        while let Some(instance) = self.instances.get(id)
            && !instance.stored.is_empty()
        {
            let oldest = instance.stored.head();
            self.remove_change(oldest);
        }
    }

    /// An instance that is disposed and has no writer is remembered for service_cleanup_delay; any other, for good.
    pub(super) fn plan_cleanup(&mut self, now: Now, id: Id) {
        let (Some(service), Some(instance)) = (&mut self.service, self.instances.kept_mut(id)) else {
            return;
        };
        instance.cleaned = false;
        if instance.right_removal_queue() != RemovalQueue::Gone {
            service.cleanups.remove(id);
        } else if service.cleanup_delay == Duration::ZERO {
            self.clean_up(id);
        } else if !service.cleanup_delay.is_infinite() {
            service.cleanups.set(id, now.mono.plus(service.cleanup_delay));
        }
    }

    /// What is stored goes; what is still in flight goes when it has arrived.
    fn clean_up(&mut self, id: Id) {
        if let Some(service) = &mut self.service {
            service.cleanups.remove(id);
        }
        if let Some(instance) = self.instances.kept_mut(id) {
            instance.cleaned = true;
        }
        self.drop_stored(id);
    }

    /// Forgets the instances whose time is over.
    pub(super) fn cleanups_due(&mut self, now: Now) {
        let mut due: Vec<Id> = Vec::new();
        if let Some(service) = &mut self.service {
            while let Some((time, id)) = service.cleanups.peek()
                && time <= now.mono
            {
                service.cleanups.remove(id);
                due.push(id);
            }
        }
        due.into_iter().for_each(|id| self.clean_up(id));
    }
}
