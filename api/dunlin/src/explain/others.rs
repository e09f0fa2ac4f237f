//! Whether two other participants can reach each other, as far as what they announce and what is seen from here shows.

use std::net::IpAddr;

use dunlin_core::{Locator, are_on_one_host};
use dunlin_discovery::{EndpointLocators, Locators, ParticipantState};

use crate::cause::Barrier;

/// An endpoint of another participant.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    /// What its participant announced.
    announced: &'a Locators,
    /// Its participant receives what is sent from here.
    verified: bool,
    /// Its participant is on this host.
    same_host: bool,
    /// The locators that it announced for itself.
    own: Option<&'a EndpointLocators>,
}

impl<'a> Side<'a> {
    pub(super) const fn new(standing: &'a ParticipantState, own: Option<&'a EndpointLocators>) -> Self {
        let ParticipantState { announced, verified, same_host, .. } = standing;
        Self { announced, verified: *verified, same_host: *same_host, own }
    }

    /// Where its data is to be sent, groups left out.
    pub(super) fn places(&self) -> &'a [Locator] {
        let own = self.own.map(|own| &own.unicast[..]).filter(|own| !own.is_empty());
        own.unwrap_or(&self.announced.default_unicast)
    }
}

/// What keeps datagrams of one side from the other, if anything; `here` are the locators of who judges.
pub(super) fn barrier(sender: Side<'_>, receiver: Side<'_>, here: &Locators) -> Option<Barrier> {
    let discovery = &receiver.announced.metatraffic_unicast[..];
    let lists = [discovery, receiver.places()].into_iter().filter(|list| !list.is_empty());
    // Both discovery and data must have a way; of several the best counts.
    let best = |list: &[Locator]| {
        let each = list.iter().map(|place| obstacle(*place, sender, receiver, here));
        each.min().flatten()
    };
    lists.filter_map(best).max()
}

fn addresses(locators: &Locators) -> impl Iterator<Item = IpAddr> {
    locators.unicast().filter_map(Locator::ip)
}

/// What keeps datagrams of a participant from one place of another.
fn obstacle(place: Locator, sender: Side<'_>, receiver: Side<'_>, here: &Locators) -> Option<Barrier> {
    let from = sender.announced;
    if let Some((host, _)) = place.shared_memory_inbox() {
        let mut memories = from.unicast().filter_map(Locator::shared_memory_inbox);
        let shares = memories.any(|(own, _)| own == host);
        return if shares { None } else { Some(Barrier::Transport) };
    }
    // Who announces nothing may send by anything.
    if from.unicast().next().is_some() && !from.unicast().any(|own| own.kind == place.kind) {
        return Some(Barrier::Transport);
    }
    // Of transports that are not known here nothing can be said.
    let ip = place.ip()?;
    if ip.is_unspecified() || on_one_host(sender, receiver) {
        return None;
    }
    let own = || from.unicast().filter(|own| own.kind == place.kind).filter_map(Locator::ip);
    if ip.is_loopback() || (own().next().is_some() && own().all(|own| own.is_loopback())) {
        return Some(Barrier::Loopback);
    }
    let way = own().next().is_none() || own().any(|own| network(own) == network(ip));
    if way || is_routed(ip, sender, receiver, here) { None } else { Some(Barrier::Network) }
}

/// Whether both are on one host, be it this one.
fn on_one_host(one: Side<'_>, other: Side<'_>) -> bool {
    let by_announcement = || are_on_one_host(one.announced.unicast(), other.announced.unicast());
    (one.same_host && other.same_host) || by_announcement()
}

/// Whether a router between the two networks shows: who judges is in that of one of them alone, and the other, in the other
/// network, receives what is sent from here.
fn is_routed(place: IpAddr, sender: Side<'_>, receiver: Side<'_>, here: &Locators) -> bool {
    let is_here = |ip: IpAddr| addresses(here).any(|own| network(own) == network(ip));
    let with_sender = addresses(sender.announced).any(is_here);
    (with_sender && !is_here(place) && receiver.verified)
        || (!with_sender && is_here(place) && sender.verified)
}

/// Addresses with the same value may well reach each other: they are of one of the private networks of RFC 1918 (a class A, 16
/// class B, 256 class C), of one site's (RFC 4193), of one link, or public.
fn network(ip: IpAddr) -> (&'static str, u64) {
    match ip.to_canonical() {
        IpAddr::V4(ip) => match ip.octets() {
            [10, ..] => ("private", 10),
            [172, b @ 16..=31, ..] => ("private", u64::from_be_bytes([0, 0, 0, 0, 0, 0, 172, b])),
            [192, 168, c, _] => ("private", u64::from_be_bytes([0, 0, 0, 0, 0, 192, 168, c])),
            [100, 64..=127, ..] => ("shared", 0),
            [169, 254, ..] => ("link", 4),
            _ => ("public", 4),
        },
        IpAddr::V6(ip) => match ip.segments() {
            [0xfe80..=0xfebf, ..] => ("link", 6),
            [a @ 0xfc00..=0xfdff, b, c, ..] => {
                ("site", u64::from(a) << 32 | u64::from(b) << 16 | u64::from(c))
            }
            _ => ("public", 6),
        },
    }
}

#[cfg(test)]
mod tests {
    use dunlin_core::LocatorKind;

    use super::*;

