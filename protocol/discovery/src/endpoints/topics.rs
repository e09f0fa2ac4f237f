//! The topics of this participant, and who uses their names with another type: DDS 1.4 §2.2.4.1 INCONSISTENT_TOPIC, which
//! needs no endpoint here.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    sync::Arc,
    vec::Vec,
};

use dunlin_core::{EntityId, Guid, GuidPrefix};
use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicData};

use super::Endpoints;
use crate::{
    data::{DiscoveredReader, DiscoveredWriter, EndpointLocators, LocalReader, LocalWriter},
    effect::DiscoveryEffect,
    explain::{TypeStanding, type_standing},
    types::{LocalType, LookupKey},
};

/// A topic of this participant.
#[derive(Debug, Clone)]
pub(crate) struct LocalTopic {
    pub(crate) name: Arc<str>,
    pub(crate) type_name: Arc<str>,
    pub(crate) keyed: bool,
    pub(crate) type_information: Option<Arc<LocalType>>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct LocalTopics {
    by_name: BTreeMap<Arc<str>, LocalTopic>,
    /// Remote endpoints that wait for a type of a participant.
    waiting: BTreeMap<LookupKey, BTreeSet<Guid>>,
}

impl LocalTopics {
    /// Those that have waited for one of these.
    pub(super) fn take_waiting(&mut self, finished: &[LookupKey]) -> BTreeSet<Guid> {
        finished.iter().filter_map(|key| self.waiting.remove(key)).flatten().collect()
    }
}

impl LocalTopic {
    /// A reader of the topic, if there were one.
    fn reader(&self, prefix: GuidPrefix) -> DiscoveredReader {
        let reader = LocalReader {
            entity_id: EntityId::user_reader(0, self.keyed),
            topic_name: String::from(&*self.name),
            type_name: String::from(&*self.type_name),
            qos: DataReaderQos::default(),
            subscriber_qos: SubscriberQos::default(),
            topic_data: TopicData::default(),
            type_information: self.type_information.clone(),
            locators: EndpointLocators::default(),
            related: None,
            content_filter: None,
        };
        reader.describe(prefix, dunlin_core::VendorId::DUNLIN)
    }

    /// A writer of the topic, if there were one.
    fn writer(&self, prefix: GuidPrefix) -> DiscoveredWriter {
        let writer = LocalWriter {
            entity_id: EntityId::user_writer(0, self.keyed),
            topic_name: String::from(&*self.name),
            type_name: String::from(&*self.type_name),
            qos: DataWriterQos::default(),
            publisher_qos: PublisherQos::default(),
            group: EntityId::UNKNOWN,
            topic_data: TopicData::default(),
            type_information: self.type_information.clone(),
            locators: EndpointLocators::default(),
            related: None,
        };
        writer.describe(prefix, dunlin_core::VendorId::DUNLIN)
    }
}

impl Endpoints {
    /// Takes up a topic, instead of another of its name, and compares the endpoints with it that are known.
    pub(crate) fn put_topic(&mut self, topic: LocalTopic, fx: &mut Vec<DiscoveryEffect>) {
        topic.type_information.iter().for_each(|ty| self.types.add_local(ty));
        let name = Arc::clone(&topic.name);
        self.local_topics.by_name.insert(Arc::clone(&name), topic);
        let writers = self.writers.values().filter(|it| it.topic_name == name).map(|it| it.guid);
        let readers = self.readers.values().filter(|it| it.topic_name == name).map(|it| it.guid);
        let remote: Vec<Guid> = writers.chain(readers).filter(|guid| guid.prefix != self.own).collect();
        for endpoint in remote {
            self.compare_topic(endpoint, fx);
        }
    }

    /// Forgets a topic.
    pub(crate) fn remove_topic(&mut self, name: &str) {
        self.local_topics.by_name.remove(name);
    }

    /// Compares the type of a remote endpoint with that of the local topic of the same name, as if the topic had an endpoint
    /// that may match it. Its participant is asked for the type if need be.
    pub(super) fn compare_topic(&mut self, endpoint: Guid, fx: &mut Vec<DiscoveryEffect>) {
        let (writer, reader) =
            (self.writers.get(&endpoint).map(Arc::clone), self.readers.get(&endpoint).map(Arc::clone));
        let names = writer.as_ref().map(|it| (Arc::clone(&it.topic_name), Arc::clone(&it.type_name)));
        let of_reader = || reader.as_ref().map(|it| (Arc::clone(&it.topic_name), Arc::clone(&it.type_name)));
        let Some((name, type_name)) = names.or_else(of_reader) else { return };
        let Some(topic) = self.local_topics.by_name.get(&name) else { return };
        let (own_writer, own_reader) = (topic.writer(self.own), topic.reader(self.own));
        let (writer, reader) =
            (writer.as_deref().unwrap_or(&own_writer), reader.as_deref().unwrap_or(&own_reader));
        match type_standing(&mut self.types, writer, reader, true) {
            TypeStanding::Fits => {}
            TypeStanding::Unsettled(key) => {
                self.local_topics.waiting.entry(key).or_default().insert(endpoint);
            }
            standing => {
                let reasons = match standing {
                    TypeStanding::Differs(reasons) => reasons,
                    _ => Arc::default(),
                };
                fx.push(DiscoveryEffect::InconsistentTopic {
                    local: EntityId::PARTICIPANT,
                    remote: endpoint,
                    topic_name: String::from(&*name),
                    type_name: String::from(&*type_name),
                    reasons,
                });
            }
        }
    }
}
