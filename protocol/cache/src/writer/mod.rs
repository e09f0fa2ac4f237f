//! A writer's history (RTPS 2.5 §8.2.3 HistoryCache; DDS 1.4 §2.2.2.4.2 and §2.2.3.18).

mod config;
mod ends;
mod index;
mod instance;
mod octets;
mod room;
mod service;
mod timing;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

pub use config::{AddError, NewChange, WriterCacheConfig};
use dunlin_buf::SharedBytes;
use dunlin_core::{InstanceHandle, MonoTime, Now, SequenceNumber, WallTime};
use dunlin_rtps::{Change, ChangeKind, WriterHistory};
use ends::SetEnds;
use index::SnIndex;
use instance::{CROWDED, Entry, Instance, RemovalQueue, RemovalQueues};
use octets::Octets;
use service::Service;

use crate::handle::{instance_handle, key_hash};
use crate::limits::Limits;
use crate::list::List;
use crate::slab::{Id, NIL, Slab};
use crate::timers::{DeadlineMissed, TimerHeap, expiry};

/// The changes a writer may have to send again, by sequence number and by instance.
///
/// Handles are those of [`instance_handle`]; the key hash itself will do as well. In
/// [`Change::instance`](dunlin_rtps::Change::instance) stands the key hash.
#[derive(Debug)]
pub struct WriterCache {
    config: WriterCacheConfig,
    limits: Limits,
    changes: Slab<Entry>,
    index: SnIndex,
    last_sn: SequenceNumber,
    last_source_timestamp: Option<WallTime>,
    instances: Slab<Instance>,
    by_handle: BTreeMap<InstanceHandle, Id>,
    /// The instance used last: most writes go to the same one again.
    recent: Id,
    removal_queues: RemovalQueues,
    /// Instances with several samples.
    crowded: List<CROWDED>,
    octets: Octets,
    expiries: TimerHeap,
    deadlines: TimerHeap,
    /// Missed deadlines that the timer has yet to report.
    overdue: Vec<DeadlineMissed>,
    /// The ends of coherent sets. They count as no samples.
    ends: SetEnds,
    /// What is kept for late joiners alone, if that is not what HISTORY keeps.
    service: Option<Service>,
}

impl WriterCacheConfig {
    /// The handle whose octets are the key hash; the same for all changes of a topic without key.
    fn raw(&self, handle: InstanceHandle) -> InstanceHandle {
        if self.keyed { InstanceHandle(key_hash(handle)) } else { InstanceHandle::NIL }
    }

    /// The handle to show for a raw one.
    fn show(&self, raw: InstanceHandle) -> InstanceHandle {
        if self.keyed { instance_handle(raw.0) } else { InstanceHandle::NIL }
    }
}

impl WriterCache {
    /// An empty history.
    #[must_use]
    pub fn new(config: WriterCacheConfig) -> Self {
        Self {
            limits: Limits::new(config.history, config.resource_limits),
            service: config.service.as_ref().map(Service::new),
            config,
            changes: Slab::new(),
            index: SnIndex::default(),
            last_sn: SequenceNumber::ZERO,
            last_source_timestamp: None,
            instances: Slab::new(),
            by_handle: BTreeMap::new(),
            recent: NIL,
            removal_queues: RemovalQueues::new(),
            crowded: List::new(),
            octets: Octets::default(),
            expiries: TimerHeap::new(),
            deadlines: TimerHeap::new(),
            overdue: Vec::new(),
            ends: SetEnds::default(),
        }
    }

    /// Only an instance that is registered can be unregistered.
    ///
    /// # Errors
    /// `NotRegistered`.
    pub fn check_registered(&self, instance: InstanceHandle, kind: ChangeKind) -> Result<(), AddError> {
        let unregisters = matches!(kind, ChangeKind::Unregistered | ChangeKind::DisposedUnregistered);
        if unregisters && !self.is_registered(instance) {
            return Err(AddError::NotRegistered);
        }
        Ok(())
    }

