//! Who is where. The pair has one loopback address, the attacker another and the bystander a third, as far as the IP version has
//! so many.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Set where this process has a network of its own, which [`SET_UP`] has made.
pub const OWN_NETWORK: &str = "DUNLIN_ATTACK_OWN_NETWORK";

/// Commands of a shell that bring up loopback, with a network of IPv6 whose addresses can be bound although no interface has them,
/// so that nobody announces them.
pub const SET_UP: &str = "ip link set lo up && ip -6 route add local fd00::/64 dev lo && \
     echo 1 > /proc/sys/net/ipv6/ip_nonlocal_bind";

/// Whether this process has a network of its own.
pub fn has_own_network() -> bool {
    std::env::var_os(OWN_NETWORK).is_some()
}

/// How the two sides of the pair reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// UDP over IPv4.
    Udp,
    /// UDP over IPv6.
    Ipv6,
    /// TCP over IPv4.
    Tcp,
    /// Shared memory, with discovery over UDP.
    SharedMemory,
}

/// From where the attacker speaks in the name of one of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// From his own address.
    Elsewhere,
    /// From another socket at the address of the pair: he is on the same host.
    BesideThePair,
    /// From the very socket of the one in whose name it is: he forges sources.
    AsThePair,
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// The process that reads; participant 0 of the domain.
    Reader,
    /// The process that writes; participant 1.
    Writer,
}

/// Which of its sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Discovery.
    Metatraffic,
    /// Data.
    Data,
}

/// The addresses of one scene.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// How the pair talks.
    pub way: Way,
    /// Its domain, which nobody else may be in.
    pub domain: u16,
}

impl Places {
    /// Where a side of the pair is.
    pub fn pair(&self) -> IpAddr {
        if self.way == Way::Ipv6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() }
    }

    /// The attacker's address.
    pub fn attacker(&self) -> IpAddr {
        self.another(0x66, 66)
    }

    /// The address of somebody who has nothing to do with it.
    pub fn bystander(&self) -> IpAddr {
        self.another(0x99, 99)
    }

    /// IPv6 has one loopback address. Only a network namespace of its own has more: see [`OWN_NETWORK`].
    fn another(&self, ipv6: u16, ipv4: u8) -> IpAddr {
        match self.way {
            Way::Ipv6 if !has_own_network() => self.pair(),
            Way::Ipv6 => Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, ipv6).into(),
            _ => Ipv4Addr::new(127, 0, 0, ipv4).into(),
        }
    }

    /// The well-known ports of the domain.
    pub fn domain_ports(&self) -> Range<u16> {
        let first = 7_400 + 250 * self.domain;
        first..first + 250
    }

    /// A socket of a side (RTPS 2.5 §9.6.2).
    pub fn of(&self, side: Side, channel: Channel) -> SocketAddr {
        let side = if side == Side::Reader { 0 } else { 2 };
        let channel = if channel == Channel::Metatraffic { 10 } else { 11 };
        SocketAddr::new(self.pair(), 7_400 + 250 * self.domain + side + channel)
    }

    /// The port of TCP of a side.
    pub fn tcp(&self, side: Side) -> SocketAddr {
        self.of(side, Channel::Metatraffic)
    }
}
