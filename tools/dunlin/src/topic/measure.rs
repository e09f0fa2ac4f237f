//! `dunlin hz`, `dunlin bw` and `dunlin latency`: what can be told of a topic without knowing its type.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use dunlin::qos::TopicQos;
use dunlin::{Against, Config, DataReader, EntityKind, SerializedData, WallTime};
use dunlin_program::Stop;
use dunlin_program::tell;
use serde::Serialize;

use super::series::{Series, Summary};
use super::{LONGEST_STEP, PATIENCE, Target, on_interrupt, subscribe};
use crate::join::Arrivals;
use crate::output::counted;

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub target: Target,
    /// Seconds between two lines
    #[arg(short, long, default_value_t = 1.0, value_name = "SECONDS")]
    interval: f64,
    /// End after so many lines
    #[arg(short, long, value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print JSON, one object in one line each time
    #[arg(long)]
    json: bool,
}

/// A line for programs. What is not known is missing.
#[derive(Serialize, Default)]
struct Line {
    seconds: f64,
    samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples_per_second: Option<f64>,
    /// Milliseconds between two samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    between_ms: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    octets_per_second: Option<f64>,
    /// Octets of a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    octets: Option<Summary>,
    /// Microseconds from the source timestamp to the reception.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_us: Option<Summary>,
    /// Samples that were lost, or replaced in the reader before this program looked at them: in no other number.
    #[serde(skip_serializing_if = "is_zero")]
    missed: u64,
    /// Samples that are not in `latency_us`: their source timestamps are from the future, or older than a minute, or missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    implausible: Option<u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Samples that are taken at once, and how often before the interval is looked at: together more than a reader keeps of an
/// instance.
const AT_ONCE: (usize, usize) = (1024, 16);

/// Nanoseconds that a source timestamp may be ahead of the reception: what two looks at one clock may differ by.
const MOST_AHEAD: i64 = 1_000_000;
/// Nanoseconds that it may be behind it: what a sample may have waited on its way.
const MOST_BEHIND: i64 = 60_000_000_000;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Samples in a second, and the time between them.
    Rate,
    /// Octets in a second, and those of a sample.
    Bandwidth,
    /// From the source timestamp to the reception.
    Latency,
}

/// What arrived since the last line.
#[derive(Default)]
struct Window {
    sizes: Series,
    gaps: Series,
    delays: Series,
    /// Samples of which the source timestamp is in no delay: in the future, and too old.
    ahead: u64,
    behind: u64,
    /// Samples that were lost, or replaced before they were taken.
    missed: u64,
    /// Reception of the last sample, in nanoseconds, kept from window to window.
    last: Option<i64>,
}

impl Window {
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    fn add(&mut self, source: WallTime, reception: WallTime, octets: usize) {
        self.sizes.add(octets as f64);
        let now = reception.0;
        if let Some(last) = self.last.replace(now) {
            self.gaps.add((now - last) as f64 / 1e6);
        }
        match now.saturating_sub(source.0) {
            delay if delay < -MOST_AHEAD => self.ahead += 1,
            delay if delay > MOST_BEHIND => self.behind += 1,
            delay => self.delays.add(delay as f64 / 1e3),
        }
    }

    fn line(&self, what: What, seconds: f64) -> String {
        let mut text = self.taken(what, seconds);
        if self.missed > 0 {
            let samples = counted(self.missed, "sample");
            text.push_str(&format!(
                "; not counted: {samples} that came too fast for this program, or were lost"
            ));
        }
        text
    }

    /// What can be told of the samples that were taken.
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    fn taken(&self, what: What, seconds: f64) -> String {
        if self.sizes.count == 0 {
            return "no samples".into();
        }
        let rate = self.sizes.count as f64 / seconds;
        match what {
            What::Rate if self.gaps.count == 0 => format!("{rate:.1} samples/s"),
            What::Rate => format!("{rate:.1} samples/s; between two: {}", self.gaps.text("ms")),
            What::Bandwidth => {
                let octets = self.sizes.sum / seconds;
                format!("{octets:.0} bytes/s; of a sample: {}", self.sizes.text("bytes"))
            }
            What::Latency => self.latency(),
        }
    }

