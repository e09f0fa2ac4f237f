//! Topics whose type is known at run time only, and topics whose samples are not looked into.

use crate::content_filter::ContentFilteredTopic;
use crate::endpoint_qos::EntityQos;
use crate::error::CreateEntityError;
use crate::participant::DomainParticipant;
use crate::topic::{Topic, TopicInner};
use crate::types::local_dynamic_type;
use dunlin_cdr::{
    CdrError, DecodeOptions, EncapsulationHeader, Extensibility, KeyHash, Limits, Representation, TopicType,
    TypeSupport,
};
use dunlin_dynamic::{DynamicData, DynamicType, SharedView};
use dunlin_qos::TopicQos;
use std::any::{Any, TypeId};
use std::sync::Arc;

/// A sample as it was serialized: for tools that pass samples on or count them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerializedData {
    /// The encapsulation header, whose first two octets are the representation identifier, and the octets after it.
    pub payload: Vec<u8>,
}

impl SerializedData {
    /// The representation identifier ([`cdr::representation_id`](crate::cdr::representation_id)).
    #[must_use]
    pub fn representation_id(&self) -> Option<u16> {
        EncapsulationHeader::parse(&self.payload).ok().map(|(header, _)| header.id)
    }
}

/// A type of which nothing is known but its name.
struct Opaque {
    name: String,
    keyed: bool,
}

impl TypeSupport for Opaque {
    fn type_name(&self) -> &str {
        &self.name
    }

    fn has_key(&self) -> bool {
        self.keyed
    }

    fn extensibility(&self) -> Extensibility {
        Extensibility::Final
    }

    fn max_key_size(&self) -> Option<usize> {
        None
    }

    /// Of writers that do not send the hash all samples are of one instance.
    fn key_hash_with(
        &self,
        _: &[u8],
        _: bool,
        _: DecodeOptions,
        _: &mut Vec<u8>,
    ) -> Result<KeyHash, CdrError> {
        Ok([0; 16])
    }

    fn key_payload_with(&self, _: &[u8], _: DecodeOptions, out: &mut Vec<u8>) -> Result<(), CdrError> {
        out.clear();
        Err(CdrError::ForeignType)
    }
}

impl TopicType for SerializedData {
    fn has_key(support: &dyn TypeSupport) -> bool {
        support.has_key()
    }

    fn default_representation(_: &dyn TypeSupport) -> Representation {
        Representation::Xcdr1
    }

    fn write_payload(
        &self,
        support: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        let header = EncapsulationHeader::parse(&self.payload)?.0;
        // Instances are told apart by keys, which nobody here can find; and the writer said what it offers.
        if support.has_key() || header.form()?.0 != rep {
            return Err(CdrError::ForeignType);
        }
        out.clear();
        out.extend_from_slice(&self.payload);
        Ok(())
    }

    fn write_key_payload(
        &self,
        _: &dyn TypeSupport,
        _: Representation,
        _: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        Err(CdrError::ForeignType)
    }

    fn hash_key(&self, _: &dyn TypeSupport, _: &mut Vec<u8>) -> Result<KeyHash, CdrError> {
        Err(CdrError::ForeignType)
    }

    fn read_payload(
        _: &dyn TypeSupport,
        payload: &[u8],
        _: &Limits,
        _: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Ok(Self { payload: payload.to_vec() })
    }

    fn read_key_payload(
        _: &dyn TypeSupport,
        payload: &[u8],
        _: &Limits,
        _: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Ok(Self { payload: payload.to_vec() })
    }
}

/// Whether the samples of a topic are of no Rust type.
pub(crate) fn is_dynamic(topic: &TopicInner) -> bool {
    [TypeId::of::<DynamicData>(), TypeId::of::<SerializedData>()].contains(&topic.type_id)
}

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
    /// Whether samples of a Rust type are samples of the topic. Those of types known at run time can stay serialized.
    pub(crate) fn has_samples<T: TopicType>(&self) -> bool {
        let viewed = TypeId::of::<T>() == TypeId::of::<SharedView>();
        self.type_id == TypeId::of::<T>() || (viewed && self.type_id == TypeId::of::<DynamicData>())
    }
}

impl DomainParticipant {
    /// create_topic for a type known at run time: of IDL, of type objects, of the description of a Rust type. Writers and
    /// readers of the topic have samples of type [`DynamicData`]; everything else about them is as for Rust types, the
    /// announcement of the type included.
    ///
    /// A content filter or a query on such a topic needs a description of its type, which is made when the first is
    /// created and never freed.
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
        let qos = &self.topic_qos(qos.into());
        let same = |known: &TopicInner| {
            let support: &dyn Any = &*known.type_support;
            support.downcast_ref::<DynamicType>().is_some_and(|known| known.is_same(ty))
        };
        let announced = |_: &[_]| local_dynamic_type(ty);
        self.topic_of::<DynamicData>((name, ty.name()), qos, Arc::new(ty.clone()), same, announced)
            .map(Topic::new)
    }

    /// create_topic for samples that are not looked into. Of the type their name is enough, and whether it has a key.
    /// Nothing is announced of the type, so endpoints match by its name. There are no content filters, and samples with a
    /// key cannot be written.
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
        self.topic_of::<SerializedData>((name, type_name), qos, support, same, |_| None).map(Topic::new)
    }
}
