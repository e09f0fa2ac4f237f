//! `dunlin-surveillance`: cameras, their recorder, a router and monitors.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use dunlin_program::{Stop, tell};
use dunlin_surveillance::cli::{Cli, Command};
use dunlin_surveillance::{monitor, record, route, system};
use dunlin_video::dds::FrameWriter;

/// The status when something of what was meant to be recorded is missing.
const INCOMPLETE: u8 = 3;

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            tell!("dunlin-surveillance: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode> {
    let stop = Stop::default();
    stop.on_signals()?;
    if cli.end_with_stdin {
        stop.on_end_of_stdin();
    }
    match &cli.command {
        Command::Camera(arguments) => dunlin_video::publish::run(arguments, &stop, FrameWriter::create)?,
        Command::Record(arguments) => {
            let complete = record::run(arguments, &stop)?;
            return Ok(ExitCode::from(if complete { 0 } else { INCOMPLETE }));
        }
        Command::Route(arguments) => route::run((arguments.inner, arguments.outer), &stop)?,
        Command::Monitor(arguments) => monitor::run(arguments, &stop)?,
        Command::Run(arguments) => system::run(arguments, &stop)?,
    }
    Ok(ExitCode::SUCCESS)
}
