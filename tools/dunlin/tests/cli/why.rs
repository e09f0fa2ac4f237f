//! `dunlin why` over staged mismatches between endpoints of this process: the right cause, its values and its hint, and no
//! other cause.

use std::any::Any;
use std::time::Instant;

use dunlin::qos::DataRepresentationId::{Xcdr1, Xcdr2};
use dunlin::qos::LivelinessKind::{Automatic, ManualByTopic};
use dunlin::qos::PresentationAccessScope::{Instance, Topic};
use dunlin::qos::{DataReaderQos, DataWriterQos, DurabilityKind, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DdsType, DomainParticipant, Duration};
use serde_json::Value;

use crate::common::{Ghost, PATIENCE, domain, more_domain, participant, run, text};

#[derive(DdsType, Clone, Debug, Default)]
pub struct Reading {
    n: u32,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "Reading")]
pub struct Keyed {
    #[dds(key)]
    n: u32,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "Reading")]
pub struct Named {
    n: String,
}

#[derive(DdsType, Clone, Debug, Default)]
pub struct Measurement {
    n: u32,
}

/// Two participants of a domain and what they made.
pub struct Stage {
    pub sensor: DomainParticipant,
    pub display: DomainParticipant,
    pub kept: Vec<Box<dyn Any>>,
}

pub type Writing = (PublisherQos, DataWriterQos);
pub type Reader = (SubscriberQos, DataReaderQos);

pub fn writing() -> Writing {
    (PublisherQos::default(), DataWriterQos::default())
}

pub fn reading() -> Reader {
    (SubscriberQos::default(), DataReaderQos::default())
}

pub fn writes(qos: impl Fn(DataWriterQos) -> DataWriterQos) -> Writing {
    (PublisherQos::default(), qos(DataWriterQos::default()))
}

pub fn reads(qos: impl Fn(DataReaderQos) -> DataReaderQos) -> Reader {
    (SubscriberQos::default(), qos(DataReaderQos::default()))
}

impl Stage {
    pub fn new(domain: &str, settings: &[(&str, &str)]) -> Self {
        let sensor = participant(domain, "sensor", settings);
        Self { sensor, display: participant(domain, "display", settings), kept: Vec::new() }
    }

    pub fn write<T: DdsType>(&mut self, topic: &str, (group, qos): &Writing) {
        let topic = self.sensor.create_topic::<T>(topic, &TopicQos::default()).unwrap();
        let publisher = self.sensor.create_publisher(group).unwrap();
        self.kept.push(Box::new(publisher.create_datawriter(&topic, qos).unwrap()));
    }

    pub fn read<T: DdsType>(&mut self, topic: &str, (group, qos): &Reader) {
        let topic = self.display.create_topic::<T>(topic, &TopicQos::default()).unwrap();
        let subscriber = self.display.create_subscriber(group).unwrap();
        self.kept.push(Box::new(subscriber.create_datareader(&topic, qos).unwrap()));
    }

    pub fn both<W: DdsType, R: DdsType>(&mut self, topic: &str, writer: &Writing, reader: &Reader) {
        self.write::<W>(topic, writer);
        self.read::<R>(topic, reader);
    }
}

/// What is to be told of a topic.
struct Case {
    topic: &'static str,
    cause: &'static str,
    /// What the cause says.
    values: &'static [&'static str],
    hint: &'static str,
}

const fn case(
    topic: &'static str,
    cause: &'static str,
    values: &'static [&'static str],
    hint: &'static str,
) -> Case {
    Case { topic, cause, values, hint }
}

