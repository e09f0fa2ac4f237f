//! LIFESPAN and DEADLINE at the writer (DDS 1.4 §2.2.3.16, §2.2.3.7).

use alloc::vec::Vec;

use dunlin_core::{Duration, MonoTime, Now};

use super::WriterCache;
use crate::slab::Id;
use crate::timers::{DeadlineMissed, TimerHeap, next_look, periods_missed};

impl WriterCache {
    /// When [`WriterCache::on_timer`] has work, at the earliest.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        if !self.overdue.is_empty() {
            return Some(MonoTime(0));
        }
        let first = |heap: &TimerHeap| heap.peek().map(|(time, _)| time);
        let cleanup = self.service.as_ref().and_then(super::service::Service::next_cleanup);
        [first(&self.expiries), first(&self.deadlines), cleanup].into_iter().flatten().min()
    }

    /// Removes expired samples and reports instances that were not written within the deadline period. Returns how
    /// many samples were removed: blocked writes may go on.
    pub fn on_timer(&mut self, now: Now, missed: &mut Vec<DeadlineMissed>) -> usize {
        let before = self.changes.len();
        while let Some((time, id)) = self.expiries.peek()
            && time <= now.mono
        {
            self.remove_change(id);
        }
        while let Some((time, id)) = self.deadlines.peek()
            && time <= now.mono
        {
            self.deadline_due(now, id);
        }
        self.cleanups_due(now);
        missed.append(&mut self.overdue);
        before.saturating_sub(self.changes.len())
    }

    /// The timer of an instance may be early, because writing only notes when the next write is due.
    fn deadline_due(&mut self, now: Now, id: Id) {
        self.settle_deadline(now, id);
        match self.instances.kept(id).map(|instance| instance.deadline) {
            Some(due) if due != MonoTime::MAX => {
                self.deadlines.set(id, next_look(now.mono, due, self.config.deadline));
            }
            _ => self.deadlines.remove(id),
        }
    }

    /// Counts the periods that have passed without a write. Whatever ends a period does so first: how often a deadline
    /// was missed must not depend on whether the write or the timer comes first when both are late.
    fn settle_deadline(&mut self, now: Now, id: Id) {
        let Some(instance) = self.instances.kept_mut(id).filter(|instance| instance.deadline <= now.mono)
        else {
            return;
        };
        let (count, next) = periods_missed(instance.deadline, now.mono, self.config.deadline);
        instance.deadline = next;
        let instance = self.config.show(instance.handle);
        self.overdue.push(DeadlineMissed { instance, count });
    }

    /// The instance was written or registered: the next write is due one period later.
    pub(super) fn start_deadline(&mut self, now: Now, id: Id) {
        if self.config.deadline.is_infinite() {
            return;
        }
        self.settle_deadline(now, id);
        let due = now.mono.plus(self.config.deadline);
        if let Some(instance) = self.instances.kept_mut(id) {
            instance.deadline = due;
            if !self.deadlines.is_set(id) {
                self.deadlines.set(id, due);
            }
        }
    }

    /// The instance was disposed or unregistered: no write is due.
    pub(super) fn stop_deadline(&mut self, now: Now, id: Id) {
        self.settle_deadline(now, id);
        if let Some(instance) = self.instances.kept_mut(id) {
            instance.deadline = MonoTime::MAX;
        }
    }

    /// Changes the DEADLINE period; it starts anew for every instance.
    pub fn set_deadline(&mut self, now: Now, period: Duration) {
        let in_use: Vec<Id> = self
            .instances
            .iter()
            .filter(|(_, instance)| instance.registered && !instance.disposed)
            .map(|(id, _)| id)
            .collect();
        in_use.iter().for_each(|id| self.stop_deadline(now, *id));
        self.config.deadline = period;
        self.deadlines.clear();
        in_use.into_iter().for_each(|id| self.start_deadline(now, id));
    }

    /// Changes the LIFESPAN of samples written from now on.
    pub fn set_lifespan(&mut self, lifespan: Duration) {
        self.config.lifespan = lifespan;
    }
}
