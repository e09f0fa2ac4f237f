//! Which writers have registered which instances (DDS 1.4 §2.2.2.5.1.3; §2.2.3.11 LIVELINESS): built from what
//! arrives, since registration as such is not sent.

use core::cmp::Reverse;

use dunlin_core::{Guid, Identities, MonoTime, Now, SequenceNumber};

use super::ReaderCache;
use super::config::WriterInfo;
use super::states::InstanceState;
use super::transition::Cause;
use crate::list::{Links, List, linked};
use crate::slab::{Id, NIL};

/// Strength and GUID of a writer: the greatest claim owns an instance. The stronger comes first, then the lower GUID,
/// so that all readers agree (DDS 1.4 §2.2.3.9.2).
pub(super) type Claim = (i32, Reverse<Guid>);

/// List of the registrations of an instance.
pub(super) const OF_INSTANCE: usize = 0;
/// List of the registrations of a writer.
const OF_WRITER: usize = 1;

#[derive(Debug)]
pub(super) struct RemoteWriter {
    guid: Guid,
    strength: i32,
    pub(super) alive: bool,
    registrations: List<OF_WRITER>,
    /// The registration used last.
    pub(super) recent: Id,
}

#[derive(Debug)]
pub(super) struct Registration {
    pub(super) instance: Id,
    pub(super) writer: Id,
    /// Until when the writer keeps to its deadline in this instance.
    pub(super) deadline: MonoTime,
    of_instance: Links,
    of_writer: Links,
}
linked!(Registration, OF_INSTANCE, of_instance);
linked!(Registration, OF_WRITER, of_writer);

impl RemoteWriter {
    /// Whether it is this one, alive, and as strong as before.
    pub(super) fn is_still(&self, guid: Guid, strength: i32) -> bool {
        self.guid == guid && self.alive && self.strength == strength
    }

    pub(super) const fn guid(&self) -> Guid {
        self.guid
    }

    /// Grows with the claim to own instances.
    pub(super) const fn claim(&self) -> Claim {
        (self.strength, Reverse(self.guid))
    }
}

impl ReaderCache {
    fn find_writer(&self, guid: Guid) -> Option<Id> {
        if self.writers.get(self.recent_writer).is_some_and(|writer| writer.guid == guid) {
            return Some(self.recent_writer);
        }
        self.by_guid.get(&guid).copied()
    }

    fn find_or_create_writer(&mut self, guid: Guid, strength: i32) -> Id {
        let id = self.find_writer(guid).unwrap_or_else(|| {
            let registrations = List::new();
            let writer = RemoteWriter { guid, strength, alive: true, registrations, recent: NIL };
            let id = self.writers.insert(writer);
            self.by_guid.insert(guid, id);
            id
        });
        self.recent_writer = id;
        id
    }

    fn find_registration(&self, instance: Id, writer: Id) -> Option<Id> {
        let owner = self.writers.kept(writer)?;
        if self.registrations.get(owner.recent).is_some_and(|found| found.instance == instance) {
            return Some(owner.recent);
        }
        let of_instance = &self.instances.kept(instance)?.registrations;
        let mut hit = if of_instance.len() < owner.registrations.len() {
            of_instance.iter(&self.registrations).find(|(_, found)| found.writer == writer)
        } else {
            owner.registrations.iter(&self.registrations).find(|(_, found)| found.instance == instance)
        };
        hit.take().map(|(id, _)| id)
    }

    /// Whether a writer has registered an instance.
    pub(super) fn has_registered(&self, instance: Id, guid: Guid) -> bool {
        self.find_writer(guid).is_some_and(|writer| self.find_registration(instance, writer).is_some())
    }

    /// A writer updated an instance: it is alive and has registered the instance. True when that alone made an
    /// instance alive that had no writers.
    pub(super) fn touch(
        &mut self,
        now: Now,
        instance: Id,
        guid: Guid,
        info: &WriterInfo,
        deadline: MonoTime,
    ) -> bool {
        let writer = self.find_or_create_writer(guid, info.strength);
        if let Some(writer) = self.writers.kept_mut(writer) {
            writer.strength = info.strength;
        }
        let resumed = self.resume(now, writer);
        let registration = match self.find_registration(instance, writer) {
            Some(registration) => registration,
            None => self.register(instance, writer),
        };
        if let Some(writer) = self.writers.kept_mut(writer) {
            writer.recent = registration;
        }
        if let Some(registration) = self.registrations.kept_mut(registration) {
            registration.deadline = deadline;
        }
        self.regain_writer(now, instance) || resumed
    }

    /// An instance that had no writers has one again.
    fn regain_writer(&mut self, now: Now, id: Id) -> bool {
        let found = self.instances.kept(id);
        if found.is_none_or(|instance| instance.state != InstanceState::NotAliveNoWriters) {
            return false;
        }
        self.revive(id);
        self.start_deadline(now, id);
        true
    }

    fn register(&mut self, instance: Id, writer: Id) -> Id {
        let id = self.registrations.insert(Registration {
            instance,
            writer,
            deadline: MonoTime::MAX,
            of_instance: Links::NONE,
            of_writer: Links::NONE,
        });
        if let Some(writer) = self.writers.kept_mut(writer) {
            writer.registrations.push_back(&mut self.registrations, id);
        }
        if let Some(instance) = self.instances.kept_mut(instance) {
            instance.registrations.push_back(&mut self.registrations, id);
            instance.alive_writers.add(1);
        }
        id
    }

