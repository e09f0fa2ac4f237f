//! Samples as octets: keys, identities and instance states survive a service that knows the type at run time, or its name alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dunlin::qos::*;
use dunlin::sim::{Node, Result, Sim};
use dunlin::{
    AnyDataReader, AnyDataWriter, DataReader, DataWriter, DdsType, DomainParticipant, DynamicType,
    InstanceState, Sample, SerializedData, StateMasks, StatusMask, Topic, TopicType, WriteError, WriteParams,
};

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

fn type_of<T: DdsType>() -> DynamicType {
    let (graph, index) = dunlin::xtypes::from_description(dunlin::cdr::description::<T>());
    DynamicType::new(graph, index).expect("a type that values can be made of")
}

const BOTH: [DataRepresentationId; 2] = [DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2];

fn writer_of<T: TopicType>(
    participant: &DomainParticipant,
    topic: &Topic<T>,
    id: DataRepresentationId,
) -> Result<DataWriter<T>> {
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    Ok(publisher.create_datawriter(topic, &writer_qos().representation(&[id]))?)
}

fn reader_of<T: TopicType>(participant: &DomainParticipant, topic: &Topic<T>) -> Result<DataReader<T>> {
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    Ok(subscriber.create_datareader(topic, &reader_qos().representation(&BOTH))?)
}

fn typed_writer(node: &Node, topic: &str, id: DataRepresentationId) -> Result<DataWriter<Track>> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        writer_of(&participant, &participant.create_topic::<Track>(topic, &TopicQos::default())?, id)
    })
}

fn typed_reader(node: &Node, topic: &str) -> Result<DataReader<Track>> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        reader_of(&participant, &participant.create_topic::<Track>(topic, &TopicQos::default())?)
    })
}

fn take<T: TopicType>(sim: &mut Sim, reader: &DataReader<T>, count: usize) -> Result<Vec<Sample<T>>> {
    let mut taken = Vec::new();
    sim.run_until(
        || {
            taken.extend(reader.take(100).expect("enabled"));
            taken.len() >= count
        },
        secs(60),
    )?;
    assert_eq!(taken.len(), count);
    taken.sort_by_key(|sample| sample.info.sequence_number);
    Ok(taken)
}

/// What a router of one route does, on octets alone.
fn pass_on(from: &DataReader<SerializedData>, to: &DataWriter<SerializedData>) -> Result {
    let mut arrived = from.take(100)?;
    arrived.sort_by_key(|sample| sample.info.sequence_number);
    for sample in arrived {
        let params = WriteParams {
            source_timestamp: Some(sample.info.source_timestamp),
            original: Some(sample.info.origin()),
            ..WriteParams::default()
        };
        let instance = sample.info.instance_handle;
        match (sample.data, sample.key) {
            (Some(data), _) => to.write_with(&data.of_instance(instance), &params)?,
            (None, Some(key)) => to.dispose_with(&key.of_instance(instance), &params)?,
            (None, None) => return Err("an end without its key".into()),
        };
    }
    Ok(())
}

fn routed(sim: &mut Sim, first: DataRepresentationId, second: DataRepresentationId) -> Result {
    let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
    let source = typed_writer(&a, "In", first)?;
    let (from, to) = b.run(|| -> Result<_> {
        let participant = DomainParticipant::new(0)?;
        let ty = type_of::<Track>();
        let input = participant.create_dynamic_topic("In", &ty, &TopicQos::default())?;
        let output = participant.create_dynamic_topic("Out", &ty, &TopicQos::default())?;
        Ok((
            reader_of(&participant, &input.serialized())?,
            writer_of(&participant, &output.serialized(), second)?,
        ))
    })?;
    let sink = typed_reader(&c, "Out")?;
    sim.run_until(|| matched(&source, &from) && matched(&to, &sink), secs(60))?;
    let mut written = Vec::new();
    for n in 0..6 {
        let sample = track(n % 3, i64::from(n) * 1_000_000_007);
        let identity = a.run(|| source.write_with(&sample, &WriteParams::default()))?;
        written.push((sample, identity, a.run(|| source.lookup_instance(&track(n % 3, 0)))));
    }
    sim.run_until(|| from.read(100).expect("enabled").len() == 6, secs(60))?;
    b.run(|| pass_on(&from, &to))?;
    let arrived = take(sim, &sink, 6)?;
    for (sample, (sent, identity, instance)) in arrived.iter().zip(&written) {
        assert_eq!(sample.data.as_ref(), Some(sent));
        assert_eq!((sample.info.original_sample, sample.info.instance_handle), (Some(*identity), *instance));
    }
    let ended = a.run(|| source.dispose_with(&track(1, 0), &WriteParams::default()))?;
    sim.run_until(|| !from.read(1).expect("enabled").is_empty(), secs(60))?;
    b.run(|| pass_on(&from, &to))?;
    let end = take(sim, &sink, 1)?.remove(0);
    assert_eq!((end.info.origin(), end.info.instance_state), (ended, InstanceState::NotAliveDisposed));
    assert_eq!(end.key, Some(track(1, 0)));
    Ok(())
}

