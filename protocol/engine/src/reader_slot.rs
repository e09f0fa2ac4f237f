//! A reader behind its locks (DDS 1.4 §2.2.2.5.3 DataReader): the protocol side, used by receive threads and the
//! timer, and the cache, which the application takes from.

mod arriving;
mod committing;
mod showing;
mod sink;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_cache::{
    CachedSample, DeadlineMissed, InstanceState, Origins, ReaderCache, RejectReason, SampleData, Selection,
    UnknownInstance, WriterInfo,
};
use dunlin_cdr::{DecodeOptions, TypeSupport};
use dunlin_core::{
    Duration, EntityId, Guid, GuidPrefix, Identities, InstanceHandle, MonoTime, Now, SequenceNumber,
    VendorId, WallTime,
};
use dunlin_discovery::{DiscoveredWriter, LivelinessTracker, LivelinessTransition, WriterSign};
use dunlin_qos::{DataReaderQos, DestinationOrderKind, DurabilityKind, LivelinessKind, ReliabilityKind};
use dunlin_rtps::{ChangeKind, Reader, ReaderStats, Received};
use dunlin_sync::{RankedGuard, RankedMutex};
use sink::CacheSink;

use crate::common::{Common, earliest};
use crate::content_filter::{ContentFilter, ContentFilterStats};
use crate::group::{Arrivals, SubscriberGroup};
use crate::matching;
use crate::output::{Event, Output, TimeSource};
use crate::ranks;
use crate::timers::{TimerId, TimerOwner};
use crate::writer_slot::WriteRequest;

/// A reader. Application threads hold it directly.
pub struct ReaderSlot {
    guid: Guid,
    common: Arc<Common>,
    type_support: Arc<dyn TypeSupport>,
    protocol_timer: TimerId,
    cache_timer: TimerId,
    /// With whom it shows what it receives, if changes wait for each other.
    group: Option<Arc<SubscriberGroup>>,
    reliability: ReliabilityKind,
    protocol: RankedMutex<{ ranks::CORE }, Protocol>,
    store: RankedMutex<{ ranks::CACHE }, Store>,
}

/// The side that talks to writers.
pub(crate) struct Protocol {
    pub(crate) reader: Reader,
    qos: Arc<DataReaderQos>,
    /// By GUID.
    writers: Vec<Arc<DiscoveredWriter>>,
    /// Of the writers whose lease is finite.
    leases: LivelinessTracker,
    transitions: Vec<LivelinessTransition>,
    /// What the timers have; never later than the true deadline.
    armed: Option<MonoTime>,
    /// Durable writers were matched whose history has not arrived yet.
    historical_due: bool,
    pub(crate) deleted: bool,
}

/// The side that the application takes from.
pub(crate) struct Store {
    pub(crate) cache: ReaderCache,
    /// A reliable sample found no room and waits at the protocol side.
    pub(crate) rejected: bool,
    /// Room was made while nobody could be told.
    room: bool,
    /// What found no room in what readers share is tried again then.
    retry_at: Option<MonoTime>,
    /// Of each writer the last sample that SAMPLE_REJECTED was told for: one that is offered again is not rejected anew.
    last_rejected: Vec<(Guid, SequenceNumber)>,
    /// Memory for computing key hashes.
    pub(crate) scratch: Vec<u8>,
    /// What samples have to satisfy to enter the cache.
    pub(crate) filter: Option<Arc<ContentFilter>>,
    pub(crate) filter_stats: ContentFilterStats,
    /// What has just arrived and has to wait for others.
    pub(crate) arrivals: Arrivals,
    /// What it has had, if it drops what comes again by another way.
    pub(crate) origins: Option<Origins>,
    /// What it dropped for that.
    pub(crate) copies: u64,
    /// How far ahead source timestamps may be; `None`: as far as they like.
    timestamp_tolerance: Option<Duration>,
    /// How many changes were refused for that.
    from_future: u64,
    /// If changes wait for each other: of each matched writer the first change that is new, if it was lost and met again.
    streams: BTreeMap<Guid, SequenceNumber>,
    /// What waited to be shown and is not, if the application commits what it is shown.
    unshown: Option<Vec<(Guid, SequenceNumber)>>,
    /// How many samples SAMPLE_LOST was told for, or is about to be.
    lost: u64,
    /// How many changes were given to a private reader.
    delivered: SequenceNumber,
    armed: Option<MonoTime>,
    missed: Vec<DeadlineMissed>,
    deleted: bool,
}

