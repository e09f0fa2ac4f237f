//! Policies that contradict each other or are out of range (DDS 1.4 §2.2.3, per policy; `INCONSISTENT_POLICY`).

use dunlin_core::Duration;

use crate::{
    entity::{DataReaderQos, DataWriterQos, DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos},
    error::InconsistentPolicy,
    id::PolicyId,
    kinds::HistoryKind,
    policy::{
        DurabilityService, History, Liveliness, Partition, Property, Reliability, ResourceLimits, UNLIMITED,
    },
    type_policy::DataRepresentation,
};

type Check = Result<(), InconsistentPolicy>;

/// Longest partition name, and longest name or value of a property, in octets.
const MAX_NAME: usize = 256;
/// Most octets of USER_DATA, TOPIC_DATA or GROUP_DATA.
const MAX_OPAQUE: usize = 16 * 1024;
/// Most partition names.
const MAX_PARTITIONS: usize = 64;
/// Most properties.
const MAX_PROPERTIES: usize = 64;
/// Longest value of a property, in octets.
const MAX_PROPERTY_VALUE: usize = 512;

fn ensure(holds: bool, policy: PolicyId, reason: &'static str) -> Check {
    if holds { Ok(()) } else { Err(InconsistentPolicy { policy, reason }) }
}

fn not_negative(duration: Duration, policy: PolicyId) -> Check {
    ensure(duration >= Duration::ZERO, policy, "a duration must not be negative")
}

fn opaque(octets: &[u8], policy: PolicyId) -> Check {
    ensure(octets.len() <= MAX_OPAQUE, policy, "at most 16384 bytes can be announced")
}

fn limit_is_valid(limit: i32) -> bool {
    limit == UNLIMITED || limit > 0
}

/// `small <= large` where -1 stands for infinity.
fn limit_within(small: i32, large: i32) -> bool {
    large == UNLIMITED || (small != UNLIMITED && small <= large)
}

fn history_and_limits(history: History, limits: ResourceLimits, of: [PolicyId; 2]) -> Check {
    let [history_policy, limits_policy] = of;
    let all = [limits.max_samples, limits.max_instances, limits.max_samples_per_instance];
    ensure(all.into_iter().all(limit_is_valid), limits_policy, "a limit must be -1 (unlimited) or positive")?;
    // An unlimited number per instance is bounded by max_samples, so only a limited one can contradict it.
    let per_instance = limits.max_samples_per_instance;
    ensure(
        per_instance == UNLIMITED || limit_within(per_instance, limits.max_samples),
        limits_policy,
        "max_samples must be at least max_samples_per_instance",
    )?;
    if history.kind == HistoryKind::KeepAll {
        return Ok(());
    }
    ensure(history.depth >= 1, history_policy, "the depth of KEEP_LAST must be at least 1")?;
    ensure(
        limit_within(history.depth, per_instance),
        history_policy,
        "the depth must not exceed max_samples_per_instance",
    )
}

fn durability_service(service: &DurabilityService) -> Check {
    not_negative(service.service_cleanup_delay, PolicyId::DurabilityService)?;
    let history = History { kind: service.history_kind, depth: service.history_depth };
    let limits = ResourceLimits {
        max_samples: service.max_samples,
        max_instances: service.max_instances,
        max_samples_per_instance: service.max_samples_per_instance,
    };
    history_and_limits(history, limits, [PolicyId::DurabilityService; 2])
}

fn liveliness(liveliness: Liveliness) -> Check {
    let positive = liveliness.lease_duration > Duration::ZERO;
    ensure(positive, PolicyId::Liveliness, "the lease duration must be positive")
}

fn reliability(reliability: Reliability) -> Check {
    not_negative(reliability.max_blocking_time, PolicyId::Reliability)
}

fn partition(partition: &Partition) -> Check {
    ensure(partition.names.len() <= MAX_PARTITIONS, PolicyId::Partition, "at most 64 names")?;
    let sendable = |name: &alloc::string::String| name.len() <= MAX_NAME && !name.contains('\0');
    ensure(
        partition.names.iter().all(sendable),
        PolicyId::Partition,
        "a name has at most 256 bytes and no zero byte",
    )
}

