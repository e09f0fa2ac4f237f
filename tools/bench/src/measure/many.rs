//! Many processes of two kinds: those that write and those that read.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dunlin_bench_adapter::Line;

use super::{Bench, Outcome, PATIENCE, all, figure};
use crate::place::Place;
use crate::process::Adapter;
use crate::statistics::{Figures, summarise};
use crate::usage::Usage;

impl Bench<'_> {
    /// As many writers as readers, each a process. Memory is the part of each process of what it has in common with others
    /// (proportional set size), so that the sum over all is what the host has spent.
    pub(super) fn fleet(&self, place: &Place<'_>) -> Result<Outcome> {
        let size = self.cell.readers;
        let mut all = Vec::new();
        for at in 0..2 * size {
            let mut one = self.start(at % 2, place)?;
            one.ask(&Line::new("hello"), "hello", PATIENCE)?;
            all.push(one);
        }
        let usages = |all: &[Adapter]| {
            let each = all.iter().map(|one| one.usage()?.context("the process is not on this machine"));
            each.collect::<Result<Vec<Usage>>>()
        };
        let begun = usages(&all)?;
        let (writers, readers) = (|at: usize| at.is_multiple_of(2), |at: usize| !at.is_multiple_of(2));
        let spent = place.spent(half(&all, writers), half(&all, readers))?;
        let begin = Instant::now();
        for (at, one) in all.iter_mut().enumerate() {
            one.tell(&self.open(if at % 2 == 0 { "source" } else { "sink" }, at % 2, place))?;
            one.tell(&Self::await_peers(size))?;
        }
        for one in &mut all {
            one.hear("opened", PATIENCE * 2)?;
            one.hear("matched", PATIENCE * 2)?;
        }
        let matched = begin.elapsed().as_secs_f64() * 1e3;
        let spent = (spent, place.spent(half(&all, writers), half(&all, readers))?);
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
        let mut figures: Figures = figures.map(|(name, value)| (name.to_string(), value)).into();
        place.add_spent(&mut figures, spent, self.measure.link.count, all.len() as f64);
        place.add_memory(&mut figures, &all)?;
        Ok((figures, Vec::new()))
    }

    /// As many readers on the second host as writers on the first, each pair with a topic of its own.
    pub(super) fn applications(&self, place: &Place<'_>) -> Result<Outcome> {
        let (mut sources, mut sinks) = (Vec::new(), Vec::new());
        for at in 0..self.cell.readers {
            for (role, side, group) in [("sink", 1, &mut sinks), ("source", 0, &mut sources)] {
                let mut one = self.start(side, place)?;
                let open = self.open(role, side, place).with("topic", format!("App{at}-"));
                one.ask(&open, "opened", PATIENCE)?;
                group.push(one);
            }
        }
        for one in sources.iter_mut().chain(&mut sinks) {
            one.ask(&Self::await_peers(1), "matched", PATIENCE * 2)?;
        }
        // What is done at the start is not what is done later.
        std::thread::park_timeout(Duration::from_secs(1));
        let time = Duration::from_secs_f64(self.measure.seconds);
        let spent = place.spent(&sources, &sinks)?;
        let before = (all(&sources)?, all(&sinks)?);
        for source in &mut sources {
            source.tell(&self.blast(time, place))?;
        }
        let sent = sources.iter_mut().map(|source| source.hear("sent", time + PATIENCE));
        let sent = sent.collect::<Result<Vec<_>>>()?;
        Self::settle_all(&mut sinks, sent.iter(), self.silence())?;
        let after = (all(&sources)?, all(&sinks)?);
        let spent = (spent, place.spent(&sources, &sinks)?);
        let counted = self.collect(&mut sinks)?;
        let samples = |lines: &[Line]| lines.iter().map(|line| figure(line, "samples")).sum::<Result<f64>>();
        let (written, arrived) = (samples(&sent)?, samples(&counted)?);
        ensure!(arrived > 0.0, "nothing arrived of {written} samples");
        let (mut figures, bins) = summarise(&self.delays(sinks.len())?);
        let used = |(from, to): (Option<f64>, Option<f64>)| Some((to? - from?) * 1e6 / written);
        let both = used((before.0, after.0)).zip(used((before.1, after.1))).map(|(near, far)| near + far);
        figures.extend(both.map(|both| ("cpu_us".to_string(), both)));
        figures.insert("lost_percent".into(), 100.0 * (written - arrived).max(0.0) / written);
        // They write side by side, for as long as they were told or until they have written what they were told.
        let nanos = sent
            .iter()
            .map(|line| figure(line, "nanos"))
            .try_fold(0.0, |longest: f64, nanos| nanos.map(|nanos| longest.max(nanos)))?;
        figures.insert("samples_per_s".into(), written * 1e9 / nanos.max(1.0));
        // With servers and daemons, where there are any.
        place.add_spent(&mut figures, spent, self.measure.link.count, written);
        place.add_memory(&mut figures, sources.iter().chain(&sinks))?;
        Ok((figures, bins))
    }
}

/// Those processes whose number is of one kind.
fn half(all: &[Adapter], is_wanted: fn(usize) -> bool) -> impl Iterator<Item = &Adapter> {
    all.iter().enumerate().filter(move |(at, _)| is_wanted(*at)).map(|(_, one)| one)
}

/// The mean of a figure over processes; 0 of none.
fn mean(processes: &[Usage], of: impl Fn(&Usage) -> f64) -> f64 {
    processes.iter().map(of).sum::<f64>() / processes.len().max(1) as f64
}
