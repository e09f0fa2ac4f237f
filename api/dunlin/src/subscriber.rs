//! Subscriber (DDS 1.4 §2.2.2.5.2).

use std::borrow::Cow;
use std::sync::Arc;

use dunlin_core::{EntityKind, InstanceHandle};
use dunlin_qos::{DataReaderQos, PresentationAccessScope, SubscriberQos, TopicQos};

use crate::condition::StatusCondition;
use crate::endpoint_qos::{EndpointQos, EntityQos};
use crate::entity::EntityError;
use crate::error::{CreateEntityError, GroupAccessError, SetQosError};
use crate::mutex::lock;
use crate::participant::{DomainParticipant, ParticipantInner};
use crate::reader_inner::{ReaderInner, TopicSource};
use crate::status::StatusMask;
use crate::subscriber_state::SubscriberState;

/// Creates data readers with a common PARTITION and PRESENTATION. Cheap to clone.
///
/// Made by [`DomainParticipant::create_subscriber`]; then [`create_datareader`](Self::create_datareader) for each topic. Samples
/// that belong together over several readers are read between [`begin_access`](Self::begin_access) and
/// [`end_access`](Self::end_access). It lives as long as a handle to it or to one of its readers.
#[derive(Clone)]
pub struct Subscriber {
    pub(crate) participant: Arc<ParticipantInner>,
    pub(crate) state: Arc<SubscriberState<ReaderInner>>,
}

impl std::fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Subscriber({:?})", self.qos().partition.names)
    }
}

impl Subscriber {
    pub(crate) fn new(
        participant: Arc<ParticipantInner>,
        qos: &SubscriberQos,
    ) -> Result<Self, CreateEntityError> {
        qos.check_consistency()?;
        qos.check_supported()?;
        participant.entity.check().map_err(|_| CreateEntityError::AlreadyDeleted)?;
        let handle = participant.next_handle(EntityKind::ReaderGroup);
        let state = SubscriberState::new(handle, false, false, qos.clone());
        // Known before, so that who enables the participant at this moment enables it if this does not.
        participant.add_subscriber(&state);
        if participant.autoenables() {
            state.enable(&*participant)?;
        }
        Ok(Self { participant, state })
    }

    /// The subscriber of the built-in topics.
    pub(crate) fn builtin(participant: Arc<ParticipantInner>) -> Self {
        let make = || {
            let topic = PresentationAccessScope::Topic;
            let qos = SubscriberQos::default().presentation(topic, false, false);
            SubscriberState::new(participant.next_handle(EntityKind::ReaderGroup), true, true, qos)
        };
        let state = participant.builtin_state(make);
        if participant.entity.is_deleted() {
            state.entity.delete();
        }
        Self { participant, state }
    }

