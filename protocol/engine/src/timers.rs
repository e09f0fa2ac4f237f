//! The deadlines of all endpoints in one ordered set, so that the next one is known without asking them.
//!
//! Each endpoint owns one [`TimerId`] and has at most one entry. Entries may be early: an endpoint moves its
//! entry only when its deadline comes closer, and puts the true one in when the early one fires. That keeps
//! the set out of the path of a sample. Nothing is allocated except when an endpoint is created.

use alloc::vec::Vec;

use dunlin_core::{EntityId, MonoTime};
use dunlin_sync::RankedMutex;

use crate::ranks;

/// Whose deadline an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimerOwner {
    /// Discovery and what else the participant itself does.
    Participant,
    /// What the participant is to tell at a time, see [`crate::Participant::set_alarm`].
    Alarm,
    /// A writer: protocol, history, liveliness.
    Writer(EntityId),
    /// The protocol side of a reader, with the leases of its writers.
    Reader(EntityId),
    /// The cache of a reader.
    ReaderCache(EntityId),
}

/// The right to one entry in the set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimerId(usize);

#[derive(Clone, Copy)]
struct Slot {
    owner: TimerOwner,
    /// Index in the heap while armed.
    position: Option<usize>,
}

#[derive(Clone, Copy)]
struct Entry {
    at: MonoTime,
    slot: usize,
}

/// A binary heap that knows where each owner's entry is.
#[derive(Default)]
struct Heap {
    entries: Vec<Entry>,
    slots: Vec<Option<Slot>>,
    /// Slots that were given back.
    free: Vec<usize>,
}

/// The lock around the set: a leaf, taken under any other lock.
#[derive(Default)]
pub(crate) struct Timers {
    heap: RankedMutex<{ ranks::LEAF }, Heap>,
}

impl Timers {
    /// A new, unarmed entry for `owner`.
    pub(crate) fn register(&self, owner: TimerOwner) -> TimerId {
        let mut heap = self.heap.lock();
        let slot = Some(Slot { owner, position: None });
        let id = match heap.free.pop() {
            Some(free) => {
                if let Some(place) = heap.slots.get_mut(free) {
                    debug_assert!(place.is_none(), "what is free is nobody's");
                    *place = slot;
                }
                free
            }
            None => {
                heap.slots.push(slot);
                heap.slots.len().saturating_sub(1)
            }
        };
        // Room for every entry there can be, so that neither arming nor giving back ever allocates.
        let missing = heap.slots.len().saturating_sub(heap.entries.len());
        heap.entries.reserve(missing);
        let missing = heap.slots.len().saturating_sub(heap.free.len());
        heap.free.reserve(missing);
        TimerId(id)
    }

    /// Gives the entry back.
    pub(crate) fn unregister(&self, id: TimerId) {
        let mut heap = self.heap.lock();
        heap.disarm(id.0);
        if heap.slots.get_mut(id.0).and_then(Option::take).is_some() {
            heap.free.push(id.0);
        }
    }

    /// Arms, moves or (with `None`) disarms the entry. True if the earliest deadline of the set moved closer.
    pub(crate) fn set(&self, id: TimerId, at: Option<MonoTime>) -> bool {
        let mut heap = self.heap.lock();
        let before = heap.first();
        match at {
            Some(at) => heap.arm(id.0, at),
            None => heap.disarm(id.0),
        }
        heap.first().is_some_and(|first| before.is_none_or(|before| first < before))
    }

