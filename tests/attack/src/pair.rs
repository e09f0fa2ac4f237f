//! The two sides of the pair, each a process of its own. What they have seen they print, one line of JSON each.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, bail};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{
    Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration, ReadError, StatusMask, WriteError,
};
use serde::{Deserialize, Serialize};

use crate::children::{Children, IsChild};
use crate::counters::Counters;
use crate::places::{Channel, Places, Side, Way};

/// Samples in a second.
pub const RATE: u64 = 1_000;
/// The topic.
pub const TOPIC: &str = "Attack";
/// The type's name.
pub const TYPE_NAME: &str = "Tick";
/// Until the two have found each other, and for what comes late.
const PATIENCE: StdDuration = StdDuration::from_secs(10);

/// 56 octets. Others may write to the topic as well; theirs have another key.
#[derive(DdsType, Clone, Debug, Default)]
pub struct Tick {
    /// 0 for those of the pair.
    #[dds(key)]
    pub source: u32,
    /// Made of the number: nobody else's content passes for one of the pair.
    pub check: u32,
    /// From 0 on.
    pub number: u64,
    /// Filler that filters can look at.
    pub text: String,
}

/// What a number has for its check.
pub fn check(number: u64) -> u32 {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// What a side is asked to do.
#[derive(Clone, Debug)]
pub struct Task {
    /// Where.
    pub places: Places,
    /// For how many seconds samples are written.
    pub seconds: u64,
    /// The folder of shared memory.
    pub folder: String,
}

/// What a side says when it has found the other one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// Its endpoint, in hexadecimal digits.
    pub guid: String,
}

/// What a side has seen in the end. Each fills in its part.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Samples of the pair that arrived, each once.
    pub received: u64,
    /// Those that arrived again, or behind a later one.
    pub again: u64,
    /// Those in the pair's name that the pair did not write.
    pub forged: u64,
    /// Samples of others.
    pub foreign: u64,
    /// Longest time between two arrivals, in milliseconds.
    pub pause_ms: u64,
    /// Samples that the application was told it lost or that were rejected.
    pub told: u64,
    /// Calls of `write` that failed.
    pub failed: u64,
    /// Whether the writer was told that not all readers have acknowledged all: an attacker's reader need not.
    pub unacknowledged: bool,
    /// Processor time, in milliseconds.
    pub processor_ms: u64,
    /// The most memory it had, in octets.
    pub memory: u64,
    /// How long the writer took for all samples, in milliseconds.
    pub written_ms: u64,
    /// How much later than the fastest of all samples the others came, in microseconds: of half of them, of 99 in 100, of all.
    pub delay_us: [u64; 3],
    /// Children of fork that did not end as they should.
    pub failed_children: u64,
    /// What else it has counted.
    pub counters: Counters,
}

fn participant(task: &Task, side: Side) -> Result<DomainParticipant> {
    let mut config = Config::load()?;
    let way = task.places.way;
    config.set("network.interfaces", "lo")?;
    config.set("network.participant_index", if side == Side::Reader { "0" } else { "1" })?;
    config.set("shared_memory.enabled", if way == Way::SharedMemory { "true" } else { "false" })?;
    config.set("shared_memory.directory", &task.folder)?;
    config.set("network.ipv4", if way == Way::Ipv6 { "false" } else { "true" })?;
    config.set("network.ipv6", if way == Way::Ipv6 { "true" } else { "false" })?;
    config.set("network.udp", if way == Way::Tcp { "false" } else { "true" })?;
    config.set("tcp.enabled", if way == Way::Tcp { "true" } else { "false" })?;
    config.set("tcp.port", &task.places.tcp(side).port().to_string())?;
    config.set("logging.filter", "off")?;
    let other = if side == Side::Reader { Side::Writer } else { Side::Reader };
    let place = task.places.of(other, Channel::Metatraffic);
    let scheme = if way == Way::Tcp { "tcp://" } else { "" };
    config.set("discovery.peers", &format!("{scheme}{place}"))?;
    Ok(DomainParticipant::builder(u32::from(task.places.domain)).config(config).build()?)
}

