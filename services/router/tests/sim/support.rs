//! What the scenarios have in common.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Node, Result, Sim, SimBuilder};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, Duration, GuardCondition, Sample};
use dunlin_router::{Router, RouterConfig};

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub struct Track {
    #[dds(key)]
    pub id: u32,
    pub position: i64,
}

pub fn track(id: u32, position: i64) -> Track {
    Track { id, position }
}

pub const fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

pub const fn millis(n: i64) -> Duration {
    Duration::from_millis(n)
}

pub fn bad_network() -> SimBuilder {
    Sim::builder().loss(0.1).delay(millis(1), millis(10))
}

/// Reliable, keeping everything, also for those who come later.
pub fn writer_qos() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all().transient_local().autodispose_unregistered_instances(false)
}

pub fn reader_qos() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all().transient_local()
}

/// A writer of tracks somewhere.
pub struct At<'a> {
    pub domain: u32,
    pub topic: &'a str,
    pub partition: &'a str,
}

pub const fn at(domain: u32, topic: &str) -> At<'_> {
    At { domain, topic, partition: "" }
}

pub fn writer<T: DdsType>(node: &Node, place: &At<'_>, qos: &DataWriterQos) -> Result<DataWriter<T>> {
    node.run(|| {
        let participant = DomainParticipant::new(place.domain)?;
        let topic = participant.create_topic::<T>(place.topic, &TopicQos::default())?;
        let publisher = PublisherQos::default().partition(partition(place));
        Ok(participant.create_publisher(&publisher)?.create_datawriter(&topic, qos)?)
    })
}

pub fn reader<T: DdsType>(node: &Node, place: &At<'_>, qos: &DataReaderQos) -> Result<DataReader<T>> {
    node.run(|| {
        let participant = DomainParticipant::new(place.domain)?;
        let topic = participant.create_topic::<T>(place.topic, &TopicQos::default())?;
        let subscriber = SubscriberQos::default().partition(partition(place));
        Ok(participant.create_subscriber(&subscriber)?.create_datareader(&topic, qos)?)
    })
}

fn partition(place: &At<'_>) -> Option<String> {
    (!place.partition.is_empty()).then(|| place.partition.to_owned())
}

/// The head of a configuration with two domains.
pub const TWO: &str = "name = \"gate\"\nparticipant.inner.domain = 0\nparticipant.outer.domain = 1\n";

pub fn config(text: &str) -> RouterConfig {
    RouterConfig::from_toml("test.toml", text, None).unwrap()
}

/// Runs a router on a node, also after each restart of it.
pub fn route(node: &Node, text: &str) {
    let config = config(text);
    node.on_start_thread(move |_| {
        Router::new(config.clone())?.run(&GuardCondition::new())?;
        Ok(())
    });
}

/// Takes what there is.
pub fn take<T: DdsType>(node: &Node, reader: &DataReader<T>) -> Vec<Sample<T>> {
    node.run(|| reader.take(usize::MAX)).unwrap()
}

/// Positions of the samples with data.
pub fn positions(samples: &[Sample<Track>]) -> Vec<i64> {
    samples.iter().filter_map(|sample| sample.data.as_ref()).map(|track| track.position).collect()
}
