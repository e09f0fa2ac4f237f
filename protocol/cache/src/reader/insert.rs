//! What becomes of a change that arrives (DDS 1.4 §2.2.2.5.1; §2.2.3.12, §2.2.3.14, §2.2.3.18, §2.2.3.19).

use alloc::collections::BTreeMap;

use dunlin_buf::SharedBytes;
use dunlin_core::{Guid, Identities, InstanceHandle, MonoTime, Now, SequenceNumber, WallTime};
use dunlin_rtps::{ChangeKind, Received};

use super::ReaderCache;
use super::config::{FilterReason, Insert, RejectReason, Room, WriterInfo};
use super::sample::{OrderKey, Sample, boxed, octets_of, order_key};
use super::states::InstanceState;
use super::transition::Cause;
use crate::list::Links;
use crate::slab::{Id, NIL};
use crate::timers::expiry;

/// Payloads up to this many octets are copied when they keep a much larger buffer alive.
const SMALL: usize = 1024;
/// A buffer of this size is not worth a copy.
const HARMLESS: usize = 512;
/// A datagram of usual size, with room to spare.
const DATAGRAM: usize = 2048;

/// A change on its way in.
struct Arrival<'a> {
    handle: InstanceHandle,
    writer: Guid,
    sn: SequenceNumber,
    source: WallTime,
    payload: Option<&'a SharedBytes>,
    key_only: bool,
    identities: Identities,
    info: &'a WriterInfo,
}

impl<'a> Arrival<'a> {
    fn of(handle: InstanceHandle, now: Now, change: &'a Received<'_>, info: &'a WriterInfo) -> Self {
        Self {
            handle,
            writer: change.writer,
            sn: change.sn,
            source: change.source_timestamp.unwrap_or(now.wall),
            payload: change.payload.as_ref(),
            key_only: change.key_only,
            identities: change.identities,
            info,
        }
    }

    fn order_key(&self) -> OrderKey {
        order_key(self.source, (self.writer, self.sn), self.identities.original.as_ref())
    }

    const fn cause(&self) -> Cause {
        Cause { writer: self.writer, sn: self.sn, source: self.source, identities: self.identities }
    }
}

impl ReaderCache {
    /// Takes in a change. `instance` is the handle of its instance, or its key hash; it has no meaning when the topic
    /// has no key.
    ///
    /// A change that was rejected left no trace and can be offered again.
    pub fn insert(
        &mut self,
        now: Now,
        change: &Received<'_>,
        instance: InstanceHandle,
        writer: &WriterInfo,
    ) -> Insert {
        let handle = self.shown(instance);
        if self.insert_next(now, change, handle, writer) {
            return Insert::Stored { new_instance: false };
        }
        let arrival = Arrival::of(handle, now, change, writer);
        match change.kind {
            ChangeKind::Alive => match arrival.payload {
                Some(payload) if !change.key_only => self.insert_data(now, &arrival, payload),
                _ => Insert::Filtered(FilterReason::NoChange),
            },
            ChangeKind::Disposed => self.insert_disposal(now, &arrival, false),
            ChangeKind::DisposedUnregistered => self.insert_disposal(now, &arrival, true),
            ChangeKind::Unregistered => match self.find(arrival.handle) {
                Some(id) => self.insert_unregistration(now, id, &arrival, FilterReason::NoChange),
                None => Insert::Filtered(FilterReason::UnknownInstance),
            },
        }
    }

    /// Takes note of a change that came by another way already, so that there is nothing to see of it: of a known instance it shows
    /// that this writer is there too, who may own it, or no longer is.
    pub fn insert_copy(
        &mut self,
        now: Now,
        change: &Received<'_>,
        instance: InstanceHandle,
        writer: &WriterInfo,
    ) -> Insert {
        let arrival = Arrival::of(self.shown(instance), now, change, writer);
        let Some(id) = self.find(arrival.handle) else {
            return Insert::Filtered(FilterReason::UnknownInstance);
        };
        let changed = match change.kind {
            ChangeKind::Alive if arrival.payload.is_none() || change.key_only => false,
            // An instance without writers stays so until something of it can be seen.
            ChangeKind::Alive if self.has_writers(id) => self.touch_punctually(now, id, &arrival),
            ChangeKind::Disposed if self.has_writers(id) => {
                self.touch(now, id, arrival.writer, arrival.info, MonoTime::MAX)
            }
            ChangeKind::Alive | ChangeKind::Disposed => false,
            ChangeKind::Unregistered | ChangeKind::DisposedUnregistered => {
                self.unregister(now, id, &arrival.cause())
            }
        };
        Self::unseen(changed, FilterReason::NoChange)
    }

