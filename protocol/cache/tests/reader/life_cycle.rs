//! States of instances (DDS 1.4 §2.2.2.5.1.3, §2.2.2.5.1.4): one test for each transition.

use dunlin_cache::InstanceState::{Alive, NotAliveDisposed, NotAliveNoWriters};
use dunlin_cache::ViewState::{New, NotNew};
use dunlin_cache::{FilterReason, Insert, SampleState};
use dunlin_core::{Duration, VendorId};
use dunlin_qos::ReaderDataLifecycle;
use dunlin_rtps::ChangeKind;

use crate::fixture::{Fixture, Sent, guid, handle, keep_all, states, values};

const CHANGED: Insert = Insert::StateChanged { new_instance: false };

#[test]
fn first_sample_makes_a_new_alive_instance() {
    let mut f = Fixture::new(&keep_all());
    assert_eq!(f.write(1, 1, 10), Insert::Stored { new_instance: true });
    let samples = f.read_all();
    assert_eq!(states(&samples[0].info), (New, Alive, 0, 0, true));
    assert_eq!(samples[0].info.sample_state, SampleState::NotRead);
    assert_eq!(samples[0].info.instance_handle, handle(1));
    assert_eq!(samples[0].info.publication_handle, guid(1).into());
}

#[test]
fn a_sample_of_an_alive_instance_changes_no_state() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    assert_eq!(f.write(1, 1, 11), Insert::Stored { new_instance: false });
    assert!(f.read_all().iter().all(|s| states(&s.info) == (New, Alive, 0, 0, true)));
    f.write(1, 1, 12);
    let samples = f.read_all();
    assert!(samples.iter().all(|s| states(&s.info) == (NotNew, Alive, 0, 0, true)));
    let read: Vec<_> = samples.iter().map(|s| s.info.sample_state).collect();
    assert_eq!(read, [SampleState::Read, SampleState::Read, SampleState::NotRead]);
}

#[test]
fn disposal_shows_on_unread_samples_or_on_one_without_data() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    assert_eq!(f.dispose(1, 1), CHANGED);
    let samples = f.read_all();
    assert_eq!(samples.len(), 1);
    assert_eq!(states(&samples[0].info), (New, NotAliveDisposed, 0, 0, true));

    f.write(1, 2, 20);
    f.read_all();
    f.dispose(1, 2);
    let samples = f.take_all();
    assert_eq!(values(&samples), [10, 20, 0]);
    assert_eq!(states(&samples[2].info), (NotNew, NotAliveDisposed, 0, 0, false));
    assert_eq!(samples[2].payload, None);
    assert_eq!(samples[2].key.as_ref().map(|key| key[4]), Some(2));
    assert_eq!(f.dispose(1, 2), Insert::Filtered(FilterReason::NoChange));
}

#[test]
fn the_last_writer_to_unregister_leaves_no_writers() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    f.write(2, 1, 11);
    f.read_all();
    assert_eq!(f.unregister(1, 1), Insert::Filtered(FilterReason::NoChange));
    assert_eq!(f.state(1), Some(Alive));
    assert_eq!(f.unregister(1, 1), Insert::Filtered(FilterReason::NoChange));
    assert_eq!(f.unregister(2, 1), CHANGED);
    let samples = f.take_all();
    assert_eq!(values(&samples), [10, 11, 0]);
    assert_eq!(states(&samples[2].info), (NotNew, NotAliveNoWriters, 0, 0, false));
    assert_eq!(f.state(1), None);
}

#[test]
fn lost_writer_unregisters_each_live_instance_once_and_disposes_none() {
    let mut f = Fixture::new(&keep_all());
    for instance in 1..=3 {
        f.write(1, instance, instance);
    }
    f.write(2, 2, 22);
    f.dispose(1, 3);
    f.read_all();
    assert!(f.lose(1));
    assert_eq!(
        (f.state(1), f.state(2), f.state(3)),
        (Some(NotAliveNoWriters), Some(Alive), Some(NotAliveDisposed))
    );
    let samples = f.take_all();
    assert_eq!(samples.iter().filter(|s| !s.info.valid_data).count(), 1);
    assert!(!f.lose(1));
    assert!(f.lose(2));
    let samples = f.take_all();
    assert_eq!(samples.len(), 1);
    assert_eq!(
        (samples[0].info.instance_handle, samples[0].info.publication_handle),
        (handle(2), guid(2).into())
    );
    assert_eq!(f.cache.instance_count(), 0);
}

