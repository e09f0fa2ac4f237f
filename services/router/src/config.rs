//! What a router is to do: participants, and routes between them.

mod read;
mod table;

use crate::pattern::{Names, Template};
use dunlin::qos::DataRepresentationId;
use dunlin::{Config, Duration};
use std::fmt;
use std::path::Path;

/// Longest file that is read, in octets.
const MAX_FILE: u64 = 1 << 20;

/// The configuration of a [`Router`](crate::Router).
#[derive(Clone, Debug)]
pub struct RouterConfig {
    /// Names the router in the marks of its endpoints. Routers that can reach each other need different names; one that starts anew
    /// keeps its name.
    pub name: String,
    /// How it takes part in domains.
    pub participants: Vec<ParticipantConfig>,
    /// What goes where.
    pub routes: Vec<RouteConfig>,
    /// What strangers can make it keep.
    pub limits: Limits,
    /// Where it tells what it does.
    pub status: StatusConfig,
}

/// How a router takes part in a domain.
#[derive(Clone, Debug)]
pub struct ParticipantConfig {
    /// What routes call it.
    pub name: String,
    /// The domain.
    pub domain: u32,
    /// Its configuration; that of the process if there is none.
    pub config: Option<Config>,
    /// The text of that configuration, to tell whether it changed.
    pub(crate) source: String,
}

/// What is routed, from where to where.
#[derive(Clone, PartialEq, Debug)]
pub struct RouteConfig {
    /// What messages call it.
    pub name: String,
    /// The participant that data comes from.
    pub from: String,
    /// Participants that it goes to.
    pub to: Vec<String>,
    /// Which topics.
    pub topics: Names,
    /// Which types, by name.
    pub types: Names,
    /// Which partitions; a writer without one is in the partition "".
    pub partitions: Names,
    /// The topic in the destination; the same if there is none.
    pub rename_topic: Option<Template>,
    /// The name of the type in the destination.
    pub rename_type: Option<Template>,
    /// The partition in the destination.
    pub rename_partition: Option<Template>,
    /// The profile of the destination's configuration whose policies replace those of the writers.
    pub profile: Option<String>,
    /// The encoding in the destination; the writers' if there is none.
    pub representation: Option<DataRepresentationId>,
    /// Which samples: an expression as of a content-filtered topic.
    pub filter: Option<String>,
    /// Of every so many samples of an instance, one is passed on; 1 for all.
    pub one_of: u32,
    /// Least time between samples of an instance.
    pub separation: Duration,
    /// Samples with the octets of the one before them, of the same instance, are left out.
    pub only_on_change: bool,
    /// When an output is created.
    pub create: Create,
}

/// When a router writes in the destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Create {
    /// While there are writers at the source.
    #[default]
    Writer,
    /// While there are writers at the source, and readers at the destination.
    Both,
}

/// What strangers can make a router keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Outputs.
    pub flows: usize,
    /// Samples of one output that wait to be passed on, or for acknowledgment.
    pub samples: u32,
    /// Instances of one output.
    pub instances: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { flows: 4096, samples: 4096, instances: 100_000 }
    }
}

/// Where and how often a router tells what it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusConfig {
    /// Participants in which it does.
    pub participants: Vec<String>,
    /// Time between samples.
    pub period: Duration,
}

/// One thing that is wrong with a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The file as it was named.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, and what to do about it.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// A configuration that cannot be used, with all that is wrong with it (up to twenty problems).
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError(pub Vec<Problem>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// What a program prints whose `main` returns it.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}

impl RouterConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, and all that is wrong with it.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = read_text(path)
            .map_err(|text| ConfigError(vec![Problem { file: name.clone(), line: 1, text }]))?;
        Self::from_toml(&name, &text, path.parent())
    }

    /// From the text of a file, which messages call `name`. Files that it names are looked for in `folder`; without one they may
    /// not be named.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn from_toml(name: &str, text: &str, folder: Option<&Path>) -> Result<Self, ConfigError> {
        read::read(name, text, folder)
    }
}

/// The text of a file of bounded length.
///
/// # Errors
/// What is wrong with it, for people.
pub fn read_text(path: &Path) -> Result<String, String> {
    use std::io::Read;
    let file = std::fs::File::open(path).map_err(|error| format!("cannot open it: {error}"))?;
    let mut text = String::new();
    file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|error| format!("cannot read it: {error}"))?;
    if text.len() as u64 > MAX_FILE {
        return Err("it is longer than 1 MiB".to_owned());
    }
    Ok(text)
}
