//! What the sides of a pair have counted: it shows that an attack reached the code that it is about.

use dunlin::{DomainParticipant, Misbehaviour, ReaderStats, WriterStats};
use serde::{Deserialize, Serialize};

macro_rules! counters {
    ($($from:ident { $($name:ident),+ $(,)? })+) => {
        /// Counters of a side, named as in its `stats()`; those of discovery begin with `discovery_`.
        #[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Counters { $($(
            /// See the counter of this name.
            pub $name: u64,
        )+)+ }

        impl Counters {
            /// A counter by its name.
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $($(stringify!($name) => Some(self.$name),)+)+
                    _ => None,
                }
            }
        }
    };
}

counters! {
    participant {
        datagrams, malformed, misplaced, unknown_endpoint, undecodable,
        refuted_goodbyes, contradictory_duplicates, acknowledged_unsent,
    }
    discovery {
        discovery_malformed, discovery_misplaced, discovery_participants_unverified, discovery_participants_evicted,
        discovery_answers_withheld, discovery_endpoints_refused, discovery_entries_left_out,
        discovery_foreign_locators, discovery_type_answers, discovery_overtaken,
    }
    reader {
        foreign, over_quota, partials_evicted, out_of_order_dropped, heartbeats_received, heartbeats_ignored,
        gaps_received, echoes_sent,
    }
    transport { shared_cut }
    process { forks }
    writer { acknacks_received, nack_frags_received, requests_ignored, requests_suppressed, filters_dropped }
}

impl Counters {
    /// What a participant has counted.
    pub fn of(participant: &DomainParticipant) -> Self {
        let stats = participant.stats();
        let discovery = stats.discovery;
        let misbehaved = participant.misbehaviours();
        let refused =
            |what: Misbehaviour| misbehaved.iter().map(|it| u64::from(it.counts.of(what))).sum::<u64>();
        Self {
            datagrams: stats.datagrams as u64,
            malformed: stats.malformed as u64,
            misplaced: stats.misplaced as u64,
            unknown_endpoint: stats.unknown_endpoint as u64,
            undecodable: stats.undecodable as u64,
            refuted_goodbyes: refused(Misbehaviour::RefutedGoodbye),
            contradictory_duplicates: refused(Misbehaviour::ContradictoryDuplicate),
            acknowledged_unsent: refused(Misbehaviour::AcknowledgesUnsent),
            discovery_malformed: discovery.malformed,
            discovery_misplaced: discovery.misplaced,
            discovery_participants_unverified: discovery.participants_unverified,
            discovery_participants_evicted: discovery.participants_evicted,
            discovery_answers_withheld: discovery.answers_withheld,
            discovery_endpoints_refused: discovery.endpoints_refused,
            discovery_entries_left_out: discovery.entries_left_out,
            discovery_foreign_locators: discovery.foreign_locators,
            discovery_type_answers: discovery.type_answers,
            discovery_overtaken: discovery.overtaken,
            shared_cut: participant.transport_stats().shared_cut,
            ..Self::default()
        }
    }

    /// With those of its reader; what the application could not read counts as undecodable.
    #[must_use]
    pub fn with_reader(self, stats: &ReaderStats, undecodable: u32, foreign: u64) -> Self {
        Self {
            undecodable: self.undecodable + u64::from(undecodable),
            foreign,
            over_quota: stats.over_quota,
            partials_evicted: stats.partials_evicted,
            out_of_order_dropped: stats.out_of_order_dropped,
            heartbeats_received: stats.heartbeats_received,
            heartbeats_ignored: stats.heartbeats_ignored,
            gaps_received: stats.gaps_received,
            echoes_sent: stats.echoes_sent,
            ..self
        }
    }

    /// With those of its writer.
    #[must_use]
    pub fn with_writer(self, stats: &WriterStats) -> Self {
        Self {
            acknacks_received: stats.acknacks_received,
            nack_frags_received: stats.nack_frags_received,
            requests_ignored: stats.requests_ignored,
            requests_suppressed: stats.requests_suppressed,
            filters_dropped: stats.filters_dropped,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attacks::ATTACKS;

    #[test]
    fn attacks_name_counters_that_exist() {
        for attack in ATTACKS {
            for (_, name, least) in attack.reaches {
                assert!(Counters::default().get(name).is_some() && *least > 0, "{}: {name}", attack.name);
            }
        }
    }
}
