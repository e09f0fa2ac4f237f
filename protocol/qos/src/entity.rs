//! The QoS of each kind of entity with the defaults of DDS 1.4 §2.2.3 (table "Supported QoS policies").

use alloc::vec;

use crate::{
    policy::{
        Deadline, DestinationOrder, Durability, DurabilityService, EntityFactory, GroupData, History,
        LatencyBudget, Lifespan, Liveliness, Ownership, OwnershipStrength, Partition, Presentation, Property,
        ReaderDataLifecycle, Reliability, ResourceLimits, TimeBasedFilter, TopicData, TransportPriority,
        UserData, WriterDataLifecycle,
    },
    type_policy::{DataRepresentation, DataRepresentationId, TypeConsistencyEnforcement},
};

/// QoS of the DomainParticipantFactory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DomainParticipantFactoryQos {
    /// Whether participants are enabled when they are created.
    pub entity_factory: EntityFactory,
}

/// QoS of a DomainParticipant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DomainParticipantQos {
    /// Octets that other participants see.
    pub user_data: UserData,
    /// Whether created entities are enabled at once.
    pub entity_factory: EntityFactory,
    /// Properties that other participants see.
    pub property: Property,
}

/// QoS of a Topic: a template for the writers and readers that copy it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TopicQos {
    /// Octets announced with each endpoint of the topic.
    pub topic_data: TopicData,
    /// Whether data outlives its writing.
    pub durability: Durability,
    /// How a durability service keeps data.
    pub durability_service: DurabilityService,
    /// Longest time between samples of an instance.
    pub deadline: Deadline,
    /// Acceptable delay.
    pub latency_budget: LatencyBudget,
    /// How writers show that they are alive.
    pub liveliness: Liveliness,
    /// Whether losses are repaired; BEST_EFFORT by default.
    pub reliability: Reliability,
    /// Which time orders samples.
    pub destination_order: DestinationOrder,
    /// Samples kept per instance.
    pub history: History,
    /// Limits of the caches.
    pub resource_limits: ResourceLimits,
    /// Urgency on the network.
    pub transport_priority: TransportPriority,
    /// Age at which samples are stale.
    pub lifespan: Lifespan,
    /// Whether several writers may update an instance.
    pub ownership: Ownership,
    /// Encodings; empty leaves the choice to the endpoint.
    pub representation: DataRepresentation,
}

/// QoS of a Publisher.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublisherQos {
    /// Order and coherence across samples.
    pub presentation: Presentation,
    /// Partitions to publish in.
    pub partition: Partition,
    /// Octets announced with each writer.
    pub group_data: GroupData,
    /// Whether created writers are enabled at once.
    pub entity_factory: EntityFactory,
}

/// QoS of a Subscriber.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriberQos {
    /// Order and coherence across samples.
    pub presentation: Presentation,
    /// Partitions to subscribe in.
    pub partition: Partition,
    /// Octets announced with each reader.
    pub group_data: GroupData,
    /// Whether created readers are enabled at once.
    pub entity_factory: EntityFactory,
}

/// QoS of a DataWriter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataWriterQos {
    /// Whether data outlives its writing.
    pub durability: Durability,
    /// How a durability service keeps data.
    pub durability_service: DurabilityService,
    /// Longest time between samples of an instance.
    pub deadline: Deadline,
    /// Acceptable delay.
    pub latency_budget: LatencyBudget,
    /// How the writer shows that it is alive.
    pub liveliness: Liveliness,
    /// Whether losses are repaired; RELIABLE by default.
    pub reliability: Reliability,
    /// Which time orders samples.
    pub destination_order: DestinationOrder,
    /// Samples kept per instance.
    pub history: History,
    /// Limits of the cache.
    pub resource_limits: ResourceLimits,
    /// Urgency on the network.
    pub transport_priority: TransportPriority,
    /// Age at which samples are stale.
    pub lifespan: Lifespan,
    /// Octets that other participants see.
    pub user_data: UserData,
    /// Whether other writers may update the same instances.
    pub ownership: Ownership,
    /// Which writer wins under EXCLUSIVE ownership.
    pub ownership_strength: OwnershipStrength,
    /// Whether unregistering disposes.
    pub writer_data_lifecycle: WriterDataLifecycle,
    /// Encoding of the samples: the first entry. Empty, the default, means the encoding that suits the data type,
    /// which is settled when the writer is created; on the wire an empty list means XCDR1.
    pub representation: DataRepresentation,
    /// Properties that other participants see.
    pub property: Property,
}

