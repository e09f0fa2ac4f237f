//! What writers of other participants may make a reader keep where RESOURCE_LIMITS say nothing (DDS 1.4 §2.2.3.19).

use std::sync::Arc;

use dunlin_cache::RejectReason::{InstancesLimit, SamplesLimit};
use dunlin_cache::{FilterReason, Insert, OctetBudget, Quota, ReaderCache, ReaderCacheConfig, Room};
use dunlin_core::GuidPrefix;
use dunlin_qos::{DataReaderQos, Presentation, ReliabilityKind};
use dunlin_rtps::ChangeKind;

use crate::fixture::*;

const OCTETS: usize = 3_000;

/// Writer 0 is of the reader's participant.
fn with_quota(qos: &DataReaderQos, max_instances: usize, octets: &Arc<OctetBudget>) -> Fixture {
    let config = ReaderCacheConfig::from_qos(qos, Presentation::default(), true);
    let quota = Quota {
        own: GuidPrefix([0; 12]),
        max_instances: Some(max_instances),
        octets: Some(Arc::clone(octets)),
    };
    let mut f = Fixture::new(qos);
    f.cache = ReaderCache::with_quota(config, quota);
    f
}

fn reliable(mut qos: DataReaderQos) -> DataReaderQos {
    qos.reliability.kind = ReliabilityKind::Reliable;
    qos
}

fn budget() -> Arc<OctetBudget> {
    Arc::new(OctetBudget::new(OCTETS))
}

/// How many samples of an instance are stored until one is rejected, which says why.
fn filled(f: &mut Fixture, writer: u8, instance: u8) -> usize {
    for count in 0..OCTETS {
        match f.write(writer, instance, 1) {
            Insert::Rejected(reason) => {
                assert_eq!((reason, f.cache.is_refused_by_quota()), (SamplesLimit, true));
                assert!(f.cache.take_crowded() && !f.cache.take_crowded());
                return count;
            }
            insert => assert!(matches!(insert, Insert::Stored { .. }), "{insert:?}"),
        }
    }
    panic!("never full")
}

#[test]
fn instances_of_others_have_a_quota_and_own_ones_none() {
    let mut f = with_quota(&reliable(keep_all()), 2, &budget());
    assert!(f.write(1, 1, 1).new_instance() && f.write(2, 2, 1).new_instance());
    assert_eq!(f.write(1, 3, 1), Insert::Rejected(InstancesLimit));
    assert!(f.cache.is_refused_by_quota() && f.cache.over_quota() == 1 && !f.cache.take_crowded());
    assert_eq!(f.write(1, 2, 1), Insert::Stored { new_instance: false }, "it is known");
    assert!(f.write(0, 3, 1).new_instance());
    let disposed = f.key_change(ChangeKind::Disposed, 1, 4);
    assert_eq!(disposed, Insert::Filtered(FilterReason::UnknownInstance));
    assert_eq!(f.cache.room_for(&[handle(1), handle(5)], 0), Room::Later);
    assert_eq!(f.cache.room_for(&[handle(5), handle(6), handle(7)], 0), Room::Never);
    assert_eq!(f.cache.reject_reason(handle(5), 10), Some(InstancesLimit));
    let mut f = with_quota(&keep_all(), 1, &budget());
    f.write(1, 1, 1);
    assert_eq!(f.write(1, 2, 1), Insert::Dropped(InstancesLimit), "best-effort");
    let limited = DataReaderQos { resource_limits: limits(-1, 3, -1), ..keep_all() };
    let mut f = with_quota(&reliable(limited), 1, &budget());
    assert!((1..=3).all(|instance| f.write(1, instance, 1).new_instance()), "RESOURCE_LIMITS go before");
    assert_eq!((f.write(1, 4, 1), f.cache.over_quota()), (Insert::Rejected(InstancesLimit), 0));
    assert!(!f.cache.is_refused_by_quota());
}

#[test]
fn octets_of_others_are_shared_and_come_back() {
    let octets = budget();
    let mut f = with_quota(&reliable(keep_all()), 100, &octets);
    let most = filled(&mut f, 1, 1);
    assert!((5..100).contains(&most), "{most}");
    assert_eq!(f.write(0, 1, 1), Insert::Stored { new_instance: false }, "its own are its own affair");
    let mut other = with_quota(&reliable(keep_all()), 100, &octets);
    assert_eq!(filled(&mut other, 1, 1), 0, "nothing is left");
    f.take_all();
    let shared = filled(&mut other, 1, 1) + filled(&mut f, 1, 1);
    assert!(shared + 1 >= most, "{shared} of {most}");
    drop((f, other));
    let mut again = with_quota(&reliable(keep_all()), 100, &octets);
    assert_eq!(filled(&mut again, 1, 1), most, "who is gone holds nothing");
    let limited = DataReaderQos { resource_limits: limits(1_000, -1, -1), ..keep_all() };
    let mut f = with_quota(&reliable(limited), 100, &octets);
    assert!(
        (0..1_000).all(|_| matches!(f.write(1, 1, 1), Insert::Stored { .. })),
        "RESOURCE_LIMITS go before"
    );
}

/// Each would find room.
#[test]
fn samples_that_only_together_are_too_many_are_refused_by_the_quota() {
    let mut f = with_quota(&reliable(keep_all()), 100, &budget());
    f.write(1, 1, 1);
    assert_eq!(f.cache.reject_reason(handle(1), OCTETS / 2), None);
    assert!(!f.cache.take_crowded());
    assert_eq!(f.cache.room_for(&[handle(1), handle(1)], OCTETS), Room::Later);
    assert!(f.cache.is_refused_by_quota() && f.cache.take_crowded() && f.cache.over_quota() == 1);
    f.take_all();
    assert_eq!(f.cache.room_for(&[handle(1), handle(1)], OCTETS), Room::Now);
    assert!(!f.cache.is_refused_by_quota() && !f.cache.take_crowded());
}

#[test]
fn replaced_samples_free_quota_and_keys_use_it() {
    let octets = budget();
    let mut f = with_quota(&reliable(keep_last(1)), 100, &octets);
    f.write(1, 1, 1);
    assert!((0..1_000).all(|n| f.write(1, 1, n as u8) == Insert::Replaced));
    let without = (2..100).take_while(|n| f.write(1, *n, 1).new_instance()).count();
    drop(f);
    let mut f = with_quota(&reliable(keep_last(1)), 100, &octets);
    f.write(1, 1, 1);
    f.cache.set_instance_key(handle(1), &[7; OCTETS / 2]);
    let with = (2..100).take_while(|n| f.write(1, *n, 1).new_instance()).count();
    assert!(with < without && with > 0, "{with} of {without}");
    assert_eq!(f.cache.room_for(&[handle(1)], OCTETS + 1), Room::Never);
    assert_eq!(f.cache.room_for(&[handle(1)], OCTETS / 2), Room::Later);
}
