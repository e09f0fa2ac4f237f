//! RTPS 2.5 §9.4.5.1.3 octetsToNextHeader: which readers of a large change get it through memory, in messages longer than a
//! datagram.

use alloc::vec::Vec;
use dunlin_core::{Locator, SequenceNumber};

/// Where a large change goes, and how.
///
/// Order of calls for each large change: [`divide`](Self::divide), then [`left`](Self::left) once it went to the places in
/// memory. The others may still be getting it.
#[derive(Clone, Debug, Default)]
pub(in crate::writer) struct Split {
    memory: Vec<Locator>,
    /// Everywhere else.
    network: Vec<Locator>,
    /// The last large change that left through memory.
    through: SequenceNumber,
}

impl Split {
    /// Divides the destinations of new data into those that `in_memory` says are there and the others.
    pub(in crate::writer) fn divide(&mut self, places: &[Locator], in_memory: impl Fn(&Locator) -> bool) {
        self.memory.clear();
        self.network.clear();
        for to in places {
            let part = if in_memory(to) { &mut self.memory } else { &mut self.network };
            part.push(*to);
        }
    }

    /// The places in memory.
    pub(in crate::writer) fn memory(&self) -> &[Locator] {
        &self.memory
    }

    /// Where the fragments go, of `all` destinations of new data.
    pub(in crate::writer) fn fragment_routes<'a>(&'a self, all: &'a [Locator]) -> &'a [Locator] {
        if self.memory.is_empty() { all } else { &self.network }
    }

    /// Whether all places are in memory.
    pub(in crate::writer) fn is_memory_alone(&self) -> bool {
        self.network.is_empty()
    }

    /// A change has left through memory.
    pub(in crate::writer) fn left(&mut self, sn: SequenceNumber) {
        self.through = sn;
    }

    /// The last one that has.
    pub(in crate::writer) fn through(&self) -> SequenceNumber {
        self.through
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_go_where_there_is_no_memory() {
        let places = [1, 2, 3].map(|n| Locator::udp_v4(core::net::Ipv4Addr::new(10, 0, 0, n), 7411));
        let mut split = Split::default();
        assert_eq!(split.fragment_routes(&places), places, "before anything was divided");
        split.divide(&places, |to| *to == places[1]);
        assert_eq!(split.memory(), [places[1]]);
        assert_eq!(split.fragment_routes(&places), [places[0], places[2]]);
        assert!(!split.is_memory_alone());
        split.divide(&places, |_| true);
        assert!(split.is_memory_alone() && split.fragment_routes(&places).is_empty());
        split.divide(&places, |_| false);
        assert_eq!(split.fragment_routes(&places), places);
    }
}
