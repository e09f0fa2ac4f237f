//! The command line of `dunlin-simulation`, and what it prints.

use std::io::Write;

use clap::{Args, Parser, Subcommand};

use crate::campaign::{self, command};
use crate::generate::generate;
use crate::minimise::{Judge, judge_seed, minimise};
use crate::scenario::Switches;
use crate::seed::{Asked, Seed, parse_generation};

/// What was asked for.
#[derive(Parser)]
#[command(about = "Random scenarios in the simulator")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs many seeds and goes on where it was interrupted
    Campaign(campaign::Options),
    /// Runs one seed, says what it is made of and what fails
    Run {
        #[command(flatten)]
        seed: SeedArguments,
        /// What to leave out: kinds of faults and single things, as in `loss,node3,endpoint7,fault2`
        #[arg(long, default_value = "")]
        off: Switches,
    },
    /// Looks for the smallest part of a failing scenario that still fails in the same way
    Minimise {
        #[command(flatten)]
        seed: SeedArguments,
        /// What is left out from the start
        #[arg(long, default_value = "")]
        off: Switches,
    },
}

/// Which seed.
#[derive(Args)]
struct SeedArguments {
    /// The seed, as in `1:4711`, or a bare number of the newest generation
    seed: Asked,
    /// The generation of a bare number
    #[arg(long, value_parser = parse_generation)]
    generation: Option<u32>,
}

impl Cli {
    /// Does it; whether all holds. What cannot be printed is lost.
    pub fn run(self, judge: Judge<'_>, out: &mut (dyn Write + Send)) -> bool {
        match self.command {
            Command::Campaign(options) => campaign::campaign(&options, judge, out),
            Command::Run { seed, off } => one(seed.seed.of(seed.generation), &off, judge, out),
            Command::Minimise { seed, off } => smallest(seed.seed.of(seed.generation), off, judge, out),
        }
    }
}

fn one(seed: Seed, off: &Switches, judge: Judge<'_>, out: &mut dyn Write) -> bool {
    let _ = write!(out, "{}", generate(seed).without(off));
    match judge_seed(seed, off, judge) {
        Ok(outcome) => {
            let _ = writeln!(out, "seed {seed} holds: {outcome:?}");
            true
        }
        Err(failure) => {
            let _ = writeln!(out, "seed {seed} fails:");
            for violation in &failure.violations {
                let _ = writeln!(out, "  {violation}");
            }
            false
        }
    }
}

fn smallest(seed: Seed, off: Switches, judge: Judge<'_>, out: &mut dyn Write) -> bool {
    let Err(failure) = judge_seed(seed, &off, judge) else {
        let _ = writeln!(out, "seed {seed} holds");
        return true;
    };
    let progress = |switches: &Switches| eprintln!("still fails without {switches}");
    let switches = minimise(seed, off, failure.kind(), judge, progress);
    one(seed, &switches, judge, out);
    let _ = writeln!(out, "repeat it: {}", command(seed, &switches));
    false
}
