//! RTPS 2.5 §8.3.8.6 Heartbeat: one that says that changes are gone which nobody has announced. A writer that overwrites what it wrote
//! says so, and so does somebody else in its name. It is asked whether the changes are gone: if it has them, it sends them.

use dunlin_core::{Duration, MonoTime, SequenceNumber};

/// So long it has to be said before it is believed: a question and an answer.
const ASKED: Duration = Duration::from_millis(10);
/// The same once it was wrong.
const ASKED_AGAIN: Duration = Duration::from_secs(1);
/// How long that counts.
const REMEMBERED: Duration = Duration::from_secs(10);

/// What is said to be gone and is not believed yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    /// Changes before this one, since when.
    before: Option<SequenceNumber>,
    since: MonoTime,
    /// When the last one was said that was wrong.
    wrong: Option<MonoTime>,
}

impl Suspect {
    pub(super) const NOTHING: Self = Self { before: None, since: MonoTime(0), wrong: None };

    /// Changes before `first` are said to be gone. Whether that has been said for so long, and nothing has contradicted, that it is
    /// believed.
    pub(super) fn is_confirmed(&mut self, now: MonoTime, first: SequenceNumber) -> bool {
        if self.before.replace(first).is_none() {
            self.since = now;
            return false;
        }
        let wrong_before = self.wrong.is_some_and(|at| now.since(at) < REMEMBERED);
        let confirmed = now.since(self.since) >= if wrong_before { ASKED_AGAIN } else { ASKED };
        if confirmed {
            self.before = None;
        }
        confirmed
    }

    /// A change came that was said to be gone, or a HEARTBEAT that does not say so.
    pub(super) fn contradict(&mut self) {
        if self.before.take().is_some() {
            self.wrong = Some(self.since);
        }
    }
}

impl Default for Suspect {
    fn default() -> Self {
        Self::NOTHING
    }
}
