//! The policies of DDS 1.4 §2.2.3 by name: `reliability.kind`, `history.depth`. The names are those of DDS-XML.

use dunlin_core::Duration;
use dunlin_qos::{
    DataReaderQos, DataRepresentation, DataRepresentationId, DataWriterQos, Deadline, DestinationOrder,
    DestinationOrderKind, DomainParticipantQos, Durability, DurabilityKind, DurabilityService, EntityFactory,
    GroupData, History, HistoryKind, LatencyBudget, Lifespan, Liveliness, LivelinessKind, Ownership,
    OwnershipKind, OwnershipStrength, Partition, Presentation, PresentationAccessScope, Property,
    PublisherQos, ReaderDataLifecycle, Reliability, ReliabilityKind, ResourceLimits, SubscriberQos,
    TimeBasedFilter, TopicData, TopicQos, TransportPriority, TypeConsistencyEnforcement, TypeConsistencyKind,
    UNLIMITED, UserData, WriterDataLifecycle,
};

use crate::nearest::nearest;
use crate::value::{Raw, Value};

/// Why a value was not taken: text for people.
pub(crate) type Refusal = String;

/// A policy whose fields are set by name.
trait Policy {
    const FIELDS: &'static [&'static str];
    /// `None` for a field that does not exist.
    fn set(&mut self, field: &str, raw: &Raw) -> Option<Result<(), Refusal>>;
}

fn expected(raw: &Raw, what: &str) -> Refusal {
    format!("= {raw}: expected {what}")
}

/// One of some words.
fn word<T: Copy>(place: &mut T, raw: &Raw, words: &[(&str, T)]) -> Result<(), Refusal> {
    let found = raw.text().and_then(|text| words.iter().find(|(name, _)| *name == text));
    let (_, value) = found.ok_or_else(|| {
        let names: Vec<String> = words.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        expected(raw, &names.join(" or "))
    })?;
    *place = *value;
    Ok(())
}

fn duration(place: &mut Duration, raw: &Raw) -> Result<(), Refusal> {
    *place = Duration::read(raw).ok_or_else(|| expected(raw, Duration::EXPECTS))?;
    Ok(())
}

fn flag(place: &mut bool, raw: &Raw) -> Result<(), Refusal> {
    *place = bool::read(raw).ok_or_else(|| expected(raw, bool::EXPECTS))?;
    Ok(())
}

fn number(place: &mut i32, raw: &Raw) -> Result<(), Refusal> {
    let found = match raw {
        Raw::Integer(n) => i32::try_from(*n).ok(),
        _ => raw.text().filter(|text| *text == "unlimited").map(|_| UNLIMITED),
    };
    *place = found.ok_or_else(|| expected(raw, "a whole number or \"unlimited\""))?;
    Ok(())
}

fn octets(place: &mut Vec<u8>, raw: &Raw) -> Result<(), Refusal> {
    let octet = |raw: &Raw| if let Raw::Integer(n) = raw { u8::try_from(*n).ok() } else { None };
    let found = match raw {
        Raw::List(items) => items.iter().map(octet).collect(),
        _ => raw.text().map(|text| text.as_bytes().to_vec()),
    };
    *place = found.ok_or_else(|| expected(raw, "a text, or a list of numbers from 0 to 255"))?;
    Ok(())
}

fn names(place: &mut Vec<String>, raw: &Raw) -> Result<(), Refusal> {
    *place = Value::read(raw).ok_or_else(|| expected(raw, <Vec<String> as Value>::EXPECTS))?;
    Ok(())
}

macro_rules! policy {
    ($policy:ident { $($field:ident: $set:ident $(($words:expr))?),+ }) => {
        impl Policy for $policy {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),+];
            fn set(&mut self, field: &str, raw: &Raw) -> Option<Result<(), Refusal>> {
                match field {
                    $(stringify!($field) => Some($set(&mut self.$field, raw $(, $words)?)),)+
                    _ => None,
                }
            }
        }
    };
    ($policy:ident(octets)) => {
        impl Policy for $policy {
            const FIELDS: &'static [&'static str] = &["value"];
            fn set(&mut self, field: &str, raw: &Raw) -> Option<Result<(), Refusal>> {
                (field == "value").then(|| octets(&mut self.0, raw))
            }
        }
    };
}

const DURABILITY: &[(&str, DurabilityKind)] = &[
    ("volatile", DurabilityKind::Volatile),
    ("transient_local", DurabilityKind::TransientLocal),
    ("transient", DurabilityKind::Transient),
    ("persistent", DurabilityKind::Persistent),
];
const HISTORY: &[(&str, HistoryKind)] =
    &[("keep_last", HistoryKind::KeepLast), ("keep_all", HistoryKind::KeepAll)];
const SCOPE: &[(&str, PresentationAccessScope)] = &[
    ("instance", PresentationAccessScope::Instance),
    ("topic", PresentationAccessScope::Topic),
    ("group", PresentationAccessScope::Group),
];
const OWNERSHIP: &[(&str, OwnershipKind)] =
    &[("shared", OwnershipKind::Shared), ("exclusive", OwnershipKind::Exclusive)];
const LIVELINESS: &[(&str, LivelinessKind)] = &[
    ("automatic", LivelinessKind::Automatic),
    ("manual_by_participant", LivelinessKind::ManualByParticipant),
    ("manual_by_topic", LivelinessKind::ManualByTopic),
];
const RELIABILITY: &[(&str, ReliabilityKind)] =
    &[("best_effort", ReliabilityKind::BestEffort), ("reliable", ReliabilityKind::Reliable)];
