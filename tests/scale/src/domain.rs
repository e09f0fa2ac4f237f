//! A domain of many participants in the simulator, and what happens when it starts, rests and grows.

use std::sync::Arc;

use anyhow::{Result, ensure};
use dunlin_cdr::{DdsType, TypeSupportOf};
use dunlin_core::Duration;
use dunlin_engine::{DiscoveryRole, EndpointLocators, Event, ReaderSlot, ReaderSpec, WriterSlot, WriterSpec};
use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicData};
use dunlin_sim::{Delay, NetworkConfig, NetworkStats, NodeConfig, NodeId, PathConfig, World};

/// What would be published.
#[derive(DdsType)]
struct Reading {
    value: f64,
}

/// How often it is looked whether all is done.
const STEP: Duration = Duration::from_millis(1);
/// Virtual time after which something must be wrong.
const LIMIT: Duration = Duration::from_secs(120);

/// What the network did in some time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Virtual time.
    pub time: Duration,
    /// Datagrams handed to the network, one for each destination, groups being one.
    pub sent: u64,
    /// Octets of them.
    pub sent_octets: u64,
    /// Datagrams that participants received.
    pub received: u64,
    /// Octets of them.
    pub received_octets: u64,
}

/// The participants with their endpoints.
pub struct Domain {
    world: World,
    nodes: Vec<Member>,
    endpoints: usize,
    /// The discovery server of the centralised architecture.
    server: Option<NodeId>,
}

struct Member {
    node: NodeId,
    writers: Vec<Arc<WriterSlot>>,
    readers: Vec<Arc<ReaderSlot>>,
    /// Remote endpoints that it knows.
    known: usize,
    /// Matches of its endpoints.
    matched: usize,
}

/// The endpoints of one participant.
type Endpoints = (Vec<Arc<WriterSlot>>, Vec<Arc<ReaderSlot>>);

impl Domain {
    /// A local network with some jitter and nobody on it.
    pub fn new(seed: u64, endpoints: usize) -> Self {
        let delay = Delay::Uniform(Duration::from_micros(50), Duration::from_micros(250));
        let path = PathConfig { delay, ..PathConfig::default() };
        Self { world: World::new(seed, NetworkConfig::of(path)), nodes: Vec::new(), endpoints, server: None }
    }

    /// The same with a discovery server, and without multicast.
    pub fn centralised(seed: u64, endpoints: usize) -> Self {
        let mut domain = Self::new(seed, endpoints);
        let mut config = NodeConfig { multicast: false, ..NodeConfig::default() };
        config.participant.role = DiscoveryRole::Server;
        domain.server = Some(domain.world.add_node(config));
        domain
    }

    /// What a participant is made from.
    fn config(&self) -> NodeConfig {
        let Some(server) = self.server else { return NodeConfig::default() };
        let mut config = NodeConfig { multicast: false, ..NodeConfig::default() };
        config.participant.initial_peers = self.world.locators(server).metatraffic_unicast.clone();
        config
    }

    fn stats(&self) -> (Duration, NetworkStats) {
        (self.world.age(), self.world.network_stats())
    }

    fn cost_since(&self, (begin, before): (Duration, NetworkStats)) -> Cost {
        let (end, after) = self.stats();
        Cost {
            time: Duration::from_nanos(end.as_nanos() - begin.as_nanos()),
            sent: after.sent.datagrams - before.sent.datagrams,
            sent_octets: after.sent.octets - before.sent.octets,
            received: after.delivered - before.delivered,
            received_octets: after.delivered_octets - before.delivered_octets,
        }
    }

    /// Starts `count` more participants at one moment, each with its endpoints; lets time pass until every participant
    /// knows every endpoint of all others and all that should match do.
    pub fn grow(&mut self, count: usize, total: usize) -> Result<Cost> {
        let before = self.stats();
        for _ in 0..count {
            let index = self.nodes.len();
            let node = self.world.add_node(self.config());
            let (writers, readers) = self.create_endpoints(node, index, total)?;
            self.nodes.push(Member { node, writers, readers, known: 0, matched: 0 });
        }
        while !self.complete(total) {
            self.world.run_for(STEP);
            self.count_events();
            let behind = self.nodes.iter().filter(|member| !self.knows_all(member)).count();
            ensure!(self.world.age() < LIMIT, "{behind} participants have not found everybody in {LIMIT:?}");
        }
        Ok(self.cost_since(before))
    }

