//! What goes wrong on purpose, besides what paths do: cuts, crashes, pauses, clocks, forged datagrams.

use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, GuidPrefix, Locator, Rng};
use dunlin_engine::{Participant, ParticipantConfig};

use crate::node::{Identity, NodeId, prefix};
use crate::path::PathConfig;
use crate::traffic::Datagram;
use crate::world::World;

impl World {
    /// From now on nothing gets from one node to another; what is on the way still arrives. The other direction stays
    /// as it is.
    pub fn cut(&mut self, from: NodeId, to: NodeId) {
        self.network.cut(from, to);
    }

    /// Takes back [`cut`](Self::cut).
    pub fn mend(&mut self, from: NodeId, to: NodeId) {
        self.network.mend(from, to);
    }

    /// Cuts every path between the two sides, in both directions.
    pub fn partition(&mut self, one: &[NodeId], other: &[NodeId]) {
        for a in one {
            for b in other {
                self.network.cut(*a, *b);
                self.network.cut(*b, *a);
            }
        }
    }

    /// Mends every path that was cut.
    pub fn heal(&mut self) {
        self.network.mend_all();
    }

    /// Ends every fault of the network: all paths and groups are whole, and paths as
    /// [`PathConfig::default`]. Nodes stay as they are.
    pub fn end_network_faults(&mut self) {
        self.heal();
        self.network.mend_groups();
        self.network.forget_own_paths();
        self.set_network(PathConfig::default());
    }

    /// The node stops without a goodbye and forgets everything. Nothing happens if it does not run.
    pub fn crash(&mut self, node: NodeId) {
        let known = self.node_mut(node);
        known.participant = None;
        known.paused = false;
        known.waiting.clear();
        known.timer = None;
        known.freed.clear();
        known.deferred.clear();
        self.close_inbox(node);
    }

    /// The node says goodbye and stops.
    ///
    /// # Panics
    /// When it does not run.
    pub fn leave(&mut self, node: NodeId) {
        self.with(node, Participant::shutdown);
        self.crash(node);
    }

    /// The node starts again, after a [`crash`](Self::crash) if it still runs. It has no endpoints.
    pub fn restart(&mut self, node: NodeId, identity: Identity) {
        self.crash(node);
        if identity == Identity::New {
            self.node_mut(node).incarnation += 1;
        }
        self.boot(node);
    }

    pub(crate) fn boot(&mut self, node: NodeId) {
        let seed = self.rng.next_u64();
        let known = self.node(node);
        let given = known.config.participant.guid_prefix;
        let own = if given == GuidPrefix::UNKNOWN || known.incarnation > 0 {
            prefix(node, known.incarnation)
        } else {
            given
        };
        let goodbye_secret = Some(Rng::new(seed.rotate_left(32)).octets());
        let base = known.config.participant.clone();
        let mut config = ParticipantConfig { guid_prefix: own, seed, goodbye_secret, ..base };
        if let Some(nat) = known.nat {
            config.locators = nat.announced(&config.locators);
        }
        config.locators.default_unicast.extend(self.open_inbox(node));
        self.node_mut(node).participant = Some(Arc::new(Participant::new(config)));
        self.with(node, Participant::start);
    }

    /// The node stands still: its clock goes on, but it does nothing, and of what arrives only as much waits as a
    /// socket would hold.
    pub fn pause(&mut self, node: NodeId) {
        self.node_mut(node).paused = true;
    }

    /// The node goes on, with what has waited first.
    pub fn resume(&mut self, node: NodeId) {
        let known = self.node_mut(node);
        known.paused = false;
        for datagram in std::mem::take(&mut known.waiting) {
            self.arrive(node, datagram);
        }
        self.plan_timer(node);
    }

    /// Sets the wall clock of a node to so much ahead of true time; negative is behind.
    pub fn set_wall_offset(&mut self, node: NodeId, offset: Duration) {
        let age = self.age();
        let known = self.node_mut(node);
        (known.config.wall_offset, known.drifts_since) = (offset, age);
    }

    /// How much faster than true time the wall clock of a node runs from now on, in parts per million; negative is
    /// slower.
    pub fn set_wall_drift(&mut self, node: NodeId, ppm: i32) {
        let age = self.age();
        let known = self.node_mut(node);
        (known.config.wall_offset, known.drifts_since) = (known.wall_ahead(age), age);
        known.config.wall_drift_ppm = ppm;
    }

    /// How far the wall clock of a node is ahead of true time now; negative if behind.
    #[must_use]
    pub fn wall_ahead(&self, node: NodeId) -> Duration {
        self.node(node).wall_ahead(self.age())
    }

    /// A node sends a datagram that no engine made, and claims that it comes `from` wherever.
    pub fn inject(&mut self, sender: NodeId, from: Locator, to: Locator, bytes: SharedBytes) {
        self.node_mut(sender).sent.add(bytes.len());
        let datagram = Datagram { at: self.now, sender, from, to, bytes };
        self.network.send(&datagram, &mut self.queue);
    }

    /// Where the datagrams of a node come from, as receivers see it; announcements reach it there.
    #[must_use]
    pub fn source(&self, node: NodeId) -> Locator {
        self.node(node).source()
    }

    /// What has arrived at a bystander since the last call.
    pub fn take_inbox(&mut self, node: NodeId) -> Vec<Datagram> {
        self.node_mut(node).inbox.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
