//! Which routes there are to be, of what discovery knows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dunlin::{EntityKind, Guid, PublicationBuiltinTopicData, SubscriptionBuiltinTopicData};

use crate::bridge::Shared;
use crate::config::{Direction, RouteConfig};
use crate::down::{DownKey, Wish};
use crate::key::{self, Convention};
use crate::offer::Offer;
use crate::service::{End, ServiceKey, Services, Style};
use crate::up::UpKey;

/// What there is to be.
#[derive(Default)]
pub(crate) struct Plan {
    /// Routes to zenoh, each with a writer that announces the type, and its rule.
    pub(crate) up: BTreeMap<UpKey, (Guid, RouteConfig)>,
    /// Routes from zenoh.
    pub(crate) down: BTreeMap<DownKey, Wish>,
    /// Services of ROS 2.
    pub(crate) services: Services,
    /// Writers of the domain that are no service's.
    pub(crate) present: BTreeSet<Guid>,
    /// Topics that do not pass, and why.
    pub(crate) refused: BTreeSet<(String, String)>,
}

/// What a writer offers.
pub(crate) fn offer_of(data: &PublicationBuiltinTopicData) -> Offer {
    Offer::of_writer(&data.qos, data.guid.entity_id.kind() == EntityKind::WriterWithKey)
}

/// The partitions of an endpoint: the one without a name if it says none.
pub(crate) fn partitions(names: &[String]) -> impl Iterator<Item = &str> {
    let default = names.is_empty().then_some("");
    names.iter().map(String::as_str).chain(default)
}

/// Topics of Dunlin's own are of one domain.
fn is_internal(topic: &str) -> bool {
    topic == dunlin::statistics::STATISTICS_TOPIC || topic == "DunlinRouter" || topic == "ros_discovery_info"
}

impl Plan {
    pub(crate) fn new(shared: &Shared) -> Self {
        let mut plan = Self::default();
        let writers = shared.participant.discovered_publications();
        let mut placings = shared.placings();
        for writer in &writers {
            placings.learn(writer, !shared.is_of_our_network(&writer.qos.property));
        }
        placings.tidy(writers.iter().map(|writer| writer.guid));
        drop(placings);
        for writer in writers {
            if writer.qos.property.service().is_none() {
                plan.present.insert(writer.guid);
            }
            if !is_internal(&writer.topic_name) && !shared.is_of_our_network(&writer.qos.property) {
                plan.add_writer(shared, &writer);
            }
        }
        for reader in shared.participant.discovered_subscriptions() {
            if !is_internal(&reader.topic_name) && !shared.is_of_our_network(&reader.qos.property) {
                plan.add_reader(shared, &reader);
            }
        }
        plan
    }

    /// The rule and the key for an endpoint in one of its partitions.
    fn place<'c>(
        &mut self,
        shared: &'c Shared,
        (topic, type_name): (&str, &str),
        partition: &str,
    ) -> Option<(&'c RouteConfig, String)> {
        let found = if partition.contains(['*', '?', '[']) {
            Err("its partition has a wildcard, so nobody can know which are meant".to_owned())
        } else {
            shared.config.route(topic, type_name, partition)
        };
        let placed = found.and_then(|rule| {
            let key = key::of_topic(rule.convention, rule.scope.as_deref(), topic, partition)?;
            Ok((rule, key.to_string()))
        });
        placed.map_err(|why| self.refused.insert((topic.to_owned(), why))).ok()
    }

    /// Whether a topic is one of a service of ROS 2, which the convention has other keys for.
    fn add_service(&mut self, shared: &Shared, names: (&str, &str), end: End, style: Style) -> bool {
        let Ok(rule) = shared.config.route(names.0, names.1, "") else { return false };
        if rule.convention != Convention::Ros2Dds {
            return false;
        }
        let Some((name, type_name)) = ServiceKey::of_requests(names.0, names.1) else {
            // Replies go where the requests come from.
            return names.0.starts_with("rr/");
        };
        let scope = rule.scope.as_deref();
        let placed = key::of_topic(rule.convention, scope, &format!("rt/{name}"), "");
        match placed.map_err(|why| (names.0.to_owned(), why)) {
            Ok(key) if rule.direction == Direction::Both => {
                self.services.insert((end, ServiceKey { key: key.to_string(), name, type_name }), style);
            }
            Ok(_) => {
                let why = "a service goes both ways; take direction = \"both\"".to_owned();
                self.refused.insert((names.0.to_owned(), why));
            }
            Err(refused) => drop(self.refused.insert(refused)),
        }
        true
    }

    fn add_writer(&mut self, shared: &Shared, writer: &Arc<PublicationBuiltinTopicData>) {
        let names = (&*writer.topic_name, &*writer.type_name);
        if self.add_service(shared, names, End::Client, Style::Identity) {
            return;
        }
        for partition in partitions(&writer.publisher_qos.partition.names) {
            let Some((rule, key)) = self.place(shared, names, partition) else { continue };
            if !rule.direction.goes_out() {
                continue;
            }
            let key = UpKey {
                key,
                topic: names.0.to_owned(),
                type_name: names.1.to_owned(),
                partition: partition.to_owned(),
                offer: offer_of(writer),
            };
            self.up.entry(key).or_insert_with(|| (writer.guid, rule.clone()));
        }
    }

    fn add_reader(&mut self, shared: &Shared, reader: &Arc<SubscriptionBuiltinTopicData>) {
        let names = (&*reader.topic_name, &*reader.type_name);
        if self.add_service(shared, names, End::Server, Style::of_vendor(reader.vendor)) {
            return;
        }
        let keyed = reader.guid.entity_id.kind() == EntityKind::ReaderWithKey;
        let offer = Offer::for_reader(&reader.qos, keyed);
        for partition in partitions(&reader.subscriber_qos.partition.names) {
            let Some((rule, key)) = self.place(shared, names, partition) else { continue };
            if !rule.direction.comes_in() {
                continue;
            }
            let key = DownKey {
                key,
                topic: names.0.to_owned(),
                type_name: names.1.to_owned(),
                partition: partition.to_owned(),
            };
            let wish = Wish { convention: rule.convention, reader: reader.guid, offer };
            self.down.entry(key).and_modify(|known| known.offer = known.offer.with(offer)).or_insert(wish);
        }
    }
}
