//! `dunlin daemon`: the daemon of a host as a program.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use dunlin::Config;
use dunlin_hub::{Daemon, DaemonConfig};
use dunlin_program::{Stop, tell};

/// A wait for the wish to end, after which it waits again.
const LOOK: Duration = Duration::from_secs(3_600);

#[derive(Parser)]
#[command(
    name = "dunlin daemon",
    bin_name = "dunlin daemon",
    version,
    about = "Speak for the programs of this host: they send and receive through this one alone",
    after_help = "Example:\n  dunlin daemon --domain 0\n\nPrograms use it with this in dunlin.toml:\n  [discovery]\n  architecture = \"federated\""
)]
struct Arguments {
    /// The domain instead of the one of the configuration
    #[arg(short, long)]
    domain: Option<u32>,
    /// Set a key of the configuration: network.interfaces=eth0
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

fn config(arguments: &Arguments) -> Result<DaemonConfig> {
    let mut base = Config::load().context("configuration")?;
    base.set_all(&arguments.set)?;
    let domain = arguments.domain.unwrap_or(base.domain.id);
    Ok(DaemonConfig { domain, base })
}

fn serve(arguments: &Arguments) -> Result<()> {
    let daemon = Daemon::start(config(arguments)?)?;
    let stop = Stop::default();
    stop.on_signals()?;
    tell!("dunlin daemon: domain {}, port {}", daemon.domain(), daemon.port());
    while !stop.wait(LOOK) {}
    tell!("dunlin daemon: {:?}", daemon.status());
    Ok(())
}

const NAME: &str = "dunlin daemon";

fn main() -> ExitCode {
    match dunlin_program::arguments(NAME) {
        Ok(arguments) => dunlin_program::end(NAME, serve(&arguments).map(|()| ExitCode::SUCCESS)),
        Err(code) => code,
    }
}