fn property(property: &Property) -> Check {
    ensure(property.values.len() <= MAX_PROPERTIES, PolicyId::Property, "at most 64 properties")?;
    let sendable = property.values.iter().all(|(name, value)| {
        name.len() <= MAX_NAME
            && value.len() <= MAX_PROPERTY_VALUE
            && !name.contains('\0')
            && !value.contains('\0')
    });
    ensure(
        sendable,
        PolicyId::Property,
        "a name has at most 256 bytes, a value 512, and neither a zero byte",
    )?;
    let octets = property.values.iter().map(|(name, value)| name.len().saturating_add(value.len()));
    let total = octets.fold(0, usize::saturating_add);
    ensure(total <= MAX_OPAQUE, PolicyId::Property, "at most 16384 bytes can be announced")
}

fn representation(representation: &DataRepresentation) -> Check {
    ensure(representation.ids.len() <= 16, PolicyId::DataRepresentation, "at most 16 encodings can be listed")
}

/// What topics, writers and readers share.
macro_rules! common_checks {
    ($qos:expr) => {{
        let qos = $qos;
        ensure(qos.deadline.period > Duration::ZERO, PolicyId::Deadline, "the period must be positive")?;
        not_negative(qos.latency_budget.duration, PolicyId::LatencyBudget)?;
        liveliness(qos.liveliness)?;
        reliability(qos.reliability)?;
        history_and_limits(qos.history, qos.resource_limits, [PolicyId::History, PolicyId::ResourceLimits])?;
        representation(&qos.representation)?;
    }};
}

impl DomainParticipantQos {
    /// Checks the rules between policies.
    ///
    /// # Errors
    /// The first policy that breaks a rule.
    pub fn check_consistency(&self) -> Result<(), InconsistentPolicy> {
        opaque(&self.user_data.0, PolicyId::UserData)?;
        property(&self.property)
    }
}

impl TopicQos {
    /// Checks the rules between policies.
    ///
    /// # Errors
    /// The first policy that breaks a rule.
    pub fn check_consistency(&self) -> Result<(), InconsistentPolicy> {
        common_checks!(self);
        opaque(&self.topic_data.0, PolicyId::TopicData)?;
        not_negative(self.lifespan.duration, PolicyId::Lifespan)?;
        durability_service(&self.durability_service)
    }
}

impl PublisherQos {
    /// Checks the rules between policies.
    ///
    /// # Errors
    /// The first policy that breaks a rule.
    pub fn check_consistency(&self) -> Result<(), InconsistentPolicy> {
        opaque(&self.group_data.0, PolicyId::GroupData)?;
        partition(&self.partition)
    }
}

impl SubscriberQos {
    /// Checks the rules between policies.
    ///
    /// # Errors
    /// The first policy that breaks a rule.
    pub fn check_consistency(&self) -> Result<(), InconsistentPolicy> {
        opaque(&self.group_data.0, PolicyId::GroupData)?;
        partition(&self.partition)
    }
}

impl DataWriterQos {
    /// Checks the rules between policies.
    ///
    /// # Errors
    /// The first policy that breaks a rule.
    pub fn check_consistency(&self) -> Result<(), InconsistentPolicy> {
        common_checks!(self);
        opaque(&self.user_data.0, PolicyId::UserData)?;
        not_negative(self.lifespan.duration, PolicyId::Lifespan)?;
        property(&self.property)?;
        durability_service(&self.durability_service)
    }
}

impl DataReaderQos {
    /// Checks the rules between policies.
    ///
    /// # Errors
    /// The first policy that breaks a rule.
    pub fn check_consistency(&self) -> Result<(), InconsistentPolicy> {
        common_checks!(self);
        opaque(&self.user_data.0, PolicyId::UserData)?;
        property(&self.property)?;
        let separation = self.time_based_filter.minimum_separation;
        not_negative(separation, PolicyId::TimeBasedFilter)?;
        ensure(
            self.deadline.period >= separation,
            PolicyId::TimeBasedFilter,
            "the deadline period must be at least the minimum separation",
        )?;
        not_negative(
            self.reader_data_lifecycle.autopurge_nowriter_samples_delay,
            PolicyId::ReaderDataLifecycle,
        )?;
        not_negative(
            self.reader_data_lifecycle.autopurge_disposed_samples_delay,
            PolicyId::ReaderDataLifecycle,
        )
    }
}

#[cfg(test)]
mod tests;
