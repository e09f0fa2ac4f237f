//! QoS as text: the keys of a QoS profile, as a configuration file has them. What has its default is left out.

use std::fmt::Write;

use dunlin::Config;
use dunlin::Duration;
use dunlin::config::print_duration;
use dunlin::qos::{
    DataRepresentationId, DataWriterQos, DestinationOrderKind, DurabilityKind, HistoryKind, LivelinessKind,
    OwnershipKind, PresentationAccessScope, PublisherQos, ReliabilityKind,
};

const PROFILE: &str = "recorded";

/// The policies of a writer and its publisher.
pub(crate) fn to_text(writer: &DataWriterQos, publisher: &PublisherQos) -> String {
    let mut text = Text(String::new());
    text.section("writer");
    text.delivery(writer);
    text.history(writer);
    text.rest(writer);
    text.section("publisher");
    text.group(publisher);
    text.0
}

/// The reverse of [`to_text`].
///
/// # Errors
/// What is wrong with it, for people.
pub(crate) fn from_text(text: &str, topic: &str) -> Result<(DataWriterQos, PublisherQos), String> {
    let config = Config::from_toml("the QoS of a recording", text).map_err(|error| error.to_string())?;
    let profiles = &config.profiles;
    let wrong = |error: dunlin::config::UnknownProfile| error.to_string();
    let writer = profiles.writer_qos(PROFILE, topic).map_err(wrong)?;
    let publisher = profiles.publisher_qos(PROFILE).map_err(wrong)?;
    writer.validate().map_err(|error| error.to_string())?;
    publisher.validate().map_err(|error| error.to_string())?;
    Ok((writer, publisher))
}

struct Text(String);

impl Text {
    fn section(&mut self, entity: &str) {
        let _ = writeln!(self.0, "[profile.{PROFILE}.{entity}]");
    }

    fn line(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn word(&mut self, key: &str, (value, default): (&str, &str)) {
        if value != default {
            self.line(key, &quoted(value));
        }
    }

    fn number(&mut self, key: &str, (value, default): (i32, i32)) {
        if value != default {
            let text = if value < 0 { quoted("unlimited") } else { value.to_string() };
            self.line(key, &text);
        }
    }

    fn duration(&mut self, key: &str, (value, default): (Duration, Duration)) {
        if value != default {
            self.line(key, &quoted(&print_duration(value)));
        }
    }

    fn octets(&mut self, key: &str, value: &[u8]) {
        if !value.is_empty() {
            let numbers: Vec<String> = value.iter().map(u8::to_string).collect();
            self.line(key, &format!("[{}]", numbers.join(", ")));
        }
    }

    fn flag(&mut self, key: &str, (value, default): (bool, bool)) {
        if value != default {
            self.line(key, &value.to_string());
        }
    }

    fn delivery(&mut self, qos: &DataWriterQos) {
        let base = DataWriterQos::default();
        let reliability = |kind| match kind {
            ReliabilityKind::BestEffort => "best_effort",
            ReliabilityKind::Reliable => "reliable",
        };
        let kinds = (qos.reliability.kind, base.reliability.kind);
        self.word("reliability.kind", (reliability(kinds.0), reliability(kinds.1)));
        let times = (qos.reliability.max_blocking_time, base.reliability.max_blocking_time);
        self.duration("reliability.max_blocking_time", times);
        self.word("durability.kind", (durability(qos.durability.kind), durability(base.durability.kind)));
        self.duration("deadline.period", (qos.deadline.period, base.deadline.period));
        self.duration("latency_budget.duration", (qos.latency_budget.duration, base.latency_budget.duration));
        self.duration("lifespan.duration", (qos.lifespan.duration, base.lifespan.duration));
        let kinds = (liveliness(qos.liveliness.kind), liveliness(base.liveliness.kind));
        self.word("liveliness.kind", kinds);
        let leases = (qos.liveliness.lease_duration, base.liveliness.lease_duration);
        self.duration("liveliness.lease_duration", leases);
        self.number(
            "transport_priority.value",
            (qos.transport_priority.value, base.transport_priority.value),
        );
    }

    fn history(&mut self, qos: &DataWriterQos) {
        let base = DataWriterQos::default();
        self.word("history.kind", (history(qos.history.kind), history(base.history.kind)));
        self.number("history.depth", (qos.history.depth, base.history.depth));
        let (limits, default) = (qos.resource_limits, base.resource_limits);
        self.number("resource_limits.max_samples", (limits.max_samples, default.max_samples));
        self.number("resource_limits.max_instances", (limits.max_instances, default.max_instances));
        let each = (limits.max_samples_per_instance, default.max_samples_per_instance);
        self.number("resource_limits.max_samples_per_instance", each);
        let (service, default) = (qos.durability_service, base.durability_service);
        let delays = (service.service_cleanup_delay, default.service_cleanup_delay);
        self.duration("durability_service.service_cleanup_delay", delays);
        let kinds = (history(service.history_kind), history(default.history_kind));
        self.word("durability_service.history_kind", kinds);
        self.number("durability_service.history_depth", (service.history_depth, default.history_depth));
        self.number("durability_service.max_samples", (service.max_samples, default.max_samples));
        self.number("durability_service.max_instances", (service.max_instances, default.max_instances));
        let each = (service.max_samples_per_instance, default.max_samples_per_instance);
        self.number("durability_service.max_samples_per_instance", each);
    }

    fn rest(&mut self, qos: &DataWriterQos) {
        let base = DataWriterQos::default();
        let order = |kind| match kind {
            DestinationOrderKind::ByReceptionTimestamp => "by_reception_timestamp",
            DestinationOrderKind::BySourceTimestamp => "by_source_timestamp",
        };
        let kinds = (qos.destination_order.kind, base.destination_order.kind);
        self.word("destination_order.kind", (order(kinds.0), order(kinds.1)));
        self.word("ownership.kind", (ownership(qos.ownership.kind), ownership(base.ownership.kind)));
        self.number(
            "ownership_strength.value",
            (qos.ownership_strength.value, base.ownership_strength.value),
        );
        self.octets("user_data.value", &qos.user_data.0);
        // Readers are told of unregistrations by events.
        self.flag("writer_data_lifecycle.autodispose_unregistered_instances", (false, true));
        let ids: Vec<String> = qos.representation.ids.iter().filter_map(|id| representation(*id)).collect();
        if !ids.is_empty() {
            self.line("representation.ids", &format!("[{}]", ids.join(", ")));
        }
        // Marks of services are not the player's.
        let own = qos.property.values.iter().filter(|(name, _)| !name.starts_with("dunlin."));
        for (name, value) in own {
            self.line(&format!("property.{}", quoted(name)), &quoted(value));
        }
    }

    fn group(&mut self, qos: &PublisherQos) {
        let base = PublisherQos::default();
        let scopes = (scope(qos.presentation.access_scope), scope(base.presentation.access_scope));
        self.word("presentation.access_scope", scopes);
        self.flag("presentation.coherent_access", (qos.presentation.coherent_access, false));
        self.flag("presentation.ordered_access", (qos.presentation.ordered_access, false));
        if !qos.partition.names.is_empty() {
            let names: Vec<String> = qos.partition.names.iter().map(|name| quoted(name)).collect();
            self.line("partition.names", &format!("[{}]", names.join(", ")));
        }
        self.octets("group_data.value", &qos.group_data.0);
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out + "\""
}

fn durability(kind: DurabilityKind) -> &'static str {
    match kind {
        DurabilityKind::Volatile => "volatile",
        DurabilityKind::TransientLocal => "transient_local",
        DurabilityKind::Transient => "transient",
        DurabilityKind::Persistent => "persistent",
    }
}

fn liveliness(kind: LivelinessKind) -> &'static str {
    match kind {
        LivelinessKind::Automatic => "automatic",
        LivelinessKind::ManualByParticipant => "manual_by_participant",
        LivelinessKind::ManualByTopic => "manual_by_topic",
    }
}

