//! Endpoints that match and unmatch over the network.

use alloc::{string::ToString, vec};

use dunlin_core::Duration;

use super::net::*;

fn started(count: usize) -> Net {
    let mut net = Net::new((0..count).map(config));
    net.start();
    net.run_for(secs(2));
    for node in 0..count {
        net.events(node);
    }
    net
}

#[test]
fn endpoints_match_whichever_comes_first() {
    let mut net = started(3);
    net.add_writer(0, DataWriterQos::default());
    net.run_for(millis(100));
    net.add_reader(1, DataReaderQos::default());
    net.add_reader(2, DataReaderQos::default().reliable());
    net.run_for(millis(100));
    let mut matched = net.events(0);
    matched.sort();
    assert_eq!(matched, ["+reader 1", "+reader 2"]);
    assert_eq!(
        (net.events(1), net.events(2)),
        (vec!["+writer 0".to_string()], vec!["+writer 0".to_string()])
    );
    let remote = net.nodes[1].discovery.writer(guid(0, WRITER)).unwrap();
    assert_eq!((&*remote.unicast, remote.vendor), (&[unicast(0, 7411)][..], VendorId::DUNLIN));
}

#[test]
fn matching_survives_loss() {
    for loss in [100, 200, 300] {
        let mut net = Net::new((0..3).map(patient));
        net.start();
        net.run_for(secs(5));
        net.forget_events();
        net.loss = loss;
        net.add_writer(0, DataWriterQos::default());
        net.add_reader(1, DataReaderQos::default());
        net.add_reader(2, DataReaderQos::default());
        net.run_for(secs(20));
        assert_eq!(net.events(0).iter().filter(|event| event.starts_with('+')).count(), 2, "loss {loss}");
        net.with(0, |d, now, out, fx| d.remove_writer(now, WRITER, out, fx));
        net.run_for(secs(20));
        for node in [1, 2] {
            assert_eq!(net.events(node).last().map(|event| event.as_str()), Some("-writer 0"), "loss {loss}");
        }
    }
}

#[test]
fn late_participants_get_sedp_of_current_endpoints_only() {
    let mut net = Net::new((0..2).map(config));
    net.with(0, |d, now, out, _| d.start(now, out));
    net.add_writer(0, DataWriterQos::default());
    net.with(0, |d, now, out, fx| d.remove_writer(now, WRITER, out, fx));
    net.add_reader(0, DataReaderQos::default());
    net.run_for(secs(30));
    net.add_writer(1, DataWriterQos::default());
    net.add_reader(1, DataReaderQos::default());
    net.events(1);
    net.with(1, |d, now, out, _| d.start(now, out));
    net.run_for(secs(1));
    assert_eq!(net.events(1), ["+participant 0", "+reader 0"]);
}

#[test]
fn removal_unmatches() {
    let mut net = started(2);
    net.add_writer(0, DataWriterQos::default());
    net.add_reader(1, DataReaderQos::default());
    net.run_for(millis(100));
    net.forget_events();
    net.with(1, |d, now, out, fx| d.remove_reader(now, READER, out, fx));
    assert_eq!(net.events(1), ["-writer 0"]);
    net.run_for(millis(100));
    assert_eq!(net.events(0), ["-reader 1"]);
    assert_eq!(net.nodes[0].discovery.readers().count(), 0);
    // The same reader may come back.
    net.add_reader(1, DataReaderQos::default());
    net.run_for(millis(100));
    assert_eq!(net.events(0), ["+reader 1"]);
}

#[test]
fn changed_qos_is_judged_anew_on_both_sides() {
    let mut net = started(2);
    net.add_writer(0, DataWriterQos::default());
    net.add_reader(1, DataReaderQos::default());
    net.run_for(millis(100));
    net.forget_events();
    let second = Duration::from_secs(1);
    net.add_reader(1, DataReaderQos::default().deadline(second));
    assert_eq!(net.events(1), ["-writer 0", "incompatible 0 DEADLINE"]);
    net.run_for(millis(100));
    assert_eq!(net.events(0), ["-reader 1", "incompatible 1 DEADLINE"]);
    net.add_writer(0, DataWriterQos::default().deadline(second));
    net.run_for(millis(100));
    assert_eq!(
        (net.events(0), net.events(1)),
        (vec!["+reader 1".to_string()], vec!["+writer 0".to_string()])
    );
    let elsewhere = LocalWriter {
        publisher_qos: PublisherQos::default().partition(["elsewhere"]),
        ..local_writer(DataWriterQos::default().deadline(second))
    };
    net.with(0, |d, now, out, fx| d.add_writer(now, elsewhere, out, fx)).unwrap();
    net.run_for(millis(100));
    assert_eq!(
        (net.events(0), net.events(1)),
        (vec!["-reader 1".to_string()], vec!["-writer 0".to_string()])
    );
    net.add_writer(0, DataWriterQos::default().deadline(second).user_data([1]));
    net.run_for(millis(100));
    net.events(1);
    net.add_writer(0, DataWriterQos::default().deadline(second).user_data([2]));
    net.run_for(millis(100));
    assert_eq!(net.events(1), ["~writer 0"]);
}

