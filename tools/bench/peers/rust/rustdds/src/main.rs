//! RustDDS.

use anyhow::{Result, anyhow};
use dunlin_bench_adapter::{About, Can, FROM_REGISTRY, Implementation, OnPayload, Open, Session, locked_version, only, serve};
use futures::executor::block_on;
use futures::{StreamExt, select};
use rustdds::dds::statusevents::{DataReaderStatus, DataWriterStatus, StatusEvented};
use rustdds::no_key::{DataReader, DataWriter};
use rustdds::policy::{History, Reliability};
use rustdds::{
    DomainParticipant, DomainParticipantBuilder, Duration, Publisher, QosPolicies, QosPolicyBuilder,
    Subscriber, Topic, TopicKind,
};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What was built.
const LOCK: &str = include_str!("../../Cargo.lock");

#[derive(Serialize, Deserialize, Clone, Debug)]
struct Octets {
    #[serde(with = "serde_bytes")]
    data: Vec<u8>,
}

struct RustDds;

/// A writer, and how many readers it was told of.
struct Writing {
    writer: Mutex<DataWriter<Octets>>,
    matched: AtomicUsize,
}

struct Endpoints {
    writers: Vec<Arc<Writing>>,
    counts: Vec<Arc<AtomicUsize>>,
    _entities: (DomainParticipant, Publisher, Subscriber, Vec<Topic>),
}

fn qos(open: &Open) -> QosPolicies {
    let max_blocking_time = Duration::from_secs(10);
    QosPolicyBuilder::new()
        .reliability(if open.reliable {
            Reliability::Reliable { max_blocking_time }
        } else {
            Reliability::BestEffort
        })
        .history(open.keep_last.map_or(History::KeepAll, |depth| History::KeepLast { depth }))
        .build()
}

impl Writing {
    fn write(&self, payload: &[u8]) -> Result<()> {
        let writer = self.writer.lock().map_err(|_| anyhow!("a writer panicked"))?;
        writer.write(Octets { data: payload.to_vec() }, None).map_err(|error| anyhow!("{error:?}"))
    }

    fn matched(&self) -> usize {
        if let Ok(writer) = self.writer.lock() {
            while let Some(event) = writer.try_recv_status() {
                if let DataWriterStatus::PublicationMatched { current, .. } = event {
                    self.matched.store(current.count().max(0) as usize, Ordering::Relaxed);
                }
            }
        }
        self.matched.load(Ordering::Relaxed)
    }
}

/// Takes whatever comes, for ever; matches are told in between.
async fn read(
    reader: DataReader<Octets>,
    answers: Option<Arc<Writing>>,
    on_payload: OnPayload,
    matched: Arc<AtomicUsize>,
) -> Result<()> {
    let mut samples = reader.async_sample_stream();
    let mut events = samples.async_event_stream();
    let answer = |payload: &[u8]| answers.as_ref().map_or(Ok(()), |writer| writer.write(payload));
    loop {
        select! {
            sample = samples.select_next_some() => {
                let sample = sample.map_err(|error| anyhow!("{error:?}"))?;
                on_payload(&sample.into_value().data, &answer);
            }
            event = events.select_next_some() => {
                if let DataReaderStatus::SubscriptionMatched { current, .. } = event {
                    matched.store(current.count().max(0) as usize, Ordering::Relaxed);
                }
            }
        }
    }
}

impl Implementation for RustDds {
    fn about(&self, options: &[(String, String)]) -> Result<About> {
        only(options, &[])?;
        Ok(About { name: "RustDDS".into(), version: locked_version(LOCK, "rustdds"), can: Can::ALL, waits: "blocks".into(), built: FROM_REGISTRY.into() })
    }

    fn open(&self, open: &Open, on_payload: OnPayload) -> Result<Box<dyn Session>> {
        let said = |what: &'static str| move |error| anyhow!("{what}: {error:?}");
        let participant = DomainParticipantBuilder::new(open.domain as u16)
            .with_only_networks(vec![open.address.parse::<std::net::IpAddr>()?])
            .build()
            .map_err(|error| anyhow!("participant: {error:?}"))?;
        let qos = qos(open);
        let publisher = participant.create_publisher(&qos).map_err(said("publisher"))?;
        let subscriber = participant.create_subscriber(&qos).map_err(said("subscriber"))?;
        let mut topics = Vec::new();
        let (mut writers, mut counts) = (Vec::new(), Vec::new());
        for name in &open.writes {
            let topic = participant
                .create_topic(name.clone(), "Octets".into(), &qos, TopicKind::NoKey)
                .map_err(said("topic"))?;
            let writer =
                publisher.create_datawriter_no_key_cdr::<Octets>(&topic, None).map_err(said("writer"))?;
            writers.push(Arc::new(Writing { writer: Mutex::new(writer), matched: AtomicUsize::new(0) }));
            topics.push(topic);
        }
        for name in &open.reads {
            let topic = participant
                .create_topic(name.clone(), "Octets".into(), &qos, TopicKind::NoKey)
                .map_err(said("topic"))?;
            let reader =
                subscriber.create_datareader_no_key_cdr::<Octets>(&topic, None).map_err(said("reader"))?;
            topics.push(topic);
            let count = Arc::new(AtomicUsize::new(0));
            counts.push(Arc::clone(&count));
            let (answers, on_payload) = (writers.first().cloned(), Arc::clone(&on_payload));
            // It ends with the process: nothing would wake it.
            std::thread::spawn(move || {
                if let Err(error) = block_on(read(reader, answers, on_payload, count)) {
                    eprintln!("reading: {error:#}");
                }
            });
        }
        Ok(Box::new(Endpoints { writers, counts, _entities: (participant, publisher, subscriber, topics) }))
    }
}

impl Session for Endpoints {
    fn matched(&self) -> usize {
        let writers = self.writers.iter().map(|writer| writer.matched());
        let readers = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        writers.chain(readers).min().unwrap_or(0)
    }

    fn write(&self, payload: &[u8]) -> Result<()> {
        self.writers.first().map_or(Ok(()), |writer| writer.write(payload))
    }
}

fn main() -> Result<()> {
    serve(&RustDds)
}
