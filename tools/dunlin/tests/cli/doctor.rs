//! What `dunlin doctor` says of the domain: each kind of problem, with what to do.

use std::any::Any;
use std::time::Instant;

use dunlin::qos::{DataWriterQos, PublisherQos, TopicQos};
use dunlin::{DdsType, DomainParticipant};

use crate::common::{Ghost, PATIENCE, more_domain, participant, run};

#[derive(DdsType, Clone, Debug, Default)]
struct Reading {
    n: u32,
}

fn writes(participant: &DomainParticipant, topic: &str) -> Box<dyn Any> {
    let topic = participant.create_topic::<Reading>(topic, &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    Box::new(publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap())
}

/// Problems that are told of the domain, each with its advice.
fn problems(domain: &str, more: &[&str]) -> Vec<String> {
    let output = run(&[&["doctor", "-d", domain][..], more].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let begins = format!("problem  domain {domain}: ");
    let found = lines.windows(2).filter(|pair| pair[0].contains(&begins)).map(|pair| pair.join("\n"));
    let found: Vec<String> = found.collect();
    assert!(found.is_empty() || !output.status.success(), "a problem is no success: {text}");
    found
}

/// Looks until there are so many problems of the domain, and gives them.
fn eventually(domain: &str, more: &[&str], count: usize) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = problems(domain, more);
        if found.len() == count {
            return found;
        }
        assert!(Instant::now() < deadline, "not {count} problems: {found:#?}");
    }
}

#[track_caller]
fn assert_says(problem: &str, words: &[&str]) {
    for words in words {
        assert!(problem.contains(words), "'{words}' is not in\n{problem}");
    }
}

#[test]
fn a_participant_that_does_not_answer_is_a_problem() {
    let domain = &more_domain(3);
    let _lab = participant(domain, "lab", &[]);
    assert_eq!(eventually(domain, &["--wait", "1"], 0), [""; 0]);
    let _ghost = Ghost::new(domain);
    let found = eventually(domain, &["--wait", "2"], 1);
    assert_says(
        &found[0],
        &["'ghost'", "answers nothing that is sent to it", "do: ", "check the firewall of that host"],
    );
}

#[test]
fn groups_that_are_silent_are_a_problem() {
    let domain = &more_domain(4);
    let _lab = participant(domain, "lab", &[]);
    let deaf = ["--wait", "2", "--set", "discovery.peers=127.0.0.1", "--set", "ports.d0=5"];
    let deaf = [&deaf[..], &["--set", "discovery.announcement_period=200ms"]].concat();
    let found = eventually(domain, &deaf, 1);
    assert_says(&found[0], &["'lab'", "sends to a group arrives here", "do: ", "IGMP snooping"]);
}

#[test]
fn a_discovery_server_that_does_not_answer_is_a_problem() {
    let domain = &more_domain(2);
    let centralised = ["--set", "discovery.architecture=centralised"];
    let deaf = [&["--wait", "1", "--set", "discovery.servers=127.0.0.1:9"], &centralised[..]].concat();
    let found = eventually(domain, &deaf, 1);
    assert_says(
        &found[0],
        &["discovery server 127.0.0.1:9 does not answer", "do: is `dunlin server` running"],
    );
}

#[test]
fn a_daemon_that_is_down_is_a_problem() {
    let domain = &more_domain(0);
    let federated = ["--wait", "1", "--set", "discovery.architecture=federated"];
    let found = eventually(domain, &federated, 1);
    assert_says(&found[0], &["the daemon of this host does not answer at ", "do: start `dunlin daemon`"]);
}

#[test]
fn a_peer_that_cannot_be_connected_to_is_a_problem() {
    let domain = &more_domain(1);
    let sets = ["tcp.enabled=true", "network.udp=false", "discovery.peers=tcp://127.0.0.1:9"];
    let tcp: Vec<&str> =
        ["--wait", "1"].into_iter().chain(sets.iter().flat_map(|set| ["--set", set])).collect();
    let found = eventually(domain, &tcp, 1);
    assert_says(
        &found[0],
        &[
            "cannot connect to 127.0.0.1:9 over TCP: nobody listens there",
            "do: is the other participant running",
        ],
    );
}

#[test]
fn doctor_reports_entities_refused_by_quotas() {
    let domain = &more_domain(5);
    let lab = participant(domain, "lab", &[]);
    let _writers = [writes(&lab, "One"), writes(&lab, "Two")];
    let found = eventually(domain, &["--wait", "1", "--set", "quotas.max_endpoints_per_participant=1"], 1);
    assert_says(&found[0], &["quotas refused 0 announcements of participants and 1 of endpoints"]);
    assert_says(&found[0], &["do: raise quotas.max_endpoints_per_participant"]);
}

#[test]
fn announcements_of_another_tag_are_a_problem() {
    let domain = &more_domain(6);
    let _lab = participant(domain, "lab", &[("domain.tag", "blue")]);
    let found = eventually(domain, &["--wait", "1"], 1);
    assert_says(
        &found[0],
        &["announcements of another domain or domain tag were heard", "do: ", "domain.tag"],
    );
}
