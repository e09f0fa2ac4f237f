//! What discovery knows of other participants and endpoints (DDS 1.4 §2.2.5).

pub use dunlin_discovery::DiscoveredReader as SubscriptionBuiltinTopicData;
pub use dunlin_discovery::DiscoveredWriter as PublicationBuiltinTopicData;
pub use dunlin_discovery::ParticipantData as ParticipantBuiltinTopicData;
