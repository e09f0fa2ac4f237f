//! Publisher (DDS 1.4 §2.2.2.4.1).

use std::borrow::Cow;
use std::sync::Arc;

use dunlin_core::{Duration, EntityKind, InstanceHandle};
use dunlin_qos::{DataWriterQos, PublisherQos, TopicQos};

use crate::condition::StatusCondition;
use crate::endpoint_qos::{EndpointQos, EntityQos};
use crate::entity::EntityError;
use crate::error::{CreateEntityError, SetQosError, WaitForError};
use crate::mutex::lock;
use crate::participant::{DomainParticipant, ParticipantInner};
use crate::publisher_state::PublisherState;
use crate::status::StatusMask;
use crate::topic::TopicInner;
use crate::writer_inner::WriterInner;

/// Creates data writers with a common PARTITION and PRESENTATION. Cheap to clone.
///
/// Made by [`DomainParticipant::create_publisher`]; then [`create_datawriter`](Self::create_datawriter) for each topic. Samples
/// of several writers that belong together are written between [`begin_coherent_changes`](Self::begin_coherent_changes) and
/// [`end_coherent_changes`](Self::end_coherent_changes). It lives as long as a handle to it or to one of its writers.
#[derive(Clone)]
pub struct Publisher {
    pub(crate) participant: Arc<ParticipantInner>,
    pub(crate) state: Arc<PublisherState<WriterInner>>,
}

impl std::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Publisher({:?})", self.qos().partition.names)
    }
}

impl Publisher {
    pub(crate) fn new(
        participant: Arc<ParticipantInner>,
        qos: &PublisherQos,
    ) -> Result<Self, CreateEntityError> {
        qos.check_consistency()?;
        qos.check_supported()?;
        participant.entity.check().map_err(|_| CreateEntityError::AlreadyDeleted)?;
        let state = PublisherState::new(participant.next_handle(EntityKind::WriterGroup), qos.clone());
        // Known before, so that who enables the participant at this moment enables it if this does not.
        participant.add_publisher(&state);
        if participant.autoenables() {
            state.enable(&*participant)?;
        }
        Ok(Self { participant, state })
    }

