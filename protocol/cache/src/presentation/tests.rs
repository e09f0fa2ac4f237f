use alloc::vec;

use dunlin_core::{GuidPrefix, Rng};

use super::*;

mod arrivals;
mod missing;

const MAX_WAIT: Duration = Duration::from_secs(10);
const PUBLISHER: Guid = Guid::new(GuidPrefix([1; 12]), EntityId([0, 0, 1, 8]));

fn reader(n: u8) -> EntityId {
    EntityId([0, 0, n, 7])
}

/// What writer `n` sends to reader `n`.
fn stream(n: u8) -> Stream {
    Stream {
        publisher: PUBLISHER,
        writer: Guid::new(PUBLISHER.prefix, EntityId([0, 0, n, 2])),
        reader: reader(n),
        apart: false,
    }
}

fn place(sn: i64, number: i64, set: Option<(i64, i64)>, end: bool) -> Place {
    Place {
        sn: SequenceNumber(sn),
        set_at_writer: set.map(|(at_writer, _)| SequenceNumber(at_writer)),
        number: SequenceNumber(number),
        set: set.map(|(_, set)| SequenceNumber(set)),
        end,
        writers: None,
    }
}

#[derive(Default)]
struct Shown {
    units: Vec<Vec<i64>>,
    lost: usize,
}

fn release(waiting: &mut Presentation<i64>, shown: &mut Shown) {
    release_at(0, waiting, shown);
}

/// So many seconds later.
fn release_at(secs: u64, waiting: &mut Presentation<i64>, shown: &mut Shown) {
    waiting.release(MonoTime(secs * 1_000_000_000), false, |release| {
        match release {
            Release::Show(unit) if unit.is_empty() => {}
            Release::Show(unit) => shown.units.push(unit.into_iter().map(|(_, item)| item).collect()),
            Release::GiveUp(unit) => shown.lost += unit.len(),
        }
        Ok(())
    });
}

/// Offers a change whose item is its number; an end has none.
fn offer(waiting: &mut Presentation<i64>, n: u8, place: Place) {
    let item = (!place.end).then_some(place.number.0);
    waiting.offer(stream(n), &place, item, 10);
}

fn lagging(waiting: &Presentation<i64>) -> Vec<(EntityId, Guid)> {
    waiting.lagging().into_iter().map(|(reader, writer, _)| (reader, writer)).collect()
}

fn with_streams(streams: u8) -> Presentation<i64> {
    let mut waiting = Presentation::new(10_000, MAX_WAIT);
    (1..=streams).for_each(|n| waiting.matched(stream(n), true, false, true));
    waiting
}

fn best_effort_streams(streams: u8) -> Presentation<i64> {
    let mut waiting = Presentation::new(10_000, MAX_WAIT);
    (1..=streams).for_each(|n| waiting.matched(stream(n), false, false, true));
    waiting
}

#[test]
fn a_set_waits_for_its_end_and_for_all_its_members() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    offer(&mut waiting, 1, place(1, 1, None, false));
    offer(&mut waiting, 1, place(2, 2, Some((2, 2)), false));
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![1]]);
    offer(&mut waiting, 1, place(3, 4, Some((2, 2)), true));
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units.len(), 1, "number 3 is with the other writer");
    offer(&mut waiting, 2, place(1, 3, Some((1, 2)), false));
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![1], vec![2, 3]]);
    assert_eq!(waiting.octets(), 0);
}

#[test]
fn a_coherent_set_with_a_lost_change_is_given_up_and_the_next_one_is_not() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    offer(&mut waiting, 1, place(1, 1, Some((1, 1)), false));
    // Number 2, change 2, is lost.
    offer(&mut waiting, 1, place(3, 3, Some((1, 1)), false));
    offer(&mut waiting, 1, place(4, 4, Some((1, 1)), true));
    offer(&mut waiting, 1, place(5, 5, Some((5, 5)), false));
    offer(&mut waiting, 1, place(6, 6, None, false));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![5], vec![6]], 2));
}

#[test]
fn a_gap_at_the_beginning_of_a_coherent_set_leaves_the_one_before_whole() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    offer(&mut waiting, 1, place(1, 1, Some((1, 1)), false));
    // What ends this set, and what begins the next one, is lost.
    offer(&mut waiting, 1, place(4, 4, Some((3, 3)), false));
    offer(&mut waiting, 1, place(5, 5, Some((3, 3)), true));
    offer(&mut waiting, 1, place(6, 6, None, false));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![6]], 2));
}

