//! What participants may make the readers of others keep where RESOURCE_LIMITS say nothing (DDS 1.4 §2.2.3.19).

use dunlin::qos::*;
use dunlin::sim::{Node, Sim};
use dunlin::{Config, DataReader, DomainParticipant, SampleRejectedReason};

use crate::support::*;

fn config(key: &str, value: &str) -> Config {
    let mut config = Config::default();
    config.set(key, value).unwrap();
    config
}

/// A node that writes, and one with these quotas.
fn nodes(key: &str, value: &str) -> (Sim, Node, Node) {
    let mut sim = Sim::new(5);
    let (a, b) = (sim.node("a"), sim.node_with("b", config(key, value)));
    (sim, a, b)
}

fn reliable() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all()
}

fn matched(sim: &mut Sim, w: &Writing, readers: usize) {
    sim.run_until(|| w.writer.matched_subscriptions().len() == readers, secs(20)).unwrap();
}

/// The instances of all samples, one after the other.
fn kept(reader: &DataReader<Reading>) -> Vec<i32> {
    let samples = reader.read(10_000).unwrap().into_iter().filter_map(|sample| sample.data);
    let mut kept: Vec<i32> = samples.map(|data| data.id).collect();
    kept.sort_unstable();
    kept
}

/// How many samples were rejected, why the last one, and whether quotas count any.
fn rejected(reader: &DataReader<Reading>) -> (i32, Option<SampleRejectedReason>, bool) {
    let status = reader.sample_rejected_status();
    (status.count.total, status.last_reason, reader.stats().over_quota > 0)
}

#[test]
fn remote_instances_have_a_quota_without_resource_limits() {
    let (mut sim, a, b) = nodes("quotas.max_instances", "3");
    let w = writing(&a, &DataWriterQos::default().keep_all());
    let r = reads(&b, &reliable());
    let best_effort = reads(&b, &DataReaderQos::default().best_effort().keep_all());
    let explicit = reads(&b, &reliable().resource_limits(-1, 10, -1));
    matched(&mut sim, &w, 3);
    for id in [1, 2, 3, 4, 1, 5] {
        a.run(|| w.writer.write(&reading(id, id))).unwrap();
        sim.run_for(secs(1)).unwrap();
    }
    let reason = Some(SampleRejectedReason::InstancesLimit);
    assert_eq!((kept(&r.reader), rejected(&r.reader)), (vec![1, 2, 3], (1, reason, true)));
    assert_eq!(
        (kept(&best_effort.reader), rejected(&best_effort.reader)),
        (vec![1, 1, 2, 3], (2, reason, true))
    );
    assert_eq!(
        (kept(&explicit.reader), rejected(&explicit.reader)),
        (vec![1, 1, 2, 3, 4, 5], (0, None, false))
    );
    // What the participant writes itself is its own affair.
    let own = b.run(|| {
        let publisher = r.participant.create_publisher(&PublisherQos::default()).unwrap();
        publisher.create_datawriter(&r.topic, &DataWriterQos::default().keep_all()).unwrap()
    });
    sim.run_for(secs(1)).unwrap();
    b.run(|| own.write(&reading(10, 10))).unwrap();
    sim.run_for(secs(1)).unwrap();
    assert_eq!(kept(&r.reader), [1, 2, 3, 10]);
    assert_eq!(r.reader.sample_lost_status().total, 0, "it comes when there is room");
}

#[test]
fn readers_share_a_quota_for_the_bytes_of_remote_samples() {
    let (mut sim, a, b) = nodes("quotas.max_samples_octets", "8KiB");
    let w = writing(&a, &DataWriterQos::default().keep_all());
    let both = b.run(|| {
        let participant = DomainParticipant::builder(0).build().unwrap();
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
        let explicit =
            subscriber.create_datareader(&topic, &reliable().resource_limits(1_000, -1, -1)).unwrap();
        let both = [(); 2].map(|()| subscriber.create_datareader(&topic, &reliable()).unwrap());
        (participant, explicit, both)
    });
    let (_participant, explicit, both) = both;
    matched(&mut sim, &w, 3);
    for n in 0..100 {
        a.run(|| w.writer.write(&reading(1, n))).unwrap();
    }
    sim.run_for(secs(1)).unwrap();
    let counts = || both.each_ref().map(|reader| kept(reader).len());
    let [first, second] = counts();
    assert!((10..60).contains(&(first + second)), "{first} {second}");
    assert_eq!(kept(&explicit).len(), 100, "its RESOURCE_LIMITS say what it may keep");
    let reason = Some(SampleRejectedReason::SamplesLimit);
    both.iter().for_each(|reader| assert_eq!(rejected(reader), (1, reason, true)));
    // What one of them takes makes room for the other, which is not asked.
    let mut taken = [0, 0];
    let fuller = usize::from(second > first);
    taken[fuller] += b.run(|| both[fuller].take(10_000)).unwrap().len();
    sim.run_for(secs(1)).unwrap();
    let arrived: usize = counts().iter().chain(&taken).sum();
    assert!(arrived > first + second, "{:?} after {first} {second}", counts());
    for _ in 0..40 {
        for (reader, taken) in both.iter().zip(&mut taken) {
            *taken += b.run(|| reader.take(10_000)).unwrap().len();
        }
        sim.run_for(secs(1)).unwrap();
    }
    assert_eq!((taken, both[0].sample_lost_status().total), ([100, 100], 0));
}

#[test]
fn a_set_that_is_more_than_a_reader_may_keep_is_lost_as_a_whole() {
    let (mut sim, a, b) = nodes("quotas.max_instances", "2");
    let presentation = Presentation {
        access_scope: PresentationAccessScope::Topic,
        coherent_access: true,
        ordered_access: false,
    };
    let (publisher, writer) = a.run(|| {
        let participant = DomainParticipant::builder(0).build().unwrap();
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
        let qos = PublisherQos { presentation, ..PublisherQos::default() };
        let publisher = participant.create_publisher(&qos).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().keep_all()).unwrap();
        (publisher, writer)
    });
    let reader = b.run(|| {
        let participant = DomainParticipant::builder(0).build().unwrap();
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
        let qos = SubscriberQos { presentation, ..SubscriberQos::default() };
        let subscriber = participant.create_subscriber(&qos).unwrap();
        subscriber.create_datareader(&topic, &reliable()).unwrap()
    });
    sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(20)).unwrap();
    for set in [&[1, 2, 3][..], &[4, 5]] {
        a.run(|| {
            publisher.begin_coherent_changes().unwrap();
            set.iter().for_each(|id| writer.write(&reading(*id, 0)).unwrap());
            publisher.end_coherent_changes().unwrap();
        });
    }
    sim.run_for(secs(1)).unwrap();
    assert_eq!((kept(&reader), reader.sample_lost_status().total), (vec![4, 5], 3));
}
