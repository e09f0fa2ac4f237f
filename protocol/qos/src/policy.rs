//! The policies of DDS 1.4 §2.2.3 as plain data, with the defaults of §2.2.3 for the majority of entities
//! (entity-specific defaults such as a writer's RELIABLE are in [`crate::DataWriterQos`] and its siblings).

use alloc::{string::String, vec::Vec};

use dunlin_core::Duration;

use crate::kinds::{
    DestinationOrderKind, DurabilityKind, HistoryKind, LivelinessKind, OwnershipKind,
    PresentationAccessScope, ReliabilityKind,
};

/// `LENGTH_UNLIMITED`, the value of a [`ResourceLimits`] field that sets no limit.
pub const UNLIMITED: i32 = -1;

/// USER_DATA (§2.2.3.1): octets of the application, sent with discovery.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserData(pub Vec<u8>);

/// TOPIC_DATA (§2.2.3.2): octets of the application, attached to a topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TopicData(pub Vec<u8>);

/// GROUP_DATA (§2.2.3.3): octets of the application, attached to a publisher or subscriber.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupData(pub Vec<u8>);

/// DURABILITY (§2.2.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Durability {
    /// What outlives the write.
    pub kind: DurabilityKind,
}

/// DURABILITY_SERVICE (§2.2.3.5): how history is kept for late joiners.
///
/// A writer above VOLATILE that keeps its history itself gives late joiners what this says; the default leaves that to
/// HISTORY. A limit never blocks a write: the oldest that is kept makes room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurabilityService {
    /// How long after an instance has no writers and is disposed it may be forgotten.
    pub service_cleanup_delay: Duration,
    /// The service's history kind.
    pub history_kind: HistoryKind,
    /// The service's history depth.
    pub history_depth: i32,
    /// Limit of samples, or [`UNLIMITED`].
    pub max_samples: i32,
    /// Limit of instances, or [`UNLIMITED`].
    pub max_instances: i32,
    /// Limit of samples of one instance, or [`UNLIMITED`].
    pub max_samples_per_instance: i32,
}

impl Default for DurabilityService {
    fn default() -> Self {
        Self {
            service_cleanup_delay: Duration::ZERO,
            history_kind: HistoryKind::KeepLast,
            history_depth: 1,
            max_samples: UNLIMITED,
            max_instances: UNLIMITED,
            max_samples_per_instance: UNLIMITED,
        }
    }
}

/// PRESENTATION (§2.2.3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Presentation {
    /// How far the guarantees reach.
    pub access_scope: PresentationAccessScope,
    /// Whether coherent sets are kept together.
    pub coherent_access: bool,
    /// Whether order is kept across instances or writers.
    pub ordered_access: bool,
}

/// DEADLINE (§2.2.3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// The longest time between two samples of an instance.
    pub period: Duration,
}

impl Default for Deadline {
    fn default() -> Self {
        Self { period: Duration::INFINITE }
    }
}

/// LATENCY_BUDGET (§2.2.3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyBudget {
    /// Delay that is acceptable between writing and delivery.
    pub duration: Duration,
}

impl Default for LatencyBudget {
    fn default() -> Self {
        Self { duration: Duration::ZERO }
    }
}

/// OWNERSHIP (§2.2.3.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ownership {
    /// Shared or exclusive.
    pub kind: OwnershipKind,
}

/// OWNERSHIP_STRENGTH (§2.2.3.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnershipStrength {
    /// The larger value wins.
    pub value: i32,
}

/// LIVELINESS (§2.2.3.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Liveliness {
    /// How the writer shows that it is alive.
    pub kind: LivelinessKind,
    /// The longest time between two signs of life.
    pub lease_duration: Duration,
}

impl Default for Liveliness {
    fn default() -> Self {
        Self { kind: LivelinessKind::Automatic, lease_duration: Duration::INFINITE }
    }
}

/// TIME_BASED_FILTER (§2.2.3.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeBasedFilter {
    /// The least time between two samples of an instance that the reader is given.
    pub minimum_separation: Duration,
}

