//! Builder methods of the QoS of each entity (DDS 1.4 §2.2.3), by value.

use alloc::{string::String, vec::Vec};

use dunlin_core::Duration;

use crate::{
    entity::{
        DataReaderQos, DataWriterQos, DomainParticipantFactoryQos, DomainParticipantQos, PublisherQos,
        SubscriberQos, TopicQos,
    },
    kinds::{
        DestinationOrderKind, DurabilityKind, HistoryKind, LivelinessKind, OwnershipKind,
        PresentationAccessScope, ReliabilityKind,
    },
    policy::{
        Deadline, DestinationOrder, Durability, DurabilityService, EntityFactory, GroupData, History,
        LatencyBudget, Lifespan, Liveliness, Ownership, OwnershipStrength, Partition, Presentation,
        ReaderDataLifecycle, ResourceLimits, TimeBasedFilter, TopicData, TransportPriority, UserData,
        WriterDataLifecycle,
    },
    type_policy::{DataRepresentation, DataRepresentationId, TypeConsistencyEnforcement},
};

/// Methods of every QoS with the policies that topics, writers and readers share.
macro_rules! data_policies {
    ($($qos:ty),+) => {$(
        impl $qos {
            /// RELIABILITY RELIABLE.
            #[must_use]
            pub fn reliable(mut self) -> Self {
                self.reliability.kind = ReliabilityKind::Reliable;
                self
            }
            /// RELIABILITY BEST_EFFORT.
            #[must_use]
            pub fn best_effort(mut self) -> Self {
                self.reliability.kind = ReliabilityKind::BestEffort;
                self
            }
            /// RELIABILITY max_blocking_time.
            #[must_use]
            pub fn max_blocking_time(mut self, time: Duration) -> Self {
                self.reliability.max_blocking_time = time;
                self
            }
            /// HISTORY KEEP_LAST with a depth of at least 1.
            #[must_use]
            pub fn keep_last(mut self, depth: i32) -> Self {
                self.history = History { kind: HistoryKind::KeepLast, depth };
                self
            }
            /// HISTORY KEEP_ALL.
            #[must_use]
            pub fn keep_all(mut self) -> Self {
                self.history.kind = HistoryKind::KeepAll;
                self
            }
            /// DURABILITY of any kind.
            #[must_use]
            pub fn durability(mut self, kind: DurabilityKind) -> Self {
                self.durability = Durability { kind };
                self
            }
            /// DURABILITY VOLATILE.
            #[must_use]
            pub fn volatile(self) -> Self {
                self.durability(DurabilityKind::Volatile)
            }
            /// DURABILITY TRANSIENT_LOCAL.
            #[must_use]
            pub fn transient_local(self) -> Self {
                self.durability(DurabilityKind::TransientLocal)
            }
            /// DEADLINE period.
            #[must_use]
            pub fn deadline(mut self, period: Duration) -> Self {
                self.deadline = Deadline { period };
                self
            }
            /// LATENCY_BUDGET duration.
            #[must_use]
            pub fn latency_budget(mut self, duration: Duration) -> Self {
                self.latency_budget = LatencyBudget { duration };
                self
            }
            /// LIVELINESS kind and lease.
            #[must_use]
            pub fn liveliness(mut self, kind: LivelinessKind, lease_duration: Duration) -> Self {
                self.liveliness = Liveliness { kind, lease_duration };
                self
            }
            /// OWNERSHIP SHARED.
            #[must_use]
            pub fn shared(mut self) -> Self {
                self.ownership = Ownership { kind: OwnershipKind::Shared };
                self
            }
            /// OWNERSHIP EXCLUSIVE.
            #[must_use]
            pub fn exclusive(mut self) -> Self {
                self.ownership = Ownership { kind: OwnershipKind::Exclusive };
                self
            }
            /// DESTINATION_ORDER of any kind.
            #[must_use]
            pub fn destination_order(mut self, kind: DestinationOrderKind) -> Self {
                self.destination_order = DestinationOrder { kind };
                self
            }
            /// DESTINATION_ORDER BY_SOURCE_TIMESTAMP.
            #[must_use]
            pub fn by_source_timestamp(self) -> Self {
                self.destination_order(DestinationOrderKind::BySourceTimestamp)
            }
            /// RESOURCE_LIMITS; [`crate::UNLIMITED`] sets no limit.
            #[must_use]
            pub fn resource_limits(
                mut self,
                max_samples: i32,
                max_instances: i32,
                max_samples_per_instance: i32,
            ) -> Self {
                self.resource_limits = ResourceLimits { max_samples, max_instances, max_samples_per_instance };
                self
            }
            /// DATA_REPRESENTATION, the preferred encoding first.
            #[must_use]
            pub fn representation(mut self, ids: &[DataRepresentationId]) -> Self {
                self.representation = DataRepresentation { ids: ids.to_vec() };
                self
            }
        }
    )+};
}

