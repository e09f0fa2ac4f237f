//! How instances change their state (DDS 1.4 §2.2.2.5.1.3 and figure 2.11).

use dunlin_core::{Guid, Identities, InstanceHandle, MonoTime, Now, SequenceNumber, VendorId, WallTime};

use super::ReaderCache;
use super::sample::{Sample, boxed};
use super::states::{InstanceState, ViewState};
use crate::list::Links;
use crate::slab::{Id, NIL};

/// What brought about a change of state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause {
    pub(super) writer: Guid,
    pub(super) sn: SequenceNumber,
    pub(super) source: WallTime,
    pub(super) identities: Identities,
}

impl ReaderCache {
    /// A sample arrived, or a writer is alive again: the instance is alive, and new if it was not.
    pub(super) fn revive(&mut self, id: Id) {
        let Some(instance) = self.instances.kept_mut(id) else { return };
        let generations = match instance.state {
            InstanceState::Alive => return,
            InstanceState::NotAliveDisposed => &mut instance.disposed_generations,
            InstanceState::NotAliveNoWriters => &mut instance.no_writers_generations,
        };
        *generations = generations.saturating_add(1);
        self.timers.purges.remove(id);
        self.set_states(id, InstanceState::Alive, ViewState::New);
    }

    /// A writer disposed the instance. True unless it was disposed before.
    pub(super) fn become_disposed(&mut self, now: Now, id: Id, cause: &Cause) -> bool {
        let Some(instance) = self.instances.kept(id) else { return false };
        if instance.state == InstanceState::NotAliveDisposed {
            return false;
        }
        // The value that the time-based filter held back is overtaken by the disposal.
        self.remove_sample(instance.pending);
        self.leave_alive(now, id, InstanceState::NotAliveDisposed, cause);
        true
    }

    /// The last writer is gone. True if the instance was alive: a disposed one stays disposed.
    pub(super) fn become_writerless(&mut self, now: Now, id: Id, cause: &Cause) -> bool {
        let Some(instance) = self.instances.kept(id) else { return false };
        if instance.state != InstanceState::Alive {
            return false;
        }
        self.leave_alive(now, id, InstanceState::NotAliveNoWriters, cause);
        true
    }

    fn leave_alive(&mut self, now: Now, id: Id, state: InstanceState, cause: &Cause) {
        self.stop_deadline(now, id);
        let Some(instance) = self.instances.kept_mut(id) else { return };
        instance.ended = now.mono;
        let view = instance.view;
        self.set_states(id, state, view);
        self.announce(now, id, cause);
        self.schedule_purge(id);
        if self.timers.purges.time(id).is_some_and(|due| due <= now.mono) {
            self.timers.purges.remove(id);
            self.purge(id);
        }
    }

    /// Sets when the samples of an instance that is not alive go, counted from its end; that may be over.
    pub(super) fn schedule_purge(&mut self, id: Id) {
        let Some(instance) = self.instances.kept(id) else { return };
        let delays = self.config.lifecycle;
        let delay = match instance.state {
            InstanceState::Alive => return,
            InstanceState::NotAliveDisposed => delays.autopurge_disposed_samples_delay,
            InstanceState::NotAliveNoWriters => delays.autopurge_nowriter_samples_delay,
        };
        if delay.is_infinite() {
            self.timers.purges.remove(id);
        } else {
            self.timers.purges.set(id, instance.ended.plus(delay));
        }
    }

    /// Adds a sample without data unless an unread sample shows the new state of the instance anyway.
    pub(super) fn announce(&mut self, now: Now, id: Id, cause: &Cause) {
        let Some(instance) = self.instances.kept(id) else { return };
        if self.config.every_change {
            // Ends that a message brings are shown when it arrives.
            if cause.sn == SequenceNumber::ZERO {
                self.show_end(now, id, instance.state, cause);
            }
            return;
        }
        if instance.unread.get() > 0 {
            return;
        }
        self.discard(instance.marker);
        let marker = self.add_marker(now, id, None, cause);
        if let Some(instance) = self.instances.kept_mut(id) {
            instance.marker = marker;
        }
    }

    /// Where every change is shown: the end of an instance, as a sample of its own. One that no message brought takes the place of
    /// another such that stands directly before it.
    pub(super) fn show_end(&mut self, now: Now, id: Id, end: InstanceState, cause: &Cause) {
        let Some(instance) = self.instances.kept(id) else { return };
        let last = instance.samples.tail();
        let is_silent = |sample: &Sample| sample.end.is_some() && sample.sn == SequenceNumber::ZERO;
        if cause.sn == SequenceNumber::ZERO && self.samples.get(last).is_some_and(is_silent) {
            self.remove_sample(last);
        }
        self.make_way(id);
        self.add_marker(now, id, Some(end), cause);
        self.note_danger(id);
    }

    /// Adds a sample without data, behind the others of its instance.
    fn add_marker(&mut self, now: Now, id: Id, end: Option<InstanceState>, cause: &Cause) -> Id {
        let Some(instance) = self.instances.kept(id) else { return NIL };
        let (disposed_generations, no_writers_generations) =
            (instance.disposed_generations, instance.no_writers_generations);
        let marker = Sample {
            instance: id,
            writer: cause.writer,
            sn: cause.sn,
            source: cause.source,
            reception: now.wall,
            payload: None,
            identities: boxed(cause.identities),
            vendor: VendorId::UNKNOWN,
            read: false,
            pending: false,
            end,
            disposed_generations,
            no_writers_generations,
            of_instance: Links::NONE,
            arrival: Links::NONE,
            unread: Links::NONE,
        };
        let marker = self.keep(marker, MonoTime::MAX);
        let after = self.instances.kept(id).map_or(NIL, |instance| instance.samples.tail());
        self.attach(marker, after);
        marker
    }

    /// Whether a change that ended an instance has a sample of its own, or is seen in one before it.
    #[must_use]
    pub fn shows_end(&self, instance: InstanceHandle, writer: Guid, sn: SequenceNumber) -> bool {
        let every = self.config.every_change;
        let marker = self.find(self.shown(instance)).and_then(|id| self.instances.get(id));
        let marker = marker.map(|it| if every { it.samples.tail() } else { it.marker });
        let marker = marker.and_then(|marker| self.samples.get(marker));
        marker.is_some_and(|marker| (marker.writer, marker.sn) == (writer, sn))
    }

    /// Removes the samples of an instance that is not alive (READER_DATA_LIFECYCLE, DDS 1.4 §2.2.3.22); without
    /// writers the instance goes too.
    pub(super) fn purge(&mut self, id: Id) {
        while let Some(instance) = self.instances.get(id)
            && !instance.samples.is_empty()
        {
            let first = instance.samples.head();
            self.discard(first);
        }
        let Some(instance) = self.instances.kept(id) else { return };
        self.remove_sample(instance.pending);
        self.forget_if_unused(id);
    }
}
