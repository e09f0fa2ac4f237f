//! What the applications do and when faults begin and end, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::log::Nanos;

/// Something to do. Numbers are those of the scenario; a life says for which life of an endpoint it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Action {
    Appear(usize),
    Vanish(usize),
    Tick(usize, u32),
    Take(usize, u32),
    Assert(usize, u32),
    Begin(usize),
    Middle(usize),
    End(usize),
    Attack(usize),
    BeginSet(usize),
    EndSet(usize),
}

#[derive(Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(Nanos, u64, Action)>>,
    order: u64,
}

impl Agenda {
    pub(super) fn at(&mut self, at: Nanos, action: Action) {
        self.order += 1;
        self.heap.push(Reverse((at, self.order, action)));
    }

    /// The next thing to do, if it is not after `end`.
    pub(super) fn next(&mut self, end: Nanos) -> Option<(Nanos, Action)> {
        if self.heap.peek()?.0.0 > end {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, action))| (at, action))
    }
}
