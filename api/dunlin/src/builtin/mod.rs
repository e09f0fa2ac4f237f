//! What discovery knows of other participants and endpoints (DDS 1.4 §2.2.5): as values, and as the samples of four
//! built-in topics.

mod topics;

pub use dunlin_discovery::DiscoveredReader as SubscriptionBuiltinTopicData;
pub use dunlin_discovery::DiscoveredWriter as PublicationBuiltinTopicData;
pub use dunlin_discovery::ParticipantData as ParticipantBuiltinTopicData;
pub use topics::{
    BuiltinDurabilityService, BuiltinDuration, BuiltinHistory, BuiltinResourceLimits, BuiltinTopicKey,
    BuiltinTypeConsistency, DCPS_PARTICIPANT, DCPS_PUBLICATION, DCPS_SUBSCRIPTION, DCPS_TOPIC,
    DcpsParticipant, DcpsPublication, DcpsSubscription, DcpsTopic,
};
pub(crate) use topics::{topic_of_reader, topic_of_writer};
