//! The way of a received change from the protocol into a reader's cache.

use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_cache::WriterInfo;
use dunlin_cdr::DecodeOptions;
use dunlin_core::{Guid, InstanceHandle, Now, VendorId};
use dunlin_discovery::DiscoveredWriter;
use dunlin_rtps::{Delivery, DeliverySink, Received};

use crate::matching;
use crate::output::Event;
use crate::reader_slot::{ReaderSlot, StoreGuard};

/// Holds the cache's lock for the changes of one submessage.
pub(crate) struct CacheSink<'a> {
    slot: &'a ReaderSlot,
    writers: &'a [Arc<DiscoveredWriter>],
    events: &'a mut Vec<Event>,
    store: StoreGuard<'a>,
    data_available: bool,
}

impl<'a> CacheSink<'a> {
    pub(crate) fn new(
        slot: &'a ReaderSlot,
        writers: &'a [Arc<DiscoveredWriter>],
        events: &'a mut Vec<Event>,
    ) -> Self {
        Self { slot, writers, events, store: slot.store(), data_available: false }
    }

    /// The matched writers.
    pub(crate) fn writers(&self) -> &'a [Arc<DiscoveredWriter>] {
        self.writers
    }

    /// Whether the application has something new to see, and the lock.
    pub(crate) fn finish(self) -> (bool, StoreGuard<'a>) {
        (self.data_available, self.store)
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
        let Some(payload) = &change.payload else { return change.key_hash.map(InstanceHandle) };
        let options = DecodeOptions::for_vendor(vendor.0);
        let hash = type_support.key_hash_with(payload, change.key_only, options, &mut self.store.scratch);
        hash.ok().map(InstanceHandle)
    }

    /// Whether a change satisfies the reader's content filter, if it has one.
    fn passes(&mut self, change: &Received<'_>, instance: InstanceHandle, vendor: VendorId) -> bool {
        let Some(filter) = &self.store.filter else { return true };
        let known = self.store.cache.instance_state(instance).is_some();
        let verdict = filter.decide(change, DecodeOptions::for_vendor(vendor.0), known);
        self.store.filter_stats.count(verdict);
        verdict.passed()
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
        if type_support.key_payload_with(payload, DecodeOptions::for_vendor(vendor.0), &mut key).is_ok() {
            self.store.cache.set_instance_key(instance, &key);
        }
        self.store.scratch = key;
    }
}

impl DeliverySink for CacheSink<'_> {
    fn deliver(&mut self, now: Now, change: &Received<'_>) -> Delivery {
        // A writer is unmatched under the protocol's lock, so this finds it.
        let Some(writer) = matching::find(self.writers, change.writer) else { return Delivery::Accepted };
        let info = WriterInfo {
            strength: writer.qos.ownership_strength.value,
            lifespan: writer.qos.lifespan.duration,
        };
        let Some(instance) = self.instance(change, writer.vendor) else {
            self.slot.common().counters.undecodable();
            return Delivery::Accepted;
        };
        let insert = if self.passes(change, instance, writer.vendor) {
            self.store.cache.insert(now, change, instance, &info)
        } else {
            self.store.cache.insert_filtered(now, change, instance, &info)
        };
        self.data_available |= insert.data_available();
        if insert.new_instance() {
            self.note_key(change, instance, writer.vendor);
        }
        if let Some(reason) = insert.reject_reason() {
            let place = (change.writer, change.sn);
            if core::mem::replace(&mut self.store.last_rejected, place) != place {
                self.events.push(Event::SampleRejected { reader: self.slot.id(), reason, instance });
            }
        }
        let delivery = insert.delivery();
        self.store.rejected |= delivery == Delivery::Rejected;
        delivery
    }

    fn lost(&mut self, _writer: Guid, count: u64) {
        self.events.push(Event::SampleLost { reader: self.slot.id(), count });
    }
}
