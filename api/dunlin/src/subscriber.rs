//! Subscriber (DDS 1.4 §2.2.2.5.2).

use crate::content_filter::TopicDescription;
use crate::error::{CreateEntityError, SetQosError};
use crate::participant::ParticipantInner;
use crate::reader::DataReader;
use crate::reader_core::ReaderCore;
use crate::writer_core::lock;
use dunlin_cdr::TypeSupportOf;
use dunlin_engine::SubscriberGroup;
use dunlin_qos::{DataReaderQos, SubscriberQos};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};

/// Creates data readers with a common PARTITION and PRESENTATION. Cheap to clone.
#[derive(Clone)]
pub struct Subscriber {
    pub(crate) participant: Arc<ParticipantInner>,
    qos: Arc<Mutex<SubscriberQos>>,
    pub(crate) readers: Arc<Mutex<Vec<Weak<ReaderCore>>>>,
    /// If readers show coherent sets, or changes in order over all of them.
    pub(crate) group: Option<Arc<SubscriberGroup>>,
    /// Calls of begin_access that were not ended.
    pub(crate) accesses: Arc<AtomicU32>,
    enabled: Arc<AtomicBool>,
}

impl std::fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Subscriber({:?})", lock(&self.qos).partition.names)
    }
}

impl Subscriber {
    pub(crate) fn new(
        participant: Arc<ParticipantInner>,
        qos: &SubscriberQos,
    ) -> Result<Self, CreateEntityError> {
        qos.check_consistency()?;
        qos.check_supported()?;
        let enabled = Arc::new(AtomicBool::new(participant.autoenables()));
        let group = participant.subscriber_group(qos.presentation);
        Ok(Self {
            participant,
            qos: Arc::new(Mutex::new(qos.clone())),
            readers: Arc::default(),
            group,
            accesses: Arc::default(),
            enabled,
        })
    }

    /// create_datareader: for a topic, a content-filtered topic or a multi-topic.
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported, or the topic is another participant's.
    pub fn create_datareader<D: TopicDescription>(
        &self,
        topic: &D,
        qos: &DataReaderQos,
    ) -> Result<DataReader<D::Data>, CreateEntityError> {
        let source = topic.source();
        if !self.participant.owns(&source.topic) {
            return Err(CreateEntityError::ForeignTopic);
        }
        qos.check_consistency()?;
        qos.check_supported()?;
        self.participant.check_durability(qos.durability)?;
        let core = Arc::new(ReaderCore::new(
            Arc::clone(&self.participant),
            source.clone(),
            Arc::clone(&self.qos),
            Arc::new(TypeSupportOf::<D::Data>::default()),
            qos.clone(),
            self.group.clone(),
            Arc::clone(&self.enabled),
        ));
        if let Some(filter) = &source.filter {
            filter.add_reader(&core);
        }
        if self.enabled.load(SeqCst) && lock(&self.qos).entity_factory.autoenable_created_entities {
            core.enable()?;
        }
        let mut readers = lock(&self.readers);
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(&core));
        Ok(DataReader::from_core(core))
    }

    /// enable: of a subscriber whose participant does not enable what it creates. Readers that were created meanwhile are
    /// enabled too, unless ENTITY_FACTORY of the subscriber leaves that to the application.
    ///
    /// # Errors
    /// When a reader cannot be enabled.
    pub fn enable(&self) -> Result<(), CreateEntityError> {
        self.enabled.store(true, SeqCst);
        if !lock(&self.qos).entity_factory.autoenable_created_entities {
            return Ok(());
        }
        let readers: Vec<_> = lock(&self.readers).iter().filter_map(Weak::upgrade).collect();
        readers.iter().try_for_each(ReaderCore::enable)
    }

    /// get_qos.
    #[must_use]
    pub fn qos(&self) -> SubscriberQos {
        lock(&self.qos).clone()
    }

    /// set_qos: a changed PARTITION matches the subscriber's readers anew.
    ///
    /// # Errors
    /// When the QoS is inconsistent, unsupported, or changes an immutable policy.
    pub fn set_qos(&self, new: &SubscriberQos) -> Result<(), SetQosError> {
        new.check_consistency()?;
        new.check_supported()?;
        let mut qos = lock(&self.qos);
        qos.check_changeable(new)?;
        *qos = new.clone();
        drop(qos);
        let readers: Vec<_> = lock(&self.readers).iter().filter_map(Weak::upgrade).collect();
        readers.iter().try_for_each(|reader| reader.set_subscriber_qos(new))
    }
}
