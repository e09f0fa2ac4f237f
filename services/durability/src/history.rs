//! What is kept of one topic: which changes there are, in which order, and which go when another one comes. No octets and no I/O.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use dunlin::{Duration, Guid, InstanceHandle, SampleIdentity, VendorId, WallTime};

use crate::change::{Head, Kind, Position};
use crate::contract::Contract;
use crate::origins::{Numbers, Origins};

/// Bounds of the memory that other participants can make a history use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quota {
    /// Changes.
    pub samples: usize,
    /// Octets of their values.
    pub octets: u64,
    /// Instances.
    pub instances: usize,
    /// Writers whose numbers are remembered.
    pub writers: usize,
    /// How long it is remembered that an instance has ended, so that what comes late does not revive it.
    pub tombstones: Duration,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            samples: 1_000_000,
            octets: 1 << 30,
            instances: 100_000,
            writers: 10_000,
            tombstones: Duration::from_secs(3600),
        }
    }
}

/// What became of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is kept.
    Kept,
    /// It had been there before.
    Duplicate,
    /// It is older than what is kept.
    Old,
    /// Its LIFESPAN has ended.
    Expired,
    /// It changes the state of its instance and is not kept itself.
    Noted,
}

/// Places by which changes of a history are ordered: the source timestamp if that decides, else where they were put; and when they came.
pub type Place = (i64, Position);

/// Slots for changes that come late, before each one that does not.
const SLOTS: i64 = 1 << 16;
/// Changes of an instance that are looked at for the place of one that comes late.
const LOOKED: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    origin: SampleIdentity,
    expires: Option<WallTime>,
    octets: u32,
    is_data: bool,
    source_timestamp: WallTime,
    vendor: VendorId,
}

/// A change as those who come late are to get it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Where it is kept.
    pub position: Position,
    /// The instance.
    pub instance: InstanceHandle,
    /// The writer that made it first, and its number there.
    pub origin: SampleIdentity,
    /// When it was made.
    pub source_timestamp: WallTime,
    /// Data or a dispose.
    pub kind: Kind,
    /// Whose implementation serialized it.
    pub vendor: VendorId,
}

#[derive(Default, Debug)]
struct Instance {
    /// In order.
    entries: VecDeque<Entry>,
    /// How many of them have data.
    data: usize,
    /// When it was disposed, by its writer's clock, and by which sample, if it still is.
    disposed: Option<(WallTime, SampleIdentity)>,
    /// Writers that have written it and not given it up.
    writers: BTreeSet<Guid>,
    /// The last change that came.
    newest: Position,
    /// When everything of it goes.
    ends: Option<WallTime>,
}

/// The changes that are kept of one topic in one set of partitions.
#[derive(Debug)]
pub struct History {
    contract: Contract,
    quota: Quota,
    instances: BTreeMap<InstanceHandle, Instance>,
    order: BTreeMap<Place, InstanceHandle>,
    by_age: BTreeSet<(Position, InstanceHandle)>,
    by_writer: BTreeMap<Guid, BTreeSet<InstanceHandle>>,
    expiring: BTreeSet<(WallTime, Place)>,
    ending: BTreeSet<(WallTime, InstanceHandle)>,
    tombstones: BTreeMap<InstanceHandle, Tombstone>,
    forgetting: BTreeSet<(WallTime, InstanceHandle)>,
    origins: Origins,
    /// Writers by when they were heard of first.
    known_writers: VecDeque<Guid>,
    last_dispose: Option<SampleIdentity>,
    octets: u64,
    gone: Removed,
}

/// What is remembered of an instance that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tombstone {
    /// When it was disposed, by its writer's clock.
    pub disposed: WallTime,
    /// Until when that is remembered.
    pub until: WallTime,
    /// By which sample; notes of older programs do not say it.
    pub origin: Option<SampleIdentity>,
}

/// What a history has let go since somebody took it.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Removed {
    /// Changes.
    pub changes: Vec<Position>,
    /// Instances whose last writer has gone, or which were let go while they had one.
    pub without_writers: Vec<InstanceHandle>,
    /// Tombstones that are new, or are forgotten.
    pub tombstones: Vec<(InstanceHandle, Option<Tombstone>)>,
    /// Instances that will end at a time, or will not any more.
    pub endings: Vec<(InstanceHandle, Option<WallTime>)>,
    /// Writers that are forgotten.
    pub writers: Vec<Guid>,
}

