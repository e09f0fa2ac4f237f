//! Local delivery: changes that readers of the same participant get without messages (ADR 11).

#![cfg(not(any(loom, shuttle)))]

mod common;

use std::sync::Arc;

use common::{Net, instance, sample, unpack};
use dunlin_core::{Duration, Locator};
use dunlin_engine::{Event, Output, ReaderSlot, WriteMode, WriteRequest, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos, LatencyBudget};
use dunlin_rtps::ChangeKind;

const BUDGET: LatencyBudget = LatencyBudget { duration: Duration::from_millis(1) };

fn writer_qos() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all()
}

fn reader_qos() -> DataReaderQos {
    DataReaderQos { latency_budget: BUDGET, ..DataReaderQos::default().reliable().keep_all() }
}

/// A writer and a reader of one participant that have heard of each other, and another participant.
fn matched(qos: &DataWriterQos) -> (Net, Arc<WriterSlot>, Arc<ReaderSlot>) {
    let mut net = Net::started(2);
    let (writer, reader) = (net.writer(0, "Topic", qos), net.reader(0, "Topic", &reader_qos()));
    net.settle();
    assert_eq!(writer.has_heard(reader.guid()), Some(true));
    net.take_events(0);
    (net, writer, reader)
}

/// Writes as a host does; nothing is delivered or sent yet.
fn write(net: &Net, writer: &WriterSlot, number: u32) -> Output {
    let request = WriteRequest {
        kind: ChangeKind::Alive,
        instance: instance(number),
        source_timestamp: None,
        payload: sample(number, b"body"),
    };
    let mut out = Output::new();
    let mode = WriteMode { in_process: true, ..WriteMode::default() };
    writer.write_with(net.clock(), request, None, mode, &mut out).unwrap().finish();
    out
}

/// Delivers to the reader what was written. False if that is not for local delivery: then it is sent.
fn deliver(net: &mut Net, writer: &WriterSlot, mut out: Output) -> bool {
    let Some(mut delivery) = out.take_local_delivery() else {
        net.with(0, |_, _, sent| sent.outbox = std::mem::take(&mut out.outbox));
        return false;
    };
    assert!(out.outbox.is_empty(), "{out:?}");
    assert_eq!(delivery.places, [Locator::LOCAL]);
    net.with(0, |participant, now, out| {
        participant.on_local_delivery(now, &mut delivery, out);
        writer.local_delivery_done(now, &delivery, out);
        assert!(out.outbox.is_empty(), "no answer: {out:?}");
    });
    true
}

fn numbers(net: &mut Net, reader: &ReaderSlot) -> Vec<u32> {
    net.take(0, reader).iter().map(|sample| unpack(sample).0).collect()
}

#[test]
fn an_acknowledgement_by_local_delivery_wakes_wait_for_acknowledgments() {
    let (mut net, writer, reader) = matched(&writer_qos());
    let told =
        |net: &mut Net| net.take_events(0).contains(&Event::AckAdvanced { writer: writer.guid().entity_id });
    for asked in [false, true, false] {
        let out = write(&net, &writer, 1);
        assert!(writer.acked_by_all() < writer.last_sn(), "not before it has arrived");
        if asked {
            // What it sends is lost: it would bring the change by itself.
            writer.request_acknowledgments(net.clock(), &mut Output::new());
        }
        assert!(deliver(&mut net, &writer, out));
        assert_eq!((writer.acked_by_all(), writer.history_len()), (writer.last_sn(), 0));
        assert_eq!(told(&mut net), asked);
        assert_eq!(numbers(&mut net, &reader), [1]);
        net.settle();
        net.take_events(0);
    }
}

#[test]
fn samples_written_during_a_local_delivery_are_sent_without_duplicates() {
    let (mut net, writer, reader) = matched(&writer_qos());
    let first = write(&net, &writer, 1);
    let second = write(&net, &writer, 2);
    assert!(!deliver(&mut net, &writer, second), "the first has not arrived");
    net.run(Duration::from_millis(2));
    assert_eq!(numbers(&mut net, &reader), [1, 2], "the reader has asked for it");
    assert!(deliver(&mut net, &writer, first));
    assert_eq!(numbers(&mut net, &reader), [], "nothing twice");
    assert_eq!(writer.acked_by_all(), writer.last_sn());
    let third = write(&net, &writer, 3);
    assert!(deliver(&mut net, &writer, third));
    assert_eq!(numbers(&mut net, &reader), [3]);
}

#[test]
fn a_returned_local_delivery_is_not_delivered_again() {
    let (mut net, writer, _reader) = matched(&writer_qos());
    let mut out = write(&net, &writer, 1);
    let mut delivery = out.take_local_delivery().unwrap();
    net.with(0, |participant, now, out| {
        participant.on_local_delivery(now, &mut delivery, out);
        writer.local_delivery_done(now, &delivery, out);
    });
    out.give_back(delivery);
    assert!(out.take_local_delivery().is_none());
}

#[test]
fn a_local_delivery_that_never_arrives_is_repaired() {
    let (mut net, writer, reader) = matched(&writer_qos());
    let mut lost = write(&net, &writer, 1);
    let delivery = lost.take_local_delivery().unwrap();
    net.with(0, |_, now, out| writer.local_delivery_done(now, &delivery, out));
    net.settle();
    assert_eq!(numbers(&mut net, &reader), [1]);
    assert_eq!(writer.acked_by_all(), writer.last_sn());
}

#[test]
fn batched_samples_and_remote_readers_rule_out_local_delivery() {
    let (mut net, writer, reader) = matched(&DataWriterQos { latency_budget: BUDGET, ..writer_qos() });
    let out = write(&net, &writer, 1);
    assert!(!deliver(&mut net, &writer, out), "it waits for more");
    net.settle();
    assert_eq!(numbers(&mut net, &reader), [1]);

    let (mut net, writer, reader) = matched(&writer_qos());
    let elsewhere = net.reader(1, "Topic", &reader_qos());
    net.settle();
    let out = write(&net, &writer, 2);
    assert!(!deliver(&mut net, &writer, out), "another participant has a reader");
    net.settle();
    let there: Vec<_> = net.take(1, &elsewhere).iter().map(|sample| unpack(sample).0).collect();
    assert_eq!((numbers(&mut net, &reader), there), (vec![2], vec![2]));
}
