//! Locators (RTPS 2.5 §9.3.2.3): where a message can be sent.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::GuidPrefix;

/// Locator kind numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocatorKind(pub i32);

impl LocatorKind {
    /// LOCATOR_KIND_INVALID.
    pub const INVALID: Self = Self(-1);
    /// UDP over IPv4.
    pub const UDP_V4: Self = Self(1);
    /// UDP over IPv6.
    pub const UDP_V6: Self = Self(2);
    /// TCP over IPv4, as Fast DDS frames it: the port holds the port of the connection and a logical one.
    pub const TCP_V4: Self = Self(4);
    /// TCP over IPv6, likewise.
    pub const TCP_V6: Self = Self(8);
    /// Shared memory between Dunlin participants of one host; others ignore it, as any kind of a vendor's own.
    pub const SHARED_MEMORY: Self = Self(0x0244_4C01);
    /// Inside the participant itself; never on the wire.
    pub const LOCAL: Self = Self(i32::MIN);

    /// Whether it is one of the 256 that Dunlin has for itself and for transports of its applications, from `0x0244_4C00` on.
    #[must_use]
    pub const fn is_own(self) -> bool {
        self.0 & !0xFF == 0x0244_4C00
    }
}

impl fmt::Debug for LocatorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::INVALID => f.write_str("invalid"),
            Self::UDP_V4 => f.write_str("udpv4"),
            Self::UDP_V6 => f.write_str("udpv6"),
            Self::TCP_V4 => f.write_str("tcpv4"),
            Self::TCP_V6 => f.write_str("tcpv6"),
            Self::SHARED_MEMORY => f.write_str("shm"),
            Self::LOCAL => f.write_str("local"),
            Self(other) => write!(f, "kind {other:#x}"),
        }
    }
}

/// Transport kind, port and sixteen octets of address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator {
    /// Which transport.
    pub kind: LocatorKind,
    /// Port of that transport.
    pub port: u32,
    /// Address; an IPv4 address stands in the last four octets.
    pub address: [u8; 16],
}

impl Locator {
    /// LOCATOR_INVALID.
    pub const INVALID: Self = Self { kind: LocatorKind::INVALID, port: 0, address: [0; 16] };
    /// The participant itself: how endpoints of one participant reach each other.
    pub const LOCAL: Self = Self { kind: LocatorKind::LOCAL, port: 1, address: [0; 16] };
    /// Port of the locators of other participants of the process.
    const IN_PROCESS: u32 = 2;

    /// UDP over IPv4.
    #[must_use]
    pub const fn udp_v4(address: Ipv4Addr, port: u16) -> Self {
        let [a, b, c, d] = address.octets();
        Self {
            kind: LocatorKind::UDP_V4,
            port: port as u32,
            address: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d],
        }
    }

    /// UDP over IPv6.
    #[must_use]
    pub const fn udp_v6(address: Ipv6Addr, port: u16) -> Self {
        Self { kind: LocatorKind::UDP_V6, port: port as u32, address: address.octets() }
    }

    /// UDP over whichever IP version.
    #[must_use]
    pub const fn udp(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => Self::udp_v4(*v4.ip(), v4.port()),
            SocketAddr::V6(v6) => Self::udp_v6(*v6.ip(), v6.port()),
        }
    }

    /// TCP over whichever IP version: the address of the connection, and the logical port of those who receive there (0
    /// for the connection itself).
    #[must_use]
    pub const fn tcp(address: SocketAddr, logical_port: u16) -> Self {
        let udp = Self::udp(address);
        let kind = if address.is_ipv4() { LocatorKind::TCP_V4 } else { LocatorKind::TCP_V6 };
        Self { kind, port: udp.port | (logical_port as u32) << 16, ..udp }
    }

    /// True for the kinds of TCP.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        matches!(self.kind, LocatorKind::TCP_V4 | LocatorKind::TCP_V6)
    }

    /// The address of the connection and the logical port of a TCP locator; `None` for other kinds, and for port 0 of the
    /// connection.
    #[must_use]
    pub fn to_tcp(&self) -> Option<(SocketAddr, u16)> {
        let [logical_high, logical_low, high, low] = self.port.to_be_bytes();
        let port = u16::from_be_bytes([high, low]);
        let ip = self.ip().filter(|_| self.is_tcp() && port != 0)?;
        Some((SocketAddr::new(ip, port), u16::from_be_bytes([logical_high, logical_low])))
    }

    /// An inbox in shared memory: `place` names host and folder, `inbox` a file there.
    #[must_use]
    pub const fn shared_memory(place: [u8; 8], inbox: u64) -> Self {
        let [a, b, c, d, e, f, g, h] = place;
        let [i, j, k, l, m, n, o, p] = inbox.to_be_bytes();
        let address = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
        Self { kind: LocatorKind::SHARED_MEMORY, port: 1, address }
    }

    /// Another participant of this process, which is reached without leaving it. Never announced.
    #[must_use]
    pub const fn in_process(prefix: GuidPrefix) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = prefix.0;
        let address = [a, b, c, d, e, f, g, h, i, j, k, l, 0, 0, 0, 0];
        Self { kind: LocatorKind::LOCAL, port: Self::IN_PROCESS, address }
    }

    /// Which other participant of this process a locator means; `None` for other kinds and for [`LOCAL`](Self::LOCAL).
    #[must_use]
    pub fn participant_in_process(&self) -> Option<GuidPrefix> {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = self.address;
        let in_process = self.kind == LocatorKind::LOCAL && self.port == Self::IN_PROCESS;
        in_process.then_some(GuidPrefix([a, b, c, d, e, f, g, h, i, j, k, l]))
    }

    /// The place and the inbox of a locator for shared memory; `None` for other kinds.
    #[must_use]
    pub fn shared_memory_inbox(&self) -> Option<([u8; 8], u64)> {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.address;
        let inbox = u64::from_be_bytes([i, j, k, l, m, n, o, p]);
        (self.kind == LocatorKind::SHARED_MEMORY).then_some(([a, b, c, d, e, f, g, h], inbox))
    }

    /// The UDP address; `None` for other kinds, port 0 or above 65535, or an IPv4 address with
    /// non-zero leading octets.
    #[must_use]
    pub fn to_socket_addr(&self) -> Option<SocketAddr> {
        let port = u16::try_from(self.port).ok().filter(|port| *port != 0 && !self.is_tcp())?;
        Some(SocketAddr::new(self.ip()?, port))
    }

    /// The IP address of a UDP or TCP locator. Fast DDS writes a second address, that of a router, in front of the one of
    /// a host with TCP over IPv4; it does not count.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        match (self.kind, self.address) {
            (LocatorKind::TCP_V4, [0, 0, 0, 0, 0, 0, 0, 0, _, _, _, _, a, b, c, d]) => {
                Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
            }
            (LocatorKind::TCP_V6, octets) => Some(IpAddr::V6(Ipv6Addr::from(octets))),
            (LocatorKind::UDP_V4, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]) => {
                Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
            }
            (LocatorKind::UDP_V6, octets) => Some(IpAddr::V6(Ipv6Addr::from(octets))),
            _ => None,
        }
    }

    /// True for a multicast address.
    #[must_use]
    pub fn is_multicast(&self) -> bool {
        self.ip().is_some_and(|ip| ip.is_multicast())
    }

    /// True for an address of the local host only.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.ip().is_some_and(|ip| ip.is_loopback())
    }
}

