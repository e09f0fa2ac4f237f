//! Subscriber (DDS 1.4 §2.2.2.5.2).

use crate::condition::StatusCondition;
use crate::content_filter::sealed::TopicSource;
use crate::endpoint_qos::{EndpointQos, EntityQos};
use crate::entity::{Entity, EntityError};
use crate::error::{CreateEntityError, GroupAccessError, SetQosError};
use crate::listener::SubscriberListener;
use crate::mutex::lock;
use crate::participant::{DomainParticipant, ParticipantInner};
use crate::qos_cell::QosCell;
use crate::reader_inner::ReaderInner;
use crate::status::StatusMask;
use dunlin_core::{EntityKind, InstanceHandle};
use dunlin_engine::SubscriberGroup;
use dunlin_qos::{DataReaderQos, PresentationAccessScope, SubscriberQos, TopicQos};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Creates data readers with a common PARTITION and PRESENTATION. Cheap to clone.
#[derive(Clone)]
pub struct Subscriber {
    pub(crate) participant: Arc<ParticipantInner>,
    pub(crate) state: Arc<SubscriberState>,
}

/// How an enabled subscriber, of which PRESENTATION cannot change, shows what its readers have.
#[derive(Clone, Copy, Default)]
pub(crate) struct AccessScope {
    /// Access scope GROUP.
    pub by_group: bool,
    /// And ordered access: samples of all readers are read one by one.
    pub one_by_one: bool,
}

/// When a subscriber shows what its readers have.
#[derive(Default)]
pub(crate) struct Accesses {
    /// Calls of begin_access that were not ended.
    pub count: u32,
    /// Once it is enabled, if readers show coherent sets, or changes in order over all of them.
    pub group: Option<Arc<SubscriberGroup>>,
}

/// What all handles of a subscriber share; lives as long as the subscriber or a reader of it.
pub(crate) struct SubscriberState {
    pub entity: Entity<dyn SubscriberListener>,
    readers: Mutex<Vec<Weak<ReaderInner>>>,
    default_qos: Mutex<DataReaderQos>,
    pub builtin: bool,
    qos: QosCell<SubscriberQos>,
    pub accesses: Mutex<Accesses>,
    scope: OnceLock<AccessScope>,
    /// Calls of on_data_on_readers that run.
    notifying: AtomicU32,
}

impl SubscriberState {
    fn new(handle: InstanceHandle, enabled: bool, builtin: bool, qos: SubscriberQos) -> Arc<Self> {
        let entity = Entity::new(handle, enabled);
        if builtin {
            // Nothing of the built-in readers is told to the participant's listener.
            entity.listener.set(Some((None, StatusMask::ALL)));
        }
        Arc::new(Self {
            entity,
            readers: Mutex::default(),
            default_qos: Mutex::default(),
            builtin,
            qos: QosCell::new(qos),
            accesses: Mutex::default(),
            scope: OnceLock::new(),
            notifying: AtomicU32::new(0),
        })
    }

    /// The readers that were not deleted.
    pub(crate) fn readers(&self) -> Vec<Arc<ReaderInner>> {
        let readers = lock(&self.readers);
        readers.iter().filter_map(Weak::upgrade).filter(|reader| !reader.is_deleted()).collect()
    }

    /// enable: the readers too, unless ENTITY_FACTORY leaves that to the application.
    pub(crate) fn enable(&self, participant: &ParticipantInner) -> Result<(), CreateEntityError> {
        while !self.entity.is_enabled() {
            self.try_enable(participant);
        }
        if !self.autoenables() {
            return Ok(());
        }
        // Who deletes a reader meanwhile does not keep the others from being enabled.
        self.readers().iter().try_for_each(|reader| match reader.enable() {
            Err(CreateEntityError::AlreadyDeleted) if reader.is_deleted() => Ok(()),
            enabled => enabled,
        })
    }

    /// Enables it alone, unless PRESENTATION changes at this moment.
    fn try_enable(&self, participant: &ParticipantInner) {
        let presentation = self.qos.with(|qos| qos.presentation);
        let group = participant.subscriber_group(presentation);
        let mut accesses = lock(&self.accesses);
        if !self.entity.is_enabled() && self.qos.hold_if(|qos| qos.presentation == presentation) {
            accesses.group = group;
            let by_group = presentation.access_scope == PresentationAccessScope::Group;
            let one_by_one = by_group && presentation.ordered_access;
            let _ = self.scope.set(AccessScope { by_group, one_by_one });
            self.entity.enable();
        }
    }

    pub(crate) fn autoenables(&self) -> bool {
        self.qos.with(|qos| qos.entity_factory.autoenable_created_entities)
    }

    /// What the readers have in common, if anything.
    pub(crate) fn group(&self) -> Option<Arc<SubscriberGroup>> {
        lock(&self.accesses).group.clone()
    }

    /// How it shows what its readers have; while it is disabled they have nothing.
    pub(crate) fn scope(&self) -> AccessScope {
        self.scope.get().copied().unwrap_or_default()
    }

    /// Deletes every reader.
    pub(crate) fn delete_readers(&self) {
        self.readers().iter().for_each(|reader| {
            reader.close();
        });
    }

    /// Whether on_data_on_readers runs.
    pub(crate) fn is_telling(&self) -> bool {
        self.notifying.load(SeqCst) > 0
    }

    /// Until this is dropped, on_data_on_readers runs.
    pub(crate) fn notifying(&self) -> Notifying<'_> {
        self.notifying.fetch_add(1, SeqCst);
        Notifying(&self.notifying)
    }

    pub(crate) fn add(&self, core: &Arc<ReaderInner>) {
        let mut readers = lock(&self.readers);
        // Not for each of thousands.
        if readers.len() == readers.capacity() {
            readers.retain(|reader| reader.strong_count() > 0);
        }
        readers.push(Arc::downgrade(core));
    }
}

/// A call of on_data_on_readers, which may end in a panic.
pub(crate) struct Notifying<'a>(&'a AtomicU32);

impl Drop for Notifying<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
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
            state.enable(&participant)?;
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

    pub(crate) fn participant_inner(&self) -> &Arc<ParticipantInner> {
        &self.participant
    }

    /// Makes a core known as one of this subscriber.
    pub(crate) fn add_reader(&self, core: &Arc<ReaderInner>) {
        self.state.add(core);
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
        self.state.enable(&self.participant)
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

    /// set_listener: it hears of what the readers' own listeners do not answer for, and with DATA_ON_READERS in the mask of
    /// all data. Replaces the previous one.
    pub fn set_listener(&self, listener: impl SubscriberListener, mask: StatusMask) {
        self.set_shared_listener(Arc::new(listener), mask);
    }

    /// set_listener with one that others have too, such as [`listener`](Self::listener) gives.
    pub fn set_shared_listener(&self, listener: Arc<dyn SubscriberListener>, mask: StatusMask) {
        self.state.entity.listener.set(Some((Some(listener), mask)));
    }

    /// A listener that does nothing: these statuses do not reach the participant's listener.
    pub fn consume_statuses(&self, mask: StatusMask) {
        self.state.entity.listener.set(Some((None, mask)));
    }

    /// get_listener: the one set here; `None` without one, and after `consume_statuses`.
    #[must_use]
    pub fn listener(&self) -> Option<Arc<dyn SubscriberListener>> {
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
