//! QoS that threads set while others enable the entity or its children: what is announced is what `qos` says afterwards.

use std::sync::Barrier;
use std::thread;

use dunlin::qos::{
    DataReaderQos, DataWriterQos, PresentationAccessScope, PublisherQos, SubscriberQos, TopicQos,
};
use dunlin::{DomainParticipant, ReturnCode, SetQosError};

use crate::common::{self, eventually};
use crate::support::{Reading, secs};

const ROUNDS: u8 = 60;

/// Runs these at the same moment.
fn together(jobs: Vec<Box<dyn FnOnce() + Send>>) {
    let start = Barrier::new(jobs.len());
    thread::scope(|scope| {
        for job in jobs {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                job();
            });
        }
    });
}

/// Done, or refused because another thread was first.
fn done_or_fixed(done: Result<(), SetQosError>) {
    if let Err(refused) = done {
        assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy, "{refused}");
    }
}

struct Pair {
    one: DomainParticipant,
    other: DomainParticipant,
    name: String,
}

fn pair() -> Pair {
    let domain = common::domain();
    let (one, other) = (common::participant(domain), common::participant(domain));
    let manual = one.qos().autoenable_created_entities(false);
    one.set_qos(&manual).unwrap();
    Pair { one, other, name: format!("Raced{}", std::process::id()) }
}

#[test]
fn publishers_and_writers_announce_what_their_qos_says() {
    let Pair { one, other, name } = pair();
    for round in 0..ROUNDS {
        let topic = one.create_topic::<Reading>(&name, &TopicQos::default()).unwrap();
        let publisher = one.create_publisher(&PublisherQos::default()).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
        let group = PublisherQos::default()
            .presentation(PresentationAccessScope::Group, true, true)
            .partition([format!("p{round}")]);
        let (enables, sets, sets_too) = (publisher.clone(), publisher.clone(), writer.clone());
        let (new, own) = (group.clone(), DataWriterQos::default().user_data([round]));
        let (later, own_later) = (writer.clone(), DataWriterQos::default().user_data([round, round]));
        let (topic_sets, topic_qos) = (topic.clone(), TopicQos::default().topic_data([round]));
        together(vec![
            Box::new(move || enables.enable().unwrap()),
            Box::new(move || {
                done_or_fixed(sets.set_qos(&new));
                // What may change always does.
                let now = PublisherQos { partition: new.partition.clone(), ..sets.qos() };
                sets.set_qos(&now.group_data([1])).unwrap();
            }),
            Box::new(move || sets_too.set_qos(&own).unwrap()),
            Box::new(move || later.set_qos(&own_later).unwrap()),
            Box::new(move || topic_sets.set_qos(&topic_qos).unwrap()),
        ]);
        assert_eq!(publisher.qos().partition, group.partition);
        assert_eq!(publisher.qos().group_data.0, [1]);
        let as_said = || {
            let known = other.discovered_publication_data(writer.instance_handle());
            known.is_ok_and(|known| {
                (&*known.publisher_qos, &known.qos.user_data, &known.topic_data)
                    == (&publisher.qos(), &writer.qos().user_data, &topic.qos().topic_data)
            })
        };
        eventually("it is announced as it is", as_said);
        // The writers are in the group that was announced, or in none.
        publisher.begin_coherent_changes().unwrap();
        writer.write(&Reading::default()).unwrap();
        publisher.end_coherent_changes().unwrap();
        writer.wait_for_acknowledgments(secs(20)).unwrap();
    }
}

#[test]
fn subscribers_and_readers_announce_what_their_qos_says() {
    let Pair { one, other, name } = pair();
    for round in 0..ROUNDS {
        let topic = one.create_topic::<Reading>(&name, &TopicQos::default()).unwrap();
        let subscriber = one.create_subscriber(&SubscriberQos::default()).unwrap();
        let reader = subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap();
        let group = SubscriberQos::default()
            .presentation(PresentationAccessScope::Group, true, true)
            .partition([format!("p{round}")]);
        let (enables, sets, sets_too) = (subscriber.clone(), subscriber.clone(), reader.clone());
        let (new, own) = (group.clone(), DataReaderQos::default().user_data([round]));
        let (later, own_later) = (reader.clone(), DataReaderQos::default().user_data([round, round]));
        together(vec![
            Box::new(move || enables.enable().unwrap()),
            Box::new(move || {
                done_or_fixed(sets.set_qos(&new));
                let now = SubscriberQos { partition: new.partition.clone(), ..sets.qos() };
                sets.set_qos(&now.group_data([1])).unwrap();
            }),
            Box::new(move || sets_too.set_qos(&own).unwrap()),
            Box::new(move || later.set_qos(&own_later).unwrap()),
        ]);
        assert_eq!((subscriber.qos().partition, subscriber.qos().group_data.0), (group.partition, vec![1]));
        let as_said = || {
            let known = other.discovered_subscription_data(reader.instance_handle());
            known.is_ok_and(|known| {
                (&*known.subscriber_qos, &known.qos.user_data) == (&subscriber.qos(), &reader.qos().user_data)
            })
        };
        eventually("it is announced as it is", as_said);
        // Read as PRESENTATION says that was announced.
        let by_group = subscriber.qos().presentation.access_scope == PresentationAccessScope::Group;
        assert_eq!(reader.take(1).is_err(), by_group);
    }
}
