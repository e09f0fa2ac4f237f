//! RTPS 2.5 §8.5: what a verified peer and strangers announce. A finding is a panic, memory beyond the quotas, or something
//! that is remembered although a quota forbids it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_cdr::{DdsType, TypeDescription, description};
use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, Locator, MonoTime, Now, SequenceNumber, WallTime};
use dunlin_discovery::{
    Discovery, DiscoveryConfig, DiscoveryEffect, EndpointLocators, LocalReader, LocalType, LocalWriter,
    Locators, Quotas,
};
use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicData};
use dunlin_wire::{
    DataSpec, Endianness, Heartbeat, Message, MessageBuilder, ParameterListBuilder, PayloadSpec,
    ReceiverState, Submessage, pid,
};
use dunlin_xtypes::lookup::{
    TypeLibrary, instance_name,
    message::{self, Call, GetTypesIn, Request, SampleIdentity},
};

use crate::input::Input;

/// Memory that one run may take.
const MEMORY: u64 = 2 << 20;
/// Announcements of one input.
const MAX_ANNOUNCEMENTS: usize = 64;
const VICTIM: u8 = 1;
const PEER: u8 = 2;
const QUOTAS: Quotas = Quotas {
    max_participants: 6,
    max_unverified: 4,
    max_unverified_per_source: 3,
    max_endpoints_per_participant: 6,
    max_endpoints: 12,
    max_octets_per_participant: 16 * 1024,
    max_octets: 48 * 1024,
    max_type_octets: 1024,
    max_told_type_octets: 64 * 1024,
    max_type_object_octets_per_participant: 4 * 1024,
    max_type_object_octets: 8 * 1024,
    max_opaque_octets: 1024,
    max_string_octets: 128,
    max_partitions: 8,
    max_reassembly_octets_per_participant: 16 * 1024,
    max_reassembly_octets: 24 * 1024,
    max_out_of_order_octets_per_participant: 16 * 1024,
    max_out_of_order_octets: 24 * 1024,
    max_locators: 4,
    max_properties: 8,
    foreign_locators: false,
    verify_places: true,
};
const WRITERS: [EntityId; 3] = [
    EntityId::SEDP_PUBLICATIONS_WRITER,
    EntityId::SEDP_SUBSCRIPTIONS_WRITER,
    EntityId::PARTICIPANT_MESSAGE_WRITER,
];

/// The TypeLookup service: questions of the peer, and its answers.
const TYPE_WRITERS: [EntityId; 2] =
    [EntityId::TYPE_LOOKUP_REQUEST_WRITER, EntityId::TYPE_LOOKUP_REPLY_WRITER];

/// The type of the victim's endpoints.
#[derive(DdsType)]
#[dds(name = "ShapeType")]
struct Shape {
    #[dds(key, bound = 128)]
    color: String,
    parts: Vec<Part>,
}

#[derive(DdsType)]
#[dds(nested)]
struct Part {
    x: i32,
}

/// What peers announce, of which the victim knows nothing.
#[derive(DdsType)]
#[dds(name = "ShapeType")]
struct NewShape {
    #[dds(key, bound = 128)]
    color: String,
    parts: Vec<NewPart>,
    size: f64,
}

#[derive(DdsType)]
#[dds(nested, name = "Part")]
struct NewPart {
    x: i32,
    y: i32,
}

fn local_type(description: &'static TypeDescription) -> Arc<LocalType> {
    let (graph, root) = dunlin_xtypes::from_description(description);
    LocalType::new(graph, root).expect("a structure")
}

/// Announces what the input says. The first octet of each announcement chooses whose and of what it is.
pub fn discovery_data(data: &[u8]) {
    RECORDED_DISCOVERY.with(|_| ());
    let used = allocation_counter::measure(|| run(data));
    let allowed = MEMORY + 16 * data.len() as u64;
    assert!(used.bytes_max <= allowed, "{} octets of memory", used.bytes_max);
}

fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut victim = Victim::with_verified_peer();
    for _ in 0..MAX_ANNOUNCEMENTS {
        if input.is_empty() {
            break;
        }
        announce(&mut victim, &mut input);
        victim.check();
    }
}

