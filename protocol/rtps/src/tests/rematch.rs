//! RTPS 2.5 §8.5.3.2: endpoints whose lease ended go on where they were when they are met again. Those of a process that started
//! again under its old name do not, however far they are by then.

use alloc::vec::Vec;

use dunlin_core::SequenceNumber;

use super::support::*;
use crate::{ReaderConfig, ReaderProxyConfig, WriterConfig};

const LONG_AFTER: u64 = 10_000_000;

/// What goes from one to the other and back, with nothing lost, until both are quiet.
fn talk(source: &mut Source, target: &mut Target, from: u64) {
    for round in 0..200 {
        let now = at(from + 1_000 * round);
        source.timer(now);
        drain(&mut source.out).iter().for_each(|packet| target.receive(now, packet));
        target.timer(now);
        drain(&mut target.out).iter().for_each(|packet| source.receive(now, packet));
    }
}

/// A volatile reader has taken three changes of a writer before both forget each other.
fn after_three_changes() -> (Source, Target) {
    let mut source = Source::new(WriterConfig::default());
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer_of(at(0), life(1), false);
    source.match_reader(at(0), reader_proxy(1));
    (0..3).for_each(|_| _ = source.write(at(1), 10));
    talk(&mut source, &mut target, 2);
    assert_eq!(target.sink.got, [1, 2, 3]);
    (source, target)
}

/// The writer was lost and has started again, or not. Nothing of it arrives before it has written `written` changes.
#[test]
fn a_restarted_writer_with_the_same_guid_loses_nothing() {
    // Without a life that is known it could be either.
    for (again, written) in [(life(2), 2), (life(2), 3), (life(2), 7), (None, 3), (None, 7)] {
        let (_, mut target) = after_three_changes();
        assert!(target.reader.lose_writer(WRITER, life(1)));
        target.sink = Sink::default();
        let mut source = Source::new(WriterConfig::default());
        source.match_reader(at(LONG_AFTER), reader_proxy(1));
        (0..written).for_each(|_| _ = source.write(at(LONG_AFTER), 10));
        source.out.clear();
        target.match_writer_of(at(LONG_AFTER), again, false);
        talk(&mut source, &mut target, LONG_AFTER);
        assert_eq!((&target.sink.got, target.sink.lost), (&(1..=written).collect::<Vec<_>>(), 0));
        assert_eq!(source.writer.acked_by_all(), SequenceNumber(written));
    }
}

#[test]
fn a_rematched_writer_goes_on_where_it_was() {
    let (mut source, mut target) = after_three_changes();
    assert!(target.reader.lose_writer(WRITER, life(1)));
    assert!(source.writer.lose_reader(reader_guid(1), life(5)));
    (0..4).for_each(|_| _ = source.write(at(1_000_000), 10));
    (1..=5).for_each(|sn| source.history.remove(sn));
    target.match_writer_of(at(LONG_AFTER), life(1), false);
    let Source { writer, history, out } = &mut source;
    writer.match_reader_of(at(LONG_AFTER), life(5), reader_proxy(1), history, out);
    talk(&mut source, &mut target, LONG_AFTER);
    assert_eq!((&target.sink.got[..], target.sink.lost), (&[1, 2, 3, 6, 7][..], 2));
}

/// The writer has not noticed that it was lost, and has nothing to say but that it is alive.
#[test]
fn a_durable_reader_requests_history_after_a_liveliness_heartbeat() {
    let mut source = Source::new(WriterConfig { transient_local: true, ..Default::default() });
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer_of(at(0), life(1), true);
    source.match_reader(at(0), ReaderProxyConfig { durable: true, ..reader_proxy(1) });
    (0..3).for_each(|_| _ = source.write(at(1), 10));
    talk(&mut source, &mut target, 2);
    assert!(target.reader.historical_complete());
    assert!(target.reader.lose_writer(WRITER, life(1)));
    target.match_writer_of(at(LONG_AFTER), life(1), true);
    source.writer.assert_liveliness(at(LONG_AFTER), &source.history, &mut source.out);
    drain(&mut source.out).iter().for_each(|packet| target.receive(at(LONG_AFTER), packet));
    talk(&mut source, &mut target, LONG_AFTER + 1);
    assert!(target.reader.historical_complete());
}

/// The reader knows that it lacks some of it, and asks again before it has heard that all is gone.
#[test]
fn changes_removed_before_a_rematch_are_lost_although_requested() {
    let (mut source, mut target) = after_three_changes();
    (0..2).for_each(|_| _ = source.write(at(1_000_000), 10));
    drain(&mut source.out);
    source.timer(at(2_000_000));
    drain(&mut source.out).iter().for_each(|packet| target.receive(at(2_000_000), packet));
    drain(&mut target.out);
    assert!(source.writer.lose_reader(reader_guid(1), life(5)));
    (0..2).for_each(|_| _ = source.write(at(3_000_000), 10));
    (1..=7).for_each(|sn| source.history.remove(sn));
    let Source { writer, history, out } = &mut source;
    writer.match_reader_of(at(LONG_AFTER), life(5), reader_proxy(1), history, out);
    drain(&mut source.out);
    target.timer(at(LONG_AFTER));
    let asked = drain(&mut target.out);
    assert!(!asked.is_empty());
    asked.iter().for_each(|packet| source.receive(at(LONG_AFTER), packet));
    talk(&mut source, &mut target, LONG_AFTER + 1);
    assert_eq!((&target.sink.got[..], target.sink.lost), (&[1, 2, 3][..], 4));
}