    /// Arms the entry or moves it closer, never away. True if the earliest deadline of the set moved closer.
    pub(crate) fn set_closer(&self, id: TimerId, at: MonoTime) -> bool {
        let mut heap = self.heap.lock();
        let before = heap.first();
        let armed = heap.position(id.0).and_then(|index| heap.at(index));
        if armed.is_none_or(|armed| at < armed) {
            heap.arm(id.0, at);
        }
        before.is_none_or(|before| at < before)
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<MonoTime> {
        self.heap.lock().first()
    }

    /// How many entries are armed.
    pub(crate) fn armed(&self) -> usize {
        self.heap.lock().entries.len()
    }

    /// Removes and returns the owner of the earliest entry that is due.
    pub(crate) fn pop_due(&self, now: MonoTime) -> Option<TimerOwner> {
        let mut heap = self.heap.lock();
        let entry = *heap.entries.first().filter(|entry| entry.at <= now)?;
        heap.disarm(entry.slot);
        heap.slots.get(entry.slot).copied().flatten().map(|slot| slot.owner)
    }
}

impl Heap {
    fn first(&self) -> Option<MonoTime> {
        self.entries.first().map(|entry| entry.at)
    }

    fn position(&self, slot: usize) -> Option<usize> {
        self.slots.get(slot).copied().flatten()?.position
    }

    fn set_position(&mut self, slot: usize, position: Option<usize>) {
        if let Some(Some(slot)) = self.slots.get_mut(slot) {
            slot.position = position;
        }
    }

    /// Arms an entry, unless it was given back: a group may look at a reader that another thread deletes.
    fn arm(&mut self, slot: usize, at: MonoTime) {
        if self.slots.get(slot).copied().flatten().is_none() {
            return;
        }
        let index = match self.position(slot) {
            Some(index) => {
                if let Some(entry) = self.entries.get_mut(index) {
                    entry.at = at;
                }
                index
            }
            None => {
                self.entries.push(Entry { at, slot });
                let index = self.entries.len().saturating_sub(1);
                self.set_position(slot, Some(index));
                index
            }
        };
        let index = self.sift_up(index);
        self.sift_down(index);
    }

    fn disarm(&mut self, slot: usize) {
        let Some(index) = self.position(slot) else { return };
        debug_assert!(
            self.entries.get(index).is_some_and(|entry| entry.slot == slot),
            "it stands where it was noted"
        );
        self.set_position(slot, None);
        self.entries.swap_remove(index);
        if let Some(moved) = self.entries.get(index).copied() {
            self.set_position(moved.slot, Some(index));
            let index = self.sift_up(index);
            self.sift_down(index);
        }
    }

    fn at(&self, index: usize) -> Option<MonoTime> {
        self.entries.get(index).map(|entry| entry.at)
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.entries.swap(one, other);
        for index in [one, other] {
            if let Some(entry) = self.entries.get(index).copied() {
                self.set_position(entry.slot, Some(index));
            }
        }
    }

    fn sift_up(&mut self, mut index: usize) -> usize {
        while index > 0 {
            let parent = index.saturating_sub(1) >> 1;
            if self.at(parent) <= self.at(index) {
                break;
            }
            self.swap(parent, index);
            index = parent;
        }
        index
    }

