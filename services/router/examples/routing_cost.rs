//! What a router costs: latency and throughput beside the direct path, and the time until 1,000 topics are routed. All in one process, over
//! UDP on the loopback interface.
//!
//! `cargo run --release -p dunlin-router --example routing_cost`

use std::error::Error;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, GuardCondition, StatusMask};
use dunlin_router::{Router, RouterConfig};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The domain at the source; the next one is the destination.
const DOMAIN: u32 = 170;

#[derive(DdsType, Clone, Debug, Default)]
struct Blob {
    number: u64,
    octets: Vec<u8>,
}

fn config() -> Result<Config> {
    let mut config = Config::default();
    config.set("shared_memory.enabled", "false")?;
    config.set("network.interfaces", "lo")?;
    Ok(config)
}

fn participant(domain: u32) -> Result<DomainParticipant> {
    Ok(DomainParticipant::builder(domain).config(config()?).build()?)
}

struct Arrived {
    reader: DataReader<Blob>,
    times: Receiver<(u64, Instant)>,
}

fn reader(domain: u32) -> Result<Arrived> {
    let participant = participant(domain)?;
    let topic = participant.create_topic::<Blob>("Blobs", &TopicQos::default())?;
    let (told, times) = channel();
    let told = Mutex::new(told);
    let listener = move |reader: &DataReader<Blob>| {
        let now = Instant::now();
        for sample in reader.take(usize::MAX).unwrap_or_default() {
            let told = told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let _ = told.send((sample.data.map_or(0, |blob| blob.number), now));
        }
    };
    let reader = participant.create_subscriber(&SubscriberQos::default())?.create_datareader_with_listener(
        &topic,
        &DataReaderQos::default().reliable().keep_all(),
        listener,
        StatusMask::DATA_AVAILABLE,
    )?;
    Ok(Arrived { reader, times })
}

fn writer() -> Result<DataWriter<Blob>> {
    let participant = participant(DOMAIN)?;
    let topic = participant.create_topic::<Blob>("Blobs", &TopicQos::default())?;
    let qos = DataWriterQos::default().reliable().keep_all().resource_limits(2000, -1, -1);
    let qos = qos.max_blocking_time(dunlin::Duration::from_secs(10));
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?)
}

/// Runs a router until the end of the process.
fn route() -> Result<()> {
    let text = format!(
        "name = \"measured\"\nparticipant.a.domain = {DOMAIN}\nparticipant.b.domain = {}\n[[route]]\nfrom = \"a\"\nto = \"b\"\n[status]\nparticipants = []\n",
        DOMAIN + 1
    );
    let mut routes = RouterConfig::from_toml("measure", &text, None)?;
    for participant in &mut routes.participants {
        participant.config = Some(config()?);
    }
    let mut router = Router::new(routes)?;
    std::thread::spawn(move || router.run(&GuardCondition::new()).map_err(|error| eprintln!("{error}")));
    Ok(())
}

/// Median and 99th percentile of the time from `write` to the listener.
fn latency(writer: &DataWriter<Blob>, arrived: &Arrived, octets: usize) -> Result<(Duration, Duration)> {
    let mut times = Vec::new();
    for number in 0..4000 {
        let blob = Blob { number, octets: vec![0; octets] };
        let begin = Instant::now();
        writer.write(&blob)?;
        let (seen, end) = arrived.times.recv_timeout(Duration::from_secs(10))?;
        if seen != number {
            return Err(format!("{seen} arrived instead of {number}").into());
        }
        times.push(end - begin);
        std::thread::park_timeout(Duration::from_micros(100));
    }
    times.drain(..500);
    times.sort_unstable();
    Ok((times[times.len() / 2], times[times.len() * 99 / 100]))
}

/// Samples each second until the last one has arrived.
fn throughput(writer: &DataWriter<Blob>, arrived: &Arrived, (count, octets): (u64, usize)) -> Result<f64> {
    let begin = Instant::now();
    let writing = writer.clone();
    let written = std::thread::spawn(move || -> Result<()> {
        for number in 0..count {
            writing.write(&Blob { number, octets: vec![0; octets] })?;
        }
        Ok(())
    });
    let mut last = begin;
    for number in 0..count {
        let (seen, at) = arrived.times.recv_timeout(Duration::from_secs(30))?;
        if seen != number {
            return Err(format!("{seen} arrived instead of {number}").into());
        }
        last = at;
    }
    written.join().map_err(|_| "the writer panicked")??;
    Ok(count as f64 / (last - begin).as_secs_f64())
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) -> Result<Duration> {
    let begin = Instant::now();
    while !done() {
        if begin.elapsed() > Duration::from_secs(60) {
            return Err(format!("{what} takes more than a minute").into());
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    Ok(begin.elapsed())
}

fn measure(name: &str, writer: &DataWriter<Blob>, arrived: &Arrived) -> Result<()> {
    wait_until("matching", || {
        arrived.reader.matched_publications().len() == 1 && !writer.matched_subscriptions().is_empty()
    })?;
    std::thread::park_timeout(Duration::from_millis(300));
    let (median, p99) = latency(writer, arrived, 16)?;
    println!(
        "{name}: latency of 32 B: median {:.1} us, p99 {:.1} us",
        median.as_secs_f64() * 1e6,
        p99.as_secs_f64() * 1e6
    );
    let small = throughput(writer, arrived, (200_000, 48))?;
    println!("{name}: {small:.0} samples/s of 64 B");
    let large = throughput(writer, arrived, (5_000, 100_000))?;
    println!("{name}: {:.2} Gbit/s of 100 KB", large * 100_000.0 * 8.0 / 1e9);
    Ok(())
}

/// From the first writer to the last output, as the destination sees it.
fn thousand_topics() -> Result<()> {
    let (source, destination) = (participant(DOMAIN)?, participant(DOMAIN + 1)?);
    std::thread::park_timeout(Duration::from_secs(1));
    let publisher = source.create_publisher(&PublisherQos::default())?;
    let begin = Instant::now();
    let mut writers = Vec::new();
    for number in 0..1000 {
        let topic = source.create_topic::<Blob>(&format!("Topic{number}"), &TopicQos::default())?;
        writers.push(publisher.create_datawriter(&topic, &DataWriterQos::default().reliable())?);
    }
    let created = begin.elapsed();
    let outputs = || {
        destination.discovered_publications().iter().filter(|it| it.topic_name.starts_with("Topic")).count()
    };
    wait_until("routing", || outputs() == 1000)?;
    println!(
        "1,000 topics: writers created in {created:?}, all outputs known at the destination after {:?}",
        begin.elapsed()
    );
    Ok(())
}

fn main() -> Result<()> {
    let writer = Arc::new(writer()?);
    let direct = reader(DOMAIN)?;
    measure("direct", &writer, &direct)?;
    drop(direct);
    wait_until("unmatching", || writer.matched_subscriptions().is_empty())?;
    route()?;
    let routed = reader(DOMAIN + 1)?;
    measure("routed", &writer, &routed)?;
    thousand_topics()
}