fn announce(victim: &mut Victim, input: &mut Input<'_>) {
    let choice = input.u8();
    let endianness = Endianness::from_flags(choice >> 7);
    let (kind, from) = (choice & 7, PEER + (choice >> 3 & 7));
    let len = usize::from(input.u8()) * 4;
    let payload = SharedBytes::copy_from(input.bytes(len));
    match kind {
        0 | 1 => victim.hear(
            from,
            EntityId::SPDP_WRITER,
            SequenceNumber(1),
            PayloadSpec::Data(payload),
            &[],
            endianness,
        ),
        4 if from > PEER && from < PEER + 3 => {
            let way = usize::from(from - PEER - 1);
            victim.hear_about_types(way, PayloadSpec::Data(payload), endianness);
        }
        2..=4 => victim.hear_reliably(usize::from(kind) - 2, PayloadSpec::Data(payload), &[], endianness),
        5 | 6 => {
            let gone = gone(endianness);
            victim.hear_reliably(usize::from(kind) - 5, PayloadSpec::Key(payload), &gone, endianness);
        }
        _ if len < 128 => victim.pass(Duration::from_millis(1 << (len / 8).min(14))),
        _ => {
            let gone = gone(endianness);
            victim.hear(
                from,
                EntityId::SPDP_WRITER,
                SequenceNumber(2),
                PayloadSpec::Key(payload),
                &gone,
                endianness,
            );
        }
    }
}

/// Inline QoS of an entity that is gone.
fn gone(endianness: Endianness) -> Vec<u8> {
    let mut list = ParameterListBuilder::with_endianness(endianness);
    list.put_bytes(pid::STATUS_INFO, &[0, 0, 0, 3]);
    list.finish()
}

/// One event of the time in which the victim got to know its peer.
struct Event {
    now: Now,
    datagram: Option<SharedBytes>,
}

/// What happened to the victim until it knew its peer, and what the peer's writers have said last.
struct RecordedDiscovery {
    events: Vec<Event>,
    said: [Said; 3],
}

/// What a reliable writer of the peer has said.
#[derive(Clone, Copy)]
struct Said {
    /// The number of its next change.
    next: SequenceNumber,
    /// The count of its last HEARTBEAT.
    count: i32,
}

const NOTHING: Said = Said { next: SequenceNumber::FIRST, count: 0 };

thread_local! {
    static RECORDED_DISCOVERY: RecordedDiscovery = record_discovery();
}

struct Victim {
    now: Now,
    discovery: Discovery,
    out: Outbox,
    effects: Vec<DiscoveryEffect>,
    said: [Said; 3],
    said_about_types: [Said; 2],
}

fn config(name: u8) -> DiscoveryConfig {
    let group = Locator::udp_v4(Ipv4Addr::new(239, 255, 0, 1), 7400);
    DiscoveryConfig {
        locators: Locators {
            metatraffic_unicast: vec![place(name)],
            metatraffic_multicast: vec![group],
            default_unicast: vec![place(name)],
            default_multicast: vec![],
        },
        spdp_destinations: vec![group],
        quotas: QUOTAS,
        goodbye_secret: Some([name; 16]),
        lease_duration: Duration::from_secs(1_000),
        ..DiscoveryConfig::new(GuidPrefix([name; 12]), 0)
    }
}

fn place(name: u8) -> Locator {
    Locator::udp_v4(Ipv4Addr::new(10, 0, 0, name), 7410)
}

impl Victim {
    fn new(name: u8) -> Self {
        let now = Now { mono: MonoTime(1_000_000_000), wall: WallTime(1_700_000_000_000_000_000) };
        let discovery = Discovery::new(config(name), u64::from(name));
        let mut victim = Self {
            now,
            discovery,
            out: Outbox::new(),
            effects: Vec::new(),
            said: [NOTHING; 3],
            said_about_types: [NOTHING; 2],
        };
        victim.discovery.start(now, &mut victim.out);
        victim
    }