    /// Takes note of a sample whose content does not satisfy the filter of the reader (DDS 1.4 §2.2.2.3.3): there is
    /// nothing to see of it, but of a known instance it shows that its writer is there, who may thereby own it.
    pub fn insert_filtered(
        &mut self,
        now: Now,
        change: &Received<'_>,
        instance: InstanceHandle,
        writer: &WriterInfo,
    ) -> Insert {
        let arrival = Arrival {
            payload: None,
            key_only: false,
            ..Arrival::of(self.shown(instance), now, change, writer)
        };
        match self.find(arrival.handle) {
            // An instance without writers stays so until something of it can be seen.
            Some(id) if self.has_writers(id) && self.unwanted(now, id, &arrival).is_none() => {
                self.ignore(now, id, &arrival, FilterReason::Content)
            }
            _ => Insert::Filtered(FilterReason::Content),
        }
    }

    fn has_writers(&self, id: Id) -> bool {
        self.instances.kept(id).is_some_and(|found| found.state != InstanceState::NotAliveNoWriters)
    }

    fn insert_data(&mut self, now: Now, arrival: &Arrival<'_>, payload: &SharedBytes) -> Insert {
        let Some(end) = expiry(now, arrival.source, arrival.info.lifespan) else {
            return Insert::Filtered(FilterReason::Expired);
        };
        let known = self.find(arrival.handle);
        if let Some(id) = known
            && let Some(reason) = self.unwanted(now, id, arrival)
        {
            return self.ignore(now, id, arrival, reason);
        }
        if let Err(reason) = self.room_for_arrival(known, arrival) {
            return self.refused(reason);
        }
        let id = self.find_or_create(arrival.handle);
        let too_soon = self.too_soon(now, id);
        let changed = self.touch_punctually(now, id, arrival);
        self.revive(id);
        self.note_order(id, arrival.order_key(), false);
        self.start_deadline(now, id);
        let sample = self.new_sample(now, id, arrival, payload);
        if let Some(instance) = self.instances.get(id).filter(|instance| instance.pending != NIL) {
            // Whether it was due or not, what the time-based filter holds back is overtaken.
            self.remove_sample(instance.pending);
        }
        let sample = self.keep(sample, end);
        if let Some(due) = too_soon {
            self.hold_back(id, sample, due);
            return Self::unseen(changed, FilterReason::Separation);
        }
        let replaced = self.show(now, id, sample);
        if replaced { Insert::Replaced } else { Insert::Stored { new_instance: known.is_none() } }
    }

    /// Why a sample of a known instance is not wanted.
    fn unwanted(&self, now: Now, id: Id, arrival: &Arrival<'_>) -> Option<FilterReason> {
        if !self.may_update(now, id, arrival.writer, arrival.info.strength) {
            return Some(FilterReason::NotOwner);
        }
        self.is_stale_sample(id, arrival.order_key()).then_some(FilterReason::Stale)
    }

    /// The writer wrote to the instance, so it keeps to its deadline for another period.
    fn touch_punctually(&mut self, now: Now, id: Id, arrival: &Arrival<'_>) -> bool {
        let deadline = now.mono.plus(self.config.deadline);
        self.touch(now, id, arrival.writer, arrival.info, deadline)
    }

    /// A change without effect of its own still shows that its writer is there.
    fn ignore(&mut self, now: Now, id: Id, arrival: &Arrival<'_>, reason: FilterReason) -> Insert {
        let changed = self.touch_punctually(now, id, arrival);
        Self::unseen(changed, reason)
    }

    const fn unseen(changed: bool, reason: FilterReason) -> Insert {
        if changed { Insert::StateChanged { new_instance: false } } else { Insert::Filtered(reason) }
    }

