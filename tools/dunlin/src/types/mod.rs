//! `dunlin type TOPIC`: the types that the endpoints of a topic announce, as IDL or XML, or compared with a local file.

mod compare;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use clap::Args;
use compare::Judged;
use dunlin::qos::{DataRepresentation, TypeConsistencyEnforcement};
use dunlin::xtypes::to_idl;
use dunlin::{Config, DomainParticipant, Guid, KnownType, TypeDiscovery};
use dunlin_idl::{Memory, Notation, Options, convert_all};
use dunlin_program::{sanitize_lines, tell};
use serde::Serialize;

use crate::idl::{self, IdlOptions};
use crate::join::{Survey, listen};
use crate::names::{self, TopicName};
use crate::output::counted;

/// How long participants are asked at most; the library gives up before.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    topic: TopicName,
    /// Compare with the type of the same name in a file, IDL or XML: who can read whom, and which member is in the way
    #[arg(long, value_name = "FILE")]
    diff: Option<PathBuf>,
    /// The type in the file, if it has another name there: M::T, or as ROS 2 has it: std_msgs/msg/String
    #[arg(long, value_name = "NAME", requires = "diff")]
    name: Option<String>,
    #[command(flatten)]
    compiled: IdlOptions,
    /// Print XML (DDS-XTypes 1.3 §7.3.2) instead of IDL: one document, also of several types
    #[arg(long, conflicts_with = "diff")]
    xml: bool,
    /// Print JSON, one object in one line for each type
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub survey: Survey,
}

/// Endpoints of one type.
struct Found {
    /// The name that endpoints announce.
    name: String,
    endpoints: Vec<Endpoint>,
    ty: Result<(KnownType, String), String>,
}

impl Found {
    fn same(&self, name: &str, ty: &Result<(KnownType, String), String>) -> bool {
        let text = |ty: &Result<(KnownType, String), String>| {
            ty.as_ref().map(|ty| ty.1.clone()).map_err(Clone::clone)
        };
        self.name == name && text(&self.ty) == text(ty)
    }

    fn vendors(&self) -> Vec<String> {
        let mut vendors: Vec<String> = Vec::new();
        for endpoint in &self.endpoints {
            if !vendors.contains(&endpoint.vendor) {
                vendors.push(endpoint.vendor.clone());
            }
        }
        vendors
    }
}

/// An endpoint of the topic, and what it announces about types.
pub struct Endpoint {
    pub guid: Guid,
    pub type_name: String,
    /// The name of its participant, perhaps empty.
    pub participant: String,
    pub vendor: String,
    pub representation: DataRepresentation,
    /// Of readers.
    pub consistency: TypeConsistencyEnforcement,
}

/// Writers, then readers.
fn endpoints(participant: &DomainParticipant, topic: &str) -> Vec<Endpoint> {
    let (writers, readers) = (participant.discovered_publications(), participant.discovered_subscriptions());
    let owners = participant.discovered_participants();
    let name_of = |guid: Guid| {
        let owner = owners.iter().find(|owner| owner.guid() == guid);
        owner.map(|owner| owner.entity_name.clone()).unwrap_or_default()
    };
    let writers = writers.iter().filter(|it| &*it.topic_name == topic).map(|it| Endpoint {
        guid: it.guid,
        type_name: it.type_name.to_string(),
        participant: name_of(it.participant()),
        vendor: names::vendor(it.vendor),
        representation: it.qos.representation.clone(),
        consistency: TypeConsistencyEnforcement::default(),
    });
    let readers = readers.iter().filter(|it| &*it.topic_name == topic).map(|it| Endpoint {
        guid: it.guid,
        type_name: it.type_name.to_string(),
        participant: name_of(it.participant()),
        vendor: names::vendor(it.vendor),
        representation: it.qos.representation.clone(),
        consistency: it.qos.type_consistency,
    });
    writers.chain(readers).collect()
}

/// The type of an endpoint, or why it is not known.
pub fn type_of(participant: &DomainParticipant, guid: Guid) -> Result<KnownType, String> {
    match participant.discovered_type(guid) {
        TypeDiscovery::Known(known) => Ok(known),
        TypeDiscovery::Pending => Err("its participant has not answered yet".into()),
        TypeDiscovery::NotAnnounced => Err("it announces no type information".into()),
        TypeDiscovery::Refused(why) => Err(why),
    }
}