fn history(kind: HistoryKind) -> &'static str {
    match kind {
        HistoryKind::KeepLast => "keep_last",
        HistoryKind::KeepAll => "keep_all",
    }
}

fn ownership(kind: OwnershipKind) -> &'static str {
    match kind {
        OwnershipKind::Shared => "shared",
        OwnershipKind::Exclusive => "exclusive",
    }
}

fn scope(scope: PresentationAccessScope) -> &'static str {
    match scope {
        PresentationAccessScope::Instance => "instance",
        PresentationAccessScope::Topic => "topic",
        PresentationAccessScope::Group => "group",
    }
}

fn representation(id: DataRepresentationId) -> Option<String> {
    match id {
        DataRepresentationId::Xcdr1 => Some(quoted("xcdr1")),
        DataRepresentationId::Xcdr2 => Some(quoted("xcdr2")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_comes_back() {
        let writer = DataWriterQos::default()
            .best_effort()
            .max_blocking_time(Duration::from_millis(7))
            .transient_local()
            .deadline(Duration::from_secs(3))
            .latency_budget(Duration::from_micros(5))
            .lifespan(Duration::from_secs(9))
            .liveliness(LivelinessKind::ManualByTopic, Duration::from_secs(2))
            .transport_priority(4)
            .keep_last(5)
            .resource_limits(100, 20, 5)
            .by_source_timestamp()
            .exclusive()
            .ownership_strength(6)
            .user_data(vec![0, 255])
            .representation(&[DataRepresentationId::Xcdr2, DataRepresentationId::Xcdr1])
            .property("na.me \"x\"", "a\n\\b")
            .autodispose_unregistered_instances(false);
        let publisher = PublisherQos::default()
            .partition(["a", "b\"c"])
            .presentation(PresentationAccessScope::Topic, true, true)
            .group_data(vec![1]);
        let text = to_text(&writer, &publisher);
        assert_eq!(from_text(&text, "T"), Ok((writer, publisher)), "{text}");
        let plain = to_text(&DataWriterQos::default(), &PublisherQos::default());
        let (writer, publisher) = from_text(&plain, "T").unwrap();
        assert_eq!(writer, DataWriterQos::default().autodispose_unregistered_instances(false));
        assert_eq!(publisher, PublisherQos::default());
        assert!(from_text("[profile.recorded.writer]\nhistory.depth = \"x\"\n", "T").is_err());
    }
}
