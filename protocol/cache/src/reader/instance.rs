//! The instances a reader knows and the samples they hold (DDS 1.4 §2.2.2.5.1).

use dunlin_buf::SharedBytes;
use dunlin_core::{Counter, InstanceHandle, MonoTime, SequenceNumber, VendorId};

use super::ReaderCache;
use super::registration;
use super::sample::{OF_INSTANCE, OrderKey, Sample};
use super::states::{InstanceState, SampleStateMask, ViewState, selected};
use crate::handle::{KEYLESS_INSTANCE, instance_handle};
use crate::list::List;
use crate::slab::{Id, NIL};

#[derive(Debug)]
pub(super) struct Instance {
    pub(super) handle: InstanceHandle,
    pub(super) key: Option<SharedBytes>,
    /// Who serialized the key.
    pub(super) key_vendor: VendorId,
    pub(super) state: InstanceState,
    pub(super) view: ViewState,
    pub(super) disposed_generations: u32,
    pub(super) no_writers_generations: u32,
    /// In the order in which they are shown; the sample without data, if there is one, is the last.
    pub(super) samples: List<OF_INSTANCE>,
    /// How many of them were not read.
    pub(super) unread: Counter,
    /// The sample without data that carries a change of state, or [`NIL`].
    pub(super) marker: Id,
    /// The sample that the time-based filter holds back, or [`NIL`].
    pub(super) pending: Id,
    pub(super) registrations: List<{ registration::OF_INSTANCE }>,
    /// How many writers that are alive have registered the instance.
    pub(super) alive_writers: Counter,
    /// When the next sample is due; the end of time while none is.
    pub(super) deadline: MonoTime,
    /// When it was disposed of or lost its last writer, whichever came last; meaningless while it is alive.
    pub(super) ended: MonoTime,
    /// When a sample was last shown to the application.
    pub(super) delivered: Option<MonoTime>,
    /// The newest change by source timestamp.
    pub(super) latest: Option<OrderKey>,
    /// What is older than this by source timestamp comes too late.
    pub(super) floor: Option<OrderKey>,
    /// The walk through the cache that visited this instance last.
    pub(super) visited: u64,
    /// While ranks are computed: samples of this instance so far, and the generations of the newest.
    pub(super) rank: u32,
    pub(super) rank_generations: u32,
}

impl Instance {
    const fn new(handle: InstanceHandle) -> Self {
        Self {
            handle,
            key: None,
            key_vendor: VendorId::UNKNOWN,
            state: InstanceState::Alive,
            view: ViewState::New,
            disposed_generations: 0,
            no_writers_generations: 0,
            samples: List::new(),
            unread: Counter::ZERO,
            marker: NIL,
            pending: NIL,
            registrations: List::new(),
            alive_writers: Counter::ZERO,
            deadline: MonoTime::MAX,
            ended: MonoTime(0),
            delivered: None,
            latest: None,
            floor: None,
            visited: 0,
            rank: 0,
            rank_generations: 0,
        }
    }

    pub(super) const fn generations(&self) -> u32 {
        self.disposed_generations.saturating_add(self.no_writers_generations)
    }

    /// How many samples that take room are shown.
    pub(super) const fn valid_samples(&self) -> usize {
        let markers = if self.marker == NIL { 0 } else { 1 };
        debug_assert!(markers <= self.samples.len(), "the marker is a sample");
        self.samples.len().saturating_sub(markers)
    }

    /// How many samples were read.
    const fn read(&self) -> usize {
        debug_assert!(self.unread.get() <= self.samples.len(), "each of them is a sample");
        self.samples.len().saturating_sub(self.unread.get())
    }

    /// How many samples a mask selects.
    pub(super) fn matching(&self, mask: SampleStateMask) -> usize {
        selected(mask, self.read(), self.unread.get())
    }
}

impl ReaderCache {
    /// The handle under which an instance is shown, from that or from its key hash.
    pub(super) fn shown(&self, instance: InstanceHandle) -> InstanceHandle {
        if self.config.keyed { instance_handle(instance.0) } else { KEYLESS_INSTANCE }
    }

