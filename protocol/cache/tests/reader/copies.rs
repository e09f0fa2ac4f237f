//! Changes that came by another way already (RTPS 2.5 §9.6.4 PID_ORIGINAL_WRITER_INFO) say that their writer offers the instance
//! too (DDS 1.4 §2.2.2.5.1.3), or no longer does.

use dunlin_cache::{FilterReason, Insert, InstanceState};
use dunlin_core::Duration;
use dunlin_qos::{DataReaderQos, OwnershipKind};
use dunlin_rtps::ChangeKind;

use crate::fixture::*;

const NOTHING: Insert = Insert::Filtered(FilterReason::NoChange);

#[test]
fn an_instance_lives_as_long_as_one_of_those_that_offer_it() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 1);
    assert_eq!(f.copy(ChangeKind::Alive, 2, 1), NOTHING);
    assert_eq!(f.take_values(), [1]);
    assert!(!f.lose(1));
    assert_eq!(f.state(1), Some(InstanceState::Alive));
    assert!(f.lose(2));
    assert!(f.state(1).is_none_or(|state| state == InstanceState::NotAliveNoWriters));
}

#[test]
fn unregistration_by_a_copy_counts_for_its_original_writer() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 1);
    f.unregister(2, 1);
    assert_eq!(f.state(1), Some(InstanceState::Alive), "the second never offered it");
    assert_eq!(f.copy(ChangeKind::Unregistered, 1, 1), Insert::StateChanged { new_instance: false });
    assert_eq!(f.state(1), Some(InstanceState::NotAliveNoWriters));
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 1);
    f.copy(ChangeKind::Alive, 2, 1);
    f.key_change(ChangeKind::DisposedUnregistered, 2, 1);
    f.take_all();
    assert_eq!(f.cache.instance_count(), 1);
    f.copy(ChangeKind::DisposedUnregistered, 1, 1);
    assert_eq!(f.cache.instance_count(), 0, "nobody needs it any more");
}

#[test]
fn copies_revive_nothing_and_make_nothing_known() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 1);
    f.lose(1);
    for kind in [ChangeKind::Alive, ChangeKind::Disposed] {
        assert_eq!(f.copy(kind, 2, 1), NOTHING);
        assert_eq!(f.state(1), Some(InstanceState::NotAliveNoWriters));
        assert_eq!(f.copy(kind, 2, 7), Insert::Filtered(FilterReason::UnknownInstance));
    }
    assert_eq!(f.cache.instance_count(), 1);
}

/// A late reader has a sample from a service first.
#[test]
fn the_strongest_writer_owns_an_instance_first_received_as_a_copy() {
    let mut qos: DataReaderQos = keep_all();
    qos.ownership.kind = OwnershipKind::Exclusive;
    qos.deadline.period = Duration::INFINITE;
    let mut f = Fixture::new(&qos);
    (f.info[1].strength, f.info[2].strength, f.info[3].strength) = (10, 5, i32::MIN);
    f.write(3, 1, 1);
    f.copy(ChangeKind::Alive, 1, 1);
    assert_eq!(f.owner(1), Some(guid(1)));
    f.write(2, 1, 2);
    assert_eq!(f.take_values(), [1], "weaker than the owner");
}
