//! UDP transport (RTPS 2.5 §9.6): IPv4 and IPv6, unicast and multicast, segmentation offload on the way
//! out and receive offload on the way in where the kernel has them.
//!
//! One [`UdpTransport`] holds the sockets of one process in one domain: a unicast socket for discovery and
//! one for user data on the well-known ports, the multicast sockets, and one socket that everything is
//! sent from. [`UdpConfig::interfaces`] chooses which interfaces are announced, joined and used for
//! multicast. The unicast sockets are bound to all addresses of the host, because interfaces come and go;
//! only if the choice is loopback and nothing else are they bound to loopback.
//!
//! `unsafe` is confined to the `sys` module, which wraps the system calls that no library offers.
#![cfg_attr(not(test), warn(unreachable_pub))]

mod bind;
mod broadcast;
mod buffers;
mod counters;
mod groups;
pub mod interface;
mod receive;
mod route;
mod segment;
mod send;
mod sys;
mod transport;

use std::net::{Ipv4Addr, Ipv6Addr};

use dunlin_core::{DomainId, PortParameters};
pub use sys::{at_exit, keep_from_children, process_generation};
pub use transport::UdpTransport;

/// What multicast is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MulticastUse {
    /// Discovery and user data.
    #[default]
    On,
    /// Discovery.
    SpdpOnly,
    /// Nothing that leaves the host: the group is joined on the loopback interface alone, so that
    /// participants on one host still find each other.
    Off,
    /// Nothing: no group is joined or sent to.
    Never,
}

/// Which of the well-known unicast port pairs to take (RTPS 2.5 §9.6.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ParticipantIndex {
    /// The lowest free one up to 119; beyond that any free ports.
    #[default]
    Auto,
    /// None: any free ports.
    Ephemeral,
    /// This one or none.
    Fixed(u32),
}

/// How a [`UdpTransport`] is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdpConfig {
    /// The domain, which decides the ports.
    pub domain: DomainId,
    /// Constants of the port formula.
    pub ports: PortParameters,
    /// Which unicast ports.
    pub participant_index: ParticipantIndex,
    /// Names (`eth0`, `eth*`) or addresses of the interfaces to use. Empty: all that are up and not
    /// loopback; the loopback interface if there is no other.
    pub interfaces: Vec<String>,
    /// Use IPv4.
    pub ipv4: bool,
    /// Use IPv6.
    pub ipv6: bool,
    /// What multicast is used for.
    pub multicast: MulticastUse,
    /// The group of IPv4.
    pub group_v4: Ipv4Addr,
    /// The group of IPv6.
    pub group_v6: Ipv6Addr,
    /// Routers that a multicast or broadcast datagram may pass, plus one.
    pub multicast_ttl: u8,
    /// Broadcast addresses of IPv4 to which that goes which is for the group, with `multicast` [`MulticastUse::Off`].
    pub broadcast: Vec<Ipv4Addr>,
    /// User data for the group goes there too, so the group is announced for it.
    pub broadcast_data: bool,
    /// Octets asked for each receiving socket; `None`: as many as the kernel gives, up to 4 MiB.
    pub receive_buffer: Option<usize>,
    /// Octets asked for the sending socket; `None`: the kernel's default, which keeps the queue of a
    /// slow link short and so gives reliable writers their back-pressure.
    pub send_buffer: Option<usize>,
    /// Hand runs of datagrams of equal size to the kernel in one call, where it can do that.
    pub segmentation_offload: bool,
    /// Take runs of datagrams from the kernel in one call, where it can do that.
    pub receive_offload: bool,
}

impl Default for UdpConfig {
    fn default() -> Self {
        Self {
            domain: 0,
            ports: PortParameters::default(),
            participant_index: ParticipantIndex::default(),
            interfaces: Vec::new(),
            ipv4: true,
            ipv6: false,
            multicast: MulticastUse::default(),
            group_v4: Ipv4Addr::new(239, 255, 0, 1),
            group_v6: Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0xffff, 0xefff, 1),
            multicast_ttl: 1,
            broadcast: Vec::new(),
            broadcast_data: false,
            receive_buffer: None,
            send_buffer: None,
            segmentation_offload: true,
            receive_offload: true,
        }
    }
}

/// One of the two IP versions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Family {
    V4,
    V6,
}

impl UdpConfig {
    /// The IP versions in use.
    fn families(&self) -> impl Iterator<Item = Family> + use<> {
        let chosen = [self.ipv4.then_some(Family::V4), self.ipv6.then_some(Family::V6)];
        chosen.into_iter().flatten()
    }
}
