//! Two histories, and the octets that bring them together.

use dunlin::qos::{DurabilityService, HistoryKind};
use dunlin::{Duration, Guid, InstanceHandle, SampleIdentity, SequenceNumber, VendorId, WallTime};
use proptest::prelude::*;

use super::*;
use crate::change::{Head, Kind};
use crate::contract::Contract;
use crate::history::{Quota, Verdict};

/// Octets of each value in the measurements.
const VALUE: usize = 256;
/// What DDS adds to each change that is given: headers, original identity, key.
const ADDED: usize = 176;
const SEED: Seed = *b"nobody knows it.";

fn empty() -> History {
    let all = DurabilityService { history_kind: HistoryKind::KeepAll, ..DurabilityService::default() };
    let contract = Contract { service: all, by_source: true, lifespan: Duration::INFINITE };
    History::new(contract, Quota { samples: 10_000_000, ..Quota::default() })
}

/// Writers.
const WRITERS: u64 = 50;

/// The number of a change that [`head`] was made of.
fn number(origin: SampleIdentity) -> u64 {
    (origin.sequence_number.0 as u64 - 1) * WRITERS + u64::from(origin.writer.to_bytes()[0])
}

fn head(number: u64) -> Head {
    let writer = Guid::from_bytes([(number % WRITERS) as u8; 16]);
    let count = (number / WRITERS) as i64 + 1;
    Head {
        group: 1,
        instance: InstanceHandle([(number % 100) as u8; 16]),
        origin: SampleIdentity { writer, sequence_number: SequenceNumber(count) },
        source_timestamp: WallTime(number as i64),
        expires: None,
        vendor: VendorId::DUNLIN,
        kind: Kind::Data,
        octets: VALUE as u32,
    }
}

fn history(numbers: impl IntoIterator<Item = u64>) -> History {
    let mut history = empty();
    for (position, number) in numbers.into_iter().enumerate() {
        assert_eq!(history.apply(&head(number), position as u64, WallTime(0), false), Verdict::Kept);
    }
    history
}

fn all(history: &History) -> BTreeSet<SampleIdentity> {
    history.identities().map(|it| it.1).collect()
}

/// What a side was given.
fn give(from: &History, to: &mut History, mut places: Vec<Place>) -> usize {
    places.sort_unstable();
    for place in &places {
        let kept = from.at(*place).unwrap();
        let position = (1 << 40) + to.len() as u64;
        let _ = to.apply(&head(number(kept.origin)), position, WallTime(0), true);
    }
    places.len()
}

#[derive(Default, Debug)]
struct Moved {
    messages: usize,
    octets: usize,
    given: usize,
}

/// One session: afterwards both have the same.
fn align(asks: &mut History, answers: &mut History) -> Moved {
    let mut moved = Moved::default();
    let sent = |moved: &mut Moved, body: &Body| {
        let octets = body.encode();
        moved.messages += 1;
        moved.octets += octets.len() + 100;
        Body::decode(&octets).unwrap()
    };
    let mut answering = Aligner::new(Arc::new(Snapshot::of(answers, SEED)));
    let mut asking = Alignee::new(Arc::new(Snapshot::of(asks, SEED)), answers.len());
    let (mut lacking, mut wanted) = (Vec::new(), Vec::new());
    let mut questions = asking.begin();
    while let Some(question) = questions.pop() {
        match sent(&mut moved, &question) {
            Body::Compare(sums) => {
                for answer in answering.compare(&sums) {
                    let Body::Differ(answer) = sent(&mut moved, &answer) else { unreachable!() };
                    let next = asking.answered(&answer);
                    questions.extend(next.bodies);
                    lacking.extend(next.lacking);
                }
            }
            want => wanted.extend(answering.wanted(&want)),
        }
    }
    assert!(asking.is_done());
    let (before, other) = (history_copy(asks), history_copy(answers));
    moved.given = give(&before, answers, lacking) + give(&other, asks, wanted);
    moved
}

fn history_copy(history: &History) -> History {
    let mut copy = empty();
    for (place, origin, _) in history.identities() {
        copy.restore(&head(number(origin)), place.1);
    }
    copy
}

