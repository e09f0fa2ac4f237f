//! The types of the built-in topics (DDS 1.4 §2.2.5), with members as in the standard's IDL. Kinds are the numbers of its
//! enumerations: DURABILITY 0 to 3, LIVELINESS 0 to 2, RELIABILITY 1 and 2 on the wire but 0 and 1 here, as in the IDL.

use std::fmt;

use dunlin_core::{Duration, Guid, InstanceHandle};
use dunlin_derive::DdsType;
use dunlin_discovery::{DiscoveredReader, DiscoveredWriter, ParticipantData};
use dunlin_qos::{
    DataRepresentation, DestinationOrderKind, DurabilityKind, DurabilityService, LivelinessKind,
    OwnershipKind, PresentationAccessScope, ReliabilityKind, TopicQos, TypeConsistencyEnforcement,
    TypeConsistencyKind,
};

/// Name of the topic with a sample for each other participant.
pub const DCPS_PARTICIPANT: &str = "DCPSParticipant";
/// Name of the topic with a sample for each topic of other participants.
pub const DCPS_TOPIC: &str = "DCPSTopic";
/// Name of the topic with a sample for each writer of other participants.
pub const DCPS_PUBLICATION: &str = "DCPSPublication";
/// Name of the topic with a sample for each reader of other participants.
pub const DCPS_SUBSCRIPTION: &str = "DCPSSubscription";

/// BuiltinTopicKey_t: the GUID. The instance handle of a sample has the same octets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, DdsType)]
#[dds(name = "DDS::BuiltinTopicKey_t", nested, final)]
pub struct BuiltinTopicKey {
    /// The octets.
    #[dds(key)]
    pub value: [u8; 16],
}

impl BuiltinTopicKey {
    /// The entity.
    #[must_use]
    pub const fn guid(self) -> Guid {
        Guid::from_bytes(self.value)
    }

    /// The handle, for `ignore_participant` and others.
    #[must_use]
    pub const fn handle(self) -> InstanceHandle {
        InstanceHandle(self.value)
    }
}

impl fmt::Debug for BuiltinTopicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.guid(), f)
    }
}

impl From<Guid> for BuiltinTopicKey {
    fn from(guid: Guid) -> Self {
        Self { value: guid.to_bytes() }
    }
}

/// Duration_t of the IDL; infinite is 0x7fffffff twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "DDS::Duration_t", nested, final)]
pub struct BuiltinDuration {
    /// Seconds.
    pub sec: i32,
    /// Nanoseconds, below 10⁹.
    pub nanosec: u32,
}

