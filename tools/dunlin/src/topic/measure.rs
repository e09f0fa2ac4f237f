//! `dunlin hz`, `dunlin bw` and `dunlin latency`: what can be told of a topic without knowing its type.

use super::series::{Series, Summary};
use super::{LONGEST_STEP, PATIENCE, Target, on_interrupt, subscribe};
use crate::join::Arrivals;
use crate::output::counted;
use anyhow::{Result, ensure};
use clap::Args;
use dunlin::qos::TopicQos;
use dunlin::{Against, Config, DataReader, EntityKind, SerializedData, WallTime};
use dunlin_program::Stop;
use dunlin_program::tell;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

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
    /// Samples that are not in `latency_us`: their source timestamps are from the future, or older than a minute, or missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    implausible: Option<u64>,
}

/// Nanoseconds that a source timestamp may be ahead of the reception: what two looks at one clock may differ by.
const MOST_AHEAD: i64 = 1_000_000;
/// Nanoseconds that it may be behind it: what a sample may have waited, in a history or on its way.
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

    #[allow(clippy::cast_precision_loss, reason = "for people")]
    fn line(&self, what: What, seconds: f64) -> String {
        if self.sizes.count == 0 {
            return "no samples".into();
        }
        let rate = self.sizes.count as f64 / seconds;
        match what {
            What::Rate if self.gaps.count == 0 => format!("{rate:.1} samples/s"),
            What::Rate => format!("{rate:.1} samples/s; between two: {}", self.gaps.text("ms")),
            What::Bandwidth => {
                let octets = self.sizes.sum / seconds;
                format!("{octets:.0} octets/s; of a sample: {}", self.sizes.text("octets"))
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
            parts.push(format!("not counted: {samples} with timestamps older than a minute: of a history, or the clocks differ"));
        }
        parts.join("; ")
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of a window")]
    fn json(&self, what: What, seconds: f64) -> Result<String> {
        let line = Line { seconds, samples: self.sizes.count, ..Line::default() };
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
    let reader = subscriber.create_datareader(&topic, &qos)?;
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

fn lines(
    arguments: &Arguments,
    what: What,
    reader: &DataReader<SerializedData>,
    stop: &Stop,
    out: &mut impl Write,
) -> Result<()> {
    let arrivals = Arrivals::of(reader)?;
    let interval = Duration::from_secs_f64(arguments.interval);
    let (mut window, mut since) = (Window::default(), Instant::now());
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 && !stop.is_set() {
        arrivals.wait(interval.saturating_sub(since.elapsed()).min(LONGEST_STEP))?;
        for raw in reader.take_payloads(1024)? {
            if let Some(payload) = raw.payload.filter(|_| raw.info.valid_data) {
                window.add(raw.info.source_timestamp, raw.info.reception_timestamp, payload.len());
            }
        }
        if since.elapsed() >= interval {
            let seconds = since.elapsed().as_secs_f64();
            let line = if arguments.json { window.json(what, seconds)? } else { window.line(what, seconds) };
            writeln!(out, "{line}")?;
            out.flush()?;
            (window, since) = (Window { last: window.last, ..Window::default() }, Instant::now());
            left -= 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "30 octets/s; of a sample: least 10.0, mean 20.0, most 30.0, deviation 10.0 octets"
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
