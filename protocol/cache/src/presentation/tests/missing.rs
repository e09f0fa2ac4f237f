//! Sets of which a part is gone that nobody here has seen (RTPS 2.5 §8.7.6).

use super::*;

/// The writer had met the reader, and let go of its part of the set before anything of it arrived.
#[test]
fn coherent_set_misses_changes_lost_before_their_writer_was_heard() {
    for (lost, heard) in [(false, false), (true, false), (true, true)] {
        let (mut waiting, mut shown) = (with_streams(2), Shown::default());
        (1..=2).for_each(|n| waiting.passed(stream(n), SequenceNumber(3), None));
        offer(&mut waiting, 1, place(1, 4, Some((1, 4)), false));
        offer(&mut waiting, 1, place(2, 6, Some((1, 4)), true));
        // Number 5 and the end of the set at the second writer are lost; or 5 was of a writer that nobody listens to.
        if lost {
            waiting.lost(stream(2));
        }
        if heard {
            offer(&mut waiting, 2, place(5, 7, Some((5, 7)), false));
        }
        waiting.announced(stream(2), SequenceNumber(6));
        waiting.passed(stream(2), SequenceNumber(7), None);
        release(&mut waiting, &mut shown);
        let expected = if lost { (vec![], 1) } else { (vec![vec![4]], 0) };
        assert_eq!((shown.units, shown.lost), expected, "{lost}, {heard}");
    }
}

/// All writers of a publisher are lost while a set waits, and one of them is deleted meanwhile. The others send their history again.
#[test]
fn group_history_known_before_all_writers_were_lost_does_not_complete_it() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    know(&mut waiting, 2);
    let place = |sn, number, end, n| Place { writers: first(n), ..place(sn, number, Some((1, 1)), end) };
    offer(&mut waiting, 1, place(1, 1, false, 2));
    release(&mut waiting, &mut shown);
    (1..=2).for_each(|n| waiting.writer_lost(stream(n)));
    waiting.matched(stream(1), true, true, true);
    know(&mut waiting, 1);
    // Number 2 was of the second writer.
    offer(&mut waiting, 1, place(1, 1, false, 2));
    offer(&mut waiting, 1, place(2, 3, true, 1));
    waiting.passed(stream(1), SequenceNumber(3), first(1));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![], 2), "what waited, and what came again");
}

/// What was repaired comes together, when the last of it is there.
#[test]
fn a_whole_set_is_shown_between_two_that_are_not() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    // The others are with a writer that nobody here listens to.
    for set in [10, 20, 30] {
        let (at_writer, lacks) = (set / 2, set != 20);
        let first = at_writer + i64::from(lacks);
        offer(&mut waiting, 1, place(first, set + first - at_writer, Some((at_writer, set)), false));
        offer(&mut waiting, 1, place(first + 1, set + 5, Some((at_writer, set)), true));
    }
    offer(&mut waiting, 1, place(19, 40, None, false));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![20], vec![40]], 2));
}

/// Beyond so many what lies between the last two counts as missing with them.
#[test]
fn holes_between_sets_are_few() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    waiting.max_octets = 100_000;
    let (holes, beyond) = (progress::MAX_HOLES, 10);
    // Every other set lacks its first sample. Two numbers of each are with a writer that nobody here listens to.
    for n in 0..=2 * (holes + beyond) as i64 {
        let (sn, number) = (1 + 3 * n, 1 + 10 * n);
        for (part, end) in [(0, false), (1, false), (2, true)].into_iter().filter(|it| it.0 >= n % 2) {
            offer(&mut waiting, 1, place(sn + part, number + part * part, Some((sn, number)), end));
        }
    }
    let kept = waiting.publishers.values().flat_map(|it| &it.streams).map(|it| it.holes.interval_count());
    assert_eq!(kept.max(), Some(holes));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units.len(), shown.lost), (holes + 1, holes + beyond + 2 * beyond));
}
