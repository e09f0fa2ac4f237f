//! A reader's cache written down as plainly as possible: everything is in small vectors that are searched and sorted
//! anew whenever something is wanted of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use dunlin_cache::{
    FilterReason, Insert, InstanceSelect, InstanceState, ReaderCacheConfig, RejectReason, SampleState,
    Selection, UnknownInstance, ViewState,
};
use dunlin_core::{Duration, InstanceHandle};
use dunlin_qos::{DestinationOrderKind, HistoryKind, OwnershipKind, ReaderDataLifecycle};

/// Source time, writer, sequence number.
type Key = (i64, u8, i64);

#[derive(Clone, Debug)]
struct Sample {
    key: Key,
    value: Option<u8>,
    read: bool,
    generations: (u32, u32),
    arrival: u64,
    expires: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Registration {
    /// Until when the writer is punctual.
    until: Option<i64>,
    number: u64,
}

#[derive(Debug)]
struct Instance {
    state: InstanceState,
    view: ViewState,
    generations: (u32, u32),
    samples: Vec<Sample>,
    pending: Option<(Sample, i64)>,
    /// Writers that registered the instance.
    writers: BTreeMap<u8, Registration>,
    delivered: Option<i64>,
    latest: Option<Key>,
    floor: Option<Key>,
    deadline: Option<i64>,
    purge: Option<i64>,
    /// When it was last alive.
    ended: i64,
}

/// What a call returns of a sample, in a form that is easy to compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub instance: InstanceHandle,
    pub writer: u8,
    pub source: i64,
    pub value: Option<u8>,
    pub states: (SampleState, ViewState, InstanceState),
    pub generations: (u32, u32),
    pub ranks: (u32, u32, u32),
}

#[derive(Debug)]
pub struct Model {
    config: ReaderCacheConfig,
    instances: BTreeMap<InstanceHandle, Instance>,
    dead: BTreeSet<u8>,
    pub strengths: [i32; 4],
    arrivals: u64,
}

/// A change as the model sees it.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub writer: u8,
    pub instance: InstanceHandle,
    pub sn: i64,
    pub source: i64,
    pub value: u8,
    pub lifespan: Option<i64>,
}

fn nanos(duration: Duration) -> Option<i64> {
    (!duration.is_infinite()).then(|| duration.as_nanos())
}

