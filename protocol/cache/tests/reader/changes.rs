//! Readers that show every change by a sample of its own: ends of instances take room like data.

use dunlin_cache::{Insert, InstanceState, RejectReason};
use dunlin_core::SequenceNumber;
use dunlin_qos::DataReaderQos;
use dunlin_rtps::ChangeKind;

use crate::fixture::*;

fn every(qos: DataReaderQos) -> Fixture {
    let mut qos = qos.show_every_change();
    qos.reliability.kind = dunlin_qos::ReliabilityKind::Reliable;
    Fixture::new(&qos)
}

#[test]
fn keep_last_depth_counts_instance_ends_as_samples() {
    for depth in [1, 3] {
        let mut f = every(DataReaderQos { resource_limits: limits(4, -1, -1), ..keep_last(depth) });
        for n in 0..50 {
            f.write(1, 1, n);
            f.dispose(1, 1);
            assert!(f.cache.len() <= depth as usize, "{depth}: {}", f.cache.len());
        }
        assert_eq!(values(&f.take_all()), [0, 49, 0][3 - depth as usize..], "the last changes");
        f.write(1, 1, 1);
        f.key_change(ChangeKind::DisposedUnregistered, 1, 1);
        f.write(1, 1, 2);
        f.lose(1);
        let left = f.take_all();
        assert_eq!(left.len(), depth as usize);
        assert_eq!(left.last().unwrap().info.instance_state, InstanceState::NotAliveNoWriters);
    }
}

/// A message that disposes and unregisters is shown by two samples.
#[test]
fn dispose_with_unregister_is_stored_whole_or_rejected() {
    let mut f = every(DataReaderQos { resource_limits: limits(2, -1, -1), ..keep_all() });
    f.write(1, 1, 1);
    let ended = f.key_change(ChangeKind::DisposedUnregistered, 1, 1);
    assert_eq!(ended, Insert::Rejected(RejectReason::SamplesLimit));
    f.take_all();
    f.key_change(ChangeKind::DisposedUnregistered, 1, 1);
    assert_eq!(f.take_all().len(), 2);
}

/// Who acknowledges what is committed has to know what nobody can commit.
#[test]
fn unread_samples_replaced_or_expired_are_reported_for_commit() {
    let told = |f: &mut Fixture| -> Vec<i64> {
        let any = f.cache.has_gone_unseen();
        let gone = f.cache.take_gone_unseen();
        assert_eq!(any, !gone.is_empty());
        gone.into_iter().map(|(_, SequenceNumber(sn))| sn).collect()
    };
    let mut f = Fixture::new(&keep_last(1).reliable().acknowledge_on_commit());
    f.write(1, 1, 1);
    f.write(1, 1, 2);
    assert_eq!(told(&mut f), [1], "replaced");
    f.read_all();
    f.write(1, 1, 3);
    assert_eq!(told(&mut f), [0; 0], "it was read");
    f.take_all();
    f.info[1].lifespan = dunlin_core::Duration::from_nanos(10 * MS);
    f.write(1, 1, 4);
    f.at(20).timer();
    assert_eq!(told(&mut f), [4], "expired");
    f.info[1].lifespan = dunlin_core::Duration::INFINITE;
    f.dispose(1, 1);
    f.write(1, 1, 5);
    assert_eq!(told(&mut f), [5], "the sample without data that showed the end");
    let mut qos = keep_all().reliable().acknowledge_on_commit();
    qos.reader_data_lifecycle.autopurge_disposed_samples_delay = dunlin_core::Duration::from_nanos(MS);
    let mut f = Fixture::new(&qos);
    f.write(1, 1, 1);
    f.dispose(1, 1);
    f.at(10).timer();
    assert_eq!(told(&mut f), [1], "purged");
    let mut plain = Fixture::new(&keep_last(1));
    plain.write(1, 1, 1);
    plain.write(1, 1, 2);
    assert_eq!(told(&mut plain), [0; 0], "nobody asks");
}
