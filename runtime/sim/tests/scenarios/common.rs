//! What the scenarios share: a keyed type, numbered samples, random faults, seeds.

use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_cache::CachedSample;
use dunlin_cdr::{CdrError, DecodeOptions, Extensibility, Limits, TypeSupport};
use dunlin_core::{Duration, InstanceHandle, Rng};
use dunlin_engine::{
    EndpointLocators, Event, ReaderSlot, ReaderSpec, WriteError, WriteRequest, WriterSlot, WriterSpec,
};
use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicData};
use dunlin_rtps::ChangeKind;
use dunlin_sim::{Burst, Delay, NetworkConfig, NodeConfig, NodeId, PathConfig, World, for_each_seed};

/// CDR_LE, no options.
const ENCAPSULATION: [u8; 4] = [0, 1, 0, 0];
/// Encapsulation, key, number.
const HEADER: usize = 16;

/// A number from the environment.
#[expect(clippy::disallowed_methods, reason = "how many seeds to run is asked of whoever starts the tests")]
pub fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Runs a scenario with `count` seeds, or with the one that `SEED` names.
pub fn run_seeds(test: &str, count: u64, scenario: impl FnMut(u64)) {
    let test = test.split_once("::").map_or(test, |(_, rest)| rest);
    let ignored = if test.ends_with("many") || test.contains("million") { " --ignored" } else { "" };
    let command =
        |seed| format!("SEED={seed} cargo test -p dunlin-sim --test scenarios -- --exact {test}{ignored}");
    let seeds = from_environment("SEED").map_or(1..=count, |seed| seed..=seed);
    for_each_seed(seeds, command, scenario);
}

/// Two tests of a scenario: with a few seeds, and with as many as the environment variable `SEEDS` says.
macro_rules! scenario {
    ($name:ident, $few:expr, $run:ident) => {
        mod $name {
            #[test]
            fn few() {
                crate::common::run_seeds(concat!(module_path!(), "::few"), $few, super::$run);
            }

            #[test]
            #[ignore = "SEEDS says how many"]
            fn many() {
                let count = crate::common::from_environment("SEEDS").unwrap_or(200);
                crate::common::run_seeds(concat!(module_path!(), "::many"), count, super::$run);
            }
        }
    };
}
pub(crate) use scenario;

/// A type whose samples begin with a 32-bit key.
pub struct Keyed;

fn key_hash(key: u32) -> [u8; 16] {
    let mut hash = [0; 16];
    hash[..4].copy_from_slice(&key.to_be_bytes());
    hash
}

fn bad_payload() -> CdrError {
    dunlin_cdr::from_payload::<u32>(&[], &Limits::default()).expect_err("nothing is no number")
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

/// The instance of a key.
pub fn instance(key: u32) -> InstanceHandle {
    InstanceHandle(key_hash(key))
}

/// Octets that differ from sample to sample and from place to place: a window into a fixed sequence.
pub struct Filling(Vec<u8>);

impl Filling {
    const WINDOWS: u64 = 509;

    pub fn new(longest: usize) -> Self {
        let mut rng = Rng::new(0xf111);
        Self((0..longest + Self::WINDOWS as usize).map(|_| rng.next_u64() as u8).collect())
    }

    fn of(&self, number: u64, len: usize) -> &[u8] {
        let start = (number % Self::WINDOWS) as usize;
        &self.0[start..start + len]
    }

    /// A change of instance `key` whose payload of `len` octets carries `number`.
    pub fn request(&self, key: u32, number: u64, len: usize) -> WriteRequest {
        let mut bytes = Vec::with_capacity(len);
        bytes.extend_from_slice(&ENCAPSULATION);
        bytes.extend_from_slice(&key.to_le_bytes());
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(self.of(number, len - HEADER));
        let payload = SharedBytes::from(bytes);
        WriteRequest { kind: ChangeKind::Alive, instance: instance(key), source_timestamp: None, payload }
    }

    /// Key and number of a received sample, every octet of which is looked at.
    #[track_caller]
    pub fn open(&self, sample: &CachedSample) -> (u32, u64) {
        let bytes = sample.payload.as_ref().expect("a sample with data");
        assert_eq!(bytes[..4], ENCAPSULATION);
        let key = u32::from_le_bytes(bytes[4..8].try_into().expect("four octets"));
        let number = u64::from_le_bytes(bytes[8..16].try_into().expect("eight octets"));
        let right = self.of(number, bytes.len() - HEADER);
        let wrong = bytes[HEADER..].iter().zip(right).position(|(is, should)| is != should);
        assert_eq!(wrong, None, "where the {} octets of sample {number} go wrong", bytes.len());
        (key, number)
    }
}

/// A change of life cycle, which carries the key alone.
pub fn life_cycle(kind: ChangeKind, key: u32) -> WriteRequest {
    let mut bytes = ENCAPSULATION.to_vec();
    bytes.extend_from_slice(&key.to_le_bytes());
    WriteRequest { kind, instance: instance(key), source_timestamp: None, payload: bytes.into() }
}

pub fn writer_spec(topic: &str, qos: DataWriterQos) -> WriterSpec {
    WriterSpec {
        topic_name: topic.into(),
        type_name: "Keyed".into(),
        keyed: true,
        qos,
        publisher_qos: PublisherQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        type_description: None,
        locators: EndpointLocators::default(),
    }
}

pub fn reader_spec(topic: &str, qos: DataReaderQos) -> ReaderSpec {
    ReaderSpec {
        topic_name: topic.into(),
        type_name: "Keyed".into(),
        qos,
        subscriber_qos: SubscriberQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        type_support: Arc::new(Keyed),
    }
}

pub fn keep_all_writer() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all()
}

