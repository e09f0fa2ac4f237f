//! RTPS 2.5 §8.4.10.4: the parts of what a reader remembers of a matched writer.

use dunlin_core::{Duration, MonoTime, SequenceNumber, SnRanges};

use super::super::Reassembly;
use super::super::passed_over::PassedOver;
use super::super::store::OutOfOrder;
use crate::count::CountFilter;
use crate::lazy::{Lazy, StaticDefault};
use crate::timing::earliest;

/// Whether the writer has matched this reader too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::reader) enum Acquaintance {
    /// It has not said so.
    NotShown,
    /// It has not said so, and is asked until it does.
    AskedFor,
    /// It has said something to this reader alone.
    Shown,
}

impl Acquaintance {
    /// The writer is to be asked; false if it need not be, or is already.
    pub(in crate::reader) fn ask(&mut self) -> bool {
        let first = *self == Self::NotShown;
        if first {
            *self = Self::AskedFor;
        }
        first
    }

    /// The writer has said something to this reader alone; false if it has done so before.
    pub(in crate::reader) fn show(&mut self) -> bool {
        core::mem::replace(self, Self::Shown) != Self::Shown
    }
}

/// Where this reader begins with the changes of the writer, and from where on it counts what it lacks.
#[derive(Debug, Default)]
pub(in crate::reader) struct Start {
    /// Changes through this one come before those of a volatile reader: the first GAP has said so.
    pub(super) after: SequenceNumber,
    /// Changes before this one were gone before the writer was heard, or were never meant for this reader: they are
    /// not lost.
    pub(super) uncounted_before: SequenceNumber,
    /// What the writer has is known: it was heard.
    pub(in crate::reader) heard: bool,
    /// It is certain where that is. To a volatile reader a GAP has said so, a change was delivered, or nothing was written yet when
    /// the writer met it; of a durable one the writer knows, and has said what there is. A writer that may direct nothing to one
    /// reader counts as one that knows a durable reader as soon as a change was delivered.
    pub(super) certain: bool,
    /// A change was delivered.
    pub(super) delivered: bool,
    /// It was matched before, until it was not heard for the lease of its participant.
    pub(in crate::reader) resumed: bool,
}

/// What the writer has said that it has.
#[derive(Debug)]
pub(in crate::reader) struct Announced {
    /// Changes before this one are not available any more.
    pub(super) first: SequenceNumber,
    /// Highest change that it has announced.
    pub(in crate::reader) last: SequenceNumber,
    /// The last change of the history; unknown until the writer says what it has.
    pub(super) historical_last: SequenceNumber,
    pub(in crate::reader) heartbeats: CountFilter,
    pub(in crate::reader) fragment_heartbeats: Lazy<CountFilter>,
}

impl Default for Announced {
    fn default() -> Self {
        Self {
            first: SequenceNumber::ZERO,
            last: SequenceNumber::ZERO,
            historical_last: SequenceNumber::UNKNOWN,
            heartbeats: CountFilter::default(),
            fragment_heartbeats: Lazy::default(),
        }
    }
}

/// What is known of changes behind those that were delivered.
#[derive(Debug, Default)]
pub(in crate::reader) struct Ahead {
    /// Those that have arrived before others that are missing.
    pub(in crate::reader) store: Lazy<OutOfOrder>,
    /// Those of which a part has arrived.
    pub(in crate::reader) partials: Lazy<Reassembly>,
    /// Those from the expected one on that will not come.
    pub(super) irrelevant: SnRanges,
    pub(super) passed_over: Lazy<PassedOver>,
}

/// Most ECHOs to one writer in a millisecond. A writer with the usual window asks so often at 130 Gbit/s.
const MAX_ECHOES: u32 = 256;

/// Bounds how many ECHOs a writer is sent, whoever asks in its name.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::reader) struct EchoGate {
    since: MonoTime,
    sent: u32,
}

impl StaticDefault for EchoGate {
    const STATIC_DEFAULT: &'static Self = &Self { since: MonoTime(0), sent: 0 };
}

impl EchoGate {
    /// Whether one more may be sent.
    pub(in crate::reader) fn pass(&mut self, now: MonoTime) -> bool {
        if now.since(self.since) >= Duration::from_millis(1) {
            *self = Self { since: now, sent: 0 };
        }
        self.sent = self.sent.saturating_add(1);
        self.sent <= MAX_ECHOES
    }
}

/// When the writer is next told something.
#[derive(Debug)]
pub(in crate::reader) struct AckState {
    /// An answer to a HEARTBEAT.
    pub(in crate::reader) due: Option<MonoTime>,
    /// An ACKNACK that asks a silent writer for a HEARTBEAT.
    pub(in crate::reader) preemptive_due: Option<MonoTime>,
    pub(in crate::reader) preemptive_interval: Duration,
    /// A request that has not been served.
    pub(in crate::reader) retry_due: Option<MonoTime>,
    pub(in crate::reader) retry_interval: Duration,
    pub(in crate::reader) sent_at: Option<MonoTime>,
    /// Base of the last ACKNACK.
    pub(in crate::reader) sent_base: SequenceNumber,
    /// Highest change that was announced when it was sent: what was missing up to there has been requested.
    pub(in crate::reader) sent_announced: SequenceNumber,
    /// Least time to an ACKNACK that says nothing new.
    pub(in crate::reader) quiet: Duration,
    /// Few are asked for ECHOs.
    pub(in crate::reader) echoes: Lazy<EchoGate>,
}

impl AckState {
    pub(super) fn new(quiet: Duration) -> Self {
        Self {
            due: None,
            preemptive_due: None,
            preemptive_interval: Duration::from_millis(10),
            retry_due: None,
            retry_interval: Duration::ZERO,
            sent_at: None,
            sent_base: SequenceNumber::ZERO,
            sent_announced: SequenceNumber::ZERO,
            quiet,
            echoes: Lazy::default(),
        }
    }

    pub(in crate::reader) fn deadline(&self) -> Option<MonoTime> {
        earliest(earliest(self.due, self.preemptive_due), self.retry_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_asked_once_and_not_after_it_has_shown_itself() {
        let mut acquaintance = Acquaintance::NotShown;
        assert!(acquaintance.ask() && !acquaintance.ask());
        assert!(acquaintance.show() && !acquaintance.show() && !acquaintance.ask());
        assert_eq!(acquaintance, Acquaintance::Shown);
    }
}