/// Where an entry is. They are in the order of their places, but for those with one source timestamp.
fn found(entries: &VecDeque<Entry>, place: Place) -> Option<usize> {
    let from = entries.partition_point(|entry| entry.place < place);
    let is_it = |entry: &Entry| entry.place == place;
    if entries.get(from).is_some_and(is_it) { Some(from) } else { entries.iter().position(is_it) }
}

/// Where a change belongs in an instance by reception: at the end, but before what its writer wrote later. Of a copy nobody knows when
/// it would have come, so it goes before what others wrote later, too.
fn belongs(entries: &VecDeque<Entry>, head: &Head, is_newest: bool, is_copy: bool) -> usize {
    let (mut at, mut goes_on) = (entries.len(), is_copy);
    for (before, entry) in entries.iter().enumerate().rev().take(LOOKED) {
        let is_own = entry.origin.writer == head.origin.writer;
        let is_later = match is_own {
            true => entry.origin.sequence_number > head.origin.sequence_number,
            false => goes_on && entry.source_timestamp > head.source_timestamp,
        };
        if is_later {
            at = before;
        } else if is_own || is_newest {
            break;
        } else {
            goes_on = false;
        }
    }
    at
}

/// A slot behind the one of a change, where there is one, and before another one. A change that comes has a higher position than all
/// others, so those that come late one after the other share a slot.
fn between(before: Option<i64>, after: i64) -> i64 {
    let first = before.unwrap_or(after.saturating_sub(SLOTS));
    let is_shared = before.is_some() && first % SLOTS != 0;
    if is_shared { first } else { first + (after - first) / 2 }
}

impl History {
    /// An empty one.
    #[must_use]
    pub fn new(contract: Contract, quota: Quota) -> Self {
        Self {
            contract,
            quota,
            instances: BTreeMap::new(),
            order: BTreeMap::new(),
            by_age: BTreeSet::new(),
            by_writer: BTreeMap::new(),
            expiring: BTreeSet::new(),
            ending: BTreeSet::new(),
            tombstones: BTreeMap::new(),
            forgetting: BTreeSet::new(),
            origins: Origins::default(),
            known_writers: VecDeque::new(),
            last_dispose: None,
            octets: 0,
            gone: Removed::default(),
        }
    }

    /// What it was made for.
    #[must_use]
    pub const fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Bounds of the memory that other participants can make it use.
    #[must_use]
    pub const fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Changes that are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Instances that are known.
    #[must_use]
    pub fn instances(&self) -> usize {
        self.instances.len()
    }

    /// Octets of the values that are kept.
    #[must_use]
    pub const fn octets(&self) -> u64 {
        self.octets
    }

    /// Which samples it has had.
    #[must_use]
    pub const fn origins(&self) -> &Origins {
        &self.origins
    }

    /// What has been let go since the last call.
    pub fn take_removed(&mut self) -> Removed {
        std::mem::take(&mut self.gone)
    }

    /// Takes a change that came at a position. `is_copy` says that another service passed it on.
    pub fn apply(&mut self, head: &Head, position: Position, now: WallTime, is_copy: bool) -> Verdict {
        // A message that disposes and unregisters is two changes of one identity.
        let second = head.kind == Kind::Unregister && self.last_dispose == Some(head.origin);
        if self.origins.contains(head.origin) && !second {
            return Verdict::Duplicate;
        }
        let is_newest = self.note(head.origin);
        if head.kind == Kind::Unregister {
            self.give_up(head.instance, head.origin.writer, now);
            return Verdict::Noted;
        }
        if head.expires.is_some_and(|at| at <= now) {
            return Verdict::Expired;
        }
        if (is_copy || self.contract.by_source) && self.ended_after(head).is_some() {
            return Verdict::Old;
        }
        if head.kind == Kind::Dispose {
            self.last_dispose = Some(head.origin);
        }
        let place = self.insert(head, position, is_newest, is_copy);
        self.registered(head.instance, head.origin.writer);
        self.fit(head.instance);
        self.settle(head.instance, now);
        if self.order.contains_key(&place) { Verdict::Kept } else { Verdict::Old }
    }

