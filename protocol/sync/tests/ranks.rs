//! The order of ranks, exclusion, and snapshots through the public interface.

#![cfg(feature = "std")]
#![cfg(not(any(loom, shuttle)))]

use std::panic::{AssertUnwindSafe, catch_unwind};

use dunlin_sync::{ArcSnapshot, RankedMutex};

type Low = RankedMutex<1, u32>;
type High = RankedMutex<2, u32>;

#[test]
fn rising_ranks_may_be_nested_and_released_in_any_order() {
    let (low, high) = (Low::new(1), High::new(2));
    let first = low.lock();
    let second = high.lock();
    assert_eq!(*first + *second, 3);
    drop(first);
    drop(second);
    assert!(low.try_lock().is_some());
    let _again = low.lock();
    let _and_again = high.lock();
}

#[cfg(debug_assertions)]
#[test]
fn falling_ranks_panic_and_leave_the_locks_usable() {
    let (low, high) = (Low::new(1), High::new(2));
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let _high = high.lock();
        let _low = low.lock();
    }));
    assert!(attempt.is_err());
    let _low = low.lock();
    let _high = high.lock();
}

#[cfg(debug_assertions)]
#[test]
fn two_locks_of_one_rank_panic() {
    let (one, other) = (High::new(1), High::new(2));
    let _one = one.lock();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(other.lock()))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(one.try_lock()))).is_err());
}

#[test]
fn a_failed_attempt_leaves_no_mark() {
    let lock = High::new(1);
    let guard = lock.lock();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(lock.try_lock().is_none());
            assert!(Low::new(1).try_lock().is_some());
            drop(High::new(3).lock());
        });
    });
    drop(guard);
}

#[test]
fn a_panicking_holder_does_not_poison() {
    let lock = Low::new(1);
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let mut guard = lock.lock();
        *guard = 5;
        panic!("holder fails");
    }));
    assert!(attempt.is_err());
    assert_eq!(*lock.lock(), 5);
    assert_eq!(lock.into_inner(), 5);
}

#[test]
fn snapshots_stay_as_they_were_read() {
    let table = ArcSnapshot::new(vec![1]);
    let before = table.load();
    table.store(vec![1, 2]);
    assert_eq!(*before, [1]);
    assert_eq!(*table.load(), [1, 2]);
}
