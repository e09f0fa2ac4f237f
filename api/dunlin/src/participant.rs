//! DomainParticipant (DDS 1.4 §2.2.2.2.1).

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, Weak};

use dunlin_cache::{CachedSample, SampleData, Selection, UnknownInstance};
use dunlin_cdr::{DdsType, TopicType, TypeSupport, TypeSupportOf};
use dunlin_config::Config;
use dunlin_core::{DomainId, Guid, GuidPrefix, MonoTime, Now, WallTime};
use dunlin_driver::{CannotWait, Session};
use dunlin_engine::{
    CreateError, LocalType, Misbehaved, Output, ParticipantStats, PublisherGroup, ReaderPolicies, ReaderSlot,
    ReaderSpec, SetEnd, SubscriberGroup, WriteRequest, WriterPolicies, WriterSlot, WriterSpec,
};
use dunlin_qos::{DomainParticipantQos, Presentation, PresentationAccessScope, TopicQos};
use dunlin_transport::TransportStats;

use crate::architecture::Servers;
use crate::builtin::{
    ParticipantBuiltinTopicData, PublicationBuiltinTopicData, SubscriptionBuiltinTopicData,
};
use crate::content_filter::{ContentFilteredTopic, FilteredTopicInner};
use crate::derived_topic::{DerivedTopic, DerivedTopics};
use crate::endpoint_qos::EntityQos;
use crate::entity::{Entity, EntityError};
use crate::error::{CreateEntityError, CreateParticipantError, SetQosError};
use crate::mutex::lock;
use crate::publisher_state::PublisherFactory;
use crate::qos_cell::QosCell;
use crate::reader_inner::ReaderInner;
use crate::statistics::Statistics;
use crate::status::StatusMask;
use crate::subscriber_state::SubscriberFactory;
use crate::topic::{Topic, TopicInner};
use crate::types::RegisteredTypes;
use crate::writer_inner::{WriterInner, put_urgent_first};

mod at_exit;
mod belongings;
mod builder;
mod builtin_feeds;
mod direct_write;
mod durability;
mod known_topics;
mod leaving;
mod pumping;
pub(crate) mod registry;
mod sink;
mod topics;
mod waiting;
mod writing;

use at_exit::Presence;
use belongings::Contents;
pub use builder::DomainParticipantBuilder;
use builtin_feeds::BuiltinFeeds;
pub(crate) use builtin_feeds::{builtin_reader, topic_sample};
use known_topics::KnownTopics;
use sink::Sink;
pub(crate) use writing::Room;

/// Octets of the longest topic or type name, so that its terminating NUL makes 256.
const MAX_NAME: usize = 255;

pub(crate) fn is_usable(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && !name.contains('\0')
}

pub(crate) struct ParticipantInner {
    pub(crate) domain: DomainId,
    session: Arc<Session>,
    sink: Arc<Sink>,
    presence: Arc<Presence>,
    pub(crate) qos: QosCell<DomainParticipantQos>,
    /// There may be several of one name.
    topics: Mutex<KnownTopics>,
    pub(crate) derived_topics: DerivedTopics,
    pub(crate) registered_types: RegisteredTypes,
    pub(crate) entity: Entity<dyn ErasedParticipantListener>,
    pub(crate) contents: Contents,
    pub(crate) builtin: Mutex<BuiltinFeeds>,
    pub(crate) statistics: Statistics,
    /// Durable samples are those of their writers, also where a service should keep them.
    durable_is_local: bool,
    /// Which writers send past the daemon of the host; `None` if none speaks for the participant.
    pub(crate) direct_write: Option<dunlin_config::DirectWrite>,
    /// Properties that are announced besides those of the QoS.
    process: Vec<(String, String)>,
    /// The discovery servers that it announces itself to.
    pub(crate) servers: Servers,
    pub(crate) announces_types: bool,
    /// Bytes of the largest type object that is sent to others.
    pub(crate) max_told_type: usize,
}

