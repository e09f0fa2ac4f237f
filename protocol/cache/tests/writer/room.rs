//! What goes, what blocks and what is refused (DDS 1.4 §2.2.3.14, §2.2.3.18, §2.2.3.19; §2.2.2.4.2.11).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin_buf::{Memory, SharedBytes};
use dunlin_cache::AddError::{OutOfResources, WaitForAck};
use dunlin_cache::NewChange;
use dunlin_core::{Duration, SequenceNumber};
use dunlin_qos::{DataWriterQos, Lifespan};
use dunlin_rtps::{ChangeKind, WriterHistory};

use crate::fixture::{Fixture, best_effort, handle, keep_all, keep_last, limited, transient};

#[test]
fn reliable_keep_last_replaces_the_oldest_sample_even_if_unacked() {
    let mut f = Fixture::new(&keep_last(2));
    for instance in [1, 2, 1, 1, 1] {
        f.write(instance).unwrap();
    }
    assert_eq!(f.present(), [2, 4, 5]);
}

#[test]
fn full_keep_last_instance_may_drop_an_unsent_sample() {
    let mut f = Fixture::new(&keep_last(2));
    for instance in [1, 1, 2] {
        f.write(instance).unwrap();
    }
    let may = |f: &Fixture, instance, sent| f.cache.may_drop_after(handle(instance), SequenceNumber(sent));
    assert!(may(&f, 1, 1), "it is full, and the second is to be sent");
    assert!(!may(&f, 1, 2), "it is full, and both were sent");
    assert!(!may(&f, 2, 2), "it has room, although its sample is to be sent");
    assert!(!may(&f, 3, 0), "it is new");
    let all = Fixture::new(&keep_all());
    assert!(!may(&all, 1, 0), "nothing is dropped");
}

#[test]
fn volatile_changes_go_once_acknowledged() {
    for qos in [keep_last(5), keep_all()] {
        let mut f = Fixture::new(&qos);
        for instance in [1, 2, 1, 2] {
            f.write(instance).unwrap();
        }
        assert_eq!(f.ack(3), 3);
        assert_eq!(f.present(), [4]);
        assert_eq!(f.cache.instance_count(), 2);
    }
}

#[test]
fn transient_local_changes_stay_for_late_joiners() {
    let mut f = Fixture::new(&transient(keep_last(1)));
    for instance in [1, 2, 1] {
        f.write(instance).unwrap();
    }
    assert_eq!(f.ack(3), 0);
    assert_eq!(f.present(), [2, 3]);
    let mut all = Fixture::new(&transient(keep_all()));
    for instance in [1, 2, 1] {
        all.write(instance).unwrap();
    }
    all.ack(3);
    assert_eq!(all.present(), [1, 2, 3]);
}

#[test]
fn room_can_be_asked_for_before_there_is_a_sample() {
    let room = |f: &mut Fixture| f.cache.make_room_for(handle(1), SequenceNumber(f.acked));
    let mut f = Fixture::new(&limited(keep_all(), 2, -1, -1));
    for _ in 0..2 {
        assert_eq!(room(&mut f), Ok(()));
        f.write(1).unwrap();
    }
    assert_eq!(room(&mut f), Err(WaitForAck));
    assert_eq!(f.present(), [1, 2]);
    f.acked = 1;
    assert_eq!(room(&mut f), Ok(()));
    assert_eq!(f.write(1), Ok(3));
    let mut last = Fixture::new(&keep_last(1));
    last.write(1).unwrap();
    assert_eq!(room(&mut last), Ok(()));
    assert_eq!(last.present(), [1], "only a sample replaces a sample");
}

#[test]
fn reliable_keep_all_waits_for_acknowledgements() {
    let mut f = Fixture::new(&limited(keep_all(), 3, -1, 2));
    f.write(1).unwrap();
    f.write(1).unwrap();
    assert_eq!(f.write(1), Err(WaitForAck));
    f.write(2).unwrap();
    assert_eq!(f.write(2), Err(WaitForAck));
    assert_eq!(f.write(3), Err(WaitForAck));
    assert_eq!(f.present(), [1, 2, 3]);
    f.acked = 1;
    assert_eq!(f.write(1), Ok(4));
    assert_eq!(f.present(), [2, 3, 4]);
    assert_eq!(f.write(2), Err(WaitForAck));
}

