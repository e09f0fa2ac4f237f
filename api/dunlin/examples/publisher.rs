//! Writes ten temperatures to a topic. `subscriber.rs` is the other side.

use dunlin::qos::{DataWriterQos, PublisherQos, TopicQos};
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
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable().keep_all())?;

    // A reader gets what is written after the two have found each other.
    println!("waiting for a subscriber");
    writer.wait_for_readers(1, Duration::from_secs(60))?;
    for celsius in 11..=20 {
        writer.write(&Temperature { sensor: "bow".into(), celsius: f64::from(celsius) })?;
        println!("wrote {celsius}");
    }
    // Until every reader has everything.
    writer.wait_for_acknowledgments(Duration::from_secs(10))?;
    Ok(())
}
