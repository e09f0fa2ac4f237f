//! `dunlin graph`: a picture of who talks to whom.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use dunlin::Config;
use dunlin_program::{sanitize, sanitize_lines};
use serde::Serialize;

use super::{Domain, Participant, Topic, survey};
use crate::join::{Survey, listen};

/// Kinds of pictures.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For browsers
    Svg,
    /// For Graphviz
    Dot,
    /// Participants, topics and arrows as one object in one line, for jq
    Json,
}

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub survey: Survey,
    /// What is made
    #[arg(short, long, default_value = "svg")]
    format: Format,
    /// The file instead of standard output
    #[arg(short, long)]
    output: Option<PathBuf>,
}

/// Joins the domain, listens, and draws.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    let participant = arguments.survey.join.participant(config, "dunlin graph")?;
    listen(arguments.survey.wait)?;
    crate::types::settle(&participant);
    let domain = survey(&participant);
    let picture = match arguments.format {
        Format::Svg => super::svg::draw(&domain),
        Format::Dot => dot(&domain),
        Format::Json => json(&domain)?,
    };
    match &arguments.output {
        Some(path) => std::fs::write(path, picture).with_context(|| path.display().to_string())?,
        None => out.write_all(picture.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// An arrow between a participant and a topic.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Arrow {
    /// The GUID.
    pub participant: String,
    /// Whether it points to the topic.
    pub writes: bool,
    /// Whether an endpoint of the participant exchanges samples with somebody, or there is nobody with whom it could.
    pub well: bool,
}

/// The arrows of a topic, one for each participant and direction.
pub fn arrows(topic: &Topic) -> BTreeSet<Arrow> {
    let mut arrows = BTreeSet::new();
    for (writes, endpoints) in [(true, &topic.writers), (false, &topic.readers)] {
        for endpoint in endpoints {
            let participant = endpoint.participant.clone();
            let own = |guid: &str| {
                endpoints.iter().any(|e| e.participant == endpoint.participant && e.guid == guid)
            };
            let pairs = topic.pairs.iter().filter(|p| own(if writes { &p.writer } else { &p.reader }));
            let (all, well) =
                pairs.fold((0, 0), |(all, well), p| (all + 1, well + usize::from(p.is_healthy())));
            arrows.insert(Arrow { participant, writes, well: all == 0 || well > 0 });
        }
    }
    arrows
}

/// What the picture shows, as data.
#[derive(Serialize)]
struct Graph<'a> {
    domain: u32,
    participants: &'a [Participant],
    topics: Vec<Node<'a>>,
}

/// A topic with its arrows.
#[derive(Serialize)]
struct Node<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ros: Option<&'a str>,
    types: &'a [String],
    arrows: BTreeSet<Arrow>,
}

fn json(domain: &Domain) -> Result<String> {
    let topics = domain.topics.iter().map(|topic| Node {
        name: &topic.name,
        ros: topic.ros.as_deref(),
        types: &topic.types,
        arrows: arrows(topic),
    });
    let graph = Graph { domain: domain.domain, participants: &domain.participants, topics: topics.collect() };
    Ok(crate::output::json(&graph)?)
}

/// The language of Graphviz.
fn dot(domain: &Domain) -> String {
    let quoted =
        |text: &str| format!("\"{}\"", sanitize_lines(text).replace('\\', "\\\\").replace('"', "\\\""));
    let mut out = format!("digraph {{\n  rankdir=LR;\n  label=\"domain {}\";\n", domain.domain);
    for participant in &domain.participants {
        let label =
            quoted(&format!("{}\n{}", sanitize(&participant.label), participant.vendor)).replace('\n', "\\n");
        // Writing to a string does not fail.
        _ = writeln!(out, "  {} [shape=box, label={label}];", quoted(&participant.guid));
    }
    for topic in &domain.topics {
        let node = quoted(&format!("topic {}", sanitize(&topic.name)));
        let label = quoted(&format!("{}\n{}", sanitize(topic.label()), sanitize(&topic.types())))
            .replace('\n', "\\n");
        _ = writeln!(out, "  {node} [shape=ellipse, label={label}];");
        for Arrow { participant, writes, well } in arrows(topic) {
            let participant = quoted(&participant);
            let (from, to) = if writes { (&participant, &node) } else { (&node, &participant) };
            let style = if well { "" } else { " [color=red, style=dashed]" };
            _ = writeln!(out, "  {from} -> {to}{style};");
        }
    }
    out + "}\n"
}

#[cfg(test)]
pub mod tests {
    use super::super::{Endpoint, Pair};
    use super::*;

    /// Two participants; one writes what the other reads, and reads what nobody can give it.
    pub fn domain() -> Domain {
        let participant = |name: &str| Participant {
            id: None,
            guid: format!("guid {name}"),
            name: format!("the \"{name}\""),
            label: format!("the \"{name}\""),
            vendor: "Dunlin".into(),
            process: Default::default(),
            addresses: Vec::new(),
            writers: 1,
            readers: 1,
        };
        let endpoint = |name: &str| Endpoint {
            id: None,
            guid: format!("endpoint {name}"),
            participant: format!("guid {name}"),
            of: name.into(),
            vendor: "Dunlin".into(),
            type_name: "ShapeType".into(),
            qos: [("reliability", "RELIABLE".to_owned())].into(),
        };
        let topic = |name: &str, matched: bool| {
            let mut topic = Topic::new(name);
            topic.add(endpoint("one"), true);
            topic.add(endpoint("two"), false);
            let (writer, reader) = ("endpoint one".into(), "endpoint two".into());
            let causes = if matched { Vec::new() } else { vec!["<why>".into()] };
            topic.pairs.push(Pair { writer, reader, matched, causes });
            topic
        };
        let topics = vec![topic("Square", true), topic("rt/a&b", false)];
        Domain { domain: 7, participants: vec![participant("one"), participant("two")], topics }
    }

    #[test]
    fn a_picture_has_nothing_that_a_terminal_obeys() {
        let mut domain = domain();
        domain.participants[0].label = "a\u{1b}[2J\"".into();
        domain.topics[0].name = "Square\u{202e}\n\u{9b}1m".into();
        domain.topics[0].types = vec!["T\u{1b}]0;x\u{7}".into()];
        for text in [dot(&domain), json(&domain).unwrap(), super::super::svg::draw(&domain)] {
            assert!(!text.contains(|c: char| c != '\n' && dunlin_program::is_harmful(c)), "{text:?}");
        }
        assert!(json(&domain).unwrap().contains("Square\\u202e\\n\\u009b1m"), "JSON keeps what it means");
    }

    #[test]
    fn graphviz_gets_an_arrow_for_each_direction() {
        let text = dot(&domain());
        assert!(text.contains("\"guid one\" -> \"topic Square\";\n"), "{text}");
        assert!(text.contains("\"topic Square\" -> \"guid two\";\n"), "{text}");
        assert!(text.contains("\"topic rt/a&b\" -> \"guid two\" [color=red, style=dashed];\n"), "{text}");
        assert!(
            text.contains("\"topic rt/a&b\" [shape=ellipse, label=\"topic /a&b\\nShapeType\"]"),
            "{text}"
        );
        assert!(text.contains("label=\"the \\\"one\\\"\\nDunlin\""), "{text}");
    }
}
