//! Samples from one participant to another. The program says what is between them: real sockets on the loopback interface, or
//! another transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dunlin::qos::{DataReaderQos, DataWriterQos};
use dunlin::{
    Duration, InstanceHandle, InstanceState, ReturnCode, StateMasks, StatusMask, WaitSet, WriteError,
};

use crate::common::{self, Fixture, Track, eventually, track};

fn reliable() -> (DataWriterQos, DataReaderQos) {
    (DataWriterQos::default().reliable().keep_all(), DataReaderQos::default().reliable().keep_all())
}

#[test]
fn reliable_samples_arrive_in_order() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    for n in 0..1000 {
        f.writer.write(&track(n % 7, n)).unwrap();
    }
    let mut seen = Vec::new();
    eventually("1000 samples", || {
        seen.extend(f.reader.take(100).unwrap().into_iter().filter_map(|s| s.data).map(|t| t.speed));
        seen.len() >= 1000
    });
    seen.sort_by_key(|n| (*n % 7, *n));
    let mut expected: Vec<_> = (0..1000).collect();
    expected.sort_by_key(|n| (*n % 7, *n));
    assert_eq!(seen, expected);
    f.writer.wait_for_acknowledgments(Duration::from_secs(10)).unwrap();
}

#[test]
fn large_samples_are_fragmented_and_arrive_whole() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let octets: Vec<u8> = (0..921_600_u32).map(|i| (i * 31 % 251) as u8).collect();
    for n in 0..5 {
        f.writer.write(&Track { id: 1, speed: n, note: String::new(), octets: octets.clone() }).unwrap();
    }
    let mut seen = 0;
    eventually("five large samples", || {
        for sample in f.reader.take(5).unwrap().into_iter().filter_map(|s| s.data) {
            assert_eq!(sample.octets, octets);
            seen += 1;
        }
        seen == 5
    });
}

#[test]
fn instances_live_and_end() {
    let (writer_qos, reader_qos) = reliable();
    let writer_qos = writer_qos.autodispose_unregistered_instances(false);
    let f = Fixture::new(&writer_qos, &reader_qos);
    let handle = f.writer.register_instance(&track(1, 0)).unwrap();
    assert_eq!(f.writer.lookup_instance(&track(1, 5)), handle);
    assert_eq!(f.writer.key_value(handle).unwrap().id, 1);
    assert_eq!(f.writer.lookup_instance(&track(9, 0)), InstanceHandle::NIL);
    let never_registered = f.writer.unregister_instance(&track(9, 0)).unwrap_err();
    assert_eq!(never_registered, WriteError::NotRegistered);
    assert_eq!(never_registered.return_code(), ReturnCode::PreconditionNotMet);
    f.writer.write(&track(1, 10)).unwrap();
    f.writer.write(&track(2, 20)).unwrap();
    f.writer.dispose(&track(1, 0)).unwrap();
    f.writer.unregister_instance(&track(2, 0)).unwrap();
    let mut ended = Vec::new();
    eventually("both instances ended", || {
        for sample in f.reader.take(10).unwrap() {
            // An unread sample carries the new state of its instance; without one a sample without data does.
            if sample.info.instance_state != InstanceState::Alive {
                ended.push((sample.data.or(sample.key).unwrap().id, sample.info.instance_state));
            }
        }
        ended.len() == 2
    });
    ended.sort_by_key(|(id, _)| *id);
    assert_eq!(ended, [(1, InstanceState::NotAliveDisposed), (2, InstanceState::NotAliveNoWriters)]);
}

#[test]
fn late_joiner_gets_history() {
    let writer_qos = DataWriterQos::default().reliable().transient_local().keep_last(2);
    let reader_qos = DataReaderQos::default().reliable().transient_local().keep_all();
    let f = Fixture::new(&writer_qos, &reader_qos);
    for n in 0..5 {
        f.writer.write(&track(1, n)).unwrap();
    }
    // Else what is still on its way to the first reader would reach the second too.
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    let late = f.another_reader(&reader_qos);
    late.wait_for_historical_data(Duration::from_secs(20)).unwrap();
    let seen: Vec<_> = late.take(10).unwrap().into_iter().filter_map(|s| s.data).map(|t| t.speed).collect();
    assert_eq!(seen, [3, 4]);
}

