//! One writer, and readers that count.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use dunlin_bench_adapter::Line;

use super::{Bench, Outcome, PATIENCE, all, cpu, figure, load};
use crate::hosts::Hosts;
use crate::place::Place;
use crate::process::Adapter;
use crate::scenario::Kind;
use crate::statistics::{Figures, summarise};
use crate::usage::{Calls, Usage};

/// The arrival of samples has ended when nothing came for so long. Reliable ones may come late: some implementations ask
/// for what is missing every three seconds.
const SILENCE: Duration = Duration::from_millis(300);
const SILENCE_RELIABLE: Duration = Duration::from_millis(3_500);
/// Seconds of writing while system calls are counted, which makes everything slow.
const COUNTED_TIME: Duration = Duration::from_millis(300);
/// More delays than these an adapter does not keep.
const MAX_DELAYS: u64 = 4_000_000;

impl Bench<'_> {
    pub(super) fn stream(&self, place: &Place<'_>) -> Result<Outcome> {
        let mut source = self.start(0, place)?;
        let mut sinks = Vec::new();
        for _ in 0..self.cell.readers {
            let mut sink = self.start(1, place)?;
            sink.ask(&self.open("sink", 1, place), "opened", PATIENCE)?;
            sinks.push(sink);
        }
        source.ask(&self.open("source", 0, place), "opened", PATIENCE)?;
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
        let spent = place.spent([&source], &sinks)?;
        let (on_cable, begin) =
            (place.hosts().map(Hosts::octets_on_cable).transpose()?.flatten(), Instant::now());
        let sent = source.ask(&self.blast(time, place), "sent", time + PATIENCE)?;
        let wire = match on_cable.zip(place.hosts()) {
            Some((before, hosts)) => hosts.octets_on_cable()?.map(|after| (after - before, begin.elapsed())),
            None => None,
        };
        Self::settle_all(&mut sinks, std::iter::repeat(&sent), self.silence())?;
        if let Some((writer, reader)) = calls {
            let calls = (writer.into_iter().map(Calls::total).sum::<Result<f64>>()?, reader.total()?);
            return call_figures(&sent, self.collect(&mut sinks)?.first(), calls);
        }
        // Before readers write down what they have seen, which is no part of what is measured.
        let after = (cpu(&[Some(&source)])?, all(&sinks)?);
        let difference = |after: Option<f64>, before: Option<f64>| Some(after? - before?);
        let used = (difference(after.0, before.0), difference(after.1, before.1));
        let spent = (spent, place.spent([&source], &sinks)?);
        let counted = self.collect(&mut sinks)?;
        let delays = self.delays(sinks.len())?;
        let (mut figures, bins) = self.stream_figures(&sent, &counted, used, source.usage()?, &delays)?;
        self.add_link_figures(&mut figures, &sinks, wire)?;
        place.add_spent(&mut figures, spent, self.measure.link.count, figure(&sent, "samples")?);
        place.add_memory(&mut figures, sinks.iter().chain([&source]))?;
        Ok((figures, bins))
    }

    /// The command that makes a source write.
    pub(super) fn blast(&self, time: Duration, place: &Place<'_>) -> Line {
        // Where processor time is compared, nobody spends it on looking at the clock.
        let sleeps = self.measure.rate > 0 && place.is_studied();
        Line::new("blast")
            .with("millis", time.as_millis())
            .with("count", self.measure.most_samples())
            .with("rate", self.measure.rate)
            .with("by_chance", u8::from(self.measure.by_chance))
            .with("sleeps", u8::from(sleeps))
    }

    /// After how long nothing more is waited for.
    pub(super) fn silence(&self) -> Duration {
        if self.measure.reliable { SILENCE_RELIABLE } else { SILENCE }
    }

    /// Waits until all readers have what their sources have sent, or nothing comes any more.
    pub(super) fn settle_all<'b>(
        sinks: &mut [Adapter],
        sent: impl Iterator<Item = &'b Line>,
        silence: Duration,
    ) -> Result<()> {
        let mut settled = sinks.iter_mut().zip(sent);
        settled.try_for_each(|(sink, sent)| settle(sink, figure(sent, "samples")? as u64, silence))
    }

    /// What readers have counted; where samples are timed they write down the delays.
    pub(super) fn collect(&self, sinks: &mut [Adapter]) -> Result<Vec<Line>> {
        let is_timed = matches!(self.measure.kind, Kind::OneWay | Kind::Applications);
        let counted = sinks.iter_mut().enumerate().map(|(at, sink)| {
            let count = Line::new("count").with("reset", 1);
            let file = is_timed.then(|| self.file(&format!("delays-{at}")));
            let count = file.iter().fold(count, |line, file| line.with("file", file));
            sink.ask(&count, "counted", PATIENCE)
        });
        counted.collect()
    }

    /// How long samples were on their way to all of so many readers.
    pub(super) fn delays(&self, readers: usize) -> Result<Vec<u64>> {
        let mut all = Vec::new();
        if matches!(self.measure.kind, Kind::OneWay | Kind::Applications) {
            for at in 0..readers {
                all.extend(load(&self.file(&format!("delays-{at}")), MAX_DELAYS)?);
            }
        }
        Ok(all)
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
            // Of adapters that do not tell nothing is known.
            ("late_percent", figure(sent, "late").ok().map(|late| 100.0 * late / sent_samples.max(1.0))),
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
}

fn call_figures(sent: &Line, counted: Option<&Line>, (written, read): (f64, f64)) -> Result<Outcome> {
    let samples = figure(sent, "samples")?.max(1.0);
    let arrived = figure(counted.context("no reader")?, "samples")?.max(1.0);
    let figures = [
        ("system_calls_per_sample_written", written / samples),
        ("system_calls_per_sample_read", read / arrived),
    ];
    Ok((figures.map(|(name, value)| (name.to_string(), value)).into(), Vec::new()))
}

/// Waits until a reader has everything or nothing comes any more.
fn settle(sink: &mut Adapter, expected: u64, silence: Duration) -> Result<()> {
    let ask = Line::new("count").with("reset", 0);
    let deadline = std::time::Instant::now() + PATIENCE;
    let (mut last, mut changed) = (0_u64, std::time::Instant::now());
    while last < expected && changed.elapsed() < silence && std::time::Instant::now() < deadline {
        std::thread::park_timeout(Duration::from_millis(20));
        let samples = sink.ask(&ask, "counted", PATIENCE)?.get("samples")?;
        if samples != last {
            (last, changed) = (samples, std::time::Instant::now());
        }
    }
    Ok(())
}
