//! The way of a received change into a reader's cache when it has to wait for others (RTPS 2.5 §8.7.5, §8.7.6).

use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_cache::{Place, ReaderCache, RejectReason, Room, Stream, Unit, WriterInfo};
use dunlin_core::{EntityId, Guid, GuidPrefix, InstanceHandle, MonoTime, Now, SequenceNumber};
use dunlin_discovery::DiscoveredWriter;
use dunlin_rtps::{ChangeKind, Delivery, Received};
use dunlin_wire::params;

use crate::group::SubscriberGroup;
use crate::output::{Event, Output};
use crate::reader_slot::{ReaderSlot, Store};
use crate::sink::CacheSink;

/// Octets of memory that a change takes besides its payload, as it is counted.
const OVERHEAD: usize = 256;

/// A change that waits, with what was found out about it when it arrived.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) change: Received<'static>,
    pub(crate) instance: InstanceHandle,
    pub(crate) info: WriterInfo,
    /// It satisfies the reader's content filter.
    pub(crate) passes: bool,
    /// Before its writer was lost and met again it was shown already, or told as lost.
    pub(crate) again: bool,
}

/// The stream of a writer to a reader.
pub(crate) fn stream(group: &SubscriberGroup, writer: &DiscoveredWriter, reader: EntityId) -> Stream {
    // With a narrower scope each writer stands for itself, and so does each reader.
    let apart = !group.is_by_publisher();
    let publisher = if apart { writer.guid } else { Guid::new(writer.guid.prefix, writer.group) };
    Stream { publisher, writer: writer.guid, reader, apart }
}

/// Where a change stands; `None` if its writer does not number it, so that it cannot wait.
pub(crate) fn place(group: &SubscriberGroup, change: &Received<'_>) -> Option<Place> {
    let list = change.inline_qos.as_ref();
    let number_in = |read: fn(&dunlin_wire::ParameterList<'_>) -> Option<SequenceNumber>| {
        list.and_then(read).filter(|sn| *sn > SequenceNumber::ZERO)
    };
    // Who asks for order alone is shown each change of a set by itself.
    let set_in = |read| number_in(read).filter(|_| group.shows_sets());
    let set_at_writer = set_in(params::coherent_set);
    let (number, set) = if group.is_by_publisher() {
        (number_in(params::group_sequence_number)?, set_in(params::group_coherent_set))
    } else {
        (change.sn, set_at_writer)
    };
    let set = set.filter(|first| *first <= number);
    let writers = list.filter(|_| group.is_by_publisher()).and_then(params::writer_group_info);
    Some(Place { sn: change.sn, set_at_writer, number, set, end: is_empty(change), writers })
}

/// Whether a change carries nothing but its inline QoS: it ends a set, or pads.
pub(crate) fn is_empty(change: &Received<'_>) -> bool {
    change.kind == ChangeKind::Alive && change.payload.is_none()
}

/// What `change` takes while it waits.
pub(crate) fn octets(change: &Received<'_>) -> usize {
    change.payload.as_ref().map_or(0, |payload| payload.len()).saturating_add(OVERHEAD)
}

/// What `change` takes of the quota for writers of other participants than the reader's.
pub(crate) fn remote_octets(change: &Received<'_>, own: GuidPrefix) -> usize {
    if change.writer.prefix == own { 0 } else { octets(change) }
}

/// A change without what it borrows; a small payload lets go of the large packet it came in.
pub(crate) fn owned(change: &Received<'_>) -> Received<'static> {
    let mut payload = change.payload.clone();
    if let Some(bytes) = &mut payload
        && bytes.retained_len() > bytes.len().saturating_mul(4).max(OVERHEAD)
    {
        *bytes = SharedBytes::copy_from(bytes);
    }
    let Received { writer, sn, kind, key_hash, source_timestamp, key_only, identities, reassembled, .. } =
        *change;
    Received {
        writer,
        sn,
        kind,
        key_hash,
        source_timestamp,
        payload,
        key_only,
        inline_qos: None,
        identities,
        reassembled,
    }
}

impl Staged {
    /// How many samples show it, where every change is shown or not.
    fn shown(&self, every_change: bool) -> usize {
        match self.change.kind {
            _ if !self.passes => 0,
            ChangeKind::Alive => 1,
            ChangeKind::DisposedUnregistered if every_change => 2,
            _ => usize::from(every_change),
        }
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

    /// Whether there is room for what a unit has for this reader.
    pub(crate) fn room_for(&self, unit: &Unit<Staged>) -> Room {
        self.room_in(&mut self.store().cache, unit)
    }

    fn room_in(&self, cache: &mut ReaderCache, unit: &Unit<Staged>) -> Room {
        let samples = || self.samples_of(unit, cache.shows_every_change());
        let instances: Vec<InstanceHandle> = samples().map(|staged| staged.instance).collect();
        let octets = samples().map(|staged| remote_octets(&staged.change, self.guid().prefix));
        let octets = octets.fold(0, usize::saturating_add);
        if instances.is_empty() { Room::Now } else { cache.room_for(&instances, octets) }
    }

    /// Tells of the first sample of a unit for which this reader has no room, once; of the first of all if each would find room by
    /// itself, and together they exceed what readers share. That is tried again in a while.
    pub(crate) fn tell_refused(&self, now: Now, unit: &Unit<Staged>, out: &mut Output) {
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

    /// Shows a change that has waited long enough. True if its writer was lost meanwhile.
    #[must_use]
    pub(crate) fn show(&self, now: Now, staged: &Staged, out: &mut Output) -> bool {
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

    /// What a writer owns or keeps alive by changes that were shown when it was lost already, it leaves again.
    pub(crate) fn part_from(&self, now: Now, writer: Guid, out: &mut Output) {
        let mut store = self.store();
        let data_available = store.cache.writer_lost(now, writer);
        self.note_room(now, &mut store, &mut out.deadline_closer);
        self.arm_cache(&mut store, &mut out.deadline_closer);
        drop(store);
        if data_available {
            out.tell_once(Event::DataAvailable { reader: self.id() });
        }
    }

    /// A change is lost because others of its set are.
    pub(crate) fn tell_lost(&self, staged: &Staged, out: &mut Output) {
        let mut store = self.store();
        store.note_unshown(&staged.change);
        self.arm_cache(&mut store, &mut out.deadline_closer);
        if !staged.again {
            out.events.push(store.lose(self.id(), 1));
        }
    }

    /// Sees to it that the protocol's timer runs at this time.
    pub(crate) fn look_at(&self, at: MonoTime, out: &mut Output) {
        out.deadline_closer |= self.common().timers.set_closer(self.protocol_timer(), at);
    }
}
