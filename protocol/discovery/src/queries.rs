//! What is known: the contents of the built-in topics (DDS 1.4 §2.2.5) and the counters.

use alloc::{sync::Arc, vec::Vec};

use dunlin_core::{Guid, GuidPrefix};
use dunlin_rtps::{Reader, ReaderStats};

use crate::{
    config::{DiscoveryConfig, DiscoveryStats},
    data::{DiscoveredReader, DiscoveredWriter, ParticipantData},
    discovery::Discovery,
};

impl Discovery {
    /// The configuration as it is now.
    #[must_use]
    pub const fn config(&self) -> &DiscoveryConfig {
        &self.config
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> DiscoveryStats {
        let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
        let readers: Vec<ReaderStats> =
            self.topics.readers().chain(self.service.readers()).map(Reader::stats).collect();
        let lookups = &self.endpoints.types.lookups;
        let sum = |of: fn(&ReaderStats) -> u64| readers.iter().map(of).fold(0, u64::saturating_add);
        DiscoveryStats {
            partials_evicted: sum(|stats| stats.partials_evicted),
            out_of_order_dropped: sum(|stats| stats.out_of_order_dropped),
            reassembly_octets: sum(|stats| stats.reassembly_octets),
            out_of_order_octets: sum(|stats| stats.out_of_order_octets),
            type_questions: self.service.asked,
            type_answers: self.service.answered,
            type_objects_refused: lookups.refused,
            type_questions_failed: lookups.failed,
            type_questions_refused: lookups.too_many,
            type_questions_waiting: u64::try_from(self.service.waiting.count()).unwrap_or(u64::MAX),
            type_answers_withheld: self.service.withheld,
            goodbyes_forgotten: self.goodbyes.forgotten,
            lost_forgotten: self.lost.forgotten,
            type_object_octets: number(self.endpoints.types.learned_octets()),
            participants: number(self.participants.len()),
            participants_unverified: number(self.unverified.len()),
            endpoints: number(self.account.endpoints),
            octets: number(self.account.octets),
            relay: self.relay.as_ref().map(|relay| relay.stats()).unwrap_or_default(),
            ..self.stats
        }
    }

    /// A participant that is known.
    #[must_use]
    pub fn participant(&self, prefix: GuidPrefix) -> Option<&Arc<ParticipantData>> {
        self.participants.get(&prefix).map(|participant| &participant.data)
    }

    /// The other participants.
    pub fn participants(&self) -> impl Iterator<Item = &Arc<ParticipantData>> {
        self.participants.values().map(|participant| &participant.data)
    }

    /// Whether a topic has other writers than this one, here or elsewhere.
    #[must_use]
    pub fn has_other_writers(&self, topic: &Arc<str>, but: Guid) -> bool {
        self.endpoints.has_other_writers(topic, but)
    }

    /// The writers of other participants.
    pub fn writers(&self) -> impl Iterator<Item = &Arc<DiscoveredWriter>> {
        self.endpoints.writers().filter(|writer| writer.guid.prefix != self.config.guid_prefix)
    }

    /// The readers of other participants.
    pub fn readers(&self) -> impl Iterator<Item = &Arc<DiscoveredReader>> {
        self.endpoints.readers().filter(|reader| reader.guid.prefix != self.config.guid_prefix)
    }

    /// A writer by its GUID, of this or another participant.
    #[must_use]
    pub fn writer(&self, guid: Guid) -> Option<&Arc<DiscoveredWriter>> {
        self.endpoints.writer(guid)
    }

    /// A reader by its GUID, of this or another participant.
    #[must_use]
    pub fn reader(&self, guid: Guid) -> Option<&Arc<DiscoveredReader>> {
        self.endpoints.reader(guid)
    }
}