    /// Adds a change under the next sequence number, making room as the policies allow. `acked_by_all` is the highest
    /// number that every reliable reader has acknowledged with everything below it.
    ///
    /// # Errors
    /// When there is no room, or an instance that is not registered is to be unregistered. The history then keeps
    /// everything that is not acknowledged.
    pub fn add(
        &mut self,
        now: Now,
        change: NewChange,
        acked_by_all: SequenceNumber,
    ) -> Result<SequenceNumber, AddError> {
        self.check_registered(change.instance, change.kind)?;
        let raw = self.config.raw(change.instance);
        self.remove_acked(acked_by_all);
        self.make_room(self.find(raw), change.kind, acked_by_all)?;
        let id = self.find_or_create(raw);
        let sn = self.store(now, id, change);
        Ok(sn)
    }

    /// The same of a sample that nothing but its instance, its timestamp and its payload is to be said of, if there is room and
    /// no policy asks for more than that it is kept. Else it is given back, and the history is as before, but for what is
    /// acknowledged.
    ///
    /// # Errors
    /// The payload.
    pub fn append(
        &mut self,
        (instance, source_timestamp): (InstanceHandle, WallTime),
        payload: SharedBytes,
        acked_by_all: SequenceNumber,
    ) -> Result<SequenceNumber, SharedBytes> {
        let timed = !self.config.deadline.is_infinite() || !self.config.lifespan.is_infinite();
        if timed || self.service.is_some() || !self.ends.is_empty() {
            return Err(payload);
        }
        self.remove_acked(acked_by_all);
        let Some(id) = self.find(self.config.raw(instance)) else { return Err(payload) };
        let kept = self.kept_per_instance();
        let Some(known) = self.instances.kept_mut(id) else { return Err(payload) };
        let crowded = kept.is_none() && known.samples.len() >= self.limits.samples_per_instance;
        if crowded
            || known.removal_queue != RemovalQueue::None
            || known.disposed
            || !known.registered
            || self.changes.len() >= self.limits.samples
        {
            return Err(payload);
        }
        let sn = self.last_sn.next();
        let handle = known.handle;
        self.recent = id;
        self.last_sn = sn;
        self.last_source_timestamp = self.last_source_timestamp.max(Some(source_timestamp));
        let change = Change {
            sn,
            kind: ChangeKind::Alive,
            instance: handle,
            source_timestamp,
            payload: (!payload.is_empty()).then_some(payload),
            inline_qos: None,
        };
        self.octets.added(&change);
        let entry = self.changes.insert(Entry::new(change, id));
        self.index.push(sn, entry);
        self.link(id, entry, sn);
        if kept.is_some() {
            self.trim(id, ChangeKind::Alive);
        }
        Ok(sn)
    }

    /// Makes the room that [`add`](Self::add) would need for a sample, so that a caller need not hold a large one while
    /// it waits. Under KEEP_LAST and BEST_EFFORT adding never waits, and nothing is done ahead.
    ///
    /// # Errors
    /// When there is none yet, or will be none.
    pub fn make_room_for(
        &mut self,
        instance: InstanceHandle,
        acked_by_all: SequenceNumber,
    ) -> Result<(), AddError> {
        if self.kept_per_instance().is_some() {
            return Ok(());
        }
        let raw = self.config.raw(instance);
        self.remove_acked(acked_by_all);
        self.make_room(self.find(raw), ChangeKind::Alive, acked_by_all)
    }

    /// Adds the end of a coherent set that began with `first` at this writer (RTPS 2.5 §8.7.5, §8.7.6): a change of no
    /// instance that has nothing but inline QoS. It stays as long as a change of its set does, and until it is acknowledged.
    pub fn add_set_end(
        &mut self,
        source_timestamp: WallTime,
        first: SequenceNumber,
        inline_qos: SharedBytes,
        acked_by_all: SequenceNumber,
    ) -> SequenceNumber {
        self.ends_acked(acked_by_all);
        let sn = self.last_sn.next();
        self.last_sn = sn;
        let change = Change {
            sn,
            kind: ChangeKind::Alive,
            instance: InstanceHandle::NIL,
            source_timestamp,
            payload: None,
            inline_qos: Some(inline_qos),
        };
        let entry = self.changes.insert(Entry::new(change, NIL));
        self.index.push(sn, entry);
        self.ends.push(first, sn);
        sn
    }

    /// Samples that count against the limits of the writer: without the ends of sets and what is stored. `changes` has all three;
    /// an end is of no instance and so never stored.
    fn sample_count(&self) -> usize {
        let stored = self.service.as_ref().map_or(0, Service::len);
        self.changes.len().saturating_sub(self.ends.len()).saturating_sub(stored)
    }

