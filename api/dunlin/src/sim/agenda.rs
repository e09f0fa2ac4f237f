//! What is to happen at some time besides what the network does: ordered by time, then by the order of making.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use dunlin_core::MonoTime;

struct Planned<E> {
    at: MonoTime,
    order: u64,
    entry: E,
}

impl<E> Ord for Planned<E> {
    /// The heap gives the greatest first, which is to be the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<E> PartialOrd for Planned<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Planned<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E> Eq for Planned<E> {}

pub(crate) struct Agenda<E> {
    heap: BinaryHeap<Planned<E>>,
    order: u64,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), order: 0 }
    }
}

impl<E> Agenda<E> {
    pub(crate) fn push(&mut self, at: MonoTime, entry: E) {
        self.order += 1;
        self.heap.push(Planned { at, order: self.order, entry });
    }

    pub(crate) fn next(&self) -> Option<MonoTime> {
        self.heap.peek().map(|planned| planned.at)
    }

    pub(crate) fn pop(&mut self) -> Option<(MonoTime, E)> {
        self.heap.pop().map(|planned| (planned.at, planned.entry))
    }

    /// Forgets everything, for whoever drops it.
    pub(crate) fn clear(&mut self) -> Vec<E> {
        std::mem::take(&mut self.heap).into_iter().map(|planned| planned.entry).collect()
    }
}
