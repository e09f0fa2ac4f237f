//! Dunlin through its public API.

use std::cell::Cell;
use std::sync::Arc;

use anyhow::{Result, ensure};
use dunlin::config::Waiting;
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration, Sample, StatusMask};
use dunlin_bench_adapter::{About, Can, Implementation, OnPayload, Open, Session};

/// Samples that a reader hands over at once.
const BATCH: usize = 256;

/// The option by which samples are lent; all others are keys of the configuration.
const LOANS: &str = "loans";

pub(crate) struct Dunlin;

/// The type of every benchmark.
#[derive(DdsType, Clone, Debug, Default)]
struct Octets {
    data: Vec<u8>,
}

struct Endpoints {
    // Endpoints go before their participant.
    writers: Vec<Arc<DataWriter<Octets>>>,
    readers: Vec<DataReader<Octets>>,
    _participant: DomainParticipant,
}

impl Implementation for Dunlin {
    fn about(&self, options: &[(String, String)]) -> Result<About> {
        let config = config(options)?;
        // Two hosts have no memory in common.
        let can = if lends(options) { Can::ALL_BUT_TWO_HOSTS } else { Can::ALL };
        let waits = match config.receive.waiting {
            Waiting::Blocking => "blocks",
            Waiting::Polling => "spins",
            _ => "spins where data is dense, else blocks",
        };
        Ok(About {
            name: "Dunlin".into(),
            version: super::version(),
            can,
            waits: waits.into(),
            built: super::BUILT.into(),
        })
    }

    fn open(&self, open: &Open, on_payload: OnPayload) -> Result<Box<dyn Session>> {
        let mut config = config(&open.options)?;
        config.set("network.interfaces", &open.interface)?;
        if open.interface != "lo" {
            // Two hosts may be namespaces of this one, which share its memory.
            config.set("shared_memory.enabled", "false")?;
        }
        let participant = DomainParticipant::builder(open.domain).config(config).build()?;
        if lends(&open.options) {
            return super::lent::open(open, participant, &on_payload);
        }
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let mut writers = Vec::new();
        for name in &open.writes {
            let topic = participant.create_topic::<Octets>(name, &TopicQos::default())?;
            writers.push(Arc::new(publisher.create_datawriter(&topic, &writer_qos(open))?));
        }
        let answers = writers.first().cloned();
        let mut readers = Vec::new();
        for name in &open.reads {
            let topic = participant.create_topic::<Octets>(name, &TopicQos::default())?;
            let reader = subscriber.create_datareader(&topic, &reader_qos(open))?;
            let (answers, on_payload) = (answers.clone(), Arc::clone(&on_payload));
            reader.set_listener(
                move |reader: &DataReader<Octets>| on_data(reader, answers.as_deref(), &on_payload),
                StatusMask::DATA_AVAILABLE,
            );
            readers.push(reader);
        }
        Ok(Box::new(Endpoints { writers, readers, _participant: participant }))
    }
}

fn lends(options: &[(String, String)]) -> bool {
    options.iter().any(|(key, value)| key == LOANS && value == "1")
}

/// The configuration with the options of the benchmark, which are its keys but for one.
fn config(options: &[(String, String)]) -> Result<Config> {
    let mut config = Config::load()?;
    for (key, value) in options {
        if key == LOANS {
            ensure!(matches!(value.as_str(), "0" | "1"), "{LOANS} is 0 or 1");
            continue;
        }
        config.set(key, value)?;
    }
    config.check()?;
    Ok(config)
}

thread_local! {
    /// The sample that was written last: programs fill theirs again too.
    static SAMPLE: Cell<Octets> = Cell::default();
    /// The list that samples are taken into.
    static TAKEN: Cell<Vec<Sample<Octets>>> = Cell::default();
}

fn write(writer: &DataWriter<Octets>, payload: &[u8]) -> Result<()> {
    // A listener that is called meanwhile and writes finds an empty one.
    let mut sample = SAMPLE.take();
    sample.data.clear();
    sample.data.extend_from_slice(payload);
    let written = writer.write(&sample);
    SAMPLE.set(sample);
    Ok(written?)
}

fn on_data(reader: &DataReader<Octets>, answers: Option<&DataWriter<Octets>>, on_payload: &OnPayload) {
    let answer = |payload: &[u8]| match answers {
        Some(writer) => write(writer, payload),
        None => Ok(()),
    };
    // A listener that is called meanwhile finds an empty list.
    let mut taken = TAKEN.take();
    while let Ok(count @ 1..) = reader.take_into(BATCH, &mut taken) {
        let payloads = taken.iter().filter_map(|sample| sample.data.as_ref());
        payloads.for_each(|it| on_payload(&it.data, &answer));
        taken.clear();
        // What arrives from now on is told again.
        if count < BATCH {
            break;
        }
    }
    TAKEN.set(taken);
}

pub(super) fn writer_qos(open: &Open) -> DataWriterQos {
    let qos = DataWriterQos::default();
    let qos = if open.reliable { qos.reliable() } else { qos.best_effort() };
    let qos = qos.max_blocking_time(Duration::from_secs(10));
    match open.keep_last {
        Some(depth) => qos.keep_last(depth),
        None => qos.keep_all().resource_limits(room(open.payload), -1, -1),
    }
}

pub(super) fn reader_qos(open: &Open) -> DataReaderQos {
    let qos = DataReaderQos::default();
    let qos = if open.reliable { qos.reliable() } else { qos.best_effort() };
    match open.keep_last {
        Some(depth) => qos.keep_last(depth),
        None => qos.keep_all(),
    }
}

/// Samples a history of about 64 MB holds.
fn room(payload: usize) -> i32 {
    (64_000_000 / payload.max(1)).clamp(16, 1_000) as i32
}

impl Session for Endpoints {
    fn matched(&self) -> usize {
        let writers = self.writers.iter().map(|writer| writer.publication_matched_status().current_count);
        let readers = self.readers.iter().map(|reader| reader.subscription_matched_status().current_count);
        writers.chain(readers).min().unwrap_or(0).try_into().unwrap_or(0)
    }

    fn write(&self, payload: &[u8]) -> Result<()> {
        let Some(writer) = self.writers.first() else { return Ok(()) };
        write(writer, payload)
    }

    fn write_own(&self, payload: &mut Vec<u8>) -> Result<()> {
        let Some(writer) = self.writers.first() else { return Ok(()) };
        let sample = Octets { data: std::mem::take(payload) };
        let written = writer.write(&sample);
        *payload = sample.data;
        Ok(written?)
    }
}