    /// What is remembered of the instance of a change, if it ended after the change was made.
    #[must_use]
    pub fn ended_after(&self, head: &Head) -> Option<Tombstone> {
        let ended = self.tombstones.get(&head.instance).copied();
        ended.filter(|ended| head.source_timestamp <= ended.disposed)
    }

    /// Notes a sample. True if its writer has none with a higher number.
    fn note(&mut self, origin: SampleIdentity) -> bool {
        let last = self.origins.of(origin.writer).and_then(Numbers::last);
        if self.origins.of(origin.writer).is_none() {
            self.known_writers.push_back(origin.writer);
            // Its samples may come twice then, but none is lost.
            if self.origins.writers() >= self.quota.writers
                && let Some(oldest) = self.known_writers.pop_front()
            {
                self.origins.forget(oldest);
                self.gone.writers.push(oldest);
            }
        }
        self.origins.note(origin);
        last.is_none_or(|last| last < origin.sequence_number.0)
    }

    /// The index in its instance, and the place, of a change that comes.
    fn place(&self, head: &Head, position: Position, is_newest: bool, is_copy: bool) -> (usize, Place) {
        let none = VecDeque::new();
        let entries = self.instances.get(&head.instance).map_or(&none, |instance| &instance.entries);
        if self.contract.by_source {
            let key =
                |time: WallTime, origin: SampleIdentity| (time.0, origin.writer, origin.sequence_number);
            let own = key(head.source_timestamp, head.origin);
            let at = entries.partition_point(|known| key(known.source_timestamp, known.origin) <= own);
            return (at, (head.source_timestamp.0, position));
        }
        let at = belongs(entries, head, is_newest, is_copy);
        let before = at.checked_sub(1).and_then(|before| entries.get(before)).map(|before| before.place.0);
        let slot = match entries.get(at) {
            None => i64::try_from(position).unwrap_or(i64::MAX).saturating_mul(SLOTS),
            Some(after) => between(before, after.place.0),
        };
        (at, (slot, position))
    }

    fn insert(&mut self, head: &Head, position: Position, is_newest: bool, is_copy: bool) -> Place {
        let (at, place) = self.place(head, position, is_newest, is_copy);
        let entry = Entry {
            place,
            origin: head.origin,
            expires: head.expires,
            octets: head.octets,
            is_data: head.kind == Kind::Data,
            source_timestamp: head.source_timestamp,
            vendor: head.vendor,
        };
        let instance = self.instances.entry(head.instance).or_default();
        instance.entries.insert(at, entry);
        instance.data += usize::from(entry.is_data);
        if at + 1 == instance.entries.len() {
            instance.disposed = (head.kind == Kind::Dispose).then_some((head.source_timestamp, head.origin));
        }
        self.by_age.remove(&(instance.newest, head.instance));
        instance.newest = position;
        self.by_age.insert((position, head.instance));
        self.order.insert(place, head.instance);
        self.octets += u64::from(head.octets);
        if let Some(at) = head.expires {
            self.expiring.insert((at, place));
        }
        place
    }

    /// Lets go what is beyond the limits: of this instance, then the oldest.
    fn fit(&mut self, handle: InstanceHandle) {
        while let Some(place) = self.surplus(handle) {
            self.remove(place);
        }
        let most = self.contract.max_samples().min(self.quota.samples);
        while self.order.len() > most || self.octets > self.quota.octets {
            let Some(place) = self.order.keys().next().copied() else { break };
            self.remove(place);
        }
        let most = self.contract.max_instances().min(self.quota.instances);
        while self.instances.len() > most {
            let Some((_, oldest)) = self.by_age.first().copied() else { break };
            self.remove_instance(oldest);
        }
    }

    /// A change of an instance that is beyond its depth. Whichever order changes come in, the same ones remain: the last ones with data,
    /// the last ends, and of these only what is not before all data once there is data enough.
    fn surplus(&self, handle: InstanceHandle) -> Option<Place> {
        let (depth, instance) = (self.contract.depth(), self.instances.get(&handle)?);
        let first =
            |is_data: bool| instance.entries.iter().find(|entry| entry.is_data == is_data).map(|it| it.place);
        if instance.data > depth {
            return first(true);
        }
        if instance.entries.len() - instance.data > depth {
            return first(false);
        }
        let front = instance.entries.front()?;
        (instance.data == depth && !front.is_data).then_some(front.place)
    }

