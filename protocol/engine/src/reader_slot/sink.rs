//! The way of a received change from the protocol into a reader's cache.

use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_cache::{Insert, InstanceState, WriterInfo};
use dunlin_cdr::DecodeOptions;
use dunlin_core::{Guid, GuidPrefix, InstanceHandle, Misbehaviour, Now, SequenceNumber, VendorId};
use dunlin_discovery::DiscoveredWriter;
use dunlin_filter::Verdict;
use dunlin_qos::ReliabilityKind;
use dunlin_rtps::{ChangeKind, Delivery, DeliverySink, Received};
use dunlin_wire::{Heartbeat, Submessages};

use super::{ReaderSlot, StoreGuard};
use crate::matching;
use crate::output::Event;
use crate::staging::{self, Staged};

/// Holds the cache's lock for the changes of one submessage.
pub(crate) struct CacheSink<'a> {
    slot: &'a ReaderSlot,
    writers: &'a [Arc<DiscoveredWriter>],
    events: &'a mut Vec<Event>,
    store: StoreGuard<'a>,
    data_available: bool,
    /// Who is told of the samples should be before the next one.
    pause: bool,
    /// The writer of the last change: that of the next one, too.
    recent: Option<&'a DiscoveredWriter>,
}

impl<'a> CacheSink<'a> {
    pub(crate) fn new(
        slot: &'a ReaderSlot,
        writers: &'a [Arc<DiscoveredWriter>],
        events: &'a mut Vec<Event>,
    ) -> Self {
        Self { slot, writers, events, store: slot.store(), data_available: false, pause: false, recent: None }
    }

    /// The matched writers.
    pub(crate) fn writers(&self) -> &'a [Arc<DiscoveredWriter>] {
        self.writers
    }

    /// A copy of the datagram for its samples to lie in, if that is worth it for what is left of it.
    pub(crate) fn keep_datagram(
        &mut self,
        packet: &SharedBytes,
        rest: &Submessages<'_>,
    ) -> Option<SharedBytes> {
        // Where a filter lets few pass, each would keep all.
        let many = rest.octets_left() > packet.len() / 2 && self.store.filter.is_none();
        if many { self.store.cache.keep_datagram(packet) } else { None }
    }

    /// All samples of a copied datagram have been delivered.
    pub(crate) fn end_of_datagram(&mut self) {
        self.store.cache.end_of_datagram();
    }

    /// Whether the application has something new to see, and the lock.
    pub(crate) fn finish(self) -> (bool, StoreGuard<'a>) {
        (self.data_available, self.store)
    }

    /// What was taken to be shown, and went before the application could see it.
    pub(crate) fn take_unshown(&mut self) -> Vec<(Guid, SequenceNumber)> {
        self.store.take_unshown()
    }

    /// Whether who is told of the samples should be before the next one.
    #[inline]
    pub(crate) fn wants_pause(&self) -> bool {
        self.pause
    }

    /// The participant of a writer did what was refused.
    pub(crate) fn misbehaved(&mut self, participant: GuidPrefix, what: Misbehaviour) {
        self.slot.common().misbehaved(participant, what, self.events);
    }

    /// A matched writer came to life or stopped being alive.
    pub(crate) fn liveliness_changed(&mut self, now: Now, writer: Guid, alive: bool) {
        let cache = &mut self.store.cache;
        self.data_available |=
            if alive { cache.writer_alive(now, writer) } else { cache.writer_not_alive(now, writer) };
        let delta = if alive { 1 } else { -1_i32 };
        self.events.push(Event::LivelinessChanged {
            reader: self.slot.id(),
            writer,
            alive_delta: delta,
            not_alive_delta: delta.wrapping_neg(),
        });
    }

    /// The instance of a change. The payload decides where there is one, because peers compute the key hash in
    /// several ways; `None` if neither tells.
    fn instance(&mut self, change: &Received<'_>, vendor: VendorId) -> Option<InstanceHandle> {
        let type_support = self.slot.type_support();
        if !type_support.has_key() {
            return Some(InstanceHandle::NIL);
        }
        if !type_support.finds_keys() {
            // Of writers that do not send the hash all samples are of one instance.
            return Some(change.key_hash.map_or(InstanceHandle::NIL, InstanceHandle));
        }
        let Some(payload) = &change.payload else { return change.key_hash.map(InstanceHandle) };
        let options = DecodeOptions::for_vendor(vendor);
        let hash = type_support.key_hash_with(payload, change.key_only, options, &mut self.store.scratch);
        hash.ok().map(InstanceHandle)
    }

    /// Whether a change satisfies the reader's content filter, if it has one.
    fn passes(&mut self, change: &Received<'_>, instance: InstanceHandle, vendor: VendorId) -> bool {
        let Some(verdict) = self.verdict(change, instance, vendor) else { return true };
        self.store.filter_stats.count(verdict);
        verdict.passed()
    }

    /// What the reader's content filter says of a change; `None` without a filter.
    fn verdict(&self, change: &Received<'_>, instance: InstanceHandle, vendor: VendorId) -> Option<Verdict> {
        let filter = self.store.filter.as_ref()?;
        let known = self.store.cache.instance_state(instance).is_some();
        Some(filter.decide(change, DecodeOptions::for_vendor(vendor), known))
    }

    /// Keeps the key of an instance that became known by a sample, for `get_key_value`. A key that came alone is
    /// kept by the cache itself.
    fn note_key(&mut self, change: &Received<'_>, instance: InstanceHandle, vendor: VendorId) {
        let type_support = self.slot.type_support();
        let Some(payload) = change.payload.as_ref().filter(|_| type_support.has_key() && !change.key_only)
        else {
            return;
        };
        let mut key = core::mem::take(&mut self.store.scratch);
        if type_support.key_payload_with(payload, DecodeOptions::for_vendor(vendor), &mut key).is_ok() {
            self.store.cache.set_instance_key(instance, &key);
        }
        self.store.scratch = key;
    }
}

