//! Runs the scenarios of `scenarios.toml`: each starts some publishers and subscribers, of Dunlin or of other vendors, and
//! judges their lines. See docs/shapes.md.
#![forbid(unsafe_code)]

mod beginnings;
mod check;
mod judge;
mod line;
mod process;
mod run;
mod scenario;
mod verdict;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use run::{Outcome, Problem, Runner};
use scenario::List;

/// The list.
pub const SCENARIOS: &str = include_str!("../scenarios.toml");

#[derive(Parser)]
#[command(name = "dunlin-shapes-tests", about = "Runs the shapes scenarios")]
struct Arguments {
    /// Our shape_main
    #[arg(long, default_value = "shape_main")]
    program: PathBuf,
    /// Print the table of waivers and end
    #[arg(long)]
    table: bool,
    /// Count which sample comes first of those that Dunlin writes at once in PUBLICATION_MATCHED, over --rounds
    #[arg(long)]
    beginnings: bool,
    /// Who publishes: dunlin or a peer of the list
    #[arg(long, default_value = "dunlin")]
    publisher: String,
    /// Who subscribes
    #[arg(long, default_value = "dunlin")]
    subscriber: String,
    /// Only scenarios whose names begin so
    #[arg(long)]
    only: Vec<String>,
    /// The quick form: part of the scenarios, with fewer samples
    #[arg(long)]
    quick: bool,
    /// Scenarios that run at the same time
    #[arg(long, default_value_t = 4)]
    jobs: u32,
    /// Runs in a row
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    /// A scenario that fails is not run again, not even if it is marked `timing`
    #[arg(long)]
    no_repeat: bool,
    /// Domains from this one on
    #[arg(long, default_value_t = 20)]
    domain: u32,
    /// Milliseconds before each start
    #[arg(long, default_value_t = 500)]
    stagger: u64,
    /// Folder of the built peers
    #[arg(long, env = "INTEROP_PEERS", default_value = ".cache/peers")]
    peers: PathBuf,
}

impl Arguments {
    /// The command of a participant.
    fn command(&self, list: &List, name: &str) -> Result<Vec<OsString>> {
        if name == "dunlin" {
            return Ok(vec![self.program.clone().into()]);
        }
        let peer = list.peer.iter().find(|peer| peer.name == name);
        let peer = peer.with_context(|| format!("there is no peer '{name}' in the list"))?;
        let peers = self.peers.to_string_lossy();
        let fill = |word: &String| {
            word.replace("{peers}", &peers).replace("{here}", env!("CARGO_MANIFEST_DIR")).into()
        };
        Ok(peer.command.iter().map(fill).collect())
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let list = List::parse(SCENARIOS)?;
    if arguments.table {
        print!("{}", list.table());
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.beginnings {
        let (name, rounds) = (&arguments.subscriber, arguments.rounds);
        let command = arguments.command(&list, name)?;
        for (reader_first, who) in [(false, "writer"), (true, "reader")] {
            let counts = beginnings::count(&command, arguments.domain, rounds, reader_first)?;
            println!("{name}, the {who} there first, {rounds} rounds: first came {counts}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let runner = Runner {
        publisher: arguments.command(&list, &arguments.publisher)?,
        subscriber: arguments.command(&list, &arguments.subscriber)?,
        ends_in_time: [&arguments.publisher, &arguments.subscriber].map(|name| name == "dunlin"),
        quick: arguments.quick,
        representation: list.representation(&arguments.publisher, &arguments.subscriber),
        stagger: Duration::from_millis(arguments.stagger),
        repeats: !arguments.no_repeat,
    };
    let (publisher, subscriber) = (&arguments.publisher, &arguments.subscriber);
    let chosen: Vec<_> = list
        .scenario
        .iter()
        .filter(|s| arguments.only.is_empty() || arguments.only.iter().any(|begin| s.name.starts_with(begin)))
        .filter(|s| s.samples(arguments.quick).is_some())
        .collect();
    if chosen.is_empty() {
        bail!("no scenario has such a name");
    }
    let mut failed = 0;
    for round in 1..=arguments.rounds {
        let since = Instant::now();
        let outcomes = runner.run_all(&chosen, arguments.jobs, arguments.domain);
        let (mut passed, mut waived, mut repeated) = (0, 0, 0);
        for (scenario, Outcome { problems, at_first }) in chosen.iter().zip(outcomes) {
            if let Some(at_first) = at_first {
                repeated += 1;
                println!("repeated  {}: {}", scenario.name, Problem::all(&at_first));
                dunlin_notes::retried(&format!("{}, {publisher} to {subscriber}", scenario.name));
            }
            if problems.is_empty() {
                passed += 1;
                continue;
            }
            let why = Problem::all(&problems);
            if let Some(waiver) = list.waiver(&scenario.name, publisher, subscriber, &problems) {
                waived += 1;
                println!("waived    {}: {why}; {}: {}", scenario.name, waiver.peer, waiver.reason);
            } else {
                failed += 1;
                println!("FAILED    {}: {why}", scenario.name);
            }
        }
        println!(
            "{publisher} to {subscriber}, round {round} of {}: {passed} of {} scenarios passed, {waived} waived, {repeated} repeated, in {:.0} s",
            arguments.rounds,
            chosen.len(),
            since.elapsed().as_secs_f64(),
        );
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("dunlin-shapes-tests: {error:#}");
            ExitCode::FAILURE
        }
    }
}
