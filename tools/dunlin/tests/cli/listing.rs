//! Hosts, processes and policies in `dunlin ls`.

use dunlin::qos::{
    DataReaderQos, DataWriterQos, DestinationOrderKind, PublisherQos, SubscriberQos, TopicQos,
    TypeConsistencyKind,
};
use dunlin::{Config, DdsType, DomainParticipant, Duration};
use serde_json::Value;

use crate::common::{Background, PATIENCE, domain, eventually};

#[derive(DdsType, Clone, Debug, Default)]
struct Reading {
    n: u32,
}

fn participant(domain: &str, settings: &[(&str, &str)]) -> DomainParticipant {
    let mut config = Config::default();
    for (key, value) in [("network.interfaces", "lo")].iter().chain(settings) {
        config.set(key, value).unwrap();
    }
    DomainParticipant::builder(domain.parse().unwrap()).config(config).name("lab").build().unwrap()
}

#[test]
fn every_policy_that_differs_from_its_default_is_listed() {
    let domain = &domain(16);
    let participant = participant(domain, &[]);
    let mut topic_qos = TopicQos::default();
    topic_qos.topic_data.0 = vec![1, 0xfe];
    let topic = participant.create_topic::<Reading>("Readings", &topic_qos).unwrap();
    let mut group = PublisherQos::default();
    group.group_data.0 = b"group".to_vec();
    let mut qos = DataWriterQos::default().transient_local().reliable();
    qos.destination_order.kind = DestinationOrderKind::BySourceTimestamp;
    qos.latency_budget.duration = Duration::from_millis(3);
    qos.transport_priority.value = 46;
    qos.durability_service.history_depth = 7;
    qos.durability_service.max_instances = 9;
    qos.user_data.0 = b"camera".to_vec();
    qos.lifespan.duration = Duration::from_secs(2);
    let publisher = participant.create_publisher(&group).unwrap();
    let _writer = publisher.create_datawriter(&topic, &qos.property("note", "x")).unwrap();
    let mut qos = DataReaderQos::default();
    qos.type_consistency.kind = TypeConsistencyKind::DisallowTypeCoercion;
    qos.type_consistency.ignore_member_names = true;
    qos.time_based_filter.minimum_separation = Duration::from_millis(20);
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let _reader = subscriber.create_datareader(&topic, &qos).unwrap();
    let list = ["ls", "--json", "-d", domain, "--wait", "1"];
    let told = eventually(&list, &["DISALLOW_TYPE_COERCION", "camera"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    let writer = &told["topics"][0]["writers"][0]["qos"];
    for (name, value) in [
        ("destination_order", "BY_SOURCE_TIMESTAMP"),
        ("latency_budget", "3ms"),
        ("transport_priority", "46"),
        ("durability", "TRANSIENT_LOCAL"),
        ("durability_service", "KEEP_LAST 7 instances<=9"),
        ("user_data", "\"camera\""),
        ("group_data", "\"group\""),
        ("topic_data", "0x01fe"),
        ("lifespan", "2s"),
        ("property", "note=x"),
    ] {
        assert_eq!(writer[name], value, "{name}: {writer}");
    }
    let reader = &told["topics"][0]["readers"][0]["qos"];
    assert_eq!(reader["type_consistency"], "DISALLOW_TYPE_COERCION ignore_member_names=true", "{reader}");
    assert_eq!((&reader["time_based_filter"], &reader["topic_data"]), (&"20ms".into(), &"0x01fe".into()));
    // What is as usual is not told.
    assert!(reader["destination_order"].is_null() && reader["user_data"].is_null(), "{reader}");
}

#[test]
fn participants_are_listed_by_host_with_their_process() {
    let domain = &domain(17);
    let _open = participant(domain, &[]);
    let _closed = participant(domain, &[("discovery.announce_process", "false")]);
    let _full = participant(domain, &[("discovery.announce_process_in_full", "true")]);
    let list = ["ls", "--json", "-d", domain, "--wait", "1"];
    let id = std::process::id().to_string();
    let wanted = format!("\"process_id\":\"{id}\"");
    let all = |text: &str| text.matches("\"guid\"").count() == 3 && text.matches(&wanted).count() == 2;
    let told: Value = serde_json::from_str(&crate::common::eventually_so(&list, all)).unwrap();
    let participants = told["participants"].as_array().unwrap();
    let (told, silent): (Vec<&Value>, Vec<&Value>) =
        participants.iter().partition(|it| it["process_id"] == id.as_str());
    assert_eq!((told.len(), silent.len()), (2, 1), "{participants:?}");
    let program = std::env::current_exe().unwrap();
    assert!(
        told.iter().all(|it| it["process"] == program.file_name().unwrap().to_str().unwrap()),
        "{told:?}"
    );
    let host = told[0]["host"].as_str().unwrap();
    // The user is told by who is configured so, and by nobody else.
    let users = told.iter().filter(|it| it["user"].as_str().is_some_and(|user| !user.is_empty())).count();
    assert!(!host.is_empty() && users == 1, "{participants:?}");
    assert_eq!(told.iter().filter(|it| it["user"].is_null()).count(), 1, "{participants:?}");
    assert!(["host", "process", "process_id", "user"].iter().all(|key| silent[0][key].is_null()));
    let text = eventually(&["ls", "-d", domain, "--wait", "1"], &["3 participants", "on host"]);
    let heading = format!("\non host {host}\n  NAME");
    let (first, last) = text.split_once("\non hosts that are not told\n").unwrap();
    assert!(first.contains(&heading) && first.contains(&id) && !last.contains(&id), "{text}");
}

#[test]
fn a_watched_domain_is_listed_again_and_again() {
    let domain = &domain(18);
    let (_watch, lines) =
        Background::lines(&["ls", "--json", "--watch", "0.1", "--wait", "0.1", "-d", domain]);
    let until = |count: usize| {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let line = lines.recv_timeout(PATIENCE).unwrap();
            let told: Value = serde_json::from_str(&line).unwrap();
            if told["participants"].as_array().unwrap().len() == count {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "not {count} participants: {line}");
        }
    };
    until(0);
    let lab = participant(domain, &[]);
    until(1);
    drop(lab);
    until(0);
}
