//! DDS to zenoh to DDS: what two of Dunlin's bridges carry.

use std::time::{Duration, Instant};

use dunlin::qos::{DataWriterQos, OwnershipKind};
use dunlin::{DataReader, InstanceState, WallTime, WriteParams};
use dunlin_test_program::{PATIENCE, Place, eventually};
use dunlin_zenoh_bridge::Count;

use crate::support::*;

#[test]
fn identities_times_and_states_survive() {
    let place = Place::new("zenoh-states");
    let port = free_port();
    let _one = bridge(&place, "one", 0, &listening(port));
    let _other = bridge(&place, "other", 1, &connecting(&[port]));
    let writer = writer::<Track>(&place, 0, "States", &live_writer());
    let reader = reader::<Track>(&place, 1, "States", &live_reader());
    matches(&writer);
    let time = WallTime(1_700_000_000_123_456_789);
    let params = WriteParams { source_timestamp: Some(time), ..WriteParams::default() };
    let identity = writer.write_with(&track(7, 1), &params).unwrap();
    let taken = take(&reader, 1);
    assert_eq!(taken[0].data, Some(track(7, 1)));
    assert_eq!(taken[0].info.source_timestamp, time);
    assert_eq!(taken[0].info.original_sample, Some(identity));
    let disposed = writer.dispose_with(&track(7, 0), &WriteParams::default()).unwrap();
    let end = state(&reader, InstanceState::NotAliveDisposed);
    assert_eq!(end.info.original_sample.or(Some(disposed)), Some(disposed));
    writer.write(&track(7, 2)).unwrap();
    assert_eq!(positions(&take(&reader, 1)), [2]);
    writer.unregister_instance_with(&track(7, 0), &WriteParams::default()).unwrap();
    state(&reader, InstanceState::NotAliveNoWriters);
    writer.write(&track(7, 3)).unwrap();
    assert_eq!(positions(&take(&reader, 1)), [3]);
    // The loss of the writer is an end as well.
    drop(writer);
    state(&reader, InstanceState::NotAliveNoWriters);
}

fn owned(qos: DataWriterQos, strength: i32) -> DataWriterQos {
    let mut qos = qos;
    qos.ownership.kind = OwnershipKind::Exclusive;
    qos.ownership_strength.value = strength;
    qos
}

#[test]
fn a_writer_that_takes_the_strength_of_another_one_keeps_its_readers() {
    let place = Place::new("zenoh-strength");
    let port = free_port();
    let one = bridge(&place, "one", 0, &listening(port));
    let other = bridge(&place, "other", 1, &connecting(&[port]));
    let strong = writer::<Track>(&place, 0, "Strength", &owned(live_writer(), 2));
    let weak = writer::<Track>(&place, 0, "Strength", &owned(live_writer(), 1));
    let mut qos = live_reader();
    qos.ownership.kind = OwnershipKind::Exclusive;
    let reader = reader::<Track>(&place, 1, "Strength", &qos);
    // The inputs of both routes.
    for writer in [&strong, &weak] {
        eventually("the writer is read", || writer.matched_subscriptions().len() == 2);
    }
    for position in 0..10 {
        strong.write(&track(1, position)).unwrap();
        assert_eq!(positions(&take(&reader, 1)), [position]);
        weak.write(&track(2, position)).unwrap();
        assert_eq!(positions(&take(&reader, 1)), [position]);
    }
    strong.set_qos(&owned(live_writer(), 1)).unwrap();
    eventually("its former route ends", || one.routes().0 == 1);
    for position in 10..20 {
        for (id, writer) in [(1, &strong), (2, &weak)] {
            writer.write(&track(id, position)).unwrap();
            let data = next_data(&reader, || panic!("{id}: {}; {}", one.counts(), other.counts()));
            assert_eq!(data, track(id, position));
        }
    }
}

