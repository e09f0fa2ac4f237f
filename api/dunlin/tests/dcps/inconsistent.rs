//! INCONSISTENT_TOPIC of topics with and without endpoints (DDS 1.4 §2.2.4.1): once for each endpoint of another participant.

use std::sync::{Arc, Mutex};

use dunlin::qos::*;
use dunlin::sim::{Node, Result, Sim};
use dunlin::{DdsType, DomainParticipant, Topic, TopicListener};

use crate::support::*;

/// Not to be read as a [`Reading`].
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Other {
    #[dds(key)]
    id: String,
}

/// A reading under another name.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Renamed {
    #[dds(key)]
    id: i32,
    n: i32,
}

fn counts<T: DdsType>(topic: &Topic<T>) -> (i32, i32) {
    let status = topic.inconsistent_topic_status();
    (status.total, status.change)
}

/// A writer of a type on a node.
fn writer_of<T: DdsType>(node: &Node) -> (DomainParticipant, dunlin::DataWriter<T>) {
    let make = || -> Result<_> {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<T>("Readings", &TopicQos::default())?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        Ok((participant, publisher.create_datawriter(&topic, &DataWriterQos::default())?))
    };
    node.run(make).unwrap()
}

fn topic_of<T: DdsType>(node: &Node) -> (DomainParticipant, Topic<T>) {
    let make = || -> Result<_> {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<T>("Readings", &TopicQos::default())?;
        Ok((participant, topic))
    };
    node.run(make).unwrap()
}

#[derive(Default, Clone)]
struct Heard(Arc<Mutex<Vec<i32>>>);

impl TopicListener for Heard {
    fn on_inconsistent_topic(&self, _: &dunlin::AnyTopic, status: dunlin::InconsistentTopicStatus) {
        self.0.lock().unwrap().push(status.total);
    }
}

#[test]
fn a_topic_without_endpoints_raises_inconsistent_topic_in_any_order() {
    Sim::builder().loss(0.2).seeds(0..4, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (participant, topic) = topic_of::<Reading>(&a);
        let heard = Heard::default();
        topic.set_listener(heard.clone(), dunlin::StatusMask::INCONSISTENT_TOPIC);
        let (other, writer) = writer_of::<Other>(&b);
        sim.run_until(|| *heard.0.lock().unwrap() == [1], secs(30))?;
        assert_eq!(counts(&topic), (1, 0), "the listener took the change");
        let subscriber = b.run(|| other.create_subscriber(&SubscriberQos::default()))?;
        let reader = b.run(|| subscriber.create_datareader(&writer.topic(), &DataReaderQos::default()))?;
        sim.run_until(|| *heard.0.lock().unwrap() == [1, 2], secs(30))?;
        // Neither a new policy nor an endpoint here makes them others.
        b.run(|| writer.set_qos(&writer.qos().user_data([1])))?;
        let publisher = a.run(|| participant.create_publisher(&PublisherQos::default()))?;
        let _own = a.run(|| publisher.create_datawriter(&topic, &DataWriterQos::default()))?;
        let _second = a.run(|| publisher.create_datawriter(&topic, &DataWriterQos::default()))?;
        sim.run_for(secs(5))?;
        assert_eq!(*heard.0.lock().unwrap(), [1, 2]);
        // And the other way round: these endpoints were there before the topic.
        let (_late, late) = topic_of::<Reading>(&a);
        sim.run_until(|| late.inconsistent_topic_status().total == 2, secs(30))?;
        drop(reader);
        Ok(())
    });
}

#[test]
fn endpoints_of_the_same_kind_show_an_inconsistent_topic_too() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (_one, first) = writer_of::<Reading>(&a);
    let (_two, second) = writer_of::<Other>(&b);
    let total = |topic: &dyn Fn() -> i32| topic();
    let of_first = || first.topic().inconsistent_topic_status().total;
    let of_second = || second.topic().inconsistent_topic_status().total;
    sim.run_until(|| total(&of_first) == 1 && total(&of_second) == 1, secs(30)).unwrap();
    // One that comes again is another endpoint.
    b.run(|| drop((_two, second)));
    sim.run_for(secs(3)).unwrap();
    let (_three, _third) = writer_of::<Other>(&b);
    sim.run_until(|| of_first() == 2, secs(30)).unwrap();
}

#[test]
fn a_type_that_can_be_read_is_consistent_whatever_its_name() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (participant, topic) = topic_of::<Reading>(&a);
    let (_one, _first) = writer_of::<Renamed>(&b);
    let (_two, _second) = writer_of::<Reading>(&b);
    sim.run_until(|| participant.discovered_publications().len() == 2, secs(30)).unwrap();
    sim.run_for(secs(10)).unwrap();
    assert_eq!(counts(&topic), (0, 0));
}

