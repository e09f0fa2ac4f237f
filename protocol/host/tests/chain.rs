//! Listeners that answer each other: what follows from what in one call is limited, and the rest is left to a later call.

mod port;

use dunlin_host::{MAX_CHAIN, work_off};
use port::OneThread;

#[test]
fn a_call_ends_although_its_listeners_answer_each_other() {
    let mut port = OneThread::started();
    let [ping, pong] = [port.pair("Ping"), port.pair("Pong")];
    port.settle();
    let (pinged, ponged) = (ping.reader.guid().entity_id, pong.reader.guid().entity_id);
    port.answers.push((pinged, pong.writer.clone()));
    port.answers.push((ponged, ping.writer.clone()));
    port.write(&ping.writer);
    assert!(!port.deferred.is_empty(), "what is left is for a later call");
    let written = || ping.writer.last_sn().0 + pong.writer.last_sn().0;
    let after_call = written();
    assert!((2..=MAX_CHAIN as i64 + 1).contains(&after_call), "{after_call} samples in one call");
    for _ in 0..3 {
        let before = written();
        let deferred = std::mem::take(&mut port.deferred);
        work_off(&mut port, deferred);
        assert!(written() > before && !port.deferred.is_empty(), "it goes on, for as long again");
    }
    port.answers.clear();
    let deferred = std::mem::take(&mut port.deferred);
    work_off(&mut port, deferred);
    assert!(port.deferred.is_empty(), "it is over");
}

#[test]
fn listeners_run_after_the_call_and_never_inside_another() {
    let mut port = OneThread::started();
    let [ping, pong] = [port.pair("Ping"), port.pair("Pong")];
    port.settle();
    port.answers.push((ping.reader.guid().entity_id, pong.writer.clone()));
    port.write(&ping.writer);
    assert_eq!(port.deepest, 1, "listeners do not nest");
    assert_eq!((port.take(&ping.reader), port.take(&pong.reader)), (1, 1));
}

#[test]
fn a_sample_for_readers_of_the_participant_needs_no_datagram() {
    let mut port = OneThread::started();
    let pair = port.pair("Topic");
    port.settle();
    let before = port.own_datagrams();
    for _ in 0..3 {
        port.write(&pair.writer);
    }
    assert_eq!(port.take(&pair.reader), 3);
    assert_eq!(port.own_datagrams(), before);
    assert_eq!(pair.writer.acked_by_all(), pair.writer.last_sn());
}
