//! How many participants are known that have not been verified, and from where: our own quotas on what RTPS 2.5 §8.5.3
//! lets anybody announce.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use dunlin_core::{GuidPrefix, Locator, MonoTime};

use crate::config::Quotas;

/// The index of strangers. Datagrams without an address count as of one source.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    known: BTreeMap<GuidPrefix, (Option<IpAddr>, MonoTime)>,
    by_source: BTreeMap<Option<IpAddr>, usize>,
}

impl Strangers {
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn add(&mut self, now: MonoTime, prefix: GuidPrefix, from: Locator) {
        let source = from.ip();
        if self.known.insert(prefix, (source, now)).is_none() {
            let count = self.by_source.entry(source).or_default();
            *count = count.saturating_add(1);
        }
    }

    pub(crate) fn remove(&mut self, prefix: GuidPrefix) {
        let Some((source, _)) = self.known.remove(&prefix) else { return };
        if let Some(count) = self.by_source.get_mut(&source) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_source.remove(&source);
            }
        }
    }

    /// Who has to give way so that another stranger from `from` may be known: the oldest of the same source, or of the
    /// source that has the most. `full` says that there is no room for more participants of any kind.
    pub(crate) fn to_evict(&self, from: Locator, quotas: &Quotas, full: bool) -> Option<GuidPrefix> {
        let source = from.ip();
        let of_source = self.by_source.get(&source).copied().unwrap_or(0);
        if of_source >= quotas.max_unverified_per_source.max(1) {
            return self.oldest_of(source);
        }
        if full || self.known.len() >= quotas.max_unverified.max(1) {
            let (heaviest, _) = self.by_source.iter().max_by_key(|(_, count)| **count)?;
            return self.oldest_of(*heaviest);
        }
        None
    }

    fn oldest_of(&self, source: Option<IpAddr>) -> Option<GuidPrefix> {
        let same = self.known.iter().filter(|(_, (known, _))| *known == source);
        same.min_by_key(|(_, (_, since))| *since).map(|(prefix, _)| *prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    fn from(n: u8) -> Locator {
        Locator::udp_v4(Ipv4Addr::new(10, 0, 0, n), 7410)
    }

    fn prefix(n: u8) -> GuidPrefix {
        GuidPrefix([n; 12])
    }

    #[test]
    fn who_has_many_gives_way() {
        let quotas = Quotas { max_unverified: 4, max_unverified_per_source: 3, ..Quotas::default() };
        let mut strangers = Strangers::default();
        for (at, source) in [(1, 1), (2, 2), (3, 1)] {
            assert_eq!(strangers.to_evict(from(source), &quotas, false), None);
            strangers.add(MonoTime(at), prefix(at as u8), from(source));
        }
        assert_eq!(strangers.to_evict(from(9), &quotas, true), Some(prefix(1)), "no room at all");
        strangers.add(MonoTime(4), prefix(4), from(1));
        assert_eq!(strangers.to_evict(from(1), &quotas, false), Some(prefix(1)), "the source's own");
        assert_eq!(strangers.to_evict(from(3), &quotas, false), Some(prefix(1)), "of the one that has most");
        strangers.remove(prefix(1));
        strangers.remove(prefix(1));
        assert_eq!((strangers.len(), strangers.to_evict(from(3), &quotas, false)), (3, None));
        assert_eq!(strangers.by_source.values().sum::<usize>(), 3);
    }
}
