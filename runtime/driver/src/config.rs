//! What joining a domain needs, and why it can fail.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration as StdDuration;

use dunlin_core::{DomainId, Duration, Locator, PortParameters, defaults, is_on_this_host};
use dunlin_engine::{DiscoveryRole, Quotas, Tuning};
use dunlin_qos::DomainParticipantQos;
use dunlin_shm::ShmConfig;
use dunlin_tcp::TcpConfig;
use dunlin_transport::FaultConfig;
use dunlin_udp::UdpConfig;
use thiserror::Error;

use crate::waiting::{ReceiveConfig, Threads};

/// How a participant and its transport are set up. Sessions of one process for which `udp`, `use_udp`, `tcp`, `shared_memory`, `in_process`, `pcap`,
/// `pcap_max_octets`, `fault`, `interface_poll` and `receive` are equal share sockets and threads.
#[derive(Clone, Debug)]
pub struct DriverConfig {
    /// Sockets, and the domain.
    pub udp: UdpConfig,
    /// Open the sockets of UDP. Without it there must be `tcp`.
    pub use_udp: bool,
    /// Connections of TCP.
    pub tcp: Option<TcpConfig>,
    /// Shared memory with the other processes of the host.
    pub shared_memory: ShmConfig,
    /// Hand data to other participants of the process on the thread that writes. Only where shared memory is used, and
    /// nothing looks at what is sent: no capture, no faults.
    pub in_process: bool,
    /// A file that gets a copy of all traffic.
    pub pcap: Option<PathBuf>,
    /// Octets at which that copy ends.
    pub pcap_max_octets: u64,
    /// Spoil what is sent, for tests.
    pub fault: Option<FaultConfig>,
    /// Time between looks at the interfaces of the host.
    pub interface_poll: StdDuration,
    /// How the threads that receive user data wait and run.
    pub receive: ReceiveConfig,
    /// Who receives and runs the timers.
    pub threads: Threads,
    /// Participants of another tag are ignored (RTPS 2.5 §9.4.2.20).
    pub domain_tag: String,
    /// Unicast locators to announce to; see [`peer_locators`].
    pub initial_peers: Vec<Locator>,
    /// QoS of the participant.
    pub qos: DomainParticipantQos,
    /// How long others keep this participant without a sign of life.
    pub lease_duration: Duration,
    /// Time between announcements.
    pub announcement_period: Duration,
    /// Octets of the largest datagram to send. `None`: 1472, or less where an interface carries less.
    pub max_message_size: Option<usize>,
    /// Parameters of the reliable protocol.
    pub tuning: Tuning,
    /// Limits of what remote participants may make this one remember.
    pub quotas: Quotas,
    /// What the participant is to the others when it comes to discovery.
    pub role: DiscoveryRole,
    /// A name for people.
    pub entity_name: String,
}

impl Default for DriverConfig {
    fn default() -> Self {
        Self {
            udp: UdpConfig::default(),
            use_udp: true,
            tcp: None,
            shared_memory: ShmConfig::default(),
            in_process: true,
            pcap: None,
            pcap_max_octets: 1 << 30,
            fault: None,
            interface_poll: StdDuration::from_secs(3),
            receive: ReceiveConfig::default(),
            threads: Threads::default(),
            domain_tag: String::new(),
            initial_peers: Vec::new(),
            qos: DomainParticipantQos::default(),
            lease_duration: defaults::LEASE_DURATION,
            announcement_period: defaults::ANNOUNCEMENT_PERIOD,
            max_message_size: None,
            tuning: Tuning::default(),
            quotas: Quotas::default(),
            role: DiscoveryRole::default(),
            entity_name: String::new(),
        }
    }
}