impl Store {
    /// Notes that a sample is rejected; SAMPLE_REJECTED, if that happens to it for the first time.
    pub(crate) fn reject(
        &mut self,
        reader: EntityId,
        change: &Received<'_>,
        reason: RejectReason,
        instance: InstanceHandle,
    ) -> impl Iterator<Item = Event> + use<> {
        let (writer, sn) = (change.writer, change.sn);
        let first = match self.last_rejected.iter_mut().find(|(known, _)| *known == writer) {
            Some((_, last)) => sn > core::mem::replace(last, sn.max(*last)),
            None => {
                self.last_rejected.push((writer, sn));
                true
            }
        };
        let rejected = first.then_some(Event::SampleRejected { reader, reason, instance });
        let by_quota = first && self.cache.is_refused_by_quota();
        rejected.into_iter().chain(by_quota.then_some(Event::OverQuota { reader, reason }))
    }

    /// How far a source timestamp is ahead of the clock, if that is more than it may be.
    pub(crate) fn ahead(&self, now: Now, source_timestamp: Option<WallTime>) -> Option<Duration> {
        let ahead = source_timestamp?.since(now.wall);
        (ahead > self.timestamp_tolerance?).then_some(ahead)
    }

    /// Counts a change that is refused because it is from the future. No sample of its instance that has come since would be
    /// shown beside it, so it is lost: SAMPLE_LOST, and why.
    pub(crate) fn refuse_future(&mut self, reader: EntityId, remote: Guid, ahead: Duration) -> [Event; 2] {
        self.from_future = self.from_future.saturating_add(1);
        [Event::FromFuture { reader, remote, ahead }, self.lose(reader, 1)]
    }

    /// Counts samples that will never arrive; the SAMPLE_LOST to tell.
    pub(crate) fn lose(&mut self, reader: EntityId, count: u64) -> Event {
        self.lost = self.lost.saturating_add(count);
        Event::SampleLost { reader, count }
    }
}

pub(crate) type StoreGuard<'a> = RankedGuard<'a, { ranks::CACHE }, Store>;

impl ReaderSlot {
    pub(crate) fn new(
        common: &Arc<Common>,
        reader: Reader,
        guid: Guid,
        cache: ReaderCache,
        qos: Arc<DataReaderQos>,
        type_support: Arc<dyn TypeSupport>,
        group: Option<Arc<SubscriberGroup>>,
    ) -> Self {
        let reliability = qos.reliability.kind;
        let by_source = qos.destination_order.kind == DestinationOrderKind::BySourceTimestamp;
        let tolerance = common.tuning.timestamp_tolerance;
        let store = Store {
            cache,
            rejected: false,
            room: false,
            retry_at: None,
            last_rejected: Vec::new(),
            scratch: Vec::new(),
            filter: None,
            filter_stats: ContentFilterStats::default(),
            arrivals: Arrivals::default(),
            origins: qos.removes_duplicates().then(Origins::default),
            copies: 0,
            timestamp_tolerance: Some(tolerance).filter(|most| by_source && *most < Duration::INFINITE),
            from_future: 0,
            streams: BTreeMap::new(),
            unshown: qos.acknowledges_on_commit().then(Vec::new),
            lost: 0,
            delivered: SequenceNumber::ZERO,
            armed: None,
            missed: Vec::new(),
            deleted: false,
        };
        let protocol = Protocol {
            reader,
            qos,
            writers: Vec::new(),
            leases: LivelinessTracker::new(),
            transitions: Vec::new(),
            armed: None,
            historical_due: false,
            deleted: false,
        };
        Self {
            guid,
            common: Arc::clone(common),
            type_support,
            protocol_timer: common.timers.register(TimerOwner::Reader(guid.entity_id)),
            cache_timer: common.timers.register(TimerOwner::ReaderCache(guid.entity_id)),
            group,
            reliability,
            protocol: RankedMutex::new(protocol),
            store: RankedMutex::new(store),
        }
    }

