//! The server: a participant in the role of one, at a port that is known.

use dunlin::config::{Architecture, ConfigError, ParticipantIndex, server_port};
use dunlin::{Config, CreateParticipantError, DomainId, DomainParticipant};
use thiserror::Error;

use crate::foreign::{self, ForeignClient};

/// What a [`Server`] is made from.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The domain that it serves.
    pub domain: DomainId,
    /// The UDP port for discovery; the next one is its port for data. `None`: 11811, and 2 more for each domain.
    pub port: Option<u16>,
    /// Interfaces, quotas and whatever else a participant has. The parts that make a server are set by [`Server::start`].
    pub base: Config,
}

impl ServerConfig {
    /// A server of a domain, with the defaults.
    #[must_use]
    pub fn new(domain: DomainId) -> Self {
        Self { domain, port: None, base: Config::default() }
    }

    /// The configuration of its participant.
    fn settled(self) -> Result<(DomainId, u16, Config), StartError> {
        let Self { domain, port, base: mut config } = self;
        let port = port.or_else(|| server_port(domain)).filter(|port| (1..=LAST_PORT).contains(port));
        let port = port.ok_or(StartError::NoPort { domain })?;
        // The same file may be that of the clients.
        config.discovery.architecture = Architecture::Decentralised;
        config.discovery.servers.clear();
        config.discovery.peers.clear();
        config.discovery.server = true;
        // The formula of RTPS for the ports of participants, so that the first one has these.
        config.network.participant_index = ParticipantIndex::Fixed(0);
        let ports = &mut config.ports;
        (ports.base, ports.domain_gain, ports.participant_gain) = (port, 0, 2);
        (ports.d1, ports.d3, ports.d0, ports.d2) = (0, 1, 2, 3);
        // Data of its own is nothing but counters.
        config.shared_memory.enabled = false;
        Ok((domain, port, config))
    }
}

/// Three more ports follow.
const LAST_PORT: u16 = u16::MAX - 3;

/// Why a server could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// No port fits.
    #[error("domain {domain} has no port for a server: name one from 1 to 65532")]
    NoPort {
        /// The domain.
        domain: DomainId,
    },
    /// The configuration makes no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The port is taken, or something else stands in the way.
    #[error("cannot serve at port {port}: {source}")]
    Participant {
        /// The port.
        port: u16,
        /// What went wrong.
        source: CreateParticipantError,
    },
}

/// What a server has to do with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ServerStatus {
    /// Participants that it knows.
    pub clients: u64,
    /// Those of them that have not shown yet that they receive where they say, and are introduced to nobody.
    pub unverified: u64,
    /// Writers and readers of all of them.
    pub endpoints: u64,
    /// Introductions sent since it started, repetitions included.
    pub introductions: u64,
    /// Introductions not made because there were too many.
    pub introductions_refused: u64,
    /// Participants not taken in because of `quotas`.
    pub clients_refused: u64,
}

/// A discovery server of one domain. It works on threads of its own until it is dropped.
#[derive(Debug)]
pub struct Server {
    participant: DomainParticipant,
    port: u16,
}

impl Server {
    /// Begins to serve.
    ///
    /// # Errors
    /// When the configuration makes no sense, or the port cannot be had.
    pub fn start(config: ServerConfig) -> Result<Self, StartError> {
        let (domain, port, config) = config.settled()?;
        config.check()?;
        let participant = DomainParticipant::builder(domain).config(config).name("dunlin server").build();
        let participant = participant.map_err(|source| StartError::Participant { port, source })?;
        Ok(Self { participant, port })
    }

    /// The port at which clients reach it.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The domain that it serves.
    #[must_use]
    pub fn domain(&self) -> DomainId {
        self.participant.domain_id()
    }

    /// What it has to do with now.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        let stats = self.participant.stats().discovery;
        ServerStatus {
            clients: stats.participants,
            unverified: stats.participants_unverified,
            endpoints: stats.endpoints,
            introductions: stats.introductions_sent,
            introductions_refused: stats.introductions_refused,
            clients_refused: stats.participants_refused,
        }
    }

    /// Participants that want a discovery server of another kind, and so get nothing from this one.
    #[must_use]
    pub fn foreign_clients(&self) -> Vec<ForeignClient> {
        foreign::among(self.participant.discovered_participants().iter().map(|known| &**known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_clients_makes_a_server_too() {
        let text = "[discovery]\narchitecture = \"centralised\"\nservers = [\"host\"]\n[network]\ninterfaces = [\"lo\"]\n";
        let base = Config::from_toml("a.toml", text).unwrap();
        let (domain, port, config) = ServerConfig { base, ..ServerConfig::new(3) }.settled().unwrap();
        config.check().unwrap();
        assert_eq!((domain, port, config.network.interfaces), (3, 11_817, vec!["lo".to_owned()]));
        assert!(config.discovery.server && config.discovery.servers.is_empty());
    }

    #[test]
    fn a_port_without_room_behind_it_is_refused() {
        for port in [0, 65_533, 65_535] {
            let config = ServerConfig { port: Some(port), ..ServerConfig::new(0) };
            assert!(matches!(config.settled(), Err(StartError::NoPort { domain: 0 })));
        }
    }
}
