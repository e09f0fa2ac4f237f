//! One repetition of one cell.

use crate::hosts::{ADDRESSES, INTERFACE, TwoHosts};
use crate::process::{Adapter, Launch, Usage};
use crate::scenario::{Cell, Contender, Kind, Measure, Placement, SetUp};
use crate::statistics::{Figures, summarise};
use anyhow::{Context, Result, bail, ensure};
use dunlin_bench_adapter::Line;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
/// How long a ping may stay without its pong.
const PONG: Duration = Duration::from_secs(15);
/// The arrival of samples has ended when nothing came for so long.
const SILENCE: Duration = Duration::from_millis(300);

/// What one repetition gave: figures, and the distribution of nanoseconds if there is one.
pub(crate) type Outcome = (Figures, Vec<(u64, u64)>);

/// All that a repetition needs.
pub(crate) struct Bench<'a> {
    pub(crate) measure: &'a Measure,
    pub(crate) cell: &'a Cell,
    pub(crate) contender: &'a Contender,
    /// Program and arguments of the adapter.
    pub(crate) command: &'a [OsString],
    pub(crate) domain: u32,
    /// For the files that adapters write.
    pub(crate) scratch: &'a Path,
}

impl Bench<'_> {
    /// Measures once, with processes of its own.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let hosts = match self.cell.set_up {
            SetUp::TwoHosts => Some(TwoHosts::new(self.measure.link)?),
            _ => None,
        };
        match self.measure.kind {
            Kind::Latency => self.latency(hosts.as_ref()),
            Kind::OneWay | Kind::Throughput => self.stream(hosts.as_ref()),
            Kind::Discovery => self.discovery(hosts.as_ref()),
            Kind::Footprint => self.footprint(),
        }
    }

    fn start(&self, side: usize, hosts: Option<&TwoHosts>) -> Result<Adapter> {
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
        let launch = Launch {
            command: self.command.to_vec(),
            core,
            namespace: hosts.map(|hosts| hosts.name(side.min(1)).to_string()),
        };
        Adapter::start(&self.contender.name, &launch)
    }

    fn open(&self, role: &str, side: usize) -> Line {
        let two_hosts = self.cell.set_up == SetUp::TwoHosts;
        let line = Line::new("open")
            .with("role", role)
            .with("domain", self.domain)
            .with("topics", self.cell.topics)
            .with("payload", self.cell.payload)
            .with("reliable", u8::from(self.measure.reliable))
            .with("keep_last", self.measure.keep_last)
            .with("interface", if two_hosts { INTERFACE } else { "lo" });
        let line = self
            .contender
            .options
            .iter()
            .fold(line, |line, (key, value)| line.with(&format!("x.{key}"), value));
        match (two_hosts && self.contender.adapter == "udp", ADDRESSES) {
            (false, _) => line,
            (true, [a, b]) if side == 0 => line.with("x.address", a).with("x.peer", b),
            (true, [a, b]) => line.with("x.address", b).with("x.peer", a),
        }
    }

    fn await_peers(count: usize) -> Line {
        Line::new("await").with("count", count).with("patience_ms", PATIENCE.as_millis())
    }

    fn file(&self, name: &str) -> String {
        self.scratch.join(name).to_string_lossy().into_owned()
    }

    fn latency(&self, hosts: Option<&TwoHosts>) -> Result<Outcome> {
        let mut near = self.start(0, hosts)?;
        let mut far = None;
        if self.cell.set_up == SetUp::IntraProcess {
            near.ask(&self.open("ponger", 1), "opened", PATIENCE)?;
        } else {
            let other = far.insert(self.start(1, hosts)?);
            other.ask(&self.open("ponger", 1), "opened", PATIENCE)?;
        }
        near.ask(&self.open("pinger", 0), "opened", PATIENCE)?;
        near.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        if let Some(far) = &mut far {
            far.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        }
        let before = cpu(&[Some(&near), far.as_ref()])?;
        let file = self.file("round-trips");
        let ping = Line::new("ping")
            .with("warm_up", self.measure.warm_up)
            .with("count", self.measure.count)
            .with("patience_ms", PONG.as_millis())
            .with("by_turns", u8::from(self.cell.set_up == SetUp::IntraProcess))
            .with("file", &file);
        let longest = PATIENCE + Duration::from_millis(self.measure.count + self.measure.warm_up);
        near.ask(&ping, "done", longest)?;
        let used = cpu(&[Some(&near), far.as_ref()])? - before;
        let (mut figures, bins) = summarise(&load(&file)?);
        let trips = (self.measure.count + self.measure.warm_up) as f64;
        figures.insert("cpu_us_per_round_trip".into(), used * 1e6 / trips);
        Ok((figures, bins))
    }

    fn stream(&self, hosts: Option<&TwoHosts>) -> Result<Outcome> {
        ensure!(self.cell.set_up != SetUp::IntraProcess, "streams are between processes");
        let mut source = self.start(0, hosts)?;
        let mut sinks = Vec::new();
        for _ in 0..self.cell.readers {
            let mut sink = self.start(1, hosts)?;
            sink.ask(&self.open("sink", 1), "opened", PATIENCE)?;
            sinks.push(sink);
        }
        source.ask(&self.open("source", 0), "opened", PATIENCE)?;
        source.ask(&Self::await_peers(self.cell.readers), "matched", PATIENCE * 2)?;
        for sink in &mut sinks {
            sink.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        }
        let all = |source: &Adapter, sinks: &[Adapter]| -> Result<(f64, f64)> {
            let sinks: Vec<Option<&Adapter>> = sinks.iter().map(Some).collect();
            Ok((source.usage()?.cpu, cpu(&sinks)?))
        };
        let before = all(&source, &sinks)?;
        let time = Duration::from_secs_f64(self.measure.seconds);
        let blast = Line::new("blast")
            .with("millis", time.as_millis())
            .with("count", self.measure.count)
            .with("rate", self.measure.rate);
        let sent = source.ask(&blast, "sent", time + PATIENCE)?;
        let file = self.file("delays");
        let counted = sinks
            .iter_mut()
            .map(|sink| settle(sink, sent.get("samples")?, &file))
            .collect::<Result<Vec<_>>>()?;
        let after = all(&source, &sinks)?;
        let used = (after.0 - before.0, after.1 - before.1);
        self.stream_figures(&sent, &counted, used, source.usage()?, &load(&file)?)
    }

    fn stream_figures(
        &self,
        sent: &Line,
        counted: &[Line],
        cpu: (f64, f64),
        source: Usage,
        delays: &[u64],
    ) -> Result<Outcome> {
        let sent_samples: f64 = sent.get("samples")?;
        let (mut slowest, mut arrived, mut disorder) = (f64::INFINITY, 0.0, 0.0);
        for line in counted {
            let (samples, nanos): (f64, f64) = (line.get("samples")?, line.get("nanos")?);
            // The first sample starts the clock, so it is not in the time.
            let rate = if nanos > 0.0 { (samples - 1.0) * 1e9 / nanos } else { 0.0 };
            slowest = slowest.min(rate);
            arrived += samples;
            disorder += line.get::<f64>("out_of_order")?;
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
            ("samples_per_s", slowest),
            ("gbit_per_s", slowest * self.cell.payload as f64 * 8.0 / 1e9),
            ("sent", sent_samples),
            ("refused", sent.get("refused")?),
            ("lost_percent", 100.0 * (expected - arrived).max(0.0) / expected.max(1.0)),
            ("out_of_order", disorder),
            ("cpu_us_per_sample_written", cpu.0 * 1e6 / sent_samples.max(1.0)),
            ("cpu_us_per_sample_read", cpu.1 * 1e6 / arrived),
            ("writer_peak_rss_mb", source.peak / 1e6),
        ] {
            figures.insert(name.into(), value);
        }
        Ok((figures, bins))
    }

    fn discovery(&self, hosts: Option<&TwoHosts>) -> Result<Outcome> {
        ensure!(self.cell.set_up != SetUp::IntraProcess, "discovery is between processes");
        let (mut first, mut second) = (self.start(0, hosts)?, self.start(1, hosts)?);
        first.ask(&self.open("source", 0), "opened", PATIENCE)?;
        second.ask(&Line::new("hello"), "hello", PATIENCE)?;
        let before = cpu(&[Some(&first), Some(&second)])?;
        let begin = std::time::Instant::now();
        second.tell(&self.open("sink", 1))?;
        second.tell(&Self::await_peers(1))?;
        first.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        let opened: f64 = second.hear("opened", PATIENCE)?.get("micros")?;
        second.hear("matched", PATIENCE * 2)?;
        let elapsed = begin.elapsed().as_secs_f64() * 1e3;
        let used = cpu(&[Some(&first), Some(&second)])? - before;
        let usage = first.usage()?;
        let figures = [
            ("matched_ms", elapsed),
            ("opened_ms", opened / 1e3),
            ("cpu_ms", used * 1e3),
            ("rss_mb", usage.rss / 1e6),
        ];
        Ok((figures.map(|(name, value)| (name.to_string(), value)).into(), Vec::new()))
    }

    fn footprint(&self) -> Result<Outcome> {
        let mut one = self.start(0, None)?;
        one.ask(&self.open("source", 0), "opened", PATIENCE)?;
        // What is done at the start is not what is done at rest.
        std::thread::park_timeout(Duration::from_secs(1));
        let before = one.usage()?;
        std::thread::park_timeout(Duration::from_secs_f64(self.measure.seconds));
        let after = one.usage()?;
        let figures = [
            ("rss_mb", after.rss / 1e6),
            ("threads", after.threads),
            ("idle_cpu_percent", 100.0 * (after.cpu - before.cpu) / self.measure.seconds),
        ];
        Ok((figures.map(|(name, value)| (name.to_string(), value)).into(), Vec::new()))
    }
}

