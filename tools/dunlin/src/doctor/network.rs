//! Interfaces, and whether datagrams really go out and come back on each.

use super::report::Report;
use dunlin::Config;
use dunlin::host::{self, Interface};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

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

fn udp() -> io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))
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

fn multicast_passes(interface: &Interface, address: Ipv4Addr, group: Ipv4Addr) -> io::Result<bool> {
    let receiver = udp()?;
    receiver.bind(&SocketAddr::new(group.into(), 0).into())?;
    receiver.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(interface.index))?;
    let port = receiver.local_addr()?.as_socket().map_or(0, |bound| bound.port());
    let sender = udp()?;
    sender.set_multicast_if_v4(&address)?;
    sender.set_multicast_loop_v4(true)?;
    sender.set_multicast_ttl_v4(1)?;
    let token = [0x44; 37];
    sender.send_to(&token, &SocketAddr::new(group.into(), port).into())?;
    arrives(&receiver, &token)
}

/// Sends to the group on this interface and looks whether it comes back.
pub fn multicast(config: &Config, interface: &Interface, report: &mut Report) {
    let (name, group) = (&interface.name, config.network.multicast_group_v4);
    let Some(address) = interface.v4() else {
        return report
            .note(format!("{name}: no IPv4 address"), "set network.ipv6 if this network has IPv6 alone");
    };
    let advice = || {
        format!(
            "let the firewall pass UDP to {group} on {name} (nft or iptables: protocol udp, destination {group}), check `ip route get {group}`; else set network.multicast=off and name hosts in discovery.peers"
        )
    };
    match multicast_passes(interface, address, group) {
        Ok(true) => report.ok(format!("{name}: multicast to {group} goes out and comes back on this host")),
        Ok(false) => report.problem(format!("{name}: multicast to {group} does not come back"), advice()),
        Err(error) => report.problem(format!("{name}: multicast to {group}: {error}"), advice()),
    }
}

fn unicast_passes(address: IpAddr) -> io::Result<bool> {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let receiver = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    receiver.bind(&SocketAddr::new(address, 0).into())?;
    let token = [0x55; 41];
    receiver.send_to(&token, &receiver.local_addr()?)?;
    arrives(&receiver, &token)
}

/// Sends to the host's own address on this interface.
pub fn unicast(interface: &Interface, report: &mut Report) {
    let name = &interface.name;
    let Some(address) = interface.v4().map(IpAddr::from) else { return };
    let advice = || format!("let the firewall pass UDP to {address}");
    match unicast_passes(address) {
        Ok(true) => report.ok(format!("{name}: datagrams to {address} arrive")),
        Ok(false) => report.problem(format!("{name}: datagrams to {address} do not arrive"), advice()),
        Err(error) => report.problem(format!("{name}: datagrams to {address}: {error}"), advice()),
    }
}

#[cfg(test)]
mod tests {
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
    fn what_never_arrives_is_given_up_in_time() {
        let socket = udp().unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let begin = Instant::now();
        socket.send_to(b"something else", &socket.local_addr().unwrap()).unwrap();
        assert!(!arrives(&socket, &[1; 37]).unwrap());
        assert!(begin.elapsed() < ARRIVAL * 4);
    }

    #[test]
    fn an_address_that_is_not_here_is_a_problem() {
        let mut report = Report::default();
        unicast(&interface(true, 1500, true), &mut report);
        assert_eq!(report.problems(), 1, "{report}");
    }
}