    /// Whether there is room for so many samples more (DDS 1.4 §2.2.3.19). Samples without data count where every change is
    /// shown alone.
    fn room(&self, known: Option<Id>, count: usize) -> Result<(), RejectReason> {
        let mut more = count;
        if let Some(instance) = known.and_then(|id| self.instances.get(id)) {
            let kept = instance.valid_samples();
            // What is held back gives way, and so does what exceeds the depth.
            more = more.saturating_sub(usize::from(instance.pending != NIL));
            if let Some(depth) = self.limits.depth {
                more = more.min(depth.saturating_sub(kept));
            }
            if more == 0 {
                return Ok(());
            }
            if kept.saturating_add(more) > self.limits.samples_per_instance {
                return Err(RejectReason::SamplesPerInstanceLimit);
            }
        } else if self.instances.len() >= self.limits.instances {
            return Err(RejectReason::InstancesLimit);
        } else {
            more = more.min(self.limits.depth.unwrap_or(more)).min(self.limits.samples_per_instance);
        }
        if self.valid_samples.get().saturating_add(more) > self.limits.samples {
            return Err(RejectReason::SamplesLimit);
        }
        Ok(())
    }

    /// The same, and whether the quota lets its writer make this reader keep it.
    fn room_for_arrival(&mut self, known: Option<Id>, arrival: &Arrival<'_>) -> Result<(), RejectReason> {
        self.account.is_reason = false;
        self.room(known, 1)?;
        self.room_by_quota(known, arrival.writer, octets_of(arrival.payload))
    }

    fn room_by_quota(&mut self, known: Option<Id>, writer: Guid, octets: usize) -> Result<(), RejectReason> {
        if known.is_none() && self.are_instances_over_quota(writer) {
            self.account.refuse(false);
            return Err(RejectReason::InstancesLimit);
        }
        if self.account.counts(writer.prefix) {
            let given_way = known.map_or(0, |id| self.octets_that_give_way(id));
            if !self.account.reserve(octets, given_way) {
                self.account.refuse(true);
                return Err(RejectReason::SamplesLimit);
            }
        }
        Ok(())
    }

    /// Whether a writer may not make this reader keep another instance.
    fn are_instances_over_quota(&self, writer: Guid) -> bool {
        self.instances.len() >= self.account.max_instances() && !self.account.is_own(writer.prefix)
    }

    /// What the sample has that the next one of the instance replaces.
    fn octets_that_give_way(&self, id: Id) -> usize {
        let Some(instance) = self.instances.kept(id) else { return 0 };
        let full = self.limits.depth.is_some_and(|depth| instance.valid_samples() >= depth);
        let oldest = if instance.pending != NIL {
            instance.pending
        } else if full {
            instance.samples.head()
        } else {
            return 0;
        };
        let counted = self.samples.get(oldest).filter(|sample| self.account.counts(sample.writer.prefix));
        counted.map_or(0, Sample::octets)
    }

    const fn refused(&self, reason: RejectReason) -> Insert {
        if self.config.reliable { Insert::Rejected(reason) } else { Insert::Dropped(reason) }
    }

    /// Why a sample of an instance would find no room now; `None` if it would. `octets` is the size of its payload, zero if
    /// its writer is of this participant.
    #[must_use]
    pub fn reject_reason(&mut self, instance: InstanceHandle, octets: usize) -> Option<RejectReason> {
        self.account.is_reason = false;
        let known = self.find(self.shown(instance));
        if let Err(reason) = self.room(known, 1) {
            return Some(reason);
        }
        if known.is_none() && self.instances.len() >= self.account.max_instances() {
            self.account.refuse(false);
            return Some(RejectReason::InstancesLimit);
        }
        if octets > 0 && !self.account.reserve(octets, 0) {
            self.account.refuse(true);
            return Some(RejectReason::SamplesLimit);
        }
        None
    }

    /// Whether samples of these instances would all find room. `octets` is the size of the payloads of those whose writers are
    /// of other participants. If only those are missing, it is [refused by the quota](Self::is_refused_by_quota), and others may
    /// make room: see [`take_crowded`](Self::take_crowded).
    #[must_use]
    pub fn room_for(&mut self, instances: &[InstanceHandle], octets: usize) -> Room {
        self.account.is_reason = false;
        if self.account.is_never_enough_for(octets) {
            return Room::Never;
        }
        let room = self.room_for_all(instances);
        if room == Room::Now && octets > 0 && !self.account.reserve(octets, 0) {
            self.account.refuse(true);
            return Room::Later;
        }
        room
    }