/// Memory at its most, in octets, and processor time, in milliseconds, of this process.
fn consumption() -> Result<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').context("no stat")?.1;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    // Linux counts in hundredths of a second, whatever the kernel's own clock (USER_HZ).
    Ok((kibibytes << 10, ticks.sum::<Result<u64, _>>()? * 10))
}

fn say<T: Serialize>(what: &T) -> Result<()> {
    println!("{}", serde_json::to_string(what)?);
    Ok(())
}

fn ready(guid: Option<dunlin::Guid>) -> Result<()> {
    let octets = guid.context("the endpoint is gone")?.to_bytes();
    say(&Ready { guid: octets.iter().map(|octet| format!("{octet:02x}")).collect() })
}

/// Does what a side has to do.
///
/// # Errors
/// When the other side is not found, or an entity cannot be made.
pub fn run(side: Side, task: &Task) -> Result<()> {
    let participant = participant(task, side)?;
    let report = match side {
        Side::Reader => read(&participant, task)?,
        Side::Writer => write(&participant, task)?,
    };
    let (memory, processor_ms) = consumption()?;
    say(&Report { memory, processor_ms, ..report })
}

fn write(participant: &DomainParticipant, task: &Task) -> Result<Report> {
    let topic = participant.create_topic::<Tick>(TOPIC, &TopicQos::default())?;
    let qos = DataWriterQos::default().reliable().keep_all().resource_limits(5_000, -1, -1);
    let qos = qos.max_blocking_time(Duration::from_secs(2));
    let writer = participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?;
    let deadline = Instant::now() + PATIENCE;
    while writer.matched_subscriptions().is_empty() {
        if Instant::now() > deadline {
            bail!("the reader was not found");
        }
        std::thread::park_timeout(StdDuration::from_millis(1));
    }
    ready(writer.guid())?;
    let begin = Instant::now();
    let mut children = Children::as_asked(Path::new(&task.folder));
    let failed = write_all(&writer, task.seconds, &mut children)?;
    let written_ms = begin.elapsed().as_millis() as u64;
    let unacknowledged = writer.wait_for_acknowledgments(Duration::from_secs(2)).is_err();
    // What was asked for late is still sent.
    let end = Instant::now() + StdDuration::from_secs(1);
    while Instant::now() < end {
        std::thread::park_timeout(StdDuration::from_millis(50));
    }
    let (forks, failed_children) = children.finish();
    let counters = Counters { forks, ..Counters::of(participant).with_writer(&writer.stats()) };
    Ok(Report { failed, unacknowledged, written_ms, failed_children, counters, ..Report::default() })
}

/// How many calls failed.
fn write_all(writer: &DataWriter<Tick>, seconds: u64, children: &mut Children) -> Result<u64> {
    let begin = Instant::now();
    let mut failed = 0;
    for number in 0..seconds * RATE {
        let due = begin + StdDuration::from_secs(1) * number as u32 / RATE as u32;
        while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            std::thread::park_timeout(left);
        }
        let tick = Tick { source: 0, check: check(number), number, text: "The quick brown fox".into() };
        failed += u64::from(writer.write(&tick).is_err());
        children.make(|| writer_is_refused(writer, &tick))?;
        if begin.elapsed() > StdDuration::from_secs(seconds) + PATIENCE {
            break;
        }
    }
    Ok(failed)
}

/// In a child of fork: whether nothing can be done with the writer of the parent.
fn writer_is_refused(writer: &DataWriter<Tick>, tick: &Tick) -> bool {
    let results = [writer.write(tick).map(drop), writer.dispose(tick)];
    let refused = |result: &Result<(), WriteError>| matches!(result, Err(WriteError::AlreadyDeleted));
    let waits = writer.wait_for_acknowledgments(Duration::from_secs(1)).is_err();
    results.iter().all(refused) && waits && writer.matched_subscriptions().is_empty()
}

