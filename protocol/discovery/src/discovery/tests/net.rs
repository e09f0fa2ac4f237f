//! Several participants on a network in memory, in virtual time.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use core::net::Ipv4Addr;

pub(super) use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Duration, Rng, WallTime};
pub(super) use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, MonoTime, Now, VendorId};
pub(super) use dunlin_qos::{DataReaderQos, DataWriterQos, LivelinessKind, PublisherQos, UserData};
use dunlin_qos::{SubscriberQos, TopicData};
pub(super) use dunlin_wire::{Message, ReceiverState, Submessage};

use crate::EndpointLocators;
pub(super) use crate::{
    Discovery, DiscoveryConfig, DiscoveryEffect, DiscoveryStats, InvalidName, Left, LocalReader, LocalWriter,
    Locators,
};

pub(super) const WRITER: EntityId = EntityId([0, 0, 1, 2]);
pub(super) const READER: EntityId = EntityId([0, 0, 1, 7]);
/// How long a datagram travels, in nanoseconds.
pub(super) const DELAY: u64 = 1_000_000;

pub(super) const fn secs(n: u64) -> u64 {
    n * 1_000_000_000
}

pub(super) const fn millis(n: u64) -> u64 {
    n * 1_000_000
}

pub(super) fn group() -> Locator {
    Locator::udp_v4(Ipv4Addr::new(239, 255, 0, 1), 7400)
}

pub(super) fn prefix(node: usize) -> GuidPrefix {
    GuidPrefix([node as u8 + 1; 12])
}

pub(super) fn guid(node: usize, entity: EntityId) -> Guid {
    Guid::new(prefix(node), entity)
}

pub(super) fn unicast(node: usize, port: u16) -> Locator {
    Locator::udp_v4(Ipv4Addr::new(10, 0, 0, node as u8 + 1), port)
}

pub(super) fn config(node: usize) -> DiscoveryConfig {
    DiscoveryConfig {
        locators: Locators {
            metatraffic_unicast: vec![unicast(node, 7410)],
            metatraffic_multicast: vec![group()],
            default_unicast: vec![unicast(node, 7411)],
            default_multicast: vec![],
        },
        spdp_destinations: vec![group()],
        goodbye_secret: Some([node as u8; 16]),
        quotas: crate::Quotas { verify_places: true, ..crate::Quotas::default() },
        ..DiscoveryConfig::new(prefix(node), 0)
    }
}

/// A participant that is not forgotten because announcements are lost.
pub(super) fn patient(node: usize) -> DiscoveryConfig {
    DiscoveryConfig { lease_duration: Duration::from_secs(100), ..config(node) }
}

pub(super) fn local_writer(qos: DataWriterQos) -> LocalWriter {
    LocalWriter {
        entity_id: WRITER,
        topic_name: "Square".to_string(),
        type_name: "ShapeType".to_string(),
        qos,
        publisher_qos: PublisherQos::default(),
        group: EntityId::UNKNOWN,
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        related: None,
    }
}

pub(super) fn local_reader(qos: DataReaderQos) -> LocalReader {
    LocalReader {
        entity_id: READER,
        topic_name: "Square".to_string(),
        type_name: "ShapeType".to_string(),
        qos,
        subscriber_qos: SubscriberQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        related: None,
        content_filter: None,
    }
}

pub(super) struct Node {
    pub(super) discovery: Discovery,
    pub(super) fx: Vec<DiscoveryEffect>,
    /// Takes part in multicast.
    pub(super) joined: bool,
    /// Receives nothing and sends nothing that arrives.
    pub(super) cut_off: bool,
    /// Sends nothing that arrives.
    pub(super) unheard: bool,
    /// Gets no question about types.
    pub(super) mute_about_types: bool,
    /// By how much its clock was set back, in nanoseconds.
    pub(super) set_back: u64,
    /// From the address of which node it sends.
    pub(super) place: usize,
}

pub(super) struct Net {
    pub(super) nodes: Vec<Node>,
    pub(super) now: u64,
    /// Out of a thousand datagrams, how many are lost.
    pub(super) loss: u64,
    /// Datagrams sent, each counted once per destination.
    pub(super) sent: u64,
    /// Octets of those.
    pub(super) sent_octets: usize,
    rng: Rng,
    flying: BTreeMap<(u64, u64), (usize, Locator, Vec<u8>)>,
    count: u64,
}

impl Net {
    pub(super) fn new(configs: impl IntoIterator<Item = DiscoveryConfig>) -> Self {
        let node = |(index, config)| Node {
            discovery: Discovery::new(config, index as u64),
            fx: vec![],
            joined: true,
            cut_off: false,
            unheard: false,
            mute_about_types: false,
            set_back: 0,
            place: index,
        };
        Self {
            nodes: configs.into_iter().enumerate().map(node).collect(),
            now: secs(1),
            loss: 0,
            sent: 0,
            sent_octets: 0,
            rng: Rng::new(42),
            flying: BTreeMap::new(),
            count: 0,
        }
    }

    pub(super) fn now(&self) -> Now {
        Now { mono: MonoTime(self.now), wall: WallTime(self.now as i64) }
    }

    /// Calls into one node and sends what it wants sent.
    pub(super) fn with<T>(
        &mut self,
        node: usize,
        call: impl FnOnce(&mut Discovery, Now, &mut Outbox, &mut Vec<DiscoveryEffect>) -> T,
    ) -> T {
        let mut now = self.now();
        let mut out = Outbox::new();
        let target = &mut self.nodes[node];
        now.wall.0 -= target.set_back as i64;
        let result = call(&mut target.discovery, now, &mut out, &mut target.fx);
        self.send(node, &out);
        result
    }

