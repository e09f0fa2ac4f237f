//! The announced QoS that says something: the kind of RELIABILITY always, the rest where it is not the default.

use std::collections::BTreeMap;

use dunlin::qos::{
    DataRepresentation, Deadline, DestinationOrder, Durability, DurabilityService, History, HistoryKind,
    LatencyBudget, Lifespan, Liveliness, Ownership, OwnershipKind, Partition, Presentation, Property,
    Reliability, ResourceLimits, TimeBasedFilter, TransportPriority, TypeConsistencyEnforcement, UNLIMITED,
};
use dunlin::{Duration, PublicationBuiltinTopicData, SubscriptionBuiltinTopicData};

type Policies = BTreeMap<&'static str, String>;

/// Octets of USER_DATA, TOPIC_DATA and GROUP_DATA that are shown.
const MOST_OCTETS: usize = 32;

macro_rules! tell {
    ($policies:ident: $($name:literal if $differs:expr => $text:expr;)*) => {
        $(if $differs {
            $policies.insert($name, $text);
        })*
    };
}

/// The policies that writers and readers share, with those of their publisher or subscriber and their topic.
macro_rules! shared {
    ($endpoint:expr, $group:expr) => {{
        let (qos, group) = (&$endpoint.qos, &$group);
        let mut policies = Policies::new();
        tell! { policies:
            "reliability" if true => qos.reliability.kind.name().to_owned();
            "max_blocking_time" if qos.reliability.max_blocking_time != Reliability::RELIABLE.max_blocking_time
                => time(qos.reliability.max_blocking_time);
            "durability" if qos.durability != Durability::default() => qos.durability.kind.name().to_owned();
            "ownership" if qos.ownership != Ownership::default() => qos.ownership.kind.name().to_owned();
            "liveliness" if qos.liveliness != Liveliness::default() => liveliness(qos.liveliness);
            "deadline" if qos.deadline != Deadline::default() => time(qos.deadline.period);
            "latency_budget" if qos.latency_budget != LatencyBudget::default()
                => time(qos.latency_budget.duration);
            "destination_order" if qos.destination_order != DestinationOrder::default()
                => qos.destination_order.kind.name().to_owned();
            "history" if qos.history != History::default() => history(qos.history.kind, qos.history.depth);
            "resource_limits" if qos.resource_limits != ResourceLimits::default() => {
                let it = qos.resource_limits;
                limits(it.max_samples, it.max_instances, it.max_samples_per_instance)
            };
            "partition" if in_partition(&group.partition) => group.partition.names.join(",");
            "presentation" if group.presentation != Presentation::default() => presentation(group.presentation);
            "representation" if qos.representation != DataRepresentation::default()
                => representations(&qos.representation);
            "user_data" if !qos.user_data.0.is_empty() => octets(&qos.user_data.0);
            "group_data" if !group.group_data.0.is_empty() => octets(&group.group_data.0);
            "topic_data" if !$endpoint.topic_data.0.is_empty() => octets(&$endpoint.topic_data.0);
            "property" if !qos.property.values.is_empty() => properties(&qos.property);
        }
        policies
    }};
}

/// Of a writer.
pub fn of_writer(writer: &PublicationBuiltinTopicData) -> Policies {
    let qos = &writer.qos;
    let mut policies = shared!(writer, writer.publisher_qos);
    tell! { policies:
        "strength" if qos.ownership.kind == OwnershipKind::Exclusive => qos.ownership_strength.value.to_string();
        "lifespan" if qos.lifespan != Lifespan::default() => time(qos.lifespan.duration);
        "transport_priority" if qos.transport_priority != TransportPriority::default()
            => qos.transport_priority.value.to_string();
        "durability_service" if qos.durability_service != DurabilityService::default()
            => durability_service(qos.durability_service);
    }
    policies
}

/// Of a reader.
pub fn of_reader(reader: &SubscriptionBuiltinTopicData) -> Policies {
    let qos = &reader.qos;
    let mut policies = shared!(reader, reader.subscriber_qos);
    tell! { policies:
        "time_based_filter" if qos.time_based_filter != TimeBasedFilter::default()
            => time(qos.time_based_filter.minimum_separation);
        "type_consistency" if qos.type_consistency != TypeConsistencyEnforcement::default()
            => consistency(&qos.type_consistency);
        "content_filter" if reader.content_filter.is_some()
            => reader.content_filter.as_ref().map(|it| it.filter_expression.clone()).unwrap_or_default();
    }
    policies
}

