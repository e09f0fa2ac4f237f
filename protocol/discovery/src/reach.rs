//! Which locators of a peer can be used from here: RTPS 2.5 §9.6.2 leaves it open; this keeps to what is plausible.

use alloc::{collections::BTreeSet, vec::Vec};
use core::net::IpAddr;

use dunlin_core::{Locator, LocatorKind, are_on_one_host, is_on_this_host};

use crate::config::{DiscoveryConfig, Locators};

/// How a participant is reached, learnt from where its announcement came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reach {
    /// Its loopback addresses are those of this host.
    same_host: bool,
    /// The one of its addresses that is known to work, and over which transport.
    via: Option<(LocatorKind, IpAddr)>,
    /// The one place that data goes to: within this process, which nobody announces, or at the end of a path that was opened.
    chosen: Option<Locator>,
    /// What it sends to groups does not arrive here, so what is sent to its groups is taken not to arrive there.
    groups_silent: bool,
}

/// Whether a locator is of a transport, at an address.
fn is_at(locator: &Locator, (kind, ip): (LocatorKind, IpAddr)) -> bool {
    locator.kind == kind && locator.ip() == Some(ip)
}

impl Reach {
    /// Judges an announcement of `announced` that came from `from`. An address that worked is kept while it is
    /// announced, so that a peer with several networks does not alternate between them. Another one has told of it if it came from
    /// nowhere ([`Locator::INVALID`]): then what both announce decides, and where both have loopback, they are taken to be on one
    /// host, as there may be no other way between them.
    pub(crate) fn learn(before: Option<Self>, announced: &Locators, from: Locator, own: &Locators) -> Self {
        let announces = |via: &(LocatorKind, IpAddr)| announced.unicast().any(|locator| is_at(locator, *via));
        let source = from.ip();
        let is_own = |ip: IpAddr| own.unicast().any(|locator| locator.ip() == Some(ip));
        let same_host = if from == Locator::INVALID {
            let has_loopback = |locators: &Locators| locators.unicast().any(Locator::is_loopback);
            are_on_one_host(announced.unicast(), own.unicast())
                || (has_loopback(announced) && has_loopback(own))
        } else {
            source.is_none_or(|ip| is_on_this_host(ip, is_own))
        };
        let via = before.and_then(|reach| reach.via).filter(announces);
        let via = via.or(source.map(|ip| (from.kind, ip)).filter(announces));
        let chosen = before.and_then(|reach| reach.chosen);
        let chosen = chosen
            .filter(|place| place.kind == LocatorKind::LOCAL || announced.default_unicast.contains(place));
        Self {
            same_host: same_host || before.is_some_and(|reach| reach.same_host),
            via,
            chosen,
            groups_silent: before.is_some_and(|reach| reach.groups_silent),
        }
    }

    /// Takes note whether what it sends to groups arrives; true if that is news.
    pub(crate) fn set_groups_silent(&mut self, silent: bool) -> bool {
        core::mem::replace(&mut self.groups_silent, silent) != silent
    }

    pub(crate) const fn is_same_host(&self) -> bool {
        self.same_host
    }

    pub(crate) const fn groups_are_silent(&self) -> bool {
        self.groups_silent
    }

    /// Takes note that the path to a place is open, or that none is.
    pub(crate) fn choose(&mut self, place: Option<Locator>) {
        self.chosen = place;
    }

    /// Leaves nothing but the end of the path that is open, if the list has it. Otherwise leaves out what would have to be
    /// opened first.
    pub(crate) fn prefer_chosen(
        &self,
        unicast: &mut Vec<Locator>,
        multicast: &mut Vec<Locator>,
        opened: &[LocatorKind],
    ) {
        match self.chosen {
            Some(place) if place.kind == LocatorKind::LOCAL => {
                *unicast = alloc::vec![place];
                multicast.clear();
            }
            Some(place) if unicast.contains(&place) => {
                unicast.retain(|locator| *locator == place);
                multicast.clear();
            }
            _ => unicast.retain(|locator| !opened.contains(&locator.kind)),
        }
    }

    /// Leaves no group where this participant listens to none for the same purpose, or hears nothing that is sent to one:
    /// multicast is switched off, or ends on the way, and what is sent to a group would be lost. It stays if there is
    /// nothing else.
    pub(crate) fn retain_groups(&self, multicast: &mut Vec<Locator>, unicast: &[Locator], own: &[Locator]) {
        if (own.is_empty() || self.groups_silent) && !unicast.is_empty() {
            multicast.clear();
        }
    }

    /// Leaves the locators that make sense for a unicast destination: no loopback address of another host, and only
    /// the address known to work where the list has it.
    pub(crate) fn retain_unicast(&self, list: &mut Vec<Locator>) {
        list.retain(|locator| self.same_host || !locator.is_loopback());
        if let Some(via) = self.via
            && list.iter().any(|locator| is_at(locator, via))
        {
            list.retain(|locator| locator.ip().is_none() || is_at(locator, via));
        }
    }
}

