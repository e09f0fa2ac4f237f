//! Topics of types known at run time, over real sockets on the loopback interface.

mod common;

use common::{Fixture, Track, domain, eventually, participant, track};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{
    CreateEntityError, DataReader, DataWriter, DdsType, DomainParticipant, DynamicData, DynamicType, Guid,
    InstanceState, SerializedData, SharedView, StateMasks, Topic, TypeDiscovery, Value,
};

fn type_of<T: DdsType>() -> DynamicType {
    let (graph, index) = dunlin::xtypes::from_description(dunlin::cdr::description::<T>());
    DynamicType::new(graph, index).unwrap()
}

fn reliable() -> (DataWriterQos, DataReaderQos) {
    (DataWriterQos::default().reliable().keep_all(), DataReaderQos::default().reliable().keep_all())
}

fn topic(participant: &DomainParticipant, name: &str) -> Topic<DynamicData> {
    participant.create_dynamic_topic(name, &type_of::<Track>(), &TopicQos::default()).unwrap()
}

fn reader(participant: &DomainParticipant, topic: &Topic<DynamicData>) -> DataReader<DynamicData> {
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(topic, &reliable().1).unwrap();
    eventually("the match", || !reader.matched_publications().is_empty());
    reader
}

fn dynamic(id: i32, speed: i32) -> DynamicData {
    let mut sample = DynamicData::new(&type_of::<Track>());
    sample.set("id", id).unwrap();
    sample.set("speed", speed).unwrap();
    sample.set("octets", vec![7_u8, 8]).unwrap();
    sample
}

#[test]
fn a_reader_without_the_rust_type_reads_takes_and_selects() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let another = participant(f.subscribing.domain_id());
    let reader = reader(&another, &topic(&another, &f.topic));
    eventually("the match at the writer", || f.writer.matched_subscriptions().len() == 2);
    for n in 0..6 {
        f.writer.write(&track(n % 2, n)).unwrap();
    }
    eventually("six samples", || reader.read(100).unwrap().len() == 6);
    let fast = reader.create_querycondition(StateMasks::ANY, "speed > %0 ORDER BY speed", &["3"]).unwrap();
    let speeds = reader.read_w_condition(10, &fast).unwrap().into_iter().filter_map(|sample| sample.data);
    let speeds: Vec<_> = speeds.map(|data| data.get("speed").unwrap().cloned()).collect();
    assert_eq!(speeds, [Some(Value::Int32(4)), Some(Value::Int32(5))]);
    let first = reader.lookup_instance(&dynamic(1, 0));
    assert_eq!(first, f.reader.lookup_instance(&track(1, 0)));
    assert_eq!(reader.take_instance(10, first, StateMasks::ANY).unwrap().len(), 3);
    f.writer.dispose(&track(0, 0)).unwrap();
    let mut ended = None;
    eventually("the end of an instance", || {
        let samples = reader.take(10).unwrap();
        ended = ended.take().or(samples
            .into_iter()
            .find(|sample| sample.info.instance_state == InstanceState::NotAliveDisposed));
        ended.is_some()
    });
    let ended = ended.unwrap();
    let key = ended.data.or(ended.key).unwrap();
    assert_eq!(key.get("id").unwrap(), Some(&Value::Int32(0)));
}

#[test]
fn a_writer_without_the_rust_type_writes_instances_and_ends_them() {
    let (writer_qos, reader_qos) = reliable();
    let domain = domain();
    let (publishing, subscribing) = (participant(domain), participant(domain));
    let name = format!("Written{}", std::process::id());
    let writer: DataWriter<DynamicData> = publishing
        .create_publisher(&PublisherQos::default())
        .unwrap()
        .create_datawriter(&topic(&publishing, &name), &writer_qos)
        .unwrap();
    let typed = subscribing.create_topic::<Track>(&name, &TopicQos::default()).unwrap();
    let subscriber = subscribing.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&typed, &reader_qos).unwrap();
    eventually("the match", || {
        !writer.matched_subscriptions().is_empty() && !reader.matched_publications().is_empty()
    });
    let handle = writer.register_instance(&dynamic(5, 0)).unwrap();
    assert_eq!(writer.key_value(handle).unwrap().get("id").unwrap(), Some(&Value::Int32(5)));
    writer.write(&dynamic(5, 50)).unwrap();
    let mut seen = Vec::new();
    eventually("the sample", || {
        seen.extend(reader.take(10).unwrap().into_iter().filter_map(|sample| sample.data));
        !seen.is_empty()
    });
    assert_eq!(seen, [Track { id: 5, speed: 50, note: String::new(), octets: vec![7, 8] }]);
    writer.dispose(&dynamic(5, 0)).unwrap();
    eventually("the end", || {
        reader.take(10).unwrap().iter().any(|s| s.info.instance_state == InstanceState::NotAliveDisposed)
    });
    let other = DynamicData::new(&type_of::<Other>());
    assert!(writer.write(&other).is_err(), "a value of another type");
}