/// While a topic is disabled nothing is told; once it is enabled, what is there already.
#[test]
fn a_topic_enabled_later_raises_inconsistent_topic_for_known_endpoints() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let participant = a
        .run(|| {
            DomainParticipant::builder(0)
                .qos(DomainParticipantQos {
                    entity_factory: EntityFactory { autoenable_created_entities: false },
                    ..DomainParticipantQos::default()
                })
                .build()
        })
        .unwrap();
    let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
    let (_two, _second) = writer_of::<Other>(&b);
    sim.run_until(|| participant.discovered_publications().len() == 1, secs(30)).unwrap();
    sim.run_for(secs(5)).unwrap();
    assert_eq!(counts(&topic), (0, 0));
    a.run(|| topic.enable()).unwrap();
    sim.run_until(|| topic.inconsistent_topic_status().total == 1, secs(30)).unwrap();
}

mod old {
    use super::*;

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Place", nested)]
    pub struct Place {
        pub x: i32,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Track")]
    pub struct Track {
        #[dds(key)]
        pub id: i32,
        pub place: Place,
        pub n: i32,
    }
}

mod new {
    use super::*;

    /// Appended to, which XCDR1 cannot tell within another type.
    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Place", nested)]
    pub struct Place {
        pub x: i32,
        pub y: i32,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Track")]
    pub struct Track {
        #[dds(key)]
        pub id: i32,
        pub place: Place,
        pub n: i32,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Track")]
    pub struct Renamed {
        #[dds(key)]
        pub id: i32,
        pub place: super::old::Place,
        #[dds(id = 2)]
        pub number: i32,
    }
}

fn reader_of<T: DdsType>(
    node: &Node,
    qos: &DataReaderQos,
) -> (DomainParticipant, Topic<T>, dunlin::DataReader<T>) {
    let (participant, topic) = topic_of::<T>(node);
    let make = || participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos);
    let reader = node.run(make).unwrap();
    (participant, topic, reader)
}

/// Whether a local writer comes before a remote reader or behind it.
#[test]
fn a_reader_that_matches_in_xcdr2_is_consistent() {
    let both = [DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2];
    let writer_qos = DataWriterQos::default().representation(&[DataRepresentationId::Xcdr2]);
    for early in [true, false] {
        let mut sim = Sim::new(3);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (participant, topic) = topic_of::<old::Track>(&a);
        let write = || {
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            publisher.create_datawriter(&topic, &writer_qos)
        };
        let first = early.then(|| a.run(write).unwrap());
        let (_two, _, reader) = reader_of::<new::Track>(&b, &DataReaderQos::default().representation(&both));
        sim.run_until(|| participant.discovered_subscriptions().len() == 1, secs(30)).unwrap();
        sim.run_for(secs(5)).unwrap();
        let _writer = first.unwrap_or_else(|| a.run(write).unwrap());
        sim.run_until(|| reader.matched_publications().len() == 1, secs(30)).unwrap();
        sim.run_for(secs(5)).unwrap();
        assert_eq!((early, counts(&topic)), (early, (0, 0)));
    }
    // What it accepts is all that counts.
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (_one, topic) = topic_of::<old::Track>(&a);
    let xcdr1 = DataReaderQos::default().representation(&[DataRepresentationId::Xcdr1]);
    let _reader = reader_of::<new::Track>(&b, &xcdr1);
    sim.run_until(|| topic.inconsistent_topic_status().total == 1, secs(30)).unwrap();
}

#[test]
fn a_writer_that_a_lenient_reader_matches_is_consistent() {
    let lenient = TypeConsistencyEnforcement { ignore_member_names: true, ..Default::default() };
    let qos = DataReaderQos::default().type_consistency(lenient);
    for early in [true, false] {
        let mut sim = Sim::new(3);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (participant, topic) = topic_of::<old::Track>(&a);
        let read = || {
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            subscriber.create_datareader(&topic, &qos)
        };
        let first = early.then(|| a.run(read).unwrap());
        let (_two, writer) = writer_of::<new::Renamed>(&b);
        sim.run_until(|| participant.discovered_publications().len() == 1, secs(30)).unwrap();
        sim.run_for(secs(5)).unwrap();
        let _reader = first.unwrap_or_else(|| a.run(read).unwrap());
        sim.run_until(|| writer.matched_subscriptions().len() == 1, secs(30)).unwrap();
        sim.run_for(secs(5)).unwrap();
        assert_eq!((early, counts(&topic)), (early, (0, 0)));
    }
}
