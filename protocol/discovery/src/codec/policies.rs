//! QoS policies as parameters: RTPS 2.5 §9.6.3.2 table 9.18, DDS-XTypes 1.3 §7.6.3.

use dunlin_core::Duration;
use dunlin_qos::{
    DataReaderQos, DataWriterQos, Deadline, DestinationOrder, DestinationOrderKind, Durability,
    DurabilityKind, DurabilityService, GroupData, History, HistoryKind, LatencyBudget, Lifespan, Liveliness,
    LivelinessKind, Ownership, OwnershipKind, OwnershipStrength, Partition, Presentation,
    PresentationAccessScope, PublisherQos, Reliability, ReliabilityKind, ResourceLimits, SubscriberQos,
    TimeBasedFilter, TransportPriority, TypeConsistencyEnforcement, TypeConsistencyKind, UserData,
};
use dunlin_wire::{ParameterListBuilder, pid};

use super::{
    participant::put_properties,
    values::{DecodeError, Value},
};

type Read<T> = Result<T, DecodeError>;

/// Whether the parameter was one of the policies tried.
type Found = Result<bool, DecodeError>;

/// RTPS counts reliability from 1 (§9.3.2, ReliabilityKind_t).
fn reliability_from_wire(value: i32) -> Option<ReliabilityKind> {
    match value {
        1 => Some(ReliabilityKind::BestEffort),
        2 => Some(ReliabilityKind::Reliable),
        _ => None,
    }
}

const fn reliability_to_wire(kind: ReliabilityKind) -> i32 {
    match kind {
        ReliabilityKind::BestEffort => 1,
        ReliabilityKind::Reliable => 2,
    }
}

fn read_reliability(value: &mut Value<'_>) -> Read<Reliability> {
    Ok(Reliability { kind: value.kind(reliability_from_wire)?, max_blocking_time: value.duration()? })
}

fn read_liveliness(value: &mut Value<'_>) -> Read<Liveliness> {
    Ok(Liveliness { kind: value.kind(LivelinessKind::from_value)?, lease_duration: value.duration()? })
}

fn read_history(value: &mut Value<'_>) -> Read<History> {
    Ok(History { kind: value.kind(HistoryKind::from_value)?, depth: value.reader.i32()? })
}

fn read_resource_limits(value: &mut Value<'_>) -> Read<ResourceLimits> {
    let reader = &mut value.reader;
    Ok(ResourceLimits {
        max_samples: reader.i32()?,
        max_instances: reader.i32()?,
        max_samples_per_instance: reader.i32()?,
    })
}

fn read_presentation(value: &mut Value<'_>) -> Read<Presentation> {
    Ok(Presentation {
        access_scope: value.kind(PresentationAccessScope::from_value)?,
        coherent_access: value.reader.bool()?,
        ordered_access: value.reader.bool()?,
    })
}

/// All zeros, which some peers send, are not a valid policy but harmless here.
fn read_durability_service(value: &mut Value<'_>) -> Read<DurabilityService> {
    Ok(DurabilityService {
        service_cleanup_delay: value.duration()?,
        history_kind: value.kind(HistoryKind::from_value)?,
        history_depth: value.reader.i32()?,
        max_samples: value.reader.i32()?,
        max_instances: value.reader.i32()?,
        max_samples_per_instance: value.reader.i32()?,
    })
}

/// The short form carries the kind only; the flags then have the defaults of that kind.
fn read_type_consistency(value: &mut Value<'_>) -> Read<TypeConsistencyEnforcement> {
    let kind =
        TypeConsistencyKind::from_value(i32::from(value.reader.u16()?)).ok_or(DecodeError::Malformed)?;
    let reader = &mut value.reader;
    if reader.remaining() < 5 {
        return Ok(match kind {
            TypeConsistencyKind::AllowTypeCoercion => TypeConsistencyEnforcement::default(),
            TypeConsistencyKind::DisallowTypeCoercion => TypeConsistencyEnforcement::DISALLOW,
        });
    }
    Ok(TypeConsistencyEnforcement {
        kind,
        ignore_sequence_bounds: reader.bool()?,
        ignore_string_bounds: reader.bool()?,
        ignore_member_names: reader.bool()?,
        prevent_type_widening: reader.bool()?,
        force_type_validation: reader.bool()?,
    })
}

