//! The discovery server or the daemon of an architecture, as a process of the benchmark: it ends with it.

use std::io::{BufRead, Read as _, Write as _};

use anyhow::{Context, Result, bail};
use dunlin::Config;
use dunlin_bench_adapter::Line;
use dunlin_hub::{Daemon, DaemonConfig, Server, ServerConfig};

use super::SERVER;

/// The longest command, octets.
const MAX_LINE: u64 = 64 << 10;

/// What runs until it is dropped.
enum Hub {
    Server { _running: Server },
    Daemon { _running: Daemon },
}

/// Obeys `open domain= interface=` and `close`. All else is decided by the configuration file.
pub(super) fn serve(role: &str) -> Result<()> {
    let (mut output, mut input) = (std::io::stdout(), std::io::stdin().lock());
    let mut hub = None;
    loop {
        let mut line = String::new();
        if input.by_ref().take(MAX_LINE).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let answer = match line.parse().and_then(|line| obey(role, &line, &mut hub)) {
            Ok(answer) => answer,
            Err(error) => Line::new("error").with("text", format!("{error:#}")),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
        if answer.word() == "closed" {
            return Ok(());
        }
    }
}

fn obey(role: &str, line: &Line, hub: &mut Option<Hub>) -> Result<Line> {
    match line.word() {
        "open" => {
            *hub = Some(start(role, line)?);
            Ok(Line::new("opened"))
        }
        "close" => {
            *hub = None;
            Ok(Line::new("closed"))
        }
        word => bail!("{word} is no command"),
    }
}

fn start(role: &str, line: &Line) -> Result<Hub> {
    let domain = line.get("domain")?;
    let mut base = Config::load()?;
    base.set("network.interfaces", line.text("interface").context("interface is missing")?)?;
    Ok(if role == SERVER {
        Hub::Server { _running: Server::start(ServerConfig { base, ..ServerConfig::new(domain) })? }
    } else {
        Hub::Daemon { _running: Daemon::start(DaemonConfig { domain, base })? }
    })
}
