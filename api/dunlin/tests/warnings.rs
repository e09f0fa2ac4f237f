//! The warnings in the log. A process of its own: another thread that comes upon a warning before this one has no
//! subscriber, and `tracing` would then remember for the whole process that nobody listens.

mod common;

use common::Lines;
use dunlin::qos::{DataReaderQos, DataWriterQos, Partition, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Result, Sim};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, Duration};

#[derive(DdsType, Clone, Debug, Default)]
struct Reading {
    n: u32,
}

fn writing() -> Result<(DomainParticipant, DataWriter<Reading>)> {
    let participant = DomainParticipant::builder(0).name("sensor").build()?;
    let topic = participant.create_topic::<Reading>("T", &TopicQos::default())?;
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().best_effort())?;
    Ok((participant, writer))
}

fn reading(partition: &[&str], qos: &DataReaderQos) -> Result<(DomainParticipant, DataReader<Reading>)> {
    let participant = DomainParticipant::builder(0).name("display").build()?;
    let topic = participant.create_topic::<Reading>("T", &TopicQos::default())?;
    let partition = Partition { names: partition.iter().map(ToString::to_string).collect() };
    let subscriber =
        participant.create_subscriber(&SubscriberQos { partition, ..SubscriberQos::default() })?;
    let reader = subscriber.create_datareader(&topic, qos)?;
    Ok((participant, reader))
}

#[test]
fn the_log_has_one_warning_for_each_cause() {
    let lines = Lines::default();
    let sink = lines.clone();
    tracing_subscriber::fmt()
        .with_env_filter("warn")
        .with_ansi(false)
        .with_writer(move || sink.clone())
        .init();
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let _writer = a.run(writing).unwrap();
    let readers = b.run(|| {
        let qos = DataReaderQos::default().reliable().transient_local();
        (0..3).map(|_| reading(&[], &qos)).collect::<Result<Vec<_>>>()
    });
    let _elsewhere = b.run(|| reading(&["p"], &DataReaderQos::default())).unwrap();
    sim.run_for(Duration::from_secs(20)).unwrap();
    assert_eq!(readers.unwrap().len(), 3);
    let text = lines.take();
    let count = |words: &str| text.lines().filter(|line| line.contains(words)).count();
    // The writer finds each cause once and not for each reader; each of three readers for itself.
    for cause in ["RELIABILITY: offered BEST_EFFORT, requested RELIABLE", "DURABILITY: offered VOLATILE"] {
        assert_eq!(count(cause), 4, "{cause} in\n{text}");
    }
    assert_eq!(count("PARTITION: publisher none, subscriber 'p'"), 2, "{text}");
    assert!(text.lines().all(|line| line.contains("WARN dunlin::why: ")), "{text}");
}
