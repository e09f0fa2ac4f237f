//! The participant: everything that concerns more than one endpoint (DDS 1.4 §2.2.2.2.1 DomainParticipant).

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_cache::{OctetBudget, Quota, ReaderCache, ReaderCacheConfig, WriterCache, WriterCacheConfig};
use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, MonoTime, Now};
use dunlin_discovery::{
    DiscoveredReader, DiscoveredWriter, Discovery, DiscoveryConfig, DiscoveryEffect, DiscoveryRole,
    InvalidName, LocalReader, LocalType, LocalWriter, Locators, ParticipantData, Survey, TypeDiscovery,
    inline_qos,
};
use dunlin_qos::{
    DataReaderQos, DataWriterQos, DurabilityKind, HistoryKind, LivelinessKind, Presentation,
    PresentationAccessScope, Property, ReliabilityKind, ResourceLimits, UserData,
};
use dunlin_rtps::{Reader, ReaderConfig, Writer, WriterConfig};
use dunlin_sync::{ArcSnapshot, RankedGuard, RankedMutex};

use crate::common::{Common, Counters, ManualLiveliness, ParticipantStats};
use crate::config::{
    CreateError, ParticipantConfig, ReaderPolicies, ReaderSpec, SetQosError, Tuning, WriterPolicies,
    WriterSpec,
};
use crate::content_filter::ContentFilter;
use crate::group::{Membership, PublisherGroup, SubscriberGroup};
use crate::misbehaviour::{Ledger, Misbehaved};
use crate::output::{Event, Output};
use crate::ranks;
use crate::reader_slot::ReaderSlot;
use crate::routes::Routes;
use crate::timers::{TimerOwner, Timers};
use crate::writer_filter::WriterFilters;
use crate::writer_slot::WriterSlot;

/// Kind of the entity id of a publisher (RTPS 2.5 §9.3.1.2).
const WRITER_GROUP: u8 = 0x08;
/// Entity keys have 24 bits.
const MAX_ENTITY_KEY: u32 = 0x00ff_ffff;

/// A participant without threads, sockets or clock. All methods take `&self` and may be called by any thread;
/// each returns what is to be sent and told in an [`Output`], and holds no lock when it returns.
pub struct Participant {
    pub(crate) common: Arc<Common>,
    pub(crate) routes: ArcSnapshot<Routes>,
    pub(crate) control: RankedMutex<{ ranks::CONTROL }, Control>,
}

/// What the control plane owns.
pub(crate) struct Control {
    pub(crate) discovery: Discovery,
    pub(crate) effects: Vec<DiscoveryEffect>,
    /// What the timers have for discovery; never later than the true deadline.
    pub(crate) armed: Option<MonoTime>,
    /// What was announced of each endpoint.
    writers: BTreeMap<EntityId, LocalWriter>,
    readers: BTreeMap<EntityId, LocalReader>,
    last_key: u32,
    shut_down: bool,
    /// A local writer came or went.
    pub(crate) writers_changed: bool,
    /// Writers for which it matters whether there are others of their topics.
    pub(crate) watching_other_writers: BTreeSet<EntityId>,
    /// Writers that are only waiting for their readers, the oldest first.
    pub(crate) closing: VecDeque<EntityId>,
}

pub(crate) type ControlGuard<'a> = RankedGuard<'a, { ranks::CONTROL }, Control>;