/// Asks for the types of all endpoints of a topic, and waits until they are known or will not be.
pub fn ask(participant: &DomainParticipant, topic: &str) {
    let deadline = Instant::now() + PATIENCE;
    let pending = |it: &Endpoint| matches!(participant.discovered_type(it.guid), TypeDiscovery::Pending);
    // All are asked before anybody is waited for.
    while endpoints(participant, topic).iter().filter(|it| pending(it)).count() > 0
        && Instant::now() < deadline
    {
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Asks for the types that decide whether endpoints match, without waiting: those of topics with writers and readers. Whether
/// answers are still to come.
pub fn ask_all(participant: &DomainParticipant) -> bool {
    let (writers, readers) = (participant.discovered_publications(), participant.discovered_subscriptions());
    let read: BTreeSet<&str> = readers.iter().map(|it| &*it.topic_name).collect();
    let both: BTreeSet<&str> =
        writers.iter().map(|it| &*it.topic_name).filter(|name| read.contains(name)).collect();
    let of_writers = writers.iter().filter(|it| both.contains(&*it.topic_name)).map(|it| it.guid);
    let of_readers = readers.iter().filter(|it| both.contains(&*it.topic_name)).map(|it| it.guid);
    let pending = |guid: Guid| matches!(participant.discovered_type(guid), TypeDiscovery::Pending);
    // All are asked before one is looked at.
    of_writers.chain(of_readers).filter(|guid| pending(*guid)).count() > 0
}

/// The same, and waits for the answers.
pub fn settle(participant: &DomainParticipant) {
    let deadline = Instant::now() + PATIENCE;
    while ask_all(participant) && Instant::now() < deadline {
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Every type of a topic, once.
fn find(participant: &DomainParticipant, topic: &str) -> Vec<Found> {
    ask(participant, topic);
    let mut found: Vec<Found> = Vec::new();
    for endpoint in endpoints(participant, topic) {
        let ty = type_of(participant, endpoint.guid).map(|known| {
            let text = to_idl(&known.graph, known.root);
            (known, text)
        });
        match found.iter_mut().find(|it| it.same(&endpoint.type_name, &ty)) {
            Some(it) => it.endpoints.push(endpoint),
            None => found.push(Found { name: endpoint.type_name.clone(), endpoints: vec![endpoint], ty }),
        }
    }
    found
}

/// Joins the domain, asks, and prints each type of the topic. Fails if one is not known, or cannot be read and written
/// with the file.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    ensure!(!arguments.topic.given().is_empty(), "a topic has a name");
    arguments.compiled.only_with(arguments.diff.as_deref(), "--diff")?;
    let participant = arguments.survey.join.participant(config, "dunlin type")?;
    listen(arguments.survey.wait)?;
    let found = find(&participant, &arguments.topic.in_domain(&participant));
    if found.is_empty() {
        bail!(
            "nobody writes or reads topic '{}' in domain {}",
            arguments.topic.given(),
            participant.domain_id()
        );
    }
    let told = found.into_iter().map(|found| told(arguments, found)).collect::<Result<Vec<_>>>()?;
    let text: String = if arguments.json {
        told.iter().map(|told| Ok(crate::output::json(told)?)).collect::<Result<_>>()?
    } else if arguments.xml {
        sanitize_lines(&document(&told))
    } else {
        sanitize_lines(&told.iter().map(Told::text).collect::<String>())
    };
    out.write_all(text.as_bytes())?;
    Ok(if told.iter().all(Told::is_healthy) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The types of a topic as one XML document, or as one of each if they have names in common; what is no XML goes to standard
/// error. Nothing if no type is known.
fn document(told: &[Told]) -> String {
    for it in told {
        if let Some(why) = &it.unknown {
            tell!("{}: the type is not known: {why}", it.title());
        }
    }
    let known: Vec<(&Told, &String)> = told.iter().filter_map(|it| Some((it, it.xml.as_ref()?))).collect();
    let names: Vec<String> = (0..known.len()).map(|at| format!("{at}.xml")).collect();
    let files = known.iter().zip(&names);
    let files = files.fold(Memory::default(), |files, ((_, text), name)| files.with(name, text.as_str()));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match known.as_slice() {
        [] => String::new(),
        [(it, text)] => titled(&[it], text),
        several => match convert_all(&names, Notation::Xml, &Options::default(), &files).text {
            Some(text) => titled(&several.iter().map(|(it, _)| *it).collect::<Vec<_>>(), &text),
            None => {
                tell!("dunlin: the types have names in common: each is a document of its own");
                several.iter().map(|(it, text)| titled(&[it], text)).collect()
            }
        },
    }
}

/// A document that says whose types it has. The declaration is its first line, and two hyphens end a comment.
fn titled(told: &[&Told], text: &str) -> String {
    let (declaration, rest) = text.split_once('\n').unwrap_or((text, ""));
    let titles = told.iter().map(|it| format!("<!-- {} -->\n", it.title().replace('-', "\u{2010}")));
    format!("{declaration}\n{}{rest}", titles.collect::<String>())
}

/// What is told of a type of the topic.
#[derive(Serialize)]
struct Told {
    #[serde(rename = "type")]
    name: String,
    /// What ROS 2 calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    ros: Option<String>,
    writers: usize,
    readers: usize,
    vendors: Vec<String>,
    /// The type, unless it is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    idl: Option<String>,
    /// The type, if it is wanted in XML.
    #[serde(skip_serializing_if = "Option::is_none")]
    xml: Option<String>,
    /// Why the type is not known, or cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
    /// With the file, who can read whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<Vec<Judged>>,
}

fn told(arguments: &Arguments, found: Found) -> Result<Told> {
    let writers = found.endpoints.iter().filter(|it| it.guid.entity_id.is_writer()).count();
    let (readers, vendors) = (found.endpoints.len() - writers, found.vendors());
    let (mut idl, mut xml, mut unknown, mut pairs) = (None, None, None, None);
    match (found.ty, &arguments.diff) {
        (Ok((known, _)), None) if arguments.xml => match dunlin_idl::xtypes::to_xml(&known.graph, known.root)
        {
            Ok(text) => xml = Some(text),
            Err(why) => unknown = Some(why),
        },
        (Ok((_, text)), None) => idl = Some(text),
        (Ok((known, _)), Some(file)) => {
            let name = arguments.name.as_deref().unwrap_or(&found.name);
            let (graph, index) = idl::type_of(file, &arguments.compiled.options(), name, "--name")?;
            let here = KnownType { graph: Arc::new(graph), root: index };
            pairs = Some(compare::with_file(&file.display().to_string(), &here, &known, &found.endpoints));
        }
        (Err(why), _) => unknown = Some(why),
    }
    let ros = arguments.topic.ros_type(&found.name);
    Ok(Told { name: found.name, ros, writers, readers, vendors, idl, xml, unknown, pairs })
}

impl Told {
    fn is_healthy(&self) -> bool {
        self.unknown.is_none() && self.pairs.iter().flatten().all(|pair| pair.fit)
    }

    fn title(&self) -> String {
        let Self { name, writers, readers, .. } = self;
        let ros = self.ros.as_ref().map(|ros| format!(" ({ros})")).unwrap_or_default();
        let vendors = self.vendors.join(", ");
        let (writers, readers) = (counted(*writers, "writer"), counted(*readers, "reader"));
        format!("{name}{ros}: {writers}, {readers} ({vendors})")
    }

    fn text(&self) -> String {
        let mut text = format!("// {}\n", self.title());
        text += self.idl.as_deref().unwrap_or_default();
        if let Some(why) = &self.unknown {
            text += &format!("// the type is not known: {why}\n");
        }
        for pair in self.pairs.iter().flatten() {
            text += &pair.text();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, xml: Option<&str>) -> Told {
        let xml = xml.map(|it| format!("<?xml version=\"1.0\"?>\n<types>\n{it}\n</types>\n"));
        let unknown = xml.is_none().then(|| "nobody tells it".to_owned());
        let (ros, idl, pairs) = (None, None, None);
        Told { name: name.to_owned(), ros, writers: 1, readers: 0, vendors: vec![], idl, xml, unknown, pairs }
    }

    #[test]
    fn xml_is_one_document_and_nothing_else() {
        let a = Some("<struct name=\"A\"><member name=\"x\" type=\"int32\"/></struct>");
        let b = Some("<struct name=\"B\"><member name=\"x\" type=\"int32\"/></struct>");
        assert_eq!(document(&[told("A", None)]), "");
        let one = document(&[told("A--", a), told("B", None)]);
        assert!(one.contains("<!-- A\u{2010}\u{2010}: 1 writer, 0 readers () -->\n<types>"), "{one}");
        let two = document(&[told("A", a), told("B", b)]);
        assert_eq!((two.matches("<?xml").count(), two.matches("<types").count()), (1, 1), "{two}");
        assert!(two.contains("name=\"A\"") && two.contains("name=\"B\"") && two.matches("<!--").count() == 2);
        assert!(!one.contains("nobody tells it"));
        let other = Some("<struct name=\"A\"><member name=\"y\" type=\"string\"/></struct>");
        let apart = document(&[told("A", a), told("A", other)]);
        assert_eq!((apart.matches("<?xml").count(), apart.matches("</types>").count()), (2, 2), "{apart}");
    }
}
