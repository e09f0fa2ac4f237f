//! Data between participants: matching, reliability, fragments, durability, life cycle.

#![cfg(not(any(loom, shuttle)))]

mod common;

use std::sync::Arc;

use common::{Net, instance, pattern, unpack};
use dunlin_cache::{InstanceState, instance_handle};
use dunlin_core::Duration;
use dunlin_engine::{CreateError, Event, WriteError};
use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos};
use dunlin_rtps::ChangeKind;

fn reliable_writer() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all()
}

fn reliable_reader() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all()
}

#[test]
fn endpoints_match_and_part() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &reliable_writer());
    let reader = net.reader(1, "T", &reliable_reader());
    net.settle();
    assert_eq!(writer.matched_readers().iter().map(|r| r.guid).collect::<Vec<_>>(), [reader.guid()]);
    assert_eq!(reader.matched_writers().iter().map(|w| w.guid).collect::<Vec<_>>(), [writer.guid()]);
    let matched = Event::PublicationMatched {
        writer: writer.guid().entity_id,
        remote: reader.guid(),
        current: 1,
        added: true,
    };
    assert!(net.take_events(0).contains(&matched));
    let alive = Event::LivelinessChanged {
        reader: reader.guid().entity_id,
        writer: writer.guid(),
        alive_delta: 1,
        not_alive_delta: 0,
    };
    assert!(net.take_events(1).contains(&alive));

    net.with(0, |participant, now, out| participant.delete_writer(now, &writer, out));
    net.settle();
    assert!(reader.matched_writers().is_empty());
    let events = net.take_events(1);
    assert!(events.iter().any(|e| matches!(e, Event::SubscriptionMatched { added: false, current: 0, .. })));
    assert!(events.iter().any(|e| matches!(e, Event::LivelinessChanged { alive_delta: -1, .. })));
    assert_eq!(net.write(0, &writer, 1, b"late"), Err(WriteError::Deleted));
}

#[test]
fn reliable_samples_arrive_in_order_under_loss() {
    const COUNT: u32 = if cfg!(miri) { 60 } else { 500 };
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &reliable_writer());
    let reader = net.reader(1, "T", &reliable_reader());
    net.settle();
    net.loss = 200;
    for n in 0..COUNT {
        net.write(0, &writer, n % 5, &pattern(n, 100)).expect("no limits");
        net.run(Duration::from_micros(100));
    }
    net.run_until(|net| {
        let _ = net;
        reader.len() == COUNT as usize && writer.acked_by_all() == writer.last_sn()
    });
    assert_eq!(writer.history_len(), 0, "volatile samples go when they are acknowledged");
    let samples = net.take(1, &reader);
    for key in 0..5 {
        let numbers: Vec<u32> = (0..COUNT).filter(|n| n % 5 == key).collect();
        let of_key = samples.iter().map(unpack).filter(|(k, _)| *k == key);
        for (n, (_, body)) in numbers.into_iter().zip(of_key) {
            assert_eq!(body, pattern(n, 100));
        }
    }
    assert!(writer.stats().repairs_sent > 0, "with that loss something was repaired");
}

#[test]
fn large_samples_arrive_whole_under_loss() {
    const LEN: usize = if cfg!(miri) { 100_000 } else { 921_600 };
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &reliable_writer());
    let reader = net.reader(1, "T", &reliable_reader());
    net.settle();
    net.loss = 20;
    for n in 0..3 {
        net.write(0, &writer, 1, &pattern(n, LEN)).expect("no limits");
        net.run(Duration::from_millis(5));
    }
    net.run_until(|_| reader.len() == 3);
    for (n, sample) in net.take(1, &reader).iter().enumerate() {
        assert!(unpack(sample).1 == pattern(n as u32, LEN), "sample {n} differs");
    }
    assert!(writer.stats().repair_fragments_sent > 0);
}

#[test]
fn best_effort_jumps_over_what_is_lost() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &DataWriterQos::default().best_effort());
    let reader = net.reader(1, "T", &DataReaderQos::default().keep_all());
    net.settle();
    net.loss = 300;
    for n in 0..200 {
        net.write(0, &writer, 1, &pattern(n, 20)).expect("never blocks");
        net.run(Duration::from_millis(1));
    }
    let received = net.take(1, &reader).len();
    assert!((100..190).contains(&received), "{received} of 200");
    let lost: u64 = net
        .take_events(1)
        .iter()
        .map(|event| if let Event::SampleLost { count, .. } = event { *count } else { 0 })
        .sum();
    assert!(lost > 0 && lost as usize + received <= 200);
}

