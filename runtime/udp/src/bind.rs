//! Sockets on the ports of the domain.
//!
//! Two processes that start together race for the lowest participant index. Each unicast port is bound
//! without sharing, so the kernel decides: whoever binds the discovery port of an index has the index, and
//! binds the port for user data next; a process that loses either lets go of both and tries the next
//! index. Beyond the well-known range any free port does, because the ports are announced.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

use dunlin_core::defaults::MAX_PARTICIPANT_INDEX;
use socket2::{Domain, Protocol, Socket, Type};

use crate::interface::{self, Interface};
use crate::sys::{self, IntOption, keep_from_children};
use crate::{Family, ParticipantIndex, UdpConfig};

/// Attempts to find a port that is free in both IP versions.
const EPHEMERAL_ATTEMPTS: usize = 64;

/// The unicast sockets of one channel: the same port in each IP version.
pub(crate) struct Unicast {
    pub(crate) port: u16,
    pub(crate) sockets: Vec<(Family, Socket)>,
}

/// The unicast sockets of a participant.
pub(crate) struct Bound {
    pub(crate) meta: Unicast,
    pub(crate) data: Unicast,
}

pub(crate) fn domain(family: Family) -> Domain {
    match family {
        Family::V4 => Domain::IPV4,
        Family::V6 => Domain::IPV6,
    }
}

