//! Participants wired to each other in memory, with virtual time, delay and seeded loss.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_cache::{CachedSample, Selection};
use dunlin_cdr::{CdrError, DdsType, DecodeOptions, Extensibility, TypeRef, TypeSupport};
use dunlin_core::{
    Duration, GuidPrefix, InstanceHandle, Locator, LocatorKind, MonoTime, Now, Rng, VendorId, WallTime,
};
use dunlin_engine::{
    EndpointLocators, Event, Locators, Output, Participant, ParticipantConfig, ReaderPolicies, ReaderSlot,
    ReaderSpec, SetQosError, Tuning, WriteError, WriteRequest, WriterPolicies, WriterSlot, WriterSpec,
};
use dunlin_host::{Port, SendMode, State, Work, drive, run_timers, work_off};
use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicData};
use dunlin_rtps::ChangeKind;

const WALL_START: i64 = 1_700_000_000_000_000_000;
/// CDR_LE, no options.
const ENCAPSULATION: [u8; 4] = [0, 1, 0, 0];

/// A type whose samples begin with a 32-bit key.
pub struct Keyed;

/// A type without key.
pub struct Keyless;

fn key_hash(key: u32) -> [u8; 16] {
    let mut hash = [0; 16];
    hash[..4].copy_from_slice(&key.to_be_bytes());
    hash
}

impl TypeSupport for Keyed {
    fn type_name(&self) -> &str {
        "Keyed"
    }
    fn has_key(&self) -> bool {
        true
    }
    fn extensibility(&self) -> Extensibility {
        Extensibility::Final
    }
    fn max_key_size(&self) -> Option<usize> {
        Some(4)
    }
    fn key_hash_with(
        &self,
        payload: &[u8],
        _key_only: bool,
        _options: DecodeOptions,
        _scratch: &mut Vec<u8>,
    ) -> Result<[u8; 16], CdrError> {
        match payload {
            [0, 1, _, _, a, b, c, d, ..] => Ok(key_hash(u32::from_le_bytes([*a, *b, *c, *d]))),
            _ => Err(bad_payload()),
        }
    }
    fn key_payload_with(
        &self,
        payload: &[u8],
        _options: DecodeOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        out.clear();
        out.extend_from_slice(payload.get(..8).ok_or_else(bad_payload)?);
        Ok(())
    }
}

impl TypeSupport for Keyless {
    fn type_name(&self) -> &str {
        "Keyless"
    }
    fn has_key(&self) -> bool {
        false
    }
    fn extensibility(&self) -> Extensibility {
        Extensibility::Final
    }
    fn max_key_size(&self) -> Option<usize> {
        Some(0)
    }
    fn key_hash_with(
        &self,
        _payload: &[u8],
        _key_only: bool,
        _options: DecodeOptions,
        _scratch: &mut Vec<u8>,
    ) -> Result<[u8; 16], CdrError> {
        Ok([0; 16])
    }
    fn key_payload_with(
        &self,
        _payload: &[u8],
        _options: DecodeOptions,
        _out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        Err(bad_payload())
    }
}

fn bad_payload() -> CdrError {
    dunlin_cdr::from_payload::<u32>(&[], &dunlin_cdr::Limits::default()).expect_err("nothing is no number")
}

/// The instance of a key.
pub fn instance(key: u32) -> InstanceHandle {
    InstanceHandle(key_hash(key))
}

/// A sample with a key and a body.
pub fn sample(key: u32, body: &[u8]) -> SharedBytes {
    let mut bytes = ENCAPSULATION.to_vec();
    bytes.extend_from_slice(&key.to_le_bytes());
    bytes.extend_from_slice(body);
    bytes.into()
}

/// A body of `len` octets that differ from place to place and from sample to sample.
pub fn pattern(seed: u32, len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(31) ^ (at >> 8) ^ seed.wrapping_mul(7)) as u8).collect()
}

