//! EXCLUSIVE ownership (DDS 1.4 §2.2.3.9.2, §2.2.3.10): who owns, and how ownership passes on.

use dunlin_cache::InstanceState::{Alive, NotAliveDisposed, NotAliveNoWriters};
use dunlin_cache::{FilterReason, Insert};
use dunlin_core::Duration;
use dunlin_qos::{DataReaderQos, Deadline, Ownership, OwnershipKind};
use dunlin_rtps::ChangeKind;

use crate::fixture::{Fixture, guid, keep_all, values};

const STORED: Insert = Insert::Stored { new_instance: false };
const NOT_OWNER: Insert = Insert::Filtered(FilterReason::NotOwner);

fn exclusive() -> DataReaderQos {
    DataReaderQos { ownership: Ownership { kind: OwnershipKind::Exclusive }, ..keep_all() }
}

/// Writers 1, 2, 3 of strengths 10, 5, 5.
fn fixture(qos: &DataReaderQos) -> Fixture {
    let mut f = Fixture::new(qos);
    for (writer, strength) in [(1, 10), (2, 5), (3, 5)] {
        f.info[writer].strength = strength;
    }
    f
}

#[test]
fn the_stronger_writer_takes_over_and_weaker_ones_are_dropped() {
    let mut f = fixture(&exclusive());
    assert_eq!(f.write(2, 1, 20), Insert::Stored { new_instance: true });
    assert_eq!(f.owner(1), Some(guid(2)));
    assert_eq!(f.write(1, 1, 10), STORED);
    assert_eq!(f.owner(1), Some(guid(1)));
    assert_eq!(f.write(2, 1, 21), NOT_OWNER);
    assert_eq!(f.write(2, 2, 22), Insert::Stored { new_instance: true });
    assert_eq!(values(&f.take_all()), [20, 10, 22]);
}

#[test]
fn ownership_of_equal_strength_goes_to_the_lowest_guid() {
    let mut f = fixture(&exclusive());
    f.write(3, 1, 30);
    assert_eq!(f.write(2, 1, 20), STORED);
    assert_eq!(f.write(3, 1, 31), NOT_OWNER);
    assert_eq!(f.owner(1), Some(guid(2)));
}

#[test]
fn ownership_passes_on_when_the_owner_is_lost_or_not_alive() {
    let mut f = fixture(&exclusive());
    f.write(1, 1, 10);
    f.write(2, 1, 20);
    f.take_all();
    assert!(!f.cache.writer_not_alive(f.now, guid(1)));
    assert_eq!(f.state(1), Some(Alive));
    assert_eq!(f.write(2, 1, 21), STORED);
    assert!(!f.cache.writer_alive(f.now, guid(1)));
    assert_eq!(f.write(2, 1, 22), NOT_OWNER);
    assert!(!f.lose(1));
    assert_eq!(f.write(2, 1, 23), STORED);
    assert!(f.lose(2));
    assert_eq!((f.state(1), f.owner(1)), (Some(NotAliveNoWriters), None));
    assert_eq!(f.write(3, 1, 30), STORED);
    assert_eq!((f.state(1), f.owner(1)), (Some(Alive), Some(guid(3))));
}

#[test]
fn ownership_passes_on_when_the_owner_unregisters() {
    let mut f = fixture(&exclusive());
    f.write(1, 1, 10);
    f.write(2, 1, 20);
    assert_eq!(f.unregister(1, 1), Insert::Filtered(FilterReason::NoChange));
    assert_eq!(f.state(1), Some(Alive));
    assert_eq!(f.write(2, 1, 21), STORED);
    assert_eq!(values(&f.take_all()), [10, 21]);
}

#[test]
fn ownership_passes_on_when_the_owner_misses_its_deadline() {
    let mut f =
        fixture(&DataReaderQos { deadline: Deadline { period: Duration::from_millis(100) }, ..exclusive() });
    f.write(1, 1, 10);
    f.at(90).write(2, 1, 20);
    assert_eq!(f.at(99).write(2, 1, 21), NOT_OWNER);
    // The owner is late, whether the timer has run or not.
    assert_eq!(f.at(100).write(2, 1, 22), STORED);
    assert_eq!(f.owner(1), Some(guid(2)));
    assert_eq!(f.at(150).write(1, 1, 11), STORED);
    assert_eq!(f.at(160).write(2, 1, 23), NOT_OWNER);
    // A stronger writer that is silent does not keep out a weaker one.
    assert_eq!(f.at(300).write(3, 1, 30), STORED);
    assert_eq!(values(&f.take_all()), [10, 22, 11, 30]);
}

