//! Interfaces, and whether datagrams really go out and come back on each.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddrV4, SocketAddrV6};
use std::time::{Duration, Instant};

use dunlin::Config;
use dunlin::host::{self, Interface};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockAddr, Socket, Type};

use super::report::Report;

/// How long a datagram to this very host may take.
const ARRIVAL: Duration = Duration::from_millis(500);
/// Octets of a full Ethernet frame.
const ETHERNET: u32 = 1500;

/// Lists the interfaces; returns those that the configuration uses.
pub fn interfaces(config: &Config, report: &mut Report) -> Vec<Interface> {
    let all = match host::interfaces() {
        Ok(all) => all,
        Err(error) => {
            report.problem(format!("the interfaces cannot be listed: {error}"), "look at `ip address`");
            return Vec::new();
        }
    };
    let (chosen, unmatched) = host::choose(&all, &config.network.interfaces);
    for pattern in unmatched {
        let names: Vec<&str> = all.iter().map(|interface| interface.name.as_str()).collect();
        report.problem(
            format!("no interface matches '{pattern}'"),
            format!("set network.interfaces to some of {}", names.join(", ")),
        );
    }
    for interface in &all {
        let used = chosen.contains(interface);
        describe(interface, used, report);
    }
    if chosen.is_empty() {
        report.problem("no interface is used", "bring one up, or set network.interfaces to one that is");
    }
    chosen
}

fn describe(interface: &Interface, used: bool, report: &mut Report) {
    let what = format!("interface {interface}: MTU {}", interface.mtu);
    match (used, interface.up) {
        (false, true) => report.ok(format!("{what}, not used")),
        (false, false) => report.ok(format!("{what}, down, not used")),
        (true, _) if interface.mtu < ETHERNET => {
            report.note(what, "a tunnel? Datagrams will be smaller than usual, so throughput is less");
        }
        (true, _) if !interface.multicast && !interface.loopback => report.problem(
            format!("{what}, cannot multicast"),
            "name the other hosts in discovery.peers, or use another interface",
        ),
        (true, _) => report.ok(format!("{what}, used")),
    }
}

fn udp(address: IpAddr) -> io::Result<Socket> {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))
}

/// A place on a network of this interface: an IPv6 address of one link means nothing without the link.
fn place(ip: IpAddr, port: u16, interface: &Interface) -> SockAddr {
    match ip {
        IpAddr::V4(ip) => SocketAddrV4::new(ip, port).into(),
        IpAddr::V6(ip) => {
            let link_local = ip.is_unicast_link_local() || ip.is_multicast();
            SocketAddrV6::new(ip, port, 0, if link_local { interface.index } else { 0 }).into()
        }
    }
}

fn port_of(socket: &Socket) -> io::Result<u16> {
    Ok(socket.local_addr()?.as_socket().map_or(0, |bound| bound.port()))
}