    fn room_for_all(&self, instances: &[InstanceHandle]) -> Room {
        let mut counts: BTreeMap<InstanceHandle, usize> = BTreeMap::new();
        for handle in instances {
            let count = counts.entry(self.shown(*handle)).or_default();
            *count = count.saturating_add(1);
        }
        let limits = &self.limits;
        let max_instances = limits.instances.min(self.account.max_instances());
        let most = counts.values().copied().max().unwrap_or(0);
        let kept_of_each = limits.depth.unwrap_or(usize::MAX);
        let kept = counts.values().fold(0usize, |sum, count| sum.saturating_add((*count).min(kept_of_each)));
        let too_many_of_one = limits.depth.is_none() && most > limits.samples_per_instance;
        if too_many_of_one || kept > limits.samples || counts.len() > max_instances {
            return Room::Never;
        }
        let kept_of = |id: Id| self.instances.get(id).map_or(0, super::instance::Instance::valid_samples);
        let (mut new_instances, mut more) = (0usize, 0usize);
        for (handle, count) in &counts {
            let present = self.find(*handle).map(kept_of);
            new_instances = new_instances.saturating_add(usize::from(present.is_none()));
            let after = present.unwrap_or(0).saturating_add(*count);
            if limits.depth.is_none() && after > limits.samples_per_instance {
                return Room::Later;
            }
            more = more.saturating_add(after.min(kept_of_each).saturating_sub(present.unwrap_or(0)));
        }
        let fits = self.valid_samples.get().saturating_add(more) <= limits.samples
            && self.instances.len().saturating_add(new_instances) <= max_instances;
        if fits { Room::Now } else { Room::Later }
    }

    /// When a sample may be shown, if that is later than now (TIME_BASED_FILTER). What changes the state of the
    /// instance is not held back.
    fn too_soon(&self, now: Now, id: Id) -> Option<MonoTime> {
        let instance = self.instances.kept(id)?;
        if instance.state != InstanceState::Alive {
            return None;
        }
        let due = instance.delivered?.plus(self.config.minimum_separation);
        (due > now.mono).then_some(due)
    }

    fn new_sample(&mut self, now: Now, id: Id, arrival: &Arrival<'_>, payload: &SharedBytes) -> Sample {
        let payload = self.right_sized(payload);
        let generations = |instance: &super::instance::Instance| {
            (instance.disposed_generations, instance.no_writers_generations)
        };
        let (disposed_generations, no_writers_generations) =
            self.instances.kept(id).map(generations).unwrap_or_default();
        Sample {
            instance: id,
            writer: arrival.writer,
            sn: arrival.sn,
            source: arrival.source,
            reception: now.wall,
            payload: Some(payload),
            identities: boxed(arrival.identities),
            vendor: arrival.info.vendor,
            read: false,
            pending: false,
            end: None,
            disposed_generations,
            no_writers_generations,
            of_instance: Links::NONE,
            arrival: Links::NONE,
            unread: Links::NONE,
        }
    }

    /// A copy of a datagram that brings several samples, for them to lie in, where it is cheaper than copies of each: if all
    /// samples are kept until they are taken, and it is of usual size and keeps a much larger buffer alive. Its samples are
    /// what is inserted until [`end_of_datagram`](Self::end_of_datagram).
    pub fn keep_datagram(&mut self, datagram: &SharedBytes) -> Option<SharedBytes> {
        let wanted = self.limits.depth.is_none() && datagram.len() <= DATAGRAM && datagram.tail().is_none();
        self.sharing = wanted && datagram.retained_len() > DATAGRAM;
        self.sharing.then(|| self.pool.copy(datagram))
    }

    /// What comes now does not lie in the copy of a datagram.
    pub fn end_of_datagram(&mut self) {
        self.sharing = false;
    }

    /// A small payload in a large receive buffer is copied, so that a reader that is slow to take it does not keep the whole
    /// buffer.
    pub(super) fn right_sized(&mut self, payload: &SharedBytes) -> SharedBytes {
        let harmless = if self.sharing { DATAGRAM } else { HARMLESS };
        let tolerable = payload.len().saturating_mul(4).max(harmless);
        let is_large = payload.retained_len() > tolerable || payload.tail().is_some();
        if payload.len() <= SMALL && is_large { self.pool.copy(payload) } else { payload.clone() }
    }

