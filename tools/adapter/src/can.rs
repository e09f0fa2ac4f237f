//! What an implementation can do, so that the benchmark refuses the rest before it measures.

use std::fmt;
use std::str::FromStr;

/// An ability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Can {
    /// Both sides in one process.
    IntraProcess,
    /// Two hosts.
    TwoHosts,
    /// Samples arrive, all and in order. A floor claims it too: what it loses is shown.
    Reliable,
    /// Samples may be lost.
    BestEffort,
    /// Several topics in a process.
    ManyTopics,
    /// Several readers of a topic.
    ManyReaders,
}

impl Can {
    /// All there are.
    pub const ALL: &'static [Self] = &[
        Self::IntraProcess,
        Self::TwoHosts,
        Self::Reliable,
        Self::BestEffort,
        Self::ManyTopics,
        Self::ManyReaders,
    ];
    /// All but two hosts.
    pub const ALL_BUT_TWO_HOSTS: &'static [Self] =
        &[Self::IntraProcess, Self::Reliable, Self::BestEffort, Self::ManyTopics, Self::ManyReaders];
}

impl fmt::Display for Can {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IntraProcess => "intra-process",
            Self::TwoHosts => "two-hosts",
            Self::Reliable => "reliable",
            Self::BestEffort => "best-effort",
            Self::ManyTopics => "many-topics",
            Self::ManyReaders => "many-readers",
        })
    }
}

impl FromStr for Can {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|can| can.to_string() == text);
        found.copied().ok_or_else(|| anyhow::anyhow!("{text} is no ability"))
    }
}
