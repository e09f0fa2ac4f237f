//! Samples that stay serialized, of a type known at run time, over a network that loses.

use dunlin::qos::*;
use dunlin::sim::{Result, Sim};
use dunlin::{
    DataReader, DataWriter, DdsType, DomainParticipant, DynamicType, InstanceState, SharedView, TopicType,
};

use crate::support::*;

/// What the writer has.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "Scan")]
struct Scan {
    #[dds(key)]
    id: u32,
    ranges: Vec<f32>,
    more: String,
}

/// What the reader has.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "Scan")]
struct Older {
    #[dds(key)]
    id: u32,
    ranges: Vec<f32>,
}

fn type_of<T: DdsType>() -> DynamicType {
    let (graph, index) = dunlin::xtypes::from_description(dunlin::cdr::description::<T>());
    DynamicType::new(graph, index).expect("a type that values can be made of")
}

type Ends = (DomainParticipant, DomainParticipant, DataWriter<Scan>, DataReader<SharedView>);

fn ends(sim: &mut Sim, id: DataRepresentationId) -> Result<Ends> {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (writing, writer) = a.run(|| -> Result<_> {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Scan>("Scans", &TopicQos::default())?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        Ok((participant, publisher.create_datawriter(&topic, &writer_qos().representation(&[id]))?))
    })?;
    let (reading, reader) = b.run(|| -> Result<_> {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_dynamic_topic("Scans", &type_of::<Older>(), &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let both = [DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2];
        let qos = reader_qos().representation(&both);
        Ok((participant, subscriber.create_datareader(&topic.views(), &qos)?))
    })?;
    Ok((writing, reading, writer, reader))
}

/// Samples until `done` says so.
fn taken(
    sim: &mut Sim,
    reader: &DataReader<SharedView>,
    done: impl Fn(&[dunlin::Sample<SharedView>]) -> bool,
) -> Result<Vec<dunlin::Sample<SharedView>>> {
    let mut taken = Vec::new();
    let ready = || {
        taken.extend(reader.take(9).expect("no condition"));
        done(&taken)
    };
    sim.run_until(ready, secs(60))?;
    Ok(taken)
}

#[test]
fn views_of_another_version_arrive_in_fragments_and_end_with_their_key() {
    assert!(SharedView::has_key(&type_of::<Older>()));
    for id in [DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2] {
        bad_network().seeds(0..3, |sim| {
            let (_one, _other, writer, reader) = ends(sim, id)?;
            let node = sim.node("more");
            // More than fits a datagram.
            let ranges: Vec<f32> = (0..30_000_u16).map(f32::from).collect();
            let scan = Scan { id: 4, ranges, more: "unknown to the reader".into() };
            node.run(|| writer.write(&scan))?;
            let samples = taken(sim, &reader, |samples| !samples.is_empty())?;
            let view = samples[0].data.as_ref().expect("a sample");
            let view = view.view();
            assert_eq!(view.read::<u32>("id")?, Some(4));
            assert!(view.get("ranges")?.expect("there").numbers::<f32>()?.eq(scan.ranges.iter().copied()));
            assert!(view.get("more").is_err(), "the reader's type does not have it");
            node.run(|| writer.dispose(&scan))?;
            let samples = taken(sim, &reader, |samples| !samples.is_empty())?;
            assert_eq!(samples[0].info.instance_state, InstanceState::NotAliveDisposed);
            assert_eq!(samples[0].key.as_ref().expect("the key").view().read::<u32>("id")?, Some(4));
            Ok(())
        });
    }
}
