//! Policies whose other tests run without loss: the same where a fifth of all datagrams is lost.

use dunlin::qos::*;
use dunlin::sim::Result;
use dunlin::{DataReader, DomainParticipant};

use crate::support::*;

fn numbers(reader: &DataReader<Reading>) -> Vec<u32> {
    let taken = reader.take(1000).expect("no condition");
    taken.into_iter().filter_map(|sample| sample.data).map(|reading| reading.n).collect()
}

#[test]
fn topic_data_is_seen_and_changes() {
    bad_network().seeds(0..6, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (topic, writer) = a.run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let qos = TopicQos { topic_data: TopicData(vec![1]), ..TopicQos::default() };
            let topic = participant.create_topic::<Reading>("Readings", &qos)?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            Ok((topic.clone(), publisher.create_datawriter(&topic, &writer_qos())?))
        })?;
        let reader = b.run(|| reader(&reader_qos()))?;
        let seen = || {
            let data = reader.matched_publication_data(writer.instance_handle());
            data.map(|data| data.topic_data.0.clone()).unwrap_or_default()
        };
        sim.run_until(|| seen() == [1], secs(60))?;
        a.run(|| topic.set_qos(&TopicQos { topic_data: TopicData(vec![2, 3]), ..topic.qos() }))?;
        sim.run_until(|| seen() == [2, 3], secs(60))?;
        assert_eq!(reader.subscription_matched_status().total_count, 1, "the match stayed");
        Ok(())
    });
}

#[test]
fn partitions_part_and_bring_together() {
    bad_network().seeds(0..6, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (w, r) = (a.run(|| writer(&writer_qos()))?, b.run(|| reader(&reader_qos()))?);
        sim.run_until(|| matched(&w, &r), secs(60))?;
        a.run(|| w.publisher().set_qos(&PublisherQos::default().partition(["north"])))?;
        let parted = || w.matched_subscriptions().is_empty() && r.matched_publications().is_empty();
        sim.run_until(parted, secs(60))?;
        a.run(|| w.write(&reading(1)))?;
        sim.run_for(secs(2))?;
        assert!(numbers(&r).is_empty());
        b.run(|| r.subscriber().set_qos(&SubscriberQos::default().partition(["n*"])))?;
        sim.run_until(|| matched(&w, &r), secs(60))?;
        let mut seen = Vec::new();
        a.run(|| w.write(&reading(2)))?;
        sim.run_until(
            || {
                seen.extend(numbers(&r));
                seen == [1, 2]
            },
            secs(60),
        )?;
        Ok(())
    });
}

#[test]
fn an_urgent_writer_is_as_reliable_as_others() {
    bad_network().seeds(0..6, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let urgent = a.run(|| writer(&writer_qos().transport_priority(46)))?;
        let r = b.run(|| reader(&reader_qos()))?;
        sim.run_until(|| matched(&urgent, &r), secs(60))?;
        for n in 0..60 {
            if n == 30 {
                a.run(|| urgent.set_qos(&urgent.qos().transport_priority(8)))?;
            }
            a.run(|| urgent.write(&reading(n)))?;
            sim.run_for(millis(5))?;
        }
        let mut seen = Vec::new();
        sim.run_until(
            || {
                seen.extend(numbers(&r));
                seen.len() == 60
            },
            secs(60),
        )?;
        assert!(seen.is_sorted());
        assert!(a.run(|| urgent.set_qos(&urgent.qos().transport_priority(64))).is_err());
        Ok(())
    });
}

#[test]
fn an_entity_enabled_late_is_discovered() {
    bad_network().seeds(0..6, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let r = b.run(|| reader(&reader_qos()))?;
        let w = a.run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
            let entity_factory = EntityFactory { autoenable_created_entities: false };
            let qos = PublisherQos { entity_factory, ..PublisherQos::default() };
            Ok(participant.create_publisher(&qos)?.create_datawriter(&topic, &writer_qos())?)
        })?;
        sim.run_for(secs(5))?;
        assert!(r.matched_publications().is_empty() && w.guid().is_none());
        a.run(|| w.enable())?;
        a.run(|| w.write(&reading(7)))?;
        let mut seen = Vec::new();
        sim.run_until(
            || {
                seen.extend(numbers(&r));
                seen == [7]
            },
            secs(60),
        )?;
        Ok(())
    });
}
