//! DDS 1.4 §2.2.3.14 RELIABILITY: how long a reader has answered nothing, and when it is asked.

use dunlin_core::{Duration, MonoTime, SequenceNumber};

/// What a writer that does not wait for inactive readers remembers of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence {
    /// What had been sent when it answered again: having acknowledged that it is active again.
    pub(crate) return_to: SequenceNumber,
    /// When it was first asked for an acknowledgment after its last answer.
    pub(crate) unanswered: Option<MonoTime>,
    /// When it was asked for the last time before it counts as inactive.
    last_call: Option<MonoTime>,
    /// When an inactive reader is asked again, and how long after the last time that is.
    probe: (MonoTime, Duration),
    /// What it asked for last although that had been sent again, and when it did so first.
    stall: Option<(Lacking, MonoTime)>,
}

/// What a reader lacks first, as its request says: when that changes, something has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::writer) enum Lacking {
    /// A change.
    Change(SequenceNumber),
    /// Fragments of a change: the first of them, and how many are named.
    Fragments(SequenceNumber, u32, u32),
}

/// Whether to wait for a reader that does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::writer) enum InactivityWait {
    /// Until then.
    Until(MonoTime),
    /// Until then, and to ask it now for the last time.
    LastCall(MonoTime),
    /// No more.
    Over,
}

impl Silence {
    /// The reader has answered.
    pub(in crate::writer) fn end(&mut self) {
        (self.unanswered, self.last_call) = (None, None);
    }

    /// Since when it asks for the same again and again although it was sent that; it asks now.
    pub(in crate::writer) fn lacks(&mut self, now: MonoTime, lacking: Lacking) -> MonoTime {
        match self.stall {
            Some((before, since)) if before == lacking => since,
            _ => {
                self.stall = Some((lacking, now));
                now
            }
        }
    }

    /// It asks for nothing.
    pub(in crate::writer) fn lacks_nothing(&mut self) {
        self.stall = None;
    }

    /// Whether to wait for a reader that has not answered `since` then and becomes inactive `after` so long. Shortly before, it
    /// is asked on its own for the last time, and it always has this `grace` to answer: a writer that stood still itself has
    /// heard nothing meanwhile, and must not take that for silence.
    pub(in crate::writer) fn patience(
        &mut self,
        now: MonoTime,
        since: MonoTime,
        after: Duration,
        grace: Duration,
    ) -> InactivityWait {
        let end = since.plus(after);
        if let Some(at) = self.last_call {
            let end = at.plus(grace).max(end);
            return if end > now { InactivityWait::Until(end) } else { InactivityWait::Over };
        }
        let call_at = MonoTime(end.0.saturating_sub(u64::try_from(grace.as_nanos()).unwrap_or(0)));
        if call_at > now {
            return InactivityWait::Until(call_at);
        }
        self.last_call = Some(now);
        InactivityWait::LastCall(now.plus(grace).max(end))
    }

    /// The reader is inactive from now on, and asked again at once, then after twice that long each time.
    pub(in crate::writer) fn begin(&mut self, now: MonoTime, period: Duration) {
        self.last_call = None;
        self.probe = (now, period);
    }

    /// Whether to ask an inactive reader now, ever less often up to every `most`.
    pub(in crate::writer) fn probes(&mut self, now: MonoTime, most: Duration) -> bool {
        let (at, interval) = self.probe;
        let probes = at <= now;
        if probes {
            let interval = interval.times(2).min(most);
            self.probe = (now.plus(interval), interval);
        }
        probes
    }

    /// When an inactive reader is asked again.
    pub(in crate::writer) fn next_probe(&self) -> MonoTime {
        self.probe.0
    }
}
