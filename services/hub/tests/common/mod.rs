//! Programs that write and read a counter, on nodes of the simulator.

#![allow(dead_code, reason = "each test uses part of it")]

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Node, Result};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, Duration};

pub mod host;

#[derive(DdsType, Clone, Debug, Default)]
pub struct Count {
    pub n: u32,
}

#[derive(DdsType, Clone, Debug, Default)]
pub struct Block {
    pub n: u32,
    pub octets: Vec<u8>,
}

pub const fn millis(n: i64) -> Duration {
    Duration::from_millis(n)
}

pub const fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

pub fn writer(node: &Node, topic: &str) -> Result<DataWriter<Count>> {
    let participant = node.run(|| DomainParticipant::new(0))?;
    writer_in(node, &participant, topic)
}

pub fn writer_in(node: &Node, participant: &DomainParticipant, topic: &str) -> Result<DataWriter<Count>> {
    node.run(|| {
        let topic = participant.create_topic::<Count>(topic, &TopicQos::default())?;
        let qos = DataWriterQos::default().reliable().keep_all();
        Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?)
    })
}

pub fn reader_with(node: &Node, topic: &str, qos: &DataReaderQos) -> Result<DataReader<Count>> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Count>(topic, &TopicQos::default())?;
        Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos)?)
    })
}

pub fn reader(node: &Node, topic: &str) -> Result<DataReader<Count>> {
    reader_with(node, topic, &DataReaderQos::default().reliable().keep_all())
}

pub fn taken(node: &Node, reader: &DataReader<Count>) -> Vec<u32> {
    let samples = node.run(|| reader.take(usize::MAX)).unwrap();
    samples.iter().filter_map(|sample| sample.data.as_ref()).map(|count| count.n).collect()
}