/// Waits until a reader has everything or nothing comes any more, and asks it for its count.
fn settle(sink: &mut Adapter, expected: u64, file: &str) -> Result<Line> {
    let ask = |reset: u8| Line::new("count").with("reset", reset);
    let deadline = std::time::Instant::now() + PATIENCE;
    let (mut last, mut changed) = (0_u64, std::time::Instant::now());
    while last < expected && changed.elapsed() < SILENCE && std::time::Instant::now() < deadline {
        std::thread::park_timeout(Duration::from_millis(20));
        let samples = sink.ask(&ask(0), "counted", PATIENCE)?.get("samples")?;
        if samples != last {
            (last, changed) = (samples, std::time::Instant::now());
        }
    }
    sink.ask(&ask(1).with("file", file), "counted", PATIENCE)
}

/// Processor time of all of them, seconds.
fn cpu(adapters: &[Option<&Adapter>]) -> Result<f64> {
    adapters.iter().flatten().map(|adapter| adapter.usage().map(|usage| usage.cpu)).sum()
}

fn load(file: &str) -> Result<Vec<u64>> {
    let octets = std::fs::read(file).with_context(|| format!("reading {file}"))?;
    let word = |chunk: &[u8]| chunk.try_into().ok().map(u64::from_le_bytes);
    Ok(octets.chunks_exact(8).filter_map(word).collect())
}