impl Participant {
    /// A participant that has not announced itself yet, see [`start`](Self::start).
    #[must_use]
    pub fn new(config: ParticipantConfig) -> Self {
        let timers = Timers::default();
        let common = Common {
            prefix: config.guid_prefix,
            participant_timer: timers.register(TimerOwner::Participant),
            alarm_timer: timers.register(TimerOwner::Alarm),
            tuning: config.tuning.clone(),
            max_message_size: config.max_message_size,
            paths: config.paths.clone(),
            receive_room: config.receive_room.clone(),
            relays: matches!(config.role, DiscoveryRole::Daemon(_)),
            behind_daemon: matches!(config.role, DiscoveryRole::Application(_)),
            timers,
            octets: Arc::new(OctetBudget::new(config.tuning.max_samples_octets)),
            manual: ManualLiveliness::default(),
            counters: Counters::default(),
            misbehaviours: Ledger::default(),
        };
        let seed = config.seed;
        let control = Control {
            discovery: Discovery::new(discovery_config(config), seed),
            writers: BTreeMap::new(),
            readers: BTreeMap::new(),
            effects: Vec::new(),
            armed: None,
            last_key: 0,
            shut_down: false,
            writers_changed: false,
            watching_other_writers: BTreeSet::new(),
            closing: VecDeque::new(),
        };
        Self { common: Arc::new(common), routes: ArcSnapshot::default(), control: RankedMutex::new(control) }
    }

    /// The participant's name on the wire.
    #[must_use]
    pub fn guid_prefix(&self) -> GuidPrefix {
        self.common.prefix
    }

