//! What all handles of a subscriber share. It names no reader: that is `R`, which names it.

use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dunlin_core::InstanceHandle;
use dunlin_engine::SubscriberGroup;
use dunlin_qos::{DataReaderQos, Presentation, PresentationAccessScope, SubscriberQos};

use crate::entity::Entity;
use crate::error::{CreateEntityError, GroupAccessError};
use crate::mutex::lock;
use crate::qos_cell::QosCell;
use crate::status::StatusMask;

/// The listener of a subscriber, which hears of its readers (DDS 1.4 §2.2.4.2.3).
pub(crate) trait ErasedSubscriberListener<R>: Send + Sync {
    fn call(&self, reader: &Arc<R>, status: StatusMask);

    /// `reader` is one of those that have data.
    fn call_data_on_readers(&self, reader: &Arc<R>);

    /// As the application set it.
    fn typed(&self) -> &dyn Any;
}

/// A data reader, as far as its subscriber has to know it.
pub(crate) trait SubscriberMember: Send + Sync + 'static {
    fn is_deleted(&self) -> bool;

    fn enable(self: &Arc<Self>) -> Result<(), CreateEntityError>;

    /// Ends it although there are handles to it.
    fn delete(&self);
}

/// What a subscriber needs of its participant.
pub(crate) trait SubscriberFactory {
    /// What the readers of a subscriber with this PRESENTATION have in common, if anything.
    fn group(&self, presentation: Presentation) -> Option<Arc<SubscriberGroup>>;
}

/// How an enabled subscriber, of which PRESENTATION cannot change, shows what its readers have.
#[derive(Clone, Copy, Default)]
pub(crate) struct AccessScope {
    /// Access scope GROUP.
    pub by_group: bool,
    /// And ordered access: samples of all readers are read one by one.
    pub one_by_one: bool,
}

/// When a subscriber shows what its readers have.
#[derive(Default)]
pub(crate) struct Accesses {
    /// Calls of begin_access that were not ended.
    pub count: u32,
    /// Once it is enabled, if readers show coherent sets, or changes in order over all of them.
    pub group: Option<Arc<SubscriberGroup>>,
}

/// What all handles of a subscriber and its readers `R` share; lives as long as the subscriber or a reader of it.
pub(crate) struct SubscriberState<R> {
    pub entity: Entity<dyn ErasedSubscriberListener<R>>,
    readers: Mutex<Vec<Weak<R>>>,
    pub default_qos: Mutex<DataReaderQos>,
    pub builtin: bool,
    pub qos: QosCell<SubscriberQos>,
    pub accesses: Mutex<Accesses>,
    scope: OnceLock<AccessScope>,
    /// Calls of on_data_on_readers that run.
    notifying: AtomicU32,
}

impl<R: SubscriberMember> SubscriberState<R> {
    pub(crate) fn new(handle: InstanceHandle, enabled: bool, builtin: bool, qos: SubscriberQos) -> Arc<Self> {
        let entity = Entity::new(handle, enabled);
        if builtin {
            // Nothing of the built-in readers is told to the participant's listener.
            entity.listener.set(Some((None, StatusMask::ALL)));
        }
        Arc::new(Self {
            entity,
            readers: Mutex::default(),
            default_qos: Mutex::default(),
            builtin,
            qos: QosCell::new(qos),
            accesses: Mutex::default(),
            scope: OnceLock::new(),
            notifying: AtomicU32::new(0),
        })
    }

    /// The readers that were not deleted.
    pub(crate) fn readers(&self) -> Vec<Arc<R>> {
        let readers = lock(&self.readers);
        readers.iter().filter_map(Weak::upgrade).filter(|reader| !reader.is_deleted()).collect()
    }

    /// enable: the readers too, unless ENTITY_FACTORY leaves that to the application.
    pub(crate) fn enable(&self, participant: &impl SubscriberFactory) -> Result<(), CreateEntityError> {
        while !self.entity.is_enabled() {
            self.try_enable(participant);
        }
        if !self.autoenables() {
            return Ok(());
        }
        // Who deletes a reader meanwhile does not keep the others from being enabled.
        self.readers().iter().try_for_each(|reader| match reader.enable() {
            Err(CreateEntityError::AlreadyDeleted) if reader.is_deleted() => Ok(()),
            enabled => enabled,
        })
    }

    /// Enables it alone, unless PRESENTATION changes at this moment.
    fn try_enable(&self, participant: &impl SubscriberFactory) {
        let presentation = self.qos.with(|qos| qos.presentation);
        let group = participant.group(presentation);
        let mut accesses = lock(&self.accesses);
        if !self.entity.is_enabled() && self.qos.hold_if(|qos| qos.presentation == presentation) {
            accesses.group = group;
            let by_group = presentation.access_scope == PresentationAccessScope::Group;
            let one_by_one = by_group && presentation.ordered_access;
            let _ = self.scope.set(AccessScope { by_group, one_by_one });
            self.entity.enable();
        }
    }

    pub(crate) fn autoenables(&self) -> bool {
        self.qos.with(|qos| qos.entity_factory.autoenable_created_entities)
    }

    /// What the readers have in common, if anything.
    pub(crate) fn group(&self) -> Option<Arc<SubscriberGroup>> {
        lock(&self.accesses).group.clone()
    }

    /// How it shows what its readers have; while it is disabled they have nothing.
    pub(crate) fn scope(&self) -> AccessScope {
        self.scope.get().copied().unwrap_or_default()
    }

    /// Whether samples may be read now: with access scope GROUP only in an access or while on_data_on_readers runs.
    pub(crate) fn check_access(&self) -> Result<(), GroupAccessError> {
        let by_group = self.scope().by_group;
        if by_group && lock(&self.accesses).count == 0 && !self.is_telling() {
            return Err(GroupAccessError::NotBegun);
        }
        Ok(())
    }

    /// Deletes every reader.
    pub(crate) fn delete_readers(&self) {
        self.readers().iter().for_each(|reader| reader.delete());
    }

    /// Whether on_data_on_readers runs.
    pub(crate) fn is_telling(&self) -> bool {
        self.notifying.load(SeqCst) > 0
    }

    /// Until this is dropped, on_data_on_readers runs.
    pub(crate) fn notifying(&self) -> Notifying<'_> {
        self.notifying.fetch_add(1, SeqCst);
        Notifying(&self.notifying)
    }

    pub(crate) fn add(&self, reader: &Arc<R>) {
        let mut readers = lock(&self.readers);
        // Not for each of thousands.
        if readers.len() == readers.capacity() {
            readers.retain(|reader| reader.strong_count() > 0);
        }
        readers.push(Arc::downgrade(reader));
    }
}

/// A call of on_data_on_readers, which may end in a panic.
pub(crate) struct Notifying<'a>(&'a AtomicU32);

impl Drop for Notifying<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}
