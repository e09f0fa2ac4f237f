//! The table of readers on its own (RTPS 2.5 §8.4.9.1).

use alloc::vec;

use dunlin_core::{MonoTime, SequenceNumberSet, SnRange};

use super::*;
use crate::ReaderProxyConfig;
use crate::tests::support::{host, life, reader_guid};

fn proxy(guid: Guid, reliable: bool) -> ReaderProxy {
    let cfg = ReaderProxyConfig { guid, reliable, unicast: [host(guid.prefix)].into(), ..Default::default() };
    ReaderProxy::new(cfg, reliable, SequenceNumber::ZERO)
}

fn add(readers: &mut Readers, proxy: ReaderProxy) {
    let slot = readers.vacancy(proxy.guid()).expect("not matched yet");
    readers.insert(slot, proxy);
}

/// Reliable readers with these numbers.
fn readers(numbers: impl IntoIterator<Item = u8>) -> Readers {
    let mut readers = Readers::default();
    numbers.into_iter().for_each(|n| add(&mut readers, proxy(reader_guid(n), true)));
    readers
}

fn at(place: usize) -> ProxyIndex {
    ProxyIndex::new(place)
}

fn acknowledge(readers: &mut Readers, n: u8, through: i64) -> bool {
    let index = readers.find(reader_guid(n)).unwrap();
    readers.acknowledge(index, SequenceNumber(through))
}

#[test]
fn readers_are_sorted_by_guid_and_matched_once() {
    let mut readers = readers([3, 1, 2]);
    assert_eq!(readers.iter().map(ReaderProxy::guid).collect::<Vec<_>>(), [1, 2, 3].map(reader_guid));
    assert_eq!(readers.find(reader_guid(2)), Some(at(1)));
    assert_eq!((readers.vacancy(reader_guid(2)), readers.vacancy(reader_guid(4))), (None, Some(at(3))));
    readers.remove(at(0));
    readers.refresh();
    assert!(readers.by_guid(reader_guid(1)).is_none() && readers.len() == 2);
}

#[test]
fn the_slowest_reliable_reader_says_what_is_acknowledged() {
    let mut readers = readers([1, 2]);
    add(&mut readers, proxy(reader_guid(3), false));
    assert_eq!(readers.acked(), Some(SequenceNumber::ZERO));
    assert!(acknowledge(&mut readers, 1, 5) && !acknowledge(&mut readers, 1, 4), "4 is no news after 5");
    assert_eq!(readers.acked(), Some(SequenceNumber::ZERO));
    assert!(acknowledge(&mut readers, 2, 3));
    assert_eq!(readers.acked(), Some(SequenceNumber(3)));
    readers.remove(at(1));
    readers.refresh();
    assert_eq!(readers.acked(), Some(SequenceNumber(5)), "without the slowest");
    readers.remove(at(0));
    readers.refresh();
    assert_eq!(readers.acked(), None, "a best-effort reader acknowledges nothing");
}

#[test]
fn counting_the_slowest_gives_what_looking_at_all_gives() {
    let mut readers = readers(1..=7);
    let mut state = 1u32;
    for _ in 0..2_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (n, step) = ((state >> 16) % 7 + 1, i64::from(state >> 28));
        let before = readers.by_guid(reader_guid(n as u8)).unwrap().acked;
        acknowledge(&mut readers, n as u8, before.0 + step);
        assert_eq!(readers.acked(), readers.iter().map(|proxy| proxy.acked).min());
    }
}

#[test]
fn an_inactive_reader_is_waited_for_again_when_it_has_caught_up() {
    let mut readers = readers([1, 2]);
    acknowledge(&mut readers, 2, 9);
    readers.get_mut(at(0)).unwrap().state = ReaderState::Silent;
    readers.refresh();
    assert_eq!((readers.lagging(), readers.acked_by_active()), (1, Some(SequenceNumber(9))));
    assert_eq!(readers.acked(), Some(SequenceNumber::ZERO));
    readers.refresh_routes();
    assert_eq!(readers.routes(), [host(reader_guid(2).prefix)], "it is sent no new data");

    let returning = readers.get_mut(at(0)).unwrap();
    returning.state = ReaderState::Returning;
    returning.silence = Some(Box::default());
    returning.silence.as_mut().unwrap().return_to = SequenceNumber(7);
    readers.refresh();
    acknowledge(&mut readers, 1, 6);
    assert_eq!(readers.readmit(at(0)), None, "6 of 7");
    acknowledge(&mut readers, 1, 7);
    assert_eq!(readers.readmit(at(0)), Some(reader_guid(1)));
    assert_eq!((readers.lagging(), readers.acked_by_active()), (0, Some(SequenceNumber(7))));
}

