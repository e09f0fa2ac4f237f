//! One participant with its endpoints, and what its applications have seen.

use std::net::Ipv4Addr;
use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_cache::{InstanceSelect, InstanceStateMask, SampleStateMask, Selection, ViewStateMask};
use dunlin_cdr::{
    DdsType, Limits, Representation, TypeSupportOf, from_payload, key_hash, key_payload, to_payload,
};
use dunlin_core::{Duration, GuidPrefix, InstanceHandle, Locator, Now};
use dunlin_engine::{
    EndpointLocators, Locators, Output, Participant, ParticipantConfig, Quotas, ReaderSlot, ReaderSpec,
    Tuning, WriteRequest, WriterPolicies, WriterSlot, WriterSpec,
};
use dunlin_qos::{DataReaderQos, DataWriterQos, Property, PublisherQos, SubscriberQos, TopicData, UserData};
use dunlin_rtps::{ChangeKind, Pacing};
use dunlin_simulation::qos::Qos;

use super::judge::{Forged, Judge, Peer};

/// Samples that a reader keeps, and those that one without such a limit can have got.
const MAX_SAMPLES: i32 = 64;
const MANY_SAMPLES: usize = 1024;
/// Instances have keys below this one.
pub(super) const KEYS: u8 = 4;
/// Samples without data, which RESOURCE_LIMITS do not count: few for each instance, and forgers may make some.
const MAX_WITHOUT_DATA: usize = 256;
/// Endpoints of a participant beside those of the checked streams.
const MAX_EXTRA: usize = 4;
/// Octets of bodies.
const BODIES: [usize; 4] = [8, 60, 700, 2500];

/// What is written.
#[derive(DdsType, Debug, PartialEq, Clone)]
pub(super) struct Sample {
    #[dds(key)]
    pub(super) key: u8,
    /// The number of the change, from 1.
    pub(super) number: u32,
    body: Vec<u8>,
}

impl Sample {
    pub(super) fn new(key: u8, number: u32, len: usize) -> Self {
        Self { key, number, body: (0..len).map(|at| (at as u32 ^ number.wrapping_mul(7)) as u8).collect() }
    }

    fn payload(&self) -> SharedBytes {
        let mut payload = Vec::new();
        to_payload(self, Representation::Xcdr1, &mut payload).expect("a small value");
        payload.into()
    }

    pub(super) fn key_hash(key: u8) -> [u8; 16] {
        let mut hash = [0; 16];
        hash[0] = key;
        hash
    }

    /// What is in a payload, if every octet of it is what was written.
    pub(super) fn open(payload: &[u8]) -> Option<Self> {
        let value: Self = from_payload(payload, &Limits::default()).ok()?;
        (value == Self::new(value.key, value.number, value.body.len())).then_some(value)
    }

    pub(super) fn request(&self) -> WriteRequest {
        let instance = InstanceHandle(key_hash(self).expect("a small value"));
        WriteRequest { kind: ChangeKind::Alive, instance, source_timestamp: None, payload: self.payload() }
    }

    /// An end of its instance.
    pub(super) fn end(&self, kind: ChangeKind) -> WriteRequest {
        let mut key = Vec::new();
        key_payload(self, Representation::Xcdr1, &mut key).expect("a small value");
        WriteRequest { kind, payload: key.into(), ..self.request() }
    }
}

/// A reader or a writer that the applications made on the way.
enum Extra {
    Writer(Arc<WriterSlot>),
    Reader(Arc<ReaderSlot>),
}

pub(super) struct Node {
    pub(super) participant: Arc<Participant>,
    pub(super) writer: Arc<WriterSlot>,
    pub(super) reader: Arc<ReaderSlot>,
    extra: Vec<Extra>,
    /// A stronger writer of the topic of `writer`, and the last change with which it ended an instance.
    rival: Option<(Arc<WriterSlot>, i64)>,
    pub(super) judge: Judge,
    shut_down: bool,
}

pub(super) fn prefix(node: usize) -> GuidPrefix {
    GuidPrefix([node as u8 + 1; 12])
}

pub(super) fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, node as u8 + 1)
}