#[test]
fn a_late_joiner_gets_the_history_it_asks_for() {
    let mut net = Net::started(2);
    let durable = reliable_writer().transient_local();
    let writer = net.writer(0, "T", &durable);
    for n in 0..10 {
        net.write(0, &writer, n, b"early").expect("no limits");
    }
    net.run(Duration::from_secs(1));
    let historian = net.reader(1, "T", &reliable_reader().transient_local());
    let volatile = net.reader(1, "T", &reliable_reader());
    net.settle();
    assert_eq!(historian.len(), 10);
    assert!(historian.historical_complete());
    let reader = historian.guid().entity_id;
    assert!(net.take_events(1).contains(&Event::HistoricalComplete { reader }));
    assert_eq!(volatile.len(), 0);
    net.write(0, &writer, 10, b"now").expect("no limits");
    net.settle();
    assert_eq!((historian.len(), volatile.len()), (11, 1));
}

#[test]
fn dispose_and_unregister_reach_the_reader() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &reliable_writer());
    let reader = net.reader(1, "T", &reliable_reader());
    net.settle();
    let state = |key| reader.instance_state(instance_handle(instance(key).0));
    for key in 1..=3 {
        net.write(0, &writer, key, b"here").expect("no limits");
    }
    assert_eq!(writer.registered_instances().len(), 3);
    net.run(Duration::from_millis(10));
    let key = reader.instance_key(instance_handle(instance(2).0));
    assert_eq!(
        key.as_ref().map(|(key, _)| &key[..]),
        Some(&[0, 1, 0, 0, 2, 0, 0, 0][..]),
        "known from the sample"
    );
    net.change(0, &writer, ChangeKind::Disposed, 1, b"").expect("a known instance");
    net.change(0, &writer, ChangeKind::Unregistered, 2, b"").expect("a registered instance");
    let refused = net.change(0, &writer, ChangeKind::Unregistered, 9, b"");
    assert_eq!(refused, Err(WriteError::NotRegistered));
    net.settle();
    assert_eq!(state(1), Some(InstanceState::NotAliveDisposed));
    assert_eq!(state(2), Some(InstanceState::NotAliveNoWriters));
    assert_eq!(state(3), Some(InstanceState::Alive));
    let states: Vec<_> = net.take(1, &reader).iter().map(|sample| sample.info.instance_state).collect();
    assert!(
        states.contains(&InstanceState::NotAliveDisposed)
            && states.contains(&InstanceState::NotAliveNoWriters)
    );
    net.change(0, &writer, ChangeKind::Disposed, 3, b"").expect("a known instance");
    net.settle();
    let samples = net.take(1, &reader);
    assert!(matches!(samples.as_slice(), [one] if !one.info.valid_data && one.key.is_some()));
    net.write(0, &writer, 3, b"again").expect("no limits");
    net.write(0, &writer, 1, b"again").expect("no limits");
    net.with(0, |participant, now, out| participant.delete_writer(now, &writer, out));
    net.settle();
    assert_eq!(state(3), Some(InstanceState::NotAliveNoWriters));
}