pub fn keep_all_reader() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all()
}

pub fn ms(n: i64) -> Duration {
    Duration::from_millis(n)
}

pub fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

/// Loss, reordering, duplication, bursts and delay as the seed has it; nothing that cannot be repaired.
pub fn faulty(rng: &mut Rng, most_loss_ppm: u64) -> PathConfig {
    let least = Duration::from_micros(20 + rng.below(500) as i64);
    let more = Duration::from_micros(rng.below(3_000) as i64);
    let delay = match rng.below(3) {
        0 => Delay::Fixed(least),
        1 => Delay::Uniform(least, Duration::from_nanos(least.as_nanos() + more.as_nanos())),
        _ => Delay::Tail(least, more),
    };
    let burst = Burst { begin_ppm: 5_000, end_ppm: 200_000, loss_ppm: 900_000 };
    PathConfig {
        delay,
        loss_ppm: rng.below(most_loss_ppm + 1) as u32,
        burst: rng.chance(1, 3).then_some(burst),
        duplicate_ppm: rng.below(100_000) as u32,
        reorder_ppm: rng.below(100_000) as u32,
        ..PathConfig::default()
    }
}

/// A world of so many nodes, on a network with faults of its seed.
pub fn faulty_world(seed: u64, nodes: usize, most_loss_ppm: u64) -> (World, Vec<NodeId>) {
    let path = faulty(&mut Rng::new(seed ^ 0xfa11), most_loss_ppm);
    world_on(seed, nodes, path)
}

/// The same with nodes that keep each other for minutes, and without bursts: where little is sent a burst may take longer
/// than the periods that scenarios look at.
pub fn patient_world(seed: u64, nodes: usize, most_loss_ppm: u64) -> (World, Vec<NodeId>) {
    let path = faulty(&mut Rng::new(seed ^ 0xfa11), most_loss_ppm);
    let (mut world, _) = world_on(seed, 0, PathConfig { burst: None, ..path });
    let mut config = NodeConfig::default();
    config.participant.lease_duration = secs(300);
    let nodes = (0..nodes).map(|_| world.add_node(config.clone())).collect();
    (world, nodes)
}

pub fn world_on(seed: u64, nodes: usize, path: PathConfig) -> (World, Vec<NodeId>) {
    let mut world = World::new(seed, NetworkConfig::of(path));
    let nodes = (0..nodes).map(|_| world.add_node(NodeConfig::default())).collect();
    (world, nodes)
}

#[track_caller]
pub fn writer(world: &mut World, node: NodeId, topic: &str, qos: DataWriterQos) -> Arc<WriterSlot> {
    world.create_writer(node, writer_spec(topic, qos)).expect("a good writer")
}

#[track_caller]
pub fn reader(world: &mut World, node: NodeId, topic: &str, qos: DataReaderQos) -> Arc<ReaderSlot> {
    world.create_reader(node, reader_spec(topic, qos)).expect("a good reader")
}

/// Lets the world go on until every writer has matched these readers, and every reader these writers, and nobody else.
#[track_caller]
pub fn until_matched(world: &mut World, writers: &[&Arc<WriterSlot>], readers: &[&Arc<ReaderSlot>]) {
    let all = |_: &mut World| {
        let has = |writer: &WriterSlot| {
            let matched = writer.matched_readers();
            let knows = |reader: &ReaderSlot| matched.iter().any(|known| known.guid == reader.guid());
            matched.len() == readers.len() && readers.iter().all(|reader| knows(reader))
        };
        let had = |reader: &ReaderSlot| {
            let matched = reader.matched_writers();
            let knows = |writer: &WriterSlot| matched.iter().any(|known| known.guid == writer.guid());
            matched.len() == writers.len() && writers.iter().all(|writer| knows(writer))
        };
        writers.iter().all(|writer| has(writer)) && readers.iter().all(|reader| had(reader))
    };
    world.run_until(all, secs(30)).expect("all endpoints match");
}

/// Lets the world go on until every matched reader has acknowledged everything.
#[track_caller]
pub fn until_acked(world: &mut World, writer: &WriterSlot, limit: Duration) {
    world
        .run_until(|_| writer.acked_by_all() == writer.last_sn(), limit)
        .expect("everything is acknowledged");
}

/// Writes the samples `numbers` of one instance; the history has room or gets some.
#[track_caller]
pub fn write_all(
    world: &mut World,
    node: NodeId,
    writer: &WriterSlot,
    filling: &Filling,
    numbers: impl IntoIterator<Item = u64>,
    len: usize,
) {
    for number in numbers {
        let result: Result<_, WriteError> =
            world.write_blocking(node, writer, filling.request(1, number, len));
        result.expect("there is room in time");
    }
}

/// The numbers of all samples with data that a reader has; takes them.
#[track_caller]
pub fn take_numbers(world: &mut World, node: NodeId, reader: &ReaderSlot, filling: &Filling) -> Vec<u64> {
    let taken = world.take(node, reader);
    taken.iter().filter(|sample| sample.info.valid_data).map(|sample| filling.open(sample).1).collect()
}

/// The events of a node without their times.
pub fn events(world: &mut World, node: NodeId) -> Vec<Event> {
    world.take_events(node).into_iter().map(|(_, event)| event).collect()
}
