//! The machines of the world.

use std::collections::{BTreeSet, VecDeque};
use std::net::Ipv4Addr;
use std::sync::Arc;

use dunlin_core::{Duration, EntityId, GuidPrefix, Locator, LocatorKind, MonoTime, VendorId, domain_ports};
use dunlin_engine::{Event, Locators, Participant, ParticipantConfig};
use dunlin_host::Work;

use crate::address::Nat;
use crate::port::Life;
use crate::traffic::{Datagram, Traffic};

/// Names a node of one world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// Its address on the virtual network.
    #[must_use]
    pub fn address(self) -> Ipv4Addr {
        let [_, a, b, c] = (self.0 + 1).to_be_bytes();
        Ipv4Addr::new(10, a, b, c)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node is made from.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// The participant. What is left empty of prefix, locators and SPDP destinations is filled in by the world,
    /// and so is the seed.
    pub participant: ParticipantConfig,
    /// Fills in multicast locators as well: without them the node hears no group, and sends its announcements only to
    /// `initial_peers`.
    pub multicast: bool,
    /// How far the wall clock is ahead of true time; negative if behind.
    pub wall_offset: Duration,
    /// How much faster the wall clock runs than true time, in parts per million; negative if slower.
    pub wall_drift_ppm: i32,
    /// Everything that the node sends is turned into big-endian. The payloads of its application are its own affair.
    pub big_endian: bool,
    /// The host that it is on, which it may share with others: datagrams between them may be as long as UDP carries. `None` is
    /// one of its own.
    pub host: Option<u32>,
    /// It shares memory with others of its host that do, and sends data for them there.
    pub memory: bool,
}

impl Default for NodeConfig {
    /// A participant of domain 0 with the defaults of the engine, and an exact clock.
    fn default() -> Self {
        Self {
            participant: ParticipantConfig::new(GuidPrefix::UNKNOWN, 0),
            multicast: true,
            wall_offset: Duration::ZERO,
            wall_drift_ppm: 0,
            big_endian: false,
            host: None,
            memory: false,
        }
    }
}

impl NodeConfig {
    /// Fills in what depends on the place.
    pub(crate) fn settle(mut self, id: NodeId) -> Self {
        let config = &mut self.participant;
        let ports = domain_ports(config.domain_id, 0).unwrap_or([7400, 7410, 7401, 7411]);
        let [meta_group, meta, user_group, user] = ports;
        let group = |port| if self.multicast { vec![Locator::udp_v4(GROUP, port)] } else { Vec::new() };
        if config.locators == Locators::default() {
            config.locators = Locators {
                metatraffic_unicast: vec![Locator::udp_v4(id.address(), meta)],
                metatraffic_multicast: group(meta_group),
                default_unicast: vec![Locator::udp_v4(id.address(), user)],
                default_multicast: group(user_group),
            };
        }
        if let Some(own) = config.locators.metatraffic_unicast.first() {
            config.source_ports = [u16::try_from(own.port).unwrap_or(0), 0, 0, 0];
        }
        if config.spdp_destinations.is_empty() {
            config.spdp_destinations = group(meta_group);
        }
        self
    }
}

/// The standard's group (RTPS 2.5 §9.6.2.3).
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

/// Which name a participant has after a restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// A new GUID prefix, as every process that starts makes one.
    New,
    /// The prefix it had before, as of a program that derives it from something fixed.
    Same,
}

/// Datagrams that wait while a node stands still, at most; as the receive buffer of a socket would.
const PAUSED_BUFFER: usize = 256;

pub(crate) struct Node {
    pub(crate) config: NodeConfig,
    /// How often it was started.
    pub(crate) incarnation: u32,
    pub(crate) participant: Option<Arc<Participant>>,
    pub(crate) paused: bool,
    /// What arrived while it stood still.
    pub(crate) waiting: VecDeque<Datagram>,
    /// What arrived although there is no participant.
    pub(crate) inbox: Option<Vec<Datagram>>,
    /// When the queue will call the participant; the earliest time if it will several times.
    pub(crate) timer: Option<MonoTime>,
    pub(crate) events: Vec<(MonoTime, Event)>,
    /// Writers that have had room again since somebody began to wait.
    pub(crate) freed: BTreeSet<EntityId>,
    pub(crate) sent: Traffic,
    /// The age of the world from which on the drift counts; what was before is in the offset.
    pub(crate) drifts_since: Duration,
    /// The router that it sits behind.
    pub(crate) nat: Option<Nat>,
    /// What calls have left to later ones.
    pub(crate) deferred: Vec<Work<Life>>,
}

impl Node {
    pub(crate) fn new(config: NodeConfig) -> Self {
        Self {
            config,
            incarnation: 0,
            participant: None,
            paused: false,
            waiting: VecDeque::new(),
            inbox: None,
            timer: None,
            events: Vec::new(),
            freed: BTreeSet::new(),
            sent: Traffic::default(),
            drifts_since: Duration::ZERO,
            nat: None,
            deferred: Vec::new(),
        }
    }

    /// Whether a datagram finds no more room while it stands still; a ring in memory has its own.
    pub(crate) fn is_full_for(&self, datagram: &Datagram) -> bool {
        let from_network = |datagram: &&Datagram| datagram.to.kind != LocatorKind::SHARED_MEMORY;
        from_network(&datagram) && self.waiting.iter().filter(from_network).count() >= PAUSED_BUFFER
    }

    /// Where its datagrams come from, as receivers see it.
    pub(crate) fn source(&self) -> Locator {
        let inside = self.config.participant.locators.metatraffic_unicast.first();
        inside.map_or(Locator::INVALID, |inside| self.nat.map_or(*inside, |nat| nat.outside(*inside)))
    }

    /// How far the wall clock is ahead of true time at some age of the world.
    pub(crate) fn wall_ahead(&self, age: Duration) -> Duration {
        let drifting = age.as_nanos().saturating_sub(self.drifts_since.as_nanos());
        let drift = i128::from(drifting) * i128::from(self.config.wall_drift_ppm) / 1_000_000;
        let drift = i64::try_from(drift).unwrap_or(0);
        Duration::from_nanos(self.config.wall_offset.as_nanos().saturating_add(drift))
    }

    /// Everything that it listens to as it sees it itself.
    pub(crate) fn listens_to(&self) -> Vec<Locator> {
        let locators = &self.config.participant.locators;
        let [meta, meta_groups] = [&locators.metatraffic_unicast, &locators.metatraffic_multicast];
        let [user, user_groups] = [&locators.default_unicast, &locators.default_multicast];
        [meta, meta_groups, user, user_groups].into_iter().flatten().copied().collect()
    }

    pub(crate) fn note(&mut self, at: MonoTime, event: Event) {
        if let Event::SpaceFreed { writer } = &event {
            self.freed.insert(*writer);
        }
        let signal = matches!(
            event,
            Event::DataAvailable { .. } | Event::AckAdvanced { .. } | Event::SpaceFreed { .. }
        );
        if !(signal && self.events.iter().any(|(_, known)| *known == event)) {
            self.events.push((at, event));
        }
    }
}

/// The prefix of a node's participant: vendor, node and incarnation.
pub(crate) fn prefix(id: NodeId, incarnation: u32) -> GuidPrefix {
    let mut prefix = [0; 12];
    prefix[..2].copy_from_slice(&VendorId::DUNLIN.0);
    prefix[4..8].copy_from_slice(&id.0.to_be_bytes());
    prefix[8..].copy_from_slice(&incarnation.to_be_bytes());
    GuidPrefix(prefix)
}
