//! Which listener hears what (DDS 1.4 §2.2.4.2.3).

use std::sync::{Arc, Mutex};

use dunlin::qos::*;
use dunlin::{
    AnyDataReader, AnyDataWriter, AnyTopic, DataReader, DataReaderListener, DataWriter, DataWriterListener,
    IncompatibleQosStatus, InconsistentTopicStatus, MatchedStatus, PublisherListener, StatusMask, Subscriber,
    SubscriberListener, TopicListener,
};

use crate::common::{self, eventually};
use crate::support::*;

/// Writes down who heard what.
#[derive(Clone)]
struct NamedListener(&'static str, Arc<Mutex<Vec<String>>>);

impl NamedListener {
    fn new(name: &'static str, heard: &Arc<Mutex<Vec<String>>>) -> Self {
        Self(name, Arc::clone(heard))
    }

    fn hear(&self, what: impl std::fmt::Display) {
        self.1.lock().unwrap().push(format!("{} {what}", self.0));
    }
}

impl DataWriterListener<Reading> for NamedListener {
    fn on_publication_matched(&self, writer: &DataWriter<Reading>, status: MatchedStatus) {
        assert_eq!(writer.publication_matched_status().current_count_change, 0, "reset before the call");
        self.hear(format_args!("matched {}", status.current_count_change));
    }
}

impl DataReaderListener<Reading> for NamedListener {
    fn on_data_available(&self, reader: &DataReader<Reading>) {
        self.hear(format_args!("data {}", reader.take(9).unwrap().len()));
    }
}

impl PublisherListener for NamedListener {
    fn on_publication_matched(&self, writer: &AnyDataWriter, status: MatchedStatus) {
        assert!(writer.typed::<Reading>().is_some() && writer.typed::<Measurement>().is_none());
        self.hear(format_args!("matched {} of {}", status.current_count_change, writer.topic_name()));
    }

    fn on_offered_incompatible_qos(&self, _: &AnyDataWriter, status: IncompatibleQosStatus) {
        self.hear(format_args!("incompatible {:?}", status.last_policy_id));
    }
}

impl SubscriberListener for NamedListener {
    fn on_data_on_readers(&self, subscriber: &Subscriber) {
        self.hear("data on readers");
        assert_eq!(subscriber.status_changes(), StatusMask::NONE);
        assert_eq!(subscriber.datareaders(dunlin::StateMasks::NOT_READ).unwrap().len(), 1);
        subscriber.notify_datareaders().unwrap();
    }

    fn on_data_available(&self, reader: &AnyDataReader) {
        let taken = reader.typed::<Reading>().unwrap().take(9).unwrap();
        self.hear(format_args!("data {}", taken.len()));
    }

    fn on_subscription_matched(&self, _: &AnyDataReader, status: MatchedStatus) {
        self.hear(format_args!("matched {}", status.current_count_change));
    }
}

impl TopicListener for NamedListener {
    fn on_inconsistent_topic(&self, topic: &AnyTopic, status: InconsistentTopicStatus) {
        self.hear(format_args!("inconsistent {} {}", topic.name(), status.change));
    }
}

type Heard = Arc<Mutex<Vec<String>>>;

fn taken(heard: &Heard) -> Vec<String> {
    std::mem::take(&mut heard.lock().unwrap())
}

#[test]
fn the_most_specific_listener_with_the_status_hears_it() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let heard = Heard::default();
    let w = writing(&a, &DataWriterQos::default());
    let matched = StatusMask::PUBLICATION_MATCHED;
    w.participant.set_listener(NamedListener::new("participant", &heard), StatusMask::ALL);
    let mut come_and_go = |expected: &str| {
        let r = reads(&b, &DataReaderQos::default().reliable());
        sim.run_until(|| !w.writer.matched_subscriptions().is_empty(), secs(9)).unwrap();
        b.run(|| drop(r));
        sim.run_until(|| w.writer.matched_subscriptions().is_empty(), secs(9)).unwrap();
        let of_match: Vec<_> = taken(&heard);
        assert_eq!(of_match.first().map(String::as_str), Some(expected).filter(|text| !text.is_empty()));
    };
    come_and_go("participant matched 1 of Readings");
    w.publisher.set_listener(NamedListener::new("publisher", &heard), matched);
    come_and_go("publisher matched 1 of Readings");
    w.writer.set_listener(NamedListener::new("writer", &heard), matched);
    come_and_go("writer matched 1");
    // A listener whose mask lacks the status is passed over.
    w.writer.set_listener(NamedListener::new("writer", &heard), StatusMask::LIVELINESS_LOST);
    come_and_go("publisher matched 1 of Readings");
    // One that does nothing is not.
    w.writer.consume_statuses(matched);
    come_and_go("");
    w.writer.clear_listener();
    w.publisher.consume_statuses(matched);
    come_and_go("");
    w.publisher.clear_listener();
    w.participant.clear_listener();
    come_and_go("");
    let status = w.writer.publication_matched_status();
    assert_eq!((status.total_count, status.current_count), (7, 0), "counted whoever heard of it");
    assert!(status.total_count_change > 0, "what nobody was told of is still news");
}

