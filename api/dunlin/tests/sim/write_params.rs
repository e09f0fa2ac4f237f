//! What services say of the samples that they write: original and related identity, source time, the only reader; and readers that
//! drop what they have had.

use dunlin::qos::{
    DataReaderQos, DataWriterQos, DestinationOrderKind, DurabilityKind, PublisherQos, SubscriberQos, TopicQos,
};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{
    Config, DataReader, DataWriter, DdsType, DomainParticipant, Guid, InstanceState, ReturnCode, Sample,
    SampleIdentity, SequenceNumber, WallTime, WriteError, WriteParams,
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

/// Of a writer that does not exist any more.
fn origin(number: i64) -> SampleIdentity {
    let mut octets = [7; 16];
    octets[15] = 0x02;
    SampleIdentity { writer: Guid::from_bytes(octets), sequence_number: SequenceNumber(number) }
}

fn original(number: i64) -> WriteParams {
    WriteParams { original: Some(origin(number)), ..WriteParams::default() }
}

fn of_topic(qos: &DataWriterQos) -> Result<DataWriter<Track>> {
    let participant = DomainParticipant::builder(0).config(transient()).build()?;
    let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, qos)?)
}

fn on_topic(qos: &DataReaderQos) -> Result<DataReader<Track>> {
    let participant = DomainParticipant::builder(0).config(transient()).build()?;
    let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
    Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos)?)
}

/// TRANSIENT is allowed.
fn transient() -> Config {
    let mut config = Config::default();
    config.set("durability.without_service", "local").expect("a known key");
    config
}

fn pair(sim: &mut Sim, reader_qos: &DataReaderQos) -> Result<(Node, DataWriter<Track>, DataReader<Track>)> {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = a.run(|| of_topic(&writer_qos()))?;
    let reader = b.run(|| on_topic(reader_qos))?;
    sim.run_until(|| matched(&writer, &reader), secs(30))?;
    Ok((a, writer, reader))
}

fn take(sim: &mut Sim, reader: &DataReader<Track>, count: usize) -> Result<Vec<Sample<Track>>> {
    let mut taken = Vec::new();
    sim.run_until(
        || {
            taken.extend(reader.take(100).expect("enabled"));
            taken.len() >= count
        },
        secs(30),
    )?;
    sim.run_for(secs(1))?;
    taken.extend(reader.take(100)?);
    assert_eq!(taken.len(), count);
    Ok(taken)
}

#[test]
fn write_params_carry_timestamp_original_and_related_identity() {
    let mut sim = Sim::new(1);
    let (a, writer, reader) = pair(&mut sim, &reader_qos()).unwrap();
    let at = WallTime(1_000_000_000_000_000);
    let said = WriteParams { source_timestamp: Some(at), related: Some(origin(41)), ..original(17) };
    let written = a.run(|| writer.write_with(&track(1, 5), &said)).unwrap();
    let plain = a.run(|| writer.write_with(&track(1, 6), &WriteParams::default())).unwrap();
    let taken = take(&mut sim, &reader, 2).unwrap();
    let (first, second) = (&taken[0].info, &taken[1].info);
    assert_eq!((first.original_sample, first.related_sample), (Some(origin(17)), Some(origin(41))));
    assert_eq!((first.source_timestamp, first.identity(), first.origin()), (at, written, origin(17)));
    assert_eq!((second.original_sample, second.related_sample), (None, None));
    assert_eq!((second.identity(), second.origin()), (plain, plain));
    assert!(second.source_timestamp > at);
}

