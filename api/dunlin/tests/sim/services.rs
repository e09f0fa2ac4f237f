//! What services stand on besides octets and identities: acknowledgment when something is stored, history for one reader, marks, and
//! durability that somebody provides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin::qos::{
    DataReaderQos, DataWriterQos, DurabilityKind, PublisherQos, ServiceMark, SubscriberQos, TopicQos,
};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{
    Against, Config, DataReader, DataWriter, DdsType, DomainParticipant, Note, ReadError, ReturnCode,
    SampleIdentity, WaitForError, WriteError, WriteParams,
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

fn writer_in(participant: &DomainParticipant, qos: &DataWriterQos) -> Result<DataWriter<Track>> {
    let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, qos)?)
}

fn reader_in(participant: &DomainParticipant, qos: &DataReaderQos) -> Result<DataReader<Track>> {
    let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
    Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos)?)
}

fn writer_on(node: &Node, qos: &DataWriterQos) -> Result<DataWriter<Track>> {
    node.run(|| writer_in(&DomainParticipant::new(0)?, qos))
}

fn reader_on(node: &Node, qos: &DataReaderQos) -> Result<DataReader<Track>> {
    node.run(|| reader_in(&DomainParticipant::new(0)?, qos))
}

/// Identities of what can be read, in the order in which it was written.
fn seen(reader: &DataReader<Track>) -> Vec<SampleIdentity> {
    let read = reader.read(100).expect("enabled");
    let mut seen: Vec<_> = read.iter().map(|sample| sample.info.identity()).collect();
    seen.sort_unstable();
    seen
}

/// Whether the writer knows within a while that everything was acknowledged.
fn is_acknowledged(sim: &mut Sim, node: &Node, writer: &DataWriter<Track>) -> Result<bool> {
    let (waiting, done) = (writer.clone(), Arc::new(AtomicBool::new(false)));
    let told = Arc::clone(&done);
    node.spawn(|_| async move {
        waiting.wait_for_acknowledgments_async().await?;
        told.store(true, Ordering::SeqCst);
        Ok(())
    });
    sim.run_for(secs(10))?;
    Ok(done.load(Ordering::SeqCst))
}

#[test]
fn samples_are_acknowledged_when_they_are_committed_whatever_is_lost() {
    bad_network().seeds(0..6, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let writer = writer_on(&a, &writer_qos())?;
        let reader = reader_on(&b, &reader_qos().acknowledge_on_commit())?;
        sim.run_until(|| matched(&writer, &reader), secs(60))?;
        assert!(is_acknowledged(sim, &a, &writer)?, "nothing was written");
        for n in 0..5 {
            a.run(|| writer.write(&track(n, 0)))?;
        }
        sim.run_until(|| reader.stats().delivered == 5, secs(60))?;
        let stored = seen(&reader);
        assert!(!is_acknowledged(sim, &a, &writer)?, "nothing is stored");
        b.run(|| reader.commit(stored[3]))?;
        assert!(!is_acknowledged(sim, &a, &writer)?, "one is not");
        b.run(|| reader.commit(stored[4]))?;
        assert!(is_acknowledged(sim, &a, &writer)?, "all are");
        // The end of an instance that is seen in no sample of its own is acknowledged with the sample that shows it.
        a.run(|| writer.write(&track(1, 1)))?;
        a.run(|| writer.dispose(&track(1, 0)))?;
        sim.run_until(|| reader.stats().delivered == 7, secs(60))?;
        assert_eq!(seen(&reader).len(), 6);
        assert!(!is_acknowledged(sim, &a, &writer)?);
        b.run(|| reader.commit(seen(&reader)[5]))?;
        assert!(is_acknowledged(sim, &a, &writer)?);
        // One that has a sample of its own is to be stored itself.
        a.run(|| writer.dispose(&track(2, 0)))?;
        sim.run_until(|| reader.stats().delivered == 8, secs(60))?;
        assert_eq!(seen(&reader).len(), 7);
        assert!(!is_acknowledged(sim, &a, &writer)?);
        b.run(|| reader.commit(seen(&reader)[6]))?;
        assert!(is_acknowledged(sim, &a, &writer)?);
        Ok(())
    });
}

#[test]
fn within_a_process_samples_are_acknowledged_when_they_are_committed() {
    let mut sim = Sim::new(3);
    let a = sim.node("a");
    let (writer, reader) = a
        .run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let small = small_writer_qos(2);
            Ok((
                writer_in(&participant, &small)?,
                reader_in(&participant, &volatile().acknowledge_on_commit())?,
            ))
        })
        .unwrap();
    sim.run_until(|| matched(&writer, &reader), secs(30)).unwrap();
    a.run(|| writer.write(&track(1, 1))).unwrap();
    a.run(|| writer.write(&track(2, 2))).unwrap();
    let full = a.run(|| writer.write(&track(3, 3)));
    assert!(matches!(full, Err(WriteError::InSimulation | WriteError::InTask)), "{full:?}");
    let stored = seen(&reader);
    assert_eq!(stored.len(), 2);
    a.run(|| reader.commit(stored[0])).unwrap();
    sim.run_for(secs(1)).unwrap();
    a.run(|| writer.write(&track(3, 3))).unwrap();
    let plain = a.run(|| reader_in(&writer.publisher().participant(), &reader_qos())).unwrap();
    let refused = a.run(|| plain.commit(stored[0])).unwrap_err();
    assert_eq!(
        (&refused, refused.return_code()),
        (&ReadError::AcknowledgesByItself, ReturnCode::PreconditionNotMet)
    );
}