    fn hold_back(&mut self, id: Id, sample: Id, due: MonoTime) {
        if let Some(sample) = self.samples.kept_mut(sample) {
            sample.pending = true;
        }
        if let Some(instance) = self.instances.kept_mut(id) {
            instance.pending = sample;
        }
        self.timers.separations.set(id, due);
    }

    /// Makes a sample visible in its place. True when under KEEP_LAST another one had to go.
    pub(super) fn show(&mut self, now: Now, id: Id, sample: Id) -> bool {
        let Some(instance) = self.instances.kept_mut(id) else { return false };
        instance.delivered = Some(now.mono);
        let marker = instance.marker;
        // The sample shows the state of the instance as well.
        if marker != NIL {
            self.discard(marker);
        }
        let full = self.make_way(id);
        if let Some(key) = self.samples.kept(sample).map(Sample::key) {
            let after = self.place(id, key);
            self.attach(sample, after);
        }
        self.note_danger(id);
        full
    }

    fn insert_disposal(&mut self, now: Now, arrival: &Arrival<'_>, unregisters: bool) -> Insert {
        let known = self.find(arrival.handle);
        if let Some(id) = known {
            let owner = self.may_update(now, id, arrival.writer, arrival.info.strength);
            if !owner || self.is_stale_disposal(id, arrival.order_key()) {
                let reason = if owner { FilterReason::Stale } else { FilterReason::NotOwner };
                // It may still come with an unregistration.
                return if unregisters {
                    self.insert_unregistration(now, id, arrival, reason)
                } else {
                    self.ignore(now, id, arrival, reason)
                };
            }
        } else if self.instances.len() >= self.limits.instances
            || self.are_instances_over_quota(arrival.writer)
            || (arrival.payload.is_none() && self.config.keyed)
        {
            return Insert::Filtered(FilterReason::UnknownInstance);
        }
        if let Err(reason) = self.room_for_ends(known, arrival, if unregisters { 2 } else { 1 }) {
            return self.refused(reason);
        }
        let id = self.find_or_create(arrival.handle);
        if arrival.key_only
            && let Some(key) = arrival.payload
        {
            self.set_key(arrival.handle, key, arrival.info.vendor);
        }
        // Who disposes an instance owes it no sample.
        let resumed = self.touch(now, id, arrival.writer, arrival.info, MonoTime::MAX);
        self.note_order(id, arrival.order_key(), true);
        let cause = arrival.cause();
        let shown = self.config.every_change;
        if shown {
            self.show_end(now, id, InstanceState::NotAliveDisposed, &cause);
        }
        let changed = self.become_disposed(now, id, &cause);
        if unregisters {
            self.show_unregistration(now, id, &cause);
            self.unregister(now, id, &cause);
        }
        if changed || shown {
            Insert::StateChanged { new_instance: known.is_none() }
        } else {
            Self::unseen(resumed, FilterReason::NoChange)
        }
    }

    fn insert_unregistration(
        &mut self,
        now: Now,
        id: Id,
        arrival: &Arrival<'_>,
        otherwise: FilterReason,
    ) -> Insert {
        let cause = arrival.cause();
        let is_shown = self.config.every_change && self.has_registered(id, arrival.writer);
        if is_shown && let Err(reason) = self.room_for_ends(Some(id), arrival, 1) {
            return self.refused(reason);
        }
        self.show_unregistration(now, id, &cause);
        let changed = self.unregister(now, id, &cause);
        Self::unseen(changed || is_shown, otherwise)
    }

    /// Where every change is shown, that a writer gives up an instance; also if others keep it.
    fn show_unregistration(&mut self, now: Now, id: Id, cause: &Cause) {
        if self.config.every_change && self.has_registered(id, cause.writer) {
            self.show_end(now, id, InstanceState::NotAliveNoWriters, cause);
        }
    }

    /// Whether there is room for the samples that show the end of an instance.
    fn room_for_ends(
        &mut self,
        known: Option<Id>,
        arrival: &Arrival<'_>,
        count: usize,
    ) -> Result<(), RejectReason> {
        if !self.config.every_change {
            return Ok(());
        }
        self.account.is_reason = false;
        self.room(known, count)?;
        self.room_by_quota(known, arrival.writer, octets_of(None).saturating_mul(count))
    }
}
