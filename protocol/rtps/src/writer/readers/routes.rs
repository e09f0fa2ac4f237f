//! RTPS 2.5 §8.4.9.2: the locators a message for several readers goes to, so that each gets it once if possible.

use alloc::boxed::Box;
use alloc::vec::Vec;

use dunlin_core::Locator;

use super::ReaderProxy;

/// Where new data goes, and buffers for computing destinations, kept for reuse.
///
/// Order of calls: [`outdate`](Self::outdate) whenever the readers change, [`refresh`](Self::refresh) before
/// [`destinations`](Self::destinations).
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    destinations: Vec<Locator>,
    /// The set of readers has changed since `destinations` was derived from it.
    stale: bool,
    /// Where a message goes that is for some readers alone.
    covering: Vec<Locator>,
    covered: Vec<bool>,
    groups: Vec<Locator>,
    hosts: Vec<Locator>,
}

impl Routes {
    /// The set of readers has changed.
    pub(super) fn outdate(&mut self) {
        self.stale = true;
    }

    /// Whether it has changed since the last [`refresh`](Self::refresh).
    #[inline]
    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Where new data goes.
    #[inline]
    pub(super) fn destinations(&self) -> &[Locator] {
        &self.destinations
    }

    /// Finds out where new data goes, if the set of readers has changed; false if not.
    #[inline]
    pub(super) fn refresh(
        &mut self,
        proxies: &[Box<ReaderProxy>],
        wanted: impl Fn(&ReaderProxy) -> bool,
    ) -> bool {
        if !core::mem::take(&mut self.stale) {
            return false;
        }
        self.cover(proxies, true, wanted);
        self.destinations.clear();
        self.destinations.extend_from_slice(&self.covering);
        true
    }

    /// The destinations for the readers that `wanted` selects: if `by_group`, a multicast group in place of the unicast
    /// locators of its members when that saves sending; the unicast locators of all others, nothing twice.
    pub(super) fn cover(
        &mut self,
        proxies: &[Box<ReaderProxy>],
        by_group: bool,
        wanted: impl Fn(&ReaderProxy) -> bool,
    ) -> &[Locator] {
        self.covering.clear();
        self.covered.clear();
        self.covered.extend(proxies.iter().map(|proxy| !wanted(proxy)));
        while let Some(group) = Some(()).filter(|()| by_group).and_then(|()| self.best_group(proxies)) {
            for (covered, proxy) in self.covered.iter_mut().zip(proxies) {
                *covered |= proxy.cfg.multicast.contains(&group);
            }
            self.covering.push(group);
        }
        for (_, proxy) in self.covered.iter().zip(proxies).filter(|(covered, _)| !**covered) {
            for locator in proxy.directed() {
                if !self.covering.contains(locator) {
                    self.covering.push(*locator);
                }
            }
        }
        &self.covering
    }

    /// The group that reaches most of the readers not covered yet, if it replaces at least two unicast destinations.
    fn best_group(&mut self, proxies: &[Box<ReaderProxy>]) -> Option<Locator> {
        self.groups.clear();
        let open =
            || self.covered.iter().zip(proxies).filter(|(covered, _)| !**covered).map(|(_, proxy)| proxy);
        self.groups.extend(open().flat_map(|proxy| proxy.cfg.multicast.iter().copied()));
        self.groups.sort_unstable();
        let mut best: Option<(usize, Locator)> = None;
        for run in self.groups.chunk_by(|a, b| a == b) {
            if let Some(group) = run.first()
                && run.len() > best.map_or(1, |(size, _)| size)
            {
                best = Some((run.len(), *group));
            }
        }
        let (_, group) = best?;
        self.hosts.clear();
        let members = open().filter(|proxy| proxy.cfg.multicast.contains(&group));
        self.hosts.extend(members.filter_map(|proxy| proxy.cfg.unicast.first().copied()));
        self.hosts.sort_unstable();
        self.hosts.dedup();
        (self.hosts.len() != 1).then_some(group)
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use dunlin_core::SequenceNumber;

    use super::*;
    use crate::ReaderProxyConfig;

    fn host(n: u8) -> Locator {
        Locator::udp_v4(Ipv4Addr::new(10, 0, 0, n), 7411)
    }

    fn group(n: u8) -> Locator {
        Locator::udp_v4(Ipv4Addr::new(239, 255, 0, n), 7401)
    }

    fn proxy(unicast: Locator, multicast: &[Locator]) -> Box<ReaderProxy> {
        let cfg = ReaderProxyConfig {
            unicast: [unicast].into(),
            multicast: multicast.into(),
            ..Default::default()
        };
        Box::new(ReaderProxy::new(cfg, true, SequenceNumber::ZERO))
    }

    fn cover(proxies: &[Box<ReaderProxy>]) -> Vec<Locator> {
        Routes::default().cover(proxies, true, |_| true).to_vec()
    }

    #[test]
    fn single_participant_is_reached_by_unicast_once() {
        assert_eq!(cover(&[]), []);
        assert_eq!(cover(&[proxy(host(1), &[group(1)])]), [host(1)]);
        assert_eq!(cover(&[proxy(host(1), &[group(1)]), proxy(host(1), &[group(1)])]), [host(1)]);
    }

    #[test]
    fn a_shared_group_replaces_the_unicast_of_its_members() {
        let members = [proxy(host(1), &[group(1)]), proxy(host(2), &[group(2), group(1)])];
        assert_eq!(cover(&members), [group(1)]);
        let mixed = [members[0].clone(), members[1].clone(), proxy(host(3), &[]), proxy(Locator::LOCAL, &[])];
        assert_eq!(cover(&mixed), [group(1), host(3), Locator::LOCAL]);
        assert_eq!(cover(&[proxy(host(1), &[group(1)]), proxy(host(2), &[group(2)])]), [host(1), host(2)]);
    }

    #[test]
    fn readers_left_out_do_not_count() {
        let mut routes = Routes::default();
        let proxies = [proxy(host(1), &[group(1)]), proxy(host(2), &[group(1)])];
        let second = |proxy: &ReaderProxy| *proxy.cfg.unicast == [host(2)];
        assert_eq!(routes.cover(&proxies, true, second), [host(2)]);
        assert_eq!(routes.cover(&proxies, false, |_| true), [host(1), host(2)], "without the group");
    }

    #[test]
    fn destinations_of_new_data_stay_until_the_readers_change() {
        let mut routes = Routes::default();
        let proxies = [proxy(host(1), &[]), proxy(host(2), &[])];
        assert!(!routes.refresh(&proxies, |_| true) && routes.destinations().is_empty());
        routes.outdate();
        assert!(routes.is_stale() && routes.refresh(&proxies, |_| true) && !routes.is_stale());
        routes.cover(&proxies, true, |_| false);
        assert_eq!(routes.destinations(), [host(1), host(2)]);
    }
}
