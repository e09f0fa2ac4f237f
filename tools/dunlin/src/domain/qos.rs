//! The announced QoS that says something: kinds always, the rest where it is not the default.

use dunlin::qos::{DurabilityKind, LivelinessKind, OwnershipKind};
use dunlin::{Duration, PublicationBuiltinTopicData, SubscriptionBuiltinTopicData};
use std::collections::BTreeMap;

type Policies = BTreeMap<&'static str, String>;

macro_rules! common {
    ($policies:ident, $qos:expr, $group:expr) => {
        let (qos, group) = (&$qos, &$group);
        $policies.insert("reliability", qos.reliability.kind.name().to_owned());
        if qos.durability.kind != DurabilityKind::Volatile {
            $policies.insert("durability", qos.durability.kind.name().to_owned());
        }
        if qos.ownership.kind != OwnershipKind::Shared {
            $policies.insert("ownership", qos.ownership.kind.name().to_owned());
        }
        if qos.liveliness.kind != LivelinessKind::Automatic || !qos.liveliness.lease_duration.is_infinite() {
            let lease = time(qos.liveliness.lease_duration);
            $policies.insert("liveliness", format!("{} {lease}", qos.liveliness.kind.name()));
        }
        if !qos.deadline.period.is_infinite() {
            $policies.insert("deadline", time(qos.deadline.period));
        }
        if !group.partition.names.is_empty() {
            $policies.insert("partition", group.partition.names.join(","));
        }
        let presentation = group.presentation;
        if presentation.coherent_access || presentation.ordered_access {
            let coherent = if presentation.coherent_access { " coherent" } else { "" };
            let ordered = if presentation.ordered_access { " ordered" } else { "" };
            let scope = presentation.access_scope.name();
            $policies.insert("presentation", format!("{scope}{coherent}{ordered}"));
        }
        if !qos.representation.ids.is_empty() {
            let names: Vec<_> = qos.representation.ids.iter().map(ToString::to_string).collect();
            $policies.insert("representation", names.join(","));
        }
    };
}

/// Of a writer.
pub fn of_writer(writer: &PublicationBuiltinTopicData) -> Policies {
    let mut policies = Policies::new();
    common!(policies, writer.qos, writer.publisher_qos);
    if writer.qos.ownership.kind == OwnershipKind::Exclusive {
        policies.insert("strength", writer.qos.ownership_strength.value.to_string());
    }
    if !writer.qos.lifespan.duration.is_infinite() {
        policies.insert("lifespan", time(writer.qos.lifespan.duration));
    }
    policies
}

/// Of a reader.
pub fn of_reader(reader: &SubscriptionBuiltinTopicData) -> Policies {
    let mut policies = Policies::new();
    common!(policies, reader.qos, reader.subscriber_qos);
    if reader.qos.time_based_filter.minimum_separation > Duration::ZERO {
        policies.insert("time_based_filter", time(reader.qos.time_based_filter.minimum_separation));
    }
    policies
}

fn time(duration: Duration) -> String {
    duration.to_std().map_or_else(|| "infinite".to_owned(), |duration| format!("{duration:?}"))
}