#[test]
fn the_listener_of_a_publisher_hears_of_all_its_writers() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let heard = Heard::default();
    let w = writing(&a, &DataWriterQos::default().best_effort());
    w.publisher.set_listener(NamedListener::new("publisher", &heard), StatusMask::OFFERED_INCOMPATIBLE_QOS);
    let _second = a.run(|| w.publisher.create_datawriter(&w.topic, &DataWriterQos::default().best_effort()));
    let _r = reads(&b, &DataReaderQos::default().reliable());
    sim.run_for(secs(1)).unwrap();
    assert_eq!(taken(&heard), ["publisher incompatible Some(Reliability)"; 2]);
}

#[test]
fn data_on_readers_precedes_data_available() {
    let (mut sim, a, _b, w, r) = pair();
    let heard = Heard::default();
    let mut write = |expected: &[&str]| {
        a.run(|| w.writer.write(&reading(1, 1))).unwrap();
        sim.run_for(secs(1)).unwrap();
        assert_eq!(taken(&heard), expected);
    };
    r.participant.set_listener(NamedListener::new("participant", &heard), StatusMask::DATA_AVAILABLE);
    write(&["participant data 1"]);
    r.subscriber.set_listener(NamedListener::new("subscriber", &heard), StatusMask::DATA_AVAILABLE);
    write(&["subscriber data 1"]);
    r.reader.set_listener(NamedListener::new("reader", &heard), StatusMask::DATA_AVAILABLE);
    write(&["reader data 1"]);
    // DATA_ON_READERS comes instead; notify_datareaders brings the other.
    r.subscriber.set_listener(NamedListener::new("subscriber", &heard), StatusMask::DATA_ON_READERS);
    write(&["subscriber data on readers", "reader data 1"]);
    r.subscriber.clear_listener();
    r.participant.set_listener(NamedListener::new("participant", &heard), StatusMask::ALL);
    write(&["participant data on readers", "reader data 1"]);
    r.subscriber.consume_statuses(StatusMask::DATA_ON_READERS);
    write(&["reader data 1"]);
}

#[test]
fn data_on_readers_is_a_status_until_somebody_looks() {
    let (mut sim, a, _b, w, r) = pair();
    let condition = r.subscriber.status_condition();
    assert!(!condition.condition().trigger_value());
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    sim.run_until(|| condition.condition().trigger_value(), secs(9)).unwrap();
    assert_eq!(r.subscriber.status_changes(), StatusMask::DATA_ON_READERS);
    assert_eq!(
        r.subscriber.datareaders(dunlin::StateMasks::NOT_READ).unwrap(),
        [AnyDataReader::from(&r.reader)]
    );
    assert_eq!(r.reader.read(9).unwrap().len(), 1);
    assert_eq!(r.subscriber.status_changes(), StatusMask::NONE, "reset by reading");
    assert!(r.subscriber.datareaders(dunlin::StateMasks::NOT_READ).unwrap().is_empty());
    let after = a.run(|| w.writer.write(&reading(1, 2)));
    after.unwrap();
    sim.run_until(|| condition.condition().trigger_value(), secs(9)).unwrap();
    condition.set_enabled_statuses(StatusMask::NONE);
    assert!(!condition.condition().trigger_value());
}

