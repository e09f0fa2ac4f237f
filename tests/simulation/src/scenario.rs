//! A scenario as a plain value: who is there, what they write and read, and what goes wrong when.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, bail};
use dunlin_core::Duration;
use dunlin_sim::{Delay, PathConfig};

use crate::qos::Qos;
use crate::seed::Seed;

/// Milliseconds since the world began.
pub type Ms = u64;

/// Everything that a run is made from.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// Of the world and of every choice below.
    pub seed: Seed,
    /// How long applications write and faults happen.
    pub lasts: Ms,
    /// What every path is like without faults.
    pub base: PathConfig,
    /// The machines.
    pub nodes: Vec<NodePlan>,
    /// Writers and readers.
    pub endpoints: Vec<EndpointPlan>,
    /// Publishers and subscribers of which endpoints say that they belong to them.
    pub groups: Vec<GroupPlan>,
    /// What goes wrong; all of it is over when `lasts` is.
    pub faults: Vec<FaultPlan>,
    /// Participants believe where a peer is only when it has answered there.
    pub verifies_places: bool,
}

/// A machine with one participant.
#[derive(Clone, PartialEq, Debug)]
pub struct NodePlan {
    /// Takes part.
    pub on: bool,
    /// How long others keep it without a sign.
    pub lease: Ms,
    /// Time between its announcements.
    pub period: Ms,
    /// Octets of its largest datagrams.
    pub max_message_size: usize,
    /// How far its wall clock is ahead.
    pub wall_offset_ms: i64,
    /// Sends in big-endian.
    pub big_endian: bool,
    /// Sits behind a router that translates addresses, from the start.
    pub nat: bool,
    /// It hears no group: it knows from the start where the others are.
    pub peers: bool,
    /// It announces groups all the same: it does not know that nothing arrives there.
    pub unaware: bool,
    /// After so long without an answer its KEEP_ALL writers wait for a reader no more.
    pub inactive_after: Ms,
    /// The host that it shares with others of the same number.
    pub host: Option<u32>,
    /// It shares memory with those of them that do.
    pub memory: bool,
    /// What it is in its architecture.
    pub part: Part,
}

/// What a node is to the others (`docs/architectures.md`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Part {
    /// One among equals.
    #[default]
    Equal,
    /// A discovery server.
    Server,
    /// It announces itself to the servers alone.
    Client,
    /// The daemon of a host, which keeps back messages to other daemons for so many microseconds.
    Daemon(u64),
    /// The daemon on the node of this number speaks for it.
    Application(usize),
}

impl NodePlan {
    /// Whether it is there for others, and runs no application.
    #[must_use]
    pub fn is_hub(&self) -> bool {
        matches!(self.part, Part::Server | Part::Daemon(_))
    }
}

/// What an application does with a writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// One sample of the next of some instances every so often.
    Sensor,
    /// Some of many instances, which come and go.
    Tracks,
    /// Nothing for long, then several at once.
    Alerts,
    /// Samples of many fragments.
    Frames,
    /// One request at a time.
    Requests,
    /// An answer to every request that the reader of this endpoint number gets.
    Replies(usize),
}

/// A writer's or a reader's side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Role {
    /// Writes.
    Writer {
        /// What and when.
        workload: Workload,
        /// Mean time between writes.
        period: Ms,
        /// Octets of a payload.
        size: usize,
        /// How many instances.
        keys: u32,
        /// The first instance.
        first_key: u32,
        /// Neither writes nor shows itself alive from then on.
        silent_from: Option<Ms>,
    },
    /// Takes everything so often.
    Reader {
        /// Time between looks.
        period: Ms,
    },
}

/// A publisher or a subscriber. Its endpoints have its PRESENTATION and PARTITION.
#[derive(Clone, PartialEq, Debug)]
pub struct GroupPlan {
    /// Where.
    pub node: usize,
    /// When a publisher writes coherent sets.
    pub sets: Option<SetsPlan>,
}

/// Coherent sets, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetsPlan {
    /// Time between two of them at most.
    pub pause: Ms,
    /// How long one lasts at most; what its writers write in that time is part of it.
    pub lasts: Ms,
    /// How many samples each writer writes besides at the beginning of one, at most.
    pub burst: u64,
}

