//! Broadcast in the place of multicast, where networks do not pass the latter: what is for the own group goes to addresses that the
//! user has named, at the port of the group.
//!
//! Others learn nothing of these addresses, so they are in no locator. The socket that may broadcast is used for nothing else:
//! from the one that everything else is sent from, the kernel lets nothing go to a broadcast address, whatever others announce.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use socket2::{SockAddr, Socket};

use crate::sys::{self, IntOption};
use crate::{Family, MulticastUse, UdpConfig, bind};

/// Most addresses: each of them multiplies what is sent.
const MAX_ADDRESSES: usize = 4;

/// Whether broadcast is in use.
pub(crate) fn is_on(config: &UdpConfig) -> bool {
    !config.broadcast.is_empty() && config.multicast == MulticastUse::Off
}

/// Whether user data goes that way too.
pub(crate) fn carries_data(config: &UdpConfig) -> bool {
    is_on(config) && config.broadcast_data
}

/// What cannot be, in words.
pub(crate) fn refusal(config: &UdpConfig) -> Option<String> {
    if config.broadcast.is_empty() || config.multicast == MulticastUse::Never {
        return None;
    }
    let strange = config.broadcast.iter().find(|address| address.is_multicast() || address.is_unspecified());
    if let Some(address) = strange {
        return Some(format!("{address} is no broadcast address"));
    }
    if config.multicast != MulticastUse::Off {
        return Some("broadcast is for networks without multicast, and multicast is on".into());
    }
    if !config.ipv4 {
        return Some("broadcast is of IPv4, which is off".into());
    }
    let count = config.broadcast.len();
    (count > MAX_ADDRESSES).then(|| format!("{count} broadcast addresses; {MAX_ADDRESSES} at most"))
}

/// Sockets that receive what is broadcast to a port, which all participants of the host share.
pub(crate) fn receiving(config: &UdpConfig, port: u16) -> io::Result<Vec<Socket>> {
    // What is sent to loopback is received there alone; everything else, on whatever interface comes up.
    let place = |address: &Ipv4Addr| if address.is_loopback() { *address } else { Ipv4Addr::UNSPECIFIED };
    let mut places: Vec<Ipv4Addr> = config.broadcast.iter().map(place).collect();
    places.sort_unstable();
    places.dedup();
    let open = |place: Ipv4Addr| {
        let socket = bind::open(Family::V4)?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        // Groups that others have joined are none of its business.
        let _ = sys::set_option(socket.as_fd(), IntOption::IP_MULTICAST_ALL, 0);
        socket.bind(&SocketAddr::new(place.into(), port).into()).map_err(|error| {
            io::Error::new(error.kind(), format!("broadcast to {place}, port {port}: {error}"))
        })?;
        Ok(socket)
    };
    places.into_iter().map(open).collect()
}

/// Where what is for the group goes.
pub(crate) struct Broadcast {
    pub(crate) socket: Socket,
    group: IpAddr,
    /// The ports of the group for discovery and, if user data goes this way, for that.
    meta: u16,
    data: Option<u16>,
    addresses: Vec<Ipv4Addr>,
}

impl Broadcast {
    pub(crate) fn open(config: &UdpConfig) -> io::Result<Option<Self>> {
        let Some(meta) = config.ports.metatraffic_multicast(config.domain).filter(|_| is_on(config)) else {
            return Ok(None);
        };
        let data = config.ports.user_multicast(config.domain).filter(|_| carries_data(config));
        let socket = bind::open(Family::V4)?;
        socket.set_broadcast(true)?;
        socket.set_ttl_v4(u32::from(config.multicast_ttl).max(1))?;
        let group = config.group_v4.into();
        Ok(Some(Self { socket, group, meta, data, addresses: config.broadcast.clone() }))
    }

    /// Whether a group is the own one, at a port that is broadcast to. Others may name any group.
    pub(crate) fn replaces(&self, to: SocketAddr) -> bool {
        to.ip() == self.group && (to.port() == self.meta || Some(to.port()) == self.data)
    }

    /// Whether all who want that hear it by broadcast: then it goes nowhere else.
    pub(crate) fn is_enough(&self, to: SocketAddr) -> bool {
        Some(to.port()) == self.data
    }

    /// The places for a port: directed ones, which have a route, and whether there is the limited one, which has none.
    pub(crate) fn directed(&self, port: u16) -> impl Iterator<Item = SockAddr> {
        let directed = self.addresses.iter().filter(|address| !address.is_broadcast());
        directed.map(move |address| SocketAddr::new(IpAddr::from(*address), port).into())
    }

    pub(crate) fn limited(&self, port: u16) -> Option<SockAddr> {
        let named = self.addresses.contains(&Ipv4Addr::BROADCAST);
        named.then(|| SocketAddr::new(Ipv4Addr::BROADCAST.into(), port).into())
    }
}