#[test]
fn the_end_of_an_instance_keeps_its_original_identity() {
    let mut sim = Sim::new(2);
    let (a, writer, reader) = pair(&mut sim, &reader_qos()).unwrap();
    a.run(|| writer.write_with(&track(1, 1), &original(1))).unwrap();
    a.run(|| writer.write_with(&track(2, 2), &original(2))).unwrap();
    take(&mut sim, &reader, 2).unwrap();
    let disposed = a.run(|| writer.dispose_with(&track(1, 0), &original(3))).unwrap();
    let unregistered = a.run(|| writer.unregister_instance_with(&track(2, 0), &original(4))).unwrap();
    let ended = take(&mut sim, &reader, 2).unwrap();
    assert!(ended.iter().all(|sample| sample.info.instance_state == InstanceState::NotAliveDisposed));
    assert_eq!([ended[0].info.origin(), ended[1].info.origin()], [origin(3), origin(4)]);
    assert_eq!([ended[0].info.identity(), ended[1].info.identity()], [disposed, unregistered]);
}

#[test]
fn invalid_write_params_are_refused_with_a_reason() {
    let mut sim = Sim::new(3);
    let (a, writer, reader) = pair(&mut sim, &reader_qos()).unwrap();
    let refused = |params: WriteParams| a.run(|| writer.write_with(&track(1, 1), &params)).unwrap_err();
    let nobody = SampleIdentity { writer: Guid::default(), ..origin(1) };
    for (params, wanted) in [
        (original(0), WriteError::BadIdentity("original")),
        (WriteParams { original: Some(nobody), ..original(1) }, WriteError::BadIdentity("original")),
        (WriteParams { related: Some(origin(-1)), ..original(1) }, WriteError::BadIdentity("related")),
        (WriteParams { only_for: Some(origin(1).writer), ..original(1) }, WriteError::NoReader),
        (WriteParams { source_timestamp: Some(WallTime(-1)), ..original(1) }, WriteError::BadTimestamp),
    ] {
        let error = refused(params);
        assert_eq!((&error, error.return_code()), (&wanted, ReturnCode::BadParameter));
    }
    a.run(|| writer.write(&track(1, 2))).unwrap();
    let early = WriteParams { source_timestamp: Some(WallTime(5_000_000_000)), ..WriteParams::default() };
    assert_eq!(refused(early), WriteError::BadTimestamp, "its own samples follow each other");
    // Those of others do not.
    a.run(|| writer.write_with(&track(1, 3), &WriteParams { original: Some(origin(1)), ..early })).unwrap();
    let taken = take(&mut sim, &reader, 2).unwrap();
    assert_eq!(taken[1].info.source_timestamp, WallTime(5_000_000_000));
}

/// A sample by two ways, with the history of a service behind the live samples.
#[test]
fn durable_readers_drop_duplicates_by_original_identity() {
    bad_network().seeds(10..14, |sim| {
        let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
        let by_source = DestinationOrderKind::BySourceTimestamp;
        let lasting = writer_qos().durability(DurabilityKind::Transient).destination_order(by_source);
        let live = a.run(|| of_topic(&lasting))?;
        let service = b.run(|| of_topic(&lasting))?;
        let transient = reader_qos().durability(DurabilityKind::Transient);
        let removing = c.run(|| on_topic(&transient.clone().destination_order(by_source)))?;
        let keeping = c.run(|| on_topic(&transient.remove_duplicates(false)))?;
        sim.run_until(|| live.matched_subscriptions().len() == 2, secs(60))?;
        sim.run_until(|| service.matched_subscriptions().len() == 2, secs(60))?;
        let mut passed_on = Vec::new();
        for n in 0..10 {
            let identity = a.run(|| live.write_with(&track(n % 3, i64::from(n)), &WriteParams::default()))?;
            passed_on.push((n, WriteParams { original: Some(identity), ..WriteParams::default() }));
        }
        // And what the writer had written before the reader came.
        for n in 10..13 {
            passed_on.push((n, original(i64::from(n))));
        }
        for (n, params) in &passed_on {
            b.run(|| service.write_with(&track(n % 3, i64::from(*n)), params))?;
        }
        let seen = |reader: &DataReader<Track>| -> Vec<i64> {
            let taken = reader.read(100).expect("enabled");
            let mut numbers: Vec<i64> =
                taken.iter().filter_map(|s| Some(s.data.as_ref()?.position)).collect();
            numbers.sort_unstable();
            numbers
        };
        sim.run_until(|| seen(&removing).len() >= 13 && seen(&keeping).len() >= 23, secs(60))?;
        let ended = a.run(|| live.dispose_with(&track(1, 0), &WriteParams::default()))?;
        b.run(|| service.dispose_with(&track(1, 0), &WriteParams { original: Some(ended), ..original(1) }))?;
        sim.run_for(secs(10))?;
        assert!(seen(&removing).into_iter().eq(0..13), "each once");
        assert_eq!((removing.stats().copies, keeping.stats().copies), (11, 0));
        assert_eq!(seen(&keeping).len(), 23, "on request everything");
        Ok(())
    });
}