/// A writer or a reader.
#[derive(Clone, PartialEq, Debug)]
pub struct EndpointPlan {
    /// Takes part.
    pub on: bool,
    /// Where.
    pub node: usize,
    /// Number of its topic.
    pub topic: usize,
    /// The topic has a key.
    pub keyed: bool,
    /// Its QoS and that of its publisher or subscriber.
    pub qos: Qos,
    /// Which publisher or subscriber it belongs to; else to one of its own.
    pub group: Option<usize>,
    /// When it is created.
    pub appears: Ms,
    /// When it is deleted.
    pub leaves: Option<Ms>,
    /// What it does.
    pub role: Role,
}

impl EndpointPlan {
    /// Whether it writes.
    #[must_use]
    pub fn is_writer(&self) -> bool {
        matches!(self.role, Role::Writer { .. })
    }
}

/// Kinds of faults, which can be switched off each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Class {
    /// Datagrams are lost, each on its own.
    Loss,
    /// Datagrams are lost many at a time.
    Burst,
    /// Datagrams come twice.
    Duplicate,
    /// Datagrams overtake each other.
    Reorder,
    /// Paths are slow, or sometimes slow.
    Delay,
    /// A bottleneck with a queue.
    Rate,
    /// Long datagrams do not pass.
    Mtu,
    /// Groups fail, all or one of them, for all nodes or for one.
    Group,
    /// Two sides do not hear each other.
    Partition,
    /// One does not hear the other.
    Cut,
    /// A node gets another address.
    Address,
    /// A node gets a second interface, loses the first, and has it again.
    Interface,
    /// A router translates addresses, and changes how.
    Nat,
    /// Bits flip.
    Corrupt,
    /// A node crashes and starts under a new name.
    Crash,
    /// A node crashes and starts under the same name once it is forgotten.
    Rebirth,
    /// A node says goodbye and starts under a new name.
    Leave,
    /// A node stands still.
    Pause,
    /// A wall clock jumps.
    Jump,
    /// A wall clock is fast or slow.
    Drift,
    /// A reader looks rarely.
    Slow,
    /// Nodes of both byte orders.
    Endian,
    /// Publishers write coherent sets.
    Sets,
    /// Nodes share a host: datagrams between them may be long, and memory is a second way.
    Host,
    /// Nothing gets through memory from one node to another any more.
    Memory,
    /// A node goes without a goodbye and does not come back.
    Vanish,
    /// A node gets the address that another one had.
    Takeover,
    /// A stranger speaks in the name of a node.
    Forger,
    /// A node names somebody else's place as its own.
    Liar,
    /// From a node's own address and port somebody else says that it leaves.
    Goodbyes,
    /// From a writer's own address and port somebody else sends samples with its next numbers.
    Samples,
}

/// How many of [`CLASSES`] the first generation knows.
pub const FIRST_CLASSES: usize = 22;

/// All classes with their names, those of later generations last.
pub const CLASSES: [(Class, &str); 31] = [
    (Class::Loss, "loss"),
    (Class::Burst, "burst"),
    (Class::Duplicate, "duplicate"),
    (Class::Reorder, "reorder"),
    (Class::Delay, "delay"),
    (Class::Rate, "rate"),
    (Class::Mtu, "mtu"),
    (Class::Group, "group"),
    (Class::Partition, "partition"),
    (Class::Cut, "cut"),
    (Class::Address, "address"),
    (Class::Interface, "interface"),
    (Class::Nat, "nat"),
    (Class::Corrupt, "corrupt"),
    (Class::Crash, "crash"),
    (Class::Rebirth, "rebirth"),
    (Class::Leave, "leave"),
    (Class::Pause, "pause"),
    (Class::Jump, "jump"),
    (Class::Drift, "drift"),
    (Class::Slow, "slow"),
    (Class::Endian, "endian"),
    (Class::Sets, "sets"),
    (Class::Host, "host"),
    (Class::Memory, "memory"),
    (Class::Vanish, "vanish"),
    (Class::Takeover, "takeover"),
    (Class::Forger, "forger"),
    (Class::Liar, "liar"),
    (Class::Goodbyes, "forged-goodbyes"),
    (Class::Samples, "forged-samples"),
];

