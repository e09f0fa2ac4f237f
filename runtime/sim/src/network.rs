//! The network: who listens where, which paths are cut, and what happens to a datagram.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_buf::{BufPool, SharedBytes};
use dunlin_core::{Locator, Rng};

use crate::byte_order::to_big_endian;
use crate::node::NodeId;
use crate::path::{PathConfig, PathState, chance};
use crate::queue::{Queue, SimEvent};
use crate::traffic::{Datagram, NetworkStats, Traffic};

/// Octets of datagrams that are kept for reuse.
const POOL: usize = 64 << 20;

/// What a network is made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NetworkConfig {
    /// Every path for which nothing else was said.
    pub path: PathConfig,
}

impl NetworkConfig {
    /// A network on which every path is the same.
    #[must_use]
    pub const fn of(path: PathConfig) -> Self {
        Self { path }
    }
}

#[derive(Default)]
struct Path {
    own: Option<PathConfig>,
    /// Datagrams that should take it, whatever became of them.
    sent: u64,
    /// Those of them that did not, because it was cut.
    cut: u64,
    state: PathState,
}

pub(crate) struct Network {
    pub(crate) config: NetworkConfig,
    paths: BTreeMap<(NodeId, NodeId), Path>,
    cuts: BTreeSet<(NodeId, NodeId)>,
    /// Groups that reach nobody, and groups that do not reach one node.
    broken_groups: BTreeSet<(Locator, Option<NodeId>)>,
    /// Nodes with which no multicast is exchanged.
    without_groups: BTreeSet<NodeId>,
    /// Nodes by what they listen to, groups and single locators alike.
    listeners: BTreeMap<Locator, Vec<NodeId>>,
    to: BTreeMap<Locator, Traffic>,
    /// What did not arrive because a group had failed.
    failed: BTreeMap<Locator, u64>,
    rng: Rng,
    pool: BufPool,
    pub(crate) stats: NetworkStats,
    pub(crate) record: Option<Vec<Datagram>>,
}

impl Network {
    pub(crate) fn new(config: NetworkConfig, rng: Rng) -> Self {
        Self {
            config,
            paths: BTreeMap::new(),
            cuts: BTreeSet::new(),
            broken_groups: BTreeSet::new(),
            without_groups: BTreeSet::new(),
            listeners: BTreeMap::new(),
            to: BTreeMap::new(),
            failed: BTreeMap::new(),
            rng,
            pool: BufPool::new(POOL),
            stats: NetworkStats::default(),
            record: None,
        }
    }