#[test]
fn a_set_that_claims_to_begin_inside_another_one_ends_the_wait_of_both() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    offer(&mut waiting, 1, place(1, 10, Some((1, 5)), false));
    offer(&mut waiting, 1, place(2, 12, Some((2, 8)), true));
    offer(&mut waiting, 1, place(3, 13, None, false));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![10], vec![13]], 0));
}

/// Damaged places make a writer lose what it wrote, and nobody else's time.
#[test]
fn contradictory_group_sequence_numbers_end_the_wait_for_a_coherent_set() {
    for seed in 0..2_000 {
        let mut rng = Rng::new(seed);
        let mut below = |most: u64| rng.next_u64() % most;
        let (mut waiting, mut calls) = (with_streams(2), 0);
        for sn in 1..40 {
            let number = below(20) as i64 + 1;
            let set = (below(3) > 0).then(|| (below(20) as i64 + 1, below(20) as i64 + 1));
            let from = below(2) as u8 + 1;
            offer(&mut waiting, from, place(sn, number, set, below(4) == 0));
            match below(8) {
                0 => waiting.passed(stream(from), SequenceNumber(below(20) as i64), None),
                1 => waiting.announced(stream(from), SequenceNumber(below(20) as i64)),
                _ => {}
            }
            waiting.release(MonoTime(sn as u64 * 1_000_000_000), false, |_| {
                calls += 1;
                assert!(calls <= 80, "seed {seed}: more comes out than went in");
                Ok(())
            });
        }
    }
}

#[test]
fn changes_lost_before_a_heartbeat_are_missing_from_the_set() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    offer(&mut waiting, 1, place(1, 1, Some((1, 1)), false));
    // Numbers 2, the end of the set, and 3 are lost; 4 is of another writer.
    waiting.announced(stream(1), SequenceNumber(3));
    waiting.passed(stream(1), SequenceNumber(4), None);
    offer(&mut waiting, 1, place(4, 5, None, false));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![5]], 1));
}

#[test]
fn losses_before_a_writers_part_do_not_tear_the_coherent_set() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    offer(&mut waiting, 1, place(1, 1, None, false));
    waiting.passed(stream(2), SequenceNumber(1), None);
    // Number 2, of the first writer, is lost; a set begins with number 3, of the second.
    offer(&mut waiting, 2, place(1, 3, Some((1, 3)), false));
    offer(&mut waiting, 1, place(3, 4, Some((3, 3)), false));
    offer(&mut waiting, 2, place(2, 6, Some((1, 3)), true));
    offer(&mut waiting, 1, place(4, 6, Some((3, 3)), true));
    release(&mut waiting, &mut shown);
    // Number 5 is of a writer that nobody listens to.
    assert_eq!((shown.units, shown.lost), (vec![vec![1], vec![3, 4]], 0));
}

#[test]
fn numbers_of_writers_without_a_reader_are_not_awaited_for_ever() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    offer(&mut waiting, 1, place(1, 4, Some((1, 3)), false));
    release(&mut waiting, &mut shown);
    assert_eq!(lagging(&waiting), [(reader(2), stream(2).writer)]);
    offer(&mut waiting, 1, place(2, 6, Some((1, 3)), true));
    waiting.passed(stream(2), SequenceNumber(3), None);
    release(&mut waiting, &mut shown);
    assert!(shown.units.is_empty(), "writer 2 may have number 5");
    assert_eq!(lagging(&waiting), [(reader(2), stream(2).writer)]);
    waiting.passed(stream(2), SequenceNumber(5), None);
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![4]]);
    assert!(waiting.lagging().is_empty());
}

/// Numbers 3 and 6 are of a writer that nobody listens to. Each of the others has said what it had and where the set ends.
#[test]
fn an_unread_part_tears_no_coherent_set_of_best_effort_readers() {
    let (mut waiting, mut shown) = (best_effort_streams(2), Shown::default());
    for (n, sn, number, end) in [(1, 1, 1, false), (2, 1, 2, false), (1, 2, 4, true)] {
        offer(&mut waiting, n, place(sn, number, Some((1, 1)), end));
        release(&mut waiting, &mut shown);
    }
    assert_eq!((shown.units.len(), shown.lost), (0, 0), "the end is on its way from the second one");
    offer(&mut waiting, 2, place(2, 4, Some((1, 1)), true));
    release(&mut waiting, &mut shown);
    assert_eq!((&shown.units[..], shown.lost), (&[vec![1, 2]][..], 0));
    // The next one has a part of the first writer alone.
    for (n, sn, number, first) in [(1, 3, 5, 3), (1, 4, 7, 3), (2, 3, 7, 3)] {
        offer(&mut waiting, n, place(sn, number, Some((first, 5)), number == 7));
    }
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![1, 2], vec![5]], 0));
    assert!(waiting.lagging().is_empty(), "nobody can be asked");
}