/// The next sample with data. Before it, readers may see that the former owner has given the instance up.
fn next_data(reader: &DataReader<Track>, missing: impl Fn()) -> Track {
    let deadline = Instant::now() + PATIENCE;
    loop {
        for sample in reader.take(1).unwrap() {
            match sample.data {
                Some(data) => return data,
                None => assert_eq!(sample.info.instance_state, InstanceState::NotAliveNoWriters),
            }
        }
        if Instant::now() > deadline {
            missing();
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

#[test]
fn bridged_samples_arrive_once_and_in_order() {
    let place = Place::new("zenoh-many");
    let port = free_port();
    let one = bridge(&place, "one", 0, &listening(port));
    let other = bridge(&place, "other", 1, &connecting(&[port]));
    let writer = writer::<Track>(&place, 0, "Many", &live_writer());
    let reader = reader::<Track>(&place, 1, "Many", &live_reader());
    matches(&writer);
    for position in 0..20_000 {
        writer.write(&track(1, position)).unwrap();
    }
    let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| take(&reader, 20_000)));
    let taken = taken.unwrap_or_else(|_| panic!("{}; {}", one.counts(), other.counts()));
    assert!(positions(&taken).into_iter().eq(0..20_000), "{}", other.counts());
    assert_eq!(count(&other, Count::Missed), 0, "{}", other.counts());
}

#[test]
fn late_joiners_behind_the_bridge_get_history_by_instance() {
    let place = Place::new("zenoh-late");
    let port = free_port();
    let one = bridge(&place, "one", 0, &listening(port));
    let _other = bridge(&place, "other", 1, &connecting(&[port]));
    let writer = writer::<Track>(&place, 0, "Late", &kept_writer());
    let early = reader::<Track>(&place, 1, "Late", &kept_reader());
    for position in 0..300 {
        writer.write(&track(position as u32 % 3, position)).unwrap();
    }
    eventually("the last one arrives", || positions(&early.take(usize::MAX).unwrap()).contains(&299));
    // A site that has known nothing of it so far, and a reader of one that has.
    let _third = bridge(&place, "third", 2, &connecting(&[port]));
    for domain in [1, 2] {
        let late = reader::<Track>(&place, domain, "Late", &kept_reader());
        let mut taken = positions(&take(&late, 3));
        taken.sort_unstable();
        assert_eq!(taken, [297, 298, 299], "{}", one.counts());
    }
    writer.write(&track(0, 300)).unwrap();
    assert_eq!(positions(&take(&early, 1)), [300]);
}

#[test]
fn three_bridges_in_a_circle_pass_everything_once() {
    let place = Place::new("zenoh-circle");
    let ports = [free_port(), free_port(), free_port()];
    // Each pair is connected, and two of them are in the same domain.
    let mut bridges = Vec::new();
    for (at, domain) in [0, 1, 1].into_iter().enumerate() {
        let mut links = connecting(&ports[..at]);
        links.listen = vec![endpoint(ports[at])];
        bridges.push(bridge(&place, &format!("b{at}"), domain, &links));
    }
    let here = writer::<Track>(&place, 0, "Circle", &live_writer());
    let there = writer::<Track>(&place, 1, "Circle", &live_writer());
    let readers: Vec<_> = [0, 1]
        .into_iter()
        .map(|domain| reader::<Track>(&place, domain, "Circle", &live_reader().remove_duplicates(true)))
        .collect();
    // Beside the reader of the own domain, the input of each bridge there.
    eventually("the writers are read", || {
        here.matched_subscriptions().len() >= 2 && there.matched_subscriptions().len() >= 3
    });
    for position in 0..200 {
        here.write(&track(1, position)).unwrap();
        there.write(&track(2, position)).unwrap();
    }
    for reader in &readers {
        let taken = take(reader, 400);
        let of = |id| {
            let data = taken.iter().filter_map(|sample| sample.data.as_ref());
            data.filter(move |track| track.id == id).map(|track| track.position)
        };
        assert!(of(1).eq(0..200) && of(2).eq(0..200));
    }
    // One more each: nothing else is on its way.
    here.write(&track(1, 200)).unwrap();
    there.write(&track(2, 200)).unwrap();
    for reader in &readers {
        assert_eq!(positions(&take(reader, 2)), [200, 200]);
    }
    let passed: u64 = bridges.iter().map(|bridge| count(bridge, Count::ToZenoh)).sum();
    // Two bridges read what is written in domain 1.
    assert_eq!(passed, 201 + 2 * 201, "what came from zenoh goes back to it");
}

#[test]
fn bridge_keeps_the_routes_of_many_simultaneous_participants() {
    let place = Place::new("zenoh-crowd");
    let port = free_port();
    let one = bridge(&place, "one", 0, &listening(port));
    let other = bridge(&place, "other", 1, &connecting(&[port]));
    let number = 13;
    let writers: Vec<_> =
        (0..number).map(|it| writer::<Track>(&place, 0, &format!("Crowd{it}"), &kept_writer())).collect();
    let readers: Vec<_> =
        (0..number).map(|it| reader::<Track>(&place, 1, &format!("Crowd{it}"), &kept_reader())).collect();
    for (at, writer) in writers.iter().enumerate() {
        writer.write(&track(1, at as i64)).unwrap();
    }
    for (at, reader) in readers.iter().enumerate() {
        assert_eq!(positions(&take(reader, 1)), [at as i64], "{}; {}", one.counts(), other.counts());
    }
}
