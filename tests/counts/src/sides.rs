//! The two processes, or both sides in one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration, StatusMask};
use rustix::thread::nanosleep;
use rustix::time::Timespec;

use crate::marks;

const TOPIC: &str = "Counts";
/// What a frame of Ethernet has room for behind the headers of IP and UDP.
const FRAME: &str = "1472B";
/// Until the two have found each other, and for everything to arrive; under valgrind all takes fifty times as long.
const PATIENCE: StdDuration = StdDuration::from_secs(120);
/// So many samples of a burst are written before the writer waits for all to be acknowledged: what the socket of a reader
/// takes that is fifty times as slow.
const BURST: u64 = 500;
/// The same of lent samples: with what the reader has not given back, less than the half of a pool that one process may have.
const LENT_BURST: u64 = 200;
/// So many samples are taken in one call.
const TAKEN_AT_ONCE: usize = 64;
/// Under valgrind no two writes are close enough together to be taken for a burst. A budget makes samples wait for each
/// other in the same way.
const BUDGET: Duration = Duration::from_secs(60);

/// How samples follow each other, and which way they take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Way {
    /// Each by itself.
    #[default]
    Spaced,
    /// Back to back.
    Burst,
    /// Back to back, lent in shared memory.
    Lent,
    /// Each by itself, in datagrams of one frame of Ethernet, as to another host.
    Frames,
}

impl Way {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Spaced => "spaced",
            Self::Burst => "burst",
            Self::Lent => "lent",
            Self::Frames => "frames",
        }
    }

    const fn is_burst(self) -> bool {
        matches!(self, Self::Burst | Self::Lent)
    }
}

/// What is exchanged.
#[derive(Args, Clone)]
pub(crate) struct Workload {
    /// The domain.
    #[arg(long)]
    pub(crate) domain: u32,
    /// Octets of a sample.
    #[arg(long)]
    pub(crate) payload: usize,
    /// Number of samples.
    #[arg(long)]
    pub(crate) samples: u64,
    /// How.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) way: Way,
}

impl Workload {
    /// Between two samples, so that each is sent, received and acknowledged by itself, under valgrind too.
    fn period(&self) -> Timespec {
        let micros = 2_000 + self.payload as i64 / 8;
        Timespec { tv_sec: 0, tv_nsec: micros * 1_000 }
    }
}

#[derive(DdsType, Clone, Debug, Default)]
struct Octets {
    octets: Vec<u8>,
}

/// What can be lent.
#[derive(DdsType, Clone, Debug, Default)]
#[repr(C)]
#[dds(final)]
struct Lent {
    octets: [u8; 32],
    more: [u8; 32],
}

/// Waiting that does not depend on how fast the machine is, and UDP only unless both are in this process or share memory.
fn participant(domain: u32, way: Way, memory: bool) -> Result<DomainParticipant> {
    let mut config = Config::default();
    if way == Way::Frames {
        config.set("network.max_message_size", FRAME)?;
    }
    config.set("network.interfaces", "lo")?;
    config.set("shared_memory.enabled", if memory { "true" } else { "false" })?;
    config.set("receive.waiting", "blocking")?;
    Ok(DomainParticipant::builder(domain).config(config).build()?)
}

pub(crate) fn write(workload: &Workload) -> Result<()> {
    let participant = participant(workload.domain, workload.way, workload.way == Way::Lent)?;
    if workload.way == Way::Lent {
        let writer = writer::<Lent>(&participant, TOPIC, workload)?;
        return exchange(workload, &writer, || {
            let loan = writer.loan_sample()?;
            ensure!(loan.is_shared(), "all that can be lent is in use");
            Ok(writer.write_loaned(loan)?)
        });
    }
    let writer = writer(&participant, TOPIC, workload)?;
    let sample = sample(workload);
    exchange(workload, &writer, || Ok(writer.write(&sample)?))
}

/// Writes all samples, each with `write_one`.
fn exchange<T: DdsType>(
    workload: &Workload,
    writer: &DataWriter<T>,
    mut write_one: impl FnMut() -> Result<()>,
) -> Result<()> {
    let burst = if workload.way == Way::Lent { LENT_BURST } else { BURST };
    for number in 0..workload.samples + marks::WARM_UP {
        if !workload.way.is_burst() {
            // Cut short by a signal it is a little less regular, no more.
            _ = nanosleep(&workload.period());
        } else if number >= marks::WARM_UP && (number - marks::WARM_UP).is_multiple_of(burst) {
            writer.wait_for_acknowledgments(Duration::from_secs(60))?;
        }
        if number == marks::WARM_UP {
            marks::begin();
        }
        write_one()?;
    }
    // The last acknowledgement counts.
    if workload.way.is_burst() {
        writer.wait_for_acknowledgments(Duration::from_secs(60))?;
    } else {
        _ = nanosleep(&workload.period());
    }
    marks::end();
    writer.wait_for_acknowledgments(Duration::from_secs(60))?;
    Ok(())
}