    fn sift_down(&mut self, mut index: usize) {
        loop {
            let left = index.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            let Some(mut least) = self.at(left).map(|_| left) else { return };
            if self.at(right).is_some_and(|at| Some(at) < self.at(left)) {
                least = right;
            }
            if self.at(index) <= self.at(least) {
                return;
            }
            self.swap(index, least);
            index = least;
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use dunlin_core::Rng;

    use super::*;

    fn owner(n: u32) -> TimerOwner {
        TimerOwner::Writer(EntityId::user_writer(n, true))
    }

    #[test]
    fn timers_agree_with_a_plain_list() {
        let timers = Timers::default();
        let mut rng = Rng::new(7);
        let ids: Vec<_> = (0..20).map(|n| timers.register(owner(n))).collect();
        let mut model: Vec<Option<MonoTime>> = alloc::vec![None; 20];
        for _ in 0..if cfg!(miri) { 200 } else { 20_000 } {
            let n = rng.below(20) as usize;
            match rng.below(4) {
                0 => {
                    timers.set(ids[n], None);
                    model[n] = None;
                }
                1 => {
                    let now = MonoTime(rng.below(1000));
                    let due = timers.pop_due(now);
                    let least = model.iter().flatten().min().copied().filter(|at| *at <= now);
                    assert_eq!(due.is_some(), least.is_some());
                    if let Some(due) = due {
                        let popped = (0..20).find(|n| owner(*n) == due).expect("a registered owner") as usize;
                        assert_eq!(model[popped], least);
                        model[popped] = None;
                    }
                }
                _ => {
                    let at = MonoTime(rng.below(1000));
                    let before = model.iter().flatten().min().copied();
                    model[n] = Some(at);
                    let after = model.iter().flatten().min().copied();
                    let closer = before.is_none() || after < before;
                    assert_eq!(timers.set(ids[n], Some(at)), closer);
                }
            }
            assert_eq!(timers.next(), model.iter().flatten().min().copied());
            assert_eq!(timers.armed(), model.iter().flatten().count());
        }
    }

    #[test]
    fn a_returned_entry_is_gone_and_reused() {
        let timers = Timers::default();
        let first = timers.register(owner(1));
        timers.set(first, Some(MonoTime(1)));
        timers.unregister(first);
        assert_eq!(timers.next(), None);
        assert!(!timers.set(first, Some(MonoTime(1))), "an entry without owner cannot be armed");
        assert_eq!(timers.register(owner(2)), first);
        timers.set(first, Some(MonoTime(3)));
        assert_eq!(timers.pop_due(MonoTime(3)), Some(owner(2)));
    }
}

#[cfg(all(test, loom))]
mod model {
    //! Threads that arm entries while another works them off, as the timer thread does.

    use loom::sync::{Arc, Mutex};
    use loom::thread;

    use super::*;

    /// The earliest time at which the timer thread was told to be awake.
    type Told = Arc<Mutex<Option<MonoTime>>>;

    fn tell(told: &Told, at: MonoTime) {
        let mut told = told.lock().expect("no poison");
        *told = Some(told.map_or(at, |earlier| earlier.min(at)));
    }

    #[test]
    fn a_call_that_brings_the_earliest_deadline_closer_learns_it() {
        loom::model(|| {
            let timers = Arc::new(Timers::default());
            let told: Told = Arc::default();
            let ids = [1, 2].map(|n| timers.register(TimerOwner::Writer(EntityId::user_writer(n, true))));
            let threads = [(ids[0], 7), (ids[1], 5)].map(|(id, at)| {
                let (timers, told) = (Arc::clone(&timers), Arc::clone(&told));
                thread::spawn(move || {
                    if timers.set(id, Some(MonoTime(at))) {
                        tell(&told, MonoTime(at));
                    }
                })
            });
            if timers.set_closer(ids[0], MonoTime(6)) {
                tell(&told, MonoTime(6));
            }
            for thread in threads {
                thread.join().expect("no panic");
            }
            let told = *told.lock().expect("no poison");
            assert!(
                told.is_some_and(|told| told <= timers.next().expect("armed")),
                "slept too long: {told:?}"
            );
        });
    }

    #[test]
    fn a_timer_armed_during_dispatch_fires_once() {
        loom::model(|| {
            let timers = Arc::new(Timers::default());
            let owner = |n| TimerOwner::Writer(EntityId::user_writer(n, true));
            let ids = [1, 2].map(|n| timers.register(owner(n)));
            timers.set(ids[0], Some(MonoTime(1)));
            let other = {
                let timers = Arc::clone(&timers);
                thread::spawn(move || {
                    timers.set(ids[1], Some(MonoTime(2)));
                    timers.unregister(ids[0]);
                })
            };
            let mut fired = [0, 0];
            let mut work_off = || {
                while let Some(due) = timers.pop_due(MonoTime(3)) {
                    fired[usize::from(due == owner(2))] += 1;
                }
            };
            work_off();
            other.join().expect("no panic");
            work_off();
            assert!(fired[0] <= 1 && fired[1] == 1, "{fired:?}");
            assert_eq!(timers.armed(), 0);
        });
    }
}
