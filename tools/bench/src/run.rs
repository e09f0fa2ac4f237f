//! Runs a scenario: all cells, again and again, in an order that gives every implementation the same noise.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use dunlin_bench_adapter::{Can, Line};
use indicatif::{ProgressBar, ProgressStyle};
use rustix::fs::{FlockOperation, flock};

use crate::adapter;
use crate::adapters::Adapters;
use crate::hosts::Remote;
use crate::machine;
use crate::measure::{Bench, Outcome};
use crate::process::{Adapter, Launch, Refused, shown};
use crate::results::{Absent, Description, Measured, Repetition, Results};
use crate::scenario::{Cell, Contender, Scenario, SetUp};
use crate::usage::Calls;

/// Domains of a run; each repetition takes the next, so that nobody meets a process that is about to end.
const DOMAINS: std::ops::Range<u32> = 100..230;
/// How long an adapter may take to say who it is.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);
/// Attempts at what never works.
const TRIES: usize = 2;

/// What there is to choose from.
struct Contenders<'a> {
    scenario: &'a Scenario,
    commands: Vec<Vec<OsString>>,
    adapters: &'a Adapters,
    remote: Option<&'a Remote>,
}

/// What a run measures, and what its page says about the choice.
pub struct RunRequest {
    /// What to measure.
    pub scenario: Scenario,
    /// Implementations of the scenario file that the user left out.
    pub left_out: Vec<Absent>,
    /// How the run is shorter than the scenario file says.
    pub notes: Vec<String>,
}

/// Runs a scenario. After every round of repetitions the results so far are in `file`.
///
/// # Errors
/// No implementation can be used for anything, one refuses its options, or the results cannot be written. What fails in
/// a repetition is part of the results.
pub fn run(
    request: RunRequest,
    adapters: &Adapters,
    remote: Option<&Remote>,
    file: &Path,
) -> Result<Results> {
    let _alone = alone();
    let Usable { scenario, commands, descriptions, can, absent } = usable(&request.scenario, adapters)?;
    for one in &absent {
        dunlin_program::tell!("bench: without {}: {}", one.name, one.why);
    }
    let cells = scenario.cells();
    let measured = |cell: &Cell| {
        let mut measured = Measured::new(cell, contender(&scenario, cell)?);
        let (measure, can) = (scenario.measures.get(cell.measure)?, can.get(cell.implementation)?);
        measured.unsupported = cell.refused(measure, contender(&scenario, cell)?, can);
        Some(measured)
    };
    let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut results = Results {
        tool: format!("dunlin {}", env!("CARGO_PKG_VERSION")),
        began,
        machine: machine::describe(),
        commit: adapter::commit().map(String::from),
        notes: other_builds(&scenario, &descriptions, adapter::commit())
            .into_iter()
            .chain(request.notes)
            .collect(),
        descriptions,
        absent: absent.into_iter().chain(request.left_out).collect(),
        cells: cells.iter().filter_map(measured).collect(),
        scenario: scenario.clone(),
    };
    left_out(&results)?;
    let contenders = Contenders { scenario: &scenario, commands, adapters, remote };
    rounds(&contenders, &cells, &mut results, file)?;
    count_calls(&contenders, &cells, &mut results);
    results.machine.insert("load average after".into(), machine::load());
    results.save(file)?;
    Ok(results)
}

/// What measures Dunlin is a program of its own, which may have been built at another time.
fn other_builds(
    scenario: &Scenario,
    descriptions: &BTreeMap<String, Description>,
    commit: Option<&str>,
) -> Vec<String> {
    let Some(commit) = commit else { return Vec::new() };
    let ours = scenario.implementations.iter().filter(|one| one.adapter == "dunlin");
    let described = ours.filter_map(|one| Some((&one.name, descriptions.get(&one.name)?)));
    let other = described.filter(|(_, description)| !description.version.contains(commit));
    other
        .map(|(name, description)| {
            format!("{name} is of another build than this program: {}.", description.version)
        })
        .collect()
}

/// Waits until no other run measures on this machine: they would disturb each other and meet in the same domains. The lock
/// goes with the file.
fn alone() -> Option<File> {
    let path = std::env::temp_dir().join("dunlin-bench.lock");
    let created = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    // Somebody else's file can be locked too, as long as it can be read; without a lock the run goes on.
    let file = created.or_else(|_| File::open(&path)).ok()?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        dunlin_program::tell!("bench: another run is going on; waiting for its end");
        flock(&file, FlockOperation::LockExclusive).ok()?;
    }
    Some(file)
}

