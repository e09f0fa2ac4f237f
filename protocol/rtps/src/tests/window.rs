//! The send window: what is under way to readers is bounded, and moves on as they say that they took it.

use super::support::*;
use crate::{ReaderConfig, ReaderProxyConfig, WriterConfig};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use dunlin_core::VendorId;

const WINDOW: usize = 127 * 1024;

fn source() -> Source {
    Source::new(WriterConfig { window: WINDOW, ..WriterConfig::default() })
}

fn octets(packets: &[Packet]) -> usize {
    packets.iter().map(|packet| packet.bytes.len()).sum()
}

/// A writer and a reader that know each other.
fn pair() -> (Source, Target) {
    let (mut source, mut target) = (source(), Target::new(0, ReaderConfig::default()));
    source.match_reader(at(0), reader_proxy(0));
    target.match_writer(at(0), false);
    deliver(&mut source, &mut target, 1, |_| true);
    (source, target)
}

/// Lets both talk until they are silent, one way taking 10 µs; `arrives` decides on each datagram of the writer. Returns the
/// most octets that left at once.
fn deliver(
    source: &mut Source,
    target: &mut Target,
    start: u64,
    mut arrives: impl FnMut(&Packet) -> bool,
) -> usize {
    let (mut time, mut most) = (start, 0);
    loop {
        let forth: VecDeque<_> = drain(&mut source.out).into();
        let silent = forth.is_empty();
        most = most.max(octets(&forth.iter().cloned().collect::<Vec<_>>()));
        time += 10;
        for packet in forth.iter().filter(|packet| arrives(packet)) {
            target.receive(at(time), packet);
        }
        time += 10;
        for packet in drain(&mut target.out) {
            source.receive(at(time), &packet);
        }
        if source.writer.is_push_due(at(time).mono) {
            source.timer(at(time));
        }
        if silent && source.out.datagrams().len() == 0 {
            return most;
        }
    }
}

#[test]
fn a_sample_of_any_size_leaves_a_window_at_a_time() {
    for len in [100 * 1024, 921_600, 4 << 20] {
        let (mut source, mut target) = pair();
        source.write(at(1_000), len);
        let most = deliver(&mut source, &mut target, 1_000, |_| true);
        assert!(most < WINDOW + 2_000, "{most} octets at once");
        assert_eq!(target.sink.got, [1]);
        assert_eq!(target.sink.payloads[0].as_ref().unwrap(), &sample(len));
        let stats = source.writer.stats();
        assert_eq!((stats.repair_fragments_sent, stats.repairs_sent, stats.window_probes), (0, 0, 0));
    }
}

#[test]
fn many_small_samples_are_bounded_too() {
    let (mut source, mut target) = pair();
    for _ in 0..5_000 {
        source.write(at(1_000), 64);
    }
    let first = source.out.datagrams().len();
    assert!((100..200).contains(&first), "{first} datagrams");
    deliver(&mut source, &mut target, 1_000, |_| true);
    assert_eq!(target.sink.got.len(), 5_000);
    assert_eq!(source.writer.stats().repairs_sent, 0);
}

#[test]
fn a_lost_question_is_asked_again_soon() {
    let (mut source, mut target) = pair();
    source.write(at(1_000), 921_600);
    // Of all that leaves nothing arrives.
    let lost = drain(&mut source.out);
    assert!(octets(&lost) < WINDOW + 2_000);
    source.timer(at(1_500));
    assert!(drain(&mut source.out).is_empty(), "not yet");
    source.timer(at(3_100));
    assert_eq!(source.writer.stats().window_probes, 1);
    // The question alone is enough: what was lost is requested at once, what is left goes on.
    deliver(&mut source, &mut target, 3_100, |_| true);
    assert_eq!(target.sink.got, [1]);
}

#[test]
fn a_silent_reader_is_given_up_until_it_answers() {
    let (mut source, mut target) = pair();
    source.write(at(1_000), 921_600);
    let mut kept = drain(&mut source.out);
    let mut now = 1_000;
    while source.writer.has_waiting_data() {
        let next = source.writer.next_deadline().unwrap().0 / 1000 + 1;
        assert!(next < 1_000_000);
        now = next.max(now);
        source.timer(at(now));
        kept.append(&mut drain(&mut source.out));
    }
    assert!((200_000..300_000).contains(&now), "given up after {now} us");
    assert_eq!(source.writer.stats().readers_overdue, 1);
    for packet in &kept {
        target.receive(at(now), packet);
    }
    assert_eq!(target.sink.got, [1]);
    deliver(&mut source, &mut target, now, |_| true);
    // It has answered: it has a window again.
    source.write(at(now + 1_000), 921_600);
    assert!(source.writer.has_waiting_data());
}

#[test]
fn the_slowest_of_two_readers_is_waited_for() {
    let (mut source, mut fast) = pair();
    source.match_reader(at(100), reader_proxy(1));
    let mut slow = Target::new(1, ReaderConfig::default());
    slow.match_writer(at(100), false);
    for packet in drain(&mut source.out) {
        slow.receive(at(110), &packet);
    }
    drain(&mut slow.out).iter().for_each(|packet| source.receive(at(120), packet));
    source.write(at(1_000), 921_600);
    let first = drain(&mut source.out);
    first.iter().for_each(|packet| fast.receive(at(1_010), packet));
    drain(&mut fast.out).iter().for_each(|packet| source.receive(at(1_020), packet));
    assert!(!source.writer.is_push_due(at(1_030).mono));
    first.iter().for_each(|packet| slow.receive(at(1_040), packet));
    drain(&mut slow.out).iter().for_each(|packet| source.receive(at(1_050), packet));
    assert!(source.writer.is_push_due(at(1_060).mono));
}

#[test]
fn far_readers_and_other_vendors_are_not_slowed_down() {
    let mut source = source();
    source.match_reader(at(0), ReaderProxyConfig { vendor: VendorId([1, 0x10]), ..reader_proxy(0) });
    drain(&mut source.out);
    source.write(at(1_000), 921_600);
    assert!(octets(&drain(&mut source.out)) > 921_600);
    // A window at 100 ms: what the path holds comes on top.
    let (mut source, mut target) = pair();
    source.write(at(1_000), 4 << 20);
    drain(&mut source.out).iter().for_each(|packet| target.receive(at(51_000), packet));
    drain(&mut target.out).iter().for_each(|packet| source.receive(at(101_000), packet));
    source.timer(at(101_000));
    assert!(octets(&drain(&mut source.out)) > 4_000_000);
}

#[test]
fn whoever_asks_in_a_writers_name_gets_few_answers() {
    let mut target = Target::new(0, ReaderConfig::default());
    target.match_writer(at(0), false);
    drain(&mut target.out);
    for count in 0..1_000 {
        let reader_id = dunlin_core::EntityId::UNKNOWN;
        let request = dunlin_wire::EchoRequest { reader_id, writer_id: WRITER.entity_id, count };
        target.reader.on_echo_request(at(1_000), WRITER.prefix, &request, &mut target.out);
    }
    assert_eq!(drain(&mut target.out).len(), 256);
    let echo =
        dunlin_wire::Echo { reader_id: reader_guid(0).entity_id, writer_id: WRITER.entity_id, count: 7 };
    let (mut source, _) = pair();
    assert!(!source.writer.on_echo(at(1_000), reader_guid(0).prefix, &echo), "never asked");
}