    /// The participant's GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        Guid::new(self.common.prefix, EntityId::PARTICIPANT)
    }

    /// Announces the participant and lets discovery begin.
    pub fn start(&self, now: Now, out: &mut Output) {
        self.discover(now, out, |discovery, out, _| discovery.start(now, &mut out.outbox));
    }

    /// Tells the others goodbye. Nothing can be created afterwards; endpoints stay until they are deleted.
    pub fn shutdown(&self, now: Now, out: &mut Output) {
        let mut control = self.control.lock();
        if !core::mem::replace(&mut control.shut_down, true) {
            control.discovery.shutdown(now, &mut out.outbox);
            // No timer runs for them any more, and nobody is to wait for them.
            control.closing.clear();
        }
        self.conclude(now, control, out);
    }

    /// Replaces the locators on which the participant receives, and announces them.
    pub fn set_locators(&self, now: Now, locators: Locators, out: &mut Output) {
        self.discover(now, out, |discovery, out, effects| {
            discovery.set_locators(now, locators, &mut out.outbox, effects);
        });
    }

    /// Where another participant announced to receive data if the path there is opened first; one of
    /// [`opened_kinds`](ParticipantConfig::opened_kinds).
    #[must_use]
    pub fn place_to_open(&self, prefix: GuidPrefix) -> Option<Locator> {
        self.control.lock().discovery.place_to_open(prefix)
    }

    /// Sends data for the endpoints of another participant to one place alone: one that it announced, whose path was opened, or
    /// [within this process](Locator::in_process). `None` goes back to the others.
    pub fn choose_path(&self, now: Now, prefix: GuidPrefix, place: Option<Locator>, out: &mut Output) {
        self.discover(now, out, |discovery, _, effects| {
            discovery.choose_path(prefix, place, effects);
        });
    }

    /// Replaces USER_DATA and PROPERTY, and announces them if they differ. `policies` is called under the lock that orders
    /// such changes, and must not call the participant.
    pub fn set_policies(&self, now: Now, policies: impl FnOnce() -> (UserData, Property), out: &mut Output) {
        self.discover(now, out, |discovery, out, _| {
            let (user_data, property) = policies();
            discovery.set_policies(now, user_data, property, &mut out.outbox);
        });
    }

    /// From now on acts as if another participant did not exist (DDS 1.4 §2.2.2.2.1.14).
    pub fn ignore_participant(&self, now: Now, prefix: GuidPrefix, out: &mut Output) {
        self.discover(now, out, |discovery, _, effects| discovery.ignore_participant(prefix, effects));
    }

    /// From now on acts as if a writer or reader of another participant did not exist (DDS 1.4 §2.2.2.2.1.16,
    /// §2.2.2.2.1.17).
    pub fn ignore_endpoint(&self, now: Now, guid: Guid, out: &mut Output) {
        self.discover(now, out, |discovery, _, effects| discovery.ignore_endpoint(guid, effects));
    }

    /// From now on acts as if every endpoint of other participants that names this topic and type did not exist (DDS 1.4
    /// §2.2.2.2.1.15).
    pub fn ignore_topic(&self, now: Now, topic_name: &str, type_name: &str, out: &mut Output) {
        self.discover(now, out, |discovery, _, effects| {
            discovery.ignore_topic(topic_name, type_name, effects);
        });
    }

    /// Creates, announces and matches a writer.
    ///
    /// # Errors
    /// See [`CreateError`]; nothing was created then.
    pub fn create_writer(
        &self,
        now: Now,
        spec: WriterSpec,
        out: &mut Output,
    ) -> Result<Arc<WriterSlot>, CreateError> {
        self.create_grouped_writer(now, spec, None, None, out)
    }

    /// What the writers of a publisher have in common whose changes are coherent, or ordered over all of them.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create_publisher_group(
        &self,
        presentation: Presentation,
    ) -> Result<Arc<PublisherGroup>, CreateError> {
        let key = self.control.lock().next_key()?.to_be_bytes();
        let [_, a, b, c] = key;
        Ok(Arc::new(PublisherGroup::new(EntityId([a, b, c, WRITER_GROUP]), presentation)))
    }

    /// What the readers of a subscriber have in common that show coherent sets, or changes in order, over all of them.
    #[must_use]
    pub fn create_subscriber_group(&self, presentation: Presentation) -> Arc<SubscriberGroup> {
        let octets = self.common.tuning.max_out_of_order_bytes_total;
        Arc::new(SubscriberGroup::new(presentation, octets))
    }

    /// Creates, announces and matches a writer of a group, or one to which the reader `related` belongs: requests and
    /// replies of a service (DDS-RPC 1.0 §7.6.2).
    ///
    /// # Errors
    /// See [`CreateError`]; nothing was created then.
    pub fn create_grouped_writer(
        &self,
        now: Now,
        spec: WriterSpec,
        group: Option<Arc<PublisherGroup>>,
        related: Option<Guid>,
        out: &mut Output,
    ) -> Result<Arc<WriterSlot>, CreateError> {
        spec.publisher_qos.validate()?;
        spec.qos.validate()?;
        let mut control = self.control.lock();
        let entity_id = EntityId::user_writer(control.next_key()?, spec.keyed);
        let writer = Writer::new(self.writer_config(entity_id, &spec));
        let cache = WriterCache::new(WriterCacheConfig::from_qos(&spec.qos, spec.keyed));
        let qos = Arc::new(spec.qos.clone());
        let filters = WriterFilters::new(&spec, self.common.tuning.filter_at_writer && group.is_none());
        let local = LocalWriter {
            entity_id,
            topic_name: spec.topic_name,
            type_name: spec.type_name,
            qos: spec.qos,
            publisher_qos: spec.publisher_qos,
            group: group.as_ref().map_or(EntityId::UNKNOWN, |group| group.id()),
            topic_data: spec.topic_data,
            type_information: spec.type_information,
            locators: spec.locators,
            related,
        };
        // Before anybody can be told of it, so that whoever hears of the others meanwhile waits for this one.
        group.iter().for_each(|group| group.add_writer(entity_id));
        control.put_writer(now, local, out).inspect_err(|_| {
            group.iter().for_each(|group| group.remove_writer(entity_id, &Membership::default()))
        })?;
        let slot = Arc::new(WriterSlot::new(now, &self.common, writer, cache, qos, group, filters));
        slot.start(out);
        self.change_routes(|routes| routes.add_writer(&slot));
        self.conclude(now, control, out);
        Ok(slot)
    }

    /// Creates, announces and matches a reader.
    ///
    /// # Errors
    /// See [`CreateError`]; nothing was created then.
    pub fn create_reader(
        &self,
        now: Now,
        spec: ReaderSpec,
        out: &mut Output,
    ) -> Result<Arc<ReaderSlot>, CreateError> {
        self.create_filtered_reader(now, spec, None, None, None, out)
    }

    /// Creates, announces and matches a reader, of a content-filtered topic or of a group, or one to which the writer
    /// `related` belongs.
    ///
    /// # Errors
    /// As [`create_reader`](Self::create_reader).
    pub fn create_filtered_reader(
        &self,
        now: Now,
        spec: ReaderSpec,
        content_filter: Option<Arc<ContentFilter>>,
        group: Option<Arc<SubscriberGroup>>,
        related: Option<Guid>,
        out: &mut Output,
    ) -> Result<Arc<ReaderSlot>, CreateError> {
        spec.subscriber_qos.validate()?;
        spec.qos.validate()?;
        let mut control = self.control.lock();
        let entity_id = EntityId::user_reader(control.next_key()?, spec.type_support.has_key());
        let presentation = spec.subscriber_qos.presentation;
        let by_group = presentation.access_scope == PresentationAccessScope::Group;
        let waits = presentation.coherent_access || (presentation.ordered_access && by_group);
        let group = group.or_else(|| waits.then(|| self.create_subscriber_group(presentation)));
        let slot = self.reader_slot(entity_id, &spec, group);
        let local = LocalReader {
            entity_id,
            topic_name: spec.topic_name,
            type_name: spec.type_name,
            qos: spec.qos,
            subscriber_qos: spec.subscriber_qos,
            topic_data: spec.topic_data,
            type_information: spec.type_information,
            locators: spec.locators,
            related,
            content_filter: content_filter.as_ref().map(|filter| Arc::clone(filter.property())),
        };
        if let Err(error) = control.put_reader(now, local, out) {
            slot.delete();
            return Err(error);
        }
        if let Some(filter) = &content_filter {
            slot.set_content_filter(filter);
        }
        self.change_routes(|routes| routes.add_reader(&slot));
        self.conclude(now, control, out);
        Ok(slot)
    }

    /// Creates a reader that no other participant hears of and no writer matches: it gets what
    /// [`ReaderSlot::deliver`] gives it.
    ///
    /// # Errors
    /// As [`create_reader`](Self::create_reader).
    pub fn create_private_reader(&self, spec: &ReaderSpec) -> Result<Arc<ReaderSlot>, CreateError> {
        spec.subscriber_qos.validate()?;
        spec.qos.validate()?;
        let mut control = self.control.lock();
        let entity_id = EntityId::user_reader(control.next_key()?, spec.type_support.has_key());
        let slot = self.reader_slot(entity_id, spec, None);
        self.change_routes(|routes| routes.add_reader(&slot));
        Ok(slot)
    }

    fn reader_slot(
        &self,
        entity_id: EntityId,
        spec: &ReaderSpec,
        group: Option<Arc<SubscriberGroup>>,
    ) -> Arc<ReaderSlot> {
        let guid = Guid::new(self.common.prefix, entity_id);
        let reader = Reader::new(self.reader_config(guid, &spec.qos));
        let (presentation, keyed) = (spec.subscriber_qos.presentation, spec.type_support.has_key());
        let quota = Quota {
            own: self.common.prefix,
            max_instances: Some(self.common.tuning.max_instances),
            octets: Some(Arc::clone(&self.common.octets)),
        };
        let config = ReaderCacheConfig::from_qos(&spec.qos, presentation, keyed);
        let cache = ReaderCache::with_quota(config, quota);
        let (qos, type_support) = (Arc::new(spec.qos.clone()), Arc::clone(&spec.type_support));
        let together = group.clone();
        let slot = Arc::new(ReaderSlot::new(&self.common, reader, guid, cache, qos, type_support, group));
        if let Some(group) = together {
            group.add_reader(&slot);
        }
        slot
    }

    /// Deletes a writer: readers are told that it is gone, and what they have not acknowledged is lost. Unregistering its
    /// instances comes before; see [`close_writer`](Self::close_writer).
    pub fn delete_writer(&self, now: Now, writer: &WriterSlot, out: &mut Output) {
        let mut control = self.control.lock();
        if writer.is_deleted() {
            return;
        }
        let id = writer.guid().entity_id;
        let unacknowledged = writer.left_behind();
        writer.delete(out);
        self.change_routes(|routes| routes.remove_writer(id));
        control.writers_changed = true;
        let Control { discovery, effects, writers, closing, watching_other_writers, .. } = &mut *control;
        writers.remove(&id);
        watching_other_writers.remove(&id);
        if let Some(at) = closing.iter().position(|known| *known == id) {
            closing.remove(at);
            out.events.push(Event::WriterClosed { writer: id, unacknowledged });
        }
        discovery.remove_writer(now, id, &mut out.outbox, effects);
        self.conclude(now, control, out);
    }

    /// Deletes a reader. What is in its cache can still be taken by whoever holds it.
    pub fn delete_reader(&self, now: Now, reader: &ReaderSlot, out: &mut Output) {
        let mut control = self.control.lock();
        if reader.is_deleted() {
            return;
        }
        let id = reader.guid().entity_id;
        reader.delete();
        self.change_routes(|routes| routes.remove_reader(id));
        let Control { discovery, effects, readers, .. } = &mut *control;
        readers.remove(&id);
        discovery.remove_reader(now, id, &mut out.outbox, effects);
        self.conclude(now, control, out);
        if let Some(group) = reader.group() {
            // Others may have waited for it to be read.
            group.room_was_made(now, out);
        }
    }

    /// Changes the QoS of a writer and of its publisher as the writer sees it, and TOPIC_DATA; announces them and matches
    /// anew. `policies` is called under the lock that orders such changes, so of several threads the last to come applies
    /// what it finds then: it must not call the participant.
    ///
    /// # Errors
    /// See [`SetQosError`]; nothing changed then.
    pub fn set_writer_policies(
        &self,
        now: Now,
        writer: &WriterSlot,
        policies: impl FnOnce() -> WriterPolicies,
        out: &mut Output,
    ) -> Result<(), SetQosError> {
        let mut control = self.control.lock();
        if writer.is_deleted() {
            return Err(SetQosError::Deleted);
        }
        let WriterPolicies { qos, publisher_qos, topic_data } = policies();
        publisher_qos.validate()?;
        qos.validate()?;
        writer.qos().check_changeable(&qos)?;
        let id = writer.guid().entity_id;
        let Some(known) = control.writers.get(&id) else { return Err(SetQosError::Deleted) };
        known.publisher_qos.check_changeable(&publisher_qos)?;
        if known.qos == qos && known.publisher_qos == publisher_qos && known.topic_data == topic_data {
            return Ok(());
        }
        let local = LocalWriter { qos: qos.clone(), publisher_qos, topic_data, ..known.clone() };
        let for_readers = inline_qos(&local.topic_name, &local.qos, &local.publisher_qos);
        writer.apply_qos(now, Arc::new(qos), for_readers.into(), out);
        // The names were good when the writer was created.
        let _ = control.put_writer(now, local, out);
        self.conclude(now, control, out);
        Ok(())
    }

    /// The same of a reader and of its subscriber.
    ///
    /// # Errors
    /// See [`SetQosError`]; nothing changed then.
    pub fn set_reader_policies(
        &self,
        now: Now,
        reader: &ReaderSlot,
        policies: impl FnOnce() -> ReaderPolicies,
        out: &mut Output,
    ) -> Result<(), SetQosError> {
        let mut control = self.control.lock();
        if reader.is_deleted() {
            return Err(SetQosError::Deleted);
        }
        let ReaderPolicies { qos, subscriber_qos, topic_data } = policies();
        subscriber_qos.validate()?;
        qos.validate()?;
        reader.qos().check_changeable(&qos)?;
        let id = reader.guid().entity_id;
        let Some(known) = control.readers.get(&id) else {
            // A private one, of which nobody else hears.
            reader.apply_qos(now, Arc::new(qos), out);
            return Ok(());
        };
        known.subscriber_qos.check_changeable(&subscriber_qos)?;
        if known.qos == qos && known.subscriber_qos == subscriber_qos && known.topic_data == topic_data {
            return Ok(());
        }
        let local = LocalReader { qos: qos.clone(), subscriber_qos, topic_data, ..known.clone() };
        if known.qos != qos {
            reader.apply_qos(now, Arc::new(qos), out);
        }
        // The names were good when the reader was created.
        let _ = control.put_reader(now, local, out);
        self.conclude(now, control, out);
        Ok(())
    }

    /// Changes the content filter of a reader, and announces it. Nothing happens if the present one is newer.
    pub fn set_content_filter(
        &self,
        now: Now,
        reader: &ReaderSlot,
        filter: &Arc<ContentFilter>,
        out: &mut Output,
    ) {
        let mut control = self.control.lock();
        let known = control.readers.get(&reader.guid().entity_id).cloned();
        let Some(known) = known.filter(|_| !reader.is_deleted() && reader.set_content_filter(filter)) else {
            return;
        };
        let content_filter = Some(Arc::clone(filter.property()));
        // The names were good when the reader was created.
        let _ = control.put_reader(now, LocalReader { content_filter, ..known }, out);
        self.conclude(now, control, out);
    }

    /// Asserts the liveliness of the participant's MANUAL_BY_PARTICIPANT writers (DDS 1.4 §2.2.2.2.1.21).
    pub fn assert_liveliness(&self, now: Now, out: &mut Output) {
        self.common.note_manual(now.mono, out);
        let kind = LivelinessKind::ManualByParticipant;
        for reader in self.routes.load().readers() {
            reader.on_liveliness(now, now.mono, (self.common.prefix, kind), out);
        }
    }

    /// The other participants.
    #[must_use]
    pub fn discovered_participants(&self) -> Vec<Arc<ParticipantData>> {
        self.control.lock().discovery.participants().cloned().collect()
    }

    /// The writers of other participants.
    #[must_use]
    pub fn discovered_writers(&self) -> Vec<Arc<DiscoveredWriter>> {
        self.control.lock().discovery.writers().cloned().collect()
    }

    /// The readers of other participants.
    #[must_use]
    pub fn discovered_readers(&self) -> Vec<Arc<DiscoveredReader>> {
        self.control.lock().discovery.readers().cloned().collect()
    }

    /// Another participant, if it is known.
    #[must_use]
    pub fn find_participant(&self, prefix: GuidPrefix) -> Option<Arc<ParticipantData>> {
        self.control.lock().discovery.participant(prefix).cloned()
    }

    /// A writer by its GUID, of this or another participant.
    #[must_use]
    pub fn find_writer(&self, guid: Guid) -> Option<Arc<DiscoveredWriter>> {
        self.control.lock().discovery.writer(guid).cloned()
    }

    /// A reader by its GUID, of this or another participant.
    #[must_use]
    pub fn find_reader(&self, guid: Guid) -> Option<Arc<DiscoveredReader>> {
        self.control.lock().discovery.reader(guid).cloned()
    }

    /// What is known of the endpoints for which `wanted` is true (given the name of their topic and their GUID), and of
    /// what can keep them apart.
    #[must_use]
    pub fn survey(&self, wanted: impl Fn(&str, Guid) -> bool) -> Survey {
        self.control.lock().discovery.survey(wanted)
    }

    /// Takes up a topic, by its name and that of its type: of endpoints of others that use its name with another type
    /// [`Event::InconsistentTopic`](crate::Event::InconsistentTopic) tells, whether or not it has endpoints here.
    pub fn put_topic(
        &self,
        now: Now,
        names: (&str, &str),
        keyed: bool,
        type_information: Option<Arc<LocalType>>,
        out: &mut Output,
    ) {
        let mut control = self.control.lock();
        let Control { discovery, effects, .. } = &mut *control;
        discovery.put_topic(now, names, keyed, type_information, &mut out.outbox, effects);
        self.conclude(now, control, out);
    }

    /// Forgets a topic.
    pub fn remove_topic(&self, name: &str) {
        self.control.lock().discovery.remove_topic(name);
    }

    /// The type of a writer or reader as far as it is known. If its participant has to be asked for it, it is, and a later
    /// call tells what came of it.
    pub fn discovered_type(&self, now: Now, endpoint: Guid, out: &mut Output) -> TypeDiscovery {
        let mut control = self.control.lock();
        let Control { discovery, effects, .. } = &mut *control;
        let found = discovery.discovered_type(now, endpoint, &mut out.outbox, effects);
        self.conclude(now, control, out);
        found
    }

    /// Whether it has verified another participant.
    #[must_use]
    pub fn knows_others(&self) -> bool {
        self.routes.load().has_peers()
    }

    /// Counters since the participant was made.
    #[must_use]
    pub fn stats(&self) -> ParticipantStats {
        let discovery = self.control.lock().discovery.stats();
        self.common.counters.read(discovery)
    }

    /// What other participants did that was refused, by participant: of [`MOST_MISBEHAVING`](crate::MOST_MISBEHAVING) and, last, of all
    /// others together.
    #[must_use]
    pub fn misbehaviours(&self) -> Vec<Misbehaved> {
        self.common.misbehaviours.read()
    }

    /// Runs a call of discovery and what follows from it.
    pub(crate) fn discover(
        &self,
        now: Now,
        out: &mut Output,
        call: impl FnOnce(&mut Discovery, &mut Output, &mut Vec<DiscoveryEffect>),
    ) {
        let mut control = self.control.lock();
        let Control { discovery, effects, .. } = &mut *control;
        call(discovery, out, effects);
        self.conclude(now, control, out);
    }

    /// Replaces the routing tables; the control lock is held, which serialises this.
    pub(crate) fn change_routes(&self, change: impl FnOnce(&mut Routes)) {
        let mut routes = Routes::clone(&self.routes.load());
        change(&mut routes);
        self.routes.store(routes);
    }

    fn writer_config(&self, entity_id: EntityId, spec: &WriterSpec) -> WriterConfig {
        let Tuning {
            heartbeat_period,
            heartbeat_max_period,
            nack_response_delay,
            nack_suppression,
            repair_budget_per_event,
            fragment_size,
            pacing,
            window,
            window_limit,
            window_patience,
            inactive_after,
            burst_delay,
            batch_octets,
            ..
        } = self.common.tuning;
        let defaults = WriterConfig::default();
        let keeps_all = spec.qos.history.kind == HistoryKind::KeepAll;
        WriterConfig {
            guid: Guid::new(self.common.prefix, entity_id),
            reliable: spec.qos.reliability.kind == ReliabilityKind::Reliable,
            keyed: spec.keyed,
            transient_local: spec.qos.durability.kind > DurabilityKind::Volatile,
            max_message_size: self.common.max_message_size,
            paths: self.common.paths.clone(),
            fragment_size,
            heartbeat_period,
            heartbeat_max_period,
            nack_response_delay,
            nack_suppression,
            repair_budget_per_event,
            pacing,
            // KEEP_LAST would replace what waits for room, and nobody would get a whole sample.
            window: if keeps_all { window } else { 0 },
            window_limit,
            window_patience,
            inactive_after,
            latency_budget: spec.qos.latency_budget.duration,
            burst_delay,
            batch_octets,
            batch_samples: samples_that_may_wait(spec),
            ack_request_samples: defaults.ack_request_samples.min(samples_between_requests(&spec.qos)),
            reader_inline_qos: Some(inline_qos(&spec.topic_name, &spec.qos, &spec.publisher_qos).into()),
            ..defaults
        }
    }

    fn reader_config(&self, guid: Guid, qos: &DataReaderQos) -> ReaderConfig {
        let tuning = &self.common.tuning;
        ReaderConfig {
            guid,
            reliable: qos.reliability.kind == ReliabilityKind::Reliable,
            shares_place: self.common.behind_daemon,
            acknowledge_on_commit: qos.acknowledges_on_commit(),
            heartbeat_response_delay: tuning.heartbeat_response_delay,
            max_out_of_order_samples: tuning.max_out_of_order_samples,
            max_out_of_order_bytes: tuning.max_out_of_order_bytes,
            max_out_of_order_bytes_total: tuning.max_out_of_order_bytes_total,
            max_reassembly_bytes_per_writer: tuning.max_reassembly_bytes_per_writer,
            max_reassembly_bytes: tuning.max_reassembly_bytes,
            receive_room: self.common.receive_room.clone(),
            ..ReaderConfig::default()
        }
    }
}

