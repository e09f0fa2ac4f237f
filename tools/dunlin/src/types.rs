//! `dunlin type TOPIC`: the types that the endpoints of a topic announce, as IDL, or compared with a local file.

use crate::idl;
use crate::join::{Survey, listen};
use crate::names::harmless_lines;
use anyhow::{Result, bail, ensure};
use clap::Args;
use dunlin::qos::TypeConsistencyEnforcement;
use dunlin::xtypes::cdr::Representation;
use dunlin::xtypes::{TypeIn, assignable, to_idl};
use dunlin::{Config, DomainParticipant, Guid, KnownType, TypeDiscovery};
use dunlin_idl::Options;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long participants are asked at most; the library gives up before.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    /// Name of the topic
    topic: String,
    /// Compare with the type of the same name in an IDL file: who can read whom, and which member is in the way
    #[arg(long, value_name = "FILE")]
    diff: Option<PathBuf>,
    /// The type in the file, if it has another name there: M::T
    #[arg(long, value_name = "NAME", requires = "diff")]
    name: Option<String>,
    /// The file is IDL of ROS 2: its types have the names that ROS 2 announces (pkg::msg::dds_::Foo_) and are final
    #[arg(long, requires = "diff")]
    ros2: bool,
    #[command(flatten)]
    pub survey: Survey,
}

/// Endpoints of one type.
struct Found {
    /// The name that endpoints announce.
    name: String,
    writers: usize,
    readers: usize,
    vendors: Vec<&'static str>,
    ty: Result<(KnownType, String), String>,
}

impl Found {
    fn same(&self, name: &str, ty: &Result<(KnownType, String), String>) -> bool {
        let text = |ty: &Result<(KnownType, String), String>| {
            ty.as_ref().map(|ty| ty.1.clone()).map_err(Clone::clone)
        };
        self.name == name && text(&self.ty) == text(ty)
    }
}

/// An endpoint of the topic: its GUID, type name, vendor.
type Endpoint = (Guid, String, &'static str);

fn endpoints(participant: &DomainParticipant, topic: &str) -> Vec<Endpoint> {
    let (writers, readers) = (participant.discovered_publications(), participant.discovered_subscriptions());
    let writers = writers.iter().filter(|it| &*it.topic_name == topic);
    let readers = readers.iter().filter(|it| &*it.topic_name == topic);
    let writers = writers.map(|it| (it.guid, it.type_name.to_string(), it.vendor.name()));
    let readers = readers.map(|it| (it.guid, it.type_name.to_string(), it.vendor.name()));
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
    let pending =
        |(guid, ..): &Endpoint| matches!(participant.discovered_type(*guid), TypeDiscovery::Pending);
    // All are asked before anybody is waited for.
    while endpoints(participant, topic).iter().filter(|it| pending(it)).count() > 0
        && Instant::now() < deadline
    {
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Every type of a topic, once.
fn find(participant: &DomainParticipant, topic: &str) -> Vec<Found> {
    ask(participant, topic);
    let mut found: Vec<Found> = Vec::new();
    for (guid, name, vendor) in endpoints(participant, topic) {
        let ty = type_of(participant, guid).map(|known| {
            let text = to_idl(&known.graph, known.root);
            (known, text)
        });
        let at = found.iter().position(|it| it.same(&name, &ty)).unwrap_or_else(|| {
            found.push(Found { name, writers: 0, readers: 0, vendors: Vec::new(), ty });
            found.len() - 1
        });
        let it = &mut found[at];
        let count = if guid.entity_id.is_writer() { &mut it.writers } else { &mut it.readers };
        *count += 1;
        if !it.vendors.contains(&vendor) {
            it.vendors.push(vendor);
        }
    }
    found
}

/// Who can read whom, member by member. Whether both can.
fn compare(
    file: &Path,
    name: &str,
    ros2_names: bool,
    there: &KnownType,
    out: &mut impl Write,
) -> Result<bool> {
    let (graph, index) = idl::type_of(file, &Options { ros2_names, ..Options::default() }, name, "--name")?;
    let here = TypeIn { graph: &graph, index };
    let there = TypeIn { graph: &there.graph, index: there.root };
    let file = file.display();
    let mut both = true;
    for (reader, writer, text) in [
        (here, there, format!("a reader of {file} and a writer of the topic's type")),
        (there, here, format!("a reader of the topic's type and a writer of {file}")),
    ] {
        match assignable(reader, writer, &TypeConsistencyEnforcement::default(), Representation::Xcdr2) {
            Ok(()) => writeln!(out, "{text}: fit")?,
            Err(differences) => {
                both = false;
                writeln!(out, "{text}: do not fit")?;
                for difference in differences {
                    writeln!(out, "  {difference}")?;
                }
            }
        }
    }
    Ok(both)
}

/// Joins the domain, asks, and prints each type of the topic. Fails if one is not known, or cannot be read and written
/// with the file.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    ensure!(!arguments.topic.is_empty(), "a topic has a name");
    let participant = arguments.survey.join.participant(config, "dunlin type")?;
    listen(arguments.survey.wait)?;
    let found = find(&participant, &arguments.topic);
    if found.is_empty() {
        bail!("nobody writes or reads topic '{}' in domain {}", arguments.topic, participant.domain_id());
    }
    let mut page = Vec::new();
    let well = describe(arguments, found, &mut page)?;
    out.write_all(harmless_lines(&String::from_utf8_lossy(&page)).as_bytes())?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Each type, or how it compares with the file. Whether all is well.
fn describe(arguments: &Arguments, found: Vec<Found>, out: &mut impl Write) -> Result<bool> {
    let mut well = true;
    for Found { name, writers, readers, vendors, ty } in found {
        writeln!(out, "// {name}: {writers} writers, {readers} readers ({})", vendors.join(", "))?;
        match (ty, &arguments.diff) {
            (Ok((_, text)), None) => write!(out, "{text}")?,
            (Ok((known, _)), Some(file)) => {
                let name = arguments.name.as_deref().unwrap_or(&name);
                well &= compare(file, name, arguments.ros2, &known, out)?;
            }
            (Err(why), _) => {
                writeln!(out, "// the type is not known: {why}")?;
                well = false;
            }
        }
    }
    Ok(well)
}