#[test]
fn a_reader_that_is_sent_the_history_gets_no_new_data() {
    let mut readers = Readers::default();
    let mut late = proxy(reader_guid(1), false);
    late.state = ReaderState::CatchingUp;
    late.cfg.expects_inline_qos = true;
    add(&mut readers, late);
    assert!(readers.catch_up() && !readers.expect_inline_qos() && readers.refresh_routes());
    assert_eq!(readers.routes(), []);
    readers.get_mut(at(0)).unwrap().state = ReaderState::Active;
    readers.refresh();
    assert!(!readers.catch_up() && readers.expect_inline_qos() && readers.routes_are_stale());
    assert!(readers.refresh_routes() && !readers.refresh_routes(), "once for each change");
    assert_eq!(readers.routes(), [host(reader_guid(1).prefix)]);
}

#[test]
fn a_lost_reader_is_recalled_in_the_same_life_alone() {
    for (again, known) in [(life(5), Some(SequenceNumber(4))), (life(6), None), (None, None)] {
        let mut readers = readers([1]);
        acknowledge(&mut readers, 1, 4);
        readers.remember(reader_guid(1), life(5).unwrap());
        readers.remove(at(0));
        readers.refresh();
        assert_eq!(readers.recall(reader_guid(1), again), known);
        assert_eq!(readers.recall(reader_guid(1), life(5)), None, "once");
    }
}

#[test]
fn a_repair_is_directed_if_another_reader_would_take_it_for_new_or_it_is_history_for_best_effort() {
    let neighbour = |n| Guid::new(reader_guid(1).prefix, EntityId([0, 0, n, 7]));
    let mut readers = readers([2]);
    add(&mut readers, proxy(neighbour(1), true));
    add(&mut readers, proxy(neighbour(2), true));
    let index = readers.find(neighbour(1)).unwrap();
    assert_eq!(readers.addressee(index, SequenceNumber(3)), EntityId::UNKNOWN);
    let late = readers.by_guid_mut(neighbour(2)).unwrap();
    (late.start, late.start_known) = (SequenceNumber(3), false);
    assert_eq!(readers.addressee(index, SequenceNumber(3)), neighbour(1).entity_id);
    readers.by_guid_mut(neighbour(2)).unwrap().start_known = true;
    readers.by_guid_mut(reader_guid(2)).unwrap().start = SequenceNumber(3);
    assert_eq!(readers.addressee(index, SequenceNumber(3)), EntityId::UNKNOWN, "another participant");
    readers.by_guid_mut(neighbour(1)).unwrap().reliable = false;
    let named = readers.addressee(index, SequenceNumber(3));
    assert_eq!(named, neighbour(1).entity_id, "what a best-effort reader wants is old");
}

#[test]
fn the_only_receiver_of_a_change_is_known() {
    let mut readers = readers([1, 2]);
    assert_eq!(readers.only_receiver(), None, "two");
    readers.get_mut(at(0)).unwrap().rejecting = true;
    assert_eq!(readers.only_receiver(), Some(at(1)));
    readers.get_mut(at(1)).unwrap().rejecting = true;
    assert_eq!(readers.only_receiver(), None, "none");
}

#[test]
fn acknowledged_changes_are_not_requested_again() {
    let mut readers = readers([1]);
    readers
        .get_mut(at(0))
        .unwrap()
        .unannounced
        .made()
        .insert(SnRange::new(SequenceNumber(1), SequenceNumber(6)), 8);
    acknowledge(&mut readers, 1, 4);
    let unannounced = readers.get(at(0)).unwrap().unannounced.as_slice();
    assert_eq!(unannounced, [SnRange::new(SequenceNumber(5), SequenceNumber(6))]);
}

#[test]
fn an_acknack_replaces_what_a_reader_wants() {
    let terms = Terms {
        last: SequenceNumber(9),
        serve_at: MonoTime(5),
        suppression: dunlin_core::Duration::from_millis(2),
        has_history: true,
        frugal: true,
    };
    let set = |base: i64, missing: &[i64]| {
        let mut set = SequenceNumberSet::empty(SequenceNumber(base));
        missing.iter().for_each(|sn| assert!(set.insert(SequenceNumber(*sn))));
        set
    };
    let mut proxy = proxy(reader_guid(1), true);
    let wanted = |proxy: &ReaderProxy| {
        let ranges = proxy.requests.whole.as_slice().iter();
        ranges.flat_map(|range| range.first.0..=range.last.0).collect::<Vec<_>>()
    };
    assert_eq!(proxy.request(MonoTime(1), &set(3, &[3, 5, 12]), &terms), 0);
    assert_eq!((wanted(&proxy), proxy.requests.due), (vec![3, 5], Some(MonoTime(5))), "12 was not sent");
    proxy.note_repair(MonoTime(6), SequenceNumber(5), WHOLE);
    assert_eq!(proxy.request(MonoTime(7), &set(4, &[5, 6]), &terms), 1, "5 is on its way");
    assert_eq!(wanted(&proxy), [6]);
    proxy.request(MonoTime(8), &set(10, &[]), &terms);
    assert!(proxy.requests.is_empty() && proxy.requests.due.is_none());
}
