//! Samples in async code, here on Tokio; any executor does.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DdsType, DomainParticipant, WriteError};

#[derive(DdsType, Clone, Debug, Default)]
struct Temperature {
    #[dds(key)]
    sensor: String,
    celsius: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Temperature>("Temperature", &TopicQos::default())?;
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all())?;
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable().keep_all())?;
    writer.wait_for_readers_async(1).await?;

    let writing = async move {
        for celsius in 11..=13 {
            let value = Temperature { sensor: "bow".into(), celsius: f64::from(celsius) };
            writer.write_async(&value).await?;
        }
        // The writer stays until its reader has everything.
        Ok::<_, WriteError>(writer)
    };
    let reading = async {
        let mut samples = reader.stream();
        for _ in 0..3 {
            if let Some(value) = samples.next().await.and_then(|sample| sample.data) {
                println!("{}: {} degrees", value.sensor, value.celsius);
            }
        }
    };
    let (written, ()) = tokio::join!(writing, reading);
    written?;
    Ok(())
}
