//! A vector whose freed places are used again: samples, instances and registrations come and go without the
//! allocator (bookkeeping for DDS 1.4 §2.2.3.18 HISTORY and §2.2.3.19 RESOURCE_LIMITS).

use alloc::vec::Vec;

use dunlin_core::Counter;

/// Position of a value in a [`Slab`].
pub(crate) type Id = u32;

/// No value.
pub(crate) const NIL: Id = u32::MAX;

#[derive(Debug)]
enum Slot<T> {
    /// Free, with the next free place.
    Vacant(Id),
    Occupied(T),
}

/// Values at stable positions.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Id,
    len: Counter,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: NIL, len: Counter::ZERO }
    }

    /// Stores a value. Limits are capped (see [`crate::limits`]) far below the number of positions.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Id {
        self.len.add(1);
        let id = self.free;
        if let Some(slot) = self.slots.get_mut(id as usize) {
            if let Slot::Vacant(next) = *slot {
                self.free = next;
            }
            *slot = Slot::Occupied(value);
            return id;
        }
        let id = self.slots.len() as Id;
        self.slots.push(Slot::Occupied(value));
        id
    }

    pub(crate) fn remove(&mut self, id: Id) -> Option<T> {
        let slot = self.slots.get_mut(id as usize)?;
        if matches!(slot, Slot::Vacant(_)) {
            return None;
        }
        let old = core::mem::replace(slot, Slot::Vacant(self.free));
        self.free = id;
        self.len.subtract(1);
        match old {
            Slot::Occupied(value) => Some(value),
            Slot::Vacant(_) => None,
        }
    }

    /// Drops a value where it is.
    pub(crate) fn clear(&mut self, id: Id) {
        if let Some(slot) = self.slots.get_mut(id as usize)
            && matches!(slot, Slot::Occupied(_))
        {
            *slot = Slot::Vacant(self.free);
            self.free = id;
            self.len.subtract(1);
        }
    }

    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        match self.slots.get(id as usize) {
            Some(Slot::Occupied(value)) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        match self.slots.get_mut(id as usize) {
            Some(Slot::Occupied(value)) => Some(value),
            _ => None,
        }
    }

    /// A value whose position somebody keeps: it stays there as long. Only a mistake of ours asks for one that is gone.
    pub(crate) fn kept(&self, id: Id) -> Option<&T> {
        let value = self.get(id);
        debug_assert!(value.is_some(), "nothing at {id}");
        value
    }

    /// The same, to be changed.
    pub(crate) fn kept_mut(&mut self, id: Id) -> Option<&mut T> {
        let value = self.get_mut(id);
        debug_assert!(value.is_some(), "nothing at {id}");
        value
    }

    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| match slot {
            Slot::Occupied(value) => Some(value),
            Slot::Vacant(_) => None,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &T)> {
        self.slots.iter().enumerate().filter_map(|(id, slot)| match slot {
            Slot::Occupied(value) => Some((id as Id, value)),
            Slot::Vacant(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_places_are_used_again() {
        let mut slab = Slab::new();
        let ids: Vec<Id> = (0..4).map(|n| slab.insert(n)).collect();
        assert_eq!(slab.remove(ids[1]), Some(1));
        assert_eq!(slab.remove(ids[1]), None);
        assert_eq!(slab.remove(ids[2]), Some(2));
        assert_eq!(slab.len(), 2);
        assert_eq!(slab.insert(9), ids[2]);
        assert_eq!(slab.insert(8), ids[1]);
        assert_eq!(slab.insert(7), 4);
        assert_eq!(slab.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [0, 8, 9, 3, 7]);
        assert_eq!((slab.get(NIL), slab.get(ids[1])), (None, Some(&8)));
    }
}
