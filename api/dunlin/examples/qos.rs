//! QoS: a writer that keeps three samples for late readers, and a reader whose request no writer can meet.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Against, DdsType, DomainParticipant, Duration};

#[derive(DdsType, Clone, Debug, Default)]
struct Temperature {
    #[dds(key)]
    sensor: String,
    celsius: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Temperature>("Temperature", &TopicQos::default())?;
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let qos = DataWriterQos::default().reliable().transient_local().keep_last(3);
    let writer = publisher.create_datawriter(&topic, &qos)?;
    for celsius in 11..=20 {
        writer.write(&Temperature { sensor: "bow".into(), celsius: f64::from(celsius) })?;
    }

    // This reader comes after the samples and asks for those that the writer has kept.
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    let qos = DataReaderQos::default().reliable().transient_local().keep_all();
    let late = subscriber.create_datareader(&topic, &qos)?;
    late.wait_for_historical_data(Duration::from_secs(10))?;
    for value in late.take(16)?.into_iter().filter_map(|sample| sample.data) {
        println!("late reader: {}", value.celsius);
    }

    // The writer promises no deadline, so a reader that requests one does not match. `participant.explain` says why.
    let mut qos = DataReaderQos::default().reliable();
    qos.deadline.period = Duration::from_secs(1);
    let strict = subscriber.create_datareader(&topic, &qos)?;
    let explanation = participant.explain(&strict, Against::Topic);
    for cause in explanation.pairs.iter().flat_map(|pair| &pair.causes) {
        println!("no match: {cause}");
    }
    Ok(())
}
