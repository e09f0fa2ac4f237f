//! Topic (DDS 1.4 §2.2.2.3).

use std::any::{Any, TypeId};
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dunlin_cdr::{DdsType, TopicType, TypeRef, TypeSupport, TypeSupportOf};
use dunlin_core::{Guid, InstanceHandle};
use dunlin_engine::LocalType;
use dunlin_qos::{Durability, TopicData, TopicQos};

use crate::condition::StatusCondition;
use crate::endpoint_qos::EntityQos;
use crate::entity::Entity;
use crate::error::{CreateEntityError, SetQosError};
use crate::mutex::lock;
use crate::qos_cell::QosCell;
use crate::status::{InconsistentTopicStatus, ReadAndReset, StatusMask};

/// What a topic needs of the participant that it belongs to.
pub(crate) trait TopicFactory: Send + Sync {
    /// Whether what it created can be enabled.
    fn check_enabled(&self) -> Result<(), CreateEntityError>;

    fn default_topic_qos(&self) -> TopicQos;

    /// Whether DURABILITY may change so.
    fn check_new_durability(&self, before: Durability, new: Durability) -> Result<(), SetQosError>;

    /// From now on the types of others are compared with that of the topic.
    fn watch(&self, topic: &TopicInner);

    /// Applies and announces the changed QoS of the topic with its endpoints.
    fn refresh_endpoints(&self, topic: &Arc<TopicInner>);

    /// With its type.
    fn typed(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// The listener of a topic (DDS 1.4 §2.2.4.2.3).
pub(crate) trait ErasedTopicListener: Send + Sync {
    fn call(&self, topic: &Arc<TopicInner>, status: StatusMask);

    /// As the application set it.
    fn typed(&self) -> &dyn Any;
}

pub(crate) struct TopicInner {
    pub participant: Weak<dyn TopicFactory>,
    pub name: String,
    pub type_name: String,
    pub keyed: bool,
    /// Topics of one name share it; made when it is first asked for.
    description: Arc<OnceLock<Option<TypeRef>>>,
    pub type_support: Arc<dyn TypeSupport>,
    /// What endpoints of the topic announce of its type.
    pub type_information: Option<Arc<LocalType>>,
    /// Of the samples.
    pub type_id: TypeId,
    pub entity: Entity<dyn ErasedTopicListener>,
    qos: QosCell<TopicQos>,
    inconsistent: Mutex<InconsistentTopicStatus>,
    /// The endpoints of others that were counted.
    others: Mutex<BTreeSet<Guid>>,
}

impl TopicInner {
    pub(crate) fn new<T: DdsType>(
        participant: Weak<dyn TopicFactory>,
        handle: InstanceHandle,
        name: &str,
        qos: &TopicQos,
        type_information: Option<Arc<LocalType>>,
    ) -> Self {
        let support = Arc::new(TypeSupportOf::<T>::default());
        let names = (name, T::TYPE_NAME);
        Self::with_support::<T>(participant, handle, names, qos, support, type_information)
    }

    /// A disabled topic of samples `T`, of which `support` knows the type, with its name and that of the type.
    pub(crate) fn with_support<T: TopicType>(
        participant: Weak<dyn TopicFactory>,
        handle: InstanceHandle,
        (name, type_name): (&str, &str),
        qos: &TopicQos,
        support: Arc<dyn TypeSupport>,
        type_information: Option<Arc<LocalType>>,
    ) -> Self {
        Self {
            type_information,
            type_id: TypeId::of::<T>(),
            entity: Entity::new(handle, false),
            participant,
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            keyed: support.has_key(),
            description: Arc::default(),
            type_support: support,
            qos: QosCell::new(qos.clone()),
            inconsistent: Mutex::default(),
            others: Mutex::default(),
        }
    }

    /// Another topic of the same name and type, which is disabled.
    pub(crate) fn another(&self, handle: InstanceHandle, qos: &TopicQos) -> Self {
        Self {
            participant: Weak::clone(&self.participant),
            name: self.name.clone(),
            type_name: self.type_name.clone(),
            keyed: self.keyed,
            description: Arc::clone(&self.description),
            type_support: Arc::clone(&self.type_support),
            type_information: self.type_information.clone(),
            type_id: self.type_id,
            entity: Entity::new(handle, false),
            qos: QosCell::new(qos.clone()),
            inconsistent: Mutex::default(),
            others: Mutex::default(),
        }
    }

    /// From now on its immutable policies stay, and it counts INCONSISTENT_TOPIC.
    pub(crate) fn enable(&self, participant: &dyn TopicFactory) {
        if !self.entity.is_enabled() {
            self.qos.hold();
            self.entity.enable();
            participant.watch(self);
        }
    }

    /// The description of the type, made when it is first asked for; `None` if it has none.
    pub(crate) fn description(&self) -> Option<TypeRef> {
        self.description.get_or_init(|| self.type_support.description()).clone()
    }

    pub(crate) fn qos(&self) -> TopicQos {
        self.qos.get()
    }

    pub(crate) fn topic_data(&self) -> TopicData {
        self.qos.with(|qos| qos.topic_data.clone())
    }

    /// Counts an endpoint of another participant that uses the name with another type; false if it was counted before.
    pub(crate) fn count_inconsistent(&self, remote: Guid) -> bool {
        let news = lock(&self.others).insert(remote);
        if news {
            lock(&self.inconsistent).add(1);
        }
        news
    }

    /// An endpoint of another participant is gone.
    pub(crate) fn forget_other(&self, remote: Guid) {
        lock(&self.others).remove(&remote);
    }

    /// get_inconsistent_topic_status.
    pub(crate) fn read_inconsistent(&self) -> InconsistentTopicStatus {
        self.entity.clear(StatusMask::INCONSISTENT_TOPIC);
        lock(&self.inconsistent).read_and_reset()
    }

    fn set_qos(self: &Arc<Self>, new: &TopicQos) -> Result<(), SetQosError> {
        new.check_consistency()?;
        new.check_supported()?;
        let participant = self.participant.upgrade().filter(|_| !self.entity.is_deleted());
        let participant = participant.ok_or(SetQosError::AlreadyDeleted)?;
        participant.check_new_durability(self.qos.with(|qos| qos.durability), new.durability)?;
        self.qos.set(new, TopicQos::check_changeable)?;
        participant.refresh_endpoints(self);
        Ok(())
    }
}

/// A name and a type that writers and readers share. Cheap to clone.
///
/// Made by [`DomainParticipant::create_topic`](crate::DomainParticipant::create_topic) before the writers and readers that it is
/// handed to. Endpoints match those of the same name, and of a type that fits, in the whole domain.
///
/// A participant can have several topics of one name, of one type: `create_topic` and `find_topic` make one each time. Each
/// has its own QoS, listener and status, announces its TOPIC_DATA with its own endpoints, and is deleted on its own.
pub struct Topic<T: TopicType> {
    pub(crate) inner: Arc<TopicInner>,
    sample: PhantomData<fn(T) -> T>,
}

impl<T: TopicType> Topic<T> {
    pub(crate) fn new(inner: Arc<TopicInner>) -> Self {
        Self { inner, sample: PhantomData }
    }

    /// get_name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// get_type_name.
    #[must_use]
    pub fn type_name(&self) -> &str {
        &self.inner.type_name
    }

    /// Whether its type has a key, so that it has instances.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        self.inner.keyed
    }

    /// get_qos: use it with `with_topic_qos` of the writer's and reader's QoS.
    #[must_use]
    pub fn qos(&self) -> TopicQos {
        self.inner.qos()
    }

    /// set_qos: changed TOPIC_DATA is announced with every endpoint that was created for this topic. The other policies are
    /// templates for endpoints that copy them when they are created or changed. With
    /// [`TOPIC_QOS_DEFAULT`](crate::TOPIC_QOS_DEFAULT) it becomes the participant's present default.
    ///
    /// # Errors
    /// When the QoS is inconsistent, unsupported, or changes an immutable policy of an enabled topic;
    /// [`SetQosError::AlreadyDeleted`].
    pub fn set_qos<'q>(&self, qos: impl Into<EntityQos<'q, TopicQos>>) -> Result<(), SetQosError> {
        let participant = self.inner.participant.upgrade().ok_or(SetQosError::AlreadyDeleted)?;
        self.inner.set_qos(&qos.into().or_else(|| participant.default_topic_qos()))
    }

