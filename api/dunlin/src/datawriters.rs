//! The data writers of a publisher: made, found and deleted (DDS 1.4 §2.2.2.4.1).

use std::sync::Arc;

use dunlin_cdr::TopicType;
use dunlin_core::Guid;
use dunlin_qos::DataWriterQos;

use crate::any::AnyDataWriter;
use crate::endpoint_qos::EndpointQos;
use crate::entity::EntityError;
use crate::error::CreateEntityError;
use crate::listener::{DataWriterListener, erased_writer};
use crate::publisher::Publisher;
use crate::representation;
use crate::status::StatusMask;
use crate::topic::Topic;
use crate::writer::DataWriter;
use crate::writer_inner::{ErasedWriterListener, WriterInner};

impl Publisher {
    /// create_datawriter, with a QoS, [`DATAWRITER_QOS_DEFAULT`](crate::DATAWRITER_QOS_DEFAULT) or
    /// [`DATAWRITER_QOS_USE_TOPIC_QOS`](crate::DATAWRITER_QOS_USE_TOPIC_QOS). A QoS without DATA_REPRESENTATION uses the
    /// type's default.
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported, or the topic is another participant's.
    pub fn create_datawriter<'q, T: TopicType>(
        &self,
        topic: &Topic<T>,
        qos: impl Into<EndpointQos<'q, DataWriterQos>>,
    ) -> Result<DataWriter<T>, CreateEntityError> {
        let qos = self.resolve(qos.into(), &topic.inner);
        self.make_datawriter(topic, &qos, None, None)
    }

    /// create_datawriter with a listener, which misses nothing: set afterwards it would not be called for readers that were
    /// known before and match at once. It may be called before this has returned, on this or another thread: it uses the
    /// writer that it is handed.
    ///
    /// # Errors
    /// As [`create_datawriter`](Self::create_datawriter).
    pub fn create_datawriter_with_listener<'q, T: TopicType>(
        &self,
        topic: &Topic<T>,
        qos: impl Into<EndpointQos<'q, DataWriterQos>>,
        listener: impl DataWriterListener<T>,
        mask: StatusMask,
    ) -> Result<DataWriter<T>, CreateEntityError> {
        let qos = self.resolve(qos.into(), &topic.inner);
        self.make_datawriter(topic, &qos, None, Some((erased_writer(Arc::new(listener)), mask)))
    }

    /// create_datawriter of a writer that announces which endpoint it belongs together with: PID_RELATED_ENTITY_GUID (DDS-RPC 1.0
    /// §7.6.2), as a writer of requests names its reader of replies. Others see it as
    /// [`PublicationBuiltinTopicData::related`](crate::PublicationBuiltinTopicData::related).
    ///
    /// # Errors
    /// As [`create_datawriter`](Self::create_datawriter).
    pub fn create_related_datawriter<'q, T: TopicType>(
        &self,
        topic: &Topic<T>,
        qos: impl Into<EndpointQos<'q, DataWriterQos>>,
        related: Guid,
    ) -> Result<DataWriter<T>, CreateEntityError> {
        self.make_datawriter(topic, &self.resolve(qos.into(), &topic.inner), Some(related), None)
    }

    fn make_datawriter<T: TopicType>(
        &self,
        topic: &Topic<T>,
        qos: &DataWriterQos,
        related: Option<Guid>,
        listener: Option<(Arc<dyn ErasedWriterListener>, StatusMask)>,
    ) -> Result<DataWriter<T>, CreateEntityError> {
        if !self.participant.owns(&topic.inner) {
            return Err(CreateEntityError::ForeignTopic);
        }
        if self.state.entity.is_deleted() || topic.inner.entity.is_deleted() {
            return Err(CreateEntityError::AlreadyDeleted);
        }
        let qos = representation::of_writer::<T>(qos, &*topic.inner.type_support)?;
        qos.check_consistency()?;
        qos.check_supported()?;
        self.participant.check_durability(qos.durability)?;
        self.participant.check_direct_write(&qos)?;
        let core = Arc::new(WriterInner::new(
            Arc::clone(&self.participant),
            Arc::clone(&topic.inner),
            Arc::clone(&self.state),
            qos,
            related,
        ));
        core.listener.set(listener.map(|(listener, mask)| (Some(listener), mask)));
        // Known before its first matches, of which listeners are told that may use the publisher.
        self.state.add(&core);
        if self.state.entity.is_enabled() && self.state.autoenables() {
            core.enable().inspect_err(|_| {
                core.close();
            })?;
        }
        Ok(DataWriter::from_core(core))
    }

    /// lookup_datawriter: one of the writers of a topic, if there is one of this type.
    #[must_use]
    pub fn lookup_datawriter<T: TopicType>(&self, topic_name: &str) -> Option<DataWriter<T>> {
        let mut writers = self.state.writers().into_iter();
        writers.find_map(|core| {
            AnyDataWriter::from_core(core).typed().filter(|w: &DataWriter<T>| w.topic_name() == topic_name)
        })
    }

    /// delete_datawriter: it ends although there are handles to it, whose operations fail from now on. Its instances are
    /// unregistered, and disposed too if WRITER_DATA_LIFECYCLE says so, as it does by default. Dropping the last handle does the
    /// same.
    ///
    /// This waits for nobody. What reliable readers have not acknowledged, the ends of instances included, is sent again in the
    /// background until they have, for one second at most; then they learn that the writer is gone, and no longer match it.
    /// Nothing is reported of it here meanwhile, and a reader that comes now gets nothing of it. The end of the participant waits for that, once for
    /// all writers: its last handle, `delete_participant`, or its `delete_contained_entities`. A program that ends without one of
    /// these (`std::process::exit`) calls [`wait_for_acknowledgments`](Self::wait_for_acknowledgments) before it deletes what
    /// must arrive, or loses it. Up to 1,024 writers go at once: with more this waits, for one second at most, or, where it
    /// cannot wait (in a listener), lets the oldest go without the acknowledgement.
    ///
    /// # Errors
    /// [`EntityError::Foreign`] if it belongs to another publisher; [`EntityError::AlreadyDeleted`].
    pub fn delete_datawriter<T: TopicType>(&self, writer: &DataWriter<T>) -> Result<(), EntityError> {
        if !Arc::ptr_eq(&writer.core().publisher, &self.state) {
            return Err(EntityError::Foreign);
        }
        if writer.core().close() { Ok(()) } else { Err(EntityError::AlreadyDeleted) }
    }
}