/// Pairs that are staged by `stage_policies` and `stage_the_rest`.
const PAIRS: [Case; 18] = [
    case("Reliability", "RELIABILITY", &["offered BEST_EFFORT", "requested RELIABLE"], "least RELIABLE"),
    case(
        "Durability",
        "DURABILITY",
        &["offered VOLATILE", "requested TRANSIENT_LOCAL"],
        "least TRANSIENT_LOCAL",
    ),
    case("Transient", "DURABILITY", &["offered TRANSIENT_LOCAL", "requested TRANSIENT"], "least TRANSIENT"),
    case("Deadline", "DEADLINE", &["offered 3s", "requested 2s"], "at most 2s"),
    case("LatencyBudget", "LATENCY_BUDGET", &["offered 2s", "requested 1s"], "at most 1s"),
    case("Ownership", "OWNERSHIP", &["offered SHARED", "requested EXCLUSIVE"], "set EXCLUSIVE on the writer"),
    case(
        "LivelinessKind",
        "LIVELINESS",
        &["offered AUTOMATIC", "requested MANUAL_BY_TOPIC"],
        "MANUAL_BY_TOPIC",
    ),
    case("LivelinessLease", "LIVELINESS", &["lease 5s", "lease 1s"], "its lease at most"),
    case(
        "DestinationOrder",
        "DESTINATION_ORDER",
        &["requested BY_SOURCE_TIMESTAMP"],
        "least BY_SOURCE_TIMESTAMP",
    ),
    case("Representation", "DATA_REPRESENTATION", &["offered XCDR2", "requested [XCDR1]"], "add XCDR2 to"),
    case("Scope", "PRESENTATION", &["INSTANCE", "TOPIC"], "let the publisher offer"),
    case("Coherent", "PRESENTATION", &["coherent"], "let the publisher offer"),
    case("Partition", "PARTITION", &["publisher 'left'", "subscriber 'right'"], "add a partition"),
    case("NoPartition", "PARTITION", &["publisher none", "subscriber 'right'"], "the empty name"),
    case("Patterns", "PARTITION", &["publisher 'p*'", "subscriber '*'"], "two patterns never match"),
    case("TypeName", "TYPE_NAME", &["'Reading'", "'Measurement'"], "give the type one name"),
    case("TypeKey", "TYPE_KEY", &["the reader's type has a key"], "mark the same members as key"),
    case("TypeMembers", "TYPE_MEMBERS", &["n: "], "compare the types"),
];

pub fn stage_policies(stage: &mut Stage) {
    let secs = Duration::from_secs;
    let pairs = [
        ("Reliability", writes(DataWriterQos::best_effort), reads(DataReaderQos::reliable)),
        ("Durability", writing(), reads(DataReaderQos::transient_local)),
        (
            "Transient",
            writes(DataWriterQos::transient_local),
            reads(|qos| qos.durability(DurabilityKind::Transient)),
        ),
        ("Deadline", writes(|qos| qos.deadline(secs(3))), reads(|qos| qos.deadline(secs(2)))),
        (
            "LatencyBudget",
            writes(|qos| qos.latency_budget(secs(2))),
            reads(|qos| qos.latency_budget(secs(1))),
        ),
        ("Ownership", writing(), reads(DataReaderQos::exclusive)),
        ("LivelinessKind", writing(), reads(|qos| qos.liveliness(ManualByTopic, Duration::INFINITE))),
        (
            "LivelinessLease",
            writes(|qos| qos.liveliness(Automatic, secs(5))),
            reads(|qos| qos.liveliness(Automatic, secs(1))),
        ),
        ("DestinationOrder", writing(), reads(DataReaderQos::by_source_timestamp)),
        (
            "Representation",
            writes(|qos| qos.representation(&[Xcdr2])),
            reads(|qos| qos.representation(&[Xcdr1])),
        ),
    ];
    for (topic, writer, reader) in pairs {
        stage.both::<Reading, Reading>(topic, &writer, &reader);
    }
}

pub fn stage_the_rest(stage: &mut Stage) {
    let publisher = |qos: PublisherQos| (qos, DataWriterQos::default());
    let subscriber = |qos: SubscriberQos| (qos, DataReaderQos::default());
    let presented =
        |scope, coherent| subscriber(SubscriberQos::default().presentation(scope, coherent, false));
    let left = |name| publisher(PublisherQos::default().partition([name]));
    let right = |name| subscriber(SubscriberQos::default().partition([name]));
    stage.both::<Reading, Reading>("Scope", &writing(), &presented(Topic, false));
    stage.both::<Reading, Reading>("Coherent", &writing(), &presented(Instance, true));
    stage.both::<Reading, Reading>("Partition", &left("left"), &right("right"));
    stage.both::<Reading, Reading>("NoPartition", &writing(), &right("right"));
    stage.both::<Reading, Reading>("Patterns", &left("p*"), &right("*"));
    stage.both::<Reading, Keyed>("TypeKey", &writing(), &reading());
    stage.both::<Reading, Named>("TypeMembers", &writing(), &reading());
}