    /// enable: of a topic whose participant does not enable what it creates. Until then every policy of its QoS can
    /// change, and INCONSISTENT_TOPIC is not reported; writers and readers can be created for it all the same.
    ///
    /// # Errors
    /// [`CreateEntityError::FactoryNotEnabled`] while the participant is not enabled; when either was deleted.
    pub fn enable(&self) -> Result<(), CreateEntityError> {
        let participant = self.inner.participant.upgrade().filter(|_| !self.inner.entity.is_deleted());
        let participant = participant.ok_or(CreateEntityError::AlreadyDeleted)?;
        participant.check_enabled()?;
        self.inner.enable(&*participant);
        Ok(())
    }

    /// get_inconsistent_topic_status: endpoints of other participants that use the name with another type, whether or not the
    /// topic has endpoints. Every enabled topic of the name counts them.
    #[must_use]
    pub fn inconsistent_topic_status(&self) -> InconsistentTopicStatus {
        self.inner.read_inconsistent()
    }

    /// get_instance_handle.
    #[must_use]
    pub fn instance_handle(&self) -> InstanceHandle {
        self.inner.entity.handle
    }

    /// get_statuscondition.
    #[must_use]
    pub fn status_condition(&self) -> StatusCondition {
        self.inner.entity.condition(&self.inner, |inner| &inner.entity)
    }

    /// get_status_changes.
    #[must_use]
    pub fn status_changes(&self) -> StatusMask {
        self.inner.entity.changes()
    }
}

impl<T: TopicType> Clone for Topic<T> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.inner))
    }
}

impl<T: TopicType> std::fmt::Debug for Topic<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Topic('{}', {})", self.inner.name, self.inner.type_name)
    }
}