fn config(node: usize, qos: u8) -> ParticipantConfig {
    let group = Locator::udp_v4(Ipv4Addr::new(239, 255, 0, 1), 7400);
    let mut config = ParticipantConfig::new(prefix(node), 0);
    config.locators = Locators {
        metatraffic_unicast: vec![Locator::udp_v4(address(node), 7410)],
        metatraffic_multicast: vec![group],
        default_unicast: vec![Locator::udp_v4(address(node), 7411)],
        default_multicast: vec![],
    };
    config.spdp_destinations = vec![group];
    config.seed = node as u64;
    config.quotas = Quotas {
        max_participants: 6,
        max_unverified: 4,
        max_unverified_per_source: 3,
        max_endpoints_per_participant: 8,
        max_endpoints: 20,
        max_octets_per_participant: 8 * 1024,
        max_octets: 32 * 1024,
        max_type_octets: 256,
        max_opaque_octets: 256,
        max_reassembly_octets_per_participant: 16 * 1024,
        max_reassembly_octets: 24 * 1024,
        max_out_of_order_octets_per_participant: 16 * 1024,
        max_out_of_order_octets: 24 * 1024,
        ..Quotas::default()
    };
    config.tuning = Tuning {
        repair_budget_per_event: 8 * 1024,
        fragment_size: if qos & 1 != 0 { 300 } else { 0 },
        pacing: (qos & 2 != 0).then_some(Pacing { rate: 4_000_000, burst: 6_000 }),
        nack_response_delay: Duration::from_micros(i64::from(qos >> 2 & 1) * 500),
        heartbeat_response_delay: Duration::from_micros(i64::from(qos >> 2 & 1) * 700),
        max_reassembly_bytes_per_writer: 32 * 1024,
        max_reassembly_bytes: 48 * 1024,
        max_out_of_order_bytes: 32 * 1024,
        max_out_of_order_bytes_total: 48 * 1024,
        max_out_of_order_samples: 16,
        ..Tuning::default()
    };
    config
}

fn topic(of_node: usize) -> String {
    format!("from {of_node}")
}

fn writer_spec(topic: String, qos: DataWriterQos) -> WriterSpec {
    WriterSpec {
        topic_name: topic,
        type_name: "Sample".into(),
        keyed: true,
        qos,
        publisher_qos: PublisherQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        type_description: None,
        locators: EndpointLocators::default(),
    }
}

fn reader_spec(topic: String, qos: DataReaderQos) -> ReaderSpec {
    ReaderSpec {
        topic_name: topic,
        type_name: "Sample".into(),
        qos,
        subscriber_qos: SubscriberQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        type_support: Arc::new(TypeSupportOf::<Sample>::new()),
    }
}

fn writer_qos(choice: u8) -> DataWriterQos {
    let lease = Duration::from_millis(200);
    match choice % 4 {
        0 => DataWriterQos::default().reliable().keep_all().resource_limits(MAX_SAMPLES, -1, MAX_SAMPLES),
        1 => DataWriterQos::default().reliable().transient_local().keep_last(2),
        2 => DataWriterQos::default().best_effort().deadline(lease),
        _ => DataWriterQos::default().reliable().lifespan(lease),
    }
}

fn reader_qos(choice: u8) -> DataReaderQos {
    match choice % 4 {
        0 => DataReaderQos::default().reliable().keep_all().resource_limits(MAX_SAMPLES, -1, MAX_SAMPLES),
        1 => DataReaderQos::default().reliable().transient_local().keep_last(2),
        2 => DataReaderQos::default().time_based_filter(Duration::from_millis(1)),
        _ => DataReaderQos::default().reliable().by_source_timestamp(),
    }
}

/// What a writer offers, chosen by an octet.
pub(super) fn offer(choice: u8) -> Qos {
    let mut qos = Qos::default();
    let deadline = choice & 4 != 0;
    match choice & 3 {
        0 => qos.max_samples = (!deadline).then_some(MAX_SAMPLES as u32),
        1 => (qos.durable, qos.keep_last) = (true, Some(2)),
        2 => qos.reliable = false,
        _ => qos.keep_last = Some(3),
    }
    qos.deadline = deadline.then_some(300);
    qos.lifespan = (choice & 8 != 0).then_some(400);
    qos.exclusive = choice & 16 != 0;
    if choice & 32 != 0 {
        (qos.liveliness, qos.lease) = (2, Some(500));
    }
    qos.by_source = choice & 64 != 0;
    qos
}

/// What the reader of a writer with this choice asks for: the same, or less.
fn request(choice: u8) -> Qos {
    let same = Qos { lifespan: None, ..offer(choice) };
    if choice & 128 == 0 { same } else { Qos { reliable: false, durable: false, ..same } }
}