/// Reading of the policies that writers and readers share, with those of their publisher or subscriber.
macro_rules! shared_reading {
    ($name:ident, $qos:ty, $group:ty) => {
        fn $name(qos: &mut $qos, group: &mut $group, pid: u16, value: &mut Value<'_>) -> Found {
            match pid {
                pid::DURABILITY => {
                    qos.durability = Durability { kind: value.kind(DurabilityKind::from_value)? }
                }
                pid::DEADLINE => qos.deadline = Deadline { period: value.duration()? },
                pid::LATENCY_BUDGET => qos.latency_budget = LatencyBudget { duration: value.duration()? },
                pid::LIVELINESS => qos.liveliness = read_liveliness(value)?,
                pid::RELIABILITY => qos.reliability = read_reliability(value)?,
                pid::DESTINATION_ORDER => {
                    qos.destination_order =
                        DestinationOrder { kind: value.kind(DestinationOrderKind::from_value)? };
                }
                pid::HISTORY => qos.history = read_history(value)?,
                pid::RESOURCE_LIMITS => qos.resource_limits = read_resource_limits(value)?,
                pid::OWNERSHIP => qos.ownership = Ownership { kind: value.kind(OwnershipKind::from_value)? },
                pid::USER_DATA => qos.user_data = UserData(value.opaque()?),
                pid::DATA_REPRESENTATION => qos.representation = value.representation()?,
                pid::PROPERTY_LIST => qos.property = value.properties()?,
                pid::PRESENTATION => group.presentation = read_presentation(value)?,
                pid::PARTITION => group.partition = Partition { names: value.partition_names()? },
                pid::GROUP_DATA => group.group_data = GroupData(value.opaque()?),
                _ => return Ok(false),
            }
            Ok(true)
        }
    };
}

shared_reading!(read_shared_with_publisher, DataWriterQos, PublisherQos);
shared_reading!(read_shared_with_subscriber, DataReaderQos, SubscriberQos);

/// Reads one parameter of a writer if it is a policy.
pub(super) fn read_writer_policy(
    qos: &mut DataWriterQos,
    publisher: &mut PublisherQos,
    pid: u16,
    value: &mut Value<'_>,
) -> Found {
    match pid {
        pid::DURABILITY_SERVICE => qos.durability_service = read_durability_service(value)?,
        pid::OWNERSHIP_STRENGTH => qos.ownership_strength = OwnershipStrength { value: value.reader.i32()? },
        pid::TRANSPORT_PRIORITY => qos.transport_priority = TransportPriority { value: value.reader.i32()? },
        pid::LIFESPAN => qos.lifespan = Lifespan { duration: value.duration()? },
        _ => return read_shared_with_publisher(qos, publisher, pid, value),
    }
    Ok(true)
}

/// Reads one parameter of a reader if it is a policy.
pub(super) fn read_reader_policy(
    qos: &mut DataReaderQos,
    subscriber: &mut SubscriberQos,
    pid: u16,
    value: &mut Value<'_>,
) -> Found {
    match pid {
        pid::TIME_BASED_FILTER => {
            qos.time_based_filter = TimeBasedFilter { minimum_separation: value.duration()? };
        }
        pid::TYPE_CONSISTENCY_ENFORCEMENT => qos.type_consistency = read_type_consistency(value)?,
        _ => return read_shared_with_subscriber(qos, subscriber, pid, value),
    }
    Ok(true)
}

fn put_kind(list: &mut ParameterListBuilder, pid: u16, kind: i32, default: i32) {
    if kind != default {
        list.put_i32(pid, kind);
    }
}

fn put_duration(list: &mut ParameterListBuilder, pid: u16, duration: Duration, default: Duration) {
    if duration != default {
        list.put_duration(pid, duration);
    }
}

fn put_opaque(list: &mut ParameterListBuilder, pid: u16, octets: &[u8]) {
    if !octets.is_empty() {
        list.put_octets(pid, octets);
    }
}

fn put_group(
    list: &mut ParameterListBuilder,
    presentation: Presentation,
    partition: &Partition,
    data: &GroupData,
) {
    put_presentation(list, presentation);
    put_partition(list, partition);
    put_opaque(list, pid::GROUP_DATA, &data.0);
}

fn put_reliability(list: &mut ParameterListBuilder, reliability: Reliability) {
    // Always sent, because implementations disagree about its default.
    list.put_with(pid::RELIABILITY, |out| {
        out.i32(reliability_to_wire(reliability.kind));
        out.duration(reliability.max_blocking_time);
    });
}

fn put_liveliness(list: &mut ParameterListBuilder, liveliness: Liveliness) {
    if liveliness != Liveliness::default() {
        list.put_with(pid::LIVELINESS, |out| {
            out.i32(liveliness.kind.value());
            out.duration(liveliness.lease_duration);
        });
    }
}

fn put_history(list: &mut ParameterListBuilder, history: History, limits: ResourceLimits) {
    if history != History::default() {
        list.put_with(pid::HISTORY, |out| {
            out.i32(history.kind.value());
            out.i32(history.depth);
        });
    }
    if limits != ResourceLimits::default() {
        list.put_with(pid::RESOURCE_LIMITS, |out| {
            out.i32(limits.max_samples);
            out.i32(limits.max_instances);
            out.i32(limits.max_samples_per_instance);
        });
    }
}

