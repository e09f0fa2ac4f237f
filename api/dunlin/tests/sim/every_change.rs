//! Readers that show every change: what services pass on is what happened, in its order.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, ServiceMark, SubscriberQos, TopicQos};
use dunlin::sim::{Node, Result};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, InstanceState, SampleIdentity};

use crate::support::*;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Track {
    #[dds(key)]
    id: u32,
    position: i64,
}

fn track(id: u32, position: i64) -> Track {
    Track { id, position }
}

fn writer_on(node: &Node, qos: &DataWriterQos) -> Result<DataWriter<Track>> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
        Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, qos)?)
    })
}

fn reader_on(node: &Node, qos: &DataReaderQos) -> Result<DataReader<Track>> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
        Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos)?)
    })
}

/// What was taken: the instance with its position, or how it ended.
#[derive(Debug, PartialEq)]
enum Change {
    Written(u32, i64),
    Disposed(u32),
    GivenUp(u32),
}
use Change::{Disposed, GivenUp, Written};

fn taken(reader: &DataReader<Track>) -> Vec<(Change, SampleIdentity)> {
    let change = |sample: dunlin::Sample<Track>| {
        let key = sample.key.map(|key| key.id);
        let change = match (sample.data, sample.info.instance_state) {
            (Some(data), InstanceState::Alive) => Written(data.id, data.position),
            (None, InstanceState::NotAliveDisposed) => Disposed(key.unwrap()),
            (None, InstanceState::NotAliveNoWriters) => GivenUp(key.unwrap()),
            other => panic!("{other:?}"),
        };
        (change, sample.info.identity())
    };
    reader.take(usize::MAX).unwrap().into_iter().map(change).collect()
}

fn changes(reader: &DataReader<Track>) -> Vec<Change> {
    taken(reader).into_iter().map(|(change, _)| change).collect()
}

#[test]
fn changes_come_in_the_order_of_their_arrival_across_instances() {
    bad_network().seeds(0..6, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let qos = writer_qos().autodispose_unregistered_instances(false);
        let writer = writer_on(&a, &qos)?;
        let reader = reader_on(&b, &reader_qos().show_every_change())?;
        sim.run_until(|| matched(&writer, &reader), secs(60))?;
        a.run(|| -> Result {
            writer.write(&track(1, 1))?;
            writer.write(&track(2, 2))?;
            writer.write(&track(1, 3))?;
            writer.dispose(&track(1, 0))?;
            writer.write(&track(2, 4))?;
            writer.write(&track(1, 5))?;
            writer.unregister_instance(&track(2, 0))?;
            writer.dispose(&track(1, 0))?;
            Ok(())
        })?;
        sim.run_until(|| reader.stats().delivered == 8, secs(60))?;
        let all = [
            Written(1, 1),
            Written(2, 2),
            Written(1, 3),
            Disposed(1),
            Written(2, 4),
            Written(1, 5),
            GivenUp(2),
            Disposed(1),
        ];
        let seen = b.run(|| taken(&reader));
        let numbers: Vec<_> = seen.iter().map(|(_, identity)| identity.sequence_number.0).collect();
        assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
        assert_eq!(seen.into_iter().map(|(change, _)| change).collect::<Vec<_>>(), all);
        Ok(())
    });
}

#[test]
fn dispose_with_unregister_shows_two_samples_of_one_identity() {
    bad_network().seeds(10..14, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let writer = writer_on(&a, &writer_qos())?;
        let reader = reader_on(&b, &reader_qos().show_every_change())?;
        sim.run_until(|| matched(&writer, &reader), secs(60))?;
        a.run(|| writer.write(&track(1, 1)))?;
        a.run(|| writer.unregister_instance(&track(1, 0)))?;
        sim.run_until(|| reader.stats().delivered == 2, secs(60))?;
        let seen = b.run(|| taken(&reader));
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert_eq!((&seen[1].0, &seen[2].0), (&Disposed(1), &GivenUp(1)));
        assert_eq!(seen[1].1, seen[2].1);
        Ok(())
    });
}