/// The listener of a participant, which hears of all that is in it (DDS 1.4 §2.2.4.2.3).
pub(crate) trait ErasedParticipantListener: Send + Sync {
    fn call_of_topic(&self, topic: &Arc<TopicInner>, status: StatusMask);

    fn call_of_writer(&self, writer: &Arc<WriterInner>, status: StatusMask);

    fn call_of_reader(&self, reader: &Arc<ReaderInner>, status: StatusMask);

    /// `reader` is one of those that have data.
    fn call_data_on_readers(&self, reader: &Arc<ReaderInner>);

    /// As the application set it.
    fn typed(&self) -> &dyn Any;
}

/// A condition on the contents of samples.
pub(crate) type Query<'q> = Option<&'q mut dyn FnMut(&SampleData<'_>) -> bool>;

/// Joins one domain and creates topics, publishers and subscribers in it.
///
/// The usual order of calls: [`new`](Self::new) or [`builder`](Self::builder), [`create_topic`](Self::create_topic) for each
/// topic, [`create_publisher`](Self::create_publisher) and [`create_subscriber`](Self::create_subscriber), which create the
/// writers and readers. One participant for each domain is enough for a program.
///
/// Cheap to clone; the
/// participant leaves the domain when the last handle to it and to its entities is gone; then it waits, for one second at most,
/// for readers that have not acknowledged the ends of its writers (see [`Publisher::delete_datawriter`](crate::Publisher::delete_datawriter)). Where the last handle
/// goes in a listener, a thread of the library waits instead.
///
/// When the process ends by `exit` or by the return of `main`, participants that are still there leave too: listeners that run
/// get a second to return, and what was written a second to be acknowledged; the process stays three seconds at most. Their
/// writers are not deleted, so instances are not disposed. A process that is killed or aborts says nothing.
///
/// In a child of `fork` the participant and its entities count as deleted, while those of the parent go on; see
/// [children of `fork`](crate#children-of-fork).
#[derive(Clone)]
pub struct DomainParticipant {
    inner: Arc<ParticipantInner>,
}

/// What applies when the application gives no configuration: file and environment, or what the simulator says.
fn default_config() -> Result<Config, dunlin_config::ConfigError> {
    crate::place::present().map_or_else(Config::load, |place| Ok(place.config()))
}

impl DomainParticipant {
    /// Joins `domain` with the default QoS and the configuration of file and environment.
    ///
    /// # Errors
    /// As [`DomainParticipantBuilder::build`].
    pub fn new(domain: DomainId) -> Result<Self, CreateParticipantError> {
        Self::builder(domain).build()
    }

    /// Joins the domain that the configuration of file and environment names (`domain.id`).
    ///
    /// # Errors
    /// As [`DomainParticipantBuilder::build`].
    pub fn from_config() -> Result<Self, CreateParticipantError> {
        let config = default_config()?;
        Self::builder(config.domain.id).config(config).build()
    }

    /// Settings for a participant in `domain`.
    #[must_use]
    pub fn builder(domain: DomainId) -> DomainParticipantBuilder {
        DomainParticipantBuilder::new(domain)
    }

    pub(crate) fn from_inner(inner: Arc<ParticipantInner>) -> Self {
        Self { inner }
    }

    pub(crate) fn inner(&self) -> &Arc<ParticipantInner> {
        &self.inner
    }

    /// get_domain_id.
    #[must_use]
    pub fn domain_id(&self) -> DomainId {
        self.inner.domain
    }

    /// The GUID on the wire.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.inner.session.participant().guid()
    }

    /// create_topic, with a QoS or [`TOPIC_QOS_DEFAULT`](crate::TOPIC_QOS_DEFAULT). There may be several topics of one name and
    /// type in a participant, each with its own QoS and listener: see [`Topic`].
    ///
    /// # Errors
    /// [`CreateEntityError::TypeConflict`], [`CreateEntityError::TypeNameInUse`], or when the name or QoS cannot be used.
    pub fn create_topic<'q, T: DdsType>(
        &self,
        name: &str,
        qos: impl Into<EntityQos<'q, TopicQos>>,
    ) -> Result<Topic<T>, CreateEntityError> {
        if self.inner.registered_types.of(T::TYPE_NAME).is_some_and(|known| known != TypeId::of::<T>()) {
            return Err(CreateEntityError::TypeNameInUse(T::TYPE_NAME.to_owned()));
        }
        self.typed_topic(name, T::TYPE_NAME, &self.topic_qos(qos.into()))
    }

    /// The QoS that is meant for a topic.
    pub(crate) fn topic_qos<'q>(&self, qos: EntityQos<'q, TopicQos>) -> Cow<'q, TopicQos> {
        qos.or_else(|| self.default_topic_qos())
    }

    /// A topic of a Rust type, under a name of the type.
    pub(crate) fn typed_topic<T: DdsType>(
        &self,
        name: &str,
        type_name: &str,
        qos: &TopicQos,
    ) -> Result<Topic<T>, CreateEntityError> {
        let same = |known: &TopicInner| known.type_id == TypeId::of::<T>();
        let support = Arc::new(TypeSupportOf::<T>::new());
        let names = (name, type_name);
        self.topic_of::<T>(names, qos, support, same, crate::types::local_type::<T>).map(Topic::new)
    }

    /// A new topic of a name and the name of its type. `same` decides whether a known topic of the same name and type name
    /// has the same type; `announced` makes what is announced of the type if there is none.
    pub(crate) fn topic_of<T: TopicType>(
        &self,
        (name, type_name): (&str, &str),
        qos: &TopicQos,
        support: Arc<dyn TypeSupport>,
        same: impl FnOnce(&TopicInner) -> bool,
        announced: impl FnOnce() -> Option<Arc<LocalType>>,
    ) -> Result<Arc<TopicInner>, CreateEntityError> {
        if !is_usable(name) || !is_usable(type_name) {
            return Err(CreateEntityError::BadName);
        }
        qos.check_consistency()?;
        qos.check_supported()?;
        self.inner.check_durability(qos.durability)?;
        let mut topics = lock(&self.inner.topics);
        // Here, where nobody can create another of the name meanwhile.
        for gone in topics.sweep(name) {
            self.inner.forget_name(&topics, &gone);
        }
        if self.inner.derived_topics.contains(name) {
            return Err(CreateEntityError::NameInUse(name.to_owned()));
        }
        let existing = topics.of(name).next();
        if let Some(existing) = &existing
            && (existing.type_name != type_name || !same(existing))
        {
            return Err(CreateEntityError::TypeConflict {
                topic: name.to_owned(),
                existing: existing.type_name.clone(),
                requested: type_name.to_owned(),
            });
        }
        self.inner.entity.check().map_err(|_| CreateEntityError::AlreadyDeleted)?;
        let handle = self.inner.topic_handle();
        let topic = Arc::new(match existing {
            Some(existing) => existing.another(handle, qos),
            None => {
                let announced = self.inner.announced_type(name, announced);
                let weak = Arc::downgrade(&self.inner);
                TopicInner::with_support::<T>(weak, handle, (name, type_name), qos, support, announced)
            }
        });
        topics.add(&topic);
        drop(topics);
        // Known before, so that who enables the participant at this moment enables it if this does not.
        if self.inner.autoenables() {
            topic.enable(&*self.inner);
        }
        self.inner.entity.signal.raise();
        Ok(topic)
    }

    /// create_contentfilteredtopic: readers created for it receive only the samples of `topic` that satisfy
    /// `expression`, a condition in the language described at [`filter`](crate::filter). `parameters` are the values of
    /// `%0`, `%1` and so on in it.
    ///
    /// # Errors
    /// A condition that does not fit the type, a name that is in use, a topic of another participant.
    pub fn create_contentfilteredtopic<T: TopicType>(
        &self,
        name: &str,
        topic: &Topic<T>,
        expression: &str,
        parameters: &[impl AsRef<str>],
    ) -> Result<ContentFilteredTopic<T>, CreateEntityError> {
        self.inner.entity.check()?;
        if !is_usable(name) {
            return Err(CreateEntityError::BadName);
        }
        if !self.inner.owns(&topic.inner) {
            return Err(CreateEntityError::ForeignTopic);
        }
        topic.inner.entity.check()?;
        let filtered = Arc::new(FilteredTopicInner::new(topic, name, expression, parameters)?);
        let weak = Arc::downgrade(&filtered);
        self.inner.add_derived_topic(name, weak)?;
        Ok(ContentFilteredTopic::new(filtered))
    }

    /// get_qos.
    #[must_use]
    pub fn qos(&self) -> DomainParticipantQos {
        self.inner.qos.get()
    }

    /// set_qos: a changed USER_DATA is announced to the other participants. With
    /// [`PARTICIPANT_QOS_DEFAULT`](crate::PARTICIPANT_QOS_DEFAULT) it becomes the present default of the factory.
    ///
    /// # Errors
    /// When the QoS is inconsistent, unsupported, or changes an immutable policy of an enabled participant;
    /// [`SetQosError::AlreadyDeleted`].
    pub fn set_qos<'q>(
        &self,
        qos: impl Into<EntityQos<'q, DomainParticipantQos>>,
    ) -> Result<(), SetQosError> {
        self.inner.entity.check()?;
        let default = registry::default_qos;
        let new = &*qos.into().or_else(default);
        new.check_consistency()?;
        new.check_supported()?;
        self.inner.qos.set(new, DomainParticipantQos::check_changeable)?;
        let policies = || {
            let qos = self.inner.qos.with(|qos| crate::process::described(qos, &self.inner.process));
            (qos.user_data, qos.property)
        };
        self.inner.run(|engine, now, out| engine.set_policies(now, policies, out));
        Ok(())
    }

    /// Sends what waits for more samples, of all writers, that of the highest TRANSPORT_PRIORITY first: see
    /// [`DataWriter::flush`](crate::DataWriter::flush).
    pub fn flush(&self) {
        let mut writers = self.inner.sink.writers();
        put_urgent_first(&mut writers);
        for writer in writers {
            writer.flush();
        }
    }

    /// assert_liveliness of the writers whose kind is MANUAL_BY_PARTICIPANT.
    ///
    /// # Errors
    /// [`EntityError::NotEnabled`], [`EntityError::AlreadyDeleted`].
    pub fn assert_liveliness(&self) -> Result<(), EntityError> {
        self.inner.entity.check_usable()?;
        let session = &self.inner.session;
        session.run(|now, out| session.participant().assert_liveliness(now, out));
        Ok(())
    }

    /// get_discovered_participants, with their data.
    #[must_use]
    pub fn discovered_participants(&self) -> Vec<Arc<ParticipantBuiltinTopicData>> {
        self.inner.session.participant().discovered_participants()
    }

    /// The writers of other participants.
    #[must_use]
    pub fn discovered_publications(&self) -> Vec<Arc<PublicationBuiltinTopicData>> {
        self.inner.session.participant().discovered_writers()
    }

    /// The readers of other participants.
    #[must_use]
    pub fn discovered_subscriptions(&self) -> Vec<Arc<SubscriptionBuiltinTopicData>> {
        self.inner.session.participant().discovered_readers()
    }

    /// get_current_time: the wall clock that source timestamps are taken from.
    #[must_use]
    pub fn current_time(&self) -> WallTime {
        self.inner.session.now().wall
    }

    /// Counters: datagrams, malformed messages, quotas.
    #[must_use]
    pub fn stats(&self) -> ParticipantStats {
        self.inner.session.participant().stats()
    }

    /// What other participants did that this one refused after it had parsed their messages: of
    /// [`MOST_MISBEHAVING`](crate::MOST_MISBEHAVING) participants, the ones that misbehaved last, and of all others together
    /// ([`GuidPrefix::UNKNOWN`]). Anybody can speak in the name of a participant, so this accuses nobody. The statistics tell it too.
    #[must_use]
    pub fn misbehaviours(&self) -> Vec<Misbehaved> {
        self.inner.engine().misbehaviours()
    }

    /// How many calls of listeners of this participant ended with a panic. The log reports the first, and then once a minute
    /// at most; what the panic hook of the program prints is up to that.
    #[must_use]
    pub fn listener_panics(&self) -> u64 {
        self.inner.session.listener_panics()
    }

    /// Whether data for another participant goes through shared memory, or why it does not, for people. `None` if it offers
    /// none, is not known, or this participant uses none.
    #[must_use]
    pub fn shared_memory(&self, other: GuidPrefix) -> Option<Result<(), String>> {
        self.inner.session.shared_memory(other)
    }

    /// Counters of sockets and shared memory, which participants of one process share where their configurations allow.
    #[must_use]
    pub fn transport_stats(&self) -> TransportStats {
        self.inner.transport_stats()
    }
}