    /// The delays, and what is not among them.
    fn latency(&self) -> String {
        let mut parts = Vec::new();
        if self.delays.count > 0 {
            parts.push(format!("{}: {}", counted(self.delays.count, "sample"), self.delays.text("us")));
        }
        if self.ahead > 0 {
            let samples = counted(self.ahead, "sample");
            parts.push(format!(
                "not counted: {samples} with timestamps from the future: the clocks differ (`dunlin doctor`)"
            ));
        }
        if self.behind > 0 {
            let samples = counted(self.behind, "sample");
            parts.push(format!(
                "not counted: {samples} with timestamps older than a minute: the clocks differ, or a service kept them"
            ));
        }
        parts.join("; ")
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of a window")]
    fn json(&self, what: What, seconds: f64) -> Result<String> {
        let line = Line { seconds, samples: self.sizes.count, missed: self.missed, ..Line::default() };
        let line = match what {
            What::Rate => Line {
                samples_per_second: Some(self.sizes.count as f64 / seconds),
                between_ms: self.gaps.summary(),
                ..line
            },
            What::Bandwidth => Line {
                octets_per_second: Some(self.sizes.sum / seconds),
                octets: self.sizes.summary(),
                ..line
            },
            What::Latency => Line {
                latency_us: self.delays.summary(),
                implausible: Some(self.ahead + self.behind),
                ..line
            },
        };
        Ok(serde_json::to_string(&line)?)
    }
}

/// Prints a line in each interval until there were enough, or Ctrl-C.
pub fn run(arguments: &Arguments, what: What, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    ensure!((0.05..=3600.0).contains(&arguments.interval), "--interval takes 0.05 to 3600 seconds");
    let stop = on_interrupt()?;
    let participant = arguments.target.participant(config, "dunlin")?;
    let writers = arguments.target.writers(&participant, &stop)?;
    let Some(first) = writers.first() else { return Ok(ExitCode::SUCCESS) };
    let keyed = first.guid.entity_id.kind() == EntityKind::WriterWithKey;
    let topic = participant.create_serialized_topic(
        &first.topic_name,
        &first.type_name,
        keyed,
        &TopicQos::default(),
    )?;
    let (subscriber, qos) = subscribe(&participant, &writers)?;
    // What writers have kept for those who come later says nothing of how often they write, and waited long before it came.
    let reader = subscriber.create_datareader(&topic, &qos.volatile())?;
    let matched = || !reader.matched_publications().is_empty();
    let explain = || participant.explain(&reader, Against::Topic);
    arguments.target.until_matched("writer", PATIENCE, &stop, matched, explain)?;
    if what == What::Latency {
        tell!(
            "from source timestamp to reception: of another host this contains the difference of the clocks"
        );
    }
    lines(arguments, what, &reader, &stop, out)?;
    Ok(ExitCode::SUCCESS)
}

/// Intervals one after the other, without a gap: what arrives while a line is printed belongs to the next one, and so does
/// that time.
struct Intervals {
    length: Duration,
    begun: Instant,
}

impl Intervals {
    /// How long until the present one is over.
    fn left(&self, now: Instant) -> Duration {
        self.length.saturating_sub(now.saturating_duration_since(self.begun))
    }

