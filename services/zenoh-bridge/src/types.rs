//! The topics of routes, with their types as far as endpoints announce them.

use dunlin::qos::TopicQos;
use dunlin::{DomainParticipant, DynamicType, Guid, SerializedData, Topic, TypeDiscovery};

/// Why there is no topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoTopic {
    /// The type is being asked for.
    Pending,
    /// For people.
    Because(String),
}

/// A topic, and whether nothing is known of its type but the name.
pub(crate) struct Found {
    pub(crate) topic: Topic<SerializedData>,
    pub(crate) opaque: bool,
}

/// The topic as an endpoint announces it.
pub(crate) fn topic(
    participant: &DomainParticipant,
    (name, type_name): (&str, &str),
    endpoint: Guid,
    keyed: bool,
) -> Result<Found, NoTopic> {
    let because = |why: String| NoTopic::Because(why);
    let qos = &TopicQos::default();
    match participant.discovered_type(endpoint) {
        TypeDiscovery::Known(known) => {
            let ty = DynamicType::new(known.graph, known.root)
                .map_err(|error| because(format!("its type cannot be used: {error}")))?;
            let topic = participant
                .create_dynamic_topic_of_type(name, type_name, &ty, qos)
                .map_err(|error| because(format!("its topic cannot be created: {error}")))?;
            Ok(Found { topic: topic.serialized(), opaque: false })
        }
        TypeDiscovery::Pending => Err(NoTopic::Pending),
        TypeDiscovery::NotAnnounced => participant
            .create_serialized_topic(name, type_name, keyed, qos)
            .map(|topic| Found { topic, opaque: true })
            .map_err(|error| because(format!("its topic cannot be created: {error}"))),
        TypeDiscovery::Refused(why) => Err(because(format!("its type cannot be known: {why}"))),
    }
}