    /// The QoS that is meant for a reader; `None` if it is that of a topic which has none.
    pub(crate) fn resolve<'q>(
        &self,
        qos: EndpointQos<'q, DataReaderQos>,
        source: &TopicSource,
    ) -> Option<Cow<'q, DataReaderQos>> {
        Some(match qos {
            EndpointQos::Given(qos) => Cow::Borrowed(qos),
            EndpointQos::FactoryDefault => Cow::Owned(self.default_datareader_qos()),
            EndpointQos::UseTopicQos if source.multi.is_some() => return None,
            EndpointQos::UseTopicQos => {
                Cow::Owned(self.default_datareader_qos().with_topic_qos(&source.topic.qos()))
            }
        })
    }

    /// enable: of a subscriber whose participant does not enable what it creates. Readers that were created meanwhile are
    /// enabled too, unless ENTITY_FACTORY of the subscriber leaves that to the application.
    ///
    /// # Errors
    /// [`CreateEntityError::FactoryNotEnabled`] while the participant is not enabled, or when a reader cannot be.
    pub fn enable(&self) -> Result<(), CreateEntityError> {
        self.state.entity.check()?;
        self.participant.check_enabled()?;
        self.state.enable(&*self.participant)
    }

    /// get_qos.
    #[must_use]
    pub fn qos(&self) -> SubscriberQos {
        self.state.qos.get()
    }

    /// set_qos: a changed PARTITION matches the subscriber's readers anew. With
    /// [`SUBSCRIBER_QOS_DEFAULT`](crate::SUBSCRIBER_QOS_DEFAULT) it becomes the participant's present default.
    ///
    /// # Errors
    /// When the QoS is inconsistent, unsupported, or changes an immutable policy of an enabled subscriber;
    /// [`SetQosError::AlreadyDeleted`].
    pub fn set_qos<'q>(&self, qos: impl Into<EntityQos<'q, SubscriberQos>>) -> Result<(), SetQosError> {
        self.state.entity.check()?;
        let new = &*qos.into().or_else(|| self.participant().default_subscriber_qos());
        new.check_consistency()?;
        new.check_supported()?;
        self.state.qos.set(new, SubscriberQos::check_changeable)?;
        self.state.readers().iter().for_each(ReaderInner::refresh);
        Ok(())
    }

    /// delete_contained_entities: deletes every reader, with its conditions.
    ///
    /// # Errors
    /// [`EntityError::AlreadyDeleted`].
    pub fn delete_contained_entities(&self) -> Result<(), EntityError> {
        self.state.entity.check()?;
        self.state.delete_readers();
        Ok(())
    }

    /// notify_datareaders: calls the listeners of DATA_AVAILABLE for each reader with data that nobody has looked at; to be
    /// called by [`on_data_on_readers`](crate::SubscriberListener::on_data_on_readers).
    ///
    /// # Errors
    /// [`GroupAccessError::NotEnabled`], [`GroupAccessError::AlreadyDeleted`].
    pub fn notify_datareaders(&self) -> Result<(), GroupAccessError> {
        self.state.entity.check_usable()?;
        for reader in self.state.readers() {
            if reader.changes().intersects(StatusMask::DATA_AVAILABLE) {
                reader.tell_data_available();
            }
        }
        Ok(())
    }

    /// get_default_datareader_qos: for [`Subscriber::create_datareader`] when the application has no other.
    #[must_use]
    pub fn default_datareader_qos(&self) -> DataReaderQos {
        lock(&self.state.default_qos).clone()
    }

    /// set_default_datareader_qos.
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported.
    pub fn set_default_datareader_qos(&self, qos: &DataReaderQos) -> Result<(), SetQosError> {
        self.state.entity.check()?;
        qos.check_consistency()?;
        qos.check_supported()?;
        self.participant.check_durability(qos.durability)?;
        *lock(&self.state.default_qos) = qos.clone();
        Ok(())
    }

    /// copy_from_topic_qos: overlays the policies that topics and readers share.
    ///
    /// # Errors
    /// When what comes out is inconsistent; nothing has changed then.
    pub fn copy_from_topic_qos(&self, qos: &mut DataReaderQos, topic: &TopicQos) -> Result<(), SetQosError> {
        self.state.entity.check()?;
        let overlaid = qos.clone().with_topic_qos(topic);
        overlaid.check_consistency()?;
        *qos = overlaid;
        Ok(())
    }

    /// get_statuscondition, for DATA_ON_READERS.
    #[must_use]
    pub fn status_condition(&self) -> StatusCondition {
        self.state.entity.condition(&self.state, |state| &state.entity)
    }

    /// get_status_changes.
    #[must_use]
    pub fn status_changes(&self) -> StatusMask {
        self.state.entity.changes()
    }

    /// get_instance_handle.
    #[must_use]
    pub fn instance_handle(&self) -> InstanceHandle {
        self.state.entity.handle
    }

    /// get_participant.
    #[must_use]
    pub fn participant(&self) -> DomainParticipant {
        DomainParticipant::from_inner(Arc::clone(&self.participant))
    }
}

impl DomainParticipant {
    /// create_subscriber, with a QoS or [`SUBSCRIBER_QOS_DEFAULT`](crate::SUBSCRIBER_QOS_DEFAULT).
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported.
    pub fn create_subscriber<'q>(
        &self,
        qos: impl Into<EntityQos<'q, SubscriberQos>>,
    ) -> Result<Subscriber, CreateEntityError> {
        let qos = qos.into().or_else(|| self.default_subscriber_qos());
        Subscriber::new(Arc::clone(self.inner()), &qos)
    }
}

impl ReaderInner {
    /// The subscriber that it belongs to.
    pub(crate) fn subscriber(&self) -> Subscriber {
        Subscriber { participant: Arc::clone(&self.participant), state: Arc::clone(&self.subscriber) }
    }
}
