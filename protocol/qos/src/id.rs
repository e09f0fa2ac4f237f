//! Policy identifiers: DDS 1.4 §2.3.3 (`QosPolicyId_t`), DDS-XTypes 1.3 §7.6.3 for 23 and 24.

use core::fmt;

/// Names a policy, with the number that the DDS API gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum PolicyId {
    /// USER_DATA
    UserData = 1,
    /// DURABILITY
    Durability = 2,
    /// PRESENTATION
    Presentation = 3,
    /// DEADLINE
    Deadline = 4,
    /// LATENCY_BUDGET
    LatencyBudget = 5,
    /// OWNERSHIP
    Ownership = 6,
    /// OWNERSHIP_STRENGTH
    OwnershipStrength = 7,
    /// LIVELINESS
    Liveliness = 8,
    /// TIME_BASED_FILTER
    TimeBasedFilter = 9,
    /// PARTITION
    Partition = 10,
    /// RELIABILITY
    Reliability = 11,
    /// DESTINATION_ORDER
    DestinationOrder = 12,
    /// HISTORY
    History = 13,
    /// RESOURCE_LIMITS
    ResourceLimits = 14,
    /// ENTITY_FACTORY
    EntityFactory = 15,
    /// WRITER_DATA_LIFECYCLE
    WriterDataLifecycle = 16,
    /// READER_DATA_LIFECYCLE
    ReaderDataLifecycle = 17,
    /// TOPIC_DATA
    TopicData = 18,
    /// GROUP_DATA
    GroupData = 19,
    /// TRANSPORT_PRIORITY
    TransportPriority = 20,
    /// LIFESPAN
    Lifespan = 21,
    /// DURABILITY_SERVICE
    DurabilityService = 22,
    /// DATA_REPRESENTATION
    DataRepresentation = 23,
    /// TYPE_CONSISTENCY_ENFORCEMENT
    TypeConsistencyEnforcement = 24,
    /// PROPERTY (DDS Security); never a matching policy. Its number is outside the standard's range.
    Property = 0x8000,
}

impl PolicyId {
    /// The number used by the DDS API.
    #[must_use]
    pub const fn value(self) -> u32 {
        self as u32
    }

    /// The policy's name in the standard, such as `"RELIABILITY"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserData => "USER_DATA",
            Self::Durability => "DURABILITY",
            Self::Presentation => "PRESENTATION",
            Self::Deadline => "DEADLINE",
            Self::LatencyBudget => "LATENCY_BUDGET",
            Self::Ownership => "OWNERSHIP",
            Self::OwnershipStrength => "OWNERSHIP_STRENGTH",
            Self::Liveliness => "LIVELINESS",
            Self::TimeBasedFilter => "TIME_BASED_FILTER",
            Self::Partition => "PARTITION",
            Self::Reliability => "RELIABILITY",
            Self::DestinationOrder => "DESTINATION_ORDER",
            Self::History => "HISTORY",
            Self::ResourceLimits => "RESOURCE_LIMITS",
            Self::EntityFactory => "ENTITY_FACTORY",
            Self::WriterDataLifecycle => "WRITER_DATA_LIFECYCLE",
            Self::ReaderDataLifecycle => "READER_DATA_LIFECYCLE",
            Self::TopicData => "TOPIC_DATA",
            Self::GroupData => "GROUP_DATA",
            Self::TransportPriority => "TRANSPORT_PRIORITY",
            Self::Lifespan => "LIFESPAN",
            Self::DurabilityService => "DURABILITY_SERVICE",
            Self::DataRepresentation => "DATA_REPRESENTATION",
            Self::TypeConsistencyEnforcement => "TYPE_CONSISTENCY_ENFORCEMENT",
            Self::Property => "PROPERTY",
        }
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
