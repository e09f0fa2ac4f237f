//! One repetition of one cell.

mod many;
mod stream;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin_bench_adapter::Line;

use crate::adapters::Adapters;
use crate::hosts::{Hosts, Remote};
use crate::place::Place;
use crate::process::{Adapter, Launch};
use crate::scenario::{Cell, Contender, Kind, Measure, Placement, Scheduling, SetUp};
use crate::statistics::{Figures, summarise};
use crate::usage::Calls;

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// How long a ping may stay without its pong.
const PONG: Duration = Duration::from_secs(15);
/// How long round trips may take on average: a frame that is lost costs some implementations three seconds.
const SLOWEST_TRIP: Duration = Duration::from_millis(100);
/// Round trips while system calls are counted, which makes everything slow.
const COUNTED_TRIPS: u64 = 500;

/// What one repetition gave: figures, and the distribution of nanoseconds if there is one.
pub(crate) type Outcome = (Figures, Vec<(u64, u64)>);

/// All that a repetition needs.
pub(crate) struct Bench<'a> {
    pub(crate) measure: &'a Measure,
    pub(crate) cell: &'a Cell,
    pub(crate) contender: &'a Contender,
    /// Program and arguments of the adapter.
    pub(crate) command: &'a [OsString],
    /// Where servers and daemons are.
    pub(crate) adapters: &'a Adapters,
    /// The other machine, if two hosts are two machines.
    pub(crate) remote: Option<&'a Remote>,
    pub(crate) domain: u32,
    /// For the files that adapters write.
    pub(crate) scratch: &'a Path,
    /// System calls are counted, and nothing else.
    pub(crate) counts_calls: bool,
}

