//! Network interfaces of the host: which there are, and which are used.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsFd;

use crate::sys;

/// A network interface with its addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The kernel's number for it.
    pub index: u32,
    /// Largest IP packet it carries, in octets.
    pub mtu: u32,
    /// It is switched on and has a link.
    pub up: bool,
    /// It leads back to this host.
    pub loopback: bool,
    /// It says that it can multicast. Loopback interfaces of Linux can although they say otherwise.
    pub multicast: bool,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

impl Interface {
    /// The first IPv4 address.
    #[must_use]
    pub fn v4(&self) -> Option<Ipv4Addr> {
        self.addresses.iter().find_map(|ip| if let IpAddr::V4(ip) = ip { Some(*ip) } else { None })
    }

    /// The first IPv6 address, preferably one of the link alone: that is what link-local groups want.
    #[must_use]
    pub fn v6(&self) -> Option<Ipv6Addr> {
        let all =
            || self.addresses.iter().filter_map(|ip| if let IpAddr::V6(ip) = ip { Some(*ip) } else { None });
        all().find(Ipv6Addr::is_unicast_link_local).or_else(|| all().next())
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        write!(f, "{} ({})", self.name, addresses.join(", "))
    }
}

/// All interfaces of the host, by index.
///
/// # Errors
/// Those of the operating system.
pub fn all() -> io::Result<Vec<Interface>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .or_else(|_| UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)))?;
    let mut by_name: BTreeMap<String, Interface> = BTreeMap::new();
    for raw in sys::interface_addresses()? {
        if !by_name.contains_key(&raw.interface) {
            // Gone between the two questions: it is as if it had not been there.
            let Some((index, mtu)) = sys::mtu(socket.as_fd(), &raw.interface) else { continue };
            by_name.insert(raw.interface.clone(), describe(&raw, index, mtu));
        }
        if let Some(interface) = by_name.get_mut(&raw.interface) {
            interface.addresses.extend(raw.ip);
        }
    }
    let mut all: Vec<Interface> = by_name.into_values().collect();
    all.sort_by_key(|interface| interface.index);
    Ok(all)
}

fn describe(raw: &sys::RawAddress, index: u32, mtu: u32) -> Interface {
    let flag = |bits: libc::c_int| raw.flags & bits as u32 == bits as u32;
    Interface {
        name: raw.interface.clone(),
        index,
        mtu,
        up: flag(libc::IFF_UP | libc::IFF_RUNNING),
        loopback: flag(libc::IFF_LOOPBACK),
        multicast: flag(libc::IFF_MULTICAST),
        addresses: Vec::new(),
    }
}

/// The interfaces to use: those that a pattern names; without patterns all that are up, or the loopback
/// interface if nothing else is. The second list has the patterns that name nothing.
#[must_use]
pub fn choose<'p>(all: &[Interface], patterns: &'p [String]) -> (Vec<Interface>, Vec<&'p str>) {
    let usable = || all.iter().filter(|interface| interface.up && !interface.addresses.is_empty());
    if patterns.is_empty() {
        let outside: Vec<Interface> = usable().filter(|interface| !interface.loopback).cloned().collect();
        let chosen = if outside.is_empty() { usable().cloned().collect() } else { outside };
        return (chosen, Vec::new());
    }
    let named = |interface: &&Interface| patterns.iter().any(|pattern| matches(interface, pattern));
    let chosen = usable().filter(named).cloned().collect();
    let unmatched =
        patterns.iter().filter(|pattern| !all.iter().any(|interface| matches(interface, pattern)));
    (chosen, unmatched.map(String::as_str).collect())
}

/// True if `pattern` is the interface's name, a beginning of it followed by `*`, or one of its addresses.
fn matches(interface: &Interface, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => interface.name.starts_with(beginning),
        None => {
            interface.name == pattern
                || pattern.parse().is_ok_and(|ip: IpAddr| interface.addresses.contains(&ip))
        }
    }
}

/// The interfaces in a sentence.
pub(crate) fn list(all: &[Interface]) -> String {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, index: u32, up: bool, address: &str) -> Interface {
        let loopback = name == "lo";
        let addresses = vec![address.parse().unwrap()];
        Interface { name: name.into(), index, mtu: 1500, up, loopback, multicast: !loopback, addresses }
    }

    fn host() -> Vec<Interface> {
        vec![
            interface("lo", 1, true, "127.0.0.1"),
            interface("eth0", 2, true, "192.0.2.2"),
            interface("eth1", 3, false, "192.0.2.130"),
            interface("wlan0", 4, true, "198.51.100.9"),
        ]
    }

    fn names(patterns: &[&str], all: &[Interface]) -> (Vec<String>, usize) {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        let (chosen, unmatched) = choose(all, &patterns);
        (chosen.into_iter().map(|interface| interface.name).collect(), unmatched.len())
    }

    #[test]
    fn interface_selection_without_patterns_takes_all_external_ones() {
        assert_eq!(names(&[], &host()), (vec!["eth0".into(), "wlan0".into()], 0));
        assert_eq!(names(&[], &host()[..1]), (vec!["lo".into()], 0));
        assert_eq!(names(&[], &[]), (vec![], 0));
    }

    #[test]
    fn patterns_are_names_beginnings_and_addresses() {
        assert_eq!(names(&["eth0"], &host()), (vec!["eth0".into()], 0));
        assert_eq!(names(&["eth*", "lo"], &host()), (vec!["lo".into(), "eth0".into()], 0));
        assert_eq!(names(&["198.51.100.9"], &host()), (vec!["wlan0".into()], 0));
        assert_eq!(names(&["eth"], &host()), (vec![], 1));
        assert_eq!(names(&["10.0.0.1", "eth1"], &host()), (vec![], 1));
    }

    #[test]
    fn interface_list_of_this_host_has_loopback() {
        let all = all().unwrap();
        let lo = all.iter().find(|interface| interface.loopback).expect("a loopback interface");
        assert!(lo.index > 0 && lo.mtu > 1000);
        assert!(all.windows(2).all(|pair| pair[0].index < pair[1].index));
        if lo.up {
            assert!(lo.addresses.iter().any(IpAddr::is_loopback));
        }
    }
}