impl DriverConfig {
    /// The first part that differs from the default and is of the transports that the driver opens itself.
    pub(crate) fn of_own_transports(&self) -> Option<&'static str> {
        let udp = UdpConfig { domain: self.udp.domain, ports: self.udp.ports, ..UdpConfig::default() };
        let network = self.udp != udp || !self.use_udp;
        let memory = self.shared_memory.enabled && self.shared_memory != ShmConfig::default();
        let keys = [(network, "network.*"), (self.tcp.is_some(), "tcp.*"), (memory, "shared_memory.*")];
        keys.iter().find(|(asked, _)| *asked).map(|(_, key)| *key)
    }

    /// A setting that needs a thread of the library, if there is one.
    pub(crate) fn needs_threads(&self) -> Option<&'static str> {
        let fault = self.fault.is_some_and(|fault| fault.is_active());
        let keys = [
            (self.tcp.is_some(), "tcp.enabled"),
            (self.receive != ReceiveConfig::default(), "receive.*"),
            (fault, "fault.*"),
        ];
        keys.iter().find(|(asked, _)| *asked).map(|(_, key)| *key)
    }
}

/// Why a domain could not be joined.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Sockets or interfaces.
    #[error("network: {0}")]
    Network(#[source] io::Error),
    /// Connections of TCP: its port, its interfaces, or the files of TLS.
    #[error("TCP: {0}")]
    Tcp(#[source] io::Error),
    /// No transport is switched on.
    #[error("neither UDP nor TCP is switched on: set `network.udp` or `tcp.enabled` to true")]
    NoTransport,
    /// The capture file.
    #[error("capture file {}: {source}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// A library thread.
    #[error("thread {name}: {source}")]
    Thread {
        /// Its name.
        name: &'static str,
        /// What went wrong.
        source: io::Error,
    },
    /// The participant has a transport of the caller's, which this does not reach.
    #[error("`{0}` has no effect on a transport of the application's: leave it as it is by default")]
    OtherTransport(&'static str),
    /// The participant has no threads, and this needs one.
    #[error(
        "`{0}` needs a thread of the library, and the participant is created without: leave it as it is by default"
    )]
    WithoutThreads(&'static str),
    /// The machine is a simulated one, which has no such thing.
    #[error("the simulator has no `{0}`: leave it as it is by default")]
    Simulated(&'static str),
    /// The machine is a simulated one, and no node has this name.
    #[error(
        "peer {0:?}: no node of the simulation has this name, add it before; real names are not looked up"
    )]
    UnknownNode(String),
    /// The simulated network has no ports left for it.
    #[error("no ports for domain {domain}, participant {index} on this node")]
    OutOfPorts {
        /// The domain.
        domain: DomainId,
        /// How many participants of this domain have the ports before.
        index: u32,
    },
    /// This thread runs a simulation, in which nobody would hear a real participant.
    #[error(
        "this thread runs a simulation: create participants in a task or thread of a node, or within `Node::run`"
    )]
    OutsideOfNodes,
    /// The operating system has no random numbers.
    #[error("no random numbers: {0}")]
    Entropy(#[from] getrandom::Error),
}

/// How many participants are looked for at a peer given without a port.
const PEER_PARTICIPANTS: u32 = 10;

/// How many participants are looked for at a peer that is reached over TCP.
const TCP_PARTICIPANTS: u32 = 4;
/// What stands in front of a peer that is reached over TCP.
pub const TCP_PEER: &str = "tcp://";

/// The discovery locators of a peer: `host:port` and `[address]:port` are one place; a host or address alone means
/// the well-known ports of the first ten participants there. With `tcp://` in front it is reached over TCP: then a port is
/// that of the connection, on which the logical ports of the first four participants are tried; without it, the
/// well-known ports of the first four.
///
/// # Errors
/// When the name of the host is not known.
pub fn peer_locators(peer: &str, domain: DomainId, ports: &PortParameters) -> io::Result<Vec<Locator>> {
    match peer.strip_prefix(TCP_PEER) {
        Some(place) => tcp_locators(place, domain, ports),
        None => udp_locators(peer, domain, ports),
    }
}

