//! `dunlin ls`, `top`, `graph` and `why` and the library's `explain_topic` say the same of each of forty staged pairs: whether the
//! two match, and whether anything is in the way.

use crate::common::{PATIENCE, other_domain, participant, text};
use crate::why::{
    Keyed, Measurement, Named, Reading, Stage, reading, reads, stage_policies, stage_the_rest, writes,
    writing,
};
use dunlin::qos::DataRepresentationId::{Xcdr1, Xcdr2};
use dunlin::qos::LivelinessKind::{Automatic, ManualByTopic};
use dunlin::qos::PresentationAccessScope::{Group, Topic};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos};
use dunlin::{DdsType, DomainParticipant, Duration};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;

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

/// Of a topic: pairs, those that match, those of which nothing keeps samples from arriving.
type Verdict = (usize, usize, usize);
type Verdicts = BTreeMap<String, Verdict>;

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn named(topic: &Value, verdict: Verdict) -> (String, Verdict) {
    (topic["name"].as_str().unwrap().to_owned(), verdict)
}

/// Of a list of pairs as `ls` and `why` have it.
fn of_pairs(pairs: &Value) -> Verdict {
    let pairs = array(pairs);
    let matched = pairs.iter().filter(|pair| pair["matched"] == true);
    let is_well = |pair: &&Value| pair["causes"].as_array().is_none_or(Vec::is_empty);
    (pairs.len(), matched.clone().count(), matched.filter(is_well).count())
}

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&text(words)).unwrap()
}

fn of_ls(common: &[&str]) -> Verdicts {
    let answer = json(&[&["ls", "--json"], common].concat());
    array(&answer["topics"]).iter().map(|topic| named(topic, of_pairs(&topic["pairs"]))).collect()
}

fn of_top(common: &[&str]) -> Verdicts {
    let answer = json(&[&["top", "--json"], common].concat());
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let verdict =
        |topic: &Value| (number(&topic["pairs"]), number(&topic["matched"]), number(&topic["well"]));
    array(&answer["topics"]).iter().map(|topic| named(topic, verdict(topic))).collect()
}

/// Of each topic, whether all its arrows are well.
fn of_graph(common: &[&str]) -> BTreeMap<String, bool> {
    let answer = json(&[&["graph", "--format", "json"], common].concat());
    let well = |topic: &Value| array(&topic["arrows"]).iter().all(|arrow| arrow["well"] == true);
    array(&answer["topics"]).iter().map(|it| (it["name"].as_str().unwrap().to_owned(), well(it))).collect()
}

fn of_why(topic: &str, common: &[&str]) -> Verdict {
    let words = [&["why", topic, "--json", "--domains", "none"], common].concat();
    // Its status says that something does not match.
    let output = crate::common::run(&words);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    of_pairs(&answer["pairs"])
}

fn of_explain(bystander: &DomainParticipant, topic: &str) -> Verdict {
    // Types of others are known once somebody asks.
    for guid in bystander.discovered_publications().iter().map(|writer| writer.guid) {
        let _ = bystander.discovered_type(guid);
    }
    for guid in bystander.discovered_subscriptions().iter().map(|reader| reader.guid) {
        let _ = bystander.discovered_type(guid);
    }
    let pairs = bystander.explain_topic(topic).pairs;
    let well = pairs.iter().filter(|pair| pair.matched && pair.causes.is_empty()).count();
    (pairs.len(), pairs.iter().filter(|pair| pair.matched).count(), well)
}

/// Every tool says of each topic what is expected.
fn check(bystander: &DomainParticipant, common: &[&str], expected: &[(&str, Verdict)]) {
    let wanted: Verdicts = expected.iter().map(|(name, verdict)| ((*name).to_owned(), *verdict)).collect();
    // Until discovery and the exchange of types have come to an end.
    let deadline = Instant::now() + PATIENCE;
    let settled = |said: &dyn Fn() -> Verdicts, who: &str| loop {
        let all = said();
        if wanted.iter().all(|(name, verdict)| all.get(name) == Some(verdict)) {
            return;
        }
        let differ: Vec<_> = wanted
            .iter()
            .filter(|(name, verdict)| all.get(*name) != Some(*verdict))
            .map(|(name, verdict)| (name, verdict, all.get(name)))
            .collect();
        assert!(Instant::now() < deadline, "{who}, expected and said: {differ:?}");
    };
    settled(
        &|| expected.iter().map(|(name, _)| ((*name).to_owned(), of_explain(bystander, name))).collect(),
        "explain",
    );
    settled(&|| of_ls(common), "ls");
    settled(&|| of_top(common), "top");
    let graph = of_graph(common);
    for (name, (_, _, well)) in expected {
        // In each topic everybody is in the same boat.
        assert_eq!(graph[*name], *well > 0, "graph: {name}");
    }
    std::thread::scope(|scope| {
        for some in expected.chunks(expected.len().div_ceil(3)) {
            scope.spawn(move || {
                for (name, verdict) in some {
                    assert_eq!(of_why(name, common), *verdict, "why: {name}");
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
fn all_tools_say_the_same_of_forty_pairs() {
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
fn all_tools_say_that_nothing_arrives() {
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