/// Says what will not be measured; refuses when that is everything.
fn left_out(results: &Results) -> Result<()> {
    let mut reasons: BTreeMap<(String, String), usize> = BTreeMap::new();
    for cell in &results.cells {
        if let Some(why) = &cell.unsupported {
            *reasons.entry((cell.implementation.clone(), why.clone())).or_insert(0) += 1;
        }
    }
    let texts: Vec<String> =
        reasons.iter().map(|((name, why), count)| format!("{name}: {why} ({count} combinations)")).collect();
    if results.cells.iter().all(|cell| cell.unsupported.is_some()) {
        bail!("nothing of this scenario is supported by its implementations: {}", texts.join("; "));
    }
    texts.iter().for_each(|text| dunlin_program::tell!("bench: {text}"));
    Ok(())
}

fn rounds(contenders: &Contenders<'_>, cells: &[Cell], results: &mut Results, file: &Path) -> Result<()> {
    let repetitions = contenders.scenario.repetitions;
    let bar = progress(results.cells.len() * repetitions);
    let mut order = Order(results.began | 1);
    let mut domain = DOMAINS.cycle();
    for round in 0..repetitions {
        for at in order.of(cells) {
            let Some((cell, measured)) = cells.get(at).zip(results.cells.get_mut(at)) else { continue };
            if measured.unsupported.is_some() || is_given_up(&measured.repetitions) {
                bar.inc(1);
                continue;
            }
            let kind = contenders.scenario.measures.get(cell.measure).map(|measure| measure.kind.to_string());
            bar.set_message(format!(
                "{} · {} · {} B · {}",
                kind.unwrap_or_default(),
                measured.implementation,
                cell.payload,
                measured.set_up
            ));
            let domain = domain.next().unwrap_or(DOMAINS.start);
            measured.repetitions.push(contenders.repeat(cell, domain, false));
            bar.inc(1);
        }
        results.save(file).with_context(|| format!("after round {}", round + 1))?;
        // Where no bar can be drawn, a line tells that it goes on.
        if bar.is_hidden() {
            dunlin_program::tell!("bench: round {} of {repetitions} is done", round + 1);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// What failed twice and never worked is not tried again: it mostly fails by a silence of half a minute.
fn is_given_up(tried: &[Repetition]) -> bool {
    tried.len() >= TRIES && tried.iter().all(|one| one.failure.is_some())
}

/// Counts the system calls of those cells that want it, apart from all that is timed.
fn count_calls(contenders: &Contenders<'_>, cells: &[Cell], results: &mut Results) {
    let wanted = |cell: &Cell| {
        let is_near = contenders.remote.is_none() || cell.set_up != SetUp::TwoHosts;
        is_near && contenders.scenario.measures.get(cell.measure).is_some_and(|measure| measure.system_calls)
    };
    if !cells.iter().any(wanted) {
        return;
    }
    if let Err(error) = Calls::available() {
        results.notes.push(format!("System calls were not counted: {error:#}."));
        return;
    }
    let bar = progress(cells.len());
    let mut domain = DOMAINS.cycle();
    let mut tried: BTreeMap<usize, Vec<Repetition>> = BTreeMap::new();
    for (cell, measured) in cells.iter().zip(&mut results.cells) {
        bar.inc(1);
        if !wanted(cell) || measured.unsupported.is_some() || measured.failed_always() {
            continue;
        }
        let before = tried.entry(cell.implementation).or_default();
        if is_given_up(before) {
            continue;
        }
        bar.set_message(format!("system calls · {} · {} B", measured.implementation, cell.payload));
        let calls = contenders.repeat(cell, domain.next().unwrap_or(DOMAINS.start), true);
        before.push(calls.clone());
        measured.calls = Some(calls);
    }
    bar.finish_and_clear();
}

fn contender<'a>(scenario: &'a Scenario, cell: &Cell) -> Option<&'a Contender> {
    scenario.implementations.get(cell.implementation)
}

impl Contenders<'_> {
    fn repeat(&self, cell: &Cell, domain: u32, counts_calls: bool) -> Repetition {
        match self.attempt(cell, domain, counts_calls) {
            Ok((figures, bins)) => Repetition { figures, bins, failure: None },
            Err(error) => Repetition { failure: Some(format!("{error:#}")), ..Repetition::default() },
        }
    }

    fn attempt(&self, cell: &Cell, domain: u32, counts_calls: bool) -> Result<Outcome> {
        let scratch = tempfile::tempdir()?;
        Bench {
            measure: self.scenario.measures.get(cell.measure).context("no such measure")?,
            cell,
            contender: contender(self.scenario, cell).context("no such implementation")?,
            command: self.commands.get(cell.implementation).context("no such adapter")?,
            adapters: self.adapters,
            remote: self.remote,
            domain,
            scratch: scratch.path(),
            counts_calls,
        }
        .run()
    }
}

