//! The data readers of a subscriber: made, found and deleted (DDS 1.4 §2.2.2.5.2).

use std::sync::Arc;

use dunlin_cdr::TopicType;
use dunlin_core::Guid;
use dunlin_qos::DataReaderQos;

use crate::any::AnyDataReader;
use crate::endpoint_qos::EndpointQos;
use crate::entity::EntityError;
use crate::error::CreateEntityError;
use crate::listener::{DataReaderListener, erased_reader};
use crate::participant::builtin_reader;
use crate::reader::DataReader;
use crate::reader_inner::{ErasedReaderListener, ReaderInner};
use crate::representation;
use crate::status::StatusMask;
use crate::subscriber::Subscriber;
use crate::topic_description::TopicDescription;

impl Subscriber {
    /// create_datareader: for a topic, a content-filtered topic or a multi-topic, with a QoS,
    /// [`DATAREADER_QOS_DEFAULT`](crate::DATAREADER_QOS_DEFAULT) or
    /// [`DATAREADER_QOS_USE_TOPIC_QOS`](crate::DATAREADER_QOS_USE_TOPIC_QOS).
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported, or the topic is another participant's.
    pub fn create_datareader<'q, D: TopicDescription>(
        &self,
        topic: &D,
        qos: impl Into<EndpointQos<'q, DataReaderQos>>,
    ) -> Result<DataReader<D::Data>, CreateEntityError> {
        let qos = self.resolve(qos.into(), &topic.source()).ok_or(CreateEntityError::NoTopicQos)?;
        self.make_datareader(topic, &qos, None, None)
    }

    /// create_datareader with a listener, which misses nothing: set afterwards it would not be called for writers that were
    /// known before and match at once, nor of what they send until then. It may be called before this has returned, on this
    /// or another thread: it uses the reader that it is handed.
    ///
    /// # Errors
    /// As [`create_datareader`](Self::create_datareader).
    pub fn create_datareader_with_listener<'q, D: TopicDescription>(
        &self,
        topic: &D,
        qos: impl Into<EndpointQos<'q, DataReaderQos>>,
        listener: impl DataReaderListener<D::Data>,
        mask: StatusMask,
    ) -> Result<DataReader<D::Data>, CreateEntityError> {
        let qos = self.resolve(qos.into(), &topic.source()).ok_or(CreateEntityError::NoTopicQos)?;
        self.make_datareader(topic, &qos, None, Some((erased_reader(Arc::new(listener)), mask)))
    }

    /// create_datareader of a reader that announces which endpoint it belongs together with: PID_RELATED_ENTITY_GUID (DDS-RPC 1.0
    /// §7.6.2), as a reader of requests names its writer of replies. Others see it as
    /// [`SubscriptionBuiltinTopicData::related`](crate::SubscriptionBuiltinTopicData::related). The reader of a multi-topic announces
    /// nothing of its own.
    ///
    /// # Errors
    /// As [`create_datareader`](Self::create_datareader).
    pub fn create_related_datareader<'q, D: TopicDescription>(
        &self,
        topic: &D,
        qos: impl Into<EndpointQos<'q, DataReaderQos>>,
        related: Guid,
    ) -> Result<DataReader<D::Data>, CreateEntityError> {
        let qos = self.resolve(qos.into(), &topic.source()).ok_or(CreateEntityError::NoTopicQos)?;
        self.make_datareader(topic, &qos, Some(related), None)
    }

    fn make_datareader<D: TopicDescription>(
        &self,
        topic: &D,
        qos: &DataReaderQos,
        related: Option<Guid>,
        listener: Option<(Arc<dyn ErasedReaderListener>, StatusMask)>,
    ) -> Result<DataReader<D::Data>, CreateEntityError> {
        let source = topic.source();
        if !self.participant.owns(&source.topic) {
            return Err(CreateEntityError::ForeignTopic);
        }
        if self.state.builtin {
            return Err(CreateEntityError::BuiltinSubscriber);
        }
        if self.state.entity.is_deleted() || source.topic.entity.is_deleted() {
            return Err(CreateEntityError::AlreadyDeleted);
        }
        let qos = representation::of_reader(qos, &*source.topic.type_support)?;
        qos.check_consistency()?;
        qos.check_supported()?;
        self.participant.check_durability(qos.durability)?;
        let core = Arc::new(ReaderInner::new(
            Arc::clone(&self.participant),
            source.clone(),
            Arc::clone(&self.state),
            Arc::clone(&source.topic.type_support),
            qos,
            related,
        ));
        core.listener.set(listener.map(|(listener, mask)| (Some(listener), mask)));
        if let Some(filter) = &source.filter {
            let weak = Arc::downgrade(&core);
            filter.add_reader(weak)?;
        }
        // Known before its first data arrives, of which notify_datareaders may have to tell.
        self.state.add(&core);
        if self.state.entity.is_enabled() && self.state.autoenables() {
            core.enable().inspect_err(|_| {
                core.close();
            })?;
        }
        Ok(DataReader::from_core(core))
    }

    /// lookup_datareader: one of the readers of a topic, if there is one of this type. In the
    /// [built-in subscriber](crate::DomainParticipant::builtin_subscriber) this makes the reader of a built-in topic.
    #[must_use]
    pub fn lookup_datareader<T: TopicType>(&self, topic_name: &str) -> Option<DataReader<T>> {
        let typed = |core| {
            AnyDataReader::from_core(core).typed().filter(|r: &DataReader<T>| r.topic_name() == topic_name)
        };
        let known = self.state.readers().into_iter().find_map(typed);
        known.or_else(|| {
            let lives = self.state.builtin && !self.state.entity.is_deleted();
            lives
                .then(|| builtin_reader(&self.participant, &self.state, topic_name).and_then(typed))
                .flatten()
        })
    }

    /// delete_datareader: it ends although there are handles to it, whose operations fail from now on. Payloads taken from
    /// it stay: they own their memory.
    ///
    /// # Errors
    /// [`EntityError::InUse`] while somebody has a read or query condition of it, or a wait-set has: see
    /// [`DataReader::delete_contained_entities`]; [`EntityError::Foreign`] if it belongs to another subscriber;
    /// [`EntityError::AlreadyDeleted`].
    pub fn delete_datareader<T: TopicType>(&self, reader: &DataReader<T>) -> Result<(), EntityError> {
        if !Arc::ptr_eq(&reader.core().subscriber, &self.state) {
            return Err(EntityError::Foreign);
        }
        if !reader.core().is_deleted() && reader.core().has_conditions() {
            return Err(EntityError::InUse);
        }
        if reader.core().close() { Ok(()) } else { Err(EntityError::AlreadyDeleted) }
    }
}