    fn at(texts: &[&str]) -> Vec<Locator> {
        let locator = |text: &&str| Locator::udp(std::net::SocketAddr::new(text.parse().unwrap(), 7411));
        texts.iter().map(locator).collect()
    }

    fn locators(texts: &[&str]) -> Locators {
        Locators { metatraffic_unicast: at(texts), default_unicast: at(texts), ..Locators::default() }
    }

    /// A participant as it stands to who judges.
    #[derive(Clone)]
    struct Known(Locators, bool, bool);

    fn participant(texts: &[&str]) -> Known {
        Known(locators(texts), false, false)
    }

    fn here(texts: &[&str]) -> Known {
        Known(locators(texts), false, true)
    }

    fn answering(texts: &[&str]) -> Known {
        Known(locators(texts), true, false)
    }

    const fn side(Known(announced, verified, same_host): &Known) -> Side<'_> {
        Side { announced, verified: *verified, same_host: *same_host, own: None }
    }

    #[track_caller]
    fn between(one: &Known, other: &Known, here: &[&str], expected: Option<Barrier>) {
        let here = locators(here);
        assert_eq!(barrier(side(one), side(other), &here), expected);
        assert_eq!(barrier(side(other), side(one), &here), expected, "the other way");
    }

    #[test]
    fn participants_without_a_common_transport_are_apart() {
        let (four, six) = (participant(&["10.0.0.1"]), participant(&["fd00::1"]));
        between(&four, &six, &["10.0.0.9", "fd00::9"], Some(Barrier::Transport));
        between(&four, &participant(&["10.0.0.2", "fd00::2"]), &[], None);
        // Nor does one host help.
        between(&here(&["10.0.0.1"]), &here(&["fd00::1"]), &[], Some(Barrier::Transport));
        // A transport of others is not judged.
        let other = LocatorKind(77);
        let strange = |mut it: Known| {
            it.0.default_unicast.push(Locator { kind: other, ..Locator::INVALID });
            it.0.metatraffic_unicast.push(Locator { kind: other, ..Locator::INVALID });
            it
        };
        between(&strange(four), &strange(six), &[], None);
    }

    #[test]
    fn loopback_ends_at_the_host() {
        let (lone, away) = (participant(&["127.0.0.1"]), participant(&["10.0.0.2"]));
        between(&lone, &away, &["10.0.0.9"], Some(Barrier::Loopback));
        between(&here(&["127.0.0.1"]), &here(&["10.0.0.2"]), &[], None);
        let both = ["127.0.0.1", "10.0.0.3"];
        between(&participant(&both), &participant(&["10.0.0.2"]), &[], None);
        let (mut lone, mut near) = (participant(&["127.0.0.1"]), participant(&["127.0.0.1"]));
        for (it, inbox) in [(&mut lone, 1), (&mut near, 2)] {
            it.0.default_unicast.push(Locator::shared_memory([7; 8], inbox));
        }
        between(&lone, &near, &[], None);
    }

    #[test]
    fn networks_without_a_way_between_them_are_suspect() {
        let guess = Some(Barrier::Network);
        for (one, other, expected) in [
            ("10.0.0.1", "10.9.9.9", None),
            ("10.0.0.1", "192.168.1.2", guess),
            ("192.168.1.1", "192.168.1.2", None),
            ("192.168.1.1", "192.168.2.2", guess),
            ("172.16.0.1", "172.16.9.1", None),
            ("172.16.0.1", "172.17.0.1", guess),
            ("172.16.0.1", "172.32.0.1", guess),
            ("198.51.100.1", "203.0.113.1", None),
            ("169.254.3.4", "169.254.8.9", None),
            ("169.254.3.4", "10.0.0.1", guess),
            ("fe80::1", "fe80::2", None),
            ("fe80::1", "2001:db8::1", guess),
            ("fd00:1:2::1", "fd00:1:2:3::1", None),
            ("fd00:1:2::1", "fd00:1:3::1", guess),
        ] {
            between(&participant(&[one]), &participant(&[other]), &[], expected);
        }
        between(&participant(&["10.0.0.1", "192.168.1.9"]), &participant(&["192.168.1.2"]), &[], None);
    }

    /// Who is in one of two networks, and is answered from the other, has seen the router.
    #[test]
    fn a_router_that_is_seen_is_believed() {
        let (near, far) = (participant(&["192.168.1.1"]), answering(&["192.168.2.2"]));
        between(&near, &participant(&["192.168.2.2"]), &["192.168.1.9"], Some(Barrier::Network));
        between(&near, &far, &["192.168.1.9"], None);
        between(&near, &far, &["192.168.1.9", "192.168.2.9"], Some(Barrier::Network));
        between(&near, &far, &["10.0.0.1"], Some(Barrier::Network));
    }

    #[test]
    fn places_of_an_endpoint_come_before_those_of_its_participant() {
        let (one, other) = (participant(&["10.0.0.1"]), participant(&["10.0.0.2"]));
        let own = EndpointLocators { unicast: at(&["192.168.1.2"]), multicast: Vec::new() };
        let elsewhere = Side { own: Some(&own), ..side(&other) };
        assert_eq!(barrier(side(&one), elsewhere, &Locators::default()), Some(Barrier::Network));
        assert_eq!(barrier(elsewhere, side(&one), &Locators::default()), None);
    }
}
