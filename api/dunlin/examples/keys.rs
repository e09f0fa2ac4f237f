//! Two sensors on one topic. The key tells them apart: each sensor is an instance.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DdsType, DomainParticipant, Duration};

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
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable())?;
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable())?;
    writer.wait_for_readers(1, Duration::from_secs(10))?;

    for (sensor, celsius) in [("bow", 11.0), ("stern", 14.0), ("bow", 12.0)] {
        writer.write(&Temperature { sensor: sensor.into(), celsius })?;
    }
    // HISTORY is KEEP_LAST 1: the reader keeps the newest value of each instance.
    for sample in reader.take(16)? {
        println!("{:?}", sample.data);
    }
    // The stern sensor is gone for good.
    writer.dispose(&Temperature { sensor: "stern".into(), ..Temperature::default() })?;
    for sample in reader.take(16)? {
        let sensor = sample.key.map(|key| key.sensor);
        println!("{sensor:?} is {:?}", sample.info.instance_state);
    }
    Ok(())
}
