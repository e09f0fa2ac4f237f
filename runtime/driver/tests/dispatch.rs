//! Events, nesting, waiting and shutdown, over a network in memory.

mod common;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use common::{eventually, matched, memory_node, memory_pair, reliable};
use dunlin_core::Duration;
use dunlin_driver::on_receive_thread;
use dunlin_engine::{Event, WriteError};
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_transport::memory::MemoryNetwork;

fn limited(max_blocking: Duration) -> DataWriterQos {
    let mut qos = DataWriterQos::default().reliable().keep_all();
    qos.resource_limits.max_samples = 1;
    qos.resource_limits.max_samples_per_instance = 1;
    qos.reliability.max_blocking_time = max_blocking;
    qos
}

/// A reader with room for one sample: it acknowledges the second only when the first was taken.
fn narrow() -> DataReaderQos {
    let mut qos = DataReaderQos::default().reliable().keep_all();
    qos.resource_limits.max_samples = 1;
    qos.resource_limits.max_samples_per_instance = 1;
    qos
}

#[test]
fn network_events_run_on_library_threads_and_events_of_a_call_within_it() {
    let (one, two) = memory_pair();
    let on_library = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&on_library);
    let listener = move |event: &Event| {
        if matches!(event, Event::DataAvailable { .. }) {
            seen.store(on_receive_thread(), SeqCst);
        }
    };
    assert!(two.sink.listener.set(Box::new(listener)).is_ok());
    let (writer_qos, reader_qos) = reliable();
    let (writer, reader) = matched(&one, &two, "t", &writer_qos, &reader_qos);
    one.write(&writer, 1).unwrap();
    eventually("the sample", || two.take(&reader) == [(1, 0)]);
    eventually("the event", || on_library.load(SeqCst));
    assert!(!on_receive_thread());

    let local = one.reader("t", &reader_qos);
    eventually("a local match", || writer.matched_readers().len() == 2);
    one.write(&writer, 2).unwrap();
    let id = local.guid().entity_id;
    assert!(one.count(|event| *event == Event::DataAvailable { reader: id }) > 0);
    assert_eq!(one.take(&local), [(2, 0)]);
}

#[test]
fn no_event_is_dispatched_before_its_entity_is_registered() {
    let (one, two) = memory_pair();
    let (writer_qos, reader_qos) = reliable();
    let introduced = Arc::new(AtomicBool::new(false));
    let too_early = Arc::new(AtomicBool::new(false));
    let (known, early) = (Arc::clone(&introduced), Arc::clone(&too_early));
    let listener = move |event: &Event| {
        if matches!(event, Event::SubscriptionMatched { .. }) && !known.load(SeqCst) {
            early.store(true, SeqCst);
        }
    };
    assert!(two.sink.listener.set(Box::new(listener)).is_ok());
    // The endpoints of discovery find each other first, so that nothing but the match is told below.
    drop(matched(&one, &two, "before", &writer_qos, &reader_qos));
    too_early.store(false, SeqCst);
    let session = &two.session;
    let reader = session.create(|now, out| {
        let spec = common::reader_spec("t", &reader_qos);
        let reader = session.participant().create_reader(now, spec, out).unwrap();
        let _writer = one.writer("t", &writer_qos);
        eventually("a receive thread matches them", || !reader.matched_writers().is_empty());
        // Time for that thread to get further than it should.
        let soon = Instant::now() + std::time::Duration::from_millis(20);
        while Instant::now() < soon {
            std::thread::yield_now();
        }
        introduced.store(true, SeqCst);
        reader
    });
    let id = reader.guid().entity_id;
    let is_match =
        |event: &Event| matches!(event, Event::SubscriptionMatched { reader, .. } if *reader == id);
    eventually("the event", || two.count(is_match) == 1);
    assert!(!too_early.load(SeqCst));
}

