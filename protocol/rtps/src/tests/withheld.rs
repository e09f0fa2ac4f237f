//! DDS 1.4 §2.2.3.12 TIME_BASED_FILTER at the writer: what is kept back leaves, although the history removes what it can, the
//! budget of repairs is used up, new data waits, or the separation changes meanwhile.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_core::{Duration, Locator, SequenceNumber};

use super::separation::{Line, SEPARATION, writes};
use super::support::*;
use crate::{Change, ChangeKind, Pacing, ReaderConfig, ReaderFilter, ReaderProxyConfig, WriterConfig};

fn proxy(reliable: bool) -> ReaderProxyConfig {
    ReaderProxyConfig { reliable, ..reader_proxy(0) }
}

fn keeping_last(reliable: bool, cfg: WriterConfig, loss: Option<u64>, seed: u64) -> Line {
    let mut line = Line::new(SEPARATION, proxy(reliable), cfg, loss, seed);
    line.keep_last = true;
    line
}

/// A pacer that lets one datagram leave, and the next after a long time.
fn slow() -> WriterConfig {
    WriterConfig { pacing: Some(Pacing { rate: 1_000, burst: 1 }), ..WriterConfig::default() }
}

#[test]
fn the_last_values_arrive_from_a_history_that_keeps_nothing_else() {
    let seeds = if cfg!(miri) { 1 } else { 40 };
    for (seed, reliable) in (0..seeds).flat_map(|seed| [(seed, false), (seed, true)]) {
        let writes = writes(seed, 1 + seed % 5);
        let loss = (reliable && seed % 2 == 0).then_some(5);
        let mut line = keeping_last(reliable, WriterConfig::default(), loss, seed);
        let mut last = BTreeMap::new();
        for (n, (now, instance)) in writes.iter().enumerate() {
            line.write(*now, *instance, ChangeKind::Alive);
            last.insert(*instance, n as i64 + 1);
        }
        let end = writes.last().map_or(0, |(now, _)| now + 100 * SEPARATION);
        assert_eq!(line.last_shown(end), last, "seed {seed}, reliable: {reliable}");
        assert!(line.samples < 600, "seed {seed}, reliable: {reliable}: {} samples", line.samples);
        // Under KEEP_LAST what was lost on the way may be gone when it is asked for.
        assert!(loss.is_some() || line.target.sink.lost == 0, "seed {seed}, reliable: {reliable}");
        assert_eq!(line.source.writer.acked_by_all(), SequenceNumber(600), "seed {seed}");
    }
}

/// Each write comes just when the separation is over, and displaces what was to leave.
#[test]
fn a_reader_does_not_starve_where_each_sample_displaces_the_one_before() {
    for reliable in [false, true] {
        let mut line = keeping_last(reliable, WriterConfig::default(), None, 1);
        (0..1001).for_each(|n| line.write(100_000 + n * 1000, 1, ChangeKind::Alive));
        assert_eq!(line.last_shown(2_000_000), BTreeMap::from([(1, 1001)]));
        assert!((10..=13).contains(&line.shown.list.len()), "{:?}", line.shown.list);
        assert_eq!(line.target.sink.lost, 0);
    }
}

#[test]
fn an_expired_withheld_sample_is_not_lost_and_begins_no_separation() {
    for reliable in [false, true] {
        let mut line = Line::new(SEPARATION, proxy(reliable), WriterConfig::default(), None, 1);
        line.write(100_000, 1, ChangeKind::Alive);
        line.write(101_000, 1, ChangeKind::Alive);
        line.source.history.remove(2);
        line.write(210_000, 1, ChangeKind::Alive);
        line.run(211_000);
        assert_eq!((line.target.sink.got.as_slice(), line.target.sink.lost), ([1, 3].as_slice(), 0));
    }
}

#[test]
fn the_last_value_leaves_before_the_end_of_its_instance_displaces_it() {
    for (reliable, kind) in
        [(false, ChangeKind::Disposed), (true, ChangeKind::Disposed), (true, ChangeKind::Unregistered)]
    {
        let mut line = keeping_last(reliable, WriterConfig::default(), None, 1);
        line.write(100_000, 1, ChangeKind::Alive);
        line.write(101_000, 1, ChangeKind::Alive);
        line.write(102_000, 1, kind);
        line.run(110_000);
        assert_eq!(line.target.sink.got, [1, 2, 3]);
    }
}

