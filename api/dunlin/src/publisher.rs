//! Publisher (DDS 1.4 §2.2.2.4.1).

use crate::condition::StatusCondition;
use crate::endpoint_qos::{EndpointQos, EntityQos};
use crate::entity::{Entity, EntityError};
use crate::error::{CreateEntityError, SetQosError, WaitForError};
use crate::listener::PublisherListener;
use crate::mutex::lock;
use crate::participant::{DomainParticipant, ParticipantInner};
use crate::qos_cell::QosCell;
use crate::status::StatusMask;
use crate::topic::TopicInner;
use crate::writer_inner::WriterInner;
use dunlin_core::{Duration, EntityKind, InstanceHandle};
use dunlin_engine::PublisherGroup;
use dunlin_qos::{DataWriterQos, PublisherQos, TopicQos};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

/// Creates data writers with a common PARTITION and PRESENTATION. Cheap to clone.
#[derive(Clone)]
pub struct Publisher {
    pub(crate) participant: Arc<ParticipantInner>,
    pub(crate) state: Arc<PublisherState>,
}

/// What all handles of a publisher share; lives as long as the publisher or a writer of it.
pub(crate) struct PublisherState {
    pub entity: Entity<dyn PublisherListener>,
    writers: Mutex<Vec<Weak<WriterInner>>>,
    default_qos: Mutex<DataWriterQos>,
    qos: QosCell<PublisherQos>,
    pub sets: Mutex<Sets>,
    pub suspended: AtomicBool,
}

/// Coherent sets of a publisher.
#[derive(Default)]
pub(crate) struct Sets {
    /// Calls of begin_coherent_changes that were not ended.
    pub depth: u32,
    /// Once it is enabled, if changes are coherent, or ordered over all writers.
    pub group: Option<Arc<PublisherGroup>>,
}

impl PublisherState {
    /// The writers that were not deleted.
    pub(crate) fn writers(&self) -> Vec<Arc<WriterInner>> {
        let writers = lock(&self.writers);
        writers.iter().filter_map(Weak::upgrade).filter(|writer| !writer.is_deleted()).collect()
    }

    /// The same, the most urgent first: what waits of them leaves in this order.
    pub(crate) fn urgent_first(&self) -> Vec<Arc<WriterInner>> {
        let mut writers = self.writers();
        put_urgent_first(&mut writers);
        writers
    }

    /// enable: the writers too, unless ENTITY_FACTORY leaves that to the application.
    pub(crate) fn enable(&self, participant: &ParticipantInner) -> Result<(), CreateEntityError> {
        while !self.entity.is_enabled() {
            self.try_enable(participant)?;
        }
        if !self.autoenables() {
            return Ok(());
        }
        // Who deletes a writer meanwhile does not keep the others from being enabled.
        self.writers().iter().try_for_each(|writer| match writer.enable() {
            Err(CreateEntityError::AlreadyDeleted) if writer.is_deleted() => Ok(()),
            enabled => enabled,
        })
    }

    /// Enables it alone, unless PRESENTATION changes at this moment.
    fn try_enable(&self, participant: &ParticipantInner) -> Result<(), CreateEntityError> {
        let presentation = self.qos.with(|qos| qos.presentation);
        // Without a lock, as the engine takes one that it holds when it asks for a QoS.
        let group = participant.publisher_group(presentation)?;
        let mut sets = lock(&self.sets);
        if !self.entity.is_enabled() && self.qos.hold_if(|qos| qos.presentation == presentation) {
            sets.group = group;
            self.entity.enable();
        }
        Ok(())
    }

    pub(crate) fn autoenables(&self) -> bool {
        self.qos.with(|qos| qos.entity_factory.autoenable_created_entities)
    }

    /// What the writers have in common, if anything.
    pub(crate) fn group(&self) -> Option<Arc<PublisherGroup>> {
        lock(&self.sets).group.clone()
    }

    pub(crate) fn add(&self, core: &Arc<WriterInner>) {
        let mut writers = lock(&self.writers);
        // Not for each of thousands.
        if writers.len() == writers.capacity() {
            writers.retain(|writer| writer.strong_count() > 0);
        }
        writers.push(Arc::downgrade(core));
    }
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
        let state = Arc::new(PublisherState {
            entity: Entity::new(participant.next_handle(EntityKind::WriterGroup), false),
            writers: Mutex::default(),
            default_qos: Mutex::default(),
            qos: QosCell::new(qos.clone()),
            sets: Mutex::default(),
            suspended: AtomicBool::new(false),
        });
        // Known before, so that who enables the participant at this moment enables it if this does not.
        participant.add_publisher(&state);
        if participant.autoenables() {
            state.enable(&participant)?;
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
        self.state.enable(&self.participant)
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

    /// set_listener: it hears of what the writers' own listeners do not answer for. Replaces the previous one.
    pub fn set_listener(&self, listener: impl PublisherListener, mask: StatusMask) {
        self.set_shared_listener(Arc::new(listener), mask);
    }

    /// set_listener with one that others have too, such as [`listener`](Self::listener) gives.
    pub fn set_shared_listener(&self, listener: Arc<dyn PublisherListener>, mask: StatusMask) {
        self.state.entity.listener.set(Some((Some(listener), mask)));
    }

    /// A listener that does nothing: these statuses do not reach the participant's listener.
    pub fn consume_statuses(&self, mask: StatusMask) {
        self.state.entity.listener.set(Some((None, mask)));
    }

    /// get_listener: the one set here; `None` without one, and after `consume_statuses`.
    #[must_use]
    pub fn listener(&self) -> Option<Arc<dyn PublisherListener>> {
        self.state.entity.listener.get()
    }

    /// The statuses that a listener set here answers for, or one that does nothing; `None` without either.
    #[must_use]
    pub fn listener_mask(&self) -> Option<StatusMask> {
        self.state.entity.listener.mask()
    }

    /// Removes the listener; one that runs at this moment finishes.
    pub fn clear_listener(&self) {
        self.state.entity.listener.set(None);
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

/// By TRANSPORT_PRIORITY, and those of equal priority as before.
pub(crate) fn put_urgent_first(writers: &mut [Arc<WriterInner>]) {
    writers.sort_by_cached_key(|writer| Reverse(writer.transport_priority()));
}
