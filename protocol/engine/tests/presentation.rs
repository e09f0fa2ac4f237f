//! Readers that show what they receive together (PRESENTATION) hold their writers back like others.

mod common;

use std::sync::Arc;

use common::*;
use dunlin_core::{Duration, SequenceNumber};
use dunlin_engine::{Event, ReaderSlot, SubscriberGroup, Tuning, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos, PresentationAccessScope, PublisherQos, SubscriberQos};

const COUNT: i64 = 200;

fn ms(ms: i64) -> Duration {
    Duration::from_millis(ms)
}

fn writer(net: &mut Net, topic: &str, scope: PresentationAccessScope) -> Arc<WriterSlot> {
    let mut spec = writer_spec(topic, &DataWriterQos::default().reliable().keep_all());
    spec.publisher_qos = PublisherQos::default().presentation(scope, true, true);
    let group = net.nodes[0].participant.create_publisher_group(spec.publisher_qos.presentation);
    let group = group.expect("names are left");
    net.with(0, |participant, now, out| participant.create_grouped_writer(now, spec, Some(group), None, out))
        .expect("a good writer")
}

fn group(net: &Net, scope: PresentationAccessScope) -> Arc<SubscriberGroup> {
    let qos = SubscriberQos::default().presentation(scope, true, true);
    net.nodes[1].participant.create_subscriber_group(qos.presentation)
}

/// A reader with room for so many samples; 0 is without limit.
fn reader(
    net: &mut Net,
    topic: &str,
    scope: PresentationAccessScope,
    group: &Arc<SubscriberGroup>,
    room: i32,
) -> Arc<ReaderSlot> {
    let qos = DataReaderQos::default().reliable().keep_all();
    let room = if room == 0 { -1 } else { room };
    let mut spec = reader_spec(topic, &qos.resource_limits(room, -1, -1));
    spec.subscriber_qos = SubscriberQos::default().presentation(scope, true, true);
    let group = Some(Arc::clone(group));
    net.with(1, |participant, now, out| participant.create_filtered_reader(now, spec, None, group, None, out))
        .expect("a good reader")
}

fn number(sample: &dunlin_cache::CachedSample) -> u8 {
    unpack(sample).1[0]
}

fn is_acked(writer: &WriterSlot, reader: &ReaderSlot) -> bool {
    writer.is_acked_by(reader.guid(), SequenceNumber(COUNT))
}

fn none_lost(net: &mut Net) -> bool {
    !net.take_events(1).iter().any(|event| matches!(event, Event::SampleLost { .. }))
}

#[test]
fn what_a_full_reader_has_no_room_for_stays_with_the_writer() {
    let scope = PresentationAccessScope::Topic;
    let mut net = Net::started(2);
    let group = group(&net, scope);
    let (writer, reader) = (writer(&mut net, "T", scope), reader(&mut net, "T", scope, &group, 5));
    net.settle();
    for n in 0..COUNT {
        net.write(0, &writer, 1, &[n as u8]).expect("no limit");
        net.run(ms(1));
    }
    net.run(ms(1_000));
    assert_eq!(reader.len(), 5);
    assert!(!is_acked(&writer, &reader));
    assert!(writer.history_len() > 190, "{} stay with the writer", writer.history_len());
    let mut seen = Vec::new();
    net.run_until(|net| {
        seen.extend(net.take(1, &reader).iter().map(number));
        seen.len() == COUNT as usize
    });
    assert!(seen.into_iter().eq(0..COUNT as u8), "in order, each once");
    net.run_until(|_| is_acked(&writer, &reader));
    assert!(none_lost(&mut net));
}

#[test]
fn nobody_waits_for_a_reader_that_is_deleted() {
    let scope = PresentationAccessScope::Group;
    let mut net = Net::started(2);
    let group = group(&net, scope);
    let writer = writer(&mut net, "T", scope);
    let full = reader(&mut net, "T", scope, &group, 2);
    let other = reader(&mut net, "T", scope, &group, 0);
    net.settle();
    for n in 0..COUNT {
        net.write(0, &writer, 1, &[n as u8]).expect("no limit");
    }
    net.run(ms(500));
    assert_eq!((full.len(), other.len()), (2, 2), "they show the same");
    net.with(1, |participant, now, out| participant.delete_reader(now, &full, out));
    net.run_until(|_| other.len() == COUNT as usize);
}

#[test]
fn what_stands_still_takes_so_much_memory_and_no_more() {
    let scope = PresentationAccessScope::Topic;
    let tuning = Tuning { max_out_of_order_bytes_total: 20_000, ..Tuning::default() };
    let mut net = Net::with_tuning(2, &tuning);
    net.start();
    let group = group(&net, scope);
    let (writer, reader) = (writer(&mut net, "T", scope), reader(&mut net, "T", scope, &group, 0));
    net.settle();
    group.begin_access();
    for n in 0..COUNT {
        net.write(0, &writer, 1, &pattern(n as u32, 1_000)).expect("no limit");
        net.run(ms(1));
    }
    net.run(ms(1_000));
    assert_eq!(reader.len(), 0);
    assert!(!is_acked(&writer, &reader) && writer.history_len() > 150, "{}", writer.history_len());
    assert!(net.with(1, |_, now, out| group.end_access(now, out)));
    net.run_until(|_| reader.len() == COUNT as usize);
    assert!(none_lost(&mut net));
}
