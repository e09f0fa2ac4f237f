//! `dunlin ls`, `top`, `graph` and `why` and the library's `explain_topic` say the same of each of forty staged pairs: whether the
//! two match, and whether anything is in the way.

use std::time::Instant;

use dunlin::qos::DataRepresentationId::{Xcdr1, Xcdr2};
use dunlin::qos::LivelinessKind::{Automatic, ManualByTopic};
use dunlin::qos::PresentationAccessScope::{Group, Topic};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos};
use dunlin::{DdsType, DomainParticipant, Duration};
use dunlin_interop::verdicts::{
    Verdict, Verdicts, differing, of_explanation, of_graph, of_ls, of_pairs, of_top,
};
use serde_json::Value;

use crate::common::{PATIENCE, other_domain, participant, text};
use crate::why::{
    Keyed, Measurement, Named, Reading, Stage, reading, reads, stage_policies, stage_the_rest, writes,
    writing,
};

#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "Reading", final)]
struct Fixed {
    n: u32,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "Reading")]
struct Longer {
    n: u32,
    more: u32,
}

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&text(words)).unwrap()
}

fn why(topic: &str, common: &[&str]) -> Verdict {
    let words = [&["why", topic, "--json", "--domains", "none"], common].concat();
    // Its status says that something does not match.
    let output = crate::common::run(&words);
    of_pairs(&serde_json::from_slice(&output.stdout).unwrap())
}

/// Every tool says of each topic what is expected.
fn check(bystander: &DomainParticipant, common: &[&str], expected: &[(&str, Verdict)]) {
    let wanted: Verdicts = expected.iter().map(|(name, verdict)| ((*name).to_owned(), *verdict)).collect();
    // Until discovery and the exchange of types have come to an end.
    let deadline = Instant::now() + PATIENCE;
    let settled = |said: &dyn Fn() -> Verdicts, who: &str| loop {
        let differ = differing(&wanted, &said());
        if differ.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{who}, topics with what is expected and said: {differ:?}");
    };
    let explained = |name: &String| (name.clone(), of_explanation(bystander, name));
    settled(&|| wanted.keys().map(explained).collect(), "explain");
    settled(&|| of_ls(&json(&[&["ls", "--json"], common].concat())), "ls");
    settled(&|| of_top(&json(&[&["top", "--json"], common].concat())), "top");
    let graph = of_graph(&json(&[&["graph", "--format", "json"], common].concat()));
    for (name, (_, _, well)) in expected {
        // In each topic everybody is in the same boat.
        assert_eq!(graph[*name], *well > 0, "graph: {name}");
    }
    std::thread::scope(|scope| {
        for some in expected.chunks(expected.len().div_ceil(3)) {
            scope.spawn(move || {
                for (name, verdict) in some {
                    assert_eq!(why(name, common), *verdict, "why: {name}");
                }
            });
        }
    });
}

/// Pairs that match: each policy once with an offer that is enough.
fn stage_what_matches(stage: &mut Stage) -> Vec<&'static str> {
    let secs = Duration::from_secs;
    let group = |qos: PublisherQos| (qos, DataWriterQos::default());
    let of_group = |qos: SubscriberQos| (qos, DataReaderQos::default());
    let partition = |names: &[&str]| group(PublisherQos::default().partition(names.iter().copied()));
    let of_partition = |names: &[&str]| of_group(SubscriberQos::default().partition(names.iter().copied()));
    let pairs = [
        ("OkPlain", writing(), reading()),
        ("OkReliability", writes(DataWriterQos::reliable), reads(DataReaderQos::best_effort)),
        ("OkDurability", writes(DataWriterQos::transient_local), reading()),
        ("OkDeadline", writes(|qos| qos.deadline(secs(1))), reads(|qos| qos.deadline(secs(2)))),
        ("OkBudget", writes(|qos| qos.latency_budget(secs(1))), reads(|qos| qos.latency_budget(secs(2)))),
        ("OkOwnership", writes(DataWriterQos::exclusive), reads(DataReaderQos::exclusive)),
        (
            "OkLiveliness",
            writes(|qos| qos.liveliness(ManualByTopic, secs(60))),
            reads(|qos| qos.liveliness(Automatic, secs(90))),
        ),
        ("OkOrder", writes(DataWriterQos::by_source_timestamp), reads(DataReaderQos::by_source_timestamp)),
        (
            "OkRepresentation",
            writes(|qos| qos.representation(&[Xcdr1])),
            reads(|qos| qos.representation(&[Xcdr1, Xcdr2])),
        ),
        (
            "OkPresentation",
            group(PublisherQos::default().presentation(Group, true, true)),
            of_group(SubscriberQos::default().presentation(Topic, true, false)),
        ),
        ("OkPartition", partition(&["a", "b"]), of_partition(&["b", "c"])),
        ("OkPattern", partition(&["north/7"]), of_partition(&["north/*"])),
    ];
    for (topic, writer, reader) in &pairs {
        stage.both::<Reading, Reading>(topic, writer, reader);
    }
    stage.both::<Reading, Longer>("OkLonger", &writing(), &reading());
    stage.both::<Longer, Reading>("OkShorter", &writing(), &reading());
    stage.both::<Reading, Measurement>("OkOtherName", &writing(), &reading());
    pairs.iter().map(|(name, ..)| *name).chain(["OkLonger", "OkShorter", "OkOtherName"]).collect()
}