fn udp_locators(peer: &str, domain: DomainId, ports: &PortParameters) -> io::Result<Vec<Locator>> {
    let bare = peer.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(peer);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(well_known(ip, domain, ports));
    }
    let port = peer.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    let host = if port.is_some() { peer.to_owned() } else { format!("{peer}:0") };
    let addresses = host
        .to_socket_addrs()
        .map_err(|error| io::Error::new(error.kind(), format!("peer {peer:?}: {error}")))?;
    Ok(match port {
        Some(_) => addresses.map(Locator::udp).collect(),
        None => addresses.flat_map(|address| well_known(address.ip(), domain, ports)).collect(),
    })
}

fn tcp_locators(place: &str, domain: DomainId, ports: &PortParameters) -> io::Result<Vec<Locator>> {
    let bare = place.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(place);
    let port =
        place.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).filter(|port| *port != 0);
    let known: Vec<u16> =
        (0..TCP_PARTICIPANTS).filter_map(|index| ports.metatraffic_unicast(domain, index)).collect();
    let first = known.first().copied().unwrap_or_default();
    let (addresses, has_port) = match bare.parse::<IpAddr>() {
        Ok(ip) => (vec![ip], false),
        Err(_) => {
            let host = if port.is_some() { place.to_owned() } else { format!("{place}:0") };
            let addresses = host.to_socket_addrs().map_err(|error| {
                io::Error::new(error.kind(), format!("peer \"{TCP_PEER}{place}\": {error}"))
            })?;
            (addresses.map(|address| address.ip()).collect(), port.is_some())
        }
    };
    let at = |ip: IpAddr| -> Vec<Locator> {
        match port.filter(|_| has_port) {
            Some(port) => known.iter().map(|known| Locator::tcp(SocketAddr::new(ip, port), *known)).collect(),
            None => known.iter().map(|known| Locator::tcp(SocketAddr::new(ip, *known), first)).collect(),
        }
    };
    Ok(addresses.into_iter().flat_map(at).collect())
}

/// The port of a discovery server of domain 0; each further domain has the next but one.
pub const SERVER_PORT: u16 = 11811;
/// What may stand in front of a discovery server, which is reached over UDP.
const UDP_SERVER: &str = "udp://";

/// The port of a discovery server of a domain whose port nobody has set.
#[must_use]
pub fn server_port(domain: DomainId) -> Option<u16> {
    SERVER_PORT.checked_add(u16::try_from(domain.checked_mul(2)?).ok()?)
}

/// Where a discovery server receives: `host`, `address`, `host:port` or `[address]:port`, with `udp://` in front or without.
/// Without a port, [`server_port`].
///
/// # Errors
/// When the name of the host is not known, or the server is to be reached over something else than UDP.
pub fn server_locators(server: &str, domain: DomainId) -> io::Result<Vec<Locator>> {
    let place = server.strip_prefix(UDP_SERVER).unwrap_or(server);
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    if let Some((scheme, _)) = place.split_once("://") {
        return Err(invalid(format!("server {server:?}: servers are reached over UDP, not over {scheme:?}")));
    }
    let bare = place.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(place);
    let no_port = || invalid(format!("server {server:?}: domain {domain} has no port for a server"));
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(vec![Locator::udp(SocketAddr::new(ip, server_port(domain).ok_or_else(no_port)?))]);
    }
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let place = if has_port {
        place.to_owned()
    } else {
        format!("{place}:{}", server_port(domain).ok_or_else(no_port)?)
    };
    let named = |error: io::Error| io::Error::new(error.kind(), format!("server {server:?}: {error}"));
    Ok(place.to_socket_addrs().map_err(named)?.map(Locator::udp).collect())
}

/// The participant index of the daemon of a host if nobody has set another one: the last one that participants take by themselves.
pub const DAEMON_INDEX: u32 = defaults::MAX_PARTICIPANT_INDEX;

