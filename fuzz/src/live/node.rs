//! One participant with its endpoints, and what its applications have seen.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_cache::{CachedSample, Selection};
use dunlin_cdr::{
    DdsType, Limits, Representation, TypeSupportOf, from_payload, key_hash, key_payload, to_payload,
};
use dunlin_core::{Duration, GuidPrefix, InstanceHandle, Locator, Now};
use dunlin_engine::{
    EndpointLocators, Locators, Output, Participant, ParticipantConfig, Quotas, ReaderSlot, ReaderSpec,
    Tuning, WriteRequest, WriterSlot, WriterSpec,
};
use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicData, UserData};
use dunlin_rtps::{ChangeKind, Pacing};

/// Samples that a reader keeps.
const MAX_SAMPLES: i32 = 64;
/// Samples without data, which RESOURCE_LIMITS do not count: few for each instance, and forgers may make some.
const MAX_WITHOUT_DATA: usize = 256;
/// Endpoints of a participant beside those of the checked streams.
const MAX_EXTRA: usize = 4;
/// Octets of bodies.
const BODIES: [usize; 4] = [8, 60, 700, 2500];

/// What is written.
#[derive(DdsType, Debug, PartialEq, Clone)]
struct Sample {
    #[dds(key)]
    key: u8,
    number: u32,
    body: Vec<u8>,
}

impl Sample {
    fn new(key: u8, number: u32, len: usize) -> Self {
        Self { key, number, body: (0..len).map(|at| (at as u32 ^ number.wrapping_mul(7)) as u8).collect() }
    }

    fn payload(&self) -> SharedBytes {
        let mut payload = Vec::new();
        to_payload(self, Representation::Xcdr1, &mut payload).expect("a small value");
        payload.into()
    }

    fn instance(&self) -> InstanceHandle {
        InstanceHandle(key_hash(self).expect("a small value"))
    }
}

/// A reader or a writer that the applications made on the way.
enum Extra {
    Writer(Arc<WriterSlot>),
    Reader(Arc<ReaderSlot>),
}