/// What the second one had of a set, and of which of its changes the reader has heard.
#[test]
fn a_gap_at_a_best_effort_reader_tears_the_coherent_set() {
    let first = [(1, 1, false), (2, 4, true), (3, 5, false)];
    let second = [(1, 2, false), (2, 3, false), (3, 4, true)];
    for lacks in 0..3 {
        let (mut waiting, mut shown) = (best_effort_streams(2), Shown::default());
        let arrived = second.into_iter().enumerate().filter(|(at, _)| *at != lacks).map(|(_, it)| it);
        for (n, (sn, number, end)) in arrived.map(|it| (2, it)).chain(first.map(|it| (1, it))) {
            let set = if number < 5 { Some((1, 1)) } else { None };
            offer(&mut waiting, n, place(sn, number, set, end));
        }
        release(&mut waiting, &mut shown);
        // All that could still come is the end, and that came from the first one.
        let whole: &[Vec<i64>] = if lacks == 2 { &[vec![1, 2, 3], vec![5]] } else { &[vec![5]] };
        assert_eq!((&shown.units[..], shown.lost), (whole, if lacks == 2 { 0 } else { 2 }), "{lacks}");
    }
}

#[test]
fn ungrouped_reader_keeps_a_coherent_set_that_another_reader_lacks() {
    for apart in [true, false] {
        let to = |n| Stream { reader: reader(n), apart, ..stream(1) };
        let (mut waiting, mut shown) = (Presentation::new(10_000, MAX_WAIT), Shown::default());
        [1, 2].into_iter().for_each(|n| waiting.matched(to(n), true, false, true));
        let change = |sn, end| place(sn, sn, Some((1, 1)), end);
        waiting.offer(to(1), &change(1, false), Some(1), 10);
        // The second reader came after that.
        for reader in [to(1), to(2)] {
            waiting.offer(reader, &change(2, false), Some(2), 10);
            waiting.offer(reader, &change(3, true), None, 10);
        }
        release(&mut waiting, &mut shown);
        let whole: &[Vec<i64>] = if apart { &[vec![1, 2]] } else { &[] };
        assert_eq!((&shown.units[..], shown.lost), (whole, if apart { 1 } else { 3 }));
    }
}

#[test]
fn an_open_set_of_a_lost_writer_is_given_up() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    offer(&mut waiting, 1, place(1, 1, Some((1, 1)), false));
    offer(&mut waiting, 2, place(1, 2, Some((1, 1)), false));
    waiting.writer_lost(stream(1));
    release(&mut waiting, &mut shown);
    assert_eq!(shown.lost, 0, "the other writer may still tell the end");
    waiting.writer_lost(stream(2));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units.len(), shown.lost), (0, 2));
    assert!(waiting.publishers.is_empty());
}

/// The set before was whole although its end had not come from the writer that is lost.
#[test]
fn a_lost_writer_may_lack_more_than_what_it_had_begun() {
    let (mut waiting, mut shown) = (with_streams(3), Shown::default());
    for (n, sn, number, end) in [(2, 1, 1, false), (1, 1, 2, true), (3, 1, 2, true)] {
        offer(&mut waiting, n, place(sn, number, Some((1, 1)), end));
    }
    for (n, sn, number, end) in [(1, 2, 3, false), (1, 3, 5, true), (3, 2, 5, true)] {
        offer(&mut waiting, n, place(sn, number, Some((2, 3)), end));
    }
    (1..=3).for_each(|n| waiting.writer_lost(stream(n)));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![1]], 1));
}

#[test]
fn a_unit_without_room_is_offered_again_before_anything_else() {
    let mut waiting = with_streams(1);
    offer(&mut waiting, 1, place(1, 1, None, false));
    offer(&mut waiting, 1, place(2, 2, None, false));
    waiting.release(MonoTime(0), false, |release| match release {
        Release::Show(unit) => Err(unit),
        Release::GiveUp(_) => panic!("nothing is lost"),
    });
    let mut shown = Shown::default();
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![1], vec![2]]);
}

