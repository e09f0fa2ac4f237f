//! The architecture that a participant is part of: what it announces of it, and the servers and daemon that it knows.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use dunlin_config::{Absent, Architecture, Config, DirectWrite, Interest};
use dunlin_core::{DomainId, Locator};
use dunlin_discovery::{ParticipantData, ParticipantState};
use dunlin_engine::{
    DIRECT_WRITE, DIRECT_WRITE_PROPERTY, INTEREST_EVERYTHING, INTEREST_PROPERTY, ROLE_APPLICATION,
    ROLE_DAEMON, ROLE_PROPERTY, ROLE_SERVER,
};

/// The properties that say what the participant is to others.
pub(crate) fn properties(config: &Config) -> Vec<(String, String)> {
    let discovery = &config.discovery;
    let centralised = discovery.architecture == Architecture::Centralised && !discovery.server;
    let curious = centralised && discovery.interest == Interest::Everything;
    let all = [
        (curious, INTEREST_PROPERTY, INTEREST_EVERYTHING),
        (discovery.server, ROLE_PROPERTY, ROLE_SERVER),
        (config.daemon.run, ROLE_PROPERTY, ROLE_DAEMON),
        (is_application(config), ROLE_PROPERTY, ROLE_APPLICATION),
        (
            direct_write(config).is_some_and(|it| it != DirectWrite::Never),
            DIRECT_WRITE_PROPERTY,
            DIRECT_WRITE,
        ),
    ];
    let said = all.iter().filter(|(is_so, ..)| *is_so);
    said.map(|(_, name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Whether a daemon speaks for the participant.
fn is_application(config: &Config) -> bool {
    let discovery = &config.discovery;
    discovery.architecture == Architecture::Federated && !discovery.server && !config.daemon.run
}

/// Which writers of an application send past its daemon.
pub(crate) fn direct_write(config: &Config) -> Option<DirectWrite> {
    is_application(config).then_some(config.daemon.direct_write)
}

/// The configuration of a participant that does without a daemon if none is there.
pub(crate) fn without_absent_daemon(mut config: Config, domain: DomainId) -> Config {
    if is_application(&config) && config.daemon.absent == Absent::Decentralised {
        let places =
            dunlin_driver::daemon_locators(&config.daemon.address, domain, &config.port_parameters());
        let places = places.unwrap_or_default();
        if !places.iter().filter_map(Locator::to_socket_addr).any(is_bound) {
            config.discovery.architecture = Architecture::Decentralised;
        }
    }
    config
}

/// Whether somebody receives at a port of this host. A datagram to a port without a socket is refused at once.
fn is_bound(place: SocketAddr) -> bool {
    let own = match place {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let ask = || {
        let socket = UdpSocket::bind(own)?;
        socket.connect(place)?;
        // The second one learns what became of the first.
        socket.send(&[])?;
        socket.send(&[])
    };
    !ask().is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

/// Whether a participant has this role for others.
fn has_role(data: &ParticipantData, role: &str) -> bool {
    data.property.values.iter().any(|(name, value)| name == ROLE_PROPERTY && value == role)
}

/// The discovery servers of a participant, or its daemon, as they are configured, with their places.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    role: &'static str,
    named: Vec<(String, Vec<Locator>)>,
}

impl Servers {
    pub(crate) fn of(config: &Config, domain: DomainId) -> Self {
        if is_application(config) {
            let ports = config.port_parameters();
            let places = dunlin_driver::daemon_locators(&config.daemon.address, domain, &ports);
            let places = places.unwrap_or_default();
            let name = places.first().map_or_else(|| config.daemon.address.clone(), Locator::to_string);
            return Self { role: ROLE_DAEMON, named: vec![(name, places)] };
        }
        let named = config.discovery.servers.iter();
        let places = |server: &String| dunlin_driver::server_locators(server, domain).unwrap_or_default();
        Self { role: ROLE_SERVER, named: named.map(|server| (server.clone(), places(server))).collect() }
    }

    /// Whether it is the daemon of this host that is meant, not servers.
    pub(crate) fn is_daemon(&self) -> bool {
        self.role == ROLE_DAEMON
    }

    /// Those that are not among the participants that are known.
    pub(crate) fn silent<'a>(
        &self,
        known: impl Iterator<Item = &'a ParticipantState> + Clone,
    ) -> Vec<String> {
        let answers = |places: &[Locator]| {
            known.clone().any(|known| {
                let announced = &known.data.locators.metatraffic_unicast;
                has_role(&known.data, self.role) && receives_at(places, announced, known.same_host)
            })
        };
        let silent = self.named.iter().filter(|(_, places)| !answers(places));
        silent.map(|(server, _)| server.clone()).collect()
    }
}

/// Whether who announces these places receives at one of the others. What is reached over loopback has announced another address of
/// this host.
fn receives_at(places: &[Locator], announced: &[Locator], same_host: bool) -> bool {
    places.iter().any(|place| {
        let over_loopback = |known: &Locator| same_host && place.is_loopback() && known.port == place.port;
        announced.iter().any(|known| known == place || over_loopback(known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_of_another_host_is_not_the_one_of_this_host() {
        let at = |last, port| [Locator::udp_v4(Ipv4Addr::new(10, 0, 0, last), port)];
        let own = [Locator::udp_v4(Ipv4Addr::LOCALHOST, 7898)];
        assert!(receives_at(&own, &at(1, 7898), true));
        assert!(!receives_at(&own, &at(1, 7900), true));
        assert!(!receives_at(&own, &at(2, 7898), false));
        assert!(receives_at(&at(2, 7898), &at(2, 7898), false));
    }

    #[test]
    fn a_program_does_without_a_daemon_that_is_not_there() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut config = Config::default();
        config.discovery.architecture = Architecture::Federated;
        config.daemon.absent = Absent::Decentralised;
        config.daemon.address = socket.local_addr().unwrap().to_string();
        let settled = |config: &Config| without_absent_daemon(config.clone(), 0).discovery.architecture;
        assert_eq!(settled(&config), Architecture::Federated);
        drop(socket);
        assert_eq!(settled(&config), Architecture::Decentralised);
        config.daemon.absent = Absent::Wait;
        assert_eq!(settled(&config), Architecture::Federated);
    }
}
