//! Who is in a domain, and who talks to whom: what `dunlin ls` and `dunlin graph` show.

pub mod graph;
mod host;
pub mod ls;
pub mod qos;
mod svg;

use crate::names;
use dunlin::{DomainParticipant, Guid};
use serde::Serialize;
use std::collections::BTreeMap;

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
    /// For people; perhaps empty.
    pub name: String,
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
    /// The participant's name, or its GUID if it has none.
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
    /// Why they do not match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
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
        let addresses = data.locators.default_unicast.iter().map(ToString::to_string).collect();
        let known = Participant {
            guid: data.guid().to_string(),
            id: Some(data.guid()),
            name: data.entity_name.clone(),
            vendor: names::vendor(data.vendor),
            process: host::Process::of(&data.property),
            addresses,
            writers: 0,
            readers: 0,
        };
        participants.insert(data.guid(), known);
    }
    let mut topics = BTreeMap::new();
    for writer in participant.discovered_publications() {
        let owner = participants.get_mut(&writer.participant());
        let of = owner.map(|p| (p.writers += 1, p.label()).1).unwrap_or_default();
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
        let of = owner.map(|p| (p.readers += 1, p.label()).1).unwrap_or_default();
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

impl Participant {
    /// Its name, or its GUID if it has none.
    pub fn label(&self) -> String {
        if self.name.is_empty() { self.guid.clone() } else { self.name.clone() }
    }
}
