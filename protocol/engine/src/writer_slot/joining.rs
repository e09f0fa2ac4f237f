//! DDS 1.4 §2.2.3.8 LATENCY_BUDGET: a sample of a burst that joins others which wait for more. It only enters the history: it
//! sends nothing, so it needs no turn; it moves no deadline, tells nobody anything, and so needs no output.

use dunlin_core::{Duration, MonoTime, Now, SequenceNumber};
use dunlin_qos::LivelinessKind;
use dunlin_rtps::ChangeKind;

use super::high_water::HighWater;
use super::sender::Sender;
use super::{WriteRequest, WriterCore, WriterSlot};

/// So long after both clocks were read the wall clock counts as having gone on as the monotonic one: it is told when it was
/// set that much later at most.
const SAME_PACE: Duration = Duration::from_millis(1);

impl WriterSlot {
    /// Writes a sample if others of this writer wait for more, it may wait with them, and nothing else is to be done. The clocks
    /// are read with a lock held, which must not call the participant: most often the monotonic one alone.
    ///
    /// # Errors
    /// The request, to be [written](Self::write): nothing has happened.
    pub fn join(
        &self,
        mono: impl FnOnce() -> MonoTime,
        both: impl FnOnce() -> Now,
        request: WriteRequest,
    ) -> Result<SequenceNumber, WriteRequest> {
        let mut core = self.turnstile.core();
        if !core.may_join(&request) || !self.common.manual.is_idle() {
            return Err(request);
        }
        let mono = mono();
        let passed = mono.since(core.clocks.mono);
        let now = if passed <= SAME_PACE && mono >= core.clocks.mono {
            Now { mono, wall: core.clocks.wall.plus(passed) }
        } else {
            core.clocks = both();
            core.clocks
        };
        core.join(now, request)
    }
}

impl WriterCore {
    /// Whether the writer is one whose samples may wait, some do, and the history need not give up any of those for another.
    fn may_join(&self, request: &WriteRequest) -> bool {
        let away = !self.life.is_open() || self.sender != Sender::Writes || self.refused;
        self.writer.is_waiting_for_more()
            && !away
            && self.is_below_mark(HighWater::counts(&request.payload))
            && request.kind == ChangeKind::Alive
            && request.source_timestamp.is_none()
            && self.member.is_none()
            && self.qos.liveliness.kind == LivelinessKind::Automatic
            && !self.writer.keeps_back()
            && !self.writer.has_inactive_readers()
            && !self.cache.may_drop_after(request.instance, self.writer.sent_sn())
    }

    fn join(&mut self, now: Now, request: WriteRequest) -> Result<SequenceNumber, WriteRequest> {
        let Some(counts) = self.writer.may_join(now.mono, &request.payload) else { return Err(request) };
        let WriteRequest { kind, instance, source_timestamp, payload } = request;
        // The wall clock may have been set back, yet timestamps must follow the numbers.
        let last = self.cache.last_source_timestamp();
        let time = last.map_or(now.wall, |last| last.max(now.wall));
        let acked = self.writer.acked_by_all();
        let sn = self.cache.append((instance, time), payload, acked).map_err(|payload| WriteRequest {
            kind,
            instance,
            source_timestamp,
            payload,
        })?;
        self.writer.joined(now.mono, sn, counts);
        Ok(sn)
    }
}