#[test]
fn a_best_effort_reader_is_not_made_to_wait_for_the_budget_of_repairs() {
    let cfg = WriterConfig { repair_budget_per_event: 1, ..WriterConfig::default() };
    let mut line = Line::new(SEPARATION, proxy(false), cfg, None, 1);
    line.len = 1000;
    (0..8).for_each(|n| line.write(100_000 + n * 100, (n % 4) as u8, ChangeKind::Alive));
    line.write(101_000, 9, ChangeKind::Alive);
    line.run(110_000);
    assert_eq!(line.target.sink.got, (1..=9).collect::<Vec<_>>());
}

#[test]
fn withheld_samples_beyond_the_repair_budget_arrive_later() {
    for seed in 0..20 {
        let cfg = WriterConfig { repair_budget_per_event: 1, ..WriterConfig::default() };
        let mut line = keeping_last(true, cfg, Some(4), seed);
        line.len = 1000;
        let mut last = BTreeMap::new();
        for n in 0..400 {
            let instance = (n % 7) as u8;
            line.write(100_000 + n * 700, instance, ChangeKind::Alive);
            last.insert(instance, n as i64 + 1);
        }
        assert_eq!(line.last_shown(20_000_000), last, "seed {seed}");
        assert_eq!(line.source.writer.acked_by_all(), SequenceNumber(400), "seed {seed}");
    }
}

/// An acknowledgment that asks for nothing, of a time when there was nothing to ask for.
#[test]
fn withheld_samples_get_a_heartbeat_after_an_acknack_without_requests() {
    let cfg = WriterConfig { repair_budget_per_event: 1, ..WriterConfig::default() };
    let mut line = Line::new(SEPARATION, proxy(true), cfg, None, 1);
    line.len = 1000;
    (0..4).for_each(|n| line.write(100_000 + n * 100, (n % 2) as u8, ChangeKind::Alive));
    line.run(150_000);
    let Source { writer, history, out } = &mut line.source;
    writer.let_go(at(150_000), history, out);
    let ack = dunlin_wire::AckNack {
        reader_id: reader_guid(0).entity_id,
        writer_id: WRITER.entity_id,
        reader_sn_state: dunlin_core::SequenceNumberSet::empty(SequenceNumber(3)),
        count: 1 << 20,
        final_flag: true,
    };
    writer.on_acknack(at(150_000), reader_guid(0).prefix, &ack, history, out);
    line.collect(150_000);
    // Its own have smaller counts now: what asks again is a HEARTBEAT.
    let before = line.source.writer.stats().heartbeats_sent;
    line.run(200_000);
    assert!(line.source.writer.stats().heartbeats_sent > before);
}

#[test]
fn a_sample_that_waits_is_sent_although_the_separation_changes() {
    let mut line = Line::new(SEPARATION, proxy(true), slow(), None, 1);
    line.write(100_000, 1, ChangeKind::Alive);
    line.write(100_100, 2, ChangeKind::Alive);
    let Source { writer, history, out } = &mut line.source;
    assert_eq!(writer.sent_sn(), SequenceNumber(1), "the other waits");
    writer.set_reader_separation(at(100_200), reader_guid(0), Duration::from_millis(70), history, out);
    let before = line.source.writer.stats().samples_sent;
    line.run(1_000_000);
    assert_eq!(line.source.writer.stats().samples_sent, before + 1, "as new data, not because it was missed");
    assert_eq!(line.target.sink.got, [1, 2]);
}

#[test]
fn samples_batched_at_wait_for_acknowledgments_are_not_withheld() {
    let mut line = Line::new(1000 * SEPARATION, proxy(true), slow(), None, 1);
    (0..5).for_each(|n| line.write(100_000 + n * 100, 1, ChangeKind::Alive));
    (5..8).for_each(|n| line.write(100_000 + n * 100, 2, ChangeKind::Alive));
    assert!(line.source.writer.has_waiting_data());
    let Source { writer, history, out } = &mut line.source;
    writer.request_acknowledgments(at(101_000), history, out);
    line.collect(101_000);
    line.run(5_000_000);
    assert_eq!(line.source.writer.acked_by_all(), SequenceNumber(8));
    assert_eq!(line.target.sink.got.last(), Some(&8));
}

