//! `read` and `take` by masks, instance, number and query (DDS 1.4 §2.2.2.5.3).

use dunlin_buf::SharedBytes;
use dunlin_cache::{
    Insert, InstanceSelect, InstanceStateMask, KEYLESS_INSTANCE, ReaderCache, ReaderCacheConfig, SampleData,
    SampleStateMask, Selection, UnknownInstance, ViewStateMask, WriterInfo, instance_handle,
};
use dunlin_core::{Identities, InstanceHandle, Now, SequenceNumber};
use dunlin_qos::Presentation;
use dunlin_rtps::{ChangeKind, Received};

use crate::fixture::{Fixture, guid, handle, keep_all, values};

fn unread() -> Selection {
    Selection { sample_states: SampleStateMask::NOT_READ, ..Default::default() }
}

fn of(instance: InstanceSelect) -> Selection {
    Selection { instance, ..Default::default() }
}

/// Instance 1: 1 read, 2 unread, alive. Instance 2: 3 read, disposed. Instance 3: 4 unread, without writers, new.
fn mixed() -> Fixture {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 1);
    f.write(1, 2, 3);
    f.read_all();
    f.write(1, 1, 2);
    f.write(2, 3, 4);
    f.dispose(1, 2);
    f.lose(2);
    f
}

#[test]
fn masks_select_by_state() {
    let any = Selection::default();
    let cases = [
        (any, vec![1, 2, 3, 0, 4]),
        (unread(), vec![2, 4, 0]),
        (Selection { sample_states: SampleStateMask::READ, ..any }, vec![1, 3]),
        (Selection { view_states: ViewStateMask::NEW, ..any }, vec![4]),
        (Selection { view_states: ViewStateMask::NOT_NEW, ..any }, vec![1, 2, 3, 0]),
        (Selection { instance_states: InstanceStateMask::ALIVE, ..any }, vec![1, 2]),
        (Selection { instance_states: InstanceStateMask::NOT_ALIVE, ..any }, vec![3, 0, 4]),
        (Selection { instance_states: InstanceStateMask::NOT_ALIVE_DISPOSED, ..unread() }, vec![0]),
        (Selection { instance_states: InstanceStateMask::NOT_ALIVE_NO_WRITERS, ..any }, vec![4]),
        (Selection { view_states: ViewStateMask(0), ..any }, vec![]),
        (Selection { max_samples: 2, ..any }, vec![1, 2]),
        (Selection { max_samples: 2, ..unread() }, vec![2, 4]),
        (Selection { max_samples: 0, ..any }, vec![]),
    ];
    for (selection, expected) in cases {
        let mut f = mixed();
        if selection.max_samples > 2 {
            assert_eq!(f.cache.count_matching(&selection), expected.len());
            assert_eq!(f.cache.has_matching(&selection), !expected.is_empty());
        }
        let before = f.cache.len();
        assert_eq!(values(&f.read(&selection)), expected, "{selection:?}");
        assert_eq!(f.cache.len(), before);
        let mut f = mixed();
        assert_eq!(values(&f.take(&selection)), expected, "{selection:?}");
        assert_eq!(f.cache.len(), before - expected.len());
    }
}

#[test]
fn reading_marks_samples_and_taking_removes_them() {
    let mut f = mixed();
    assert_eq!(f.read(&unread()).len(), 3);
    assert_eq!(f.read(&unread()).len(), 0);
    assert!(!f.cache.has_matching(&unread()));
    assert_eq!(f.take_all().len(), 5);
    assert!(f.cache.is_empty() && !f.cache.has_matching(&Selection::default()));
}

#[test]
fn the_next_sample_is_the_first_that_was_not_read() {
    let mut f = mixed();
    let next = Selection { max_samples: 1, ..unread() };
    let mut seen = Vec::new();
    loop {
        let samples = f.read(&next);
        if samples.is_empty() {
            break;
        }
        seen.extend(values(&samples));
    }
    assert_eq!(seen, [2, 4, 0]);
}

#[test]
fn read_and_take_select_one_instance() {
    let mut f = mixed();
    assert_eq!(values(&f.read(&of(InstanceSelect::Exact(handle(2))))), [3, 0]);
    let selection = Selection { instance: InstanceSelect::Exact(handle(1)), ..unread() };
    assert_eq!(f.cache.count_matching(&selection), 1);
    assert_eq!(values(&f.take(&selection)), [2]);
    assert!(f.take(&selection).is_empty());
    let unknown = of(InstanceSelect::Exact(handle(9)));
    assert_eq!(f.cache.read(&unknown, &mut Vec::new()), Err(UnknownInstance));
    assert_eq!(f.cache.take(&unknown, &mut Vec::new()), Err(UnknownInstance));
    assert_eq!(f.cache.count_matching(&unknown), 0);
}

