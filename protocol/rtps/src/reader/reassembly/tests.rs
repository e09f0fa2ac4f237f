use alloc::vec;

use dunlin_core::{EntityId, GuidPrefix, Rng};
use dunlin_wire::Header;

use super::*;

const LIMITS: Limits = Limits { partials: 4, octets: 1 << 20, sample: 1 << 20, prefer_newest: false };

fn state() -> ReceiverState {
    ReceiverState::new(GuidPrefix::UNKNOWN, &Header::of(GuidPrefix::UNKNOWN))
}

fn submessage(payload: &[u8], size: u16, first: u32, count: u16) -> DataFrag<'_> {
    let start = (first as usize - 1) * usize::from(size);
    let end = (start + usize::from(count) * usize::from(size)).min(payload.len());
    DataFrag {
        reader_id: EntityId::UNKNOWN,
        writer_id: EntityId::UNKNOWN,
        writer_sn: SequenceNumber(1),
        fragment_starting_num: first,
        fragments_in_submessage: count,
        fragment_size: size,
        sample_size: payload.len() as u32,
        inline_qos: None,
        key_flag: false,
        non_standard_payload: false,
        payload: &payload[start..end],
    }
}

#[test]
fn fragments_in_any_order_and_grouping_reassemble_the_sample() {
    for seed in 0..if cfg!(miri) { 2 } else { 300 } {
        let mut rng = Rng::new(seed);
        let payload: Vec<u8> = (0..1 + rng.below(5000)).map(|_| rng.next_u64() as u8).collect();
        let size = 1 + rng.below(payload.len().min(700) as u64) as u16;
        let packet = SharedBytes::from(payload.clone());
        let total = payload.len().div_ceil(usize::from(size)) as u32;
        let (mut pool, mut reassembly) = (BufPool::new(1 << 20), Reassembly::default());
        let mut placed_sum = 0;
        let mut missing: Vec<u32> = (1..=total).collect();
        loop {
            // Mostly something missing, sometimes anything.
            let pick = missing[rng.below(missing.len() as u64) as usize];
            let first = if rng.chance(1, 4) { 1 + rng.below(u64::from(total)) as u32 } else { pick };
            let most = if rng.chance(1, 8) { 200 } else { 3 };
            let count = (1 + rng.below(most) as u32).min(total - first + 1);
            let frag = submessage(&payload, size, first, count as u16);
            let (added, placed) = reassembly.add(MonoTime(0), &state(), &frag, &packet, LIMITS, &mut pool);
            let before = missing.len();
            missing.retain(|number| !(first..first + count).contains(number));
            assert_eq!(placed as usize, before - missing.len(), "seed {seed}");
            placed_sum += placed;
            match added {
                Added::Complete(change) => {
                    assert_eq!(change.payload, Some(packet), "seed {seed}");
                    break;
                }
                Added::Incomplete => assert!(placed > 0),
                Added::Duplicate => assert_eq!(placed, 0),
                other => panic!("seed {seed}: {other:?}"),
            }
            reassembly.announce_through(SequenceNumber(1));
            let mut requested = vec![];
            reassembly.request_fragments(usize::MAX, |_, set| requested.extend(set.iter()));
            if !requested.is_empty() {
                assert_eq!(requested, missing, "seed {seed}");
            }
        }
        assert_eq!((placed_sum, reassembly.octets()), (total, 0), "seed {seed}");
    }
}

#[test]
fn requests_are_windows_of_256_and_bounded_in_number() {
    let payload = vec![0; 2000];
    let (mut pool, mut reassembly) = (BufPool::new(0), Reassembly::default());
    let packet = SharedBytes::from(payload.clone());
    for first in [1, 700] {
        reassembly.add(MonoTime(0), &state(), &submessage(&payload, 1, first, 1), &packet, LIMITS, &mut pool);
    }
    assert!(!reassembly.is_missing_fragments());
    assert!(reassembly.announce_fragments(SequenceNumber(1), 900));
    let mut windows = vec![];
    reassembly.request_fragments(16, |_, set| windows.push((set.base(), set.iter().count())));
    assert_eq!(windows, [(2, 256), (258, 256), (514, 255), (770, 131)]);
    let mut windows = 0;
    reassembly.request_fragments(2, |_, _| windows += 1);
    assert_eq!(windows, 2);
    // The fifth request without an answer was the last: the whole is wanted then.
    (0..2).for_each(|_| reassembly.request_fragments(2, |_, _| ()));
    assert!(reassembly.wants_fragments(SequenceNumber(1)));
    reassembly.request_fragments(2, |_, _| ());
    assert!(!reassembly.wants_fragments(SequenceNumber(1)));
    reassembly.request_fragments(2, |_, _| panic!());
}
