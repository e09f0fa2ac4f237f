//! `dunlin doctor`: looks at this host as DDS needs it, and says what to do.

mod clock;
mod memory;
mod network;
mod ports;
mod report;
mod sockets;

use crate::why::listen;
use anyhow::Result;
use clap::Args;
use dunlin::{Config, DomainParticipant};
use report::Report;
use std::io::Write;
use std::process::ExitCode;

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    /// The domain instead of the one of the configuration
    #[arg(short, long)]
    domain: Option<u32>,
    /// Listen for other participants for so many seconds
    #[arg(short, long, default_value_t = 3.0, value_name = "SECONDS")]
    wait: f64,
    /// Set a key of the configuration: network.interfaces=eth0
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Arguments {
    /// What overrides the configuration.
    pub fn set(&self) -> &[String] {
        &self.set
    }
}

/// Makes every check. Fails if one found a problem.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    let domain = arguments.domain.unwrap_or(config.domain.id);
    let mut report = Report::default();
    let chosen = network::interfaces(&config, &mut report);
    for interface in &chosen {
        network::multicast(&config, interface, &mut report);
        network::unicast(interface, &mut report);
    }
    sockets::buffers(&mut report);
    clock::check(&mut report);
    memory::shared_memory(&config, &mut report);
    ports::check(&config, domain, &mut report);
    domain_check(domain, config, arguments.wait, &mut report)?;
    write!(out, "{report}")?;
    Ok(if report.problems() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Joins the domain with this configuration and says who is there.
fn domain_check(domain: u32, config: Config, wait: f64, report: &mut Report) -> Result<()> {
    let participant = match DomainParticipant::builder(domain).config(config).name("dunlin doctor").build() {
        Ok(participant) => participant,
        Err(error) => {
            report.problem(format!("domain {domain} cannot be joined: {error}"), "see the lines above");
            return Ok(());
        }
    };
    listen(wait)?;
    let others = participant.discovered_participants();
    for other in &others {
        let name = if other.entity_name.is_empty() { "without name" } else { &other.entity_name };
        report.ok(format!(
            "domain {domain}: participant {} ({name}, {})",
            other.guid_prefix,
            other.vendor.name()
        ));
        match participant.shared_memory(other.guid_prefix) {
            None => {}
            Some(Ok(())) => report.ok(format!("{}: shared memory works", other.guid_prefix)),
            Some(Err(reason)) => report.note(
                format!("{}: data goes over the network, because for shared memory {reason}", other.guid_prefix),
                "processes of one host need the same shared_memory.directory, and files that both may use (shared_memory.access)",
            ),
        }
    }
    // The topic has a name that nobody can use, so the answer is about the domain alone.
    for cause in participant.explain_topic("").causes {
        match cause.name() {
            "NO_COUNTERPART" => {}
            "ALONE" => report.note(format!("domain {domain}: {cause}"), cause.hint()),
            _ => report.problem(format!("domain {domain}: {cause}"), cause.hint()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examine(words: &[&str]) -> (bool, String) {
        let set: Vec<String> = words.iter().map(ToString::to_string).collect();
        let arguments = Arguments { domain: Some(219), wait: 0.2, set };
        let mut out = Vec::new();
        let config = crate::config(arguments.set()).unwrap();
        let code = run(&arguments, config, &mut out).unwrap();
        (code == ExitCode::SUCCESS, String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_check_reports_on_loopback() {
        let (_, text) = examine(&["network.interfaces=lo"]);
        for words in [
            "interface lo (127.0.0.1",
            "lo: multicast to 239.255.0.1 goes out and comes back",
            "lo: datagrams to 127.0.0.1 arrive",
            "receive buffers",
            "clock",
            "/dev/shm",
            "domain 219: ports",
            "domain 219: no other participant",
        ] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
        let last = text.lines().last().unwrap();
        assert!(last.contains(" ok, ") && last.ends_with("problems"), "{text}");
    }

    #[test]
    fn what_is_wrong_is_a_problem_with_an_advice() {
        let (well, text) = examine(&["network.interfaces=none7"]);
        assert!(!well);
        for words in ["problem", "no interface matches 'none7'", "  do: ", "cannot be joined"] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
    }
}