#[test]
fn memory_is_bounded() {
    let mut waiting = Presentation::new(100, MAX_WAIT);
    waiting.matched(stream(1), true, false, true);
    let mut shown = Shown::default();
    for sn in 1..1_000 {
        offer(&mut waiting, 1, place(sn, sn, Some((1, 1)), false));
        release(&mut waiting, &mut shown);
        assert!(waiting.octets() <= 110);
    }
    assert!(shown.units.is_empty() && shown.lost > 900);
}

/// Three writers in random order of arrival, losing changes: sets are whole, in order, and none is lost that arrived.
#[test]
fn random_arrivals() {
    for seed in 0..if cfg!(miri) { 3 } else { 2_000 } {
        let mut rng = Rng::new(seed);
        let mut streams: [Vec<Place>; 3] = Default::default();
        let (mut number, mut sets) = (0, BTreeMap::new());
        for _ in 0..8 {
            let first = number + 1;
            let begin = streams.each_ref().map(|stream| stream.len() as i64 + 1);
            for _ in 0..1 + rng.next_u64() % 5 {
                number += 1;
                let n = (rng.next_u64() % 3) as usize;
                let sn = streams[n].len() as i64 + 1;
                streams[n].push(place(sn, number, Some((begin[n], first)), false));
            }
            sets.insert(first, (first..=number).collect::<Vec<_>>());
            number += 1;
            for (n, stream) in streams.iter_mut().enumerate() {
                let sn = stream.len() as i64 + 1;
                stream.push(place(sn, number, Some((begin[n].min(sn), first)), true));
            }
        }
        // One of them is discovered at some time, and keeps until then what it has.
        let mut discovered = seed.is_multiple_of(2);
        let known = if discovered { 3 } else { 2 };
        let (mut waiting, mut shown) = (with_streams(known), Shown::default());
        know(&mut waiting, known);
        let mut torn = Vec::new();
        let mut next = [0; 3];
        while next.iter().zip(&streams).any(|(next, stream)| *next < stream.len()) {
            if !discovered && rng.next_u64().is_multiple_of(30) {
                waiting.matched(stream(3), true, false, true);
                know(&mut waiting, 3);
                discovered = true;
            }
            let n = (rng.next_u64() % 3) as usize;
            let Some(place) = streams[n].get(next[n]).filter(|_| n < 2 || discovered) else { continue };
            next[n] += 1;
            // The last end is not lost: something has to tell that what is before it is.
            if rng.next_u64().is_multiple_of(20) && !place.end {
                torn.push(place.set.unwrap().0);
                continue;
            }
            let place = Place { writers: first(3).filter(|_| place.end), ..*place };
            offer(&mut waiting, n as u8 + 1, place);
            release(&mut waiting, &mut shown);
        }
        let expected: Vec<Vec<i64>> =
            sets.into_iter().filter(|(first, _)| !torn.contains(first)).map(|(_, numbers)| numbers).collect();
        assert_eq!(shown.units, expected, "seed {seed}");
    }
}

/// The digest of the writers 1 to `n`.
fn first(n: u8) -> Option<GroupDigest> {
    let mut ids: Vec<EntityId> = (1..=n).map(|n| stream(n).writer.entity_id).collect();
    Some(GroupDigest::of(&mut ids))
}

fn know(waiting: &mut Presentation<i64>, n: u8) {
    let ids: Vec<EntityId> = (1..=n).map(|n| stream(n).writer.entity_id).collect();
    waiting.writers_known(PUBLISHER, &ids);
}

/// Writers 1 and 2 end a set in which number `first_number + 1` is missing, and the publisher says that it has three writers.
fn end_a_set_without_the_third(waiting: &mut Presentation<i64>, sn: i64, first_number: i64) {
    let set = Some((sn, first_number));
    let place = |sn, number, end| Place { writers: first(3), ..place(sn, number, set, end) };
    offer(waiting, 1, place(sn, first_number, false));
    offer(waiting, 2, place(sn, first_number + 2, false));
    (1..=2).for_each(|n| offer(waiting, n, place(sn + 1, first_number + 3, true)));
}

#[test]
fn a_set_waits_for_a_writer_that_is_not_discovered_yet() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    know(&mut waiting, 2);
    end_a_set_without_the_third(&mut waiting, 1, 1);
    release(&mut waiting, &mut shown);
    assert!(shown.units.is_empty() && shown.lost == 0);
    assert_eq!(waiting.next_deadline(), Some(MonoTime(0).plus(MAX_WAIT)));
    waiting.matched(stream(3), true, false, true);
    know(&mut waiting, 3);
    release(&mut waiting, &mut shown);
    assert!(shown.units.is_empty() && waiting.next_deadline().is_none());
    assert_eq!(lagging(&waiting), [(reader(3), stream(3).writer)]);
    offer(&mut waiting, 3, place(1, 2, Some((1, 1)), false));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![1, 2, 3]], 0));
}

