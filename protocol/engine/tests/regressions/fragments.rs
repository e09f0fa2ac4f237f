//! Lies about sizes in DATA_FRAG: CVE-2025-62799, CVE-2026-22590, GHSA-9m2j-qw67-ph4w (Fast DDS), OpenDDS#1826.

use dunlin_buf::SharedBytes;
use dunlin_core::{EntityId, SequenceNumber};
use dunlin_wire::DataFragSpec;

use crate::target::{Answer, Target};

/// What a fragment says of its sample.
#[derive(Clone, Copy)]
struct Lie {
    sn: i64,
    number: u32,
    count: u16,
    fragment_size: u16,
    sample_size: u32,
    payload: usize,
}

impl Target {
    fn fragment(&mut self, lie: Lie) -> Answer {
        let writer_id = self.peer_writer.guid().entity_id;
        let bytes = self.forge(|message| {
            message.data_frag(&DataFragSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id,
                writer_sn: SequenceNumber(lie.sn),
                fragment_starting_num: lie.number,
                fragments_in_submessage: lie.count,
                fragment_size: lie.fragment_size,
                sample_size: lie.sample_size,
                inline_qos: &[],
                key_flag: false,
                payload: SharedBytes::from(vec![0; lie.payload]),
            });
        });
        self.attack(&bytes)
    }
}

#[test]
fn fragments_that_do_not_fit_their_sample_are_malformed() {
    let mut target = Target::new();
    let sn = target.next_sn().0;
    let good = Lie { sn, number: 1, count: 1, fragment_size: 100, sample_size: 250, payload: 100 };
    let lies = [
        Lie { fragment_size: 0, ..good },
        Lie { count: 0, ..good },
        Lie { number: 0, ..good },
        Lie { number: 4, ..good },
        Lie { number: u32::MAX, count: u16::MAX, ..good },
        Lie { number: 3, count: 2, ..good },
        Lie { payload: 40, ..good },
        Lie { payload: 0, ..good },
        Lie { sample_size: 0, ..good },
        Lie { sn: 0, ..good },
        Lie { sn: i64::MIN, ..good },
    ];
    for (n, lie) in lies.into_iter().enumerate() {
        target.fragment(lie).is_small();
        assert_eq!(target.reader.stats().reassembly_octets, 0, "lie {n}");
    }
    target.still_talks();
}

#[test]
fn a_sample_beyond_the_size_limit_counts_as_lost_without_allocation() {
    let mut target = Target::new();
    let sn = target.next_sn().0;
    let lie = Lie { sn, number: 1, count: 1, fragment_size: 1000, sample_size: u32::MAX, payload: 1000 };
    target.fragment(lie).is_small();
    // A fragment for each octet.
    target
        .fragment(Lie { sn: sn + 1, fragment_size: 1, sample_size: u32::MAX, payload: 1, ..lie })
        .is_small();
    let stats = target.reader.stats();
    assert_eq!((stats.oversized, stats.reassembly_octets), (2, 0));
    for _ in 0..2 {
        let writer = std::sync::Arc::clone(&target.peer_writer);
        target.net.write(1, &writer, 1, b"passed over").expect("no limits");
    }
    target.still_talks();
}

#[test]
fn incomplete_fragmented_samples_stay_within_the_quota() {
    let mut target = Target::new();
    let (first, quota) = (target.next_sn().0, 64 << 20);
    for n in 0..200 {
        // Descending, so that each displaces another, with the last fragment first.
        let lie = Lie {
            sn: first + 300 - n,
            number: 60_000,
            count: 1,
            fragment_size: 1_000,
            sample_size: 60_000_000,
            payload: 1_000,
        };
        let answer = target.fragment(lie);
        assert!(answer.octets <= 2_000 && answer.memory <= 130_000_000, "{answer:?}");
        assert!(target.reader.stats().reassembly_octets <= quota);
    }
    assert_eq!(target.reader.stats().partials_evicted, 199);
    target.still_talks();
}

#[test]
fn fragments_that_contradict_the_first_are_refused() {
    let mut target = Target::new();
    let sn = target.next_sn().0;
    let first = Lie { sn, number: 1, count: 1, fragment_size: 1000, sample_size: 2500, payload: 1000 };
    target.fragment(first).is_small();
    target.fragment(Lie { number: 2, sample_size: 60_000_000, ..first }).is_small();
    target.fragment(Lie { number: 2, fragment_size: 900, payload: 900, ..first }).is_small();
    assert_eq!(target.reader.stats().fragments_refused, 2);
    // What the peer then really sends under this number is taken whole.
    target.still_talks();
}
