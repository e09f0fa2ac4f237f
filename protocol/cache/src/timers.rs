//! Timers of samples and instances (DDS 1.4 §2.2.3.7 DEADLINE, §2.2.3.12 TIME_BASED_FILTER, §2.2.3.16 LIFESPAN,
//! §2.2.3.22 READER_DATA_LIFECYCLE).

use alloc::vec::Vec;

use dunlin_core::{Duration, InstanceHandle, MonoTime, Now, WallTime};

use crate::slab::{Id, NIL};

/// One or more deadline periods of an instance passed without a sample (DDS 1.4 §2.2.4.1,
/// OFFERED_DEADLINE_MISSED and REQUESTED_DEADLINE_MISSED).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeadlineMissed {
    /// The instance.
    pub instance: InstanceHandle,
    /// Periods that passed since the last report: what to add to `total_count`.
    pub count: u32,
}

/// The earliest of many timers, each named by a slab position; at most one timer per position.
#[derive(Debug, Default)]
pub(crate) struct TimerHeap {
    /// A binary heap, the earliest first.
    heap: Vec<(MonoTime, Id)>,
    /// Where each position's timer stands in the heap, or [`NIL`].
    places: Vec<u32>,
}

impl TimerHeap {
    pub(crate) const fn new() -> Self {
        Self { heap: Vec::new(), places: Vec::new() }
    }

    /// The earliest timer.
    pub(crate) fn peek(&self) -> Option<(MonoTime, Id)> {
        self.heap.first().copied()
    }

    pub(crate) fn is_set(&self, id: Id) -> bool {
        self.place(id).is_some()
    }

    fn place(&self, id: Id) -> Option<usize> {
        self.places.get(id as usize).filter(|place| **place != NIL).map(|place| *place as usize)
    }

    /// The timer of `id`, if there is one.
    pub(crate) fn time(&self, id: Id) -> Option<MonoTime> {
        self.heap.get(self.place(id)?).map(|(time, _)| *time)
    }

    /// Starts or moves the timer of `id`.
    pub(crate) fn set(&mut self, id: Id, time: MonoTime) {
        if let Some(place) = self.place(id) {
            if let Some(entry) = self.heap.get_mut(place) {
                entry.0 = time;
            }
            let place = self.sift_up(place);
            self.sift_down(place);
            return;
        }
        let needed = (id as usize).saturating_add(1);
        if self.places.len() < needed {
            self.places.resize(needed, NIL);
        }
        self.heap.push((time, id));
        let last = self.heap.len().saturating_sub(1);
        self.note(last);
        self.sift_up(last);
    }