#[test]
fn a_coherent_set_does_not_wait_for_a_writer_without_a_local_reader() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    know(&mut waiting, 3);
    end_a_set_without_the_third(&mut waiting, 1, 1);
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![1, 3]]);
}

/// Also when what is known now is already more, or less: it was known together.
#[test]
fn a_group_sequence_number_known_before_completes_the_history() {
    for now in [2, 4] {
        let (mut waiting, mut shown) = (with_streams(2), Shown::default());
        know(&mut waiting, 3);
        know(&mut waiting, now);
        end_a_set_without_the_third(&mut waiting, 1, 1);
        release(&mut waiting, &mut shown);
        assert_eq!(shown.units, [vec![1, 3]]);
    }
}

/// Those who come late discover all writers at once, and hear of what was written when there were fewer.
#[test]
fn writers_that_came_later_need_not_have_been_there() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    waiting.matched(stream(5), true, false, true);
    know(&mut waiting, 5);
    waiting.passed(stream(5), SequenceNumber(9), first(5));
    end_a_set_without_the_third(&mut waiting, 1, 1);
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![1, 3]], 0));
}

#[test]
fn a_complete_coherent_set_waits_for_no_other_writer() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    know(&mut waiting, 2);
    end_a_set_without_the_third(&mut waiting, 1, 1);
    offer(&mut waiting, 1, Place { writers: first(3), ..place(3, 2, Some((1, 1)), false) });
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![1, 2, 3]]);
}

#[test]
fn a_writer_that_is_never_discovered_is_waited_for_so_long() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    end_a_set_without_the_third(&mut waiting, 1, 1);
    release(&mut waiting, &mut shown);
    release_at(9, &mut waiting, &mut shown);
    assert!(shown.units.is_empty() && shown.lost == 0);
    release_at(10, &mut waiting, &mut shown);
    assert_eq!((shown.units.len(), shown.lost), (0, 2), "none of it");
    assert_eq!(waiting.next_deadline(), None);
    // Nor does the next one wait as long again.
    end_a_set_without_the_third(&mut waiting, 3, 5);
    release_at(11, &mut waiting, &mut shown);
    assert_eq!((shown.units.len(), shown.lost), (0, 4));
}

/// Nobody knows whether it is a digest at all.
#[test]
fn an_unknown_writer_group_digest_is_waited_for_once() {
    let mut waiting = Presentation::new(10_000, MAX_WAIT);
    let mut shown = Shown::default();
    (1..=2).for_each(|n| waiting.matched(stream(n), true, false, false));
    end_a_set_without_the_third(&mut waiting, 1, 1);
    release(&mut waiting, &mut shown);
    assert!(shown.units.is_empty());
    release_at(10, &mut waiting, &mut shown);
    end_a_set_without_the_third(&mut waiting, 3, 5);
    release_at(10, &mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![1, 3], vec![5, 7]], 0));
}

/// The publisher says by now that it has other writers, and those are known: the one that is not has gone.
#[test]
fn a_writer_that_has_gone_undiscovered_is_not_waited_for() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    know(&mut waiting, 2);
    end_a_set_without_the_third(&mut waiting, 1, 1);
    release(&mut waiting, &mut shown);
    assert_eq!(shown.lost, 0);
    waiting.passed(stream(1), SequenceNumber(4), first(2));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units.len(), shown.lost), (0, 2), "it may have had a part");
}

#[test]
fn a_publisher_that_is_lost_brings_nothing_more() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    know(&mut waiting, 2);
    end_a_set_without_the_third(&mut waiting, 1, 1);
    (1..=2).for_each(|n| waiting.writer_lost(stream(n)));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units.len(), shown.lost), (0, 2));
    assert!(waiting.publishers.is_empty());
}

/// What is in no set is put in order, also after a number that nobody here may ever get.
#[test]
fn order_waits_for_a_writer_that_is_not_discovered_yet() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    know(&mut waiting, 1);
    let at = |sn, number| Place { writers: first(2), ..place(sn, number, None, false) };
    offer(&mut waiting, 1, at(1, 2));
    release(&mut waiting, &mut shown);
    assert!(shown.units.is_empty());
    waiting.matched(stream(2), true, false, true);
    know(&mut waiting, 2);
    offer(&mut waiting, 2, at(1, 1));
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![1], vec![2]]);
    offer(&mut waiting, 1, Place { writers: first(3), ..at(2, 4) });
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units.len(), 2);
    waiting.passed(stream(2), SequenceNumber(3), None);
    release(&mut waiting, &mut shown);
    release_at(10, &mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![1], vec![2], vec![4]], "later it is shown all the same");
}