/// A volatile reader that has started again gets nothing that was written before: it is not the one that was lost.
#[test]
fn a_restarted_reader_with_the_same_guid_gets_no_old_changes() {
    for again in [life(2), None] {
        let (mut source, _) = after_three_changes();
        assert!(source.writer.lose_reader(reader_guid(1), life(1)));
        (0..4).for_each(|_| _ = source.write(at(1_000_000), 10));
        let mut target = Target::new(1, ReaderConfig::default());
        target.match_writer_of(at(LONG_AFTER), life(1), false);
        let Source { writer, history, out } = &mut source;
        writer.match_reader_of(at(LONG_AFTER), again, reader_proxy(1), history, out);
        source.write(at(LONG_AFTER), 10);
        talk(&mut source, &mut target, LONG_AFTER);
        assert_eq!((&target.sink.got[..], target.sink.lost), (&[8][..], 0));
    }
}

/// A best-effort reader forgets its writer, which does not forget the reader: of the history, which others are given, some
/// comes again.
#[test]
fn a_rematched_best_effort_reader_counts_no_received_change_as_lost() {
    // Another life has written other changes under these numbers.
    for (again, lost) in [(life(1), 3), (life(2), 6)] {
        let mut target = Target::new(1, ReaderConfig { reliable: false, ..ReaderConfig::default() });
        target.match_writer_of(at(0), life(1), true);
        [1, 2, 3, 5].into_iter().for_each(|sn| target.on_data(at(1), sn));
        assert_eq!(target.sink.lost, 1);
        assert!(target.reader.lose_writer(WRITER, life(1)));
        target.sink = Sink::default();
        target.match_writer_of(at(LONG_AFTER), again, true);
        [2, 9].into_iter().for_each(|sn| target.on_data(at(LONG_AFTER), sn));
        assert_eq!((&target.sink.got[..], target.sink.lost), (&[2, 9][..], lost));
    }
}

/// Whoever forgets the writer twice knows what came before the first time, too.
#[test]
fn a_best_effort_reader_keeps_its_position_over_two_rematches() {
    let mut target = Target::new(1, ReaderConfig { reliable: false, ..ReaderConfig::default() });
    target.match_writer_of(at(0), life(1), true);
    (1..=5).for_each(|sn| target.on_data(at(1), sn));
    for _ in 0..2 {
        assert!(target.reader.lose_writer(WRITER, life(1)));
        target.match_writer_of(at(LONG_AFTER), life(1), true);
    }
    [1, 7].into_iter().for_each(|sn| target.on_data(at(LONG_AFTER), sn));
    assert_eq!(target.sink.lost, 1);
}

/// A reader that acknowledges what is committed, with three changes that it was shown.
fn storing(durable: bool) -> (Source, Target) {
    let mut source = Source::new(WriterConfig { transient_local: durable, ..WriterConfig::default() });
    let cfg = ReaderConfig { acknowledge_on_commit: true, ..ReaderConfig::default() };
    let mut target = Target::new(1, cfg);
    target.match_writer_of(at(0), life(1), durable);
    source.match_reader(at(0), ReaderProxyConfig { durable, ..reader_proxy(1) });
    (0..3).for_each(|_| _ = source.write(at(1), 10));
    talk(&mut source, &mut target, 2);
    assert_eq!((&target.sink.got[..], source.writer.acked_by_all()), (&[1, 2, 3][..], SequenceNumber(0)));
    (source, target)
}

fn meet_again(source: &mut Source, target: &mut Target, durable: bool) {
    target.match_writer_of(at(LONG_AFTER), life(1), durable);
    let Source { writer, history, out } = source;
    let proxy = ReaderProxyConfig { durable, ..reader_proxy(1) };
    writer.match_reader_of(at(LONG_AFTER), life(5), proxy, history, out);
    talk(source, target, LONG_AFTER);
}

#[test]
fn uncommitted_samples_stay_unacked_after_the_lease_expired() {
    for (durable, had) in [(false, true), (true, true), (true, false)] {
        let (mut source, mut target) = storing(durable);
        assert!(target.reader.lose_writer(WRITER, life(1)));
        assert!(source.writer.lose_reader(reader_guid(1), life(5)));
        // One that knows what it had drops copies.
        target.sink.drops = had;
        meet_again(&mut source, &mut target, durable);
        assert_eq!(source.writer.acked_by_all(), SequenceNumber(0), "{durable} {had}");
        target.sink.drops = false;
        for through in [2, 3] {
            let later = LONG_AFTER + 1_000_000 * through as u64;
            target.reader.commit(at(later), WRITER, SequenceNumber(through), &mut target.out);
            talk(&mut source, &mut target, later);
            assert_eq!(source.writer.acked_by_all(), SequenceNumber(through), "{durable} {had}");
        }
    }
}

#[test]
fn samples_committed_while_the_writer_is_lost_are_acked_at_rematch() {
    for (through, acked) in [(2, 2), (3, 3)] {
        let (mut source, mut target) = storing(false);
        assert!(target.reader.lose_writer(WRITER, life(1)));
        assert!(source.writer.lose_reader(reader_guid(1), life(5)));
        target.reader.commit(at(1_000_000), WRITER, SequenceNumber(through), &mut target.out);
        meet_again(&mut source, &mut target, false);
        assert_eq!(source.writer.acked_by_all(), SequenceNumber(acked));
    }
}
