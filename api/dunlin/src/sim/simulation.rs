//! A simulation as a test sees it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use dunlin_config::Config;
use dunlin_core::Duration;
use dunlin_driver::machine::{Running, run_simulation};
use dunlin_sim::{Delay, NetworkConfig, NetworkStats, PathConfig};
use dunlin_transport::PcapFile;

use crate::sim::failure::{Cause, Failure, command};
use crate::sim::machine::{NodeMachine, Shared};
use crate::sim::node::{Node, Task};
use crate::sim::shared::NodeState;

const MILLION: f64 = 1e6;

/// A share as parts per million.
///
/// # Panics
/// When it is not between 0 and 1.
#[track_caller]
fn ppm(share: f64) -> u32 {
    assert!((0.0..=1.0).contains(&share), "{share} is no share: give one from 0.0 (never) to 1.0 (always)");
    (share * MILLION).round() as u32
}

/// Settings of a simulation: its seed, what its network is like, and the configuration of its nodes.
#[derive(Clone, Debug)]
pub struct SimBuilder {
    seed: u64,
    path: PathConfig,
    config: Config,
}

impl SimBuilder {
    /// The seed, 0 unless set.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The share of datagrams that the network loses, each on its own: 0.0 to 1.0.
    ///
    /// # Panics
    /// When it is not between 0 and 1.
    #[must_use]
    #[track_caller]
    pub fn loss(mut self, share: f64) -> Self {
        self.path.loss_ppm = ppm(share);
        self
    }

    /// How long datagrams take from one node to another: anything from the first to the second, evenly.
    #[must_use]
    pub fn delay(mut self, from: Duration, to: Duration) -> Self {
        self.path.delay = Delay::Uniform(from, to);
        self
    }

    /// Everything that can be said about the way from one node to another, instead of
    /// [`loss`](Self::loss) and [`delay`](Self::delay).
    #[must_use]
    pub fn network(mut self, path: PathConfig) -> Self {
        self.path = path;
        self
    }

    /// The configuration of the nodes where they give none themselves. Files and the environment are not looked at.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The simulation.
    #[must_use]
    pub fn build(self) -> Sim {
        let repeat = command(None);
        self.build_with(repeat)
    }

    pub(crate) fn build_with(self, repeat: String) -> Sim {
        let shared = Shared::new(self.seed, NetworkConfig::of(self.path), repeat);
        Sim { shared, path: self.path, config: self.config, _running: run_simulation() }
    }
}

/// A simulation: nodes, the network between them, and their time. See [`crate::sim`].
pub struct Sim {
    shared: Arc<Shared>,
    path: PathConfig,
    config: Config,
    _running: Running,
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sim(seed {}, after {})", self.seed(), self.elapsed())
    }
}

