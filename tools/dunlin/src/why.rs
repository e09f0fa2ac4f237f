//! `dunlin why TOPIC`: who writes and reads a topic, which of them match, and why the others do not.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use clap::Args;
use dunlin::{Cause, Config, DomainParticipant, EndpointInfo, Explanation, GuidPrefix, Note};
use dunlin_program::{sanitize_lines, tell};
use serde_json::{Value, json};

use crate::join::{Join, listen};
use crate::names::TopicName;
use crate::routers::{self, Routers};
use crate::statistics::{AllTold, Statistics, misbehaviours};

/// In so many other domains is looked at most: each takes threads and sockets.
const MOST_DOMAINS: usize = 32;
/// RTPS 2.5 §9.6.2.3 has no ports beyond this.
const LAST_DOMAIN: u32 = 232;

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    topic: TopicName,
    #[command(flatten)]
    pub join: Join,
    /// Listen for so many seconds before the answer; as long again in other domains
    #[arg(short, long, default_value_t = 3.0, value_name = "SECONDS")]
    wait: f64,
    /// Other domains in which is looked for those who are missing: 0-9,42 or none
    #[arg(long, default_value = "0-9", value_name = "LIST")]
    domains: Domains,
    /// Every pair alone, with GUIDs
    #[arg(long)]
    guids: bool,
    /// Print JSON, with the name of each cause
    #[arg(long)]
    json: bool,
}

/// Ids of domains.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Domains(Vec<u32>);

impl FromStr for Domains {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut domains = Vec::new();
        for part in text.split(',').filter(|_| text != "none") {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |word: &str| {
                let number = word.trim().parse::<u32>();
                number.with_context(|| format!("'{word}' is no domain: give such as 0-9,42, or none"))
            };
            let (first, last) = (number(first)?, number(last)?);
            ensure!(first <= last && last <= LAST_DOMAIN, "'{part}': domains are 0 to {LAST_DOMAIN}");
            domains.extend(first..=last);
        }
        domains.sort_unstable();
        domains.dedup();
        ensure!(domains.len() <= MOST_DOMAINS, "no more than {MOST_DOMAINS} domains");
        Ok(Self(domains))
    }
}