#[test]
fn a_ping_pong_inside_one_participant_does_not_recurse() {
    const ROUNDS: u32 = 2_000;
    let network = MemoryNetwork::new();
    let node = Arc::new(memory_node(&network));
    let (writer_qos, reader_qos) = reliable();
    let (ping_writer, ping) = matched(&node, &node, "ping", &writer_qos, &reader_qos);
    let (pong_writer, pong) = matched(&node, &node, "pong", &writer_qos, &reader_qos);
    thread_local!(static DEPTH: Cell<usize> = const { Cell::new(0) });
    let deepest = Arc::new(AtomicUsize::new(0));
    let last = Arc::new(AtomicU32::new(0));
    let listener = {
        let (weak, deepest, last) = (Arc::downgrade(&node), Arc::clone(&deepest), Arc::clone(&last));
        let ping_writer = Arc::clone(&ping_writer);
        move |event: &Event| {
            let Event::DataAvailable { reader } = event else { return };
            let Some(node) = weak.upgrade() else { return };
            deepest.fetch_max(DEPTH.replace(DEPTH.get() + 1) + 1, SeqCst);
            let from_ping = *reader == ping.guid().entity_id;
            let (source, target) = if from_ping { (&ping, &pong_writer) } else { (&pong, &ping_writer) };
            for (number, _) in node.take(source) {
                last.store(number, SeqCst);
                if number < ROUNDS {
                    node.write(target, number + 1).unwrap();
                }
            }
            DEPTH.set(DEPTH.get() - 1);
        }
    };
    assert!(node.sink.listener.set(Box::new(listener)).is_ok());
    node.write(&ping_writer, 1).unwrap();
    // The write plays most rounds, if not all; now and then the timer thread takes over.
    eventually("all rounds", || last.load(SeqCst) == ROUNDS);
    assert_eq!(deepest.load(SeqCst), 1);
}

#[test]
fn a_full_history_blocks_until_there_is_room() {
    let (one, two) = memory_pair();
    let (writer, reader) = matched(&one, &two, "t", &limited(Duration::from_secs(60)), &narrow());
    let (sender, written) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..50 {
                one.write(&writer, number).unwrap();
                sender.send(number).unwrap();
            }
        });
        // The first is in the reader's cache, the second waits for room there, the third in the write.
        let mut taken = vec![];
        eventually("all samples", || {
            taken.extend(two.take(&reader));
            taken.len() >= 50
        });
        assert!(taken.iter().map(|(number, _)| *number).eq(0..50));
    });
    assert_eq!(written.try_iter().count(), 50);
}

#[test]
fn a_full_history_times_out() {
    let (one, two) = memory_pair();
    let (writer, reader) = matched(&one, &two, "t", &limited(Duration::from_millis(50)), &narrow());
    let start = Instant::now();
    let mut written = 0;
    let error = loop {
        match one.write(&writer, written) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, WriteError::Full { .. }), "{error}");
    assert!(start.elapsed().as_millis() >= 50);
    assert!((1..=3).contains(&written), "{written}");
    assert!(!two.take(&reader).is_empty());
    eventually("room again", || one.write(&writer, written).is_ok());
}

#[test]
fn a_deleted_writer_sets_its_waiting_threads_free() {
    let (one, two) = memory_pair();
    let (writer, _unread) = matched(&one, &two, "t", &limited(Duration::INFINITE), &narrow());
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| (0..).find_map(|number| one.write(&writer, number).err()));
        eventually("the history is full", || writer.history_len() > 0 && writer.last_sn().0 > 1);
        let session = &one.session;
        session.run(|now, out| session.participant().delete_writer(now, &writer, out));
        assert_eq!(thread.join().unwrap(), Some(WriteError::Deleted));
    });
}