impl From<Duration> for BuiltinDuration {
    fn from(duration: Duration) -> Self {
        if duration.is_infinite() {
            return Self { sec: i32::MAX, nanosec: i32::MAX as u32 };
        }
        let nanos = duration.as_nanos().max(0);
        let (sec, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        Self { sec: i32::try_from(sec).unwrap_or(i32::MAX - 1), nanosec: u32::try_from(rest).unwrap_or(0) }
    }
}

impl From<BuiltinDuration> for Duration {
    fn from(duration: BuiltinDuration) -> Self {
        if duration.sec == i32::MAX && duration.nanosec == i32::MAX as u32 {
            return Self::INFINITE;
        }
        Self::from_nanos(i64::from(duration.sec) * 1_000_000_000 + i64::from(duration.nanosec))
    }
}

/// DurabilityServiceQosPolicy of the IDL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "DDS::DurabilityServiceQosPolicy", nested, final)]
pub struct BuiltinDurabilityService {
    /// How long after an instance has no writers and is disposed it may be forgotten.
    pub service_cleanup_delay: BuiltinDuration,
    /// 0 KEEP_LAST, 1 KEEP_ALL.
    pub history_kind: i32,
    /// Samples of each instance, with KEEP_LAST.
    pub history_depth: i32,
    /// -1 without limit.
    pub max_samples: i32,
    /// -1 without limit.
    pub max_instances: i32,
    /// -1 without limit.
    pub max_samples_per_instance: i32,
}

impl From<&DurabilityService> for BuiltinDurabilityService {
    fn from(service: &DurabilityService) -> Self {
        Self {
            service_cleanup_delay: service.service_cleanup_delay.into(),
            history_kind: service.history_kind.value(),
            history_depth: service.history_depth,
            max_samples: service.max_samples,
            max_instances: service.max_instances,
            max_samples_per_instance: service.max_samples_per_instance,
        }
    }
}

/// HistoryQosPolicy of the IDL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "DDS::HistoryQosPolicy", nested, final)]
pub struct BuiltinHistory {
    /// 0 KEEP_LAST, 1 KEEP_ALL.
    pub kind: i32,
    /// Samples of each instance, with KEEP_LAST.
    pub depth: i32,
}

/// ResourceLimitsQosPolicy of the IDL; -1 without limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "DDS::ResourceLimitsQosPolicy", nested, final)]
pub struct BuiltinResourceLimits {
    /// Of all instances.
    pub max_samples: i32,
    /// Instances.
    pub max_instances: i32,
    /// Of one instance.
    pub max_samples_per_instance: i32,
}

/// TypeConsistencyEnforcementQosPolicy of the IDL (XTypes 1.3 §7.6.3.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "DDS::TypeConsistencyEnforcementQosPolicy", nested, final)]
pub struct BuiltinTypeConsistency {
    /// 0 DISALLOW_TYPE_COERCION, 1 ALLOW_TYPE_COERCION.
    pub kind: i32,
    /// Whether bounds of sequences may differ.
    pub ignore_sequence_bounds: bool,
    /// Whether bounds of strings may differ.
    pub ignore_string_bounds: bool,
    /// Whether names of members may differ.
    pub ignore_member_names: bool,
    /// Whether the writer's type must not be wider than the reader's.
    pub prevent_type_widening: bool,
    /// Whether endpoints match only after types were compared.
    pub force_type_validation: bool,
}

impl From<TypeConsistencyEnforcement> for BuiltinTypeConsistency {
    fn from(types: TypeConsistencyEnforcement) -> Self {
        Self {
            kind: i32::from(types.kind == TypeConsistencyKind::AllowTypeCoercion),
            ignore_sequence_bounds: types.ignore_sequence_bounds,
            ignore_string_bounds: types.ignore_string_bounds,
            ignore_member_names: types.ignore_member_names,
            prevent_type_widening: types.prevent_type_widening,
            force_type_validation: types.force_type_validation,
        }
    }
}

/// DATA_REPRESENTATION of the IDL: 0 XCDR1, 1 XML, 2 XCDR2.
fn representation(policy: &DataRepresentation) -> Vec<i16> {
    policy.ids.iter().map(|id| id.value()).collect()
}

/// As it was announced; empty if nothing was.
fn octets(type_information: Option<&[u8]>) -> Vec<u8> {
    type_information.unwrap_or_default().to_vec()
}

/// ParticipantBuiltinTopicData, a sample of DCPSParticipant.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "DDS::ParticipantBuiltinTopicData")]
pub struct DcpsParticipant {
    /// Which.
    #[dds(key)]
    pub key: BuiltinTopicKey,
    /// USER_DATA.
    pub user_data: Vec<u8>,
    /// A name for people, perhaps empty.
    pub name: String,
    /// Who made it: the vendor id.
    pub vendor: [u8; 2],
}

/// TopicBuiltinTopicData, a sample of DCPSTopic: a topic and type that endpoints of other participants name. Its policies
/// are those of the first of them.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "DDS::TopicBuiltinTopicData")]
pub struct DcpsTopic {
    /// Which: made from the names of topic and type, so the same everywhere.
    #[dds(key)]
    pub key: BuiltinTopicKey,
    /// Name of the topic.
    pub name: String,
    /// Name of its type.
    pub type_name: String,
    /// DURABILITY kind.
    pub durability: i32,
    /// DURABILITY_SERVICE.
    pub durability_service: BuiltinDurabilityService,
    /// DEADLINE.
    pub deadline: BuiltinDuration,
    /// LATENCY_BUDGET.
    pub latency_budget: BuiltinDuration,
    /// LIVELINESS kind.
    pub liveliness: i32,
    /// LIVELINESS lease.
    pub liveliness_lease: BuiltinDuration,
    /// RELIABILITY kind.
    pub reliability: i32,
    /// TRANSPORT_PRIORITY.
    pub transport_priority: i32,
    /// LIFESPAN.
    pub lifespan: BuiltinDuration,
    /// DESTINATION_ORDER kind.
    pub destination_order: i32,
    /// HISTORY.
    pub history: BuiltinHistory,
    /// RESOURCE_LIMITS.
    pub resource_limits: BuiltinResourceLimits,
    /// OWNERSHIP kind.
    pub ownership: i32,
    /// TOPIC_DATA.
    pub topic_data: Vec<u8>,
    /// DATA_REPRESENTATION: 0 XCDR1, 1 XML, 2 XCDR2.
    pub representation: Vec<i16>,
}

/// PublicationBuiltinTopicData, a sample of DCPSPublication.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "DDS::PublicationBuiltinTopicData")]
pub struct DcpsPublication {
    /// Which.
    #[dds(key)]
    pub key: BuiltinTopicKey,
    /// Its participant.
    pub participant_key: BuiltinTopicKey,
    /// Name of the topic.
    pub topic_name: String,
    /// Name of its type.
    pub type_name: String,
    /// DURABILITY kind.
    pub durability: i32,
    /// DURABILITY_SERVICE.
    pub durability_service: BuiltinDurabilityService,
    /// DEADLINE.
    pub deadline: BuiltinDuration,
    /// LATENCY_BUDGET.
    pub latency_budget: BuiltinDuration,
    /// LIVELINESS kind.
    pub liveliness: i32,
    /// LIVELINESS lease.
    pub liveliness_lease: BuiltinDuration,
    /// RELIABILITY kind.
    pub reliability: i32,
    /// LIFESPAN.
    pub lifespan: BuiltinDuration,
    /// USER_DATA.
    pub user_data: Vec<u8>,
    /// OWNERSHIP kind.
    pub ownership: i32,
    /// OWNERSHIP_STRENGTH.
    pub ownership_strength: i32,
    /// DESTINATION_ORDER kind.
    pub destination_order: i32,
    /// PRESENTATION access scope.
    pub access_scope: i32,
    /// PRESENTATION coherent access.
    pub coherent_access: bool,
    /// PRESENTATION ordered access.
    pub ordered_access: bool,
    /// PARTITION.
    pub partition: Vec<String>,
    /// TOPIC_DATA.
    pub topic_data: Vec<u8>,
    /// GROUP_DATA.
    pub group_data: Vec<u8>,
    /// DATA_REPRESENTATION: 0 XCDR1, 1 XML, 2 XCDR2.
    pub representation: Vec<i16>,
    /// TypeInformation, serialized as it was announced (XTypes 1.3 §7.6.3.2.2); empty if nothing was.
    pub type_information: Vec<u8>,
}

/// SubscriptionBuiltinTopicData, a sample of DCPSSubscription.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "DDS::SubscriptionBuiltinTopicData")]
pub struct DcpsSubscription {
    /// Which.
    #[dds(key)]
    pub key: BuiltinTopicKey,
    /// Its participant.
    pub participant_key: BuiltinTopicKey,
    /// Name of the topic.
    pub topic_name: String,
    /// Name of its type.
    pub type_name: String,
    /// DURABILITY kind.
    pub durability: i32,
    /// DEADLINE.
    pub deadline: BuiltinDuration,
    /// LATENCY_BUDGET.
    pub latency_budget: BuiltinDuration,
    /// LIVELINESS kind.
    pub liveliness: i32,
    /// LIVELINESS lease.
    pub liveliness_lease: BuiltinDuration,
    /// RELIABILITY kind.
    pub reliability: i32,
    /// OWNERSHIP kind.
    pub ownership: i32,
    /// DESTINATION_ORDER kind.
    pub destination_order: i32,
    /// USER_DATA.
    pub user_data: Vec<u8>,
    /// TIME_BASED_FILTER.
    pub minimum_separation: BuiltinDuration,
    /// PRESENTATION access scope.
    pub access_scope: i32,
    /// PRESENTATION coherent access.
    pub coherent_access: bool,
    /// PRESENTATION ordered access.
    pub ordered_access: bool,
    /// PARTITION.
    pub partition: Vec<String>,
    /// TOPIC_DATA.
    pub topic_data: Vec<u8>,
    /// GROUP_DATA.
    pub group_data: Vec<u8>,
    /// DATA_REPRESENTATION: 0 XCDR1, 1 XML, 2 XCDR2.
    pub representation: Vec<i16>,
    /// TYPE_CONSISTENCY_ENFORCEMENT.
    pub type_consistency: BuiltinTypeConsistency,
    /// TypeInformation, serialized as it was announced (XTypes 1.3 §7.6.3.2.2); empty if nothing was.
    pub type_information: Vec<u8>,
}

const fn durability(kind: DurabilityKind) -> i32 {
    match kind {
        DurabilityKind::Volatile => 0,
        DurabilityKind::TransientLocal => 1,
        DurabilityKind::Transient => 2,
        DurabilityKind::Persistent => 3,
    }
}

const fn liveliness(kind: LivelinessKind) -> i32 {
    match kind {
        LivelinessKind::Automatic => 0,
        LivelinessKind::ManualByParticipant => 1,
        LivelinessKind::ManualByTopic => 2,
    }
}

const fn scope(kind: PresentationAccessScope) -> i32 {
    match kind {
        PresentationAccessScope::Instance => 0,
        PresentationAccessScope::Topic => 1,
        PresentationAccessScope::Group => 2,
    }
}

fn reliability(kind: ReliabilityKind) -> i32 {
    i32::from(kind == ReliabilityKind::Reliable)
}

fn order(kind: DestinationOrderKind) -> i32 {
    i32::from(kind == DestinationOrderKind::BySourceTimestamp)
}

fn ownership(kind: OwnershipKind) -> i32 {
    i32::from(kind == OwnershipKind::Exclusive)
}

impl From<&ParticipantData> for DcpsParticipant {
    fn from(data: &ParticipantData) -> Self {
        Self {
            key: data.guid().into(),
            user_data: data.user_data.0.clone(),
            name: data.entity_name.clone(),
            vendor: data.vendor.0,
        }
    }
}

impl DcpsTopic {
    /// The key of a topic.
    pub(crate) fn key_of(name: &str, type_name: &str) -> BuiltinTopicKey {
        // FNV-1a in two keys; it only has to tell the topics of one domain apart.
        let hash = |basis: u64| {
            let octets = name.bytes().chain([0]).chain(type_name.bytes());
            octets.fold(basis, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3))
        };
        let halves = [hash(0xcbf2_9ce4_8422_2325), hash(0x6c62_272e_07bb_0142)];
        let mut value = [0; 16];
        for (to, half) in value.chunks_exact_mut(8).zip(halves) {
            to.copy_from_slice(&half.to_be_bytes());
        }
        BuiltinTopicKey { value }
    }