    /// Gives a change that is in the history its inline QoS.
    pub fn set_inline_qos(&mut self, sn: SequenceNumber, inline_qos: SharedBytes) {
        if let Some(entry) = self.index.get(sn).and_then(|id| self.changes.kept_mut(id)) {
            entry.change.inline_qos = Some(inline_qos);
        }
    }

    /// Ends a registered instance for a writer that goes away: nothing gives way to that, and no limit holds it up. `None`
    /// if the instance is not registered.
    pub fn end_instance(
        &mut self,
        now: Now,
        instance: InstanceHandle,
        kind: ChangeKind,
        source_timestamp: WallTime,
    ) -> Option<SequenceNumber> {
        let id = self.find(self.config.raw(instance))?;
        let known = self.instances.get(id).filter(|known| known.registered)?;
        let payload = known.key.clone();
        Some(self.put(now, id, NewChange { kind, instance, source_timestamp, payload, inline_qos: None }))
    }

    fn store(&mut self, now: Now, id: Id, change: NewChange) -> SequenceNumber {
        let kind = change.kind;
        let sn = self.put(now, id, change);
        self.trim(id, kind);
        self.trim_stored(id);
        sn
    }

    fn put(&mut self, now: Now, id: Id, change: NewChange) -> SequenceNumber {
        let NewChange { kind, source_timestamp, payload, inline_qos, .. } = change;
        let sn = self.last_sn.next();
        self.last_sn = sn;
        self.last_source_timestamp = self.last_source_timestamp.max(Some(source_timestamp));
        if kind != ChangeKind::Alive {
            self.note_key(id, payload.as_ref());
        }
        let instance = self.instances.kept(id).map_or(InstanceHandle::NIL, |instance| instance.handle);
        let change = Change { sn, kind, instance, source_timestamp, payload, inline_qos };
        self.octets.added(&change);
        let entry = self.changes.insert(Entry::new(change, id));
        self.index.push(sn, entry);
        self.link(id, entry, sn);
        self.apply_kind(id, kind);
        self.plan_cleanup(now, id);
        if kind == ChangeKind::Alive {
            self.start_deadline(now, id);
            // A sample that is stale when it is written still goes out once, and leaves with the next timer.
            let end = expiry(now, source_timestamp, self.config.lifespan).unwrap_or(now.mono);
            if end != MonoTime::MAX {
                self.expiries.set(entry, end);
            }
        } else {
            self.stop_deadline(now, id);
        }
        sn
    }

    fn link(&mut self, id: Id, entry: Id, sn: SequenceNumber) {
        let Some(instance) = self.instances.kept_mut(id) else { return };
        instance.samples.push_back(&mut self.changes, entry);
        instance.newest = sn;
        if instance.samples.len() == 2 {
            self.crowded.push_back(&mut self.instances, id);
        }
    }

    /// Drops what exceeds the depth. An unregistration that does not dispose leaves the last values to late joiners.
    fn trim(&mut self, id: Id, kind: ChangeKind) {
        let Some(mut kept) = self.kept_per_instance() else { return };
        if kind == ChangeKind::Unregistered && self.retains() {
            kept = kept.saturating_add(1);
        }
        while let Some(instance) = self.instances.get(id)
            && instance.samples.len() > kept
        {
            let oldest = instance.samples.head();
            self.retire(oldest);
        }
    }

    /// Removes what no reader will ask for again: with VOLATILE durability every acknowledged change, else the
    /// acknowledged changes of instances that were disposed and unregistered, or what DURABILITY_SERVICE does not keep.
    /// Returns how many were removed.
    pub fn remove_acked(&mut self, acked_by_all: SequenceNumber) -> usize {
        let before = self.changes.len();
        if self.retains() {
            while let Some(instance) = self.instances.get(self.removal_queues.gone.head())
                && instance.newest <= acked_by_all
            {
                self.purge(self.removal_queues.gone.head());
            }
        } else if self.service.is_some() {
            while let Some((sn, id)) = self.first_live()
                && sn <= acked_by_all
            {
                self.retire(id);
            }
        } else {
            while let Some((sn, id)) = self.index.first()
                && sn <= acked_by_all
            {
                self.remove_change(id);
            }
        }
        self.ends_acked(acked_by_all);
        before.saturating_sub(self.changes.len())
    }

