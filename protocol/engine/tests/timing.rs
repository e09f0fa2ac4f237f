//! Policies that depend on time: DEADLINE, LIVELINESS, OWNERSHIP, LIFESPAN, TIME_BASED_FILTER, autopurge, pacing.

#![cfg(not(any(loom, shuttle)))]

mod common;

use common::{Net, instance, pattern, sample, unpack, writer_spec};
use dunlin_cache::{InstanceState, instance_handle};
use dunlin_core::{Duration, Guid};
use dunlin_engine::{Event, Tuning, WriteError, WriteRequest};
use dunlin_qos::{DataReaderQos, DataWriterQos, LivelinessKind, PublisherQos};
use dunlin_rtps::{ChangeKind, Pacing};

fn writer_qos() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all()
}

fn reader_qos() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all()
}

fn ms(n: i64) -> Duration {
    Duration::from_millis(n)
}

/// Changes of the alive count that a reader was told, in order.
fn alive_deltas(events: &[Event]) -> Vec<(Guid, i32, i32)> {
    let delta = |event: &Event| match event {
        Event::LivelinessChanged { writer, alive_delta, not_alive_delta, .. } => {
            Some((*writer, *alive_delta, *not_alive_delta))
        }
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

#[test]
fn a_missed_deadline_is_reported_on_both_sides_per_instance_and_period() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &writer_qos().deadline(ms(100)));
    let _reader = net.reader(1, "T", &reader_qos().deadline(ms(100)));
    net.settle();
    for _ in 0..4 {
        net.write(0, &writer, 1, b"x").expect("no limits");
        net.write(0, &writer, 2, b"x").expect("no limits");
        net.run(ms(50));
    }
    net.take_events(0);
    net.take_events(1);
    for _ in 0..5 {
        net.write(0, &writer, 1, b"x").expect("no limits");
        net.run(ms(40));
    }
    // Two whole periods without instance 2, none without instance 1.
    let offered: u32 = net
        .take_events(0)
        .iter()
        .map(|event| match event {
            Event::OfferedDeadlineMissed { instance: i, count, .. } if *i == instance(2) => *count,
            Event::OfferedDeadlineMissed { .. } => panic!("instance 1 was written in time"),
            _ => 0,
        })
        .sum();
    let requested: u32 = net
        .take_events(1)
        .iter()
        .map(|event| match event {
            Event::RequestedDeadlineMissed { instance: i, count, .. } if *i == instance(2) => *count,
            Event::RequestedDeadlineMissed { .. } => panic!("instance 1 arrived in time"),
            _ => 0,
        })
        .sum();
    assert_eq!((offered, requested), (2, 2));
}

#[test]
fn a_manual_writer_loses_and_regains_its_liveliness() {
    let mut net = Net::started(2);
    let qos = writer_qos().liveliness(LivelinessKind::ManualByTopic, ms(100));
    let writer = net.writer(0, "T", &qos);
    let reader = net.reader(1, "T", &reader_qos());
    net.settle();
    net.with(0, |_, now, out| writer.assert_liveliness(now, out));
    net.settle();
    net.write(0, &writer, 1, b"x").expect("no limits");
    net.run(ms(10));
    net.take_events(0);
    net.take_events(1);

    net.run(ms(300));
    let lost = Event::LivelinessLost { writer: writer.guid().entity_id };
    assert_eq!(net.take_events(0).iter().filter(|event| **event == lost).count(), 1, "told once");
    assert_eq!(alive_deltas(&net.take_events(1)), [(writer.guid(), -1, 1)]);
    let state = reader.instance_state(instance_handle(instance(1).0));
    assert_eq!(state, Some(InstanceState::NotAliveNoWriters));

    net.with(0, |_, now, out| writer.assert_liveliness(now, out));
    net.run(ms(10));
    assert_eq!(alive_deltas(&net.take_events(1)), [(writer.guid(), 1, -1)], "by a HEARTBEAT with flag L");
    for _ in 0..10 {
        net.run(ms(50));
        net.write(0, &writer, 1, b"x").expect("no limits");
    }
    assert!(alive_deltas(&net.take_events(1)).is_empty(), "data keeps it alive");
    assert!(!net.take_events(0).contains(&lost));
    net.with(0, |participant, now, out| participant.delete_writer(now, &writer, out));
    net.run(ms(300));
    assert_eq!(alive_deltas(&net.take_events(1)), [(writer.guid(), -1, 0)]);
}

