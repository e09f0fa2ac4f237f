//! What the programs of most nodes have in common.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Context, Node, Result, Sim, SimBuilder};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, Duration, TopicType};

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub struct Reading {
    pub n: u32,
    pub note: String,
}

pub fn reading(n: u32) -> Reading {
    Reading { n, note: "none".into() }
}

pub const fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

pub const fn millis(n: i64) -> Duration {
    Duration::from_millis(n)
}

/// Reliable, keeping everything, also for those who come later.
pub fn writer_qos() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all().transient_local()
}

pub fn reader_qos() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all().transient_local()
}

/// With so much room for what somebody has yet to acknowledge.
pub fn small_writer_qos(samples: i32) -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all().resource_limits(samples, -1, -1)
}

/// With room for one: the second is acknowledged when the first is taken.
pub fn small_reader_qos() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all().resource_limits(1, -1, -1)
}

/// Two participants that know each other.
pub fn discovered_pair(sim: &mut Sim) -> Result<(Node, Node, DomainParticipant, DomainParticipant)> {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let one = a.run(|| DomainParticipant::new(0))?;
    let other = b.run(|| DomainParticipant::new(0))?;
    let meet = || one.discovered_participants().len() == 1 && other.discovered_participants().len() == 1;
    sim.run_until(meet, secs(60))?;
    sim.run_for(secs(2))?;
    Ok((a, b, one, other))
}

/// Code of an application that does not know where it runs.
pub fn writer(qos: &DataWriterQos) -> Result<DataWriter<Reading>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, qos)?)
}

pub fn reader(qos: &DataReaderQos) -> Result<DataReader<Reading>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
    Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos)?)
}

/// Writes so many readings, one each 10 ms.
pub async fn sensor(cx: Context, count: u32) -> Result {
    let writer = writer(&writer_qos())?;
    while writer.matched_subscriptions().is_empty() {
        cx.sleep(millis(10)).await;
    }
    for n in 0..count {
        writer.write_async(&reading(n)).await?;
        cx.sleep(millis(10)).await;
    }
    writer.wait_for_acknowledgments_async().await?;
    Ok(())
}

/// Collects so many readings.
pub async fn display(count: usize) -> Result<Vec<u32>> {
    let mut stream = reader(&reader_qos())?.stream();
    let mut seen = Vec::new();
    while seen.len() < count {
        seen.extend(stream.next().await.and_then(|sample| sample.data).map(|reading| reading.n));
    }
    Ok(seen)
}

/// A network that loses a fifth and delays each datagram differently.
pub fn bad_network() -> SimBuilder {
    Sim::builder().loss(0.2).delay(millis(1), millis(20))
}

pub fn matched<W: TopicType, R: TopicType>(writer: &DataWriter<W>, reader: &DataReader<R>) -> bool {
    writer.matched_subscriptions().len() == 1 && reader.matched_publications().len() == 1
}