/// Joins the domain, listens, and answers. Fails unless everybody matches everybody, and nothing was found that keeps them
/// apart.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    let domain = arguments.join.domain(&config);
    let participant = arguments.join.participant(config.clone(), "dunlin why")?;
    let statistics = Statistics::subscribe(&participant)?;
    let routers = Routers::subscribe(&participant)?;
    listen(arguments.wait)?;
    let topic = arguments.topic.in_domain(&participant);
    crate::types::ask(&participant, &topic);
    let mut explanation = participant.explain_topic(&topic);
    let counters = statistics.told();
    name_inactive(&participant, &mut explanation, &counters);
    name_misbehaving(&mut explanation, &counters);
    if explanation.causes.iter().any(|cause| matches!(cause, Cause::NoCounterpart { .. })) {
        let others = arguments.domains.0.iter().copied().filter(|other| *other != domain);
        look_elsewhere(&mut explanation, others, &config, arguments.wait)?;
    }
    let routed = routers.of_topic(&topic)?;
    if arguments.json {
        let mut told = told(domain, &explanation);
        told["routers"] = routers::to_json(&routed);
        write!(out, "{}", crate::output::json(&told)?)?;
    } else {
        let text = if arguments.guids { format!("{explanation:#}") } else { explanation.to_string() };
        write!(out, "domain {domain}, {}", sanitize_lines(&text))?;
        write!(out, "{}", sanitize_lines(&routers::text(&routed)))?;
    }
    Ok(if explanation.is_healthy() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Readers that do not answer are known to their writers alone, which tell if they are Dunlin's.
fn name_inactive(participant: &DomainParticipant, explanation: &mut Explanation, told: &AllTold) {
    for pair in explanation.pairs.iter_mut().filter(|pair| pair.matched) {
        let (Some(writer), Some(reader)) = (&pair.writer, &pair.reader) else { continue };
        let counters = told.get(&writer.guid).and_then(|told| told.now.writer.as_ref());
        let is_inactive =
            counters.is_some_and(|it| it.inactive_readers.iter().any(|key| key.guid() == reader.guid));
        let is_known = pair.causes.iter().any(|cause| matches!(cause, Cause::Inactive { .. }));
        if is_inactive && !is_known {
            let all = participant.discovered_subscriptions();
            let found = all.iter().find(|known| known.guid == reader.guid);
            let locators = |it: &std::sync::Arc<dunlin::SubscriptionBuiltinTopicData>| {
                it.unicast.iter().chain(it.multicast.iter()).copied().collect()
            };
            pair.causes.push(Cause::Inactive { locators: found.map(locators).unwrap_or_default() });
        }
    }
}

/// What one participant refuses of another is known to that one alone, which tells if it is Dunlin's.
fn name_misbehaving(explanation: &mut Explanation, told: &AllTold) {
    for pair in &mut explanation.pairs {
        let sides: BTreeSet<GuidPrefix> =
            [&pair.writer, &pair.reader].into_iter().flatten().map(|side| side.guid.prefix).collect();
        for participant in sides {
            let refused = misbehaviours(told, participant);
            pair.notes.extend(refused.map(|(by, what, count)| Note::Misbehaves {
                refused_by: Some(by),
                participant,
                what,
                count,
            }));
        }
    }
}

/// Joins other domains for a while, all at once.
fn look_elsewhere(
    explanation: &mut Explanation,
    domains: impl Iterator<Item = u32>,
    config: &Config,
    wait: f64,
) -> Result<()> {
    let mut config = config.clone();
    // What is captured is the domain that was asked about.
    config.set("debug.pcap", "")?;
    let mut others = Vec::new();
    for domain in domains {
        match DomainParticipant::builder(domain).config(config.clone()).name("dunlin why").build() {
            Ok(other) => others.push(other),
            // What the domain itself has to say is said nevertheless.
            Err(error) => tell!("dunlin: did not look in domain {domain}: {error}"),
        }
    }
    if !others.is_empty() {
        listen(wait)?;
        explanation.look_in(&others);
    }
    Ok(())
}

fn told(domain: u32, explanation: &Explanation) -> Value {
    let causes = |causes: &[Cause]| causes.iter().map(cause).collect::<Vec<_>>();
    let pair = |pair: &dunlin::Pair| {
        json!({
            "writer": pair.writer.as_ref().map(endpoint),
            "reader": pair.reader.as_ref().map(endpoint),
            "matched": pair.matched,
            "causes": causes(&pair.causes),
            "notes": pair.notes.iter().map(note).collect::<Vec<_>>(),
        })
    };
    json!({
        "domain": domain,
        "topic": explanation.topic,
        "pairs": explanation.pairs.iter().map(pair).collect::<Vec<_>>(),
        "causes": causes(&explanation.causes),
    })
}

fn endpoint(info: &EndpointInfo) -> Value {
    json!({
        "guid": info.guid.to_string(),
        "type": info.type_name,
        "vendor": crate::names::vendor(info.vendor),
        "participant": info.participant_name,
    })
}

fn cause(cause: &Cause) -> Value {
    json!({ "name": cause.name(), "text": cause.to_string(), "hint": cause.hint() })
}

fn note(note: &Note) -> Value {
    json!({ "name": note.name(), "text": note.to_string() })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use clap::Parser;
    use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
    use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant};

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[derive(DdsType, Clone, Debug, Default)]
    struct Reading {
        n: u32,
    }

    fn loopback() -> Config {
        let mut config = Config::default();
        config.set("network.interfaces", "lo").unwrap();
        config
    }

    fn participant(domain: u32, name: &str) -> DomainParticipant {
        DomainParticipant::builder(domain).config(loopback()).name(name).build().unwrap()
    }

    fn writer(participant: &DomainParticipant, topic: &str, qos: &DataWriterQos) -> DataWriter<Reading> {
        let topic = participant.create_topic(topic, &TopicQos::default()).unwrap();
        participant
            .create_publisher(&PublisherQos::default())
            .unwrap()
            .create_datawriter(&topic, qos)
            .unwrap()
    }

    fn reader(participant: &DomainParticipant, topic: &str, qos: &DataReaderQos) -> DataReader<Reading> {
        let topic = participant.create_topic(topic, &TopicQos::default()).unwrap();
        participant
            .create_subscriber(&SubscriberQos::default())
            .unwrap()
            .create_datareader(&topic, qos)
            .unwrap()
    }

    fn ask(domain: u32, topic: &str) -> (bool, String) {
        let words = ["why", topic, "--domain", &domain.to_string(), "--wait", "0.1", "--domains", "none"];
        let arguments = Command::try_parse_from(words).unwrap().arguments;
        let mut out = Vec::new();
        let code = run(&arguments, loopback(), &mut out).unwrap();
        (code == ExitCode::SUCCESS, String::from_utf8(out).unwrap())
    }

    /// Asks until the answer has what it must have; 20 s at most.
    fn answer(domain: u32, topic: &str, wanted: &[&str]) -> (bool, String) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let (well, text) = ask(domain, topic);
            if wanted.iter().all(|words| text.contains(words)) {
                return (well, text);
            }
            assert!(Instant::now() < deadline, "{wanted:?} is not in\n{text}");
        }
    }

    #[test]
    fn pairs_that_match_and_pairs_that_do_not() {
        let domain = 200 + std::process::id() % 15;
        let name = format!("Why{}", std::process::id());
        let (one, other) = (participant(domain, "sensor"), participant(domain, "display"));
        let _reliable = writer(&one, &name, &DataWriterQos::default());
        let (well, _) = answer(domain, &name, &["nobody reads topic", "0 of 0 pairs match"]);
        assert!(!well);
        let _wants = reader(&other, &name, &DataReaderQos::default().reliable());
        let (well, text) = answer(domain, &name, &["1 of 1 pairs match", "writer 'sensor' (", "), Dunlin, "]);
        assert!(well && !text.contains("hint"), "{text}");
        let _weak = writer(&one, &name, &DataWriterQos::default().best_effort());
        let wanted = [
            &*format!("domain {domain}, topic '{name}': 1 of 2 pairs match"),
            "), Dunlin, through shared memory: do not match\n  RELIABILITY: offered BEST_EFFORT, requested RELIABLE\n    hint: ",
        ];
        let (well, _) = answer(domain, &name, &wanted);
        assert!(!well);
    }

    #[test]
    fn lists_of_domains_are_bounded() {
        let parse = |text: &str| text.parse::<Domains>().map(|domains| domains.0);
        assert_eq!(parse("7,0-2,1").unwrap(), [0, 1, 2, 7]);
        assert_eq!(parse("none").unwrap(), [0_u32; 0]);
        assert_eq!(parse("201-232").unwrap().len(), MOST_DOMAINS);
        for wrong in ["", "3-1", "x", "0-", "-1", "233", "0-4294967295", "0-32"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