#[test]
fn history_for_one_reader_reaches_that_one_alone_and_holds_up_no_other() {
    bad_network().seeds(20..26, |sim| {
        let (a, b, c, d) = (sim.node("a"), sim.node("b"), sim.node("c"), sim.node("d"));
        let writer = writer_on(&a, &writer_qos())?;
        let readers = [reader_on(&b, &reader_qos())?, reader_on(&c, &reader_qos())?];
        sim.run_until(|| writer.matched_subscriptions().len() == 2, secs(60))?;
        let wanted = WriteParams { only_for: readers[0].guid(), ..WriteParams::default() };
        for n in 0..20 {
            a.run(|| writer.write_with(&track(n, 0), &wanted))?;
        }
        a.run(|| writer.write(&track(100, 0)))?;
        sim.run_until(|| seen(&readers[0]).len() >= 21 && !seen(&readers[1]).is_empty(), secs(60))?;
        assert!(is_acknowledged(sim, &a, &writer)?);
        // Nor does one get it that comes later.
        let late = reader_on(&d, &reader_qos())?;
        sim.run_until(|| !seen(&late).is_empty(), secs(60))?;
        assert!(is_acknowledged(sim, &a, &writer)?);
        for (name, reader) in [("one that was there", &readers[1]), ("one that came late", &late)] {
            let (stats, read) = (reader.stats(), reader.read(100)?);
            // One that was lost meanwhile is given the history again.
            let strays = read.iter().filter(|sample| sample.data.as_ref().is_some_and(|it| it.id != 100));
            assert_eq!((strays.count(), stats.lost), (0, 0), "{name}: {stats:?}");
            assert_eq!(stats.directed_elsewhere, 0, "they get a GAP, and no sample to drop");
        }
        Ok(())
    });
}

fn volatile() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all()
}

fn mark() -> ServiceMark {
    ServiceMark { kind: "durability".into(), id: "d1".into(), path: vec!["r1".into()] }
}

#[test]
fn marks_of_services_are_seen_by_others() {
    let mut sim = Sim::new(5);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let one = a.run(|| DomainParticipant::builder(0).qos(participant_qos()).build()).unwrap();
    let writer = a.run(|| writer_in(&one, &writer_qos().service(&mark()))).unwrap();
    let reader = reader_on(&b, &reader_qos()).unwrap();
    sim.run_until(|| matched(&writer, &reader), secs(30)).unwrap();
    let data = reader.matched_publication_data(writer.instance_handle()).unwrap();
    assert_eq!(data.qos.property.service(), Some(mark()));
    let other = reader.subscriber().participant();
    let data = other.discovered_participant_data(one.instance_handle()).unwrap();
    assert_eq!(data.property.service(), Some(mark()));
}

fn participant_qos() -> dunlin::qos::DomainParticipantQos {
    dunlin::qos::DomainParticipantQos::default().service(&mark())
}

#[test]
fn lasting_data_needs_a_service_that_is_there() {
    let mut sim = Sim::new(6);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let participant = b.run(|| DomainParticipant::new(0)).unwrap();
    let lasting = writer_qos().durability(DurabilityKind::Persistent);
    let refused = b.run(|| writer_in(&participant, &lasting)).unwrap_err();
    assert!(refused.to_string().contains("durability service"), "{refused}");
    assert!(!participant.has_durability_service());
    let service = a.run(|| DomainParticipant::builder(0).qos(participant_qos()).build()).unwrap();
    let stores = a
        .run(|| reader_in(&service, &reader_qos().durability(DurabilityKind::Persistent)))
        .expect("the service itself needs no other");
    sim.run_until(|| participant.has_durability_service(), secs(30)).unwrap();
    let told = b.run(|| participant.wait_for_durability_service(secs(1)));
    assert!(matches!(told, Ok(()) | Err(WaitForError::InSimulation)), "{told:?}");
    let writer = b.run(|| writer_in(&participant, &lasting)).unwrap();
    sim.run_until(|| matched(&writer, &stores), secs(30)).unwrap();
    assert!(participant.explain(&writer, Against::Topic).pairs.iter().all(|pair| pair.notes.is_empty()));
    // It leaves: what is written now lasts as long as its writer, and whoever asks is told.
    drop((stores, service));
    sim.run_until(|| !participant.has_durability_service(), secs(60)).unwrap();
    let slower = writer.qos().deadline(secs(9));
    b.run(|| writer.set_qos(&slower)).expect("it has that DURABILITY already");
    assert!(b.run(|| writer_in(&participant, &lasting)).is_err());
    let c = sim.node("c");
    let mut config = Config::default();
    config.set("durability.without_service", "local").unwrap();
    let local = c
        .run(|| {
            let participant = DomainParticipant::builder(0).config(config).build()?;
            reader_in(&participant, &reader_qos().durability(DurabilityKind::Persistent))
        })
        .unwrap();
    sim.run_until(|| matched(&writer, &local), secs(30)).unwrap();
    let pairs = participant.explain(&writer, Against::Topic).pairs;
    assert!(pairs.iter().any(|pair| matches!(pair.notes[..], [Note::DurabilityIsLocal { .. }])), "{pairs:?}");
}
