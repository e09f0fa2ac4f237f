//! HISTORY and RESOURCE_LIMITS (DDS 1.4 §2.2.3.18, §2.2.3.19; §2.2.4.1 SAMPLE_REJECTED).

use dunlin_cache::RejectReason::{InstancesLimit, SamplesLimit, SamplesPerInstanceLimit};
use dunlin_cache::{FilterReason, Insert, Room, Selection};
use dunlin_core::Duration;
use dunlin_qos::{DataReaderQos, Reliability, TimeBasedFilter};
use dunlin_rtps::Delivery;

use crate::fixture::{Fixture, handle, keep_all, keep_last, limits, values};

fn reliable(qos: DataReaderQos) -> DataReaderQos {
    DataReaderQos { reliability: Reliability::RELIABLE, ..qos }
}

#[test]
fn keep_last_keeps_the_newest_of_each_instance() {
    let mut f = Fixture::new(&keep_last(2));
    f.write(1, 1, 1);
    f.write(1, 2, 2);
    assert_eq!(f.write(1, 1, 3), Insert::Stored { new_instance: false });
    assert_eq!(f.write(1, 1, 4), Insert::Replaced);
    f.read_all();
    assert_eq!(f.write(1, 1, 5), Insert::Replaced);
    assert_eq!(f.take_values(), [2, 4, 5]);
}

/// Samples that are shown together need room together (a coherent set).
#[test]
fn room_for_a_coherent_set_follows_history_and_resource_limits() {
    let room = |f: &mut Fixture, instances: &[u8]| {
        f.cache.room_for(&instances.iter().map(|instance| handle(*instance)).collect::<Vec<_>>(), 0)
    };
    let mut f = Fixture::new(&reliable(DataReaderQos { resource_limits: limits(3, 2, 2), ..keep_all() }));
    assert_eq!(room(&mut f, &[1, 1, 2]), Room::Now);
    assert_eq!(room(&mut f, &[1, 1, 1]), Room::Never, "three of one instance");
    assert_eq!(room(&mut f, &[1, 1, 2, 2]), Room::Never, "four samples");
    assert_eq!(room(&mut f, &[1, 2, 3]), Room::Never, "three instances");
    f.write(1, 1, 1);
    assert_eq!(room(&mut f, &[1, 2]), Room::Now);
    assert_eq!(room(&mut f, &[1, 1]), Room::Later, "with the one that is there three of one instance");
    assert_eq!(room(&mut f, &[2, 2, 1]), Room::Later, "with the one that is there four samples");
    f.take_all();
    assert_eq!(room(&mut f, &[1, 1]), Room::Now);
    let mut last =
        Fixture::new(&reliable(DataReaderQos { resource_limits: limits(3, 2, -1), ..keep_last(1) }));
    assert_eq!(room(&mut last, &[1, 1, 1, 2]), Room::Now, "one is kept of each");
    last.write(1, 1, 1);
    assert_eq!(room(&mut last, &[1, 1, 2]), Room::Now, "it replaces what is there");
}

#[test]
fn keep_all_rejects_by_the_limit_that_is_hit() {
    let mut f = Fixture::new(&reliable(DataReaderQos { resource_limits: limits(3, 2, 2), ..keep_all() }));
    f.write(1, 1, 1);
    f.write(1, 1, 2);
    assert_eq!(f.write(1, 1, 3), Insert::Rejected(SamplesPerInstanceLimit));
    assert_eq!(f.write(1, 2, 4), Insert::Stored { new_instance: true });
    assert_eq!(f.write(1, 2, 5), Insert::Rejected(SamplesLimit));
    let rejected = f.write(1, 3, 6);
    assert_eq!(rejected, Insert::Rejected(InstancesLimit));
    assert_eq!((rejected.delivery(), rejected.reject_reason()), (Delivery::Rejected, Some(InstancesLimit)));
    assert!(!rejected.data_available());
    // Reading makes no room, taking does.
    f.read_all();
    assert_eq!(f.write(1, 1, 7), Insert::Rejected(SamplesPerInstanceLimit));
    assert_eq!(f.take_values(), [1, 2, 4]);
    assert_eq!(f.write(1, 1, 7), Insert::Stored { new_instance: false });
    // The instance is kept by its writer, so a third one has no place yet.
    assert_eq!(f.write(1, 3, 8), Insert::Rejected(InstancesLimit));
    f.unregister(1, 2);
    f.take_all();
    assert_eq!(f.write(1, 3, 8), Insert::Stored { new_instance: true });
}

