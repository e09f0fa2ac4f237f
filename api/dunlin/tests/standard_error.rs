//! What the library prints on standard error by itself: warnings in plain lines, unless the program has a subscriber of
//! `tracing` or the configuration says otherwise. Programs of their own, as it holds for a process: this one again.

use std::process::{Command, id};
use std::time::{Duration, Instant};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DdsType, DomainParticipant};

const ROLE: &str = "DUNLIN_TEST_LOG";

#[derive(DdsType, Clone, Debug, Default)]
struct Reading {
    n: u32,
}

fn participant(config: &Config, name: &str) -> DomainParticipant {
    DomainParticipant::builder(40 + id() % 50).config(config.clone()).name(name).build().unwrap()
}

/// What the program does: a writer and a reader that do not fit, until both sides know.
#[test]
fn child_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    match &*role {
        "with a subscriber" => tracing_subscriber::fmt().with_writer(std::io::sink).init(),
        "switched off" => config.set("logging.standard_error", "false").unwrap(),
        "filtered" => config.set("logging.filter", "warn,dunlin::why=off").unwrap(),
        "with init_logging" => dunlin::init_logging(&config).unwrap(),
        _ => assert_eq!(role, "as it is"),
    }
    let (one, other) = (participant(&config, "sensor"), participant(&config, "display"));
    let topic = one.create_topic::<Reading>("T", &TopicQos::default()).unwrap();
    let publisher = one.create_publisher(&PublisherQos::default()).unwrap();
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().best_effort()).unwrap();
    let topic = other.create_topic::<Reading>("T", &TopicQos::default()).unwrap();
    let subscriber = other.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let told = || {
        writer.offered_incompatible_qos_status().count.total
            + reader.requested_incompatible_qos_status().count.total
    };
    while told() < 2 {
        assert!(Instant::now() < deadline, "{role}");
        std::thread::yield_now();
    }
    // The library left the one subscriber to the program.
    if role == "as it is" {
        tracing_subscriber::fmt().with_writer(std::io::sink).try_init().unwrap();
    }
}

/// Lines on standard error about the policy.
fn lines(role: &str) -> Vec<String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process", "--nocapture", "--test-threads", "1"])
        .env(ROLE, role)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{role}: {text}");
    text.lines().filter(|line| line.contains("RELIABILITY")).map(str::to_owned).collect()
}

#[test]
fn warnings_are_plain_lines_on_standard_error_by_default() {
    let mut printed = lines("as it is");
    printed.sort();
    assert_eq!(printed.len(), 2, "each side tells it: {printed:#?}");
    let (reads, writes) = ("topic 'T': reader ", "topic 'T': writer ");
    for (line, side) in printed.iter().zip([reads, writes]) {
        assert!(line.starts_with(&format!("WARN dunlin::why: {side}")), "{line}");
        assert!(
            line.contains("RELIABILITY: offered BEST_EFFORT, requested RELIABLE; let the writer "),
            "{line}"
        );
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }
}

#[test]
fn a_program_with_a_subscriber_prints_what_it_likes() {
    assert_eq!(lines("with a subscriber"), [""; 0]);
    let printed = lines("with init_logging");
    assert!(
        printed.len() == 2 && !printed[0].starts_with("WARN"),
        "once each, as the subscriber has it: {printed:#?}"
    );
}

#[test]
fn standard_error_log_can_be_switched_off_and_filtered() {
    assert_eq!(lines("switched off"), [""; 0]);
    assert_eq!(lines("filtered"), [""; 0]);
}