impl Default for Locator {
    fn default() -> Self {
        Self::INVALID
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, inbox)) = self.shared_memory_inbox() {
            return write!(f, "shm/{inbox:016x}");
        }
        if let Some((address, logical_port)) = self.to_tcp() {
            return write!(f, "tcp/{address}/{logical_port}");
        }
        match (self.ip(), self.kind) {
            (Some(IpAddr::V4(ip)), _) => write!(f, "udp/{ip}:{}", self.port),
            (Some(IpAddr::V6(ip)), _) => write!(f, "udp/[{ip}]:{}", self.port),
            (None, kind) => write!(f, "{kind:?}:{}", self.port),
        }
    }
}

impl fmt::Debug for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn addresses_round_trip() {
        for text in ["127.0.0.1:7411", "239.255.0.1:7400", "[::1]:7411", "[ff02::1]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            let locator = Locator::udp(address);
            assert_eq!(locator.to_socket_addr(), Some(address));
            assert_eq!(locator.to_string(), alloc::format!("udp/{text}"));
            assert_eq!(locator.is_multicast(), address.ip().is_multicast());
        }
    }

    #[test]
    fn tcp_addresses_round_trip() {
        for text in ["127.0.0.1:7411", "[2001:db8::1]:42100"] {
            let address: SocketAddr = text.parse().unwrap();
            let locator = Locator::tcp(address, 7410);
            assert_eq!(locator.to_tcp(), Some((address, 7410)));
            assert_eq!(locator.to_string(), alloc::format!("tcp/{text}/7410"));
            assert_eq!((locator.ip(), locator.to_socket_addr()), (Some(address.ip()), None));
        }
        let with_router = Locator {
            address: [0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 10, 0, 0, 1],
            ..Locator::tcp("10.0.0.1:1".parse().unwrap(), 2)
        };
        assert_eq!(with_router.to_tcp(), Some(("10.0.0.1:1".parse().unwrap(), 2)));
        assert_eq!(Locator::udp_v4(Ipv4Addr::LOCALHOST, 1).to_tcp(), None);
        assert_eq!(Locator { port: 7410 << 16, ..with_router }.to_tcp(), None);
    }

    #[test]
    fn inboxes_round_trip() {
        let locator = Locator::shared_memory([1, 2, 3, 4, 5, 6, 7, 8], 0xABC);
        assert_eq!(locator.shared_memory_inbox(), Some(([1, 2, 3, 4, 5, 6, 7, 8], 0xABC)));
        assert_eq!(locator.to_string(), "shm/0000000000000abc");
        assert_eq!((locator.ip(), Locator::LOCAL.shared_memory_inbox()), (None, None));
    }

    #[test]
    fn kinds_of_this_vendor_are_known_by_their_number() {
        let kinds = [LocatorKind::SHARED_MEMORY, LocatorKind(0x0244_4C00), LocatorKind(0x0244_4CFF)];
        assert!(kinds.into_iter().all(LocatorKind::is_own));
        let others =
            [LocatorKind::UDP_V4, LocatorKind::LOCAL, LocatorKind::INVALID, LocatorKind(0x0244_4D00)];
        assert!(!others.into_iter().any(LocatorKind::is_own));
    }

    #[test]
    fn strange_locators_have_no_address() {
        assert_eq!(Locator::INVALID.to_socket_addr(), None);
        assert_eq!(Locator::LOCAL.to_socket_addr(), None);
        let mut odd = Locator::udp_v4(Ipv4Addr::LOCALHOST, 7400);
        odd.address[0] = 1;
        assert_eq!(odd.to_socket_addr(), None);
        let port_zero = Locator::udp_v4(Ipv4Addr::LOCALHOST, 0);
        assert_eq!(port_zero.to_socket_addr(), None);
        let port_large = Locator { port: 70_000, ..Locator::udp_v4(Ipv4Addr::LOCALHOST, 1) };
        assert_eq!(port_large.to_socket_addr(), None);
    }
}
