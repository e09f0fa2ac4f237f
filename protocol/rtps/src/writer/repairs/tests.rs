//! Timer, budget and fairness of repairs on their own (RTPS 2.5 §8.4.9.2).

use alloc::vec::Vec;

use dunlin_core::SnRange;

use super::*;
use crate::ReaderProxyConfig;
use crate::tests::support::{GROUP, reader_guid};

fn at(micros: u64) -> MonoTime {
    MonoTime(micros * 1000)
}

fn repairs(budget: usize) -> Repairs {
    Repairs::new(&WriterConfig { repair_budget_per_event: budget, ..Default::default() })
}

/// Reliable readers of one group, of which the first `wanting` ask for change 3.
fn readers(count: u8, wanting: u8) -> Readers {
    let mut readers = Readers::default();
    for n in 1..=count {
        let cfg = ReaderProxyConfig {
            guid: reader_guid(n),
            reliable: true,
            multicast: [GROUP].into(),
            ..Default::default()
        };
        let mut proxy = ReaderProxy::new(cfg, true, SequenceNumber::ZERO);
        if n <= wanting {
            let requests = proxy.requests.made();
            requests.whole.insert(SnRange::new(SequenceNumber(3), SequenceNumber(3)), 8);
            requests.rearm(at(0));
        }
        let slot = readers.vacancy(proxy.guid()).unwrap();
        readers.insert(slot, proxy);
    }
    readers
}

#[test]
fn a_budget_lasts_for_a_millisecond() {
    let mut repairs = repairs(1000);
    assert_eq!(repairs.ready_at(at(5000)), at(5000));
    repairs.spend(999);
    assert_eq!((repairs.ready_at(at(5100)), repairs.left()), (at(5100), 1));
    repairs.spend(999);
    assert_eq!((repairs.ready_at(at(5200)), repairs.left()), (at(6000), 0));
    assert_eq!((repairs.ready_at(at(6000)), repairs.left()), (at(6000), 1000));
}

#[test]
fn without_a_budget_one_datagram_leaves_in_each_interval() {
    let mut repairs = repairs(0);
    assert_eq!(repairs.ready_at(at(5000)), at(5000));
    repairs.spend(1);
    assert_eq!(repairs.ready_at(at(5000)), at(6000));
}

#[test]
fn repair_rounds_rotate_the_reader_served_first() {
    let mut repairs = repairs(1000);
    let mut turns = |count| repairs.turns(count).map(ProxyIndex::get).collect::<Vec<_>>();
    assert_eq!([turns(3), turns(3), turns(3), turns(3)], [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    assert_eq!(turns(1), [0], "readers have left");
    assert_eq!(turns(0), []);
}

#[test]
fn repair_rounds_begin_when_the_first_reader_is_due() {
    let mut repairs = repairs(1000);
    assert!(!repairs.begin_round(at(9)), "nobody wants anything");
    repairs.arm(Some(at(20)));
    repairs.arm(Some(at(10)));
    repairs.arm(None);
    assert_eq!(repairs.deadline(), Some(at(10)));
    assert!(!repairs.begin_round(at(9)) && repairs.begin_round(at(10)));
    repairs.arm(Some(at(11)));
    assert_eq!(repairs.deadline(), None, "the end of the round says it");
    repairs.end_round(Some(at(30)));
    assert_eq!(repairs.deadline(), Some(at(30)));
    assert!(repairs.begin_round(at(30)));
    repairs.end_round(None);
    assert_eq!(repairs.deadline(), None);
}

#[test]
fn multicast_repair_serves_all_readers_requesting_the_change() {
    let (mut repairs, mut readers) = (repairs(1000), readers(3, 2));
    let sn = SequenceNumber(3);
    assert_eq!(repairs.share(at(1), &mut readers, ProxyIndex::new(0), sn), None, "no other reader is due");
    repairs.arm(Some(at(0)));
    assert!(repairs.begin_round(at(1)));
    assert_eq!(repairs.share(at(1), &mut readers, ProxyIndex::new(0), sn), Some(GROUP));
    let wants = |index: usize| readers.get(ProxyIndex::new(index)).unwrap().requests.whole.contains(sn);
    assert_eq!([0, 1, 2].map(wants), [true, false, false], "the caller notes it for the first");
    assert!(
        readers.get(ProxyIndex::new(1)).unwrap().was_repaired(sn, WHOLE)
            && !readers.get(ProxyIndex::new(2)).unwrap().was_repaired(sn, WHOLE)
    );
}

#[test]
fn a_repair_is_not_shared_if_few_want_it_or_one_would_take_it_for_new() {
    let (mut repairs, sn) = (repairs(1000), SequenceNumber(3));
    repairs.arm(Some(at(0)));
    assert!(repairs.begin_round(at(1)));
    let mut many = readers(9, 2);
    assert_eq!(repairs.share(at(1), &mut many, ProxyIndex::new(0), sn), None, "two of nine");
    let mut deceived = readers(3, 2);
    let late = deceived.get_mut(ProxyIndex::new(2)).unwrap();
    (late.start, late.start_known) = (sn, false);
    assert_eq!(
        repairs.share(at(1), &mut deceived, ProxyIndex::new(0), sn),
        None,
        "the third starts after it"
    );
}
