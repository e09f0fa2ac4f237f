//! DESTINATION_ORDER and PRESENTATION (DDS 1.4 §2.2.3.17, §2.2.3.6).

use dunlin_cache::InstanceState::{Alive, NotAliveDisposed};
use dunlin_cache::{FilterReason, Insert, SampleStateMask, Selection};
use dunlin_qos::{
    DataReaderQos, DestinationOrder, DestinationOrderKind, Presentation, PresentationAccessScope,
};
use dunlin_rtps::ChangeKind;

use crate::fixture::{Fixture, Sent, keep_all, keep_last, values};

const STALE: Insert = Insert::Filtered(FilterReason::Stale);
const ORDERED: Presentation = Presentation {
    access_scope: PresentationAccessScope::Topic,
    coherent_access: false,
    ordered_access: true,
};

fn by_source(qos: DataReaderQos) -> DataReaderQos {
    let kind = DestinationOrderKind::BySourceTimestamp;
    DataReaderQos { destination_order: DestinationOrder { kind }, ..qos }
}

fn dispose_at(f: &mut Fixture, writer: u8, instance: u8, ms: i64) -> Insert {
    let source = Some(f.wall(ms));
    let kind = ChangeKind::Disposed;
    f.send(&Sent { kind, writer, instance, value: Some(instance), key_only: true, source })
}

#[test]
fn destination_order_by_reception_keeps_arrival_order() {
    let mut f = Fixture::new(&keep_all());
    f.write_at(1, 1, 1, 30);
    f.write_at(2, 1, 2, 10);
    f.write_at(1, 1, 3, 20);
    assert_eq!(f.take_values(), [1, 2, 3]);
}

#[test]
fn destination_order_by_source_sorts_by_timestamp() {
    let mut f = Fixture::new(&by_source(keep_all()));
    f.write_at(1, 1, 1, 30);
    f.write_at(2, 1, 2, 10);
    f.write_at(1, 1, 3, 20);
    let not_read = Selection { sample_states: SampleStateMask::NOT_READ, ..Default::default() };
    assert_eq!(values(&f.read(&not_read)), [2, 3, 1]);
    f.write_at(2, 1, 4, 15);
    assert_eq!(values(&f.read(&not_read)), [4]);
    assert_eq!(f.take_values(), [2, 4, 3, 1]);
}

#[test]
fn ties_are_broken_by_the_writers_guid_whatever_the_order_of_arrival() {
    for writers in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
        let mut f = Fixture::new(&by_source(keep_all()));
        for writer in writers {
            f.write_at(writer, 1, writer, 10);
        }
        assert_eq!(f.take_values(), [1, 2, 3]);
        let mut last = Fixture::new(&by_source(keep_last(1)));
        for writer in writers {
            last.write_at(writer, 1, writer, 10);
        }
        assert_eq!(last.take_values(), [3]);
    }
}

#[test]
fn destination_order_by_source_discards_samples_older_than_last_taken() {
    let mut f = Fixture::new(&by_source(keep_all()));
    f.write_at(1, 1, 1, 20);
    f.take_all();
    assert_eq!(f.write_at(2, 1, 2, 10), STALE);
    assert_eq!(f.write_at(2, 1, 3, 21), Insert::Stored { new_instance: false });
    // The writer registered the instance all the same.
    f.take_all();
    assert!(!f.lose(1));
    assert_eq!(f.state(1), Some(Alive));
}

#[test]
fn destination_order_by_source_full_history_discards_older_samples() {
    let mut f = Fixture::new(&by_source(keep_last(2)));
    f.write_at(1, 1, 1, 20);
    f.write_at(1, 1, 2, 30);
    assert_eq!(f.write_at(2, 1, 3, 10), STALE);
    assert_eq!(f.write_at(2, 1, 4, 25), Insert::Replaced);
    assert_eq!(f.take_values(), [4, 2]);
}

#[test]
fn destination_order_by_source_later_of_write_and_disposal_wins() {
    let mut f = Fixture::new(&by_source(keep_all()));
    f.write_at(1, 1, 1, 20);
    assert_eq!(dispose_at(&mut f, 2, 1, 10), STALE);
    assert_eq!(f.state(1), Some(Alive));
    assert!(dispose_at(&mut f, 2, 1, 30).data_available());
    assert_eq!(f.write_at(1, 1, 2, 25), STALE);
    assert_eq!(f.state(1), Some(NotAliveDisposed));
    assert_eq!(f.write_at(1, 1, 3, 31), Insert::Stored { new_instance: false });
    assert_eq!(f.state(1), Some(Alive));
}

#[test]
fn instances_stand_together_in_the_order_of_their_oldest_sample() {
    let mut f = Fixture::new(&keep_all());
    for (instance, value) in [(2, 1), (1, 2), (3, 3), (2, 4), (1, 5)] {
        f.write(1, instance, value);
    }
    assert_eq!(values(&f.read_all()), [1, 4, 2, 5, 3]);
    let three = Selection { max_samples: 3, ..Default::default() };
    assert_eq!(values(&f.take(&three)), [1, 4, 2]);
    assert_eq!(f.take_values(), [3, 5]);
}

#[test]
fn taking_one_at_a_time_leaves_no_instance_behind() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 2, 1);
    f.write(1, 1, 2);
    let one = Selection { max_samples: 1, ..Default::default() };
    let mut seen = Vec::new();
    for value in 3..7 {
        f.write(1, 2, value);
        seen.extend(values(&f.take(&one)));
    }
    assert_eq!(seen, [1, 2, 3, 4]);
}

#[test]
fn ordered_presentation_keeps_the_order_across_instances() {
    let mut f = Fixture::with_presentation(&keep_all(), ORDERED);
    for (instance, value) in [(2, 1), (1, 2), (2, 3), (1, 4)] {
        f.write(1, instance, value);
    }
    let three = Selection { max_samples: 3, ..Default::default() };
    assert_eq!(values(&f.take(&three)), [1, 2, 3]);
    assert_eq!(f.take_values(), [4]);
}

#[test]
fn ordered_presentation_by_source_sorts_across_instances() {
    let mut f = Fixture::with_presentation(&by_source(keep_all()), ORDERED);
    for (instance, value, ms) in [(2, 1, 40), (1, 2, 10), (2, 3, 20), (1, 4, 30)] {
        f.write_at(1, instance, value, ms);
    }
    let two = Selection { max_samples: 2, ..Default::default() };
    assert_eq!(values(&f.take(&two)), [2, 3]);
    assert_eq!(f.take_values(), [4, 1]);
}

/// A durable writer that was lost and met again sends its history again.
#[test]
fn destination_order_by_source_repeated_sample_replaces_nothing() {
    let mut f = Fixture::new(&by_source(keep_last(2)));
    f.write_at(1, 1, 1, 10);
    f.write_at(1, 1, 2, 20);
    f.lose(1);
    f.repeat_from(1);
    assert_eq!(
        f.write_at(1, 1, 1, 10),
        Insert::StateChanged { new_instance: false },
        "its writer is there again"
    );
    assert_eq!(f.write_at(1, 1, 2, 20), STALE);
    assert_eq!(f.take_values(), [1, 2]);
    f.write_at(1, 1, 3, 30);
    assert_eq!(f.take_values(), [3]);
}