    fn with_endpoints() -> Self {
        let mut victim = Self::new(VICTIM);
        let Self { now, discovery, out, effects, .. } = &mut victim;
        let ty = local_type(description::<Shape>());
        for (n, keyed) in [(1, true), (2, false)] {
            let writer = LocalWriter {
                entity_id: EntityId::user_writer(n, keyed),
                topic_name: "Square".into(),
                type_name: "ShapeType".into(),
                qos: DataWriterQos::default().reliable(),
                publisher_qos: PublisherQos::default(),
                topic_data: TopicData::default(),
                type_information: Some(Arc::clone(&ty)),
                group: EntityId::UNKNOWN,
                locators: EndpointLocators::default(),
                related: None,
            };
            discovery.add_writer(*now, writer, out, effects).expect("a good name");
            let reader = LocalReader {
                content_filter: None,
                entity_id: EntityId::user_reader(n, keyed),
                topic_name: "Square".into(),
                type_name: "ShapeType".into(),
                qos: DataReaderQos::default(),
                subscriber_qos: SubscriberQos::default(),
                topic_data: TopicData::default(),
                type_information: Some(Arc::clone(&ty)),
                locators: EndpointLocators::default(),
                related: None,
            };
            discovery.add_reader(*now, reader, out, effects).expect("a good name");
        }
        victim
    }

    /// A victim that knows its peer, without the peer.
    fn with_verified_peer() -> Self {
        let mut victim = Self::with_endpoints();
        RECORDED_DISCOVERY.with(|recorded| {
            for event in &recorded.events {
                victim.apply(event);
            }
            victim.said = recorded.said;
        });
        victim.effects.clear();
        victim
    }

    fn apply(&mut self, event: &Event) {
        self.now = event.now;
        self.out.clear();
        match &event.datagram {
            Some(datagram) => self.receive(place(PEER), datagram),
            None => self.discovery.on_timer(event.now, &mut self.out, &mut self.effects),
        }
    }

    fn receive(&mut self, from: Locator, packet: &SharedBytes) {
        let Ok(message) = Message::parse(packet) else { return };
        let mut state = ReceiverState::new(self.discovery.config().guid_prefix, &message.header());
        for parsed in message.submessages() {
            let Ok(parsed) = parsed else { return };
            state.apply(&parsed.body);
            let Self { now, discovery, out, effects, .. } = self;
            discovery.on_submessage(*now, from, &state, &parsed.body, packet, out, effects);
        }
    }

