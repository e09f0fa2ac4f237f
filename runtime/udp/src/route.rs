//! What follows from the interfaces of the host: where we can be reached, and where multicast goes out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dunlin_core::defaults::LARGEST_DATAGRAM;
use dunlin_core::{Locator, is_on_this_host};
use dunlin_transport::Locators;

use crate::interface::{self, Interface};
use crate::{Family, MulticastUse, UdpConfig, broadcast};

/// Most addresses announced for each purpose: what others are willing to remember.
const MAX_ADDRESSES: usize = 8;
/// UDP and IP headers of each IP version.
const HEADERS_V4: u32 = 28;
const HEADERS_V6: u32 = 48;
/// Indices of participants looked for on this host when no group can reach them.
const LOCAL_INDICES: u32 = 20;

/// An interface that multicast is sent out of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outlet {
    pub(crate) interface: u32,
    pub(crate) source: IpAddr,
}

/// An interface on which groups are joined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Member {
    pub(crate) family: Family,
    pub(crate) interface: u32,
}

/// The plan for one state of the interfaces.
#[derive(PartialEq, Eq, Debug, Default)]
pub(crate) struct Routes {
    pub(crate) locators: Locators,
    /// Where a participant announces itself to those it does not know yet.
    pub(crate) announce_to: Vec<Locator>,
    pub(crate) outlets_v4: Vec<Outlet>,
    pub(crate) outlets_v6: Vec<Outlet>,
    /// Interfaces that a limited broadcast is sent out of.
    pub(crate) broadcasts: Vec<Outlet>,
    pub(crate) members: Vec<Member>,
    pub(crate) max_message_size: usize,
    /// Addresses of this host, sorted, and the largest datagram to them.
    own: Vec<IpAddr>,
    within_host: usize,
    /// An interface leads out of this host.
    leads_out: bool,
    /// Patterns of the configuration that name no interface.
    pub(crate) unmatched: Vec<String>,
}

/// The unicast ports that were bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundPorts {
    pub(crate) meta: u16,
    pub(crate) data: u16,
}

impl Routes {
    pub(crate) fn plan(config: &UdpConfig, all: &[Interface], bound: BoundPorts) -> Self {
        let (chosen, unmatched) = interface::choose(all, &config.interfaces);
        let mut routes = Self {
            locators: locators(config, &chosen, bound),
            announce_to: Vec::new(),
            outlets_v4: outlets(config, &chosen, all, Family::V4),
            outlets_v6: outlets(config, &chosen, all, Family::V6),
            broadcasts: broadcasts(config, &chosen),
            members: members(config, &chosen, all),
            max_message_size: max_message_size(config, &chosen),
            own: own_addresses(all),
            within_host: smallest(config, all.iter().filter(|interface| interface.loopback && interface.up)),
            leads_out: chosen.iter().any(|interface| !interface.loopback),
            unmatched: unmatched.into_iter().map(Into::into).collect(),
        };
        routes.announce_to = announce_to(config, &routes);
        routes
    }

    /// The largest datagram to a destination on this host; `None` for any other: what the own interface carries says nothing of
    /// switches and of the interface there, and a frame that is too long for those is lost without a word.
    pub(crate) fn within_host(&self, destination: IpAddr) -> Option<usize> {
        let own = is_on_this_host(destination, |ip| self.own.binary_search(&ip).is_ok());
        // A host that has no other interface sends to groups through that of loopback.
        let within = own || (destination.is_multicast() && !self.leads_out);
        within.then_some(self.within_host)
    }

    pub(crate) fn outlets(&self, destination: IpAddr) -> &[Outlet] {
        if destination.is_ipv4() { &self.outlets_v4 } else { &self.outlets_v6 }
    }
}

/// The group of an IP version at a port.
fn group(config: &UdpConfig, family: Family, port: Option<u16>) -> Option<Locator> {
    let group: IpAddr = match family {
        Family::V4 => config.group_v4.into(),
        Family::V6 => config.group_v6.into(),
    };
    Some(Locator::udp(SocketAddr::new(group, port?)))
}

fn groups(config: &UdpConfig, port: Option<u16>) -> Vec<Locator> {
    config.families().filter_map(|family| group(config, family, port)).collect()
}

fn locators(config: &UdpConfig, chosen: &[Interface], bound: BoundPorts) -> Locators {
    let addresses = announced(config, chosen);
    let at = |port| addresses.iter().map(|ip| Locator::udp(SocketAddr::new(*ip, port))).collect();
    let discovery = matches!(config.multicast, MulticastUse::On | MulticastUse::SpdpOnly);
    let data = config.multicast == MulticastUse::On || broadcast::carries_data(config);
    let meta_port = config.ports.metatraffic_multicast(config.domain).filter(|_| discovery);
    let data_port = config.ports.user_multicast(config.domain).filter(|_| data);
    Locators {
        metatraffic_unicast: at(bound.meta),
        metatraffic_multicast: groups(config, meta_port),
        default_unicast: at(bound.data),
        default_multicast: match broadcast::is_on(config) {
            true => group(config, Family::V4, data_port).into_iter().collect(),
            false => groups(config, data_port),
        },
    }
}