impl Sim {
    /// A simulation on a good local network: 50 µs, no loss. Everything that chance decides in it comes from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::builder().seed(seed).build()
    }

    /// Settings for a simulation.
    #[must_use]
    pub fn builder() -> SimBuilder {
        SimBuilder { seed: 0, path: PathConfig::default(), config: Config::default() }
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.shared.seed
    }

    /// Virtual time since the simulation began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.shared.elapsed()
    }

    /// A number that differs, most likely, between two runs in which anything happened at another time, in another
    /// order, or with other octets on the network. The same program with the same seed has the same.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.shared.trace()
    }

    /// What happened on the network so far.
    #[must_use]
    pub fn network_stats(&self) -> NetworkStats {
        self.shared.state().world.network_stats()
    }

    /// Writes everything that nodes send from now on to a new file, for Wireshark and tshark (pcapng), whether or not it
    /// arrives. Its times are those of an exact wall clock.
    ///
    /// # Errors
    /// When the file cannot be created. That it cannot be written later is a [`Failure`].
    pub fn capture(&mut self, path: impl AsRef<Path>) -> std::io::Result<()> {
        self.shared.state().capture = Some(PcapFile::create(path.as_ref(), "simulated")?);
        Ok(())
    }

    /// Sixty-four random bits for the scenario, from the seed.
    #[must_use]
    pub fn random(&mut self) -> u64 {
        self.shared.state().rng.next_u64()
    }

    /// Adds a node, which is up at once. Its name is a host name to the others, as in `discovery.peers`.
    ///
    /// # Panics
    /// When another one has the name.
    #[track_caller]
    pub fn node(&mut self, name: &str) -> Node {
        let config = self.config.clone();
        self.node_with(name, config)
    }

    /// Adds a node with a configuration of its own.
    ///
    /// # Panics
    /// When another one has the name.
    #[track_caller]
    pub fn node_with(&mut self, name: &str, config: Config) -> Node {
        let mut state = self.shared.state();
        let known = state.nodes.iter().any(|node| node.name == name);
        assert!(!known, "there is a node '{name}' already: give each node a name of its own");
        assert!(!name.contains('\0'), "the name of a node has no NUL");
        let id = state.world.add_host();
        let index = state.nodes.len();
        let machine = NodeMachine::new(&self.shared, index, 0, id.address());
        state.nodes.push(NodeState::new(name, id, config, machine));
        Node::of(&self.shared, index)
    }

    /// Lets everything go on for so much virtual time.
    ///
    /// # Errors
    /// When a program of a node fails or panics.
    ///
    /// # Panics
    /// When the time is infinite, or within a program of a node; so do the others.
    pub fn run_for(&mut self, duration: Duration) -> std::result::Result<(), Failure> {
        self.run(duration, || false).map(drop)
    }

    /// Lets everything go on until `done`, which is asked before and after every event.
    ///
    /// # Errors
    /// When that takes longer than `limit` of virtual time, or a program of a node fails or panics.
    pub fn run_until(
        &mut self,
        done: impl FnMut() -> bool,
        limit: Duration,
    ) -> std::result::Result<(), Failure> {
        if self.run(limit, done)? { Ok(()) } else { Err(self.shared.failure(Cause::TimedOut(limit))) }
    }

    /// Lets everything go on until a task or thread has returned, and returns what it did.
    ///
    /// # Errors
    /// When that takes longer than `limit` of virtual time, its node crashes, or a program of a node fails or panics.
    ///
    /// # Panics
    /// When its value was taken before.
    pub fn join<T>(&mut self, task: &Task<T>, limit: Duration) -> std::result::Result<T, Failure> {
        self.run_until(|| task.is_over(), limit)?;
        if !task.is_done() {
            return Err(self.shared.failure(Cause::Crashed));
        }
        Ok(task.take().expect("a task is joined once"))
    }

    fn run(&mut self, limit: Duration, done: impl FnMut() -> bool) -> std::result::Result<bool, Failure> {
        let inside = dunlin_driver::machine::entered().is_some();
        assert!(!inside, "a program of a node cannot run the simulation that it is part of");
        assert!(!limit.is_infinite(), "a simulation never ends by itself: give it a finite time");
        let end = self.shared.state().world.clock().plus(limit);
        self.shared.run(end, done)
    }

    /// What the network is like from now on, where nothing else is said by [`set_path`](Self::set_path).
    pub fn set_network(&mut self, path: PathConfig) {
        self.path = path;
        self.shared.state().world.set_network(path);
    }

    /// The share of datagrams that the network loses from now on: 0.0 to 1.0.
    ///
    /// # Panics
    /// When it is not between 0 and 1.
    #[track_caller]
    pub fn set_loss(&mut self, share: f64) {
        self.set_network(PathConfig { loss_ppm: ppm(share), ..self.path });
    }

    /// What the way from one node to another is like from now on; the way back stays as it is.
    pub fn set_path(&mut self, from: &Node, to: &Node, path: PathConfig) {
        let mut state = self.shared.state();
        let (from, to) = (state.nodes[from.index()].id, state.nodes[to.index()].id);
        state.world.set_path(from, to, path);
    }

    /// From now on nothing gets from one node to another; what is on the way still arrives. The way back stays as it
    /// is.
    pub fn cut(&mut self, from: &Node, to: &Node) {
        let mut state = self.shared.state();
        let (from, to) = (state.nodes[from.index()].id, state.nodes[to.index()].id);
        state.world.cut(from, to);
    }

    /// Takes back [`cut`](Self::cut).
    pub fn mend(&mut self, from: &Node, to: &Node) {
        let mut state = self.shared.state();
        let (from, to) = (state.nodes[from.index()].id, state.nodes[to.index()].id);
        state.world.mend(from, to);
    }

    /// From now on no multicast passes between a node and the others, in both directions, as behind a router or a switch
    /// that drops it. The others are found through `discovery.peers` then.
    pub fn cut_multicast(&mut self, node: &Node) {
        self.set_multicast(node, false);
    }

    /// Takes back [`cut_multicast`](Self::cut_multicast).
    pub fn mend_multicast(&mut self, node: &Node) {
        self.set_multicast(node, true);
    }

    fn set_multicast(&mut self, node: &Node, passes: bool) {
        let mut state = self.shared.state();
        let id = state.nodes[node.index()].id;
        state.world.set_multicast(id, passes);
    }

    /// Cuts every way between the two sides, in both directions.
    pub fn partition(&mut self, one: &[&Node], other: &[&Node]) {
        for (a, b) in one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b))) {
            self.cut(a, b);
            self.cut(b, a);
        }
    }

    /// Takes back every [`cut`](Self::cut) and [`partition`](Self::partition).
    pub fn heal(&mut self) {
        self.shared.state().world.heal();
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let nodes = self.shared.state().nodes.len();
        for index in 0..nodes {
            Node::of(&self.shared, index).crash();
            let programs = std::mem::take(&mut self.shared.state().nodes[index].programs);
            drop(programs);
        }
        self.shared.state().capture = None;
        let planned = self.shared.state().agenda.clear();
        drop(planned);
    }
}
