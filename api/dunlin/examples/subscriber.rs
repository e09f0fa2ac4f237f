//! Prints the ten temperatures that `publisher.rs` writes.

use dunlin::qos::{DataReaderQos, SubscriberQos, TopicQos};
use dunlin::{DdsType, DomainParticipant, Duration, StateMasks, WaitSet};

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
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all())?;

    let data = reader.create_readcondition(StateMasks::ANY)?;
    let wait_set = WaitSet::new();
    wait_set.attach_condition(data.condition());
    let mut left = 10;
    while left > 0 {
        wait_set.wait(Duration::INFINITE)?;
        for value in reader.take(16)?.into_iter().filter_map(|sample| sample.data) {
            println!("{}: {} degrees", value.sensor, value.celsius);
            left -= 1;
        }
    }
    Ok(())
}
