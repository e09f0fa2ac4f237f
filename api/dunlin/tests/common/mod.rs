//! Two participants on the loopback interface, each test in a domain of its own.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod processes;
#[cfg(target_os = "linux")]
pub mod survivors;

use std::future::Future;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant};

/// A type, and others of its name that it cannot be read as.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub struct Reading {
    pub n: u32,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "Reading")]
pub struct KeyedReading {
    #[dds(key)]
    pub n: u32,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "Reading")]
pub struct TextReading {
    pub n: String,
}

/// A type of another name.
#[derive(DdsType, Clone, Debug, Default)]
pub struct Measurement {
    pub n: f64,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub struct Track {
    #[dds(key)]
    pub id: i32,
    pub speed: i32,
    pub note: String,
    pub octets: Vec<u8>,
}

pub fn track(id: i32, speed: i32) -> Track {
    Track { id, speed, note: "none".into(), octets: vec![1, 2, 3] }
}

/// Waits for a condition with a deadline; the test fails with `what` when it does not come.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < deadline, "not within 30 s: {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

static DOMAINS: AtomicU32 = AtomicU32::new(0);

/// A domain that no other test of this run uses: the process id spreads the test programs.
pub fn domain() -> u32 {
    let process = std::process::id() % 20;
    20 + process * 9 + DOMAINS.fetch_add(1, Ordering::Relaxed) % 9
}

pub fn participant(domain: u32) -> DomainParticipant {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    // What two processes would do.
    config.set("shared_memory.in_process", "false").unwrap();
    DomainParticipant::builder(domain).config(config).build().unwrap()
}

/// How the participants of a test join its domain.
pub trait Join {
    fn participant(domain: u32) -> DomainParticipant;
}

/// Over UDP on the loopback interface.
pub struct OnLoopback;

impl Join for OnLoopback {
    fn participant(domain: u32) -> DomainParticipant {
        participant(domain)
    }
}

pub type Fixture = FixtureOn<OnLoopback>;

/// A writer and a reader in two participants.
pub struct FixtureOn<J> {
    join: PhantomData<J>,
    pub topic: String,
    pub publishing: DomainParticipant,
    pub subscribing: DomainParticipant,
    pub writer: DataWriter<Track>,
    pub reader: DataReader<Track>,
}

pub fn writer_in(participant: &DomainParticipant, topic: &str, qos: &DataWriterQos) -> DataWriter<Track> {
    let topic = participant.create_topic::<Track>(topic, &TopicQos::default()).unwrap();
    participant.create_publisher(&PublisherQos::default()).unwrap().create_datawriter(&topic, qos).unwrap()
}

pub fn reader_in(participant: &DomainParticipant, topic: &str, qos: &DataReaderQos) -> DataReader<Track> {
    let topic = participant.create_topic::<Track>(topic, &TopicQos::default()).unwrap();
    participant.create_subscriber(&SubscriberQos::default()).unwrap().create_datareader(&topic, qos).unwrap()
}

impl<J: Join> FixtureOn<J> {
    pub fn unmatched(writer_qos: &DataWriterQos, reader_qos: &DataReaderQos) -> Self {
        let domain = domain();
        let (publishing, subscribing) = (J::participant(domain), J::participant(domain));
        // Domains are few: the name keeps tests that share one apart.
        static TOPICS: AtomicU32 = AtomicU32::new(0);
        let name = format!("Tracks{}-{}", std::process::id(), TOPICS.fetch_add(1, Ordering::Relaxed));
        let writer = writer_in(&publishing, &name, writer_qos);
        let reader = reader_in(&subscribing, &name, reader_qos);
        Self { join: PhantomData, topic: name, publishing, subscribing, writer, reader }
    }

    pub fn new(writer_qos: &DataWriterQos, reader_qos: &DataReaderQos) -> Self {
        let fixture = Self::unmatched(writer_qos, reader_qos);
        eventually("a match on both sides", || {
            !fixture.writer.matched_subscriptions().is_empty()
                && !fixture.reader.matched_publications().is_empty()
        });
        fixture
    }

    pub fn another_reader(&self, qos: &DataReaderQos) -> DataReader<Track> {
        let reader = reader_in(&self.subscribing, &self.topic, qos);
        eventually("the match", || !reader.matched_publications().is_empty());
        reader
    }

    pub fn reader_beside_writer(&self, qos: &DataReaderQos) -> DataReader<Track> {
        reader_in(&self.publishing, &self.topic, qos)
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor there is.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        std::thread::park();
    }
}

/// What was logged.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    pub fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}

impl std::io::Write for Lines {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
