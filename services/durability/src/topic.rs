//! What one history is about: the topic, its type, its partitions, and the policies that decide who may have it. As stores describe it.

use dunlin::qos::{
    DataReaderQos, DataRepresentationId, DataWriterQos, DestinationOrderKind, DurabilityKind,
    DurabilityService, HistoryKind, OwnershipKind, PublisherQos, ReliabilityKind, ServiceMark, SubscriberQos,
};
use dunlin::{Duration, DynamicType, EntityKind, Guid, PublicationBuiltinTopicData};

use crate::contract::Contract;

/// Longest part of a description, in octets.
const MAX_PART: usize = 256 << 10;
/// Most partitions of a publisher that are kept apart.
const MAX_PARTITIONS: usize = 256;
/// Samples on their way to readers, of one history.
const ON_THEIR_WAY: i32 = 2048;
/// Instances that a reader knows, if the limit of the service is low.
const LEAST_INSTANCES: usize = 1 << 16;
/// The layout of descriptions.
const LAYOUT: &str = "1";

/// Tells histories apart: writers that differ in this have readers that differ.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TopicKey {
    /// Name of the topic.
    pub topic: String,
    /// Name of the type.
    pub type_name: String,
    /// Partitions, sorted.
    pub partitions: Vec<String>,
    /// Whether it has instances.
    pub keyed: bool,
    /// Whether its writers are RELIABLE.
    pub reliable: bool,
    /// OWNERSHIP EXCLUSIVE.
    pub exclusive: bool,
    /// Whether samples are in XCDR2.
    pub xcdr2: bool,
    /// PERSISTENT, and not TRANSIENT.
    pub persistent: bool,
}

/// What a history is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topic {
    /// Tells it apart.
    pub key: TopicKey,
    /// What is kept.
    pub contract: Contract,
    /// DEADLINE that its writers offer.
    pub deadline: Duration,
    /// The name of the type in the IDL, and the IDL; none if the type is known by name alone.
    pub idl: Option<(String, String)>,
}

impl TopicKey {
    /// Of a writer whose data is to last; none of others, and of those whose partitions have wildcards.
    #[must_use]
    pub fn of(writer: &PublicationBuiltinTopicData) -> Option<Self> {
        let qos = &writer.qos;
        let mut partitions = writer.publisher_qos.partition.names.clone();
        partitions.sort_unstable();
        partitions.dedup();
        if partitions.len() == 1 && partitions.first().is_some_and(String::is_empty) {
            partitions.clear();
        }
        let wild = partitions.iter().any(|name| name.contains(['*', '?', '[']));
        let lasts = qos.durability.kind >= DurabilityKind::Transient;
        (lasts && !wild && partitions.len() <= MAX_PARTITIONS).then(|| Self {
            topic: writer.topic_name.to_string(),
            type_name: writer.type_name.to_string(),
            partitions,
            keyed: writer.guid.entity_id.kind() == EntityKind::WriterWithKey,
            reliable: match qos.property.get(WRITERS) {
                Some(writers) => writers == RELIABLE,
                None => qos.reliability.kind == ReliabilityKind::Reliable,
            },
            exclusive: qos.ownership.kind == OwnershipKind::Exclusive,
            xcdr2: qos.representation.ids.first() == Some(&DataRepresentationId::Xcdr2),
            persistent: qos.durability.kind == DurabilityKind::Persistent,
        })
    }

    fn durability(&self) -> DurabilityKind {
        if self.persistent { DurabilityKind::Persistent } else { DurabilityKind::Transient }
    }

    fn representation(&self) -> [DataRepresentationId; 1] {
        [if self.xcdr2 { DataRepresentationId::Xcdr2 } else { DataRepresentationId::Xcdr1 }]
    }
}

impl Topic {
    /// Of a writer.
    #[must_use]
    pub fn of(key: TopicKey, writer: &PublicationBuiltinTopicData, ty: Option<&DynamicType>) -> Self {
        let idl = ty.and_then(|ty| {
            let (name, idl) = (ty.name().to_owned(), ty.to_idl());
            // Names of members are missing in minimal type objects, so what is written may be another type.
            let same =
                idl.len() <= MAX_PART && type_of(&name, &idl).is_some_and(|again| same_keys(&again, ty));
            same.then_some((name, idl))
        });
        Self { key, contract: Contract::of(&writer.qos), deadline: writer.qos.deadline.period, idl }
    }

