//! Takes the samples of `frames_publisher` and says how many came, how many did not, and how fast.
//!
//! `frames_subscriber BYTES COUNT [DOMAIN]`: ends when COUNT samples have come or the publisher has gone. Its exit status is 0
//! only if none was lost, damaged or out of order. Pauses of more than 100 ms are told: since when (Unix time) and how long.

mod frames;

use std::error::Error;
use std::time::{Duration as StdDuration, Instant, SystemTime, UNIX_EPOCH};

use dunlin::qos::{DataReaderQos, SubscriberQos, TopicQos};
use dunlin::{DomainParticipant, Duration, StateMasks, WaitSet};
use frames::{Frame, TOPIC, argument};

/// A pause between two samples that is worth a line.
const PAUSE: StdDuration = StdDuration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let (bytes, count) = (argument(1, 921_600), argument(2, 200));
    let participant = DomainParticipant::new(argument(3, 0).try_into()?)?;
    let topic = participant.create_topic::<Frame>(TOPIC, &TopicQos::default())?;
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all())?;
    let news = reader.create_readcondition(StateMasks::ANY)?;
    let set = WaitSet::new();
    set.attach_condition(news.condition());

    let (mut received, mut wrong, mut arrivals) = (0, 0, None);
    while received < count && set.wait(Duration::from_secs(20)).is_ok() {
        for frame in reader.take(8)?.into_iter().filter_map(|sample| sample.data) {
            let whole = frame.octets.len() == bytes
                && frame.octets.iter().enumerate().all(|(i, o)| *o == (i % 251) as u8);
            wrong += usize::from(!whole || frame.number as usize != received);
            received += 1;
            let now = Instant::now();
            let pause = arrivals.map_or(StdDuration::ZERO, |(_, last)| now - last);
            if pause > PAUSE {
                let began = SystemTime::now().duration_since(UNIX_EPOCH)?.saturating_sub(pause);
                println!("pause {:.3} {:.3}", began.as_secs_f64(), pause.as_secs_f64());
            }
            arrivals = Some((arrivals.map_or(now, |(first, _)| first), now));
        }
    }
    let between = arrivals.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
    let rate = received.saturating_sub(1) as f64 / between.max(f64::EPSILON);
    println!("received {received}");
    println!("lost {}", count.saturating_sub(received));
    println!("wrong {wrong}");
    println!("samples_per_second {rate:.3}");
    println!("goodput_megabits {:.3}", rate * bytes as f64 * 8.0 / 1e6);
    println!("statistics {:?}", reader.stats());
    if received < count || wrong > 0 { Err("samples are missing".into()) } else { Ok(()) }
}
