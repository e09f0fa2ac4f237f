//! A participant as a member of its receive group.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use dunlin_buf::Outbox;
use dunlin_core::{Locator, MonoTime};
use dunlin_engine::{Event, Output, Participant};
use dunlin_host::{SendMode, Work};
use dunlin_transport::Transport;

use crate::limiter::Limiter;
use crate::machine::{self, CannotWait};
use crate::parking::{Introduction, Space};
use crate::paths::OtherPaths;
use crate::platform::Platform;
use crate::receive_group::ReceiveGroup;
use crate::thread_port::ThreadPort;

/// Receives the events of a participant.
pub trait EventSink: Send + Sync {
    /// Something happened. Called with no lock held, on the thread that caused it; events of one call come in the order
    /// in which they became true.
    fn on_event(&self, event: &Event);
}

pub(crate) struct GroupMember {
    pub(crate) participant: Participant,
    pub(crate) sink: Arc<dyn EventSink>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) platform: Platform,
    pub(crate) space: Space,
    pub(crate) introduction: Introduction,
    /// Set once, before anything happens to the participant.
    group: OnceLock<Weak<ReceiveGroup>>,
    /// Who is reached otherwise than over the network, where that is possible.
    pub(crate) paths: Option<OtherPaths>,
    /// Cleared when the participant leaves. Held for reading by library threads while they work for it and send.
    pub(crate) present: RwLock<bool>,
    /// What was told in the log.
    pub(crate) log: Limiter<&'static str>,
    /// Listeners that panicked.
    pub(crate) panics: AtomicU64,
}

impl GroupMember {
    /// A member that is not in its group yet.
    pub(crate) fn new(
        participant: Participant,
        sink: Arc<dyn EventSink>,
        transport: &Arc<dyn Transport>,
        platform: Platform,
    ) -> Self {
        Self {
            participant,
            sink,
            transport: Arc::clone(transport),
            platform,
            space: Space::default(),
            introduction: Introduction::default(),
            group: OnceLock::new(),
            paths: OtherPaths::of(&**transport),
            present: RwLock::new(true),
            log: Limiter::default(),
            panics: AtomicU64::new(0),
        }
    }

    /// Says which group the participant belongs to.
    pub(crate) fn set_group(&self, group: &Arc<ReceiveGroup>) {
        // A member has one group.
        let _ = self.group.set(Arc::downgrade(group));
    }

    pub(crate) fn group(&self) -> Option<Arc<ReceiveGroup>> {
        self.group.get()?.upgrade()
    }

    /// The participant of this process that a locator means, as long as it is there.
    pub(crate) fn in_process(&self, to: &Locator) -> Option<Arc<Self>> {
        let prefix = to.participant_in_process()?;
        self.group()?.in_process(prefix)
    }

    /// What a library thread does for the participant; nothing once it is leaving.
    pub(crate) fn drive(self: &Arc<Self>, work: impl FnOnce(&Participant, &mut Output)) {
        dunlin_host::drive(&mut ThreadPort, self, work);
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

    pub(crate) fn send(&self, outbox: &Outbox, mode: SendMode) {
        let mode = match mode {
            SendMode::Blocking => dunlin_transport::SendMode::Blocking,
            SendMode::NonBlocking => dunlin_transport::SendMode::NonBlocking,
        };
        // The transport counts what is lost here.
        let report = self.transport.send(outbox, mode);
        if report.failed > 0
            && let Some(others) = &self.paths
        {
            others.note_failure();
        }
    }

    /// Leaves work to the timer thread of the group. Nobody is left to hear of it if that is gone.
    pub(crate) fn defer_to_timer(&self, work: Work<Arc<Self>>) {
        if let Some(group) = self.group() {
            group.defer(work);
            self.platform.wake_by(MonoTime(0));
        }
    }

    /// Why the present thread cannot wait for the participant, if it cannot.
    pub(crate) fn cannot_wait(&self) -> Option<CannotWait> {
        let astray = || !self.platform.is_real() && machine::entered().is_none();
        machine::cannot_wait().or_else(|| astray().then_some(CannotWait::Simulation))
    }
}