/// The key and body of a received sample.
pub fn unpack(sample: &CachedSample) -> (u32, Vec<u8>) {
    let bytes = sample.payload.as_ref().expect("a sample with data");
    assert_eq!(bytes[..4], ENCAPSULATION);
    (u32::from_le_bytes(bytes[4..8].try_into().expect("four octets")), bytes[8..].to_vec())
}

/// One participant.
pub struct Node {
    pub participant: Arc<Participant>,
    pub events: Vec<Event>,
    address: Ipv4Addr,
    /// What it sends comes from there, if from elsewhere.
    pub speaks_from: Option<Ipv4Addr>,
    /// The port that its datagrams come from.
    pub source_port: u16,
    /// Cut off from the others.
    pub isolated: bool,
}

/// A network and a clock.
pub struct Net {
    pub nodes: Vec<Node>,
    pub now: MonoTime,
    /// Time from sender to receiver.
    pub delay: Duration,
    /// Datagrams lost, of a thousand.
    pub loss: u64,
    pub datagrams: usize,
    /// Participants whose messages say that another vendor has made them.
    pub disguised: BTreeMap<usize, VendorId>,
    /// Copies of what was sent, while somebody wants them.
    pub record: Option<Vec<SharedBytes>>,
    /// What becomes of a datagram on its way, if anything does.
    pub rewrite: Option<fn(&mut [u8])>,
    /// Octets and class of what was sent, while somebody wants them.
    pub classes: Option<Vec<(usize, u8)>>,
    /// What is sent there is lost.
    pub unreachable: Option<Locator>,
    /// Where anybody sent anything to.
    pub destinations: BTreeSet<Locator>,
    /// Octets that anybody sent to each address.
    pub octets_to: BTreeMap<IpAddr, usize>,
    state: State<Member>,
    deferred: Vec<Work<Member>>,
    in_flight: BTreeMap<(MonoTime, u64), (usize, Locator, SharedBytes)>,
    sequence: u64,
    rng: Rng,
}

fn multicast() -> Locator {
    Locator::udp_v4(Ipv4Addr::new(239, 255, 0, 1), 7400)
}

pub fn config(index: usize) -> ParticipantConfig {
    let address = address(index);
    let mut prefix = [0; 12];
    prefix[..2].copy_from_slice(&[0x01, 0xd0]);
    prefix[11] = index as u8 + 1;
    let mut config = ParticipantConfig::new(GuidPrefix(prefix), 0);
    config.locators = Locators {
        metatraffic_unicast: vec![Locator::udp_v4(address, 7410)],
        metatraffic_multicast: vec![multicast()],
        default_unicast: vec![Locator::udp_v4(address, 7411)],
        default_multicast: vec![],
    };
    config.spdp_destinations = vec![multicast()];
    config.seed = index as u64;
    config.goodbye_secret = Some([index as u8; 16]);
    config
}

fn address(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, index as u8 + 1)
}

impl Net {
    /// So many participants, not yet started.
    pub fn new(participants: usize) -> Self {
        Self::with_configs((0..participants).map(config))
    }

    pub fn with_tuning(participants: usize, tuning: &Tuning) -> Self {
        Self::with_configs(
            (0..participants).map(|index| ParticipantConfig { tuning: tuning.clone(), ..config(index) }),
        )
    }

    pub fn with_configs(configs: impl Iterator<Item = ParticipantConfig>) -> Self {
        let node = |(index, config)| Node {
            participant: Arc::new(Participant::new(config)),
            events: vec![],
            address: address(index),
            speaks_from: None,
            source_port: 7410,
            isolated: false,
        };
        Self {
            nodes: configs.enumerate().map(node).collect(),
            now: MonoTime(1_000_000_000),
            delay: Duration::from_micros(50),
            loss: 0,
            datagrams: 0,
            disguised: BTreeMap::new(),
            record: None,
            rewrite: None,
            classes: None,
            unreachable: None,
            destinations: BTreeSet::new(),
            octets_to: BTreeMap::new(),
            state: State::default(),
            deferred: vec![],
            in_flight: BTreeMap::new(),
            sequence: 0,
            rng: Rng::new(99),
        }
    }