    /// The instance of a handle as shown.
    pub(super) fn find(&self, handle: InstanceHandle) -> Option<Id> {
        if self.instances.get(self.recent).is_some_and(|instance| instance.handle == handle) {
            return Some(self.recent);
        }
        self.by_handle.get(&handle).copied()
    }

    pub(super) fn find_or_create(&mut self, handle: InstanceHandle) -> Id {
        let id = self.find(handle).unwrap_or_else(|| {
            let id = self.instances.insert(Instance::new(handle));
            self.by_handle.insert(handle, id);
            id
        });
        self.recent = id;
        id
    }

    /// Forgets an instance without samples and writers, unless that has happened.
    pub(super) fn forget_if_unused(&mut self, id: Id) {
        let Some(instance) = self.instances.get(id) else { return };
        if instance.samples.is_empty() && instance.pending == NIL && instance.alive_writers.get() == 0 {
            self.forget(id);
        }
    }

    pub(super) fn forget(&mut self, id: Id) {
        while let Some(instance) = self.instances.get(id)
            && !instance.registrations.is_empty()
        {
            let registration = instance.registrations.head();
            self.remove_registration(registration);
        }
        self.timers.deadlines.remove(id);
        self.timers.separations.remove(id);
        self.timers.purges.remove(id);
        if let Some(instance) = self.instances.remove(id) {
            self.by_handle.remove(&instance.handle);
            self.account.release(instance.key.as_ref().map_or(0, |key| key.len()));
            self.gone.freed = true;
        }
        if self.recent == id {
            self.recent = NIL;
        }
    }

    /// Changes the states of an instance; its samples count under the new ones.
    pub(super) fn set_states(&mut self, id: Id, state: InstanceState, view: ViewState) {
        let Some(instance) = self.instances.kept_mut(id) else { return };
        let (unread, read) = (instance.unread.get(), instance.read());
        self.counts.subtract(instance.view, instance.state, read, unread);
        self.counts.add(view, state, read, unread);
        (instance.state, instance.view) = (state, view);
    }

    /// Shows an unread sample, after the sample `after` of its instance (first when [`NIL`]).
    pub(super) fn attach(&mut self, sample: Id, after: Id) {
        let Some(id) = self.samples.kept(sample).map(|sample| sample.instance) else { return };
        let Some(instance) = self.instances.kept_mut(id) else { return };
        instance.samples.insert_after(&mut self.samples, after, sample);
        instance.unread.add(1);
        self.arrival.push_back(&mut self.samples, sample);
        self.unread.push_back(&mut self.samples, sample);
        self.counts.add(instance.view, instance.state, 0, 1);
    }

    /// Removes a sample, if there is one, that the application has no further chance to see. The instance stays.
    pub(super) fn discard(&mut self, id: Id) {
        if let Some(sample) = self.samples.get(id).filter(|_| self.config.tells_unseen)
            && !sample.read
            && sample.sn > SequenceNumber::ZERO
        {
            self.gone.unseen_changes.push((sample.writer, sample.sn));
        }
        self.remove_sample(id);
    }

    /// Under KEEP_LAST, what a sample that is about to be shown replaces; true if there was something.
    pub(super) fn make_way(&mut self, id: Id) -> bool {
        let Some(depth) = self.limits.depth else { return false };
        let Some(instance) = self.instances.kept(id) else { return false };
        let full = instance.valid_samples() >= depth;
        let oldest = instance.samples.head();
        self.gone.unseen.arrives(full && self.is_unread(oldest));
        if full {
            self.discard(oldest);
        }
        full
    }

    /// A sample is shown: whether the next one of its instance replaces one that nobody has seen.
    pub(super) fn note_danger(&mut self, id: Id) {
        if let Some(depth) = self.limits.depth
            && let Some(instance) = self.instances.kept(id)
        {
            let next = instance.samples.head();
            self.gone.unseen.endanger(instance.valid_samples() >= depth && self.is_unread(next));
        }
    }

    fn is_unread(&self, sample: Id) -> bool {
        self.samples.get(sample).is_some_and(|sample| !sample.read)
    }