/// HEARTBEATs say it too, of changes that do not.
#[test]
fn heartbeats_count_for_the_changes_before_them() {
    for (at, waits) in [(1, false), (2, true)] {
        let (mut waiting, mut shown) = (with_streams(1), Shown::default());
        know(&mut waiting, 1);
        offer(&mut waiting, 1, place(1, 2, None, false));
        waiting.passed(stream(1), SequenceNumber(at), first(2));
        release(&mut waiting, &mut shown);
        assert_eq!(shown.units.is_empty(), waits, "said at {at}");
    }
}

/// A publisher that tells of other writers each time keeps back its own changes for so long, and nobody else's.
#[test]
fn endless_writer_group_digests_delay_only_their_own_publisher() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    let other = Guid::new(GuidPrefix([2; 12]), EntityId([0, 0, 1, 8]));
    let honest =
        Stream { publisher: other, writer: Guid::new(other.prefix, EntityId([0, 0, 9, 2])), ..stream(9) };
    waiting.matched(honest, true, false, true);
    for n in 0..200_u32 {
        let odd = i64::from(2 * n + 2);
        let writers = Some(GroupDigest(n.to_be_bytes()));
        offer(&mut waiting, 1, Place { writers, ..place(odd / 2, odd, None, false) });
        waiting.writers_known(PUBLISHER, &[EntityId((n + 1_000).to_be_bytes())]);
        let sn = i64::from(n) + 1;
        waiting.offer(honest, &place(sn, sn, None, false), Some(-sn), 10);
        release(&mut waiting, &mut shown);
        assert_eq!(shown.units.last(), Some(&vec![-sn]), "{n}");
    }
    assert_eq!(shown.units.len(), 200);
    for n in 1..=200 {
        release_at(n * 10, &mut waiting, &mut shown);
        assert_eq!(shown.units.len() as u64, 200 + n);
    }
}

/// It was deleted between the sets, of which discovery tells after the second one has arrived: the number that is missing there
/// is not its own, if the publisher did not have it any more when the set began.
#[test]
fn a_writer_that_had_gone_before_a_set_takes_nothing_of_it() {
    for (writers, expected) in [(2, (vec![vec![1, 2, 3], vec![5]], 0)), (3, (vec![vec![1, 2, 3]], 1))] {
        let (mut waiting, mut shown) = (with_streams(3), Shown::default());
        know(&mut waiting, 3);
        let place =
            |sn, number, set, end, n| Place { writers: first(n), ..place(sn, number, Some(set), end) };
        (1..=3).for_each(|n| offer(&mut waiting, n, place(1, i64::from(n), (1, 1), false, 3)));
        (1..=3).for_each(|n| offer(&mut waiting, n, place(2, 4, (1, 1), true, 3)));
        release(&mut waiting, &mut shown);
        offer(&mut waiting, 1, place(3, 5, (3, 5), false, writers));
        (1..=2).for_each(|n| offer(&mut waiting, n, place(3 + i64::from(n == 1), 7, (3, 5), true, writers)));
        release(&mut waiting, &mut shown);
        assert_eq!(shown.units.len(), 1);
        waiting.writer_lost(stream(3));
        know(&mut waiting, 2);
        release(&mut waiting, &mut shown);
        assert_eq!((shown.units, shown.lost), expected);
    }
}

/// It was deleted in the middle of a set of which nothing had arrived here, and what it wrote there went with it. The next set is
/// whole again. Who is only ignored is known all the same, and nobody waits for it.
#[test]
fn a_deleted_writer_tears_the_open_coherent_set() {
    for (known, begins_with, whole) in
        [(1, None, false), (2, None, true), (1, first(1), true), (1, first(2), false)]
    {
        let (mut waiting, mut shown) = (with_streams(2), Shown::default());
        know(&mut waiting, 2);
        let place = |sn, number, set, end, writers| Place { writers, ..place(sn, number, Some(set), end) };
        (1..=2).for_each(|n| offer(&mut waiting, n, place(1, i64::from(n), (1, 1), false, None)));
        (1..=2).for_each(|n| offer(&mut waiting, n, place(2, 3, (1, 1), true, first(2))));
        release(&mut waiting, &mut shown);
        waiting.writer_lost(stream(2));
        know(&mut waiting, known);
        // Number 5 is of the second writer, or of one that nobody listens to. So is number 8.
        for (sn, number) in [(3, 4), (5, 7)] {
            let begins_with = if number == 4 { begins_with } else { None };
            offer(&mut waiting, 1, place(sn, number, (sn, number), false, begins_with));
            offer(&mut waiting, 1, place(sn + 1, number + 2, (sn, number), true, first(known)));
            release(&mut waiting, &mut shown);
        }
        let expected = if whole { vec![vec![1, 2], vec![4], vec![7]] } else { vec![vec![1, 2], vec![7]] };
        assert_eq!((shown.units, shown.lost), (expected, usize::from(!whole)), "{known}, {begins_with:?}");
        assert_eq!(waiting.publishers[&(PUBLISHER, EntityId::UNKNOWN)].streams.len(), 1);
    }
}

