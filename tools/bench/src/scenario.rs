//! Scenario files: what to measure, with what, how often.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use dunlin_bench_adapter::Can;
use serde::{Deserialize, Serialize};

/// The largest payload a scenario may ask for, octets.
const MAX_PAYLOAD: usize = 64 << 20;

/// Round trips where nobody says how many.
const TRIPS: u64 = 10_000;
/// The most samples or round trips.
const MAX_COUNT: u64 = 100_000_000;

/// The largest scenario file, octets.
pub(crate) const MAX_FILE: u64 = 1 << 20;
/// The most cells, and the most repetitions of all cells together.
const MAX_CELLS: usize = 20_000;
const MAX_MEASUREMENTS: usize = 1_000_000;
/// The longest name of an implementation, characters.
const MAX_NAME: usize = 60;

/// A scenario file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name, also the name of its results.
    pub id: String,
    /// What it is for.
    pub about: String,
    /// How often every cell is measured.
    #[serde(default = "five")]
    pub repetitions: usize,
    /// What every cell is measured with.
    pub implementations: Vec<Contender>,
    /// What is measured.
    pub measures: Vec<Measure>,
}

/// An implementation with its settings.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    /// What the report calls it.
    pub name: String,
    /// The adapter that runs it.
    pub adapter: String,
    /// Who tells participants of each other. If given, servers and daemons are started and ended with each measurement, and the
    /// configuration file of each host says so; `options` are keys of that file then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    /// The kinds of measures that it is tuned for; if empty, all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
    /// Options of the adapter.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

/// One thing to measure.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// What.
    pub kind: Kind,
    /// Octets of each sample.
    #[serde(default = "sixty_four")]
    pub payloads: Vec<usize>,
    /// Octets of what comes back in a round trip; as many as were sent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<usize>,
    /// Where the two sides are.
    #[serde(default = "two_processes")]
    pub set_ups: Vec<SetUp>,
    /// Which processor each side may use.
    #[serde(default)]
    pub placement: Placement,
    /// How the kernel schedules the sides.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// RELIABILITY.
    #[serde(default = "yes")]
    pub reliable: bool,
    /// HISTORY: KEEP_LAST with this depth; 0 for KEEP_ALL.
    #[serde(default)]
    pub keep_last: i32,
    /// Round trips, 10,000 if not given; of what is written for a time samples at most, as many as go into it if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Round trips that are not counted.
    #[serde(default)]
    pub warm_up: u64,
    /// How long to write, or to look at an idle process.
    #[serde(default = "two")]
    pub seconds: f64,
    /// Samples per second; 0 for as fast as possible.
    #[serde(default)]
    pub rate: u64,
    /// Samples come at random moments at that rate, as independent events do, instead of evenly.
    #[serde(default)]
    pub by_chance: bool,
    /// Count the system calls in one more, shorter run of its own, where strace is there.
    #[serde(default)]
    pub system_calls: bool,
    /// Readers, each a process. Of a fleet: so many readers and as many writers.
    #[serde(default = "one")]
    pub readers: Vec<usize>,
    /// Topics that have to match.
    #[serde(default = "one")]
    pub topics: Vec<usize>,
    /// The link between two hosts.
    #[serde(default)]
    pub link: Link,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Round trips, microseconds.
    Latency,
    /// From write to take at a rate, microseconds.
    OneWay,
    /// Samples per second that arrive at all readers.
    Throughput,
    /// From the opening of the second side to the last match, milliseconds.
    Discovery,
    /// Memory, threads and processor time of a process that does nothing.
    Footprint,
    /// The same of each of many processes, of which one half writes and the other reads one topic, and the time until all have
    /// matched. The halves are on the same host, or on two.
    Fleet,
    /// Many writers of one host at a rate, each a process with a topic of its own, and as many readers on the other: processor
    /// microseconds of a sample on both hosts.
    Applications,
}

/// Who tells participants of each other (`docs/architectures.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// Nobody: they announce themselves.
    Decentralised,
    /// A server on the first host.
    Centralised,
    /// A daemon on each host.
    Federated,
}

/// Where the two sides of a measurement are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum SetUp {
    /// Two processes of one host.
    InterProcess,
    /// The same in a network namespace of their own: nobody else is heard, and what they send can be counted.
    OneHost,
    /// Both sides in one process.
    IntraProcess,
    /// Two network namespaces with a virtual cable.
    TwoHosts,
}

/// Which processors the sides may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// As the kernel likes.
    #[default]
    Free,
    /// The first side on one, all others on another. A process that may use one only does not spin, unless told to.
    TwoCores,
    /// All on the same.
    OneCore,
}

/// How the kernel schedules a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// As it schedules everybody.
    #[default]
    Normal,
    /// Round robin with priority 10, before all that is normal: keeps other work of a busy machine out of the tails.
    RealTime,
}

