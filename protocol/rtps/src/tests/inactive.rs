//! DDS 1.4 §2.2.3.14: readers that do not answer any more, and what the writer still waits for.

use alloc::vec::Vec;

use dunlin_core::{Duration, SequenceNumber, SequenceNumberSet};
use dunlin_wire::AckNack;

use super::support::*;
use crate::WriterConfig;

/// Lets the timers run that are due until then. The times at which a reader was inactive first.
fn until(source: &mut Source, now: &mut u64, end: u64) -> Option<u64> {
    loop {
        let next = source.writer.next_deadline().map_or(u64::MAX, |at| at.0 / 1_000 + 1);
        if next > end {
            *now = end;
            return None;
        }
        *now = next.max(*now);
        source.timer(at(*now));
        if source.writer.is_inactive(reader_guid(0)) == Some(true) {
            return Some(*now);
        }
    }
}

#[test]
fn a_writer_that_was_paused_makes_no_reader_inactive() {
    let inactive_after = Duration::from_secs(10);
    // Its timer is late, or comes right after it went on.
    for paused in [30_000_000, 9_999_000, 10_001_000] {
        let mut source = Source::new(WriterConfig { inactive_after, ..WriterConfig::default() });
        source.match_reader(at(0), reader_proxy(0));
        source.write(at(1_000), 10);
        drain(&mut source.out);
        let mut now = 1_000 + paused;
        source.timer(at(now));
        let end = now + 5_000;
        assert_eq!(until(&mut source, &mut now, end), None);
        let asked = sent(&mut source.out).into_iter().flatten();
        assert!(asked.filter(|seen| matches!(seen, Seen::Hb { ask: true, .. })).count() > 0);
        // Who does not answer that either is inactive.
        let from = now;
        let inactive = until(&mut source, &mut now, from + 1_000_000).expect("inactive");
        assert!(inactive - from < 30_000, "after {} us", inactive - from);
    }
    // One that did not stand still asks for the last time early enough.
    let mut source = Source::new(WriterConfig { inactive_after, ..WriterConfig::default() });
    source.match_reader(at(0), reader_proxy(0));
    source.write(at(1_000), 10);
    let inactive = until(&mut source, &mut 1_000, 20_000_000).expect("inactive");
    assert!((10_001_000..10_002_000).contains(&inactive), "after {inactive} us");
}

#[test]
fn acknowledgements_of_active_readers_are_known_at_any_time() {
    let inactive_after = Duration::from_secs(1);
    let mut source = Source::new(WriterConfig { inactive_after, ..WriterConfig::default() });
    (0..4).for_each(|n| source.match_reader(at(0), reader_proxy(n)));
    for _ in 0..10 {
        source.write(at(1_000), 10);
    }
    let answer = |source: &mut Source, now: u64, n: u8, count: i32, base: i64| {
        let acknack = AckNack {
            reader_id: reader_guid(n).entity_id,
            writer_id: WRITER.entity_id,
            reader_sn_state: SequenceNumberSet::empty(SequenceNumber(base)),
            count,
            final_flag: true,
        };
        let Source { writer, history, out } = source;
        writer.on_acknack(at(now), reader_guid(n).prefix, &acknack, history, out);
        writer.acked_by_active().0
    };
    let mut now = 900_000;
    for n in 1..4 {
        answer(&mut source, now, n, 1, 1);
    }
    assert!(until(&mut source, &mut now, 1_500_000).is_some());
    assert_eq!(source.writer.acked_by_active(), SequenceNumber(0));
    assert_eq!(answer(&mut source, now, 1, 2, 5), 0);
    assert_eq!(answer(&mut source, now, 2, 2, 8), 0);
    assert_eq!(answer(&mut source, now, 3, 2, 4), 3);
    assert_eq!(answer(&mut source, now, 3, 3, 11), 4);
    source.match_reader(at(now), reader_proxy(4));
    assert_eq!(source.writer.acked_by_active(), SequenceNumber(4));
    source.writer.unmatch_reader(reader_guid(1));
    assert_eq!(source.writer.acked_by_active(), SequenceNumber(7));
    assert_eq!(answer(&mut source, now, 2, 3, 11), 10);
    assert_eq!(answer(&mut source, now, 0, 2, 2), 1 + 9, "it is not yet active");
    assert_eq!(answer(&mut source, now, 0, 3, 11), 10);
    assert!(!source.writer.has_inactive_readers());
}

/// It answers, but asks for the same again and again however often that is sent: it does not hold up a writer.
#[test]
fn a_reader_without_progress_becomes_inactive() {
    let inactive_after = Duration::from_secs(1);
    let mut source = Source::new(WriterConfig { inactive_after, ..WriterConfig::default() });
    source.match_reader(at(0), reader_proxy(0));
    for _ in 0..10 {
        source.write(at(1_000), 10);
    }
    let mut count = 0;
    let mut answer = |source: &mut Source, now: u64, base: i64, missing: &[i64]| {
        count += 1;
        let mut reader_sn_state = SequenceNumberSet::empty(SequenceNumber(base));
        missing.iter().for_each(|sn| assert!(reader_sn_state.insert(SequenceNumber(*sn))));
        let (reader_id, writer_id) = (reader_guid(0).entity_id, WRITER.entity_id);
        let acknack = AckNack { reader_id, writer_id, reader_sn_state, count, final_flag: true };
        let Source { writer, history, out } = source;
        writer.on_acknack(at(now), reader_guid(0).prefix, &acknack, history, out);
        drain(out);
        writer.is_inactive(reader_guid(0)).unwrap()
    };
    // What it lacks first is another one each time.
    for sn in 1..=8 {
        for step in 0..3 {
            assert!(!answer(&mut source, sn * 700_000 + step * 100_000, sn as i64, &[sn as i64]));
        }
    }
    // A reader whose application takes nothing asks for nothing.
    assert!((0..40).all(|step| !answer(&mut source, 6_000_000 + step * 100_000, 9, &[])));
    let stalled: Vec<_> = (0..40).map(|n| answer(&mut source, 10_100_000 + n * 100_000, 9, &[9])).collect();
    let first = stalled.iter().position(|inactive| *inactive).expect("inactive");
    assert!((10..=14).contains(&first), "after {first} requests, ten in a second");
    assert!(stalled[first..].iter().all(|inactive| *inactive));
    assert_eq!(source.writer.acked_by_active(), SequenceNumber(10), "nobody is waited for");
    assert!(!answer(&mut source, 15_000_000, 11, &[]), "it has got further");
    assert_eq!(source.writer.stats().readers_inactivated, 1);
}
