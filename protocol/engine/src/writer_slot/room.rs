//! Room in the history of a writer (DDS 1.4 §2.2.2.4.2.11 write, §2.2.3.14 RELIABILITY): what gives way to new samples, and
//! who is told when some has.

use dunlin_cache::{AddError, WriterCache};
use dunlin_core::{EntityId, InstanceHandle, Now, SequenceNumber, WallTime};
use dunlin_qos::UNLIMITED;

use super::{WriteError, WriterCore};
use crate::output::{Event, Output};

/// Samples beyond the backlog of inactive readers that one write releases at most: none has to wait for them all.
const RELEASED_AT_ONCE: usize = 32;

/// What readers have acknowledged.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    /// All of them.
    pub(super) all: SequenceNumber,
    /// Those that are waited for when the history is full.
    active: SequenceNumber,
}

impl WriterCore {
    /// Whether a source timestamp that was given may follow the last one, and can be sent.
    pub(super) fn check_timestamp(&self, given: Option<WallTime>) -> Result<(), WriteError> {
        let last = self.cache.last_source_timestamp();
        let good = |given: WallTime| given.fits_the_wire() && last.is_none_or(|last| given >= last);
        if given.is_none_or(good) { Ok(()) } else { Err(WriteError::BadTimestamp) }
    }

    /// Turns a refusal of the history into one of the writer. Before a caller waits for acknowledgements, readers
    /// are asked for them.
    pub(super) fn refuse(&mut self, now: Now, error: AddError, out: &mut Output) -> WriteError {
        match error {
            AddError::WaitForAck => {
                self.refused = true;
                // What was kept back for best-effort readers alone may go now, and no acknowledgment will say so.
                self.progressing(out, |core, out| {
                    core.writer.request_acknowledgments(now, &core.cache, &mut out.outbox);
                });
                WriteError::Full { until: now.mono.plus(self.qos.reliability.max_blocking_time) }
            }
            AddError::OutOfResources => WriteError::OutOfResources,
            AddError::NotRegistered => WriteError::NotRegistered,
        }
    }

    /// Lets the protocol do something after which more may be acknowledged, and does what follows from that. Whatever sends,
    /// hears from readers, or changes which there are goes through here; only `write` looks itself.
    pub(super) fn progressing<T>(
        &mut self,
        out: &mut Output,
        act: impl FnOnce(&mut Self, &mut Output) -> T,
    ) -> T {
        self.report_group();
        let before = self.progress();
        let result = act(self, out);
        self.after_ack(before, out);
        result
    }

    /// What follows when more than `before` may be acknowledged.
    pub(super) fn after_ack(&mut self, before: Progress, out: &mut Output) {
        let (now, id) = (self.progress(), self.writer.guid().entity_id);
        if now.all > before.all {
            self.cache.remove_acked(now.all);
            out.tell_once(Event::AckAdvanced { writer: id });
        }
        if now.all > before.all || now.active > before.active {
            self.tell_space(id, out);
        }
        while let Some((remote, active)) = self.writer.next_standing() {
            out.events.push(Event::ReaderActivity { writer: id, remote, active });
        }
    }

    /// What readers have acknowledged by now.
    pub(super) fn progress(&self) -> Progress {
        Progress { all: self.writer.acked_by_all(), active: self.writer.acked_by_active() }
    }

    /// Tries to find room in the history; what only inactive readers have not acknowledged gives way, oldest first.
    pub(super) fn find_room<T>(
        &mut self,
        mut attempt: impl FnMut(&mut WriterCache, SequenceNumber) -> Result<T, AddError>,
    ) -> Result<T, AddError> {
        let (mut acked, active) = (self.writer.acked_by_all(), self.writer.acked_by_active());
        loop {
            let result = attempt(&mut self.cache, acked);
            if !matches!(result, Err(AddError::WaitForAck)) || !self.cache.releases_acknowledged() {
                return result;
            }
            let Some(released) = self.release_oldest(active) else { return result };
            acked = released;
        }
    }

    pub(super) fn tell_space(&mut self, id: EntityId, out: &mut Output) {
        if core::mem::take(&mut self.refused) {
            out.events.push(Event::SpaceFreed { writer: id });
        }
    }

    /// Makes the room that a sample needs at the cost of readers that are inactive, if there are any and it is needed.
    pub(super) fn make_room_of_inactive(&mut self, instance: InstanceHandle) {
        if !self.writer.has_inactive_readers() || !self.cache.releases_acknowledged() {
            return;
        }
        if self.qos.resource_limits.max_samples == UNLIMITED {
            self.keep_to_backlog();
        }
        // If there is no room even so, writing says why.
        let _ = self.find_room(|cache, acked| cache.make_room_for(instance, acked));
    }

    /// A history without a limit would grow as long as a reader is inactive.
    fn keep_to_backlog(&mut self) {
        let active = self.writer.acked_by_active();
        let kept = self.inactive_backlog.max(1).saturating_sub(1);
        let beyond = self.cache.len().saturating_sub(kept);
        for _ in 0..beyond.min(RELEASED_AT_ONCE) {
            if self.release_oldest(active).is_none() {
                return;
            }
        }
    }

    /// Removes the oldest sample if only inactive readers have not acknowledged it; all others have up to `active`.
    fn release_oldest(&mut self, active: SequenceNumber) -> Option<SequenceNumber> {
        let released = self.writer.release_next(active, &self.cache)?;
        self.cache.remove_acked(released);
        Some(released)
    }
}