#[test]
fn best_effort_never_waits() {
    let mut f = Fixture::new(&best_effort(limited(keep_all(), 3, -1, 2)));
    for (instance, present) in
        [(1, vec![1]), (1, vec![1, 2]), (1, vec![2, 3]), (2, vec![2, 3, 4]), (3, vec![3, 4, 5])]
    {
        f.write(instance).unwrap();
        assert_eq!(f.present(), present);
    }
    let mut last = Fixture::new(&best_effort(limited(keep_last(2), 2, -1, 2)));
    for instance in [1, 2, 3] {
        last.write(instance).unwrap();
    }
    assert_eq!(last.present(), [2, 3]);
}

#[test]
fn best_effort_reuses_the_place_of_unregistered_instances_only() {
    let mut f = Fixture::new(&best_effort(limited(keep_last(1), -1, 2, -1)));
    f.write(1).unwrap();
    f.write(2).unwrap();
    assert_eq!(f.write(3), Err(OutOfResources));
    f.unregister(1).unwrap();
    assert_eq!(f.write(3), Ok(4));
    assert_eq!(f.present(), [2, 4]);
}

#[test]
fn keep_last_makes_room_in_other_instances_but_leaves_each_one_sample() {
    let mut f = Fixture::new(&limited(keep_last(2), 4, -1, 2));
    for instance in [1, 1, 2, 2] {
        f.write(instance).unwrap();
    }
    f.write(3).unwrap();
    assert_eq!(f.present(), [2, 3, 4, 5]);
    f.write(4).unwrap();
    assert_eq!(f.present(), [2, 4, 5, 6]);
    assert_eq!(f.write(5), Err(WaitForAck));
    assert_eq!(f.write(1), Err(WaitForAck), "below its depth, so nothing of its own goes");
    f.acked = 2;
    assert_eq!(f.write(5), Ok(7));
    assert_eq!(f.present(), [4, 5, 6, 7]);
}

#[test]
fn keep_last_prefers_to_drop_what_is_acknowledged() {
    let mut f = Fixture::new(&transient(limited(keep_last(2), 4, -1, 2)));
    for instance in [1, 2, 2, 1] {
        f.write(instance).unwrap();
    }
    // Instance 2 became crowded first, but the oldest of instance 1 is acknowledged.
    f.acked = 1;
    f.write(3).unwrap();
    assert_eq!(f.present(), [2, 3, 4, 5]);
}

#[test]
fn transient_local_history_that_is_full_for_good_is_out_of_resources() {
    let mut last = Fixture::new(&transient(limited(keep_last(1), 2, -1, 1)));
    last.write(1).unwrap();
    last.write(2).unwrap();
    assert_eq!(last.write(3), Err(OutOfResources));
    assert_eq!(last.write(2), Ok(3));
    let mut all = Fixture::new(&transient(limited(keep_all(), 3, -1, 2)));
    all.write(1).unwrap();
    all.write(1).unwrap();
    assert_eq!(all.write(1), Err(OutOfResources));
    all.write(2).unwrap();
    all.ack(3);
    assert_eq!(all.write(2), Err(OutOfResources));
}

#[test]
fn transient_local_samples_that_expire_are_worth_waiting_for() {
    let lifespan = Lifespan { duration: Duration::from_millis(10) };
    let mut f = Fixture::new(&DataWriterQos { lifespan, ..transient(limited(keep_all(), 2, -1, 1)) });
    f.write(1).unwrap();
    assert_eq!(f.write(1), Err(WaitForAck));
    f.write(2).unwrap();
    assert_eq!(f.write(3), Err(WaitForAck));
    f.at(10).missed();
    assert_eq!(f.write(1), Ok(3));
}