    /// The seconds of the present one, if it is over; then the next one begins.
    fn ended(&mut self, now: Instant) -> Option<f64> {
        let passed = now.saturating_duration_since(self.begun);
        (passed >= self.length).then(|| {
            self.begun = now;
            passed.as_secs_f64()
        })
    }
}

/// Samples of which a reader has seen nothing but that they are gone.
fn gone(reader: &DataReader<SerializedData>) -> u64 {
    let stats = reader.stats();
    stats.lost.saturating_add(stats.replaced_unseen)
}

/// Takes what has arrived, at most so much as a reader keeps.
fn take(reader: &DataReader<SerializedData>, window: &mut Window) -> Result<()> {
    for _ in 0..AT_ONCE.1 {
        let taken = reader.take_payloads(AT_ONCE.0)?;
        for raw in &taken {
            if let Some(payload) = raw.payload.as_ref().filter(|_| raw.info.valid_data) {
                window.add(raw.info.source_timestamp, raw.info.reception_timestamp, payload.len());
            }
        }
        if taken.len() < AT_ONCE.0 {
            break;
        }
    }
    Ok(())
}

fn lines(
    arguments: &Arguments,
    what: What,
    reader: &DataReader<SerializedData>,
    stop: &Stop,
    out: &mut impl Write,
) -> Result<()> {
    let arrivals = Arrivals::of(reader)?;
    let mut window = Window::default();
    let mut missed = gone(reader);
    let length = Duration::from_secs_f64(arguments.interval);
    let mut intervals = Intervals { length, begun: Instant::now() };
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 && !stop.is_set() {
        arrivals.wait(intervals.left(Instant::now()).min(LONGEST_STEP))?;
        take(reader, &mut window)?;
        if let Some(seconds) = intervals.ended(Instant::now()) {
            let before = std::mem::replace(&mut missed, gone(reader));
            window.missed = missed.saturating_sub(before);
            let line = if arguments.json { window.json(what, seconds)? } else { window.line(what, seconds) };
            window = Window { last: window.last, ..Window::default() };
            writeln!(out, "{line}")?;
            out.flush()?;
            left -= 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use dunlin::DdsType;
    use dunlin::qos::{DataWriterQos, PublisherQos};

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[derive(DdsType, Clone, Debug, Default)]
    struct Reading {
        n: u32,
    }

    /// What is kept for those who come later is neither a rate nor a delay.
    #[test]
    fn samples_of_a_history_are_not_measured() {
        let mut config = Config::default();
        config.set("network.interfaces", "lo").unwrap();
        let domain = 170 + std::process::id() % 10;
        let participant = dunlin::DomainParticipant::builder(domain).config(config.clone()).build().unwrap();
        let topic = participant.create_topic::<Reading>("Kept", &TopicQos::default()).unwrap();
        let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
        let qos = DataWriterQos::default().reliable().transient_local().keep_all();
        let writer = publisher.create_datawriter(&topic, &qos).unwrap();
        (0..50).for_each(|n| writer.write(&Reading { n }).unwrap());
        let words =
            ["hz", "Kept", "-d", &domain.to_string(), "--json", "-c", "1", "-i", "0.3", "--wait", "30"];
        let arguments = Command::try_parse_from(words).unwrap().arguments;
        let mut out = Vec::new();
        run(&arguments, What::Rate, config, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\"samples\":0,"), "{text}");
    }

    #[test]
    fn the_time_of_printing_belongs_to_the_next_interval() {
        let (begun, length) = (Instant::now(), Duration::from_secs(1));
        let mut intervals = Intervals { length, begun };
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!((intervals.left(begun), intervals.ended(begun)), (length, None));
        assert_eq!(intervals.ended(at(1)), Some(1.0));
        // A reader of the output that does not read for a while.
        assert_eq!((intervals.left(at(6)), intervals.ended(at(6))), (Duration::ZERO, Some(5.0)));
        assert_eq!(intervals.ended(at(6)), None);
    }

    #[test]
    fn missed_samples_are_reported_by_measure() {
        let mut window = Window { missed: 3, ..Window::default() };
        window.add(WallTime(0), WallTime(5_000), 8);
        let told = window.line(What::Rate, 1.0);
        assert!(told.starts_with("1.0 samples/s; not counted: 3 samples "), "{told}");
        assert!(window.json(What::Rate, 1.0).unwrap().contains("\"missed\":3"));
    }

    #[test]
    fn series_and_lines() {
        let mut window = Window::default();
        for (at, octets) in [(0, 10), (10_000_000, 20), (30_000_000, 30)] {
            window.add(WallTime(at - 5_000), WallTime(at), octets);
        }
        assert_eq!(
            window.line(What::Rate, 1.0),
            "3.0 samples/s; between two: least 10.0, mean 15.0, most 20.0, deviation 7.1 ms"
        );
        assert_eq!(
            window.line(What::Bandwidth, 2.0),
            "30 bytes/s; of a sample: least 10.0, mean 20.0, most 30.0, deviation 10.0 bytes"
        );
        assert_eq!(
            window.line(What::Latency, 1.0),
            "3 samples: least 5.0, mean 5.0, most 5.0, deviation 0.0 us"
        );
        assert_eq!(Window::default().line(What::Rate, 1.0), "no samples");
        assert_eq!(
            window.json(What::Bandwidth, 2.0).unwrap(),
            "{\"seconds\":2.0,\"samples\":3,\"octets_per_second\":30.0,\
             \"octets\":{\"least\":10.0,\"mean\":20.0,\"most\":30.0,\"deviation\":10.0}}"
        );
        assert_eq!(
            Window::default().json(What::Rate, 1.0).unwrap(),
            "{\"seconds\":1.0,\"samples\":0,\"samples_per_second\":0.0}"
        );
        let hour = 3_600_000_000_000;
        window.add(WallTime(hour), WallTime(40_000_000), 1);
        window.add(WallTime(0), WallTime(hour), 1);
        let told = window.line(What::Latency, 1.0);
        assert!(told.starts_with("3 samples: least 5.0, mean 5.0, most 5.0"), "{told}");
        assert!(
            told.contains("1 sample with timestamps from the future")
                && told.contains("1 sample with timestamps older"),
            "{told}"
        );
        assert!(window.json(What::Latency, 1.0).unwrap().contains("\"implausible\":2"));
    }
}
