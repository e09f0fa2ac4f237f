//! QoS policies in XML: the profiles of OMG DDS-XML 1.0 §7.3.2, and those of Fast DDS.

use roxmltree::Node;

use super::values::value;
use super::{Block, Dialect, Draft, elements, fast_dds, text};
use crate::profiles::{Entity, MAX_PROFILES};
use crate::value::Raw;

/// What a profile means that does not say it.
const DEFAULTS: &str = "what the profiles do not say has the defaults of DDS here: in Fast DDS writers are TRANSIENT_LOCAL and \
                        RELIABLE by default, and RESOURCE_LIMITS are 5000, 10 and 400";
const BY_NAME: &str = "a profile is used by name alone";

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
    leave_attributes(library, &["name"], "a library has a name alone", draft);
    let full = |name: &str| {
        if name.contains("::") || of.is_empty() { name.to_owned() } else { format!("{of}::{name}") }
    };
    for profile in elements(library) {
        if profile.tag_name().name() != "qos_profile" {
            draft.leave_out(profile, format!("<{:.100}>", profile.tag_name().name()), "no profile");
            continue;
        }
        let Some(name) = new_profile(profile, "name", full, draft) else { continue };
        leave_attributes(profile, &["name", "base_name"], BY_NAME, draft);
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
            leave_attributes(entity, &["name", "topic_filter"], "only profiles as a whole have bases", draft);
            let topic = entity.attribute("topic_filter").map(str::to_owned);
            let mut reading = Reading { draft, profile: &name, topic, dialect: Dialect::DdsXml };
            elements(entity).for_each(|policy| reading.policy(policy, kind));
        }
    }
}

/// Reports the attributes that are not known.
fn leave_attributes(node: Node<'_, '_>, known: &[&str], why: &str, draft: &mut Draft<'_>) {
    for attribute in node.attributes().filter(|attribute| !known.contains(&attribute.name())) {
        let what = format!("{:.100} of <{:.100}>", attribute.name(), node.tag_name().name());
        draft.leave_out(node, what, why);
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
    let is_full = draft.bases.len() >= MAX_PROFILES;
    match draft.bases.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = base.or(known.take()),
        None if is_full => {
            draft.leave_out(node, format!("'{name:.100}'"), format!("more than {MAX_PROFILES} profiles"));
            return None;
        }
        None => draft.bases.push((name.clone(), base)),
    }
    Some(name)
}

/// Profiles of Fast DDS: each is one of an entity.
pub(super) fn read_fast_dds(profiles: Node<'_, '_>, draft: &mut Draft<'_>) {
    let mut defaults_told = false;
    let chosen = fast_dds::chosen(profiles);
    for profile in elements(profiles) {
        let kind = match profile.tag_name().name() {
            "participant" => Entity::Participant,
            "topic" => Entity::Topic,
            "data_writer" | "publisher" => Entity::Writer,
            "data_reader" | "subscriber" => Entity::Reader,
            "transport_descriptors" => {
                fast_dds::transports(profile, chosen, draft);
                continue;
            }
            other => {
                draft.leave_out(profile, format!("<{other:.100}>"), "no profile of QoS");
                continue;
            }
        };
        let Some(name) = new_profile(profile, "profile_name", str::to_owned, draft) else { continue };
        leave_attributes(profile, &["profile_name", "base_name"], BY_NAME, draft);
        if kind != Entity::Participant && !std::mem::replace(&mut defaults_told, true) {
            draft.leave_out(profiles, "defaults", DEFAULTS);
        }
        let nested = |part: &Node<'_, '_>| matches!(part.tag_name().name(), "qos" | "topic" | "rtps");
        let parts = elements(profile).flat_map(|part| {
            let within = nested(&part).then(|| elements(part));
            let itself = (!nested(&part)).then_some(part);
            within.into_iter().flatten().chain(itself)
        });
        for part in parts {
            if kind == Entity::Participant && fast_dds::read(part, chosen == Some(profile), draft) {
                continue;
            }
            let mut reading = Reading { draft, profile: &name, topic: None, dialect: Dialect::FastDds };
            reading.policy(part, kind);
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
    dialect: Dialect,
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
        leave_attributes(policy, &[], "policies have no attributes", self.draft);
        for field in elements(policy) {
            leave_attributes(field, &[], "fields have no attributes", self.draft);
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
            let path = format!("{name}.{ours}");
            match value(field, &path, self.dialect) {
                Ok(raw) => settings.push((field, path, raw)),
                Err(why) => unread.push((field, what(tag), why)),
            }
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