    /// The participants after they found each other.
    pub fn started(participants: usize) -> Self {
        let mut net = Self::new(participants);
        net.start();
        net
    }

    pub fn start(&mut self) {
        for node in 0..self.nodes.len() {
            self.with(node, |participant, now, out| participant.start(now, out));
        }
        self.run(Duration::from_millis(50));
        for node in &self.nodes {
            assert_eq!(node.participant.discovered_participants().len(), self.nodes.len() - 1);
        }
    }

    pub fn clock(&self) -> Now {
        Now { mono: self.now, wall: WallTime(WALL_START + self.now.0 as i64) }
    }

    /// A node has another address, and announces it.
    pub fn move_to(&mut self, node: usize, address: Ipv4Addr) {
        self.nodes[node].address = address;
        let locators = Locators {
            metatraffic_unicast: vec![Locator::udp_v4(address, 7410)],
            default_unicast: vec![Locator::udp_v4(address, 7411)],
            ..config(node).locators
        };
        self.with(node, |participant, now, out| participant.set_locators(now, locators, out));
    }

    /// Calls a participant and sends what it wants sent.
    pub fn with<R>(&mut self, node: usize, call: impl FnOnce(&Participant, Now, &mut Output) -> R) -> R {
        let (now, member) = (self.clock(), self.member(node));
        dunlin_host::call(self, &member, |out| call(&member.participant, now, out))
    }

    fn member(&self, node: usize) -> Member {
        Member { node, participant: Arc::clone(&self.nodes[node].participant) }
    }

    /// set_qos of a writer and its publisher.
    pub fn set_writer_qos(
        &mut self,
        node: usize,
        writer: &WriterSlot,
        qos: DataWriterQos,
        publisher_qos: PublisherQos,
    ) -> Result<(), SetQosError> {
        let policies = || WriterPolicies { qos, publisher_qos, topic_data: TopicData::default() };
        self.with(node, |participant, now, out| participant.set_writer_policies(now, writer, policies, out))
    }

    /// set_qos of a reader and its subscriber.
    pub fn set_reader_qos(
        &mut self,
        node: usize,
        reader: &ReaderSlot,
        qos: DataReaderQos,
        subscriber_qos: SubscriberQos,
    ) -> Result<(), SetQosError> {
        let policies = || ReaderPolicies { qos, subscriber_qos, topic_data: TopicData::default() };
        self.with(node, |participant, now, out| participant.set_reader_policies(now, reader, policies, out))
    }

    fn post_all(&mut self, node: usize, outbox: &Outbox) {
        for datagram in outbox.datagrams() {
            let mut others =
                datagram.destinations().iter().filter(|to| to.kind != LocatorKind::LOCAL).peekable();
            if others.peek().is_none() {
                continue;
            }
            let mut bytes = vec![];
            datagram.copy_to(&mut bytes);
            assert!(bytes.len() <= 1472, "{} octets in a datagram", bytes.len());
            if let Some(vendor) = self.disguised.get(&node) {
                disguise(&mut bytes, *vendor);
            }
            self.rewrite.iter().for_each(|rewrite| rewrite(&mut bytes));
            let bytes = SharedBytes::from(bytes);
            self.record.iter_mut().for_each(|record| record.push(bytes.clone()));
            self.classes.iter_mut().for_each(|classes| classes.push((bytes.len(), datagram.class())));
            for destination in others {
                self.datagrams += 1;
                self.destinations.insert(*destination);
                if let Some(ip) = destination.ip() {
                    *self.octets_to.entry(ip).or_default() += bytes.len();
                }
                self.post(node, *destination, &bytes);
            }
        }
    }