/// The same of a reader.
fn reader_is_refused(reader: &DataReader<Tick>) -> bool {
    let results = [reader.take(1).map(drop), reader.read(1).map(drop), reader.take_next_sample().map(drop)];
    let refused = |result: &Result<(), ReadError>| matches!(result, Err(ReadError::AlreadyDeleted));
    results.iter().all(refused) && reader.matched_publications().is_empty()
}

fn read(participant: &DomainParticipant, task: &Task) -> Result<Report> {
    let topic = participant.create_topic::<Tick>(TOPIC, &TopicQos::default())?;
    let qos = DataReaderQos::default().reliable().keep_all();
    let reader = participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?;
    let (arrived, arrivals) = channel();
    reader.set_listener(
        move |reader: &DataReader<Tick>| {
            while let Ok(Some(sample)) = reader.take_next_sample() {
                sample.data.iter().for_each(|tick| _ = arrived.send((tick.clone(), Instant::now())));
            }
        },
        StatusMask::DATA_AVAILABLE,
    );
    ready(reader.guid())?;
    let mut children = Children::as_asked(Path::new(&task.folder));
    let report = count(&arrivals, task.seconds * RATE, || children.make(|| reader_is_refused(&reader)))?;
    let (forks, failed_children) = children.finish();
    let lost = reader.sample_lost_status().total as u64;
    let rejected = reader.sample_rejected_status().count.total as u64;
    let counters =
        Counters::of(participant).with_reader(&reader.stats(), reader.undecodable_count(), report.foreign);
    let counters = Counters { forks, ..counters };
    Ok(Report { told: lost + rejected, failed_children, counters, ..report })
}

/// `forks` makes children that were asked for.
fn count(
    arrivals: &Receiver<(Tick, Instant)>,
    expected: u64,
    mut forks: impl FnMut() -> Result<(), IsChild>,
) -> Result<Report> {
    let (mut seen, mut latest, mut last) = (vec![false; expected as usize], 0, None::<Instant>);
    let mut report = Report::default();
    let (begin, mut delays) = (Instant::now(), Vec::new());
    // Others may fill the topic with theirs; that is no arrival.
    let mut patience = Instant::now() + 2 * PATIENCE;
    while report.received < expected && Instant::now() < patience {
        let (tick, at) = match arrivals.recv_timeout(patience.saturating_duration_since(Instant::now())) {
            Ok(arrival) => arrival,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        };
        forks()?;
        if tick.source != 0 {
            report.foreign += 1;
            continue;
        }
        let Some(seen) = seen.get_mut(tick.number as usize).filter(|_| tick.check == check(tick.number))
        else {
            report.forged += 1;
            continue;
        };
        if *seen || tick.number < latest {
            report.again += 1;
        }
        report.received += u64::from(!std::mem::replace(seen, true));
        let due = StdDuration::from_secs(1) * tick.number as u32 / RATE as u32;
        delays.push(at.saturating_duration_since(begin).as_micros() as i64 - due.as_micros() as i64);
        latest = latest.max(tick.number);
        let pause = last.map_or(StdDuration::ZERO, |last| at.saturating_duration_since(last));
        report.pause_ms = report.pause_ms.max(pause.as_millis() as u64);
        last = Some(at);
        patience = Instant::now() + PATIENCE;
    }
    report.delay_us = spread(delays);
    Ok(report)
}

/// The median, that of 99 in 100 and the greatest, beyond the least.
fn spread(mut delays: Vec<i64>) -> [u64; 3] {
    delays.sort_unstable();
    let least = delays.first().copied().unwrap_or(0);
    let part = |part: f64| delays.get((delays.len() as f64 * part) as usize).or(delays.last()).copied();
    [0.5, 0.99, 1.0].map(|of| part(of).map_or(0, |delay| (delay - least).unsigned_abs()))
}
