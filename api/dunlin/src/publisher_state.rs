//! What all handles of a publisher share. It names no writer: that is `W`, which names it.

use std::any::Any;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use dunlin_core::InstanceHandle;
use dunlin_engine::PublisherGroup;
use dunlin_qos::{DataWriterQos, Presentation, PublisherQos};

use crate::entity::Entity;
use crate::error::CreateEntityError;
use crate::mutex::lock;
use crate::qos_cell::QosCell;
use crate::status::StatusMask;

/// The listener of a publisher, which hears of its writers (DDS 1.4 §2.2.4.2.3).
pub(crate) trait ErasedPublisherListener<W>: Send + Sync {
    fn call(&self, writer: &Arc<W>, status: StatusMask);

    /// As the application set it.
    fn typed(&self) -> &dyn Any;
}

/// A data writer, as far as its publisher has to know it.
pub(crate) trait PublisherMember: Send + Sync + 'static {
    fn is_deleted(&self) -> bool;

    fn enable(self: &Arc<Self>) -> Result<(), CreateEntityError>;
}

/// What a publisher needs of its participant.
pub(crate) trait PublisherFactory {
    /// What the writers of a publisher with this PRESENTATION have in common, if anything.
    fn group(&self, presentation: Presentation) -> Result<Option<Arc<PublisherGroup>>, CreateEntityError>;
}

/// What all handles of a publisher and its writers `W` share; lives as long as the publisher or a writer of it.
pub(crate) struct PublisherState<W> {
    pub entity: Entity<dyn ErasedPublisherListener<W>>,
    writers: Mutex<Vec<Weak<W>>>,
    pub default_qos: Mutex<DataWriterQos>,
    pub qos: QosCell<PublisherQos>,
    pub sets: Mutex<Sets>,
    pub suspended: AtomicBool,
}

/// Coherent sets of a publisher.
#[derive(Default)]
pub(crate) struct Sets {
    /// Calls of begin_coherent_changes that were not ended.
    pub depth: u32,
    /// Once it is enabled, if changes are coherent, or ordered over all writers.
    pub group: Option<Arc<PublisherGroup>>,
}

impl<W: PublisherMember> PublisherState<W> {
    /// A disabled one without writers.
    pub(crate) fn new(handle: InstanceHandle, qos: PublisherQos) -> Arc<Self> {
        Arc::new(Self {
            entity: Entity::new(handle, false),
            writers: Mutex::default(),
            default_qos: Mutex::default(),
            qos: QosCell::new(qos),
            sets: Mutex::default(),
            suspended: AtomicBool::new(false),
        })
    }

    /// The writers that were not deleted.
    pub(crate) fn writers(&self) -> Vec<Arc<W>> {
        let writers = lock(&self.writers);
        writers.iter().filter_map(Weak::upgrade).filter(|writer| !writer.is_deleted()).collect()
    }

    /// enable: the writers too, unless ENTITY_FACTORY leaves that to the application.
    pub(crate) fn enable(&self, participant: &impl PublisherFactory) -> Result<(), CreateEntityError> {
        while !self.entity.is_enabled() {
            self.try_enable(participant)?;
        }
        if !self.autoenables() {
            return Ok(());
        }
        // Who deletes a writer meanwhile does not keep the others from being enabled.
        self.writers().iter().try_for_each(|writer| match writer.enable() {
            Err(CreateEntityError::AlreadyDeleted) if writer.is_deleted() => Ok(()),
            enabled => enabled,
        })
    }

    /// Enables it alone, unless PRESENTATION changes at this moment.
    fn try_enable(&self, participant: &impl PublisherFactory) -> Result<(), CreateEntityError> {
        let presentation = self.qos.with(|qos| qos.presentation);
        // Without a lock, as the engine takes one that it holds when it asks for a QoS.
        let group = participant.group(presentation)?;
        let mut sets = lock(&self.sets);
        if !self.entity.is_enabled() && self.qos.hold_if(|qos| qos.presentation == presentation) {
            sets.group = group;
            self.entity.enable();
        }
        Ok(())
    }

    pub(crate) fn autoenables(&self) -> bool {
        self.qos.with(|qos| qos.entity_factory.autoenable_created_entities)
    }

    /// What the writers have in common, if anything.
    pub(crate) fn group(&self) -> Option<Arc<PublisherGroup>> {
        lock(&self.sets).group.clone()
    }

    pub(crate) fn add(&self, writer: &Arc<W>) {
        let mut writers = lock(&self.writers);
        // Not for each of thousands.
        if writers.len() == writers.capacity() {
            writers.retain(|writer| writer.strong_count() > 0);
        }
        writers.push(Arc::downgrade(writer));
    }
}