#[test]
fn disposed_instances_make_room_once_everybody_knows() {
    let mut f = Fixture::new(&transient(limited(keep_all(), 3, -1, -1)));
    f.write(1).unwrap();
    f.write(2).unwrap();
    f.dispose(1).unwrap();
    assert_eq!(f.write(2), Err(WaitForAck));
    f.acked = 3;
    assert_eq!(f.write(2), Ok(4));
    assert_eq!(f.present(), [2, 4]);
    assert!(f.cache.is_registered(crate::fixture::handle(1)));
    // The same within one instance.
    let mut one = Fixture::new(&transient(limited(keep_all(), -1, -1, 2)));
    one.write(1).unwrap();
    one.dispose(1).unwrap();
    assert_eq!(one.write(1), Err(WaitForAck));
    one.acked = 2;
    assert_eq!(one.write(1), Ok(3));
    assert_eq!(one.present(), [3]);
}

#[test]
fn a_full_history_can_still_dispose_and_unregister() {
    let mut f = Fixture::new(&transient(limited(keep_all(), 2, 2, 1)));
    f.write(1).unwrap();
    f.write(2).unwrap();
    f.ack(2);
    assert_eq!(f.write(1), Err(OutOfResources));
    assert_eq!(f.dispose(1), Ok(3));
    assert_eq!(f.unregister(2), Ok(4));
    assert_eq!(f.present(), [1, 2, 3, 4]);
    f.register(2).unwrap();
    assert_eq!(f.unregister(2), Err(WaitForAck), "readers know it as unregistered");
    assert_eq!(f.unregister(1), Err(WaitForAck));
    f.ack(4);
    assert_eq!(f.unregister(1), Ok(5));
    f.ack(5);
    assert_eq!(f.cache.instance_count(), 1);
}

#[test]
fn an_unregistered_instance_keeps_its_last_value_until_room_is_needed() {
    let mut f = Fixture::new(&transient(limited(keep_last(1), 2, -1, 1)));
    f.write(1).unwrap();
    f.unregister(1).unwrap();
    f.ack(2);
    assert_eq!(f.present(), [1, 2]);
    assert_eq!(f.write(2), Ok(3));
    assert_eq!(f.present(), [3]);
}

#[test]
fn instances_have_a_limit() {
    let mut f = Fixture::new(&limited(keep_all(), -1, 2, -1));
    f.write(1).unwrap();
    f.register(2).unwrap();
    assert_eq!(f.register(3), Err(OutOfResources));
    assert_eq!(f.write(3), Err(OutOfResources));
    f.unregister(1).unwrap();
    assert_eq!(f.write(3), Err(WaitForAck));
    f.acked = 2;
    assert_eq!(f.write(3), Ok(3));
    assert_eq!(f.register(1), Err(OutOfResources));
}

#[test]
fn a_failed_add_takes_no_sequence_number() {
    let mut f = Fixture::new(&limited(keep_all(), 1, -1, -1));
    f.write(1).unwrap();
    assert_eq!(f.write(1), Err(WaitForAck));
    f.acked = 1;
    assert_eq!(f.write(1), Ok(2));
}

/// Memory of several processes, of which one may cut the file short.
struct Lent(Arc<AtomicBool>);

impl Memory for Lent {
    fn octets(&self) -> &[u8] {
        &[0, 1, 0, 0, 1]
    }

    fn is_intact(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_sample_whose_lent_memory_was_cut_is_gone_from_the_history() {
    let (mut f, intact) = (Fixture::new(&keep_all()), Arc::new(AtomicBool::new(true)));
    f.write(1).unwrap();
    let lent = NewChange {
        kind: ChangeKind::Alive,
        instance: handle(1),
        source_timestamp: f.now.wall,
        payload: Some(SharedBytes::lent(Box::new(Lent(Arc::clone(&intact))))),
        inline_qos: None,
    };
    f.cache.add(f.now, lent, SequenceNumber::ZERO).unwrap();
    f.write(1).unwrap();
    let there = |f: &Fixture| [1, 2, 3].map(|sn| f.cache.get(SequenceNumber(sn)).is_some());
    assert_eq!(there(&f), [true; 3]);
    intact.store(false, Ordering::Relaxed);
    assert_eq!(there(&f), [true, false, true]);
}
