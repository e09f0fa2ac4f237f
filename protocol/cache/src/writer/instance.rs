//! The instances a writer knows (DDS 1.4 §2.2.2.4.2.5 register_instance to §2.2.2.4.2.13 dispose).

use dunlin_buf::SharedBytes;
use dunlin_core::{InstanceHandle, MonoTime, SequenceNumber};
use dunlin_rtps::{Change, ChangeKind};

use super::WriterCache;
use crate::list::{Links, List, linked};
use crate::slab::{Id, NIL};

pub(super) const OF_INSTANCE: usize = 0;
pub(super) const STORED: usize = 1;
pub(super) const REMOVAL_QUEUE: usize = 0;
pub(super) const CROWDED: usize = 1;

/// A change with its place among those of its instance.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) change: Change,
    pub(super) instance: Id,
    /// Nobody but late joiners needs it.
    pub(super) stored: bool,
    instance_links: Links,
    stored_links: Links,
}
linked!(Entry, OF_INSTANCE, instance_links);
linked!(Entry, STORED, stored_links);

impl Entry {
    pub(super) const fn new(change: Change, instance: Id) -> Self {
        Self { change, instance, stored: false, instance_links: Links::NONE, stored_links: Links::NONE }
    }
}

/// Where an instance waits for its removal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RemovalQueue {
    /// In use.
    None,
    /// Disposed: its samples go when room is needed.
    Disposed,
    /// Unregistered, not disposed: goes when room is needed.
    Idle,
    /// Disposed and unregistered: goes when everybody knows.
    Gone,
}

#[derive(Debug)]
pub(super) struct Instance {
    pub(super) handle: InstanceHandle,
    pub(super) key: Option<SharedBytes>,
    pub(super) registered: bool,
    pub(super) disposed: bool,
    pub(super) samples: List<OF_INSTANCE>,
    /// Its changes for late joiners alone, all older than `samples`.
    pub(super) stored: List<OF_INSTANCE>,
    /// It has ended, and what has arrived is not stored.
    pub(super) cleaned: bool,
    /// Sequence number of its newest change.
    pub(super) newest: SequenceNumber,
    /// When the next write is due; the end of time while none is.
    pub(super) deadline: MonoTime,
    pub(super) removal_queue: RemovalQueue,
    removal_links: Links,
    crowded_links: Links,
}
linked!(Instance, REMOVAL_QUEUE, removal_links);
linked!(Instance, CROWDED, crowded_links);

impl Instance {
    fn new(handle: InstanceHandle) -> Self {
        Self {
            handle,
            key: None,
            registered: false,
            disposed: false,
            samples: List::new(),
            stored: List::new(),
            cleaned: false,
            newest: SequenceNumber::ZERO,
            deadline: MonoTime::MAX,
            removal_queue: RemovalQueue::None,
            removal_links: Links::NONE,
            crowded_links: Links::NONE,
        }
    }

    fn apply(&mut self, kind: ChangeKind) {
        match kind {
            ChangeKind::Alive => (self.registered, self.disposed) = (true, false),
            ChangeKind::Disposed => (self.registered, self.disposed) = (true, true),
            ChangeKind::Unregistered => self.registered = false,
            ChangeKind::DisposedUnregistered => (self.registered, self.disposed) = (false, true),
        }
    }

    pub(super) const fn right_removal_queue(&self) -> RemovalQueue {
        match (self.registered, self.disposed) {
            (true, false) => RemovalQueue::None,
            (true, true) => RemovalQueue::Disposed,
            (false, false) => RemovalQueue::Idle,
            (false, true) => RemovalQueue::Gone,
        }
    }
}

impl WriterCache {
    /// The instance of a raw handle (one whose octets are the key hash).
    pub(super) fn find(&self, raw: InstanceHandle) -> Option<Id> {
        if self.instances.get(self.recent).is_some_and(|instance| instance.handle == raw) {
            return Some(self.recent);
        }
        self.by_handle.get(&raw).copied()
    }