/// Has nothing to do with the topics.
#[derive(DdsType, Clone, Debug, Default)]
struct Other {
    a: i64,
}

#[test]
fn filters_and_untyped_readers() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let another = participant(f.subscribing.domain_id());
    let all = topic(&another, &f.topic);
    let near =
        another.create_contentfilteredtopic("Near", &all, "speed < %0 AND note = 'none'", &["3"]).unwrap();
    assert!(another.create_contentfilteredtopic("Bad", &all, "sped < 3", &[""; 0]).is_err());
    let subscriber = another.create_subscriber(&SubscriberQos::default()).unwrap();
    let filtered = subscriber.create_datareader(&near, &reader_qos).unwrap();
    let third = participant(f.subscribing.domain_id());
    let raw = third.create_serialized_topic(&f.topic, Track::TYPE_NAME, true, &TopicQos::default()).unwrap();
    let subscriber = third.create_subscriber(&SubscriberQos::default()).unwrap();
    let raw: DataReader<SerializedData> = subscriber.create_datareader(&raw, &reader_qos).unwrap();
    eventually("the matches", || {
        let readers = !filtered.matched_publications().is_empty() && !raw.matched_publications().is_empty();
        readers && f.writer.matched_subscriptions().len() == 3
    });
    for n in 0..6 {
        f.writer.write(&track(1, n)).unwrap();
    }
    let (mut few, mut payloads) = (Vec::new(), Vec::new());
    eventually("what passes, and everything", || {
        few.extend(filtered.take(10).unwrap().into_iter().filter_map(|sample| sample.data));
        payloads.extend(raw.take(10).unwrap().into_iter().filter_map(|sample| sample.data));
        few.len() == 3 && payloads.len() == 6
    });
    assert_eq!(payloads[0].representation_id(), Some(dunlin::cdr::representation_id::CDR_LE));
    let decoded = DynamicData::from_payload(&type_of::<Track>(), payloads[5].payload()).unwrap();
    assert_eq!(decoded.get("speed").unwrap(), Some(&Value::Int32(5)));
    assert_eq!(few[2].get("speed").unwrap(), Some(&Value::Int32(2)));
}

