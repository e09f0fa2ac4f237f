//! Leases of writers: DDS 1.4 §2.2.3.11 (LIVELINESS) and RTPS 2.5 §8.4.13 (writer liveliness protocol).
//!
//! One tracker serves a reader (its matched writers), a participant (all matched writers) or the writers themselves
//! (to notice that they failed to assert).

use alloc::{collections::BTreeMap, vec::Vec};

use dunlin_core::{Counter, Duration, EntityId, Guid, GuidPrefix, MonoTime, SequenceNumber};
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
    /// The last change that the writer is known to have written.
    written: SequenceNumber,
    /// When it last said how far it is.
    heard: MonoTime,
}

/// How a change of a writer became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriterSign {
    /// It came itself.
    Change,
    /// A HEARTBEAT announced it.
    Announcement,
}

/// When the messages that assert the manual writers of a participant were written, as far as it can be told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AssertionTimes {
    written: SequenceNumber,
    heard: MonoTime,
    /// When the participant was last heard before it announced what was written last.
    before: MonoTime,
}

impl AssertionTimes {
    pub(crate) const fn new(now: MonoTime) -> Self {
        Self { written: SequenceNumber::ZERO, heard: now, before: now }
    }

    /// A HEARTBEAT announced everything up to `last`.
    pub(crate) fn announced(&mut self, now: MonoTime, last: SequenceNumber) {
        if last > self.written {
            (self.written, self.before) = (last, self.heard);
        }
        self.heard = now;
    }

    /// A message came. It was written then or later: now if nobody knew of it before.
    pub(crate) fn came(&mut self, now: MonoTime, sn: SequenceNumber) -> MonoTime {
        if sn <= self.written {
            return self.before;
        }
        *self = Self { written: sn, heard: now, before: now };
        now
    }
}

/// Writers with their leases. A writer is alive from when it is added until its lease passes without an assertion.
#[derive(Debug, Clone, Default)]
pub struct LivelinessTracker {
    leases: BTreeMap<Guid, Lease>,
    /// No lease of a live writer ends before this; assertions leave it behind, a timer run brings it up to date.
    wakeup: Option<MonoTime>,
    alive: Counter,
}

impl LivelinessTracker {
    /// A tracker without writers.
    #[must_use]
    pub const fn new() -> Self {
        Self { leases: BTreeMap::new(), wakeup: None, alive: Counter::ZERO }
    }

    /// Adds a writer, alive, with the liveliness it offers. A known writer gets the new lease and counts as asserted;
    /// the result says whether it was dead or unknown before.
    pub fn add(&mut self, now: MonoTime, writer: Guid, offered: Liveliness) -> bool {
        let expires = now.plus(offered.lease_duration);
        let lease = Lease {
            kind: offered.kind,
            duration: offered.lease_duration,
            expires,
            alive: true,
            written: SequenceNumber::ZERO,
            heard: now,
        };
        let was_alive = self.leases.insert(writer, lease).is_some_and(|old| old.alive);
        self.wake_by(expires);
        if !was_alive {
            self.alive.add(1);
        }
        !was_alive
    }

    /// Removes a writer; whether it was alive, or `None` if it is unknown.
    pub fn remove(&mut self, writer: Guid) -> Option<bool> {
        let lease = self.leases.remove(&writer)?;
        if lease.alive {
            self.alive.subtract(1);
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
            self.alive.add(1);
            self.wake_by(expires);
        }
        revived
    }

    /// Takes note that a writer has written everything up to `sn`, and renews its lease if that shows that it is alive now;
    /// true if that brought it back to life.
    ///
    /// Any change is a sign of a process that lives, which is what AUTOMATIC asks for. A manual writer lives on what its
    /// application does: a repair, a duplicate and the history of a late joiner show only what it did some time ago. So its
    /// change counts if nobody knew of it before; and one that was announced alone, because it was lost, counts if the writer
    /// had not been silent for a lease: then it was written within that lease.
    pub fn note_written(
        &mut self,
        now: MonoTime,
        writer: Guid,
        sn: SequenceNumber,
        sign: WriterSign,
    ) -> bool {
        let Some(lease) = self.leases.get_mut(&writer) else { return false };
        if lease.kind == LivelinessKind::Automatic {
            return sign == WriterSign::Change && self.assert_writer(now, writer);
        }
        let news = sn > lease.written;
        let timely = sign == WriterSign::Change || lease.heard.plus(lease.duration) > now;
        if news || sign == WriterSign::Announcement {
            lease.heard = now;
        }
        lease.written = lease.written.max(sn);
        news && timely && self.assert_writer(now, writer)
    }

    /// Renews the leases of all writers of a participant that have this kind, because of something it did at or after
    /// `since`, if that was within the lease; appends those that came back to life.
    pub fn assert_participant(
        &mut self,
        (now, since): (MonoTime, MonoTime),
        prefix: GuidPrefix,
        kind: LivelinessKind,
        transitions: &mut Vec<LivelinessTransition>,
    ) {
        let first = Guid::new(prefix, EntityId([0; 4]));
        let last = Guid::new(prefix, EntityId([0xff; 4]));
        let mut earliest = MonoTime::MAX;
        for (writer, lease) in self.leases.range_mut(first..=last).filter(|(_, lease)| lease.kind == kind) {
            if since.plus(lease.duration) <= now {
                continue;
            }
            lease.expires = now.plus(lease.duration);
            if !lease.alive {
                lease.alive = true;
                self.alive.add(1);
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
                self.alive.subtract(1);
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
        self.alive.get()
    }

    /// How many writers are known and not alive.
    #[must_use]
    pub fn not_alive_count(&self) -> usize {
        debug_assert!(self.alive.get() <= self.leases.len(), "each of them has a lease");
        self.leases.len().saturating_sub(self.alive.get())
    }

    fn wake_by(&mut self, time: MonoTime) {
        if time != MonoTime::MAX {
            self.wakeup = Some(self.wakeup.map_or(time, |wakeup| wakeup.min(time)));
        }
    }
}

#[cfg(test)]
mod tests;