    /// The QoS that is meant for a writer of a topic.
    pub(crate) fn resolve<'q>(
        &self,
        qos: EndpointQos<'q, DataWriterQos>,
        topic: &TopicInner,
    ) -> Cow<'q, DataWriterQos> {
        match qos {
            EndpointQos::Given(qos) => Cow::Borrowed(qos),
            EndpointQos::FactoryDefault => Cow::Owned(self.default_datawriter_qos()),
            EndpointQos::UseTopicQos => {
                Cow::Owned(self.default_datawriter_qos().with_topic_qos(&topic.qos()))
            }
        }
    }

    /// enable: of a publisher whose participant does not enable what it creates. Writers that were created meanwhile are
    /// enabled too, unless ENTITY_FACTORY of the publisher leaves that to the application.
    ///
    /// # Errors
    /// [`CreateEntityError::FactoryNotEnabled`] while the participant is not enabled, or when a writer cannot be.
    pub fn enable(&self) -> Result<(), CreateEntityError> {
        self.state.entity.check()?;
        self.participant.check_enabled()?;
        self.state.enable(&*self.participant)
    }

    /// get_qos.
    #[must_use]
    pub fn qos(&self) -> PublisherQos {
        self.state.qos.get()
    }

    /// set_qos: a changed PARTITION matches the publisher's writers anew. With
    /// [`PUBLISHER_QOS_DEFAULT`](crate::PUBLISHER_QOS_DEFAULT) it becomes the participant's present default.
    ///
    /// # Errors
    /// When the QoS is inconsistent, unsupported, or changes an immutable policy of an enabled publisher;
    /// [`SetQosError::AlreadyDeleted`].
    pub fn set_qos<'q>(&self, qos: impl Into<EntityQos<'q, PublisherQos>>) -> Result<(), SetQosError> {
        self.state.entity.check()?;
        let new = &*qos.into().or_else(|| self.participant().default_publisher_qos());
        new.check_consistency()?;
        new.check_supported()?;
        self.state.qos.set(new, PublisherQos::check_changeable)?;
        self.state.writers().iter().for_each(WriterInner::refresh);
        Ok(())
    }

    /// delete_contained_entities: deletes every writer, as [`delete_datawriter`](Self::delete_datawriter) does.
    ///
    /// # Errors
    /// [`EntityError::AlreadyDeleted`].
    pub fn delete_contained_entities(&self) -> Result<(), EntityError> {
        self.state.entity.check()?;
        self.state.writers().iter().for_each(|writer| {
            writer.close();
        });
        Ok(())
    }

    /// wait_for_acknowledgments: until every matched reliable reader of every writer has everything written so far.
    ///
    /// # Errors
    /// [`WaitForError::Timeout`], [`WaitForError::NotEnabled`], [`WaitForError::AlreadyDeleted`].
    pub fn wait_for_acknowledgments(&self, max_wait: Duration) -> Result<(), WaitForError> {
        self.state.entity.check_usable()?;
        let deadline = dunlin_driver::machine::deadline(max_wait);
        for writer in self.state.urgent_first().iter().filter(|writer| writer.slot().is_some()) {
            let left = deadline.since(dunlin_driver::machine::mono());
            let left = if max_wait.is_infinite() { max_wait } else { left };
            match writer.wait_for_acknowledgments(left) {
                Err(WaitForError::Timeout(_)) => return Err(WaitForError::Timeout(max_wait)),
                // One that is deleted meanwhile waits by itself.
                Ok(()) | Err(WaitForError::AlreadyDeleted) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(self.state.entity.check()?)
    }

    /// get_default_datawriter_qos: for [`Publisher::create_datawriter`] when the application has no other.
    #[must_use]
    pub fn default_datawriter_qos(&self) -> DataWriterQos {
        lock(&self.state.default_qos).clone()
    }

    /// set_default_datawriter_qos.
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported.
    pub fn set_default_datawriter_qos(&self, qos: &DataWriterQos) -> Result<(), SetQosError> {
        self.state.entity.check()?;
        qos.check_consistency()?;
        qos.check_supported()?;
        self.participant.check_durability(qos.durability)?;
        *lock(&self.state.default_qos) = qos.clone();
        Ok(())
    }

    /// copy_from_topic_qos: overlays the policies that topics and writers share.
    ///
    /// # Errors
    /// When what comes out is inconsistent; nothing has changed then.
    pub fn copy_from_topic_qos(&self, qos: &mut DataWriterQos, topic: &TopicQos) -> Result<(), SetQosError> {
        self.state.entity.check()?;
        let overlaid = qos.clone().with_topic_qos(topic);
        overlaid.check_consistency()?;
        *qos = overlaid;
        Ok(())
    }

    /// get_statuscondition. Publishers have no status of their own, so it is never true.
    #[must_use]
    pub fn status_condition(&self) -> StatusCondition {
        self.state.entity.condition(&self.state, |state| &state.entity)
    }

    /// get_status_changes: always empty.
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
    /// create_publisher, with a QoS or [`PUBLISHER_QOS_DEFAULT`](crate::PUBLISHER_QOS_DEFAULT).
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported.
    pub fn create_publisher<'q>(
        &self,
        qos: impl Into<EntityQos<'q, PublisherQos>>,
    ) -> Result<Publisher, CreateEntityError> {
        let qos = qos.into().or_else(|| self.default_publisher_qos());
        Publisher::new(Arc::clone(self.inner()), &qos)
    }
}

impl WriterInner {
    /// The publisher that it belongs to.
    pub(crate) fn publisher(&self) -> Publisher {
        Publisher { participant: Arc::clone(&self.participant), state: Arc::clone(&self.publisher) }
    }
}
