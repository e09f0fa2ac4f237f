//! Writers that were deleted while their readers had not acknowledged everything.

#![cfg(not(any(loom, shuttle)))]

mod common;

use std::sync::Arc;

use common::Net;
use dunlin_core::{Duration, EntityId};
use dunlin_engine::{Event, MOST_CLOSING_WRITERS, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos};

fn writer_qos() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all().transient_local()
}

fn reader_qos() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all().transient_local()
}

/// Closes a writer, which then has so long.
fn close(net: &mut Net, writer: &Arc<WriterSlot>, patience: Duration) {
    net.with(0, |participant, now, out| {
        participant.close_writer(now, writer, now.mono.plus(patience), out);
    });
}

/// The writers that are gone since the last call.
fn closed(net: &mut Net) -> Vec<EntityId> {
    let gone = |event: &Event| match event {
        Event::WriterClosed { writer, .. } => Some(*writer),
        _ => None,
    };
    net.take_events(0).iter().filter_map(gone).collect()
}

#[test]
fn a_closed_writer_goes_with_the_last_acknowledgement() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &writer_qos());
    let reader = net.reader(1, "T", &reader_qos());
    net.settle();
    net.loss = 200;
    net.write(0, &writer, 1, b"last").expect("no limits");
    close(&mut net, &writer, Duration::from_secs(60));
    assert_eq!(net.nodes[0].participant.closing_writers(), 1);
    net.run_until(|net| net.nodes[0].participant.closing_writers() == 0);
    assert_eq!(closed(&mut net), [writer.guid().entity_id]);
    net.settle();
    assert_eq!(net.take(1, &reader).iter().filter(|sample| sample.info.valid_data).count(), 1);
    assert!(reader.matched_writers().is_empty());
    // One with nothing to wait for goes at once, and nobody has to be told.
    let idle = net.writer(0, "T", &writer_qos());
    net.settle();
    close(&mut net, &idle, Duration::from_secs(60));
    assert_eq!((net.nodes[0].participant.closing_writers(), closed(&mut net)), (0, vec![]));
}

#[test]
fn a_closed_writer_waits_no_longer_than_it_may_and_takes_no_new_readers() {
    let mut net = Net::started(3);
    let writer = net.writer(0, "T", &writer_qos());
    let _silent = net.reader(1, "T", &reader_qos());
    net.settle();
    net.take_events(0);
    net.nodes[1].isolated = true;
    net.write(0, &writer, 1, b"never acknowledged").expect("no limits");
    close(&mut net, &writer, Duration::from_millis(500));
    let late = net.reader(2, "T", &reader_qos());
    net.run(Duration::from_millis(400));
    assert_eq!(late.matched_writers().len(), 1, "the writer is still announced");
    assert_eq!((net.take(2, &late).len(), writer.matched_readers().len()), (0, 1));
    assert_eq!((net.nodes[0].participant.closing_writers(), closed(&mut net)), (1, vec![]));
    net.run(Duration::from_millis(200));
    let gone = Event::WriterClosed { writer: writer.guid().entity_id, unacknowledged: 1 };
    assert!(net.take_events(0).contains(&gone), "with what was not acknowledged");
    assert!(late.matched_writers().is_empty());
}

/// Its timers do not run any more, so whoever waited for them would wait in vain.
#[test]
fn a_participant_that_has_left_has_no_closing_writers() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &writer_qos());
    let _silent = net.reader(1, "T", &reader_qos());
    net.settle();
    net.nodes[1].isolated = true;
    net.write(0, &writer, 1, b"never acknowledged").expect("no limits");
    close(&mut net, &writer, Duration::from_secs(60));
    assert_eq!(net.nodes[0].participant.closing_writers(), 1);
    net.with(0, |participant, now, out| participant.shutdown(now, out));
    assert_eq!(net.nodes[0].participant.closing_writers(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn closing_writers_beyond_the_limit_end_the_oldest() {
    let beyond = 3;
    let mut net = Net::started(2);
    let _silent = net.reader(1, "T", &reader_qos());
    let count = MOST_CLOSING_WRITERS + beyond;
    let writers: Vec<_> = (0..count).map(|_| net.writer(0, "T", &writer_qos())).collect();
    net.run_until(|_| writers.iter().all(|writer| writer.matched_readers().len() == 1));
    net.take_events(0);
    net.nodes[1].isolated = true;
    for writer in &writers {
        net.write(0, writer, 1, b"never acknowledged").expect("no limits");
        close(&mut net, writer, Duration::from_secs(1));
    }
    let ids: Vec<_> = writers.iter().map(|writer| writer.guid().entity_id).collect();
    assert_eq!(net.nodes[0].participant.closing_writers(), MOST_CLOSING_WRITERS);
    assert_eq!(closed(&mut net), ids[..beyond]);
    net.run(Duration::from_millis(1_100));
    assert_eq!(
        (net.nodes[0].participant.closing_writers(), closed(&mut net).len()),
        (0, MOST_CLOSING_WRITERS)
    );
}
