//! Moves a square over the board, as the shapes demonstrations of other vendors show it.
//!
//! `cargo run -p dunlin --example shapes_publisher [COLOR] [DOMAIN]`; Ctrl-C disposes the square and ends.

mod shapes;

use std::error::Error;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use dunlin::qos::{DataWriterQos, PublisherQos, TopicQos};
use dunlin::{DataWriter, DataWriterListener, DomainParticipant, StatusMask};
use shapes::{ShapeType, TOPIC};

const BOARD: (i32, i32) = (240, 270);
const SIZE: i32 = 30;

struct TellMatches;

impl DataWriterListener<ShapeType> for TellMatches {
    fn on_publication_matched(&self, _: &DataWriter<ShapeType>, status: dunlin::MatchedStatus) {
        println!("{} readers", status.current_count);
    }
}

/// A way that runs from wall to wall: 0 up to `length` and back.
fn bounce(step: i32, length: i32) -> i32 {
    let place = step.rem_euclid(2 * length);
    if place < length { place } else { 2 * length - place }
}

fn main() -> Result<(), Box<dyn Error>> {
    let color = std::env::args().nth(1).unwrap_or_else(|| "BLUE".into());
    let domain = std::env::args().nth(2).map_or(Ok(0), |text| text.parse())?;
    let (stop, stopped) = channel();
    ctrlc::set_handler(move || _ = stop.send(()))?;

    let participant = DomainParticipant::new(domain)?;
    let topic = participant.create_topic::<ShapeType>(TOPIC, &TopicQos::default())?;
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable())?;
    writer.set_listener(TellMatches, StatusMask::PUBLICATION_MATCHED);

    println!("{color} {TOPIC} in domain {domain}; Ctrl-C ends");
    let mut shape = ShapeType { color, shapesize: SIZE, ..ShapeType::default() };
    for step in 0.. {
        shape.x = SIZE / 2 + bounce(step * 3, BOARD.0 - SIZE);
        shape.y = SIZE / 2 + bounce(step * 2, BOARD.1 - SIZE);
        writer.write(&shape)?;
        if stopped.recv_timeout(Duration::from_millis(40)) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    writer.dispose(&shape)?;
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(2))?;
    println!("{} disposed", shape.color);
    Ok(())
}
