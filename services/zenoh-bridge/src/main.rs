//! `dunlin bridge zenoh`: the bridge as a program.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use dunlin_program::{Stop, tell};
use dunlin_zenoh_bridge::{Bridge, BridgeConfig};

/// How long the end may take: who waits for a peer that does not answer is not waited for.
const END: Duration = Duration::from_secs(10);

#[derive(Parser)]
#[command(
    name = "dunlin bridge zenoh",
    bin_name = "dunlin bridge zenoh",
    version,
    about = "Pass data on between a DDS domain and a zenoh network",
    arg_required_else_help = true,
    after_help = "Examples:\n  dunlin bridge zenoh site.toml\n  dunlin bridge zenoh --check site.toml"
)]
struct Arguments {
    /// The configuration
    file: PathBuf,
    /// Say what is wrong with the configuration, and end
    #[arg(long)]
    check: bool,
}

fn bridge(file: &Path) -> Result<()> {
    let config = BridgeConfig::from_file(file)?;
    let stop = Stop::default();
    stop.on_signals_within(END)?;
    let period = Duration::from_nanos(config.status_period.as_nanos().unsigned_abs());
    let bridge = Bridge::start(config).context("cannot start")?;
    tell!("dunlin bridge zenoh: {} is in force", file.display());
    let longest = if period.is_zero() { Duration::from_secs(3600) } else { period };
    while !stop.wait(longest) {
        if !period.is_zero() {
            status(&bridge);
        }
    }
    status(&bridge);
    Ok(())
}

fn status(bridge: &Bridge) {
    let (up, down) = bridge.routes();
    tell!("dunlin bridge zenoh: {up} routes to zenoh, {down} from it; {}", bridge.counts());
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = if arguments.check {
        BridgeConfig::from_file(&arguments.file).map(drop).map_err(Into::into)
    } else {
        bridge(&arguments.file)
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell!("dunlin bridge zenoh: {error:#}");
            ExitCode::FAILURE
        }
    }
}