impl Bench<'_> {
    /// Measures once, with processes of its own.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let place = Place::new(self)?;
        match self.measure.kind {
            Kind::Latency => self.latency(&place),
            Kind::OneWay | Kind::Throughput => self.stream(&place),
            Kind::Discovery => self.discovery(&place),
            Kind::Footprint => self.footprint(&place),
            Kind::Fleet => self.fleet(&place),
            Kind::Applications => self.applications(&place),
        }
    }

    fn start(&self, side: usize, place: &Place<'_>) -> Result<Adapter> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let core = match self.measure.placement {
            Placement::Free => None,
            Placement::OneCore => Some(0),
            // With both sides in one process there is one placement only.
            Placement::TwoCores if self.cell.set_up == SetUp::IntraProcess => None,
            Placement::TwoCores => {
                ensure!(cores > 1, "this machine has one processor; use placement = \"one-core\"");
                Some(side.min(1))
            }
        };
        let real_time = self.measure.scheduling == Scheduling::RealTime;
        let mut launch = Launch { command: self.command.to_vec(), core, real_time, ..Launch::default() };
        place.put(&mut launch, side);
        if let Some(Hosts::Machines(remote)) = place.hosts().filter(|_| side > 0) {
            launch.command = Adapters::remote_command(&self.contender.adapter, remote);
            launch.remote.clone_from(&remote.shell);
        }
        Adapter::start(&self.contender.name, &launch)
    }

    fn open(&self, role: &str, side: usize, place: &Place<'_>) -> Line {
        let mut line = Line::new("open")
            .with("role", role)
            .with("domain", self.domain)
            .with("topics", self.cell.topics)
            .with("payload", self.cell.payload)
            .with("reliable", u8::from(self.measure.reliable))
            .with("keep_last", self.measure.keep_last);
        if let Some(answer) = self.measure.answer {
            line = line.with("answer", answer);
        }
        line = place.tell(line, side);
        if place.is_studied() {
            // They are in its configuration file.
            return line;
        }
        let options = &self.contender.options;
        options.iter().fold(line, |line, (key, value)| line.with(&format!("x.{key}"), value))
    }

    fn await_peers(count: usize) -> Line {
        Line::new("await").with("count", count).with("patience_ms", PATIENCE.as_millis())
    }

    fn file(&self, name: &str) -> String {
        self.scratch.join(name).to_string_lossy().into_owned()
    }

    /// Begins to count the calls of some processes.
    fn count_calls(&self, adapters: &[Option<&Adapter>]) -> Result<Vec<Calls>> {
        let ids = adapters.iter().flatten().enumerate().map(|(at, adapter)| {
            let id = adapter.local_id().context("system calls are counted on this machine only")?;
            Calls::count(id, &self.scratch.join(format!("calls-{at}")))
        });
        ids.collect()
    }

    fn latency(&self, place: &Place<'_>) -> Result<Outcome> {
        let mut near = self.start(0, place)?;
        let mut far = None;
        if self.cell.set_up == SetUp::IntraProcess {
            near.ask(&self.open("ponger", 1, place), "opened", PATIENCE)?;
        } else {
            let other = far.insert(self.start(1, place)?);
            other.ask(&self.open("ponger", 1, place), "opened", PATIENCE)?;
        }
        near.ask(&self.open("pinger", 0, place), "opened", PATIENCE)?;
        near.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        if let Some(far) = &mut far {
            far.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        }
        let (warm_up, count) =
            if self.counts_calls { (0, COUNTED_TRIPS) } else { (self.measure.warm_up, self.measure.trips()) };
        let file = self.file("round-trips");
        let ping = Line::new("ping")
            .with("warm_up", warm_up)
            .with("count", count)
            .with("patience_ms", PONG.as_millis())
            .with("by_turns", u8::from(self.cell.set_up == SetUp::IntraProcess))
            .with("file", &file);
        let longest = longest(warm_up + count);
        if self.counts_calls {
            let calls = self.count_calls(&[Some(&near), far.as_ref()])?;
            near.ask(&ping, "done", longest)?;
            let total: f64 = calls.into_iter().map(Calls::total).sum::<Result<f64>>()?;
            return Ok((
                [("system_calls_per_round_trip".to_string(), total / count as f64)].into(),
                Vec::new(),
            ));
        }
        let before = cpu(&[Some(&near), far.as_ref()])?;
        let spent = place.spent([&near], &far)?;
        near.ask(&ping, "done", longest)?;
        let after = cpu(&[Some(&near), far.as_ref()])?;
        let spent = (spent, place.spent([&near], &far)?);
        let nanos = load(&file, count)?;
        ensure!(nanos.len() as u64 == count, "{} round trips instead of {count}", nanos.len());
        let (mut figures, bins) = summarise(&nanos);
        if let Some(used) = after.zip(before).map(|(after, before)| after - before) {
            figures.insert("cpu_us_per_round_trip".into(), used * 1e6 / (count + warm_up) as f64);
        }
        if let Some(usage) = near.usage()? {
            figures.insert("rss_mb".into(), usage.rss / 1e6);
        }
        place.add_spent(&mut figures, spent, self.measure.link.count, (count + warm_up) as f64);
        place.add_memory(&mut figures, far.iter().chain([&near]))?;
        Ok((figures, bins))
    }

    fn discovery(&self, place: &Place<'_>) -> Result<Outcome> {
        let (mut first, mut second) = (self.start(0, place)?, self.start(1, place)?);
        first.ask(&self.open("source", 0, place), "opened", PATIENCE)?;
        second.ask(&Line::new("hello"), "hello", PATIENCE)?;
        let before = cpu(&[Some(&first), Some(&second)])?;
        let begin = std::time::Instant::now();
        second.tell(&self.open("sink", 1, place))?;
        second.tell(&Self::await_peers(1))?;
        first.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        let opened = figure(&second.hear("opened", PATIENCE)?, "micros")?;
        second.hear("matched", PATIENCE * 2)?;
        let elapsed = begin.elapsed().as_secs_f64() * 1e3;
        let after = cpu(&[Some(&first), Some(&second)])?;
        let used = after.zip(before).map(|(after, before)| (after - before) * 1e3);
        let figures = [
            ("matched_ms", Some(elapsed)),
            ("opened_ms", Some(opened / 1e3)),
            ("cpu_ms", used),
            ("rss_mb", first.usage()?.map(|usage| usage.rss / 1e6)),
        ];
        let known = figures.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?)));
        Ok((known.collect(), Vec::new()))
    }

    fn footprint(&self, place: &Place<'_>) -> Result<Outcome> {
        let mut one = self.start(0, place)?;
        one.ask(&self.open("source", 0, place), "opened", PATIENCE)?;
        // What is done at the start is not what is done at rest.
        std::thread::park_timeout(Duration::from_secs(1));
        let before = one.usage()?.context("the process is not on this machine")?;
        std::thread::park_timeout(Duration::from_secs_f64(self.measure.seconds));
        let after = one.usage()?.context("the process is not on this machine")?;
        let figures = [
            ("rss_mb", after.rss / 1e6),
            ("threads", after.threads),
            ("idle_cpu_percent", 100.0 * (after.cpu - before.cpu).max(0.0) / self.measure.seconds),
        ];
        Ok((figures.map(|(name, value)| (name.to_string(), value)).into(), Vec::new()))
    }
}