/// Asks until the answer is about what was staged; what it says of that is judged by who asked.
fn ask(domain: &str, topic: &str, more: &[&str], ready: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    let words = [&["why", topic, "--domain", domain, "--json"], more].concat();
    loop {
        let output = run(&words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{told}"));
        let pairs = answer["pairs"].as_array().unwrap();
        let well = !pairs.is_empty()
            && pairs.iter().all(|pair| pair["matched"] == true)
            && all_names(&answer).is_empty();
        assert_eq!(output.status.success(), well, "{answer}");
        if ready(&answer) {
            return answer;
        }
        assert!(Instant::now() < deadline, "{topic}: {answer} {told}");
    }
}

fn names(causes: &Value) -> Vec<&str> {
    causes.as_array().unwrap().iter().map(|cause| cause["name"].as_str().unwrap()).collect()
}

/// Names of causes of all pairs, then of those that concern no pair.
fn all_names(answer: &Value) -> Vec<&str> {
    let pairs = answer["pairs"].as_array().unwrap();
    pairs.iter().flat_map(|pair| names(&pair["causes"])).chain(names(&answer["causes"])).collect()
}

fn pair_is_known(answer: &Value) -> bool {
    !answer["pairs"].as_array().unwrap().is_empty()
}

/// Several ask at a time.
fn check_pairs(domain: &str, cases: &[&Case]) {
    let check = |case: &Case| {
        let answer = ask(domain, case.topic, &["--wait", "0.5"], pair_is_known);
        assert_eq!(all_names(&answer), [case.cause], "{}: {answer}", case.topic);
        let pair = &answer["pairs"][0];
        assert!(pair["matched"] == false && answer["pairs"].as_array().unwrap().len() == 1, "{answer}");
        assert_eq!(pair["writer"]["participant"], "sensor");
        assert_eq!(pair["reader"]["participant"], "display");
        let (text, hint) = (pair["causes"][0]["text"].as_str().unwrap(), pair["causes"][0]["hint"].as_str());
        assert!(case.values.iter().all(|value| text.contains(value)), "{}: {text}", case.topic);
        assert!(hint.unwrap().contains(case.hint), "{}: {hint:?}", case.topic);
    };
    std::thread::scope(|scope| {
        for some in cases.chunks(cases.len().div_ceil(3)) {
            scope.spawn(move || some.iter().for_each(|case| check(case)));
        }
    });
}

#[test]
fn why_names_the_one_cause_of_each_mismatch() {
    let domain = &domain(9);
    let mut stage = Stage::new(domain, &[("durability.without_service", "local")]);
    stage_policies(&mut stage);
    stage_the_rest(&mut stage);
    let untold = |case: &&Case| case.cause != "TYPE_NAME";
    check_pairs(domain, &PAIRS.iter().filter(untold).collect::<Vec<_>>());
    // What matches has no cause; what may surprise is a note.
    let durable = |kind: DurabilityKind| {
        (writes(move |qos| qos.durability(kind)), reads(move |qos| qos.durability(kind)))
    };
    let (writer, reader) = durable(DurabilityKind::Transient);
    stage.both::<Reading, Reading>("Kept", &writer, &reader);
    let (writer, reader) = durable(DurabilityKind::TransientLocal);
    stage.both::<Reading, Reading>("Plain", &writer, &reader);
    let kept = ask(domain, "Kept", &["--wait", "0.5"], pair_is_known);
    assert!(all_names(&kept).is_empty() && kept["pairs"][0]["matched"] == true, "{kept}");
    assert_eq!(names(&kept["pairs"][0]["notes"]), ["DURABILITY"]);
    let told = text(&["why", "Kept", "-d", domain, "--wait", "0.5"]);
    let wanted =
        "match\n  note: DURABILITY: TRANSIENT is offered without a durability service in the domain: ";
    assert!(told.contains(wanted) && told.contains("durability.without_service"), "{told}");
    let plain = ask(domain, "Plain", &["--wait", "0.5"], pair_is_known);
    assert!(all_names(&plain).is_empty() && names(&plain["pairs"][0]["notes"]).is_empty(), "{plain}");
}

/// Who announces no types is compared by their names.
#[test]
fn types_that_are_not_announced_are_compared_by_name() {
    let domain = &domain(10);
    let mut stage = Stage::new(domain, &[("types.announce", "false")]);
    stage.both::<Reading, Measurement>("TypeName", &writing(), &reading());
    check_pairs(domain, &PAIRS.iter().filter(|case| case.cause == "TYPE_NAME").collect::<Vec<_>>());
}

/// Somebody is missing: in another domain, with another tag, beyond a quota, or by another name.
#[test]
fn why_searches_other_domains_tags_and_names_for_a_missing_participant() {
    let here = &domain(11);
    let mut stage = Stage::new(here, &[]);
    let counterparts = |wanted: &'static [&'static str]| move |answer: &Value| all_names(answer) == wanted;
    let hint = |answer: &Value, place: usize, words: &str| {
        let hint = answer["causes"][place]["hint"].as_str().unwrap();
        assert!(hint.contains(words), "{answer}");
    };
    let alone = ["--wait", "0.5", "--domains", "none"];

    stage.write::<Reading>("Unread", &writing());
    stage.read::<Reading>("Unwritten", &reading());
    stage.write::<Reading>("Temperature", &writing());
    stage.read::<Reading>("temperature", &reading());
    let answer = ask(here, "Unread", &alone, counterparts(&["NO_COUNTERPART"]));
    assert!(
        answer["causes"][0]["text"].as_str().unwrap().contains("nobody reads topic 'Unread'"),
        "{answer}"
    );
    let answer = ask(here, "Unwritten", &alone, counterparts(&["NO_COUNTERPART"]));
    hint(&answer, 0, "start it");
    let answer = ask(here, "Temperature", &alone, counterparts(&["NO_COUNTERPART"]));
    hint(&answer, 0, "there is a topic 'temperature'");

    // Of three writers of one participant only one is remembered.
    let quota = [&alone[..], &["--set", "quotas.max_endpoints_per_participant=1"]].concat();
    let answer = ask(here, "Temperature", &quota, |answer| all_names(answer).contains(&"QUOTA"));
    assert!(all_names(&answer).iter().all(|name| ["NO_COUNTERPART", "QUOTA"].contains(name)), "{answer}");

    // The kernel does not grant such a buffer.
    let greedy = [&alone[..], &["--set", "network.receive_buffer=1GiB"]].concat();
    let answer = ask(here, "Unread", &greedy, |answer| names(&answer["causes"]).len() != 2);
    assert!(all_names(&answer)[..2] == ["NO_COUNTERPART", "NETWORK"], "{answer}");
    assert!(all_names(&answer)[1..].iter().all(|name| *name == "NETWORK"), "{answer}");
    assert!(answer["causes"][1]["text"].as_str().unwrap().contains("asked for a receive buffer"), "{answer}");
    hint(&answer, 1, "dunlin doctor");

    // Nothing that is sent from here arrives.
    let mute = ["--wait", "5", "--domains", "none", "--set", "fault.loss=100%"];
    let answer = ask(here, "Unread", &mute, |answer| all_names(answer).contains(&"ONE_SIDED"));
    assert_eq!(
        all_names(&answer),
        ["NO_COUNTERPART", "NO_COUNTERPART", "ONE_SIDED", "ONE_SIDED"],
        "{answer}"
    );
    hint(&answer, 2, "firewall");

    let tagged = [&alone[..], &["--set", "domain.tag=blue"]].concat();
    let wanted = ["NO_COUNTERPART", "NO_COUNTERPART", "ALONE", "OTHER_DOMAIN"];
    let answer = ask(here, "Unread", &tagged, |answer| all_names(answer).contains(&"OTHER_DOMAIN"));
    assert_eq!(all_names(&answer), wanted, "{answer}");
    hint(&answer, 3, "domain.tag");
}