    /// Registers an instance; registering it again does nothing. `key` is its serialized key, for
    /// [`WriterCache::instance_key`].
    ///
    /// # Errors
    /// When there are as many instances as RESOURCE_LIMITS allow.
    pub fn register(
        &mut self,
        now: Now,
        instance: InstanceHandle,
        key: Option<SharedBytes>,
        acked_by_all: SequenceNumber,
    ) -> Result<(), AddError> {
        let raw = self.config.raw(instance);
        if self.find(raw).is_none() {
            self.remove_acked(acked_by_all);
            self.make_room_for_instance(acked_by_all)?;
        }
        let id = self.find_or_create(raw);
        self.note_key(id, key.as_ref());
        let Some(instance) = self.instances.kept_mut(id) else { return Ok(()) };
        if !core::mem::replace(&mut instance.registered, true) {
            // Registration as such is not sent: until it is written, readers know the instance as it was, and it stays
            // in its removal queue.
            self.start_deadline(now, id);
            self.plan_cleanup(now, id);
        }
        Ok(())
    }

    fn note_key(&mut self, id: Id, key: Option<&SharedBytes>) {
        if let Some(instance) = self.instances.kept_mut(id)
            && instance.key.is_none()
        {
            instance.key = key.cloned();
        }
    }

    /// Keeps the serialized key of an instance, unless it is known already.
    pub fn set_instance_key(&mut self, instance: InstanceHandle, key: &SharedBytes) {
        if let Some(id) = self.find(self.config.raw(instance)) {
            self.note_key(id, Some(key));
        }
    }

    /// The serialized key of an instance.
    #[must_use]
    pub fn instance_key(&self, instance: InstanceHandle) -> Option<&SharedBytes> {
        self.instances.get(self.find(self.config.raw(instance))?)?.key.as_ref()
    }

    /// Whether the handle is one of an instance of this writer, registered or with samples in the history.
    #[must_use]
    pub fn contains_instance(&self, instance: InstanceHandle) -> bool {
        self.find(self.config.raw(instance)).is_some()
    }

    /// Whether the instance is registered, explicitly or by a write.
    #[must_use]
    pub fn is_registered(&self, instance: InstanceHandle) -> bool {
        let found = self.find(self.config.raw(instance)).and_then(|id| self.instances.get(id));
        found.is_some_and(|instance| instance.registered)
    }

    /// The registered instances with their serialized keys.
    pub fn registered_instances(&self) -> impl Iterator<Item = (InstanceHandle, Option<&SharedBytes>)> {
        let registered = self.instances.iter().map(|(_, instance)| instance).filter(|i| i.registered);
        registered.map(|instance| (self.config.show(instance.handle), instance.key.as_ref()))
    }

    /// The registered instances that are not disposed of: those that a writer which is deleted still has to end.
    pub fn living_instances(&self) -> impl Iterator<Item = InstanceHandle> {
        let living = self.instances.iter().map(|(_, instance)| instance);
        living.filter(|i| i.registered && !i.disposed).map(|instance| self.config.show(instance.handle))
    }

    /// How many changes the history holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether the history holds no change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.len() == 0
    }

    /// How many instances the history knows.
    #[must_use]
    pub fn instance_count(&self) -> usize {
        self.instances.len()
    }

    /// Takes a source timestamp that was given for something that is not sent.
    pub fn note_source_timestamp(&mut self, given: WallTime) {
        self.last_source_timestamp = self.last_source_timestamp.max(Some(given));
    }

    /// The latest source timestamp so far: later ones must not be earlier (DDS 1.4 §2.2.3.17).
    #[must_use]
    pub fn last_source_timestamp(&self) -> Option<WallTime> {
        self.last_source_timestamp
    }
}

impl WriterHistory for WriterCache {
    fn get(&self, sn: SequenceNumber) -> Option<&Change> {
        let change = &self.changes.get(self.index.get(sn)?)?.change;
        // What was lent and is lost is as gone as what was removed: readers are told so.
        change.payload.as_ref().is_none_or(SharedBytes::is_intact).then_some(change)
    }

    fn first_sn(&self) -> Option<SequenceNumber> {
        self.index.first().map(|(sn, _)| sn)
    }

    fn last_sn(&self) -> SequenceNumber {
        self.last_sn
    }

    fn next_at_or_after(&self, sn: SequenceNumber) -> Option<SequenceNumber> {
        self.index.at_or_after(sn).map(|(sn, _)| sn)
    }
}
