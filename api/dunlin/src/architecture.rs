//! The architecture that a participant is part of: what it announces of it, and the servers that it knows.

use dunlin_config::{Architecture, Config, Interest};
use dunlin_core::{DomainId, Locator};
use dunlin_discovery::ParticipantData;
use dunlin_engine::{INTEREST_EVERYTHING, INTEREST_PROPERTY, ROLE_PROPERTY, ROLE_SERVER};

/// The properties that say what the participant is to others.
pub(crate) fn properties(config: &Config) -> Vec<(String, String)> {
    let discovery = &config.discovery;
    let centralised = discovery.architecture == Architecture::Centralised && !discovery.server;
    let curious = centralised && discovery.interest == Interest::Everything;
    let all =
        [(curious, INTEREST_PROPERTY, INTEREST_EVERYTHING), (discovery.server, ROLE_PROPERTY, ROLE_SERVER)];
    let said = all.iter().filter(|(is_so, ..)| *is_so);
    said.map(|(_, name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Whether a participant is a discovery server of Dunlin.
pub(crate) fn is_server(data: &ParticipantData) -> bool {
    data.property.values.iter().any(|(name, value)| name == ROLE_PROPERTY && value == ROLE_SERVER)
}

/// The discovery servers of a participant, as they are configured, with their places.
#[derive(Debug, Default)]
pub(crate) struct Servers(Vec<(String, Vec<Locator>)>);

impl Servers {
    pub(crate) fn of(config: &Config, domain: DomainId) -> Self {
        let named = config.discovery.servers.iter();
        let places = |server: &String| dunlin_driver::server_locators(server, domain).unwrap_or_default();
        Self(named.map(|server| (server.clone(), places(server))).collect())
    }

    /// Those that are not among the participants that are known.
    pub(crate) fn silent<'a>(&self, known: impl Iterator<Item = &'a ParticipantData> + Clone) -> Vec<String> {
        let answers = |places: &[Locator]| known.clone().any(|data| is_server(data) && is_at(data, places));
        let silent = self.0.iter().filter(|(_, places)| !answers(places));
        silent.map(|(server, _)| server.clone()).collect()
    }
}

/// Whether a server receives at one of these places. What is reached over loopback has announced another address.
fn is_at(data: &ParticipantData, places: &[Locator]) -> bool {
    let announced = &data.locators.metatraffic_unicast;
    places.iter().any(|place| {
        announced.iter().any(|known| known == place || (place.is_loopback() && known.port == place.port))
    })
}