/// Two histories of so many changes, of which each lacks one in 200, and what it costs to bring them together.
fn one_percent(changes: u64) {
    let lot = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let but = |rest: u64| history((0..changes).filter(|number| lot(*number) % 200 != rest));
    let (mut one, mut other) = (but(3), but(77));
    let differ = all(&one).symmetric_difference(&all(&other)).count();
    let begin = std::time::Instant::now();
    let moved = align(&mut one, &mut other);
    let took = begin.elapsed();
    assert!(all(&one) == all(&other), "they still differ");
    assert_eq!(moved.given, differ, "what both have moves, or something twice");
    let octets = moved.octets + moved.given * (VALUE + ADDED);
    let share = octets as f64 / (changes as usize * VALUE) as f64;
    println!(
        "{changes} changes of {VALUE} octets, {differ} differ: {octets} octets moved ({:.2} %), {} of them in {} messages that find them, {took:.1?} in one thread",
        100.0 * share,
        moved.octets,
        moved.messages
    );
    assert!(share <= 0.03, "{share}");
}

#[test]
fn a_difference_of_one_percent_moves_three() {
    one_percent(30_000);
}

/// The full figure.
#[test]
#[ignore = "a million changes: cargo test --release -p dunlin-durability --lib million -- --ignored --nocapture"]
fn a_million_changes_that_differ_in_one_percent() {
    one_percent(1_000_000);
}

#[test]
fn equal_and_empty_histories_cost_next_to_nothing() {
    let moved = align(&mut history(0..5000), &mut history(0..5000));
    assert!((moved.given, moved.messages) == (0, 2) && moved.octets < 400, "{moved:?}");
    for (one, other) in [(0, 3000), (3000, 0)] {
        let (mut one, mut other) = (history(0..one), history(0..other));
        let moved = align(&mut one, &mut other);
        assert_eq!((all(&one).len(), all(&other).len(), moved.given), (3000, 3000, 3000));
    }
}

proptest! {
    #[test]
    fn alignment_makes_any_two_histories_equal(one in proptest::collection::btree_set(0u64..3000, 0..1500), other in proptest::collection::btree_set(0u64..3000, 0..1500)) {
        let (mut a, mut b) = (history(one.iter().copied()), history(other.iter().copied()));
        let moved = align(&mut a, &mut b);
        prop_assert_eq!(all(&a), all(&b));
        prop_assert_eq!(a.len(), one.union(&other).count());
        prop_assert_eq!(moved.given, one.symmetric_difference(&other).count());
    }

    #[test]
    fn random_bytes_decode_to_an_alignment_body_or_an_error(octets in proptest::collection::vec(any::<u8>(), 0..300), kind in 0u8..7) {
        let octets = [&[kind][..], &octets].concat();
        if let Ok(body) = Body::decode(&octets) {
            prop_assert_eq!(body.encode(), octets);
        }
    }
}

/// Who asks for everything again and again gets each change once, and no answer without end.
#[test]
fn a_false_alignment_answer_gets_no_more_than_there_is() {
    let history = history(0..2000);
    let mut answering = Aligner::new(Arc::new(Snapshot::of(&history, SEED)));
    let (mut given, mut listed, mut nodes) = (0, 0, 0);
    for round in 0..2000u64 {
        given += answering.wanted(&Body::WantBelow(Node::ROOT)).len();
        given += answering.wanted(&Body::Want(vec![round; 1000])).len();
        let node = Node::new(1, (round % 16) << 60).unwrap();
        for body in answering.compare(&vec![Sums { node, sums: [1; BRANCHES] }; 100]) {
            assert!(body.encode().len() <= BODY);
            let Body::Differ(answers) = body else { unreachable!() };
            nodes += answers.len();
            let numbers = |it: &(u8, Branch)| if let Branch::Few(few) = &it.1 { few.len() } else { 0 };
            listed += answers.iter().flat_map(|it| &it.1).map(numbers).sum::<usize>();
        }
    }
    assert_eq!(given, 2000);
    assert!(nodes <= fair(2000) && listed <= 2000 + LEAST, "{nodes} {listed}");
}

/// Who answers that everything differs is not asked without end.
#[test]
fn a_service_that_answers_falsely_is_asked_a_bounded_number_of_times() {
    let history = history(0..2000);
    let mut asking = Alignee::new(Arc::new(Snapshot::of(&history, SEED)), 2000);
    let (mut questions, mut asked) = (asking.begin(), 0);
    let mut lacking = 0;
    while let Some(body) = questions.pop() {
        let Body::Compare(nodes) = body else { continue };
        asked += nodes.len();
        for sums in nodes {
            let many = (0..BRANCHES as u8).map(|branch| (branch, Branch::Many)).collect();
            let next = asking.answered(&[(sums.node, many)]);
            lacking += next.lacking.len();
            questions.extend(next.bodies);
            assert!(asking.answered(&[(sums.node, Vec::new())]).bodies.is_empty(), "it is answered once");
        }
    }
    assert!(asked <= fair(2000) && lacking == 0, "{asked}");
}
