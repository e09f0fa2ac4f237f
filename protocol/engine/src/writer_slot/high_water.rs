//! RTPS 2.5 §8.4.7, DDS 1.4 §2.2.3.14: a soft bound of what a writer that keeps everything holds for its readers.
//!
//! KEEP_ALL without RESOURCE_LIMITS takes samples as fast as the application writes them, and a line takes them as fast as it
//! can: the difference stays in memory. Above the mark a write waits until half of it is acknowledged, or there is room for a sample
//! that is a good part of it, but not longer than max_blocking_time; then the sample is written all the same.

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, Now, SequenceNumber, defaults};
use dunlin_qos::{DataWriterQos, HistoryKind, ReliabilityKind};
use dunlin_rtps::ChangeKind;

use super::{WriteError, WriteMode, WriteRequest, WriterCore};
use crate::config::Tuning;
use crate::output::{Event, Output};

/// No write waits longer where readers have [too much](crate::Tuning::high_water) to acknowledge, however long it might block:
/// they may need the very thread that writes.
pub const LONGEST_AT_HIGH_WATER: Duration = Duration::from_secs(1);

/// The mark of one writer, and who waits at it.
#[derive(Debug)]
pub(super) struct HighWater {
    /// Octets; `usize::MAX` where no write ever waits.
    mark: usize,
    /// Writes wait until readers have no more to acknowledge than this.
    resume: Option<usize>,
    /// Octets of the last sample.
    last: usize,
}

impl HighWater {
    pub(super) fn new(qos: &DataWriterQos, tuning: &Tuning) -> Self {
        let keeps_all = qos.history.kind == HistoryKind::KeepAll;
        let waits = keeps_all && qos.reliability.kind == ReliabilityKind::Reliable && tuning.high_water > 0;
        Self { mark: if waits { tuning.high_water } else { usize::MAX }, resume: None, last: 0 }
    }

    /// Octets for which a payload counts. Lent memory is not the writer's: the lender has its own bound.
    #[inline]
    pub(super) fn counts(payload: &SharedBytes) -> usize {
        if payload.memory().is_some() { 0 } else { payload.len() }
    }

    /// For how many the last sample did.
    pub(super) fn last(&self) -> usize {
        self.last
    }
}

impl WriterCore {
    /// Whether a sample of `len` octets is surely below the mark.
    #[inline]
    pub(super) fn is_below_mark(&self, len: usize) -> bool {
        let total = self.cache.octets().saturating_add(len);
        self.high_water.mark == usize::MAX
            || (self.high_water.resume.is_none() && total <= self.high_water.mark)
    }

    /// Whether a change may be written now, if it is one that waits.
    #[inline]
    pub(super) fn check_mark_of(
        &mut self,
        now: Now,
        request: &WriteRequest,
        mode: WriteMode,
        out: &mut Output,
    ) -> Result<(), WriteError> {
        let waits = mode.waits_at_high_water && request.kind == ChangeKind::Alive && self.life.is_open();
        if waits { self.check_mark(now, HighWater::counts(&request.payload), out) } else { Ok(()) }
    }

    /// Whether a sample of `len` octets may be written now.
    #[inline]
    pub(super) fn check_mark(&mut self, now: Now, len: usize, out: &mut Output) -> Result<(), WriteError> {
        self.high_water.last = len;
        if self.is_below_mark(len) { Ok(()) } else { self.check_mark_exactly(now, len, out) }
    }

    /// The same where it is not clear. Two samples always have room, and twice what may be under way to the readers.
    #[cold]
    fn check_mark_exactly(&mut self, now: Now, len: usize, out: &mut Output) -> Result<(), WriteError> {
        let owed = self.cache.octets_behind(self.writer.acked_by_active());
        let reach = usize::try_from(self.writer.reach()).unwrap_or(usize::MAX);
        let mark = self.high_water.mark.max(len.saturating_mul(2)).max(reach.saturating_mul(2));
        let waited_for = self.high_water.resume.is_some();
        // Waking a writer for each small sample would cost more than the samples. One of large samples goes on with each, so that it
        // does not write by fits and starts.
        let resume = if len >= defaults::LARGE_SAMPLE { mark.saturating_sub(len) } else { mark / 2 };
        let room = if waited_for { resume } else { mark.saturating_sub(len) };
        if owed <= room || self.writer.is_suspended() {
            self.high_water.resume = None;
            return Ok(());
        }
        self.high_water.resume = Some(resume);
        if !waited_for {
            self.progressing(out, |core, out| {
                core.writer.request_acknowledgments(now, &core.cache, &mut out.outbox);
            });
        }
        let blocking = self.qos.reliability.max_blocking_time;
        Err(WriteError::AtHighWater {
            until: now.mono.plus(blocking.min(LONGEST_AT_HIGH_WATER)),
            give_up: now.mono.plus(blocking),
        })
    }

    /// The writer is deleted: nobody waits at its mark any more.
    pub(super) fn abandon_mark(&mut self, out: &mut Output) {
        if self.high_water.resume.take().is_some() {
            out.events.push(Event::SpaceFreed { writer: self.writer.guid().entity_id });
        }
    }

    /// Tells writes that wait at the mark when readers that are waited for have acknowledged enough.
    #[inline]
    pub(super) fn leave_mark(&mut self, active: SequenceNumber, out: &mut Output) {
        if let Some(resume) = self.high_water.resume
            && self.cache.octets_behind(active) <= resume
        {
            self.high_water.resume = None;
            out.events.push(Event::SpaceFreed { writer: self.writer.guid().entity_id });
        }
    }
}