    fn datagrams(&mut self) -> Vec<SharedBytes> {
        let copy = |datagram: dunlin_buf::Datagram<'_>| {
            let mut bytes = Vec::new();
            datagram.copy_to(&mut bytes);
            SharedBytes::from(bytes)
        };
        let datagrams = self.out.datagrams().map(copy).collect();
        self.out.clear();
        datagrams
    }

    /// The peer's next sample of one of its reliable writers.
    fn hear_reliably(
        &mut self,
        channel: usize,
        payload: PayloadSpec,
        inline_qos: &[u8],
        endianness: Endianness,
    ) {
        let said = &mut self.said[channel];
        let announced = announce_next(said, WRITERS[channel]);
        self.hear_both(PEER, announced, payload, inline_qos, endianness);
    }

    fn hear_about_types(&mut self, way: usize, payload: PayloadSpec, endianness: Endianness) {
        let announced = announce_next(&mut self.said_about_types[way], TYPE_WRITERS[way]);
        self.hear_both(PEER, announced, payload, &[], endianness);
    }

    /// A change of a reliable writer and the HEARTBEAT that announces it, without which it would wait.
    fn hear_both(
        &mut self,
        from: u8,
        announced: Heartbeat,
        payload: PayloadSpec,
        inline_qos: &[u8],
        endianness: Endianness,
    ) {
        let (writer_id, writer_sn) = (announced.writer_id, announced.last_sn);
        let spec = DataSpec { reader_id: EntityId::UNKNOWN, writer_id, writer_sn, inline_qos, payload };
        self.hear_message(from, &spec, Some(&announced), endianness);
    }

    fn hear(
        &mut self,
        from: u8,
        writer_id: EntityId,
        writer_sn: SequenceNumber,
        payload: PayloadSpec,
        inline_qos: &[u8],
        endianness: Endianness,
    ) {
        let spec = DataSpec { reader_id: EntityId::UNKNOWN, writer_id, writer_sn, inline_qos, payload };
        self.hear_message(from, &spec, None, endianness);
    }

    fn hear_message(
        &mut self,
        from: u8,
        data: &DataSpec<'_>,
        announced: Option<&Heartbeat>,
        endianness: Endianness,
    ) {
        let mut outbox = Outbox::new();
        let source = GuidPrefix([from; 12]);
        let mut message = MessageBuilder::new(&mut outbox, source).with_endianness(endianness);
        message.data(data);
        if let Some(heartbeat) = announced {
            message.heartbeat(heartbeat);
        }
        message.finish(&[Locator::LOCAL]);
        let mut bytes = Vec::new();
        outbox.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
        self.receive(place(from), &bytes.into());
    }

    fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.plus(time);
        self.now.wall = self.now.wall.plus(time);
        self.discovery.on_timer(self.now, &mut self.out, &mut self.effects);
    }

    fn check(&mut self) {
        let stats = self.discovery.stats();
        assert!(stats.participants <= QUOTAS.max_participants as u64, "{stats:?}");
        assert!(stats.participants_unverified <= QUOTAS.max_unverified as u64, "{stats:?}");
        assert!(stats.endpoints <= QUOTAS.max_endpoints as u64, "{stats:?}");
        assert!(stats.octets <= QUOTAS.max_octets as u64, "{stats:?}");
        assert!(stats.type_object_octets <= QUOTAS.max_type_object_octets as u64, "{stats:?}");
        assert!(self.out.octets() <= 16 * 1024, "{} octets at once", self.out.octets());
        assert!(self.effects.len() <= 64, "{} effects at once", self.effects.len());
        for writer in self.discovery.writers() {
            assert!(writer.topic_name.len().max(writer.type_name.len()) <= QUOTAS.max_string_octets);
            assert!(writer.publisher_qos.partition.names.len() <= QUOTAS.max_partitions);
            assert!(writer.unicast.len().max(writer.multicast.len()) <= QUOTAS.max_locators);
            assert!(
                writer.type_information.as_ref().is_none_or(|octets| octets.len() <= QUOTAS.max_type_octets)
            );
        }
        self.out.clear();
        self.effects.clear();
    }
}

/// Lets the victim and a real peer without endpoints get to know each other.
fn record_discovery() -> RecordedDiscovery {
    let (mut victim, mut peer) = (Victim::with_endpoints(), Victim::new(PEER));
    let mut events = Vec::new();
    let mut said = [NOTHING; 3];
    let mut known = 0;
    for _ in 0..1_000 {
        for datagram in peer.datagrams() {
            note_numbers(&datagram, &mut said);
            let event = Event { now: victim.now, datagram: Some(datagram) };
            let before = victim.datagrams();
            victim.apply(&event);
            events.push(event);
            for datagram in before.into_iter().chain(victim.datagrams()) {
                peer.receive(place(VICTIM), &datagram);
            }
        }
        for datagram in victim.datagrams() {
            peer.receive(place(VICTIM), &datagram);
        }
        let stats = victim.discovery.stats();
        known += usize::from(stats.participants == 1 && stats.participants_unverified == 0);
        if known > 3 {
            return RecordedDiscovery { events, said };
        }
        let next = [victim.discovery.next_deadline(), peer.discovery.next_deadline()];
        let now = next.into_iter().flatten().min().unwrap_or_default().max(victim.now.mono);
        victim.now = Now { mono: now, ..victim.now };
        peer.now = victim.now;
        let event = Event { now: victim.now, datagram: None };
        let before = victim.datagrams();
        victim.apply(&event);
        events.push(event);
        for datagram in before {
            peer.receive(place(VICTIM), &datagram);
        }
        peer.discovery.on_timer(peer.now, &mut peer.out, &mut peer.effects);
    }
    panic!("the participants did not get to know each other");
}

/// The HEARTBEAT that announces the next change of a writer.
fn announce_next(said: &mut Said, writer_id: EntityId) -> Heartbeat {
    let last_sn = said.next;
    *said = Said { next: last_sn.next(), count: said.count.wrapping_add(1) };
    Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id,
        first_sn: SequenceNumber::FIRST,
        last_sn,
        count: said.count,
        final_flag: true,
        liveliness_flag: false,
        group: None,
    }
}

