//! `dunlin ls`: participants, topics and endpoints of a domain.

use super::{Domain, Endpoint, Participant, survey};
use crate::join::{Survey, listen};
use crate::names::harmless;
use crate::output::counted;
use anyhow::{Result, ensure};
use clap::Args;
use dunlin::Config;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    /// Only topics whose names contain this, on the wire or in ROS 2
    topic: Option<String>,
    #[command(flatten)]
    pub survey: Survey,
    /// As JSON, one object in one line
    #[arg(long)]
    json: bool,
    /// With the writers and readers of each topic and their QoS
    #[arg(short, long)]
    long: bool,
    /// Again every so many seconds, until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1")]
    watch: Option<f64>,
}

/// Joins the domain, listens, and lists.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    ensure!(arguments.watch.is_none_or(|period| period >= 0.1), "--watch takes 0.1 seconds or more");
    let participant = arguments.survey.join.participant(config, "dunlin ls")?;
    listen(arguments.survey.wait)?;
    loop {
        crate::types::settle(&participant);
        let mut domain = survey(&participant);
        if let Some(wanted) = &arguments.topic {
            let wanted = wanted.as_str();
            domain.topics.retain(|topic| topic.name.contains(wanted) || topic.label().contains(wanted));
        }
        let text = if arguments.json {
            serde_json::to_string(&domain)? + "\n"
        } else {
            text(&domain, arguments.long)
        };
        if arguments.watch.is_some() && !arguments.json && std::io::stdout().is_terminal() {
            // Home, and clear to the end.
            write!(out, "\u{1b}[H\u{1b}[2J")?;
        }
        out.write_all(text.as_bytes())?;
        out.flush()?;
        let Some(period) = arguments.watch else { return Ok(ExitCode::SUCCESS) };
        listen(period)?;
    }
}

fn text(domain: &Domain, long: bool) -> String {
    let (participants, topics) = (&domain.participants, &domain.topics);
    let mut out = format!(
        "domain {}: {}, {}\n",
        domain.domain,
        counted(participants.len(), "participant"),
        counted(topics.len(), "topic")
    );
    for (host, group) in by_host(participants) {
        let told =
            host.map_or_else(|| "on hosts that are not told".to_owned(), |host| format!("on host {host}"));
        // Writing to a string does not fail.
        _ = writeln!(out, "\n{}", harmless(&told));
        let mut rows =
            vec![["NAME", "PROCESS", "USER", "VENDOR", "WRITERS", "READERS", "ADDRESSES"].map(str::to_owned)];
        rows.extend(group.into_iter().map(|participant| {
            [
                participant.label(),
                participant.process.label(),
                participant.process.user.clone().unwrap_or_else(|| "-".into()),
                participant.vendor.clone(),
                participant.writers.to_string(),
                participant.readers.to_string(),
                participant.addresses.join(" "),
            ]
        }));
        table(&mut out, "  ", &rows);
    }
    let mut rows = vec![["TOPIC", "TYPE", "WRITERS", "READERS", "PAIRS"].map(str::to_owned)];
    for topic in topics {
        let row = [
            topic.ros.as_ref().map_or_else(|| topic.name.clone(), |ros| format!("{} ({ros})", topic.name)),
            topic.types(),
            topic.writers.len().to_string(),
            topic.readers.len().to_string(),
            format!("{} of {} match", topic.matched(), topic.pairs.len()),
        ];
        rows.push(row);
    }
    if rows.len() > 1 && !long {
        out += "\n";
        table(&mut out, "", &rows);
    }
    for (topic, row) in topics.iter().zip(&rows[1..]).filter(|_| long) {
        // Writing to a string does not fail.
        _ = writeln!(out, "\n{} [{}] {}", harmless(&row[0]), harmless(&row[1]), row[4]);
        let endpoint = |verb: &str, endpoint: &Endpoint| {
            let qos: Vec<_> = endpoint.qos.iter().map(|(name, value)| format!("{name}={value}")).collect();
            [verb.to_owned(), endpoint.of.clone(), endpoint.vendor.clone(), qos.join(" ")]
        };
        let writers = topic.writers.iter().map(|writer| endpoint("writes", writer));
        let readers = topic.readers.iter().map(|reader| endpoint("reads", reader));
        table(&mut out, "  ", &writers.chain(readers).collect::<Vec<_>>());
        for pair in topic.pairs.iter().filter(|pair| !pair.matched) {
            _ = writeln!(
                out,
                "  {} and {} do not match: {}",
                pair.writer,
                pair.reader,
                harmless(&pair.causes.join("; "))
            );
        }
    }
    out
}

/// Participants of each host, hosts in order of their names; those that do not tell theirs come last.
fn by_host(participants: &[Participant]) -> Vec<(Option<&str>, Vec<&Participant>)> {
    let mut hosts: BTreeMap<(bool, Option<&str>), Vec<&Participant>> = BTreeMap::new();
    for participant in participants {
        let host = participant.process.host.as_deref();
        hosts.entry((host.is_none(), host)).or_default().push(participant);
    }
    hosts.into_iter().map(|((_, host), group)| (host, group)).collect()
}

/// Rows with columns below each other.
pub fn table<R: AsRef<[String]>>(out: &mut String, indent: &str, rows: &[R]) {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let length = |row: &R, column: usize| row.as_ref().get(column).map_or(0, |cell| cell.chars().count());
    let width = |column: usize| rows.iter().map(|row| length(row, column)).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = indent.to_owned();
        for (cell, width) in row.as_ref().iter().zip(&widths) {
            // Two blanks between columns.
            _ = write!(line, "{:<width$}  ", harmless(cell));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_below_each_other() {
        let mut out = String::new();
        table(&mut out, " ", &[["a", "b"], ["long", ""], ["é", "c"]].map(|row| row.map(str::to_owned)));
        assert_eq!(out, " a     b\n long\n é     c\n");
        out.clear();
        table(&mut out, "", &[["a\u{1b}[2J\nb".to_owned()]]);
        assert_eq!(out, "a\u{fffd}[2J\u{fffd}b\n");
    }
}
