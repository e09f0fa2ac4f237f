//! A participant as a member of its receive group.

mod paths;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use dunlin_buf::Outbox;
use dunlin_core::{GuidPrefix, Locator, MonoTime};
use dunlin_engine::{Event, Participant};
use dunlin_host::{SendMode, Work};
use dunlin_transport::Transport;
use paths::OtherPaths;

use crate::config::JoinError;
use crate::limiter::Limiter;
use crate::parking::{Introduction, Space};
use crate::platform::Platform;

/// Receives the events of a participant.
pub trait EventSink: Send + Sync {
    /// Something happened. Called with no lock held, on the thread that caused it; events of one call come in the order
    /// in which they became true.
    fn on_event(&self, event: &Event);
}

/// What a receive group does for its members.
pub(crate) trait GroupServices: Send + Sync {
    /// Another participant of the group, if data may be handed to it without a transport.
    fn in_process(&self, prefix: GuidPrefix) -> Option<Arc<GroupMember>>;

    /// Starts the thread for shared memory unless it runs.
    fn receive_shared(self: Arc<Self>) -> Result<(), JoinError>;

    /// Leaves work to the timer thread.
    fn defer(&self, work: Work<Arc<GroupMember>>);

    /// Pumps until `done`; false if `until` came first; `None` if the present thread cannot pump, or the group has threads.
    fn pump_until(&self, until: MonoTime, done: &mut dyn FnMut() -> bool) -> Option<bool>;
}

pub(crate) struct GroupMember {
    pub(crate) participant: Participant,
    pub(crate) sink: Arc<dyn EventSink>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) platform: Platform,
    pub(crate) space: Space,
    pub(crate) introduction: Introduction,
    /// Set once, before anything happens to the participant.
    group: OnceLock<Weak<dyn GroupServices>>,
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
    pub(crate) fn set_group(&self, group: &Arc<impl GroupServices + 'static>) {
        let group = Arc::downgrade(group);
        // A member has one group.
        let _ = self.group.set(group);
    }

    fn group(&self) -> Option<Arc<dyn GroupServices>> {
        self.group.get()?.upgrade()
    }

    /// The participant of this process that a locator means, as long as it is there.
    pub(crate) fn in_process(&self, to: &Locator) -> Option<Arc<Self>> {
        let prefix = to.participant_in_process()?;
        self.group()?.in_process(prefix)
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

    /// Waits until room was made after `ticket` was taken; false if `until` came first. Without threads nobody else makes it.
    pub(crate) fn wait_for_space(&self, ticket: usize, until: MonoTime) -> bool {
        let mut done = || self.space.ticket() != ticket;
        let pumped = self.platform.is_pumped().then(|| self.group()?.pump_until(until, &mut done)).flatten();
        pumped.unwrap_or_else(|| self.space.wait(ticket, until))
    }

    /// Leaves work to the timer thread of the group. Nobody is left to hear of it if that is gone.
    pub(crate) fn defer_to_timer(&self, work: Work<Arc<Self>>) {
        if let Some(group) = self.group() {
            group.defer(work);
            self.platform.wake_by(MonoTime(0));
        }
    }
}