fn note_numbers(datagram: &SharedBytes, said: &mut [Said; 3]) {
    let message = Message::parse(datagram).expect("a message of ours");
    for parsed in message.submessages().flatten() {
        let Submessage::Heartbeat(heartbeat) = parsed.body else { continue };
        if let Some(channel) = WRITERS.iter().position(|writer| *writer == heartbeat.writer_id) {
            said[channel] = Said { next: heartbeat.last_sn.next(), count: heartbeat.count };
        }
    }
}

/// Announcements as they were captured: participant and endpoints, then the same ones gone.
pub(crate) fn seeds(captured: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (name, list) in captured {
        let Some((order, list)) = list.split_first() else { continue };
        // Encapsulation PL_CDR in the byte order of the list.
        let payload = [&[0, 2 + (order & 1), 0, 0], list].concat();
        let units = payload.len().div_ceil(4).min(255);
        for kind in [0, 8, 2, 3, 4] {
            let mut bytes = vec![kind | order << 7, units as u8];
            bytes.extend_from_slice(&payload);
            bytes.resize(2 + units * 4, 0);
            seeds.push((format!("{name}-{kind}"), bytes));
        }
    }
    seeds.extend(type_seeds());
    seeds
}

/// One announcement of an input.
fn step(choice: u8, payload: &[u8]) -> Vec<u8> {
    let units = payload.len().div_ceil(4).min(255);
    let mut bytes = vec![choice, units as u8];
    bytes.extend_from_slice(payload);
    bytes.resize(2 + units * 4, 0);
    bytes
}

/// A peer announces a writer of a newer type, asks for the victim's type, and answers the question of the victim.
fn type_seeds() -> Vec<(String, Vec<u8>)> {
    let (ours, theirs) = (local_type(description::<Shape>()), local_type(description::<NewShape>()));
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_guid(pid::ENDPOINT_GUID, Guid::new(GuidPrefix([PEER; 12]), EntityId::user_writer(1, true)));
    list.put_string(pid::TOPIC_NAME, "Square");
    list.put_string(pid::TYPE_NAME, "ShapeType");
    list.put_bytes(pid::TYPE_INFORMATION, theirs.octets());
    let announcement = list.finish();
    let name = |name: u8| Guid::new(GuidPrefix([name; 12]), EntityId::PARTICIPANT).to_bytes();
    let id = |from: u8| SampleIdentity {
        writer_guid: Guid::new(GuidPrefix([from; 12]), EntityId::TYPE_LOOKUP_REQUEST_WRITER).to_bytes(),
        high: 0,
        low: 1,
    };
    let library = |ty: &LocalType| {
        let mut library = TypeLibrary::default();
        let (graph, root) = (&ty.known().graph, ty.known().root);
        let objects = dunlin_xtypes::type_objects(graph, root).expect("a structure");
        library.add(&objects);
        let ids = objects.records.iter().map(|record| record.complete.id.clone()).collect();
        (library, Call::GetTypes(GetTypesIn { type_ids: ids }))
    };
    let ask = |from: u8, of: u8, call| Request {
        request_id: id(from),
        instance_name: instance_name(&name(of)),
        call,
    };
    let question = message::encode(&ask(PEER, VICTIM, library(&ours).1)).expect("it is short");
    let (library, call) = library(&theirs);
    let reply = library.answer(&ask(VICTIM, PEER, call), &name(PEER)).expect("it is asked");
    let answer = message::encode(&reply).expect("it is short");
    let all = [step(2, &announcement), step(4 | 1 << 3, &question), step(4 | 2 << 3, &answer)].concat();
    vec![("types-of-a-peer".into(), all)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_of_types_gets_to_the_answer() {
        let (_, seed) = type_seeds().remove(0);
        let mut input = Input::new(&seed);
        let mut victim = Victim::with_verified_peer();
        for _ in 0..3 {
            announce(&mut victim, &mut input);
            victim.check();
        }
        let stats = victim.discovery.stats();
        assert_eq!((stats.type_questions, stats.type_answers), (1, 1), "{stats:?}");
        assert!(stats.type_object_octets > 0, "{stats:?}");
    }
}