#[test]
fn endpoints_of_one_participant_match_without_network() {
    let mut net = Net::new(1);
    let writer = net.writer(0, "T", &reliable_writer().transient_local());
    net.write(0, &writer, 1, b"before").expect("no limits");
    let reader = net.reader(0, "T", &reliable_reader().transient_local());
    net.run(Duration::from_millis(50));
    net.write(0, &writer, 2, &pattern(2, 10_000)).expect("no limits");
    net.run(Duration::from_millis(50));
    let samples = net.take(0, &reader);
    assert_eq!(samples.iter().map(|s| unpack(s).0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(unpack(&samples[1]).1, pattern(2, 10_000));
    assert_eq!(writer.acked_by_all(), writer.last_sn());
}

#[test]
fn a_full_history_refuses_until_readers_acknowledge() {
    let mut net = Net::started(2);
    let qos = reliable_writer().resource_limits(4, -1, -1).max_blocking_time(Duration::from_millis(300));
    let writer = net.writer(0, "T", &qos);
    let _reader = net.reader(1, "T", &reliable_reader());
    net.settle();
    net.nodes[1].isolated = true;
    for n in 0..4 {
        net.write(0, &writer, n, b"x").expect("room for four");
    }
    let until = net.now.plus(Duration::from_millis(300));
    assert_eq!(net.write(0, &writer, 4, b"x"), Err(WriteError::Full { until }));
    net.take_events(0);
    net.nodes[1].isolated = false;
    let freed = Event::SpaceFreed { writer: writer.guid().entity_id };
    net.run_until(|net| net.nodes[0].events.contains(&freed));
    net.write(0, &writer, 4, b"x").expect("room again");
}

#[test]
fn a_full_reader_holds_the_writer_back_and_loses_nothing() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &reliable_writer());
    let reader = net.reader(1, "T", &reliable_reader().resource_limits(3, -1, -1));
    net.settle();
    for n in 0..20 {
        net.write(0, &writer, 1, &pattern(n, 8)).expect("no limits");
    }
    net.run(Duration::from_secs(2));
    assert_eq!(reader.len(), 3);
    assert!(writer.acked_by_all() < writer.last_sn());
    assert!(net.take_events(1).iter().any(|event| matches!(event, Event::SampleRejected { .. })));
    let mut bodies = vec![];
    for _ in 0..100 {
        bodies.extend(net.take_some(1, &reader, 2).iter().map(|sample| unpack(sample).1));
        net.run(Duration::from_millis(200));
    }
    assert_eq!(bodies, (0..20).map(|n| pattern(n, 8)).collect::<Vec<_>>());
    assert_eq!(writer.acked_by_all(), writer.last_sn());
}

#[test]
fn incompatible_qos_and_types_are_reported_on_both_sides() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &DataWriterQos::default().best_effort());
    let reader = net.reader(1, "T", &reliable_reader());
    let mut other = common::reader_spec("T", &DataReaderQos::default());
    other.type_name = "Other".into();
    net.with(1, |participant, now, out| participant.create_reader(now, other, out)).expect("a good reader");
    net.settle();
    let (writer, reader) = (writer.guid(), reader.guid());
    let of_writer = net.take_events(0);
    assert!(of_writer.iter().any(|event| matches!(event,
        Event::OfferedIncompatibleQos { writer: w, remote, policies }
            if *w == writer.entity_id && *remote == reader && policies.len() == 1)));
    assert!(of_writer.iter().any(|event| matches!(event,
        Event::InconsistentTopic { local, type_name, .. } if *local == writer.entity_id && type_name == "Other")));
    assert!(net.take_events(1).iter().any(|event| matches!(event,
        Event::RequestedIncompatibleQos { reader: r, remote, .. } if *r == reader.entity_id && *remote == writer)));
}

#[test]
fn a_changed_partition_matches_anew() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &reliable_writer());
    let reader = net.reader(1, "T", &reliable_reader());
    net.settle();
    let elsewhere = SubscriberQos::default().partition(["elsewhere"]);
    let qos = DataReaderQos::clone(&reader.qos());
    net.set_reader_qos(1, &reader, qos, elsewhere).expect("changeable");
    net.settle();
    assert!(writer.matched_readers().is_empty() && reader.matched_writers().is_empty());
    let everywhere = PublisherQos::default().partition(["else*"]);
    let qos = DataWriterQos::clone(&writer.qos());
    net.set_writer_qos(0, &writer, qos, everywhere).expect("changeable");
    net.settle();
    assert_eq!((writer.matched_readers().len(), reader.matched_writers().len()), (1, 1));
    let fixed = DataWriterQos::clone(&writer.qos()).transient_local();
    assert!(net.set_writer_qos(0, &writer, fixed, PublisherQos::default()).is_err());
}

#[test]
fn a_participant_that_falls_silent_is_forgotten() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &reliable_writer());
    let reader = net.reader(1, "T", &reliable_reader());
    net.settle();
    net.write(0, &writer, 1, b"x").expect("no limits");
    net.settle();
    net.nodes[0].isolated = true;
    net.run(Duration::from_secs(15));
    assert!(net.take_events(1).iter().any(|event| matches!(event, Event::ParticipantLost { .. })));
    assert!(reader.matched_writers().is_empty());
    let state = reader.instance_state(instance_handle(instance(1).0));
    assert_eq!(state, Some(InstanceState::NotAliveNoWriters));
    net.nodes[0].isolated = false;
    net.run(Duration::from_secs(10));
    assert_eq!(reader.matched_writers().len(), 1, "it is found again");
}