/// A virtual cable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Mbit/s; 0 for no limit.
    #[serde(default)]
    pub mbit: u32,
    /// Part of the frames that are dropped, in percent.
    #[serde(default)]
    pub loss: f64,
    /// Count frames. Offloads of segmentation are off, so that a frame has one datagram.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count: bool,
}

fn five() -> usize {
    5
}
fn sixty_four() -> Vec<usize> {
    vec![64]
}
fn two_processes() -> Vec<SetUp> {
    vec![SetUp::InterProcess]
}
fn yes() -> bool {
    true
}
fn two() -> f64 {
    2.0
}
fn one() -> Vec<usize> {
    vec![1]
}

impl fmt::Display for SetUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InterProcess => "two processes",
            Self::OneHost => "one host",
            Self::IntraProcess => "one process",
            Self::TwoHosts => "two hosts",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Latency => "round trip",
            Self::OneWay => "one way",
            Self::Throughput => "throughput",
            Self::Discovery => "discovery",
            Self::Footprint => "footprint",
            Self::Fleet => "fleet",
            Self::Applications => "applications",
        })
    }
}

/// One thing measured with one implementation: what is repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Index of the measure.
    pub measure: usize,
    /// Index of the implementation.
    pub implementation: usize,
    /// Where the sides are.
    pub set_up: SetUp,
    /// Octets of a sample.
    pub payload: usize,
    /// Reading processes.
    pub readers: usize,
    /// Topics.
    pub topics: usize,
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// It is no TOML, has unknown keys or values that cannot be.
    pub fn parse(text: &str) -> Result<Self> {
        let mut scenario: Self = toml::from_str(text).context("reading the scenario")?;
        for measure in scenario.measures.iter_mut().filter(|measure| measure.kind == Kind::Latency) {
            measure.count.get_or_insert(TRIPS);
        }
        scenario.check()?;
        Ok(scenario)
    }

    pub(crate) fn check(&self) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        ensure!(
            !self.id.is_empty() && self.id.chars().all(plain),
            "id: letters, digits, '-', '_' and '.' only"
        );
        ensure!((1..=1_000).contains(&self.repetitions), "repetitions: from 1 to 1000");
        ensure!(!self.implementations.is_empty(), "implementations: there is none");
        ensure!(!self.measures.is_empty(), "measures: there is none");
        ensure!(self.implementations.len() <= 64, "implementations: 64 at most");
        ensure!(self.measures.len() <= 64, "measures: 64 at most");
        ensure!(self.about.chars().count() <= 1_000, "about: 1000 characters at most");
        for (at, one) in self.implementations.iter().enumerate() {
            one.check().with_context(|| format!("implementation {}", at + 1))?;
            let twice = self.implementations.iter().take(at).any(|other| other.name == one.name);
            ensure!(!twice, "implementations: {} is there twice; give one another name", one.name);
        }
        self.measures.iter().enumerate().try_for_each(|(at, measure)| {
            measure.check().with_context(|| format!("measure {} ({})", at + 1, measure.kind))
        })?;
        let sizes = |one: &Measure| {
            [one.set_ups.len(), one.payloads.len(), one.readers.len(), one.topics.len()]
                .iter()
                .fold(self.implementations.len(), |product, size| product.saturating_mul(*size))
        };
        let cells = self.measures.iter().map(sizes).fold(0_usize, usize::saturating_add);
        ensure!(cells <= MAX_CELLS, "{cells} combinations; {MAX_CELLS} at most");
        let all = cells.saturating_mul(self.repetitions);
        ensure!(all <= MAX_MEASUREMENTS, "{all} measurements; {MAX_MEASUREMENTS} at most");
        Ok(())
    }

    /// All cells, in the order of the file.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (measure, what) in self.measures.iter().enumerate() {
            for &set_up in &what.set_ups {
                for &payload in &what.payloads {
                    for &readers in &what.readers {
                        for &topics in &what.topics {
                            cells.extend((0..self.implementations.len()).map(|implementation| Cell {
                                measure,
                                implementation,
                                set_up,
                                payload,
                                readers,
                                topics,
                            }));
                        }
                    }
                }
            }
        }
        cells
    }
}

impl Contender {
    fn check(&self) -> Result<()> {
        let is_plain = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
        let is_short = |text: &str| text.chars().count() <= MAX_NAME;
        ensure!(
            is_plain(&self.name) && is_short(&self.name),
            "name: 1 to {MAX_NAME} characters, on one line"
        );
        ensure!(is_plain(&self.adapter) && is_short(&self.adapter), "adapter: as its name");
        for (key, value) in &self.options {
            let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            ensure!(
                !key.is_empty() && is_short(key) && key.chars().all(is_word),
                "options: '{key}' is no name"
            );
            ensure!(value.len() <= 1_000, "options: {key} is too long");
        }
        let is_dunlin = self.adapter == "dunlin";
        ensure!(
            is_dunlin || self.architecture.is_none(),
            "architecture: {} has none to choose",
            self.adapter
        );
        Ok(())
    }
}

