//! dust_dds.

use anyhow::{Result, anyhow};
use dunlin_bench_adapter::{About, Can, FROM_REGISTRY, Implementation, OnPayload, Open, Session, locked_version, only, serve};
use dust_dds::dds_async::data_reader::DataReaderAsync;
use dust_dds::dds_async::data_writer::DataWriterAsync;
use dust_dds::dds_async::domain_participant::DomainParticipantAsync;
use dust_dds::dds_async::topic::TopicAsync;
use dust_dds::domain::domain_participant::DomainParticipant;
use dust_dds::domain::domain_participant_factory::DomainParticipantFactory;
use dust_dds::infrastructure::listener::NO_LISTENER;
use dust_dds::infrastructure::qos::{DataReaderQos, DataWriterQos, QosKind};
use dust_dds::infrastructure::qos_policy::{
    HistoryQosPolicy, HistoryQosPolicyKind, ReliabilityQosPolicy, ReliabilityQosPolicyKind,
};
use dust_dds::infrastructure::sample_info::{ANY_INSTANCE_STATE, ANY_SAMPLE_STATE, ANY_VIEW_STATE};
use dust_dds::infrastructure::status::{NO_STATUS, StatusKind};
use dust_dds::infrastructure::time::{Duration, DurationKind};
use dust_dds::infrastructure::type_support::DdsType;
use dust_dds::publication::data_writer::DataWriter;
use dust_dds::subscription::data_reader::DataReader;
use dust_dds::subscription::data_reader_listener::DataReaderListener;
use futures::executor::block_on;
use std::sync::{Arc, Mutex};

/// What was built.
const LOCK: &str = include_str!("../../Cargo.lock");

#[derive(DdsType, Clone, Debug)]
#[dust_dds(extensibility = "final")]
struct Octets {
    data: Vec<u8>,
}

struct Dust;

struct Endpoints {
    participant: DomainParticipant,
    writers: Vec<DataWriter<Octets>>,
    readers: Vec<DataReader<Octets>>,
}

struct Listener {
    on_payload: OnPayload,
    answers: Option<DataWriterAsync<Octets>>,
}

impl DataReaderListener<Octets> for Listener {
    async fn on_data_available(&mut self, reader: DataReaderAsync<Octets>) {
        let taken = reader.take(64, ANY_SAMPLE_STATE, ANY_VIEW_STATE, ANY_INSTANCE_STATE).await;
        for sample in taken.unwrap_or_default().into_iter().filter_map(|sample| sample.data) {
            // To block in a listener would block what the write needs: answers are written after the call.
            let answers = Mutex::new(Vec::new());
            let answer = |payload: &[u8]| {
                answers.lock().map_err(|_| anyhow!("a listener panicked"))?.push(payload.to_vec());
                Ok(())
            };
            (self.on_payload)(&sample.data, &answer);
            let Some(writer) = &self.answers else { continue };
            for data in answers.into_inner().unwrap_or_default() {
                if let Err(error) = writer.write(Octets { data }, None).await {
                    eprintln!("writing an answer: {error:?}");
                }
            }
        }
    }
}

fn reliability(open: &Open) -> ReliabilityQosPolicy {
    ReliabilityQosPolicy {
        kind: if open.reliable {
            ReliabilityQosPolicyKind::Reliable
        } else {
            ReliabilityQosPolicyKind::BestEffort
        },
        max_blocking_time: DurationKind::Finite(Duration::new(10, 0)),
    }
}

fn history(open: &Open) -> HistoryQosPolicy {
    // KEEP_ALL never frees what is acknowledged and stops at its limit: a deep KEEP_LAST is its best.
    let depth = open.keep_last.unwrap_or((64_000_000 / open.payload.max(1)).clamp(16, 1_000) as i32);
    HistoryQosPolicy { kind: HistoryQosPolicyKind::KeepLast(depth as u32) }
}

impl Implementation for Dust {
    fn about(&self, options: &[(String, String)]) -> Result<About> {
        only(options, &[])?;
        Ok(About { name: "dust_dds".into(), version: locked_version(LOCK, "dust_dds"), can: Can::ALL, waits: "blocks".into(), built: FROM_REGISTRY.into() })
    }

    fn open(&self, open: &Open, on_payload: OnPayload) -> Result<Box<dyn Session>> {
        let said = |what: &'static str| move |error| anyhow!("{what}: {error:?}");
        let factory = DomainParticipantFactory::get_instance();
        factory.get_mut_transport().set_interface_name(Some(open.interface.clone()));
        let participant = factory
            .create_participant(open.domain as i32, QosKind::Default, NO_LISTENER, NO_STATUS)
            .map_err(said("participant"))?;
        // Those that write from a listener have to be asynchronous.
        let publisher = DomainParticipantAsync::from(participant.clone());
        let publisher = block_on(publisher.create_publisher(QosKind::Default, NO_LISTENER, NO_STATUS));
        let publisher = publisher.map_err(said("publisher"))?;
        let subscriber = participant
            .create_subscriber(QosKind::Default, NO_LISTENER, NO_STATUS)
            .map_err(said("subscriber"))?;
        let topic = |name: &str| {
            participant
                .create_topic::<Octets>(name, "Octets", QosKind::Default, NO_LISTENER, NO_STATUS)
                .map_err(said("topic"))
        };
        let mut writers: Vec<DataWriterAsync<Octets>> = Vec::new();
        for name in &open.writes {
            let qos = DataWriterQos {
                reliability: reliability(open),
                history: history(open),
                ..Default::default()
            };
            let topic = TopicAsync::from(topic(name)?);
            let writer = publisher.create_datawriter(&topic, QosKind::Specific(qos), NO_LISTENER, NO_STATUS);
            writers.push(block_on(writer).map_err(said("writer"))?);
        }
        let mut readers = Vec::new();
        for name in &open.reads {
            let qos = DataReaderQos {
                reliability: reliability(open),
                history: history(open),
                ..Default::default()
            };
            let listener =
                Listener { on_payload: Arc::clone(&on_payload), answers: writers.first().cloned() };
            let reader = subscriber
                .create_datareader::<Octets>(
                    &topic(name)?,
                    QosKind::Specific(qos),
                    Some(listener),
                    &[StatusKind::DataAvailable],
                )
                .map_err(said("reader"))?;
            readers.push(reader);
        }
        let writers = writers.into_iter().map(DataWriter::from).collect();
        Ok(Box::new(Endpoints { participant, writers, readers }))
    }
}

impl Session for Endpoints {
    fn matched(&self) -> usize {
        let writers =
            self.writers.iter().map(|writer| writer.get_matched_subscriptions().map_or(0, |m| m.len()));
        let readers =
            self.readers.iter().map(|reader| reader.get_matched_publications().map_or(0, |m| m.len()));
        writers.chain(readers).min().unwrap_or(0)
    }

    fn write(&self, payload: &[u8]) -> Result<()> {
        let Some(writer) = self.writers.first() else { return Ok(()) };
        writer.write(Octets { data: payload.to_vec() }, None).map_err(|error| anyhow!("{error:?}"))
    }
}

impl Drop for Endpoints {
    fn drop(&mut self) {
        let _ = self.participant.delete_contained_entities();
        let _ = DomainParticipantFactory::get_instance().delete_participant(&self.participant);
    }
}

fn main() -> Result<()> {
    serve(&Dust)
}
