//! Urgent samples beside large ones: how long they take, and which they pass.
//!
//! `urgent write SECONDS [OCTETS [RATE]]`: writes reliable samples of OCTETS (4 MiB), as many as the line takes, and RATE (100)
//! urgent ones per second of 64 octets, reliable too, with TRANSPORT_PRIORITY 46.
//! `urgent read`: takes both on the same host or on one with the same clock, until the writer has said that it is done.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration as StdDuration, Instant, SystemTime, UNIX_EPOCH};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, Duration, StateMasks, WaitSet};

const BULK: &str = "Bulk";
const URGENT: &str = "Urgent";
const PRIORITY: i32 = 46;
/// How long nothing may come.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(DdsType, Clone, Debug, Default)]
struct Block {
    number: u32,
    /// Large samples that the writer's history had taken when this one was written.
    large: u32,
    /// Nanoseconds since 1970.
    written: u64,
    /// Nothing comes after this one.
    last: bool,
    octets: Vec<u8>,
}

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn argument(index: usize, default: usize) -> Result<usize> {
    std::env::args().nth(index).map_or(Ok(default), |text| Ok(text.parse()?))
}

fn writer(participant: &DomainParticipant, name: &str, qos: &DataWriterQos) -> Result<DataWriter<Block>> {
    let topic = participant.create_topic::<Block>(name, &TopicQos::default())?;
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, qos)?)
}

fn write() -> Result<()> {
    let time = StdDuration::from_secs(argument(2, 10)? as u64);
    let (octets, rate) = (argument(3, 4 << 20)?, argument(4, 100)?);
    let participant = DomainParticipant::new(0)?;
    let qos = DataWriterQos::default().reliable().keep_all().max_blocking_time(PATIENCE);
    // Two are there always: one is on the line, the next is ready.
    let bulk = writer(&participant, BULK, &qos.clone().resource_limits(2, -1, -1))?;
    let urgent = writer(&participant, URGENT, &qos.transport_priority(PRIORITY))?;
    for writer in [&bulk, &urgent] {
        writer.wait_for_readers(1, Duration::from_secs(60)).map_err(|_| "nobody reads within a minute")?;
    }
    let (end, large) = (Instant::now() + time, AtomicU32::new(0));
    std::thread::scope(|scope| {
        let filler = scope.spawn(|| -> Result<()> {
            let mut block = Block { octets: vec![7; octets], ..Block::default() };
            while !block.last {
                block.last = Instant::now() >= end;
                bulk.write(&block)?;
                block.number += 1;
                large.store(block.number, SeqCst);
            }
            Ok(())
        });
        let begin = Instant::now();
        let mut block = Block { octets: vec![1; 64], ..Block::default() };
        while !block.last {
            let due = begin + StdDuration::from_secs_f64(f64::from(block.number) / rate as f64);
            while Instant::now() < due {
                std::thread::park_timeout(due.saturating_duration_since(Instant::now()));
            }
            (block.last, block.large, block.written) = (due >= end, large.load(SeqCst), now());
            urgent.write(&block)?;
            block.number += 1;
        }
        filler.join().map_err(|_| "the thread of large samples panicked")??;
        bulk.wait_for_acknowledgments(PATIENCE)?;
        urgent.wait_for_acknowledgments(PATIENCE)?;
        println!("written_urgent {}\nwritten_large {}", block.number, large.load(SeqCst));
        Ok(())
    })
}

fn reader(participant: &DomainParticipant, name: &str) -> Result<DataReader<Block>> {
    let topic = participant.create_topic::<Block>(name, &TopicQos::default())?;
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    Ok(subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all())?)
}

/// Hands each sample to `each` until the last one; how many came, or that one is missing or out of order.
fn take_all(reader: &DataReader<Block>, mut each: impl FnMut(&Block)) -> Result<u32> {
    let news = reader.create_readcondition(StateMasks::ANY)?;
    let set = WaitSet::new();
    set.attach_condition(news.condition());
    let mut next = 0;
    loop {
        set.wait(PATIENCE)?;
        for block in reader.take(8)?.into_iter().filter_map(|sample| sample.data) {
            if block.number != next {
                return Err(format!("number {} comes after {next} samples", block.number).into());
            }
            next += 1;
            each(&block);
            if block.last {
                return Ok(next);
            }
        }
    }
}

fn read() -> Result<()> {
    let participant = DomainParticipant::new(0)?;
    let (bulk, urgent) = (reader(&participant, BULK)?, reader(&participant, URGENT)?);
    let arrived = AtomicU32::new(0);
    let (mut took, mut passed) = (Vec::new(), 0);
    std::thread::scope(|scope| -> Result<()> {
        let filler = scope.spawn(|| take_all(&bulk, |block| arrived.store(block.number + 1, SeqCst)));
        let count = take_all(&urgent, |block| {
            took.push(now().saturating_sub(block.written));
            // A large sample that was there before this one has not arrived yet.
            passed += u32::from(arrived.load(SeqCst) < block.large);
        })?;
        let large = filler.join().map_err(|_| "the thread of large samples panicked")??;
        println!("urgent {count}\nlarge {large}\npassed {passed}");
        Ok(())
    })?;
    took.sort_unstable();
    for (name, part) in [("p50_ms", 0.5), ("p99_ms", 0.99), ("longest_ms", 1.0)] {
        let at = ((took.len() as f64 * part) as usize).min(took.len().saturating_sub(1));
        println!("{name} {:.3}", took.get(at).copied().unwrap_or_default() as f64 / 1e6);
    }
    Ok(())
}

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("write") => write(),
        Some("read") => read(),
        _ => Err("urgent write SECONDS [BYTES [RATE]] | urgent read".into()),
    }
}
