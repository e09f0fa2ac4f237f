//! What goes where, under which name, and how much of it.

use dunlin::qos::{
    DataRepresentationId, DataWriterQos, PresentationAccessScope, PublisherQos, SubscriberQos, TopicQos,
};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{DataReader, DdsType, DomainParticipant};
use dunlin_router::{RouterStatus, STATUS_TOPIC};

use crate::support::*;

fn rule(keys: &str) -> String {
    format!("{TWO}[[route]]\nname = \"only\"\nfrom = \"inner\"\nto = \"outer\"\n{keys}\n")
}

/// What routers tell in a domain.
fn status(node: &Node, domain: u32) -> Result<DataReader<RouterStatus>> {
    reader(node, &at(domain, STATUS_TOPIC), &reader_qos().keep_last(1))
}

/// Waits until a router tells of a topic why it is not passed on.
fn refused(sim: &mut Sim, node: &Node, reader: &DataReader<RouterStatus>, topic: &str, why: &str) -> Result {
    let told = || {
        let read = node.run(|| reader.read(usize::MAX)).unwrap();
        let all = read.into_iter().filter_map(|sample| sample.data);
        all.filter(|it| it.topic == topic).any(|it| it.refused.iter().any(|it| it.contains(why)))
    };
    Ok(sim.run_until(told, secs(60)).map_err(|error| format!("{topic}: {why}: {error}"))?)
}

#[test]
fn topic_names_are_built_from_captures_and_deny_wins() {
    bad_network().seeds(0..4, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        let keys = "topics = [\"sensors/*/value\"]\ndeny_topics = [\"*/test*\"]\npartitions = [\"hall?\"]\n\
                    rename_topic = \"plant/$1\"\nrename_partition = \"all/$1\"";
        route(&r, &rule(keys));
        let place = At { domain: 0, topic: "sensors/oven/value", partition: "hall7" };
        let oven = writer(&a, &place, &writer_qos())?;
        let test = writer(&a, &At { topic: "sensors/test/value", ..place }, &writer_qos())?;
        let elsewhere = writer(&a, &At { partition: "yard", ..place }, &writer_qos())?;
        let seen = reader(&b, &At { domain: 1, topic: "plant/oven", partition: "all/7" }, &reader_qos())?;
        let status = status(&b, 1)?;
        a.run(|| oven.write(&track(1, 1)))?;
        a.run(|| test.write(&track(1, 2)))?;
        a.run(|| elsewhere.write(&track(1, 3)))?;
        sim.run_until(|| seen.stats().delivered == 1, secs(60))?;
        sim.run_for(secs(3))?;
        assert_eq!(positions(&take(&b, &seen)), [1]);
        refused(sim, &b, &status, "sensors/test/value", "\"*/test*\" of deny_topics")
    });
}

#[test]
fn filters_and_rates_leave_out_what_they_say() {
    let routed = |keys: &str, written: &[(u32, i64)]| {
        let mut sim = Sim::new(7);
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        route(&r, &rule(keys));
        let writer = writer(&a, &at(0, "Tracks"), &writer_qos()).unwrap();
        let reader = reader::<Track>(&b, &at(1, "Tracks"), &reader_qos()).unwrap();
        sim.run_until(|| reader.matched_publications().len() == 1, secs(60)).unwrap();
        sim.run_for(secs(1)).unwrap();
        for (id, position) in written {
            a.run(|| writer.write(&track(*id, *position))).unwrap();
            sim.run_for(millis(50)).unwrap();
        }
        sim.run_for(secs(3)).unwrap();
        positions(&take(&b, &reader))
    };
    let numbers: Vec<(u32, i64)> = (0..12).map(|n| (1, n)).collect();
    assert_eq!(routed("filter = \"position >= 5 AND position < 8\"", &numbers), [5, 6, 7]);
    assert_eq!(routed("one_of = 4", &numbers), [0, 4, 8]);
    assert_eq!(routed("only_on_change = true", &[(1, 1), (1, 1), (2, 1), (1, 2), (1, 2), (1, 1)]).len(), 4);
    let slow = routed("at_most = \"5Hz\"", &numbers);
    assert!((3..=5).contains(&slow.len()) && slow.last() == Some(&11), "{slow:?}");
}

#[test]
fn a_sample_after_a_disposal_passes_the_rate_limit() {
    for keys in ["only_on_change = true", "one_of = 4"] {
        bad_network().seeds(0..3, |sim| {
            let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
            route(&r, &rule(keys));
            let writer = writer(&a, &at(0, "Tracks"), &writer_qos())?;
            let reader = reader::<Track>(&b, &at(1, "Tracks"), &reader_qos().show_every_change())?;
            a.run(|| writer.write(&track(1, 5)))?;
            a.run(|| writer.dispose(&track(1, 0)))?;
            a.run(|| writer.write(&track(1, 5)))?;
            sim.run_until(|| reader.stats().delivered == 3, secs(60))?;
            assert_eq!(positions(&take(&b, &reader)), [5, 5]);
            Ok(())
        });
    }
}

