//! Latency and throughput over the loopback interface, each side a process of its own.
//!
//! `cargo run --release -p dunlin --example bench [DOMAIN]`. The program starts itself a second time for the far side.
//! Both figures depend on the machine and on what else it does; compare only what was measured side by side.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration, StatusMask};
use std::error::Error;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::sync::mpsc::channel;
use std::time::{Duration as StdDuration, Instant};

const ROUND_TRIPS: usize = 20_000;
const WARM_UP: usize = 2_000;
const SAMPLES: u64 = 200_000;
const SMALL_SAMPLES: u64 = 1_000_000;
const PATIENCE: StdDuration = StdDuration::from_secs(30);

/// 64 octets of data.
#[derive(DdsType, Clone, Debug, Default)]
struct Ping {
    number: u64,
    rest: [u64; 7],
}

/// 16 octets of data.
#[derive(DdsType, Clone, Debug)]
struct Tiny {
    number: u64,
    rest: u64,
}

/// 1 KiB of data.
#[derive(DdsType, Clone, Debug)]
struct Block {
    number: u64,
    rest: [u64; 127],
}

type Failure = Box<dyn Error>;

fn participant(domain: u32) -> Result<DomainParticipant, Failure> {
    let mut config = Config::load()?;
    config.set("network.interfaces", "lo")?;
    Ok(DomainParticipant::builder(domain).config(config).build()?)
}

fn writer<T: DdsType>(of: &DomainParticipant, topic: &str, history: i32) -> Result<DataWriter<T>, Failure> {
    let topic = of.create_topic::<T>(topic, &TopicQos::default())?;
    let qos = DataWriterQos::default().reliable().keep_all();
    let qos = qos.resource_limits(history, -1, -1).max_blocking_time(Duration::from_secs(10));
    Ok(of.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?)
}

fn reader<T: DdsType>(of: &DomainParticipant, topic: &str) -> Result<DataReader<T>, Failure> {
    let topic = of.create_topic::<T>(topic, &TopicQos::default())?;
    let qos = DataReaderQos::default().reliable().keep_all();
    Ok(of.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?)
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        if Instant::now() > deadline {
            return Err(format!("not within {} s: {what}", PATIENCE.as_secs()).into());
        }
        std::thread::park_timeout(StdDuration::from_millis(1));
    }
    Ok(())
}

/// Counts samples, and says so once all are there.
fn count<T: DdsType>(reader: &DataReader<T>, all: u64, counts: DataWriter<Ping>) {
    let seen = AtomicU64::new(0);
    reader.set_listener(
        move |reader: &DataReader<T>| {
            let taken = reader.take_payloads(usize::MAX).unwrap_or_default().len() as u64;
            let before = seen.fetch_add(taken, SeqCst);
            if before < all && before + taken >= all {
                _ = counts.write(&Ping { number: before + taken, ..Ping::default() });
            }
        },
        StatusMask::DATA_AVAILABLE,
    );
}

/// The far side: sends pings back, and counts the others. Ends when the near side has gone.
fn far_side(domain: u32) -> Result<(), Failure> {
    let participant = participant(domain)?;
    let pongs = writer::<Ping>(&participant, "Pong", 1_000)?;
    let counts = writer::<Ping>(&participant, "Count", 1_000)?;
    let pings = reader::<Ping>(&participant, "Ping")?;
    let (tiny, small) = (reader::<Tiny>(&participant, "Tiny")?, reader::<Ping>(&participant, "Small")?);
    let blocks = reader::<Block>(&participant, "Block")?;
    pings.set_listener(
        move |reader: &DataReader<Ping>| {
            while let Ok(Some(sample)) = reader.take_next_sample() {
                sample.data.iter().for_each(|ping| _ = pongs.write(ping));
            }
        },
        StatusMask::DATA_AVAILABLE,
    );
    count(&tiny, SMALL_SAMPLES, counts.clone());
    count(&small, SMALL_SAMPLES, counts.clone());
    count(&blocks, SAMPLES, counts);
    // The blocks are the last that the near side does.
    wait_until("the near side", || blocks.subscription_matched_status().total_count > 0)?;
    while blocks.subscription_matched_status().current_count > 0 {
        std::thread::park_timeout(StdDuration::from_millis(20));
    }
    Ok(())
}