/// DDS 1.4 §2.2.3.11. The timer of discovery is due at once for the sign; what discovery has to do later must not put that off.
#[test]
fn a_liveliness_assertion_is_sent_at_once_whatever_discovery_does() {
    let mut net = Net::started(2);
    let qos = writer_qos().liveliness(LivelinessKind::ManualByParticipant, ms(400));
    let writer = net.writer(0, "T", &qos);
    let _reader = net.reader(1, "T", &reader_qos());
    net.run(ms(300));
    net.take_events(1);
    net.with(0, |participant, now, out| {
        participant.assert_liveliness(now, out);
        participant.create_writer(now, writer_spec("Other", &writer_qos()), out).expect("no limits");
        assert!(participant.next_deadline().is_some_and(|at| at <= now.mono), "the sign can wait");
    });
    net.run(ms(300));
    assert_eq!(alive_deltas(&net.take_events(1)), [], "it was alive all the time");
    assert!(net.take_events(0).iter().all(|event| !matches!(event, Event::LivelinessLost { .. })));
    drop(writer);
}

#[test]
fn expired_liveliness_lease_is_a_loss_even_with_late_timers() {
    let mut net = Net::started(1);
    let by_participant = writer_qos().liveliness(LivelinessKind::ManualByParticipant, ms(150));
    let quiet = net.writer(0, "Quiet", &by_participant);
    let busy = net.writer(0, "Busy", &writer_qos());
    let lost = Event::LivelinessLost { writer: quiet.guid().entity_id };
    let told = |net: &mut Net| net.take_events(0).iter().filter(|event| **event == lost).count();
    let write = |net: &mut Net| {
        net.write(0, &busy, 1, b"x").expect("no limits");
    };
    write(&mut net);
    net.run(ms(200));
    assert_eq!(told(&mut net), 1);
    // A sign brings it back to life. Before anybody looks, the next silence is over as well.
    write(&mut net);
    net.stand_still(ms(200));
    write(&mut net);
    net.run(ms(10));
    assert_eq!(told(&mut net), 1);
    // It is alive; the next silence goes on until it is looked at and beyond.
    net.run(ms(200));
    assert_eq!(told(&mut net), 1);
    write(&mut net);
    net.stand_still(ms(200));
    net.run(ms(500));
    assert_eq!(told(&mut net), 1, "once, not with each look");
}

#[test]
fn write_of_any_writer_asserts_manual_by_participant_liveliness() {
    let mut net = Net::started(2);
    let by_participant = writer_qos().liveliness(LivelinessKind::ManualByParticipant, ms(150));
    let quiet = net.writer(0, "Quiet", &by_participant);
    let busy = net.writer(0, "Busy", &writer_qos());
    let remote = net.reader(1, "Quiet", &reader_qos());
    let local = net.reader(0, "Quiet", &reader_qos());
    net.run(ms(20));
    for _ in 0..20 {
        net.write(0, &busy, 1, b"x").expect("no limits");
        net.run(ms(50));
    }
    let of_remote = |events: &[Event]| {
        alive_deltas(events).into_iter().filter(|d| d.0 == quiet.guid()).collect::<Vec<_>>()
    };
    assert_eq!(of_remote(&net.take_events(1)), [(quiet.guid(), 1, 0)]);
    let events = net.take_events(0);
    assert_eq!(alive_deltas(&events), [(quiet.guid(), 1, 0)]);
    assert!(!events.contains(&Event::LivelinessLost { writer: quiet.guid().entity_id }));

    net.run(ms(1000));
    assert_eq!(of_remote(&net.take_events(1)), [(quiet.guid(), -1, 1)]);
    let events = net.take_events(0);
    assert_eq!(alive_deltas(&events), [(quiet.guid(), -1, 1)]);
    assert!(events.contains(&Event::LivelinessLost { writer: quiet.guid().entity_id }));

    net.with(0, |participant, now, out| participant.assert_liveliness(now, out));
    net.run(ms(20));
    assert_eq!(of_remote(&net.take_events(1)), [(quiet.guid(), 1, -1)]);
    assert_eq!(alive_deltas(&net.take_events(0)), [(quiet.guid(), 1, -1)]);
    drop((remote, local));
}