impl core::fmt::Debug for Participant {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Participant").field("guid_prefix", &self.common.prefix).finish_non_exhaustive()
    }
}

impl Control {
    fn put_writer(&mut self, now: Now, writer: LocalWriter, out: &mut Output) -> Result<(), CreateError> {
        self.writers_changed = true;
        let Self { discovery, effects, writers, .. } = self;
        let known = writer.clone();
        discovery
            .add_writer(now, writer, &mut out.outbox, effects)
            .map_err(|InvalidName| CreateError::InvalidName)?;
        writers.insert(known.entity_id, known);
        Ok(())
    }

    fn put_reader(&mut self, now: Now, reader: LocalReader, out: &mut Output) -> Result<(), CreateError> {
        let Self { discovery, effects, readers, .. } = self;
        let known = reader.clone();
        discovery
            .add_reader(now, reader, &mut out.outbox, effects)
            .map_err(|InvalidName| CreateError::InvalidName)?;
        readers.insert(known.entity_id, known);
        Ok(())
    }

    fn next_key(&mut self) -> Result<u32, CreateError> {
        if self.shut_down {
            return Err(CreateError::ShutDown);
        }
        // Keys are never used again, so that a peer cannot take a new endpoint for an old one.
        let key = self.last_key.saturating_add(1);
        if key > MAX_ENTITY_KEY {
            return Err(CreateError::OutOfEntityIds);
        }
        self.last_key = key;
        Ok(key)
    }
}

