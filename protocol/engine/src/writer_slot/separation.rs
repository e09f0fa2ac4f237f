//! DDS 1.4 §2.2.3.12 TIME_BASED_FILTER at the writer: whether readers are sent less may depend on who else writes.

use alloc::vec::Vec;

use dunlin_core::{Duration, Guid, Now};
use dunlin_rtps::ChangeKind;

use super::{WriterCore, WriterSlot};
use crate::output::Output;

impl WriterCore {
    /// Keeps a minimum separation towards a matched reader, or none.
    pub(super) fn set_separation(&mut self, now: Now, reader: Guid, minimum: Duration, out: &mut Output) {
        self.progressing(out, |core, out| {
            core.writer.set_reader_separation(now, reader, minimum, &core.cache, &mut out.outbox);
        });
    }

    /// What is kept back leaves before the history drops it for a new change: the end of an instance takes the place of its
    /// last value under KEEP_LAST, and under BEST_EFFORT any change that of the oldest when the history is full.
    pub(super) fn let_kept_leave(&mut self, now: Now, kind: ChangeKind, out: &mut Output) {
        if !self.writer.keeps_back() {
            return;
        }
        let acked = self.writer.acked_by_all();
        self.cache.remove_acked(acked);
        if kind != ChangeKind::Alive || self.cache.gives_way().is_some_and(|sn| sn > acked) {
            self.writer.let_go(now, &self.cache, &mut out.outbox);
        }
    }
}

impl WriterSlot {
    /// Whether it matters if the topic has other writers.
    pub(crate) fn watches_other_writers(&self) -> bool {
        self.turnstile.core().filters.watches_other_writers()
    }

    /// There are other writers of the topic, or not any more.
    pub(crate) fn set_other_writers(&self, now: Now, other_writers: bool, out: &mut Output) {
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        if !core.filters.set_other_writers(other_writers) {
            return;
        }
        let changed: Vec<(Guid, Duration)> =
            core.readers.iter().map(|remote| (remote.guid, core.filters.separation_now(remote))).collect();
        for (reader, minimum) in changed {
            core.set_separation(now, reader, minimum, out);
        }
        self.arm(core, out);
    }
}
