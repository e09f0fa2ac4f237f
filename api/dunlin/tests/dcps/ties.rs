//! What decides where policies leave it open: equal strength, equal source timestamps; and no delay at all.

use dunlin::qos::*;
use dunlin::sim::{Node, Sim};
use dunlin::{DataReader, DataWriter, Duration, WallTime};

use crate::support::*;

/// Two writers of one participant, of which the first has the lower GUID, and a reader.
fn two(writer_qos: &DataWriterQos, reader_qos: &DataReaderQos) -> (Sim, Node, [Writing; 2], Reads) {
    let mut sim = Sim::new(12);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let mut both = [writing(&a, writer_qos), writing(&a, writer_qos)];
    both.sort_by_key(|writing| writing.writer.guid());
    let r = reads(&b, reader_qos);
    sim.run_until(|| r.reader.matched_publications().len() == 2, secs(20)).unwrap();
    sim.run_for(secs(2)).unwrap();
    (sim, a, both, r)
}

fn numbers(reader: &DataReader<Reading>) -> Vec<(i32, i32)> {
    let taken = reader.take(100).unwrap().into_iter();
    taken.filter_map(|sample| sample.data).map(|data| (data.id, data.n)).collect()
}

#[test]
fn ownership_tie_goes_to_the_writer_with_the_lowest_guid() {
    let writer_qos = DataWriterQos::default().keep_all().exclusive().ownership_strength(4);
    let (mut sim, a, [low, high], r) =
        two(&writer_qos, &DataReaderQos::default().reliable().keep_all().exclusive());
    let mut write = |writer: &DataWriter<Reading>, id, n| {
        a.run(|| writer.write(&reading(id, n))).unwrap();
        sim.run_for(secs(1)).unwrap();
        numbers(&r.reader)
    };
    // Whoever begins.
    assert_eq!(write(&high.writer, 1, 10), [(1, 10)], "nobody else is there");
    assert_eq!(write(&low.writer, 1, 11), [(1, 11)]);
    assert_eq!(write(&high.writer, 1, 12), []);
    assert_eq!(write(&low.writer, 2, 20), [(2, 20)]);
    assert_eq!(write(&high.writer, 2, 21), []);
    assert_eq!(write(&low.writer, 1, 13), [(1, 13)]);
    // A stronger one takes over all the same.
    a.run(|| {
        high.writer
            .set_qos(&writer_qos.clone().ownership_strength(5).representation(&[DataRepresentationId::Xcdr1]))
    })
    .unwrap();
    assert_eq!(write(&high.writer, 1, 14), [(1, 14)]);
    assert_eq!(write(&low.writer, 1, 15), []);
}

#[test]
fn samples_of_one_source_time_have_the_order_of_their_writers_guids() {
    let kind = DestinationOrderKind::BySourceTimestamp;
    let writer_qos =
        DataWriterQos { destination_order: DestinationOrder { kind }, ..DataWriterQos::default().keep_all() };
    let reader_qos = DataReaderQos {
        destination_order: DestinationOrder { kind },
        ..DataReaderQos::default().reliable().keep_all()
    };
    let (mut sim, a, [low, high], r) = two(&writer_qos, &reader_qos);
    let at = WallTime(5_000_000_000);
    let mut write = |writer: &DataWriter<Reading>, id, n| {
        a.run(|| writer.write_w_timestamp(&reading(id, n), at)).unwrap();
        sim.run_for(secs(1)).unwrap();
    };
    write(&low.writer, 1, 10);
    write(&high.writer, 1, 11);
    // In the other order of arrival.
    write(&high.writer, 2, 21);
    write(&low.writer, 2, 20);
    let taken = numbers(&r.reader);
    let of = |id| taken.iter().filter(|(found, _)| *found == id).map(|(_, n)| *n).collect::<Vec<_>>();
    assert_eq!((of(1), of(2)), (vec![10, 11], vec![20, 21]));
}

#[test]
fn autopurge_without_delay_purges_instances_not_alive_at_once() {
    let lifecycle = ReaderDataLifecycle {
        autopurge_nowriter_samples_delay: secs(0),
        autopurge_disposed_samples_delay: secs(0),
    };
    let reader_qos =
        DataReaderQos { reader_data_lifecycle: lifecycle, ..DataReaderQos::default().reliable().keep_all() };
    let mut sim = Sim::new(13);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let w = writing(&a, &DataWriterQos::default().keep_all().autodispose_unregistered_instances(false));
    let (purges, keeps) =
        (reads(&b, &reader_qos), reads(&b, &DataReaderQos::default().reliable().keep_all()));
    sim.run_until(|| w.writer.matched_subscriptions().len() == 2, secs(20)).unwrap();
    for id in 1..=3 {
        a.run(|| w.writer.write(&reading(id, id))).unwrap();
    }
    sim.run_for(secs(1)).unwrap();
    a.run(|| w.writer.dispose(&reading(1, 0))).unwrap();
    a.run(|| w.writer.unregister_instance(&reading(2, 0))).unwrap();
    sim.run_for(Duration::from_millis(50)).unwrap();
    assert_eq!(keeps.reader.read(9).unwrap().iter().filter(|sample| sample.data.is_some()).count(), 3);
    let left = purges.reader.read(9).unwrap();
    let left: Vec<_> = left.iter().map(|sample| sample.data.as_ref().map(|data| data.id)).collect();
    assert_eq!(left, [Some(3)]);
    assert!(purges.reader.lookup_instance(&reading(2, 0)).is_nil(), "nothing is left of it");
}

/// A writer whose clock is an hour ahead, one whose clock is right, and a reader of KEEP_LAST 1 that orders by source timestamp.
fn one_from_the_future(tolerance: Option<&str>) -> (Option<i32>, i32, u64) {
    let mut sim = Sim::new(4);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer_qos = DataWriterQos::default().keep_all().by_source_timestamp();
    let (early, right) = (writing(&a, &writer_qos), writing(&a, &writer_qos));
    let mut config = dunlin::Config::default();
    if let Some(tolerance) = tolerance {
        config.set("quotas.timestamp_tolerance", tolerance).unwrap();
    }
    let reader = b.run(|| {
        let participant = dunlin::DomainParticipant::builder(0).config(config).build().unwrap();
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
        let qos = DataReaderQos::default().reliable().keep_last(1).by_source_timestamp();
        subscriber.create_datareader(&topic, &qos).unwrap()
    });
    sim.run_until(|| reader.matched_publications().len() == 2, secs(20)).unwrap();
    sim.run_for(secs(2)).unwrap();
    let ahead = a.run(|| early.participant.current_time()).plus(secs(3600));
    a.run(|| early.writer.write_w_timestamp(&reading(1, 1), ahead)).unwrap();
    sim.run_for(secs(1)).unwrap();
    a.run(|| right.writer.write(&reading(1, 2))).unwrap();
    sim.run_for(secs(1)).unwrap();
    let seen = numbers(&reader).last().map(|(_, n)| *n);
    (seen, reader.sample_lost_status().total, reader.stats().from_future)
}

#[test]
fn a_timestamp_from_the_future_does_not_silence_a_reader_unless_it_may() {
    assert_eq!(one_from_the_future(None), (Some(2), 1, 1));
    assert_eq!(one_from_the_future(Some("2h")), (Some(1), 0, 0), "it may: nothing later is shown until then");
    assert_eq!(one_from_the_future(Some("infinite")), (Some(1), 0, 0));
}