/// Whether there is one beside that without name.
fn in_partition(partition: &Partition) -> bool {
    partition.names.iter().any(|name| !name.is_empty())
}

fn liveliness(policy: Liveliness) -> String {
    format!("{} {}", policy.kind.name(), time(policy.lease_duration))
}

fn presentation(policy: Presentation) -> String {
    let coherent = if policy.coherent_access { " coherent" } else { "" };
    let ordered = if policy.ordered_access { " ordered" } else { "" };
    format!("{}{coherent}{ordered}", policy.access_scope.name())
}

fn representations(policy: &DataRepresentation) -> String {
    let names: Vec<_> = policy.ids.iter().map(ToString::to_string).collect();
    names.join(",")
}

fn history(kind: HistoryKind, depth: i32) -> String {
    match kind {
        HistoryKind::KeepLast => format!("{} {depth}", kind.name()),
        HistoryKind::KeepAll => kind.name().to_owned(),
    }
}

fn limits(samples: i32, instances: i32, of_one: i32) -> String {
    let named = [("samples", samples), ("instances", instances), ("samples_per_instance", of_one)];
    let named = named.iter().filter(|(_, limit)| *limit != UNLIMITED);
    named.map(|(name, limit)| format!("{name}<={limit}")).collect::<Vec<_>>().join(" ")
}

fn durability_service(policy: DurabilityService) -> String {
    let limits = limits(policy.max_samples, policy.max_instances, policy.max_samples_per_instance);
    let mut text = history(policy.history_kind, policy.history_depth);
    if !limits.is_empty() {
        text += &format!(" {limits}");
    }
    if policy.service_cleanup_delay != Duration::ZERO {
        text += &format!(" cleanup={}", time(policy.service_cleanup_delay));
    }
    text
}

fn properties(property: &Property) -> String {
    property.values.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
}

/// Text where it is text, otherwise hexadecimal; long ones are cut.
fn octets(octets: &[u8]) -> String {
    let shown = octets.get(..MOST_OCTETS).unwrap_or(octets);
    let more =
        if shown.len() < octets.len() { format!("… ({} bytes)", octets.len()) } else { String::new() };
    match std::str::from_utf8(shown) {
        Ok(text) if !text.chars().any(char::is_control) => format!("{text:?}{more}"),
        _ => {
            let digits: String = shown.iter().map(|octet| format!("{octet:02x}")).collect();
            format!("0x{digits}{more}")
        }
    }
}

/// TYPE_CONSISTENCY_ENFORCEMENT: the kind, and the options that differ from those of the kind that is default.
pub fn consistency(policy: &TypeConsistencyEnforcement) -> String {
    let default = TypeConsistencyEnforcement::default();
    let options = [
        ("ignore_sequence_bounds", policy.ignore_sequence_bounds, default.ignore_sequence_bounds),
        ("ignore_string_bounds", policy.ignore_string_bounds, default.ignore_string_bounds),
        ("ignore_member_names", policy.ignore_member_names, default.ignore_member_names),
        ("prevent_type_widening", policy.prevent_type_widening, default.prevent_type_widening),
        ("force_type_validation", policy.force_type_validation, default.force_type_validation),
    ];
    let mut text = policy.kind.name().to_owned();
    for (name, value, usual) in options {
        if value != usual {
            text += &format!(" {name}={value}");
        }
    }
    text
}

fn time(duration: Duration) -> String {
    duration.to_std().map_or_else(|| "infinite".to_owned(), |duration| format!("{duration:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_and_limits_are_short() {
        assert_eq!(octets(b"camera \"3\""), "\"camera \\\"3\\\"\"");
        assert_eq!(octets(&[0, 255]), "0x00ff");
        assert_eq!(octets(&[b'a'; 40]), format!("\"{}\"… (40 bytes)", "a".repeat(32)));
        assert_eq!(limits(UNLIMITED, 5, UNLIMITED), "instances<=5");
        assert_eq!(durability_service(DurabilityService::default()), "KEEP_LAST 1");
    }
}
