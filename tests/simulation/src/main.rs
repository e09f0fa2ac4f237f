//! `dunlin-simulation`: runs many seeds, or one, or makes a failing one small. See `docs/simulation.md`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use dunlin_simulation::cli::Cli;
use dunlin_simulation::run::run;

fn main() -> ExitCode {
    let holds = Cli::parse().run(&run, &mut std::io::stdout());
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
