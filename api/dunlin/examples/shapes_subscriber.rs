//! Prints the squares that this or another vendor's shapes demonstration moves.
//!
//! `cargo run -p dunlin --example shapes_subscriber [DOMAIN]`; Ctrl-C ends.

mod shapes;

use std::error::Error;
use std::sync::mpsc::channel;

use dunlin::qos::{DataReaderQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DataReaderListener, DomainParticipant, InstanceState, MatchedStatus, StatusMask};
use shapes::{ShapeType, TOPIC};

struct Print;

impl DataReaderListener<ShapeType> for Print {
    fn on_data_available(&self, reader: &DataReader<ShapeType>) {
        while let Ok(Some(sample)) = reader.take_next_sample() {
            match (sample.info.instance_state, sample.data, sample.key) {
                (_, Some(s), _) => {
                    println!("{:<10} x {:>3}  y {:>3}  size {}", s.color, s.x, s.y, s.shapesize)
                }
                (InstanceState::NotAliveDisposed, None, Some(key)) => println!("{:<10} disposed", key.color),
                (_, None, Some(key)) => println!("{:<10} has no writer any more", key.color),
                (state, None, None) => println!("an instance without a known key is {state:?}"),
            }
        }
    }

    fn on_subscription_matched(&self, _: &DataReader<ShapeType>, status: MatchedStatus) {
        println!("{} writers", status.current_count);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let domain = std::env::args().nth(1).map_or(Ok(0), |text| text.parse())?;
    let (stop, stopped) = channel();
    ctrlc::set_handler(move || _ = stop.send(()))?;

    let participant = DomainParticipant::new(domain)?;
    let topic = participant.create_topic::<ShapeType>(TOPIC, &TopicQos::default())?;
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_last(8))?;
    println!("{TOPIC} in domain {domain}; Ctrl-C ends");
    reader.set_listener(Print, StatusMask::DATA_AVAILABLE | StatusMask::SUBSCRIPTION_MATCHED);
    stopped.recv()?;
    Ok(())
}