#[test]
fn a_listener_never_waits_for_room() {
    let (one, two) = memory_pair();
    let (one, two) = (Arc::new(one), Arc::new(two));
    let (writer_qos, reader_qos) = reliable();
    let (trigger, heard) = matched(&one, &two, "trigger", &writer_qos, &reader_qos);
    let (narrow_writer, _unread) =
        matched(&two, &one, "narrow", &limited(Duration::from_secs(600)), &narrow());
    let results = Arc::new(Mutex::new(vec![]));
    let listener = {
        let (two, results) = (Arc::downgrade(&two), Arc::clone(&results));
        let heard = heard.guid().entity_id;
        move |event: &Event| {
            if *event == (Event::DataAvailable { reader: heard }) {
                let two = two.upgrade().unwrap();
                assert!(on_receive_thread());
                let all: Vec<_> = (0..10).map(|number| two.write(&narrow_writer, number)).collect();
                *results.lock().unwrap() = all;
            }
        }
    };
    assert!(two.sink.listener.set(Box::new(listener)).is_ok());
    one.write(&trigger, 1).unwrap();
    eventually("the listener returns", || results.lock().unwrap().len() == 10);
    assert!(results.lock().unwrap().iter().any(|result| matches!(result, Err(WriteError::Full { .. }))));
}

#[test]
fn a_listener_that_panics_does_not_end_reception() {
    let (one, two) = memory_pair();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let listener = move |event: &Event| {
        if matches!(event, Event::DataAvailable { .. }) {
            counted.fetch_add(1, SeqCst);
            panic!("a listener of a test panics; this message belongs to it");
        }
    };
    assert!(two.sink.listener.set(Box::new(listener)).is_ok());
    let (writer_qos, reader_qos) = reliable();
    let (writer, reader) = matched(&one, &two, "t", &writer_qos, &reader_qos);
    for number in 0..3 {
        one.write(&writer, number).unwrap();
        eventually("the sample", || two.take(&reader).len() == 1);
    }
    eventually("the calls", || calls.load(SeqCst) >= 3);
}

#[test]
fn a_session_can_be_left_and_dropped_by_a_listener() {
    let (one, two) = memory_pair();
    let (writer_qos, reader_qos) = reliable();
    let (writer, _reader) = matched(&one, &two, "t", &writer_qos, &reader_qos);
    let gone = two.session.participant().guid_prefix();
    let sink = Arc::clone(&two.sink);
    let owned = Mutex::new(Some(two));
    let (sender, dropped) = mpsc::channel();
    let listener = move |event: &Event| {
        if matches!(event, Event::DataAvailable { .. }) {
            let last = owned.lock().unwrap().take();
            last.iter().for_each(|node| node.session.leave());
            drop(last);
            sender.send(on_receive_thread()).unwrap();
        }
    };
    assert!(sink.listener.set(Box::new(listener)).is_ok());
    one.write(&writer, 1).unwrap();
    assert!(dropped.recv_timeout(common::PATIENCE).expect("the listener returns"));
    eventually("the other hears of it", || {
        one.count(|event| matches!(event, Event::ParticipantLost { prefix, .. } if *prefix == gone)) == 1
    });
}

#[test]
fn writers_of_several_threads_keep_their_order() {
    let (one, two) = memory_pair();
    let (writer_qos, reader_qos) =
        (DataWriterQos::default().best_effort().keep_all(), DataReaderQos::default().keep_all());
    let (writer, reader) = matched(&one, &two, "t", &writer_qos, &reader_qos);
    let expected: Vec<i64> = (1..=400).collect();
    let mut numbers: Vec<i64> = std::thread::scope(|scope| {
        let write = |thread: u32| {
            let (one, writer) = (&one, &writer);
            move || (0..100).map(|n| one.write(writer, thread * 100 + n).unwrap().0).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(write(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    numbers.sort_unstable();
    assert_eq!(numbers, expected, "each sequence number once");
    // A best-effort reader drops what comes out of order, so that all arrive means that all were in order.
    let mut taken = vec![];
    eventually("all samples", || {
        taken.extend(two.take(&reader));
        taken.len() >= 400
    });
}
