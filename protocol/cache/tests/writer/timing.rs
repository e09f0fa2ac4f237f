//! LIFESPAN and DEADLINE at the writer (DDS 1.4 §2.2.3.16, §2.2.3.7).

use dunlin_cache::NewChange;
use dunlin_core::{Duration, MonoTime, SequenceNumber, WallTime};
use dunlin_qos::{DataWriterQos, Deadline, Lifespan};
use dunlin_rtps::ChangeKind;

use crate::fixture::{Fixture, MS, handle, keep_all, transient};

fn with_deadline(ms: i64) -> DataWriterQos {
    DataWriterQos { deadline: Deadline { period: Duration::from_millis(ms) }, ..keep_all() }
}

#[test]
fn samples_expire_acknowledged_or_not_and_disposals_do_not() {
    let lifespan = Lifespan { duration: Duration::from_millis(100) };
    let mut f = Fixture::new(&DataWriterQos { lifespan, ..transient(keep_all()) });
    f.write(1).unwrap();
    f.at(50).write(1).unwrap();
    f.dispose(1).unwrap();
    assert_eq!(f.cache.next_deadline(), Some(MonoTime(100 * MS as u64)));
    f.at(100).missed();
    assert_eq!(f.present(), [2, 3]);
    f.cache.set_lifespan(Duration::INFINITE);
    f.write(2).unwrap();
    f.at(1000).missed();
    assert_eq!(f.present(), [3, 4]);
}

#[test]
fn a_sample_that_is_stale_when_written_goes_out_once() {
    let lifespan = Lifespan { duration: Duration::from_millis(100) };
    let mut f = Fixture::new(&DataWriterQos { lifespan, ..keep_all() });
    f.at(1000);
    let change = NewChange {
        kind: ChangeKind::Alive,
        instance: handle(1),
        source_timestamp: WallTime(0),
        payload: None,
        inline_qos: None,
    };
    f.cache.add(f.now, change, SequenceNumber::ZERO).unwrap();
    assert_eq!(f.present(), [1]);
    f.missed();
    assert_eq!(f.present(), []);
}

#[test]
fn a_missed_deadline_counts_once_for_each_period_and_registered_instance() {
    let mut f = Fixture::new(&with_deadline(100));
    f.register(1).unwrap();
    f.at(30).write(2).unwrap();
    f.at(60).write(1).unwrap();
    assert_eq!(f.at(129).missed(), []);
    assert_eq!(f.at(130).missed(), [(handle(2), 1)]);
    assert_eq!(f.at(400).missed(), [(handle(1), 3), (handle(2), 2)]);
    f.dispose(1).unwrap();
    f.unregister(2).unwrap();
    assert_eq!(f.at(1000).missed(), []);
    assert_eq!(f.cache.next_deadline(), None);
    f.write(1).unwrap();
    assert_eq!(f.at(1100).missed(), [(handle(1), 1)]);
}

#[test]
fn the_deadline_of_a_forgotten_instance_is_forgotten() {
    let mut f = Fixture::new(&with_deadline(100));
    f.write(1).unwrap();
    f.unregister(1).unwrap();
    f.ack(2);
    f.at(50).write(2).unwrap();
    assert_eq!(f.at(149).missed(), []);
    assert_eq!(f.at(150).missed(), [(handle(2), 1)]);
}

#[test]
fn the_deadline_period_may_change() {
    let mut f = Fixture::new(&with_deadline(100));
    f.write(1).unwrap();
    f.at(50);
    f.cache.set_deadline(f.now, Duration::from_millis(20));
    assert_eq!(f.at(70).missed(), [(handle(1), 1)]);
    f.cache.set_deadline(f.now, Duration::INFINITE);
    assert_eq!(f.cache.next_deadline(), None);
}

#[test]
fn a_write_that_comes_late_hides_no_missed_deadline() {
    let mut f = Fixture::new(&with_deadline(100));
    f.write(1).unwrap();
    f.write(2).unwrap();
    f.at(250).write(1).unwrap();
    f.dispose(2).unwrap();
    assert_eq!(f.cache.next_deadline(), Some(MonoTime(0)), "there is something to report");
    assert_eq!(f.at(260).missed(), [(handle(1), 2), (handle(2), 2)]);
    assert_eq!(f.at(349).missed(), []);
    f.at(460);
    f.cache.set_deadline(f.now, Duration::from_millis(300));
    assert_eq!(f.missed(), [(handle(1), 2)], "of the old period");
    assert_eq!(f.at(760).missed(), [(handle(1), 1)]);
}
