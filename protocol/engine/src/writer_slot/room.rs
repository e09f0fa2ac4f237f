//! Room in the history of a writer (DDS 1.4 §2.2.2.4.2.11 write, §2.2.3.14 RELIABILITY): what gives way to new samples, and
//! who is told when some has.

use dunlin_buf::SharedBytes;
use dunlin_cache::AddError;
use dunlin_core::{EntityId, InstanceHandle, Now, SequenceNumber, WallTime};
use dunlin_qos::{HistoryKind, UNLIMITED};
use dunlin_rtps::ChangeKind;

use super::{WriteError, WriterCore};
use crate::output::{Event, Output};
use crate::parameters;

/// Samples beyond the backlog of inactive readers that one write releases at most: none has to wait for them all.
const RELEASED_AT_ONCE: usize = 32;

/// What readers have acknowledged.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    /// All of them.
    pub(crate) all: SequenceNumber,
    /// Those that are waited for when the history is full.
    active: SequenceNumber,
}

impl WriterCore {
    /// Whether what is said of a change can be sent, so that nothing gives way to one that is refused; prepares for a change that is
    /// for one reader alone.
    pub(super) fn admit(
        &mut self,
        (instance, kind): (InstanceHandle, ChangeKind),
        given: Option<WallTime>,
        inline_qos: Option<&SharedBytes>,
    ) -> Result<(), WriteError> {
        self.check_timestamp(given, inline_qos)?;
        self.cache.check_registered(instance, kind).map_err(|_| WriteError::NotRegistered)?;
        if inline_qos.is_some_and(parameters::is_directed) {
            self.writer.direct_changes();
        }
        Ok(())
    }

    /// Whether a source timestamp that was given may follow the last one, and can be sent. Samples that are passed on for
    /// several writers come in the order of none.
    pub(super) fn check_timestamp(
        &self,
        given: Option<WallTime>,
        inline_qos: Option<&SharedBytes>,
    ) -> Result<(), WriteError> {
        let last = self.cache.last_source_timestamp();
        let passed_on = || inline_qos.is_some_and(parameters::is_passed_on);
        let follows = |given: WallTime| last.is_none_or(|last| given >= last) || passed_on();
        let good = |given: WallTime| given.fits_the_wire() && follows(given);
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
        if self.free_acked(before, out) {
            out.tell_once(Event::AckAdvanced { writer: self.writer.guid().entity_id });
        }
    }

    /// Lets go of what is acknowledged now, and tells who waits for that room. True if all readers have acknowledged more.
    pub(crate) fn free_acked(&mut self, before: Progress, out: &mut Output) -> bool {
        let (now, id) = (self.progress(), self.writer.guid().entity_id);
        if now.all > before.all {
            self.cache.remove_acked(now.all);
        }
        if now.all > before.all || now.active > before.active {
            self.tell_space(id, out);
            self.leave_mark(now.active, out);
        }
        while let Some((remote, active)) = self.writer.next_standing() {
            out.events.push(Event::ReaderActivity { writer: id, remote, active });
        }
        now.all > before.all
    }

    /// What readers have acknowledged by now.
    pub(crate) fn progress(&self) -> Progress {
        Progress { all: self.writer.acked_by_all(), active: self.writer.acked_by_active() }
    }

    pub(super) fn tell_space(&mut self, id: EntityId, out: &mut Output) {
        if core::mem::take(&mut self.refused) {
            out.events.push(Event::SpaceFreed { writer: id });
        }
    }

    /// Makes the room that a change of this kind needs, or with `None` registering the instance, at the cost of readers that
    /// are inactive, if there are any and it is needed. If there is none even so, the history says why.
    pub(super) fn make_room_of_inactive(&mut self, instance: InstanceHandle, kind: Option<ChangeKind>) {
        if !self.writer.has_inactive_readers() {
            return;
        }
        let mut limits = (self.writer.acked_by_all(), self.writer.acked_by_active());
        self.cache.remove_acked(limits.0);
        if self.qos.resource_limits.max_samples == UNLIMITED && self.qos.history.kind == HistoryKind::KeepAll
        {
            self.keep_to_backlog(limits);
        }
        let active = limits.1;
        while let (Err(AddError::WaitForAck), _) =
            self.cache.make_room_past(instance, kind, (limits.0, limits.0))
        {
            if self.cache.retains() {
                // Only what was disposed or unregistered gives way.
                let (_, removed) = self.cache.make_room_past(instance, kind, limits);
                self.writer.note_released(active, removed);
                return;
            }
            let Some(released) = self.release_oldest(active) else { return };
            limits.0 = released;
        }
    }

    /// A history without a limit would grow as long as a reader is inactive.
    fn keep_to_backlog(&mut self, limits: (SequenceNumber, SequenceNumber)) {
        let kept = self.inactive_backlog.max(1).saturating_sub(1);
        let beyond = self.cache.owed().saturating_sub(kept);
        for _ in 0..beyond.min(RELEASED_AT_ONCE) {
            if let Some(gone) = self.cache.purge_gone(limits) {
                self.writer.note_released(limits.1, gone);
            } else if self.release_oldest(limits.1).is_none() {
                return;
            }
        }
    }

    /// Treats the oldest change as acknowledged if only inactive readers have not acknowledged it; all others have up to
    /// `active`.
    fn release_oldest(&mut self, active: SequenceNumber) -> Option<SequenceNumber> {
        let released = self.cache.first_owed().filter(|first| *first <= active)?;
        self.writer.note_released(released, 1);
        self.cache.remove_acked(released);
        Some(released)
    }
}