    fn post(&mut self, source: usize, destination: Locator, bytes: &SharedBytes) {
        if self.unreachable == Some(destination) {
            return;
        }
        let node = &self.nodes[source];
        let from = Locator::udp_v4(node.speaks_from.unwrap_or(node.address), node.source_port);
        for target in 0..self.nodes.len() {
            let address = self.nodes[target].address;
            let hit = match destination.ip() {
                Some(std::net::IpAddr::V4(ip)) => ip == address || (ip.is_multicast() && target != source),
                _ => false,
            };
            let cut = self.nodes[source].isolated || self.nodes[target].isolated;
            if hit && !cut && !self.rng.chance(self.loss, 1000) {
                self.enqueue(self.now.plus(self.delay), target, from, bytes);
            }
        }
    }

    fn enqueue(&mut self, at: MonoTime, target: usize, from: Locator, bytes: &SharedBytes) {
        self.sequence += 1;
        self.in_flight.insert((at, self.sequence), (target, from, bytes.clone()));
    }

    /// Lets the world go on for some time.
    pub fn run(&mut self, duration: Duration) {
        let end = self.now.plus(duration);
        while self.step(end) {}
        self.now = end;
    }

    /// Time passes in which nothing arrives and no timer runs, as in a program that stands still.
    pub fn stand_still(&mut self, duration: Duration) {
        self.now = self.now.plus(duration);
    }

    /// Lets the world go on until something holds; fails after a minute.
    #[track_caller]
    pub fn run_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        let end = self.now.plus(Duration::from_secs(60));
        while !done(self) {
            assert!(self.step(end), "it did not happen within a minute");
        }
    }

    /// The next event before `end`; false if there is none.
    fn step(&mut self, end: MonoTime) -> bool {
        let arrival = self.in_flight.first_key_value().map(|((at, _), _)| *at);
        let deadlines = self.nodes.iter().enumerate().filter_map(|(n, node)| {
            let deadline = node.participant.next_deadline()?;
            Some((deadline, n))
        });
        let timer = deadlines.min();
        let next = arrival.into_iter().chain(timer.map(|(at, _)| at)).min();
        let Some(next) = next.filter(|at| *at <= end) else { return false };
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let (_, (target, from, bytes)) = self.in_flight.pop_first().expect("an arrival");
            let (now, member) = (self.clock(), self.member(target));
            drive(self, &member, |participant, out| participant.on_datagram(now, from, &bytes, out));
        } else if let Some((_, node)) = timer {
            let (now, member) = (self.clock(), self.member(node));
            run_timers(self, &member, now);
        }
        let deferred = std::mem::take(&mut self.deferred);
        work_off(self, deferred);
        true
    }

    pub fn writer(&mut self, node: usize, topic: &str, qos: &DataWriterQos) -> Arc<WriterSlot> {
        let spec = writer_spec(topic, qos);
        self.with(node, |participant, now, out| participant.create_writer(now, spec, out))
            .expect("a good writer")
    }

    pub fn reader(&mut self, node: usize, topic: &str, qos: &DataReaderQos) -> Arc<ReaderSlot> {
        let spec = reader_spec(topic, qos);
        self.with(node, |participant, now, out| participant.create_reader(now, spec, out))
            .expect("a good reader")
    }

    pub fn write(
        &mut self,
        node: usize,
        writer: &WriterSlot,
        key: u32,
        body: &[u8],
    ) -> Result<(), WriteError> {
        self.change(node, writer, ChangeKind::Alive, key, body)
    }

    pub fn change(
        &mut self,
        node: usize,
        writer: &WriterSlot,
        kind: ChangeKind,
        key: u32,
        body: &[u8],
    ) -> Result<(), WriteError> {
        let request = WriteRequest {
            kind,
            instance: instance(key),
            source_timestamp: None,
            payload: sample(key, body),
        };
        self.write_request(node, writer, request)
    }

    pub fn write_request(
        &mut self,
        node: usize,
        writer: &WriterSlot,
        request: WriteRequest,
    ) -> Result<(), WriteError> {
        let member = self.member(node);
        dunlin_host::write(self, &member, writer, request, None).map(|_| ())
    }

    pub fn take(&mut self, node: usize, reader: &ReaderSlot) -> Vec<CachedSample> {
        self.take_some(node, reader, usize::MAX)
    }

    pub fn take_some(&mut self, node: usize, reader: &ReaderSlot, max_samples: usize) -> Vec<CachedSample> {
        let mut samples = vec![];
        let selection = Selection { max_samples, ..Selection::default() };
        self.with(node, |_, now, out| reader.take(now, &selection, &mut samples, out))
            .expect("no instance asked");
        samples
    }

    /// Lets discovery finish.
    pub fn settle(&mut self) {
        self.run(Duration::from_millis(200));
    }

    pub fn take_events(&mut self, node: usize) -> Vec<Event> {
        std::mem::take(&mut self.nodes[node].events)
    }
}

