//! The world: its clock, its queue and its nodes.

use std::fmt;
use std::sync::Arc;

use dunlin_buf::Outbox;
use dunlin_core::{Duration, Locator, LocatorKind, MonoTime, Now, Rng};
use dunlin_engine::{Output, Participant};
use dunlin_host::State;

use crate::hosts::{Hosts, PathsOfNode};
use crate::network::{Network, NetworkConfig};
use crate::node::{Node, NodeConfig, NodeId};
use crate::path::PathConfig;
use crate::port::Life;
use crate::queue::{Queue, SimEvent};
use crate::traffic::{Datagram, NetworkStats, Traffic};

/// True time when a world begins: some day in 2023.
pub(crate) const WALL_START: i64 = 1_700_000_000_000_000_000;
/// The monotonic clock begins here, so that nothing can take its start for "never".
const MONO_START: u64 = 1_000_000_000;
/// So many events at one point of time mean that time stands still.
const MAX_EVENTS_AT_ONCE: u32 = 10_000_000;

/// A world of nodes with one clock. See the [crate documentation](crate).
pub struct World {
    pub(crate) seed: u64,
    pub(crate) now: MonoTime,
    pub(crate) rng: Rng,
    pub(crate) queue: Queue,
    pub(crate) network: Network,
    pub(crate) nodes: Vec<Node>,
    pub(crate) hosts: Hosts,
    pub(crate) state: State<Life>,
    events_now: u32,
    fingerprint: u64,
}

/// What was waited for did not happen in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedOut {
    /// The seed of the world.
    pub seed: u64,
    /// How long was waited.
    pub limit: Duration,
    /// Time since the world began.
    pub age: Duration,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, limit, age } = self;
        write!(f, "seed {seed}: it did not happen within {limit:?}, {age:?} after the world began")
    }
}

impl std::error::Error for TimedOut {}

impl World {
    /// An empty world. Everything that chance decides in it comes from `seed`.
    #[must_use]
    pub fn new(seed: u64, config: NetworkConfig) -> Self {
        let mut rng = Rng::new(seed);
        let network = Network::new(config, Rng::new(rng.next_u64()));
        Self {
            seed,
            now: MonoTime(MONO_START),
            rng,
            queue: Queue::default(),
            network,
            nodes: Vec::new(),
            hosts: Hosts::default(),
            state: State::default(),
            events_now: 0,
            fingerprint: 0,
        }
    }

