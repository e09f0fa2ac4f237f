//! Who is where. The pair has one loopback address, the attacker another and the bystander a third, as far as the IP version has
//! so many.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

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
        if self.way == Way::Ipv6 { self.pair() } else { Ipv4Addr::new(127, 0, 0, 66).into() }
    }

    /// The address of somebody who has nothing to do with it.
    pub fn bystander(&self) -> IpAddr {
        if self.way == Way::Ipv6 { self.pair() } else { Ipv4Addr::new(127, 0, 0, 99).into() }
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
