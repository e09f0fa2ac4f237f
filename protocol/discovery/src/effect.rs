//! What discovery tells its caller: matches (RTPS 2.5 §8.5.5), statuses (DDS 1.4 §2.2.4.1) and participants.

use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};

use dunlin_core::{EntityId, Guid, GuidPrefix, MonoTime};
use dunlin_qos::{IncompatiblePolicy, LivelinessKind};

use crate::data::{DiscoveredReader, DiscoveredWriter, ParticipantData};
use crate::{places::Sources, standing::ParticipantState};

/// Why a participant is no longer known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostReason {
    /// It said so.
    Left,
    /// Nothing was heard of it for its lease.
    LeaseExpired,
    /// This participant decided to ignore it.
    Ignored,
    /// It was not verified, and others had to find room.
    Evicted,
}

/// Why others are not known although they announce themselves. What is counted is told when the count is a power of two,
/// so that whoever causes it cannot cause many messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiscoveryProblem {
    /// A participant has announced itself for some time but has answered nothing that was sent to it.
    OneSided(Arc<ParticipantData>),
    /// A participant announces itself here alone, and never to the groups that both listen to.
    GroupsSilent(Box<ParticipantState>),
    /// Announcements of other domains, or of another domain tag, arrive at the ports of this one.
    OtherDomain {
        /// How many came.
        count: u64,
    },
    /// Quotas have refused participants.
    ParticipantsRefused {
        /// How many announcements.
        count: u64,
    },
    /// Quotas have refused endpoints.
    EndpointsRefused {
        /// How many announcements.
        count: u64,
    },
}

/// One consequence of a call, to be carried out in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiscoveryEffect {
    /// A participant was seen for the first time.
    ParticipantDiscovered(Arc<ParticipantData>),
    /// A known participant announced something new.
    ParticipantUpdated(Arc<ParticipantData>),
    /// A participant has shown that it receives where it says. Its traffic is a sign of life from now on.
    ParticipantVerified(GuidPrefix),
    /// What comes in the name of a participant from elsewhere is not of it.
    SourcesChanged {
        /// Which.
        prefix: GuidPrefix,
        /// From where it speaks.
        sources: Sources,
    },
    /// A participant is gone; its endpoints were unmatched before.
    ParticipantLost {
        /// Which.
        prefix: GuidPrefix,
        /// Why.
        reason: LostReason,
    },
    /// A writer of another participant was seen for the first time.
    WriterDiscovered(Arc<DiscoveredWriter>),
    /// A writer of another participant announced something new.
    WriterUpdated(Arc<DiscoveredWriter>),
    /// A writer of another participant is gone.
    WriterLost(Guid),
    /// A reader of another participant was seen for the first time.
    ReaderDiscovered(Arc<DiscoveredReader>),
    /// A reader of another participant announced something new.
    ReaderUpdated(Arc<DiscoveredReader>),
    /// A reader of another participant is gone.
    ReaderLost(Guid),
    /// Writers of a publisher with access scope GROUP came, went, or were judged: see
    /// [`Discovery::writers_of_publisher`](crate::Discovery::writers_of_publisher).
    GroupChanged(Guid),
    /// A local reader matched a writer.
    WriterMatched {
        /// The local reader.
        local: EntityId,
        /// The writer.
        remote: Arc<DiscoveredWriter>,
    },
    /// A matched writer changed (QoS, locators) and still matches the local reader.
    MatchedWriterUpdated {
        /// The local reader.
        local: EntityId,
        /// The writer.
        remote: Arc<DiscoveredWriter>,
    },
    /// A writer no longer matches a local reader.
    WriterUnmatched {
        /// The local reader.
        local: EntityId,
        /// The writer.
        remote: Guid,
        /// Nothing was heard of its participant for its lease: it may come back, and is then the same.
        lease_expired: bool,
    },
    /// A local writer matched a reader.
    ReaderMatched {
        /// The local writer.
        local: EntityId,
        /// The reader.
        remote: Arc<DiscoveredReader>,
    },
    /// A matched reader changed (QoS, locators) and still matches the local writer.
    MatchedReaderUpdated {
        /// The local writer.
        local: EntityId,
        /// The reader.
        remote: Arc<DiscoveredReader>,
    },
    /// A reader no longer matches a local writer.
    ReaderUnmatched {
        /// The local writer.
        local: EntityId,
        /// The reader.
        remote: Guid,
        /// Nothing was heard of its participant for its lease: it may come back, and is then the same.
        lease_expired: bool,
    },
    /// A local endpoint and one of the same topic are kept apart by their policies.
    IncompatibleQos {
        /// The local writer or reader.
        local: EntityId,
        /// The other endpoint.
        remote: Guid,
        /// Every policy that is not satisfied.
        policies: Vec<IncompatiblePolicy>,
    },
    /// A local endpoint and one of the same topic have no partition in common.
    OtherPartition {
        /// The local writer or reader.
        local: EntityId,
        /// The other endpoint.
        remote: Guid,
        /// The topic both name.
        topic_name: Arc<str>,
        /// The partitions of the publisher.
        publisher: Vec<String>,
        /// The partitions of the subscriber.
        subscriber: Vec<String>,
    },
    /// Something keeps others from being known.
    DiscoveryProblem(DiscoveryProblem),
    /// A local endpoint and one of the same topic are kept apart by their types.
    InconsistentTopic {
        /// The local writer or reader; [`EntityId::PARTICIPANT`] for the topic itself, which needs no endpoint.
        local: EntityId,
        /// The other endpoint.
        remote: Guid,
        /// The topic both name.
        topic_name: String,
        /// The type of the other endpoint.
        type_name: String,
        /// Member by member, why the reader's type cannot read the writer's; empty if names or keys differ.
        reasons: Arc<[dunlin_xtypes::Mismatch]>,
    },
    /// A participant asserted the liveliness of its writers of one kind.
    LivelinessAsserted {
        /// Which participant.
        prefix: GuidPrefix,
        /// Which of its writers.
        kind: LivelinessKind,
        /// It did so then or later: before the present when its message was lost and sent again.
        since: MonoTime,
    },
}

impl DiscoveryEffect {
    /// What this says is so because a participant was not heard, and it may come back.
    pub(crate) fn note_expiry(&mut self) {
        if let Self::WriterUnmatched { lease_expired, .. } | Self::ReaderUnmatched { lease_expired, .. } =
            self
        {
            *lease_expired = true;
        }
    }
}
