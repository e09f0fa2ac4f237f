//! DURABILITY_SERVICE at the writer: what is kept for late joiners, apart from what present readers wait for.

use std::collections::BTreeMap;

use dunlin_cache::AddError;
use dunlin_core::{Duration, Rng};
use dunlin_qos::{DataWriterQos, DurabilityService, HistoryKind, UNLIMITED};

use crate::fixture::{Fixture, MS, best_effort, keep_all, keep_last, limited, transient};

fn service(depth: i32) -> DurabilityService {
    DurabilityService { history_depth: depth, ..DurabilityService::default() }
}

fn everything(max_samples: i32, max_instances: i32, max_samples_per_instance: i32) -> DurabilityService {
    DurabilityService {
        history_kind: HistoryKind::KeepAll,
        max_samples,
        max_instances,
        max_samples_per_instance,
        ..DurabilityService::default()
    }
}

fn with(qos: DataWriterQos, durability_service: DurabilityService) -> DataWriterQos {
    DataWriterQos { durability_service, ..transient(qos) }
}

#[test]
fn late_joiners_get_the_history_depth_of_the_durability_service() {
    for history in
        [keep_all(), keep_last(1), keep_last(10), best_effort(keep_last(1)), best_effort(keep_all())]
    {
        let mut f = Fixture::new(&with(history, service(3)));
        for n in 0..20 {
            f.ack(n);
            f.write(1).unwrap();
        }
        f.ack(20);
        assert_eq!(f.present(), [18, 19, 20]);
        f.write(2).unwrap();
        assert_eq!(f.present(), [18, 19, 20, 21], "each instance has its own");
    }
}

#[test]
fn unacked_samples_count_against_history_and_durability_store_does_not() {
    let mut f = Fixture::new(&with(limited(keep_all(), 4, UNLIMITED, UNLIMITED), service(2)));
    (0..4).for_each(|_| _ = f.write(1).unwrap());
    assert_eq!(f.write(1), Err(AddError::WaitForAck));
    f.ack(3);
    assert_eq!(f.present(), [3, 4]);
    (0..3).for_each(|_| _ = f.write(1).unwrap());
    assert_eq!(f.write(1), Err(AddError::WaitForAck), "four are under way again");
    assert_eq!(f.present(), [4, 5, 6, 7]);
}

#[test]
fn history_gives_up_what_the_service_still_keeps() {
    let mut f = Fixture::new(&with(keep_last(1), service(3)));
    (0..9).for_each(|_| _ = f.write(1).unwrap());
    assert_eq!(f.present(), [7, 8, 9], "nothing is acknowledged");
}

#[test]
fn a_limit_of_the_service_drops_the_oldest_and_never_blocks() {
    let mut f = Fixture::new(&with(keep_all(), everything(5, UNLIMITED, UNLIMITED)));
    for n in 0..9 {
        f.ack(n);
        f.write(1 + (n % 2) as u8).unwrap();
    }
    assert_eq!(f.present(), [5, 6, 7, 8, 9]);
    let mut f = Fixture::new(&with(keep_all(), everything(UNLIMITED, 2, 3)));
    for instance in [1, 1, 1, 1, 2, 3] {
        f.write(instance).unwrap();
        let last = f.present().last().copied().unwrap_or(0);
        f.ack(last);
    }
    assert_eq!(f.present(), [5, 6], "the instance that was stored first is gone");
}

#[test]
fn an_instance_that_ended_is_remembered_for_the_clean_up_delay() {
    for (delay, gone_after) in [(Duration::ZERO, 0), (Duration::from_millis(500), 500)] {
        let policy = DurabilityService { service_cleanup_delay: delay, ..service(2) };
        let mut f = Fixture::new(&with(keep_all(), policy));
        f.write(1).unwrap();
        f.dispose(1).unwrap();
        f.ack(2);
        f.at(10_000).missed();
        assert_eq!(f.present(), [1, 2], "disposed, and it has a writer");
        f.remove(1).unwrap();
        f.ack(3);
        if gone_after > 0 {
            assert_eq!(f.present(), [2, 3]);
            f.at(10_000 + gone_after - 1).missed();
            assert_eq!(f.present(), [2, 3]);
            assert_eq!(f.cache.next_deadline().map(|at| at.0 as i64), Some((10_000 + gone_after) * MS));
            f.at(10_000 + gone_after).missed();
        }
        assert_eq!((f.present(), f.cache.instance_count()), (vec![], 0));
    }
}

