//! A reader learns that a sensor has fallen silent: DEADLINE, told to a listener.

use std::sync::mpsc::{Sender, channel};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{
    DataReader, DataReaderListener, DdsType, DeadlineMissedStatus, DomainParticipant, Duration, StatusMask,
};

#[derive(DdsType, Clone, Debug, Default)]
struct Temperature {
    #[dds(key)]
    sensor: String,
    celsius: f64,
}

struct Alarm(Sender<String>);

impl DataReaderListener<Temperature> for Alarm {
    fn on_requested_deadline_missed(&self, reader: &DataReader<Temperature>, status: DeadlineMissedStatus) {
        // Long work belongs on a thread of your own: this one receives for the whole domain.
        if let Ok(key) = reader.key_value(status.last_instance) {
            let _ = self.0.send(key.sensor);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Temperature>("Temperature", &TopicQos::default())?;

    // The writer promises a value of each sensor at least every 100 ms. A reader may request that or more time.
    let mut offered = DataWriterQos::default().reliable();
    offered.deadline.period = Duration::from_millis(100);
    let mut requested = DataReaderQos::default().reliable();
    requested.deadline.period = Duration::from_millis(200);

    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    let reader = subscriber.create_datareader(&topic, &requested)?;
    let (alarm, silent) = channel();
    reader.set_listener(Alarm(alarm), StatusMask::REQUESTED_DEADLINE_MISSED);

    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, &offered)?;
    writer.wait_for_readers(1, Duration::from_secs(10))?;
    writer.write(&Temperature { sensor: "bow".into(), celsius: 11.0 })?;
    println!("no value of {} in time", silent.recv()?);
    Ok(())
}