    /// The type, if more than its name is known.
    #[must_use]
    pub fn dynamic_type(&self) -> Option<DynamicType> {
        self.idl.as_ref().and_then(|(name, idl)| type_of(name, idl))
    }

    /// As stores keep it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let key = &self.key;
        let flags =
            [key.keyed, key.reliable, key.exclusive, key.xcdr2, key.persistent, self.contract.by_source];
        let flags: String = flags.iter().map(|flag| if *flag { '1' } else { '0' }).collect();
        let (name, idl) = self.idl.clone().unwrap_or_default();
        let times = format!("{} {}", self.contract.lifespan.as_nanos(), self.deadline.as_nanos());
        let contract = self.contract.encode();
        let parts = [LAYOUT, &key.topic, &key.type_name, &flags, &contract, &times, &name, &idl];
        let parts = parts.into_iter().chain(key.partitions.iter().map(String::as_str));
        let put = |part: &str| [&(part.len() as u32).to_le_bytes()[..], part.as_bytes()].concat();
        parts.flat_map(put).collect()
    }

    /// What [`encode`](Self::encode) made; none if it is not that.
    #[must_use]
    pub fn decode(mut octets: &[u8]) -> Option<Self> {
        let mut part = || -> Option<Option<String>> {
            if octets.is_empty() {
                return Some(None);
            }
            let length = u32::from_le_bytes(crate::change::take(&mut octets)?) as usize;
            let (part, rest) = octets.split_at_checked(length).filter(|_| length <= MAX_PART)?;
            octets = rest;
            String::from_utf8(part.to_vec()).ok().map(Some)
        };
        (part()?? == LAYOUT).then_some(())?;
        let (topic, type_name, flags, contract) = (part()??, part()??, part()??, part()??);
        let (times, name, idl) = (part()??, part()??, part()??);
        let mut partitions = Vec::new();
        while let Some(partition) = part()? {
            partitions.push(partition);
            (partitions.len() <= MAX_PARTITIONS).then_some(())?;
        }
        let flags: Vec<bool> = flags.chars().map(|it| it == '1').collect();
        let [keyed, reliable, exclusive, xcdr2, persistent, by_source] = flags[..] else { return None };
        let (lifespan, deadline) = times.split_once(' ')?;
        let time = |text: &str| text.parse().ok().filter(|nanos| *nanos >= 0).map(Duration::from_nanos);
        Some(Self {
            key: TopicKey { topic, type_name, partitions, keyed, reliable, exclusive, xcdr2, persistent },
            contract: Contract::restored(&contract, by_source, time(lifespan)?)?,
            deadline: time(deadline)?,
            idl: (!idl.is_empty()).then_some((name, idl)),
        })
    }

    /// QoS of the service's reader. What waits there while the store is busy is bounded by the participant's quota of octets, and its
    /// instances by the `instances` of which the service keeps data. A reader knows instances as long as somebody writes them, also
    /// when the history has let them go, so it has room for more.
    pub(crate) fn reader_qos(&self, mark: &ServiceMark, instances: usize) -> DataReaderQos {
        let key = &self.key;
        let instances = instances.saturating_mul(2).max(LEAST_INSTANCES);
        let mut qos = DataReaderQos::default()
            .keep_all()
            .resource_limits(-1, i32::try_from(instances).unwrap_or(i32::MAX), -1)
            .durability(key.durability())
            .representation(&key.representation())
            .remove_duplicates(false)
            .ignore_service(&*mark.id)
            .show_every_change()
            .service(mark)
            .property(crate::aligning::PROPERTY, "1");
        qos.ownership.kind = if key.exclusive { OwnershipKind::Exclusive } else { OwnershipKind::Shared };
        if key.reliable { qos.reliable().acknowledge_on_commit() } else { qos }
    }

    /// QoS of the writer that gives the history to those who come late. What it has given stays in no history of its own.
    pub(crate) fn feeder_qos(&self, mark: &ServiceMark, since: &str) -> DataWriterQos {
        let key = &self.key;
        let nothing = DurabilityService {
            history_kind: HistoryKind::KeepAll,
            max_samples: 1,
            ..DurabilityService::default()
        };
        let mut qos = DataWriterQos::default()
            .reliable()
            .keep_all()
            .resource_limits(ON_THEIR_WAY, -1, -1)
            .max_blocking_time(Duration::ZERO)
            .durability(key.durability())
            .durability_service(nothing)
            .representation(&key.representation())
            .autodispose_unregistered_instances(false)
            .service(mark)
            .property(SINCE, since)
            .property(WRITERS, if key.reliable { RELIABLE } else { "best_effort" });
        self.contract.announce(&mut qos.property);
        if self.contract.by_source {
            qos = qos.destination_order(DestinationOrderKind::BySourceTimestamp);
        }
        qos.lifespan.duration = self.contract.lifespan;
        qos.deadline.period = self.deadline;
        qos.ownership.kind = if key.exclusive { OwnershipKind::Exclusive } else { OwnershipKind::Shared };
        // Whoever writes the instance now is its owner.
        qos.ownership_strength.value = i32::MIN;
        qos
    }

    pub(crate) fn subscriber_qos(&self) -> SubscriberQos {
        SubscriberQos::default().partition(self.key.partitions.iter().cloned())
    }

    pub(crate) fn publisher_qos(&self) -> PublisherQos {
        PublisherQos::default().partition(self.key.partitions.iter().cloned())
    }
}

