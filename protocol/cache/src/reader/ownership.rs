//! EXCLUSIVE ownership (DDS 1.4 §2.2.3.9.2, §2.2.3.10, §2.2.3.23).
//!
//! The owner of an instance is the strongest of the writers that have registered it, are alive and keep to their
//! deadline; of equally strong ones the one with the lowest GUID. It is decided when a change arrives: a writer that
//! comes before all others is, or becomes, the owner. So ownership passes on by itself when the owner is lost,
//! unregisters, misses its deadline or loses strength. An owner that disposed the instance keeps it.

use core::cmp::Reverse;

use dunlin_core::{Guid, InstanceHandle, Now};
use dunlin_qos::OwnershipKind;

use super::ReaderCache;
use super::registration::{Registration, RemoteWriter};
use crate::slab::Id;

impl ReaderCache {
    /// Whether a change of this writer may update the instance.
    pub(super) fn may_update(&self, now: Now, instance: Id, guid: Guid, strength: i32) -> bool {
        if self.config.ownership == OwnershipKind::Shared {
            return true;
        }
        let claim = (strength, Reverse(guid));
        self.candidates(now, instance).all(|writer| writer.guid() == guid || writer.claim() < claim)
    }

    /// The writers that may own an instance.
    fn candidates(&self, now: Now, instance: Id) -> impl Iterator<Item = &RemoteWriter> {
        let registrations = self.instances.get(instance).map(|found| &found.registrations);
        let all = registrations.into_iter().flat_map(|list| list.iter(&self.registrations));
        let punctual = all.filter(move |(_, found): &(Id, &Registration)| found.deadline > now.mono);
        punctual.filter_map(|(_, found)| self.writers.get(found.writer)).filter(|writer| writer.alive)
    }

    /// The writer that owns an instance under EXCLUSIVE ownership; `None` when the instance is unknown, ownership is
    /// SHARED, or no writer is fit to own it.
    #[must_use]
    pub fn owner(&self, now: Now, instance: InstanceHandle) -> Option<Guid> {
        if self.config.ownership == OwnershipKind::Shared {
            return None;
        }
        let id = self.find(self.shown(instance))?;
        self.candidates(now, id).max_by_key(|writer| writer.claim()).map(RemoteWriter::guid)
    }
}