/// The mistake of beginners: one side in the next domain.
#[test]
fn why_finds_the_counterpart_in_another_domain() {
    let (here, there) = (&domain(12), &domain(13));
    let (mut stage, mut elsewhere) = (Stage::new(here, &[]), Stage::new(there, &[]));
    stage.write::<Reading>("Apart", &writing());
    elsewhere.read::<Reading>("Apart", &reading());
    let domains = format!("{here}-{there}");
    let look = ["--wait", "0.5", "--domains", &domains];
    let answer = ask(here, "Apart", &look, |answer| all_names(answer) == ["DOMAIN"]);
    let cause = &answer["causes"][0];
    let wanted = format!("nobody reads topic 'Apart' in this domain, but somebody does in domain {there}");
    assert_eq!(cause["text"], wanted);
    assert!(cause["hint"].as_str().unwrap().starts_with("use one domain id on both sides"), "{cause}");
    let answer = ask(there, "Apart", &look, |answer| all_names(answer) == ["DOMAIN"]);
    let wanted = format!("nobody writes topic 'Apart' in this domain, but somebody does in domain {here}");
    assert_eq!(answer["causes"][0]["text"], wanted);
    // Who looks nowhere else cannot know.
    let near = ["--wait", "0.5", "--domains", "none"];
    ask(here, "Apart", &near, |answer| all_names(answer) == ["NO_COUNTERPART"]);
    let wrong = run(&["why", "Apart", "--domains", "0-99"]);
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(!wrong.status.success() && told.contains("no more than 32 domains"), "{told}");
}

