//! Topics whose type is known at run time only, and topics whose samples are not looked into.

use std::any::{Any, TypeId};
use std::sync::Arc;

use dunlin_cdr::TopicType;
use dunlin_dynamic::{DynamicData, DynamicType, SharedView};
use dunlin_qos::TopicQos;

use crate::content_filter::ContentFilteredTopic;
use crate::endpoint_qos::EntityQos;
use crate::error::CreateEntityError;
use crate::participant::DomainParticipant;
use crate::serialized::{Opaque, SerializedData};
use crate::topic::{Topic, TopicInner};
use crate::types::local_dynamic_type;

impl Topic<DynamicData> {
    /// The same topic for readers whose samples stay serialized: `DataReader<SharedView>` gives each as the octets that were received,
    /// shared and not copied, in which members are found when they are asked for. States, instances, conditions and what is dropped
    /// because it does not fit the type are as for [`DynamicData`].
    #[must_use]
    pub fn views(&self) -> Topic<SharedView> {
        Topic::new(Arc::clone(&self.inner))
    }
}

impl ContentFilteredTopic<DynamicData> {
    /// The same topic for readers whose samples stay serialized: see [`Topic::views`].
    #[must_use]
    pub fn views(&self) -> ContentFilteredTopic<SharedView> {
        ContentFilteredTopic::new(Arc::clone(&self.inner))
    }
}

impl TopicInner {
    /// Whether samples of a Rust type are samples of the topic. All can stay serialized, and those of types known at run time can be
    /// looked at then.
    pub(crate) fn has_samples<T: TopicType>(&self) -> bool {
        let (wanted, own) = (TypeId::of::<T>(), self.type_id);
        let viewed = wanted == TypeId::of::<SharedView>() && own == TypeId::of::<DynamicData>();
        own == wanted || viewed || wanted == TypeId::of::<SerializedData>()
    }
}

impl DomainParticipant {
    /// create_topic for a type known at run time: of IDL, of type objects, of the description of a Rust type. Writers and
    /// readers of the topic have samples of type [`DynamicData`]; everything else about them is as for Rust types, the
    /// announcement of the type included.
    ///
    /// A content filter or a query on such a topic needs a description of its type, which is made when the first is
    /// created, and freed with the topic and its filters.
    ///
    /// # Errors
    /// [`CreateEntityError::TypeConflict`] when the participant has a topic of this name with another type, or one of a Rust
    /// type; else as [`DomainParticipant::create_topic`].
    pub fn create_dynamic_topic<'q>(
        &self,
        name: &str,
        ty: &DynamicType,
        qos: impl Into<EntityQos<'q, TopicQos>>,
    ) -> Result<Topic<DynamicData>, CreateEntityError> {
        self.create_dynamic_topic_of_type(name, ty.name(), ty, qos)
    }

    /// create_topic for a type known at run time, under another name of the type than its own: endpoints announce it, and match by it
    /// where others announce no type. Otherwise as [`create_dynamic_topic`](Self::create_dynamic_topic).
    ///
    /// # Errors
    /// As [`DomainParticipant::create_dynamic_topic`].
    pub fn create_dynamic_topic_of_type<'q>(
        &self,
        name: &str,
        type_name: &str,
        ty: &DynamicType,
        qos: impl Into<EntityQos<'q, TopicQos>>,
    ) -> Result<Topic<DynamicData>, CreateEntityError> {
        let qos = &self.topic_qos(qos.into());
        let same = |known: &TopicInner| {
            let support: &dyn Any = &*known.type_support;
            support.downcast_ref::<DynamicType>().is_some_and(|known| known.is_same(ty))
        };
        let announced = || local_dynamic_type(ty);
        self.topic_of::<DynamicData>((name, type_name), qos, Arc::new(ty.clone()), same, announced)
            .map(Topic::new)
    }

    /// create_topic for samples that are not looked into. Of the type their name is enough, and whether it has a key.
    /// Nothing is announced of the type, so endpoints match by its name. There are no content filters; samples with a key
    /// [need its hash](SerializedData::with_key_hash) to be written, and those that come without one are all of one instance.
    /// Where the type is known, take [`Topic::serialized`] of a topic of it.
    ///
    /// # Errors
    /// As [`DomainParticipant::create_dynamic_topic`].
    pub fn create_serialized_topic<'q>(
        &self,
        name: &str,
        type_name: &str,
        keyed: bool,
        qos: impl Into<EntityQos<'q, TopicQos>>,
    ) -> Result<Topic<SerializedData>, CreateEntityError> {
        let qos = &self.topic_qos(qos.into());
        let same =
            |known: &TopicInner| known.type_id == TypeId::of::<SerializedData>() && known.keyed == keyed;
        let support = Arc::new(Opaque { name: type_name.to_owned(), keyed });
        self.topic_of::<SerializedData>((name, type_name), qos, support, same, || None).map(Topic::new)
    }
}