impl std::fmt::Debug for DomainParticipant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DomainParticipant(domain {}, {})", self.inner.domain, self.guid())
    }
}

impl From<CreateError> for CreateEntityError {
    fn from(error: CreateError) -> Self {
        use dunlin_qos::QosError;
        match error {
            CreateError::Qos(QosError::Inconsistent(e)) => e.into(),
            CreateError::Qos(QosError::Unsupported(e)) => e.into(),
            CreateError::Qos(QosError::Immutable(_)) | CreateError::OutOfEntityIds => Self::OutOfResources,
            CreateError::InvalidName => Self::BadName,
            CreateError::ShutDown => Self::AlreadyDeleted,
        }
    }
}

impl PublisherFactory for ParticipantInner {
    fn group(&self, presentation: Presentation) -> Result<Option<Arc<PublisherGroup>>, CreateEntityError> {
        let participant = self.session.participant();
        Ok(is_together(presentation).then(|| participant.create_publisher_group(presentation)).transpose()?)
    }
}

impl SubscriberFactory for ParticipantInner {
    fn group(&self, presentation: Presentation) -> Option<Arc<SubscriberGroup>> {
        is_together(presentation).then(|| self.session.participant().create_subscriber_group(presentation))
    }
}

/// Whether the endpoints of a publisher or subscriber have something in common.
fn is_together(presentation: Presentation) -> bool {
    presentation.coherent_access || is_ordered_by_group(presentation)
}

