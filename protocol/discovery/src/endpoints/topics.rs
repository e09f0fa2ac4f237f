//! The topics of this participant, and who uses their names with another type: DDS 1.4 §2.2.4.1 INCONSISTENT_TOPIC, which
//! needs no endpoint here.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    sync::Arc,
    vec,
    vec::Vec,
};

use dunlin_core::{EntityId, Guid, GuidPrefix};
use dunlin_qos::{
    DataReaderQos, DataRepresentation, DataRepresentationId, DataWriterQos, PublisherQos, SubscriberQos,
    TopicData, TypeConsistencyEnforcement, TypeConsistencyKind,
};

use super::{Endpoints, Verdict, of_topic};
use crate::{
    data::{DiscoveredReader, DiscoveredWriter, EndpointLocators, LocalReader, LocalWriter},
    effect::DiscoveryEffect,
    local_type::LocalType,
    standing::{TypeStanding, type_standing},
    types::{LookupKey, Types},
};

/// TYPE_CONSISTENCY_ENFORCEMENT under which most types fit.
const LAXEST: TypeConsistencyEnforcement = TypeConsistencyEnforcement {
    kind: TypeConsistencyKind::AllowTypeCoercion,
    ignore_sequence_bounds: true,
    ignore_string_bounds: true,
    ignore_member_names: true,
    prevent_type_widening: false,
    force_type_validation: false,
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
    /// A reader of the topic, if there were one: it takes what any reader may.
    fn reader(&self, prefix: GuidPrefix) -> DiscoveredReader {
        let reader = LocalReader {
            entity_id: EntityId::user_reader(0, self.keyed),
            topic_name: String::from(&*self.name),
            type_name: String::from(&*self.type_name),
            qos: DataReaderQos { type_consistency: LAXEST, ..DataReaderQos::default() },
            subscriber_qos: SubscriberQos::default(),
            topic_data: TopicData::default(),
            type_information: self.type_information.clone(),
            locators: EndpointLocators::default(),
            related: None,
            content_filter: None,
        };
        reader.describe(prefix, dunlin_core::VendorId::DUNLIN)
    }

    /// A writer of the topic in a representation, if there were one.
    fn writer(&self, prefix: GuidPrefix, id: DataRepresentationId) -> DiscoveredWriter {
        let writer = LocalWriter {
            entity_id: EntityId::user_writer(0, self.keyed),
            topic_name: String::from(&*self.name),
            type_name: String::from(&*self.type_name),
            qos: DataWriterQos {
                representation: DataRepresentation { ids: vec![id] },
                ..DataWriterQos::default()
            },
            publisher_qos: PublisherQos::default(),
            group: EntityId::UNKNOWN,
            topic_data: TopicData::default(),
            type_information: self.type_information.clone(),
            locators: EndpointLocators::default(),
            related: None,
        };
        writer.describe(prefix, dunlin_core::VendorId::DUNLIN)
    }

    /// How the type stands to that of a remote reader, written in whichever representation it accepts that fits best.
    fn standing_to(&self, reader: &DiscoveredReader, own: GuidPrefix, types: &mut Types) -> TypeStanding {
        let ids = [DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2];
        let accepted = |id: &DataRepresentationId| reader.qos.representation.accepts(*id);
        let any = ids.iter().any(accepted);
        let mut worst = None;
        for id in ids.into_iter().filter(|id| !any || accepted(id)) {
            match type_standing(types, &self.writer(own, id), reader, true) {
                TypeStanding::Fits => return TypeStanding::Fits,
                unsettled @ TypeStanding::Unsettled(_) => worst = Some(unsettled),
                other => worst = worst.or(Some(other)),
            }
        }
        worst.unwrap_or(TypeStanding::Fits)
    }
}

impl Endpoints {
    /// Takes up a topic, instead of another of its name, and compares the endpoints with it that are known.
    pub(crate) fn put_topic(&mut self, topic: LocalTopic, fx: &mut Vec<DiscoveryEffect>) {
        topic.type_information.iter().for_each(|ty| self.types.add_local(ty));
        let name = Arc::clone(&topic.name);
        self.local_topics.by_name.insert(Arc::clone(&name), topic);
        let writers = of_topic(&self.remote_writers, &name);
        let remote: Vec<Guid> = writers.chain(of_topic(&self.remote_readers, &name)).collect();
        for endpoint in remote {
            self.compare_topic(endpoint, fx);
        }
    }

    /// Forgets a topic.
    pub(crate) fn remove_topic(&mut self, name: &str) {
        self.local_topics.by_name.remove(name);
    }

    /// Whether local endpoints have judged the type of a remote one: they tell what comes of it.
    fn is_judged(&self, endpoint: Guid, topic: &str) -> bool {
        let judged = |pair: (Guid, Guid)| {
            let verdict = self.verdicts.get(&pair);
            let without_type = |it: &Verdict| {
                matches!(it, Verdict::OtherPartition | Verdict::IgnoredService | Verdict::Unsettled)
            };
            verdict.is_some_and(|it| !without_type(it))
        };
        self.topics.get(topic).is_some_and(|local| {
            local.readers.iter().any(|reader| judged((endpoint, *reader)))
                || local.writers.iter().any(|writer| judged((*writer, endpoint)))
        })
    }

    /// Compares the type of a remote endpoint with that of the local topic of the same name, if no local endpoint does: as if
    /// the topic had the endpoint that is most likely to match it. Its participant is asked for the type if need be.
    pub(super) fn compare_topic(&mut self, endpoint: Guid, fx: &mut Vec<DiscoveryEffect>) {
        let (writer, reader) =
            (self.writers.get(&endpoint).map(Arc::clone), self.readers.get(&endpoint).map(Arc::clone));
        let names = writer.as_ref().map(|it| (Arc::clone(&it.topic_name), Arc::clone(&it.type_name)));
        let of_reader = || reader.as_ref().map(|it| (Arc::clone(&it.topic_name), Arc::clone(&it.type_name)));
        let Some((name, type_name)) = names.or_else(of_reader) else { return };
        let Some(topic) = self.local_topics.by_name.get(&name) else { return };
        if self.is_judged(endpoint, &name) {
            return;
        }
        let standing = match (writer, reader) {
            (Some(writer), _) => type_standing(&mut self.types, &writer, &topic.reader(self.own), true),
            (None, Some(reader)) => topic.standing_to(&reader, self.own, &mut self.types),
            (None, None) => return,
        };
        let reasons = match standing {
            TypeStanding::Fits => return,
            TypeStanding::Unsettled(key) => {
                self.local_topics.waiting.entry(key).or_default().insert(endpoint);
                return;
            }
            TypeStanding::Differs(reasons) => reasons,
            TypeStanding::OtherName | TypeStanding::OtherKey => Arc::default(),
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