    /// Lets a change go.
    fn remove(&mut self, place: Place) {
        let Some(handle) = self.order.remove(&place) else { return };
        self.gone.changes.push(place.1);
        let Some(instance) = self.instances.get_mut(&handle) else { return };
        let Some(at) = found(&instance.entries, place) else { return };
        let Some(entry) = instance.entries.remove(at) else { return };
        instance.data -= usize::from(entry.is_data);
        self.octets -= u64::from(entry.octets);
        if let Some(at) = entry.expires {
            self.expiring.remove(&(at, place));
        }
        if instance.entries.is_empty() {
            self.remove_instance(handle);
        }
    }

    fn remove_instance(&mut self, handle: InstanceHandle) {
        let Some(instance) = self.instances.remove(&handle) else { return };
        self.by_age.remove(&(instance.newest, handle));
        if let Some(at) = instance.ends {
            self.ending.remove(&(at, handle));
            self.note_ending(handle, None);
        }
        if !instance.writers.is_empty() {
            // It is not known here any more who writes it.
            self.gone.without_writers.push(handle);
        }
        for writer in instance.writers {
            self.forget_registration(writer, handle);
        }
        for entry in instance.entries {
            self.order.remove(&entry.place);
            self.octets -= u64::from(entry.octets);
            self.gone.changes.push(entry.place.1);
            if let Some(at) = entry.expires {
                self.expiring.remove(&(at, entry.place));
            }
        }
    }

    fn registered(&mut self, handle: InstanceHandle, writer: Guid) {
        if let Some(instance) = self.instances.get_mut(&handle)
            && instance.writers.insert(writer)
        {
            self.by_writer.entry(writer).or_default().insert(handle);
        }
    }

    fn forget_registration(&mut self, writer: Guid, handle: InstanceHandle) {
        if let Some(of_writer) = self.by_writer.get_mut(&writer) {
            of_writer.remove(&handle);
            if of_writer.is_empty() {
                self.by_writer.remove(&writer);
            }
        }
    }

    fn give_up(&mut self, handle: InstanceHandle, writer: Guid, now: WallTime) {
        self.forget_registration(writer, handle);
        let Some(instance) = self.instances.get_mut(&handle) else { return };
        if instance.writers.remove(&writer) && instance.writers.is_empty() {
            self.gone.without_writers.push(handle);
        }
        self.settle(handle, now);
    }

    /// A writer has gone: it has given up all its instances.
    pub fn writer_lost(&mut self, writer: Guid, now: WallTime) {
        for handle in self.by_writer.remove(&writer).into_iter().flatten() {
            self.give_up(handle, writer, now);
        }
    }