/// The addresses others can use: not those of one link, which mean nothing without naming the link.
fn announced(config: &UdpConfig, chosen: &[Interface]) -> Vec<IpAddr> {
    let usable = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => config.ipv4 && !ip.is_unspecified(),
        IpAddr::V6(ip) => config.ipv6 && !ip.is_unspecified() && !ip.is_unicast_link_local(),
    };
    let all = chosen.iter().flat_map(|interface| interface.addresses.iter().copied());
    let mut addresses: Vec<IpAddr> = all.filter(usable).collect();
    // IPv4 first: more peers understand it.
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses.dedup();
    addresses.truncate(MAX_ADDRESSES);
    if addresses.is_empty() {
        let loopback = |family| match family {
            Family::V4 => IpAddr::from(Ipv4Addr::LOCALHOST),
            Family::V6 => Ipv6Addr::LOCALHOST.into(),
        };
        addresses.extend(config.families().take(1).map(loopback));
    }
    addresses
}

fn address(interface: &Interface, family: Family) -> Option<IpAddr> {
    match family {
        Family::V4 => interface.v4().map(Into::into),
        Family::V6 => interface.v6().map(Into::into),
    }
}

/// Multicast goes out of every chosen interface that can. If none can, or if it must not leave the host,
/// it goes over the loopback interface, so that participants on one host find each other anyway. IPv4
/// multicast passes there even though the interface says it cannot; that of IPv6 has no route there.
fn outlets(config: &UdpConfig, chosen: &[Interface], all: &[Interface], family: Family) -> Vec<Outlet> {
    if config.multicast == MulticastUse::Never || !config.families().any(|f| f == family) {
        return Vec::new();
    }
    let capable =
        |interface: &&Interface| interface.multicast || (interface.loopback && family == Family::V4);
    let outlet = |interface: &Interface| {
        let source = address(interface, family)?;
        Some(Outlet { interface: interface.index, source })
    };
    let leaving = chosen.iter().filter(capable).filter_map(outlet);
    let outlets: Vec<Outlet> =
        if config.multicast == MulticastUse::Off { Vec::new() } else { leaving.collect() };
    if !outlets.is_empty() {
        return outlets;
    }
    let loopback = all.iter().filter(|interface| interface.loopback && interface.up);
    loopback.filter(capable).filter_map(outlet).collect()
}

fn broadcasts(config: &UdpConfig, chosen: &[Interface]) -> Vec<Outlet> {
    if !broadcast::is_on(config) {
        return Vec::new();
    }
    let leaving = chosen.iter().filter(|interface| interface.up && !interface.loopback);
    let outlet = |interface: &Interface| {
        Some(Outlet { interface: interface.index, source: address(interface, Family::V4)? })
    };
    leaving.filter_map(outlet).collect()
}

/// Groups are joined where multicast is sent, and always on the loopback interface: another participant
/// of the host may have been told to use nothing else.
fn members(config: &UdpConfig, chosen: &[Interface], all: &[Interface]) -> Vec<Member> {
    if config.multicast == MulticastUse::Never {
        return Vec::new();
    }
    let off = config.multicast == MulticastUse::Off;
    let outside = chosen.iter().filter(|interface| !interface.loopback && interface.multicast && !off);
    let loopback = all.iter().filter(|interface| interface.loopback && interface.up);
    let interfaces: Vec<&Interface> = outside.chain(loopback).collect();
    let on = |family: Family| {
        let with_address = interfaces.iter().filter(move |interface| address(interface, family).is_some());
        with_address.map(move |interface| Member { family, interface: interface.index })
    };
    config.families().flat_map(on).collect()
}

/// What is sent to these does not leave the host.
fn own_addresses(all: &[Interface]) -> Vec<IpAddr> {
    let up = all.iter().filter(|interface| interface.up);
    let mut own: Vec<IpAddr> = up.flat_map(|interface| interface.addresses.iter().copied()).collect();
    own.sort_unstable();
    own.dedup();
    own
}

/// Octets of the largest datagram that all of these carry; 0 if there are none.
fn smallest<'i>(config: &UdpConfig, interfaces: impl Iterator<Item = &'i Interface>) -> usize {
    let headers = if config.ipv6 { HEADERS_V6 } else { HEADERS_V4 };
    let mtu = interfaces.map(|interface| interface.mtu).min().unwrap_or(0);
    (mtu.saturating_sub(headers) as usize).min(LARGEST_DATAGRAM)
}

fn max_message_size(config: &UdpConfig, chosen: &[Interface]) -> usize {
    let headers = if config.ipv6 { HEADERS_V6 } else { HEADERS_V4 };
    let smallest = chosen.iter().map(|interface| interface.mtu).min().unwrap_or(u32::MAX);
    (smallest.saturating_sub(headers) as usize).clamp(1024, LARGEST_DATAGRAM)
}

/// The groups, also while no interface can reach them: one may come up. On a host that has nothing but
/// IPv6 on loopback, where no group passes, the first well-known ports as well.
fn announce_to(config: &UdpConfig, routes: &Routes) -> Vec<Locator> {
    if config.multicast == MulticastUse::Never {
        return Vec::new();
    }
    let mut all = groups(config, config.ports.metatraffic_multicast(config.domain));
    if !config.ipv4 && routes.outlets_v6.is_empty() {
        let ports = (0..LOCAL_INDICES).filter_map(|i| config.ports.metatraffic_unicast(config.domain, i));
        all.extend(ports.map(|port| Locator::udp_v6(Ipv6Addr::LOCALHOST, port)));
    }
    all
}

#[cfg(test)]
mod tests;