/// Whether `token` arrives before the time is over.
fn arrives(socket: &Socket, token: &[u8]) -> io::Result<bool> {
    let deadline = Instant::now() + ARRIVAL;
    let mut buffer = [MaybeUninit::<u8>::uninit(); 64];
    loop {
        let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        else {
            return Ok(false);
        };
        socket.set_read_timeout(Some(left))?;
        match socket.recv(&mut buffer) {
            // Others may send to the same place, so only the right number of octets counts.
            Ok(len) if len == token.len() => return Ok(true),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
}

fn multicast_passes(interface: &Interface, address: IpAddr, group: IpAddr) -> io::Result<bool> {
    let (receiver, sender) = (udp(group)?, udp(group)?);
    receiver.bind(&place(group, 0, interface))?;
    match (group, address) {
        (IpAddr::V4(group), IpAddr::V4(address)) => {
            receiver.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(interface.index))?;
            sender.set_multicast_if_v4(&address)?;
            sender.set_multicast_loop_v4(true)?;
            sender.set_multicast_ttl_v4(1)?;
        }
        (IpAddr::V6(group), _) => {
            receiver.join_multicast_v6(&group, interface.index)?;
            sender.set_multicast_if_v6(interface.index)?;
            sender.set_multicast_loop_v6(true)?;
            sender.set_multicast_hops_v6(1)?;
        }
        (IpAddr::V4(_), IpAddr::V6(_)) => return Err(io::ErrorKind::AddrNotAvailable.into()),
    }
    let token = [0x44; 37];
    sender.send_to(&token, &place(group, port_of(&receiver)?, interface))?;
    arrives(&receiver, &token)
}

/// The address and the group of each version of IP that is switched on and that the interface has.
fn families(config: &Config, interface: &Interface) -> Vec<(IpAddr, IpAddr)> {
    let network = &config.network;
    let v4 = interface.v4().filter(|_| network.ipv4).map(|ip| (ip.into(), network.multicast_group_v4.into()));
    let v6 = interface.v6().filter(|_| network.ipv6).map(|ip| (ip.into(), network.multicast_group_v6.into()));
    v4.into_iter().chain(v6).collect()
}

/// Sends to the group of each version of IP on this interface and looks whether it comes back.
pub fn multicast(config: &Config, interface: &Interface, report: &mut Report) {
    let name = &interface.name;
    if config.network.ipv4 && interface.v4().is_none() {
        let key = if config.network.ipv6 { "network.ipv4=false" } else { "network.ipv6=true" };
        let advice = format!("set {key} if this network has IPv6 alone");
        report.note(format!("{name}: no IPv4 address"), advice);
    }
    if config.network.ipv6 && interface.v6().is_none() {
        report.note(
            format!("{name}: no IPv6 address"),
            format!("look at `ip -6 address show {name}` and `sysctl net.ipv6.conf.{name}.disable_ipv6`, or set network.ipv6=false"),
        );
    }
    for (address, group) in families(config, interface) {
        if interface.loopback && group.is_ipv6() {
            report.ok(format!(
                "{name}: over IPv6 no group passes on loopback; without IPv4 the participants of this host are asked port by port"
            ));
            continue;
        }
        let (route, version) = if group.is_ipv4() { ("ip", "") } else { ("ip -6", "6") };
        let advice = || {
            format!(
                "let the firewall pass UDP to {group} on {name} (nft, or ip{version}tables: protocol udp, destination {group}), check `{route} route get {group} oif {name}`; else set network.multicast=off and name hosts in discovery.peers"
            )
        };
        match multicast_passes(interface, address, group) {
            Ok(true) => {
                report.ok(format!("{name}: multicast to {group} goes out and comes back on this host"));
            }
            Ok(false) => report.problem(format!("{name}: multicast to {group} does not come back"), advice()),
            Err(error) => report.problem(format!("{name}: multicast to {group}: {error}"), advice()),
        }
    }
}

fn unicast_passes(interface: &Interface, address: IpAddr) -> io::Result<bool> {
    let receiver = udp(address)?;
    receiver.bind(&place(address, 0, interface))?;
    let token = [0x55; 41];
    receiver.send_to(&token, &place(address, port_of(&receiver)?, interface))?;
    arrives(&receiver, &token)
}

/// Sends to the host's own addresses on this interface, one of each version of IP that is switched on.
pub fn unicast(config: &Config, interface: &Interface, report: &mut Report) {
    let name = &interface.name;
    for (address, _) in families(config, interface) {
        let advice = || format!("let the firewall pass UDP to {address}");
        match unicast_passes(interface, address) {
            Ok(true) => report.ok(format!("{name}: datagrams to {address} arrive")),
            Ok(false) => report.problem(format!("{name}: datagrams to {address} do not arrive"), advice()),
            Err(error) => report.problem(format!("{name}: datagrams to {address}: {error}"), advice()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn interface(up: bool, mtu: u32, multicast: bool) -> Interface {
        let addresses = vec!["192.0.2.1".parse().unwrap()];
        Interface { name: "eth7".into(), index: 7, mtu, up, loopback: false, multicast, addresses }
    }

    fn described(interface: &Interface, used: bool) -> String {
        let mut report = Report::default();
        describe(interface, used, &mut report);
        report.to_string()
    }

    #[test]
    fn interfaces_that_cannot_multicast_or_have_small_frames_are_named() {
        assert!(
            described(&interface(true, 1500, true), true).starts_with("ok       interface eth7 (192.0.2.1)")
        );
        assert!(described(&interface(true, 1280, true), true).starts_with("note"));
        assert!(described(&interface(true, 1500, false), true).contains("discovery.peers"));
        assert!(described(&interface(false, 1500, true), false).contains("down, not used"));
    }

    #[test]
    fn a_probe_that_never_arrives_is_given_up_in_time() {
        let socket = udp(Ipv4Addr::LOCALHOST.into()).unwrap();
        socket.bind(&SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let begin = Instant::now();
        socket.send_to(b"something else", &socket.local_addr().unwrap()).unwrap();
        assert!(!arrives(&socket, &[1; 37]).unwrap());
        assert!(begin.elapsed() < ARRIVAL * 4);
    }

    #[test]
    fn addresses_that_are_not_here_are_problems_of_either_version() {
        let mut config = Config::default();
        config.set("network.ipv6", "true").unwrap();
        let mut elsewhere = interface(true, 1500, true);
        elsewhere.addresses.push("2001:db8::1".parse().unwrap());
        let mut report = Report::default();
        unicast(&config, &elsewhere, &mut report);
        assert_eq!(report.problems(), 2, "{report}");
        let mut report = Report::default();
        multicast(&config, &elsewhere, &mut report);
        let text = report.to_string();
        assert_eq!(report.problems(), 2, "{text}");
        for words in [
            "eth7: multicast to 239.255.0.1: ",
            "let the firewall pass UDP to 239.255.0.1 on eth7 (nft, or iptables:",
            "eth7: multicast to ff02::ffff:efff:1: ",
            "let the firewall pass UDP to ff02::ffff:efff:1 on eth7 (nft, or ip6tables:",
            "`ip -6 route get ff02::ffff:efff:1 oif eth7`",
        ] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
    }

    #[test]
    fn an_ip_version_without_an_address_is_reported_if_enabled() {
        let (mut config, mut interface) = (Config::default(), interface(true, 1500, true));
        let multicast = |config: &Config, interface: &Interface| {
            let mut report = Report::default();
            multicast(config, interface, &mut report);
            report.to_string()
        };
        let told = |config: &Config| multicast(config, &interface);
        assert!(!told(&config).contains("IPv6"));
        config.set("network.ipv6", "true").unwrap();
        assert!(told(&config).contains("eth7: no IPv6 address"), "{}", told(&config));
        assert!(told(&config).contains("ip -6 address show eth7"), "{}", told(&config));
        interface.addresses.clear();
        let text = multicast(&config, &interface);
        assert!(text.contains("eth7: no IPv4 address") && text.contains("set network.ipv4=false"), "{text}");
    }
}