/// What a path suffers on top of everything else.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PathFault {
    /// Parts per million.
    Loss(u32),
    /// How many datagrams in a million begin a burst, and as long as it is, in datagrams on average.
    Burst(u32, u32),
    /// Parts per million.
    Duplicate(u32),
    /// Parts per million, held back for so many milliseconds at most.
    Reorder(u32, i64),
    /// Time on the way.
    Delay(Delay),
    /// Octets per second, and octets that may wait.
    Rate(u64, u64),
    /// Octets.
    Mtu(usize),
    /// Parts per million.
    Corrupt(u32),
}

/// What goes wrong.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// On the paths from one or all to one or all.
    Path(Option<usize>, Option<usize>, PathFault),
    /// Groups reach nobody, or not this node: all of them, or that of discovery (0) or of the samples (1).
    Group(Option<usize>, Option<usize>),
    /// The nodes of the set and the others do not hear each other.
    Partition(Vec<usize>),
    /// The second does not hear the first.
    Cut(usize, usize),
    /// A new address; when the fault is over the participant learns of it or, if so, the node has the old one again.
    Address(usize, bool),
    /// A second address besides the first, then instead of it, then the first alone; the participant learns of each.
    Interface(usize),
    /// The router of a node translates ports differently; the participant learns of it when the fault is over.
    Nat(usize),
    /// A crash; the same name again or a new one.
    Crash(usize, bool),
    /// A goodbye.
    Leave(usize),
    /// A node stands still.
    Pause(usize),
    /// The wall clock jumps by so many milliseconds and stays.
    Jump(usize, i64),
    /// The wall clock is fast by so many parts per million.
    Drift(usize, i32),
    /// The reader of this endpoint number looks at nothing.
    Slow(usize),
    /// Memory from the first node to the second fails for good.
    Memory(usize, usize),
    /// A node goes for good without a goodbye; if so, right after it has deleted all its endpoints.
    Vanish(usize, bool),
    /// The second node gets the address of the first, besides its own if so, and learns of it. The first has another one,
    /// and learns of that when the fault is over.
    Takeover(usize, usize, bool),
    /// A stranger speaks in the name of the first node to the second, each so many milliseconds.
    Forger(usize, usize, Ms),
    /// A node names the place of a stranger as its own, each so many milliseconds.
    Liar(usize, Ms),
    /// The second node is told from the place of the first that the first leaves, each so many milliseconds.
    Goodbyes(usize, usize, Ms),
    /// The node is sent samples in the name and from the place of the writer of this endpoint number, each so many milliseconds.
    Samples(usize, usize, Ms),
}

/// One fault from its beginning to its end.
#[derive(Clone, PartialEq, Debug)]
pub struct FaultPlan {
    /// Happens.
    pub on: bool,
    /// Its kind.
    pub class: Class,
    /// When it begins.
    pub from: Ms,
    /// When it is over.
    pub until: Ms,
    /// What it is.
    pub fault: Fault,
}

impl Fault {
    /// The node that it happens to, if it is one that must run for that.
    #[must_use]
    pub fn node(&self) -> Option<usize> {
        match self {
            Self::Address(node, _) | Self::Interface(node) | Self::Nat(node) | Self::Crash(node, _) => {
                Some(*node)
            }
            Self::Leave(node) | Self::Pause(node) | Self::Jump(node, _) | Self::Drift(node, _) => Some(*node),
            Self::Vanish(node, _) | Self::Takeover(_, node, _) => Some(*node),
            Self::Path(..) | Self::Group(..) | Self::Partition(_) | Self::Cut(..) => None,
            Self::Slow(_) | Self::Memory(..) | Self::Forger(..) => None,
            Self::Goodbyes(..) | Self::Samples(..) => None,
            Self::Liar(node, _) => Some(*node),
        }
    }

    /// The nodes that are somewhere else when it begins, or when it is over.
    #[must_use]
    pub fn moved(&self) -> Vec<usize> {
        match *self {
            Self::Address(node, _) | Self::Interface(node) | Self::Nat(node) => vec![node],
            Self::Takeover(from, to, _) => vec![from, to],
            _ => Vec::new(),
        }
    }