/// Whole instances, chosen by an octet.
fn instances(choice: u8) -> Selection {
    let views = [ViewStateMask::ANY, ViewStateMask::NEW, ViewStateMask::NOT_NEW];
    let states = [
        InstanceStateMask::ANY,
        InstanceStateMask::ALIVE,
        InstanceStateMask::NOT_ALIVE_DISPOSED,
        InstanceStateMask::NOT_ALIVE_NO_WRITERS,
    ];
    Selection {
        view_states: views[usize::from(choice) % 3],
        instance_states: states[usize::from(choice / 3) % 4],
        ..Selection::default()
    }
}

impl Node {
    /// A participant that was started, with a writer of its topic and a reader of that of `peer`. Octets choose how
    /// it sends, and the QoS of both topics.
    pub(super) fn new(
        now: Now,
        [node, peer]: [usize; 2],
        tuning: u8,
        [own, others]: [u8; 2],
        out: &mut Output,
    ) -> Self {
        let participant = Arc::new(Participant::new(config(node, tuning)));
        participant.start(now, out);
        let (offered, requested) = (offer(own), request(others));
        let spec = writer_spec(topic(node), offered.writer().0);
        let writer = participant.create_writer(now, spec, out).expect("a good writer");
        let spec = reader_spec(topic(peer), requested.reader().0);
        let reader = participant.create_reader(now, spec, out).expect("a good reader");
        let judge = Judge::new(node, now, (&writer, offered), (&reader, requested));
        Self { participant, writer, reader, extra: Vec::new(), rival: None, judge, shut_down: false }
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    fn writers(&self) -> impl Iterator<Item = &Arc<WriterSlot>> {
        let extra = self.extra.iter().filter_map(|extra| match extra {
            Extra::Writer(writer) => Some(writer),
            Extra::Reader(_) => None,
        });
        let rival = self.rival.as_ref().map(|(rival, _)| rival);
        extra.chain(rival).chain([&self.writer])
    }

    /// Whether the pacer or a window still holds anything back.
    pub(super) fn has_waiting_data(&self) -> bool {
        self.writers().any(|writer| writer.has_waiting_data())
    }

    /// Octets that may leave at once when windows open that were full: readers with a minimum separation, of which each is
    /// sent copies of its own, may get as much again.
    pub(super) fn held_by_windows(&self) -> usize {
        let held = self.writers().filter(|writer| writer.stats().window_full > 0);
        held.map(|writer| writer.matched_readers().len() * Tuning::default().window).sum()
    }

    /// The node as those that read from it see it.
    pub(super) fn as_peer(&self) -> Peer<'_> {
        let rival = self.rival.as_ref().map(|(rival, ended)| (rival.guid(), *ended));
        Peer {
            writer: &self.judge.writer,
            offered: self.judge.offered,
            lost_reader: self.judge.lost_reader,
            rival,
        }
    }

    /// The next sample, as the octet chooses.
    pub(super) fn next_sample(&self, choice: u8) -> Sample {
        let len = BODIES[usize::from(choice >> 6)];
        Sample::new(choice & 3, self.judge.writer.changes.len() as u32 + 1, len)
    }

    /// Those that write the same, as the octet chooses.
    pub(super) fn others_that_write(&self, choice: u8) -> Vec<Arc<WriterSlot>> {
        let extra = self.extra.iter().filter(|_| choice & 4 != 0).filter_map(|extra| match extra {
            Extra::Writer(writer) => Some(writer),
            Extra::Reader(_) => None,
        });
        let rival = self.rival.as_ref().filter(|_| choice & 8 != 0).map(|(rival, _)| rival);
        extra.chain(rival).cloned().collect()
    }

    /// The rival, if the octet chooses it.
    pub(super) fn chosen_rival(&self, choice: u8) -> Option<Arc<WriterSlot>> {
        self.rival.as_ref().filter(|_| choice & 0x40 != 0).map(|(rival, _)| Arc::clone(rival))
    }

    /// The rival has ended an instance with this change.
    pub(super) fn rival_ended(&mut self, number: i64) {
        if let Some((_, ended)) = &mut self.rival {
            *ended = number;
        }
    }