#[test]
fn listeners_wait_sets_and_conditions() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    f.reader.set_listener(
        move |reader: &dunlin::DataReader<Track>| {
            counted.fetch_add(reader.read_states(10, StateMasks::NOT_READ).unwrap().len(), Ordering::SeqCst);
        },
        StatusMask::DATA_AVAILABLE,
    );
    f.writer.write(&track(1, 1)).unwrap();
    eventually("the listener", || calls.load(Ordering::SeqCst) == 1);
    f.reader.clear_listener();
    let condition = f.reader.create_readcondition(StateMasks::NOT_READ).unwrap();
    let set = WaitSet::new();
    set.attach_condition(condition.condition());
    assert!(set.wait(Duration::ZERO).is_err());
    f.writer.write(&track(1, 2)).unwrap();
    assert_eq!(set.wait(Duration::from_secs(20)).unwrap(), vec![condition.condition().clone()]);
    assert_eq!(f.reader.take_w_condition(10, &condition).unwrap().len(), 1);
    assert_eq!(f.reader.take(10).unwrap().len(), 1);
}

#[test]
fn offered_and_requested_incompatible_qos_are_raised() {
    let f = Fixture::unmatched(&DataWriterQos::default().best_effort(), &DataReaderQos::default().reliable());
    eventually("both statuses", || {
        f.writer.status_changes().intersects(StatusMask::OFFERED_INCOMPATIBLE_QOS)
            && f.reader.status_changes().intersects(StatusMask::REQUESTED_INCOMPATIBLE_QOS)
    });
    let status = f.reader.requested_incompatible_qos_status();
    assert_eq!(status.last_policy_id, Some(dunlin::qos::PolicyId::Reliability));
    assert_eq!(status.count.total, 1);
    assert!(f.reader.matched_publications().is_empty());
}

#[test]
fn matched_endpoints_are_described_and_leave() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let publication = f.reader.matched_publication_data(f.reader.matched_publications()[0]).unwrap();
    assert_eq!((&*publication.topic_name, &*publication.type_name), (f.topic.as_str(), "Track"));
    let Fixture { writer, reader, .. } = f;
    drop(writer);
    eventually("the writer gone", || reader.matched_publications().is_empty());
    // The status follows with the event.
    eventually("the status", || reader.subscription_matched_status().current_count == 0);
}

#[test]
fn endpoints_of_one_participant_match() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let local = f.reader_beside_writer(&reader_qos);
    eventually("two readers", || f.writer.matched_subscriptions().len() == 2);
    for n in 0..100 {
        f.writer.write(&track(1, n)).unwrap();
    }
    let mut count = 0;
    eventually("local samples", || {
        count += local.take(100).unwrap().len();
        count == 100
    });
}

#[test]
fn a_full_history_times_out_and_recovers() {
    let writer_qos = DataWriterQos::default()
        .reliable()
        .keep_all()
        .resource_limits(4, -1, -1)
        .max_blocking_time(Duration::from_millis(50));
    let reader_qos = DataReaderQos::default().reliable().keep_all().resource_limits(4, -1, -1);
    let f = Fixture::new(&writer_qos, &reader_qos);
    let mut written = 0;
    let refused = loop {
        match f.writer.write(&track(1, written)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 20, "limits of 4 and 4 samples cannot hold 20");
    };
    assert_eq!(refused.return_code(), dunlin::ReturnCode::Timeout);
    let mut seen = 0;
    eventually("room again", || {
        seen += f.reader.take(10).unwrap().len();
        f.writer.write(&track(1, written)).is_ok()
    });
    written += 1;
    eventually("everything that was written", || {
        seen += f.reader.take(10).unwrap().len();
        seen as i32 == written
    });
}

#[test]
fn streams_yield_samples() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let mut stream = f.reader.stream();
    let waiter = std::thread::spawn(move || {
        common::block_on(std::future::poll_fn(|cx| {
            futures_core::Stream::poll_next(std::pin::Pin::new(&mut stream), cx)
        }))
    });
    f.writer.write(&track(3, 33)).unwrap();
    assert_eq!(waiter.join().unwrap().unwrap().data.unwrap(), track(3, 33));
}

