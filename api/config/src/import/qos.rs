//! QoS policies in XML: the profiles of OMG DDS-XML 1.0 §7.3.2, and those of Fast DDS.

use dunlin_core::Duration;
use roxmltree::Node;

use super::{Block, Dialect, Draft, elements, text};
use crate::profiles::Entity;
use crate::units::print_duration;
use crate::value::Raw;

const NANOS: i64 = 1_000_000_000;
/// What the standard writes behind the kinds of a policy.
const SUFFIXES: &[&str] = &[
    "_DURABILITY_QOS",
    "_HISTORY_QOS",
    "_RELIABILITY_QOS",
    "_OWNERSHIP_QOS",
    "_LIVELINESS_QOS",
    "_PRESENTATION_QOS",
    "_DESTINATIONORDER_QOS",
    "_DESTINATION_ORDER_QOS",
    "_QOS",
];

/// `<dds>` is the root of both.
pub(super) fn read_dds(root: Node<'_, '_>, draft: &mut Draft<'_>) -> Dialect {
    let mut dialect = Dialect::DdsXml;
    for child in elements(root) {
        match child.tag_name().name() {
            "qos_library" => read_library(child, draft),
            "profiles" => {
                dialect = Dialect::FastDds;
                read_fast_dds(child, draft);
            }
            other => draft.leave_out(child, format!("<{other:.100}>"), "no QoS profiles"),
        }
    }
    dialect
}

fn read_library(library: Node<'_, '_>, draft: &mut Draft<'_>) {
    let of = library.attribute("name").unwrap_or("");
    let full = |name: &str| {
        if name.contains("::") || of.is_empty() { name.to_owned() } else { format!("{of}::{name}") }
    };
    for profile in elements(library) {
        if profile.tag_name().name() != "qos_profile" {
            draft.leave_out(profile, format!("<{:.100}>", profile.tag_name().name()), "no profile");
            continue;
        }
        let Some(name) = new_profile(profile, "name", full, draft) else { continue };
        for entity in elements(profile) {
            let kind = match entity.tag_name().name() {
                "domain_participant_qos" | "domainparticipant_qos" | "participant_qos" => Entity::Participant,
                "topic_qos" => Entity::Topic,
                "publisher_qos" => Entity::Publisher,
                "subscriber_qos" => Entity::Subscriber,
                "datawriter_qos" => Entity::Writer,
                "datareader_qos" => Entity::Reader,
                other => {
                    draft.leave_out(entity, format!("<{other:.100}>"), "no QoS of an entity");
                    continue;
                }
            };
            for attribute in entity.attributes().filter(|a| !matches!(a.name(), "name" | "topic_filter")) {
                let what = format!("{} of <{:.100}>", attribute.name(), entity.tag_name().name());
                draft.leave_out(entity, what, "only profiles as a whole have bases");
            }
            let topic = entity.attribute("topic_filter").map(str::to_owned);
            let mut reading = Reading { draft, profile: &name, topic };
            elements(entity).for_each(|policy| reading.policy(policy, kind));
        }
    }
}

/// Notes a profile and its base; `None` without a usable name.
fn new_profile(
    node: Node<'_, '_>,
    attribute: &str,
    full: impl Fn(&str) -> String,
    draft: &mut Draft<'_>,
) -> Option<String> {
    let name = node.attribute(attribute).map(&full).filter(|name| !name.is_empty() && name.len() <= 256);
    let Some(name) = name else {
        draft.leave_out(node, format!("<{:.100}>", node.tag_name().name()), "it has no usable name");
        return None;
    };
    let base = node.attribute("base_name").map(full);
    match draft.bases.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = base.or(known.take()),
        None => draft.bases.push((name.clone(), base)),
    }
    Some(name)
}

/// Profiles of Fast DDS: each is one of an entity.
pub(super) fn read_fast_dds(profiles: Node<'_, '_>, draft: &mut Draft<'_>) {
    for profile in elements(profiles) {
        let kind = match profile.tag_name().name() {
            "participant" => Entity::Participant,
            "topic" => Entity::Topic,
            "data_writer" | "publisher" => Entity::Writer,
            "data_reader" | "subscriber" => Entity::Reader,
            other => {
                draft.leave_out(profile, format!("<{other:.100}>"), "no profile of QoS");
                continue;
            }
        };
        let Some(name) = new_profile(profile, "profile_name", str::to_owned, draft) else { continue };
        let mut reading = Reading { draft, profile: &name, topic: None };
        for part in elements(profile) {
            match part.tag_name().name() {
                "qos" | "topic" | "rtps" => elements(part).for_each(|policy| reading.policy(policy, kind)),
                _ => reading.policy(part, kind),
            }
        }
    }
}

