//! Samples that join others which wait for more (DDS 1.4 §2.2.3.8 LATENCY_BUDGET).

#![cfg(not(any(loom, shuttle)))]

mod common;

use std::cell::Cell;
use std::sync::Arc;

use common::{Net, instance, sample, unpack};
use dunlin_core::{Duration, MonoTime, Now, WallTime};
use dunlin_engine::{ReaderSlot, WriteRequest, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos, LatencyBudget, Lifespan, LivelinessKind};
use dunlin_rtps::ChangeKind;

const BUDGET: LatencyBudget = LatencyBudget { duration: Duration::from_millis(1) };

fn qos() -> DataWriterQos {
    DataWriterQos { latency_budget: BUDGET, ..DataWriterQos::default().reliable().keep_all() }
}

fn matched(qos: &DataWriterQos) -> (Net, Arc<WriterSlot>, Arc<ReaderSlot>) {
    let mut net = Net::started(2);
    let latency_budget = LatencyBudget { duration: Duration::from_secs(60) };
    let reader = DataReaderQos { latency_budget, ..DataReaderQos::default().reliable().keep_all() };
    let (writer, reader) = (net.writer(0, "Topic", qos), net.reader(1, "Topic", &reader));
    net.settle();
    (net, writer, reader)
}

fn request(number: u32) -> WriteRequest {
    WriteRequest {
        kind: ChangeKind::Alive,
        instance: instance(number),
        source_timestamp: None,
        payload: sample(number, b"body"),
    }
}

fn join(now: Now, writer: &WriterSlot, request: WriteRequest) -> bool {
    writer.join(|| now.mono, || now, request).is_ok()
}

#[test]
fn samples_that_join_a_burst_leave_in_order() {
    let (mut net, writer, reader) = matched(&qos());
    assert!(!join(net.clock(), &writer, request(1)), "nothing waits");
    (1..=2).for_each(|_| net.write(0, &writer, 1, b"head").unwrap());
    net.run(Duration::from_millis(5));
    net.take(1, &reader);
    let before = writer.stats();
    net.write(0, &writer, 1, b"head").unwrap();
    for _ in 0..3 {
        assert!(join(net.clock(), &writer, request(1)));
    }
    assert_eq!(writer.stats(), before, "nothing is sent");
    net.run(Duration::from_millis(5));
    let taken: Vec<_> = net.take(1, &reader).iter().map(|sample| unpack(sample).1.to_vec()).collect();
    assert_eq!(taken, [b"head", b"body", b"body", b"body"]);
    let stats = writer.stats();
    assert_eq!(
        (stats.samples_sent - before.samples_sent, stats.datagrams_sent - before.datagrams_sent),
        (4, 1)
    );
    net.settle();
    assert_eq!((writer.acked_by_all(), writer.history_len()), (writer.last_sn(), 0));
}

#[test]
fn only_plain_samples_join_a_batch() {
    let manual = {
        let mut qos = qos();
        qos.liveliness.kind = LivelinessKind::ManualByParticipant;
        qos.liveliness.lease_duration = Duration::from_secs(10);
        qos
    };
    let lifespan = DataWriterQos { lifespan: Lifespan { duration: Duration::from_secs(1) }, ..qos() };
    let last = DataWriterQos { latency_budget: BUDGET, ..DataWriterQos::default().reliable() };
    for (name, qos, joins) in [
        ("plain", qos(), true),
        ("manual", manual, false),
        ("lifespan", lifespan, false),
        ("a sample that waits would be dropped", last, false),
    ] {
        let (mut net, writer, _reader) = matched(&qos);
        net.write(0, &writer, 1, b"head").unwrap();
        assert!(writer.has_waiting_data(), "{name}");
        let ended = WriteRequest { kind: ChangeKind::Disposed, ..request(1) };
        let timed = WriteRequest { source_timestamp: Some(net.clock().wall), ..request(1) };
        let (now, last) = (net.clock(), writer.last_sn());
        assert!(!join(now, &writer, ended) && !join(now, &writer, timed), "{name}");
        assert_eq!(writer.last_sn(), last);
        assert_eq!(join(now, &writer, request(1)), joins, "{name}");
        assert_eq!(writer.last_sn().0 - last.0, i64::from(joins), "{name}");
        let late = Now { mono: now.mono.plus(Duration::from_millis(2)), ..now };
        assert!(!join(late, &writer, request(1)), "{name}: it is time to leave");
    }
}

#[test]
fn the_wall_clock_goes_on_with_the_other_one_for_a_millisecond() {
    let long = LatencyBudget { duration: Duration::from_secs(10) };
    let (mut net, writer, _reader) = matched(&DataWriterQos { latency_budget: long, ..qos() });
    net.write(0, &writer, 1, b"head").unwrap();
    let start = net.clock();
    let asked = Cell::new(0);
    let mut last = start.wall;
    for (micros, set, expected) in [(10, 0, 0), (900, 0, 0), (1_100, 7, 1), (1_200, 7, 1), (2_200, -9_000, 2)]
    {
        let mono = MonoTime(start.mono.0 + micros * 1_000);
        let wall = WallTime(start.wall.0 + micros as i64 * 1_000 + set);
        let both = || {
            asked.set(asked.get() + 1);
            Now { mono, wall }
        };
        writer.join(|| mono, both, request(1)).unwrap();
        assert_eq!(asked.get(), expected);
        let stamp = writer.last_source_timestamp().unwrap();
        assert_eq!(stamp, wall.max(last), "after {micros} µs");
        last = stamp;
    }
}