/// Its HEARTBEATs say it, too.
#[test]
fn a_writer_deleted_between_coherent_sets_tears_neither() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    know(&mut waiting, 2);
    offer(&mut waiting, 2, place(1, 1, None, false));
    waiting.passed(stream(1), SequenceNumber(2), first(1));
    waiting.writer_lost(stream(2));
    know(&mut waiting, 1);
    // Number 3 is of a writer that nobody listens to.
    offer(&mut waiting, 1, place(1, 4, Some((1, 3)), false));
    offer(&mut waiting, 1, Place { writers: first(1), ..place(2, 5, Some((1, 3)), true) });
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![1], vec![4]], 0));
}

/// A writer is created and deleted while nothing of its publisher arrives. What the publisher wrote before it was created, and only
/// now arrives, does not say that it has gone: in the sets behind that it had a part.
#[test]
fn an_undiscovered_writer_tears_the_coherent_sets_it_had_a_part_in() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    know(&mut waiting, 1);
    let place = |sn, number, set, end, n| Place { writers: first(n), ..place(sn, number, set, end) };
    offer(&mut waiting, 1, place(1, 1, None, false, 1));
    release(&mut waiting, &mut shown);
    waiting.matched(stream(2), true, false, true);
    know(&mut waiting, 2);
    waiting.writer_lost(stream(2));
    know(&mut waiting, 1);
    offer(&mut waiting, 1, place(2, 2, None, false, 1));
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![1], vec![2]]);
    // Number 4 is of the second writer, as number 7 would be if it had not gone.
    for (sn, number, writers) in [(3, 3, 2), (5, 6, 1)] {
        let set = Some((sn, number));
        offer(&mut waiting, 1, place(sn, number, set, false, writers));
        offer(&mut waiting, 1, place(sn + 1, number + 2, set, true, writers));
        release(&mut waiting, &mut shown);
    }
    assert_eq!((shown.units, shown.lost), (vec![vec![1], vec![2], vec![6]], 1));
}

#[test]
fn lost_writers_remembered_for_later_coherent_sets_are_bounded() {
    let (mut waiting, mut shown) = (with_streams(200), Shown::default());
    (2..=200).for_each(|n| waiting.writer_lost(stream(n)));
    offer(&mut waiting, 1, place(1, 1, None, false));
    release(&mut waiting, &mut shown);
    assert_eq!(waiting.publishers[&(PUBLISHER, EntityId::UNKNOWN)].streams.len(), 1 + MAX_LOST);
}

/// What arrives behind a set that waits for a writer does not have the set looked at again.
#[test]
fn a_set_that_waits_for_a_writer_is_looked_at_once() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    know(&mut waiting, 2);
    let looks =
        |waiting: &Presentation<i64>| waiting.publishers[&(PUBLISHER, EntityId::UNKNOWN)].writers.looks;
    end_a_set_without_the_third(&mut waiting, 1, 1);
    release(&mut waiting, &mut shown);
    waiting.passed(stream(1), SequenceNumber(4), first(3));
    release(&mut waiting, &mut shown);
    let before = looks(&waiting);
    for n in 5..105 {
        offer(&mut waiting, 1, place(n - 2, n, None, false));
        waiting.passed(stream(1), SequenceNumber(n), first(3));
        release_at(1, &mut waiting, &mut shown);
    }
    assert_eq!((looks(&waiting), shown.units.len(), shown.lost), (before, 0, 0));
    assert_eq!(waiting.next_deadline(), Some(MonoTime(0).plus(MAX_WAIT)));
    release_at(10, &mut waiting, &mut shown);
    assert!(looks(&waiting) > before);
    assert_eq!(shown.lost, 2);
}

