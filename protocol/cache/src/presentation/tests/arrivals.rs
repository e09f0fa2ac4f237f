//! Which reader has what, and which writers are asked for more.

use super::*;

/// A damaged change claims that its set began far behind all that the publisher has written: no answer ever says so.
#[test]
fn a_group_sequence_number_never_reached_is_requested_ever_less_often() {
    let mut waiting = with_streams(2);
    offer(&mut waiting, 1, place(1, 5_000_000, None, false));
    let ask =
        |waiting: &mut Presentation<i64>, ms: u64| waiting.ask(MonoTime(ms * 1_000_000), reader(2)).len();
    assert_eq!(ask(&mut waiting, 0), 1);
    let questions: usize = (0..10_000).map(|ms| ask(&mut waiting, ms)).sum();
    assert!((30..60).contains(&questions), "{questions} in ten seconds");
    assert_eq!(lagging(&waiting), [(reader(2), stream(2).writer)], "it is never given up");
    // Another question begins anew.
    offer(&mut waiting, 1, place(2, 4_000_000, None, false));
    assert_eq!([ask(&mut waiting, 10_000), ask(&mut waiting, 10_000), ask(&mut waiting, 10_002)], [1, 0, 1]);
}

/// One writer to two readers of a subscriber, one of which can be asked for what it lacks.
#[test]
fn changes_of_a_deleted_reader_do_not_complete_the_set_of_another() {
    for deleted in [true, false] {
        let (mut waiting, mut shown) = (Presentation::new(10_000, MAX_WAIT), Shown::default());
        let to = |n: u8| Stream { reader: reader(n), ..stream(1) };
        waiting.matched(to(1), true, false, true);
        waiting.matched(to(2), false, false, true);
        // The second one lacks number 2.
        for (n, sn) in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 3)] {
            let at = place(sn, sn, Some((1, 1)), sn == 3);
            waiting.offer(to(n), &at, (sn < 3).then_some(sn), 10);
        }
        if deleted {
            waiting.reader_deleted(reader(1));
        } else {
            waiting.writer_lost(to(1));
        }
        waiting.offer(to(2), &place(4, 4, None, false), Some(4), 10);
        release(&mut waiting, &mut shown);
        assert_eq!(shown.units, [vec![4]], "the set is torn");
    }
}

/// A durable reader that has met its writer again is sent again what waits already.
#[test]
fn a_change_received_twice_in_a_waiting_set_counts_once() {
    let (mut waiting, mut shown) = (Presentation::new(10_000, MAX_WAIT), Shown::default());
    let to = |n: u8| Stream { reader: reader(n), ..stream(1) };
    (1..=2).for_each(|n| waiting.matched(to(n), true, true, true));
    let begin = place(1, 1, Some((1, 1)), false);
    waiting.offer(to(1), &begin, Some(1), 10);
    waiting.matched(to(1), true, true, true);
    waiting.offer(to(1), &begin, Some(1), 10);
    for n in [1, 2] {
        waiting.offer(to(n), &place(2, 2, Some((1, 1)), true), None, 0);
    }
    release(&mut waiting, &mut shown);
    assert!(shown.units.iter().all(|unit| unit.len() == 2), "the second one has yet to get it");
}

/// Both readers lose the writer, the first one in the middle of a set that the second one has: it is shown to neither.
#[test]
fn a_set_is_not_whole_that_a_reader_lost_its_writer_in() {
    for (had, both) in [(1, false), (1, true), (2, false), (2, true)] {
        let (mut waiting, mut shown) = (Presentation::new(10_000, MAX_WAIT), Shown::default());
        let to = |n: u8| Stream { reader: reader(n), ..stream(1) };
        (1..=2).for_each(|n| waiting.matched(to(n), true, false, true));
        for (n, sn) in (1..=had).map(|sn| (1, sn)).chain((1..=4).map(|sn| (2, sn))) {
            let at = place(sn, sn, Some((1, 1)), sn == 4);
            waiting.offer(to(n), &at, (sn < 4).then_some(sn), 10);
        }
        release(&mut waiting, &mut shown);
        assert_eq!((shown.units.len(), shown.lost), (0, 0), "the first one lacks some of it");
        waiting.writer_lost(to(1));
        if both {
            waiting.writer_lost(to(2));
        }
        release(&mut waiting, &mut shown);
        assert_eq!((shown.units.len(), shown.lost), (0, had as usize + 3), "had {had}, both {both}");
    }
}

/// A writer that has lost a reader keeps nothing for it: what ends a set may be gone then, and nothing be written behind it.
#[test]
fn a_coherent_set_whose_end_is_lost_is_given_up_although_nothing_follows() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    let passed = |waiting: &mut Presentation<i64>, n: u8, [number, last]: [i64; 2]| {
        waiting.announced(stream(n), SequenceNumber(last));
        waiting.passed(stream(n), SequenceNumber(number), None);
    };
    (1..=2).for_each(|n| offer(&mut waiting, n, place(1, i64::from(n), Some((1, 1)), false)));
    (1..=2).for_each(|n| passed(&mut waiting, n, [3, n.into()]));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units.len(), shown.lost), (0, 0), "number 3 is of others, and the set is open");
    passed(&mut waiting, 1, [4, 4]);
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units.len(), shown.lost), (0, 0), "the second writer may still bring the end");
    passed(&mut waiting, 2, [4, 4]);
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units.len(), shown.lost), (0, 2));
    (1..=2).for_each(|n| offer(&mut waiting, n, place(3, 4 + i64::from(n), Some((3, 5)), false)));
    (1..=2).for_each(|n| offer(&mut waiting, n, place(4, 7, Some((3, 5)), true)));
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![5, 6]], 2), "the next one is whole");
}

/// All writers that somebody here listens to are deleted in the middle of a set, and the publisher goes on with a new one.
#[test]
fn a_torn_coherent_set_stays_torn_for_a_later_writer() {
    let (mut waiting, mut shown) = (with_streams(1), Shown::default());
    let set = |waiting: &mut Presentation<i64>, n: u8, [sn, number, first]: [i64; 3]| {
        offer(waiting, n, place(sn, number, Some((sn, first)), false));
        offer(waiting, n, place(sn + 1, number + 1, Some((sn, first)), true));
    };
    offer(&mut waiting, 1, place(1, 1, Some((1, 1)), false));
    waiting.writer_lost(stream(1));
    release(&mut waiting, &mut shown);
    assert_eq!(shown.lost, 1);
    waiting.matched(stream(2), true, false, true);
    set(&mut waiting, 2, [1, 2, 1]);
    set(&mut waiting, 2, [3, 4, 4]);
    release(&mut waiting, &mut shown);
    assert_eq!((&shown.units, shown.lost), (&vec![vec![4]], 2), "the next one is whole");
    // In another life it has the same names, and numbers its changes anew.
    offer(&mut waiting, 2, place(5, 6, Some((5, 6)), false));
    waiting.writer_lost(stream(2));
    release(&mut waiting, &mut shown);
    assert_eq!(shown.lost, 3);
    waiting.matched(stream(2), true, false, true);
    set(&mut waiting, 2, [1, 6, 6]);
    release(&mut waiting, &mut shown);
    assert_eq!((shown.units, shown.lost), (vec![vec![4], vec![6]], 3));
}