#[test]
fn inconsistent_topic_reaches_the_listener_of_topic_or_participant() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let heard = Heard::default();
    let w = writing(&a, &DataWriterQos::default());
    w.participant.set_listener(NamedListener::new("participant", &heard), StatusMask::INCONSISTENT_TOPIC);
    let other = b.run(|| join("other")).unwrap();
    let mut misuse = |expected: &[&str]| {
        let reader = b.run(|| {
            let topic = other.create_topic::<Measurement>("Readings", &TopicQos::default()).unwrap();
            let subscriber = other.create_subscriber(&SubscriberQos::default()).unwrap();
            subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap()
        });
        sim.run_for(secs(1)).unwrap();
        b.run(|| drop(reader));
        assert_eq!(taken(&heard), expected);
    };
    misuse(&["participant inconsistent Readings 1"]);
    w.topic.set_listener(NamedListener::new("topic", &heard), StatusMask::ALL);
    misuse(&["topic inconsistent Readings 1"]);
    w.topic.consume_statuses(StatusMask::ALL);
    misuse(&[]);
    assert_eq!(w.topic.inconsistent_topic_status().total, 3);
}

/// Does in a listener what applications do there.
struct Busy(Heard);

impl TopicListener for Busy {}

impl PublisherListener for Busy {
    fn on_publication_matched(&self, writer: &AnyDataWriter, status: MatchedStatus) {
        let writer = writer.typed::<Reading>().unwrap();
        let publisher = writer.publisher();
        if status.current_count_change > 0 {
            writer.write(&reading(1, 1)).unwrap();
            writer.set_qos(&writer.qos().user_data([1])).unwrap();
            publisher.set_qos(&publisher.qos()).unwrap();
            publisher.set_listener(NamedListener::new("publisher", &self.0), StatusMask::ALL);
            let second = publisher.create_datawriter(&writer.topic(), &DataWriterQos::default()).unwrap();
            publisher.delete_datawriter(&second).unwrap();
            self.0.lock().unwrap().push("busy".into());
        }
    }
}

impl SubscriberListener for Busy {
    fn on_data_available(&self, reader: &AnyDataReader) {
        let reader = reader.typed::<Reading>().unwrap();
        assert_eq!(reader.take(9).unwrap().len(), 1);
        // It ends itself.
        reader.subscriber().delete_datareader(&reader).unwrap();
        self.0.lock().unwrap().push("ended".into());
    }
}

#[test]
fn listeners_may_write_read_change_create_and_delete() {
    let domain = common::domain();
    let (one, other) = (common::participant(domain), common::participant(domain));
    let name = format!("Busy{}", std::process::id());
    let heard = Heard::default();
    one.set_listener(Busy(Arc::clone(&heard)), StatusMask::PUBLICATION_MATCHED);
    other.set_listener(Busy(Arc::clone(&heard)), StatusMask::DATA_AVAILABLE);
    let topic = one.create_topic::<Reading>(&name, &TopicQos::default()).unwrap();
    let publisher = one.create_publisher(&PublisherQos::default()).unwrap();
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().transient_local()).unwrap();
    let topic = other.create_topic::<Reading>(&name, &TopicQos::default()).unwrap();
    let subscriber = other.create_subscriber(&SubscriberQos::default()).unwrap();
    let qos = DataReaderQos::default().reliable().transient_local();
    let reader = subscriber.create_datareader(&topic, &qos).unwrap();
    eventually("both listeners and the end of the match", || {
        let heard = heard.lock().unwrap();
        let has = |words: &str| heard.iter().any(|line| line.starts_with(words));
        has("busy") && has("ended") && has("publisher matched -1")
    });
    assert!(reader.take(1).is_err());
    assert!(writer.matched_subscriptions().is_empty());
}

