//! Leases of writers: DDS 1.4 §2.2.3.11 (LIVELINESS) and RTPS 2.5 §8.4.13 (writer liveliness protocol).
//!
//! One tracker serves a reader (its matched writers), a participant (all matched writers) or the writers themselves
//! (to notice that they failed to assert).

use alloc::{collections::BTreeMap, vec::Vec};

use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, MonoTime};
use dunlin_qos::{Liveliness, LivelinessKind};

/// A writer that became alive or stopped being so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LivelinessTransition {
    /// The writer.
    pub writer: Guid,
    /// Its new state.
    pub alive: bool,
}

#[derive(Debug, Clone, Copy)]
struct Lease {
    kind: LivelinessKind,
    duration: Duration,
    expires: MonoTime,
    alive: bool,
}

/// Writers with their leases. A writer is alive from when it is added until its lease passes without an assertion.
#[derive(Debug, Clone, Default)]
pub struct LivelinessTracker {
    leases: BTreeMap<Guid, Lease>,
    /// No lease of a live writer ends before this; assertions leave it behind, a timer run brings it up to date.
    wakeup: Option<MonoTime>,
    alive: usize,
}

impl LivelinessTracker {
    /// A tracker without writers.
    #[must_use]
    pub const fn new() -> Self {
        Self { leases: BTreeMap::new(), wakeup: None, alive: 0 }
    }

    /// Adds a writer, alive, with the liveliness it offers. A known writer gets the new lease and counts as asserted;
    /// the result says whether it was dead or unknown before.
    pub fn add(&mut self, now: MonoTime, writer: Guid, offered: Liveliness) -> bool {
        let expires = now.plus(offered.lease_duration);
        let lease = Lease { kind: offered.kind, duration: offered.lease_duration, expires, alive: true };
        let was_alive = self.leases.insert(writer, lease).is_some_and(|old| old.alive);
        self.wake_by(expires);
        if !was_alive {
            self.alive = self.alive.saturating_add(1);
        }
        !was_alive
    }

    /// Removes a writer; whether it was alive, or `None` if it is unknown.
    pub fn remove(&mut self, writer: Guid) -> Option<bool> {
        let lease = self.leases.remove(&writer)?;
        if lease.alive {
            self.alive = self.alive.saturating_sub(1);
        }
        Some(lease.alive)
    }

    /// Renews the lease of one writer because of something it did; true if that brought it back to life.
    pub fn assert_writer(&mut self, now: MonoTime, writer: Guid) -> bool {
        let Some(lease) = self.leases.get_mut(&writer) else { return false };
        let revived = !lease.alive;
        lease.alive = true;
        lease.expires = now.plus(lease.duration);
        if revived {
            let expires = lease.expires;
            self.alive = self.alive.saturating_add(1);
            self.wake_by(expires);
        }
        revived
    }

    /// Renews the leases of all writers of a participant that have this kind; appends those that came back to life.
    pub fn assert_participant(
        &mut self,
        now: MonoTime,
        prefix: GuidPrefix,
        kind: LivelinessKind,
        transitions: &mut Vec<LivelinessTransition>,
    ) {
        let first = Guid::new(prefix, EntityId([0; 4]));
        let last = Guid::new(prefix, EntityId([0xff; 4]));
        let mut earliest = MonoTime::MAX;
        for (writer, lease) in self.leases.range_mut(first..=last).filter(|(_, lease)| lease.kind == kind) {
            lease.expires = now.plus(lease.duration);
            if !lease.alive {
                lease.alive = true;
                self.alive = self.alive.saturating_add(1);
                earliest = earliest.min(lease.expires);
                transitions.push(LivelinessTransition { writer: *writer, alive: true });
            }
        }
        self.wake_by(earliest);
    }

    /// Declares writers dead whose lease has passed; appends them.
    pub fn on_timer(&mut self, now: MonoTime, transitions: &mut Vec<LivelinessTransition>) {
        if self.wakeup.is_none_or(|wakeup| wakeup > now) {
            return;
        }
        let mut earliest = MonoTime::MAX;
        for (writer, lease) in self.leases.iter_mut().filter(|(_, lease)| lease.alive) {
            if lease.expires <= now {
                lease.alive = false;
                self.alive = self.alive.saturating_sub(1);
                transitions.push(LivelinessTransition { writer: *writer, alive: false });
            } else {
                earliest = earliest.min(lease.expires);
            }
        }
        self.wakeup = (earliest != MonoTime::MAX).then_some(earliest);
    }

    /// When [`Self::on_timer`] has something to do at the earliest.
    #[must_use]
    pub const fn next_deadline(&self) -> Option<MonoTime> {
        self.wakeup
    }

    /// Whether a writer is alive; `None` if it is unknown.
    #[must_use]
    pub fn is_alive(&self, writer: Guid) -> Option<bool> {
        self.leases.get(&writer).map(|lease| lease.alive)
    }

    /// How many writers are alive.
    #[must_use]
    pub const fn alive_count(&self) -> usize {
        self.alive
    }

    /// How many writers are known and not alive.
    #[must_use]
    pub fn not_alive_count(&self) -> usize {
        self.leases.len().saturating_sub(self.alive)
    }

    fn wake_by(&mut self, time: MonoTime) {
        if time != MonoTime::MAX {
            self.wakeup = Some(self.wakeup.map_or(time, |wakeup| wakeup.min(time)));
        }
    }
}

#[cfg(test)]
mod tests;