/// Methods of the QoS that concern sending only.
macro_rules! sending_policies {
    ($($qos:ty),+) => {$(
        impl $qos {
            /// LIFESPAN duration.
            #[must_use]
            pub fn lifespan(mut self, duration: Duration) -> Self {
                self.lifespan = Lifespan { duration };
                self
            }
            /// TRANSPORT_PRIORITY value.
            #[must_use]
            pub fn transport_priority(mut self, value: i32) -> Self {
                self.transport_priority = TransportPriority { value };
                self
            }
            /// DURABILITY_SERVICE as a whole.
            #[must_use]
            pub fn durability_service(mut self, service: DurabilityService) -> Self {
                self.durability_service = service;
                self
            }
        }
    )+};
}

/// USER_DATA and PROPERTY.
macro_rules! announced_policies {
    ($($qos:ty),+) => {$(
        impl $qos {
            /// USER_DATA octets.
            #[must_use]
            pub fn user_data(mut self, octets: impl Into<Vec<u8>>) -> Self {
                self.user_data = UserData(octets.into());
                self
            }
            /// Adds one PROPERTY.
            #[must_use]
            pub fn property(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.property.values.push((name.into(), value.into()));
                self
            }
        }
    )+};
}

/// ENTITY_FACTORY.
macro_rules! factory_policies {
    ($($qos:ty),+) => {$(
        impl $qos {
            /// ENTITY_FACTORY autoenable_created_entities.
            #[must_use]
            pub fn autoenable_created_entities(mut self, enable: bool) -> Self {
                self.entity_factory = EntityFactory { autoenable_created_entities: enable };
                self
            }
        }
    )+};
}

/// Methods of publishers and subscribers.
macro_rules! group_policies {
    ($($qos:ty),+) => {$(
        impl $qos {
            /// PARTITION names, replacing earlier ones.
            #[must_use]
            pub fn partition<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
                self.partition = Partition { names: names.into_iter().map(Into::into).collect() };
                self
            }
            /// GROUP_DATA octets.
            #[must_use]
            pub fn group_data(mut self, octets: impl Into<Vec<u8>>) -> Self {
                self.group_data = GroupData(octets.into());
                self
            }
            /// PRESENTATION as a whole.
            #[must_use]
            pub fn presentation(
                mut self,
                access_scope: PresentationAccessScope,
                coherent_access: bool,
                ordered_access: bool,
            ) -> Self {
                self.presentation = Presentation { access_scope, coherent_access, ordered_access };
                self
            }
        }
    )+};
}

data_policies!(TopicQos, DataWriterQos, DataReaderQos);
sending_policies!(TopicQos, DataWriterQos);
announced_policies!(DomainParticipantQos, DataWriterQos, DataReaderQos);
factory_policies!(DomainParticipantFactoryQos, DomainParticipantQos, PublisherQos, SubscriberQos);
group_policies!(PublisherQos, SubscriberQos);

impl TopicQos {
    /// TOPIC_DATA octets.
    #[must_use]
    pub fn topic_data(mut self, octets: impl Into<Vec<u8>>) -> Self {
        self.topic_data = TopicData(octets.into());
        self
    }
}

impl DataWriterQos {
    /// OWNERSHIP_STRENGTH value.
    #[must_use]
    pub fn ownership_strength(mut self, value: i32) -> Self {
        self.ownership_strength = OwnershipStrength { value };
        self
    }

    /// WRITER_DATA_LIFECYCLE autodispose_unregistered_instances.
    #[must_use]
    pub fn autodispose_unregistered_instances(mut self, autodispose: bool) -> Self {
        self.writer_data_lifecycle = WriterDataLifecycle { autodispose_unregistered_instances: autodispose };
        self
    }
}

impl DataReaderQos {
    /// TIME_BASED_FILTER minimum_separation.
    #[must_use]
    pub fn time_based_filter(mut self, minimum_separation: Duration) -> Self {
        self.time_based_filter = TimeBasedFilter { minimum_separation };
        self
    }

    /// READER_DATA_LIFECYCLE: delays before samples of instances without writers, and of disposed ones, go.
    #[must_use]
    pub fn autopurge(mut self, nowriter: Duration, disposed: Duration) -> Self {
        self.reader_data_lifecycle = ReaderDataLifecycle {
            autopurge_nowriter_samples_delay: nowriter,
            autopurge_disposed_samples_delay: disposed,
        };
        self
    }

    /// TYPE_CONSISTENCY_ENFORCEMENT as a whole.
    #[must_use]
    pub fn type_consistency(mut self, enforcement: TypeConsistencyEnforcement) -> Self {
        self.type_consistency = enforcement;
        self
    }
}