/// `historyQos` and `latencyBudget` as `history` and `latency_budget`.
fn snake(name: &str) -> String {
    let name = name.strip_suffix("Qos").unwrap_or(name);
    let mut out = String::new();
    for c in name.chars().take(64) {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

struct Reading<'r, 'd> {
    draft: &'r mut Draft<'d>,
    profile: &'r str,
    topic: Option<String>,
}

impl Reading<'_, '_> {
    /// Reads the fields of one policy.
    fn policy(&mut self, policy: Node<'_, '_>, entity: Entity) {
        let name = match snake(policy.tag_name().name()).as_str() {
            "data_representation" => "representation".to_owned(),
            name => name.to_owned(),
        };
        let what =
            |field: &str| format!("{name}.{field:.100} of a {} in '{:.100}'", entity.name(), self.profile);
        let mut unread = Vec::new();
        let mut settings = Vec::new();
        if elements(policy).next().is_none() {
            unread.push((
                policy,
                format!("<{:.100}>", policy.tag_name().name()),
                "no policy with fields".to_owned(),
            ));
        }
        for field in elements(policy) {
            let tag = field.tag_name().name();
            if name == "property" || name == "properties" {
                for (property, value) in properties(field) {
                    settings.push((field, format!("property.{property}"), Raw::Text(value)));
                }
                continue;
            }
            let ours = match (name.as_str(), tag) {
                ("partition", "name") => "names",
                ("representation", "value" | "values") => "ids",
                (_, tag) => tag,
            };
            settings.push((field, format!("{name}.{ours}"), value(field)));
        }
        let mut fitting = Vec::new();
        for (field, path, raw) in settings {
            match place(entity, &path, &raw) {
                Ok(place) => fitting.push((place, path, raw)),
                Err(why) => unread.push((field, what(field.tag_name().name()), why)),
            }
        }
        for (place, path, raw) in fitting {
            self.add(place, path, raw);
        }
        for (node, what, why) in unread {
            self.draft.leave_out(node, what, why);
        }
    }

    fn add(&mut self, entity: Entity, path: String, raw: Raw) {
        let topic =
            self.topic.clone().filter(|_| matches!(entity, Entity::Topic | Entity::Writer | Entity::Reader));
        // What comes last counts, so only the last block of the entity may be added to.
        let blocks = &mut self.draft.blocks;
        let last = blocks.iter().rposition(|block| block.profile == self.profile && block.entity == entity);
        let at = last.filter(|at| blocks.get(*at).is_some_and(|block| block.topic == topic));
        let at = at.unwrap_or_else(|| {
            blocks.push(Block { profile: self.profile.to_owned(), entity, topic, settings: Vec::new() });
            blocks.len() - 1
        });
        let Some(block) = blocks.get_mut(at) else { return };
        block.settings.retain(|(known, _)| *known != path);
        block.settings.push((path, raw));
    }
}

/// The entity a policy belongs to: others give writers and readers what ours have from publisher and subscriber.
fn place(entity: Entity, path: &str, raw: &Raw) -> Result<Entity, String> {
    let refusal = match entity.accepts(path, raw) {
        Ok(()) => return Ok(entity),
        Err(refusal) => refusal,
    };
    let group = match entity {
        Entity::Writer => Entity::Publisher,
        Entity::Reader => Entity::Subscriber,
        _ => return Err(refusal),
    };
    group.accepts(path, raw).map(|()| group).map_err(|_| refusal)
}

/// The properties in a list of them.
fn properties(list: Node<'_, '_>) -> Vec<(String, String)> {
    let pair = |node: Node<'_, '_>| {
        let part = |name: &str| elements(node).find(|part| part.tag_name().name() == name).map(text);
        Some((part("name")?.to_owned(), part("value")?.to_owned())).filter(|(name, _)| !name.is_empty())
    };
    pair(list).into_iter().chain(elements(list).filter_map(pair)).collect()
}

/// What a field says.
fn value(field: Node<'_, '_>) -> Raw {
    let mut parts = elements(field).peekable();
    if parts.peek().is_none() {
        return scalar(text(field));
    }
    let parts: Vec<(&str, &str)> = parts.map(|part| (part.tag_name().name(), text(part))).collect();
    let of_time = |name: &str| matches!(name, "sec" | "seconds" | "nanosec" | "nanoseconds");
    if parts.iter().all(|(name, _)| of_time(name)) {
        return time(&parts).map_or_else(|| Raw::Other("no duration".into()), Raw::Text);
    }
    let item = |text: &str| match text.to_ascii_uppercase().as_str() {
        "XCDR" | "XCDR_DATA_REPRESENTATION" | "XCDR1" => "xcdr1".into(),
        "XCDR2" | "XCDR2_DATA_REPRESENTATION" => "xcdr2".into(),
        _ => text.into(),
    };
    Raw::List(parts.into_iter().map(|(_, text)| Raw::Text(item(text))).collect())
}

fn time(parts: &[(&str, &str)]) -> Option<String> {
    if parts.iter().any(|(_, text)| text.contains("INFINIT")) {
        return Some("infinite".into());
    }
    let mut total = 0_i64;
    for (name, text) in parts {
        let number = i64::from(text.parse::<u32>().ok()?);
        let nanos = if name.starts_with("sec") { number.checked_mul(NANOS)? } else { number };
        total = total.checked_add(nanos)?;
    }
    // As the standard encodes it in numbers.
    let infinite = parts.iter().any(|(name, text)| name.starts_with("sec") && *text == "2147483647");
    Some(print_duration(if infinite { Duration::INFINITE } else { Duration::from_nanos(total) }))
}

fn scalar(text: &str) -> Raw {
    match text {
        "true" | "TRUE" => Raw::Bool(true),
        "false" | "FALSE" => Raw::Bool(false),
        "LENGTH_UNLIMITED" | "UNLIMITED" => Raw::Integer(-1),
        _ if text.contains("DURATION_INFINIT") => Raw::Text("infinite".into()),
        _ => match text.parse() {
            Ok(number) => Raw::Integer(number),
            Err(_) => {
                let kind = SUFFIXES.iter().find_map(|suffix| text.strip_suffix(suffix)).unwrap_or(text);
                Raw::Text(kind.to_ascii_lowercase())
            }
        },
    }
}
