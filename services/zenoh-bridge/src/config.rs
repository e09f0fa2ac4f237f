//! What a bridge is to do.

mod read;

use std::path::Path;

use dunlin::{Config, Duration};
use dunlin_settings::pattern::Names;
pub use dunlin_settings::{ConfigError, Problem, read_text};

use crate::key::Convention;

/// The configuration of a [`Bridge`](crate::Bridge).
#[derive(Clone, Debug)]
pub struct BridgeConfig {
    /// Names the bridge in the marks of its endpoints. Bridges that can reach each other need different names.
    pub name: String,
    /// The DDS side.
    pub dds: DdsConfig,
    /// The zenoh side.
    pub zenoh: ZenohConfig,
    /// Which topics, how. The first one that is about a topic decides.
    pub routes: Vec<RouteConfig>,
    /// Bounds of the memory that other participants can make it use.
    pub limits: Limits,
    /// How often counters are told, zero for never.
    pub status_period: Duration,
}

/// How a bridge takes part in a domain.
#[derive(Clone, Debug, Default)]
pub struct DdsConfig {
    /// The domain.
    pub domain: u32,
    /// The participant's configuration; that of the process if there is none.
    pub config: Option<Config>,
}

/// How a bridge takes part in a zenoh network.
#[derive(Clone, Debug)]
pub struct ZenohConfig {
    /// Names the network. Bridges of one network leave alone what the others of it have written to a domain.
    pub network: String,
    /// The settings of the session.
    pub session: zenoh::Config,
}

/// Topics, and how they pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RouteConfig {
    /// What messages call it.
    pub name: String,
    /// How topics and keys belong together.
    pub convention: Convention,
    /// In front of every key.
    pub scope: Option<String>,
    /// Which way.
    pub direction: Direction,
    /// Which topics, by their DDS names.
    pub topics: Names,
    /// Which types.
    pub types: Names,
    /// Which partitions; an endpoint without one is in the partition "".
    pub partitions: Names,
    /// zenoh's priority, 1 (highest) to 7; by TRANSPORT_PRIORITY if there is none.
    pub priority: Option<u8>,
    /// Each sample is sent at once, instead of with others.
    pub express: bool,
    /// What happens to reliable samples for which zenoh has no room.
    pub congestion: Congestion,
    /// Least time between samples of an instance that go to zenoh.
    pub separation: Duration,
}

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    /// Both ways.
    #[default]
    Both,
    /// From DDS to zenoh.
    ToZenoh,
    /// From zenoh to DDS.
    FromZenoh,
}

impl Direction {
    pub(crate) const fn goes_out(self) -> bool {
        matches!(self, Self::Both | Self::ToZenoh)
    }

    pub(crate) const fn comes_in(self) -> bool {
        matches!(self, Self::Both | Self::FromZenoh)
    }
}

/// What happens to reliable samples while zenoh's queue is full. Those of best-effort writers are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Congestion {
    /// They wait, and so do the writers in the end.
    #[default]
    Block,
    /// They are dropped.
    Drop,
}

/// Bounds of the memory that other participants can make a bridge use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Routes in each direction.
    pub routes: usize,
    /// Samples of one route that wait on either side.
    pub samples: u32,
    /// Octets of one route that wait on the way from zenoh.
    pub octets: usize,
    /// Samples of one route that other bridges can ask for again.
    pub history_samples: usize,
    /// Their octets.
    pub history_octets: usize,
    /// Largest sample that is taken from zenoh.
    pub sample_octets: usize,
    /// Sources of one route, such as other bridges.
    pub sources: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            routes: 4096,
            samples: 4096,
            octets: 64 << 20,
            history_samples: 4096,
            history_octets: 64 << 20,
            sample_octets: 16 << 20,
            sources: 1024,
        }
    }
}

impl BridgeConfig {
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

    /// The route for a topic, its type and a partition.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub fn route(&self, topic: &str, type_name: &str, partition: &str) -> Result<&RouteConfig, String> {
        let mut why = "no route is about it".to_owned();
        for route in &self.routes {
            let judged = route.topics.judge(topic).and(route.types.judge(type_name));
            match judged.and(route.partitions.judge(partition)) {
                Ok(_) => return Ok(route),
                Err(dunlin_settings::pattern::Denied::By(pattern)) => {
                    why = format!("the pattern \"{pattern}\" of route \"{}\" denies it", route.name);
                }
                Err(_) => {}
            }
        }
        Err(why)
    }
}
