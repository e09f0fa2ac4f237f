//! LIFESPAN, DEADLINE, TIME_BASED_FILTER and READER_DATA_LIFECYCLE delays (DDS 1.4 §2.2.3.7, §2.2.3.12, §2.2.3.16,
//! §2.2.3.22).

use dunlin_cache::InstanceState::{Alive, NotAliveDisposed, NotAliveNoWriters};
use dunlin_cache::ViewState::New;
use dunlin_cache::{FilterReason, Insert, InstanceStateMask, Selection};
use dunlin_core::{Duration, MonoTime};
use dunlin_qos::{DataReaderQos, Deadline, ReaderDataLifecycle, TimeBasedFilter};

use crate::fixture::{Fixture, MS, guid, handle, keep_all, keep_last, states, values};

const SEPARATION: Insert = Insert::Filtered(FilterReason::Separation);

fn with_deadline(ms: i64) -> DataReaderQos {
    DataReaderQos { deadline: Deadline { period: Duration::from_millis(ms) }, ..keep_all() }
}

fn with_separation(ms: i64) -> DataReaderQos {
    let minimum_separation = Duration::from_millis(ms);
    DataReaderQos { time_based_filter: TimeBasedFilter { minimum_separation }, ..keep_all() }
}

fn with_delays(nowriter: Duration, disposed: Duration) -> DataReaderQos {
    let reader_data_lifecycle = ReaderDataLifecycle {
        autopurge_nowriter_samples_delay: nowriter,
        autopurge_disposed_samples_delay: disposed,
    };
    DataReaderQos { reader_data_lifecycle, ..keep_all() }
}

#[test]
fn samples_expire_by_source_timestamp_read_or_not() {
    let mut f = Fixture::new(&keep_all());
    f.info[1].lifespan = Duration::from_millis(100);
    f.at(50).write_at(1, 1, 1, 0);
    f.write_at(1, 1, 2, 20);
    f.write(2, 1, 3);
    f.read_all();
    assert_eq!(f.cache.next_deadline(), Some(MonoTime(100 * MS as u64)));
    let report = f.at(100).timer();
    assert!(f.cache.take_freed() && !report.data_available);
    assert_eq!(values(&f.read_all()), [2, 3]);
    f.at(1000).timer();
    assert_eq!(f.take_values(), [3]);
    assert_eq!(f.write_at(1, 1, 4, 900), Insert::Filtered(FilterReason::Expired));
}

#[test]
fn an_expired_sample_leaves_the_news_of_its_instance_behind() {
    let mut f = Fixture::new(&keep_all());
    f.info[1].lifespan = Duration::from_millis(10);
    f.write(1, 1, 1);
    f.dispose(1, 1);
    let report = f.at(10).timer();
    assert!(report.data_available);
    let samples = f.take_all();
    assert_eq!(states(&samples[0].info), (New, NotAliveDisposed, 0, 0, false));
    f.write(1, 2, 2);
    f.read_all();
    assert!(!f.at(20).timer().data_available);
    assert_eq!((f.cache.len(), f.state(2)), (0, Some(Alive)));
    f.write(1, 3, 3);
    f.lose(1);
    f.read_all();
    f.at(30).timer();
    assert_eq!(f.state(3), None, "nothing is left of an instance whose last sample expired");
}

#[test]
fn a_missed_deadline_counts_once_for_each_period_and_instance() {
    let mut f = Fixture::new(&with_deadline(100));
    f.write(1, 1, 1);
    f.at(30).write(1, 2, 2);
    f.at(60).write(1, 1, 3);
    assert_eq!(f.at(129).missed().0, []);
    assert_eq!(f.at(130).missed().0, [(handle(2), 1)]);
    assert_eq!(f.at(400).missed().0, [(handle(1), 3), (handle(2), 2)]);
    f.at(410).write(1, 1, 4);
    assert_eq!(f.at(430).missed().0, [(handle(2), 1)]);
    assert_eq!(f.at(510).missed().0, [(handle(1), 1)]);
}

#[test]
fn no_deadline_runs_for_an_instance_that_is_not_alive() {
    let mut f = Fixture::new(&with_deadline(100));
    f.write(1, 1, 1);
    f.write(1, 2, 2);
    f.dispose(1, 1);
    f.unregister(1, 2);
    assert_eq!(f.at(1000).missed().0, []);
    assert_eq!(f.cache.next_deadline(), None);
    f.write(1, 1, 3);
    assert_eq!(f.at(1100).missed().0, [(handle(1), 1)]);
}

