//! What is to happen at some time besides what the network does: ordered by time, then by the order of making.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Weak;
use std::task::Waker;

use dunlin_buf::SharedBytes;
use dunlin_core::{Locator, MonoTime};

use crate::sim::machine::NodeMachine;
use crate::sim::port::SimPort;

pub(crate) enum Entry {
    Wake(Waker),
    /// The participant of a port wants to be called.
    Timer(Weak<SimPort>),
    /// A datagram that does not leave its node.
    Local {
        machine: Weak<NodeMachine>,
        from: Locator,
        to: Locator,
        bytes: SharedBytes,
    },
}

struct Planned {
    at: MonoTime,
    order: u64,
    entry: Entry,
}

impl Ord for Planned {
    /// The heap gives the greatest first, which is to be the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Planned {}

#[derive(Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Planned>,
    order: u64,
}

impl Agenda {
    pub(crate) fn push(&mut self, at: MonoTime, entry: Entry) {
        self.order += 1;
        self.heap.push(Planned { at, order: self.order, entry });
    }

    pub(crate) fn next(&self) -> Option<MonoTime> {
        self.heap.peek().map(|planned| planned.at)
    }

    pub(crate) fn pop(&mut self) -> Option<(MonoTime, Entry)> {
        self.heap.pop().map(|planned| (planned.at, planned.entry))
    }

    /// Forgets everything, for whoever drops it.
    pub(crate) fn clear(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.heap).into_iter().map(|planned| planned.entry).collect()
    }
}
