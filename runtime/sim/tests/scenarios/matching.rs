//! Endpoints match if and only if their QoS is compatible and their partitions meet.

use std::sync::Arc;

use dunlin_core::{Duration, Rng};
use dunlin_engine::{Event, ReaderSlot, ReaderSpec, WriterSlot, WriterSpec};
use dunlin_qos::{
    DataReaderQos, DataWriterQos, DestinationOrderKind, DurabilityKind, LivelinessKind, ReaderRequest,
    ReliabilityKind, WriterOffer, check_compatible, partitions_match,
};
use dunlin_sim::{NodeId, World};

use crate::common::*;

/// One of some values.
fn one_of<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u64) as usize]
}

const DEADLINES: &[Duration] = &[Duration::INFINITE, Duration::from_secs(100), Duration::from_secs(50)];
const LIVELINESS: &[LivelinessKind] =
    &[LivelinessKind::Automatic, LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic];
const PARTITIONS: &[&[&str]] = &[&[], &[], &["a"], &["b", "c"], &["a*"], &["?"], &[""]];
const ORDERS: &[DestinationOrderKind] =
    &[DestinationOrderKind::ByReceptionTimestamp, DestinationOrderKind::BySourceTimestamp];
const DURABILITY: &[DurabilityKind] = &[DurabilityKind::Volatile, DurabilityKind::TransientLocal];
const LEASES: &[Duration] = &[Duration::INFINITE, Duration::from_secs(60), Duration::from_secs(30)];

fn random_writer(rng: &mut Rng) -> WriterSpec {
    let mut qos = DataWriterQos::default()
        .durability(one_of(rng, DURABILITY))
        .deadline(one_of(rng, DEADLINES))
        .destination_order(one_of(rng, ORDERS))
        .liveliness(one_of(rng, LIVELINESS), one_of(rng, LEASES));
    qos.reliability.kind =
        one_of(rng, &[ReliabilityKind::Reliable, ReliabilityKind::Reliable, ReliabilityKind::BestEffort]);
    if rng.chance(1, 6) {
        qos = qos.exclusive();
    }
    let mut spec = writer_spec("Random", qos);
    spec.publisher_qos = spec.publisher_qos.partition(one_of(rng, PARTITIONS).iter().copied());
    spec
}

fn random_reader(rng: &mut Rng) -> ReaderSpec {
    let mut qos = DataReaderQos::default()
        .durability(one_of(rng, DURABILITY))
        .deadline(one_of(rng, DEADLINES))
        .latency_budget(one_of(rng, &[Duration::ZERO, Duration::from_secs(1)]))
        .destination_order(one_of(rng, ORDERS))
        .liveliness(one_of(rng, LIVELINESS), one_of(rng, LEASES));
    qos.reliability.kind =
        one_of(rng, &[ReliabilityKind::BestEffort, ReliabilityKind::BestEffort, ReliabilityKind::Reliable]);
    if rng.chance(1, 6) {
        qos = qos.exclusive();
    }
    let mut spec = reader_spec("Random", qos);
    spec.subscriber_qos = spec.subscriber_qos.partition(one_of(rng, PARTITIONS).iter().copied());
    spec
}

struct Writers(Vec<(WriterSpec, Arc<WriterSlot>, NodeId)>);
struct Readers(Vec<(ReaderSpec, Arc<ReaderSlot>)>);

fn create(world: &mut World, nodes: &[NodeId]) -> (Writers, Readers) {
    let mut rng = Rng::new(world.rng().next_u64());
    let (mut writers, mut readers) = (Writers(vec![]), Readers(vec![]));
    for round in 0..16 {
        let node = nodes[round % nodes.len()];
        // What is inconsistent is refused, and another is drawn.
        let mut create_one = |world: &mut World| {
            let spec = random_writer(&mut rng);
            world.create_writer(node, spec.clone()).is_ok_and(|slot| {
                writers.0.push((spec, slot, node));
                true
            })
        };
        while !create_one(world) {}
        let mut create_one = |world: &mut World| {
            let spec = random_reader(&mut rng);
            world.create_reader(node, spec.clone()).is_ok_and(|slot| {
                readers.0.push((spec, slot));
                true
            })
        };
        while !create_one(world) {}
    }
    (writers, readers)
}

fn random_pairs(seed: u64) {
    let (mut world, nodes) = faulty_world(seed, 3, 200_000);
    let (writers, readers) = create(&mut world, &nodes);
    world.run_for(secs(8));
    let mut told = vec![];
    for node in &nodes {
        told.extend(events(&mut world, *node));
    }
    let (mut matches, mut refusals) = (0, 0);
    for (offer, writer, _) in &writers.0 {
        for (request, reader) in &readers.0 {
            let offered = WriterOffer::new(&offer.qos, &offer.publisher_qos);
            let requested = ReaderRequest::new(&request.qos, &request.subscriber_qos);
            let against = check_compatible(&offered, &requested);
            let meet = partitions_match(
                &offer.publisher_qos.partition.names,
                &request.subscriber_qos.partition.names,
            );
            let expected = meet && against.is_empty();
            let by_writer = writer.matched_readers().iter().any(|known| known.guid == reader.guid());
            let by_reader = reader.matched_writers().iter().any(|known| known.guid == writer.guid());
            assert_eq!((by_writer, by_reader), (expected, expected), "{offer:?}\n{:?}", request.qos);
            matches += usize::from(expected);
            if meet && !expected {
                refusals += 1;
                let why = |event: &Event| match event {
                    Event::OfferedIncompatibleQos { writer: id, remote, policies } => {
                        *id == writer.guid().entity_id && *remote == reader.guid() && *policies == against
                    }
                    _ => false,
                };
                assert!(told.iter().any(why), "the writer is told each policy that stands against it");
            }
        }
    }
    assert!(matches + refusals >= 20, "{matches} matches and {refusals} refusals prove little");
}
scenario!(pairs, 20, random_pairs);