    /// How long it keeps back what is sent at most, also beyond its end: what waits for a bottleneck waits on when that has
    /// gone, and nothing overtakes it.
    #[must_use]
    pub fn holds_up(&self) -> Ms {
        match *self {
            Self::Path(_, _, PathFault::Rate(rate, queue)) => queue * 1_000 / rate,
            Self::Path(_, _, PathFault::Delay(delay)) => longest(delay),
            _ => 0,
        }
    }

    /// The nodes without which it makes no sense.
    fn nodes(&self) -> Vec<usize> {
        match self {
            Self::Path(from, to, _) => from.iter().chain(to).copied().collect(),
            Self::Group(node, _) => node.iter().copied().collect(),
            Self::Forger(named, at, _) | Self::Goodbyes(named, at, _) => vec![*named, *at],
            Self::Samples(_, at, _) => vec![*at],
            Self::Cut(from, to) | Self::Memory(from, to) | Self::Takeover(from, to, _) => vec![*from, *to],
            _ => self.node().into_iter().collect(),
        }
    }
}

/// What is left out of a scenario, to find out whether it fails without.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Switches {
    /// Kinds of faults.
    pub classes: BTreeSet<Class>,
    /// Single faults.
    pub faults: BTreeSet<usize>,
    /// Endpoints.
    pub endpoints: BTreeSet<usize>,
    /// Nodes.
    pub nodes: BTreeSet<usize>,
}

impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |class: &Class| CLASSES.iter().find(|(known, _)| known == class).map(|(_, name)| *name);
        let classes = self.classes.iter().filter_map(name).map(str::to_owned);
        let numbered = |word: &'static str, set: &BTreeSet<usize>| {
            set.iter().map(move |number| format!("{word}{number}")).collect::<Vec<_>>()
        };
        let all: Vec<String> = classes
            .chain(numbered("fault", &self.faults))
            .chain(numbered("endpoint", &self.endpoints))
            .chain(numbered("node", &self.nodes))
            .collect();
        f.write_str(&all.join(","))
    }
}

impl FromStr for Switches {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut switches = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if let Some((class, _)) = CLASSES.iter().find(|(_, name)| *name == word) {
                switches.classes.insert(*class);
                continue;
            }
            let digits = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
            let (kind, number) = word.split_at(digits);
            let number =
                number.parse().with_context(|| format!("{word:?} is nothing that can be left out"))?;
            match kind {
                "fault" => switches.faults.insert(number),
                "endpoint" => switches.endpoints.insert(number),
                "node" => switches.nodes.insert(number),
                _ => bail!("{word:?} is nothing that can be left out"),
            };
        }
        Ok(switches)
    }
}

impl Scenario {
    /// The same without what is switched off. Numbers stay what they are.
    #[must_use]
    pub fn without(mut self, switches: &Switches) -> Self {
        for (index, node) in self.nodes.iter_mut().enumerate() {
            node.on = !switches.nodes.contains(&index);
            node.big_endian &= !switches.classes.contains(&Class::Endian);
            node.nat &= !switches.classes.contains(&Class::Nat);
            node.host = node.host.filter(|_| !switches.classes.contains(&Class::Host));
        }
        self.do_without_hubs();
        for group in &mut self.groups {
            group.sets = group.sets.filter(|_| !switches.classes.contains(&Class::Sets));
        }
        for (index, endpoint) in self.endpoints.iter_mut().enumerate() {
            endpoint.on = !switches.endpoints.contains(&index) && self.nodes[endpoint.node].on;
        }
        for (index, plan) in self.faults.iter_mut().enumerate() {
            plan.on = !switches.classes.contains(&plan.class)
                && !switches.faults.contains(&index)
                && plan.fault.nodes().iter().all(|node| self.nodes[*node].on);
        }
        self
    }

    /// Whoever has lost the daemon, or all servers, is one among equals.
    fn do_without_hubs(&mut self) {
        let hubs: Vec<bool> = self.nodes.iter().map(|node| node.on && node.is_hub()).collect();
        for node in &mut self.nodes {
            let alone = match node.part {
                Part::Client => !hubs.contains(&true),
                Part::Application(daemon) => !hubs[daemon],
                _ => false,
            };
            if alone {
                node.part = Part::Equal;
            }
        }
    }

