//! What writers, and the readers of replies, need of their participant.

use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, Guid, InstanceHandle, SampleIdentity, SequenceNumber, WallTime};
use dunlin_driver::{CannotWait, WriteWait};
use dunlin_engine::{ReaderSlot, WriteError as Refused, WriteRequest, WriterSlot};

use super::ParticipantInner;
use crate::error::WriteError;

fn refusal(refused: Refused, cannot_wait: Option<CannotWait>, max_blocking_time: Duration) -> WriteError {
    match refused {
        Refused::Full { .. } | Refused::AtHighWater { .. } => match cannot_wait {
            Some(CannotWait::Task) => WriteError::InTask,
            Some(CannotWait::Simulation) => WriteError::InSimulation,
            Some(CannotWait::Listener) | None => WriteError::Timeout(max_blocking_time),
        },
        Refused::OutOfResources => WriteError::OutOfResources,
        Refused::NotRegistered => WriteError::NotRegistered,
        Refused::BadTimestamp => WriteError::BadTimestamp,
        Refused::Deleted => WriteError::AlreadyDeleted,
    }
}

/// Whether a write would have to wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Now,
    /// Readers have too much to acknowledge.
    AtHighWater,
    /// The history is full.
    Full,
}

impl ParticipantInner {
    /// Whether a write of `instance` would have to wait. Then it sends what waits for more, and asks for acknowledgments.
    pub(crate) fn room(&self, slot: &WriterSlot, instance: InstanceHandle) -> Room {
        let room = match self.session.run(|now, out| slot.make_room(now, instance, out)) {
            Err(Refused::Full { .. }) => Room::Full,
            Err(Refused::AtHighWater { .. }) => Room::AtHighWater,
            _ => return Room::Now,
        };
        self.flush(slot);
        room
    }

    /// Writes with inline QoS; the number of the sample.
    pub(crate) fn write_with(
        &self,
        slot: &Arc<WriterSlot>,
        request: WriteRequest,
        inline_qos: Option<SharedBytes>,
        wait: WriteWait,
        max_blocking_time: impl FnOnce() -> Duration,
    ) -> Result<SequenceNumber, WriteError> {
        let written = self.session.write_with(slot, request, inline_qos, wait);
        written.map_err(|refused| refusal(refused, self.cannot_wait(), max_blocking_time()))
    }

    /// The same if there is room; `None` if the history is full.
    pub(crate) fn try_write_with(
        &self,
        slot: &WriterSlot,
        request: WriteRequest,
        inline_qos: Option<SharedBytes>,
    ) -> Option<Result<SequenceNumber, WriteError>> {
        match self.session.try_write_with(slot, request, inline_qos) {
            Err(Refused::Full { .. }) => None,
            written => Some(written.map_err(|refused| refusal(refused, None, Duration::ZERO))),
        }
    }

    pub(crate) fn register_instance(
        &self,
        slot: &WriterSlot,
        instance: InstanceHandle,
        key: Option<SharedBytes>,
        at: Option<WallTime>,
    ) -> Result<(), WriteError> {
        let registered = self.session.run(|now, out| slot.register_instance(now, instance, key, at, out));
        registered.map_err(|refused| match refused {
            Refused::Deleted => WriteError::AlreadyDeleted,
            Refused::BadTimestamp => WriteError::BadTimestamp,
            _ => WriteError::OutOfResources,
        })
    }

    /// Acknowledges what is stored.
    pub(crate) fn commit(&self, slot: &ReaderSlot, through: SampleIdentity) {
        self.session.run(|now, out| slot.commit(now, through, out));
    }

    /// Asks a writer until it shows that it knows a reader of this participant.
    pub(crate) fn insist(&self, slot: &ReaderSlot, writer: Guid) {
        self.session.run(|now, out| slot.insist(now, writer, out));
    }
}
