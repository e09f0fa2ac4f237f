//! `dunlin server`: a discovery server as a program.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use dunlin::{Config, GuidPrefix};
use dunlin_hub::{Server, ServerConfig};
use dunlin_program::{Stop, tell};

#[derive(Parser)]
#[command(
    name = "dunlin server",
    bin_name = "dunlin server",
    version,
    about = "Introduce participants to each other that find nobody by multicast",
    after_help = "Example:\n  dunlin server --domain 0\n\nParticipants are clients with this in dunlin.toml:\n  [discovery]\n  architecture = \"centralised\"\n  servers = [\"udp://HOST\"]"
)]
struct Arguments {
    /// The domain instead of the one of the configuration
    #[arg(short, long)]
    domain: Option<u32>,
    /// The UDP port of discovery; 11811, and 2 more for each domain, by default
    #[arg(short, long)]
    port: Option<u16>,
    /// Set a key of the configuration: network.interfaces=eth0
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Between looks at who has come.
const LOOK: Duration = Duration::from_secs(1);
/// So many participants that cannot be served are named.
const MOST_NAMED: usize = 100;

fn config(arguments: &Arguments) -> Result<ServerConfig> {
    let mut base = Config::load().context("configuration")?;
    base.set_all(&arguments.set)?;
    let domain = arguments.domain.unwrap_or(base.domain.id);
    Ok(ServerConfig { domain, port: arguments.port, base })
}

fn serve(arguments: &Arguments) -> Result<()> {
    let server = Server::start(config(arguments)?)?;
    let stop = Stop::default();
    stop.on_signals()?;
    tell!("dunlin server: domain {}, port {}", server.domain(), server.port());
    let mut named = BTreeSet::new();
    loop {
        name_foreign(&server, &mut named);
        if stop.wait(LOOK) {
            return Ok(());
        }
    }
}

/// Names those who cannot be served, each once.
fn name_foreign(server: &Server, named: &mut BTreeSet<GuidPrefix>) {
    for client in server.foreign_clients() {
        if named.len() < MOST_NAMED && named.insert(client.prefix) {
            tell!("dunlin server: {client}");
        }
    }
}

const NAME: &str = "dunlin server";

fn main() -> ExitCode {
    match dunlin_program::arguments(NAME) {
        Ok(arguments) => dunlin_program::end(NAME, serve(&arguments).map(|()| ExitCode::SUCCESS)),
        Err(code) => code,
    }
}