pub(super) struct Node {
    pub(super) participant: Participant,
    pub(super) out: Output,
    pub(super) writer: Arc<WriterSlot>,
    pub(super) reader: Arc<ReaderSlot>,
    extra: Vec<Extra>,
    /// Numbers written and not refused.
    pub(super) written: u32,
    /// Last number taken of each instance of the honest writer, and how many in all.
    last: BTreeMap<u8, u32>,
    pub(super) taken: u32,
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

impl Node {
    /// A participant that was started, with a reliable writer and a reliable reader of the topics of `peer`.
    pub(super) fn new(now: Now, node: usize, peer: usize, qos: u8) -> Self {
        let participant = Participant::new(config(node, qos));
        let mut out = Output::new();
        participant.start(now, &mut out);
        let writer = participant.create_writer(now, writer_spec(topic(node), writer_qos(0)), &mut out);
        let reader = participant.create_reader(now, reader_spec(topic(peer), reader_qos(0)), &mut out);
        Self {
            participant,
            out,
            writer: writer.expect("a good writer"),
            reader: reader.expect("a good reader"),
            extra: Vec::new(),
            written: 0,
            last: BTreeMap::new(),
            taken: 0,
            shut_down: false,
        }
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    /// Writes a sample, to be sent by the caller.
    pub(super) fn write(&mut self, now: Now, choice: u8) {
        let len = BODIES[usize::from(choice >> 6)];
        let sample = Sample::new(choice & 3, self.written + 1, len);
        let request = WriteRequest {
            kind: ChangeKind::Alive,
            instance: sample.instance(),
            source_timestamp: None,
            payload: sample.payload(),
        };
        if self.writer.write(now, request, &mut self.out).is_ok() {
            self.written += 1;
        }
        if choice & 4 != 0 {
            self.write_extra(now, &sample);
        }
    }

    fn write_extra(&mut self, now: Now, sample: &Sample) {
        for extra in &self.extra {
            let Extra::Writer(writer) = extra else { continue };
            let request = WriteRequest {
                kind: ChangeKind::Alive,
                instance: sample.instance(),
                source_timestamp: None,
                payload: sample.payload(),
            };
            let _ = writer.write(now, request, &mut self.out).is_ok();
        }
    }

    pub(super) fn end_instance(&mut self, now: Now, choice: u8) {
        let sample = Sample::new(choice & 3, 0, 0);
        let mut key = Vec::new();
        key_payload(&sample, Representation::Xcdr1, &mut key).expect("a small value");
        let kind = [ChangeKind::Disposed, ChangeKind::Unregistered, ChangeKind::DisposedUnregistered];
        let request = WriteRequest {
            kind: kind[usize::from(choice >> 2) % kind.len()],
            instance: sample.instance(),
            source_timestamp: None,
            payload: key.into(),
        };
        let _ = self.writer.write(now, request, &mut self.out).is_ok();
    }

    /// Takes everything; what the writer of `peer` wrote is judged if it is `honest`.
    pub(super) fn take(&mut self, now: Now, peer: &WriterSlot, honest: bool) {
        let mut samples = Vec::new();
        let most = MAX_SAMPLES as usize + MAX_WITHOUT_DATA;
        assert!(self.reader.len() <= most, "{} samples", self.reader.len());
        self.reader.take(now, &Selection::default(), &mut samples, &mut self.out).expect("no instance asked");
        for sample in samples.iter().filter(|_| honest) {
            if sample.info.publication_handle == InstanceHandle::from(peer.guid()) {
                self.judge(sample);
            }
        }
        for extra in &self.extra {
            let Extra::Reader(reader) = extra else { continue };
            samples.clear();
            let _ = reader.take(now, &Selection::default(), &mut samples, &mut self.out);
        }
    }

    fn judge(&mut self, sample: &CachedSample) {
        let Some(payload) = &sample.payload else { return };
        let value: Sample = from_payload(payload, &Limits::default()).expect("what was written");
        assert_eq!(value, Sample::new(value.key, value.number, value.body.len()));
        let last = self.last.insert(value.key, value.number);
        assert!(last.is_none_or(|last| last < value.number), "{} after {last:?}", value.number);
        self.taken += 1;
    }

    pub(super) fn create_endpoint(&mut self, now: Now, choice: u8) {
        if self.extra.len() >= MAX_EXTRA {
            return;
        }
        let topic = topic(usize::from(choice >> 2) % 3);
        let Self { participant, out, .. } = self;
        let made = if choice & 0x80 == 0 {
            participant.create_reader(now, reader_spec(topic, reader_qos(choice)), out).map(Extra::Reader)
        } else {
            participant.create_writer(now, writer_spec(topic, writer_qos(choice)), out).map(Extra::Writer)
        };
        self.extra.extend(made);
    }

    pub(super) fn delete_endpoint(&mut self, now: Now, choice: u8) {
        if self.extra.is_empty() {
            return;
        }
        let Self { participant, out, .. } = self;
        match self.extra.swap_remove(usize::from(choice) % self.extra.len()) {
            Extra::Writer(writer) => participant.delete_writer(now, &writer, out),
            Extra::Reader(reader) => participant.delete_reader(now, &reader, out),
        }
    }

    /// Calls that applications make rarely.
    pub(super) fn other_call(&mut self, now: Now, peer: GuidPrefix, choice: u8) {
        let Self { participant, out, writer, .. } = self;
        match choice % 16 {
            0..=4 => writer.request_acknowledgments(now, out),
            5..=7 => writer.assert_liveliness(now, out),
            8 | 9 => participant.assert_liveliness(now, out),
            10..=12 => participant.set_user_data(now, UserData(vec![choice; 8]), out),
            13 => {
                let _ = participant.set_writer_qos(now, writer, writer_qos(0), PublisherQos::default(), out);
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