const ORDER: &[(&str, DestinationOrderKind)] = &[
    ("by_reception_timestamp", DestinationOrderKind::ByReceptionTimestamp),
    ("by_source_timestamp", DestinationOrderKind::BySourceTimestamp),
];
const TYPE_CONSISTENCY: &[(&str, TypeConsistencyKind)] = &[
    ("disallow_type_coercion", TypeConsistencyKind::DisallowTypeCoercion),
    ("allow_type_coercion", TypeConsistencyKind::AllowTypeCoercion),
];

policy!(UserData(octets));
policy!(TopicData(octets));
policy!(GroupData(octets));
policy!(Durability { kind: word(DURABILITY) });
policy!(DurabilityService {
    service_cleanup_delay: duration,
    history_kind: word(HISTORY),
    history_depth: number,
    max_samples: number,
    max_instances: number,
    max_samples_per_instance: number
});
policy!(Presentation { access_scope: word(SCOPE), coherent_access: flag, ordered_access: flag });
policy!(Deadline { period: duration });
policy!(LatencyBudget { duration: duration });
policy!(Ownership { kind: word(OWNERSHIP) });
policy!(OwnershipStrength { value: number });
policy!(Liveliness { kind: word(LIVELINESS), lease_duration: duration });
policy!(TimeBasedFilter { minimum_separation: duration });
policy!(Partition { names: names });
policy!(Reliability { kind: word(RELIABILITY), max_blocking_time: duration });
policy!(TransportPriority { value: number });
policy!(Lifespan { duration: duration });
policy!(DestinationOrder { kind: word(ORDER) });
policy!(History { kind: word(HISTORY), depth: number });
policy!(ResourceLimits { max_samples: number, max_instances: number, max_samples_per_instance: number });
policy!(EntityFactory { autoenable_created_entities: flag });
policy!(WriterDataLifecycle { autodispose_unregistered_instances: flag });
policy!(ReaderDataLifecycle {
    autopurge_nowriter_samples_delay: duration,
    autopurge_disposed_samples_delay: duration
});
policy!(TypeConsistencyEnforcement {
    kind: word(TYPE_CONSISTENCY),
    ignore_sequence_bounds: flag,
    ignore_string_bounds: flag,
    ignore_member_names: flag,
    prevent_type_widening: flag,
    force_type_validation: flag
});

impl Policy for DataRepresentation {
    const FIELDS: &'static [&'static str] = &["ids"];
    fn set(&mut self, field: &str, raw: &Raw) -> Option<Result<(), Refusal>> {
        let id = |name: &String| match name.as_str() {
            "xcdr1" => Some(DataRepresentationId::Xcdr1),
            "xcdr2" => Some(DataRepresentationId::Xcdr2),
            _ => None,
        };
        let read = || <Vec<String> as Value>::read(raw)?.iter().map(id).collect::<Option<Vec<_>>>();
        (field == "ids").then(|| {
            self.ids = read().ok_or_else(|| expected(raw, "a list of \"xcdr1\" and \"xcdr2\""))?;
            Ok(())
        })
    }
}

impl Policy for Property {
    const FIELDS: &'static [&'static str] = &["(any name)"];
    fn set(&mut self, field: &str, raw: &Raw) -> Option<Result<(), Refusal>> {
        let value = raw.text().map(str::to_owned).ok_or_else(|| expected(raw, String::EXPECTS));
        Some(value.map(|value| {
            self.values.retain(|(name, _)| name != field);
            self.values.push((field.to_owned(), value));
        }))
    }
}

fn unknown(kind: &str, meant: Option<&str>) -> Refusal {
    let hint = meant.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
    format!("is no {kind}{hint}")
}

macro_rules! entity {
    ($(#[doc = $doc:literal])* $name:ident: $qos:ty, [$($policy:ident),+]) => {
        $(#[doc = $doc])*
        pub(crate) fn $name(qos: &mut $qos, path: &str, raw: &Raw) -> Result<(), Refusal> {
            fn fields<P: Policy>(_: &P) -> &'static [&'static str] {
                P::FIELDS
            }
            let (policy, field) = path.split_once('.').unwrap_or((path, ""));
            let (set, known) = match policy {
                $(stringify!($policy) => (qos.$policy.set(field, raw), fields(&qos.$policy)),)+
                _ => {
                    let meant = nearest(policy, [$(stringify!($policy)),+].into_iter());
                    return Err(unknown(concat!("policy of a ", stringify!($name)), meant));
                }
            };
            set.unwrap_or_else(|| {
                let meant = nearest(field, known.iter().copied()).unwrap_or_else(|| known.first().unwrap_or(&""));
                Err(unknown("field of that policy", Some(&format!("{policy}.{meant}"))))
            })
        }
    };
}

entity!(participant: DomainParticipantQos, [user_data, entity_factory, property]);
entity!(topic: TopicQos, [
    topic_data, durability, durability_service, deadline, latency_budget, liveliness, reliability,
    destination_order, history, resource_limits, transport_priority, lifespan, ownership, representation
]);
entity!(publisher: PublisherQos, [presentation, partition, group_data, entity_factory]);
entity!(subscriber: SubscriberQos, [presentation, partition, group_data, entity_factory]);
entity!(writer: DataWriterQos, [
    durability, durability_service, deadline, latency_budget, liveliness, reliability, destination_order,
    history, resource_limits, transport_priority, lifespan, user_data, ownership, ownership_strength,
    writer_data_lifecycle, representation, property
]);
entity!(reader: DataReaderQos, [
    durability, deadline, latency_budget, liveliness, reliability, destination_order, history,
    resource_limits, user_data, ownership, time_based_filter, reader_data_lifecycle, representation, type_consistency,
    property
]);
