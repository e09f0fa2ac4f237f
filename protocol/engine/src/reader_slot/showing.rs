//! What a group of readers asks of one of them: room for changes that have waited, to show them, to give them up
//! (RTPS 2.5 §8.7.5, §8.7.6).

use alloc::vec::Vec;

use dunlin_cache::{ReaderCache, RejectReason, Room, Unit};
use dunlin_core::{EntityId, Guid, InstanceHandle, MonoTime, Now};
use dunlin_rtps::{Delivery, Received};

use super::sink::CacheSink;
use super::{ReaderSlot, Store};
use crate::group::GroupReader;
use crate::output::{Event, Output};
use crate::staging::{Staged, remote_octets};

impl Store {
    /// Whether a change came already before its writer was lost and met again.
    pub(crate) fn came_before(&self, change: &Received<'_>) -> bool {
        self.streams.get(&change.writer).is_some_and(|next| change.sn < *next)
    }

    /// Whether the writer of a change that has waited is not matched any more.
    pub(crate) fn has_lost(&self, writer: Guid) -> bool {
        !self.streams.contains_key(&writer)
    }
}

impl ReaderSlot {
    /// What a unit has for this reader that takes room: each as often as it is shown.
    fn samples_of<'a>(
        &self,
        unit: &'a Unit<Staged>,
        every_change: bool,
    ) -> impl Iterator<Item = &'a Staged> + use<'a> {
        let id = self.id();
        let own = unit.iter().filter(move |(reader, _)| *reader == id).map(|(_, staged)| staged);
        own.flat_map(move |staged| core::iter::repeat_n(staged, staged.shown(every_change)))
    }

    fn room_in(&self, cache: &mut ReaderCache, unit: &Unit<Staged>) -> Room {
        let samples = || self.samples_of(unit, cache.shows_every_change());
        let instances: Vec<InstanceHandle> = samples().map(|staged| staged.instance).collect();
        let octets = samples().map(|staged| remote_octets(&staged.change, self.guid().prefix));
        let octets = octets.fold(0, usize::saturating_add);
        if instances.is_empty() { Room::Now } else { cache.room_for(&instances, octets) }
    }
}

impl GroupReader for ReaderSlot {
    fn id(&self) -> EntityId {
        self.id()
    }

    fn retry_rejected(&self, now: Now, out: &mut Output) {
        self.retry_rejected(now, out);
    }

    fn room_for(&self, unit: &Unit<Staged>) -> Room {
        self.room_in(&mut self.store().cache, unit)
    }

    fn tell_refused(&self, now: Now, unit: &Unit<Staged>, out: &mut Output) {
        let mut store = self.store();
        let samples = |store: &Store| self.samples_of(unit, store.cache.shows_every_change());
        let mut refused = samples(&store).find_map(|staged| {
            let octets = remote_octets(&staged.change, self.guid().prefix);
            store.cache.reject_reason(staged.instance, octets).map(|reason| (staged, reason))
        });
        if refused.is_none()
            && self.room_in(&mut store.cache, unit) == Room::Later
            && store.cache.is_refused_by_quota()
        {
            refused = samples(&store).next().map(|staged| (staged, RejectReason::SamplesLimit));
        }
        if let Some((Staged { change, instance, .. }, reason)) = refused {
            out.events.extend(store.reject(self.id(), change, reason, *instance));
        }
        self.note_room(now, &mut store, &mut out.deadline_closer);
    }

    fn show(&self, now: Now, staged: &Staged, out: &mut Output) -> bool {
        let Output { events, deadline_closer, .. } = out;
        let mut sink = CacheSink::new(self, &[], events);
        let delivery = sink.insert(now, &staged.change, (staged.instance, staged.info), staged.passes);
        let (data_available, mut store) = sink.finish();
        // Another reader may have taken of the shared quota what there was when all of it was found to fit.
        let gone = (delivery == Delivery::Rejected && !staged.again).then(|| store.lose(self.id(), 1));
        if delivery != Delivery::Accepted {
            store.note_unshown(&staged.change);
        }
        self.note_room(now, &mut store, deadline_closer);
        self.arm_cache(&mut store, deadline_closer);
        let lost = store.has_lost(staged.change.writer);
        drop(store);
        out.events.extend(gone);
        if data_available {
            out.tell_once(Event::DataAvailable { reader: self.id() });
        }
        lost
    }

    fn part_from(&self, now: Now, writer: Guid, out: &mut Output) {
        let mut store = self.store();
        let data_available = store.cache.writer_lost(now, writer);
        self.note_room(now, &mut store, &mut out.deadline_closer);
        self.arm_cache(&mut store, &mut out.deadline_closer);
        drop(store);
        if data_available {
            out.tell_once(Event::DataAvailable { reader: self.id() });
        }
    }

    fn tell_lost(&self, staged: &Staged, out: &mut Output) {
        let mut store = self.store();
        store.note_unshown(&staged.change);
        self.arm_cache(&mut store, &mut out.deadline_closer);
        if !staged.again {
            out.events.push(store.lose(self.id(), 1));
        }
    }

    fn look_at(&self, at: MonoTime, out: &mut Output) {
        out.deadline_closer |= self.common().timers.set_closer(self.protocol_timer(), at);
    }
}