#[test]
fn samples_sent_to_a_best_effort_reader_count_as_acknowledged() {
    let mut line = Line::new(SEPARATION, proxy(false), WriterConfig::default(), None, 1);
    line.write(100_000, 1, ChangeKind::Alive);
    line.write(101_000, 2, ChangeKind::Alive);
    line.write(102_000, 2, ChangeKind::Alive);
    line.run(103_000);
    let writer = &line.source.writer;
    assert_eq!((writer.acked_by_all(), writer.acked_by_active()), (SequenceNumber(2), SequenceNumber(2)));
    assert!(writer.is_acked_by(reader_guid(0), SequenceNumber(2)));
    assert!(!writer.is_acked_by(reader_guid(0), SequenceNumber(3)));
    line.source.writer.unmatch_reader(reader_guid(0));
    assert_eq!(line.source.writer.acked_by_all(), SequenceNumber(3), "nobody needs it any more");
}

/// Rejects what is small.
#[derive(Debug)]
struct Large;

impl ReaderFilter for Large {
    fn rejects(&self, change: &Change) -> bool {
        change.payload.as_ref().is_some_and(|payload| payload.len() < 1000)
    }
}

/// Behind a large sample that has come in one message, what was filtered before it would pass for lost.
#[test]
fn a_gap_for_filtered_samples_precedes_a_large_sample_in_shared_memory() {
    let place = Locator::shared_memory([1; 8], 1);
    let mut source =
        Source::new(WriterConfig { paths: Ring::paths(64 << 10), reliable: false, ..Default::default() });
    let mut inside = Target::new(0, ReaderConfig { reliable: false, ..ReaderConfig::default() });
    inside.match_writer(at(0), false);
    let filter: Option<Arc<dyn ReaderFilter>> = Some(Arc::new(Large));
    source.match_reader(at(0), ReaderProxyConfig { unicast: [place].into(), filter, ..proxy(false) });
    source.match_reader(at(0), ReaderProxyConfig { reliable: false, ..reader_proxy(1) });
    for (n, len) in [10_000, 100, 100, 10_000].into_iter().enumerate() {
        source.write(at(n as u64), len);
        for packet in drain(&mut source.out).iter().filter(|packet| packet.to.contains(&place)) {
            inside.receive(at(n as u64), packet);
        }
    }
    assert_eq!((inside.sink.got.as_slice(), inside.sink.lost), ([1, 4].as_slice(), 0));
}

/// What a reader was not sent by the filter that it had it is told of before it has none: then nothing tells of anything.
#[test]
fn a_best_effort_reader_gets_gaps_before_its_filter_is_removed() {
    for separation in [false, true] {
        let mut source = Source::new(WriterConfig { reliable: false, ..Default::default() });
        let mut target = Target::new(0, ReaderConfig { reliable: false, ..ReaderConfig::default() });
        target.match_writer(at(0), false);
        let large: Option<Arc<dyn ReaderFilter>> = Some(Arc::new(Large));
        let filter = large.clone().filter(|_| !separation);
        let minimum_separation = Duration::from_secs(i64::from(separation));
        source.match_reader(at(0), ReaderProxyConfig { filter, minimum_separation, ..proxy(false) });
        for (n, len) in [10_000, 100, 100, 100].into_iter().enumerate() {
            source.write(at(n as u64), len);
        }
        let Source { writer, history, out } = &mut source;
        let guid = reader_guid(0);
        if separation {
            // Gone before it could leave, as by KEEP_LAST or LIFESPAN.
            (2..=4).for_each(|sn| history.remove(sn));
            writer.set_reader_separation(at(4), guid, Duration::ZERO, history, out);
        } else {
            assert!(writer.set_reader_filter(guid, None, history, out));
        }
        source.write(at(5), 100);
        drain(&mut source.out).iter().for_each(|packet| target.receive(at(6), packet));
        assert_eq!((target.sink.got.as_slice(), target.sink.lost), ([1, 5].as_slice(), 0), "{separation}");
    }
}