    /// The seed this world was made with.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Chance for scenarios, from the same seed.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Time since the world began.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.now.since(MonoTime(MONO_START))
    }

    /// Both clocks of a node.
    #[must_use]
    pub fn now(&self, node: NodeId) -> Now {
        let age = self.age();
        Now { mono: self.now, wall: self.true_time().plus(self.node(node).wall_ahead(age)) }
    }

    /// A number that differs, most likely, between two runs in which anything happened at another time, in another
    /// order or with datagrams of another length.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Adds a node and starts its participant.
    pub fn add_node(&mut self, config: NodeConfig) -> NodeId {
        let id = self.put_node(config);
        self.boot(id);
        id
    }

    /// Adds a node that runs no participant: what arrives at its locators is kept, see
    /// [`take_inbox`](Self::take_inbox), and it sends what [`inject`](Self::inject) says.
    pub fn add_bystander(&mut self, config: NodeConfig) -> NodeId {
        let id = self.put_node(config);
        self.node_mut(id).inbox = Some(Vec::new());
        id
    }

    fn put_node(&mut self, config: NodeConfig) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let mut config = config.settle(id);
        if let Some(host) = config.host {
            let (addresses, memory) = (self.hosts.addresses(host), config.memory);
            config.participant.paths = Some(Arc::new(PathsOfNode { addresses, memory }));
        }
        self.nodes.push(Node::new(config));
        self.start_listening(id);
        id
    }

    /// The participant of a node.
    ///
    /// # Panics
    /// When the node runs none, because it crashed or is a bystander.
    #[must_use]
    #[track_caller]
    pub fn participant(&self, node: NodeId) -> &Participant {
        self.node(node).participant.as_deref().expect("the node runs a participant")
    }

    /// Calls the participant of a node and sends what it wants sent.
    ///
    /// # Panics
    /// When the node runs none or stands still.
    #[track_caller]
    pub fn with<R>(&mut self, node: NodeId, call: impl FnOnce(&Participant, Now, &mut Output) -> R) -> R {
        let life = self.awake(node);
        let now = self.now(node);
        dunlin_host::call(self, &life, |out| call(&life.participant, now, out))
    }

    /// The life of a node that makes a call.
    #[track_caller]
    pub(crate) fn awake(&self, node: NodeId) -> Life {
        let known = self.node(node);
        assert!(!known.paused, "a node that stands still makes no calls");
        let participant = known.participant.as_ref().expect("the node runs a participant");
        Life { node, participant: Arc::clone(participant) }
    }

    /// Hands the datagrams for others to the network.
    pub(crate) fn send_out(&mut self, node: NodeId, outbox: &Outbox) {
        let (from, big_endian) = (self.node(node).source(), self.node(node).config.big_endian);
        for datagram in outbox.datagrams() {
            let mut others =
                datagram.destinations().iter().filter(|to| to.kind != LocatorKind::LOCAL).peekable();
            if others.peek().is_none() {
                continue;
            }
            let bytes = self.network.gather(datagram.len(), datagram.parts(), big_endian);
            for to in others {
                self.node_mut(node).sent.add(bytes.len());
                if to.kind == LocatorKind::SHARED_MEMORY {
                    self.send_through_memory(node, *to, bytes.clone());
                    continue;
                }
                let usual = self.node(node).config.participant.max_message_size;
                self.network.stats.long += u64::from(bytes.len() > usual);
                if self.passes_router(node, to) {
                    let datagram =
                        Datagram { at: self.now, sender: node, from, to: *to, bytes: bytes.clone() };
                    self.network.send(&datagram, &mut self.queue);
                }
            }
        }
    }

    /// Sees to it that the queue calls the participant when it wants to be called.
    pub(crate) fn plan_timer(&mut self, node: NodeId) {
        let now = self.now;
        let known = self.node_mut(node);
        if known.paused {
            return;
        }
        let wanted = known.participant.as_ref().and_then(|participant| participant.next_deadline());
        let Some(at) = wanted.filter(|at| *at < MonoTime::MAX).map(|at| at.max(now)) else { return };
        if known.timer.is_none_or(|planned| at < planned) {
            known.timer = Some(at);
            self.queue.push(at, SimEvent::Timer(node));
        }
    }

    /// Lets the world go on for some time.
    pub fn run_for(&mut self, duration: Duration) {
        let end = self.now.plus(duration);
        while self.step(end) {}
        self.now = end;
    }

    /// Lets the world go on until `done`, which is asked before the first and after every event.
    ///
    /// # Errors
    /// When that takes longer than `limit`.
    pub fn run_until(
        &mut self,
        mut done: impl FnMut(&mut Self) -> bool,
        limit: Duration,
    ) -> Result<(), TimedOut> {
        let end = self.now.plus(limit);
        while !done(self) {
            if !self.step(end) {
                self.now = end;
                // What depends on time alone may have come true.
                return if done(self) {
                    Ok(())
                } else {
                    Err(TimedOut { seed: self.seed, limit, age: self.age() })
                };
            }
        }
        Ok(())
    }

    /// The next event, if it is not after `end`.
    pub(crate) fn step(&mut self, end: MonoTime) -> bool {
        let Some((at, what)) = self.queue.pop_until(end) else { return false };
        self.events_now = if at > self.now { 0 } else { self.events_now + 1 };
        assert!(self.events_now < MAX_EVENTS_AT_ONCE, "seed {}: time stands still at {at:?}", self.seed);
        self.now = self.now.max(at);
        match what {
            SimEvent::Arrival(node, datagram) => self.arrive(node, *datagram),
            SimEvent::Timer(node) => self.ring(node, at),
            SimEvent::Attach(node, peer) => self.attach(node, peer),
            SimEvent::Deferred(node) => self.work_off_deferred(node),
            SimEvent::NoMemory(node, place) => self.no_memory(node, place),
        }
        true
    }

    fn mix(&mut self, values: [u64; 3]) {
        for value in values {
            self.fingerprint = Rng::new(self.fingerprint ^ value).next_u64();
        }
    }

    pub(crate) fn arrive(&mut self, node: NodeId, datagram: Datagram) {
        self.mix([self.now.0, u64::from(node.0), datagram.bytes.len() as u64]);
        let known = self.node_mut(node);
        if let Some(inbox) = &mut known.inbox {
            inbox.push(datagram);
        } else if known.participant.is_none() || (known.paused && known.is_full_for(&datagram)) {
            self.network.stats.not_received += 1;
        } else if known.paused {
            known.waiting.push_back(datagram);
        } else if !self.taken_from_memory(&datagram) {
            self.network.stats.not_received += 1;
        } else {
            self.network.stats.delivered += 1;
            self.network.stats.delivered_octets += datagram.bytes.len() as u64;
            let life = self.awake(node);
            dunlin_host::receive(self, &life, &[(datagram.bytes.clone(), datagram.from)]);
        }
    }

    fn ring(&mut self, node: NodeId, at: MonoTime) {
        let known = self.node_mut(node);
        if known.timer != Some(at) {
            // A later plan, or another life of the node.
            return;
        }
        known.timer = None;
        if known.paused {
            return;
        }
        let due = known.participant.as_ref().and_then(|participant| participant.next_deadline());
        if due.is_some_and(|due| due <= at) {
            self.mix([at.0, u64::from(node.0), u64::MAX]);
            let (life, now) = (self.awake(node), self.now(node));
            dunlin_host::run_timers(self, &life, now);
        }
        self.plan_timer(node);
    }

    /// What every path without a configuration of its own is like from now on.
    pub fn set_network(&mut self, config: PathConfig) {
        self.network.config.path = config;
    }

    /// What the path from one node to another is like from now on.
    pub fn set_path(&mut self, from: NodeId, to: NodeId, config: PathConfig) {
        self.network.set_path(from, to, config);
    }

    /// What happened on the network so far.
    #[must_use]
    pub fn network_stats(&self) -> NetworkStats {
        self.network.stats
    }

    /// What a node has sent so far, without what it sent to itself.
    #[must_use]
    pub fn sent_by(&self, node: NodeId) -> Traffic {
        self.node(node).sent
    }

    /// Datagrams that one node sent to another so far, to a group or to it alone, whatever became of them.
    #[must_use]
    pub fn sent_between(&self, from: NodeId, to: NodeId) -> u64 {
        self.network.sent_between(from, to).0
    }

    /// Those of them that did not arrive because the path was cut.
    #[must_use]
    pub fn cut_between(&self, from: NodeId, to: NodeId) -> u64 {
        self.network.sent_between(from, to).1
    }

    /// What was sent to a locator so far, whether or not somebody listens there.
    #[must_use]
    pub fn traffic_to(&self, locator: Locator) -> Traffic {
        self.network.traffic_to(locator)
    }

    /// Begins or ends to record every datagram that is sent; returns what was recorded until now.
    pub fn record(&mut self, wanted: bool) -> Vec<Datagram> {
        std::mem::replace(&mut self.network.record, wanted.then(Vec::new)).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    #[track_caller]
    pub(crate) fn node_mut(&mut self, node: NodeId) -> &mut Node {
        &mut self.nodes[node.index()]
    }
}