#[test]
fn a_listener_reads_what_a_take_has_made_room_for() {
    let writer_qos = DataWriterQos::default().reliable().keep_all();
    let reader_qos = DataReaderQos::default().reliable().keep_all().resource_limits(1, -1, -1);
    let f = Fixture::new(&writer_qos, &reader_qos);
    for n in 0..3 {
        f.writer.write(&track(1, n)).unwrap();
    }
    eventually("a refused sample", || f.reader.sample_rejected_status().count.total > 0);
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let listener = move |reader: &dunlin::DataReader<Track>| {
        counted.fetch_add(reader.take(1).unwrap().len(), Ordering::SeqCst);
    };
    f.reader.set_listener(listener, StatusMask::DATA_AVAILABLE);
    let first = f.reader.take(1).unwrap().len();
    eventually("all three", || first + taken.load(Ordering::SeqCst) == 3);
}

#[test]
fn calls_that_would_block_are_refused_in_a_listener() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let result = Arc::new(std::sync::Mutex::new(None));
    let (told, set) = (Arc::clone(&result), WaitSet::new());
    let listener = move |_: &dunlin::DataReader<Track>| {
        *told.lock().unwrap() = Some(set.wait(Duration::INFINITE));
    };
    f.reader.set_listener(listener, StatusMask::DATA_AVAILABLE);
    f.writer.write(&track(1, 1)).unwrap();
    eventually("the listener's answer", || result.lock().unwrap().is_some());
    assert_eq!(*result.lock().unwrap(), Some(Err(dunlin::WaitError::InListener)));
}

#[test]
fn time_does_not_go_backwards() {
    let f = Fixture::unmatched(&DataWriterQos::default(), &DataReaderQos::default());
    let now = dunlin::WallTime(1_700_000_000_000_000_000);
    f.writer.write_w_timestamp(&track(1, 1), now).unwrap();
    let earlier = f.writer.write_w_timestamp(&track(1, 2), dunlin::WallTime(now.0 - 1)).unwrap_err();
    assert_eq!(earlier, dunlin::WriteError::BadTimestamp);
}

#[test]
fn calls_that_wait_have_variants_for_any_executor() {
    let f = Fixture::new(
        &DataWriterQos::default().reliable().keep_all().resource_limits(1, -1, -1),
        &DataReaderQos::default().reliable().keep_all().resource_limits(1, -1, -1),
    );
    let Fixture { writer, reader, .. } = f;
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    let task = std::thread::spawn(move || {
        common::block_on(async {
            for n in 0..5 {
                // The third has to wait until the first is taken, and so on.
                writer.write_async(&track(1, n)).await.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
            }
            writer.wait_for_acknowledgments_async().await.unwrap();
        });
    });
    let (set, unread) = (WaitSet::new(), reader.create_readcondition(StateMasks::NOT_READ).unwrap());
    set.attach_condition(unread.condition());
    common::block_on(async {
        reader.wait_for_historical_data_async().await.unwrap();
        for n in 0..5 {
            assert_eq!(set.wait_async().await.unwrap(), [unread.condition().clone()]);
            assert!(done.load(Ordering::SeqCst) <= n as usize + 2);
            assert_eq!(reader.take(1).unwrap()[0].data, Some(track(1, n)));
        }
    });
    task.join().unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 5);
}

/// What tells of the process does not depend on what else of the participant changes.
#[test]
fn changed_qos_of_a_participant_leaves_its_process_announced() {
    let domain = common::domain();
    let (one, other) = (common::participant(domain), common::participant(domain));
    let announced = || other.discovered_participant_data(one.instance_handle()).ok();
    eventually("the other", || announced().is_some());
    let process = |data: &dunlin::ParticipantBuiltinTopicData| {
        data.property
            .values
            .iter()
            .filter(|(name, _)| name.starts_with("dds.sys_info."))
            .cloned()
            .collect::<Vec<_>>()
    };
    let before = process(&announced().unwrap());
    assert!(before.iter().any(|(name, _)| name == "dds.sys_info.process_id"), "{before:?}");
    one.set_qos(&one.qos().user_data([1, 2])).unwrap();
    eventually("the change", || announced().is_some_and(|data| *data.user_data.0 == [1, 2]));
    assert_eq!(process(&announced().unwrap()), before);
}