fn is_ordered_by_group(presentation: Presentation) -> bool {
    presentation.ordered_access && presentation.access_scope == PresentationAccessScope::Group
}

/// What writers and readers need of their participant.
impl ParticipantInner {
    pub(crate) fn engine(&self) -> &dunlin_engine::Participant {
        self.session.participant()
    }

    pub(crate) fn sink(&self) -> &Sink {
        &self.sink
    }

    /// What the user should know about the network as it was set up.
    pub(crate) fn network_notes(&self) -> Vec<String> {
        self.session.notes()
    }

    /// Connections that cannot be opened, or were refused, and why.
    pub(crate) fn connection_troubles(&self) -> Vec<String> {
        self.session.troubles()
    }

    /// Whether data for another participant goes through shared memory, or why not.
    pub(crate) fn shared_memory(&self, prefix: GuidPrefix) -> Option<Result<(), String>> {
        self.session.shared_memory(prefix)
    }

    pub(crate) fn create_writer(
        &self,
        core: &Arc<WriterInner>,
        spec: WriterSpec,
        keep: impl FnOnce(Arc<WriterSlot>) -> bool,
    ) -> Result<(), CreateEntityError> {
        let participant = self.session.participant();
        self.session.create(|now, out| {
            let group = core.publisher.group();
            let slot = participant.create_grouped_writer(now, spec, group, core.related, out)?;
            // Known to the sink before the events of its first matches are told, and before somebody can delete it.
            self.sink.add_writer(slot.guid().entity_id, core);
            if !keep(Arc::clone(&slot)) {
                self.sink.remove_writer(slot.guid().entity_id);
                participant.delete_writer(now, &slot, out);
            }
            Ok(())
        })
    }