#[test]
fn the_encoding_at_the_destination_can_be_another_one() {
    bad_network().seeds(0..3, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        route(&r, &rule("representation = \"xcdr1\""));
        let writer =
            writer(&a, &at(0, "Tracks"), &writer_qos().representation(&[DataRepresentationId::Xcdr2]))?;
        let old = reader_qos().representation(&[DataRepresentationId::Xcdr1]);
        let reader = reader(&b, &at(1, "Tracks"), &old)?;
        a.run(|| writer.write(&track(1, -5)))?;
        sim.run_until(|| reader.stats().delivered == 1, secs(60))?;
        assert_eq!(positions(&take(&b, &reader)), [-5]);
        Ok(())
    });
}

/// A writer whose publisher presents its data together.
fn together(node: &Node, scope: PresentationAccessScope) -> Result<dunlin::DataWriter<Track>> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
        let publisher =
            participant.create_publisher(&PublisherQos::default().presentation(scope, true, true))?;
        Ok(publisher.create_datawriter(&topic, &writer_qos())?)
    })
}

#[test]
fn coherent_sets_arrive_whole() {
    bad_network().seeds(0..6, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        route(&r, &rule(""));
        let writer = together(&a, PresentationAccessScope::Topic)?;
        let (subscriber, reader) = b.run(|| -> Result<_> {
            let participant = DomainParticipant::new(1)?;
            let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
            let qos = SubscriberQos::default().presentation(PresentationAccessScope::Topic, true, true);
            let subscriber = participant.create_subscriber(&qos)?;
            let reader = subscriber.create_datareader(&topic, &reader_qos())?;
            Ok((subscriber, reader))
        })?;
        sim.run_until(|| reader.matched_publications().len() == 1, secs(60))?;
        let mut seen = Vec::new();
        for set in 0..5 {
            a.run(|| writer.publisher().begin_coherent_changes())?;
            for n in 0..7 {
                a.run(|| writer.write(&track(n, set)))?;
                sim.run_for(millis(20))?;
            }
            a.run(|| writer.publisher().end_coherent_changes())?;
            for _ in 0..40 {
                sim.run_for(millis(50))?;
                b.run(|| subscriber.begin_access())?;
                let some = positions(&take(&b, &reader));
                b.run(|| subscriber.end_access())?;
                assert_eq!(some.len() % 7, 0, "{some:?}");
                seen.extend(some);
            }
        }
        sim.run_for(secs(5))?;
        seen.extend(positions(&take(&b, &reader)));
        assert_eq!(seen, (0..5).flat_map(|set| [set; 7]).collect::<Vec<_>>());
        Ok(())
    });
}

#[test]
fn topics_that_cannot_pass_unchanged_are_refused_with_a_reason() {
    let mut sim = Sim::new(3);
    let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
    route(&r, &rule("create = \"both\""));
    let _group = together(&a, PresentationAccessScope::Group).unwrap();
    let _unread = writer::<Track>(&a, &at(0, "Unread"), &writer_qos()).unwrap();
    let status = status(&b, 1).unwrap();
    refused(&mut sim, &b, &status, "Tracks", "PRESENTATION GROUP").unwrap();
    refused(&mut sim, &b, &status, "Unread", "nobody reads").unwrap();
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Other {
    text: String,
}

#[test]
fn writers_of_each_kind_have_an_output_and_another_type_is_reported() {
    bad_network().seeds(0..4, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        route(&r, &rule(""));
        let reliable = writer(&a, &at(0, "Tracks"), &writer_qos())?;
        let best = writer(&a, &at(0, "Tracks"), &DataWriterQos::default().best_effort())?;
        let reader = reader(&b, &at(1, "Tracks"), &dunlin::qos::DataReaderQos::default().keep_all())?;
        sim.run_until(|| reader.matched_publications().len() == 2, secs(60))?;
        let mut kinds: Vec<_> = b.run(|| {
            let all = reader.subscriber().participant().discovered_publications();
            let all = all.iter().filter(|it| &*it.topic_name == "Tracks");
            all.map(|it| (it.qos.reliability.kind, it.qos.durability.kind)).collect()
        });
        kinds.sort_unstable();
        use dunlin::qos::{DurabilityKind, ReliabilityKind};
        assert_eq!(
            kinds,
            [
                (ReliabilityKind::BestEffort, DurabilityKind::Volatile),
                (ReliabilityKind::Reliable, DurabilityKind::TransientLocal)
            ]
        );
        sim.set_loss(0.0);
        // What is written before its input has matched nobody repeats.
        sim.run_until(|| best.matched_subscriptions().len() == 1, secs(60))?;
        sim.run_for(secs(1))?;
        a.run(|| reliable.write(&track(1, 1)))?;
        a.run(|| best.write(&track(1, 2)))?;
        sim.run_for(secs(3))?;
        let mut seen = positions(&take(&b, &reader));
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
        let status = status(&b, 1)?;
        let _other = writer::<Other>(&a, &at(0, "Tracks"), &writer_qos())?;
        refused(sim, &b, &status, "Tracks", "topic cannot be created")
    });
}