#[test]
fn tools_agree_on_forty_pairs() {
    let number = &other_domain(0);
    let mut stage = Stage::new(number, &[("durability.without_service", "local")]);
    stage_policies(&mut stage);
    stage_the_rest(&mut stage);
    let apart = [
        "Reliability",
        "Durability",
        "Transient",
        "Deadline",
        "LatencyBudget",
        "Ownership",
        "LivelinessKind",
        "LivelinessLease",
        "DestinationOrder",
        "Representation",
        "Scope",
        "Coherent",
        "Partition",
        "NoPartition",
        "Patterns",
        "TypeKey",
        "TypeMembers",
    ];
    let matching = stage_what_matches(&mut stage);
    let mut expected: Vec<_> = apart.iter().map(|name| (*name, (1, 0, 0))).collect();
    expected.extend(matching.iter().map(|name| (*name, (1, 1, 1))));
    // Types that differ in what no member mends.
    stage.both::<Fixed, Reading>("Extensibility", &writing(), &reading());
    stage.both::<Keyed, Named>("KeyedNamed", &writing(), &reading());
    // Of four pairs of one topic two match.
    stage.both::<Reading, Reading>("Half", &writing(), &reading());
    stage.both::<Reading, Reading>(
        "Half",
        &writes(DataWriterQos::best_effort),
        &reads(DataReaderQos::exclusive),
    );
    stage.write::<Reading>("Unread", &writing());
    stage.read::<Reading>("Unwritten", &reading());
    expected.extend([("Extensibility", (1, 0, 0)), ("KeyedNamed", (1, 0, 0)), ("Half", (4, 2, 2))]);
    let pairs: usize = expected.iter().map(|(_, (pairs, ..))| pairs).sum();
    let bystander = participant(number, "bystander", &[]);
    check(&bystander, &["-d", number, "--wait", "1.5"], &expected);
    // With those of the next test, and the two topics that have only one side.
    assert!(pairs + 3 >= 40, "{pairs}");
}

/// Pairs that match on paper while nothing can go between them are well for no tool.
#[test]
fn tools_agree_on_unreachable_pairs() {
    let number = &other_domain(1);
    let six = [("network.ipv4", "false"), ("network.ipv6", "true"), ("discovery.peers", "::1")];
    let both = [("network.ipv6", "true"), ("discovery.peers", "::1")];
    let (sensor, display) = (participant(number, "sensor", &[]), participant(number, "display", &six));
    let mut stage = Stage { sensor, display, kept: Vec::new() };
    stage.both::<Reading, Reading>("Apart", &writing(), &reading());
    stage.both::<Reading, Reading>(
        "AlsoApart",
        &writes(DataWriterQos::reliable),
        &reads(DataReaderQos::reliable),
    );
    stage.both::<Reading, Named>("TypesToo", &writing(), &reading());
    let bystander = participant(number, "bystander", &both);
    let common =
        ["-d", number, "--wait", "1.5", "--set", "network.ipv6=true", "--set", "discovery.peers=::1"];
    check(&bystander, &common, &[("Apart", (1, 1, 0)), ("AlsoApart", (1, 1, 0)), ("TypesToo", (1, 0, 0))]);
}