fn limit(value: i32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

impl Instance {
    fn data(&self) -> usize {
        self.samples.iter().filter(|sample| sample.value.is_some()).count()
    }

    fn unread(&self) -> usize {
        self.samples.iter().filter(|sample| !sample.read).count()
    }

    fn come_alive(&mut self) {
        match self.state {
            InstanceState::Alive => return,
            InstanceState::NotAliveDisposed => self.generations.0 += 1,
            InstanceState::NotAliveNoWriters => self.generations.1 += 1,
        }
        (self.state, self.view, self.purge) = (InstanceState::Alive, ViewState::New, None);
    }
}

impl Model {
    pub fn new(config: ReaderCacheConfig) -> Self {
        Self { config, instances: BTreeMap::new(), dead: BTreeSet::new(), strengths: [0; 4], arrivals: 0 }
    }

    fn by_source(&self) -> bool {
        self.config.destination_order == DestinationOrderKind::BySourceTimestamp
    }

    fn depth(&self) -> Option<usize> {
        let keep_last = self.config.history.kind == HistoryKind::KeepLast;
        keep_last.then_some(self.config.history.depth as usize)
    }

    fn owns(&self, now: i64, instance: &Instance, writer: u8) -> bool {
        let claim = |w: u8| (self.strengths[usize::from(w)], Reverse(w));
        self.config.ownership == OwnershipKind::Shared
            || instance
                .writers
                .iter()
                .filter(|(w, _)| **w != writer && !self.dead.contains(*w))
                .filter(|(_, registration)| registration.until.is_none_or(|until| until > now))
                .all(|(w, _)| claim(*w) < claim(writer))
    }

    fn is_late(&self, instance: &Instance, key: Key) -> bool {
        let full = self.depth().is_some_and(|depth| instance.data() >= depth);
        let oldest = instance.samples.iter().filter(|s| s.value.is_some()).map(|s| s.key).min();
        self.by_source()
            && (instance.floor.is_some_and(|floor| key < floor)
                || instance.pending.as_ref().is_some_and(|(held, _)| key < held.key)
                || (full && oldest.is_some_and(|oldest| key < oldest)))
    }

    fn reject(&self, instance: Option<&Instance>) -> Option<RejectReason> {
        let limits = self.config.resource_limits;
        match instance {
            Some(found) => {
                if found.pending.is_some() || self.depth().is_some_and(|depth| found.data() >= depth) {
                    return None;
                }
                if found.data() >= limit(limits.max_samples_per_instance) {
                    return Some(RejectReason::SamplesPerInstanceLimit);
                }
            }
            None if self.instances.len() >= limit(limits.max_instances) => {
                return Some(RejectReason::InstancesLimit);
            }
            None => {}
        }
        let all = self.instances.values();
        let used: usize = all.map(|i| i.data() + usize::from(i.pending.is_some())).sum();
        (used >= limit(limits.max_samples)).then_some(RejectReason::SamplesLimit)
    }

    /// A sign of life of a writer in an instance. True when an instance became alive by that.
    fn sign_of_life(&mut self, now: i64, change: &Change, until: Option<i64>) -> bool {
        let resumed = self.resume(now, change.writer);
        let period = nanos(self.config.deadline);
        let Some(instance) = self.instances.get_mut(&change.instance) else { return resumed };
        self.arrivals += 1;
        let new = Registration { until, number: self.arrivals };
        instance.writers.entry(change.writer).or_insert(new).until = until;
        let back = instance.state == InstanceState::NotAliveNoWriters;
        if back {
            instance.come_alive();
            instance.deadline = period.map(|period| now + period);
        }
        resumed || back
    }

    pub fn resume(&mut self, now: i64, writer: u8) -> bool {
        if !self.dead.remove(&writer) {
            return false;
        }
        let period = nanos(self.config.deadline);
        let mut changed = false;
        for instance in self.instances.values_mut().filter(|i| i.writers.contains_key(&writer)) {
            if instance.state == InstanceState::NotAliveNoWriters {
                instance.come_alive();
                instance.deadline = period.map(|period| now + period);
                changed = true;
            }
        }
        changed
    }

    pub fn data(&mut self, now: i64, change: &Change) -> Insert {
        let expires = change.lifespan.map(|span| change.source.min(now) + span);
        if expires.is_some_and(|end| end <= now) {
            return Insert::Filtered(FilterReason::Expired);
        }
        let key = (change.source, change.writer, change.sn);
        let until = nanos(self.config.deadline).map(|period| now + period);
        let known = self.instances.get(&change.instance);
        if let Some(instance) = known {
            let owns = self.owns(now, instance, change.writer);
            if !owns || self.is_late(instance, key) {
                let reason = if owns { FilterReason::Stale } else { FilterReason::NotOwner };
                let changed = self.sign_of_life(now, change, until);
                return unseen(changed, reason);
            }
        }
        if let Some(reason) = self.reject(known) {
            return if self.config.reliable { Insert::Rejected(reason) } else { Insert::Dropped(reason) };
        }
        let new_instance = known.is_none();
        let separation = self.config.minimum_separation.as_nanos();
        let instance = self.instances.entry(change.instance).or_insert_with(new);
        let due = instance.delivered.map(|delivered| delivered + separation).filter(|due| *due > now);
        let due = due.filter(|_| instance.state == InstanceState::Alive);
        let changed = self.sign_of_life(now, change, until);
        let Some(instance) = self.instances.get_mut(&change.instance) else { unreachable!() };
        instance.come_alive();
        instance.latest = instance.latest.max(Some(key));
        instance.deadline = until;
        instance.pending = None;
        let generations = instance.generations;
        let value = Some(change.value);
        let sample = Sample { key, value, read: false, generations, arrival: 0, expires };
        if let Some(due) = due {
            instance.pending = Some((sample, due));
            return unseen(changed, FilterReason::Separation);
        }
        if self.show(now, change.instance, sample) {
            Insert::Replaced
        } else {
            Insert::Stored { new_instance }
        }
    }

    /// Makes a sample visible. True when it replaced another one.
    fn show(&mut self, now: i64, handle: InstanceHandle, mut sample: Sample) -> bool {
        self.arrivals += 1;
        sample.arrival = self.arrivals;
        let (depth, by_source) = (self.depth(), self.by_source());
        let Some(instance) = self.instances.get_mut(&handle) else { return false };
        instance.samples.retain(|other| other.value.is_some());
        let full = depth.is_some_and(|depth| instance.samples.len() >= depth);
        if full {
            instance.samples.remove(0);
        }
        instance.samples.push(sample);
        if by_source {
            instance.samples.sort_by_key(|sample| sample.key);
        }
        instance.delivered = Some(now);
        full
    }

    pub fn disposal(&mut self, now: i64, change: &Change, with_key: bool, unregisters: bool) -> Insert {
        let key = (change.source, change.writer, change.sn);
        let known = self.instances.get(&change.instance);
        if let Some(instance) = known {
            let owns = self.owns(now, instance, change.writer);
            let late = self.by_source() && instance.latest.is_some_and(|latest| key < latest);
            if !owns || late {
                let reason = if owns { FilterReason::Stale } else { FilterReason::NotOwner };
                if unregisters {
                    return unseen(self.leave(now, change.instance, change.writer, key), reason);
                }
                let until = nanos(self.config.deadline).map(|period| now + period);
                return unseen(self.sign_of_life(now, change, until), reason);
            }
        } else if !with_key || self.instances.len() >= limit(self.config.resource_limits.max_instances) {
            return Insert::Filtered(FilterReason::UnknownInstance);
        }
        let new_instance = known.is_none();
        self.instances.entry(change.instance).or_insert_with(new);
        let resumed = self.sign_of_life(now, change, None);
        let Some(instance) = self.instances.get_mut(&change.instance) else { unreachable!() };
        instance.latest = instance.latest.max(Some(key));
        instance.floor = instance.floor.max(Some(key));
        let changed = instance.state != InstanceState::NotAliveDisposed;
        if changed {
            instance.pending = None;
            self.end(now, change.instance, InstanceState::NotAliveDisposed, key);
        }
        if unregisters {
            self.leave(now, change.instance, change.writer, key);
        }
        if changed { Insert::StateChanged { new_instance } } else { unseen(resumed, FilterReason::NoChange) }
    }

    pub fn unregistration(&mut self, now: i64, change: &Change) -> Insert {
        if !self.instances.contains_key(&change.instance) {
            return Insert::Filtered(FilterReason::UnknownInstance);
        }
        let key = (change.source, change.writer, change.sn);
        unseen(self.leave(now, change.instance, change.writer, key), FilterReason::NoChange)
    }

    /// A writer leaves an instance. True when that was the end of its life.
    fn leave(&mut self, now: i64, handle: InstanceHandle, writer: u8, key: Key) -> bool {
        let registered = |instance: &mut Instance| instance.writers.remove(&writer).is_some();
        self.instances.get_mut(&handle).is_some_and(registered) && self.check_writers(now, handle, key)
    }

    fn check_writers(&mut self, now: i64, handle: InstanceHandle, key: Key) -> bool {
        let Some(instance) = self.instances.get(&handle) else { return false };
        if instance.writers.keys().any(|writer| !self.dead.contains(writer)) {
            return false;
        }
        let changed = instance.state == InstanceState::Alive;
        if changed {
            self.end(now, handle, InstanceState::NotAliveNoWriters, key);
        }
        self.clean_up(handle);
        changed
    }

    /// An instance is alive no longer.
    fn end(&mut self, now: i64, handle: InstanceHandle, state: InstanceState, key: Key) {
        let Some(instance) = self.instances.get_mut(&handle) else { return };
        (instance.state, instance.deadline, instance.purge) = (state, None, None);
        instance.ended = now;
        self.announce(handle, key);
        let delay = self.purge_delay(state);
        let Some(instance) = self.instances.get_mut(&handle) else { return };
        instance.purge = nanos(delay).map(|delay| now + delay);
        if delay == Duration::ZERO {
            instance.samples.clear();
            (instance.pending, instance.purge) = (None, None);
            self.clean_up(handle);
        }
    }

    fn purge_delay(&self, state: InstanceState) -> Duration {
        match state {
            InstanceState::Alive => Duration::INFINITE,
            InstanceState::NotAliveDisposed => self.config.lifecycle.autopurge_disposed_samples_delay,
            InstanceState::NotAliveNoWriters => self.config.lifecycle.autopurge_nowriter_samples_delay,
        }
    }

    /// READER_DATA_LIFECYCLE changes, also for what has ended.
    pub fn set_lifecycle(&mut self, lifecycle: ReaderDataLifecycle) {
        self.config.lifecycle = lifecycle;
        let states: Vec<_> = self.instances.iter().map(|(handle, i)| (*handle, i.state)).collect();
        for (handle, state) in states {
            let delay = nanos(self.purge_delay(state));
            if let Some(instance) = self.instances.get_mut(&handle) {
                instance.purge = delay.map(|delay| instance.ended + delay);
            }
        }
    }

    fn announce(&mut self, handle: InstanceHandle, key: Key) {
        let Some(instance) = self.instances.get_mut(&handle) else { return };
        if instance.unread() > 0 {
            return;
        }
        self.arrivals += 1;
        instance.samples.retain(|sample| sample.value.is_some());
        instance.samples.push(Sample {
            key,
            value: None,
            read: false,
            generations: instance.generations,
            arrival: self.arrivals,
            expires: None,
        });
    }

    /// Forgets an instance without samples and writers.
    fn clean_up(&mut self, handle: InstanceHandle) {
        let Some(instance) = self.instances.get(&handle) else { return };
        let written = instance.writers.keys().any(|writer| !self.dead.contains(writer));
        if instance.samples.is_empty() && instance.pending.is_none() && !written {
            self.instances.remove(&handle);
        }
    }

    /// The instances that a writer registered, in the order in which it did.
    fn registered_by(&self, writer: u8) -> Vec<InstanceHandle> {
        let of = |(handle, i): (&InstanceHandle, &Instance)| Some((i.writers.get(&writer)?.number, *handle));
        let numbered: BTreeMap<u64, InstanceHandle> = self.instances.iter().filter_map(of).collect();
        numbered.into_values().collect()
    }

    pub fn lose(&mut self, now: i64, writer: u8) -> bool {
        let mut changed = false;
        for handle in self.registered_by(writer) {
            changed |= self.leave(now, handle, writer, (now, writer, 0));
        }
        self.dead.remove(&writer);
        changed
    }

    /// A writer lost its liveliness. `known`: the cache ever heard of it.
    pub fn not_alive(&mut self, now: i64, writer: u8, known: bool) -> bool {
        if !known || !self.dead.insert(writer) {
            return false;
        }
        let mut changed = false;
        for handle in self.registered_by(writer) {
            changed |= self.check_writers(now, handle, (now, writer, 0));
        }
        changed
    }

    pub fn handles(&self) -> Vec<InstanceHandle> {
        self.instances.keys().copied().collect()
    }

    pub fn state(&self, handle: InstanceHandle) -> Option<InstanceState> {
        self.instances.get(&handle).map(|instance| instance.state)
    }

    /// When something happens next.
    fn next_event(&self) -> Option<(i64, u8, InstanceHandle)> {
        let of = |(handle, i): (&InstanceHandle, &Instance)| {
            let held = i.pending.iter().map(|(sample, _)| sample);
            let expiry = i.samples.iter().chain(held).filter_map(|sample| sample.expires).min();
            let due = [expiry, i.pending.as_ref().map(|(_, due)| *due), i.deadline, i.purge];
            let numbered = (0_u8..).zip(due).filter_map(|(kind, due)| Some((due?, kind, *handle)));
            numbered.min()
        };
        self.instances.iter().filter_map(of).min()
    }

    /// Lets time pass. The missed deadlines, and whether something is to be seen.
    pub fn pass(&mut self, now: i64) -> (Vec<(InstanceHandle, u32)>, bool) {
        let (mut missed, mut seen) = (Vec::new(), false);
        while let Some((due, kind, handle)) = self.next_event().filter(|(due, _, _)| *due <= now) {
            match kind {
                0 => seen |= self.expire(handle, due),
                1 => {
                    let held = self.instances.get_mut(&handle).and_then(|instance| instance.pending.take());
                    if let Some((sample, _)) = held {
                        self.show(now, handle, sample);
                        seen = true;
                    }
                }
                2 => {
                    let period = nanos(self.config.deadline).unwrap_or(1);
                    let count = (now - due) / period + 1;
                    missed.push((handle, count as u32));
                    if let Some(instance) = self.instances.get_mut(&handle) {
                        instance.deadline = Some(due + count * period);
                    }
                }
                _ => {
                    if let Some(instance) = self.instances.get_mut(&handle) {
                        instance.samples.clear();
                        (instance.pending, instance.purge) = (None, None);
                    }
                    self.clean_up(handle);
                }
            }
        }
        (missed, seen)
    }

    fn expire(&mut self, handle: InstanceHandle, due: i64) -> bool {
        let Some(instance) = self.instances.get_mut(&handle) else { return false };
        if instance.pending.as_ref().is_some_and(|(sample, _)| sample.expires == Some(due)) {
            instance.pending = None;
            self.clean_up(handle);
            return false;
        }
        let place = instance.samples.iter().position(|sample| sample.expires == Some(due));
        let Some(gone) = place.map(|place| instance.samples.remove(place)) else { return false };
        let news = !gone.read && instance.unread() == 0 && instance.state != InstanceState::Alive;
        if news {
            self.announce(handle, (gone.key.0, gone.key.1, 0));
        }
        self.clean_up(handle);
        news
    }

    fn selected(&self, selection: &Selection) -> Result<Vec<(InstanceHandle, Sample)>, UnknownInstance> {
        let wanted = |handle: &InstanceHandle| {
            let of = |(h, i): (&InstanceHandle, &Instance)| {
                let fits =
                    selection.view_states.contains(i.view) && selection.instance_states.contains(i.state);
                let samples = i.samples.iter().filter(|s| fits && selection.sample_states.contains(state(s)));
                samples.map(|sample| (*h, sample.clone())).collect::<Vec<_>>()
            };
            self.instances.get_key_value(handle).map(of).unwrap_or_default()
        };
        match selection.instance {
            InstanceSelect::Exact(handle) if !self.instances.contains_key(&handle) => Err(UnknownInstance),
            InstanceSelect::Exact(handle) => Ok(wanted(&handle)),
            InstanceSelect::Next(previous) => {
                let above = self.instances.keys().filter(|handle| **handle > previous);
                Ok(above.map(wanted).find(|samples| !samples.is_empty()).unwrap_or_default())
            }
            InstanceSelect::Any => {
                let mut groups: Vec<_> =
                    self.instances.keys().map(wanted).filter(|g| !g.is_empty()).collect();
                groups.sort_by_key(|group| self.first_arrival(group, selection));
                let mut all = groups.concat();
                if self.config.ordered {
                    all.sort_by_key(|(_, sample)| sample.arrival);
                    if self.by_source() {
                        all.sort_by_key(|(_, sample)| sample.key);
                    }
                }
                Ok(all)
            }
        }
    }

    /// Instances come by their oldest sample, or by the oldest unread one if read ones are not wanted.
    fn first_arrival(&self, group: &[(InstanceHandle, Sample)], selection: &Selection) -> Option<u64> {
        let unread_only = !selection.sample_states.contains(SampleState::Read);
        let instance = self.instances.get(&group.first()?.0)?;
        let samples = instance.samples.iter().filter(|sample| !unread_only || !sample.read);
        samples.map(|sample| sample.arrival).min()
    }

    pub fn count(&self, selection: &Selection) -> usize {
        self.selected(selection).map_or(0, |samples| samples.len())
    }

    pub fn access(&mut self, selection: &Selection, take: bool) -> Result<Vec<Seen>, UnknownInstance> {
        let mut samples = self.selected(selection)?;
        samples.truncate(selection.max_samples);
        let total = |sample: &Sample| sample.generations.0 + sample.generations.1;
        let mut seen = Vec::new();
        for (place, (handle, sample)) in samples.iter().enumerate() {
            let instance = &self.instances[handle];
            let later: Vec<_> = samples[place + 1..].iter().filter(|(other, _)| other == handle).collect();
            let newest = later.last().map_or(sample, |(_, newest)| newest);
            let now = instance.generations.0 + instance.generations.1;
            let generation_rank = total(newest).saturating_sub(total(sample));
            seen.push(Seen {
                instance: *handle,
                writer: sample.key.1,
                source: sample.key.0,
                value: sample.value,
                states: (state(sample), instance.view, instance.state),
                generations: sample.generations,
                ranks: (later.len() as u32, generation_rank, now - total(sample)),
            });
        }
        for (handle, sample) in &samples {
            let Some(instance) = self.instances.get_mut(handle) else { continue };
            if sample.generations == instance.generations {
                instance.view = ViewState::NotNew;
            }
            if take {
                instance.samples.retain(|other| other.arrival != sample.arrival);
                if sample.value.is_some() {
                    instance.floor = instance.floor.max(Some(sample.key));
                }
            } else if let Some(read) = instance.samples.iter_mut().find(|s| s.arrival == sample.arrival) {
                read.read = true;
            }
        }
        samples.iter().for_each(|(handle, _)| self.clean_up(*handle));
        Ok(seen)
    }
}

fn state(sample: &Sample) -> SampleState {
    if sample.read { SampleState::Read } else { SampleState::NotRead }
}

fn new() -> Instance {
    Instance {
        state: InstanceState::Alive,
        view: ViewState::New,
        generations: (0, 0),
        samples: Vec::new(),
        pending: None,
        writers: BTreeMap::new(),
        delivered: None,
        latest: None,
        floor: None,
        deadline: None,
        purge: None,
        ended: 0,
    }
}

const fn unseen(changed: bool, reason: FilterReason) -> Insert {
    if changed { Insert::StateChanged { new_instance: false } } else { Insert::Filtered(reason) }
}
