//! A large sample that is written and read where it lies. Between processes of one host it is never copied.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DdsType, DomainParticipant, Duration};

/// Final, without padding, and all members are numbers or arrays of numbers: its bytes in memory are those on the wire.
#[derive(DdsType)]
#[repr(C)]
#[dds(final)]
struct Image {
    number: u32,
    pixels: [u8; 307_200],
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Image>("Image", &TopicQos::default())?;
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable())?;
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable())?;
    writer.wait_for_readers(1, Duration::from_secs(10))?;

    let mut image = writer.loan_sample()?;
    image.number = 1;
    image.pixels.fill(7);
    writer.write_loaned(image)?;

    for sample in reader.take_loaned(4)? {
        if let Some(image) = sample.data() {
            println!(
                "image {}: {} pixels, the last is {}",
                image.number,
                image.pixels.len(),
                image.pixels[307_199]
            );
        }
    }
    Ok(())
}