    /// Removes a sample, shown or held back, if there is one. The instance stays.
    pub(super) fn remove_sample(&mut self, id: Id) {
        let Some(sample) = self.samples.get(id) else { return };
        let (owner, read, pending) = (sample.instance, sample.read, sample.pending);
        let took_room = sample.takes_room();
        self.timers.expiries.remove(id);
        if took_room {
            if self.account.counts(sample.writer.prefix) {
                self.account.release(sample.octets());
            }
            self.valid_samples.subtract(1);
            self.gone.freed = true;
        }
        if pending {
            self.timers.separations.remove(owner);
        } else {
            self.detach(owner, id, read);
        }
        if let Some(instance) = self.instances.kept_mut(owner) {
            if instance.pending == id {
                instance.pending = NIL;
            }
            if instance.marker == id {
                instance.marker = NIL;
            }
        }
        self.samples.remove(id);
    }

    fn detach(&mut self, owner: Id, id: Id, read: bool) {
        self.arrival.remove(&mut self.samples, id);
        if !read {
            self.unread.remove(&mut self.samples, id);
        }
        let Some(instance) = self.instances.kept_mut(owner) else { return };
        instance.samples.remove(&mut self.samples, id);
        if read {
            self.counts.subtract(instance.view, instance.state, 1, 0);
        } else {
            instance.unread.subtract(1);
            self.counts.subtract(instance.view, instance.state, 0, 1);
        }
    }

    /// Notes that a shown sample was read.
    pub(super) fn mark_read(&mut self, id: Id) {
        let Some(sample) = self.samples.kept_mut(id) else { return };
        if core::mem::replace(&mut sample.read, true) {
            return;
        }
        let owner = sample.instance;
        self.unread.remove(&mut self.samples, id);
        let Some(instance) = self.instances.kept_mut(owner) else { return };
        instance.unread.subtract(1);
        self.counts.subtract(instance.view, instance.state, 0, 1);
        self.counts.add(instance.view, instance.state, 1, 0);
    }

    /// Stores a sample in the slab, not yet shown.
    pub(super) fn keep(&mut self, sample: Sample, expiry: MonoTime) -> Id {
        if sample.takes_room() {
            if self.account.counts(sample.writer.prefix) {
                self.account.hold(sample.octets());
            }
            self.valid_samples.add(1);
        }
        let id = self.samples.insert(sample);
        if expiry != MonoTime::MAX {
            self.timers.expiries.set(id, expiry);
        }
        id
    }

    /// Keeps the serialized key of an instance (with encapsulation header), unless it is known already. It is as the
    /// standard says, not as the writer would make it.
    pub fn set_instance_key(&mut self, instance: InstanceHandle, key: &[u8]) {
        self.set_key(instance, key, VendorId::UNKNOWN);
    }

    pub(super) fn set_key(&mut self, instance: InstanceHandle, key: &[u8], vendor: VendorId) {
        let Some(id) = self.find(self.shown(instance)) else { return };
        if let Some(instance) = self.instances.kept_mut(id)
            && instance.key.is_none()
        {
            (instance.key, instance.key_vendor) = (Some(SharedBytes::copy_from(key)), vendor);
            // The instance is there already: a key that is too much keeps later samples out.
            self.account.reserve(key.len(), 0);
            self.account.hold(key.len());
        }
    }

    /// The serialized key of an instance (`get_key_value`, DDS 1.4 §2.2.2.5.3.29), if the instance and its key are
    /// known, and whose implementation serialized it.
    #[must_use]
    pub fn instance_key(&self, instance: InstanceHandle) -> Option<(&SharedBytes, VendorId)> {
        let instance = self.instances.get(self.find(self.shown(instance))?)?;
        Some((instance.key.as_ref()?, instance.key_vendor))
    }

    /// Whether the handle names an instance that this reader knows.
    #[must_use]
    pub fn contains_instance(&self, instance: InstanceHandle) -> bool {
        self.instance_state(instance).is_some()
    }

    /// The state of an instance, if it is known.
    #[must_use]
    pub fn instance_state(&self, instance: InstanceHandle) -> Option<InstanceState> {
        Some(self.instances.get(self.find(self.shown(instance))?)?.state)
    }

    /// How many instances are known.
    #[must_use]
    pub fn instance_count(&self) -> usize {
        self.instances.len()
    }
}