    pub(crate) fn create_reader(
        &self,
        core: &Arc<ReaderInner>,
        spec: ReaderSpec,
        filter: Option<Arc<dunlin_engine::ContentFilter>>,
        keep: impl FnOnce(Arc<ReaderSlot>) -> bool,
    ) -> Result<(), CreateEntityError> {
        let participant = self.session.participant();
        self.session.create(|now, out| {
            let group = core.subscriber.group();
            let slot = participant.create_filtered_reader(now, spec, filter, group, core.related, out)?;
            self.sink.add_reader(slot.guid().entity_id, core);
            if !keep(Arc::clone(&slot)) {
                self.sink.remove_reader(slot.guid().entity_id);
                participant.delete_reader(now, &slot, out);
            }
            Ok(())
        })
    }

    pub(crate) fn create_private_reader(
        &self,
        core: &Arc<ReaderInner>,
        spec: &ReaderSpec,
        keep: impl FnOnce(Arc<ReaderSlot>) -> bool,
    ) -> Result<(), CreateEntityError> {
        let participant = self.session.participant();
        self.session.create(|now, out| {
            let slot = participant.create_private_reader(spec)?;
            self.sink.add_reader(slot.guid().entity_id, core);
            if !keep(Arc::clone(&slot)) {
                self.sink.remove_reader(slot.guid().entity_id);
                participant.delete_reader(now, &slot, out);
            }
            Ok(())
        })
    }