/// Leaves the locators with an address among those of `verifiable` ones, and those whose paths are `opened`, which shows who is
/// there; how many are left out.
pub(crate) fn retain_addresses(
    list: &mut Vec<Locator>,
    verifiable: &[Locator],
    opened: &[LocatorKind],
) -> usize {
    let before = list.len();
    let same = |one: &Locator, other: &Locator| match (one.ip(), other.ip()) {
        (None, None) => one.kind == other.kind && one.address == other.address,
        (one, other) => one == other,
    };
    list.retain(|locator| {
        opened.contains(&locator.kind) || verifiable.iter().any(|known| same(known, locator))
    });
    before.saturating_sub(list.len())
}

/// Transports of a participant.
pub(crate) fn kinds(own: &Locators) -> BTreeSet<LocatorKind> {
    own.unicast().map(|locator| locator.kind).collect()
}

/// Leaves the locators whose transport this participant has; all when it announces none itself.
pub(crate) fn retain_kinds(list: &mut Vec<Locator>, kinds: &BTreeSet<LocatorKind>) {
    list.retain(|locator| kinds.is_empty() || kinds.contains(&locator.kind));
}

/// Applies all rules to the lists of a participant: what is left, and how many places were left out because it wants data there
/// although it never has to answer there.
pub(crate) fn usable(mut announced: Locators, reach: &Reach, config: &DiscoveryConfig) -> (Locators, usize) {
    let (own, opened) = (&config.locators, &*config.opened_kinds);
    let kinds = kinds(own);
    for list in announced.lists_mut() {
        retain_kinds(list, &kinds);
    }
    reach.retain_unicast(&mut announced.metatraffic_unicast);
    reach.retain_unicast(&mut announced.default_unicast);
    let Locators { metatraffic_unicast, metatraffic_multicast, default_unicast, default_multicast } =
        &mut announced;
    metatraffic_unicast.retain(|locator| !opened.contains(&locator.kind));
    let foreign = config.quotas.foreign_locators;
    let left_out = if foreign { 0 } else { retain_addresses(default_unicast, metatraffic_unicast, opened) };
    reach.prefer_chosen(default_unicast, default_multicast, opened);
    reach.retain_groups(metatraffic_multicast, metatraffic_unicast, &own.metatraffic_multicast);
    reach.retain_groups(default_multicast, default_unicast, &own.default_multicast);
    (announced, left_out)
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::net::{Ipv4Addr, Ipv6Addr};

    use dunlin_core::GuidPrefix;

    use super::*;

    fn usable(announced: Locators, reach: &Reach, own: &Locators) -> Locators {
        let mut config =
            DiscoveryConfig { locators: own.clone(), ..DiscoveryConfig::new(GuidPrefix([1; 12]), 0) };
        config.quotas.foreign_locators = true;
        super::usable(announced, reach, &config).0
    }

    fn v4(a: u8, b: u8, c: u8, d: u8) -> Locator {
        Locator::udp_v4(Ipv4Addr::new(a, b, c, d), 7410)
    }

    fn unicast(list: Vec<Locator>) -> Locators {
        Locators { metatraffic_unicast: list.clone(), default_unicast: list, ..Locators::default() }
    }

    #[test]
    fn loopback_of_another_host_is_left_out() {
        let own = unicast(vec![v4(10, 0, 0, 1)]);
        let announced = unicast(vec![v4(127, 0, 0, 1), v4(10, 0, 0, 2)]);
        let remote = Reach::learn(None, &announced, v4(10, 0, 0, 9), &own);
        assert_eq!(usable(announced.clone(), &remote, &own).default_unicast, [v4(10, 0, 0, 2)]);
        let only_loopback = unicast(vec![v4(127, 0, 0, 1)]);
        assert_eq!(usable(only_loopback, &remote, &own).default_unicast, []);
        // From an address of this host, or from loopback: the same host.
        for from in [v4(10, 0, 0, 1), v4(127, 0, 0, 1)] {
            let reach = Reach::learn(None, &announced, from, &own);
            assert!(usable(announced.clone(), &reach, &own).default_unicast.contains(&v4(127, 0, 0, 1)));
        }
    }

    #[test]
    fn a_participant_without_multicast_sends_to_no_group() {
        let group = vec![v4(239, 255, 0, 1)];
        let announced = Locators { default_multicast: group.clone(), ..unicast(vec![v4(10, 0, 0, 2)]) };
        let announced = Locators { metatraffic_multicast: group.clone(), ..announced };
        let own = Locators { metatraffic_multicast: group.clone(), ..unicast(vec![v4(10, 0, 0, 1)]) };
        let left = usable(announced.clone(), &Reach::default(), &own);
        assert_eq!((left.metatraffic_multicast, left.default_multicast), (group.clone(), vec![]));
        let only_group = Locators { default_unicast: vec![], ..announced };
        assert_eq!(usable(only_group, &Reach::default(), &own).default_multicast, group);
    }

    #[test]
    fn the_address_that_works_is_preferred_and_kept() {
        let own = unicast(vec![v4(10, 0, 0, 1)]);
        let announced = unicast(vec![v4(172, 17, 0, 1), v4(10, 0, 0, 2)]);
        let first = Reach::learn(None, &announced, v4(10, 0, 0, 2), &own);
        assert_eq!(usable(announced.clone(), &first, &own).metatraffic_unicast, [v4(10, 0, 0, 2)]);
        let second = Reach::learn(Some(first), &announced, v4(172, 17, 0, 1), &own);
        assert_eq!(second, first);
        let moved = unicast(vec![v4(172, 17, 0, 1)]);
        let third = Reach::learn(Some(first), &moved, v4(172, 17, 0, 1), &own);
        assert_eq!(usable(moved, &third, &own).metatraffic_unicast, [v4(172, 17, 0, 1)]);
    }

    #[test]
    fn shared_memory_replaces_the_network_where_it_works() {
        let place = Locator::shared_memory([1; 8], 2);
        let group = vec![v4(239, 255, 0, 1)];
        let own = Locators {
            default_unicast: vec![Locator::shared_memory([1; 8], 1), v4(10, 0, 0, 1)],
            default_multicast: group.clone(),
            ..unicast(vec![v4(10, 0, 0, 1)])
        };
        let announced = Locators {
            default_unicast: vec![place, v4(10, 0, 0, 2)],
            default_multicast: group.clone(),
            ..unicast(vec![v4(10, 0, 0, 2)])
        };
        let mut reach = Reach::learn(None, &announced, v4(10, 0, 0, 2), &own);
        let places = |reach: &Reach| {
            let usable = usable(announced.clone(), reach, &own);
            (usable.default_unicast, usable.default_multicast, usable.metatraffic_unicast)
        };
        let network = (vec![v4(10, 0, 0, 2)], group, vec![v4(10, 0, 0, 2)]);
        assert_eq!(places(&reach), network);
        reach.choose(Some(place));
        assert_eq!(places(&reach), (vec![place], vec![], vec![v4(10, 0, 0, 2)]));
        let later = Reach::learn(Some(reach), &announced, v4(10, 0, 0, 2), &own);
        assert_eq!(later, reach, "it stays while it is announced");
        let mut moved = announced.clone();
        moved.default_unicast.remove(0);
        let later = Reach::learn(Some(reach), &moved, v4(10, 0, 0, 2), &own);
        assert_eq!(places(&later), network);
        let mut list = vec![place, v4(10, 0, 0, 9)];
        let opened = [LocatorKind::SHARED_MEMORY];
        assert_eq!(
            (retain_addresses(&mut list, &announced.metatraffic_unicast, &opened), list),
            (1, vec![place])
        );
    }

    #[test]
    fn places_of_other_transports_are_judged_by_their_own_address() {
        let link = |end: u8, port: u32| {
            let mut address = [0; 16];
            address[0] = end;
            Locator { kind: LocatorKind(0x0244_4CEE), port, address }
        };
        let own = unicast(vec![v4(10, 0, 0, 1), link(1, 1)]);
        let announced = unicast(vec![v4(10, 0, 0, 2), link(2, 1)]);
        let reach = Reach::learn(None, &announced, v4(10, 0, 0, 2), &own);
        let both = usable(announced.clone(), &reach, &own).default_unicast;
        assert_eq!(
            both, announced.default_unicast,
            "an address that works says nothing of another transport"
        );
        let mut list = vec![link(2, 7), link(3, 7), v4(10, 0, 0, 2), v4(10, 0, 0, 3)];
        assert_eq!(retain_addresses(&mut list, &announced.metatraffic_unicast, &[]), 2);
        assert_eq!(list, [link(2, 7), v4(10, 0, 0, 2)]);
    }

    #[test]
    fn announced_locators_of_unsupported_transports_are_ignored() {
        let own = unicast(vec![v4(10, 0, 0, 1)]);
        let six = Locator::udp_v6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2), 7410);
        let announced = unicast(vec![six, v4(10, 0, 0, 2)]);
        let reach = Reach::default();
        assert_eq!(usable(announced.clone(), &reach, &own).default_unicast, [v4(10, 0, 0, 2)]);
        assert_eq!(usable(announced.clone(), &reach, &Locators::default()).default_unicast.len(), 2);
    }
}
