//! What listeners given at creation do with the publisher while the writer is created: it knows the writer already.

use std::sync::{Arc, Mutex};

use dunlin::qos::*;
use dunlin::sim::{Node, Sim};
use dunlin::{DataReader, DataWriter, DataWriterListener, MatchedStatus, Publisher, StatusMask};

use crate::support::*;

/// What to do with a writer that has a reader.
struct Does<F>(F);

impl<F: Fn(&DataWriter<Reading>) + Send + Sync + 'static> DataWriterListener<Reading> for Does<F> {
    fn on_publication_matched(&self, writer: &DataWriter<Reading>, status: MatchedStatus) {
        if status.current_count_change > 0 {
            (self.0)(writer);
        }
    }
}

/// A writer that is made where its reader is known, so that it matches while it is created.
fn create(
    node: &Node,
    publisher: &Publisher,
    w: &Writing,
    does: impl Fn(&DataWriter<Reading>) + Send + Sync + 'static,
) -> DataWriter<Reading> {
    let (qos, mask) = (DataWriterQos::default(), StatusMask::PUBLICATION_MATCHED);
    node.run(|| publisher.create_datawriter_with_listener(&w.topic, &qos, Does(does), mask)).unwrap()
}

fn ids(node: &Node, reader: &DataReader<Reading>) -> Vec<i32> {
    let taken = node.run(|| reader.take(9)).unwrap();
    taken.iter().filter_map(|sample| Some(sample.data.as_ref()?.id)).collect()
}

fn run(sim: &mut Sim) {
    sim.run_for(secs(2)).unwrap();
}

#[test]
fn lookup_datawriter_finds_the_writer_from_its_creation_listener() {
    let (_sim, a, _b, w, _r) = pair();
    let found = Arc::new(Mutex::new(None));
    let by_listener = Arc::clone(&found);
    let publisher = a.run(|| w.participant.create_publisher(&PublisherQos::default())).unwrap();
    let writer = create(&a, &publisher, &w, move |writer| {
        *by_listener.lock().unwrap() = writer.publisher().lookup_datawriter::<Reading>("Readings");
    });
    let found = found.lock().unwrap().take();
    assert_eq!(found.map(|found| found.instance_handle()), Some(writer.instance_handle()));
}

#[test]
fn samples_written_by_a_listener_at_creation_wait_for_resume_publications() {
    let (mut sim, a, b, w, r) = pair();
    w.publisher.suspend_publications().unwrap();
    let _writer = create(&a, &w.publisher, &w, |writer| writer.write(&reading(7, 1)).unwrap());
    run(&mut sim);
    assert_eq!(ids(&b, &r.reader), [0; 0]);
    a.run(|| w.publisher.resume_publications()).unwrap();
    run(&mut sim);
    assert_eq!(ids(&b, &r.reader), [7]);
}

#[test]
fn a_coherent_set_ended_by_a_listener_at_creation_is_ended_for_the_writer() {
    let (mut sim, a, b, w, r) = pair();
    let topic = PresentationAccessScope::Topic;
    let qos = SubscriberQos::default().presentation(topic, true, false);
    let reader = b.run(|| {
        let subscriber = r.participant.create_subscriber(&qos).unwrap();
        subscriber.create_datareader(&r.topic, &DataReaderQos::default().reliable().keep_all()).unwrap()
    });
    run(&mut sim);
    let qos = PublisherQos::default().presentation(topic, true, false);
    let publisher = a.run(|| w.participant.create_publisher(&qos)).unwrap();
    // Each of the two readers that match leads to a set.
    let _writer = create(&a, &publisher, &w, |writer| {
        let publisher = writer.publisher();
        publisher.begin_coherent_changes().unwrap();
        writer.write(&reading(8, 1)).unwrap();
        publisher.end_coherent_changes().unwrap();
    });
    run(&mut sim);
    assert_eq!(ids(&b, &reader), [8, 8]);
}

#[test]
fn partition_set_in_creation_listener_applies_to_the_writer() {
    let (mut sim, a, _b, w, _r) = pair();
    let publisher = a.run(|| w.participant.create_publisher(&PublisherQos::default())).unwrap();
    let writer = create(&a, &publisher, &w, |writer| {
        writer.publisher().set_qos(&PublisherQos::default().partition(["p"])).unwrap();
    });
    run(&mut sim);
    assert!(writer.matched_subscriptions().is_empty(), "its reader is in another partition");
}