impl Default for TimeBasedFilter {
    fn default() -> Self {
        Self { minimum_separation: Duration::ZERO }
    }
}

/// PARTITION (§2.2.3.13). An empty list means the same as one empty name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Partition {
    /// Names or `fnmatch` patterns.
    pub names: Vec<String>,
}

/// RELIABILITY (§2.2.3.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reliability {
    /// Whether lost data is repaired.
    pub kind: ReliabilityKind,
    /// How long a write may wait for room in the history.
    pub max_blocking_time: Duration,
}

impl Reliability {
    /// RELIABLE with the standard's blocking time of 100 ms, the default of writers.
    pub const RELIABLE: Self =
        Self { kind: ReliabilityKind::Reliable, max_blocking_time: Duration::from_millis(100) };
    /// BEST_EFFORT, the default of topics and readers.
    pub const BEST_EFFORT: Self =
        Self { kind: ReliabilityKind::BestEffort, max_blocking_time: Duration::from_millis(100) };
}

impl Default for Reliability {
    fn default() -> Self {
        Self::BEST_EFFORT
    }
}

/// TRANSPORT_PRIORITY (§2.2.3.15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransportPriority {
    /// The larger value is more urgent.
    pub value: i32,
}

/// LIFESPAN (§2.2.3.16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifespan {
    /// Time after which a sample is stale.
    pub duration: Duration,
}

impl Default for Lifespan {
    fn default() -> Self {
        Self { duration: Duration::INFINITE }
    }
}

/// DESTINATION_ORDER (§2.2.3.17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DestinationOrder {
    /// Which time orders the samples.
    pub kind: DestinationOrderKind,
}

/// HISTORY (§2.2.3.18).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    /// Keep the last ones or all.
    pub kind: HistoryKind,
    /// Samples kept per instance under `KEEP_LAST`; without meaning under `KEEP_ALL`.
    pub depth: i32,
}

impl Default for History {
    fn default() -> Self {
        Self { kind: HistoryKind::KeepLast, depth: 1 }
    }
}

/// RESOURCE_LIMITS (§2.2.3.19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Limit of samples, or [`UNLIMITED`].
    pub max_samples: i32,
    /// Limit of instances, or [`UNLIMITED`].
    pub max_instances: i32,
    /// Limit of samples of one instance, or [`UNLIMITED`].
    pub max_samples_per_instance: i32,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self { max_samples: UNLIMITED, max_instances: UNLIMITED, max_samples_per_instance: UNLIMITED }
    }
}

/// ENTITY_FACTORY (§2.2.3.20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntityFactory {
    /// Whether created entities are enabled at once.
    pub autoenable_created_entities: bool,
}

impl Default for EntityFactory {
    fn default() -> Self {
        Self { autoenable_created_entities: true }
    }
}

/// WRITER_DATA_LIFECYCLE (§2.2.3.21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterDataLifecycle {
    /// Whether unregistering an instance also disposes it; deleting a writer unregisters all of its instances.
    pub autodispose_unregistered_instances: bool,
}

impl Default for WriterDataLifecycle {
    fn default() -> Self {
        Self { autodispose_unregistered_instances: true }
    }
}

/// READER_DATA_LIFECYCLE (§2.2.3.22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderDataLifecycle {
    /// How long samples stay after their instance lost its last writer.
    pub autopurge_nowriter_samples_delay: Duration,
    /// How long samples stay after their instance was disposed.
    pub autopurge_disposed_samples_delay: Duration,
}

impl Default for ReaderDataLifecycle {
    fn default() -> Self {
        Self {
            autopurge_nowriter_samples_delay: Duration::INFINITE,
            autopurge_disposed_samples_delay: Duration::INFINITE,
        }
    }
}

/// PROPERTY (DDS Security 1.1 §7.2.5): names and values, sent with discovery.
///
/// Names that begin with `dds.sec.` configure security plugins and are refused where there are none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Property {
    /// Names with their values.
    pub values: Vec<(String, String)>,
}
