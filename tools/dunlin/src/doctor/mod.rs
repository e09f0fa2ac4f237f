//! `dunlin doctor`: looks at this host as DDS needs it, and says what to do.

mod clock;
mod memory;
mod network;
mod ports;
mod report;
mod sockets;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use dunlin::Config;
use dunlin::config::Architecture;
use report::Report;

use crate::join::{Join, listen};

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub join: Join,
    /// Listen for other participants for so many seconds
    #[arg(short, long, default_value_t = 3.0, value_name = "SECONDS")]
    wait: f64,
}

/// Makes every check. Fails if one found a problem.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    let domain = arguments.join.domain(&config);
    let mut report = Report::default();
    let chosen = network::interfaces(&config, &mut report);
    let groups = config.discovery.architecture == Architecture::Decentralised;
    for interface in &chosen {
        if groups {
            network::multicast(&config, interface, &mut report);
        }
        network::unicast(&config, interface, &mut report);
    }
    sockets::buffers(&mut report);
    clock::check(&mut report);
    memory::shared_memory(&config, &mut report);
    ports::check(&config, domain, &mut report);
    domain_check(domain, config, arguments, &mut report)?;
    write!(out, "{}", dunlin_program::sanitize_lines(&report.to_string()))?;
    Ok(if report.problems() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Joins the domain with this configuration and says who is there.
fn domain_check(domain: u32, config: Config, arguments: &Arguments, report: &mut Report) -> Result<()> {
    let participant = match arguments.join.participant(config, "dunlin doctor") {
        Ok(participant) => participant,
        Err(error) => {
            report.problem(format!("domain {domain} cannot be joined: {error:#}"), "see the lines above");
            return Ok(());
        }
    };
    listen(arguments.wait)?;
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
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn examine(set: &[&str]) -> (bool, String) {
        let words = ["doctor", "--domain", "219", "--wait", "0.2"].into_iter();
        let words = words.chain(set.iter().flat_map(|one| ["--set", one]));
        let arguments = Command::try_parse_from(words).unwrap().arguments;
        let mut out = Vec::new();
        let config = crate::config(arguments.join.set()).unwrap();
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
    fn doctor_examines_ipv4_and_ipv6() {
        let (_, text) = examine(&["network.interfaces=lo", "network.ipv6=true"]);
        for words in [
            "lo: multicast to 239.255.0.1 goes out and comes back",
            "lo: datagrams to 127.0.0.1 arrive",
            "lo: over IPv6 no group passes on loopback",
            "lo: datagrams to ::1 arrive",
        ] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
    }

    #[test]
    fn a_failed_check_is_a_problem_with_advice() {
        let (well, text) = examine(&["network.interfaces=none7"]);
        assert!(!well);
        for words in ["problem", "no interface matches 'none7'", "  do: ", "cannot be joined"] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
    }
}