/// Where the daemon of a host receives: `host`, `address`, `host:port` or `[address]:port`. Without a port, the one for discovery of
/// [`DAEMON_INDEX`]; an empty text is this host, over loopback.
///
/// # Errors
/// When the name of the host is not known, or the domain has no such port.
pub fn daemon_locators(daemon: &str, domain: DomainId, ports: &PortParameters) -> io::Result<Vec<Locator>> {
    let bare = daemon.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(daemon);
    let port = || {
        let text = format!("daemon {daemon:?}: domain {domain} has no port for it: name one");
        let none = io::Error::new(io::ErrorKind::InvalidInput, text);
        ports.metatraffic_unicast(domain, DAEMON_INDEX).ok_or(none)
    };
    if daemon.is_empty() {
        return Ok(vec![Locator::udp_v4(Ipv4Addr::LOCALHOST, port()?)]);
    }
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(vec![Locator::udp(SocketAddr::new(ip, port()?))]);
    }
    let has_port = daemon.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let place = if has_port { daemon.to_owned() } else { format!("{daemon}:{}", port()?) };
    let named = |error: io::Error| io::Error::new(error.kind(), format!("daemon {daemon:?}: {error}"));
    Ok(place.to_socket_addrs().map_err(named)?.map(Locator::udp).collect())
}

/// The address of loopback at which the daemon is reached, if it is. No name is looked up.
#[must_use]
pub fn daemon_on_loopback(daemon: &str) -> Option<IpAddr> {
    let has_port = |(_, port): &(&str, &str)| port.parse::<u16>().is_ok();
    let host = daemon.rsplit_once(':').filter(has_port).map_or(daemon, |(host, _)| host);
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let ip = match bare {
        "" | "localhost" => Ipv4Addr::LOCALHOST.into(),
        _ => daemon.parse().or_else(|_| bare.parse()).ok()?,
    };
    is_on_this_host(ip, |_| false).then_some(ip)
}

