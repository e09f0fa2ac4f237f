//! What entities have in common (DDS 1.4 §2.2.2.1.1): a handle, a listener, changed statuses, an end.

use crate::condition::StatusCondition;
use crate::signal::Signal;
use crate::status::StatusMask;
use dunlin_core::{InstanceHandle, ReturnCode};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use thiserror::Error;

/// Why an entity was not found, deleted or ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum EntityError {
    /// It is the entity of another one than was asked.
    #[error("the entity belongs to another one")]
    Foreign,
    /// It still has entities or conditions, or entities use it: see `delete_contained_entities`.
    #[error("other entities or conditions belong to it or use it: delete them first")]
    InUse,
    /// The handle names nothing that was discovered.
    #[error("the handle names nothing that was discovered")]
    UnknownHandle,
    /// It was deleted.
    #[error("the entity was deleted")]
    AlreadyDeleted,
}

impl EntityError {
    /// The DDS return code.
    #[must_use]
    pub const fn return_code(self) -> ReturnCode {
        match self {
            Self::Foreign | Self::InUse => ReturnCode::PreconditionNotMet,
            Self::UnknownHandle => ReturnCode::BadParameter,
            Self::AlreadyDeleted => ReturnCode::AlreadyDeleted,
        }
    }
}

/// A listener, or none, and the statuses that it answers for.
type Listening<L> = Option<(Option<Arc<L>>, StatusMask)>;

/// A place for a listener.
pub(crate) struct ListenerSlot<L: ?Sized>(RwLock<Listening<L>>);

impl<L: ?Sized> Default for ListenerSlot<L> {
    fn default() -> Self {
        Self(RwLock::new(None))
    }
}

impl<L: ?Sized> ListenerSlot<L> {
    pub fn set(&self, listener: Listening<L>) {
        let before = {
            let mut present = self.0.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *present, listener)
        };
        // Outside of the lock, as its drop is somebody else's code.
        drop(before);
    }

    /// The listener, if there is one.
    pub fn get(&self) -> Option<Arc<L>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.0.clone()
    }

    /// The statuses that are answered for here.
    pub fn mask(&self) -> Option<StatusMask> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, mask)| *mask)
    }

    /// Who answers for a status: `None` when nobody does here, `Some(None)` when it is consumed without a call.
    pub fn of(&self, status: StatusMask) -> Option<Option<Arc<L>>> {
        let present = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (listener, mask) = present.as_ref()?;
        mask.intersects(status).then(|| listener.clone())
    }
}

/// What is the same for topics, publishers, subscribers and participants.
pub(crate) struct Entity<L: ?Sized> {
    pub handle: InstanceHandle,
    pub listener: ListenerSlot<L>,
    changed: AtomicU32,
    pub signal: Arc<Signal>,
    enabled: AtomicBool,
    deleted: AtomicBool,
}

impl<L: ?Sized> Entity<L> {
    pub fn new(handle: InstanceHandle, enabled: bool) -> Self {
        Self {
            handle,
            listener: ListenerSlot::default(),
            changed: AtomicU32::new(0),
            signal: Arc::default(),
            enabled: AtomicBool::new(enabled),
            deleted: AtomicBool::new(false),
        }
    }

    /// A status has changed.
    pub fn note(&self, status: StatusMask) {
        self.changed.fetch_or(status.0, Ordering::SeqCst);
    }

    /// A status was read.
    pub fn clear(&self, status: StatusMask) {
        if self.changed.load(Ordering::Relaxed) & status.0 != 0 {
            self.changed.fetch_and(!status.0, Ordering::SeqCst);
        }
    }

    pub fn changes(&self) -> StatusMask {
        StatusMask(self.changed.load(Ordering::SeqCst))
    }

    /// Enables it; false if it was enabled before.
    pub fn enable(&self) -> bool {
        !self.enabled.swap(true, Ordering::SeqCst)
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::SeqCst)
    }

    /// Ends it; false if it had ended before.
    pub fn delete(&self) -> bool {
        let first = !self.deleted.swap(true, Ordering::SeqCst);
        self.listener.set(None);
        first
    }

    pub fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::SeqCst)
    }

    pub fn check(&self) -> Result<(), EntityError> {
        if self.is_deleted() { Err(EntityError::AlreadyDeleted) } else { Ok(()) }
    }
}

impl<L: ?Sized + Send + Sync + 'static> Entity<L> {
    /// The condition of an entity that `of` finds in its owner, which the condition does not keep alive.
    pub fn condition<O: Send + Sync + 'static>(
        &self,
        owner: &Arc<O>,
        of: impl Fn(&O) -> &Self + Send + Sync + 'static,
    ) -> StatusCondition {
        let owner = Arc::downgrade(owner);
        let handle = self.handle;
        StatusCondition::new(
            Arc::clone(&self.signal),
            move || handle,
            move || owner.upgrade().map_or(StatusMask::NONE, |owner| of(&owner).changes()),
        )
    }
}