    /// A topic with the policies of an endpoint.
    pub(crate) fn new(name: &str, type_name: &str, qos: &TopicQos) -> Self {
        Self {
            key: Self::key_of(name, type_name),
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            durability: durability(qos.durability.kind),
            durability_service: (&qos.durability_service).into(),
            deadline: qos.deadline.period.into(),
            latency_budget: qos.latency_budget.duration.into(),
            liveliness: liveliness(qos.liveliness.kind),
            liveliness_lease: qos.liveliness.lease_duration.into(),
            reliability: reliability(qos.reliability.kind),
            transport_priority: qos.transport_priority.value,
            lifespan: qos.lifespan.duration.into(),
            destination_order: order(qos.destination_order.kind),
            history: BuiltinHistory { kind: qos.history.kind.value(), depth: qos.history.depth },
            resource_limits: BuiltinResourceLimits {
                max_samples: qos.resource_limits.max_samples,
                max_instances: qos.resource_limits.max_instances,
                max_samples_per_instance: qos.resource_limits.max_samples_per_instance,
            },
            ownership: ownership(qos.ownership.kind),
            topic_data: qos.topic_data.0.clone(),
            representation: representation(&qos.representation),
        }
    }
}

/// What a topic must be like for a writer with the same policies.
pub(crate) fn topic_of_writer(data: &DiscoveredWriter) -> TopicQos {
    let qos = &data.qos;
    TopicQos {
        topic_data: data.topic_data.clone(),
        durability: qos.durability,
        durability_service: qos.durability_service,
        deadline: qos.deadline,
        latency_budget: qos.latency_budget,
        liveliness: qos.liveliness,
        reliability: qos.reliability,
        destination_order: qos.destination_order,
        history: qos.history,
        resource_limits: qos.resource_limits,
        transport_priority: qos.transport_priority,
        lifespan: qos.lifespan,
        ownership: qos.ownership,
        representation: qos.representation.clone(),
    }
}