#[test]
fn the_deadline_period_may_change() {
    let mut f = Fixture::new(&with_deadline(100));
    f.write(1, 1, 1);
    f.at(50);
    f.cache.set_deadline(f.now, Duration::from_millis(20));
    assert_eq!(f.at(70).missed().0, [(handle(1), 1)]);
    f.cache.set_deadline(f.now, Duration::INFINITE);
    assert_eq!(f.cache.next_deadline(), None);
    f.write(1, 1, 2);
    assert_eq!(f.at(10_000).missed().0, []);
}

#[test]
fn the_newest_sample_within_the_minimum_separation_is_shown_later() {
    let mut f = Fixture::new(&with_separation(100));
    f.write(1, 1, 1);
    assert_eq!(f.at(10).write(1, 1, 2), SEPARATION);
    assert_eq!(f.at(20).write(1, 1, 3), SEPARATION);
    assert_eq!(f.write(1, 2, 9), Insert::Stored { new_instance: true });
    assert_eq!(f.take_values(), [1, 9]);
    assert!(!f.at(99).timer().data_available);
    assert!(f.at(100).timer().data_available);
    assert_eq!(f.take_values(), [3]);
    assert_eq!(f.at(199).write(1, 1, 4), SEPARATION);
    assert!(f.at(200).timer().data_available);
    assert_eq!(f.at(300).write(1, 1, 5), Insert::Stored { new_instance: false });
    assert_eq!(f.take_values(), [4, 5]);
}

#[test]
fn a_sample_that_comes_before_a_late_timer_overtakes_the_one_held_back() {
    let mut f = Fixture::new(&with_separation(100));
    f.write(1, 1, 1);
    f.at(10).write(1, 1, 2);
    assert_eq!(f.at(150).write(1, 1, 3), Insert::Stored { new_instance: false });
    assert!(!f.timer().data_available);
    assert_eq!(f.take_values(), [1, 3]);
}

#[test]
fn changes_of_state_pass_the_time_based_filter() {
    let mut f = Fixture::new(&with_separation(100));
    f.write(1, 1, 1);
    f.at(10).write(1, 1, 2);
    assert!(f.at(20).dispose(1, 1).data_available());
    assert!(!f.at(100).timer().data_available, "a disposal overtakes the value held back");
    assert_eq!(f.take_values(), [1]);
    f.at(110).write(1, 1, 3);
    f.at(120).dispose(1, 1);
    assert!(f.at(130).write(1, 1, 4).data_available(), "the instance comes back at once");
    assert_eq!(states(&f.take_all()[1].info), (New, Alive, 2, 0, true));
}

#[test]
fn a_sample_held_by_the_time_based_filter_outlives_its_writer() {
    let mut f = Fixture::new(&with_separation(100));
    f.write(1, 1, 1);
    f.take_all();
    f.at(10).write(1, 1, 2);
    assert!(f.at(20).lose(1));
    assert_eq!(values(&f.take_all()), [0]);
    assert!(f.at(100).timer().data_available);
    let samples = f.take_all();
    assert_eq!((values(&samples), samples[0].info.instance_state), (vec![2], NotAliveNoWriters));
    assert_eq!(f.state(1), None);
}

#[test]
fn a_sample_held_by_the_time_based_filter_may_expire() {
    let mut f = Fixture::new(&with_separation(100));
    f.info[1].lifespan = Duration::from_millis(50);
    f.write(1, 1, 1);
    f.at(10).write(1, 1, 2);
    assert!(!f.at(200).timer().data_available);
    assert_eq!(f.take_values(), []);
}

#[test]
fn the_time_based_filter_comes_before_the_history() {
    let mut f = Fixture::new(&DataReaderQos { history: keep_last(1).history, ..with_separation(100) });
    f.write(1, 1, 1);
    f.at(10).write(1, 1, 2);
    assert_eq!(values(&f.read_all()), [1]);
    f.at(100).timer();
    assert_eq!(values(&f.read_all()), [2]);
    f.cache.set_minimum_separation(Duration::ZERO);
    assert_eq!(f.at(101).write(1, 1, 3), Insert::Replaced);
}

#[test]
fn samples_of_an_instance_without_writers_are_purged_after_the_delay() {
    let mut f = Fixture::new(&with_delays(Duration::from_millis(100), Duration::INFINITE));
    f.write(1, 1, 1);
    f.write(1, 2, 2);
    f.at(10).lose(1);
    f.at(60).write(2, 2, 3);
    f.at(109).timer();
    assert!(!f.cache.take_freed());
    f.at(110).timer();
    assert!(f.cache.take_freed());
    assert_eq!((f.state(1), f.state(2)), (None, Some(Alive)));
    assert_eq!(f.take_values(), [2, 3]);
    assert_eq!(f.cache.next_deadline(), None);
}

