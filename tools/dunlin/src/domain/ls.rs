//! `dunlin ls`: participants, topics and endpoints of a domain.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use dunlin::Config;
use dunlin_program::sanitize;

use super::{Domain, Endpoint, Participant, Topic, survey};
use crate::join::{Survey, listen};
use crate::output::counted;

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
    /// With GUIDs
    #[arg(long)]
    guids: bool,
    /// Again every so many seconds, until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1")]
    watch: Option<f64>,
}

/// Joins the domain, listens, and lists.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    let fits = |period| (0.1..=3600.0).contains(&period);
    ensure!(arguments.watch.is_none_or(fits), "--watch takes 0.1 to 3600 seconds");
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
            crate::output::json(&domain)?
        } else {
            let (long, guids) = (arguments.long, arguments.guids);
            text(&domain, View { long, guids, width: crate::output::width() })
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

/// What of the domain is printed, and for whom.
#[derive(Clone, Copy, Default)]
struct View {
    long: bool,
    guids: bool,
    /// Characters of a line, if that matters.
    width: Option<usize>,
}

fn text(domain: &Domain, view: View) -> String {
    let mut out = format!(
        "domain {}: {}, {}\n",
        domain.domain,
        counted(domain.participants.len(), "participant"),
        counted(domain.topics.len(), "topic")
    );
    for (host, group) in by_host(&domain.participants) {
        let told =
            host.map_or_else(|| "on hosts that are not told".to_owned(), |host| format!("on host {host}"));
        // Writing to a string does not fail.
        _ = writeln!(out, "\n{}", sanitize(&told));
        fitted(&mut out, "  ", participants(&group, view), &["USER", "VENDOR", "ADDRESSES"], view.width);
    }
    if view.long {
        domain.topics.iter().for_each(|topic| in_full(&mut out, topic, view));
    } else if !domain.topics.is_empty() {
        let titles = ["TOPIC", "TYPE", "WRITERS", "READERS", "PAIRS"].map(str::to_owned).to_vec();
        let rows = domain.topics.iter().map(|topic| {
            let (writers, readers) = (topic.writers.len().to_string(), topic.readers.len().to_string());
            vec![title(topic), topic.types(), writers, readers, matching(topic)]
        });
        out += "\n";
        fitted(&mut out, "", std::iter::once(titles).chain(rows).collect(), &["TYPE"], view.width);
    }
    out
}

/// A table of participants.
fn participants(group: &[&Participant], view: View) -> Vec<Vec<String>> {
    let mut titles = vec!["NAME", "PROCESS", "USER", "VENDOR", "WRITERS", "READERS", "ADDRESSES"];
    titles.extend(view.guids.then_some("GUID"));
    let rows = group.iter().map(|participant| {
        let mut row = vec![
            participant.label.clone(),
            participant.process.label().unwrap_or("-").to_owned(),
            participant.process.user.clone().unwrap_or_else(|| "-".into()),
            participant.vendor.clone(),
            participant.writers.to_string(),
            participant.readers.to_string(),
            participant.addresses.join(" "),
        ];
        row.extend(view.guids.then(|| participant.guid.clone()));
        row
    });
    std::iter::once(titles.into_iter().map(str::to_owned).collect()).chain(rows).collect()
}

/// The topic's name on the wire and in ROS 2.
fn title(topic: &Topic) -> String {
    topic.ros.as_ref().map_or_else(|| topic.name.clone(), |ros| format!("{} ({ros})", topic.name))
}

fn matching(topic: &Topic) -> String {
    let (matched, well) = (topic.matched(), topic.well());
    let but = if well < matched { format!(", {} without data", matched - well) } else { String::new() };
    format!("{matched} of {} match{but}", topic.pairs.len())
}

/// A topic with its endpoints, and why pairs of them do not match.
fn in_full(out: &mut String, topic: &Topic, view: View) {
    // Writing to a string does not fail.
    _ = writeln!(out, "\n{} [{}] {}", sanitize(&title(topic)), sanitize(&topic.types()), matching(topic));
    let row = |verb: &str, endpoint: &Endpoint| {
        let qos: Vec<_> = endpoint.qos.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut row = vec![verb.to_owned(), endpoint.of.clone(), endpoint.vendor.clone(), qos.join(" ")];
        if view.guids {
            row.insert(3, endpoint.guid.clone());
        }
        row
    };
    let writers = topic.writers.iter().map(|writer| row("writes", writer));
    let readers = topic.readers.iter().map(|reader| row("reads", reader));
    table(out, "  ", &writers.chain(readers).collect::<Vec<_>>());
    let name = |all: &[Endpoint], guid: &String| {
        let of = all.iter().find(|endpoint| endpoint.guid == *guid).map(|endpoint| endpoint.of.clone());
        match of {
            Some(of) if view.guids => format!("{of} {guid}"),
            Some(of) => of,
            None => guid.clone(),
        }
    };
    for pair in topic.pairs.iter().filter(|pair| !pair.is_healthy()) {
        let (writer, reader) = (name(&topic.writers, &pair.writer), name(&topic.readers, &pair.reader));
        let verdict = if pair.matched { "match, but" } else { "do not match" };
        let line = format!("  {writer} and {reader} {verdict}: {}", pair.causes.join("; "));
        _ = writeln!(out, "{}", sanitize(&line));
    }
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

/// A column that is cut keeps so many characters.
const LEAST_COLUMN: usize = 10;

/// A table that fits lines of `width` characters, if there is a limit: columns that are expendable are left out one after the
/// other until the rest has room, then the widest are cut. A column in which nothing is known goes first.
fn fitted(
    out: &mut String,
    indent: &str,
    mut rows: Vec<Vec<String>>,
    expendable: &[&str],
    width: Option<usize>,
) {
    let Some(room) = width.map(|width| width.saturating_sub(indent.len())) else {
        return table(out, indent, &rows);
    };
    let needed = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
    let least = |rows: &[Vec<String>]| -> Vec<usize> {
        widths(rows).into_iter().map(|width| width.min(LEAST_COLUMN)).collect()
    };
    for title in expendable {
        if needed(&least(&rows)) <= room {
            break;
        }
        let Some(at) = rows.first().and_then(|titles| titles.iter().position(|it| it == title)) else {
            continue;
        };
        rows.iter_mut().for_each(|row| _ = row.remove(at));
    }
    let mut widths = widths(&rows);
    while needed(&widths) > room {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > LEAST_COLUMN) else { break };
        *widest -= 1;
    }
    for row in &mut rows {
        for (cell, width) in
            row.iter_mut().zip(&widths).filter(|(cell, width)| cell.chars().count() > **width)
        {
            *cell = cell.chars().take(width.saturating_sub(1)).chain(['…']).collect();
        }
    }
    table(out, indent, &rows);
}

/// Characters of the widest cell of each column.
fn widths<R: AsRef<[String]>>(rows: &[R]) -> Vec<usize> {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let length = |row: &R, column: usize| row.as_ref().get(column).map_or(0, |cell| cell.chars().count());
    (0..columns).map(|column| rows.iter().map(|row| length(row, column)).max().unwrap_or(0)).collect()
}

/// Rows with columns below each other.
pub fn table<R: AsRef<[String]>>(out: &mut String, indent: &str, rows: &[R]) {
    let widths = widths(rows);
    for row in rows {
        let mut line = indent.to_owned();
        for (cell, width) in row.as_ref().iter().zip(&widths) {
            // Two blanks between columns.
            _ = write!(line, "{:<width$}  ", sanitize(cell));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_fits_the_terminal_and_names_stay_readable() {
        let mut domain = crate::domain::graph::tests::domain();
        domain.participants[0].label = "a sensor with a long name (sensor 123456)".into();
        domain.participants[0].addresses =
            vec!["udp/192.168.100.100:7411".into(), "udp/10.0.0.1:7411".into()];
        domain.topics[0].types = vec!["vehicle::sensors::Temperature".into()];
        for width in [50, 80] {
            let text = text(&domain, View { width: Some(width), ..View::default() });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            for shown in ["NAME", "WRITERS", "TOPIC", "1 of 1 match", "a sensor"] {
                assert!(text.contains(shown), "{width}, {shown}:\n{text}");
            }
        }
        // A pipe gets everything.
        let text = text(&domain, View::default());
        assert!(text.contains("udp/10.0.0.1:7411") && text.contains("a long name (sensor 123456)"), "{text}");
    }

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