#[test]
fn a_disposed_instance_stays_disposed_without_writers() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    f.dispose(1, 1);
    assert!(!f.lose(1));
    assert_eq!(f.state(1), Some(NotAliveDisposed));
    f.take_all();
    assert_eq!(f.state(1), None);
}

#[test]
fn a_sample_brings_back_a_disposed_instance_as_new() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    f.read_all();
    f.dispose(1, 1);
    f.write(1, 1, 11);
    let samples = f.read_all();
    assert_eq!(values(&samples), [10, 11]);
    assert_eq!(states(&samples[0].info), (New, Alive, 0, 0, true));
    assert_eq!(states(&samples[1].info), (New, Alive, 1, 0, true));
    assert_eq!(f.read_all()[1].info.view_state, NotNew);
}

#[test]
fn a_sample_brings_back_an_instance_without_writers_as_new() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    f.read_all();
    f.unregister(1, 1);
    f.write(2, 1, 11);
    let samples = f.read_all();
    assert_eq!(values(&samples), [10, 11]);
    assert_eq!(states(&samples[1].info), (New, Alive, 0, 1, true));
}

#[test]
fn a_writer_that_is_alive_again_brings_back_its_instances() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    f.read_all();
    assert!(f.cache.writer_not_alive(f.now, guid(1)));
    assert!(!f.cache.writer_not_alive(f.now, guid(1)));
    assert_eq!(f.state(1), Some(NotAliveNoWriters));
    assert!(f.cache.writer_alive(f.now, guid(1)));
    assert!(!f.cache.writer_alive(f.now, guid(1)));
    assert_eq!(f.state(1), Some(Alive));
    f.write(1, 1, 11);
    assert_eq!(states(&f.read_all()[1].info), (New, Alive, 0, 1, true));
    // A sample shows that the writer is alive just as well, for all its instances.
    f.write(1, 2, 20);
    f.cache.writer_not_alive(f.now, guid(1));
    f.write(1, 2, 21);
    assert_eq!((f.state(1), f.state(2)), (Some(Alive), Some(Alive)));
}

#[test]
fn only_a_sample_of_the_newest_generation_makes_the_instance_not_new() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    f.dispose(1, 1);
    f.write(1, 1, 11);
    let one = dunlin_cache::Selection { max_samples: 1, ..Default::default() };
    assert_eq!(values(&f.take(&one)), [10]);
    let samples = f.take_all();
    assert_eq!((values(&samples), samples[0].info.view_state), (vec![11], New));
    f.write(1, 1, 12);
    assert_eq!(f.take_all()[0].info.view_state, NotNew);
}

#[test]
fn an_instance_without_samples_and_writers_is_forgotten() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    f.take_all();
    assert_eq!(f.state(1), Some(Alive));
    f.unregister(1, 1);
    f.read_all();
    assert_eq!(f.state(1), Some(NotAliveNoWriters));
    f.take_all();
    assert_eq!(f.state(1), None);
    f.write(1, 1, 11);
    assert_eq!(states(&f.read_all()[0].info), (New, Alive, 0, 0, true));
}

#[test]
fn disposal_of_an_unknown_instance_creates_it() {
    let mut f = Fixture::new(&keep_all());
    assert_eq!(f.dispose(1, 1), Insert::StateChanged { new_instance: true });
    let samples = f.read_all();
    assert_eq!(states(&samples[0].info), (New, NotAliveDisposed, 0, 0, false));
    assert_eq!(f.cache.instance_key(handle(1)).map(|(key, _)| key[4]), Some(1));
    f.write(1, 1, 10);
    assert_eq!(states(&f.take_all()[0].info), (New, Alive, 1, 0, true));
}

#[test]
fn disposal_and_unregistration_may_come_together() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    f.take_all();
    assert_eq!(f.key_change(ChangeKind::DisposedUnregistered, 1, 1), CHANGED);
    let samples = f.take_all();
    assert_eq!(states(&samples[0].info), (NotNew, NotAliveDisposed, 0, 0, false));
    assert_eq!(f.state(1), None);
    assert_eq!(
        f.key_change(ChangeKind::DisposedUnregistered, 1, 2),
        Insert::StateChanged { new_instance: true }
    );
    assert_eq!(f.take_all().len(), 1);
    assert_eq!(f.cache.instance_count(), 0);
}

