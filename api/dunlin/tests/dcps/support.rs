//! Two nodes of a stage, and what most tests create on them.

use std::error::Error;

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, Duration, Publisher, Subscriber, Topic};

pub use crate::stage::{Node, Sim, join};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub struct Reading {
    #[dds(key)]
    pub id: i32,
    pub n: i32,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    pub n: i32,
}

pub const fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

pub fn reading(id: i32, n: i32) -> Reading {
    Reading { id, n }
}

/// One side of an exchange.
pub struct Writing {
    pub participant: DomainParticipant,
    pub topic: Topic<Reading>,
    pub publisher: Publisher,
    pub writer: DataWriter<Reading>,
}

pub struct Reads {
    pub participant: DomainParticipant,
    pub topic: Topic<Reading>,
    pub subscriber: Subscriber,
    pub reader: DataReader<Reading>,
}

pub fn writing(node: &Node, qos: &DataWriterQos) -> Writing {
    let make = || -> Result<Writing> {
        let participant = join("writing")?;
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        let writer = publisher.create_datawriter(&topic, qos)?;
        Ok(Writing { participant, topic, publisher, writer })
    };
    node.run(make).unwrap()
}

pub fn reads(node: &Node, qos: &DataReaderQos) -> Reads {
    let make = || -> Result<Reads> {
        let participant = join("reading")?;
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let reader = subscriber.create_datareader(&topic, qos)?;
        Ok(Reads { participant, topic, subscriber, reader })
    };
    node.run(make).unwrap()
}

/// A simulation with a writing and a reading node, matched.
pub fn pair() -> (Sim, Node, Node, Writing, Reads) {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let w = writing(&a, &DataWriterQos::default().keep_all());
    let r = reads(&b, &DataReaderQos::default().reliable().keep_all());
    sim.run_until(
        || !w.writer.matched_subscriptions().is_empty() && !r.reader.matched_publications().is_empty(),
        secs(9),
    )
    .unwrap();
    (sim, a, b, w, r)
}
