use super::*;
use alloc::vec;
use dunlin_core::{GuidPrefix, Rng};

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
    }
}

fn place(sn: i64, number: i64, set: Option<(i64, i64)>, end: bool) -> Place {
    Place {
        sn: SequenceNumber(sn),
        set_at_writer: set.map(|(at_writer, _)| SequenceNumber(at_writer)),
        number: SequenceNumber(number),
        set: set.map(|(_, set)| SequenceNumber(set)),
        end,
    }
}

#[derive(Default)]
struct Shown {
    units: Vec<Vec<i64>>,
    lost: usize,
}

fn release(waiting: &mut Presentation<i64>, shown: &mut Shown) {
    waiting.release(false, |release| {
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

fn with_streams(streams: u8) -> Presentation<i64> {
    let mut waiting = Presentation::new(10_000);
    (1..=streams).for_each(|n| waiting.matched(stream(n), true, false));
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
fn a_set_of_which_a_change_is_lost_is_given_up_and_the_next_one_is_not() {
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
fn numbers_of_writers_without_a_reader_are_not_awaited_for_ever() {
    let (mut waiting, mut shown) = (with_streams(2), Shown::default());
    offer(&mut waiting, 1, place(1, 4, Some((1, 3)), false));
    release(&mut waiting, &mut shown);
    assert_eq!(waiting.lagging(), [(reader(2), stream(2).writer)]);
    offer(&mut waiting, 1, place(2, 6, Some((1, 3)), true));
    waiting.passed(stream(2), SequenceNumber(3));
    release(&mut waiting, &mut shown);
    assert!(shown.units.is_empty(), "writer 2 may have number 5");
    assert_eq!(waiting.lagging(), [(reader(2), stream(2).writer)]);
    waiting.passed(stream(2), SequenceNumber(5));
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![4]]);
    assert!(waiting.lagging().is_empty());
}

#[test]
fn what_a_lost_writer_leaves_open_is_given_up() {
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
    waiting.release(false, |release| match release {
        Release::Show(unit) => Err(unit),
        Release::GiveUp(_) => panic!("nothing is lost"),
    });
    let mut shown = Shown::default();
    release(&mut waiting, &mut shown);
    assert_eq!(shown.units, [vec![1], vec![2]]);
}

#[test]
fn memory_is_bounded() {
    let mut waiting = Presentation::new(100);
    waiting.matched(stream(1), true, false);
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
        let (mut waiting, mut shown) = (with_streams(3), Shown::default());
        let mut torn = Vec::new();
        let mut next = [0; 3];
        while next.iter().zip(&streams).any(|(next, stream)| *next < stream.len()) {
            let n = (rng.next_u64() % 3) as usize;
            let Some(place) = streams[n].get(next[n]) else { continue };
            next[n] += 1;
            // The last end is not lost: something has to tell that what is before it is.
            if rng.next_u64().is_multiple_of(20) && !place.end {
                torn.push(place.set.unwrap().0);
                continue;
            }
            offer(&mut waiting, n as u8 + 1, *place);
            release(&mut waiting, &mut shown);
        }
        let expected: Vec<Vec<i64>> =
            sets.into_iter().filter(|(first, _)| !torn.contains(first)).map(|(_, numbers)| numbers).collect();
        assert_eq!(shown.units, expected, "seed {seed}");
    }
}
