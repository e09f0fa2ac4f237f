//! `dunlin daemon`: the daemon of a host as a program.
#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use clap::Parser;
use dunlin::{Config, Duration, GuardCondition, WaitError, WaitSet};
use dunlin_hub::{Daemon, DaemonConfig};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::process::ExitCode;

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
    for set in &arguments.set {
        let (key, value) = set.split_once('=').with_context(|| format!("--set {set}: give KEY=VALUE"))?;
        base.set(key, value)?;
    }
    let domain = arguments.domain.unwrap_or(base.domain.id);
    Ok(DaemonConfig { domain, base })
}

fn serve(arguments: &Arguments) -> Result<()> {
    let daemon = Daemon::start(config(arguments)?)?;
    let stop = on_signals()?;
    eprintln!("dunlin daemon: domain {}, port {}", daemon.domain(), daemon.port());
    let set = WaitSet::new();
    set.attach_condition(stop.condition());
    while !stop.condition().trigger_value() {
        if !matches!(set.wait(Duration::INFINITE), Ok(_) | Err(WaitError::Timeout)) {
            anyhow::bail!("this thread cannot wait");
        }
    }
    eprintln!("dunlin daemon: {:?}", daemon.status());
    Ok(())
}

/// Raised by a request to terminate.
fn on_signals() -> Result<GuardCondition> {
    let stop = GuardCondition::new();
    let raised = stop.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("dunlin-signals".into()).spawn(move || {
        for _ in signals.forever() {
            raised.set_trigger_value(true);
        }
    })?;
    Ok(stop)
}

fn main() -> ExitCode {
    match serve(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dunlin daemon: {error:#}");
            ExitCode::FAILURE
        }
    }
}