/// A node, with its participant.
#[derive(Clone)]
pub struct Member {
    node: usize,
    participant: Arc<Participant>,
}

impl Port for Net {
    type Member = Member;
    type Panic = Infallible;

    fn state<R>(&mut self, look: impl FnOnce(&mut State<Member>) -> R) -> Option<R> {
        Some(look(&mut self.state))
    }
    fn defer(&mut self, work: Work<Member>) {
        self.deferred.push(work);
    }
    fn now(&self, _: &Member) -> Now {
        self.clock()
    }
    fn mono(&self, _: &Member) -> MonoTime {
        self.now
    }
    /// Every step asks for deadlines.
    fn wake_by(&mut self, _: &Member, _: MonoTime) {}
    fn participant(member: &Member) -> &Participant {
        &member.participant
    }
    fn unless_leaving(&mut self, _: &Member, work: impl FnOnce(&mut Self)) {
        work(self);
    }
    fn in_process(&mut self, _: &Member, _: &Locator) -> Option<Member> {
        None
    }
    fn mode(&self) -> SendMode {
        SendMode::NonBlocking
    }
    fn send(&mut self, member: &Member, outbox: &Outbox, _: SendMode) {
        self.post_all(member.node, outbox);
    }
    fn follow_peers(&mut self, _: &Member, _: &mut Output, _: SendMode) {}
    fn close_lost_paths(&mut self, _: &Member) {}
    fn space_freed(&mut self, _: &Member) {}
    fn tell(&mut self, member: &Member, event: &Event, _: Option<GuidPrefix>) -> Result<(), Infallible> {
        self.nodes[member.node].events.push(event.clone());
        Ok(())
    }
    fn resume_panic(&mut self, panic: Infallible) {
        match panic {}
    }
}

/// Writes another vendor into the header and into what is announced (PID_VENDORID).
fn disguise(message: &mut [u8], vendor: VendorId) {
    let announced = [0x16, 0, 4, 0, VendorId::DUNLIN.0[0], VendorId::DUNLIN.0[1]];
    let places = message.windows(6).enumerate().filter(|(_, octets)| *octets == announced);
    let places: Vec<usize> = places.map(|(at, _)| at + 4).chain([6]).collect();
    for at in places {
        message[at..at + 2].copy_from_slice(&vendor.0);
    }
}

/// What the payloads are, as far as filters look.
#[derive(DdsType)]
#[dds(name = "Keyed")]
pub struct Body {
    #[dds(key)]
    key: u32,
}

pub fn writer_spec(topic: &str, qos: &DataWriterQos) -> WriterSpec {
    WriterSpec {
        topic_name: topic.into(),
        type_name: "Keyed".into(),
        keyed: true,
        qos: qos.clone(),
        publisher_qos: PublisherQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        type_description: Some(TypeRef::of::<Body>()),
        locators: EndpointLocators::default(),
    }
}

pub fn reader_spec(topic: &str, qos: &DataReaderQos) -> ReaderSpec {
    ReaderSpec {
        topic_name: topic.into(),
        type_name: "Keyed".into(),
        qos: qos.clone(),
        subscriber_qos: SubscriberQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        type_support: Arc::new(Keyed),
    }
}
