//! DESTINATION_ORDER (DDS 1.4 §2.2.3.17): by arrival, or by source timestamp with the writer's GUID and the sequence
//! number to break ties.

use dunlin_qos::DestinationOrderKind;

use super::ReaderCache;
use super::sample::{OF_INSTANCE, OrderKey};
use crate::list::List;
use crate::slab::{Id, NIL};

impl ReaderCache {
    pub(super) fn by_source(&self) -> bool {
        self.config.destination_order == DestinationOrderKind::BySourceTimestamp
    }

    /// Whether a sample comes too late: something newer was taken, waits in the time-based filter, or fills the
    /// history; or it is there already, as a durable writer that was met again sends its history again.
    pub(super) fn is_stale_sample(&self, id: Id, key: OrderKey) -> bool {
        if !self.by_source() {
            return false;
        }
        let Some(instance) = self.instances.kept(id) else { return false };
        let newer = |other: Id| self.samples.get(other).is_some_and(|other| key < other.key());
        let same = |other: Id| {
            self.samples.get(other).is_some_and(|other| key == other.key() && other.payload.is_some())
        };
        let full = self.limits.depth.is_some_and(|depth| instance.valid_samples() >= depth);
        instance.floor.is_some_and(|floor| key < floor)
            || newer(instance.pending)
            || (full && newer(instance.samples.head()))
            || same(instance.pending)
            || same(self.place(id, key))
    }

    /// Whether a disposal comes too late: a newer change of the instance was received.
    pub(super) fn is_stale_disposal(&self, id: Id, key: OrderKey) -> bool {
        let latest = self.instances.get(id).and_then(|instance| instance.latest);
        self.by_source() && latest.is_some_and(|latest| key < latest)
    }

    /// Notes a change that was accepted; a disposal closes the door for everything older.
    pub(super) fn note_order(&mut self, id: Id, key: OrderKey, disposal: bool) {
        if !self.by_source() {
            return;
        }
        if let Some(instance) = self.instances.kept_mut(id) {
            instance.latest = instance.latest.max(Some(key));
            if disposal {
                instance.floor = instance.floor.max(Some(key));
            }
        }
    }

    /// The sample of the instance after which a sample with this key is shown; [`NIL`] when it is the first.
    pub(super) fn place(&self, id: Id, key: OrderKey) -> Id {
        let Some(instance) = self.instances.kept(id) else { return NIL };
        let mut place = instance.samples.tail();
        if !self.by_source() {
            return place;
        }
        while self.samples.get(place).is_some_and(|sample| key < sample.key()) {
            place = List::<OF_INSTANCE>::prev(&self.samples, place);
        }
        place
    }
}