/// The type that an endpoint announces, as another participant knows it.
fn discovered(participant: &DomainParticipant, endpoint: Option<Guid>) -> DynamicType {
    let mut found = None;
    eventually("the type", || {
        if let TypeDiscovery::Known(known) = participant.discovered_type(endpoint.unwrap()) {
            found = Some(DynamicType::new(known.graph, known.root).unwrap());
        }
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_type_that_others_announce_makes_a_topic_and_is_announced_again() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let another = participant(f.subscribing.domain_id());
    let ty = discovered(&another, f.writer.guid());
    assert_eq!(ty.to_idl(), type_of::<Track>().to_idl());
    let topic = another.create_dynamic_topic(&f.topic, &ty, &TopicQos::default()).unwrap();
    let reader = reader(&another, &topic);
    eventually("both readers", || f.writer.matched_subscriptions().len() == 2);
    f.writer.write(&track(3, 4)).unwrap();
    let mut seen = Vec::new();
    eventually("the sample", || {
        seen.extend(reader.take(10).unwrap().into_iter().filter_map(|sample| sample.data));
        !seen.is_empty()
    });
    assert_eq!(seen[0].get("speed").unwrap(), Some(&Value::Int32(4)));
    assert_eq!(discovered(&f.publishing, reader.guid()).to_idl(), ty.to_idl());
}

#[test]
fn a_name_has_one_type() {
    let participant = participant(domain());
    let name = "OneType";
    let dynamic = topic(&participant, name);
    assert_eq!(topic(&participant, name).name(), dynamic.name());
    let typed = participant.create_topic::<Track>(name, &TopicQos::default());
    assert!(matches!(typed, Err(CreateEntityError::TypeConflict { .. })));
    let other = participant.create_dynamic_topic(name, &type_of::<Other>(), &TopicQos::default());
    assert!(matches!(other, Err(CreateEntityError::TypeConflict { .. })));
    let raw = participant.create_serialized_topic(name, Track::TYPE_NAME, true, &TopicQos::default());
    assert!(matches!(raw, Err(CreateEntityError::TypeConflict { .. })));
}

/// A reader of views on a topic of its own participant.
fn views(participant: &DomainParticipant, name: &str, filter: Option<&str>) -> DataReader<SharedView> {
    let all = topic(participant, name);
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = match filter {
        None => subscriber.create_datareader(&all.views(), &reliable().1),
        Some(filter) => {
            let some = participant.create_contentfilteredtopic("Some", &all, filter, &[""; 0]).unwrap();
            subscriber.create_datareader(&some.views(), &reliable().1)
        }
    };
    let reader = reader.unwrap();
    eventually("the match", || !reader.matched_publications().is_empty());
    reader
}

#[test]
fn samples_stay_serialized_and_are_looked_into() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let (another, third) = (participant(f.subscribing.domain_id()), participant(f.subscribing.domain_id()));
    let (reader, few) = (views(&another, &f.topic, None), views(&third, &f.topic, Some("speed >= 4")));
    eventually("the matches at the writer", || f.writer.matched_subscriptions().len() == 3);
    for n in 0..6 {
        f.writer.write(&Track { octets: vec![7; 9], ..track(n % 2, n) }).unwrap();
    }
    eventually("six samples", || reader.read(100).unwrap().len() == 6);
    let fast = reader.create_querycondition(StateMasks::ANY, "speed > %0 ORDER BY speed", &["3"]).unwrap();
    let samples = reader.read_w_condition(10, &fast).unwrap();
    let speeds =
        samples.iter().map(|sample| sample.data.as_ref().unwrap().view().read::<i32>("speed").unwrap());
    assert_eq!(speeds.collect::<Vec<_>>(), [Some(4), Some(5)]);
    let mut filtered = Vec::new();
    eventually("what passes", || {
        filtered.extend(few.take(10).unwrap().into_iter().filter_map(|sample| sample.data));
        filtered.len() == 2
    });
    assert_eq!(filtered[1].view().read::<i32>("speed").unwrap(), Some(5));
    // Of the same octets, without a copy: the sample is shared with the reader's cache.
    let (once, twice) = (&reader.read(1).unwrap()[0], &reader.read(1).unwrap()[0]);
    let (once, twice) = (once.data.as_ref().unwrap(), twice.data.as_ref().unwrap());
    assert_eq!(once.payload().as_ptr(), twice.payload().as_ptr());
    assert_eq!(once.view().read::<&[u8]>("octets").unwrap(), Some(&[7; 9][..]));
    assert_eq!(once.to_data().unwrap().get("id").unwrap(), Some(&Value::Int32(0)));
    let instance = reader.lookup_instance(twice);
    assert_eq!(reader.key_value(instance).unwrap().view().read::<i32>("id").unwrap(), Some(0));
    assert_eq!(reader.take_instance(10, instance, StateMasks::ANY).unwrap().len(), 3);
    f.writer.dispose(&track(1, 0)).unwrap();
    let mut key = None;
    eventually("the end of an instance", || {
        let samples = reader.take(10).unwrap().into_iter();
        key = key.take().or(samples.filter(|sample| !sample.info.valid_data).find_map(|sample| sample.key));
        key.is_some()
    });
    let key = key.unwrap();
    assert_eq!(key.view().read::<i32>("id").unwrap(), Some(1));
    assert_eq!(key.view().read::<&str>("note").unwrap(), Some(""), "no part of the key");
    assert_eq!(reader.undecodable_count(), 0);
}

#[test]
fn a_view_is_written_again() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let another = participant(f.subscribing.domain_id());
    let reader = views(&another, &f.topic, None);
    let onwards = format!("{}Onwards", f.topic);
    let publisher = another.create_publisher(&PublisherQos::default()).unwrap();
    let writer = publisher.create_datawriter(&topic(&another, &onwards).views(), &writer_qos).unwrap();
    let third = participant(f.subscribing.domain_id());
    let subscriber = third.create_subscriber(&SubscriberQos::default()).unwrap();
    let typed = third.create_topic::<Track>(&onwards, &TopicQos::default()).unwrap();
    let typed = subscriber.create_datareader(&typed, &reader_qos).unwrap();
    eventually("the matches", || {
        f.writer.matched_subscriptions().len() == 2
            && !writer.matched_subscriptions().is_empty()
            && !typed.matched_publications().is_empty()
    });
    f.writer.write(&track(5, 6)).unwrap();
    let mut seen = Vec::new();
    eventually("the sample", || {
        for view in reader.take(10).unwrap().into_iter().filter_map(|sample| sample.data) {
            writer.write(&view).unwrap();
        }
        seen.extend(typed.take(10).unwrap().into_iter().filter_map(|sample| sample.data));
        !seen.is_empty()
    });
    assert_eq!(seen, [track(5, 6)]);
}
