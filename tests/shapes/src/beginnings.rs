//! What readers get of samples that a writer of ours writes at once in PUBLICATION_MATCHED (docs/late-joiners.md).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use dunlin::qos::{DataRepresentationId, DataWriterQos, PublisherQos, TopicQos};
use dunlin::{Config, DataWriter, DataWriterListener, DomainParticipant, MatchedStatus, StatusMask};
use dunlin_shapes::types::ShapeType;

use crate::line::Line;
use crate::process::{Lines, Process};

/// How long anything may take to happen.
const PATIENCE: Duration = Duration::from_secs(30);
/// Samples that are written at once.
const AT_ONCE: i32 = 10;

/// Which sample came first, and in how many rounds.
#[derive(Default)]
pub struct Counts(BTreeMap<i64, u32>);

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, rounds)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(formatter, "{comma}sample {first} in {rounds}")?;
        }
        Ok(())
    }
}

struct Burst;

impl DataWriterListener<ShapeType> for Burst {
    fn on_publication_matched(&self, writer: &DataWriter<ShapeType>, status: MatchedStatus) {
        if status.current_count_change > 0 {
            (1..=AT_ONCE).for_each(|size| write(writer, size));
        }
    }
}

fn write(writer: &DataWriter<ShapeType>, shapesize: i32) {
    let shape = ShapeType { color: "BLUE".into(), shapesize, ..ShapeType::default() };
    if let Err(error) = writer.write(&shape) {
        eprintln!("dunlin-shapes-tests: write: {error}");
    }
}

/// Counts over so many rounds, with the writer there first, or the reader.
///
/// # Errors
/// When a round brings no sample at all.
pub fn count(command: &[OsString], domain: u32, rounds: u32, reader_first: bool) -> Result<Counts> {
    let mut counts = Counts::default();
    for round in 0..rounds {
        // What is left of the round before is in another domain.
        let first = first_sample(command, domain + round % 4, reader_first)?;
        *counts.0.entry(first).or_default() += 1;
    }
    Ok(counts)
}

fn first_sample(command: &[OsString], domain: u32, reader_first: bool) -> Result<i64> {
    let options = format!("-S -t Square -r -k 0 -x 1 -D v --read-period 10 -d {domain}");
    let options: Vec<_> = options.split(' ').map(str::to_owned).collect();
    let start = || -> Result<(Process, Lines)> {
        let (process, lines) = Process::start(command, &options)?;
        wait_for(&lines, |line| line.contains("Create reader for topic").then_some(()))?;
        Ok((process, lines))
    };
    let early = if reader_first { Some(start()?) } else { None };
    let (_participant, writer) = writer(domain)?;
    let (mut process, lines) = match early {
        Some(started) => started,
        None => start()?,
    };
    // A reader that has lost what was written at once gets a later one.
    let deadline = Instant::now() + PATIENCE;
    let mut next = AT_ONCE + 1;
    let size = |line: &str| match Line::of(line) {
        Line::Sample(sample) => Some(sample.size),
        _ => None,
    };
    let first = loop {
        if let Some(first) = next_of(&lines, Instant::now() + Duration::from_millis(100), size) {
            break first;
        }
        if Instant::now() > deadline {
            bail!("no sample came");
        }
        if !writer.matched_subscriptions().is_empty() {
            write(&writer, next);
            next += 1;
        }
    };
    process.interrupt()?;
    Ok(first)
}

fn writer(domain: u32) -> Result<(DomainParticipant, DataWriter<ShapeType>)> {
    let mut config = Config::default();
    config.set("network.interfaces", "lo")?;
    let participant = DomainParticipant::builder(domain).config(config).build()?;
    let topic = participant.create_topic::<ShapeType>("Square", &TopicQos::default())?;
    // Enabled by hand, so that no match comes before the listener.
    let publisher =
        participant.create_publisher(&PublisherQos::default().autoenable_created_entities(false))?;
    let qos = DataWriterQos::default().reliable().keep_all().representation(&[DataRepresentationId::Xcdr1]);
    let writer = publisher.create_datawriter(&topic, &qos)?;
    writer.set_listener(Burst, StatusMask::PUBLICATION_MATCHED);
    writer.enable()?;
    Ok((participant, writer))
}

fn wait_for<T>(lines: &Lines, wanted: impl Fn(&str) -> Option<T>) -> Result<T> {
    next_of(lines, Instant::now() + PATIENCE, wanted).context("the reader did not begin")
}

/// The first line that is wanted, until a moment.
fn next_of<T>(lines: &Lines, deadline: Instant, wanted: impl Fn(&str) -> Option<T>) -> Option<T> {
    loop {
        let line = lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()?;
        if let Some(found) = wanted(&line) {
            return Some(found);
        }
    }
}
