//! What a router is to do: participants, and routes between them.

mod read;

use std::path::Path;

use dunlin::qos::DataRepresentationId;
use dunlin::{Config, Duration};
use dunlin_settings::pattern::{Names, Template};
pub use dunlin_settings::{ConfigError, Problem, read_text};

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
    /// Bounds of the memory that other participants can make it use.
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

/// Bounds of the memory that other participants can make a router use.
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

impl RouterConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, and all that is wrong with it.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        dunlin_settings::read_file(path, Self::from_toml)
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
