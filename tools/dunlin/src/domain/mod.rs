//! Who is in a domain, and who talks to whom: what `dunlin ls` and `dunlin graph` show.

pub mod graph;
mod host;
pub mod ls;
pub mod qos;
mod svg;

use std::collections::BTreeMap;

use dunlin::{DomainParticipant, Guid, Locator};
use serde::Serialize;

use crate::names;

/// A domain as it is known at one moment.
#[derive(Serialize)]
pub struct Domain {
    pub domain: u32,
    pub participants: Vec<Participant>,
    pub topics: Vec<Topic>,
}

/// A participant.
#[derive(Serialize, Clone)]
pub struct Participant {
    pub guid: String,
    #[serde(skip)]
    pub id: Option<Guid>,
    /// As it was given; perhaps empty.
    pub name: String,
    /// For people: no other participant of the domain has the same.
    pub label: String,
    pub vendor: String,
    #[serde(flatten)]
    pub process: host::Process,
    /// Where it receives data.
    pub addresses: Vec<String>,
    pub writers: usize,
    pub readers: usize,
}

/// A topic with its endpoints.
#[derive(Serialize)]
pub struct Topic {
    pub name: String,
    /// What ROS 2 calls it, if it is one of its topics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ros: Option<String>,
    /// The types that its endpoints name.
    pub types: Vec<String>,
    pub writers: Vec<Endpoint>,
    pub readers: Vec<Endpoint>,
    /// Every writer with every reader.
    pub pairs: Vec<Pair>,
}

/// A writer or reader.
#[derive(Serialize, Clone)]
pub struct Endpoint {
    pub guid: String,
    #[serde(skip)]
    pub id: Option<Guid>,
    /// The GUID of its participant.
    pub participant: String,
    /// The participant's label.
    pub of: String,
    pub vendor: String,
    #[serde(rename = "type")]
    pub type_name: String,
    /// The policies that say something; see [`qos`].
    pub qos: BTreeMap<&'static str, String>,
}

/// A writer and a reader of the same topic.
#[derive(Serialize)]
pub struct Pair {
    pub writer: String,
    pub reader: String,
    pub matched: bool,
    /// Why they do not match, or exchange nothing although they do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

impl Pair {
    /// The two match, and nothing is known that keeps samples from arriving.
    pub fn is_healthy(&self) -> bool {
        self.matched && self.causes.is_empty()
    }
}

impl Topic {
    fn new(name: &str) -> Self {
        let (name, ros) = (name.to_owned(), names::ros_topic(name));
        Self { name, ros, types: Vec::new(), writers: Vec::new(), readers: Vec::new(), pairs: Vec::new() }
    }

    /// What ROS 2 calls it, otherwise its name.
    pub fn label(&self) -> &str {
        self.ros.as_deref().unwrap_or(&self.name)
    }

    /// Its types, as people know them.
    pub fn types(&self) -> String {
        let names = self.types.iter().map(|name| names::ros_type(name).unwrap_or_else(|| name.clone()));
        names.collect::<Vec<_>>().join(", ")
    }

    /// Pairs that match.
    pub fn matched(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.matched).count()
    }

    /// Pairs that match and exchange samples as far as is known.
    pub fn well(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.is_healthy()).count()
    }

    fn add(&mut self, endpoint: Endpoint, writes: bool) {
        if !self.types.contains(&endpoint.type_name) {
            self.types.push(endpoint.type_name.clone());
        }
        let list = if writes { &mut self.writers } else { &mut self.readers };
        list.push(endpoint);
    }
}

impl Domain {
    /// Leaves out a topic and its endpoints.
    pub fn leave_out(&mut self, name: &str) {
        let Some(at) = self.topics.iter().position(|topic| topic.name == name) else { return };
        let Topic { writers, readers, .. } = self.topics.remove(at);
        for participant in &mut self.participants {
            let own = |all: &[Endpoint]| all.iter().filter(|it| it.participant == participant.guid).count();
            let (own_writers, own_readers) = (own(&writers), own(&readers));
            participant.writers = participant.writers.saturating_sub(own_writers);
            participant.readers = participant.readers.saturating_sub(own_readers);
        }
    }
}

/// The domain without the tool itself.
pub fn survey(participant: &DomainParticipant) -> Domain {
    let mut participants = BTreeMap::new();
    for data in participant.discovered_participants() {
        let known = Participant {
            guid: data.guid().to_string(),
            id: Some(data.guid()),
            name: data.entity_name.clone(),
            label: String::new(),
            vendor: names::vendor(data.vendor),
            process: host::Process::of(&data.property),
            addresses: addresses(&data.locators.default_unicast),
            writers: 0,
            readers: 0,
        };
        participants.insert(data.guid(), known);
    }
    label_all(&mut participants);
    let mut topics = BTreeMap::new();
    for writer in participant.discovered_publications() {
        let owner = participants.get_mut(&writer.participant());
        let of = owner.map(|p| (p.writers += 1, p.label.clone()).1).unwrap_or_default();
        let endpoint = Endpoint {
            guid: writer.guid.to_string(),
            id: Some(writer.guid),
            participant: writer.participant().to_string(),
            of,
            vendor: names::vendor(writer.vendor),
            type_name: writer.type_name.to_string(),
            qos: qos::of_writer(&writer),
        };
        let name = writer.topic_name.to_string();
        topics.entry(name).or_insert_with_key(|name| Topic::new(name)).add(endpoint, true);
    }
    for reader in participant.discovered_subscriptions() {
        let owner = participants.get_mut(&reader.participant());
        let of = owner.map(|p| (p.readers += 1, p.label.clone()).1).unwrap_or_default();
        let endpoint = Endpoint {
            guid: reader.guid.to_string(),
            id: Some(reader.guid),
            participant: reader.participant().to_string(),
            of,
            vendor: names::vendor(reader.vendor),
            type_name: reader.type_name.to_string(),
            qos: qos::of_reader(&reader),
        };
        let name = reader.topic_name.to_string();
        topics.entry(name).or_insert_with_key(|name| Topic::new(name)).add(endpoint, false);
    }
    for topic in topics.values_mut() {
        topic.pairs = pairs(participant, &topic.name);
    }
    let participants = participants.into_values().collect();
    Domain { domain: participant.domain_id(), participants, topics: topics.into_values().collect() }
}