    pub(super) fn remove_registration(&mut self, id: Id) {
        let Some(registration) = self.registrations.kept(id) else { return };
        let (instance, writer) = (registration.instance, registration.writer);
        let mut alive = false;
        if let Some(writer) = self.writers.kept_mut(writer) {
            alive = writer.alive;
            writer.registrations.remove(&mut self.registrations, id);
            if writer.recent == id {
                writer.recent = NIL;
            }
        }
        if let Some(instance) = self.instances.kept_mut(instance) {
            instance.registrations.remove(&mut self.registrations, id);
            if alive {
                instance.alive_writers.subtract(1);
            }
        }
        self.registrations.remove(id);
    }

    /// A writer unregistered an instance. True when the instance has no writer any more because of that.
    pub(super) fn unregister(&mut self, now: Now, instance: Id, cause: &Cause) -> bool {
        // Any writer may send this, also one that has never written to the instance.
        let Some(writer) = self.find_writer(cause.writer) else { return false };
        let Some(registration) = self.find_registration(instance, writer) else { return false };
        self.remove_registration(registration);
        self.check_writers(now, instance, cause)
    }

    /// Lets an instance go over to NOT_ALIVE_NO_WRITERS if no writer is left. True when it did.
    fn check_writers(&mut self, now: Now, instance: Id, cause: &Cause) -> bool {
        if self.instances.kept(instance).is_none_or(|instance| instance.alive_writers.get() > 0) {
            return false;
        }
        let changed = self.become_writerless(now, instance, cause);
        self.forget_if_unused(instance);
        changed
    }

    /// A writer is no longer matched: its instances have one writer less (DDS 1.4 §2.2.2.5.1.3). Disposal is not
    /// assumed. Returns whether an instance changed its state (DATA_AVAILABLE).
    pub fn writer_lost(&mut self, now: Now, writer: Guid) -> bool {
        let Some(id) = self.find_writer(writer) else { return false };
        let cause =
            Cause { writer, sn: SequenceNumber::ZERO, source: now.wall, identities: Identities::default() };
        let mut changed = false;
        while let Some(lost) = self.writers.get(id)
            && let Some(registration) = self.registrations.get(lost.registrations.head())
        {
            let instance = registration.instance;
            self.remove_registration(lost.registrations.head());
            changed |= self.check_writers(now, instance, &cause);
        }
        self.writers.remove(id);
        self.by_guid.remove(&writer);
        self.recent_writer = NIL;
        changed
    }

    /// A matched writer lost its liveliness (DDS 1.4 §2.2.3.11): until it is alive again its instances have one
    /// writer less. Returns whether an instance changed its state (DATA_AVAILABLE).
    pub fn writer_not_alive(&mut self, now: Now, writer: Guid) -> bool {
        let Some(id) = self.find_writer(writer) else { return false };
        let cause =
            Cause { writer, sn: SequenceNumber::ZERO, source: now.wall, identities: Identities::default() };
        self.set_alive(id, false, |cache, instance| {
            if let Some(instance) = cache.instances.kept_mut(instance) {
                instance.alive_writers.subtract(1);
            }
            cache.check_writers(now, instance, &cause)
        })
    }

    /// A matched writer is alive again, and so are the instances that had no other writer. Returns whether an
    /// instance changed its state (DATA_AVAILABLE). A sample of the writer has the same effect.
    pub fn writer_alive(&mut self, now: Now, writer: Guid) -> bool {
        self.find_writer(writer).is_some_and(|id| self.resume(now, id))
    }

    fn resume(&mut self, now: Now, writer: Id) -> bool {
        self.set_alive(writer, true, |cache, id| {
            let Some(instance) = cache.instances.kept_mut(id) else { return false };
            instance.alive_writers.add(1);
            cache.regain_writer(now, id)
        })
    }

    /// Changes a writer's liveliness and does something with each of its instances. True when that was true once.
    fn set_alive(&mut self, id: Id, alive: bool, mut each: impl FnMut(&mut Self, Id) -> bool) -> bool {
        let Some(writer) = self.writers.kept_mut(id) else { return false };
        if core::mem::replace(&mut writer.alive, alive) == alive {
            return false;
        }
        let mut changed = false;
        let mut cursor = writer.registrations.head();
        while let Some(registration) = self.registrations.get(cursor) {
            let instance = registration.instance;
            // The instance may be forgotten, and this registration with it.
            cursor = List::<OF_WRITER>::next(&self.registrations, cursor);
            changed |= each(self, instance);
        }
        changed
    }

    /// Changes the OWNERSHIP_STRENGTH of a writer (DDS 1.4 §2.2.3.10): ownership is decided anew by the next change
    /// that arrives.
    pub fn set_writer_strength(&mut self, writer: Guid, strength: i32) {
        if let Some(id) = self.find_writer(writer)
            && let Some(writer) = self.writers.kept_mut(id)
        {
            writer.strength = strength;
        }
    }

    /// Gives every writer until `end`, after the DEADLINE period was changed; for disposed instances none owes a sample.
    pub(super) fn restart_registrations(&mut self, end: MonoTime) {
        for registration in self.registrations.iter_mut() {
            let instance = self.instances.kept(registration.instance);
            if instance.is_some_and(|instance| instance.state != InstanceState::NotAliveDisposed) {
                registration.deadline = end;
            }
        }
    }
}
