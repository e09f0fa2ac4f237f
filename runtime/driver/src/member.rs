//! A participant as a member of its receive group.

use std::sync::{Arc, PoisonError, RwLock};

use dunlin_core::Locator;
use dunlin_engine::{Event, Output, Participant, WriterSlot};
use dunlin_transport::{SendMode, Transport};

use crate::dispatch;
use crate::host::Host;
use crate::limiter::Limiter;
use crate::memory::MemoryPaths;
use crate::parking::{Introduction, Space};

/// Receives the events of a participant.
pub trait EventSink: Send + Sync {
    /// Something happened. Called with no lock held, on the thread that caused it; events of one call come in the order
    /// in which they became true.
    fn on_event(&self, event: &Event);
}

pub(crate) struct Member {
    pub(crate) participant: Participant,
    pub(crate) sink: Arc<dyn EventSink>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) host: Host,
    pub(crate) space: Space,
    pub(crate) introduction: Introduction,
    /// Who is reached through shared memory, where there is any.
    pub(crate) memory: Option<MemoryPaths>,
    /// Cleared when the participant leaves. Held for reading by library threads while they work for it and send.
    pub(crate) present: RwLock<bool>,
    /// What was told in the log.
    pub(crate) log: Limiter<&'static str>,
}

impl Member {
    /// What a library thread does for the participant; nothing once it is leaving.
    pub(crate) fn drive(self: &Arc<Self>, work: impl FnOnce(&Participant, &mut Output)) {
        dispatch::with_output(|out| {
            let present = self.present.read().unwrap_or_else(PoisonError::into_inner);
            if *present {
                work(&self.participant, out);
                self.send(out, SendMode::NonBlocking);
                self.follow_memory(out, SendMode::NonBlocking);
            }
            drop(present);
            self.conclude(out);
        });
    }

    /// Waits until no library thread works for the participant, and keeps them from it: what one of them sent after
    /// the goodbye would make others believe that the participant is still there.
    pub(crate) fn retire(&self) {
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = false;
    }

    /// Tells one event.
    pub(crate) fn tell(&self, event: &Event) {
        self.introduction.wait_for_others();
        self.sink.on_event(event);
    }

    /// Sends the output, then [concludes](Self::conclude) it.
    pub(crate) fn finish(self: &Arc<Self>, out: &mut Output, mode: SendMode) {
        self.send(out, mode);
        self.follow_memory(out, mode);
        self.conclude(out);
    }

    pub(crate) fn send(&self, out: &Output, mode: SendMode) {
        if !out.outbox.is_empty() {
            // What is lost here is repaired by the protocol or was best-effort; the transport counts it.
            let report = self.transport.send(&out.outbox, mode);
            if report.failed > 0
                && let Some(memory) = &self.memory
            {
                memory.note_failure();
            }
        }
    }

    /// Gives the readers of this process the change that a writer hands over, if it does, and the writer how far they are.
    pub(crate) fn give_to_readers(self: &Arc<Self>, slot: &WriterSlot, out: &mut Output) {
        let Some(mut handed) = out.take_handed() else { return };
        // Another thread may have had its turn since the write began, and nothing is received before it was written.
        let now = self.host.now();
        dispatch::note_caller(self);
        for at in 0..handed.places.len() {
            let Some(place) = handed.places.get(at).copied() else { break };
            if place == Locator::LOCAL {
                self.participant.on_handed_over(now, &mut handed, out);
            } else if let Some(other) = dispatch::neighbour(self, &place) {
                other.drive(|participant, out| participant.on_handed_over(now, &mut handed, out));
            }
        }
        slot.handed_over(now, &handed, out);
        out.give_back(handed);
        self.send(out, SendMode::NonBlocking);
    }

    /// Queues what the output holds for this process, wakes who waits for it, and empties it.
    pub(crate) fn conclude(self: &Arc<Self>, out: &mut Output) {
        if !out.is_empty() {
            if out.events.iter().any(|event| matches!(event, Event::SpaceFreed { .. })) {
                self.space.notify();
            }
            dispatch::queue(self, out);
        }
        let closer = out.deadline_closer;
        out.clear();
        if closer && let Some(deadline) = self.participant.next_deadline() {
            self.host.wake_by(deadline);
        }
        if self.memory.as_ref().is_some_and(MemoryPaths::take_failure) {
            self.leave_lost_memory();
        }
    }
}
