//! Why a writer and a reader do not match, in full: the rules of DDS 1.4 §2.2.3 with both values, and what else can stand
//! between two endpoints of one topic (RTPS 2.5 §8.5.5).

use alloc::{collections::BTreeMap, string::String, sync::Arc, vec::Vec};

use dunlin_core::{Guid, GuidPrefix};
use dunlin_qos::{IncompatiblePolicy, check_compatible};

use crate::{
    config::{DiscoveryStats, Locators},
    data::{DiscoveredReader, DiscoveredWriter},
    discovery::Discovery,
    participant::RemoteParticipant,
    standing::{ParticipantState, TypeStanding, is_ignored, keyed, same_partition, type_standing},
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
    /// The reader takes nothing that has come through a service, and the writer's data has.
    IgnoredService {
        /// The id of the service.
        id: String,
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
    /// The type of the reader cannot read what is written with that of the writer: each difference.
    Types(Arc<[dunlin_xtypes::Mismatch]>),
    /// Both announce type information, and one side is being asked for its type.
    TypesUnsettled,
    /// A policy offers less than is requested.
    Policy(IncompatiblePolicy),
}

/// What decides at one moment who matches whom.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Writers, also those of this participant.
    pub writers: Vec<Arc<DiscoveredWriter>>,
    /// Readers, also those of this participant.
    pub readers: Vec<Arc<DiscoveredReader>>,
    /// Pairs whose types do not fit, or are not known yet.
    types: BTreeMap<(Guid, Guid), TypeStanding>,
    /// Where this participant receives.
    pub own: Locators,
    /// The other participants.
    pub participants: Vec<ParticipantState>,
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

impl Survey {
    /// How the types of two endpoints stand to each other.
    fn types(&self, writer: &DiscoveredWriter, reader: &DiscoveredReader) -> TypeStanding {
        let known = self.types.get(&(writer.guid, reader.guid)).cloned();
        known.unwrap_or(TypeStanding::Fits)
    }

    /// Everything in which a writer and a reader do not fit; empty if they match. Locators are not looked at.
    #[must_use]
    pub fn mismatches(&self, writer: &DiscoveredWriter, reader: &DiscoveredReader) -> Vec<Mismatch> {
        let mut found = Vec::new();
        if writer.topic_name != reader.topic_name {
            let (writer, reader) = (Arc::clone(&writer.topic_name), Arc::clone(&reader.topic_name));
            found.push(Mismatch::TopicName { writer, reader });
        }
        if is_ignored(writer, reader)
            && let Some(id) = reader.qos.ignored_service()
        {
            found.push(Mismatch::IgnoredService { id: id.into() });
        }
        if !same_partition(writer, reader) {
            found.push(Mismatch::Partition {
                publisher: writer.publisher_qos.partition.names.clone(),
                subscriber: reader.subscriber_qos.partition.names.clone(),
            });
        }
        match self.types(writer, reader) {
            TypeStanding::Fits => {}
            TypeStanding::OtherName => {
                let (writer, reader) = (Arc::clone(&writer.type_name), Arc::clone(&reader.type_name));
                found.push(Mismatch::TypeName { writer, reader });
            }
            TypeStanding::OtherKey => {
                found.push(Mismatch::Key { writer_is_keyed: keyed(writer, reader).0 });
            }
            TypeStanding::Differs(reasons) => found.push(Mismatch::Types(reasons)),
            TypeStanding::Unsettled(_) => found.push(Mismatch::TypesUnsettled),
        }
        found.extend(check_compatible(&writer.offer(), &reader.request()).into_iter().map(Mismatch::Policy));
        found
    }
}

impl RemoteParticipant {
    pub(crate) fn standing(&self) -> ParticipantState {
        ParticipantState {
            data: Arc::clone(&self.data),
            verified: self.unverified.is_none(),
            since: self.since,
            announced: self.announced.clone(),
            groups_silent: self.reach.groups_are_silent(),
            same_host: self.reach.is_same_host(),
        }
    }
}

impl Discovery {
    /// What is known of the endpoints for which `wanted` is true (given the name of their topic and their GUID), and of
    /// what can keep them apart.
    #[must_use]
    pub fn survey(&mut self, wanted: impl Fn(&str, Guid) -> bool) -> Survey {
        let writers = self.endpoints.writers();
        let readers = self.endpoints.readers();
        let names = self.endpoints.writers().map(|writer| &writer.topic_name);
        let names = names.chain(self.endpoints.readers().map(|reader| &reader.topic_name));
        let mut topics: Vec<Arc<str>> = names.cloned().collect();
        topics.sort_unstable();
        topics.dedup();
        let writers: Vec<_> =
            writers.filter(|writer| wanted(&writer.topic_name, writer.guid)).cloned().collect();
        let readers: Vec<_> =
            readers.filter(|reader| wanted(&reader.topic_name, reader.guid)).cloned().collect();
        Survey {
            types: self.standings(&writers, &readers),
            writers,
            readers,
            own: self.config.locators.clone(),
            participants: self.participants.values().map(|known| known.standing()).collect(),
            topics,
            ignored_participants: self.ignored.participants().collect(),
            ignored_endpoints: self.ignored.endpoints().collect(),
            ignored_topics: self.ignored.topic_names().collect(),
            stats: self.stats(),
        }
    }

    /// Pairs whose types do not fit, or are not known yet. Nobody is asked because of it.
    fn standings(
        &mut self,
        writers: &[Arc<DiscoveredWriter>],
        readers: &[Arc<DiscoveredReader>],
    ) -> BTreeMap<(Guid, Guid), TypeStanding> {
        let types = &mut self.endpoints.types;
        let mut standings = BTreeMap::new();
        for writer in writers {
            for reader in readers {
                let standing = type_standing(types, writer, reader, false);
                if standing != TypeStanding::Fits {
                    standings.insert((writer.guid, reader.guid), standing);
                }
            }
        }
        standings
    }
}