#[test]
fn three_participants_share_a_topic() {
    let mut net = Net::started(3);
    net.loss = 100;
    let writers: Vec<_> = (0..3).map(|node| net.writer(node, "T", &reliable_writer())).collect();
    let readers: Vec<_> = (0..3).map(|node| net.reader(node, "T", &reliable_reader())).collect();
    net.run_until(|_| {
        writers.iter().all(|writer| writer.matched_readers().len() == 3)
            && readers.iter().all(|reader| reader.matched_writers().len() == 3)
    });
    for n in 0..50 {
        for (node, writer) in writers.iter().enumerate() {
            net.write(node, writer, node as u32, &pattern(n, 2000)).expect("no limits");
        }
        net.run(Duration::from_millis(1));
    }
    net.run_until(|_| readers.iter().all(|reader| reader.len() == 150));
}

#[test]
fn creation_errors_say_why() {
    let mut net = Net::new(1);
    let spec = common::writer_spec("", &reliable_writer());
    let result = net.with(0, |participant, now, out| participant.create_writer(now, spec, out));
    assert_eq!(result.err(), Some(CreateError::InvalidName));
    let spec = common::writer_spec("T", &DataWriterQos::default().keep_last(0));
    let result = net.with(0, |participant, now, out| participant.create_writer(now, spec, out));
    assert!(matches!(result.err(), Some(CreateError::Qos(_))));
    net.with(0, |participant, now, out| participant.shutdown(now, out));
    let spec = common::writer_spec("T", &reliable_writer());
    let result = net.with(0, |participant, now, out| participant.create_writer(now, spec, out));
    assert_eq!(result.err(), Some(CreateError::ShutDown));
}

#[test]
fn an_unreadable_payload_is_dropped_counted_and_acknowledged() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &reliable_writer());
    let reader = net.reader(1, "T", &reliable_reader());
    net.settle();
    let request = dunlin_engine::WriteRequest {
        kind: ChangeKind::Alive,
        instance: instance(1),
        source_timestamp: None,
        payload: dunlin_buf::SharedBytes::copy_from(&[9, 9, 0, 0, 7]),
    };
    net.with(0, |_, now, out| writer.write(now, request, out).map(|turn| turn.finish())).expect("no limits");
    net.write(0, &writer, 1, b"good").expect("no limits");
    net.settle();
    assert_eq!(net.take(1, &reader).len(), 1);
    assert_eq!(net.nodes[1].participant.stats().undecodable, 1);
    assert_eq!(writer.acked_by_all(), writer.last_sn());
}

#[test]
fn an_ignored_entity_unmatches_and_stays_unmatched() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &reliable_writer());
    let ignored = net.reader(1, "T", &reliable_reader());
    let kept = net.reader(1, "T", &reliable_reader());
    net.settle();
    assert_eq!(writer.matched_readers().len(), 2);
    net.with(0, |participant, now, out| participant.ignore_endpoint(now, ignored.guid(), out));
    net.run(Duration::from_secs(5));
    assert_eq!(writer.matched_readers().iter().map(|r| r.guid).collect::<Vec<_>>(), [kept.guid()]);
    let prefix = net.nodes[1].participant.guid_prefix();
    net.with(0, |participant, now, out| participant.ignore_participant(now, prefix, out));
    net.run(Duration::from_secs(5));
    assert!(writer.matched_readers().is_empty());
    assert!(net.nodes[0].participant.discovered_participants().is_empty());
}

#[test]
fn a_deleted_reader_leaves_nothing_of_itself_behind() {
    let mut net = Net::started(2);
    let (_writer, reader) = (
        net.writer(0, "Topic", &DataWriterQos::default()),
        net.reader(1, "Topic", &DataReaderQos::default()),
    );
    net.settle();
    net.with(1, |participant, now, out| participant.delete_reader(now, &reader, out));
    net.settle();
    let left = Arc::downgrade(&reader);
    drop(reader);
    assert!(left.upgrade().is_none(), "somebody keeps it");
}