#[test]
fn mismatches_are_reported_on_both_sides() {
    let mut net = started(3);
    net.add_writer(0, DataWriterQos::default().best_effort());
    net.add_reader(1, DataReaderQos::default().reliable().transient_local());
    let other = LocalReader { type_name: "Other".to_string(), ..local_reader(DataReaderQos::default()) };
    net.with(2, |d, now, out, fx| d.add_reader(now, other, out, fx)).unwrap();
    net.run_for(secs(1));
    let mut events = net.events(0);
    events.sort();
    assert_eq!(events, ["incompatible 1 DURABILITY,RELIABILITY", "inconsistent 2"]);
    assert_eq!(net.events(1), ["incompatible 0 DURABILITY,RELIABILITY"]);
    assert_eq!(net.events(2), ["inconsistent 0"]);
}

#[test]
fn endpoints_beyond_the_quota_are_refused() {
    let mut small = config(0);
    small.quotas.max_endpoints_per_participant = 2;
    let mut net = Net::new([small, config(1)]);
    net.start();
    for key in 1..=5 {
        let writer =
            LocalWriter { entity_id: EntityId([0, 0, key, 2]), ..local_writer(DataWriterQos::default()) };
        net.with(1, |d, now, out, fx| d.add_writer(now, writer, out, fx)).unwrap();
    }
    net.run_for(secs(2));
    let discovery = &net.nodes[0].discovery;
    assert_eq!((discovery.writers().count(), discovery.stats().endpoints_refused), (2, 3));
    // A place that becomes free can be taken.
    net.with(1, |d, now, out, fx| d.remove_writer(now, EntityId([0, 0, 1, 2]), out, fx));
    net.run_for(secs(1));
    net.add_reader(1, DataReaderQos::default());
    net.run_for(secs(1));
    let discovery = &net.nodes[0].discovery;
    assert_eq!((discovery.writers().count(), discovery.readers().count()), (1, 1));
}

#[test]
fn octets_beyond_the_quota_are_refused() {
    let mut small = config(0);
    small.quotas.max_octets_per_participant = 3_000;
    let mut net = Net::new([small, config(1)]);
    net.start();
    net.add_writer(1, DataWriterQos::default().user_data(vec![0; 2_000]));
    net.add_reader(1, DataReaderQos::default().user_data(vec![0; 2_000]));
    net.run_for(secs(2));
    let discovery = &net.nodes[0].discovery;
    assert_eq!(discovery.writers().count() + discovery.readers().count(), 1);
    assert_eq!(discovery.stats().endpoints_refused, 1);
}

#[test]
fn large_announcements_arrive() {
    let mut net = started(2);
    net.loss = 50;
    net.add_writer(0, DataWriterQos::default().user_data(vec![7; 16_000]));
    net.add_reader(1, DataReaderQos::default());
    net.run_for(secs(10));
    assert_eq!(net.events(1), ["+writer 0"]);
    let remote = net.nodes[1].discovery.writer(guid(0, WRITER)).unwrap();
    assert_eq!(remote.qos.user_data.0, vec![7; 16_000]);
}

#[test]
fn ignored_endpoints_unmatch_for_good() {
    let mut net = started(2);
    net.add_writer(0, DataWriterQos::default());
    net.add_reader(1, DataReaderQos::default());
    net.run_for(secs(1));
    net.events(1);
    net.with(1, |d, _, _, fx| d.ignore_endpoint(guid(0, WRITER), fx));
    net.add_writer(0, DataWriterQos::default().user_data([1]));
    net.run_for(secs(1));
    assert_eq!(net.events(1), ["-writer 0"]);
}

#[test]
fn names_that_cannot_be_announced_are_refused() {
    let mut net = started(1);
    for name in ["", "a\0b", &"x".repeat(257)] {
        let writer = LocalWriter { topic_name: name.to_string(), ..local_writer(DataWriterQos::default()) };
        assert_eq!(net.with(0, |d, now, out, fx| d.add_writer(now, writer, out, fx)), Err(InvalidName));
        let reader = LocalReader { type_name: name.to_string(), ..local_reader(DataReaderQos::default()) };
        assert_eq!(net.with(0, |d, now, out, fx| d.add_reader(now, reader, out, fx)), Err(InvalidName));
    }
}

#[test]
fn automatic_liveliness_is_asserted_within_the_lease() {
    let mut net = started(2);
    let qos = DataWriterQos::default().liveliness(LivelinessKind::Automatic, Duration::from_millis(300));
    net.add_writer(0, qos);
    net.run_for(secs(3));
    let asserted = net.events(1).iter().filter(|event| *event == "asserted 0 AUTOMATIC").count();
    assert!((28..=31).contains(&asserted), "{asserted}");
    net.with(0, |d, now, out, fx| d.remove_writer(now, WRITER, out, fx));
    net.run_for(millis(100));
    net.events(1);
    net.run_for(secs(3));
    assert_eq!(net.events(1), [""; 0]);
}

#[test]
fn manual_liveliness_is_asserted_on_demand() {
    let mut net = started(2);
    let qos =
        DataWriterQos::default().liveliness(LivelinessKind::ManualByParticipant, Duration::from_millis(300));
    net.add_writer(0, qos);
    net.run_for(secs(1));
    assert_eq!(net.events(1), [""; 0]);
    for _ in 0..10 {
        net.with(0, |d, now, out, _| d.assert_liveliness(now, out));
        net.run_for(millis(10));
    }
    net.run_for(secs(1));
    let asserted = net.events(1);
    assert_eq!(asserted, ["asserted 0 MANUAL_BY_PARTICIPANT"; 2], "at once and when the period has passed");
}
