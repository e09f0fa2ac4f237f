//! What a history keeps, against what DURABILITY_SERVICE says.

use std::collections::BTreeSet;

use dunlin::qos::{DurabilityService, HistoryKind};
use dunlin::{Duration, WallTime};
use dunlin_durability::change::{Change, Kind};
use dunlin_durability::contract::Contract;
use dunlin_durability::history::{History, Quota, Verdict};
use dunlin_durability::keeper::Keeper;
use dunlin_durability::store::{MemoryStore, NoteKey, NoteKind, Store};
use proptest::prelude::*;

use crate::support::*;

const NOW: WallTime = WallTime(1_000_000);

fn unlimited() -> Quota {
    Quota::default()
}

/// The changes of an instance that are to be kept: the last samples with data, the last ends, and no end before all data once there
/// is data enough.
fn fold(of_instance: &[&Change], depth: usize) -> Vec<(u8, i64)> {
    let places = |kind: Kind| {
        let all = of_instance.iter().enumerate().filter(|(_, change)| change.head.kind == kind);
        let all: Vec<usize> = all.map(|(at, _)| at).collect();
        all[all.len().saturating_sub(depth)..].to_vec()
    };
    let (data, mut ends) = (places(Kind::Data), places(Kind::Dispose));
    if data.len() == depth {
        ends.retain(|at| *at > data[0]);
    }
    data.into_iter().chain(ends).map(|at| name(of_instance[at])).collect()
}

fn name(change: &Change) -> (u8, i64) {
    (change.head.origin.writer.to_bytes()[0], change.head.origin.sequence_number.0)
}

fn applied(history: &mut History, changes: &[Change]) -> Vec<Verdict> {
    let mut position = 0;
    let mut verdicts = Vec::new();
    for change in changes {
        position += 1;
        verdicts.push(history.apply(&change.head, position, NOW, false));
    }
    verdicts
}

/// What is kept, by the position in the list of changes.
fn kept(history: &History, changes: &[Change]) -> BTreeSet<(u8, i64)> {
    let (mut all, mut place) = (BTreeSet::new(), None);
    while let Some((next, _)) = history.after(place) {
        all.insert(name(&changes[next.1 as usize - 1]));
        place = Some(next);
    }
    all
}

fn expected(changes: &[Change], depth: usize, by_source: bool) -> BTreeSet<(u8, i64)> {
    let mut sorted: Vec<&Change> = changes.iter().collect();
    if by_source {
        sorted.sort_by_key(|change| (change.head.source_timestamp, name(change)));
    }
    let of = |n: u8| sorted.iter().filter(|it| it.head.instance == instance(n)).copied().collect::<Vec<_>>();
    (0..5).flat_map(|n| fold(&of(n), depth)).collect()
}

proptest! {
    #[test]
    fn the_last_ones_are_kept_in_either_order(seed: u64, count in 0u64..80, depth in 1i32..5, by_source: bool) {
        let changes = changes(&mut Lot::new(seed), count);
        let mut history = History::new(contract(depth, by_source), unlimited());
        applied(&mut history, &changes);
        prop_assert_eq!(kept(&history, &changes), expected(&changes, depth as usize, by_source));
        let octets: usize = kept(&history, &changes).len() * 14;
        prop_assert_eq!(history.octets(), octets as u64);
        // All of it again changes nothing.
        let again = applied(&mut history, &changes);
        prop_assert!(again.iter().all(|verdict| *verdict == Verdict::Duplicate));
    }

    #[test]
    fn services_that_had_the_same_in_another_order_keep_the_same(seed: u64, count in 0u64..60, depth in 1i32..4) {
        let changes = changes(&mut Lot::new(seed), count);
        let mut mixed = changes.clone();
        let mut lot = Lot::new(seed ^ 1);
        for at in (1..mixed.len()).rev() {
            mixed.swap(at, lot.below(at as u64 + 1) as usize);
        }
        let (mut one, mut other) = (History::new(contract(depth, true), unlimited()), History::new(contract(depth, true), unlimited()));
        applied(&mut one, &changes);
        applied(&mut other, &mixed);
        prop_assert_eq!(kept(&one, &changes), kept(&other, &mixed));
    }

    #[test]
    fn durability_quotas_are_never_exceeded(seed: u64, most in 1usize..10, instances in 1usize..4) {
        let changes = changes(&mut Lot::new(seed), 100);
        let quota = Quota { samples: most, instances, octets: 80, writers: 2, ..unlimited() };
        let mut history = History::new(contract(9, false), quota);
        for (at, change) in changes.iter().enumerate() {
            history.apply(&change.head, at as u64, NOW, false);
            prop_assert!(history.len() <= most && history.instances() <= instances && history.octets() <= 80);
            prop_assert!(history.origins().writers() <= 2);
        }
    }
}