#[test]
fn data_on_readers_is_called_for_every_sample_over_loopback() {
    let domain = common::domain();
    let (one, other) = (common::participant(domain), common::participant(domain));
    let name = format!("Told{}", std::process::id());
    let heard = Heard::default();
    let topic = one.create_topic::<Reading>(&name, &TopicQos::default()).unwrap();
    let publisher = one.create_publisher(&PublisherQos::default()).unwrap();
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().keep_all()).unwrap();
    let topic = other.create_topic::<Reading>(&name, &TopicQos::default()).unwrap();
    let subscriber = other.create_subscriber(&SubscriberQos::default()).unwrap();
    subscriber.set_listener(Counting(Arc::clone(&heard)), StatusMask::DATA_ON_READERS);
    let qos = DataReaderQos::default().reliable().keep_all();
    let reader = subscriber.create_datareader(&topic, &qos).unwrap();
    reader.set_listener(
        {
            let heard = Arc::clone(&heard);
            move |reader: &DataReader<Reading>| {
                let taken = reader.take(1000).unwrap();
                heard.lock().unwrap().extend(taken.iter().map(|_| "sample".to_owned()));
            }
        },
        StatusMask::DATA_AVAILABLE,
    );
    eventually("the match", || {
        !writer.matched_subscriptions().is_empty() && !reader.matched_publications().is_empty()
    });
    for n in 0..500 {
        writer.write(&reading(n % 3, n)).unwrap();
    }
    eventually("all samples", || {
        heard.lock().unwrap().iter().filter(|line| *line == "sample").count() == 500
    });
}

/// Hands on to the readers' listeners.
struct Counting(Heard);

impl SubscriberListener for Counting {
    fn on_data_on_readers(&self, subscriber: &Subscriber) {
        self.0.lock().unwrap().push("data on readers".into());
        subscriber.notify_datareaders().unwrap();
    }
}

/// Asks for the readers of a group, and reads them, without begin_access.
struct Listing(Heard);

impl SubscriberListener for Listing {
    fn on_data_on_readers(&self, subscriber: &Subscriber) {
        let readers = subscriber.datareaders(dunlin::StateMasks::NOT_READ).unwrap();
        let samples = readers.iter().map(|reader| reader.typed::<Reading>().unwrap().read(9).unwrap().len());
        let heard = format!("{} readers, {} samples", readers.len(), samples.sum::<usize>());
        self.0.lock().unwrap().push(heard);
    }
}

#[test]
fn get_datareaders_lists_readers_with_data_in_data_on_readers() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let group = PresentationAccessScope::Group;
    let one = a.run(|| join("other")).unwrap();
    let other = b.run(|| join("other")).unwrap();
    let writer = a.run(|| {
        let topic = one.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
        let publisher =
            one.create_publisher(&PublisherQos::default().presentation(group, false, true)).unwrap();
        publisher.create_datawriter(&topic, &DataWriterQos::default().keep_all()).unwrap()
    });
    let (subscriber, reader) = b.run(|| {
        let topic = other.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
        let qos = SubscriberQos::default().presentation(group, false, true);
        let subscriber = other.create_subscriber(&qos).unwrap();
        let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all());
        (subscriber, reader.unwrap())
    });
    let heard = Heard::default();
    subscriber.set_listener(Listing(Arc::clone(&heard)), StatusMask::DATA_ON_READERS);
    let met = || !writer.matched_subscriptions().is_empty() && !reader.matched_publications().is_empty();
    sim.run_until(met, secs(9)).unwrap();
    sim.run_for(secs(3)).unwrap();
    a.run(|| writer.write(&reading(1, 1))).unwrap();
    sim.run_for(secs(1)).unwrap();
    assert_eq!(taken(&heard), ["1 readers, 1 samples"]);
    let outside = subscriber.datareaders(dunlin::StateMasks::NOT_READ);
    assert_eq!(outside.err(), Some(dunlin::GroupAccessError::NotBegun));
}