#[test]
fn an_instance_that_lives_again_stays() {
    let policy = DurabilityService { service_cleanup_delay: Duration::from_millis(500), ..service(3) };
    let mut f = Fixture::new(&with(keep_all(), policy));
    f.write(1).unwrap();
    f.remove(1).unwrap();
    f.write(1).unwrap();
    f.ack(3);
    f.at(1_000).missed();
    assert_eq!(f.present(), [1, 2, 3]);
    f.remove(1).unwrap();
    f.register(1).unwrap();
    f.ack(4);
    f.at(2_000).missed();
    assert_eq!(f.present(), [2, 3, 4]);
    let forever = DurabilityService { service_cleanup_delay: Duration::INFINITE, ..service(3) };
    let mut f = Fixture::new(&with(keep_all(), forever));
    f.write(1).unwrap();
    f.remove(1).unwrap();
    f.ack(2);
    f.at(1_000_000).missed();
    assert_eq!(f.present(), [1, 2]);
}

#[test]
fn an_unregistration_leaves_the_last_values() {
    let mut f = Fixture::new(&with(keep_all(), DurabilityService { max_samples: 50, ..service(1) }));
    f.write(1).unwrap();
    f.unregister(1).unwrap();
    f.ack(2);
    assert_eq!(f.present(), [1, 2]);
}

#[test]
fn lifespan_ends_what_is_stored() {
    let lifespan = dunlin_qos::Lifespan { duration: Duration::from_millis(100) };
    let mut f = Fixture::new(&with(DataWriterQos { lifespan, ..keep_all() }, service(5)));
    f.write(1).unwrap();
    f.ack(1);
    f.at(99).missed();
    assert_eq!(f.present(), [1]);
    f.at(100).missed();
    assert!(f.present().is_empty());
}

#[test]
fn the_default_leaves_late_joiners_to_history() {
    let mut f = Fixture::new(&with(keep_all(), DurabilityService::default()));
    (0..5).for_each(|_| _ = f.write(1).unwrap());
    f.ack(5);
    assert_eq!(f.present(), [1, 2, 3, 4, 5]);
    let volatile = DataWriterQos { durability_service: service(3), ..keep_all() };
    let mut f = Fixture::new(&volatile);
    (0..5).for_each(|_| _ = f.write(1).unwrap());
    f.ack(5);
    assert!(f.present().is_empty(), "a volatile writer has nothing for late joiners");
}

/// The newest of each instance are there, and beyond them only what is in flight.
fn check(f: &Fixture, written: &BTreeMap<u8, Vec<i64>>, depth: usize, live: usize) {
    let present = f.present();
    for of_instance in written.values() {
        let newest = &of_instance[of_instance.len().saturating_sub(depth)..];
        assert!(newest.iter().all(|sn| present.contains(sn)), "{newest:?} of {present:?}");
        let there = of_instance.iter().filter(|sn| present.contains(sn)).count();
        let unacked = of_instance.iter().filter(|sn| **sn > f.acked).count();
        assert!(there <= depth.max(unacked.min(live)) + 1, "{there} of {of_instance:?}");
    }
}

#[test]
fn random_histories_keep_the_newest_of_each_instance() {
    for (n, (history, live)) in
        [(keep_all(), usize::MAX), (keep_last(1), 1), (keep_last(4), 4)].into_iter().enumerate()
    {
        for depth in [2, 3, 7] {
            let mut rng = Rng::new(n as u64);
            let mut f = Fixture::new(&with(history.clone(), service(depth)));
            let mut written = BTreeMap::<u8, Vec<i64>>::new();
            let mut last = 0;
            for _ in 0..if cfg!(miri) { 10 } else { 2_000 } {
                let instance = 1 + rng.below(5) as u8;
                match rng.below(4) {
                    0 => _ = f.ack(f.acked + rng.below((last - f.acked + 1) as u64) as i64),
                    1 => last = f.dispose(instance).unwrap(),
                    _ => last = f.write(instance).unwrap(),
                }
                if last > written.values().flatten().copied().max().unwrap_or(0) {
                    written.entry(instance).or_default().push(last);
                }
                check(&f, &written, depth as usize, live);
            }
        }
    }
}
