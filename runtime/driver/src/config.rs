//! What joining a domain needs, and why it can fail.

use dunlin_core::{Duration, Locator, PortParameters};
use dunlin_engine::Tuning;
use dunlin_discovery::Quotas;
use dunlin_qos::DomainParticipantQos;
use dunlin_transport::FaultConfig;
use dunlin_udp::UdpConfig;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use thiserror::Error;

/// Settings of a participant and of the transport it uses.
#[derive(Clone, Debug)]
pub struct DriverConfig {
    /// Sockets; participants of one process with equal settings here share them.
    pub udp: UdpConfig,
    /// Write all datagrams to this file.
    pub pcap: Option<PathBuf>,
    /// Octets after which no more is written to the file.
    pub pcap_max_octets: u64,
    /// Faults to inject, for tests of applications.
    pub fault: Option<FaultConfig>,
    /// The participant's QoS.
    pub qos: DomainParticipantQos,
    /// Its name for people.
    pub entity_name: String,
    /// Its domain tag.
    pub domain_tag: String,
    /// Where to announce it besides the multicast group.
    pub initial_peers: Vec<Locator>,
    /// How long others keep it without a sign of life.
    pub lease_duration: Duration,
    /// Time between announcements.
    pub announcement_period: Duration,
    /// Octets of the largest datagram; `None`: what the transport carries without fragmentation.
    pub max_message_size: Option<usize>,
    /// Parameters of the reliable protocol.
    pub tuning: Tuning,
    /// What remote participants may make this one remember.
    pub quotas: Quotas,
    /// Time between looks at the host's network interfaces.
    pub interface_poll: std::time::Duration,
}

impl Default for DriverConfig {
    fn default() -> Self {
        Self {
            udp: UdpConfig::default(),
            pcap: None,
            pcap_max_octets: 1 << 30,
            fault: None,
            qos: DomainParticipantQos::default(),
            entity_name: String::new(),
            domain_tag: String::new(),
            initial_peers: Vec::new(),
            lease_duration: Duration::from_secs(10),
            announcement_period: Duration::from_secs(3),
            max_message_size: None,
            tuning: Tuning::default(),
            quotas: Quotas::default(),
            interface_poll: std::time::Duration::from_secs(3),
        }
    }
}

/// Why a domain could not be joined.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Sockets or interfaces.
    #[error("network: {0}")]
    Network(#[source] io::Error),
    /// The capture file.
    #[error("capture file {path}: {source}")]
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
        name: String,
        /// What went wrong.
        source: io::Error,
    },
}

/// How many participants of a peer given without port are looked for.
const PEER_PARTICIPANTS: u32 = 10;

/// The discovery addresses of a peer: `host:port`, or `host` for the well-known ports of the first ten
/// participants there.
///
/// # Errors
/// When the host is not known.
pub fn peer_locators(peer: &str, domain: u32, ports: &PortParameters) -> io::Result<Vec<Locator>> {
    let bare = peer.trim_start_matches('[').trim_end_matches(']');
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(well_known(ip, domain, ports));
    }
    if let Ok(address) = peer.parse::<SocketAddr>() {
        return Ok(vec![Locator::udp(address)]);
    }
    let unknown = |e: io::Error| io::Error::new(e.kind(), format!("peer '{peer}': {e}"));
    if peer.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        return Ok(peer.to_socket_addrs().map_err(unknown)?.map(Locator::udp).collect());
    }
    let addresses = (peer, 0).to_socket_addrs().map_err(unknown)?;
    Ok(addresses.flat_map(|address| well_known(address.ip(), domain, ports)).collect())
}

fn well_known(ip: IpAddr, domain: u32, ports: &PortParameters) -> Vec<Locator> {
    let ports = (0..PEER_PARTICIPANTS).filter_map(|index| ports.metatraffic_unicast(domain, index));
    ports.map(|port| Locator::udp(SocketAddr::new(ip, port))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_with_and_without_port() {
        let ports = PortParameters::default();
        let text = |peer| -> Vec<String> {
            peer_locators(peer, 1, &ports).unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(text("10.0.0.1:99"), ["udp/10.0.0.1:99"]);
        assert_eq!(text("[::1]:99"), ["udp/[::1]:99"]);
        let ten = text("10.0.0.1");
        assert_eq!((ten.len(), ten[0].as_str(), ten[9].as_str()), (10, "udp/10.0.0.1:7660", "udp/10.0.0.1:7678"));
        assert_eq!(text("::1")[0], "udp/[::1]:7660");
        assert!(text("localhost").contains(&"udp/127.0.0.1:7660".to_owned()));
        assert!(peer_locators("no such host", 1, &ports).is_err());
    }
}