    /// Gives a private reader its samples.
    pub(crate) fn deliver(&self, slot: &ReaderSlot, changes: impl IntoIterator<Item = WriteRequest>) {
        self.session.run(|now, out| changes.into_iter().for_each(|change| slot.deliver(now, change, out)));
    }

    /// Takes a name for a topic that others are behind.
    pub(crate) fn add_derived_topic(
        &self,
        name: &str,
        topic: Weak<dyn DerivedTopic>,
    ) -> Result<(), CreateEntityError> {
        let topics = lock(&self.topics);
        let taken = topics.of(name).next().is_some();
        if taken || !self.derived_topics.add(name, topic) {
            return Err(CreateEntityError::NameInUse(name.to_owned()));
        }
        Ok(())
    }

    /// Runs something of the engine, sends its datagrams and reports its events.
    pub(crate) fn run<R>(&self, f: impl FnOnce(&dunlin_engine::Participant, Now, &mut Output) -> R) -> R {
        self.session.run(|now, out| f(self.session.participant(), now, out))
    }

    /// The time of the engine.
    pub(crate) fn now(&self) -> MonoTime {
        self.session.now().mono
    }

    /// The machine that it lives on, if it is not the real one.
    pub(crate) fn machine(&self) -> Option<&Arc<dyn dunlin_driver::machine::Machine>> {
        self.session.machine()
    }

    /// Leaves the domain although there are handles to it.
    pub(crate) fn close(&self) {
        self.entity.delete();
        self.delete_builtin_subscriber();
        self.leave();
    }

    /// The topics that were not deleted.
    pub(crate) fn topics(&self) -> Vec<Arc<TopicInner>> {
        lock(&self.topics).all().collect()
    }

    /// Takes a topic out of the list; with the last one of its name that is free. False if it was deleted before.
    pub(crate) fn forget_topic(&self, topic: &TopicInner) -> bool {
        // Before the engine forgets the name: who enables the topic at this moment sees one or the other.
        let first = topic.entity.delete();
        let mut topics = lock(&self.topics);
        topics.remove(topic);
        self.forget_name(&topics, &topic.name);
        first
    }

    /// A topic was deleted while the engine learnt of it.
    pub(crate) fn forget_deleted(&self, topic: &TopicInner) {
        self.forget_name(&lock(&self.topics), &topic.name);
    }

    /// Types of others are not compared any more with those of a name that no topic has.
    fn forget_name(&self, topics: &KnownTopics, name: &str) {
        if !topics.is_known(name) {
            self.engine().remove_topic(name);
        }
    }

    /// The topics of this name.
    pub(crate) fn topics_of(&self, name: &str) -> Vec<Arc<TopicInner>> {
        lock(&self.topics).of(name).collect()
    }

    /// The oldest topic of this name, if there is one.
    pub(crate) fn find_topic(&self, name: &str) -> Option<Arc<TopicInner>> {
        lock(&self.topics).of(name).next()
    }

