//! A participant as a member of its receive group.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};

use dunlin_core::{Duration, MonoTime};
use dunlin_engine::{Event, Output, Participant};
use dunlin_transport::{SendMode, Transport};

use crate::clock;
use crate::dispatch;
use crate::lock::lock;
use crate::timer::Timer;

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
    pub(crate) timer: Arc<Timer>,
    pub(crate) space: Space,
    pub(crate) introduction: Introduction,
    /// Cleared when the participant leaves. Held for reading by library threads while they work for it and send.
    pub(crate) present: RwLock<bool>,
}

impl Member {
    /// What a library thread does for the participant; nothing once it is leaving.
    pub(crate) fn drive(self: &Arc<Self>, work: impl FnOnce(&Participant, &mut Output)) {
        dispatch::with_output(|out| {
            let present = self.present.read().unwrap_or_else(PoisonError::into_inner);
            if *present {
                work(&self.participant, out);
                self.send(out, SendMode::NonBlocking);
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
        self.conclude(out);
    }

    pub(crate) fn send(&self, out: &Output, mode: SendMode) {
        if !out.outbox.is_empty() {
            // What is lost here is repaired by the protocol or was best-effort; the transport counts it.
            self.transport.send(&out.outbox, mode);
        }
    }

    /// Queues what the output holds for this process, wakes who waits for it, and empties it.
    pub(crate) fn conclude(self: &Arc<Self>, out: &mut Output) {
        if out.events.iter().any(|event| matches!(event, Event::SpaceFreed { .. })) {
            self.space.notify();
        }
        if !out.is_empty() {
            dispatch::queue(self, out);
        }
        let closer = out.deadline_closer;
        out.clear();
        if closer && let Some(deadline) = self.participant.next_deadline() {
            self.timer.wake_by(deadline);
        }
    }
}

/// Lets an entity be made and made known to the sink before any thread tells an event of it.
#[derive(Default)]
pub(crate) struct Introduction {
    going_on: AtomicUsize,
    gate: RwLock<()>,
}

impl Introduction {
    /// Runs `f`; events that come true meanwhile on other threads are told when it has returned.
    pub(crate) fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Ended<'a>(&'a AtomicUsize);
        impl Drop for Ended<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, SeqCst);
            }
        }
        self.going_on.fetch_add(1, SeqCst);
        let _ended = Ended(&self.going_on);
        let _guard = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        f()
    }

    /// An event of an entity comes after its making, and whoever sees it sees the count of then.
    fn wait_for_others(&self) {
        if self.going_on.load(SeqCst) > 0 {
            drop(self.gate.read().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Where writers wait for room in their history.
#[derive(Default)]
pub(crate) struct Space {
    /// Counts the times that room was made; changed under `lock` only.
    generation: AtomicUsize,
    waiting: AtomicUsize,
    lock: Mutex<()>,
    freed: Condvar,
}

impl Space {
    /// To be taken before the attempt that may fail.
    pub(crate) fn ticket(&self) -> usize {
        self.generation.load(SeqCst)
    }

    /// Somebody should try again: there is room, or something else has changed that he waits for.
    pub(crate) fn notify(&self) {
        let guard = lock(&self.lock);
        self.generation.fetch_add(1, SeqCst);
        drop(guard);
        if self.waiting.load(SeqCst) > 0 {
            self.freed.notify_all();
        }
    }

    /// True while a thread waits.
    pub(crate) fn has_waiters(&self) -> bool {
        self.waiting.load(SeqCst) > 0
    }

    /// Waits until room was made after `ticket` was taken; false if `until` came first.
    pub(crate) fn wait(&self, ticket: usize, until: MonoTime) -> bool {
        self.waiting.fetch_add(1, SeqCst);
        let changed = self.wait_for_change(ticket, until);
        self.waiting.fetch_sub(1, SeqCst);
        changed
    }

    fn wait_for_change(&self, ticket: usize, until: MonoTime) -> bool {
        let mut guard = lock(&self.lock);
        while self.generation.load(SeqCst) == ticket {
            let left = until.since(clock::mono());
            if left <= Duration::ZERO {
                return false;
            }
            guard = match left.to_std().filter(|_| until != MonoTime::MAX) {
                Some(left) => self.freed.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.freed.wait(guard).unwrap_or_else(PoisonError::into_inner),
            };
        }
        true
    }
}
