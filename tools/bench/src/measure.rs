//! One repetition of one cell.

use crate::adapters::Adapters;
use crate::hosts::{Hosts, Remote, TwoHosts};
use crate::process::{Adapter, Launch};
use crate::scenario::{Cell, Contender, Kind, Link, Measure, Placement, Scheduling, SetUp};
use crate::statistics::{Figures, summarise};
use crate::usage::{Calls, Usage};
use anyhow::{Context, Result, bail, ensure};
use dunlin_bench_adapter::Line;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
/// How long a ping may stay without its pong.
const PONG: Duration = Duration::from_secs(15);
/// The arrival of samples has ended when nothing came for so long. Reliable ones may come late: some implementations ask
/// for what is missing every three seconds.
const SILENCE: Duration = Duration::from_millis(300);
const SILENCE_RELIABLE: Duration = Duration::from_millis(3_500);
/// Round trips and seconds of writing while system calls are counted, which makes everything slow.
const COUNTED_TRIPS: u64 = 500;
const COUNTED_TIME: Duration = Duration::from_millis(300);

/// What one repetition gave: figures, and the distribution of nanoseconds if there is one.
pub(crate) type Outcome = (Figures, Vec<(u64, u64)>);

/// All that a repetition needs.
pub(crate) struct Bench<'a> {
    pub(crate) measure: &'a Measure,
    pub(crate) cell: &'a Cell,
    pub(crate) contender: &'a Contender,
    /// Program and arguments of the adapter.
    pub(crate) command: &'a [OsString],
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
        let hosts = match (self.cell.set_up, self.remote) {
            (SetUp::TwoHosts, None) => Some(Hosts::Namespaces(TwoHosts::new(self.measure.link)?)),
            (SetUp::TwoHosts, Some(remote)) => {
                let link = self.measure.link;
                ensure!(
                    link == Link::default(),
                    "the link between two machines is what it is; take link out"
                );
                ensure!(self.measure.kind != Kind::OneWay, "two machines have two clocks: no one way");
                Some(Hosts::Machines(remote))
            }
            _ => None,
        };
        let hosts = hosts.as_ref();
        match self.measure.kind {
            Kind::Latency => self.latency(hosts),
            Kind::OneWay | Kind::Throughput => self.stream(hosts),
            Kind::Discovery => self.discovery(hosts),
            Kind::Footprint => self.footprint(),
            Kind::Fleet => self.fleet(),
        }
    }

    fn start(&self, side: usize, hosts: Option<&Hosts<'_>>) -> Result<Adapter> {
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
        match hosts {
            Some(Hosts::Namespaces(hosts)) => launch.namespace = Some(hosts.name(side.min(1)).to_string()),
            Some(Hosts::Machines(remote)) if side > 0 => {
                launch.command = Adapters::remote_command(&self.contender.adapter, remote);
                launch.remote.clone_from(&remote.shell);
            }
            _ => {}
        }
        Adapter::start(&self.contender.name, &launch)
    }

    fn open(&self, role: &str, side: usize, hosts: Option<&Hosts<'_>>) -> Line {
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
        line = match hosts.map(Hosts::ends) {
            Some(ends) => {
                let ([near, far], [here, there]) = (ends.interfaces, ends.addresses);
                let (interface, address, peer) =
                    if side == 0 { (near, here, there) } else { (far, there, here) };
                line.with("interface", interface).with("address", address).with("peer", peer)
            }
            None => line.with("interface", "lo").with("address", "127.0.0.1").with("peer", "127.0.0.1"),
        };
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

    fn latency(&self, hosts: Option<&Hosts<'_>>) -> Result<Outcome> {
        let mut near = self.start(0, hosts)?;
        let mut far = None;
        if self.cell.set_up == SetUp::IntraProcess {
            near.ask(&self.open("ponger", 1, hosts), "opened", PATIENCE)?;
        } else {
            let other = far.insert(self.start(1, hosts)?);
            other.ask(&self.open("ponger", 1, hosts), "opened", PATIENCE)?;
        }
        near.ask(&self.open("pinger", 0, hosts), "opened", PATIENCE)?;
        near.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        if let Some(far) = &mut far {
            far.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        }
        let (warm_up, count) =
            if self.counts_calls { (0, COUNTED_TRIPS) } else { (self.measure.warm_up, self.measure.count) };
        let file = self.file("round-trips");
        let ping = Line::new("ping")
            .with("warm_up", warm_up)
            .with("count", count)
            .with("patience_ms", PONG.as_millis())
            .with("by_turns", u8::from(self.cell.set_up == SetUp::IntraProcess))
            .with("file", &file);
        let longest = PATIENCE + Duration::from_millis(count + warm_up);
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
        near.ask(&ping, "done", longest)?;
        let after = cpu(&[Some(&near), far.as_ref()])?;
        let nanos = load(&file, count)?;
        ensure!(nanos.len() as u64 == count, "{} round trips instead of {count}", nanos.len());
        let (mut figures, bins) = summarise(&nanos);
        if let Some(used) = after.zip(before).map(|(after, before)| after - before) {
            figures.insert("cpu_us_per_round_trip".into(), used * 1e6 / (count + warm_up) as f64);
        }
        if let Some(usage) = near.usage()? {
            figures.insert("rss_mb".into(), usage.rss / 1e6);
        }
        Ok((figures, bins))
    }

    fn stream(&self, hosts: Option<&Hosts<'_>>) -> Result<Outcome> {
        let mut source = self.start(0, hosts)?;
        let mut sinks = Vec::new();
        for _ in 0..self.cell.readers {
            let mut sink = self.start(1, hosts)?;
            sink.ask(&self.open("sink", 1, hosts), "opened", PATIENCE)?;
            sinks.push(sink);
        }
        source.ask(&self.open("source", 0, hosts), "opened", PATIENCE)?;
        source.ask(&Self::await_peers(self.cell.readers), "matched", PATIENCE * 2)?;
        for sink in &mut sinks {
            sink.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        }
        let mut time = Duration::from_secs_f64(self.measure.seconds);
        let calls = match self.counts_calls {
            true => {
                time = time.min(COUNTED_TIME);
                let first = sinks.first();
                Some((self.count_calls(&[Some(&source)])?, self.count_second(first)?))
            }
            false => None,
        };
        let before = (cpu(&[Some(&source)])?, all(&sinks)?);
        let (on_cable, begin) = (hosts.map(Hosts::octets_on_cable).transpose()?.flatten(), Instant::now());
        let blast = Line::new("blast")
            .with("millis", time.as_millis())
            .with("count", self.measure.count)
            .with("rate", self.measure.rate)
            .with("by_chance", u8::from(self.measure.by_chance));
        let sent = source.ask(&blast, "sent", time + PATIENCE)?;
        let wire = match on_cable.zip(hosts) {
            Some((before, hosts)) => hosts.octets_on_cable()?.map(|after| (after - before, begin.elapsed())),
            None => None,
        };
        let file = (self.measure.kind == Kind::OneWay).then(|| self.file("delays"));
        let silence = if self.measure.reliable { SILENCE_RELIABLE } else { SILENCE };
        let counted = sinks
            .iter_mut()
            .map(|sink| settle(sink, figure(&sent, "samples")? as u64, silence, file.as_deref()))
            .collect::<Result<Vec<_>>>()?;
        if let Some((writer, reader)) = calls {
            return call_figures(&sent, counted.first(), writer, reader);
        }
        let after = (cpu(&[Some(&source)])?, all(&sinks)?);
        let difference = |after: Option<f64>, before: Option<f64>| Some(after? - before?);
        let used = (difference(after.0, before.0), difference(after.1, before.1));
        let delays = file.map(|file| load(&file, MAX_DELAYS)).transpose()?;
        let (mut figures, bins) =
            self.stream_figures(&sent, &counted, used, source.usage()?, &delays.unwrap_or_default())?;
        self.add_link_figures(&mut figures, &sinks, wire)?;
        Ok((figures, bins))
    }

    /// What readers took of memory, and how full the line was where samples were written as fast as it took them.
    fn add_link_figures(
        &self,
        figures: &mut Figures,
        sinks: &[Adapter],
        wire: Option<(f64, Duration)>,
    ) -> Result<()> {
        let peaks = sinks.iter().map(Adapter::usage).collect::<Result<Option<Vec<_>>>>()?;
        let most = |of: fn(&Usage) -> f64| peaks.as_ref().and_then(|all| all.iter().map(of).reduce(f64::max));
        for (name, octets) in
            [("reader_rss_mb", most(|usage| usage.rss)), ("reader_peak_rss_mb", most(|usage| usage.peak))]
        {
            figures.extend(octets.map(|octets| (name.to_string(), octets / 1e6)));
        }
        if self.measure.rate > 0 {
            return Ok(());
        }
        if let Some((octets, time)) = wire {
            figures.insert("wire_mbit_per_s".into(), octets * 8.0 / 1e6 / time.as_secs_f64());
        }
        let line = f64::from(self.measure.link.mbit);
        let share = figures.get("gbit_per_s").filter(|_| line > 0.0).map(|gbit| 100_000.0 * gbit / line);
        figures.extend(share.map(|share| ("line_percent".to_string(), share)));
        Ok(())
    }

    fn count_second(&self, sink: Option<&Adapter>) -> Result<Calls> {
        let id = sink.and_then(Adapter::local_id).context("system calls are counted on this machine only")?;
        Calls::count(id, &self.scratch.join("calls-reader"))
    }

    fn stream_figures(
        &self,
        sent: &Line,
        counted: &[Line],
        cpu: (Option<f64>, Option<f64>),
        source: Option<Usage>,
        delays: &[u64],
    ) -> Result<Outcome> {
        let sent_samples = figure(sent, "samples")?;
        let (mut slowest, mut arrived, mut disorder) = (f64::INFINITY, 0.0, 0.0);
        for line in counted {
            let (samples, nanos) = (figure(line, "samples")?, figure(line, "nanos")?);
            // The first sample starts the clock, so it is not in the time.
            let rate = if nanos > 0.0 { (samples - 1.0) * 1e9 / nanos } else { 0.0 };
            slowest = slowest.min(rate);
            arrived += samples;
            disorder += figure(line, "out_of_order")?;
        }
        if arrived == 0.0 {
            bail!("nothing arrived of {sent_samples} samples");
        }
        let expected = sent_samples * counted.len() as f64;
        let (mut figures, bins) = match self.measure.kind {
            Kind::OneWay => summarise(delays),
            _ => Outcome::default(),
        };
        for (name, value) in [
            ("samples_per_s", Some(slowest)),
            ("gbit_per_s", Some(slowest * self.cell.payload as f64 * 8.0 / 1e9)),
            ("sent", Some(sent_samples)),
            ("refused", Some(figure(sent, "refused")?)),
            ("lost_percent", Some(100.0 * (expected - arrived).max(0.0) / expected.max(1.0))),
            ("out_of_order", Some(disorder)),
            ("cpu_us_per_sample_written", cpu.0.map(|cpu| cpu * 1e6 / sent_samples.max(1.0))),
            ("cpu_us_per_sample_read", cpu.1.map(|cpu| cpu * 1e6 / arrived)),
            ("writer_rss_mb", source.map(|source| source.rss / 1e6)),
            ("writer_peak_rss_mb", source.map(|source| source.peak / 1e6)),
            // Adapters of others need not tell.
            ("write_ms", figure(sent, "call_mean").ok().map(|nanos| nanos / 1e6)),
            ("write_spread_ms", figure(sent, "call_spread").ok().map(|nanos| nanos / 1e6)),
        ] {
            figures.extend(value.map(|value| (name.to_string(), value)));
        }
        Ok((figures, bins))
    }

    fn discovery(&self, hosts: Option<&Hosts<'_>>) -> Result<Outcome> {
        let (mut first, mut second) = (self.start(0, hosts)?, self.start(1, hosts)?);
        first.ask(&self.open("source", 0, hosts), "opened", PATIENCE)?;
        second.ask(&Line::new("hello"), "hello", PATIENCE)?;
        let before = cpu(&[Some(&first), Some(&second)])?;
        let begin = std::time::Instant::now();
        second.tell(&self.open("sink", 1, hosts))?;
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

    fn footprint(&self) -> Result<Outcome> {
        let mut one = self.start(0, None)?;
        one.ask(&self.open("source", 0, None), "opened", PATIENCE)?;
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

    /// As many writers as readers, each a process. Memory is the part of each process of what it has in common with others
    /// (proportional set size), so that the sum over all is what the host has spent.
    fn fleet(&self) -> Result<Outcome> {
        let size = self.cell.readers;
        let mut all = Vec::new();
        for at in 0..2 * size {
            let mut one = self.start(at, None)?;
            one.ask(&Line::new("hello"), "hello", PATIENCE)?;
            all.push(one);
        }
        let usages = |all: &[Adapter]| {
            let each = all.iter().map(|one| one.usage()?.context("the process is not on this machine"));
            each.collect::<Result<Vec<Usage>>>()
        };
        let begun = usages(&all)?;
        let begin = Instant::now();
        for (at, one) in all.iter_mut().enumerate() {
            one.tell(&self.open(if at % 2 == 0 { "source" } else { "sink" }, 0, None))?;
            one.tell(&Self::await_peers(size))?;
        }
        for one in &mut all {
            one.hear("opened", PATIENCE * 2)?;
            one.hear("matched", PATIENCE * 2)?;
        }
        let matched = begin.elapsed().as_secs_f64() * 1e3;
        let before = usages(&all)?;
        std::thread::park_timeout(Duration::from_secs_f64(self.measure.seconds));
        let after = usages(&all)?;
        let proportional = all.iter().map(Adapter::proportional_memory).sum::<Result<f64>>()?;
        let used = |from: &[Usage], to: &[Usage]| mean(to, |one| one.cpu) - mean(from, |one| one.cpu);
        let figures = [
            ("pss_mb", proportional / 1e6 / all.len() as f64),
            ("rss_mb", mean(&after, |one| one.rss) / 1e6),
            ("threads", mean(&after, |one| one.threads)),
            ("matched_ms", matched),
            ("cpu_ms", used(&begun, &before) * 1e3),
            ("idle_cpu_percent", 100.0 * used(&before, &after).max(0.0) / self.measure.seconds),
        ];
        Ok((figures.map(|(name, value)| (name.to_string(), value)).into(), Vec::new()))
    }
}

/// The mean of a figure over processes; 0 of none.
fn mean(processes: &[Usage], of: impl Fn(&Usage) -> f64) -> f64 {
    processes.iter().map(of).sum::<f64>() / processes.len().max(1) as f64
}

fn call_figures(sent: &Line, counted: Option<&Line>, writer: Vec<Calls>, reader: Calls) -> Result<Outcome> {
    let written = writer.into_iter().map(Calls::total).sum::<Result<f64>>()?;
    let samples = figure(sent, "samples")?.max(1.0);
    let arrived = figure(counted.context("no reader")?, "samples")?.max(1.0);
    let figures = [
        ("system_calls_per_sample_written", written / samples),
        ("system_calls_per_sample_read", reader.total()? / arrived),
    ];
    Ok((figures.map(|(name, value)| (name.to_string(), value)).into(), Vec::new()))
}

/// A number that an adapter gives: not below zero, and a number.
fn figure(line: &Line, name: &str) -> Result<f64> {
    let value: f64 = line.get(name)?;
    ensure!(value.is_finite() && value >= 0.0, "{}: {name}={value} cannot be", line.word());
    Ok(value)
}

/// Waits until a reader has everything or nothing comes any more, and asks it for its count.
fn settle(sink: &mut Adapter, expected: u64, silence: Duration, file: Option<&str>) -> Result<Line> {
    let ask = |reset: u8| Line::new("count").with("reset", reset);
    let deadline = std::time::Instant::now() + PATIENCE;
    let (mut last, mut changed) = (0_u64, std::time::Instant::now());
    while last < expected && changed.elapsed() < silence && std::time::Instant::now() < deadline {
        std::thread::park_timeout(Duration::from_millis(20));
        let samples = sink.ask(&ask(0), "counted", PATIENCE)?.get("samples")?;
        if samples != last {
            (last, changed) = (samples, std::time::Instant::now());
        }
    }
    let last = file.iter().fold(ask(1), |line, file| line.with("file", file));
    sink.ask(&last, "counted", PATIENCE)
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

/// More delays than these an adapter does not keep.
const MAX_DELAYS: u64 = 4_000_000;

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
    use super::*;
    use std::str::FromStr;

    #[test]
    fn an_adapters_numbers_are_numbers() {
        for text in ["sent samples=NaN", "sent samples=inf", "sent samples=-1", "sent samples=x", "sent"] {
            assert!(figure(&Line::from_str(text).unwrap(), "samples").is_err(), "{text}");
        }
        assert_eq!(figure(&Line::from_str("sent samples=3").unwrap(), "samples").unwrap(), 3.0);
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
