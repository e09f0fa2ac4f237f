//! A reader that receives part of a topic, and a query over what another reader has.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DdsType, DomainParticipant, Duration, StateMasks};

#[derive(DdsType, Clone, Debug, Default)]
struct Temperature {
    #[dds(key)]
    sensor: String,
    celsius: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Temperature>("Temperature", &TopicQos::default())?;
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    let qos = DataReaderQos::default().reliable().keep_all();

    // What does not satisfy the filter never enters this reader; writers do not even send it.
    let warm = participant.create_contentfilteredtopic("Warm", &topic, "celsius > %0", &["18"])?;
    let warm_reader = subscriber.create_datareader(&warm, &qos)?;
    let reader = subscriber.create_datareader(&topic, &qos)?;

    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable().keep_all())?;
    writer.wait_for_readers(2, Duration::from_secs(10))?;
    for celsius in 11..=20 {
        writer.write(&Temperature { sensor: "bow".into(), celsius: f64::from(celsius) })?;
    }
    for value in warm_reader.take(16)?.into_iter().filter_map(|sample| sample.data) {
        println!("warm: {}", value.celsius);
    }

    // A query condition selects among the samples that a reader has, and orders them.
    let query = reader.create_querycondition(StateMasks::ANY, "celsius < 13 ORDER BY celsius", &[""; 0])?;
    for value in reader.take_w_condition(16, &query)?.into_iter().filter_map(|sample| sample.data) {
        println!("cold: {}", value.celsius);
    }
    println!("{} others are left", reader.take(16)?.len());
    Ok(())
}
