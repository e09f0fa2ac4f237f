//! Types of endpoints: what a participant announces of its own, what others tell of theirs (DDS-XTypes 1.3 §7.6.3.2 and
//! §7.6.3.3), and the names that its types have.

use std::any::TypeId;
use std::sync::Arc;

use dunlin_cdr::DdsType;
use dunlin_core::Guid;
use dunlin_engine::{LocalType, TypeDiscovery};
use dunlin_qos::TopicQos;

use crate::endpoint_qos::EntityQos;
use crate::error::CreateEntityError;
use crate::participant::{DomainParticipant, ParticipantInner, is_usable};
use crate::topic::{Topic, TopicInner};

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
        if inner.registered_types.add(type_name, TypeId::of::<T>()) {
            Ok(())
        } else {
            Err(CreateEntityError::TypeNameInUse(type_name.to_owned()))
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
