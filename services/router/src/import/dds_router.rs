//! The YAML of DDS Router (versions 3 to 5): participants, allow and block lists, routes.

use serde_norway::{Mapping, Value};

use super::{Draft, Import, ImportError, LeftOut, print};

struct Reading<'t> {
    text: &'t str,
    left_out: Vec<LeftOut>,
}

pub(super) fn import(text: &str) -> Result<Import, ImportError> {
    let root: Value =
        serde_norway::from_str(text).map_err(|error| ImportError(format!("not valid YAML: {error}")))?;
    let root = root.as_mapping().ok_or_else(|| ImportError("there are no participants".into()))?;
    let mut reading = Reading { text, left_out: Vec::new() };
    for key in root.keys().filter_map(Value::as_str) {
        match key {
            "version" | "participants" | "allowlist" | "blocklist" | "routes" | "topic-routes" => {}
            "specs" => {
                reading.leave_out(key, "limits = of this router are [limits] outputs, samples and instances")
            }
            "topics" => reading.leave_out(key, "QoS is that of the writers; write a profile to change it"),
            "builtin-topics" => reading.leave_out(key, "outputs are created when there are writers"),
            _ => reading.leave_out(key, "there is no such setting"),
        }
    }
    let participants = reading.participants(root);
    if participants.is_empty() {
        return Err(ImportError(
            "there are no participants of kind local, simple or echo with a domain".into(),
        ));
    }
    let (topics, types) = reading.list(root, "allowlist");
    let (deny_topics, deny_types) = reading.list(root, "blocklist");
    if !deny_types.iter().all(|ty| ty == "*") {
        reading.leave_out(
            "blocklist",
            "types and topics are denied apart here: only the topics are carried over",
        );
    }
    let mut drafts = reading.routes(root, &participants);
    for draft in &mut drafts {
        draft.topics.clone_from(&topics);
        draft.types.clone_from(&types);
        draft.deny_topics.clone_from(&deny_topics);
    }
    let topic_routes = root.get("topic-routes").and_then(Value::as_sequence).cloned().unwrap_or_default();
    for topic in topic_routes.iter().filter_map(Value::as_mapping) {
        let name = text_of(topic, "name").unwrap_or_default();
        for draft in &mut drafts {
            draft.deny_topics.push(name.clone());
        }
        let mut own = reading.routes(topic, &participants);
        own.iter_mut().for_each(|draft| {
            draft.name = format!("{name} {}", draft.name);
            draft.topics = vec![name.clone()];
        });
        drafts.extend(own);
    }
    let toml = print("router", &participants, &drafts);
    Ok(Import { dialect: "DDS Router", toml, left_out: reading.left_out })
}

fn text_of(map: &Mapping, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).map(str::to_owned)
}

impl Reading<'_> {
    /// The reader of YAML keeps no places: the line is the first one with that key.
    fn leave_out(&mut self, key: &str, why: &str) {
        let has = |line: &str| line.trim_start().trim_start_matches("- ").starts_with(&format!("{key}:"));
        let line = self.text.lines().position(has).map_or(1, |at| at + 1);
        self.left_out.push(LeftOut { line, text: format!("{key}: {why}") });
    }

    fn participants(&mut self, root: &Mapping) -> Vec<(String, u32)> {
        let mut found = Vec::new();
        let listed = root.get("participants").and_then(Value::as_sequence).cloned().unwrap_or_default();
        for participant in listed.iter().filter_map(Value::as_mapping) {
            let (name, kind) = (
                text_of(participant, "name").unwrap_or_default(),
                text_of(participant, "kind").unwrap_or_default(),
            );
            let domain =
                participant.get("domain").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
            match kind.as_str() {
                "local" | "simple" => found.push((name, domain.unwrap_or(0))),
                _ => self.leave_out("kind", &format!("participant \"{name}\" of kind \"{kind}\": a participant here joins a domain; peers, TCP and TLS stand in the configuration that it names")),
            }
            for key in participant.keys().filter_map(Value::as_str) {
                if !matches!(key, "name" | "kind" | "domain") {
                    self.leave_out(
                        key,
                        "of a participant: write it into the configuration that the participant names",
                    );
                }
            }
        }
        found
    }

    /// Names and types of a list.
    fn list(&mut self, root: &Mapping, key: &str) -> (Vec<String>, Vec<String>) {
        let listed = root.get(key).and_then(Value::as_sequence).cloned().unwrap_or_default();
        let (mut names, mut types) = (Vec::new(), Vec::new());
        for entry in listed.iter().filter_map(Value::as_mapping) {
            names.push(text_of(entry, "name").unwrap_or_else(|| "*".into()));
            types.push(text_of(entry, "type").unwrap_or_else(|| "*".into()));
            for other in entry.keys().filter_map(Value::as_str).filter(|it| !matches!(*it, "name" | "type")) {
                self.leave_out(other, "of a listed topic: use filter, or a profile");
            }
        }
        (names, types)
    }

    /// The given routes; from each participant to all others if there are none.
    fn routes(&mut self, map: &Mapping, participants: &[(String, u32)]) -> Vec<Draft> {
        let names: Vec<&String> = participants.iter().map(|(name, _)| name).collect();
        let given = map.get("routes").and_then(Value::as_sequence);
        let mut drafts = Vec::new();
        for from in &names {
            let own = given
                .into_iter()
                .flatten()
                .filter_map(Value::as_mapping)
                .find(|it| text_of(it, "src").as_ref() == Some(*from));
            let to: Vec<String> = match own.map(|it| it.get("dst").and_then(Value::as_sequence)) {
                Some(Some(to)) => to.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                Some(None) => Vec::new(),
                None => names.iter().filter(|name| *name != from).map(|name| (*name).clone()).collect(),
            };
            let known: Vec<String> = to.iter().filter(|name| names.contains(name)).cloned().collect();
            if known.len() < to.len() {
                self.leave_out("dst", "it names a participant that is not carried over");
            }
            if !known.is_empty() {
                let name = format!("{from} to {}", known.join(", "));
                drafts.push(Draft { name, from: (*from).clone(), to: known, ..Draft::default() });
            }
        }
        drafts
    }
}