impl Default for DataWriterQos {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            durability_service: DurabilityService::default(),
            deadline: Deadline::default(),
            latency_budget: LatencyBudget::default(),
            liveliness: Liveliness::default(),
            reliability: Reliability::RELIABLE,
            destination_order: DestinationOrder::default(),
            history: History::default(),
            resource_limits: ResourceLimits::default(),
            transport_priority: TransportPriority::default(),
            lifespan: Lifespan::default(),
            user_data: UserData::default(),
            ownership: Ownership::default(),
            ownership_strength: OwnershipStrength::default(),
            writer_data_lifecycle: WriterDataLifecycle::default(),
            representation: DataRepresentation::default(),
            property: Property::default(),
        }
    }
}

/// QoS of a DataReader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataReaderQos {
    /// Whether history is wanted.
    pub durability: Durability,
    /// Longest time between samples of an instance.
    pub deadline: Deadline,
    /// Acceptable delay.
    pub latency_budget: LatencyBudget,
    /// How writers must show that they are alive.
    pub liveliness: Liveliness,
    /// Whether losses are repaired; BEST_EFFORT by default.
    pub reliability: Reliability,
    /// Which time orders samples.
    pub destination_order: DestinationOrder,
    /// Samples kept per instance.
    pub history: History,
    /// Limits of the cache.
    pub resource_limits: ResourceLimits,
    /// Octets that other participants see.
    pub user_data: UserData,
    /// Whether several writers may update an instance.
    pub ownership: Ownership,
    /// Least time between samples of an instance.
    pub time_based_filter: TimeBasedFilter,
    /// When samples of dead instances go.
    pub reader_data_lifecycle: ReaderDataLifecycle,
    /// Encodings that are accepted: `[XCDR1, XCDR2]` by default, so that a reader understands every writer.
    pub representation: DataRepresentation,
    /// How far the writer's type may differ.
    pub type_consistency: TypeConsistencyEnforcement,
    /// Properties that other participants see.
    pub property: Property,
}

impl Default for DataReaderQos {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            deadline: Deadline::default(),
            latency_budget: LatencyBudget::default(),
            liveliness: Liveliness::default(),
            reliability: Reliability::BEST_EFFORT,
            destination_order: DestinationOrder::default(),
            history: History::default(),
            resource_limits: ResourceLimits::default(),
            user_data: UserData::default(),
            ownership: Ownership::default(),
            time_based_filter: TimeBasedFilter::default(),
            reader_data_lifecycle: ReaderDataLifecycle::default(),
            representation: DataRepresentation {
                ids: vec![DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2],
            },
            type_consistency: TypeConsistencyEnforcement::default(),
            property: Property::default(),
        }
    }
}

impl DataWriterQos {
    /// Overlays the policies of a topic (`copy_from_topic_qos`, DDS 1.4 §2.2.2.4.1.15).
    #[must_use]
    pub fn with_topic_qos(mut self, topic: &TopicQos) -> Self {
        self.durability = topic.durability;
        self.durability_service = topic.durability_service;
        self.deadline = topic.deadline;
        self.latency_budget = topic.latency_budget;
        self.liveliness = topic.liveliness;
        self.reliability = topic.reliability;
        self.destination_order = topic.destination_order;
        self.history = topic.history;
        self.resource_limits = topic.resource_limits;
        self.transport_priority = topic.transport_priority;
        self.lifespan = topic.lifespan;
        self.ownership = topic.ownership;
        if !topic.representation.ids.is_empty() {
            self.representation = topic.representation.clone();
        }
        self
    }
}

impl DataReaderQos {
    /// Overlays the policies of a topic (`copy_from_topic_qos`, DDS 1.4 §2.2.2.5.2.16).
    #[must_use]
    pub fn with_topic_qos(mut self, topic: &TopicQos) -> Self {
        self.durability = topic.durability;
        self.deadline = topic.deadline;
        self.latency_budget = topic.latency_budget;
        self.liveliness = topic.liveliness;
        self.reliability = topic.reliability;
        self.destination_order = topic.destination_order;
        self.history = topic.history;
        self.resource_limits = topic.resource_limits;
        self.ownership = topic.ownership;
        if !topic.representation.ids.is_empty() {
            self.representation = topic.representation.clone();
        }
        self
    }
}
