//! Quality of service: the policies of DDS 1.4 §2.2.3 and DDS-XTypes 1.3 §7.6.3, the QoS of each entity, and their rules.
//!
//! Every policy is plain data. On top of it stand four questions, each a pure function:
//!
//! * Do the policies of one entity contradict each other? (`check_consistency`, DDS 1.4 §2.2.3)
//! * Is every policy that was set also effective in this version? (`check_supported`)
//! * May an enabled entity change from one QoS to another? (`check_changeable`, DDS 1.4 §2.2.3 "changeable")
//! * Does what a writer offers satisfy what a reader requests? ([`check_compatible`], DDS 1.4 §2.2.3 "RxO", and
//!   [`partitions_match`], §2.2.3.13)
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]
extern crate alloc;

mod builder;
mod change;
mod compat;
mod consistency;
mod entity;
mod error;
mod id;
mod kinds;
mod partition;
mod policy;
mod service;
mod support;
mod type_policy;

pub use compat::{IncompatiblePolicy, ReaderRequest, WriterOffer, check_compatible};
pub use entity::{
    DataReaderQos, DataWriterQos, DomainParticipantFactoryQos, DomainParticipantQos, PublisherQos,
    SubscriberQos, TopicQos,
};
pub use error::{ImmutablePolicy, InconsistentPolicy, QosError, UnsupportedPolicy};
pub use id::PolicyId;
pub use kinds::{
    DestinationOrderKind, DurabilityKind, HistoryKind, LivelinessKind, OwnershipKind,
    PresentationAccessScope, ReliabilityKind, TypeConsistencyKind,
};
pub use partition::{is_partition_pattern, partition_names_match, partitions_match};
pub use policy::{
    Deadline, DestinationOrder, Durability, DurabilityService, EntityFactory, GroupData, History,
    LatencyBudget, Lifespan, Liveliness, Ownership, OwnershipStrength, Partition, Presentation, Property,
    ReaderDataLifecycle, Reliability, ResourceLimits, TimeBasedFilter, TopicData, TransportPriority,
    UNLIMITED, UserData, WriterDataLifecycle,
};
pub use service::{MAX_SERVICE_PATH, ServiceMark};
pub use type_policy::{DataRepresentation, DataRepresentationId, TypeConsistencyEnforcement};
