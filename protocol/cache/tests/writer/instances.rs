//! The life of instances at the writer (DDS 1.4 §2.2.2.4.2.5 to §2.2.2.4.2.13).

use dunlin_buf::SharedBytes;
use dunlin_cache::{AddError, NewChange, WriterCache, WriterCacheConfig, instance_handle};
use dunlin_core::{InstanceHandle, Now, SequenceNumber, WallTime};
use dunlin_rtps::{ChangeKind, WriterHistory};

use crate::fixture::{Fixture, handle, keep_all, keep_last, transient};

#[test]
fn writing_and_disposing_register_implicitly() {
    let mut f = Fixture::new(&keep_all());
    assert!(!f.cache.contains_instance(handle(1)));
    f.write(1).unwrap();
    f.dispose(2).unwrap();
    f.register(3).unwrap();
    f.register(3).unwrap();
    assert!((1..=3).all(|instance| f.cache.is_registered(handle(instance))));
    let mut registered: Vec<_> = f.cache.registered_instances().map(|(handle, _)| handle).collect();
    registered.sort();
    assert_eq!(registered, [handle(1), handle(2), handle(3)]);
}

#[test]
fn only_registered_instances_can_be_unregistered() {
    let mut f = Fixture::new(&keep_all());
    assert_eq!(f.unregister(1), Err(AddError::NotRegistered));
    assert_eq!(f.remove(1), Err(AddError::NotRegistered));
    f.write(1).unwrap();
    f.unregister(1).unwrap();
    assert_eq!(f.unregister(1), Err(AddError::NotRegistered));
    assert!(f.cache.contains_instance(handle(1)) && !f.cache.is_registered(handle(1)));
    f.ack(2);
    assert!(!f.cache.contains_instance(handle(1)));
    f.write(1).unwrap();
    assert!(f.cache.is_registered(handle(1)));
}

#[test]
fn volatile_instance_is_removed_when_its_unregistration_is_acked() {
    let mut f = Fixture::new(&keep_last(1));
    f.write(1).unwrap();
    f.remove(1).unwrap();
    assert_eq!(f.present(), [2]);
    f.ack(1);
    assert!(f.cache.contains_instance(handle(1)));
    f.ack(2);
    assert_eq!(f.cache.instance_count(), 0);
}

#[test]
fn an_ended_transient_instance_keeps_no_history_for_late_joiners() {
    let mut f = Fixture::new(&transient(keep_last(1)));
    f.write(1).unwrap();
    f.remove(1).unwrap();
    f.write(2).unwrap();
    f.dispose(2).unwrap();
    f.write(3).unwrap();
    f.unregister(3).unwrap();
    assert_eq!(f.ack(6), 1);
    assert_eq!(f.present(), [4, 5, 6]);
    // Registered again before everybody knew that it was gone.
    f.write(4).unwrap();
    f.remove(4).unwrap();
    f.register(4).unwrap();
    assert_eq!(f.ack(8), 1);
    assert!(f.cache.is_registered(handle(4)));
    // It lives again with its next value, which a late joiner gets although the writer has let go of it since.
    let sn = f.write(4).unwrap();
    f.unregister(4).unwrap();
    f.ack(sn + 1);
    assert!(f.present().contains(&sn), "{:?}", f.present());
}

#[test]
fn keys_are_kept_with_their_instances() {
    let mut f = Fixture::new(&keep_all());
    f.write(1).unwrap();
    assert_eq!(f.cache.instance_key(handle(1)), None, "a value is not a key");
    f.cache.set_instance_key(handle(1), &SharedBytes::copy_from(&[9]));
    f.cache.set_instance_key(handle(1), &SharedBytes::copy_from(&[8]));
    assert_eq!(f.cache.instance_key(handle(1)).map(|key| key[0]), Some(9));
    f.dispose(2).unwrap();
    assert_eq!(f.cache.instance_key(handle(2)).map(|key| key[4]), Some(2));
    f.cache.register(f.now, handle(3), Some(SharedBytes::copy_from(&[3])), SequenceNumber::ZERO).unwrap();
    assert_eq!(f.cache.instance_key(handle(3)).map(|key| key[0]), Some(3));
}

#[test]
fn the_key_of_zeros_keeps_its_key_hash_on_the_wire() {
    let mut f = Fixture::new(&keep_all());
    f.write(0).unwrap();
    let zero = instance_handle([0; 16]);
    assert!(f.cache.is_registered(zero));
    assert_eq!(f.cache.registered_instances().map(|(handle, _)| handle).collect::<Vec<_>>(), [zero]);
    let change = f.cache.get(SequenceNumber(1)).unwrap();
    assert_eq!(change.instance, InstanceHandle([0; 16]));
}

#[test]
fn a_topic_without_key_has_one_instance() {
    let mut cache = WriterCache::new(WriterCacheConfig::from_qos(&keep_last(2), false));
    for n in 1..=5 {
        let change = NewChange {
            kind: ChangeKind::Alive,
            instance: handle(n),
            source_timestamp: WallTime(i64::from(n)),
            payload: None,
            inline_qos: None,
        };
        cache.add(Now::default(), change, SequenceNumber::ZERO).unwrap();
    }
    assert_eq!((cache.len(), cache.instance_count()), (2, 1));
    assert_eq!(cache.first_sn(), Some(SequenceNumber(4)));
    assert_eq!(cache.get(SequenceNumber(5)).map(|change| change.instance), Some(InstanceHandle::NIL));
    assert_eq!(cache.last_source_timestamp(), Some(WallTime(5)));
}

#[test]
fn sequence_numbers_go_on_whatever_is_removed() {
    let mut f = Fixture::new(&keep_all());
    assert_eq!((f.cache.last_sn(), f.cache.first_sn()), (SequenceNumber::ZERO, None));
    f.write(1).unwrap();
    f.ack(1);
    assert_eq!((f.cache.last_sn(), f.cache.first_sn()), (SequenceNumber(1), None));
    assert_eq!(f.write(1), Ok(2));
    assert!(f.cache.get(SequenceNumber(1)).is_none());
    assert_eq!(f.cache.next_at_or_after(SequenceNumber(3)), None);
}
