//! Several topics of one name in a participant (DDS 1.4 §2.2.2.2.1.5 create_topic, §2.2.2.2.1.6 delete_topic, §2.2.2.2.1.11
//! find_topic).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use dunlin::qos::{DataReaderQos, DataWriterQos, SubscriberQos, TopicQos};
use dunlin::{
    AnyTopic, CreateEntityError, EntityError, FoundTopic, InconsistentTopicStatus, ReturnCode, StatusMask,
    Topic, TopicListener,
};

use crate::support::*;

#[test]
fn topics_of_one_name_have_their_own_qos_and_are_deleted_on_their_own() {
    let (mut sim, a, _b, w, r) = pair();
    let qos = TopicQos::default().topic_data([1]).exclusive();
    let second = a.run(|| w.participant.create_topic::<Reading>("Readings", &qos)).unwrap();
    let found = a.run(|| w.participant.find_topic::<Reading>("Readings", secs(0))).unwrap();
    assert_eq!((second.qos(), found.qos(), w.topic.qos()), (qos.clone(), w.topic.qos(), TopicQos::default()));
    let handles = [&w.topic, &second, &found].map(Topic::instance_handle);
    assert!(handles[0] != handles[1] && handles[1] != handles[2] && handles[0] != handles[2]);
    assert!(handles.iter().all(|handle| w.participant.contains_entity(*handle)));
    // One data space: a writer of the second is one of the same topic.
    let mut exclusive = DataWriterQos::default();
    w.publisher.copy_from_topic_qos(&mut exclusive, &second.qos()).unwrap();
    let writer = a.run(|| w.publisher.create_datawriter(&second, &DataWriterQos::default())).unwrap();
    sim.run_until(|| r.reader.matched_publications().len() == 2, secs(9)).unwrap();
    let data = |writer: &dunlin::DataWriter<Reading>| {
        r.participant.discovered_publication_data(writer.instance_handle()).unwrap().topic_data.clone()
    };
    assert_eq!((data(&writer).0, data(&w.writer).0), (vec![1], vec![]), "each announces its own");
    a.run(|| second.set_qos(&qos.clone().topic_data([2]))).unwrap();
    sim.run_until(|| data(&writer).0 == [2], secs(9)).unwrap();
    assert!(data(&w.writer).0.is_empty());
    // Each is deleted as often as it was had.
    assert_eq!(w.participant.delete_topic(&second), Err(EntityError::InUse));
    w.participant.delete_topic(&found).unwrap();
    assert_eq!(w.participant.delete_topic(&found), Err(EntityError::AlreadyDeleted));
    assert_eq!(found.set_qos(&TopicQos::default()).unwrap_err().return_code(), ReturnCode::AlreadyDeleted);
    w.publisher.delete_datawriter(&writer).unwrap();
    w.participant.delete_topic(&second).unwrap();
    assert_eq!(w.participant.delete_topic(&w.topic), Err(EntityError::InUse), "its writer is there");
    // The name is free with the last one.
    let wrong = || a.run(|| w.participant.create_topic::<Measurement>("Readings", &TopicQos::default()));
    assert!(matches!(wrong(), Err(CreateEntityError::TypeConflict { .. })));
    let oldest = w.participant.lookup_topicdescription::<Reading>("Readings");
    assert!(matches!(oldest, Some(FoundTopic::Topic(topic)) if topic.instance_handle() == handles[0]));
    w.publisher.delete_datawriter(&w.writer).unwrap();
    w.participant.delete_topic(&w.topic).unwrap();
    assert!(w.participant.lookup_topicdescription::<Reading>("Readings").is_none());
    wrong().unwrap();
}

#[derive(Clone, Default)]
struct Counts(Arc<AtomicUsize>);

impl TopicListener for Counts {
    fn on_inconsistent_topic(&self, topic: &AnyTopic, status: InconsistentTopicStatus) {
        assert_eq!((topic.name(), status.change), ("Readings", 1));
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn inconsistent_topic_is_raised_on_every_topic_of_the_name() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let w = writing(&a, &DataWriterQos::default());
    let (first, second) = (Counts::default(), Counts::default());
    w.topic.set_listener(first.clone(), StatusMask::INCONSISTENT_TOPIC);
    let mask = StatusMask::INCONSISTENT_TOPIC;
    let listening = a.run(|| {
        let qos = TopicQos::default();
        w.participant.create_topic_with_listener::<Reading>("Readings", &qos, second.clone(), mask)
    });
    let listening = listening.unwrap();
    let quiet = a.run(|| w.participant.create_topic::<Reading>("Readings", &TopicQos::default())).unwrap();
    let elsewhere = a.run(|| w.participant.create_topic::<Reading>("Other", &TopicQos::default())).unwrap();
    let _reader = b.run(|| {
        let participant = join("other").unwrap();
        let topic = participant.create_topic::<Measurement>("Readings", &TopicQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
        subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap()
    });
    sim.run_until(|| quiet.status_changes() == mask, secs(9)).unwrap();
    sim.run_for(secs(1)).unwrap();
    assert_eq!((first.0.load(SeqCst), second.0.load(SeqCst)), (1, 1));
    assert_eq!((w.topic.status_changes(), listening.status_changes()), (StatusMask::NONE, StatusMask::NONE));
    assert_eq!(quiet.inconsistent_topic_status().total, 1);
    assert_eq!(elsewhere.inconsistent_topic_status().total, 0);
}
