//! `dunlin-video`: live video over DDS.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use dunlin_program::Stop;
use dunlin_video::cli::{Cli, Command};
#[cfg(feature = "view")]
use dunlin_video::dds::FrameReader;
use dunlin_video::dds::FrameWriter;
use dunlin_video::publish;
#[cfg(feature = "view")]
use dunlin_video::{demo, view};

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            dunlin_program::tell!("dunlin-video: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<()> {
    let stop = Stop::default();
    stop.on_signals()?;
    match command {
        Command::Publish(args) => {
            if args.end_with_stdin {
                stop.on_end_of_stdin();
            }
            publish::run(args, &stop, FrameWriter::create)
        }
        #[cfg(feature = "view")]
        Command::View(args) => {
            if args.end_with_stdin {
                stop.on_end_of_stdin();
            }
            view::run(args, &stop, FrameReader::create)
        }
        #[cfg(feature = "view")]
        Command::Demo(args) => demo::run(args, &stop),
    }
}