#[test]
fn an_automatic_writer_lives_as_long_as_its_participant() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "T", &writer_qos().liveliness(LivelinessKind::Automatic, ms(300)));
    let _reader = net.reader(1, "T", &reader_qos());
    net.settle();
    net.take_events(1);
    net.run(Duration::from_secs(5));
    assert!(alive_deltas(&net.take_events(1)).is_empty());
    net.nodes[0].isolated = true;
    net.run(ms(400));
    assert_eq!(alive_deltas(&net.take_events(1)), [(writer.guid(), -1, 1)]);
    net.nodes[0].isolated = false;
    net.run(ms(400));
    assert_eq!(alive_deltas(&net.take_events(1)), [(writer.guid(), 1, -1)]);
}

#[test]
fn ownership_goes_to_the_strongest_that_is_alive() {
    let mut net = Net::started(3);
    let exclusive = |strength| {
        writer_qos()
            .exclusive()
            .ownership_strength(strength)
            .liveliness(LivelinessKind::ManualByTopic, ms(200))
    };
    let weak = net.writer(0, "T", &exclusive(1));
    let strong = net.writer(1, "T", &exclusive(5));
    let reader = net.reader(2, "T", &reader_qos().exclusive());
    net.settle();
    let round = |net: &mut Net, weak_writes: bool, strong_writes: bool| {
        for _ in 0..5 {
            if strong_writes {
                net.write(1, &strong, 1, b"strength").expect("no limits");
            }
            if weak_writes {
                net.write(0, &weak, 1, b"weak").expect("no limits");
            }
            net.run(ms(60));
        }
        let taken = net.take(2, &reader);
        taken.iter().filter(|s| s.info.valid_data).map(|s| unpack(s).1).collect::<Vec<_>>()
    };
    let all =
        |bodies: &[Vec<u8>], expected: &[u8]| !bodies.is_empty() && bodies.iter().all(|b| b == expected);
    round(&mut net, true, true);
    assert!(all(&round(&mut net, true, true), b"strength"));
    let handover = round(&mut net, true, false);
    assert!(handover.len() < 5 && all(&handover, b"weak"), "weak takes over when the lease of strong ends");
    assert!(all(&round(&mut net, true, false), b"weak"));
    let back = round(&mut net, true, true);
    assert_eq!(back.iter().filter(|body| *body == b"strength").count(), 5);

    // A changed strength reaches the reader through discovery.
    let qos = exclusive(9);
    net.set_writer_qos(0, &weak, qos, Default::default()).expect("changeable");
    net.settle();
    round(&mut net, true, true);
    assert!(all(&round(&mut net, true, true), b"weak"));
}

/// A sample that was kept back for a minimum separation leaves with the next one that is written.
#[test]
fn withheld_samples_that_left_do_not_stay_in_the_history() {
    let mut net = Net::started(2);
    let writer = net.writer(0, "Slow", &writer_qos());
    let reader = net.reader(1, "Slow", &reader_qos().best_effort().time_based_filter(ms(100)));
    net.settle();
    for (key, n) in [(1, 0), (1, 1), (2, 2)] {
        net.write(0, &writer, key, &pattern(n, 4)).expect("no limits");
        net.run(ms(1));
    }
    assert_eq!(writer.acked_by_all(), writer.last_sn());
    assert!(writer.history_len() <= 1, "{} changes", writer.history_len());
    net.run(ms(200));
    assert_eq!(reader.len(), 3);
}

