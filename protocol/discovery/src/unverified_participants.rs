//! How many participants are known that have not been verified, and from where: our own quotas on what RTPS 2.5 §8.5.3
//! lets anybody announce.

use alloc::collections::{BTreeMap, BTreeSet};
use core::net::IpAddr;

use dunlin_core::{GuidPrefix, Locator, MonoTime};

use crate::config::Quotas;

/// Where datagrams come from; those without an address count as of one source.
type Source = Option<IpAddr>;

/// The index of unverified participants. The one that gives way is found without looking at the others: anybody can make many.
#[derive(Debug, Default)]
pub(crate) struct UnverifiedParticipants {
    known: BTreeMap<GuidPrefix, (Source, MonoTime)>,
    /// Those of each source, the oldest first.
    by_source: BTreeMap<Source, BTreeSet<(MonoTime, GuidPrefix)>>,
    /// The sources by how many they have.
    by_count: BTreeSet<(usize, Source)>,
}

impl UnverifiedParticipants {
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn add(&mut self, now: MonoTime, prefix: GuidPrefix, from: Locator) {
        let source = from.ip();
        if self.known.contains_key(&prefix) {
            return;
        }
        self.known.insert(prefix, (source, now));
        self.change(source, |same| {
            same.insert((now, prefix));
        });
    }

    pub(crate) fn remove(&mut self, prefix: GuidPrefix) {
        let Some((source, since)) = self.known.remove(&prefix) else { return };
        self.change(source, |same| {
            same.remove(&(since, prefix));
        });
    }

    /// Changes what is known of a source.
    fn change(&mut self, source: Source, change: impl FnOnce(&mut BTreeSet<(MonoTime, GuidPrefix)>)) {
        let same = self.by_source.entry(source).or_default();
        self.by_count.remove(&(same.len(), source));
        change(same);
        if same.is_empty() {
            self.by_source.remove(&source);
        } else {
            self.by_count.insert((same.len(), source));
        }
    }

    /// The participant to evict so that another one from `from` may be known: the oldest of the same source, or of the source
    /// that has the most. `full` says that there is no room for more participants of any kind.
    pub(crate) fn to_evict(&self, from: Locator, quotas: &Quotas, full: bool) -> Option<GuidPrefix> {
        let source = from.ip();
        let of_source = self.by_source.get(&source).map_or(0, BTreeSet::len);
        if of_source >= quotas.max_unverified_per_source.max(1) {
            return self.oldest_of(source);
        }
        if full || self.known.len() >= quotas.max_unverified.max(1) {
            let (_, heaviest) = self.by_count.last()?;
            return self.oldest_of(*heaviest);
        }
        None
    }

    fn oldest_of(&self, source: Source) -> Option<GuidPrefix> {
        self.by_source.get(&source)?.first().map(|(_, prefix)| *prefix)
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    fn from(n: u8) -> Locator {
        Locator::udp_v4(Ipv4Addr::new(10, 0, 0, n), 7410)
    }

    fn prefix(n: u8) -> GuidPrefix {
        GuidPrefix([n; 12])
    }

    #[test]
    fn the_source_with_most_unverified_participants_loses_one() {
        let quotas = Quotas { max_unverified: 4, max_unverified_per_source: 3, ..Quotas::default() };
        let mut unverified = UnverifiedParticipants::default();
        for (at, source) in [(1, 1), (2, 2), (3, 1)] {
            assert_eq!(unverified.to_evict(from(source), &quotas, false), None);
            unverified.add(MonoTime(at), prefix(at as u8), from(source));
        }
        assert_eq!(unverified.to_evict(from(9), &quotas, true), Some(prefix(1)), "no room at all");
        unverified.add(MonoTime(4), prefix(4), from(1));
        assert_eq!(unverified.to_evict(from(1), &quotas, false), Some(prefix(1)), "the source's own");
        assert_eq!(unverified.to_evict(from(3), &quotas, false), Some(prefix(1)), "of the one that has most");
        unverified.remove(prefix(1));
        unverified.remove(prefix(1));
        assert_eq!((unverified.len(), unverified.to_evict(from(3), &quotas, false)), (3, None));
        assert_eq!(unverified.by_source.values().map(BTreeSet::len).sum::<usize>(), 3);
        assert_eq!(unverified.by_count.iter().map(|(count, _)| count).sum::<usize>(), 3);
    }
}
