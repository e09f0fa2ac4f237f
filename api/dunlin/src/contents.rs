//! What a participant contains, finds and ignores (DDS 1.4 §2.2.2.2.1).

use std::sync::Arc;

use dunlin_cdr::{DdsType, TopicType};
use dunlin_core::{Duration, EntityId, Guid, InstanceHandle};
use dunlin_qos::{PublisherQos, SubscriberQos, TopicQos};

use crate::builtin::{
    DcpsTopic, ParticipantBuiltinTopicData, PublicationBuiltinTopicData, SubscriptionBuiltinTopicData,
};
use crate::condition::StatusCondition;
use crate::content_filter::ContentFilteredTopic;
use crate::entity::EntityError;
use crate::error::{CreateEntityError, SetQosError, WaitForError};
use crate::mutex::lock;
use crate::participant::{DomainParticipant, ParticipantInner, topic_sample};
use crate::publisher::Publisher;
use crate::reader_inner::TopicSource;
use crate::status::StatusMask;
use crate::subscriber::Subscriber;
use crate::topic::{Topic, TopicInner};

impl ParticipantInner {
    fn delete_derived_topics(&self) {
        for derived in self.derived_topics.all() {
            derived.end();
            self.derived_topics.remove(derived.name());
        }
    }

    /// Has the endpoints that were created for a topic announce its TOPIC_DATA.
    pub(crate) fn refresh_endpoints_of(&self, topic: &Arc<TopicInner>) {
        for writer in self.publishers().iter().flat_map(|group| group.writers()) {
            if Arc::ptr_eq(&writer.topic, topic) {
                writer.refresh();
            }
        }
        for reader in self.subscribers().iter().flat_map(|group| group.readers()) {
            let TopicSource { topic: of_reader, multi, .. } = reader.source();
            if Arc::ptr_eq(&of_reader, topic) || multi.is_some_and(|multi| multi.uses(topic)) {
                reader.refresh();
            }
        }
    }

    /// Whether an endpoint or another topic uses a topic.
    pub(crate) fn uses(&self, topic: &Arc<TopicInner>) -> bool {
        let writers = self.publishers().into_iter().flat_map(|group| group.writers());
        let readers = self.subscribers().into_iter().flat_map(|group| group.readers());
        writers.into_iter().any(|writer| Arc::ptr_eq(&writer.topic, topic))
            || readers.into_iter().any(|reader| Arc::ptr_eq(&reader.topic, topic))
            || self.derived_topics.all().iter().any(|derived| derived.uses(topic))
    }
}

