//! TRANSPORT_PRIORITY (DDS 1.4 §2.2.3.15) as order among what waits of several writers: the order of datagrams on the wire.

use dunlin::qos::{DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::Sim;
use dunlin::{DataReader, DataWriter, DomainParticipant, Duration, Publisher};

use crate::support::*;

/// What the writers write, in the order in which they were made and write.
const NOTES: [(&str, i32); 4] =
    [("of no hurry", 0), ("of utmost urgency", 46), ("of some urgency", 10), ("of a great hurry", 40)];

struct Sources {
    participant: DomainParticipant,
    publisher: Publisher,
    writers: Vec<DataWriter<Reading>>,
}

/// The notes in the order in which they were sent when `release` was called after all had been written.
fn sent_in_order(budget: Duration, hold: impl Fn(&Sources), release: impl Fn(&Sources)) -> Vec<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wire.pcap");
    let mut sim = Sim::new(4);
    sim.capture(&file).unwrap();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let sources = a.run(|| {
        let participant = DomainParticipant::new(0).unwrap();
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
        let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
        let qos = DataWriterQos::default().reliable().keep_all().latency_budget(budget);
        let writers = NOTES.map(|(_, priority)| {
            publisher.create_datawriter(&topic, &qos.clone().transport_priority(priority)).unwrap()
        });
        Sources { participant, publisher, writers: writers.to_vec() }
    });
    let reader: DataReader<Reading> = b.run(|| {
        let participant = DomainParticipant::new(0).unwrap();
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
        subscriber.create_datareader(&topic, &reader_qos_of(budget)).unwrap()
    });
    let met = || {
        reader.matched_publications().len() == NOTES.len()
            && sources.writers.iter().all(|writer| writer.matched_subscriptions().len() == 1)
    };
    sim.run_until(met, secs(30)).unwrap();
    sim.run_for(secs(5)).unwrap();
    a.run(|| {
        hold(&sources);
        for (writer, (note, _)) in sources.writers.iter().zip(NOTES) {
            writer.write(&Reading { n: 1, note: note.into() }).unwrap();
        }
    });
    a.run(|| release(&sources));
    sim.run_for(secs(3)).unwrap();
    let taken = b.run(|| reader.take(9)).unwrap();
    assert_eq!(taken.len(), NOTES.len());
    drop((a, b, sources, reader));
    drop(sim);
    let wire = std::fs::read(&file).unwrap();
    let mut places = NOTES.map(|(note, _)| {
        let at = wire.windows(note.len()).position(|octets| octets == note.as_bytes());
        (at.expect("it was sent"), note)
    });
    places.sort_unstable();
    places.map(|(_, note)| note).to_vec()
}

fn reader_qos_of(budget: Duration) -> dunlin::qos::DataReaderQos {
    dunlin::qos::DataReaderQos::default().reliable().keep_all().latency_budget(budget)
}

const BY_URGENCY: [&str; 4] = ["of utmost urgency", "of a great hurry", "of some urgency", "of no hurry"];

#[test]
fn flush_sends_batched_samples_by_transport_priority() {
    assert_eq!(sent_in_order(secs(1), |_| {}, |sources| sources.participant.flush()), BY_URGENCY);
    assert_eq!(sent_in_order(secs(1), |_| {}, |sources| sources.publisher.flush()), BY_URGENCY);
}

#[test]
fn resume_publications_sends_by_transport_priority() {
    let hold = |sources: &Sources| sources.publisher.suspend_publications().unwrap();
    let release = |sources: &Sources| sources.publisher.resume_publications().unwrap();
    assert_eq!(sent_in_order(Duration::ZERO, hold, release), BY_URGENCY);
}

#[test]
fn samples_due_together_are_sent_by_transport_priority() {
    assert_eq!(sent_in_order(millis(50), |_| {}, |_| {}), BY_URGENCY);
}