#[test]
fn autopurge_of_disposed_samples_keeps_the_generation_counts() {
    let mut f = Fixture::new(&with_delays(Duration::INFINITE, Duration::from_millis(100)));
    f.write(1, 1, 1);
    f.dispose(1, 1);
    f.at(100).timer();
    assert!(f.cache.take_freed());
    assert_eq!((f.cache.len(), f.state(1)), (0, Some(NotAliveDisposed)));
    f.write(1, 1, 2);
    let alive = Selection { instance_states: InstanceStateMask::ALIVE, ..Default::default() };
    assert_eq!(states(&f.take(&alive)[0].info), (New, Alive, 1, 0, true));
    f.dispose(1, 1);
    f.lose(1);
    f.at(200).timer();
    assert_eq!(f.state(1), None);
}

#[test]
fn the_purge_delay_follows_the_state() {
    let mut f = Fixture::new(&with_delays(Duration::from_millis(100), Duration::INFINITE));
    f.write(1, 1, 1);
    f.lose(1);
    f.at(50).dispose(2, 1);
    f.at(500).timer();
    assert_eq!((f.state(1), f.cache.len()), (Some(NotAliveDisposed), 1));
    f.cache.set_lifecycle(ReaderDataLifecycle {
        autopurge_nowriter_samples_delay: Duration::ZERO,
        autopurge_disposed_samples_delay: Duration::ZERO,
    });
    f.write(2, 1, 2);
    f.cache.writer_not_alive(f.now, guid(2));
    assert_eq!(f.cache.instance_count(), 0);
}

#[test]
fn a_changed_purge_delay_reaches_what_has_ended() {
    let delays = |nowriter, disposed| ReaderDataLifecycle {
        autopurge_nowriter_samples_delay: nowriter,
        autopurge_disposed_samples_delay: disposed,
    };
    let millis = Duration::from_millis;
    let mut f = Fixture::new(&with_delays(Duration::INFINITE, Duration::INFINITE));
    f.write(1, 1, 1);
    f.write(2, 2, 2);
    f.write(3, 3, 3);
    f.at(100).dispose(1, 1);
    f.at(200).lose(2);
    assert_eq!(f.cache.next_deadline(), None);
    // The delay counts from the end of each, not from the change.
    f.at(250).cache.set_lifecycle(delays(millis(300), millis(200)));
    f.at(299).timer();
    assert_eq!((f.state(1), f.cache.len()), (Some(NotAliveDisposed), 3));
    f.at(300).timer();
    assert_eq!((f.state(1), f.cache.len()), (Some(NotAliveDisposed), 2));
    f.at(499).timer();
    assert_eq!(f.state(2), Some(NotAliveNoWriters));
    // Longer, never, and over at once; what is alive stays.
    f.cache.set_lifecycle(delays(millis(500), millis(200)));
    f.at(600).timer();
    assert_eq!(f.state(2), Some(NotAliveNoWriters));
    f.cache.set_lifecycle(delays(Duration::INFINITE, Duration::INFINITE));
    f.at(5_000).timer();
    assert_eq!((f.state(2), f.cache.next_deadline()), (Some(NotAliveNoWriters), None));
    f.cache.set_lifecycle(delays(millis(10), Duration::ZERO));
    assert!(f.cache.next_deadline().is_some_and(|due| due <= f.now.mono));
    f.timer();
    assert_eq!((f.state(2), f.state(3), f.cache.len()), (None, Some(Alive), 1));
}

#[test]
fn a_sample_that_comes_late_hides_no_missed_deadline() {
    let mut f = Fixture::new(&with_deadline(100));
    f.write(1, 1, 1);
    f.write(1, 2, 2);
    f.at(250).write(1, 1, 3);
    f.dispose(1, 2);
    assert_eq!(f.cache.next_deadline(), Some(MonoTime(0)), "there is something to report");
    assert_eq!(f.at(260).missed().0, [(handle(1), 2), (handle(2), 2)]);
    assert_eq!(f.at(349).missed().0, []);
    f.at(460);
    f.cache.set_deadline(f.now, Duration::from_millis(300));
    assert_eq!(f.missed().0, [(handle(1), 2)], "of the old period");
    assert_eq!(f.at(760).missed().0, [(handle(1), 1)]);
}

/// A period that is shorter than anybody can look is counted all the same, and the timer rests.
#[test]
fn a_tiny_deadline_does_not_keep_the_timer_busy() {
    let mut qos = keep_all();
    qos.deadline.period = dunlin_core::Duration::from_nanos(1);
    let mut f = Fixture::new(&qos);
    f.write(1, 1, 1);
    let mut total = 0;
    for ms in 1..=5 {
        total += f.at(ms).missed().0.iter().map(|(_, count)| i64::from(*count)).sum::<i64>();
        let next = f.cache.next_deadline().expect("the instance is alive");
        assert!(next.0 >= f.now.mono.0 + MS as u64, "{next:?}");
    }
    assert_eq!(total, 5 * MS);
}
