//! Publisher (DDS 1.4 §2.2.2.4.1).

use crate::error::{CreateEntityError, SetQosError};
use crate::participant::ParticipantInner;
use crate::topic::Topic;
use crate::writer::DataWriter;
use crate::writer_core::{WriterCore, lock};
use dunlin_cdr::{DdsType, Representation};
use dunlin_engine::PublisherGroup;
use dunlin_qos::{DataRepresentationId, DataWriterQos, PublisherQos};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};

/// Creates data writers with a common PARTITION and PRESENTATION. Cheap to clone.
#[derive(Clone)]
pub struct Publisher {
    participant: Arc<ParticipantInner>,
    qos: Arc<Mutex<PublisherQos>>,
    pub(crate) writers: Arc<Mutex<Vec<Weak<WriterCore>>>>,
    /// If changes are coherent, or ordered over all writers.
    pub(crate) group: Option<Arc<PublisherGroup>>,
    /// Calls of begin_coherent_changes that were not ended.
    pub(crate) coherent: Arc<AtomicU32>,
    pub(crate) suspended: Arc<AtomicBool>,
    enabled: Arc<AtomicBool>,
}

impl std::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Publisher({:?})", lock(&self.qos).partition.names)
    }
}

impl Publisher {
    pub(crate) fn new(
        participant: Arc<ParticipantInner>,
        qos: &PublisherQos,
    ) -> Result<Self, CreateEntityError> {
        qos.check_consistency()?;
        qos.check_supported()?;
        let enabled = Arc::new(AtomicBool::new(participant.autoenables()));
        let group = participant.publisher_group(qos.presentation)?;
        Ok(Self {
            participant,
            qos: Arc::new(Mutex::new(qos.clone())),
            writers: Arc::default(),
            group,
            coherent: Arc::default(),
            suspended: Arc::default(),
            enabled,
        })
    }

    /// create_datawriter. A QoS without DATA_REPRESENTATION uses the type's default.
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported, or the topic is another participant's.
    pub fn create_datawriter<T: DdsType>(
        &self,
        topic: &Topic<T>,
        qos: &DataWriterQos,
    ) -> Result<DataWriter<T>, CreateEntityError> {
        if topic.inner.participant.as_ptr() != Arc::as_ptr(&self.participant) {
            return Err(CreateEntityError::ForeignTopic);
        }
        let mut qos = qos.clone();
        if qos.representation.ids.is_empty() {
            qos.representation.ids.push(match T::DEFAULT_REPRESENTATION {
                Representation::Xcdr1 => DataRepresentationId::Xcdr1,
                Representation::Xcdr2 => DataRepresentationId::Xcdr2,
            });
        }
        qos.check_consistency()?;
        qos.check_supported()?;
        self.participant.check_durability(qos.durability)?;
        let core = Arc::new(WriterCore::new(
            Arc::clone(&self.participant),
            Arc::clone(&topic.inner),
            Arc::clone(&self.qos),
            qos,
            self.group.clone(),
            Arc::clone(&self.enabled),
        ));
        if self.enabled.load(SeqCst) && lock(&self.qos).entity_factory.autoenable_created_entities {
            core.enable()?;
        }
        let mut writers = lock(&self.writers);
        writers.retain(|writer| writer.strong_count() > 0);
        writers.push(Arc::downgrade(&core));
        if self.suspended.load(SeqCst) {
            core.set_suspended(true);
        }
        Ok(DataWriter::from_core(core))
    }

    /// enable: of a publisher whose participant does not enable what it creates. Writers that were created meanwhile are
    /// enabled too, unless ENTITY_FACTORY of the publisher leaves that to the application.
    ///
    /// # Errors
    /// When a writer cannot be enabled.
    pub fn enable(&self) -> Result<(), CreateEntityError> {
        self.enabled.store(true, SeqCst);
        if !lock(&self.qos).entity_factory.autoenable_created_entities {
            return Ok(());
        }
        let writers: Vec<_> = lock(&self.writers).iter().filter_map(Weak::upgrade).collect();
        writers.iter().try_for_each(WriterCore::enable)
    }

    /// get_qos.
    #[must_use]
    pub fn qos(&self) -> PublisherQos {
        lock(&self.qos).clone()
    }

    /// set_qos: a changed PARTITION matches the publisher's writers anew.
    ///
    /// # Errors
    /// When the QoS is inconsistent, unsupported, or changes an immutable policy.
    pub fn set_qos(&self, new: &PublisherQos) -> Result<(), SetQosError> {
        new.check_consistency()?;
        new.check_supported()?;
        let mut qos = lock(&self.qos);
        qos.check_changeable(new)?;
        *qos = new.clone();
        drop(qos);
        let writers: Vec<_> = lock(&self.writers).iter().filter_map(Weak::upgrade).collect();
        writers.iter().try_for_each(|writer| writer.set_publisher_qos(new))
    }
}
