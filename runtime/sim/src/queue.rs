//! The queue of events: ordered by time, and by the order of making where the time is the same.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use dunlin_core::{GuidPrefix, Locator, MonoTime};

use crate::node::NodeId;
use crate::traffic::Datagram;

/// What happens at some time.
#[derive(Debug)]
pub(crate) enum SimEvent {
    /// A datagram reaches a node. Boxed, as the queue moves its entries about.
    Arrival(NodeId, Box<Datagram>),
    /// A participant wants to be called.
    Timer(NodeId),
    /// A node looks whether it shares memory with a participant.
    Attach(NodeId, GuidPrefix),
    /// A node does what calls have left to later ones.
    Deferred(NodeId),
    /// A node has found out that nobody takes what it puts there.
    NoMemory(NodeId, Locator),
}

#[derive(Debug)]
struct Entry {
    at: MonoTime,
    order: u64,
    what: SimEvent,
}

impl Ord for Entry {
    /// The heap gives the greatest first, which is to be the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Entry>,
    order: u64,
}

impl Queue {
    pub(crate) fn push(&mut self, at: MonoTime, what: SimEvent) {
        self.order += 1;
        self.heap.push(Entry { at, order: self.order, what });
    }

    /// When the next event comes, and which node it concerns.
    pub(crate) fn next(&self) -> Option<(MonoTime, NodeId)> {
        let entry = self.heap.peek()?;
        let (SimEvent::Arrival(node, _)
        | SimEvent::Timer(node)
        | SimEvent::Attach(node, _)
        | SimEvent::Deferred(node)
        | SimEvent::NoMemory(node, _)) = &entry.what;
        Some((entry.at, *node))
    }

    /// The next event, if it is not after `end`.
    pub(crate) fn pop_until(&mut self, end: MonoTime) -> Option<(MonoTime, SimEvent)> {
        if self.heap.peek()?.at > end {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.what))
    }
}