#[test]
fn samples_expire_and_are_filtered_and_purged() {
    let mut net = Net::started(2);
    let mortal = net.writer(0, "Mortal", &writer_qos().lifespan(ms(100)));
    let mortals = net.reader(1, "Mortal", &reader_qos());
    let fast = net.writer(0, "Fast", &writer_qos());
    let slow = net.reader(1, "Fast", &reader_qos().time_based_filter(ms(100)));
    let purging = net.reader(1, "Fast", &reader_qos().autopurge(Duration::INFINITE, ms(50)));
    net.settle();
    net.write(0, &mortal, 1, b"x").expect("no limits");
    net.run(ms(50));
    assert_eq!(mortals.len(), 1);
    net.run(ms(60));
    assert_eq!(mortals.len(), 0);

    for n in 0..10 {
        net.write(0, &fast, 1, &pattern(n, 4)).expect("no limits");
        net.run(ms(10));
    }
    assert_eq!((slow.len(), purging.len()), (1, 10));
    net.take_events(1);
    net.run(ms(100));
    let available = Event::DataAvailable { reader: slow.guid().entity_id };
    assert!(net.take_events(1).contains(&available), "the last one is shown when the separation is over");
    assert_eq!(
        net.take(1, &slow).iter().map(|s| unpack(s).1).collect::<Vec<_>>(),
        [pattern(0, 4), pattern(9, 4)]
    );

    net.change(0, &fast, ChangeKind::Disposed, 1, b"").expect("a known instance");
    net.run(ms(20));
    assert!(!purging.is_empty());
    net.run(ms(60));
    assert!(purging.is_empty());
}

#[test]
fn paced_data_leaves_in_order_at_its_rate() {
    let pacing = Pacing { rate: 1_000_000, burst: 20_000 };
    let mut net = Net::with_tuning(2, &Tuning { pacing: Some(pacing), ..Tuning::default() });
    net.start();
    let writer = net.writer(0, "T", &DataWriterQos::default().best_effort().keep_all());
    let reader = net.reader(1, "T", &DataReaderQos::default().keep_all());
    net.settle();
    for n in 0..20 {
        net.write(0, &writer, 1, &pattern(n, 10_000)).expect("no limits");
    }
    net.run(ms(50));
    assert!(reader.len() < 15, "{} of 200 kB came in 50 ms at 1 MB/s", reader.len());
    net.run(ms(400));
    let bodies: Vec<_> = net.take(1, &reader).iter().map(|sample| unpack(sample).1).collect();
    assert_eq!(bodies, (0..20).map(|n| pattern(n, 10_000)).collect::<Vec<_>>());
}

/// When the last reader goes, what the pacer holds back waits for nobody any more, whoever comes next.
#[test]
fn paced_samples_do_not_stay_in_the_history_when_the_reader_goes() {
    let pacing = Some(Pacing { rate: 10_000, burst: 1500 });
    let mut net = Net::with_tuning(2, &Tuning { pacing, ..Tuning::default() });
    net.start();
    let writer = net.writer(0, "T", &writer_qos().resource_limits(5, -1, -1));
    let _reader = net.reader(1, "T", &reader_qos());
    net.settle();
    for n in 0..5 {
        net.write(0, &writer, 1, &pattern(n, 1000)).expect("room for five");
    }
    assert!(matches!(net.write(0, &writer, 1, b"x"), Err(WriteError::Full { .. })));
    assert!(writer.has_waiting_data(), "the pacer holds something back");
    net.take_events(0);
    let qos = DataWriterQos::clone(&writer.qos());
    for partition in ["elsewhere", ""] {
        let publisher = PublisherQos::default().partition([partition]);
        let qos = qos.clone();
        net.set_writer_qos(0, &writer, qos, publisher).expect("changeable");
        assert_eq!(writer.matched_readers().len(), usize::from(partition.is_empty()));
    }
    assert!(writer.acked_by_all() == writer.last_sn() && !writer.has_waiting_data());
    assert_eq!(writer.history_len(), 0);
    let freed = Event::SpaceFreed { writer: writer.guid().entity_id };
    assert!(net.take_events(0).contains(&freed), "whoever waits for room is told");
    net.write(0, &writer, 1, &pattern(5, 1000)).expect("room again");
    net.settle();
    assert_eq!(writer.history_len(), 0);
}