/// How long so many round trips may take altogether. That a pong does not come is told by the adapter itself.
fn longest(trips: u64) -> Duration {
    PATIENCE + SLOWEST_TRIP.saturating_mul(u32::try_from(trips).unwrap_or(u32::MAX))
}

/// A number that an adapter gives: not below zero, and a number.
fn figure(line: &Line, name: &str) -> Result<f64> {
    let value: f64 = line.get(name)?;
    ensure!(value.is_finite() && value >= 0.0, "{}: {name}={value} cannot be", line.word());
    Ok(value)
}

/// Processor time of all of them, seconds; nothing if one of them is on another machine.
fn cpu(adapters: &[Option<&Adapter>]) -> Result<Option<f64>> {
    let mut sum = Some(0.0);
    for adapter in adapters.iter().flatten() {
        sum = sum.zip(adapter.usage()?).map(|(sum, usage)| sum + usage.cpu);
    }
    Ok(sum)
}

fn all(adapters: &[Adapter]) -> Result<Option<f64>> {
    cpu(&adapters.iter().map(Some).collect::<Vec<_>>())
}

/// What an adapter has written: nanoseconds, at most so many.
fn load(file: &str, most: u64) -> Result<Vec<u64>> {
    let size = std::fs::metadata(file).with_context(|| format!("looking at {file}"))?.len();
    ensure!(size <= most * 8, "{file} is longer than what was asked for");
    let octets = std::fs::read(file).with_context(|| format!("reading {file}"))?;
    let word = |chunk: &[u8]| chunk.try_into().ok().map(u64::from_le_bytes);
    Ok(octets.chunks_exact(8).filter_map(word).collect())
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn an_adapters_numbers_are_numbers() {
        for text in ["sent samples=NaN", "sent samples=inf", "sent samples=-1", "sent samples=x", "sent"] {
            assert!(figure(&Line::from_str(text).unwrap(), "samples").is_err(), "{text}");
        }
        assert_eq!(figure(&Line::from_str("sent samples=3").unwrap(), "samples").unwrap(), 3.0);
    }

    /// With one frame of a hundred lost on either way, and three seconds until it is asked for again.
    #[test]
    fn round_trips_may_be_as_slow_as_repairs_make_them() {
        assert!(longest(3_000) > Duration::from_secs(3_000 / 50 * 3));
    }

    #[test]
    fn a_file_of_an_adapter_is_no_longer_than_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        std::fs::write(&file, [1_u8, 0, 0, 0, 0, 0, 0, 0, 9]).unwrap();
        let name = file.to_string_lossy();
        assert_eq!(load(&name, 2).unwrap(), [1]);
        assert!(load(&name, 1).is_err());
        assert!(load("/nowhere", 1).is_err());
    }
}