/// A listener is taken out, replaced by another, and set again, of each kind of entity.
#[test]
fn a_listener_is_got_and_set_again() {
    let (mut sim, a, b, w, r) = pair();
    let heard = Heard::default();
    let (matched, data) = (StatusMask::PUBLICATION_MATCHED, StatusMask::DATA_AVAILABLE);
    assert_eq!(w.writer.publication_matched_status().current_count_change, 1);
    w.writer.set_listener(NamedListener::new("writer", &heard), matched);
    let of_writer = w.writer.listener().unwrap();
    w.writer.set_listener(NamedListener::new("another", &heard), matched);
    w.writer.set_shared_listener(of_writer, matched);
    r.reader.set_listener(NamedListener::new("reader", &heard), data);
    let of_reader = r.reader.listener().unwrap();
    r.reader.consume_statuses(data);
    r.reader.set_shared_listener(of_reader, data);
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    let second = reads(&b, &DataReaderQos::default().reliable());
    sim.run_until(|| w.writer.matched_subscriptions().len() == 2, secs(9)).unwrap();
    assert_eq!(taken(&heard), ["reader data 1", "writer matched 1"]);
    // Those of publisher, subscriber, participant and topic.
    w.writer.clear_listener();
    r.reader.clear_listener();
    assert!(w.writer.listener().is_none() && r.reader.listener().is_none());
    w.publisher.set_listener(NamedListener::new("publisher", &heard), matched);
    let of_publisher = w.publisher.listener().unwrap();
    w.publisher.clear_listener();
    r.subscriber.set_listener(NamedListener::new("subscriber", &heard), data);
    let of_subscriber = r.subscriber.listener().unwrap();
    r.subscriber.clear_listener();
    w.topic.set_listener(NamedListener::new("topic", &heard), StatusMask::ALL);
    let of_topic = w.topic.listener().unwrap();
    w.topic.clear_listener();
    w.participant.set_listener(NamedListener::new("participant", &heard), StatusMask::ALL);
    let of_participant = w.participant.listener().unwrap();
    w.participant.clear_listener();
    b.run(|| drop(second));
    sim.run_until(|| w.writer.matched_subscriptions().len() == 1, secs(9)).unwrap();
    a.run(|| w.writer.write(&reading(1, 2))).unwrap();
    sim.run_until(|| !r.reader.read(9).unwrap().is_empty(), secs(9)).unwrap();
    assert_eq!(taken(&heard), [""; 0], "nobody listens");
    assert_eq!(w.writer.publication_matched_status().current_count_change, -1);
    r.subscriber.set_shared_listener(of_subscriber, data);
    w.topic.set_shared_listener(of_topic, StatusMask::INCONSISTENT_TOPIC);
    w.participant.set_shared_listener(of_participant, matched);
    let again = reads(&b, &DataReaderQos::default().reliable());
    sim.run_until(|| w.writer.matched_subscriptions().len() == 2, secs(9)).unwrap();
    assert_eq!(taken(&heard), ["participant matched 1 of Readings"]);
    w.publisher.set_shared_listener(of_publisher, matched);
    b.run(|| drop(again));
    sim.run_until(|| w.writer.matched_subscriptions().len() == 1, secs(9)).unwrap();
    assert_eq!(taken(&heard), ["publisher matched -1 of Readings"]);
    a.run(|| w.writer.write(&reading(1, 3))).unwrap();
    let other = b.run(|| {
        let participant = join("other").unwrap();
        let topic = participant.create_topic::<Measurement>("Readings", &TopicQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
        (subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap(), participant)
    });
    sim.run_for(secs(5)).unwrap();
    assert_eq!(taken(&heard), ["subscriber data 2", "topic inconsistent Readings 1"]);
    drop(other);
}

struct Clumsy;

impl DataWriterListener<common::Track> for Clumsy {
    fn on_publication_matched(&self, _: &DataWriter<common::Track>, _: MatchedStatus) {
        panic!("the listener of the test");
    }
}

/// Nothing but the match wakes whoever waits: a best-effort reader acknowledges nothing.
#[test]
fn a_listener_that_panics_does_not_keep_others_waiting() {
    let domain = common::domain();
    let (one, other) = (common::participant(domain), common::participant(domain));
    let writer = common::writer_in(&one, "Panic", &DataWriterQos::default());
    writer.set_listener(Clumsy, StatusMask::PUBLICATION_MATCHED);
    // It stays: the listener is told of its end too, and would panic again.
    let _reader = std::thread::scope(|scope| {
        let waits = scope.spawn(|| writer.wait_for_readers(1, secs(30)));
        let reader = common::reader_in(&other, "Panic", &DataReaderQos::default());
        assert_eq!(waits.join().unwrap(), Ok(()));
        reader
    });
    eventually("the count", || one.listener_panics() == 1);
}
