//! What Dunlin participants tell of themselves, as `dunlin top` and `dunlin why` show it.

use std::time::{Duration, Instant};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::statistics::STATISTICS_TOPIC;
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, SerializedData};
use serde_json::Value;

use crate::common::{Background, PATIENCE, eventually, eventually_so, more_domain, participant};

#[derive(DdsType, Clone, Debug, Default)]
struct Reading {
    n: u32,
}

/// An endpoint of a topic, of those of a kind.
fn endpoint(text: &str, topic: &str, kind: &str) -> Option<Value> {
    let told: Value = serde_json::from_str(text).ok()?;
    let all = told["endpoints"].as_array()?;
    all.iter().find(|it| it["topic"] == topic && it["kind"] == kind).cloned()
}

fn best_effort_reader(participant: &DomainParticipant) -> DataReader<SerializedData> {
    let topic =
        participant.create_serialized_topic("Square", "ShapeType", true, &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap()
}

/// A process that loses a third of what it sends, with a reliable reader in a process of its own and a best-effort one here.
#[test]
fn losses_and_repairs_of_others_are_shown_without_subscribing() {
    let domain = &more_domain(7);
    let (_writer, _) = Background::start_in(
        &["shapes", "--web", "0", "-d", domain, "-p", "Square:RED"],
        &[("DUNLIN_FAULT_LOSS", "33%"), ("DUNLIN_SHARED_MEMORY_ENABLED", "false")],
    );
    let (_reader, _) = Background::start(&["shapes", "--web", "0", "-d", domain, "-s", "Square"]);
    let here = participant(domain, "here", &[]);
    let weak = best_effort_reader(&here);
    let top = ["top", "--json", "--once", "-d", domain, "--wait", "1"];
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap_or(-1.0);
    let lost = |text: &str| {
        let told: Value = serde_json::from_str(text).ok()?;
        let here = told["endpoints"].as_array()?.iter().find(|it| it["of"] == "here").cloned()?;
        (number(&here, "lost") > 0.0).then_some(here)
    };
    let told = eventually_so(&top, |text| {
        let writer = endpoint(text, "Square", "writer").unwrap_or_default();
        let enough = number(&writer, "again") > 0.0 && number(&writer, "samples_per_second") > 10.0;
        // Both readers are there, and answer.
        let (counters, inactive) = (&writer["counters"]["writer"], &writer["inactive"]);
        let all_there = number(counters, "matched") == 2.0 && *inactive == 0;
        let told: Value = serde_json::from_str(text).unwrap_or_default();
        let all = told["topics"].as_array().cloned().unwrap_or_default();
        let shown = all.iter().any(|it| it["name"] == "Square" && it["readers"] == 2);
        enough && all_there && shown && lost(text).is_some()
    });
    let all: Value = serde_json::from_str(&told).unwrap();
    let topic = all["topics"].as_array().unwrap().iter().find(|it| it["name"] == "Square").unwrap();
    assert_eq!(topic["subscribed"], false, "{told}");
    assert_eq!(
        (&topic["sources"]["again"], &topic["sources"]["lost"]),
        (&"counters".into(), &"counters".into())
    );
    assert_eq!((&topic["writers"], &topic["readers"]), (&1.into(), &2.into()));
    let writer = endpoint(&told, "Square", "writer").unwrap();
    let counters = &writer["counters"]["writer"];
    let repairs = number(counters, "repairs") + number(counters, "repair_fragments");
    assert_eq!((number(&writer, "again"), &writer["sources"]["again"]), (repairs, &"counters".into()));
    assert_eq!((&counters["matched"], &writer["inactive"]), (&2.into(), &0.into()));
    assert!(
        number(counters, "acknacks_received") > 0.0 && number(counters, "repair_octets") > 0.0,
        "{counters}"
    );
    // What was told of the reader here is no more than it has lost by now, and something.
    let lost = lost(&told).unwrap();
    assert_eq!(lost["sources"]["lost"], "counters");
    assert!(number(&lost, "lost") <= f64::from(u32::try_from(weak.stats().lost).unwrap()));
    // Nothing but the tool's own wish made the writers of the counters: they are not shown, and go with it.
    assert!(!told.contains(STATISTICS_TOPIC));
    assert!(
        all["participants"].as_array().unwrap().iter().all(|it| it["writers"].as_u64() <= Some(1)),
        "{told}"
    );
    let deadline = Instant::now() + PATIENCE;
    while here.discovered_publications().iter().any(|it| &*it.topic_name == STATISTICS_TOPIC) {
        assert!(Instant::now() < deadline, "somebody still tells");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    eventually(&["ls", "-d", domain, "--wait", "1"], &["Square"]);
}

fn keeping_writer(participant: &DomainParticipant) -> DataWriter<Reading> {
    let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
    let qos = DataWriterQos::default().reliable().keep_last(10);
    participant.create_publisher(&PublisherQos::default()).unwrap().create_datawriter(&topic, &qos).unwrap()
}

/// What `dunlin why` says of a reader that stands still while it listens. It has to know the reader before.
fn why_of_a_reader_that_stops(domain: &str, writer: &DataWriter<Reading>, own: &DomainParticipant) -> String {
    let deadline = Instant::now() + PATIENCE;
    let wait = |done: &dyn Fn() -> bool| {
        while !done() {
            assert!(Instant::now() < deadline);
            std::thread::park_timeout(Duration::from_millis(20));
        }
    };
    let (_why, told) =
        Background::lines(&["why", "Readings", "-d", domain, "--wait", "6", "--domains", "none"]);
    let before = writer.matched_subscriptions();
    wait(&|| own.discovered_subscriptions().iter().any(|it| &*it.topic_name == STATISTICS_TOPIC));
    let (reader, _) = Background::lines(&["echo", "Readings", "-d", domain]);
    wait(&|| writer.matched_subscriptions().iter().any(|it| !before.contains(it)));
    reader.stop();
    let inactive = || {
        writer.write(&Reading { n: 1 }).unwrap();
        writer.stats().readers_inactive >= 1
    };
    wait(&inactive);
    let mut lines = String::new();
    while let Ok(line) = told.recv_timeout(PATIENCE) {
        lines += &line;
        lines.push('\n');
    }
    lines
}

#[test]
fn inactive_readers_of_other_participants_are_named() {
    let domain = &more_domain(8);
    let own = participant(domain, "sensor", &[("reliability.inactive_after", "500ms")]);
    let writer = keeping_writer(&own);
    let deadline = Instant::now() + 2 * PATIENCE;
    loop {
        let told = why_of_a_reader_that_stops(domain, &writer, &own);
        if told.contains("the reader is inactive") && told.contains("writer 'sensor' (") {
            return;
        }
        // It may have been stopped before `dunlin why` had heard of it, or lost with its lease.
        assert!(Instant::now() < deadline, "{told}");
        dunlin_notes::retried("the reader was stopped before it was known, or lost");
    }
}