impl Cell {
    /// Why an implementation is not measured here: what it cannot do, or is not tuned for.
    #[must_use]
    pub fn refused(&self, measure: &Measure, contender: &Contender, can: &[Can]) -> Option<String> {
        if !contender.kinds.is_empty() && !contender.kinds.contains(&measure.kind) {
            let kinds: Vec<String> = contender.kinds.iter().map(ToString::to_string).collect();
            return Some(format!("tuned for {} alone", kinds.join(", ")));
        }
        let missing = self.needs(measure).into_iter().find(|need| !can.contains(need))?;
        Some(format!("not supported: {missing}"))
    }

    /// What an implementation must be able to do for this.
    fn needs(&self, measure: &Measure) -> Vec<Can> {
        let all = [
            (self.set_up == SetUp::IntraProcess, Can::IntraProcess),
            (self.set_up == SetUp::TwoHosts, Can::TwoHosts),
            (measure.reliable, Can::Reliable),
            (!measure.reliable, Can::BestEffort),
            (self.topics > 1, Can::ManyTopics),
            (self.readers > 1, Can::ManyReaders),
        ];
        all.into_iter().filter_map(|(is_needed, can)| is_needed.then_some(can)).collect()
    }
}

impl Measure {
    /// Round trips, those to warm up left out.
    #[must_use]
    pub fn trips(&self) -> u64 {
        self.count.unwrap_or(TRIPS)
    }

    /// Samples of a writer at most.
    #[must_use]
    pub fn most_samples(&self) -> u64 {
        self.count.unwrap_or(MAX_COUNT)
    }