    /// Stops the timer of `id`, if there is one.
    pub(crate) fn remove(&mut self, id: Id) {
        let Some(place) = self.place(id) else { return };
        self.heap.swap_remove(place);
        if let Some(noted) = self.places.get_mut(id as usize) {
            *noted = NIL;
        }
        if place < self.heap.len() {
            self.note(place);
            let place = self.sift_up(place);
            self.sift_down(place);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.heap.clear();
        self.places.fill(NIL);
    }

    /// Records where the entry at `place` stands.
    fn note(&mut self, place: usize) {
        let Some((_, id)) = self.heap.get(place) else { return };
        if let Some(noted) = self.places.get_mut(*id as usize) {
            *noted = place as u32;
        }
    }

    fn earlier(&self, a: usize, b: usize) -> bool {
        match (self.heap.get(a), self.heap.get(b)) {
            (Some(a), Some(b)) => a < b,
            _ => false,
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.note(a);
        self.note(b);
    }

    fn sift_up(&mut self, mut place: usize) -> usize {
        while let Some(above) = place.checked_sub(1) {
            let parent = above >> 1;
            if !self.earlier(place, parent) {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
        place
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let left = place.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            let child = if self.earlier(right, left) { right } else { left };
            if !self.earlier(child, place) {
                return;
            }
            self.swap(place, child);
            place = child;
        }
    }
}

/// When a sample with this source timestamp expires; `None` when it already has (DDS 1.4 §2.2.3.16).
///
/// A source clock that is ahead of ours must not prolong the life of a sample, so a timestamp of the future counts as
/// now.
pub(crate) fn expiry(now: Now, source: WallTime, lifespan: Duration) -> Option<MonoTime> {
    if lifespan.is_infinite() {
        return Some(MonoTime::MAX);
    }
    let age = now.wall.since(source.min(now.wall));
    let left = lifespan.as_nanos().saturating_sub(age.as_nanos());
    (left > 0).then(|| now.mono.plus(Duration::from_nanos(left)))
}

/// How many periods have passed at `now` for a deadline that was due at `due`, and the next time it is due.
pub(crate) fn periods_missed(due: MonoTime, now: MonoTime, period: Duration) -> (u32, MonoTime) {
    let period = u64::try_from(period.as_nanos()).unwrap_or(0).max(1);
    let late = now.0.saturating_sub(due.0);
    let count = late.checked_div(period).unwrap_or(0).saturating_add(1);
    let next = MonoTime(due.0.saturating_add(count.saturating_mul(period)));
    (u32::try_from(count).unwrap_or(u32::MAX), next)
}

/// Periods that are shorter are counted together.
const SHORT: Duration = Duration::from_millis(1);

/// When to look again at a deadline that is due at `due`: a period of nanoseconds must not keep the timer busy for ever.
pub(crate) fn next_look(now: MonoTime, due: MonoTime, period: Duration) -> MonoTime {
    if period < SHORT { due.max(now.plus(SHORT)) } else { due }
}

#[cfg(test)]
mod tests {
    use dunlin_core::Rng;

    use super::*;

    #[test]
    fn timers_come_out_in_order_whatever_is_set_moved_and_removed() {
        let mut rng = Rng::new(7);
        let mut heap = TimerHeap::new();
        let mut model: Vec<Option<MonoTime>> = alloc::vec![None; 50];
        for _ in 0..if cfg!(miri) { 100 } else { 20_000 } {
            let id = rng.below(50) as usize;
            if rng.below(3) == 0 {
                heap.remove(id as Id);
                model[id] = None;
            } else {
                let time = MonoTime(rng.below(1000));
                heap.set(id as Id, time);
                model[id] = Some(time);
            }
            let first = model.iter().enumerate().filter_map(|(id, t)| Some(((*t)?, id as Id))).min();
            assert_eq!(heap.peek(), first);
            assert_eq!(heap.is_set(id as Id), model[id].is_some());
        }
    }

    #[test]
    fn a_timestamp_of_the_future_does_not_prolong_life() {
        let now = Now { mono: MonoTime(1_000), wall: WallTime(50) };
        let lifespan = Duration::from_nanos(10);
        assert_eq!(expiry(now, WallTime(45), lifespan), Some(MonoTime(1_005)));
        assert_eq!(expiry(now, WallTime(40), lifespan), None);
        assert_eq!(expiry(now, WallTime(99), lifespan), Some(MonoTime(1_010)));
        assert_eq!(expiry(now, WallTime(i64::MIN), Duration::INFINITE), Some(MonoTime::MAX));
        assert_eq!(expiry(now, WallTime(i64::MIN), lifespan), None);
    }

    #[test]
    fn missed_deadline_periods_are_counted_once() {
        let period = Duration::from_nanos(10);
        assert_eq!(periods_missed(MonoTime(100), MonoTime(100), period), (1, MonoTime(110)));
        assert_eq!(periods_missed(MonoTime(100), MonoTime(109), period), (1, MonoTime(110)));
        assert_eq!(periods_missed(MonoTime(100), MonoTime(131), period), (4, MonoTime(140)));
        assert_eq!(periods_missed(MonoTime(0), MonoTime(u64::MAX), Duration::ZERO).0, u32::MAX);
    }
}
