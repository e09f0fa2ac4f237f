//! `dunlin-simulation`: runs many seeds, or one, or makes a failing one small. See `docs/simulation.md`.
#![forbid(unsafe_code)]

mod campaign;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dunlin_simulation::generate::generate;
use dunlin_simulation::minimise::{minimise, run_seed};
use dunlin_simulation::scenario::Switches;

#[derive(Parser)]
#[command(about = "Random scenarios in the simulator")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the seeds 1 to N and goes on where it was interrupted
    Campaign(campaign::Options),
    /// Runs one seed, says what it is made of and what fails
    Run {
        /// The seed
        seed: u64,
        /// What to leave out: kinds of faults and single things, as in `loss,node3,endpoint7,fault2`
        #[arg(long, default_value = "")]
        off: Switches,
    },
    /// Looks for the smallest part of a failing scenario that still fails
    Minimise {
        /// The seed
        seed: u64,
        /// What is left out from the start
        #[arg(long, default_value = "")]
        off: Switches,
    },
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Campaign(options) => campaign::campaign(&options),
        Command::Run { seed, off } => one(seed, &off),
        Command::Minimise { seed, off } => smallest(seed, off),
    }
}

fn one(seed: u64, off: &Switches) -> ExitCode {
    print!("{}", generate(seed).without(off));
    match run_seed(seed, off) {
        Ok(outcome) => {
            println!("seed {seed} holds: {outcome:?}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("seed {seed} fails:");
            failure.violations.iter().for_each(|text| println!("  {text}"));
            ExitCode::FAILURE
        }
    }
}

fn smallest(seed: u64, off: Switches) -> ExitCode {
    if run_seed(seed, &off).is_ok() {
        println!("seed {seed} holds");
        return ExitCode::SUCCESS;
    }
    let switches = minimise(seed, off, |switches| eprintln!("still fails without {switches}"));
    one(seed, &switches);
    println!("repeat it: {}", campaign::command(seed, &switches));
    ExitCode::FAILURE
}