#[test]
fn a_service_passes_keys_and_identities_on_in_every_encapsulation() {
    for first in BOTH {
        for second in BOTH {
            bad_network().seeds(0..3, |sim| routed(sim, first, second));
        }
    }
}

/// (1, 2^32) with the most significant octet first.
fn big_endian(id: DataRepresentationId) -> Vec<u8> {
    let mut octets = match id {
        DataRepresentationId::Xcdr1 => vec![0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
        _ => vec![0, 8, 0, 0, 0, 0, 0, 12, 0, 0, 0, 1],
    };
    octets.extend([0, 0, 0, 1, 0, 0, 0, 0]);
    octets
}

#[test]
fn octets_of_either_byte_order_are_sent_as_they_are() {
    for id in BOTH {
        let mut sim = Sim::new(7);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let typed = typed_writer(&a, "Tracks", id).unwrap();
        let writer = AnyDataWriter::from(&typed);
        let (reader, octets) = (typed_reader(&b, "Tracks").unwrap(), typed_reader(&b, "Tracks").unwrap());
        let octets = AnyDataReader::from(&octets);
        sim.run_until(|| writer.matched_subscriptions().len() == 2, secs(30)).unwrap();
        let sample = SerializedData::new(big_endian(id));
        let registered = a.run(|| writer.register_instance(&sample)).unwrap();
        a.run(|| writer.write(&sample)).unwrap();
        assert_eq!(registered, typed.lookup_instance(&track(1, 0)));
        assert_eq!(take(&mut sim, &reader, 1).unwrap()[0].data, Some(track(1, 1 << 32)));
        let taken = take(&mut sim, &octets, 1).unwrap().remove(0);
        assert_eq!(taken.data.unwrap().payload()[..], big_endian(id)[..]);
        assert_eq!(octets.lookup_instance(&sample), registered);
        // The end of the instance needs the key alone, which the writer has.
        a.run(|| writer.dispose_handle(registered)).unwrap();
        assert_eq!(take(&mut sim, &reader, 1).unwrap()[0].key, Some(track(1, 0)));
        assert!(octets.key_value(registered).unwrap().is_key());
    }
}

#[test]
fn octets_that_are_not_as_offered_are_converted_or_refused() {
    let mut sim = Sim::new(8);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let of_rust = AnyDataWriter::from(&typed_writer(&a, "Tracks", BOTH[1]).unwrap());
    let error = a.run(|| of_rust.write(&SerializedData::new(big_endian(BOTH[0])))).unwrap_err();
    assert!(matches!(error, WriteError::Serialize(_)) && error.to_string().contains("offers"), "{error}");
    let reader = typed_reader(&b, "Tracks").unwrap();
    let dynamic = a.run(|| -> Result<_> {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_dynamic_topic("Tracks", &type_of::<Track>(), &TopicQos::default())?;
        writer_of(&participant, &topic.serialized(), BOTH[1])
    });
    let dynamic = dynamic.unwrap();
    sim.run_until(|| reader.matched_publications().len() == 2, secs(30)).unwrap();
    a.run(|| dynamic.write(&SerializedData::new(big_endian(BOTH[0])))).unwrap();
    assert_eq!(take(&mut sim, &reader, 1).unwrap()[0].data, Some(track(1, 1 << 32)));
    for (bad, octets) in
        [("too short", vec![0, 1]), ("no key", vec![0, 1, 0, 0, 1]), ("XML", vec![0, 4, 0, 0, 1, 1])]
    {
        let refused = a.run(|| dynamic.write(&SerializedData::new(octets)));
        assert!(matches!(refused, Err(WriteError::Serialize(_))), "{bad}");
    }
}

#[test]
fn key_hash_separates_instances_of_a_type_known_by_name_only() {
    let mut sim = Sim::new(9);
    let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
    let opaque = |participant: &DomainParticipant| {
        participant.create_serialized_topic("Tracks", Track::TYPE_NAME, true, &TopicQos::default())
    };
    let writer = a.run(|| {
        let participant = DomainParticipant::new(0)?;
        writer_of(&participant, &opaque(&participant)?, BOTH[0])
    });
    let reader = b.run(|| {
        let participant = DomainParticipant::new(0)?;
        reader_of(&participant, &opaque(&participant)?)
    });
    let (writer, reader) = (writer.unwrap(), reader.unwrap());
    let typed = typed_reader(&c, "Tracks").unwrap();
    sim.run_until(|| writer.matched_subscriptions().len() == 2, secs(30)).unwrap();
    let sample = SerializedData::new(big_endian(BOTH[0]));
    let refused = a.run(|| writer.write(&sample)).unwrap_err();
    assert!(refused.to_string().contains("key hash"), "{refused}");
    let (one, other) = ([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [9; 16]);
    for hash in [one, other] {
        a.run(|| writer.write(&sample.clone().with_key_hash(hash))).unwrap();
    }
    let taken = take(&mut sim, &reader, 2).unwrap();
    let handles: Vec<_> = taken.iter().map(|sample| sample.info.instance_handle).collect();
    assert_ne!(handles[0], handles[1]);
    let seen = take(&mut sim, &typed, 2).unwrap();
    assert_eq!((seen[0].data.as_ref(), seen[0].info.instance_handle), (Some(&track(1, 1 << 32)), handles[0]));
    a.run(|| writer.dispose(&sample.clone().with_key_hash(one))).unwrap();
    let end = take(&mut sim, &reader, 1).unwrap().remove(0);
    assert_eq!(
        (end.info.instance_handle, end.info.instance_state),
        (handles[0], InstanceState::NotAliveDisposed)
    );
    assert_eq!(take(&mut sim, &typed, 1).unwrap()[0].info.instance_handle, handles[0]);
}

#[test]
fn untyped_entities_have_listeners_conditions_and_statuses() {
    let mut sim = Sim::new(10);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = typed_writer(&a, "Tracks", BOTH[0]).unwrap();
    let reader = AnyDataReader::from(&typed_reader(&b, "Tracks").unwrap());
    let told = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&told);
    let listener = move |_: &DataReader<SerializedData>| {
        count.fetch_add(1, Ordering::SeqCst);
    };
    reader.set_listener(listener, StatusMask::DATA_AVAILABLE);
    let unread = reader.create_readcondition(StateMasks::NOT_READ).unwrap();
    let fast = reader.create_querycondition(StateMasks::ANY, "position > %0", &["5"]).unwrap();
    sim.run_until(|| reader.matched_publications().len() == 1, secs(30)).unwrap();
    assert_eq!(reader.subscription_matched_status().current_count, 1);
    for n in 0..10 {
        a.run(|| writer.write(&track(n, i64::from(n)))).unwrap();
    }
    sim.run_until(|| reader.read_states(100, StateMasks::ANY).unwrap().len() == 10, secs(30)).unwrap();
    assert!(told.load(Ordering::SeqCst) > 0 && !unread.condition().trigger_value());
    assert_eq!(reader.take_w_condition(100, &fast).unwrap().len(), 4);
    assert_eq!((reader.is_keyed(), reader.type_name()), (true, Track::TYPE_NAME));
    assert!(reader.typed::<Track>().is_some() && reader.typed::<Reading>().is_none());
}

#[test]
fn octets_are_not_copied_within_a_process() {
    let mut sim = Sim::new(11);
    let a = sim.node("a");
    let (writer, reader) = a
        .run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?.serialized();
            Ok((writer_of(&participant, &topic, BOTH[0])?, reader_of(&participant, &topic)?))
        })
        .unwrap();
    sim.run_until(|| matched(&writer, &reader), secs(30)).unwrap();
    let mut octets = Vec::new();
    let large = Reading { n: 1, note: "x".repeat(5000) };
    dunlin::cdr::to_payload(&large, dunlin::cdr::Representation::Xcdr1, &mut octets).unwrap();
    let sample = SerializedData::new(octets);
    a.run(|| writer.write(&sample)).unwrap();
    let taken = take(&mut sim, &reader, 1).unwrap().remove(0).data.unwrap();
    assert_eq!(taken.payload().as_ptr(), sample.payload().as_ptr());
}