    /// Half of the endpoints write topics of the participant's own; the other half read one topic of each of the
    /// participants that follow, in a ring.
    fn create_endpoints(&mut self, node: NodeId, index: usize, total: usize) -> Result<Endpoints> {
        let half = self.endpoints / 2;
        let mut writers = Vec::new();
        for number in 0..half {
            writers.push(self.world.create_writer(node, writer_spec(index, number))?);
        }
        let mut readers = Vec::new();
        for number in 0..self.endpoints - half {
            let spec = reader_spec((index + 1 + number) % total, number % half.max(1));
            readers.push(self.world.create_reader(node, spec)?);
        }
        Ok((writers, readers))
    }

    fn knows_all(&self, member: &Member) -> bool {
        self.server.is_some() || member.known == (self.nodes.len() - 1) * self.endpoints
    }

    fn complete(&self, total: usize) -> bool {
        let everybody = self.nodes.len() == total;
        self.nodes
            .iter()
            .all(|member| self.knows_all(member) && (!everybody || member.matched == self.endpoints))
    }

    fn count_events(&mut self) {
        for member in &mut self.nodes {
            for (_, event) in self.world.take_events(member.node) {
                match event {
                    Event::WriterDiscovered(_) | Event::ReaderDiscovered(_) => member.known += 1,
                    Event::WriterLost(_) | Event::ReaderLost(_) => member.known -= 1,
                    Event::PublicationMatched { added, .. } | Event::SubscriptionMatched { added, .. } => {
                        member.matched = if added { member.matched + 1 } else { member.matched - 1 };
                    }
                    _ => (),
                }
            }
        }
    }

    /// Lets time pass in which nothing happens.
    pub fn rest(&mut self, time: Duration) -> Cost {
        let before = self.stats();
        self.world.run_for(time);
        self.count_events();
        self.cost_since(before)
    }

    /// Announcements that all participants have sent so far.
    pub fn announcements(&self) -> u64 {
        let sent = |member: &Member| self.world.participant(member.node).stats().discovery.announcements_sent;
        self.nodes.iter().map(sent).sum()
    }

    /// Whether everybody still knows everybody.
    pub fn is_complete(&self) -> bool {
        self.complete(self.nodes.len())
    }

    /// Octets of memory that the server occupies.
    pub fn measure_server(&mut self) -> u64 {
        let Some(server) = self.server.take() else { return 0 };
        let world = &mut self.world;
        let freed = allocation_counter::measure(move || world.crash(server));
        freed.bytes_current.unsigned_abs()
    }

    /// Octets of memory that the last participant occupies: what becomes free when it goes.
    pub fn measure_one(&mut self) -> u64 {
        let Some(member) = self.nodes.pop() else { return 0 };
        let world = &mut self.world;
        let freed = allocation_counter::measure(move || {
            drop((member.writers, member.readers));
            world.crash(member.node);
        });
        freed.bytes_current.unsigned_abs()
    }
}

fn writer_spec(owner: usize, number: usize) -> WriterSpec {
    WriterSpec {
        topic_name: format!("site/{owner}/sensor/{number}"),
        type_name: "sensors::Reading".into(),
        keyed: false,
        qos: DataWriterQos::default().reliable(),
        publisher_qos: PublisherQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        type_description: None,
        locators: EndpointLocators::default(),
    }
}

fn reader_spec(owner: usize, number: usize) -> ReaderSpec {
    ReaderSpec {
        topic_name: format!("site/{owner}/sensor/{number}"),
        type_name: "sensors::Reading".into(),
        qos: DataReaderQos::default().reliable(),
        subscriber_qos: SubscriberQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        type_support: Arc::new(TypeSupportOf::<Reading>::new()),
    }
}