/// The same for a reader.
pub(crate) fn topic_of_reader(data: &DiscoveredReader) -> TopicQos {
    let qos = &data.qos;
    TopicQos {
        topic_data: data.topic_data.clone(),
        durability: qos.durability,
        deadline: qos.deadline,
        latency_budget: qos.latency_budget,
        liveliness: qos.liveliness,
        reliability: qos.reliability,
        destination_order: qos.destination_order,
        history: qos.history,
        resource_limits: qos.resource_limits,
        ownership: qos.ownership,
        representation: qos.representation.clone(),
        ..TopicQos::default()
    }
}

impl From<&DiscoveredWriter> for DcpsPublication {
    fn from(data: &DiscoveredWriter) -> Self {
        let (qos, group) = (&data.qos, &data.publisher_qos);
        Self {
            key: data.guid.into(),
            participant_key: data.participant().into(),
            topic_name: data.topic_name.to_string(),
            type_name: data.type_name.to_string(),
            durability: durability(qos.durability.kind),
            durability_service: (&qos.durability_service).into(),
            deadline: qos.deadline.period.into(),
            latency_budget: qos.latency_budget.duration.into(),
            liveliness: liveliness(qos.liveliness.kind),
            liveliness_lease: qos.liveliness.lease_duration.into(),
            reliability: reliability(qos.reliability.kind),
            lifespan: qos.lifespan.duration.into(),
            user_data: qos.user_data.0.clone(),
            ownership: ownership(qos.ownership.kind),
            ownership_strength: qos.ownership_strength.value,
            destination_order: order(qos.destination_order.kind),
            access_scope: scope(group.presentation.access_scope),
            coherent_access: group.presentation.coherent_access,
            ordered_access: group.presentation.ordered_access,
            partition: group.partition.names.clone(),
            topic_data: data.topic_data.0.clone(),
            group_data: group.group_data.0.clone(),
            representation: representation(&qos.representation),
            type_information: octets(data.type_information.as_deref()),
        }
    }
}

