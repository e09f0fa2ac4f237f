//! What entities have in common (DDS 1.4 §2.2.2.1.1): a handle, a listener, changed statuses, an end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use dunlin_core::{Guid, InstanceHandle, ReturnCode};
use thiserror::Error;

use crate::condition::StatusCondition;
use crate::signal::Signal;
use crate::status::StatusMask;

/// Why an entity was not found, deleted or ignored.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
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
    /// It is not enabled.
    #[error("the entity is not enabled")]
    NotEnabled,
    /// It was deleted.
    #[error("the entity was deleted")]
    AlreadyDeleted,
}

crate::sentence::debug_is_sentence!(EntityError);

impl EntityError {
    /// The DDS return code.
    #[must_use]
    pub const fn return_code(self) -> ReturnCode {
        match self {
            Self::Foreign | Self::InUse => ReturnCode::PreconditionNotMet,
            Self::UnknownHandle => ReturnCode::BadParameter,
            Self::NotEnabled => ReturnCode::NotEnabled,
            Self::AlreadyDeleted => ReturnCode::AlreadyDeleted,
        }
    }
}

/// An entity was deleted, so that no operation of it does anything (DDS 1.4 §2.2.1.1, ALREADY_DELETED).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deleted;

/// An operation needs an entity that is enabled, and there (DDS 1.4 §2.2.2.1.1.7).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unusable {
    NotEnabled,
    Deleted,
}

impl From<Deleted> for Unusable {
    fn from(_: Deleted) -> Self {
        Self::Deleted
    }
}

impl From<Deleted> for EntityError {
    fn from(_: Deleted) -> Self {
        Self::AlreadyDeleted
    }
}

impl From<Unusable> for EntityError {
    fn from(why: Unusable) -> Self {
        match why {
            Unusable::NotEnabled => Self::NotEnabled,
            Unusable::Deleted => Self::AlreadyDeleted,
        }
    }
}

/// The one status condition of an entity, made when it is first asked for; it ends with the entity.
#[derive(Default)]
pub(crate) struct OwnCondition(OnceLock<StatusCondition>);

impl OwnCondition {
    /// `is_deleted` tells whether the entity was deleted, which it says before it calls [`delete`](Self::delete).
    pub(crate) fn get(
        &self,
        is_deleted: impl FnOnce() -> bool,
        make: impl FnOnce() -> StatusCondition,
    ) -> StatusCondition {
        let condition = self.0.get_or_init(make).clone();
        if is_deleted() {
            condition.delete();
        }
        condition
    }

    pub(crate) fn delete(&self) {
        if let Some(condition) = self.0.get() {
            condition.delete();
        }
    }
}

/// The status condition of a writer or reader, which it does not keep alive.
pub(crate) fn endpoint_condition<C: Send + Sync + 'static>(
    core: &Arc<C>,
    signal: &Arc<Signal>,
    guid: fn(&C) -> Option<Guid>,
    changes: fn(&C) -> StatusMask,
) -> StatusCondition {
    let (named, changed) = (Arc::downgrade(core), Arc::downgrade(core));
    let handle =
        move || named.upgrade().and_then(|core| guid(&core)).map(InstanceHandle::from).unwrap_or_default();
    let changes = move || changed.upgrade().map_or(StatusMask::NONE, |core| changes(&core));
    StatusCondition::new(Arc::clone(signal), handle, changes)
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
    pub(crate) fn set(&self, listener: Listening<L>) {
        let before = {
            let mut present = self.0.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *present, listener)
        };
        // Outside of the lock, as its drop is somebody else's code.
        drop(before);
    }

    /// The listener, if there is one.
    pub(crate) fn get(&self) -> Option<Arc<L>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.0.clone()
    }

    /// The statuses that are answered for here.
    pub(crate) fn mask(&self) -> Option<StatusMask> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, mask)| *mask)
    }

    /// Who answers for a status: `None` when nobody does here, `Some(None)` when it is consumed without a call.
    pub(crate) fn of(&self, status: StatusMask) -> Option<Option<Arc<L>>> {
        let present = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (listener, mask) = present.as_ref()?;
        mask.intersects(status).then(|| listener.clone())
    }
}

