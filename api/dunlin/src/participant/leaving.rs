//! The end of writers and of their participant (DDS 1.4 §2.2.2.4.1.6 delete_datawriter, §2.2.2.2.2.3 delete_participant): who
//! waits for readers that have not acknowledged everything.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use dunlin_core::Duration;
use dunlin_driver::machine::{Machine, deadline};
use dunlin_engine::{MOST_CLOSING_WRITERS, WriterSlot};

use super::ParticipantInner;
use crate::error::WaitForError;
use crate::signal::block_until;

/// How long a writer that was deleted goes on sending to readers that have not acknowledged everything.
const LINGER: Duration = Duration::from_secs(1);
/// How often a simulated machine looks whether the writers of a participant that leaves are gone.
const LINGER_POLL: Duration = Duration::from_millis(10);

impl ParticipantInner {
    /// Leaves a deleted writer to the engine, which deletes it when its readers have everything, or [`LINGER`] from now. From
    /// now on nothing is told of it. Waits only for room, where this thread can: for as many as the engine keeps.
    pub(crate) fn close_writer(&self, slot: &WriterSlot, topic: &str) {
        let id = slot.guid().entity_id;
        self.sink.begin_to_close(id, topic);
        let room = || self.engine().closing_writers() < MOST_CLOSING_WRITERS;
        let _ = self.wait_for(&self.sink.closed, LINGER, room);
        let waits = self.run(|engine, now, out| engine.close_writer(now, slot, now.mono.plus(LINGER), out));
        if !waits {
            self.sink.has_closed(id);
        }
    }

    /// Waits until the deleted writers are gone, [`LINGER`] at most. False if there are any, and this thread cannot wait.
    pub(crate) fn wait_for_closing_writers(&self) -> bool {
        let gone = || self.engine().closing_writers() == 0;
        matches!(self.wait_for(&self.sink.closed, LINGER, gone), Ok(()) | Err(WaitForError::Timeout(_)))
    }

    /// Leaves the domain, once its deleted writers are gone.
    pub(super) fn leave(&self) {
        if self.wait_for_closing_writers() || !self.leave_later() {
            self.session.leave();
            self.presence.end();
        }
    }

    /// The process ends: sends what waits, waits for readers that have not acknowledged everything, and leaves.
    pub(crate) fn end(&self, patience: Duration) {
        let writers = self.sink.writers();
        // All send and ask before one is waited for. Those that are disabled or deleted have nothing to wait for.
        for patience in [Duration::ZERO, patience] {
            let until = deadline(patience);
            for writer in &writers {
                let _ = writer.wait_for_acknowledgments(until.since(self.now()));
            }
        }
        self.leave();
    }

    /// Lets somebody else wait for the writers and leave then. False if nobody can.
    fn leave_later(&self) -> bool {
        if self.session.is_pumped() {
            return false;
        }
        match self.session.machine() {
            Some(machine) => self.leave_in_simulation(Arc::clone(machine)),
            None => self.leave_on_a_thread(),
        }
    }

    fn leave_on_a_thread(&self) -> bool {
        let (session, sink) = (Arc::clone(&self.session), Arc::clone(&self.sink));
        let presence = Arc::clone(&self.presence);
        let work = move || {
            block_until(&[&sink.closed], LINGER, || session.participant().closing_writers() == 0);
            session.leave();
            presence.end();
        };
        thread::Builder::new().name("dunlin-leave".into()).spawn(work).is_ok()
    }

    fn leave_in_simulation(&self, machine: Arc<dyn Machine>) -> bool {
        let session = Arc::clone(&self.session);
        let until = machine.now().mono.plus(LINGER);
        Arc::clone(&machine).spawn(Box::pin(async move {
            poll_fn(|context| {
                let now = machine.now().mono;
                if session.participant().closing_writers() == 0 || now >= until {
                    return Poll::Ready(());
                }
                // Looked for, as events find nobody when the participant is gone.
                machine.wake_at(now.plus(LINGER_POLL), context.waker());
                Poll::Pending
            })
            .await;
            session.leave();
        }));
        true
    }
}