fn any(family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
        Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// A socket of one IP version alone, not bound yet.
pub(crate) fn open(family: Family) -> io::Result<Socket> {
    let socket = Socket::new(domain(family), Type::DGRAM, Some(Protocol::UDP)).map_err(|error| {
        let version = if family == Family::V4 { "IPv4" } else { "IPv6" };
        io::Error::new(error.kind(), format!("this host has no {version} sockets: {error}"))
    })?;
    keep_from_children(socket.as_fd());
    if family == Family::V6 {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

/// Binds a socket to a port that is free, as sending would, so that the port is known before; which one.
pub(crate) fn any_port(socket: &Socket, family: Family) -> io::Result<u16> {
    socket.bind(&SocketAddr::new(any(family), 0).into())?;
    let place = socket.local_addr()?.as_socket();
    place.map(|place| place.port()).ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

fn bind_alone(family: Family, address: IpAddr, port: u16) -> io::Result<Socket> {
    let socket = open(family)?;
    socket.bind(&SocketAddr::new(address, port).into())?;
    Ok(socket)
}

/// The addresses to bind: all of the host, unless the user wants nothing but loopback. Then nobody outside must
/// reach us; otherwise interfaces come and go, and a port that is bound to all of them need not follow.
pub(crate) fn addresses(config: &UdpConfig, all: &[Interface]) -> Vec<(Family, IpAddr)> {
    let (chosen, _) = interface::choose(all, &config.interfaces);
    let alone = !config.interfaces.is_empty()
        && !chosen.is_empty()
        && chosen.iter().all(|interface| interface.loopback)
        && !config.interfaces.iter().any(|pattern| pattern.ends_with('*'));
    let only = |family: Family| {
        let mut of_family = chosen
            .iter()
            .flat_map(|interface| interface.addresses.iter())
            .filter(|ip| ip.is_ipv4() == (family == Family::V4));
        let first = of_family.next().copied().filter(|_| alone && of_family.next().is_none());
        (family, first.unwrap_or(any(family)))
    };
    config.families().map(only).collect()
}

/// Binds the same port in each IP version; port 0 is any that is free in all.
fn bind_unicast(addresses: &[(Family, IpAddr)], port: u16) -> io::Result<Unicast> {
    let mut attempts = if port == 0 { EPHEMERAL_ATTEMPTS } else { 1 };
    loop {
        attempts -= 1;
        match bind_each(addresses, port) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempts > 0 => {}
            result => return result,
        }
    }
}

fn bind_each(addresses: &[(Family, IpAddr)], port: u16) -> io::Result<Unicast> {
    let mut unicast = Unicast { port, sockets: Vec::new() };
    for (family, address) in addresses {
        let socket = bind_alone(*family, *address, unicast.port)?;
        if let Some(bound) = socket.local_addr()?.as_socket() {
            unicast.port = bound.port();
        }
        unicast.sockets.push((*family, socket));
    }
    Ok(unicast)
}

/// Binds the unicast sockets.
pub(crate) fn unicast(config: &UdpConfig, addresses: &[(Family, IpAddr)]) -> io::Result<Bound> {
    let bind =
        |meta, data| Ok(Bound { meta: bind_unicast(addresses, meta)?, data: bind_unicast(addresses, data)? });
    match config.participant_index {
        ParticipantIndex::Ephemeral => bind(0, 0),
        ParticipantIndex::Fixed(index) => {
            let (meta, data) = ports(config, index).ok_or_else(|| no_ports(config, index))?;
            bind(meta, data).map_err(|error: io::Error| {
                let what = format!("ports {meta} and {data} (participant index {index}): {error}");
                io::Error::new(error.kind(), what)
            })
        }
        ParticipantIndex::Auto => {
            for (meta, data) in (0..=MAX_PARTICIPANT_INDEX).map_while(|index| ports(config, index)) {
                match bind(meta, data) {
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                    result => return result,
                }
            }
            bind(0, 0)
        }
    }
}

fn ports(config: &UdpConfig, index: u32) -> Option<(u16, u16)> {
    let meta = config.ports.metatraffic_unicast(config.domain, index)?;
    Some((meta, config.ports.user_unicast(config.domain, index)?))
}

fn no_ports(config: &UdpConfig, index: u32) -> io::Error {
    let domain = config.domain;
    let text = format!("domain {domain} with participant index {index} has no ports below 65536");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// A socket that receives a group, on a port shared with every other participant of the host.
pub(crate) fn group(family: Family, group: IpAddr, port: u16) -> io::Result<Socket> {
    let socket = open(family)?;
    // Programs of other makers share the port by the one or the other of these.
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    let (address, option) = match family {
        // Bound to the group, the socket gets nothing that was sent to a host on this port.
        Family::V4 => (group, IntOption::IP_MULTICAST_ALL),
        // A group of one link cannot be bound without naming the link.
        Family::V6 => (any(family), IntOption::IPV6_MULTICAST_ALL),
    };
    // Without it, interfaces that others joined would bring datagrams too: a nuisance, no more.
    let _ = sys::set_option(socket.as_fd(), option, 0);
    socket
        .bind(&SocketAddr::new(address, port).into())
        .map_err(|error| io::Error::new(error.kind(), format!("multicast port {port}: {error}")))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use dunlin_core::PortParameters;

    use super::*;

    /// A range of ports of this test alone, below the ephemeral ports.
    fn config(base: u16) -> UdpConfig {
        let ports = PortParameters { base, ..PortParameters::default() };
        UdpConfig { ports, domain: 0, ..UdpConfig::default() }
    }

    fn bind(config: &UdpConfig) -> io::Result<Bound> {
        unicast(config, &addresses(config, &[]))
    }

    #[test]
    fn bind_takes_the_lowest_free_participant_index() {
        let config = config(21_000);
        let first = bind(&config).unwrap();
        assert_eq!((first.meta.port, first.data.port), (21_010, 21_011));
        let second = bind(&config).unwrap();
        assert_eq!((second.meta.port, second.data.port), (21_012, 21_013));
        drop(first);
        assert_eq!(bind(&config).unwrap().meta.port, 21_010);
    }

    #[test]
    fn an_index_with_one_port_taken_is_passed_over_and_let_go() {
        let config = config(21_300);
        let stranger = bind_alone(Family::V4, any(Family::V4), 21_311).unwrap();
        assert_eq!(bind(&config).unwrap().meta.port, 21_312);
        bind_alone(Family::V4, any(Family::V4), 21_310).expect("the discovery port was let go");
        drop(stranger);
    }

    #[test]
    fn racing_processes_get_different_ports() {
        let config = config(21_600);
        let start = std::sync::Barrier::new(8);
        let all: Vec<Bound> = std::thread::scope(|scope| {
            let bind = || {
                start.wait();
                bind(&config).unwrap()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(bind)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut ports: Vec<u16> = all.iter().flat_map(|bound| [bound.meta.port, bound.data.port]).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 16);
        assert!(all.iter().all(|bound| bound.data.port == bound.meta.port + 1));
    }

    #[test]
    fn bind_beyond_the_last_participant_index_takes_any_port() {
        let config = config(22_000);
        let all: Vec<Bound> = (0..=MAX_PARTICIPANT_INDEX).map(|_| bind(&config).unwrap()).collect();
        assert_eq!(all.last().unwrap().data.port, 22_000 + 11 + 2 * 119);
        let extra = bind(&config).unwrap();
        assert!(!(22_000..22_250).contains(&extra.meta.port));
        assert_ne!(extra.meta.port, extra.data.port);
    }

    #[test]
    fn ipv4_and_ipv6_sockets_share_the_port_number() {
        let config = UdpConfig { ipv6: true, participant_index: ParticipantIndex::Ephemeral, ..config(0) };
        let bound = bind(&config).unwrap();
        assert_eq!(bound.meta.sockets.len(), 2);
        for (_, socket) in &bound.meta.sockets {
            assert_eq!(socket.local_addr().unwrap().as_socket().unwrap().port(), bound.meta.port);
        }
    }

    #[test]
    fn a_fixed_index_is_taken_or_refused_in_words() {
        let config = UdpConfig { participant_index: ParticipantIndex::Fixed(4), ..config(22_300) };
        let bound = bind(&config).unwrap();
        assert_eq!(bound.data.port, 22_319);
        let error = bind(&config).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(error.to_string().contains("ports 22318 and 22319 (participant index 4)"), "{error}");
        let config = UdpConfig { domain: 300, ..config };
        let error = bind(&config).err().unwrap();
        assert!(error.to_string().contains("domain 300"), "{error}");
    }

    #[test]
    fn only_loopback_alone_binds_to_the_loopback_address() {
        let interface = |name: &str, loopback, address: &str| Interface {
            name: name.into(),
            index: 1,
            mtu: 1500,
            up: true,
            loopback,
            multicast: true,
            addresses: vec![address.parse().unwrap()],
        };
        let all = [interface("lo", true, "127.0.0.1"), interface("eth0", false, "192.0.2.2")];
        let bound = |patterns: &[&str], all: &[Interface]| {
            let interfaces = patterns.iter().map(ToString::to_string).collect();
            addresses(&UdpConfig { interfaces, ..UdpConfig::default() }, all)[0].1.to_string()
        };
        assert_eq!(bound(&["lo"], &all), "127.0.0.1");
        assert_eq!(bound(&["127.0.0.1"], &all), "127.0.0.1");
        assert_eq!(bound(&[], &all), "0.0.0.0");
        assert_eq!(bound(&[], &all[..1]), "0.0.0.0", "an interface may come up");
        assert_eq!(bound(&["lo", "eth*"], &all[..1]), "0.0.0.0", "the same");
        assert_eq!(bound(&["lo", "eth0"], &all), "0.0.0.0");
        let mut two = all.clone();
        two[0].addresses.push("127.0.0.2".parse().unwrap());
        assert_eq!(bound(&["lo"], &two), "0.0.0.0", "both are announced");
    }

    #[test]
    fn the_group_port_is_shared() {
        let address = "239.255.0.1".parse().unwrap();
        let _first = group(Family::V4, address, 22_600).unwrap();
        let _second = group(Family::V4, address, 22_600).unwrap();
    }
}