/// What is replaced before it is sent would be lost, and a history full of what waits would block.
fn samples_that_may_wait(spec: &WriterSpec) -> usize {
    let limited = usize::try_from(samples_between_requests(&spec.qos)).unwrap_or(usize::MAX);
    match spec.qos.history.kind {
        HistoryKind::KeepLast if !spec.keyed => {
            limited.min(usize::try_from(spec.qos.history.depth).unwrap_or(1))
        }
        _ => limited,
    }
}

/// A writer whose history is limited asks for acknowledgements before it is full.
fn samples_between_requests(qos: &DataWriterQos) -> u32 {
    let ResourceLimits { max_samples, max_samples_per_instance, .. } = qos.resource_limits;
    let limits = [max_samples, max_samples_per_instance].into_iter();
    let smallest = limits.filter_map(|limit| u32::try_from(limit).ok()).min();
    smallest.map_or(u32::MAX, |limit| (limit / 2).max(1))
}

fn discovery_config(config: ParticipantConfig) -> DiscoveryConfig {
    let ParticipantConfig {
        guid_prefix,
        domain_id,
        domain_tag,
        locators,
        source_ports,
        goodbye_secret,
        opened_kinds,
        initial_peers,
        spdp_destinations,
        broadcasts,
        qos,
        lease_duration,
        announcement_period,
        max_message_size,
        paths: _,
        receive_room: _,
        tuning: _,
        quotas,
        role,
        seed: _,
        entity_name,
    } = config;
    DiscoveryConfig {
        domain_tag,
        lease_duration,
        announcement_period,
        locators,
        source_ports,
        goodbye_secret,
        opened_kinds,
        initial_peers,
        spdp_destinations,
        broadcasts,
        entity_name,
        user_data: qos.user_data,
        property: qos.property,
        quotas,
        role,
        max_message_size,
        ..DiscoveryConfig::new(guid_prefix, domain_id)
    }
}