/// What two services offer lives until both are gone, whichever copy came first; who unregisters it by both ways has ended it.
#[test]
fn an_instance_stays_alive_while_another_path_offers_it() {
    let mut sim = Sim::new(6);
    let nodes = [sim.node("a"), sim.node("b")];
    let c = sim.node("c");
    let lasting = writer_qos().durability(DurabilityKind::Transient);
    let writers = nodes.each_ref().map(|node| node.run(|| of_topic(&lasting)).unwrap());
    let reader = c.run(|| on_topic(&reader_qos().durability(DurabilityKind::Transient))).unwrap();
    let met = |writer: &DataWriter<Track>| writer.matched_subscriptions().len() == 1;
    sim.run_until(|| reader.matched_publications().len() == 2 && writers.iter().all(met), secs(30)).unwrap();
    for (n, id) in [(1, 1), (2, 2)] {
        for (node, writer) in nodes.iter().zip(&writers) {
            node.run(|| writer.write_with(&track(id, 0), &original(n))).unwrap();
            sim.run_for(millis(100)).unwrap();
        }
    }
    assert_eq!(reader.stats().copies, 2);
    let state = |reader: &DataReader<Track>, id: u32| {
        let read = reader.read(100).expect("enabled");
        let of_it = read.iter().find(|sample| sample.data.as_ref().is_some_and(|it| it.id == id));
        of_it.map(|sample| sample.info.instance_state)
    };
    // The second copy of the end is the one of who was heard first.
    for (node, writer) in nodes.iter().zip(&writers).rev() {
        node.run(|| writer.unregister_instance_with(&track(2, 0), &original(3))).unwrap();
        sim.run_for(millis(100)).unwrap();
    }
    assert_eq!(state(&reader, 2), Some(InstanceState::NotAliveDisposed));
    nodes[0].crash();
    sim.run_until(|| reader.matched_publications().len() == 1, secs(60)).unwrap();
    assert_eq!(state(&reader, 1), Some(InstanceState::Alive));
    nodes[1].crash();
    sim.run_until(|| reader.matched_publications().is_empty(), secs(60)).unwrap();
    assert_eq!(state(&reader, 1), Some(InstanceState::NotAliveNoWriters));
}

#[test]
fn a_sample_for_one_reader_is_shown_to_no_other() {
    let mut sim = Sim::new(4);
    let (a, writer, reader) = pair(&mut sim, &reader_qos()).unwrap();
    let other = sim.node("c").run(|| on_topic(&reader_qos())).unwrap();
    sim.run_until(|| writer.matched_subscriptions().len() == 2, secs(30)).unwrap();
    let only_for = WriteParams { only_for: reader.guid(), ..WriteParams::default() };
    a.run(|| writer.write_with(&track(1, 1), &only_for)).unwrap();
    a.run(|| writer.write(&track(1, 2))).unwrap();
    let positions = |taken: Vec<Sample<Track>>| {
        taken.iter().map(|s| s.data.as_ref().unwrap().position).collect::<Vec<_>>()
    };
    assert_eq!(positions(take(&mut sim, &reader, 2).unwrap()), [1, 2]);
    assert_eq!(positions(take(&mut sim, &other, 1).unwrap()), [2]);
    assert_eq!(other.stats().lost, 0);
}