#[test]
fn the_deadline_of_an_instance_follows_its_owner() {
    let mut f =
        fixture(&DataReaderQos { deadline: Deadline { period: Duration::from_millis(100) }, ..exclusive() });
    f.write(1, 1, 10);
    f.at(60).write(2, 1, 20);
    let (missed, _) = f.at(100).missed();
    assert_eq!(missed, [(crate::fixture::handle(1), 1)]);
    f.at(110).write(2, 1, 21);
    assert_eq!(f.at(200).missed().0, []);
    assert_eq!(f.at(210).missed().0.len(), 1);
}

#[test]
fn strength_may_change() {
    let mut f = fixture(&exclusive());
    f.write(1, 1, 10);
    f.write(2, 1, 20);
    f.cache.set_writer_strength(guid(1), 1);
    assert_eq!(f.owner(1), Some(guid(2)));
    f.info[1].strength = 1;
    assert_eq!(f.write(1, 1, 11), NOT_OWNER);
    assert_eq!(f.write(2, 1, 21), STORED);
    f.info[1].strength = 6;
    assert_eq!(f.write(1, 1, 12), STORED);
    // Weaker than before, but still the strongest.
    f.info[1].strength = 5;
    assert_eq!(f.write(1, 1, 13), STORED);
    assert_eq!(values(&f.take_all()), [10, 21, 12, 13]);
}

#[test]
fn only_the_owner_disposes_and_it_stays_the_owner() {
    let deadline = Deadline { period: Duration::from_millis(100) };
    let mut f = fixture(&DataReaderQos { deadline, ..exclusive() });
    f.write(1, 1, 10);
    f.write(2, 1, 20);
    assert_eq!(f.dispose(2, 1), NOT_OWNER);
    assert_eq!(f.state(1), Some(Alive));
    assert!(f.dispose(1, 1).data_available());
    assert_eq!(f.state(1), Some(NotAliveDisposed));
    // No deadline runs for a disposed instance, nor does a new one.
    f.cache.set_deadline(f.now, Duration::from_millis(50));
    assert_eq!(f.at(500).missed().0, []);
    assert_eq!(f.write(2, 1, 21), NOT_OWNER);
    assert_eq!((f.state(1), f.owner(1)), (Some(NotAliveDisposed), Some(guid(1))));
    f.unregister(1, 1);
    assert_eq!(f.write(2, 1, 22), STORED);
    assert_eq!(f.state(1), Some(Alive));
}

#[test]
fn a_weaker_writer_that_disposes_and_unregisters_is_only_unregistered() {
    let mut f = fixture(&exclusive());
    f.write(1, 1, 10);
    f.write(2, 1, 20);
    assert_eq!(f.key_change(ChangeKind::DisposedUnregistered, 2, 1), NOT_OWNER);
    assert_eq!(f.state(1), Some(Alive));
    f.take_all();
    assert!(f.lose(1));
    assert_eq!(f.state(1), Some(NotAliveNoWriters));
}

#[test]
fn a_shared_instance_has_no_owner() {
    let mut f = fixture(&keep_all());
    f.write(1, 1, 10);
    assert_eq!(f.write(2, 1, 20), STORED);
    assert_eq!(f.owner(1), None);
}

#[test]
fn filtered_samples_are_not_seen_but_keep_ownership() {
    const FILTERED: Insert = Insert::Filtered(FilterReason::Content);
    let mut f = fixture(&exclusive());
    assert_eq!(f.write_filtered(1, 1), FILTERED);
    assert_eq!((f.state(1), f.cache.len()), (None, 0), "an unknown instance stays unknown");
    assert_eq!(f.write(2, 1, 20), Insert::Stored { new_instance: true });
    assert_eq!(f.write_filtered(1, 1), FILTERED);
    assert_eq!((f.owner(1), f.write(2, 1, 21)), (Some(guid(1)), NOT_OWNER));
    assert_eq!(f.take_values(), [20]);
    // An instance without writers is not brought back by what cannot be seen.
    f.lose(1);
    assert!(f.lose(2));
    f.read_all();
    assert_eq!((f.write_filtered(3, 1), f.state(1)), (FILTERED, Some(NotAliveNoWriters)));
}