fn percentile(sorted: &[f64], part: f64) -> f64 {
    let index = (sorted.len() as f64 * part) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

fn latency(participant: &DomainParticipant) -> Result<(), Failure> {
    let (pings, pongs) = (writer::<Ping>(participant, "Ping", 1_000)?, reader::<Ping>(participant, "Pong")?);
    let (back, came_back) = channel();
    pongs.set_listener(
        move |reader: &DataReader<Ping>| {
            while let Ok(Some(sample)) = reader.take_next_sample() {
                sample.data.iter().for_each(|ping| _ = back.send((ping.number, Instant::now())));
            }
        },
        StatusMask::DATA_AVAILABLE,
    );
    matched(&pings)?;
    wait_until("the pongs' writer", || !pongs.matched_publications().is_empty())?;
    let mut micros = Vec::with_capacity(ROUND_TRIPS);
    for number in 0..(WARM_UP + ROUND_TRIPS) as u64 {
        let begin = Instant::now();
        pings.write(&Ping { number, ..Ping::default() })?;
        let (seen, end) =
            came_back.recv_timeout(PATIENCE).map_err(|error: mpsc::RecvTimeoutError| error.to_string())?;
        assert_eq!(seen, number);
        micros.push((end - begin).as_secs_f64() * 1e6);
    }
    micros.drain(..WARM_UP);
    micros.sort_by(f64::total_cmp);
    let mean = micros.iter().sum::<f64>() / micros.len() as f64;
    println!(
        "round trip of 64 B, µs     mean {mean:8.1}   p50 {:8.1}   p99 {:8.1}   max {:8.1}   ({ROUND_TRIPS} samples)",
        percentile(&micros, 0.5),
        percentile(&micros, 0.99),
        percentile(&micros, 1.0)
    );
    Ok(())
}

/// Writes `samples` of `make` as fast as they go.
fn throughput<T: DdsType>(
    participant: &DomainParticipant,
    (topic, octets): (&str, usize),
    (history, samples): (i32, u64),
    make: impl Fn(u64) -> T,
) -> Result<(), Failure> {
    let (writer, counts) = (writer::<T>(participant, topic, history)?, reader::<Ping>(participant, "Count")?);
    let (all, all_there) = channel();
    counts.set_listener(
        move |reader: &DataReader<Ping>| _ = reader.take(8).map(|_| all.send(Instant::now())),
        StatusMask::DATA_AVAILABLE,
    );
    matched(&writer)?;
    wait_until("the counts' writer", || !counts.matched_publications().is_empty())?;
    let begin = Instant::now();
    for number in 0..samples {
        writer.write(&make(number))?;
    }
    let seconds = (all_there.recv_timeout(PATIENCE)? - begin).as_secs_f64();
    let rate = samples as f64 / seconds;
    let gigabits = rate * (octets * 8) as f64 / 1e9;
    println!(
        "one way, {octets:>4} B reliable   {rate:9.0} samples/s   {gigabits:.2} Gbit/s   ({samples} samples, none lost)"
    );
    Ok(())
}

fn matched<T: DdsType>(writer: &DataWriter<T>) -> Result<(), Failure> {
    wait_until("the far side", || !writer.matched_subscriptions().is_empty())
}

/// Ends the far side even when the near side fails.
struct FarSide(Child);

impl Drop for FarSide {
    fn drop(&mut self) {
        let deadline = Instant::now() + StdDuration::from_secs(3);
        while Instant::now() < deadline && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::park_timeout(StdDuration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() -> Result<(), Failure> {
    let domain = std::env::args().nth(1).map_or(Ok(99), |text| text.parse::<u32>())?;
    if std::env::args().nth(2).as_deref() == Some("far") {
        return far_side(domain);
    }
    let _far = FarSide(Command::new(std::env::current_exe()?).args([&domain.to_string(), "far"]).spawn()?);
    let participant = participant(domain)?;
    latency(&participant)?;
    let small = (10_000, SMALL_SAMPLES);
    throughput(&participant, ("Tiny", 16), small, |number| Tiny { number, rest: 0 })?;
    throughput(&participant, ("Small", 64), small, |number| Ping { number, ..Ping::default() })?;
    throughput(&participant, ("Block", 1024), (1_000, SAMPLES), |number| Block { number, rest: [0; 127] })
}
