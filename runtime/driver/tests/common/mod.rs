//! Sessions that are easy to look into.
#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration as StdDuration, Instant};

use dunlin_buf::SharedBytes;
use dunlin_cache::Selection;
use dunlin_cdr::{CdrError, DecodeOptions, Extensibility, TypeSupport};
use dunlin_core::{InstanceHandle, SequenceNumber};
use dunlin_driver::{DriverConfig, EventSink, Session};
use dunlin_engine::{
    EndpointLocators, Event, ReaderSlot, ReaderSpec, WriteError, WriteRequest, WriterSlot, WriterSpec,
};
use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicData};
use dunlin_rtps::ChangeKind;
use dunlin_transport::memory::MemoryNetwork;

/// Time in which things that must happen do happen, on a busy machine too.
pub const PATIENCE: StdDuration = StdDuration::from_secs(60);

/// Waits for a condition; fails with `what` when it does not come.
#[track_caller]
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        std::thread::park_timeout(StdDuration::from_millis(1));
    }
}

/// A type without key, whose samples are made by [`request`].
struct Number;

impl TypeSupport for Number {
    fn type_name(&self) -> &str {
        "Number"
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
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        out.clear();
        Ok(())
    }
}

type Listener = Box<dyn Fn(&Event) + Send + Sync>;

/// Keeps the events, and calls a listener if there is one.
#[derive(Default)]
pub struct Sink {
    pub events: Mutex<Vec<Event>>,
    pub listener: OnceLock<Listener>,
}

impl EventSink for Sink {
    fn on_event(&self, event: &Event) {
        self.events.lock().unwrap().push(event.clone());
        if let Some(listener) = self.listener.get() {
            listener(event);
        }
    }
}

pub struct Node {
    pub session: Arc<Session>,
    pub sink: Arc<Sink>,
}

/// Two participants on a network in memory.
pub fn memory_pair() -> (Node, Node) {
    let network = MemoryNetwork::new();
    (memory_node(&network), memory_node(&network))
}

pub fn memory_node(network: &Arc<MemoryNetwork>) -> Node {
    let sink = Arc::new(Sink::default());
    let events: Arc<dyn EventSink> = sink.clone();
    let session = Session::join_on(network.attach(0), DriverConfig::default(), events).unwrap();
    Node { session, sink }
}

pub fn udp_node(config: &DriverConfig) -> Node {
    let sink = Arc::new(Sink::default());
    let events: Arc<dyn EventSink> = sink.clone();
    Node { session: Session::join(config.clone(), events).unwrap(), sink }
}

/// On loopback, in a domain of its own: the process spreads the test programs, `number` the tests of one.
pub fn loopback(number: u32) -> DriverConfig {
    let mut config = DriverConfig::default();
    config.udp.domain = 100 + std::process::id() % 12 * 10 + number;
    config.udp.interfaces = vec!["lo".into()];
    // What is looked at here are sockets.
    config.shared_memory.enabled = false;
    config
}

impl Node {
    pub fn writer(&self, topic: &str, qos: &DataWriterQos) -> Arc<WriterSlot> {
        let spec = WriterSpec {
            topic_name: topic.into(),
            type_name: "Number".into(),
            keyed: false,
            qos: qos.clone(),
            publisher_qos: PublisherQos::default(),
            topic_data: TopicData::default(),
            type_information: None,
            type_description: None,
            locators: EndpointLocators::default(),
        };
        let session = &self.session;
        session.run(|now, out| session.participant().create_writer(now, spec, out)).unwrap()
    }

    pub fn reader(&self, topic: &str, qos: &DataReaderQos) -> Arc<ReaderSlot> {
        let (session, spec) = (&self.session, reader_spec(topic, qos));
        session.run(|now, out| session.participant().create_reader(now, spec, out)).unwrap()
    }

    pub fn write(&self, writer: &WriterSlot, number: u32) -> Result<SequenceNumber, WriteError> {
        self.session.write(writer, request(number, 0))
    }

    /// Takes everything there is.
    pub fn take(&self, reader: &ReaderSlot) -> Vec<(u32, usize)> {
        let mut samples = vec![];
        let selection = Selection::default();
        let taken = self.session.run(|now, out| reader.take(now, &selection, &mut samples, out));
        taken.expect("no instance was named");
        samples.iter().filter_map(|sample| sample.payload.as_ref()).map(unpack).collect()
    }

    pub fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.sink.events.lock().unwrap().iter().filter(|event| wanted(event)).count()
    }
}

pub fn reader_spec(topic: &str, qos: &DataReaderQos) -> ReaderSpec {
    ReaderSpec {
        topic_name: topic.into(),
        type_name: "Number".into(),
        qos: qos.clone(),
        subscriber_qos: SubscriberQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        type_support: Arc::new(Number),
    }
}

/// A sample: a number, and padding after it.
pub fn request(number: u32, padding: usize) -> WriteRequest {
    let mut bytes = vec![0, 1, 0, 0];
    bytes.extend(number.to_le_bytes());
    bytes.extend((0..padding).map(|at| at as u8 ^ number as u8));
    WriteRequest {
        kind: ChangeKind::Alive,
        instance: InstanceHandle::NIL,
        source_timestamp: None,
        payload: bytes.into(),
    }
}

/// The number of a sample and the length of its padding, which must be whole.
pub fn unpack(payload: &SharedBytes) -> (u32, usize) {
    let number = u32::from_le_bytes(payload[4..8].try_into().unwrap());
    let padding = &payload[8..];
    assert!(padding.iter().enumerate().all(|(at, octet)| *octet == at as u8 ^ number as u8));
    (number, padding.len())
}

/// A writer and a reader of one topic that know of each other.
pub fn matched(
    from: &Node,
    to: &Node,
    topic: &str,
    writer_qos: &DataWriterQos,
    reader_qos: &DataReaderQos,
) -> (Arc<WriterSlot>, Arc<ReaderSlot>) {
    let (writer, reader) = (from.writer(topic, writer_qos), to.reader(topic, reader_qos));
    eventually("the endpoints match", || {
        !writer.matched_readers().is_empty() && !reader.matched_writers().is_empty()
    });
    (writer, reader)
}

pub fn reliable() -> (DataWriterQos, DataReaderQos) {
    (DataWriterQos::default().reliable().keep_all(), DataReaderQos::default().reliable().keep_all())
}

/// Names of the library threads of this process.
pub fn library_threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    let mut names: Vec<String> = tasks.filter_map(name).map(|name| name.trim().to_owned()).collect();
    names.retain(|name| name.starts_with("dunlin-"));
    names.sort();
    names
}