impl CacheSink<'_> {
    /// Whether what arrives waits for others.
    pub(crate) fn waits(&self) -> bool {
        self.slot.group().is_some()
    }

    /// What a HEARTBEAT says of its publisher, or of its writer where that stands for itself, for a reader that has everything it
    /// announces.
    pub(crate) fn note_passed(&mut self, writer: Guid, heartbeat: &Heartbeat) {
        let Some((group, writer)) = self.slot.group().zip(matching::find(self.writers, writer)) else {
            return;
        };
        let (numbers, writers) = match &heartbeat.group {
            _ if !group.is_by_publisher() => ([heartbeat.last_sn; 2], None),
            Some(report) => {
                ([report.current_gsn, report.last_gsn], report.digests.map(|digests| digests.writer_set))
            }
            None => return,
        };
        let stream = group.stream(writer, self.slot.id());
        self.store.arrivals.passed = Some((stream, numbers, writers));
    }

    /// Whether the reader has had a change by another way, and minds. A writer that comes back revives its instances by what it
    /// sends again.
    fn is_copy(&mut self, change: &Received<'_>, instance: InstanceHandle) -> bool {
        let Some(origins) = &self.store.origins else { return false };
        let revives = || {
            let state = self.store.cache.instance_state(instance);
            change.identities.original.is_none() && state == Some(InstanceState::NotAliveNoWriters)
        };
        let copy = origins.contains(change.origin()) && !revives();
        self.store.copies = self.store.copies.saturating_add(u64::from(copy));
        copy
    }

    /// Lets a change wait for others, if its writer says where it belongs; otherwise `None`.
    fn stage(
        &mut self,
        change: &Received<'_>,
        writer: &DiscoveredWriter,
        (instance, info): (InstanceHandle, WriterInfo),
    ) -> Option<Delivery> {
        let group = self.slot.group()?;
        let place = group.place(change)?;
        let stream = group.stream(writer, self.slot.id());
        if group.turns_away(&stream) {
            self.reject_without_room(change, writer, instance);
            return Some(Delivery::Rejected);
        }
        let staged = if staging::is_empty(change) {
            None
        } else {
            let passes = self.passes(change, instance, writer.vendor);
            let again = self.store.came_before(change);
            Some(Staged { change: staging::owned(change), instance, info, passes, again })
        };
        // What ends a set, or does not pass, the application never sees, and so it commits none of that.
        let is_shown = staged.as_ref().is_some_and(|staged| staged.passes);
        self.store.arrivals.changes.push((stream, place, staged, staging::octets(change)));
        Some(if is_shown { Delivery::Accepted } else { Delivery::Dropped })
    }

    /// There is no room for a change that would have to wait for what has found none before it.
    fn reject_without_room(
        &mut self,
        change: &Received<'_>,
        writer: &DiscoveredWriter,
        instance: InstanceHandle,
    ) {
        self.store.rejected = true;
        let data = change.kind == ChangeKind::Alive && !staging::is_empty(change);
        if !data || !self.verdict(change, instance, writer.vendor).is_none_or(Verdict::passed) {
            return;
        }
        let offered = writer.qos.reliability.kind;
        let octets = staging::remote_octets(change, self.slot.guid().prefix);
        if let Some(reason) = self.store.cache.reject_reason(instance, octets) {
            self.events.extend(self.store.reject(self.slot.id(), change, reason, instance));
        } else if offered.min(self.slot.reliability()) == ReliabilityKind::BestEffort {
            self.events.push(self.store.lose(self.slot.id(), 1));
        }
    }

    /// There is nothing to see of a change that came by another way already. But its writer offers the instance as well: it stays
    /// alive when the other one goes, may own it, or unregisters it too.
    fn note_copy(
        &mut self,
        now: Now,
        change: &Received<'_>,
        (instance, info): (InstanceHandle, WriterInfo),
    ) -> Delivery {
        let noted = self.store.cache.insert_copy(now, change, instance, &info);
        self.data_available |= noted.data_available();
        self.committed_with(noted, change, instance)
    }

    /// The answer for the protocol, and so whether the application commits a change.
    fn committed_with(&self, insert: Insert, change: &Received<'_>, instance: InstanceHandle) -> Delivery {
        let changed = matches!(insert, Insert::StateChanged { .. });
        if changed && !self.store.cache.shows_end(instance, change.writer, change.sn) {
            // It is seen in a sample before it, and committed with that.
            return Delivery::Dropped;
        }
        insert.delivery()
    }

    /// Puts a change into the cache, where it becomes visible if it `passes` the content filter.
    pub(crate) fn insert(
        &mut self,
        now: Now,
        change: &Received<'_>,
        (instance, info): (InstanceHandle, WriterInfo),
        passes: bool,
    ) -> Delivery {
        if self.is_copy(change, instance) {
            return self.note_copy(now, change, (instance, info));
        }
        let cache = &mut self.store.cache;
        let insert = if passes {
            cache.insert(now, change, instance, &info)
        } else {
            cache.insert_filtered(now, change, instance, &info)
        };
        self.data_available |= insert.data_available();
        self.pause |= cache.wants_pause();
        // What had no room may come by another way. That one writer unregisters what it never offered says nothing of another.
        let had = !matches!(
            (insert, change.kind),
            (Insert::Rejected(_) | Insert::Dropped(_), _) | (Insert::Filtered(_), ChangeKind::Unregistered)
        );
        if let Some(origins) = self.store.origins.as_mut().filter(|_| had) {
            origins.note(change.origin());
        }
        if insert.new_instance() {
            self.note_key(change, instance, info.vendor);
        }
        if let Some(reason) = insert.reject_reason() {
            self.events.extend(self.store.reject(self.slot.id(), change, reason, instance));
        }
        let delivery = self.committed_with(insert, change, instance);
        self.store.rejected |= delivery == Delivery::Rejected;
        delivery
    }
}