    pub(crate) fn listen<'a>(&mut self, node: NodeId, locators: impl IntoIterator<Item = &'a Locator>) {
        for locator in locators {
            let nodes = self.listeners.entry(*locator).or_default();
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
    }

    pub(crate) fn unlisten(&mut self, node: NodeId, locators: &[Locator]) {
        for locator in locators {
            if let Some(nodes) = self.listeners.get_mut(locator) {
                nodes.retain(|known| *known != node);
            }
        }
    }

    pub(crate) fn break_group(&mut self, group: Locator, receiver: Option<NodeId>) {
        self.broken_groups.insert((group, receiver));
    }

    pub(crate) fn mend_group(&mut self, group: Locator, receiver: Option<NodeId>) {
        self.broken_groups.remove(&(group, receiver));
    }

    pub(crate) fn mend_groups(&mut self) {
        self.broken_groups.clear();
    }

    pub(crate) fn set_multicast(&mut self, node: NodeId, passes: bool) {
        if passes {
            self.without_groups.remove(&node);
        } else {
            self.without_groups.insert(node);
        }
    }

    /// Whether no multicast at all passes between two nodes.
    fn is_without(&self, to: Locator, sender: NodeId, receiver: NodeId) -> bool {
        !self.without_groups.is_empty()
            && to.is_multicast()
            && (self.without_groups.contains(&sender) || self.without_groups.contains(&receiver))
    }

    /// Whether a group has failed for a node.
    fn is_broken(&self, to: Locator, receiver: NodeId) -> bool {
        !self.broken_groups.is_empty()
            && (self.broken_groups.contains(&(to, None))
                || self.broken_groups.contains(&(to, Some(receiver))))
    }

    /// Datagrams that one node sent to another so far, whatever became of them, and those of them that a cut stopped.
    pub(crate) fn sent_between(&self, from: NodeId, to: NodeId) -> (u64, u64) {
        self.paths.get(&(from, to)).map_or((0, 0), |path| (path.sent, path.cut))
    }

    pub(crate) fn set_path(&mut self, from: NodeId, to: NodeId, config: PathConfig) {
        self.paths.entry((from, to)).or_default().own = Some(config);
    }

    pub(crate) fn forget_own_paths(&mut self) {
        self.paths.values_mut().for_each(|path| path.own = None);
    }

    pub(crate) fn cut(&mut self, from: NodeId, to: NodeId) {
        self.cuts.insert((from, to));
    }

    pub(crate) fn mend(&mut self, from: NodeId, to: NodeId) {
        self.cuts.remove(&(from, to));
    }

    pub(crate) fn mend_all(&mut self) {
        self.cuts.clear();
    }

    pub(crate) fn traffic_to(&self, locator: Locator) -> Traffic {
        self.to.get(&locator).copied().unwrap_or_default()
    }

    pub(crate) fn failed(&self, group: Locator) -> u64 {
        self.failed.get(&group).copied().unwrap_or(0)
    }

    /// Octets in a buffer that is used again when nobody needs them any more.
    pub(crate) fn gather<'a>(
        &mut self,
        len: usize,
        parts: impl Iterator<Item = &'a [u8]>,
        big_endian: bool,
    ) -> SharedBytes {
        let mut buffer = self.pool.take(len);
        let bytes = buffer.vec_mut();
        bytes.clear();
        parts.for_each(|part| bytes.extend_from_slice(part));
        if big_endian {
            to_big_endian(bytes);
        }
        self.pool.freeze(buffer, len)
    }

    /// Puts a datagram on its way.
    pub(crate) fn send(&mut self, datagram: &Datagram, queue: &mut Queue) {
        let len = datagram.bytes.len();
        self.stats.sent.add(len);
        self.to.entry(datagram.to).or_default().add(len);
        if let Some(record) = &mut self.record {
            record.push(datagram.clone());
        }
        let listeners = self.listeners.get(&datagram.to).map_or(0, Vec::len);
        if listeners == 0 {
            self.stats.unreachable += 1;
        }
        for index in 0..listeners {
            let receiver = self.listeners[&datagram.to][index];
            if receiver != datagram.sender || !datagram.to.is_multicast() {
                self.carry(datagram, receiver, queue);
            }
        }
    }

    fn carry(&mut self, datagram: &Datagram, receiver: NodeId, queue: &mut Queue) {
        let ends = (datagram.sender, receiver);
        let broken = self.is_broken(datagram.to, receiver);
        let without = self.is_without(datagram.to, datagram.sender, receiver);
        let cut = self.cuts.contains(&ends);
        let path = self.paths.entry(ends).or_default();
        path.sent += 1;
        path.cut += u64::from(cut);
        if broken {
            *self.failed.entry(datagram.to).or_default() += 1;
        }
        if cut || broken || without {
            self.stats.cut += 1;
            return;
        }
        let config = path.own.unwrap_or(self.config.path);
        let len = datagram.bytes.len();
        let arrivals = path.state.carry(&config, datagram.at, len, &mut self.rng, &mut self.stats);
        for at in arrivals.into_iter().flatten() {
            let mut copy = datagram.clone();
            if chance(&mut self.rng, config.corrupt_ppm) {
                copy.bytes = self.corrupt(&copy.bytes);
            }
            queue.push(at, SimEvent::Arrival(receiver, Box::new(copy)));
        }
    }

    fn corrupt(&mut self, bytes: &SharedBytes) -> SharedBytes {
        self.stats.corrupted += 1;
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.rng.below(4) {
            let bit = self.rng.below(bytes.len() as u64 * 8) as usize;
            if let Some(octet) = bytes.get_mut(bit / 8) {
                *octet ^= 1 << (bit % 8);
            }
        }
        bytes.into()
    }
}