/// A thread waits for room of its instance; what another one writes, before the timer looks, takes along what was paced.
#[test]
fn a_write_that_frees_history_room_wakes_blocked_writes() {
    let pacing = Some(Pacing { rate: 10_000, burst: 1500 });
    let mut net = Net::with_tuning(2, &Tuning { pacing, ..Tuning::default() });
    net.start();
    let writer = net.writer(0, "T", &writer_qos().resource_limits(-1, -1, 3));
    let _reader = net.reader(1, "T", &reader_qos().best_effort());
    net.settle();
    let refused = (0..10).find_map(|n| net.write(0, &writer, 1, &pattern(n, 1000)).err());
    assert!(matches!(refused, Some(WriteError::Full { .. })), "{refused:?}");
    net.take_events(0);
    net.stand_still(Duration::from_secs(1));
    net.write(0, &writer, 2, b"x").expect("an instance of its own");
    let freed = Event::SpaceFreed { writer: writer.guid().entity_id };
    assert!(net.take_events(0).contains(&freed));
    net.write(0, &writer, 1, b"x").expect("room again");
}

/// How urgent the datagrams of one sample are.
fn classes(net: &mut Net, writer: &dunlin_engine::WriterSlot, len: usize) -> Vec<u8> {
    let payload = sample(1, &pattern(1, len));
    let request =
        WriteRequest { kind: ChangeKind::Alive, instance: instance(1), source_timestamp: None, payload };
    net.with(0, |_, now, out| {
        writer.write(now, request, out).expect("no limits").finish();
        out.outbox.datagrams().map(|datagram| datagram.class()).collect()
    })
}

#[test]
fn the_priority_of_a_writer_marks_its_datagrams_and_changes_at_run_time() {
    let mut net = Net::new(2);
    net.start();
    let qos = DataWriterQos::default().reliable().keep_all();
    let writer = net.writer(0, "T", &qos.clone().transport_priority(46));
    let reader = net.reader(1, "T", &DataReaderQos::default().reliable().keep_all());
    net.settle();
    assert_eq!(classes(&mut net, &writer, 10), [46]);
    assert_eq!(classes(&mut net, &writer, 4_000), [46; 3]);
    for (priority, expected) in [(10, 10), (0, 0)] {
        let qos = DataWriterQos::clone(&writer.qos()).transport_priority(priority);
        net.set_writer_qos(0, &writer, qos, PublisherQos::default()).expect("changeable");
        net.run(ms(10));
        assert_eq!(classes(&mut net, &writer, 10), [expected]);
    }
    net.run(ms(100));
    assert_eq!(reader.len(), 4);
}

#[test]
fn repairs_keep_their_transport_priority() {
    let mut net = Net::new(2);
    net.start();
    let qos = DataWriterQos::default().reliable().keep_all().transport_priority(46);
    let writer = net.writer(0, "T", &qos);
    let reader = net.reader(1, "T", &DataReaderQos::default().reliable().keep_all());
    net.settle();
    net.loss = 300;
    net.classes = Some(Vec::new());
    for _ in 0..40 {
        classes(&mut net, &writer, 4_000);
        net.run(ms(10));
    }
    net.loss = 0;
    net.run(ms(2_000));
    assert_eq!(reader.len(), 40);
    // Nothing else is so long as to carry a piece of a sample.
    let sent = net.classes.take().unwrap_or_default();
    let pieces: Vec<u8> = sent.into_iter().filter(|(len, _)| *len > 1_000).map(|(_, class)| class).collect();
    assert!(pieces.len() > 100, "{} pieces: nothing was repaired", pieces.len());
    assert!(pieces.iter().all(|class| *class == 46), "{pieces:?}");
}

#[test]
fn paced_samples_with_higher_transport_priority_leave_first() {
    let pacing = Pacing { rate: 1_000_000, burst: 5_000 };
    let mut net = Net::with_tuning(2, &Tuning { pacing: Some(pacing), ..Tuning::default() });
    net.start();
    let qos = DataWriterQos::default().best_effort().keep_all();
    let writers = [0, 46, 10].map(|class| net.writer(0, "T", &qos.clone().transport_priority(class)));
    let _reader = net.reader(1, "T", &DataReaderQos::default().keep_all());
    net.settle();
    for writer in &writers {
        classes(&mut net, writer, 50_000);
    }
    net.now = net.now.plus(ms(4));
    let order: Vec<u8> = net.with(0, |participant, now, out| {
        participant.on_timer(now, out);
        out.outbox.datagrams().map(|datagram| datagram.class()).collect()
    });
    assert!(order.is_sorted_by(|a, b| a >= b) && [0, 10, 46].iter().all(|c| order.contains(c)), "{order:?}");
}
