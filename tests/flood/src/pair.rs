//! The two sides of the pair, each a process of its own.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration as StdDuration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DdsType, DomainParticipant, Duration, StatusMask};

/// Samples in a second.
pub(crate) const RATE: u64 = 1_000;
/// Until the two have found each other, and for what comes late.
const PATIENCE: StdDuration = StdDuration::from_secs(30);
const TOPIC: &str = "Flood";

/// 64 octets.
#[derive(DdsType, Clone, Debug, Default)]
struct Tick {
    number: u64,
    /// Nanoseconds since 1970 when it was due, so that a writer that is held up does not look fast.
    at: u64,
    rest: [u64; 6],
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

fn participant(domain: u32) -> Result<DomainParticipant> {
    let mut config = Config::load()?;
    config.set("network.interfaces", "lo")?;
    // What is flooded is the network.
    config.set("shared_memory.enabled", "false")?;
    Ok(DomainParticipant::builder(domain).config(config).build()?)
}

/// Octets of memory that this process has.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kibibytes << 10)
}

/// Writes the samples, and prints the memory that takes, and the time in microseconds.
pub(crate) fn write(domain: u32, seconds: u64) -> Result<()> {
    let participant = participant(domain)?;
    let topic = participant.create_topic::<Tick>(TOPIC, &TopicQos::default())?;
    let qos = DataWriterQos::default().reliable().keep_all().resource_limits(10_000, -1, -1);
    let qos = qos.max_blocking_time(Duration::from_secs(10));
    let writer = participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?;
    let deadline = Instant::now() + PATIENCE;
    while writer.matched_subscriptions().is_empty() {
        if Instant::now() > deadline {
            bail!("the reader was not found");
        }
        std::thread::park_timeout(StdDuration::from_millis(1));
    }
    let (begin, wall) = (Instant::now(), now());
    for number in 0..seconds * RATE {
        let due = begin + StdDuration::from_secs(1) * number as u32 / RATE as u32;
        while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            std::thread::park_timeout(left);
        }
        let at = wall + number * 1_000_000_000 / RATE;
        writer.write(&Tick { number, at, ..Tick::default() })?;
    }
    let micros = begin.elapsed().as_micros();
    writer.wait_for_acknowledgments(Duration::from_secs(30))?;
    println!("{} {micros}", resident()?);
    Ok(())
}

/// Takes the samples, and prints what was lost, how long the others took, and what else came.
pub(crate) fn read(domain: u32, seconds: u64) -> Result<()> {
    let participant = participant(domain)?;
    let topic = participant.create_topic::<Tick>(TOPIC, &TopicQos::default())?;
    let qos = DataReaderQos::default().reliable().keep_all();
    let reader = participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?;
    let (arrived, arrivals) = channel();
    reader.set_listener(
        move |reader: &DataReader<Tick>| {
            while let Ok(Some(sample)) = reader.take_next_sample() {
                let arrival = now();
                sample
                    .data
                    .iter()
                    .for_each(|tick| _ = arrived.send((tick.number, arrival.saturating_sub(tick.at))));
            }
        },
        StatusMask::DATA_AVAILABLE,
    );
    let count = seconds * RATE;
    let (mut next, mut micros) = (0, Vec::new());
    while next < count {
        let (number, took) = match arrivals.recv_timeout(PATIENCE) {
            Ok(arrival) => arrival,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        };
        if number < next {
            bail!("sample {number} after {next}");
        }
        next = number + 1;
        micros.push(took / 1_000);
    }
    let lost = count - micros.len() as u64;
    micros.sort_unstable();
    let part = |part: f64| micros.get((micros.len() as f64 * part) as usize).or(micros.last()).copied();
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|of| part(of).unwrap_or(0));
    let stats = participant.stats();
    let (strangers, given_up) =
        (stats.discovery.participants_unverified, stats.discovery.participants_evicted);
    let (datagrams, malformed) = (stats.datagrams, stats.malformed);
    println!("{lost} {p50} {p99} {max} {} {datagrams} {malformed} {strangers} {given_up}", resident()?);
    Ok(())
}
