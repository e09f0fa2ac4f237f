//! DDS 1.4 §2.2.3.11 LIVELINESS at the writer: what counts as a sign of life, and when its absence is told.

use dunlin_core::{Duration, MonoTime, Now};
use dunlin_qos::LivelinessKind;

use super::{WriterCore, WriterSlot};
use crate::output::{Event, Output};

/// When a writer showed itself alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// Last.
    at: MonoTime,
    /// When that was last looked at.
    looked_at: MonoTime,
    /// It was silent for longer than its lease, and is so.
    lost: bool,
}

impl Shown {
    pub(super) fn at(now: MonoTime) -> Self {
        Self { at: now, looked_at: now, lost: false }
    }
}

impl WriterSlot {
    /// Asserts the liveliness of the writer, and through it of the participant (DDS 1.4 §2.2.2.4.2.22).
    pub fn assert_liveliness(&self, now: Now, out: &mut Output) {
        self.common.note_manual(now.mono, out);
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        core.note_alive(now.mono, self, out);
        if core.qos.liveliness.kind == LivelinessKind::ManualByTopic && !core.life.is_deleted() {
            core.writer.assert_liveliness(now, &core.cache, &mut out.outbox);
        }
        self.arm(core, out);
    }
}

impl WriterCore {
    /// The writer shows itself alive. A sign that comes too late, and yet before the timer, revives it.
    pub(super) fn note_alive(&mut self, now: MonoTime, slot: &WriterSlot, out: &mut Output) {
        self.check_liveliness(now, slot, out);
        self.shown.at = now;
        self.shown.lost = false;
    }

    /// When the liveliness of a manual writer is to be looked at again.
    pub(super) fn liveliness_deadline(&self) -> Option<MonoTime> {
        let lease = self.qos.liveliness.lease_duration;
        let by_participant = match self.qos.liveliness.kind {
            LivelinessKind::Automatic => return None,
            LivelinessKind::ManualByTopic => false,
            LivelinessKind::ManualByParticipant => true,
        };
        match (lease.is_infinite(), self.shown.lost) {
            (true, _) => None,
            (false, false) => Some(self.shown.at.plus(lease)),
            // Another writer may bring this one back to life, and only a look will tell.
            (false, true) => by_participant.then(|| self.shown.looked_at.plus(lease)),
        }
    }

    pub(super) fn check_liveliness(&mut self, now: MonoTime, slot: &WriterSlot, out: &mut Output) {
        if self.liveliness_deadline().is_none_or(|at| at > now) {
            return;
        }
        let lease = self.qos.liveliness.lease_duration;
        let mut known = self.shown.lost;
        if self.qos.liveliness.kind == LivelinessKind::ManualByParticipant {
            known = self.follow_participant(now, lease, slot, out);
        }
        self.shown.looked_at = now;
        self.shown.lost = self.shown.at.plus(lease) <= now;
        if self.shown.lost && !known {
            out.events.push(Event::LivelinessLost { writer: slot.id() });
        }
    }

    /// Takes over the signs of the participant since the last look. Of a silence that is over by now it is told, unless it
    /// is the one that was told of before. Whether the loss that goes on, if any, was told already.
    fn follow_participant(
        &mut self,
        now: MonoTime,
        lease: Duration,
        slot: &WriterSlot,
        out: &mut Output,
    ) -> bool {
        let manual = &slot.common.manual;
        let silence = manual.ended_silence(self.shown.at, lease);
        if silence.is_some_and(|silence| silence.later || !self.shown.lost) {
            out.events.push(Event::LivelinessLost { writer: slot.id() });
        }
        // The end of a silence may be there before it counts as the last sign.
        let age = silence.map_or(manual.age(now), |silence| silence.age(now).min(manual.age(now)));
        let age = u64::try_from(age.as_nanos()).unwrap_or(0);
        let last = self.shown.at.max(MonoTime(now.0.saturating_sub(age)));
        // What is known to the millisecond alone and not a whole one later is the same sign.
        let revived = last.since(self.shown.at) >= Duration::from_millis(1);
        self.shown.at = last;
        self.shown.lost && !revived
    }
}