/// Takes changes, of which some are copies of another service, and then the same ones as a store has them.
fn in_order(changes: &[(bool, Change)], depth: i32) -> Vec<(u8, i64)> {
    let mut history = History::new(contract(depth, false), unlimited());
    for (at, (is_copy, change)) in changes.iter().enumerate() {
        history.apply(&change.head, at as u64, NOW, *is_copy);
    }
    let order = |history: &History| {
        let (mut all, mut place) = (Vec::new(), None);
        while let Some((next, _)) = history.after(place) {
            all.push(next.1);
            place = Some(next);
        }
        all
    };
    let kept = order(&history);
    let mut restored = History::new(contract(depth, false), unlimited());
    for position in kept.iter().collect::<BTreeSet<_>>() {
        restored.restore(&changes[*position as usize].1.head, *position);
    }
    assert_eq!(order(&restored), kept, "it is the same after a restart");
    kept.into_iter().map(|position| name(&changes[position as usize].1)).collect()
}

#[test]
fn a_copy_that_comes_late_takes_nobodys_place() {
    let of = |by: u8, number: i64| change(Kind::Data, 1, (by, number), number);
    let live = [1, 2, 10].map(|number| (false, of(1, number)));
    let copies = [7, 8, 9].map(|number| (true, of(1, number)));
    let more = [(false, of(1, 11)), (true, of(1, 3))];
    let changes = [&live[..], &copies, &more].concat();
    assert_eq!(in_order(&changes, 1), [(1, 11)]);
    assert_eq!(in_order(&changes[..6], 1), [(1, 10)]);
    assert_eq!(in_order(&changes[..6], 3), [(1, 8), (1, 9), (1, 10)]);
    assert_eq!(in_order(&changes, 20), [1, 2, 3, 7, 8, 9, 10, 11].map(|number| (1, number)));
    // Of another writer, such as the program before it was started again, by the source timestamp.
    let changes = [(false, of(2, 20)), (true, of(1, 10)), (true, of(1, 11)), (false, of(1, 12))];
    assert_eq!(in_order(&changes[..3], 1), [(2, 20)]);
    assert_eq!(in_order(&changes, 1), [(1, 12)], "what comes from its writer came last");
}

#[test]
fn a_copy_that_comes_late_revives_nothing() {
    let mut history = History::new(ending(Duration::ZERO), unlimited());
    history.apply(&change(Kind::Dispose, 1, (1, 7), 7).head, 1, NOW, false);
    history.apply(&change(Kind::Data, 1, (1, 6), 6).head, 2, NOW, true);
    history.writer_lost(writer(1), NOW);
    history.prune(NOW);
    assert!(history.is_empty());
    let ended = history.ended_after(&change(Kind::Data, 1, (1, 5), 5).head).unwrap();
    assert_eq!(ended.origin.unwrap().sequence_number.0, 7);
    assert_eq!(history.ended_after(&change(Kind::Data, 1, (1, 8), 8).head), None);
}

fn ending(delay: Duration) -> Contract {
    let service = DurabilityService { service_cleanup_delay: delay, ..DurabilityService::default() };
    Contract { service, ..contract(1, false) }
}