/// Writing of the policies that writers and readers share. What has its default is left out, as every receiver fills
/// it in.
macro_rules! put_shared {
    ($list:expr, $qos:expr, $group:expr) => {{
        let (list, qos, group) = ($list, $qos, $group);
        put_reliability(list, qos.reliability);
        put_kind(list, pid::DURABILITY, qos.durability.kind.value(), DurabilityKind::Volatile.value());
        put_duration(list, pid::DEADLINE, qos.deadline.period, Duration::INFINITE);
        put_duration(list, pid::LATENCY_BUDGET, qos.latency_budget.duration, Duration::ZERO);
        put_liveliness(list, qos.liveliness);
        put_kind(list, pid::OWNERSHIP, qos.ownership.kind.value(), OwnershipKind::Shared.value());
        let by_reception = DestinationOrderKind::ByReceptionTimestamp.value();
        put_kind(list, pid::DESTINATION_ORDER, qos.destination_order.kind.value(), by_reception);
        put_history(list, qos.history, qos.resource_limits);
        if !qos.representation.ids.is_empty() {
            list.put_with(pid::DATA_REPRESENTATION, |out| {
                out.length(qos.representation.ids.len());
                qos.representation.ids.iter().for_each(|id| out.i16(id.value()));
            });
        }
        put_opaque(list, pid::USER_DATA, &qos.user_data.0);
        put_properties(list, &qos.property);
        put_group(list, group.presentation, &group.partition, &group.group_data);
    }};
}

/// Adds the policies of a writer.
pub(super) fn put_writer_policies(
    list: &mut ParameterListBuilder,
    qos: &DataWriterQos,
    publisher: &PublisherQos,
) {
    put_shared!(&mut *list, qos, publisher);
    put_kind(list, pid::OWNERSHIP_STRENGTH, qos.ownership_strength.value, 0);
    put_kind(list, pid::TRANSPORT_PRIORITY, qos.transport_priority.value, 0);
    put_duration(list, pid::LIFESPAN, qos.lifespan.duration, Duration::INFINITE);
    let service = &qos.durability_service;
    if *service != DurabilityService::default() {
        list.put_with(pid::DURABILITY_SERVICE, |out| {
            out.duration(service.service_cleanup_delay);
            out.i32(service.history_kind.value());
            out.i32(service.history_depth);
            out.i32(service.max_samples);
            out.i32(service.max_instances);
            out.i32(service.max_samples_per_instance);
        });
    }
}

/// Adds the policies of a writer that readers may ask for with every change (RTPS 2.5 §9.6.4.1).
pub(super) fn put_inline_policies(
    list: &mut ParameterListBuilder,
    qos: &DataWriterQos,
    publisher: &PublisherQos,
) {
    put_reliability(list, qos.reliability);
    put_kind(list, pid::DURABILITY, qos.durability.kind.value(), DurabilityKind::Volatile.value());
    put_presentation(list, publisher.presentation);
    put_duration(list, pid::DEADLINE, qos.deadline.period, Duration::INFINITE);
    put_duration(list, pid::LATENCY_BUDGET, qos.latency_budget.duration, Duration::ZERO);
    put_kind(list, pid::OWNERSHIP, qos.ownership.kind.value(), OwnershipKind::Shared.value());
    put_kind(list, pid::OWNERSHIP_STRENGTH, qos.ownership_strength.value, 0);
    put_liveliness(list, qos.liveliness);
    put_kind(list, pid::TRANSPORT_PRIORITY, qos.transport_priority.value, 0);
    put_duration(list, pid::LIFESPAN, qos.lifespan.duration, Duration::INFINITE);
    let by_reception = DestinationOrderKind::ByReceptionTimestamp.value();
    put_kind(list, pid::DESTINATION_ORDER, qos.destination_order.kind.value(), by_reception);
}

/// Adds PARTITION, unless it is the default.
pub(super) fn put_partition(list: &mut ParameterListBuilder, partition: &Partition) {
    if !partition.names.is_empty() {
        list.put_strings(pid::PARTITION, partition.names.iter().map(|name| name.as_str()));
    }
}

fn put_presentation(list: &mut ParameterListBuilder, presentation: Presentation) {
    if presentation != Presentation::default() {
        list.put_with(pid::PRESENTATION, |out| {
            out.i32(presentation.access_scope.value());
            out.bool(presentation.coherent_access);
            out.bool(presentation.ordered_access);
        });
    }
}

/// Adds the policies of a reader.
pub(super) fn put_reader_policies(
    list: &mut ParameterListBuilder,
    qos: &DataReaderQos,
    subscriber: &SubscriberQos,
) {
    put_shared!(&mut *list, qos, subscriber);
    put_duration(list, pid::TIME_BASED_FILTER, qos.time_based_filter.minimum_separation, Duration::ZERO);
    // Always sent, because a receiver has to assume the strictest kind when it is absent.
    let types = qos.type_consistency;
    list.put_with(pid::TYPE_CONSISTENCY_ENFORCEMENT, |out| {
        out.u16(u16::from(types.kind == TypeConsistencyKind::AllowTypeCoercion));
        out.bool(types.ignore_sequence_bounds);
        out.bool(types.ignore_string_bounds);
        out.bool(types.ignore_member_names);
        out.bool(types.prevent_type_widening);
        out.bool(types.force_type_validation);
    });
}