pub(crate) fn read(workload: &Workload) -> Result<()> {
    let participant = participant(workload.domain, workload.way, workload.way == Way::Lent)?;
    if workload.way == Way::Lent {
        let reader = reader::<Lent>(&participant, TOPIC, workload)?;
        let take = |reader: &DataReader<Lent>| {
            let samples = reader.take_loaned(TAKEN_AT_ONCE).unwrap_or_default();
            assert!(samples.iter().all(dunlin::LoanedSample::is_shared), "a lent sample was copied");
            samples.len() as u64
        };
        return count(workload, &reader, take);
    }
    let reader = reader(&participant, TOPIC, workload)?;
    let taken = Mutex::new(Vec::with_capacity(TAKEN_AT_ONCE));
    count(workload, &reader, move |reader| take(reader, &taken))
}

/// Waits until all samples have been taken with `take`.
fn count<T: DdsType>(
    workload: &Workload,
    reader: &DataReader<T>,
    take: impl Fn(&DataReader<T>) -> u64 + Send + Sync + 'static,
) -> Result<()> {
    let (complete, completed) = channel();
    let (seen, all) = (AtomicU64::new(0), workload.samples + marks::WARM_UP);
    reader.set_listener(
        move |reader: &DataReader<T>| {
            loop {
                let count = take(reader);
                let before = seen.fetch_add(count, Ordering::Relaxed);
                let reached = |number| before < number && before + count >= number;
                if reached(marks::WARM_UP) {
                    marks::begin();
                }
                if reached(all) {
                    marks::end();
                    _ = complete.send(());
                }
                // What came in one datagram is told once.
                if count < TAKEN_AT_ONCE as u64 {
                    break;
                }
            }
        },
        StatusMask::DATA_AVAILABLE,
    );
    completed.recv_timeout(PATIENCE).context("not every sample arrived")?;
    Ok(())
}

/// A round trip between two participants of one process: each sample is answered by a listener, so that none makes a burst.
pub(crate) fn both(workload: &Workload) -> Result<()> {
    let (asking, answering) = (
        participant(workload.domain, workload.way, true)?,
        participant(workload.domain, workload.way, true)?,
    );
    let (questions, answers) = (TOPIC, "Answers");
    let (question, answer) = (reader(&answering, questions, workload)?, reader(&asking, answers, workload)?);
    let (ask, reply) = (writer(&asking, questions, workload)?, writer(&answering, answers, workload)?);
    let (sample, taken) = (sample(workload), Mutex::new(Vec::with_capacity(TAKEN_AT_ONCE)));
    let echo = sample.clone();
    question.set_listener(
        move |reader: &DataReader<Octets>| {
            if take(reader, &taken) > 0 {
                // What fails is missed by who asks.
                _ = reply.write(&echo);
            }
        },
        StatusMask::DATA_AVAILABLE,
    );
    let (seen, taken) = (Arc::new(AtomicU64::new(0)), Mutex::new(Vec::with_capacity(TAKEN_AT_ONCE)));
    let counter = Arc::clone(&seen);
    answer.set_listener(
        move |reader: &DataReader<Octets>| _ = counter.fetch_add(take(reader, &taken), Ordering::Relaxed),
        StatusMask::DATA_AVAILABLE,
    );
    for number in 0..workload.samples + marks::WARM_UP {
        if number == marks::WARM_UP {
            marks::begin();
        }
        ask.write(&sample)?;
        let deadline = Instant::now() + PATIENCE;
        while seen.load(Ordering::Relaxed) <= number {
            // The first answers, before all have heard of each other.
            ensure!(Instant::now() < deadline, "an answer is missing");
            std::thread::park_timeout(StdDuration::from_millis(1));
        }
    }
    marks::end();
    Ok(())
}

fn take(reader: &DataReader<Octets>, taken: &Mutex<Vec<dunlin::Sample<Octets>>>) -> u64 {
    let Ok(mut taken) = taken.lock() else { return 0 };
    taken.clear();
    reader.take_into(TAKEN_AT_ONCE, &mut taken).unwrap_or(0) as u64
}

/// A writer that has found its reader.
fn writer<T: DdsType>(
    participant: &DomainParticipant,
    topic: &str,
    workload: &Workload,
) -> Result<DataWriter<T>> {
    let topic = participant.create_topic::<T>(topic, &TopicQos::default())?;
    let mut qos = DataWriterQos::default().reliable().keep_all().max_blocking_time(Duration::from_secs(60));
    if workload.way.is_burst() {
        qos.latency_budget.duration = BUDGET;
    }
    let writer = participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?;
    let deadline = Instant::now() + PATIENCE;
    while writer.matched_subscriptions().is_empty() {
        ensure!(Instant::now() < deadline, "the reader was not found");
        std::thread::park_timeout(StdDuration::from_millis(5));
    }
    Ok(writer)
}

fn sample(workload: &Workload) -> Octets {
    // Four octets of length and four of the encapsulation count.
    Octets { octets: vec![7; workload.payload.saturating_sub(8)] }
}

fn reader<T: DdsType>(
    participant: &DomainParticipant,
    topic: &str,
    workload: &Workload,
) -> Result<DataReader<T>> {
    let topic = participant.create_topic::<T>(topic, &TopicQos::default())?;
    let mut qos = DataReaderQos::default().reliable().keep_all();
    if workload.way.is_burst() {
        qos.latency_budget.duration = BUDGET;
    }
    Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?)
}