#[test]
fn show_every_change_reports_one_writer_unregistering_or_lost() {
    bad_network().seeds(20..24, |sim| {
        let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
        let qos = writer_qos().autodispose_unregistered_instances(false);
        let writers = [writer_on(&a, &qos)?, writer_on(&c, &qos)?];
        let reader = reader_on(&b, &reader_qos().show_every_change())?;
        sim.run_until(|| reader.matched_publications().len() == 2, secs(60))?;
        a.run(|| writers[0].write(&track(1, 1)))?;
        sim.run_until(|| reader.stats().delivered == 1, secs(60))?;
        c.run(|| writers[1].write(&track(1, 2)))?;
        sim.run_until(|| reader.stats().delivered == 2, secs(60))?;
        a.run(|| writers[0].unregister_instance(&track(1, 0)))?;
        sim.run_until(|| reader.stats().delivered == 3, secs(60))?;
        assert_eq!(b.run(|| changes(&reader)), [Written(1, 1), Written(1, 2), GivenUp(1)]);
        let ended = c.run(|| writers[1].guid()).unwrap();
        c.crash();
        sim.run_until(
            || {
                reader.matched_publications().is_empty()
                    || !reader.matched_publications().contains(&ended.into())
            },
            secs(60),
        )?;
        assert_eq!(b.run(|| changes(&reader)), [GivenUp(1)]);
        Ok(())
    });
}

#[test]
fn instance_end_samples_count_against_limits_and_hold_back_the_writer() {
    bad_network().seeds(30..34, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let writer = writer_on(&a, &writer_qos())?;
        let reader = reader_on(&b, &reader_qos().resource_limits(4, -1, -1).show_every_change())?;
        sim.run_until(|| matched(&writer, &reader), secs(60))?;
        for n in 0..10 {
            a.run(|| writer.write(&track(1, n)))?;
            a.run(|| writer.dispose(&track(1, 0)))?;
        }
        let mut seen = Vec::new();
        while seen.len() < 20 {
            sim.run_until(|| reader.stats().delivered > seen.len() as u64, secs(60))?;
            sim.run_for(millis(200))?;
            let some = b.run(|| changes(&reader));
            assert!(some.len() <= 4, "{some:?}");
            seen.extend(some);
        }
        let all: Vec<_> = (0..10).flat_map(|n| [Written(1, n), Disposed(1)]).collect();
        assert_eq!(seen, all);
        Ok(())
    });
}

#[test]
fn every_change_is_refused_with_source_order_and_for_writers() {
    let mut sim = dunlin::sim::Sim::new(1);
    let a = sim.node("a");
    let sorted = DataReaderQos::default().by_source_timestamp().show_every_change();
    let refused = reader_on(&a, &sorted).unwrap_err().to_string();
    assert!(refused.contains("BY_RECEPTION_TIMESTAMP"), "{refused}");
    let other = DataReaderQos::default().property("dunlin.changes", "some");
    assert!(reader_on(&a, &other).unwrap_err().to_string().contains("dunlin.changes"));
    assert!(writer_on(&a, &DataWriterQos::default().property("dunlin.changes", "every")).is_err());
    drop(sim.run_for(secs(1)));
}

#[test]
fn a_reader_does_not_match_writers_behind_an_ignored_service() {
    bad_network().seeds(40..44, |sim| {
        let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
        let mark = |id: &str, path: &[&str]| ServiceMark {
            kind: "router".into(),
            id: id.into(),
            path: path.iter().map(ToString::to_string).collect(),
        };
        let own = writer_on(&a, &writer_qos().service(&mark("gate", &[])))?;
        let passed = writer_on(&a, &writer_qos().service(&mark("other", &["first", "gate"])))?;
        let other = writer_on(&a, &writer_qos().service(&mark("other", &["first"])))?;
        let plain = writer_on(&c, &writer_qos())?;
        let reader = reader_on(&b, &reader_qos().ignore_service("gate"))?;
        sim.run_until(|| reader.matched_publications().len() == 2, secs(60))?;
        sim.run_for(secs(5))?;
        assert_eq!(reader.matched_publications().len(), 2);
        assert!(own.matched_subscriptions().is_empty() && passed.matched_subscriptions().is_empty());
        assert!(other.matched_subscriptions().len() == 1 && plain.matched_subscriptions().len() == 1);
        let why = b.run(|| reader.subscriber().participant().explain(&reader, own.guid().unwrap()));
        let causes: Vec<_> = why.all_causes().map(dunlin::Cause::name).collect();
        assert_eq!(causes, ["IGNORED_SERVICE"]);
        Ok(())
    });
}
