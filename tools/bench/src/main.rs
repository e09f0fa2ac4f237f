//! `dunlin bench` without the rest of the command line: what tests and machines that only measure need.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use dunlin_bench::cli;

#[derive(Parser)]
#[command(name = "dunlin-bench", version, about = "Compare DDS implementations, transports and deployments")]
struct Arguments {
    #[command(subcommand)]
    command: cli::Command,
}

fn main() -> ExitCode {
    match cli::execute(Arguments::parse().command, &["adapter"], &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            dunlin_program::tell!("dunlin-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