impl DeliverySink for CacheSink<'_> {
    fn deliver(&mut self, now: Now, change: &Received<'_>) -> Delivery {
        // A writer is unmatched under the protocol's lock, so this finds it whatever was sent.
        let known = self.recent.filter(|writer| writer.guid == change.writer);
        let known = known.or_else(|| matching::find(self.writers, change.writer).map(|writer| &**writer));
        debug_assert!(known.is_some(), "only matched writers deliver: {}", change.writer);
        let Some(writer) = known else { return Delivery::Dropped };
        self.recent = known;
        if let Some(ahead) = self.store.ahead(now, change.source_timestamp) {
            self.events.extend(self.store.refuse_future(self.slot.id(), change.writer, ahead));
            self.misbehaved(change.writer.prefix, Misbehaviour::FromFuture);
            return Delivery::Dropped;
        }
        let info = WriterInfo {
            strength: writer.qos.ownership_strength.value,
            lifespan: writer.qos.lifespan.duration,
            vendor: writer.vendor,
        };
        let empty = staging::is_empty(change);
        let instance = if empty { Some(InstanceHandle::NIL) } else { self.instance(change, writer.vendor) };
        let Some(instance) = instance else {
            self.slot.common().counters.undecodable();
            self.misbehaved(change.writer.prefix, Misbehaviour::UnreadableKey);
            return Delivery::Dropped;
        };
        if let Some(delivery) = self.stage(change, writer, (instance, info)) {
            return delivery;
        }
        if empty {
            return Delivery::Dropped;
        }
        let passes = self.passes(change, instance, writer.vendor);
        self.insert(now, change, (instance, info), passes)
    }

    fn lost(&mut self, writer: Guid, count: u64) {
        if let Some((group, writer)) = self.slot.group().zip(matching::find(self.writers, writer)) {
            self.store.arrivals.lost.push(group.stream(writer, self.slot.id()));
        }
        self.events.push(self.store.lose(self.slot.id(), count));
    }
}