    pub(crate) fn delete_reader(&self, slot: &ReaderSlot) {
        self.sink.remove_reader(slot.guid().entity_id);
        self.session.run(|now, out| self.session.participant().delete_reader(now, slot, out));
    }

    /// Why the present thread cannot wait for this participant, if it cannot.
    pub(crate) fn cannot_wait(&self) -> Option<CannotWait> {
        self.session.cannot_wait()
    }

    /// Counters of the sockets and the shared memory that it uses.
    pub(crate) fn transport_stats(&self) -> TransportStats {
        self.session.transport_stats()
    }

    /// Makes itself known to the domain.
    pub(crate) fn announce(&self) {
        self.session.announce();
    }

    /// Whether topics, publishers and subscribers are created enabled.
    pub(crate) fn autoenables(&self) -> bool {
        self.entity.is_enabled() && self.qos.with(|qos| qos.entity_factory.autoenable_created_entities)
    }

    /// Says of a writer that ends how many of its changes nobody was there for, of how many.
    pub(crate) fn note_unheard(&self, topic: &str, (unheard, written): (u64, u64)) {
        self.sink.note_unheard(topic, unheard, written);
    }

    pub(crate) fn end_access(&self, group: &SubscriberGroup) {
        self.session.run(|now, out| group.end_access(now, out));
    }

    pub(crate) fn end_set(&self, slot: &WriterSlot, end: &SetEnd) {
        self.session.end_set(slot, end);
    }

    /// Unregisters every instance of a writer that is about to be deleted.
    pub(crate) fn end_instances(&self, slot: &WriterSlot, dispose: bool) {
        self.session.end_instances(slot, dispose);
    }

    /// Sends what waits for more of the same writer.
    pub(crate) fn flush(&self, slot: &WriterSlot) {
        self.session.flush(slot);
    }

    /// See [`dunlin_transport::Transport::lender`].
    pub(crate) fn lender(&self, len: usize) -> Option<Box<dyn dunlin_transport::Lender>> {
        self.session.lender(len)
    }

    pub(crate) fn assert_writer_liveliness(&self, slot: &WriterSlot) {
        self.session.run(|now, out| slot.assert_liveliness(now, out));
    }

    pub(crate) fn request_acknowledgments(&self, slot: &WriterSlot) {
        self.session.run(|now, out| slot.request_acknowledgments(now, out));
    }

    pub(crate) fn collect(
        &self,
        slot: &ReaderSlot,
        selection: &Selection,
        query: Query<'_>,
        take: bool,
        found: &mut Vec<CachedSample>,
    ) -> Result<usize, UnknownInstance> {
        self.session.run_with_clock(|now, out| match (query, take) {
            (None, false) => slot.read(now, selection, found, out),
            (None, true) => slot.take(now, selection, found, out),
            (Some(query), false) => slot.read_where(now, selection, query, found, out),
            (Some(query), true) => slot.take_where(now, selection, query, found, out),
        })
    }

    pub(crate) fn set_content_filter(&self, slot: &ReaderSlot, filter: &Arc<dunlin_engine::ContentFilter>) {
        let participant = self.session.participant();
        self.session.run(|now, out| participant.set_content_filter(now, slot, filter, out));
    }

    /// `policies` must not call the participant.
    pub(crate) fn set_writer_policies(
        &self,
        slot: &WriterSlot,
        policies: impl FnOnce() -> WriterPolicies,
    ) -> Result<(), SetQosError> {
        Ok(self.run(|engine, now, out| engine.set_writer_policies(now, slot, policies, out))?)
    }

    /// `policies` must not call the participant.
    pub(crate) fn set_reader_policies(
        &self,
        slot: &ReaderSlot,
        policies: impl FnOnce() -> ReaderPolicies,
    ) -> Result<(), SetQosError> {
        Ok(self.run(|engine, now, out| engine.set_reader_policies(now, slot, policies, out))?)
    }
}

impl Drop for ParticipantInner {
    fn drop(&mut self) {
        if self.entity.is_here() {
            self.leave();
        }
    }
}
