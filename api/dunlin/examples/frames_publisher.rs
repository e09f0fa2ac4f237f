//! Writes reliable samples of a fixed size and says what that cost.
//!
//! `frames_publisher BYTES COUNT RATE [DOMAIN [DEPTH]]`: COUNT samples of BYTES octets, RATE of them per second (0: as
//! many as the link takes), at most DEPTH of them not acknowledged. It waits for a subscriber first, and at the end until
//! the subscriber has everything.

mod frames;

use std::error::Error;
use std::time::{Duration as StdDuration, Instant};

use dunlin::qos::{DataWriterQos, PublisherQos, TopicQos};
use dunlin::{DomainParticipant, Duration};
use frames::{Frame, TOPIC, argument};

fn main() -> Result<(), Box<dyn Error>> {
    let (bytes, count, rate) = (argument(1, 921_600), argument(2, 200), argument(3, 0));
    // While one large sample is on the link the next is made ready, which is enough to keep the link busy.
    let depth = argument(5, 1).try_into()?;
    let participant = DomainParticipant::new(argument(4, 0).try_into()?)?;
    let topic = participant.create_topic::<Frame>(TOPIC, &TopicQos::default())?;
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let qos = DataWriterQos::default().reliable().keep_all();
    let qos = qos.resource_limits(depth, -1, -1).max_blocking_time(Duration::from_secs(30));
    let writer = publisher.create_datawriter(&topic, &qos)?;

    writer.wait_for_readers(1, Duration::from_secs(60)).map_err(|_| "no subscriber came within a minute")?;

    let mut frame = Frame { number: 0, octets: (0..bytes).map(|i| (i % 251) as u8).collect() };
    let (wire, cpu, begin) = (frames::sent_octets(), frames::processor_seconds(), Instant::now());
    for number in 0..count {
        if rate > 0 {
            let due = begin + StdDuration::from_secs_f64(number as f64 / rate as f64);
            while Instant::now() < due {
                std::thread::park_timeout(due.saturating_duration_since(Instant::now()));
            }
        }
        frame.number = number as u32;
        writer.write(&frame)?;
    }
    writer.wait_for_acknowledgments(Duration::from_secs(60))?;
    let seconds = begin.elapsed().as_secs_f64();
    let stats = writer.stats();
    println!("seconds {seconds:.3}");
    println!("wire_octets {}", frames::sent_octets() - wire);
    println!("processor_seconds {:.3}", frames::processor_seconds() - cpu);
    println!("peak_megabytes {:.2}", frames::peak_megabytes());
    println!("statistics {stats:?}");
    Ok(())
}