fn pairs(participant: &DomainParticipant, topic: &str) -> Vec<Pair> {
    let pairs = participant.explain_topic(topic).pairs;
    // Readers of the tool itself are no part of the domain that it looks at.
    let own = participant.guid().prefix;
    let both = pairs
        .into_iter()
        .filter_map(|pair| Some((pair.writer?.guid, pair.reader?.guid, pair.matched, pair.causes)));
    let both = both.filter(|(writer, reader, ..)| writer.prefix != own && reader.prefix != own);
    let text = |guid: Guid| guid.to_string();
    both.map(|(writer, reader, matched, causes)| Pair {
        writer: text(writer),
        reader: text(reader),
        matched,
        causes: causes.iter().map(ToString::to_string).collect(),
    })
    .collect()
}

/// Where a participant receives data: addresses of networks before shared memory, which tells nobody where it is.
fn addresses(locators: &[Locator]) -> Vec<String> {
    let (networks, others): (Vec<_>, Vec<_>) = locators.iter().partition(|it| it.to_socket_addr().is_some());
    networks.into_iter().chain(others).map(ToString::to_string).collect()
}

/// Gives each participant its label: its name, or its program and process, or its GUID. Of several with one name each gets the number
/// of its process besides, and another number if that is the same too.
fn label_all(participants: &mut BTreeMap<Guid, Participant>) {
    fn tell_apart(
        all: &mut BTreeMap<Guid, Participant>,
        more: impl Fn(&Participant, usize) -> Option<String>,
    ) {
        let mut groups: BTreeMap<String, Vec<Guid>> = BTreeMap::new();
        for (guid, participant) in all.iter() {
            groups.entry(participant.label.clone()).or_default().push(*guid);
        }
        for group in groups.into_values().filter(|group| group.len() > 1) {
            for (at, guid) in group.into_iter().enumerate() {
                let Some(participant) = all.get_mut(&guid) else { continue };
                if let Some(more) = more(participant, at + 1) {
                    participant.label.push_str(&more);
                }
            }
        }
    }
    for participant in participants.values_mut() {
        let name = Some(participant.name.as_str()).filter(|name| !name.is_empty());
        let label = name.or(participant.process.label()).unwrap_or(&participant.guid);
        participant.label = label.to_owned();
    }
    tell_apart(participants, |participant, _| {
        let process = participant.process.process_id.as_deref().or(participant.process.label());
        process.filter(|_| !participant.name.is_empty()).map(|process| format!(" {process}"))
    });
    tell_apart(participants, |_, number| Some(format!(" #{number}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_names_or_processes_and_no_two_are_the_same() {
        let given = [
            ("dunlin shapes", "7"),
            ("dunlin shapes", "8"),
            ("", "9"),
            ("camera", "9"),
            ("", ""),
            ("x", "3"),
            ("x", "3"),
        ];
        let participant = |at: usize, (name, id): (&str, &str)| {
            let mut properties = vec![("dds.sys_info.executable_filepath".to_owned(), "sensor".to_owned())];
            properties.push(("dds.sys_info.process_id".to_owned(), id.to_owned()));
            let property =
                dunlin::qos::Property { values: if id.is_empty() { Vec::new() } else { properties } };
            let prefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, at as u8];
            let guid = Guid { prefix: dunlin::GuidPrefix(prefix), ..Guid::UNKNOWN };
            let participant = Participant {
                guid: format!("guid {at}"),
                id: None,
                name: name.into(),
                label: String::new(),
                vendor: "Dunlin".into(),
                process: host::Process::of(&property),
                addresses: Vec::new(),
                writers: 0,
                readers: 0,
            };
            (guid, participant)
        };
        let mut all = given.into_iter().enumerate().map(|(at, it)| participant(at, it)).collect();
        label_all(&mut all);
        let labels: Vec<_> = all.values().map(|participant| participant.label.as_str()).collect();
        let expected =
            ["dunlin shapes 7", "dunlin shapes 8", "sensor 9", "camera", "guid 4", "x 3 #1", "x 3 #2"];
        assert_eq!(labels, expected);
    }

    #[test]
    fn addresses_of_networks_come_first() {
        let ip = Locator::udp_v4([192, 168, 0, 7].into(), 7411);
        let memory = Locator::shared_memory([1; 8], 7);
        let told = addresses(&[memory, ip]);
        assert_eq!(told[0], ip.to_string());
        assert_eq!(told.len(), 2);
    }
}