    /// Takes everything, or what `choice` selects, and has it judged.
    pub(super) fn take(
        &mut self,
        now: Now,
        peer: &Peer<'_>,
        choice: Option<u8>,
        forged: Forged,
        out: &mut Output,
    ) {
        let mut samples = Vec::new();
        let most = self.judge.requested.max_samples.map_or(MANY_SAMPLES, |limit| limit as usize);
        assert!(self.reader.len() <= most + MAX_WITHOUT_DATA, "{} samples", self.reader.len());
        let selection = choice.map_or(Selection::default(), instances);
        self.reader.take(now, &selection, &mut samples, out).expect("no instance asked");
        self.judge.look(now, &samples, &selection, peer, forged);
        let choice = choice.unwrap_or(0);
        for extra in &self.extra {
            let Extra::Reader(reader) = extra else { continue };
            samples.clear();
            let states = [SampleStateMask::ANY, SampleStateMask::READ, SampleStateMask::NOT_READ];
            let selection = Selection {
                max_samples: if choice & 64 == 0 { usize::MAX } else { 1 },
                sample_states: states[usize::from(choice) % 3],
                instance: if choice & 32 == 0 {
                    InstanceSelect::Any
                } else {
                    InstanceSelect::Next(InstanceHandle::NIL)
                },
                ..instances(choice)
            };
            let most = selection.max_samples;
            let _ = if choice & 128 == 0 {
                reader.take(now, &selection, &mut samples, out)
            } else {
                reader.read(now, &selection, &mut samples, out)
            };
            assert!(samples.len() <= most, "{} samples of {most}", samples.len());
        }
    }

    /// Creates a stronger writer of the topic of the first.
    fn create_rival(&mut self, now: Now, node: usize, out: &mut Output) {
        let (mut qos, _) = self.judge.offered.writer();
        qos = qos.ownership_strength(5);
        let spec = writer_spec(topic(node), qos);
        self.rival = self.participant.create_writer(now, spec, out).ok().map(|rival| (rival, 0));
    }

    pub(super) fn create_endpoint(&mut self, now: Now, choice: u8, out: &mut Output) {
        if choice & 0xc0 == 0xc0 && self.judge.offered.exclusive && self.rival.is_none() {
            return self.create_rival(now, self.judge.writer.node, out);
        }
        if self.extra.len() >= MAX_EXTRA {
            return;
        }
        let topic = topic(usize::from(choice >> 2) % 3);
        let participant = &self.participant;
        let made = if choice & 0x80 == 0 {
            participant.create_reader(now, reader_spec(topic, reader_qos(choice)), out).map(Extra::Reader)
        } else {
            participant.create_writer(now, writer_spec(topic, writer_qos(choice)), out).map(Extra::Writer)
        };
        self.extra.extend(made);
    }

    /// Deletes an endpoint; true if it was a rival.
    pub(super) fn delete_endpoint(&mut self, now: Now, choice: u8, out: &mut Output) -> bool {
        let participant = &self.participant;
        if let Some((rival, _)) = self.rival.take_if(|_| choice & 0xc0 == 0xc0) {
            participant.delete_writer(now, &rival, out);
            return true;
        }
        if self.extra.is_empty() {
            return false;
        }
        match self.extra.swap_remove(usize::from(choice) % self.extra.len()) {
            Extra::Writer(writer) => participant.delete_writer(now, &writer, out),
            Extra::Reader(reader) => participant.delete_reader(now, &reader, out),
        }
        false
    }

    /// Calls that applications make rarely.
    pub(super) fn other_call(&mut self, now: Now, peer: GuidPrefix, choice: u8, out: &mut Output) {
        let Self { participant, writer, judge, .. } = self;
        match choice % 16 {
            0..=4 => writer.request_acknowledgments(now, out),
            5..=7 => {
                writer.assert_liveliness(now, out);
                judge.asserted(now);
            }
            8 | 9 => participant.assert_liveliness(now, out),
            10..=12 => {
                participant.set_policies(now, || (UserData(vec![choice; 8]), Property::default()), out)
            }
            13 => {
                let policies = || WriterPolicies {
                    qos: judge.offered.writer().0,
                    publisher_qos: PublisherQos::default(),
                    topic_data: TopicData::default(),
                };
                let _ = participant.set_writer_policies(now, writer, policies, out);
            }
            14 if choice >= 0xe0 => {
                participant.shutdown(now, out);
                self.shut_down = true;
            }
            15 if choice >= 0xe0 => {
                participant.ignore_participant(now, peer, out);
                self.shut_down = true;
            }
            _ => {}
        }
    }
}