/// The property in which services tell each other since when they run: of several, the oldest one gives the history to readers that
/// could not tell copies apart.
pub(crate) const SINCE: &str = "store.since";

/// The property in which services tell each other the RELIABILITY of the writers whose data they give; they give it reliably.
const WRITERS: &str = "store.writers";
const RELIABLE: &str = "reliable";

/// The age of a service's writer, for comparison; the guid decides between equals.
pub(crate) fn seniority(writer: &PublicationBuiltinTopicData) -> Option<(i64, Guid)> {
    let since = writer.qos.property.get(SINCE)?.parse().ok()?;
    Some((since, writer.guid))
}

fn type_of(name: &str, idl: &str) -> Option<DynamicType> {
    let files = dunlin_idl::Memory::default().with("type.idl", idl);
    let compiled = dunlin_idl::compile("type.idl", &dunlin_idl::Options::default(), &files);
    let (graph, root) = dunlin_idl::xtypes::type_graph_of(compiled.model.as_ref()?, name)?;
    DynamicType::new(graph, root).ok()
}

fn same_keys(one: &DynamicType, other: &DynamicType) -> bool {
    one.is_keyed() == other.is_keyed() && one.to_idl() == other.to_idl()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn topic() -> Topic {
        let key = TopicKey {
            topic: "Tracks".into(),
            type_name: "Track".into(),
            partitions: vec!["a".into(), "b".into()],
            keyed: true,
            reliable: true,
            exclusive: false,
            xcdr2: true,
            persistent: true,
        };
        let idl = "module m { @final struct Track { @key uint32 id; int64 position; }; };";
        let contract = Contract::of(&DataWriterQos::default());
        Topic { key, contract, deadline: Duration::INFINITE, idl: Some(("m::Track".into(), idl.into())) }
    }

    #[test]
    fn descriptions_come_back_with_their_type() {
        for idl in [topic().idl, None] {
            let topic = Topic { idl, ..topic() };
            assert_eq!(Topic::decode(&topic.encode()), Some(topic));
        }
        assert!(topic().dynamic_type().unwrap().is_keyed());
    }

    proptest! {
        #[test]
        fn damaged_topic_description_is_decoded_or_refused(at: prop::sample::Index, octet: u8, cut: prop::sample::Index) {
            let mut octets = topic().encode();
            let length = octets.len();
            octets[at.index(length)] = octet;
            octets.truncate(cut.index(length + 1));
            if let Some(topic) = Topic::decode(&octets) {
                prop_assert!(Topic::decode(&topic.encode()) == Some(topic));
            }
        }
    }
}
