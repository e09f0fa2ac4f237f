//! RTPS 2.5 §9.4.5.1.3 octetsToNextHeader: which readers of a large change get it on lossless paths, in messages longer than a
//! datagram.

use alloc::vec::Vec;

use dunlin_core::{Locator, SequenceNumber};

/// Where a large change goes, and how.
///
/// Order of calls for each large change: [`divide`](Self::divide), then [`left`](Self::left) once it went to the lossless
/// places. The others may still be getting it.
#[derive(Clone, Debug, Default)]
pub(in crate::writer) struct Split {
    lossless: Vec<Locator>,
    /// Everywhere else.
    others: Vec<Locator>,
    /// The last large change that left for lossless places.
    through: SequenceNumber,
}

impl Split {
    /// Divides the destinations of new data into the lossless ones and the others.
    pub(in crate::writer) fn divide(&mut self, places: &[Locator], is_lossless: impl Fn(&Locator) -> bool) {
        self.lossless.clear();
        self.others.clear();
        for to in places {
            let part = if is_lossless(to) { &mut self.lossless } else { &mut self.others };
            part.push(*to);
        }
    }

    /// The lossless places.
    pub(in crate::writer) fn lossless(&self) -> &[Locator] {
        &self.lossless
    }

    /// Where the fragments go, of `all` destinations of new data.
    pub(in crate::writer) fn fragment_routes<'a>(&'a self, all: &'a [Locator]) -> &'a [Locator] {
        if self.lossless.is_empty() { all } else { &self.others }
    }

    /// Whether all places are lossless.
    pub(in crate::writer) fn is_lossless_alone(&self) -> bool {
        self.others.is_empty()
    }

    /// A change has left for the lossless places.
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
    fn fragments_go_where_something_may_be_lost() {
        let places = [1, 2, 3].map(|n| Locator::udp_v4(core::net::Ipv4Addr::new(10, 0, 0, n), 7411));
        let mut split = Split::default();
        assert_eq!(split.fragment_routes(&places), places, "before anything was divided");
        split.divide(&places, |to| *to == places[1]);
        assert_eq!(split.lossless(), [places[1]]);
        assert_eq!(split.fragment_routes(&places), [places[0], places[2]]);
        assert!(!split.is_lossless_alone());
        split.divide(&places, |_| true);
        assert!(split.is_lossless_alone() && split.fragment_routes(&places).is_empty());
        split.divide(&places, |_| false);
        assert_eq!(split.fragment_routes(&places), places);
    }
}