impl From<&DiscoveredReader> for DcpsSubscription {
    fn from(data: &DiscoveredReader) -> Self {
        let (qos, group) = (&data.qos, &data.subscriber_qos);
        Self {
            key: data.guid.into(),
            participant_key: data.participant().into(),
            topic_name: data.topic_name.to_string(),
            type_name: data.type_name.to_string(),
            durability: durability(qos.durability.kind),
            deadline: qos.deadline.period.into(),
            latency_budget: qos.latency_budget.duration.into(),
            liveliness: liveliness(qos.liveliness.kind),
            liveliness_lease: qos.liveliness.lease_duration.into(),
            reliability: reliability(qos.reliability.kind),
            ownership: ownership(qos.ownership.kind),
            destination_order: order(qos.destination_order.kind),
            user_data: qos.user_data.0.clone(),
            minimum_separation: qos.time_based_filter.minimum_separation.into(),
            access_scope: scope(group.presentation.access_scope),
            coherent_access: group.presentation.coherent_access,
            ordered_access: group.presentation.ordered_access,
            partition: group.partition.names.clone(),
            topic_data: data.topic_data.0.clone(),
            group_data: group.group_data.0.clone(),
            representation: representation(&qos.representation),
            type_consistency: qos.type_consistency.into(),
            type_information: octets(data.type_information.as_deref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_go_there_and_back() {
        for duration in [Duration::ZERO, Duration::from_millis(1500), Duration::INFINITE] {
            assert_eq!(Duration::from(BuiltinDuration::from(duration)), duration);
        }
    }

    #[test]
    fn topics_differ_by_name_and_type() {
        let keys = [("a", "bc"), ("ab", "c"), ("a", "b"), ("b", "a")].map(|(n, t)| DcpsTopic::key_of(n, t));
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key));
        }
        assert_eq!(DcpsTopic::key_of("a", "bc"), keys[0]);
    }
}
