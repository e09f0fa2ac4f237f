//! Host names in a configuration: on a simulated network they are the names of nodes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use dunlin_config::{Absent, Config};
use dunlin_driver::JoinError;

use crate::place::Place;
use crate::sim::machine::NodeMachine;

impl Place for NodeMachine {
    fn config(&self) -> Config {
        self.shared.state().nodes[self.node].config.clone()
    }

    fn resolve(&self, mut config: Config) -> Result<Config, JoinError> {
        let discovery = &mut config.discovery;
        for peer in discovery.peers.iter_mut().chain(&mut discovery.servers) {
            let named = peer.strip_prefix("udp://").unwrap_or(peer);
            *peer = address_of(self, named).ok_or_else(|| JoinError::UnknownNode(peer.clone()))?;
        }
        if config.daemon.absent != Absent::Wait {
            return Err(JoinError::Simulated("daemon.absent"));
        }
        let daemon = &mut config.daemon.address;
        let named = if daemon.is_empty() { "localhost" } else { daemon.as_str() };
        *daemon = address_of(self, named).ok_or_else(|| JoinError::UnknownNode(daemon.clone()))?;
        Ok(config)
    }
}

/// A peer by address, with its port if it has one.
fn address_of(machine: &NodeMachine, peer: &str) -> Option<String> {
    if let Ok(SocketAddr::V4(place)) = peer.parse() {
        return Some(SocketAddr::from((own_or(machine, *place.ip()), place.port())).to_string());
    }
    let bare = peer.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(peer);
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => return Some(own_or(machine, address).to_string()),
        // What is not of IPv4 is nowhere on this network, as it may be on a real one.
        Ok(IpAddr::V6(_)) => return Some(peer.to_owned()),
        Err(_) if peer.parse::<SocketAddr>().is_ok() => return Some(peer.to_owned()),
        Err(_) => {}
    }
    let with_port = peer.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let address = named(machine, with_port.map_or(peer, |(host, _)| host))?;
    Some(with_port.map_or_else(|| address.to_string(), |(_, port)| format!("{address}:{port}")))
}

fn own_or(machine: &NodeMachine, address: Ipv4Addr) -> Ipv4Addr {
    if address.is_loopback() { machine.address } else { address }
}

fn named(machine: &NodeMachine, host: &str) -> Option<Ipv4Addr> {
    if host == "localhost" {
        return Some(machine.address);
    }
    let state = machine.shared.state();
    state.nodes.iter().find(|node| node.name == host).map(|node| node.id.address())
}