fn well_known(ip: IpAddr, domain: DomainId, ports: &PortParameters) -> Vec<Locator> {
    let ports = (0..PEER_PARTICIPANTS).filter_map(|index| ports.metatraffic_unicast(domain, index));
    ports.map(|port| Locator::udp(SocketAddr::new(ip, port))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(peer: &str) -> Vec<String> {
        let locators = peer_locators(peer, 1, &PortParameters::default()).unwrap();
        locators.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_peer_with_a_port_is_one_place() {
        assert_eq!(texts("192.0.2.7:9000"), ["udp/192.0.2.7:9000"]);
        assert_eq!(texts("[2001:db8::7]:9000"), ["udp/[2001:db8::7]:9000"]);
        assert!(texts("localhost:9000").contains(&"udp/127.0.0.1:9000".to_owned()));
    }

    #[test]
    fn a_peer_without_is_the_first_participants_there() {
        let ten = texts("192.0.2.7");
        assert_eq!(ten.len(), 10);
        assert_eq!((&*ten[0], &*ten[9]), ("udp/192.0.2.7:7660", "udp/192.0.2.7:7678"));
        assert_eq!(texts("2001:db8::7")[0], "udp/[2001:db8::7]:7660");
        assert_eq!(texts("[2001:db8::7]")[1], "udp/[2001:db8::7]:7662");
        assert!(texts("localhost").contains(&"udp/127.0.0.1:7660".to_owned()));
    }

    #[test]
    fn a_peer_over_tcp_is_a_connection_with_logical_ports() {
        assert_eq!(
            texts("tcp://192.0.2.7:9000"),
            [
                "tcp/192.0.2.7:9000/7660",
                "tcp/192.0.2.7:9000/7662",
                "tcp/192.0.2.7:9000/7664",
                "tcp/192.0.2.7:9000/7666"
            ]
        );
        assert_eq!(texts("tcp://[2001:db8::7]:9000")[3], "tcp/[2001:db8::7]:9000/7666");
        for (peer, last) in [
            ("tcp://192.0.2.7", "tcp/192.0.2.7:7666/7660"),
            ("tcp://2001:db8::7", "tcp/[2001:db8::7]:7666/7660"),
            ("tcp://[2001:db8::7]", "tcp/[2001:db8::7]:7666/7660"),
        ] {
            assert_eq!((texts(peer).len(), &*texts(peer)[3]), (4, last));
        }
        assert!(texts("tcp://localhost:9000").contains(&"tcp/127.0.0.1:9000/7660".to_owned()));
        assert!(texts("tcp://localhost").contains(&"tcp/127.0.0.1:7660/7660".to_owned()));
        let error = peer_locators("tcp://no such host", 0, &PortParameters::default()).unwrap_err();
        assert!(error.to_string().starts_with("peer \"tcp://no such host\": "), "{error}");
    }

    #[test]
    fn a_server_is_one_place() {
        let texts = |server| -> Vec<String> {
            server_locators(server, 3).unwrap().iter().map(ToString::to_string).collect()
        };
        for (server, place) in [
            ("192.0.2.7", "udp/192.0.2.7:11817"),
            ("udp://192.0.2.7", "udp/192.0.2.7:11817"),
            ("udp://192.0.2.7:99", "udp/192.0.2.7:99"),
            ("[2001:db8::7]:99", "udp/[2001:db8::7]:99"),
            ("udp://2001:db8::7", "udp/[2001:db8::7]:11817"),
            ("udp://[2001:db8::7]", "udp/[2001:db8::7]:11817"),
        ] {
            assert_eq!(texts(server), [place]);
        }
        assert!(texts("localhost").contains(&"udp/127.0.0.1:11817".to_owned()));
        for (server, part) in [
            ("tcp://192.0.2.7", "servers are reached over UDP"),
            ("no such host", "server \"no such host\": "),
        ] {
            let error = server_locators(server, 0).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_daemon_on_loopback_is_told_by_its_address() {
        for (daemon, address) in [
            ("", Some("127.0.0.1")),
            (":7000", Some("127.0.0.1")),
            ("localhost:7000", Some("127.0.0.1")),
            ("127.0.0.9:7000", Some("127.0.0.9")),
            ("::1", Some("::1")),
            ("[::1]:7000", Some("::1")),
            ("192.0.2.7", None),
            ("host.example:7000", None),
        ] {
            assert_eq!(daemon_on_loopback(daemon), address.map(|it| it.parse().unwrap()), "{daemon}");
        }
    }

    #[test]
    fn a_daemon_is_on_this_host_at_the_last_port() {
        let texts = |daemon, domain| -> Vec<String> {
            let locators = daemon_locators(daemon, domain, &PortParameters::default()).unwrap();
            locators.iter().map(ToString::to_string).collect()
        };
        for (daemon, place) in [
            ("", "udp/127.0.0.1:7898"),
            ("192.0.2.7", "udp/192.0.2.7:7898"),
            ("192.0.2.7:99", "udp/192.0.2.7:99"),
            ("[2001:db8::7]", "udp/[2001:db8::7]:7898"),
        ] {
            assert_eq!(texts(daemon, 1), [place]);
        }
        assert!(texts("localhost:99", 1).contains(&"udp/127.0.0.1:99".to_owned()));
        for (daemon, domain) in [("no such host", 0), ("", 232)] {
            let error = daemon_locators(daemon, domain, &PortParameters::default()).unwrap_err();
            assert!(error.to_string().starts_with(&format!("daemon {daemon:?}: ")), "{error}");
        }
    }

    #[test]
    fn invalid_host_names_are_refused_by_name() {
        let error = peer_locators("no such host", 0, &PortParameters::default()).unwrap_err();
        assert!(error.to_string().starts_with("peer \"no such host\": "), "{error}");
    }
}