#[test]
fn best_effort_drops_what_has_no_room() {
    let mut f = Fixture::new(&DataReaderQos { resource_limits: limits(1, 1, 1), ..keep_all() });
    f.write(1, 1, 1);
    let dropped = f.write(1, 1, 2);
    assert_eq!(dropped, Insert::Dropped(SamplesPerInstanceLimit));
    assert_eq!(
        (dropped.delivery(), dropped.reject_reason()),
        (Delivery::Dropped, Some(SamplesPerInstanceLimit))
    );
}

#[test]
fn keep_last_rejects_only_what_replaces_nothing() {
    let mut f = Fixture::new(&reliable(DataReaderQos { resource_limits: limits(2, -1, -1), ..keep_last(1) }));
    f.write(1, 1, 1);
    f.write(1, 2, 2);
    assert_eq!(f.write(1, 3, 3), Insert::Rejected(SamplesLimit));
    assert_eq!(f.write(1, 2, 4), Insert::Replaced);
    assert_eq!(f.take_values(), [1, 4]);
}

#[test]
fn samples_without_data_do_not_count() {
    let mut f = Fixture::new(&reliable(DataReaderQos { resource_limits: limits(2, -1, 1), ..keep_all() }));
    f.write(1, 1, 1);
    f.read_all();
    assert!(f.dispose(1, 1).data_available());
    assert!(f.dispose(1, 2).data_available());
    assert_eq!(f.cache.len(), 3);
    assert_eq!(f.write(1, 3, 3), Insert::Stored { new_instance: true });
    assert_eq!(f.write(1, 2, 4), Insert::Rejected(SamplesLimit));
    assert_eq!(f.write(1, 1, 5), Insert::Rejected(SamplesPerInstanceLimit));
    assert_eq!(f.take_values(), [1, 0, 0, 3]);
}

#[test]
fn a_disposal_without_room_for_its_instance_is_dropped() {
    let mut f = Fixture::new(&reliable(DataReaderQos { resource_limits: limits(-1, 1, -1), ..keep_all() }));
    f.write(1, 1, 1);
    assert_eq!(f.dispose(1, 2), Insert::Filtered(FilterReason::UnknownInstance));
}

#[test]
fn a_rejected_sample_leaves_no_trace() {
    let mut f = Fixture::new(&reliable(DataReaderQos { resource_limits: limits(1, -1, -1), ..keep_all() }));
    f.write(1, 1, 1);
    assert_eq!(f.write(2, 1, 2), Insert::Rejected(SamplesLimit));
    assert_eq!(f.write(2, 2, 2), Insert::Rejected(SamplesLimit));
    assert_eq!(f.cache.instance_count(), 1);
    f.take_all();
    assert!(f.lose(1), "writer 2 never registered the instance");
}

#[test]
fn samples_held_by_the_time_based_filter_take_room() {
    let mut qos = reliable(DataReaderQos { resource_limits: limits(2, -1, -1), ..keep_all() });
    qos.time_based_filter = TimeBasedFilter { minimum_separation: Duration::from_millis(10) };
    let mut f = Fixture::new(&qos);
    f.write(1, 1, 1);
    assert_eq!(f.write(1, 1, 2), Insert::Filtered(FilterReason::Separation));
    assert_eq!(f.write(1, 2, 3), Insert::Rejected(SamplesLimit));
    // A newer one takes the place of the one held back.
    assert_eq!(f.write(1, 1, 4), Insert::Filtered(FilterReason::Separation));
    assert!(f.at(10).timer().data_available);
    assert_eq!(f.take_values(), [1, 4]);
}

#[test]
fn evicted_samples_stay_valid_for_whoever_took_them() {
    let mut f = Fixture::new(&keep_last(1));
    f.write(1, 1, 1);
    let loan = f.read(&Selection::default());
    f.write(1, 1, 2);
    f.take_all();
    assert_eq!(values(&loan), [1]);
}