#[test]
fn a_disposal_by_key_hash_alone_finds_only_known_instances() {
    let mut f = Fixture::new(&keep_all());
    let hash_only = Sent {
        kind: ChangeKind::Disposed,
        writer: 1,
        instance: 1,
        value: None,
        key_only: false,
        source: None,
    };
    assert_eq!(f.send(&hash_only), Insert::Filtered(FilterReason::UnknownInstance));
    assert_eq!(f.unregister(1, 1), Insert::Filtered(FilterReason::UnknownInstance));
    assert_eq!(f.cache.instance_count(), 0);
    f.write(1, 1, 10);
    f.take_all();
    f.cache.set_instance_key(handle(1), &[0, 1, 0, 0, 77]);
    assert_eq!(f.send(&hash_only), CHANGED);
    assert_eq!(f.take_all()[0].key.as_ref().map(|key| key[4]), Some(77));
}

#[test]
fn shared_instance_is_disposed_and_revived_by_any_writer() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 10);
    f.dispose(2, 1);
    assert_eq!(f.state(1), Some(NotAliveDisposed));
    f.write(3, 1, 11);
    assert_eq!(f.state(1), Some(Alive));
}

#[test]
fn sample_without_data_is_replaced_by_next_state_change_or_sample() {
    let mut f = Fixture::new(&keep_all());
    f.dispose(1, 1);
    f.read_all();
    f.write(1, 1, 10);
    f.read_all();
    f.dispose(1, 1);
    assert_eq!(values(&f.read_all()), [10, 0]);
    f.write(1, 1, 11);
    f.read_all();
    f.unregister(1, 1);
    assert_eq!(values(&f.take_all()), [10, 11, 0]);
}

#[test]
fn purge_delays_of_zero_remove_samples_at_once() {
    let mut qos = keep_all();
    qos.reader_data_lifecycle = ReaderDataLifecycle {
        autopurge_nowriter_samples_delay: Duration::ZERO,
        autopurge_disposed_samples_delay: Duration::ZERO,
    };
    let mut f = Fixture::new(&qos);
    f.write(1, 1, 10);
    f.write(1, 2, 20);
    f.dispose(1, 1);
    assert_eq!((f.state(1), f.cache.len()), (Some(NotAliveDisposed), 1));
    assert_eq!(f.unregister(1, 2), CHANGED);
    assert_eq!((f.state(2), f.cache.len()), (None, 0));
    f.write(1, 1, 11);
    assert_eq!(states(&f.take_all()[0].info), (New, Alive, 1, 0, true));
    assert_eq!(f.key_change(ChangeKind::DisposedUnregistered, 1, 1), CHANGED);
    assert_eq!(f.cache.instance_count(), 0);
    assert!(!f.lose(1));
}

#[test]
fn changes_without_data_or_key_do_nothing() {
    let mut f = Fixture::new(&keep_all());
    let empty =
        Sent { kind: ChangeKind::Alive, writer: 1, instance: 1, value: None, key_only: false, source: None };
    assert_eq!(f.send(&empty), Insert::Filtered(FilterReason::NoChange));
    assert_eq!(f.key_change(ChangeKind::Alive, 1, 1), Insert::Filtered(FilterReason::NoChange));
    assert_eq!(f.cache.instance_count(), 0);
}

/// What is read of a sample depends on who made its octets.
#[test]
fn samples_and_keys_tell_whose_octets_they_are() {
    let mut f = Fixture::new(&keep_all());
    (f.info[1].vendor, f.info[2].vendor) = (VendorId::FAST_DDS, VendorId::CYCLONE_DDS);
    f.write(1, 1, 10);
    f.write(2, 1, 11);
    f.dispose(1, 2);
    for sample in f.read_all() {
        let cyclone = sample.info.publication_handle == guid(2).into();
        assert_eq!(sample.vendor, if cyclone { VendorId::CYCLONE_DDS } else { VendorId::FAST_DDS });
    }
    assert_eq!(f.cache.instance_key(handle(2)).map(|(_, vendor)| vendor), Some(VendorId::FAST_DDS));
    // A key that was made of a sample is as the standard says.
    f.cache.set_instance_key(handle(1), &[0; 8]);
    assert_eq!(f.cache.instance_key(handle(1)).map(|(_, vendor)| vendor), Some(VendorId::UNKNOWN));
}