/// Why a topic was not found.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum FindTopicError {
    /// It did not appear in time, or this thread cannot wait.
    #[error(transparent)]
    Wait(#[from] WaitForError),
    /// It exists, but cannot be had here.
    #[error(transparent)]
    Create(#[from] CreateEntityError),
}

crate::sentence::debug_is_sentence!(FindTopicError);

impl FindTopicError {
    /// The DDS return code.
    #[must_use]
    pub fn return_code(&self) -> dunlin_core::ReturnCode {
        match self {
            Self::Wait(error) => error.return_code(),
            Self::Create(error) => error.return_code(),
        }
    }
}

impl DomainParticipant {
    /// find_topic: waits until this participant has a topic of this name, or an endpoint of another one names it, and makes
    /// another one of that name (see [`Topic`]), with the policies of that topic or endpoint.
    ///
    /// # Errors
    /// [`WaitForError::Timeout`], [`WaitForError::NotEnabled`], [`WaitForError::AlreadyDeleted`]; a topic of another type,
    /// or with policies that this version refuses.
    pub fn find_topic<T: DdsType>(&self, name: &str, timeout: Duration) -> Result<Topic<T>, FindTopicError> {
        let inner = self.inner();
        inner.entity.check_usable().map_err(WaitForError::from)?;
        let mut found = None;
        let local = |topic: Arc<TopicInner>| (topic.type_name.clone(), topic.qos());
        inner.wait_for(&inner.entity.signal, timeout, || {
            found = found.take().or_else(|| inner.find_topic(name).map(local));
            found = found.take().or_else(|| self.discovered_topic::<T>(name));
            found.is_some() || inner.entity.is_deleted()
        })?;
        inner.entity.check().map_err(WaitForError::from)?;
        let (type_name, qos) = found.unwrap_or_else(|| (T::TYPE_NAME.to_owned(), TopicQos::default()));
        Ok(self.typed_topic(name, &type_name, &qos)?)
    }

    /// The type name and the policies of a topic of a type that an endpoint of another participant names.
    fn discovered_topic<T: DdsType>(&self, name: &str) -> Option<(String, TopicQos)> {
        let engine = self.inner().engine();
        let wanted = |topic: &str, ty: &str| topic == name && self.inner().registered_types.has::<T>(ty);
        let (writers, readers) = (engine.discovered_writers(), engine.discovered_readers());
        let writer = writers.iter().find(|data| wanted(&data.topic_name, &data.type_name));
        let reader = readers.iter().find(|data| wanted(&data.topic_name, &data.type_name));
        let (type_name, found) = match (writer, reader) {
            (Some(writer), _) => (&writer.type_name, crate::builtin::topic_of_writer(writer)),
            (None, Some(reader)) => (&reader.type_name, crate::builtin::topic_of_reader(reader)),
            (None, None) => return None,
        };
        // Other implementations have values of these that are refused here, and an endpoint's are not the topic's.
        let (transport_priority, representation) = Default::default();
        Some((type_name.to_string(), TopicQos { transport_priority, representation, ..found }))
    }

    /// contains_entity: whether a topic, publisher, subscriber, writer or reader with this handle belongs to it.
    #[must_use]
    pub fn contains_entity(&self, handle: InstanceHandle) -> bool {
        let inner = self.inner();
        let (publishers, subscribers) = (inner.publishers(), inner.subscribers());
        let is =
            |id: Option<EntityId>| id.is_some_and(|id| Guid::new(self.guid().prefix, id) == handle.to_guid());
        publishers.iter().any(|group| group.entity.handle == handle)
            || subscribers.iter().any(|group| group.entity.handle == handle)
            || inner.topics().iter().any(|topic| topic.entity.handle == handle)
            || publishers.iter().flat_map(|group| group.writers()).any(|writer| is(writer.id()))
            || subscribers.iter().flat_map(|group| group.readers()).any(|reader| is(reader.id()))
    }

    /// Whether it has no publisher, subscriber or topic.
    pub(crate) fn is_empty(&self) -> bool {
        let inner = self.inner();
        let derived = inner.derived_topics.all();
        inner.publishers().is_empty()
            && inner.subscribers().is_empty()
            && inner.topics().is_empty()
            && derived.is_empty()
    }

    /// delete_publisher: it ends although there are handles to it.
    ///
    /// # Errors
    /// [`EntityError::InUse`] while it has writers; [`EntityError::Foreign`] if it belongs to another
    /// participant; [`EntityError::AlreadyDeleted`].
    pub fn delete_publisher(&self, publisher: &Publisher) -> Result<(), EntityError> {
        if !Arc::ptr_eq(publisher.participant().inner(), self.inner()) {
            return Err(EntityError::Foreign);
        }
        publisher.state.entity.check()?;
        if !publisher.state.writers().is_empty() {
            return Err(EntityError::InUse);
        }
        if publisher.state.entity.delete() { Ok(()) } else { Err(EntityError::AlreadyDeleted) }
    }

    /// delete_subscriber: it ends although there are handles to it.
    ///
    /// # Errors
    /// [`EntityError::InUse`] while it has readers; [`EntityError::Foreign`] if it belongs to another
    /// participant; [`EntityError::AlreadyDeleted`].
    pub fn delete_subscriber(&self, subscriber: &Subscriber) -> Result<(), EntityError> {
        if !Arc::ptr_eq(&subscriber.participant, self.inner()) {
            return Err(EntityError::Foreign);
        }
        subscriber.state.entity.check()?;
        if !subscriber.state.readers().is_empty() {
            return Err(EntityError::InUse);
        }
        if subscriber.state.entity.delete() { Ok(()) } else { Err(EntityError::AlreadyDeleted) }
    }

    /// delete_topic: it ends although there are handles to it. Other topics of its name stay; with the last one the name is
    /// free.
    ///
    /// # Errors
    /// [`EntityError::InUse`] while writers, readers or other topics use it; [`EntityError::Foreign`],
    /// [`EntityError::AlreadyDeleted`].
    pub fn delete_topic<T: TopicType>(&self, topic: &Topic<T>) -> Result<(), EntityError> {
        if !self.inner().owns(&topic.inner) {
            return Err(EntityError::Foreign);
        }
        topic.inner.entity.check()?;
        if self.inner().uses(&topic.inner) {
            return Err(EntityError::InUse);
        }
        if self.inner().forget_topic(&topic.inner) { Ok(()) } else { Err(EntityError::AlreadyDeleted) }
    }

    /// delete_contentfilteredtopic: it ends although there are handles to it, and its name is free.
    ///
    /// # Errors
    /// [`EntityError::InUse`] while it has readers; [`EntityError::Foreign`] if it belongs to another
    /// participant; [`EntityError::AlreadyDeleted`].
    pub fn delete_contentfilteredtopic<T: TopicType>(
        &self,
        topic: &ContentFilteredTopic<T>,
    ) -> Result<(), EntityError> {
        if !self.inner().owns(&topic.inner.topic) {
            return Err(EntityError::Foreign);
        }
        topic.inner.delete()?;
        self.inner().derived_topics.remove(topic.name());
        Ok(())
    }

    /// enable: of a participant that was created disabled. Topics, publishers and subscribers that were created meanwhile
    /// are enabled too, unless ENTITY_FACTORY of the participant leaves that to the application. Enabling it again does
    /// nothing.
    ///
    /// # Errors
    /// When a writer or reader cannot be enabled, or the participant was deleted.
    pub fn enable(&self) -> Result<(), CreateEntityError> {
        let inner = self.inner();
        inner.entity.check().map_err(|_| CreateEntityError::AlreadyDeleted)?;
        inner.qos.hold();
        if !inner.entity.enable() {
            return Ok(());
        }
        inner.announce();
        if !inner.autoenables() {
            return Ok(());
        }
        inner.topics().iter().for_each(|topic| topic.enable(&**inner));
        inner.publishers().iter().try_for_each(|group| group.enable(&**inner))?;
        inner.subscribers().iter().try_for_each(|group| group.enable(&**inner))
    }

    /// delete_contained_entities: deletes every writer, reader, publisher, subscriber and topic. Handles to them stay, and
    /// their operations fail from now on. The participant itself goes away with its last handle. Instances of writers end as with
    /// [`Publisher::delete_datawriter`], and this waits, for one second at most, for the readers of all writers deleted so far,
    /// unless it is called where nothing can wait (in a listener).
    ///
    /// # Errors
    /// [`EntityError::AlreadyDeleted`].
    pub fn delete_contained_entities(&self) -> Result<(), EntityError> {
        let inner = self.inner();
        inner.entity.check()?;
        let publishers = inner.publishers();
        for writer in publishers.iter().flat_map(|group| group.writers()) {
            writer.close();
        }
        inner.wait_for_closing_writers();
        publishers.iter().for_each(|group| {
            group.entity.delete();
        });
        for group in inner.subscribers() {
            group.delete_readers();
            group.entity.delete();
        }
        inner.delete_derived_topics();
        for topic in inner.topics() {
            inner.forget_topic(&topic);
        }
        Ok(())
    }

    /// ignore_participant: from now on as if that participant did not exist. It cannot be taken back.
    ///
    /// # Errors
    /// [`EntityError::UnknownHandle`] if nothing discovered has this handle; [`EntityError::NotEnabled`] before
    /// [`enable`](Self::enable); [`EntityError::AlreadyDeleted`].
    pub fn ignore_participant(&self, handle: InstanceHandle) -> Result<(), EntityError> {
        self.inner().entity.check_usable()?;
        let guid = handle.to_guid();
        let survey = self.inner().engine().survey(|_, _| false);
        let known = survey.participants.iter().any(|standing| standing.data.guid() == guid);
        if !known && !survey.ignored_participants.contains(&guid.prefix) {
            return Err(EntityError::UnknownHandle);
        }
        self.inner().run(|engine, now, out| engine.ignore_participant(now, guid.prefix, out));
        Ok(())
    }

    /// ignore_publication: from now on as if that writer of another participant did not exist.
    ///
    /// # Errors
    /// [`EntityError::UnknownHandle`] if nothing discovered has this handle; [`EntityError::NotEnabled`] before
    /// [`enable`](Self::enable); [`EntityError::AlreadyDeleted`].
    pub fn ignore_publication(&self, handle: InstanceHandle) -> Result<(), EntityError> {
        let known = self.inner().engine().find_writer(handle.to_guid()).is_some();
        self.ignore_endpoint(handle, known && handle.to_guid().entity_id.is_writer())
    }

    /// ignore_subscription: from now on as if that reader of another participant did not exist. What is sent to other readers
    /// of its participant may still reach it, as it does not know.
    ///
    /// # Errors
    /// [`EntityError::UnknownHandle`] if nothing discovered has this handle; [`EntityError::NotEnabled`] before
    /// [`enable`](Self::enable); [`EntityError::AlreadyDeleted`].
    pub fn ignore_subscription(&self, handle: InstanceHandle) -> Result<(), EntityError> {
        let known = self.inner().engine().find_reader(handle.to_guid()).is_some();
        self.ignore_endpoint(handle, known && handle.to_guid().entity_id.is_reader())
    }

    fn ignore_endpoint(&self, handle: InstanceHandle, known: bool) -> Result<(), EntityError> {
        self.inner().entity.check_usable()?;
        let guid = handle.to_guid();
        let ignored = || self.inner().engine().survey(|_, _| false).ignored_endpoints.contains(&guid);
        if guid.prefix == self.guid().prefix || !(known || ignored()) {
            return Err(EntityError::UnknownHandle);
        }
        self.inner().run(|engine, now, out| engine.ignore_endpoint(now, guid, out));
        Ok(())
    }

    /// ignore_topic: from now on as if no endpoint of other participants named this topic and type. The handle is that of a
    /// sample of DCPSTopic.
    ///
    /// # Errors
    /// [`EntityError::UnknownHandle`] if nothing discovered has this handle; [`EntityError::NotEnabled`] before
    /// [`enable`](Self::enable); [`EntityError::AlreadyDeleted`].
    pub fn ignore_topic(&self, handle: InstanceHandle) -> Result<(), EntityError> {
        let topic = self.discovered_topic_data(handle)?;
        self.inner().run(|engine, now, out| engine.ignore_topic(now, &topic.name, &topic.type_name, out));
        Ok(())
    }

    /// get_discovered_participant_data.
    ///
    /// # Errors
    /// [`EntityError::UnknownHandle`] if nothing discovered has this handle; [`EntityError::NotEnabled`] before
    /// [`enable`](Self::enable); [`EntityError::AlreadyDeleted`].
    pub fn discovered_participant_data(
        &self,
        handle: InstanceHandle,
    ) -> Result<Arc<ParticipantBuiltinTopicData>, EntityError> {
        self.inner().entity.check_usable()?;
        let guid = handle.to_guid();
        let found = self.inner().engine().find_participant(guid.prefix).filter(|data| data.guid() == guid);
        found.ok_or(EntityError::UnknownHandle)
    }

    /// The data of a writer of another participant.
    ///
    /// # Errors
    /// [`EntityError::UnknownHandle`] if nothing discovered has this handle; [`EntityError::NotEnabled`] before
    /// [`enable`](Self::enable); [`EntityError::AlreadyDeleted`].
    pub fn discovered_publication_data(
        &self,
        handle: InstanceHandle,
    ) -> Result<Arc<PublicationBuiltinTopicData>, EntityError> {
        self.inner().entity.check_usable()?;
        self.inner().engine().find_writer(handle.to_guid()).ok_or(EntityError::UnknownHandle)
    }

    /// The data of a reader of another participant.
    ///
    /// # Errors
    /// [`EntityError::UnknownHandle`] if nothing discovered has this handle; [`EntityError::NotEnabled`] before
    /// [`enable`](Self::enable); [`EntityError::AlreadyDeleted`].
    pub fn discovered_subscription_data(
        &self,
        handle: InstanceHandle,
    ) -> Result<Arc<SubscriptionBuiltinTopicData>, EntityError> {
        self.inner().entity.check_usable()?;
        self.inner().engine().find_reader(handle.to_guid()).ok_or(EntityError::UnknownHandle)
    }

    /// get_discovered_topics, with their data: every topic and type that endpoints of other participants name.
    #[must_use]
    pub fn discovered_topics(&self) -> Vec<DcpsTopic> {
        let engine = self.inner().engine();
        let writers = engine.discovered_writers().into_iter().map(|writer| writer.guid);
        let readers = engine.discovered_readers().into_iter().map(|reader| reader.guid);
        let mut topics: Vec<DcpsTopic> =
            writers.chain(readers).filter_map(|guid| topic_sample(engine, guid)).collect();
        topics.sort_by_key(|topic| topic.key);
        topics.dedup_by_key(|topic| topic.key);
        topics
    }

    /// get_discovered_topic_data.
    ///
    /// # Errors
    /// [`EntityError::UnknownHandle`] if nothing discovered has this handle; [`EntityError::NotEnabled`] before
    /// [`enable`](Self::enable); [`EntityError::AlreadyDeleted`].
    pub fn discovered_topic_data(&self, handle: InstanceHandle) -> Result<DcpsTopic, EntityError> {
        self.inner().entity.check_usable()?;
        let mut topics = self.discovered_topics().into_iter();
        topics.find(|topic| topic.key.handle() == handle).ok_or(EntityError::UnknownHandle)
    }

    /// get_builtin_subscriber: its readers, made by [`Subscriber::lookup_datareader`] for the names DCPSParticipant,
    /// DCPSTopic, DCPSPublication and DCPSSubscription, list the entities of other participants. The handles of their
    /// instances can be ignored.
    #[must_use]
    pub fn builtin_subscriber(&self) -> Subscriber {
        Subscriber::builtin(Arc::clone(self.inner()))
    }

    /// get_default_topic_qos: what [`TOPIC_QOS_DEFAULT`](crate::TOPIC_QOS_DEFAULT) stands for.
    #[must_use]
    pub fn default_topic_qos(&self) -> TopicQos {
        lock(&self.inner().contents.defaults).topic.clone()
    }

    /// get_default_publisher_qos: what [`PUBLISHER_QOS_DEFAULT`](crate::PUBLISHER_QOS_DEFAULT) stands for.
    #[must_use]
    pub fn default_publisher_qos(&self) -> PublisherQos {
        lock(&self.inner().contents.defaults).publisher.clone()
    }

    /// get_default_subscriber_qos: what [`SUBSCRIBER_QOS_DEFAULT`](crate::SUBSCRIBER_QOS_DEFAULT) stands for.
    #[must_use]
    pub fn default_subscriber_qos(&self) -> SubscriberQos {
        lock(&self.inner().contents.defaults).subscriber.clone()
    }

    /// set_default_topic_qos.
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported.
    pub fn set_default_topic_qos(&self, qos: &TopicQos) -> Result<(), SetQosError> {
        self.inner().entity.check()?;
        qos.check_consistency()?;
        qos.check_supported()?;
        self.inner().check_durability(qos.durability)?;
        lock(&self.inner().contents.defaults).topic = qos.clone();
        Ok(())
    }

    /// set_default_publisher_qos.
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported.
    pub fn set_default_publisher_qos(&self, qos: &PublisherQos) -> Result<(), SetQosError> {
        self.inner().entity.check()?;
        qos.check_consistency()?;
        qos.check_supported()?;
        lock(&self.inner().contents.defaults).publisher = qos.clone();
        Ok(())
    }

    /// set_default_subscriber_qos.
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported.
    pub fn set_default_subscriber_qos(&self, qos: &SubscriberQos) -> Result<(), SetQosError> {
        self.inner().entity.check()?;
        qos.check_consistency()?;
        qos.check_supported()?;
        lock(&self.inner().contents.defaults).subscriber = qos.clone();
        Ok(())
    }

    /// get_statuscondition. Participants have no status of their own, so it is never true.
    #[must_use]
    pub fn status_condition(&self) -> StatusCondition {
        self.inner().entity.condition(self.inner(), |inner| &inner.entity)
    }

    /// get_status_changes: always empty.
    #[must_use]
    pub fn status_changes(&self) -> StatusMask {
        self.inner().entity.changes()
    }

    /// get_instance_handle.
    #[must_use]
    pub fn instance_handle(&self) -> InstanceHandle {
        self.inner().entity.handle
    }
}