    /// Whether the samples end before the time does, if all are taken as fast as they shall be written.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        let is_timed = matches!(self.kind, Kind::OneWay | Kind::Throughput | Kind::Applications);
        let wanted = if self.rate == 0 { MAX_COUNT as f64 } else { self.rate as f64 * self.seconds };
        is_timed && (self.most_samples() as f64) < wanted
    }

    fn check(&self) -> Result<()> {
        for (name, empty) in [
            ("payloads", self.payloads.is_empty()),
            ("set_ups", self.set_ups.is_empty()),
            ("readers", self.readers.is_empty()),
            ("topics", self.topics.is_empty()),
        ] {
            ensure!(!empty, "{name}: at least one");
        }
        ensure!(
            self.payloads.iter().all(|size| (1..=MAX_PAYLOAD).contains(size)),
            "payloads: from 1 to {MAX_PAYLOAD}"
        );
        ensure!(self.readers.iter().all(|readers| (1..=100).contains(readers)), "readers: from 1 to 100");
        ensure!(self.topics.iter().all(|topics| (1..=10_000).contains(topics)), "topics: from 1 to 10000");
        ensure!((0.05..=3_600.0).contains(&self.seconds), "seconds: from 0.05 to 3600");
        ensure!((0.0..=50.0).contains(&self.link.loss), "link.loss: from 0 to 50 percent");
        ensure!(self.keep_last >= 0, "keep_last: 0 for all, or how many");
        let fits = self.count.is_none_or(|count| (1..=MAX_COUNT).contains(&count));
        ensure!(fits, "count: from 1 to {MAX_COUNT}");
        ensure!(self.warm_up <= 10_000_000, "warm_up: 10000000 at most");
        ensure!(self.rate <= 100_000_000, "rate: 100000000 at most");
        self.check_link()?;
        ensure!(self.rate > 0 || !self.by_chance, "by_chance: there is no rate that it could be about");
        self.check_kind()
    }

    fn check_link(&self) -> Result<()> {
        let two_hosts = self.set_ups.contains(&SetUp::TwoHosts);
        let plain = Link { count: false, ..self.link } == Link::default();
        ensure!(two_hosts || plain, "link: only two hosts have one");
        let alone = self.set_ups.iter().all(|it| matches!(it, SetUp::OneHost | SetUp::TwoHosts));
        ensure!(alone || !self.link.count, "link.count: others are heard between processes; take one-host");
        Ok(())
    }

    /// What does not go with the kind.
    fn check_kind(&self) -> Result<()> {
        if self.kind == Kind::Latency {
            ensure!(self.trips() <= 10_000_000, "count: 10000000 round trips at most");
            let fits = |answer: usize| self.payloads.iter().all(|payload| (1..=*payload).contains(&answer));
            ensure!(self.answer.is_none_or(fits), "answer: from 1 to the smallest payload");
        } else {
            ensure!(self.answer.is_none(), "answer: only a round trip has one");
            let apart = !self.set_ups.contains(&SetUp::IntraProcess);
            ensure!(apart, "set_ups: only round trips are measured within one process");
        }
        match self.kind {
            Kind::Discovery | Kind::Footprint | Kind::Fleet | Kind::Applications if self.system_calls => {
                bail!("system_calls: they are not counted here")
            }
            Kind::Latency if self.readers != [1] => bail!("readers: this is between two"),
            Kind::OneWay | Kind::Applications if self.rate == 0 => {
                bail!("rate: one way needs one, or it measures queues")
            }
            Kind::OneWay | Kind::Applications if self.payloads.iter().any(|size| *size < 16) => {
                bail!("payloads: one way needs 16 bytes for the number and the time")
            }
            Kind::Discovery | Kind::Footprint if self.readers != [1] => {
                bail!("readers: none are counted here")
            }
            Kind::Latency | Kind::Discovery | Kind::Footprint | Kind::Fleet if self.rate > 0 => {
                bail!("rate: this has none")
            }
            Kind::Footprint if self.set_ups != [SetUp::InterProcess] => {
                bail!("set_ups: one process is looked at")
            }
            Kind::Fleet | Kind::Applications if self.topics != [1] => bail!("topics: a process has one"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        id = "small"
        about = "for the test"
        [[implementations]]
        name = "Dunlin"
        adapter = "dunlin"
        [[implementations]]
        name = "floor"
        adapter = "udp"
        options = { wait = "spin" }
        [[measures]]
        kind = "latency"
        payloads = [16, 64]
        set_ups = ["inter-process", "two-hosts"]
    "#;

    #[test]
    fn cells_are_all_combinations() {
        let cells = Scenario::parse(SMALL).unwrap().cells();
        assert_eq!(cells.len(), 8);
        assert_eq!((cells[0].implementation, cells[1].implementation), (0, 1), "implementations take turns");
        assert_eq!((cells[7].payload, cells[7].set_up), (64, SetUp::TwoHosts));
    }

    /// Without a number of samples the time decides alone; with one, pages say that it may end the measurement before.
    #[test]
    fn measure_time_is_not_cut_short_by_a_default_count() {
        let measure = |more: &str| {
            let kind = format!("kind = \"one-way\"\nrate = 50000\nseconds = 3.0\n{more}");
            let text = SMALL.replace("kind = \"latency\"", &kind);
            Scenario::parse(&text).unwrap().measures.remove(0)
        };
        assert!(measure("").most_samples() > 150_000 && !measure("").is_cut_short());
        assert!(!measure("count = 150000").is_cut_short() && measure("count = 10000").is_cut_short());
        assert!(
            crate::report::conditions(&measure("count = 10000"))
                .contains("3 s, at most 10\u{202f}000 samples")
        );
        assert_eq!(Scenario::parse(SMALL).unwrap().measures[0].trips(), 10_000);
    }

    #[test]
    fn invalid_scenarios_are_refused_with_their_position() {
        let refused = |from: &str, to: &str| {
            let text = SMALL.replace(from, to);
            assert_ne!(text, SMALL);
            format!("{:#}", Scenario::parse(&text).unwrap_err())
        };
        assert!(
            refused("payloads = [16, 64]", "payloads = []")
                .contains("measure 1 (round trip): payloads: at least one")
        );
        assert!(refused("[16, 64]", "[0]").contains("from 1 to"));
        assert!(refused("kind = \"latency\"", "kind = \"one-way\"").contains("rate"));
        assert!(refused("kind = \"latency\"", "kind = \"latency\"\nreaders = [2]").contains("between two"));
        assert!(refused("[16, 64]", "[64]\nlink = { count = true }").contains("take one-host"));
        assert!(refused("\"udp\"", "\"udp\"\narchitecture = \"federated\"").contains("none to choose"));
        assert!(refused("\"floor\"", "\"Dunlin\"").contains("twice"));
        assert!(refused("about =", "abut =").contains("abut"));
        assert!(refused("\"latency\"", "\"latency\"\nanswer = 17").contains("answer: from 1"));
        assert!(refused("\"latency\"", "\"latency\"\nby_chance = true").contains("by_chance"));
        assert!(
            refused("kind = \"latency\"", "kind = \"throughput\"\nanswer = 4").contains("only a round trip")
        );
        assert!(refused("\"two-hosts\"]", "\"intra-process\"]\nkind2 = 1").contains("kind2"));
        assert!(
            refused("kind = \"latency\"", "kind = \"discovery\"\nsystem_calls = true")
                .contains("system_calls")
        );
        assert!(refused("name = \"floor\"", "name = \"a\\u001b[2J\"").contains("implementation 2: name"));
        let sizes = vec!["64"; 20_000].join(",");
        assert!(refused("[16, 64]", &format!("[{sizes}]")).contains("combinations"));
        assert!(refused("id = \"small\"", "id = \"../x\"").contains("id:"));
    }
}