    /// Writers that have instances.
    pub fn writers(&self) -> impl Iterator<Item = Guid> + '_ {
        self.by_writer.keys().copied()
    }

    /// Whether somebody still writes an instance.
    #[must_use]
    pub fn has_writers(&self, handle: InstanceHandle) -> bool {
        self.instances.get(&handle).is_some_and(|instance| !instance.writers.is_empty())
    }

    /// Decides when an instance ends: `service_cleanup_delay` after it was disposed and all its writers gave it up.
    fn settle(&mut self, handle: InstanceHandle, now: WallTime) {
        let Some(instance) = self.instances.get_mut(&handle) else { return };
        let over = instance.disposed.is_some() && instance.writers.is_empty();
        match (over, instance.ends) {
            (true, None) => {
                let at = now.plus(self.contract.service.service_cleanup_delay);
                instance.ends = Some(at);
                self.ending.insert((at, handle));
                self.note_ending(handle, Some(at));
            }
            (false, Some(at)) => {
                instance.ends = None;
                self.ending.remove(&(at, handle));
                self.note_ending(handle, None);
            }
            _ => {}
        }
    }

    /// A restart changes nothing about when an instance ends, although nobody tells again that its writers gave it up.
    fn note_ending(&mut self, handle: InstanceHandle, at: Option<WallTime>) {
        let delay = self.contract.service.service_cleanup_delay;
        if delay > Duration::ZERO && !delay.is_infinite() {
            self.gone.endings.push((handle, at));
        }
    }

    /// Takes what a store had about when an instance ends.
    pub fn restore_ending(&mut self, handle: InstanceHandle, at: WallTime) {
        let Some(instance) = self.instances.get_mut(&handle).filter(|it| it.disposed.is_some()) else {
            return self.note_ending(handle, None);
        };
        instance.ends = Some(at);
        self.ending.insert((at, handle));
        for writer in std::mem::take(&mut instance.writers) {
            self.forget_registration(writer, handle);
        }
    }

    /// Lets go what has become too old.
    pub fn prune(&mut self, now: WallTime) {
        while let Some((at, place)) = self.expiring.first().copied().filter(|(at, _)| *at <= now) {
            self.expiring.remove(&(at, place));
            self.remove(place);
        }
        while let Some((at, handle)) = self.ending.first().copied().filter(|(at, _)| *at <= now) {
            self.ending.remove(&(at, handle));
            let disposed = self.instances.get(&handle).and_then(|instance| instance.disposed);
            self.remove_instance(handle);
            if let Some((disposed, origin)) = disposed {
                let until = now.plus(self.quota.tombstones);
                let tombstone = Tombstone { disposed, until, origin: Some(origin) };
                self.add_tombstone(handle, tombstone);
                self.gone.tombstones.push((handle, Some(tombstone)));
            }
        }
        let too_many = |history: &Self| history.tombstones.len() > history.quota.instances;
        while let Some((at, handle)) =
            self.forgetting.first().copied().filter(|(at, _)| *at <= now || too_many(self))
        {
            self.forgetting.remove(&(at, handle));
            self.tombstones.remove(&handle);
            self.gone.tombstones.push((handle, None));
        }
    }

    /// Remembers that an instance has ended.
    pub fn add_tombstone(&mut self, handle: InstanceHandle, tombstone: Tombstone) {
        if let Some(before) = self.tombstones.insert(handle, tombstone) {
            self.forgetting.remove(&(before.until, handle));
        }
        self.forgetting.insert((tombstone.until, handle));
    }

    /// When [`prune`](Self::prune) has something to do next.
    #[must_use]
    pub fn next_due(&self) -> Option<WallTime> {
        let times = [
            self.expiring.first().map(|it| it.0),
            self.ending.first().map(|it| it.0),
            self.forgetting.first().map(|it| it.0),
        ];
        times.into_iter().flatten().min()
    }

    /// The change after a place, in the order in which a reader is to get them.
    #[must_use]
    pub fn after(&self, place: Option<Place>) -> Option<(Place, InstanceHandle)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = place.map_or(Unbounded, Excluded);
        self.order.range((from, Unbounded)).next().map(|(place, handle)| (*place, *handle))
    }

    /// The change at a place.
    #[must_use]
    pub fn at(&self, place: Place) -> Option<Kept> {
        let instance = *self.order.get(&place)?;
        let entries = &self.instances.get(&instance)?.entries;
        let entry = found(entries, place).and_then(|at| entries.get(at))?;
        Some(Kept {
            position: place.1,
            instance,
            origin: entry.origin,
            source_timestamp: entry.source_timestamp,
            kind: if entry.is_data { Kind::Data } else { Kind::Dispose },
            vendor: entry.vendor,
        })
    }

    /// All changes that are kept, in no order: where each is, its identity, and whether it has data.
    pub fn identities(&self) -> impl Iterator<Item = (Place, SampleIdentity, bool)> + '_ {
        let entries = self.instances.values().flat_map(|instance| &instance.entries);
        entries.map(|entry| (entry.place, entry.origin, entry.is_data))
    }

    /// Takes a change that a store had.
    pub fn restore(&mut self, head: &Head, position: Position) {
        let is_newest = self.note(head.origin);
        self.insert(head, position, is_newest, false);
        self.registered(head.instance, head.origin.writer);
        self.fit(head.instance);
    }

    /// Takes the numbers of a writer that a store had.
    pub fn restore_numbers(&mut self, writer: Guid, numbers: Numbers) {
        if self.origins.of(writer).is_none() {
            self.known_writers.push_back(writer);
        }
        self.origins.restore(writer, numbers);
    }
}
