//! A sample like the one before it, the usual case: of the same writer and instance, with nothing that a policy has to be asked
//! about (DDS 1.4 §2.2.2.5.1).

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, InstanceHandle, MonoTime, Now};
use dunlin_qos::OwnershipKind;
use dunlin_rtps::{ChangeKind, Received};

use super::ReaderCache;
use super::config::WriterInfo;
use super::sample::{Sample, boxed, octets_of};
use super::states::InstanceState;
use crate::list::Links;
use crate::slab::{Id, NIL};

impl ReaderCache {
    /// Whether no policy has a say in what becomes of a sample.
    fn is_plain(&self) -> bool {
        self.limits.depth.is_none()
            && self.config.ownership == OwnershipKind::Shared
            && self.config.deadline.is_infinite()
            && self.config.minimum_separation <= Duration::ZERO
            && !self.by_source()
    }

    /// Puts a sample behind the last one. False, and nothing done, where it takes more than that.
    pub(super) fn insert_next(
        &mut self,
        now: Now,
        change: &Received<'_>,
        handle: InstanceHandle,
        info: &WriterInfo,
    ) -> bool {
        let Some(payload) = change.payload.as_ref().filter(|_| change.kind == ChangeKind::Alive) else {
            return false;
        };
        if change.key_only || !info.lifespan.is_infinite() || !self.is_plain() {
            return false;
        }
        let Some(id) = self.unchanged(change, handle, info) else { return false };
        if self.account.counts(change.writer.prefix) {
            let octets = octets_of(Some(payload));
            if !self.account.reserve(octets, 0) {
                return false;
            }
            self.account.hold(octets);
        }
        let payload = self.right_sized(payload);
        self.append(now, id, change, payload, info);
        true
    }

    /// The instance of the last sample, if this one is of it too, changes nothing of it or of its writer, and finds room.
    fn unchanged(&self, change: &Received<'_>, handle: InstanceHandle, info: &WriterInfo) -> Option<Id> {
        let id = self.recent;
        let instance = self.instances.get(id).filter(|instance| {
            instance.handle == handle
                && instance.state == InstanceState::Alive
                && instance.pending == NIL
                && instance.marker == NIL
                && instance.samples.len() < self.limits.samples_per_instance
        })?;
        let writer = self
            .writers
            .get(self.recent_writer)
            .filter(|writer| writer.is_still(change.writer, info.strength))?;
        let registration = self.registrations.get(writer.recent)?;
        let registered = registration.instance == id && registration.deadline == MonoTime::MAX;
        let due = instance.deadline == MonoTime::MAX;
        (registered && due && self.valid_samples.get() < self.limits.samples).then_some(id)
    }

    fn append(&mut self, now: Now, id: Id, change: &Received<'_>, payload: SharedBytes, info: &WriterInfo) {
        let Some(instance) = self.instances.kept_mut(id) else { return };
        let sample = self.samples.insert(Sample {
            instance: id,
            writer: change.writer,
            sn: change.sn,
            source: change.source_timestamp.unwrap_or(now.wall),
            reception: now.wall,
            payload: Some(payload),
            identities: boxed(change.identities),
            vendor: info.vendor,
            read: false,
            pending: false,
            end: None,
            disposed_generations: instance.disposed_generations,
            no_writers_generations: instance.no_writers_generations,
            of_instance: Links::after(instance.samples.tail()),
            arrival: Links::after(self.arrival.tail()),
            unread: Links::after(self.unread.tail()),
        });
        instance.samples.add_back(&mut self.samples, sample);
        self.arrival.add_back(&mut self.samples, sample);
        self.unread.add_back(&mut self.samples, sample);
        instance.delivered = Some(now.mono);
        instance.unread.add(1);
        self.counts.add(instance.view, instance.state, 0, 1);
        self.valid_samples.add(1);
    }
}
