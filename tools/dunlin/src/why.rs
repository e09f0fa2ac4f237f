//! `dunlin why TOPIC`: who writes and reads a topic, which of them match, and why the others do not.

use crate::join::{Join, listen};
use anyhow::Result;
use clap::Args;
use dunlin::Config;
use std::io::Write;
use std::process::ExitCode;

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    /// Name of the topic
    topic: String,
    #[command(flatten)]
    pub join: Join,
    /// Listen for so many seconds before the answer
    #[arg(short, long, default_value_t = 3.0, value_name = "SECONDS")]
    wait: f64,
}

/// Joins the domain, listens, and answers. Fails unless everybody matches everybody.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    let domain = arguments.join.domain(&config);
    let participant = arguments.join.participant(config, "dunlin why")?;
    listen(arguments.wait)?;
    crate::types::ask(&participant, &arguments.topic);
    let explanation = participant.explain_topic(&arguments.topic);
    write!(out, "domain {domain}, {explanation}")?;
    let well = !explanation.pairs.is_empty() && explanation.matched() == explanation.pairs.len();
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
    use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant};
    use std::time::{Duration, Instant};

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
        let words = ["why", topic, "--domain", &domain.to_string(), "--wait", "0.1"];
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
        let (well, text) = answer(domain, &name, &["1 of 1 pairs match", "('sensor', Dunlin)"]);
        assert!(well && !text.contains("hint"), "{text}");
        let _weak = writer(&one, &name, &DataWriterQos::default().best_effort());
        let wanted = [
            &*format!("domain {domain}, topic '{name}': 1 of 2 pairs match"),
            "('display', Dunlin) through shared memory: do not match\n  RELIABILITY: offered BEST_EFFORT, requested RELIABLE\n    hint: ",
        ];
        let (well, _) = answer(domain, &name, &wanted);
        assert!(!well);
    }
}
