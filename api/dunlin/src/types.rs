//! Types of endpoints: what is announced of those of this participant, and what others tell of theirs (DDS-XTypes 1.3
//! §7.6.3.2 and §7.6.3.3).

use crate::endpoint_qos::EntityQos;
use crate::error::CreateEntityError;
use crate::mutex::lock;
use crate::participant::{DomainParticipant, ParticipantInner, is_usable};
use crate::topic::{Topic, TopicInner};
use dunlin_cdr::{DdsType, description};
use dunlin_core::Guid;
use dunlin_dynamic::DynamicType;
use dunlin_engine::{LocalType, TypeDiscovery};
use dunlin_qos::TopicQos;
use dunlin_xtypes::{TypeGraph, TypeIndex};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

/// What is announced of Rust types that topics have: they share it, as thousands may have one type.
static LOCAL_TYPES: Mutex<BTreeMap<TypeId, Weak<LocalType>>> = Mutex::new(BTreeMap::new());

/// The type objects of a Rust type.
pub(crate) fn local_type<T: DdsType>() -> Option<Arc<LocalType>> {
    let known = || lock(&LOCAL_TYPES).get(&TypeId::of::<T>()).and_then(Weak::upgrade);
    if let Some(known) = known() {
        return Some(known);
    }
    // Without the lock, since it may be logged by somebody who has topics too.
    let (graph, root) = dunlin_xtypes::from_description(description::<T>());
    let ty = type_of_graph(Arc::new(graph), root, T::TYPE_NAME)?;
    let mut types = lock(&LOCAL_TYPES);
    types.retain(|_, ty| ty.strong_count() > 0);
    let weak = types.entry(TypeId::of::<T>()).or_insert_with(|| Arc::downgrade(&ty));
    Some(weak.upgrade().unwrap_or(ty))
}

/// The type objects of a type known at run time.
pub(crate) fn local_dynamic_type(ty: &DynamicType) -> Option<Arc<LocalType>> {
    type_of_graph(Arc::clone(ty.graph()), ty.index(), ty.name())
}

fn type_of_graph(graph: Arc<TypeGraph>, root: TypeIndex, name: &str) -> Option<Arc<LocalType>> {
    LocalType::new(graph, root)
        .inspect_err(|error| dunlin_driver::log!(DEBUG, "no type information for {name}: {error}"))
        .ok()
}

impl ParticipantInner {
    /// The type of the topic `name`, if the configuration lets types be announced.
    pub(crate) fn announced_type(
        &self,
        name: &str,
        make: impl FnOnce() -> Option<Arc<LocalType>>,
    ) -> Option<Arc<LocalType>> {
        let announced = self.announces_types.then(make).flatten();
        if let Some(octets) =
            announced.as_ref().map(|ty| ty.largest_object()).filter(|it| *it > self.max_told_type)
        {
            dunlin_driver::log!(
                WARN,
                "a type of '{name}' has a type object of {octets} octets: others are not told it and match by name \
                 (quotas.max_told_type is {})",
                self.max_told_type
            );
        }
        announced
    }
}

impl DomainParticipant {
    /// The type of a writer or reader, of this or another participant, as far as it is known. If the other participant has
    /// to be asked for it, this asks: the answer is [`TypeDiscovery::Pending`] then, and a later call returns what came of
    /// it, at the latest after some seconds.
    #[must_use]
    pub fn discovered_type(&self, endpoint: Guid) -> TypeDiscovery {
        self.inner().run(|engine, now, out| engine.discovered_type(now, endpoint, out))
    }
}

/// Names that types were registered under with a participant.
#[derive(Default)]
pub(crate) struct RegisteredTypes(Mutex<BTreeMap<String, TypeId>>);

impl RegisteredTypes {
    /// The type registered under a name.
    pub(crate) fn of(&self, name: &str) -> Option<TypeId> {
        lock(&self.0).get(name).copied()
    }

    /// Whether the type may be meant by a name: its own unless another type has it, or one it was registered under.
    pub(crate) fn has<T: DdsType>(&self, name: &str) -> bool {
        self.of(name).map_or(name == T::TYPE_NAME, |known| known == TypeId::of::<T>())
    }
}

impl DomainParticipant {
    /// register_type of a TypeSupport: topics of `T` can be created under this name of the type too, see
    /// [`create_topic_of_type`](Self::create_topic_of_type). Its own name, [`DdsType::TYPE_NAME`], needs no registration.
    /// Registering a type again does nothing.
    ///
    /// # Errors
    /// [`CreateEntityError::TypeNameInUse`] when another type, or a topic of one, has the name;
    /// [`CreateEntityError::BadName`].
    pub fn register_type<T: DdsType>(&self, type_name: &str) -> Result<(), CreateEntityError> {
        if !is_usable(type_name) {
            return Err(CreateEntityError::BadName);
        }
        let inner = self.inner();
        inner.entity.check().map_err(|_| CreateEntityError::AlreadyDeleted)?;
        let other =
            |topic: &Arc<TopicInner>| topic.type_name == type_name && topic.type_id != TypeId::of::<T>();
        if inner.topics().iter().any(other) {
            return Err(CreateEntityError::TypeNameInUse(type_name.to_owned()));
        }
        let mut types = lock(&inner.registered_types.0);
        match types.insert(type_name.to_owned(), TypeId::of::<T>()) {
            Some(known) if known != TypeId::of::<T>() => {
                types.insert(type_name.to_owned(), known);
                Err(CreateEntityError::TypeNameInUse(type_name.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// create_topic with the name that its type was [registered](Self::register_type) under, which is what endpoints
    /// announce. Otherwise as [`create_topic`](Self::create_topic).
    ///
    /// # Errors
    /// [`CreateEntityError::TypeNotRegistered`], [`CreateEntityError::TypeNameInUse`] when it is another type's; else as
    /// [`create_topic`](Self::create_topic).
    pub fn create_topic_of_type<'q, T: DdsType>(
        &self,
        name: &str,
        type_name: &str,
        qos: impl Into<EntityQos<'q, TopicQos>>,
    ) -> Result<Topic<T>, CreateEntityError> {
        let qos = &self.topic_qos(qos.into());
        match self.inner().registered_types.of(type_name) {
            Some(known) if known == TypeId::of::<T>() => self.typed_topic(name, type_name, qos),
            Some(_) => Err(CreateEntityError::TypeNameInUse(type_name.to_owned())),
            None if type_name == T::TYPE_NAME => self.typed_topic(name, type_name, qos),
            None => Err(CreateEntityError::TypeNotRegistered(type_name.to_owned())),
        }
    }
}
