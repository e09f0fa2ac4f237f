//! What happens in a reader's cache as time passes (DDS 1.4 §2.2.3.7 DEADLINE, §2.2.3.12 TIME_BASED_FILTER,
//! §2.2.3.16 LIFESPAN, §2.2.3.22 READER_DATA_LIFECYCLE).

use alloc::vec::Vec;

use dunlin_core::{Duration, Identities, MonoTime, Now, SequenceNumber};
use dunlin_qos::ReaderDataLifecycle;

use super::ReaderCache;
use super::config::ReaderTimerReport;
use super::states::InstanceState;
use super::transition::Cause;
use crate::slab::{Id, NIL};
use crate::timers::{DeadlineMissed, TimerHeap, next_look, periods_missed};

#[derive(Clone, Copy)]
enum Due {
    Expiry,
    Separation,
    Deadline,
    Purge,
}

impl ReaderCache {
    /// When [`ReaderCache::on_timer`] has work, at the earliest.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        if !self.timers.overdue.is_empty() {
            return Some(MonoTime(0));
        }
        self.next_due().map(|(time, _, _)| time)
    }

    fn next_due(&self) -> Option<(MonoTime, Id, Due)> {
        let first = |heap: &TimerHeap, due: Due| heap.peek().map(|(time, id)| (time, id, due));
        let all = [
            first(&self.timers.expiries, Due::Expiry),
            first(&self.timers.separations, Due::Separation),
            first(&self.timers.deadlines, Due::Deadline),
            first(&self.timers.purges, Due::Purge),
        ];
        all.into_iter().flatten().min_by_key(|(time, _, _)| *time)
    }

    /// Does what is due, in the order of time: removes expired and purged samples, shows what the time-based filter
    /// held back, and reports instances without a sample within the deadline period.
    pub fn on_timer(&mut self, now: Now, missed: &mut Vec<DeadlineMissed>) -> ReaderTimerReport {
        let mut report = ReaderTimerReport::default();
        while let Some((time, id, due)) = self.next_due()
            && time <= now.mono
        {
            match due {
                Due::Expiry => {
                    report.data_available |= self.expire(now, id);
                }
                Due::Separation => report.data_available |= self.show_pending(now, id),
                Due::Deadline => self.deadline_due(now, id),
                Due::Purge => {
                    self.timers.purges.remove(id);
                    self.purge(id);
                }
            }
        }
        missed.append(&mut self.timers.overdue);
        report
    }

    /// Removes an expired sample. True if it was to show that its instance is no longer alive, so that a sample
    /// without data takes its place.
    fn expire(&mut self, now: Now, id: Id) -> bool {
        let Some(sample) = self.samples.kept(id) else { return false };
        let (owner, unread) = (sample.instance, !sample.read && !sample.pending);
        let cause = Cause {
            writer: sample.writer,
            sn: SequenceNumber::ZERO,
            source: sample.source,
            identities: Identities::default(),
        };
        self.discard(id);
        let Some(instance) = self.instances.kept(owner) else { return false };
        let silent = unread && instance.unread.get() == 0 && instance.state != InstanceState::Alive;
        if silent {
            self.announce(now, owner, &cause);
        }
        self.forget_if_unused(owner);
        silent
    }

    /// The minimum separation is over: shows the sample that was held back.
    fn show_pending(&mut self, now: Now, id: Id) -> bool {
        self.timers.separations.remove(id);
        let Some(instance) = self.instances.kept_mut(id) else { return false };
        let sample = core::mem::replace(&mut instance.pending, NIL);
        let Some(held) = self.samples.kept_mut(sample) else { return false };
        held.pending = false;
        self.show(now, id, sample);
        true
    }

    /// The timer of an instance may be early, because a sample only notes when the next one is due.
    fn deadline_due(&mut self, now: Now, id: Id) {
        self.settle_deadline(now, id);
        match self.instances.kept(id).map(|instance| instance.deadline) {
            Some(due) if due != MonoTime::MAX => {
                self.timers.deadlines.set(id, next_look(now.mono, due, self.config.deadline));
            }
            _ => self.timers.deadlines.remove(id),
        }
    }

    /// Counts the periods that have passed without a sample. Whatever ends a period does so first: how often a deadline
    /// was missed must not depend on whether the sample or the timer comes first when both are late.
    fn settle_deadline(&mut self, now: Now, id: Id) {
        let Some(instance) = self.instances.kept_mut(id).filter(|instance| instance.deadline <= now.mono)
        else {
            return;
        };
        let (count, next) = periods_missed(instance.deadline, now.mono, self.config.deadline);
        instance.deadline = next;
        self.timers.overdue.push(DeadlineMissed { instance: instance.handle, count });
    }

    /// The instance got a sample: the next one is due one period later.
    pub(super) fn start_deadline(&mut self, now: Now, id: Id) {
        if self.config.deadline.is_infinite() {
            return;
        }
        self.settle_deadline(now, id);
        let due = now.mono.plus(self.config.deadline);
        if let Some(instance) = self.instances.kept_mut(id) {
            instance.deadline = due;
            if !self.timers.deadlines.is_set(id) {
                self.timers.deadlines.set(id, due);
            }
        }
    }

    /// The instance is no longer alive: no sample is due.
    pub(super) fn stop_deadline(&mut self, now: Now, id: Id) {
        self.settle_deadline(now, id);
        if let Some(instance) = self.instances.kept_mut(id) {
            instance.deadline = MonoTime::MAX;
        }
    }

    fn alive_instances(&self) -> Vec<Id> {
        let alive = self.instances.iter().filter(|(_, instance)| instance.state == InstanceState::Alive);
        alive.map(|(id, _)| id).collect()
    }

    /// Changes the DEADLINE period; it starts anew for every instance.
    pub fn set_deadline(&mut self, now: Now, period: Duration) {
        let alive = self.alive_instances();
        alive.iter().for_each(|id| self.stop_deadline(now, *id));
        self.config.deadline = period;
        self.timers.deadlines.clear();
        alive.into_iter().for_each(|id| self.start_deadline(now, id));
        let end = now.mono.plus(period);
        self.restart_registrations(end);
    }

    /// Changes the minimum separation of the TIME_BASED_FILTER, also for what is held back: it counts from the sample that
    /// was shown last. What has waited long enough by it is shown with the next [`ReaderCache::on_timer`].
    pub fn set_minimum_separation(&mut self, separation: Duration) {
        if self.config.minimum_separation == separation {
            return;
        }
        self.config.minimum_separation = separation;
        let held = self.instances.iter().filter(|(_, instance)| instance.pending != NIL);
        let shown = held.filter_map(|(id, instance)| Some((id, instance.delivered?)));
        let due: Vec<(Id, MonoTime)> = shown.map(|(id, shown)| (id, shown.plus(separation))).collect();
        due.into_iter().for_each(|(id, due)| self.timers.separations.set(id, due));
    }

    /// Changes READER_DATA_LIFECYCLE, also for instances that are not alive: their delays count from when they ended. What
    /// is over already goes with the next [`ReaderCache::on_timer`].
    pub fn set_lifecycle(&mut self, lifecycle: ReaderDataLifecycle) {
        if self.config.lifecycle == lifecycle {
            return;
        }
        self.config.lifecycle = lifecycle;
        let ended = self.instances.iter().filter(|(_, instance)| instance.state != InstanceState::Alive);
        let ended: Vec<Id> = ended.map(|(id, _)| id).collect();
        ended.into_iter().for_each(|id| self.schedule_purge(id));
    }
}