/// Whether an entity is there: nobody has deleted it, and this process has made it.
///
/// In a child of fork the entities of its parent count as deleted. It has neither the threads that they need nor the right to
/// speak in their names; and another thread of the parent may have held any lock at that moment, so nothing is undone either.
#[derive(Debug)]
pub(crate) struct Life {
    deleted: AtomicBool,
    process: u32,
}

impl Default for Life {
    fn default() -> Self {
        Self { deleted: AtomicBool::new(false), process: dunlin_udp::process_generation() }
    }
}

impl Life {
    /// Whether this process has made the entity.
    pub(crate) fn is_here(&self) -> bool {
        self.process == dunlin_udp::process_generation()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.deleted.load(Ordering::SeqCst) || !self.is_here()
    }

    /// Ends it; false if it had ended before.
    pub(crate) fn end(&self) -> bool {
        self.is_here() && !self.deleted.swap(true, Ordering::SeqCst)
    }
}

/// What is the same for topics, publishers, subscribers and participants.
pub(crate) struct Entity<L: ?Sized> {
    pub handle: InstanceHandle,
    pub listener: ListenerSlot<L>,
    changed: AtomicU32,
    pub signal: Arc<Signal>,
    condition: OwnCondition,
    enabled: AtomicBool,
    life: Life,
}

impl<L: ?Sized> Entity<L> {
    pub(crate) fn new(handle: InstanceHandle, enabled: bool) -> Self {
        Self {
            handle,
            listener: ListenerSlot::default(),
            changed: AtomicU32::new(0),
            signal: Arc::default(),
            condition: OwnCondition::default(),
            enabled: AtomicBool::new(enabled),
            life: Life::default(),
        }
    }

    /// A status has changed.
    pub(crate) fn note(&self, status: StatusMask) {
        self.changed.fetch_or(status.0, Ordering::SeqCst);
    }

    /// A status was read.
    pub(crate) fn clear(&self, status: StatusMask) {
        if self.changed.load(Ordering::Relaxed) & status.0 != 0 {
            self.changed.fetch_and(!status.0, Ordering::SeqCst);
        }
    }

    /// None of one that was deleted.
    pub(crate) fn changes(&self) -> StatusMask {
        if self.is_deleted() {
            return StatusMask::NONE;
        }
        StatusMask(self.changed.load(Ordering::SeqCst))
    }

    /// Enables it; false if it was enabled before.
    pub(crate) fn enable(&self) -> bool {
        !self.enabled.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::SeqCst)
    }

    /// Ends it; false if it had ended before.
    pub(crate) fn delete(&self) -> bool {
        if !self.life.end() {
            return false;
        }
        self.listener.set(None);
        self.condition.delete();
        // Also those who wait without a condition.
        self.signal.raise();
        true
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.life.is_over()
    }

    /// Whether this process has made it.
    pub(crate) fn is_here(&self) -> bool {
        self.life.is_here()
    }

    pub(crate) fn check(&self) -> Result<(), Deleted> {
        if self.is_deleted() { Err(Deleted) } else { Ok(()) }
    }

    /// For operations that do nothing before the entity is enabled.
    pub(crate) fn check_usable(&self) -> Result<(), Unusable> {
        self.check()?;
        if self.is_enabled() { Ok(()) } else { Err(Unusable::NotEnabled) }
    }
}

impl<L: ?Sized> Drop for Entity<L> {
    fn drop(&mut self) {
        if self.life.is_here() {
            self.condition.delete();
        }
    }
}

impl<L: ?Sized + Send + Sync + 'static> Entity<L> {
    /// The one condition of an entity that `of` finds in its owner, which the condition does not keep alive.
    pub(crate) fn condition<O: Send + Sync + 'static>(
        &self,
        owner: &Arc<O>,
        of: impl Fn(&O) -> &Self + Send + Sync + 'static,
    ) -> StatusCondition {
        let owner = Arc::downgrade(owner);
        let handle = self.handle;
        let make = || {
            StatusCondition::new(
                Arc::clone(&self.signal),
                move || handle,
                move || owner.upgrade().map_or(StatusMask::NONE, |owner| of(&owner).changes()),
            )
        };
        self.condition.get(|| self.is_deleted(), make)
    }
}