    /// The reader's GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.guid
    }

    pub(crate) fn id(&self) -> EntityId {
        self.guid.entity_id
    }

    pub(crate) fn reliability(&self) -> ReliabilityKind {
        self.reliability
    }

    pub(crate) fn type_support(&self) -> &dyn TypeSupport {
        &*self.type_support
    }

    pub(crate) fn common(&self) -> &Common {
        &self.common
    }

    pub(crate) fn group(&self) -> Option<&Arc<SubscriberGroup>> {
        self.group.as_ref()
    }

    pub(crate) fn protocol_timer(&self) -> TimerId {
        self.protocol_timer
    }

    pub(crate) fn store(&self) -> StoreGuard<'_> {
        self.store.lock()
    }

    /// Appends the selected samples to `samples` and leaves them in the cache as read. Returns how many; none is
    /// NO_DATA.
    ///
    /// # Errors
    /// [`UnknownInstance`] when the selection names an instance that this reader does not know.
    pub fn read(
        &self,
        now: impl TimeSource,
        selection: &Selection,
        samples: &mut Vec<CachedSample>,
        out: &mut Output,
    ) -> Result<usize, UnknownInstance> {
        self.access(now, out, |cache| cache.read(selection, samples))
    }

    /// Moves the selected samples to `samples`. Returns how many; none is NO_DATA. Samples that found no room before
    /// may enter the cache then, and `out` acknowledges them.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn take(
        &self,
        now: impl TimeSource,
        selection: &Selection,
        samples: &mut Vec<CachedSample>,
        out: &mut Output,
    ) -> Result<usize, UnknownInstance> {
        self.access(now, out, |cache| cache.take(selection, samples))
    }

    /// Like [`read`](Self::read), of the samples for which `query` is true. `query` runs under the cache's lock: it
    /// must not call back into the participant.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_where(
        &self,
        now: impl TimeSource,
        selection: &Selection,
        query: &mut dyn FnMut(&SampleData<'_>) -> bool,
        samples: &mut Vec<CachedSample>,
        out: &mut Output,
    ) -> Result<usize, UnknownInstance> {
        self.access(now, out, |cache| cache.read_where(selection, query, samples))
    }

    /// Like [`take`](Self::take), of the samples for which `query` is true; see [`read_where`](Self::read_where).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn take_where(
        &self,
        now: impl TimeSource,
        selection: &Selection,
        query: &mut dyn FnMut(&SampleData<'_>) -> bool,
        samples: &mut Vec<CachedSample>,
        out: &mut Output,
    ) -> Result<usize, UnknownInstance> {
        self.access(now, out, |cache| cache.take_where(selection, query, samples))
    }

    /// Gives a [private](crate::Participant::create_private_reader) reader a change: a serialized value, or the
    /// serialized key when `kind` is not [`ChangeKind::Alive`]. What finds no room is rejected and lost.
    pub fn deliver(&self, now: Now, change: WriteRequest, out: &mut Output) {
        let WriteRequest { kind, instance, source_timestamp, payload } = change;
        let mut guard = self.store.lock();
        let store = &mut *guard;
        if store.deleted {
            return;
        }
        store.delivered = store.delivered.next();
        let received = Received {
            writer: self.guid,
            sn: store.delivered,
            kind,
            key_hash: None,
            source_timestamp,
            payload: Some(payload),
            key_only: kind != ChangeKind::Alive,
            inline_qos: None,
            identities: Identities::default(),
            reassembled: true,
        };
        let insert = store.cache.insert(now, &received, instance, &WriterInfo::default());
        if let (true, Some(payload)) = (insert.new_instance() && !received.key_only, &received.payload) {
            let options = DecodeOptions::default();
            if self.type_support.key_payload_with(payload, options, &mut store.scratch).is_ok() {
                store.cache.set_instance_key(instance, &store.scratch);
            }
        }
        if insert.data_available() {
            out.tell_once(Event::DataAvailable { reader: self.id() });
        }
        if let Some(reason) = insert.reject_reason() {
            out.events.push(Event::SampleRejected { reader: self.id(), reason, instance });
            out.events.push(store.lose(self.id(), 1));
        }
        self.arm_cache(store, &mut out.deadline_closer);
    }

    fn access<R>(
        &self,
        present: impl TimeSource,
        out: &mut Output,
        access: impl FnOnce(&mut ReaderCache) -> R,
    ) -> R {
        let (result, room) = {
            let mut store = self.store.lock();
            // The timer may be late: what has expired is not handed out all the same.
            if let Some(due) = store.cache.next_deadline() {
                let now = present.now();
                if due <= now.mono {
                    self.do_due(now, &mut store, out);
                }
            }
            let result = access(&mut store.cache);
            self.arm_cache(&mut store, &mut out.deadline_closer);
            (result, self.has_use_for_room(&mut store))
        };
        if room {
            self.room_was_made(present.now(), out);
        }
        result
    }

    /// Whether room was made for which something waits. To ask takes the notes of it, whatever the answer: who is told that there is
    /// use for it has to see to it, at once or by the timer.
    fn has_use_for_room(&self, store: &mut Store) -> bool {
        let freed = store.cache.take_freed() | core::mem::take(&mut store.room);
        freed && (store.rejected || self.group.as_ref().is_some_and(|group| group.is_waiting()))
    }

    fn room_was_made(&self, now: Now, out: &mut Output) {
        if let Some(group) = &self.group {
            group.room_was_made(now, out);
        }
        // Not everything waits for the group.
        self.retry_rejected(now, out);
    }

    /// Whether any sample matches the masks of a selection: the trigger of a ReadCondition.
    #[must_use]
    pub fn has_matching(&self, selection: &Selection) -> bool {
        self.store.lock().cache.has_matching(selection)
    }

    /// Whether any selected sample satisfies a query; see [`read_where`](Self::read_where).
    #[must_use]
    pub fn has_matching_where(
        &self,
        selection: &Selection,
        query: &mut dyn FnMut(&SampleData<'_>) -> bool,
    ) -> bool {
        self.store.lock().cache.has_matching_where(selection, query)
    }

    /// When each selected sample was received, in reading order; in readers that show what they receive together, later
    /// samples have later times. Nothing changes by it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn receptions(&self, selection: &Selection, out: &mut Vec<WallTime>) -> Result<(), UnknownInstance> {
        self.store.lock().cache.receptions(selection, out)
    }

    /// The state of an instance, if this reader knows it.
    #[must_use]
    pub fn instance_state(&self, instance: InstanceHandle) -> Option<InstanceState> {
        self.store.lock().cache.instance_state(instance)
    }

    /// The serialized key of an instance, with encapsulation header, if it is known.
    #[must_use]
    pub fn instance_key(&self, instance: InstanceHandle) -> Option<(SharedBytes, VendorId)> {
        self.store.lock().cache.instance_key(instance).map(|(key, vendor)| (key.clone(), vendor))
    }

    /// How many samples can be read.
    #[must_use]
    pub fn len(&self) -> usize {
        self.store.lock().cache.len()
    }

    /// Whether no sample can be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.store.lock().cache.is_empty()
    }

    /// The matched writers, by GUID.
    #[must_use]
    pub fn matched_writers(&self) -> Vec<Arc<DiscoveredWriter>> {
        self.protocol.lock().writers.clone()
    }

    /// Whether anything has come from a matched writer; `None` when it is not matched.
    #[must_use]
    pub fn has_heard(&self, writer: Guid) -> Option<bool> {
        self.protocol.lock().reader.has_heard(writer)
    }

    /// Whether a matched writer has matched this reader too, as far as it has shown; `None` when it is not matched.
    #[must_use]
    pub fn is_known_to(&self, writer: Guid) -> Option<bool> {
        self.protocol.lock().reader.is_known_to(writer)
    }

    /// Asks a reliable writer until it shows that it knows this reader, which [`Event::WriterKnowsReader`] tells.
    pub fn insist(&self, now: Now, writer: Guid, out: &mut Output) {
        let mut guard = self.protocol.lock();
        guard.reader.insist(now, writer, &mut out.outbox);
        self.arm_protocol(&mut guard, out);
    }

    /// Whether everything has been delivered that the durable writers had when this reader met them.
    #[must_use]
    pub fn historical_complete(&self) -> bool {
        self.protocol.lock().reader.historical_complete()
    }

    /// The QoS in force.
    #[must_use]
    pub fn qos(&self) -> Arc<DataReaderQos> {
        Arc::clone(&self.protocol.lock().qos)
    }

    /// Counters since the reader was made.
    #[must_use]
    pub fn stats(&self) -> ReaderStats {
        let stats = self.protocol.lock().reader.stats();
        let store = self.store.lock();
        ReaderStats {
            copies: store.copies,
            from_future: store.from_future,
            replaced_unseen: store.cache.replaced_unseen(),
            over_quota: store.cache.over_quota(),
            ..stats
        }
    }

    /// The sum of all [`Event::SampleLost`]. It grows before anything that lies behind the loss can be taken; the events come
    /// later, on the thread that found it out.
    #[must_use]
    pub fn samples_lost(&self) -> u64 {
        self.store.lock().lost
    }

    /// Runs the protocol with a sink into the cache, and tells what follows.
    pub(crate) fn protocol<R>(
        &self,
        now: Now,
        out: &mut Output,
        run: impl FnOnce(&mut Protocol, &mut CacheSink<'_>, &mut Outbox) -> R,
    ) -> R {
        let mut guard = self.protocol.lock();
        let protocol = &mut *guard;
        // The sink looks writers up while the protocol is borrowed.
        let writers = core::mem::take(&mut protocol.writers);
        let Output { outbox, events, deadline_closer, .. } = out;
        let mut sink = CacheSink::new(self, &writers, events);
        let result = run(protocol, &mut sink, outbox);
        for (writer, sn) in sink.take_unshown() {
            protocol.reader.forgo_commit(now, writer, sn, outbox);
        }
        self.tell_transitions(now, protocol, &mut sink);
        out.pause |= sink.wants_pause();
        let (data_available, mut store) = sink.finish();
        self.note_room(now, &mut store, deadline_closer);
        self.arm_cache(&mut store, deadline_closer);
        let arrivals = core::mem::take(&mut store.arrivals);
        drop(store);
        protocol.writers = writers;
        if let Some(group) = self.group.as_ref().filter(|_| !arrivals.is_empty()) {
            group.absorb(now, arrivals, out);
        }
        if data_available {
            out.tell_once(Event::DataAvailable { reader: self.id() });
        }
        if protocol.historical_due && protocol.reader.historical_complete() {
            protocol.historical_due = false;
            out.events.push(Event::HistoricalComplete { reader: self.id() });
        }
        if protocol.reader.take_newly_acknowledged_match() {
            out.events.push(Event::WriterKnowsReader { reader: self.id() });
        }
        self.arm_protocol(protocol, out);
        result
    }

    /// Takes what the cache had no room for, if there is anything.
    pub(crate) fn retry_rejected(&self, now: Now, out: &mut Output) {
        if !core::mem::take(&mut self.store.lock().rejected) {
            return;
        }
        self.protocol(now, out, |protocol, sink, outbox| {
            if !protocol.deleted {
                protocol.reader.retry_rejected(now, sink, outbox);
            }
        });
    }

    pub(crate) fn on_protocol_timer(&self, now: Now, out: &mut Output) {
        let lagging = self.group.as_ref().map(|group| group.lagging(now, self.id())).unwrap_or_default();
        self.protocol(now, out, |protocol, sink, outbox| {
            protocol.armed = None;
            if protocol.deleted {
                return;
            }
            protocol.leases.on_timer(now.mono, &mut protocol.transitions);
            self.spare_local(now, protocol, sink.writers());
            lagging.iter().for_each(|writer| protocol.reader.ask(now, *writer));
            protocol.reader.on_timer(now, sink, outbox);
        });
        if let Some(group) = &self.group {
            group.on_timer(now, out);
        }
    }

    /// A MANUAL_BY_PARTICIPANT writer of this participant lives on any write of the participant.
    fn spare_local(&self, now: Now, protocol: &mut Protocol, writers: &[Arc<DiscoveredWriter>]) {
        let Protocol { leases, transitions, .. } = protocol;
        let age = self.common.manual.age(now.mono);
        transitions.retain(|transition| {
            let offered = matching::find(writers, transition.writer).map(|writer| writer.qos.liveliness);
            let spared = !transition.alive
                && transition.writer.prefix == self.guid.prefix
                && offered.is_some_and(|offered| {
                    offered.kind == LivelinessKind::ManualByParticipant && age < offered.lease_duration
                });
            if spared {
                leases.assert_writer(now.mono, transition.writer);
            }
            !spared
        });
    }

    pub(crate) fn on_cache_timer(&self, now: Now, out: &mut Output) {
        let room = {
            let mut store = self.store.lock();
            store.armed = None;
            if store.retry_at.is_some_and(|at| at <= now.mono) {
                (store.retry_at, store.room) = (None, true);
            }
            if !store.deleted {
                self.do_due(now, &mut store, out);
            }
            !store.deleted && self.has_use_for_room(&mut store)
        };
        if room {
            self.room_was_made(now, out);
        }
    }

    /// Does what is due in the cache.
    fn do_due(&self, now: Now, store: &mut Store, out: &mut Output) {
        let report = store.cache.on_timer(now, &mut store.missed);
        for DeadlineMissed { instance, count } in store.missed.drain(..) {
            out.events.push(Event::RequestedDeadlineMissed { reader: self.id(), instance, count });
        }
        if report.data_available {
            out.tell_once(Event::DataAvailable { reader: self.id() });
        }
        self.arm_cache(store, &mut out.deadline_closer);
    }

    /// All writers of one kind of a participant were alive then.
    pub(crate) fn on_liveliness(
        &self,
        now: Now,
        since: MonoTime,
        (prefix, kind): (GuidPrefix, LivelinessKind),
        out: &mut Output,
    ) {
        self.protocol(now, out, |protocol, _, _| {
            let Protocol { leases, transitions, .. } = protocol;
            leases.assert_participant((now.mono, since), prefix, kind, transitions);
        });
    }

    /// A writer was matched, or changed.
    pub(crate) fn match_writer(&self, now: Now, remote: &Arc<DiscoveredWriter>, out: &mut Output) {
        let mut guard = self.protocol.lock();
        let protocol = &mut *guard;
        let durable = protocol.qos.durability.kind > DurabilityKind::Volatile;
        let proxy = matching::writer_proxy(remote, durable);
        if matching::upsert(&mut protocol.writers, Arc::clone(remote)) {
            if let Some(group) = &self.group {
                let reliable = proxy.reliable && protocol.qos.reliability.kind == ReliabilityKind::Reliable;
                let stream = group.stream(remote, self.id());
                group.matched(stream, reliable, proxy.durable, remote.vendor);
            }
            protocol.reader.match_writer_of(now, remote.life, proxy, &mut out.outbox);
            if self.group.is_some() {
                let next = protocol.reader.resumed_from(remote.guid).unwrap_or(SequenceNumber::FIRST);
                self.store.lock().streams.insert(remote.guid, next);
            }
            self.tell_match(remote.guid, protocol.writers.len(), true, (1, 0), out);
            protocol.historical_due |= !protocol.reader.historical_complete();
            let offered = remote.qos.liveliness;
            let immortal =
                remote.guid.prefix == self.guid.prefix && offered.kind == LivelinessKind::Automatic;
            if !offered.lease_duration.is_infinite() && !immortal {
                protocol.leases.add(now.mono, remote.guid, offered);
            }
        } else {
            protocol.reader.update_writer(remote.guid, proxy.unicast, proxy.multicast);
            let strength = remote.qos.ownership_strength.value;
            self.store.lock().cache.set_writer_strength(remote.guid, strength);
        }
        self.arm_protocol(protocol, out);
    }

    /// A writer no longer matches, or was not heard for the lease of its participant.
    pub(crate) fn unmatch_writer(&self, now: Now, remote: Guid, lease_expired: bool, out: &mut Output) {
        let mut guard = self.protocol.lock();
        let protocol = &mut *guard;
        let writer = matching::remove(&mut protocol.writers, remote);
        debug_assert!(writer.is_some(), "discovery ends matches that it began: {remote}");
        let Some(writer) = writer else { return };
        if lease_expired {
            protocol.reader.lose_writer(remote, writer.life);
        } else {
            protocol.reader.unmatch_writer(remote);
        }
        if let Some(group) = &self.group {
            group.writer_lost(now, group.stream(&writer, self.id()), out);
        }
        let alive = protocol.leases.remove(remote).unwrap_or(true);
        {
            let mut store = self.store.lock();
            if store.cache.writer_lost(now, remote) {
                out.tell_once(Event::DataAvailable { reader: self.id() });
            }
            store.last_rejected.retain(|(writer, _)| *writer != remote);
            store.streams.remove(&remote);
            self.note_room(now, &mut store, &mut out.deadline_closer);
            self.arm_cache(&mut store, &mut out.deadline_closer);
        }
        let delta = if alive { (-1, 0) } else { (0, -1) };
        self.tell_match(remote, protocol.writers.len(), false, delta, out);
        if protocol.historical_due && protocol.reader.historical_complete() {
            protocol.historical_due = false;
            out.events.push(Event::HistoricalComplete { reader: self.id() });
        }
        self.arm_protocol(protocol, out);
    }

    fn tell_match(&self, remote: Guid, current: usize, added: bool, alive: (i32, i32), out: &mut Output) {
        let reader = self.id();
        out.events.push(Event::SubscriptionMatched { reader, remote, current, added });
        let (alive_delta, not_alive_delta) = alive;
        out.events.push(Event::LivelinessChanged { reader, writer: remote, alive_delta, not_alive_delta });
    }

    /// Applies a QoS of which only changeable policies differ.
    pub(crate) fn apply_qos(&self, now: Now, qos: Arc<DataReaderQos>, out: &mut Output) {
        let mut protocol = self.protocol.lock();
        let mut store = self.store.lock();
        if protocol.qos.deadline != qos.deadline {
            store.cache.set_deadline(now, qos.deadline.period);
        }
        store.cache.set_minimum_separation(qos.time_based_filter.minimum_separation);
        store.cache.set_lifecycle(qos.reader_data_lifecycle);
        protocol.qos = qos;
        self.arm_cache(&mut store, &mut out.deadline_closer);
    }

    /// Replaces the content filter, unless the present one is newer: what arrives from now on has to satisfy it. False
    /// if it is not.
    pub(crate) fn set_content_filter(&self, filter: &Arc<ContentFilter>) -> bool {
        let mut store = self.store.lock();
        let newer = store.filter.as_ref().is_none_or(|present| filter.is_newer_than(present));
        if newer {
            store.filter = Some(Arc::clone(filter));
        }
        newer
    }

    /// What became of the changes that the content filter looked at.
    #[must_use]
    pub fn content_filter_stats(&self) -> ContentFilterStats {
        let at_writer = self.stats().filtered_at_writer;
        ContentFilterStats { at_writer, ..self.store.lock().filter_stats }
    }

    /// From now on nothing is delivered, answered or timed; what is in the cache can still be taken.
    pub(crate) fn delete(&self) {
        let mut protocol = self.protocol.lock();
        if !core::mem::replace(&mut protocol.deleted, true) {
            self.store.lock().deleted = true;
            self.common.timers.unregister(self.protocol_timer);
            self.common.timers.unregister(self.cache_timer);
            if let Some(group) = &self.group {
                group.reader_deleted(self.id());
            }
        }
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.protocol.lock().deleted
    }

    /// Applies and tells the changes of liveliness that were collected.
    fn tell_transitions(&self, now: Now, protocol: &mut Protocol, sink: &mut CacheSink<'_>) {
        for LivelinessTransition { writer, alive } in protocol.transitions.drain(..) {
            sink.liveliness_changed(now, writer, alive);
        }
    }

    fn arm_protocol(&self, protocol: &mut Protocol, out: &mut Output) {
        if !protocol.deleted {
            let deadline = earliest(protocol.reader.next_deadline(), protocol.leases.next_deadline());
            self.common.arm(self.protocol_timer, &mut protocol.armed, deadline, &mut out.deadline_closer);
        }
    }

    pub(crate) fn arm_cache(&self, store: &mut Store, closer: &mut bool) {
        if !store.deleted {
            let deadline = earliest(store.cache.next_deadline(), store.retry_at);
            self.common.arm(self.cache_timer, &mut store.armed, deadline, closer);
            if store.has_unshown() {
                // The protocol is told where its lock can be taken: there it may be acknowledged.
                *closer |= self.common.timers.set_closer(self.protocol_timer, MonoTime(0));
            }
        }
    }
}

impl core::fmt::Debug for ReaderSlot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ReaderSlot").field("guid", &self.guid).finish_non_exhaustive()
    }
}

impl Protocol {
    /// A writer has written up to here.
    pub(crate) fn note_written(&mut self, now: Now, writer: Guid, sn: SequenceNumber, sign: WriterSign) {
        if self.leases.note_written(now.mono, writer, sn, sign) {
            self.transitions.push(LivelinessTransition { writer, alive: true });
        }
    }

    /// A sign of life from a writer.
    fn assert(&mut self, now: Now, writer: Guid) {
        if self.leases.assert_writer(now.mono, writer) {
            self.transitions.push(LivelinessTransition { writer, alive: true });
        }
    }
}
