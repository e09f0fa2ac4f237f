//! Which routes there are to be, of what discovery knows.

use crate::bridge::Shared;
use crate::config::RouteConfig;
use crate::down::{DownKey, Wish};
use crate::key;
use crate::offer::Offer;
use crate::up::UpKey;
use dunlin::{EntityKind, Guid, PublicationBuiltinTopicData, SubscriptionBuiltinTopicData};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What there is to be.
#[derive(Default)]
pub(crate) struct Plan {
    /// Routes to zenoh, each with a writer that announces the type, and its rule.
    pub(crate) up: BTreeMap<UpKey, (Guid, RouteConfig)>,
    /// Routes from zenoh.
    pub(crate) down: BTreeMap<DownKey, Wish>,
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
        for writer in shared.participant.discovered_publications() {
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

    fn add_writer(&mut self, shared: &Shared, writer: &Arc<PublicationBuiltinTopicData>) {
        let names = (&*writer.topic_name, &*writer.type_name);
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