/// Each of what may end the wait has the set looked at again.
#[test]
fn a_set_that_waits_for_a_writer_is_looked_at_when_something_changes() {
    let changes: [fn(&mut Presentation<i64>); 5] = [
        |waiting| know(waiting, 3),
        |waiting| waiting.passed(stream(1), SequenceNumber(4), first(2)),
        |waiting| (1..=2).for_each(|n| waiting.writer_lost(stream(n))),
        |waiting| (1..=2).for_each(|n| waiting.reader_deleted(reader(n))),
        |waiting| {
            waiting.matched(stream(3), true, false, true);
            offer(waiting, 3, place(1, 2, Some((1, 1)), false));
        },
    ];
    for (nth, change) in changes.into_iter().enumerate() {
        let (mut waiting, mut shown) = (with_streams(2), Shown::default());
        know(&mut waiting, 2);
        end_a_set_without_the_third(&mut waiting, 1, 1);
        release(&mut waiting, &mut shown);
        assert_eq!((shown.units.len(), shown.lost, waiting.octets()), (0, 0, 40));
        change(&mut waiting);
        release(&mut waiting, &mut shown);
        assert_eq!(waiting.octets(), 0, "change {nth}");
    }
}

/// Others fill in zeros where they have no digest.
#[test]
fn an_empty_group_digest_counts_only_once_digests_are_understood() {
    for understood in [false, true] {
        let mut waiting = Presentation::new(10_000, MAX_WAIT);
        let mut shown = Shown::default();
        waiting.matched(stream(1), true, false, understood);
        know(&mut waiting, 1);
        let writers = Some(GroupDigest::EMPTY);
        let at = |sn, end| Place { writers, ..place(sn, sn + 1, Some((1, 2)), end) };
        offer(&mut waiting, 1, at(1, false));
        offer(&mut waiting, 1, at(2, true));
        waiting.passed(stream(1), SequenceNumber(3), writers);
        release(&mut waiting, &mut shown);
        // By HEARTBEATs alone.
        offer(&mut waiting, 1, place(3, 5, None, false));
        waiting.passed(stream(1), SequenceNumber(5), writers);
        release(&mut waiting, &mut shown);
        assert_eq!(shown.units.len(), if understood { 0 } else { 2 }, "understood: {understood}");
    }
}

/// A number beyond all others cannot be outdone, but ends with the writers.
#[test]
fn group_sequence_numbers_from_before_all_writers_were_lost_do_not_count() {
    for others in [false, true] {
        let (mut waiting, mut shown) = (with_streams(if others { 2 } else { 1 }), Shown::default());
        know(&mut waiting, 1);
        waiting.passed(stream(1), SequenceNumber::MAX, first(9));
        waiting.writer_lost(stream(1));
        waiting.matched(stream(1), true, false, true);
        know(&mut waiting, 1);
        offer(&mut waiting, 1, place(1, 2, None, false));
        (1..=2).for_each(|n| waiting.passed(stream(n), SequenceNumber(2), first(1)));
        release(&mut waiting, &mut shown);
        assert_eq!(shown.units.is_empty(), others, "somebody else is left: {others}");
    }
}

/// A publisher that is lost while what it sent waits for room, and met again, numbers its changes as it says then: like before, or
/// from the first on for a reader that wants its history, or as another one with the same GUID.
#[test]
fn a_rematched_publisher_begins_anew_while_samples_wait_for_room() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    let full = |waiting: &mut Presentation<i64>| {
        waiting.release(MonoTime(0), false, |release| match release {
            Release::Show(unit) => Err(unit),
            Release::GiveUp(_) => panic!("nothing is missing"),
        });
    };
    offer(&mut waiting, 1, place(7, 7, None, false));
    offer(&mut waiting, 1, place(8, 8, None, false));
    offer(&mut waiting, 1, place(9, 9, Some((9, 9)), false));
    full(&mut waiting);
    waiting.writer_lost(stream(1));
    full(&mut waiting);
    waiting.matched(stream(1), true, true, true);
    offer(&mut waiting, 1, place(1, 1, Some((1, 1)), false));
    offer(&mut waiting, 1, place(2, 2, Some((1, 1)), false));
    offer(&mut waiting, 1, place(3, 3, Some((1, 1)), true));
    release(&mut waiting, &mut shown);
    assert_eq!(
        (shown.units, shown.lost),
        (vec![vec![7], vec![8], vec![1, 2]], 1),
        "the open set alone is lost"
    );
    assert_eq!((waiting.octets(), waiting.is_full()), (0, false));
}