    fn send(&mut self, from: usize, out: &Outbox) {
        for datagram in out.datagrams() {
            let mut bytes = vec![];
            datagram.copy_to(&mut bytes);
            for destination in datagram.destinations() {
                self.sent += 1;
                self.sent_octets += bytes.len();
                self.route(from, *destination, &bytes);
            }
        }
    }

    fn route(&mut self, from: usize, destination: Locator, bytes: &[u8]) {
        for to in (0..self.nodes.len()).filter(|to| *to != from) {
            let node = &self.nodes[to];
            let listens = if destination.is_multicast() {
                node.joined && self.nodes[from].joined
            } else {
                node.discovery.config().locators.metatraffic_unicast.contains(&destination)
            };
            let cut = node.cut_off || self.nodes[from].cut_off || self.nodes[from].unheard;
            if listens && !cut && !self.rng.chance(self.loss, 1000) {
                self.count += 1;
                let key = (self.now + DELAY, self.count);
                self.flying.insert(key, (to, unicast(self.nodes[from].place, 40_000), bytes.to_vec()));
            }
        }
    }

    fn deliver(&mut self, to: usize, from: Locator, bytes: Vec<u8>) {
        let packet = SharedBytes::from(bytes);
        let mute = self.nodes[to].mute_about_types;
        self.with(to, |discovery, now, out, fx| {
            if discovery.pass_on(now, from, &packet, out) != Left::Own {
                return;
            }
            let message = Message::parse(&packet).expect("own messages are well formed");
            let mut state = ReceiverState::new(discovery.config().guid_prefix, &message.header());
            for parsed in message.submessages() {
                let parsed = parsed.expect("own submessages are well formed");
                state.apply(&parsed.body);
                let question = |writer| mute && writer == EntityId::TYPE_LOOKUP_REQUEST_WRITER;
                if matches!(&parsed.body, Submessage::Data(data) if question(data.writer_id))
                    || matches!(&parsed.body, Submessage::Heartbeat(beat) if question(beat.writer_id))
                {
                    continue;
                }
                discovery.on_submessage(now, from, &state, &parsed.body, &packet, out, fx);
            }
        });
    }

    /// Lets time pass up to `until`.
    pub(super) fn run_until(&mut self, until: u64) {
        for _ in 0..2_000_000 {
            let deadlines =
                self.nodes.iter().enumerate().filter_map(|(index, node)| {
                    Some((node.discovery.next_deadline()?.0.max(self.now), index))
                });
            let timer = deadlines.min();
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let next = timer.map(|(at, _)| at).into_iter().chain(arrival).min().unwrap_or(u64::MAX);
            if next > until {
                self.now = self.now.max(until);
                return;
            }
            self.now = next;
            if arrival == Some(next) {
                let (_, (to, from, bytes)) = self.flying.pop_first().expect("there is one");
                self.deliver(to, from, bytes);
            } else if let Some((_, node)) = timer {
                self.with(node, Discovery::on_timer);
            }
        }
        panic!("a timer does not get less due");
    }

    pub(super) fn run_for(&mut self, span: u64) {
        self.run_until(self.now + span);
    }

    pub(super) fn start(&mut self) {
        for node in 0..self.nodes.len() {
            self.with(node, |discovery, now, out, _| discovery.start(now, out));
        }
    }

    pub(super) fn add_writer(&mut self, node: usize, qos: DataWriterQos) {
        self.with(node, |d, now, out, fx| d.add_writer(now, local_writer(qos), out, fx))
            .expect("valid names");
    }

    pub(super) fn add_reader(&mut self, node: usize, qos: DataReaderQos) {
        self.with(node, |d, now, out, fx| d.add_reader(now, local_reader(qos), out, fx))
            .expect("valid names");
    }

    pub(super) fn forget_events(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.fx.clear());
    }

    /// What happened at a node since the last call, as short texts.
    pub(super) fn events(&mut self, node: usize) -> Vec<String> {
        self.nodes[node].fx.drain(..).filter_map(|effect| text(&effect)).collect()
    }
}

fn node_of(prefix: GuidPrefix) -> u8 {
    prefix.0[0] - 1
}

/// Matches, mismatches and losses; what only feeds queries is left out.
fn text(effect: &DiscoveryEffect) -> Option<String> {
    use DiscoveryEffect as E;
    Some(match effect {
        E::ParticipantDiscovered(data) => format!("+participant {}", node_of(data.guid_prefix)),
        E::ParticipantLost { prefix, reason } => format!("-participant {} {reason:?}", node_of(*prefix)),
        E::WriterMatched { remote, .. } => format!("+writer {}", node_of(remote.guid.prefix)),
        E::WriterUnmatched { remote, .. } => format!("-writer {}", node_of(remote.prefix)),
        E::ReaderMatched { remote, .. } => format!("+reader {}", node_of(remote.guid.prefix)),
        E::ReaderUnmatched { remote, .. } => format!("-reader {}", node_of(remote.prefix)),
        E::MatchedReaderUpdated { remote, .. } => format!("~reader {}", node_of(remote.guid.prefix)),
        E::MatchedWriterUpdated { remote, .. } => format!("~writer {}", node_of(remote.guid.prefix)),
        E::IncompatibleQos { remote, policies, .. } => {
            let names: Vec<_> = policies.iter().map(|found| found.policy.name()).collect();
            format!("incompatible {} {}", node_of(remote.prefix), names.join(","))
        }
        E::InconsistentTopic { remote, .. } => format!("inconsistent {}", node_of(remote.prefix)),
        E::LivelinessAsserted { prefix, kind, .. } => format!("asserted {} {kind}", node_of(*prefix)),
        _ => return None,
    })
}