    pub(super) fn find_or_create(&mut self, raw: InstanceHandle) -> Id {
        let id = self.find(raw).unwrap_or_else(|| {
            let id = self.instances.insert(Instance::new(raw));
            self.by_handle.insert(raw, id);
            id
        });
        self.recent = id;
        id
    }

    /// Takes over what the newest change says of its instance.
    pub(super) fn apply_kind(&mut self, id: Id, kind: ChangeKind) {
        let Some(instance) = self.instances.kept_mut(id) else { return };
        instance.apply(kind);
        self.put_in_right_removal_queue(id);
    }

    /// Moves an instance to the end of the removal queue that fits its state.
    fn put_in_right_removal_queue(&mut self, id: Id) {
        let Some(instance) = self.instances.kept(id) else { return };
        let removal_queue = instance.right_removal_queue();
        if instance.removal_queue == RemovalQueue::None && removal_queue == RemovalQueue::None {
            return;
        }
        self.take_out_of_removal_queue(id);
        if let Some(list) = self.removal_queues.get(removal_queue) {
            list.push_back(&mut self.instances, id);
        }
        if let Some(instance) = self.instances.kept_mut(id) {
            instance.removal_queue = removal_queue;
        }
    }

    fn take_out_of_removal_queue(&mut self, id: Id) {
        let Some(instance) = self.instances.kept_mut(id) else { return };
        let removal_queue = core::mem::replace(&mut instance.removal_queue, RemovalQueue::None);
        if let Some(list) = self.removal_queues.get(removal_queue) {
            list.remove(&mut self.instances, id);
        }
    }

    /// Removes all changes of an instance, and the instance itself unless it is registered.
    pub(super) fn purge(&mut self, id: Id) {
        self.take_out_of_removal_queue(id);
        while let Some(instance) = self.instances.get(id) {
            let oldest =
                if instance.stored.is_empty() { instance.samples.head() } else { instance.stored.head() };
            if oldest == NIL {
                break;
            }
            self.remove_change(oldest);
        }
        self.forget_if_unused(id);
    }

    /// Removes one change, if there is one; its instance too when that was the last trace of it.
    pub(super) fn remove_change(&mut self, id: Id) {
        let Some(entry) = self.changes.get(id) else { return };
        let (sn, owner) = (entry.change.sn, entry.instance);
        self.octets.removed(&entry.change);
        self.index.remove(sn);
        if self.expiries.peek().is_some() {
            self.expiries.remove(id);
        }
        self.unlink(id);
        self.changes.clear(id);
        self.forget_if_unused(owner);
        if !self.ends.is_empty() {
            self.end_after(sn);
        }
    }

    #[inline]
    fn forget_if_unused(&mut self, id: Id) {
        let Some(instance) = self.instances.get(id) else { return };
        if instance.registered || !instance.samples.is_empty() || !instance.stored.is_empty() {
            return;
        }
        let handle = instance.handle;
        self.take_out_of_removal_queue(id);
        self.deadlines.remove(id);
        if let Some(service) = &mut self.service {
            service.forget(id);
        }
        self.by_handle.remove(&handle);
        self.instances.remove(id);
        if self.recent == id {
            self.recent = NIL;
        }
    }
}

/// The instances that wait for removal, the longest waiting first.
#[derive(Debug)]
pub(super) struct RemovalQueues {
    pub(super) disposed: List<REMOVAL_QUEUE>,
    pub(super) idle: List<REMOVAL_QUEUE>,
    pub(super) gone: List<REMOVAL_QUEUE>,
}

impl RemovalQueues {
    pub(super) const fn new() -> Self {
        Self { disposed: List::new(), idle: List::new(), gone: List::new() }
    }

    fn get(&mut self, removal_queue: RemovalQueue) -> Option<&mut List<REMOVAL_QUEUE>> {
        match removal_queue {
            RemovalQueue::None => None,
            RemovalQueue::Disposed => Some(&mut self.disposed),
            RemovalQueue::Idle => Some(&mut self.idle),
            RemovalQueue::Gone => Some(&mut self.gone),
        }
    }
}
