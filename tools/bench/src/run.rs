//! Runs a scenario: all cells, again and again, in an order that gives every implementation the same noise.

use crate::adapters::Adapters;
use crate::machine;
use crate::measure::{Bench, Outcome};
use crate::process::{Adapter, Launch};
use crate::results::{Measured, Repetition, Results};
use crate::scenario::{Cell, Contender, Scenario};
use anyhow::{Context, Result, bail};
use dunlin_bench_adapter::Line;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Domains of a run; each repetition takes the next, so that nobody meets a process that is about to end.
const DOMAINS: std::ops::Range<u32> = 100..230;

/// What there is to choose from.
struct Contenders<'a> {
    scenario: &'a Scenario,
    commands: Vec<Vec<OsString>>,
}

/// Runs a scenario. After every round of repetitions the results so far are in `file`.
///
/// # Errors
/// No implementation can be used, or the results cannot be written. What fails in a repetition is part of the results.
pub fn run(scenario: &Scenario, adapters: &Adapters, file: &Path) -> Result<Results> {
    let (scenario, commands, versions) = usable(scenario, adapters)?;
    let cells = scenario.cells();
    let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut results = Results {
        tool: format!("dunlin {}", env!("CARGO_PKG_VERSION")),
        began,
        machine: machine::describe(),
        versions,
        cells: cells
            .iter()
            .filter_map(|cell| Some(Measured::new(cell, contender(&scenario, cell)?)))
            .collect(),
        scenario: scenario.clone(),
    };
    let contenders = Contenders { scenario: &scenario, commands };
    let bar = progress(cells.len() * scenario.repetitions);
    let mut order = Order(began | 1);
    let mut domain = DOMAINS.cycle();
    for round in 0..scenario.repetitions {
        for at in order.of(&cells) {
            let Some((cell, measured)) = cells.get(at).zip(results.cells.get_mut(at)) else { continue };
            bar.set_message(format!(
                "{} · {} B · {}",
                measured.implementation, cell.payload, measured.set_up
            ));
            measured.repetitions.push(contenders.repeat(cell, domain.next().unwrap_or(DOMAINS.start)));
            bar.inc(1);
        }
        results.save(file).with_context(|| format!("after round {}", round + 1))?;
    }
    bar.finish_and_clear();
    Ok(results)
}

fn contender<'a>(scenario: &'a Scenario, cell: &Cell) -> Option<&'a Contender> {
    scenario.implementations.get(cell.implementation)
}

impl Contenders<'_> {
    fn repeat(&self, cell: &Cell, domain: u32) -> Repetition {
        match self.attempt(cell, domain) {
            Ok((figures, bins)) => Repetition { figures, bins, failure: None },
            Err(error) => Repetition { failure: Some(format!("{error:#}")), ..Repetition::default() },
        }
    }

    fn attempt(&self, cell: &Cell, domain: u32) -> Result<Outcome> {
        let scratch = tempfile::tempdir()?;
        Bench {
            measure: self.scenario.measures.get(cell.measure).context("no such measure")?,
            cell,
            contender: contender(self.scenario, cell).context("no such implementation")?,
            command: self.commands.get(cell.implementation).context("no such adapter")?,
            domain,
            scratch: scratch.path(),
        }
        .run()
    }
}

/// The scenario with those implementations that are there, their commands and versions.
#[expect(clippy::type_complexity, reason = "three answers to one question, used once")]
fn usable(
    scenario: &Scenario,
    adapters: &Adapters,
) -> Result<(Scenario, Vec<Vec<OsString>>, BTreeMap<String, String>)> {
    let mut scenario = scenario.clone();
    let (mut commands, mut versions) = (Vec::new(), BTreeMap::new());
    scenario.implementations.retain(|contender| match greet(contender, adapters) {
        Ok((command, version)) => {
            commands.push(command);
            versions.insert(contender.name.clone(), version);
            true
        }
        Err(error) => {
            eprintln!("bench: without {}: {error:#}", contender.name);
            false
        }
    });
    if scenario.implementations.is_empty() {
        bail!("none of the scenario's implementations can be used");
    }
    Ok((scenario, commands, versions))
}

fn greet(contender: &Contender, adapters: &Adapters) -> Result<(Vec<OsString>, String)> {
    let command = adapters.command(&contender.adapter)?;
    let mut adapter =
        Adapter::start(&contender.name, &Launch { command: command.clone(), ..Launch::default() })?;
    let hello = adapter.ask(&Line::new("hello"), "hello", Duration::from_secs(20))?;
    let text = |name| hello.text(name).unwrap_or("?");
    Ok((command, format!("{} {}", text("name"), text("version"))))
}

/// The order of cells in a round: groups of like cells by chance, and those who are compared by chance within a group.
struct Order(u64);

impl Order {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let other = (self.next() % (at as u64 + 1)) as usize;
            items.swap(at, other);
        }
    }

    fn of(&mut self, cells: &[Cell]) -> Vec<usize> {
        let what = |cell: &Cell| (cell.measure, cell.set_up, cell.payload, cell.readers, cell.topics);
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut last = None;
        for (at, cell) in cells.iter().enumerate() {
            if last != Some(what(cell)) {
                groups.push(Vec::new());
            }
            last = Some(what(cell));
            groups.iter_mut().last().into_iter().for_each(|group| group.push(at));
        }
        self.shuffle(&mut groups);
        groups.iter_mut().for_each(|group| self.shuffle(group));
        groups.concat()
    }
}

fn progress(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  left: {eta}  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_cells_stay_together_in_every_order() {
        let text = "id='x'\nabout=''\nimplementations=[{name='a',adapter='udp'},{name='b',adapter='udp'}]\n\
                    measures=[{kind='latency',payloads=[1,2,3,4,5,6]}]";
        let cells = Scenario::parse(text).unwrap().cells();
        let mut order = Order(7);
        let orders: Vec<_> = (0..20).map(|_| order.of(&cells)).collect();
        for one in &orders {
            let mut sorted = one.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..12).collect::<Vec<_>>());
            assert!(one.chunks(2).all(|pair| pair[0] / 2 == pair[1] / 2), "{one:?}");
        }
        assert!(orders.iter().any(|one| *one != orders[0]));
    }
}
