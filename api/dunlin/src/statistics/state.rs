//! What a participant remembers of those who subscribe to its statistics.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use dunlin_core::{Duration, Guid, MonoTime, Now};
use dunlin_engine::{Output, Participant, WriterSlot};

/// What a participant has for those who watch it.
pub(crate) struct Statistics {
    pub enabled: bool,
    pub period: Duration,
    pub state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    /// Readers of the topic in other participants.
    pub askers: BTreeSet<Guid>,
    pub writer: Option<Arc<WriterSlot>>,
    /// When the writer goes, if nobody subscribes until then.
    pub ends: Option<MonoTime>,
    /// When something was published last.
    pub last: Option<MonoTime>,
    /// Endpoints whose counters were published.
    pub published: BTreeSet<Guid>,
    /// The last of them whose turn it was.
    pub turn: Option<Guid>,
}

impl Statistics {
    pub(crate) fn new(enabled: bool, period: Duration) -> Self {
        Self { enabled, period, state: Mutex::default() }
    }

    /// Time from one publication to the next if another subscription came meanwhile.
    pub(crate) fn hurry(&self) -> Duration {
        self.period.min(Duration::from_secs(1))
    }
}

impl State {
    pub(crate) fn end(&mut self, engine: &Participant, now: Now, out: &mut Output) {
        if let Some(writer) = self.writer.take() {
            engine.delete_writer(now, &writer, out);
        }
        let last = self.last;
        *self = Self { last, ..Self::default() };
    }
}
