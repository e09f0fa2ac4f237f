//! Readers that acknowledge what the application commits: what it can never see needs no commit.

mod common;

use std::sync::Arc;

use common::*;
use dunlin_core::{Duration, SampleIdentity, SequenceNumber, WallTime};
use dunlin_engine::{ReaderSlot, Tuning, WriteRequest, WriterSlot};
use dunlin_qos::{
    DataReaderQos, DataWriterQos, DestinationOrderKind, PresentationAccessScope, PublisherQos, SubscriberQos,
};
use dunlin_rtps::ChangeKind;

fn committing() -> DataReaderQos {
    DataReaderQos::default().reliable().acknowledge_on_commit()
}

fn is_acked(writer: &WriterSlot, reader: &ReaderSlot, sn: i64) -> bool {
    writer.is_acked_by(reader.guid(), SequenceNumber(sn))
}

/// Takes and commits everything that there is; how much it was.
fn store(net: &mut Net, reader: &ReaderSlot) -> usize {
    let taken = net.take(1, reader);
    let identities: Vec<SampleIdentity> = taken.iter().map(|sample| sample.info.identity()).collect();
    identities.iter().for_each(|of| net.with(1, |_, now, out| reader.commit(now, *of, out)));
    net.settle();
    taken.len()
}

#[test]
fn the_end_of_a_coherent_set_needs_no_commit() {
    for scope in [PresentationAccessScope::Topic, PresentationAccessScope::Group] {
        let mut net = Net::started(2);
        let (of_writer, of_reader) = (
            PublisherQos::default().presentation(scope, true, true),
            SubscriberQos::default().presentation(scope, true, true),
        );
        let sets = net.nodes[0].participant.create_publisher_group(of_writer.presentation).expect("free");
        let mut spec = writer_spec("T", &DataWriterQos::default().reliable().keep_all());
        spec.publisher_qos = of_writer;
        let own = Some(Arc::clone(&sets));
        let writer = net
            .with(0, |participant, now, out| participant.create_grouped_writer(now, spec, own, None, out))
            .expect("a good writer");
        let group = net.nodes[1].participant.create_subscriber_group(of_reader.presentation);
        let mut spec = reader_spec("T", &committing().keep_all());
        spec.subscriber_qos = of_reader;
        let reader = net
            .with(1, |participant, now, out| {
                participant.create_filtered_reader(now, spec, None, Some(group), None, out)
            })
            .expect("a good reader");
        net.settle();
        sets.begin_set();
        (1..=3).for_each(|key| net.write(0, &writer, key, &[1]).expect("no limit"));
        let end = sets.end_set().flatten().expect("there is a set");
        net.with(0, |_, now, out| _ = writer.end_set(now, &end, out));
        net.settle();
        assert!(reader.len() == 3 && !is_acked(&writer, &reader, 1), "{scope:?}: nothing is stored");
        assert_eq!(store(&mut net, &reader), 3);
        assert!(is_acked(&writer, &reader, 4), "{scope:?}");
    }
}

#[test]
fn samples_refused_for_a_future_timestamp_need_no_commit() {
    let mut net =
        Net::with_tuning(2, &Tuning { timestamp_tolerance: Duration::from_secs(1), ..Tuning::default() });
    net.start();
    let by_source = DestinationOrderKind::BySourceTimestamp;
    let writer = DataWriterQos::default().reliable().keep_all().destination_order(by_source);
    let writer = net.writer(0, "T", &writer);
    let reader = net.reader(1, "T", &committing().keep_all().destination_order(by_source));
    net.settle();
    let later = WallTime(net.clock().wall.0 + 3_600_000_000_000);
    let request = WriteRequest {
        kind: ChangeKind::Alive,
        instance: instance(1),
        source_timestamp: Some(later),
        payload: sample(1, &[1]),
    };
    net.write_request(0, &writer, request).expect("no limit");
    net.settle();
    assert_eq!(reader.len(), 0);
    assert!(is_acked(&writer, &reader, 1));
}

#[test]
fn samples_that_expire_unread_need_no_commit() {
    let mut net = Net::started(2);
    let lasting = DataWriterQos::default().reliable().keep_all();
    let short = net.writer(0, "T", &lasting.clone().lifespan(Duration::from_millis(50)));
    let reader = net.reader(1, "T", &committing().keep_all());
    net.settle();
    (1..=2).for_each(|key| net.write(0, &short, key, &[1]).expect("no limit"));
    net.run(Duration::from_millis(20));
    assert!(reader.len() == 2 && !is_acked(&short, &reader, 1));
    net.run_until(|_| is_acked(&short, &reader, 2));
    assert_eq!(reader.len(), 0);
}

#[test]
fn samples_replaced_by_another_writer_need_no_commit() {
    let mut net = Net::started(2);
    let qos = DataWriterQos::default().reliable().keep_all();
    let writers = [net.writer(0, "T", &qos), net.writer(0, "T", &qos)];
    let reader = net.reader(1, "T", &committing().keep_last(1));
    net.settle();
    for writer in &writers {
        net.write(0, writer, 1, &[1]).expect("no limit");
        net.run(Duration::from_millis(20));
    }
    net.run_until(|_| is_acked(&writers[0], &reader, 1));
    assert!(!is_acked(&writers[1], &reader, 1));
    assert_eq!(store(&mut net, &reader), 1);
    assert!(is_acked(&writers[1], &reader, 1));
}
