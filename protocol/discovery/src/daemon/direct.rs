//! Direct write: applications that send to other hosts themselves, and get answers themselves, past the daemon of their host (RTPS 2.5
//! §8.5.3.2: a participant may announce any locators). The daemon tells them where the others are, and the others where they are.

use alloc::{sync::Arc, vec::Vec};

use dunlin_core::{Guid, GuidPrefix, Locator};

use crate::{
    config::{DIRECT_WRITE, DIRECT_WRITE_PROPERTY, DiscoveryRole},
    data::{DiscoveredWriter, ParticipantData},
    discovery::Discovery,
    reach::{kinds, retain_addresses, retain_kinds},
    relay::{
        Relay,
        routes::{Route, Target},
    },
};

/// Whether a participant has sockets in the network for writers that write directly.
pub(super) fn writes_directly(data: &ParticipantData) -> bool {
    let says = |(name, value): &(_, _)| name == DIRECT_WRITE_PROPERTY && value == DIRECT_WRITE;
    data.property.values.iter().any(says)
}

fn in_network(list: &[Locator]) -> Vec<Locator> {
    list.iter().filter(|place| place.ip().is_some() && !place.is_loopback()).copied().collect()
}

/// Where others send answers to an application that writes directly.
pub(super) fn of_application(data: &ParticipantData) -> Vec<Locator> {
    if writes_directly(data) { in_network(&data.locators.default_unicast) } else { Vec::new() }
}

/// Where applications that write directly reach a participant of another host, which is where the daemon reaches it.
pub(super) fn of_others(data: &ParticipantData) -> Vec<Locator> {
    in_network(&data.locators.default_unicast)
}

impl Discovery {
    /// Where writers of this application that write directly reach the readers of another participant.
    pub(crate) fn direct_places(&self, prefix: GuidPrefix) -> Option<Arc<[Locator]>> {
        let DiscoveryRole::Application(_) = &self.config.role else { return None };
        let mut places = self.participants.get(&prefix)?.data.direct.clone();
        retain_kinds(&mut places, &kinds(&self.config.locators));
        (!places.is_empty()).then(|| places.into())
    }

    /// Where a writer of another participant takes answers, if it writes directly.
    pub(crate) fn place_of_answers(&self, writer: &DiscoveredWriter) -> Option<Arc<[Locator]>> {
        // Applications answer by way of their daemon, which does this.
        let by_daemon = matches!(self.config.role, DiscoveryRole::Application(_));
        if by_daemon || writer.qos.writes_directly() != Some(true) {
            return None;
        }
        let data = &self.participants.get(&writer.guid.prefix)?.data;
        let mut places = data.direct.clone();
        retain_kinds(&mut places, &kinds(&self.config.locators));
        if !self.config.quotas.foreign_locators {
            retain_addresses(&mut places, &data.locators.metatraffic_unicast, &self.config.opened_kinds);
        }
        (!places.is_empty()).then(|| places.into())
    }

    /// The way of answers to a writer, if that is not the one to its participant.
    pub(super) fn way_of_answers(&self, relay: &mut Relay, writer: Guid) -> Option<Route> {
        if let Some(known) = relay.routes.answers.get(&writer) {
            return known.clone();
        }
        let direct = self.endpoints.writer(writer).and_then(|writer| self.place_of_answers(writer));
        let target = |place: &Locator| Target { place: *place, far: false, near: false };
        let route: Option<Route> = direct.map(|places| places.iter().map(target).collect());
        if self.endpoints.writer(writer).is_some() {
            relay.routes.answers.insert(writer, route.clone());
        }
        route
    }

    /// Whether an application sends what its writer says to another participant itself.
    pub(super) fn is_sent_directly(&self, relay: &Relay, writer: Guid, to: GuidPrefix) -> bool {
        let known = |prefix| self.participants.get(&prefix).map(|known| &known.data);
        !relay.applications.contains_key(&to)
            && self.endpoints.writer(writer).is_some_and(|it| it.qos.writes_directly() == Some(true))
            && known(writer.prefix).is_some_and(|data| writes_directly(data))
            && known(to).is_some_and(|data| !of_others(data).is_empty())
    }
}
