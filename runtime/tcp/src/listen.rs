//! The sockets that others connect to, and the addresses that are announced.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use dunlin_core::Locator;
use dunlin_core::defaults::MAX_PARTICIPANT_INDEX;
use dunlin_transport::Locators;
use dunlin_udp::interface::{self, Interface};
use dunlin_udp::keep_from_children;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use crate::{Listen, TcpConfig};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 256;
/// Most addresses announced for each purpose.
const MAX_ADDRESSES: usize = 8;
/// A connection whose other end is silent for so long is asked whether it is there, and then so often.
const ASK_AFTER: Duration = Duration::from_secs(10);
const ASK_EVERY: Duration = Duration::from_secs(5);
const ASK: u32 = 3;
/// A connection on which nothing was acknowledged for so long is over.
const UNACKNOWLEDGED: Duration = Duration::from_secs(20);

/// The sockets bound to the port of this end, one for each IP version.
pub(crate) struct Bound {
    pub(crate) port: u16,
    /// Nobody connects to them if this end does not listen: then they keep the port from others, which would be taken for
    /// this end.
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) listens: bool,
}

/// The logical ports of this end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LogicalPorts {
    pub(crate) meta: u16,
    pub(crate) data: u16,
}

fn invalid<T>(text: String) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

impl LogicalPorts {
    pub(crate) fn of(config: &TcpConfig) -> io::Result<Self> {
        let (ports, domain) = (&config.ports, config.domain);
        match (ports.metatraffic_unicast(domain, 0), ports.user_unicast(domain, 0)) {
            (Some(meta), Some(data)) => Ok(Self { meta, data }),
            _ => invalid(format!("domain {domain} has no ports below 65536")),
        }
    }
}

fn bind(ip: IpAddr, port: u16, listens: bool) -> io::Result<TcpListener> {
    let socket =
        Socket::new(Domain::for_address(SocketAddr::new(ip, port)), Type::STREAM, Some(Protocol::TCP))?;
    keep_from_children(socket.as_fd());
    if ip.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if port != 0 {
        // Connections that ended a moment ago do not keep the port.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&SocketAddr::new(ip, port).into())?;
    if listens {
        socket.listen(BACKLOG)?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Binds all IP versions to one port.
fn bind_all(addresses: &[IpAddr], port: u16, listens: bool) -> io::Result<Bound> {
    let mut bound = Bound { port, listeners: Vec::new(), listens };
    for ip in addresses {
        let listener = bind(*ip, bound.port, listens)?;
        bound.port = listener.local_addr()?.port();
        bound.listeners.push(listener);
    }
    Ok(bound)
}

impl Bound {
    pub(crate) fn open(config: &TcpConfig, chosen: &[Interface]) -> io::Result<Self> {
        let narrow = !config.interfaces.is_empty() && chosen.iter().all(|interface| interface.loopback);
        let v4 = if narrow { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
        let v6 = if narrow { Ipv6Addr::LOCALHOST } else { Ipv6Addr::UNSPECIFIED };
        let chosen = [config.ipv4.then_some(v4.into()), config.ipv6.then_some(v6.into())];
        let addresses: Vec<IpAddr> = chosen.into_iter().flatten().collect();
        if addresses.is_empty() {
            return invalid("neither IPv4 nor IPv6 is switched on".into());
        }
        match config.listen {
            Listen::Off => bind_all(&addresses, 0, false),
            Listen::Port(port) => bind_all(&addresses, port, true).map_err(|error| {
                let text = format!(
                    "cannot listen on TCP port {port}: {error}; set `tcp.port` to another one, or to \"auto\""
                );
                io::Error::new(error.kind(), text)
            }),
            Listen::Auto => {
                let own = |n| config.ports.metatraffic_unicast(config.domain, n);
                let ports = (0..=MAX_PARTICIPANT_INDEX).filter_map(own);
                ports
                    .chain([0])
                    .find_map(|port| bind_all(&addresses, port, true).ok())
                    .map_or_else(|| invalid("no TCP port is free".into()), Ok)
            }
        }
    }
}

/// The interfaces to use, all of the host being `all`.
pub(crate) fn choose(config: &TcpConfig, all: &[Interface]) -> io::Result<Vec<Interface>> {
    let (chosen, unmatched) = interface::choose(all, &config.interfaces);
    match unmatched.first() {
        Some(unknown) => {
            let names: Vec<String> = all.iter().map(ToString::to_string).collect();
            let text = format!("no interface matches {unknown:?}; this host has {}", names.join(", "));
            Err(io::Error::new(io::ErrorKind::NotFound, text))
        }
        None => Ok(chosen),
    }
}

/// Where this end is announced.
pub(crate) fn locators(
    config: &TcpConfig,
    chosen: &[Interface],
    port: u16,
    logical: LogicalPorts,
) -> Locators {
    let usable = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => config.ipv4 && !ip.is_unspecified(),
        IpAddr::V6(ip) => config.ipv6 && !ip.is_unspecified() && !ip.is_unicast_link_local(),
    };
    let all = chosen.iter().flat_map(|interface| interface.addresses.iter().copied());
    let mut addresses: Vec<IpAddr> = all.filter(usable).collect();
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses.dedup();
    addresses.truncate(MAX_ADDRESSES);
    if addresses.is_empty() {
        let v4 = IpAddr::from(Ipv4Addr::LOCALHOST);
        addresses.push(if config.ipv4 { v4 } else { Ipv6Addr::LOCALHOST.into() });
    }
    let at = |logical| addresses.iter().map(|ip| Locator::tcp(SocketAddr::new(*ip, port), logical)).collect();
    Locators {
        metatraffic_unicast: at(logical.meta),
        default_unicast: at(logical.data),
        ..Locators::default()
    }
}

/// Begins to connect.
pub(crate) fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {
            Err(error)
        }
        _ => {
            let stream = socket.into();
            set_up(&stream)?;
            Ok(stream)
        }
    }
}

/// Sets the options of a connection: nothing waits to be sent with more, and peers that are gone are noticed.
pub(crate) fn set_up(stream: &TcpStream) -> io::Result<()> {
    keep_from_children(stream.as_fd());
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(ASK_AFTER).with_interval(ASK_EVERY).with_retries(ASK);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))
}