#[test]
fn an_ended_instance_is_removed_after_the_cleanup_delay() {
    let mut history = History::new(ending(Duration::from_nanos(100)), unlimited());
    let one = [
        change(Kind::Data, 1, (1, 1), 5),
        change(Kind::Data, 1, (2, 1), 6),
        change(Kind::Dispose, 1, (1, 2), 7),
    ];
    applied(&mut history, &one);
    history.prune(WallTime(i64::MAX / 2));
    assert_eq!(history.len(), 2, "its writers are there");
    history.writer_lost(writer(2), NOW);
    assert_eq!(history.apply(&change(Kind::Unregister, 1, (1, 3), 8).head, 4, NOW, false), Verdict::Noted);
    assert!(history.take_removed().without_writers == [instance(1)]);
    history.prune(NOW.plus(Duration::from_nanos(99)));
    assert_eq!(history.len(), 2);
    history.prune(NOW.plus(Duration::from_nanos(100)));
    assert!(history.is_empty() && history.instances() == 0);
    // What another service still had does not revive it; what is new does.
    assert_eq!(history.apply(&change(Kind::Data, 1, (3, 1), 6).head, 5, NOW, true), Verdict::Old);
    assert_eq!(history.apply(&change(Kind::Data, 1, (3, 2), 8).head, 6, NOW, true), Verdict::Kept);
    history.writer_lost(writer(3), NOW);
    history.prune(WallTime(i64::MAX / 2));
    assert_eq!(history.len(), 1, "it is alive, whoever is there");
}

/// The writer that gave an instance up is alive, and does not say it again.
#[test]
fn an_instance_ends_in_time_although_the_service_was_started_again() {
    let open = |store: MemoryStore| {
        Keeper::open(store, unlimited(), |_| Some(ending(Duration::from_nanos(100)))).unwrap()
    };
    let mut keeper = open(MemoryStore::default());
    keeper.add(ending(Duration::from_nanos(100)), b"group".to_vec());
    for kind in [Kind::Data, Kind::Dispose, Kind::Unregister] {
        for of in [1, 2] {
            keeper.apply(&change(kind, of, (1, i64::from(of) + 10 * kind as i64), 5), NOW, false);
        }
    }
    // One is written again.
    keeper.apply(&change(Kind::Data, 2, (1, 50), 6), NOW, false);
    keeper.commit().unwrap();
    let mut keeper = open(keeper.into_store());
    keeper.prune(NOW.plus(Duration::from_nanos(99)));
    assert_eq!(keeper.history(1).unwrap().instances(), 2);
    keeper.prune(NOW.plus(Duration::from_nanos(100)));
    assert_eq!(keeper.history(1).unwrap().instances(), 1);
    keeper.commit().unwrap();
    let mut left = Vec::new();
    let mut visit = |key: NoteKey, _: &[u8]| {
        left.extend((key.kind == NoteKind::Ending).then_some(key));
        Ok(())
    };
    keeper.into_store().notes(&mut visit).unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_message_that_disposes_and_unregisters_is_both() {
    let mut history = History::new(ending(Duration::ZERO), unlimited());
    history.apply(&change(Kind::Data, 1, (1, 1), 5).head, 1, NOW, false);
    assert_eq!(history.apply(&change(Kind::Dispose, 1, (1, 2), 6).head, 2, NOW, false), Verdict::Kept);
    assert_eq!(history.apply(&change(Kind::Unregister, 1, (1, 2), 6).head, 3, NOW, false), Verdict::Noted);
    history.prune(NOW);
    assert!(history.is_empty());
}

#[test]
fn lifespan_ends_in_the_store_as_well() {
    let mut history = History::new(contract(5, false), unlimited());
    let mut late = change(Kind::Data, 1, (1, 1), 5);
    late.head.expires = Some(NOW);
    assert_eq!(history.apply(&late.head, 1, NOW, false), Verdict::Expired);
    late.head.origin.sequence_number.0 = 2;
    late.head.expires = Some(NOW.plus(Duration::from_nanos(1)));
    assert_eq!(history.apply(&late.head, 1, NOW, false), Verdict::Kept);
    assert_eq!(history.next_due(), late.head.expires);
    history.prune(NOW.plus(Duration::from_nanos(1)));
    assert!(history.is_empty());
}

#[test]
fn keep_all_keeps_up_to_its_limits() {
    let service = DurabilityService {
        history_kind: HistoryKind::KeepAll,
        max_samples: 12,
        ..DurabilityService::default()
    };
    let changes: Vec<Change> = (1..=40).map(|n| change(Kind::Data, (n % 3) as u8, (1, n), n)).collect();
    let mut history = History::new(Contract { service, ..contract(1, false) }, unlimited());
    applied(&mut history, &changes);
    assert!(kept(&history, &changes).into_iter().eq((29..=40).map(|n| (1, n))));
}