/// Two that match on paper, but have no version of IP in common.
#[test]
fn a_participant_without_a_common_transport_is_unreachable() {
    let domain = &more_domain(0);
    let six = [("network.ipv4", "false"), ("network.ipv6", "true"), ("discovery.peers", "::1")];
    let (sensor, display) = (participant(domain, "sensor", &[]), participant(domain, "display", &six));
    let mut stage = Stage { sensor, display, kept: Vec::new() };
    stage.both::<Reading, Reading>("Apart", &writing(), &reading());
    let both = ["--wait", "1", "--set", "network.ipv6=true", "--set", "discovery.peers=::1"];
    let answer = ask(domain, "Apart", &both, pair_is_known);
    assert_eq!(all_names(&answer), ["UNREACHABLE"], "{answer}");
    let pair = &answer["pairs"][0];
    assert_eq!((&pair["matched"], &pair["reader"]["participant"]), (&true.into(), &"display".into()));
    let (text, hint) = (&pair["causes"][0]["text"], &pair["causes"][0]["hint"]);
    let text = text.as_str().unwrap();
    let says = "the writer does not reach the reader: they have no transport in common; the writer is at ";
    assert!(
        text.starts_with(says) && text.contains("udp/127.0.0.1:") && text.contains("udp/[::1]:"),
        "{text}"
    );
    assert!(hint.as_str().unwrap().contains("the same IP version"), "{hint}");
    let output = run(&[&["why", "Apart", "-d", domain][..], &both].concat());
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success() && told.contains(": match, but\n  the writer does not reach"), "{told}");
    // One that has both is reached by both.
    let both_versions = [("network.ipv6", "true"), ("discovery.peers", "::1")];
    let _other = std::mem::replace(&mut stage.display, participant(domain, "display", &both_versions));
    stage.both::<Reading, Reading>("Together", &writing(), &reading());
    let answer = ask(domain, "Together", &both, pair_is_known);
    assert!(all_names(&answer).is_empty(), "{answer}");
}

/// A pair matches on paper; what its participants send to groups does not arrive where it is asked.
#[test]
fn why_names_silent_multicast_groups() {
    let domain = &more_domain(1);
    let mut stage = Stage::new(domain, &[]);
    stage.both::<Reading, Reading>("Groups", &writing(), &reading());
    let heard = ask(domain, "Groups", &["--wait", "1", "--set", "discovery.peers=127.0.0.1"], pair_is_known);
    assert!(all_names(&heard).is_empty(), "{heard}");
    // Listens to the group on another port than the others.
    let deaf = ["--wait", "2", "--set", "discovery.peers=127.0.0.1", "--set", "ports.d0=5"];
    let deaf = [&deaf[..], &["--set", "discovery.announcement_period=200ms"]].concat();
    let answer = ask(domain, "Groups", &deaf, |answer| all_names(answer).len() == 2);
    assert_eq!(all_names(&answer), ["MULTICAST"; 2], "{answer}");
    assert_eq!(answer["pairs"][0]["matched"], true, "{answer}");
    let (text, hint) = (&answer["causes"][0]["text"], &answer["causes"][0]["hint"]);
    assert!(text.as_str().unwrap().starts_with("nothing that participant "), "{text}");
    assert!(hint.as_str().unwrap().contains("IGMP snooping"), "{hint}");
}

/// A pair matches; but there is somebody who does not answer, and may write or read the topic too.
#[test]
fn why_names_a_silent_participant_although_all_pairs_match() {
    let domain = &more_domain(2);
    let mut stage = Stage::new(domain, &[]);
    stage.both::<Reading, Reading>("Haunted", &writing(), &reading());
    let ghost = Ghost::new(domain);
    let ready = |answer: &Value| pair_is_known(answer) && !names(&answer["causes"]).is_empty();
    let answer = ask(domain, "Haunted", &["--wait", "2"], ready);
    assert_eq!(all_names(&answer), ["ONE_SIDED"], "{answer}");
    assert_eq!(answer["pairs"][0]["matched"], true, "{answer}");
    let (text, hint) = (answer["causes"][0]["text"].as_str().unwrap(), &answer["causes"][0]["hint"]);
    assert!(
        text.contains("'ghost'") && text.contains("announces itself here, but answers nothing"),
        "{text}"
    );
    assert!(hint.as_str().unwrap().contains("firewall"), "{hint}");
    drop(ghost);
    let answer = ask(domain, "Haunted", &["--wait", "1"], pair_is_known);
    assert!(all_names(&answer).is_empty(), "{answer}");
}
