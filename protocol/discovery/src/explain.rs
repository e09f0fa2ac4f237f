//! Why a writer and a reader do not match, in full: the rules of DDS 1.4 §2.2.3 with both values, and what else can stand
//! between two endpoints of one topic (RTPS 2.5 §8.5.5).

use alloc::{string::String, sync::Arc, vec::Vec};

use dunlin_core::{EntityKind, Guid, GuidPrefix, MonoTime};
use dunlin_qos::{IncompatiblePolicy, check_compatible, partitions_match};

use crate::{
    config::{DiscoveryStats, Locators},
    data::{DiscoveredReader, DiscoveredWriter, ParticipantData},
    discovery::Discovery,
};

/// One difference that keeps a writer and a reader apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// They belong to different topics.
    TopicName {
        /// The writer's.
        writer: Arc<str>,
        /// The reader's.
        reader: Arc<str>,
    },
    /// No partition of the publisher matches one of the subscriber.
    Partition {
        /// Those of the publisher; empty means the one with the empty name.
        publisher: Vec<String>,
        /// Those of the subscriber.
        subscriber: Vec<String>,
    },
    /// The types have different names.
    TypeName {
        /// The writer's.
        writer: Arc<str>,
        /// The reader's.
        reader: Arc<str>,
    },
    /// The type of one side has key members, that of the other has none.
    Key {
        /// Whether it is the writer's that has.
        writer_is_keyed: bool,
    },
    /// A policy offers less than is requested.
    Policy(IncompatiblePolicy),
}

pub(crate) fn same_partition(writer: &DiscoveredWriter, reader: &DiscoveredReader) -> bool {
    partitions_match(&writer.publisher_qos.partition.names, &reader.subscriber_qos.partition.names)
}

/// The kind octets tell whether the types have a key; a keyed and a keyless type cannot be the same.
fn keyed(writer: &DiscoveredWriter, reader: &DiscoveredReader) -> (bool, bool) {
    let keyed_writer = writer.guid.entity_id.kind() == EntityKind::WriterWithKey;
    (keyed_writer, reader.guid.entity_id.kind() == EntityKind::ReaderWithKey)
}

pub(crate) fn same_type(writer: &DiscoveredWriter, reader: &DiscoveredReader) -> bool {
    let (keyed_writer, keyed_reader) = keyed(writer, reader);
    writer.type_name == reader.type_name && keyed_writer == keyed_reader
}

/// Everything in which a writer and a reader do not fit; empty if they match. Locators are not looked at.
#[must_use]
pub fn mismatches(writer: &DiscoveredWriter, reader: &DiscoveredReader) -> Vec<Mismatch> {
    let mut found = Vec::new();
    if writer.topic_name != reader.topic_name {
        let (writer, reader) = (Arc::clone(&writer.topic_name), Arc::clone(&reader.topic_name));
        found.push(Mismatch::TopicName { writer, reader });
    }
    if !same_partition(writer, reader) {
        found.push(Mismatch::Partition {
            publisher: writer.publisher_qos.partition.names.clone(),
            subscriber: reader.subscriber_qos.partition.names.clone(),
        });
    }
    if writer.type_name != reader.type_name {
        let (writer, reader) = (Arc::clone(&writer.type_name), Arc::clone(&reader.type_name));
        found.push(Mismatch::TypeName { writer, reader });
    }
    let (writer_is_keyed, reader_is_keyed) = keyed(writer, reader);
    if writer_is_keyed != reader_is_keyed {
        found.push(Mismatch::Key { writer_is_keyed });
    }
    found.extend(check_compatible(&writer.offer(), &reader.request()).into_iter().map(Mismatch::Policy));
    found
}

/// How a remote participant stands to this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What it announced.
    pub data: Arc<ParticipantData>,
    /// It has shown that it receives what this participant sends.
    pub verified: bool,
    /// When it was first heard.
    pub since: MonoTime,
    /// Every locator it announced, also those that cannot be used from here.
    pub announced: Locators,
}

/// What decides at one moment who matches whom.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Writers, also those of this participant.
    pub writers: Vec<Arc<DiscoveredWriter>>,
    /// Readers, also those of this participant.
    pub readers: Vec<Arc<DiscoveredReader>>,
    /// The other participants.
    pub participants: Vec<Standing>,
    /// Every topic that an endpoint names.
    pub topics: Vec<Arc<str>>,
    /// Participants that are ignored.
    pub ignored_participants: Vec<GuidPrefix>,
    /// Endpoints that are ignored.
    pub ignored_endpoints: Vec<Guid>,
    /// Names of topics that are ignored.
    pub ignored_topics: Vec<Arc<str>>,
    /// Counters.
    pub stats: DiscoveryStats,
}

impl Discovery {
    /// What is known of the endpoints for which `wanted` is true (given the name of their topic and their GUID), and of
    /// what can keep them apart.
    #[must_use]
    pub fn survey(&self, wanted: impl Fn(&str, Guid) -> bool) -> Survey {
        let standing = |participant: &crate::participant::RemoteParticipant| Standing {
            data: Arc::clone(&participant.data),
            verified: participant.stranger.is_none(),
            since: participant.since,
            announced: participant.announced.clone(),
        };
        let writers = self.endpoints.writers();
        let readers = self.endpoints.readers();
        let names = self.endpoints.writers().map(|writer| &writer.topic_name);
        let names = names.chain(self.endpoints.readers().map(|reader| &reader.topic_name));
        let mut topics: Vec<Arc<str>> = names.cloned().collect();
        topics.sort_unstable();
        topics.dedup();
        Survey {
            writers: writers.filter(|writer| wanted(&writer.topic_name, writer.guid)).cloned().collect(),
            readers: readers.filter(|reader| wanted(&reader.topic_name, reader.guid)).cloned().collect(),
            participants: self.participants.values().map(standing).collect(),
            topics,
            ignored_participants: self.ignored_participants.iter().copied().collect(),
            ignored_endpoints: self.ignored_endpoints.iter().copied().collect(),
            ignored_topics: self.ignored_topics.iter().map(|(name, _)| Arc::clone(name)).collect(),
            stats: self.stats(),
        }
    }
}