#[test]
fn the_next_instance_is_the_smallest_above_with_matching_samples() {
    let mut f = mixed();
    let next = |previous| of(InstanceSelect::Next(previous));
    assert_eq!(values(&f.read(&next(InstanceHandle::NIL))), [1, 2]);
    assert_eq!(values(&f.read(&next(handle(1)))), [3, 0]);
    let mut between = handle(2);
    between.0[15] = 3;
    assert_eq!(values(&f.read(&next(between))), [4]);
    assert!(f.read(&next(handle(3))).is_empty());
    f.write(1, 3, 5);
    let fresh = Selection { instance: InstanceSelect::Next(InstanceHandle::NIL), ..unread() };
    assert_eq!(f.cache.count_matching(&fresh), 1);
    assert_eq!(values(&f.take(&fresh)), [5]);
    assert_eq!(f.cache.count_matching(&fresh), 0);
    assert!(f.take(&fresh).is_empty());
}

#[test]
fn the_key_of_zeros_is_an_instance_like_any_other() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 0, 1);
    f.write(1, 1, 2);
    let zero = instance_handle([0; 16]);
    assert_eq!(f.read_all()[0].info.instance_handle, zero);
    assert!(f.cache.contains_instance(zero));
    let mut previous = InstanceHandle::NIL;
    let mut seen = Vec::new();
    loop {
        let samples = f.read(&of(InstanceSelect::Next(previous)));
        let Some(first) = samples.first() else { break };
        previous = first.info.instance_handle;
        seen.extend(values(&samples));
    }
    assert_eq!(seen, [2, 1]);
}

#[test]
fn queries_look_at_the_data() {
    let mut f = mixed();
    let even = |data: &SampleData<'_>| data.payload.is_some_and(|payload| payload[4] % 2 == 0);
    let any = Selection::default();
    assert!(f.cache.has_matching_where(&any, &mut { even }));
    let mut out = Vec::new();
    assert_eq!(f.cache.read_where(&any, &mut { even }, &mut out), Ok(2));
    assert_eq!(values(&out), [2, 4]);
    out.clear();
    let one = Selection { max_samples: 1, ..any };
    assert_eq!(f.cache.take_where(&one, &mut { even }, &mut out), Ok(1));
    assert_eq!(values(&out), [2]);
    out.clear();
    let next = of(InstanceSelect::Next(InstanceHandle::NIL));
    f.cache.take_where(&next, &mut { even }, &mut out).unwrap();
    assert_eq!(values(&out), [4], "instances without a match are passed over");
    assert!(!f.cache.has_matching_where(&any, &mut { even }));
    let mut no_data = |data: &SampleData<'_>| data.payload.is_none() && data.key.is_some();
    assert!(f.cache.has_matching_where(&any, &mut no_data));
}

#[test]
fn a_topic_without_key_has_one_instance() {
    let config = ReaderCacheConfig::from_qos(&keep_all(), Presentation::default(), false);
    let mut cache = ReaderCache::new(config);
    for n in 1..=3 {
        let change = Received {
            writer: guid(1),
            sn: SequenceNumber(n),
            kind: ChangeKind::Alive,
            key_hash: None,
            source_timestamp: None,
            payload: Some(SharedBytes::copy_from(&[0, 1, 0, 0, n as u8])),
            key_only: false,
            inline_qos: None,
            identities: Identities::default(),
            reassembled: false,
        };
        let inserted = cache.insert(Now::default(), &change, handle(n as u8), &WriterInfo::default());
        assert_eq!(inserted, Insert::Stored { new_instance: n == 1 });
    }
    let mut out = Vec::new();
    assert_eq!(cache.read(&of(InstanceSelect::Next(InstanceHandle::NIL)), &mut out), Ok(3));
    assert_eq!(out[0].info.instance_handle, KEYLESS_INSTANCE);
    assert_eq!(out[0].info.source_timestamp, out[0].info.reception_timestamp);
    assert_eq!(cache.read(&of(InstanceSelect::Next(KEYLESS_INSTANCE)), &mut out), Ok(0));
    assert!(cache.writer_lost(Now::default(), guid(1)));
}