    /// Whether daemons pass on what nodes say.
    #[must_use]
    pub fn has_daemons(&self) -> bool {
        self.nodes.iter().any(|node| node.on && matches!(node.part, Part::Daemon(_)))
    }

    /// On how many ways one after the other a datagram goes at most.
    #[must_use]
    pub fn hops(&self) -> u64 {
        if self.has_daemons() { 3 } else { 1 }
    }

    /// Whether corrupted datagrams reach a node: what it believes afterwards is worth nothing.
    #[must_use]
    pub fn is_tainted(&self, node: usize) -> bool {
        self.faults.iter().any(|plan| {
            plan.on && matches!(plan.fault, Fault::Path(_, Some(to), PathFault::Corrupt(_)) if to == node)
        })
    }

    /// How long a change may be on its way to others at most. What is older when a reader is created is not for it.
    #[must_use]
    pub fn longest_way(&self) -> Ms {
        let held_up = |plan: &FaultPlan| match plan.fault {
            Fault::Pause(_) => plan.until - plan.from,
            _ => plan.fault.holds_up(),
        };
        let queued = self.base.rate.map_or(0, |rate| self.base.queue * 1_000 / rate);
        let faults = self.faults.iter().filter(|plan| plan.on).map(held_up).max().unwrap_or(0);
        // Writers wait for a batch to fill, or for room in a window.
        500 + self.hops() * (longest(self.base.delay) + queued.max(faults))
    }

    /// Whether a reader may get forged samples, by its endpoint number: what they do to instances follows from no writer.
    #[must_use]
    pub fn is_forged_to(&self, reader: usize) -> bool {
        let plan = &self.endpoints[reader];
        let forged = |fault: &Fault| matches!(fault, Fault::Samples(writer, at, _) if *at == plan.node && self.endpoints[*writer].topic == plan.topic);
        self.faults.iter().any(|plan| plan.on && forged(&plan.fault))
    }

    /// Whether anything goes wrong between two times that can keep a datagram from a node, or a node from its work.
    #[must_use]
    pub fn is_disturbed(&self, from: Ms, until: Ms) -> bool {
        use Class::{Drift, Forger, Goodbyes, Jump, Samples, Slow};
        let harmless = |class: &Class| [Slow, Jump, Drift, Forger, Goodbyes, Samples].contains(class);
        let near = |plan: &FaultPlan| plan.from <= until && from <= plan.until + plan.fault.holds_up();
        self.faults.iter().any(|plan| plan.on && !harmless(&plan.class) && near(plan))
    }

    /// Whether the wall clock of a node does anything but go on.
    #[must_use]
    pub fn has_odd_clock(&self, node: usize) -> bool {
        let odd = |fault: &Fault| matches!(fault, Fault::Jump(of, _) | Fault::Drift(of, _) if *of == node);
        self.faults.iter().any(|plan| plan.on && odd(&plan.fault))
    }
}

fn longest(delay: Delay) -> Ms {
    let longest = match delay {
        Delay::Fixed(time) | Delay::Uniform(_, time) => time,
        Delay::Tail(least, mean) => Duration::from_nanos(least.as_nanos() + 10 * mean.as_nanos()),
    };
    longest.as_nanos() as Ms / 1_000_000
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {} ms, path {:?}", self.seed, self.lasts, self.base)?;
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.on) {
            writeln!(f, "node{index}: {node:?}")?;
        }
        for (index, endpoint) in self.endpoints.iter().enumerate().filter(|(_, endpoint)| endpoint.on) {
            writeln!(f, "endpoint{index}: {endpoint:?}")?;
        }
        for (index, group) in self.groups.iter().enumerate() {
            writeln!(f, "group{index}: {group:?}")?;
        }
        for (index, plan) in self.faults.iter().enumerate().filter(|(_, plan)| plan.on) {
            writeln!(f, "fault{index}: {}..{} ms {:?}", plan.from, plan.until, plan.fault)?;
        }
        Ok(())
    }
}
