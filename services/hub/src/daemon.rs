//! The daemon: a participant that speaks for the programs of its host.

use dunlin::config::{Architecture, ConfigError, DAEMON_INDEX, Multicast, ParticipantIndex};
use dunlin::{Config, CreateParticipantError, DomainId, DomainParticipant, RelayStats};
use thiserror::Error;

/// What a [`Daemon`] is made from.
#[derive(Clone, Debug)]
pub struct DaemonConfig {
    /// The domain that it serves.
    pub domain: DomainId,
    /// Interfaces, peers, quotas, the section `daemon`, and whatever else a participant has. The parts that make a daemon are set by
    /// [`Daemon::start`].
    pub base: Config,
}

impl DaemonConfig {
    /// A daemon of a domain, with the defaults.
    #[must_use]
    pub fn new(domain: DomainId) -> Self {
        Self { domain, base: Config::default() }
    }

    /// The configuration of its participant, and its port.
    fn settled(self) -> Result<(DomainId, u16, Config), DaemonError> {
        let Self { domain, base: mut config } = self;
        // The same file may be that of the programs.
        config.discovery.architecture = Architecture::Decentralised;
        config.discovery.servers.clear();
        config.daemon.run = true;
        let index = match config.network.participant_index {
            ParticipantIndex::Fixed(index) => index,
            ParticipantIndex::Auto | ParticipantIndex::Ephemeral => DAEMON_INDEX,
        };
        config.network.participant_index = ParticipantIndex::Fixed(index);
        let port = config.port_parameters().metatraffic_unicast(domain, index);
        let port = port.ok_or(DaemonError::NoPort { domain, index })?;
        // What is sent to groups is not for its programs: they are in none.
        if config.network.multicast == Multicast::On {
            config.network.multicast = Multicast::Spdp;
        }
        // What it passes on comes over UDP, and data of its own is nothing but counters.
        config.shared_memory.enabled = false;
        Ok((domain, port, config))
    }
}

/// Why a daemon could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// No port fits.
    #[error(
        "domain {domain} has no port for participant {index}: set network.participant_index, and daemon.address for the programs"
    )]
    NoPort {
        /// The domain.
        domain: DomainId,
        /// Which participant of the host.
        index: u32,
    },
    /// The configuration makes no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The port is taken, or something else stands in the way.
    #[error("cannot receive at port {port}, perhaps another daemon does: {source}")]
    Participant {
        /// The port.
        port: u16,
        /// What went wrong.
        source: CreateParticipantError,
    },
}

/// What a daemon has to do with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DaemonStatus {
    /// Participants that it knows, those of this host included.
    pub participants: u64,
    /// For whom it speaks, and what it has passed on.
    pub relay: RelayStats,
}

/// The daemon of a host for one domain. It works on threads of its own until it is dropped.
#[derive(Debug)]
pub struct Daemon {
    participant: DomainParticipant,
    port: u16,
}

impl Daemon {
    /// Begins to speak for the programs of this host.
    ///
    /// # Errors
    /// When the configuration makes no sense, or the port cannot be had.
    pub fn start(config: DaemonConfig) -> Result<Self, DaemonError> {
        let (domain, port, config) = config.settled()?;
        config.check()?;
        let participant = DomainParticipant::builder(domain).config(config).name("dunlin daemon").build();
        let participant = participant.map_err(|source| DaemonError::Participant { port, source })?;
        Ok(Self { participant, port })
    }

    /// The port at which programs reach it.
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
    pub fn status(&self) -> DaemonStatus {
        let discovery = self.participant.stats().discovery;
        DaemonStatus { participants: discovery.participants, relay: discovery.relay }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_programs_makes_a_daemon_too() {
        let text = "[discovery]\narchitecture = \"federated\"\npeers = [\"192.0.2.1\"]\n[network]\ninterfaces = [\"lo\"]\n";
        let base = Config::from_toml("a.toml", text).unwrap();
        let (domain, port, config) = DaemonConfig { domain: 3, base }.settled().unwrap();
        config.check().unwrap();
        assert_eq!((domain, port, &*config.network.interfaces), (3, 8_398, &["lo".to_owned()][..]));
        assert!(config.daemon.run && config.discovery.architecture == Architecture::Decentralised);
    }

    #[test]
    fn a_domain_without_the_port_is_refused() {
        let refused = DaemonConfig::new(232).settled();
        assert!(matches!(refused, Err(DaemonError::NoPort { domain: 232, index: DAEMON_INDEX })));
    }
}