/// The scenario with those implementations that are there, what was found out about each, and who is not there.
struct Usable {
    scenario: Scenario,
    commands: Vec<Vec<OsString>>,
    descriptions: BTreeMap<String, Description>,
    can: Vec<Vec<Can>>,
    absent: Vec<Absent>,
}

fn usable(scenario: &Scenario, adapters: &Adapters) -> Result<Usable> {
    let mut usable = Usable {
        scenario: scenario.clone(),
        commands: Vec::new(),
        descriptions: BTreeMap::new(),
        can: Vec::new(),
        absent: Vec::new(),
    };
    usable.scenario.implementations.clear();
    for contender in &scenario.implementations {
        match describe_adapter(contender, adapters) {
            Ok((command, description, can)) => {
                usable.commands.push(command);
                usable.descriptions.insert(contender.name.clone(), description);
                usable.can.push(can);
                usable.scenario.implementations.push(contender.clone());
            }
            // A mistake in the scenario is not passed over; a program that is not there is.
            Err(error) if error.is::<Refused>() => {
                return Err(error.context("the scenario asks for what is not there"));
            }
            Err(error) => {
                let (name, why) = (contender.name.clone(), format!("{error:#}"));
                usable.absent.push(Absent { name, why });
            }
        }
    }
    if usable.scenario.implementations.is_empty() {
        let why: Vec<String> = usable.absent.iter().map(|one| format!("{}: {}", one.name, one.why)).collect();
        bail!("none of the scenario's implementations can be used: {}", why.join("; "));
    }
    Ok(usable)
}

fn describe_adapter(
    contender: &Contender,
    adapters: &Adapters,
) -> Result<(Vec<OsString>, Description, Vec<Can>)> {
    let command = adapters.command(&contender.adapter)?;
    let mut adapter =
        Adapter::start(&contender.name, &Launch { command: command.clone(), ..Launch::default() })?;
    let question = Line::new("hello");
    let question =
        contender.options.iter().fold(question, |line, (key, value)| line.with(&format!("x.{key}"), value));
    let hello = adapter.ask(&question, "hello", HELLO_TIMEOUT)?;
    let text = |name| shown(hello.text(name).unwrap_or("not described"));
    let can = hello.text("can").context("the adapter does not say what it can do")?;
    let can = can.split(',').filter(|word| !word.is_empty()).map(str::parse).collect::<Result<_>>()?;
    let version = format!("{} {}", text("name"), text("version"));
    Ok((command, Description { version, waits: text("waits"), built: text("built") }, can))
}

/// The order of cells in a round: groups of like cells at random, and those that are compared at random within a group.
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
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}, {eta} left  {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_fails_twice_is_given_up() {
        let failed = || Repetition { failure: Some("silence".into()), ..Repetition::default() };
        assert!(!is_given_up(&[failed()]));
        assert!(is_given_up(&[failed(), failed()]));
        assert!(!is_given_up(&[failed(), Repetition::default(), failed()]));
    }

    #[test]
    fn an_adapter_of_another_build_is_named() {
        let run = crate::compare::tests::two(&[], &[]);
        let mut scenario = run.scenario;
        scenario.implementations[0].adapter = "dunlin".into();
        let described = |version: &str| -> BTreeMap<String, Description> {
            [("a".to_string(), Description { version: version.into(), ..Description::default() })].into()
        };
        let notes = |version: &str, commit| other_builds(&scenario, &described(version), commit);
        assert!(notes("Dunlin 1.0 abc", Some("abc")).is_empty() && notes("Dunlin 1.0", None).is_empty());
        assert_eq!(
            notes("Dunlin 1.0 def", Some("abc")),
            ["a is of another build than this program: Dunlin 1.0 def."]
        );
    }

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
